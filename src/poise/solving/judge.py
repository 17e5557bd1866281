"""Find the reason for missed goals and the limit violation. Solvers are not consulted.

Remaining errors of goals are measured along the skeleton's own rows (problem/measuring/measure.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from poise import kernels
from poise.kernels.codes import LIMIT_SOFT, NO_LIMIT, UNIT_SLACK
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, for_kernel
from poise.maths.remember import remember
from poise.model.limits.base.rows import nearest_turns
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.problem.chain import Chain, chain_of
from poise.problem.conflicts import number_conflicts
from poise.problem.geometry import SIMILAR
from poise.problem.layout import DOFS, SLIDE
from poise.problem.problem import Problem, Tolerance
from poise.problem.reach import beyond_reach
from poise.problem.residuals import residual
from poise.solvers.base.status import Status
from poise.solving.evidence import met_one_by_one, without_limits

_STATIONARY = 1e-3  # share of the error: a pose is stationary if no single joint reduces it by more
# [rad] distance at which a value counts as at its limit; slides: times the rig size, or the value if larger
_AT_LIMIT = 1e-9
_LEGAL = 0.5e-9  # [rad, file units] half of the excess ignored by Skeleton.legal, which decides beyond it
_SINGULAR = 1e-6  # ratio to the largest singular value, below which a direction counts as lost
_ROUNDING = 1e-12  # rig sizes, rad: residuals below it are rounding
# iterations assumed for the search budget: about half of the engine default for a missed target
_USUAL_WORK = 1000
_PROBE = 1e-4  # [rad] rotation of a ball that tests its limit


def largest_violation(skeleton: Skeleton, q: Floats) -> float:
    """Compute the largest hard-limit violation of poses q (k, nq). It is in [rad, file units]."""
    ranges, bounded, hinges, balls = skeleton.value_ranges, skeleton.bounded, skeleton.ball_hinges, skeleton.ball_limits
    rows, worst = q if q.flags.carray else for_kernel(q), 0.0
    if len(bounded) or hinges.rows:
        worst = kernels.limits.violation.largest(
            bounded, ranges, hinges.columns, hinges.axes, hinges.low, hinges.high, rows
        )
    if balls.joints:
        most = kernels.limits.rotations.largest_excess(balls.columns[:, 0].copy(), balls.rows, rows)
        worst = max(worst, most)
    return worst


def can_start(skeleton: Skeleton, q: Floats) -> bool:
    """Return whether a solve can start at q (nq,). It must be finite and legal, with rotations of unit length."""
    columns, *gate = remember(skeleton, "gate", None, lambda: _gate(skeleton))
    if not kernels.limits.violation.stands(*gate, q, UNIT_SLACK, _LEGAL):
        return False
    balls = skeleton.ball_limits
    return not len(columns) or kernels.limits.rotations.largest_excess(columns, balls.rows, q[None]) <= _LEGAL


def _gate(skeleton: Skeleton) -> tuple[Any, ...]:
    """Pack the limit tables for kernels/limits/violation.py.

    The first entry holds the columns of balls with whole limits.
    """
    hinges = skeleton.ball_hinges
    ends = hinges.columns, hinges.axes, hinges.low, hinges.high
    balls = skeleton.ball_limits.columns[:, 0].copy() if skeleton.ball_limits.joints else ()
    return balls, skeleton.turn_columns[:, 0].copy(), skeleton.bounded, skeleton.value_ranges, *ends


def legal_start(start: Pose) -> tuple[Pose, tuple[str, ...]]:
    """Clamp a start (..., nq) to its limits.

    A legal start is returned unchanged. Also returns the names of the clamped joints.
    """
    rows = start.flat_q.copy()
    if len(rows) == 1:  # the first solve of one pose then compiles no further kernel
        inside = can_start(start.skeleton, rows[0])
    else:
        inside = len(rows) > 0 and largest_violation(start.skeleton, rows) <= _LEGAL
    if inside:
        return start, ()
    q, moved = start.skeleton.legal(start.q)
    return (start.with_q(q), moved) if moved else (start, ())


def legal(skeleton: Skeleton, q: Floats) -> Floats:
    """Clamp a configuration q (nq,) to its limits. A legal one is returned as the same array."""
    return q if largest_violation(skeleton, q[None]) <= _LEGAL else skeleton.legal(q)[0]


def why(problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance, work: Ints | None = None) -> Ints:
    """Find status codes of poses q away from their targets.

    Proofs from lengths and angles come first. Where no single joint reduces the error, searches (see
    `search_without_limits`) follow: for poses without limits, and for poses of each goal alone. `work` (k,), the
    iterations of the solve, bounds them.
    """
    if not problem.joints:
        return np.full(len(q), int(Status.nothing_to_move))
    codes = np.full(len(q), int(Status.stalled))
    codes[number_conflicts(problem, q, targets, tolerance) != 0] = Status.contradictory
    codes[beyond_reach(problem, targets, tolerance) != 0] = Status.out_of_reach
    rows = np.flatnonzero(codes == Status.stalled)
    if len(rows):
        work = np.full(len(q), _USUAL_WORK) if work is None else work
        codes[rows] = _searched(*_parts(problem, q, targets, rows), tolerance, work[rows])
    return codes


def _searched(problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance, work: Ints) -> Ints:
    """Find status codes by searches for other poses. Lengths have proved no reason here."""
    codes = np.full(len(q), int(Status.stalled))
    stands = standing(problem, q, targets)
    blocked, none_found = stands.stationary & stands.blocks.any(axis=1), np.zeros(len(q), dtype=np.bool_)
    left = ranks = np.zeros(len(q), dtype=np.bool_)
    if problem.plan.layout.asked > len(problem.plan.layout.dofs):
        left, ranks = _ranks(problem, q, targets)
    rows = np.flatnonzero(blocked | (stands.stationary & left & ~ranks))
    if len(rows):
        without = without_limits(*_parts(problem, q, targets, rows), tolerance, work[rows])
        none_found[rows] = ~without.met
        codes[rows[without.met & ~without.legal & blocked[rows]]] = Status.limited
    codes[stands.stationary & left & (none_found | (ranks & ~blocked))] = Status.over_constrained
    rows = np.flatnonzero(stands.stationary & (codes == Status.stalled))
    if len(rows) and sum([bool(goal.measures) for goal in problem.goals]) > 1:
        alone = met_one_by_one(*_parts(problem, q, targets, rows), tolerance, work[rows])
        codes[rows[alone]] = Status.contradictory
    return codes


def _parts(problem: Problem, q: Floats, targets: Floats, rows: Ints) -> tuple[Problem, Floats, Floats]:
    """Take the problem, poses and targets of some rows. All rows are not copied."""
    if len(rows) == len(q):
        return problem, q, np.broadcast_to(targets, (len(q), targets.shape[1]))
    return problem.part(rows), q[rows], _part(targets, rows)


def _part(targets: Floats, rows: Ints) -> Floats:
    return np.broadcast_to(targets, (len(rows), targets.shape[1])) if len(targets) == 1 else targets[rows]


def _ranks(problem: Problem, q: Floats, targets: Floats) -> tuple[Bools, Bools]:
    """Find rows with errors above rounding and of full rank (k,).

    A pose stuck at a singularity may only have stalled, so that the rank decides. The measure is independent of units
    and weights.
    """
    jacobian, left = residual(problem, q, targets, weighted=False)
    lengths = np.sqrt((jacobian**2).sum(axis=1, keepdims=True))
    sizes = np.linalg.svd(jacobian / np.maximum(lengths, 1e-300), compute_uv=False)
    return np.abs(left).max(axis=1) > _ROUNDING, sizes[:, -1] > _SINGULAR * sizes[:, 0]


# --- limits ------------------------------------------------------------------------------------------------------


class Standing(NamedTuple):
    """Local optimality of poses and their blocking joints.

    `stationary` (k,) marks poses without an improving single joint, `blocks` (k, joints) joints held at their limits.

    The columns of `blocks` belong to `rows` of the skeleton; `values` (k, joints) are the bounded values and `ranges`
    (joints, 2) their limits, infinite for a ball with a limit of its whole rotation. A joint blocks if it alone would
    reduce the error without its limit. If there is no such joint (two must bend together), all joints at a limit block.
    """

    stationary: Bools
    blocks: Bools
    rows: tuple[int, ...]
    values: Floats
    ranges: Floats


def standing(problem: Problem, q: Floats, targets: Floats) -> Standing:
    """Measure local optimality of poses q (k, nq).

    For a single point each joint alone is moved exactly. Otherwise the gain of each degree of freedom alone is taken to
    first order of the residual: (J e)^2 / (J J) of |e|^2.
    """
    plan = problem.plan
    if problem.lone_point and not plan.limits.any() and plan.stretch <= SIMILAR:
        return _probed(chain_of(problem), problem, q, targets)
    jacobian, e = residual(problem, q, targets)
    push = np.einsum("krd,kr->kd", jacobian, e)
    gain = push**2 / np.maximum((jacobian**2).sum(axis=1), 1e-300)
    helps = gain > 2 * _STATIONARY * (e**2).sum(axis=1, keepdims=True)
    low, high, at = plan.layout.dofs[:, 0], plan.layout.dofs[:, 1], plan.layout.dofs[:, 2].astype(np.int64)
    values = np.where(at >= 0, plan.u_of(q)[:, at], 0.0)
    ranges = np.stack([low, high], axis=1)
    slides = [node.dof for node in plan.layout.nodes if node.kind == SLIDE]
    at_low, at_high = _at_ends(values, ranges, np.where(np.isin(np.arange(len(low)), slides), plan.size, 1.0))
    at_limit = (at_low | at_high) & (at >= 0)
    stuck = at_limit & ((at_low & (push < 0)) | (at_high & (push > 0)))
    free = helps & ~stuck
    for i in np.flatnonzero([limit[0] != NO_LIMIT and limit[LIMIT_SOFT] == 0.0 for limit in plan.limits]):
        node, dofs = plan.layout.nodes[i], slice(plan.layout.nodes[i].dof, plan.layout.nodes[i].dof + 3)
        turns = plan.u_of(q)[:, node.at : node.at + 4]
        way, kept = _open_way(plan.limits[i], turns, push[:, dofs])
        part = np.einsum("kd,krd->kr", way, jacobian[:, :, dofs])
        left = np.einsum("kd,kd->k", way, push[:, dofs]) ** 2 / np.maximum((part**2).sum(axis=1), 1e-300)
        opens = (way**2).sum(axis=1) > _STATIONARY**2
        free[:, dofs] = (opens & (left > 2 * _STATIONARY * (e**2).sum(axis=1)))[:, None]
        helps[:, dofs] = helps[:, dofs].any(axis=1, keepdims=True)
        at_limit[:, node.dof] = stuck[:, node.dof] = kept
    stationary = ~free.any(axis=1)
    owner = {node.dof + i: _leader(problem, node.row) for node in plan.layout.nodes for i in range(DOFS[node.kind])}
    rows = tuple(owner[d] for d in range(len(low)))
    return Standing(stationary, _blocking(at_limit, helps & stuck), rows, values, ranges)


def _leader(problem: Problem, row: int) -> int:
    """Return the row with this joint's range. For a coupled joint it is the row of its leader."""
    coupling = problem.skeleton.couplings[row]
    return row if coupling is None else coupling.leader


def _probed(chain: Chain, problem: Problem, q: Floats, targets: Floats) -> Standing:
    """Move every joint of a chain alone, exactly."""
    x, aims = chain.motions_of(q), np.ascontiguousarray(chain.targets(problem, targets)[:, :3])
    points, tips = chain.points, np.zeros((len(x), 3))
    found = np.zeros((len(x), len(chain.rows), 2))
    kernels.chain.ccd.probe(chain.kinds, chain.axes, chain.ranges, chain.frames, points, aims, x, found)
    kernels.chain.links.tips(chain.kinds, chain.axes, chain.frames, points, x, tips)
    errors = np.sqrt(((tips - aims) ** 2).sum(axis=-1))
    stationary = (found[:, :, 0] >= (1 - _STATIONARY) * errors[:, None]).all(axis=1)
    values = x[:, :, 0]
    at_limit = np.logical_or(*_at_ends(values, chain.ranges, np.where(chain.kinds == SLIDE, chain.plan.size, 1.0)))
    helps = found[:, :, 1] < (1 - _STATIONARY) * found[:, :, 0]
    return Standing(stationary, _blocking(at_limit, helps), chain.rows, values, chain.ranges)


def _open_way(limit: Floats, turns: Floats, push: Floats) -> tuple[Floats, Bools]:
    """Find the allowed direction (k, 3) of pushed balls at their limits.

    Takes pushes (k, 3) and rotations (k, 4). Also returns whether the limit deflects the push.

    It takes a small step in that direction, clamps it and returns the remainder in lengths of the step.
    """
    length = np.sqrt((push**2).sum(axis=-1, keepdims=True))
    wanted = rotations.multiply(rotations.about(push / np.maximum(length, 1e-300), np.full(len(push), _PROBE)), turns)
    wanted = np.where(length > 0.0, wanted, turns)
    step = rotations.multiply(nearest_turns(limit, wanted), rotations.inverse(turns))
    way = 2.0 * step[:, 1:] * np.where(step[:, :1] < 0.0, -1.0, 1.0) / _PROBE
    straight = (way * push).sum(axis=-1) / np.maximum(length[:, 0], 1e-300)
    return way, (straight < 1.0 - _STATIONARY) & (length[:, 0] > 0.0)


def _at_ends(values: Floats, ranges: Floats, sizes: Floats) -> tuple[Bools, Bools]:
    """Find values at the lower and upper end of their range.

    `sizes` scales the tolerance: one radian for a rotation, the rig size for a slide, in any unit.
    """
    slack = _AT_LIMIT * np.maximum(sizes, np.abs(values))
    return values <= ranges[:, 0] + slack, values >= ranges[:, 1] - slack


def _blocking(at_limit: Bools, helps: Bools) -> Bools:
    """Find the joints blocked by their limits.

    They are the joints at a limit that would reduce the error, or all joints at a limit if there are none.
    """
    blocks = at_limit & helps
    return np.where(blocks.any(axis=1, keepdims=True), blocks, at_limit)
