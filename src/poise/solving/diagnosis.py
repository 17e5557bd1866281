"""Diagnose results independently of the solver.

It finds the reason for a missed goal and the limit violation. Evidence for a reason comes from searches: for the same
goals without limits, and for each goal alone.

The iterations of a solve bound the attempts of its searches, which therefore cost at most about as much as the solve.
Solves of one target in a few microseconds are the exception: each search needs about 0.2 ms to start. A search starts
at the missed pose, then at the other starts of the engine. Rows are independent of each other, so the result depends
neither on the batch nor on the threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from poise import kernels, solvers
from poise.errors import UnsupportedError
from poise.kernels.layout import DOF_HIGH, DOF_LOW, DOF_U_COLUMN, LIMIT_KIND, LIMIT_SOFT_WEIGHT, NO_LIMIT
from poise.kernels.thresholds import UNIT_SLACK
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, get_scratch, prepare_for_kernel
from poise.model.limit_bounds import clamp_rotations
from poise.model.limits import Limit, Range
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.chain import Chain, find_chain
from poise.problem.dof_layout import DOF_COUNTS, SLIDE, TARGET_SIZES
from poise.problem.feasibility import find_unreachable, number_conflicts
from poise.problem.frame_packing import EXPORTER_LENGTH_ERROR
from poise.problem.goals import Near
from poise.problem.plan import NO_GOAL_KEY
from poise.problem.problem import Problem, Tolerance, replace_pulls
from poise.problem.residuals import compute_residual
from poise.runtime.result_cache import get_or_compute
from poise.solvers.base.interface import Request, Status
from poise.solvers.base.lm_engine import LmOptions
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solving.batch import solve_and_measure

_MAX_RESTARTS = 16  # restarts of a search; 64 starts find no more poses (benchmarks/limited_evidence.py)
_ITERATIONS_PER_RESTART = 16  # iterations of the solve per restart of a search; a failing attempt takes 10 to 15
_MAX_ATTEMPT_ITERATIONS = 30  # iterations of one attempt, the default of the engine
_MIN_ATTEMPT_ITERATIONS = 8  # iterations of one attempt, lower bound after a solve of one step
# longest reaches by which a slide may leave its range, enough for any target within reach
_SLIDE_MARGIN_REACHES = 2.0
_PULL = "pull"  # name of the option of goals that may hold a pose back
_CLOSED_FORM_SOLVER = "two_bone"  # this method needs no search where it applies


@dataclass(frozen=True, kw_only=True)
class _SearchSolver(LevenbergMarquardt):
    """Levenberg-Marquardt without the final polish of failed attempts."""

    @cached_property
    def arm_options(self) -> LmOptions:
        """Engine options for serial arms."""
        return replace(super().arm_options, polish_iterations=0)

    @cached_property
    def tree_options(self) -> LmOptions:
        """Engine options for all other skeletons."""
        return replace(super().tree_options, polish_iterations=0)


class UnlimitedSearch(NamedTuple):
    """Search result without limits for each row (k,).

    met_without_limits  whether a pose was found that meets the goals
    met_within_limits   whether this pose still meets them inside the limits
    """

    met_without_limits: Bools
    met_within_limits: Bools


def search_without_limits(
    problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance, solve_iterations: Ints
) -> UnlimitedSearch:
    """Search for poses meeting the goals without limits.

    Parameters
    ----------
    problem, q, targets, tolerance
        The problem, poses (k, nq) away from their goals, rows of targets (k, W), and the largest errors of a met goal.
    solve_iterations
        (k,) iterations of the solve, an upper bound of the search.
    """
    poses, is_met = _search_poses(_remove_limits(problem), q, targets, tolerance, solve_iterations)
    met_within_limits, rows = np.zeros(len(q), dtype=np.bool_), np.flatnonzero(is_met)
    if len(rows):
        low, high = problem.skeleton.value_ranges.T
        legal_poses = np.clip(
            problem.skeleton.legal(poses[rows])[0], low, high
        )  # legal() leaves excess below 1e-9 alone
        subproblem = problem if len(rows) == len(q) else problem.select_rows(rows)
        met_within_limits[rows] = subproblem.is_met(subproblem.compute_errors(legal_poses, targets[rows]), tolerance)
    return UnlimitedSearch(is_met, met_within_limits)


def find_singly_met(
    problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance, solve_iterations: Ints
) -> Bools:
    """Find rows (k,) with each goal met alone, limits kept."""
    is_met = np.ones(len(q), dtype=np.bool_)
    measure_columns = [np.arange(m.target_column, m.target_column + TARGET_SIZES[m.kind]) for m in problem.measures]
    for i, goal in enumerate(problem.goals):
        goal_columns = [measure_columns[j] for j, measure in enumerate(problem.measures) if measure.goal_index == i]
        rows = np.flatnonzero(is_met)
        if goal_columns and len(rows):
            subproblem = problem.select_rows(rows)
            goal_problem = Problem(subproblem.start, (goal,), problem.free_root)
            goal_targets = targets[rows][:, np.concatenate(goal_columns)]
            is_met[rows] = _search_poses(goal_problem, q[rows], goal_targets, tolerance, solve_iterations[rows]).is_met
    return is_met


def find_restraints(solver: Any, problem: Problem, targets: Floats, tolerance: Tolerance) -> list[tuple[str, ...]]:
    """Find the solver options, and pulls of goals, blocking each row's goals.

    From the same start the solver meets the goals without these options. Most rows have none.
    """
    restraint_names = tuple(get_restraints(solver))
    names_by_row: list[tuple[str, ...]] = [()] * len(targets)
    option_sets = (
        [*((name,) for name in restraint_names), restraint_names]
        if len(restraint_names) > 1
        else [restraint_names] * bool(restraint_names)
    )
    targets = prepare_for_kernel(targets)
    if problem.has_pulls:
        problem = Problem(problem.start, replace_pulls(problem.goals), problem.free_root, origin=problem.origin)
        option_sets = [(_PULL,), *((_PULL, *names) for names in option_sets)]
    for option_names in option_sets:
        freed_solver = _remove_restraints(solver, tuple([name for name in option_names if name != _PULL]))
        errors = solve_and_measure(problem, targets, freed_solver, tolerance, Request()).errors
        for row in np.flatnonzero(problem.is_met(errors, tolerance)).tolist():
            names_by_row[row] = names_by_row[row] or option_names
    return names_by_row


def get_restraints(solver: Any) -> dict[str, Any]:
    """Map blocking solver options to harmless values."""
    return getattr(getattr(solver, "inner", solver), "restraints", {})


def _remove_restraints(solver: Any, names: tuple[str, ...]) -> Any:
    """Copy the solver without the named restraints."""
    if not names:
        return solver
    if hasattr(solver, "inner"):  # an Anneal wraps another solver
        return replace(solver, solver=_remove_restraints(solver.inner, names))
    return replace(solver, **{name: solver.restraints[name] for name in names})


def _remove_limits(problem: Problem) -> Problem:
    """Copy the problem without limits and without Near."""
    start, skeleton, plan = problem.start, problem.skeleton, problem.plan
    margin = _SLIDE_MARGIN_REACHES * (plan.max_reach or plan.kernel_unit_in_base)
    unlimited_skeleton = get_or_compute(
        skeleton, "skeletons without limits", margin, lambda: _build_unlimited_skeleton(skeleton, margin)
    )
    goals = tuple([goal for goal in problem.goals if not isinstance(goal, Near)])
    goal_key = problem.goal_key if len(goals) == len(problem.goals) else NO_GOAL_KEY
    return Problem(
        Pose.make_unchecked(unlimited_skeleton, start.q, start.translations, start.scales),
        goals,
        problem.free_root,
        goal_key,
    )


def _build_unlimited_skeleton(skeleton: Skeleton, margin: float) -> Skeleton:
    """Copy the skeleton without limits.

    Ranges of slides grow by `margin`, because the engine needs finite ranges for its starts.
    """
    wide_limits: list[Limit | None] = [None] * len(skeleton)
    for row, limit in enumerate(skeleton.limits):
        if isinstance(limit, Range) and skeleton.kinds[row] == Kind.SLIDE:
            wide_limits[row] = Range(limit.low - margin, limit.high + margin)
    return replace(skeleton, limits=tuple(wide_limits))


class _FoundPoses(NamedTuple):
    """Poses q (k, nq) of a search, and a mask (k,).

    The mask marks poses with met goals, measured by forward kinematics.
    """

    q: Floats
    is_met: Bools


def _search_poses(
    problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance, solve_iterations: Ints
) -> _FoundPoses:
    """Search for poses meeting the goals, from poses q (k, nq)."""
    poses, is_met = np.array(q), np.zeros(len(q), dtype=np.bool_)
    key = problem.goal_key, problem.free_root
    if get_or_compute(problem.skeleton, "closed form", key, lambda: _has_closed_form(problem, targets, tolerance)):
        poses, is_met = _run_attempt(problem, targets, solvers.make_solver(_CLOSED_FORM_SOLVER), tolerance)
    if is_met.all():
        return _FoundPoses(poses, is_met)
    pose = Pose.make_unchecked(problem.skeleton, np.array(q), *_repeat_local_parts(problem.start, len(q)))
    problem = problem.with_start(pose)
    restarts = np.minimum(_round_to_powers_of_two(solve_iterations // _ITERATIONS_PER_RESTART), _MAX_RESTARTS)
    attempt_iterations = np.where(
        restarts > 0,
        _MAX_ATTEMPT_ITERATIONS,
        np.clip(_round_to_powers_of_two(2 * solve_iterations), _MIN_ATTEMPT_ITERATIONS, _MAX_ATTEMPT_ITERATIONS),
    )
    for restart_count, iterations in sorted(set(zip(restarts.tolist(), attempt_iterations.tolist(), strict=True))):
        rows = np.flatnonzero(~is_met & (restarts == restart_count) & (attempt_iterations == iterations))
        solver = _build_search_solver(iterations, restart_count)
        if len(rows) == len(q):
            return _run_attempt(problem, targets, solver, tolerance)
        if len(rows):
            poses[rows], is_met[rows] = _run_attempt(problem.select_rows(rows), targets[rows], solver, tolerance)
    return _FoundPoses(poses, is_met)


@cache
def _build_search_solver(iterations: int, restarts: int) -> _SearchSolver:
    return _SearchSolver(iterations=iterations, restarts=restarts)


def _has_closed_form(problem: Problem, targets: Floats, tolerance: Tolerance) -> bool:
    """Return whether the two-bone closed form applies."""
    closed_solver = solvers.make_solver(_CLOSED_FORM_SOLVER)
    if closed_solver.handles.refusal(closed_solver.name, problem, Request()) is not None:
        return False
    try:
        # With a target: some reasons stand in the pose, and an empty batch of starts has none.
        closed_solver.run(problem.select_rows(slice(0, 1)), targets[:1], tolerance, Request())
    except UnsupportedError:
        return False
    return True


def _run_attempt(problem: Problem, targets: Floats, solver: Any, tolerance: Tolerance) -> _FoundPoses:
    """Run one of Poise's own solvers."""
    if problem.plan.is_sheared or problem.start.shape:
        answer, errors = solve_and_measure(problem, targets, solver, tolerance, Request())
    else:
        answer = solver.run(problem, targets, tolerance, Request())
        errors = problem.compute_errors(answer.q, targets)
    return _FoundPoses(answer.q, problem.is_met(errors, tolerance))


def _repeat_local_parts(start: Pose, count: int) -> list[Floats | None]:
    """Repeat translations and scales of the starts for `count` poses."""
    local_arrays = start.translations, start.scales
    return [
        None if v is None else np.broadcast_to(v.reshape(-1, *v.shape[-2:]), (count, *v.shape[-2:]))
        for v in local_arrays
    ]


def _round_to_powers_of_two(numbers: Ints) -> Ints:
    """Round numbers down to powers of two. 0 stays 0. A few kinds of searches then serve all rows."""
    return np.where(numbers > 0, 2 ** np.floor(np.log2(np.maximum(numbers, 1))).astype(np.int64), 0)


# --- Find the reason for missed goals and the limit violation --------------------------------------------------------
#
# Solvers are not consulted.
#
# Remaining errors of goals are measured along the skeleton's own rows (problem/goal_errors.py).


_STATIONARY_SHARE = 1e-3  # share of the error: a pose is stationary if no single joint reduces it by more
# [rad] distance at which a value counts as at its limit; slides: times the rig size, or the value if larger
_AT_LIMIT_TOLERANCE = 1e-9
_LEGAL_TOLERANCE = 0.5e-9  # [rad, file units] half of the excess ignored by Skeleton.legal, which decides beyond it
_SINGULAR_RATIO = 1e-6  # ratio to the largest singular value, below which a direction counts as lost
_ROUNDING_ERROR = 1e-12  # rig sizes, rad: residuals below it are rounding
# iterations assumed for the search budget: about half of the engine default for a missed target
_DEFAULT_WORK_ITERATIONS = 1000
_PROBE_ANGLE_RAD = 1e-4  # [rad] rotation of a ball that tests its limit


def compute_max_violation(skeleton: Skeleton, q: Floats) -> float:
    """Compute the largest hard-limit violation of poses q (k, nq). It is in [rad, file units]."""
    ranges, bounded, hinges, balls = skeleton.value_ranges, skeleton.bounded, skeleton.ball_hinges, skeleton.ball_limits
    kernel_q, max_violation = q if q.flags.carray else prepare_for_kernel(q), 0.0
    if len(bounded) or hinges.joint_rows:
        max_violation = kernels.limits.find_max_range_excess(
            bounded, ranges, hinges.columns, hinges.axes, hinges.low, hinges.high, kernel_q
        )
    if balls.joint_rows:
        ball_violation = kernels.limits.find_max_rotation_excess(balls.columns[:, 0].copy(), balls.limit_rows, kernel_q)
        max_violation = max(max_violation, ball_violation)
    return max_violation


def can_start(skeleton: Skeleton, q: Floats) -> bool:
    """Return whether a solve can start at q (nq,). It must be finite and legal, with rotations of unit length."""
    ball_columns, *check_arrays = get_or_compute(skeleton, "start checks", None, lambda: _build_start_check(skeleton))
    if not kernels.limits.is_valid_start(*check_arrays, q, UNIT_SLACK, _LEGAL_TOLERANCE):
        return False
    balls = skeleton.ball_limits
    return (
        not len(ball_columns)
        or kernels.limits.find_max_rotation_excess(ball_columns, balls.limit_rows, q[None]) <= _LEGAL_TOLERANCE
    )


def _build_start_check(skeleton: Skeleton) -> tuple[Any, ...]:
    """Pack the limit tables for kernels/limits.py.

    The first entry holds the columns of balls with whole limits.
    """
    hinges = skeleton.ball_hinges
    hinge_limits = hinges.columns, hinges.axes, hinges.low, hinges.high
    ball_columns = skeleton.ball_limits.columns[:, 0].copy() if skeleton.ball_limits.joint_rows else ()
    return (
        ball_columns,
        skeleton.quaternion_columns[:, 0].copy(),
        skeleton.bounded,
        skeleton.value_ranges,
        *hinge_limits,
    )


class ClampedStart(NamedTuple):
    """Start pose within its limits, and the names of the clamped joints."""

    pose: Pose
    clamped_names: tuple[str, ...]


def clamp_start(start: Pose) -> ClampedStart:
    """Clamp a start (..., nq) to its limits. A legal start is returned unchanged."""
    start_q = start.flat_q.copy()
    if len(start_q) == 1:  # the first solve of one pose then compiles no further kernel
        is_legal = can_start(start.skeleton, start_q[0])
    else:
        is_legal = len(start_q) > 0 and compute_max_violation(start.skeleton, start_q) <= _LEGAL_TOLERANCE
    if is_legal:
        return ClampedStart(start, ())
    q, clamped_names = start.skeleton.legal(start.q)
    return ClampedStart(start.with_q(q), clamped_names) if clamped_names else ClampedStart(start, ())


def clamp_to_limits(skeleton: Skeleton, q: Floats) -> Floats:
    """Clamp a configuration q (nq,) to its limits. A legal one is returned as the same array."""
    return q if compute_max_violation(skeleton, q[None]) <= _LEGAL_TOLERANCE else skeleton.legal(q)[0]


def find_status(
    problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance, solve_iterations: Ints | None = None
) -> Ints:
    """Find status codes of poses q away from their targets.

    Proofs from lengths and angles come first. Where no single joint reduces the error, searches (see
    `search_without_limits`) follow: for poses without limits, and for poses of each goal alone. `solve_iterations`
    (k,), the iterations of the solve, bounds them.
    """
    if not problem.joints:
        return np.full(len(q), int(Status.nothing_to_move))
    codes = np.full(len(q), int(Status.stalled))
    codes[number_conflicts(problem, q, targets, tolerance) != 0] = Status.contradictory
    codes[find_unreachable(problem, targets, tolerance) != 0] = Status.out_of_reach
    rows = np.flatnonzero(codes == Status.stalled)
    if len(rows):
        solve_iterations = np.full(len(q), _DEFAULT_WORK_ITERATIONS) if solve_iterations is None else solve_iterations
        codes[rows] = _search_status(*_select_rows(problem, q, targets, rows), tolerance, solve_iterations[rows])
    return codes


def _search_status(problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance, solve_iterations: Ints) -> Ints:
    """Find status codes by searches for other poses. Lengths have proved no reason here."""
    codes = np.full(len(q), int(Status.stalled))
    optimality = measure_local_optimality(problem, q, targets)
    is_blocked, has_no_pose = (
        optimality.is_stationary & optimality.is_blocking.any(axis=1),
        np.zeros(len(q), dtype=np.bool_),
    )
    has_error = has_full_rank = np.zeros(len(q), dtype=np.bool_)
    if problem.plan.layout.target_dofs > len(problem.plan.layout.dofs):
        has_error, has_full_rank = _measure_rank(problem, q, targets)
    rows = np.flatnonzero(is_blocked | (optimality.is_stationary & has_error & ~has_full_rank))
    if len(rows):
        unlimited_search = search_without_limits(
            *_select_rows(problem, q, targets, rows), tolerance, solve_iterations[rows]
        )
        has_no_pose[rows] = ~unlimited_search.met_without_limits
        codes[rows[unlimited_search.met_without_limits & ~unlimited_search.met_within_limits & is_blocked[rows]]] = (
            Status.limited
        )
    codes[optimality.is_stationary & has_error & (has_no_pose | (has_full_rank & ~is_blocked))] = (
        Status.over_constrained
    )
    rows = np.flatnonzero(optimality.is_stationary & (codes == Status.stalled))
    if len(rows) and sum([bool(goal.measures) for goal in problem.goals]) > 1:
        is_singly_met = find_singly_met(*_select_rows(problem, q, targets, rows), tolerance, solve_iterations[rows])
        codes[rows[is_singly_met]] = Status.contradictory
    return codes


def _select_rows(problem: Problem, q: Floats, targets: Floats, rows: Ints) -> tuple[Problem, Floats, Floats]:
    """Take the problem, poses and targets of some rows. All rows are not copied."""
    if len(rows) == len(q):
        return problem, q, np.broadcast_to(targets, (len(q), targets.shape[1]))
    return problem.select_rows(rows), q[rows], _select_targets(targets, rows)


def _select_targets(targets: Floats, rows: Ints) -> Floats:
    return np.broadcast_to(targets, (len(rows), targets.shape[1])) if len(targets) == 1 else targets[rows]


def _measure_rank(problem: Problem, q: Floats, targets: Floats) -> tuple[Bools, Bools]:
    """Find rows with errors above rounding and of full rank (k,).

    A pose stuck at a singularity may only have stalled, so that the rank decides. The measure is independent of units
    and weights.
    """
    jacobian, residuals = compute_residual(problem, q, targets, is_weighted=False)
    column_lengths = np.sqrt((jacobian**2).sum(axis=1, keepdims=True))
    singular_values = np.linalg.svd(jacobian / np.maximum(column_lengths, 1e-300), compute_uv=False)
    return np.abs(residuals).max(axis=1) > _ROUNDING_ERROR, singular_values[:, -1] > _SINGULAR_RATIO * singular_values[
        :, 0
    ]


# --- limits ------------------------------------------------------------------------------------------------------


class LocalOptimality(NamedTuple):
    """Local optimality of poses and their blocking joints.

    `is_stationary` (k,) marks poses without an improving single joint, `is_blocking` (k, joints) joints held at their
    limits.

    The columns of `is_blocking` belong to `joint_rows` of the skeleton; `joint_values` (k, joints) are the bounded
    values and `joint_ranges` (joints, 2) their limits, infinite for a ball with a limit of its whole rotation. A joint
    blocks if it alone would reduce the error without its limit. If there is no such joint (two must bend together), all
    joints at a limit block.
    """

    is_stationary: Bools
    is_blocking: Bools
    joint_rows: tuple[int, ...]
    joint_values: Floats
    joint_ranges: Floats


def measure_local_optimality(problem: Problem, q: Floats, targets: Floats) -> LocalOptimality:
    """Measure local optimality of poses q (k, nq).

    For a single point each joint alone is moved exactly. Otherwise the decrease of the squared
    residual |e|^2 by each degree of freedom alone is taken to first order: (J e)^2 / (J J).
    """
    plan = problem.plan
    if problem.has_single_position and not plan.limit_rows.any() and plan.length_error <= EXPORTER_LENGTH_ERROR:
        return _probe_joints(find_chain(problem), problem, q, targets)
    jacobian, residual = compute_residual(problem, q, targets)
    gradient = np.einsum("krd,kr->kd", jacobian, residual)
    squared_decrease = gradient**2 / np.maximum((jacobian**2).sum(axis=1), 1e-300)
    can_help = squared_decrease > 2 * _STATIONARY_SHARE * (residual**2).sum(axis=1, keepdims=True)
    dof_table = plan.layout.dofs
    low, high, u_columns = dof_table[:, DOF_LOW], dof_table[:, DOF_HIGH], dof_table[:, DOF_U_COLUMN].astype(np.int64)
    joint_values = np.where(u_columns >= 0, plan.q_to_u(q)[:, u_columns], 0.0)
    ranges = np.stack([low, high], axis=1)
    slide_dofs = [node.dof_start for node in plan.layout.nodes if node.kind == SLIDE]
    is_at_low, is_at_high = _find_values_at_ends(
        joint_values, ranges, np.where(np.isin(np.arange(len(low)), slide_dofs), plan.kernel_unit_in_base, 1.0)
    )
    is_at_limit = (is_at_low | is_at_high) & (u_columns >= 0)
    is_blocked = is_at_limit & ((is_at_low & (gradient < 0)) | (is_at_high & (gradient > 0)))
    can_improve = can_help & ~is_blocked
    for i in np.flatnonzero(
        [limit[LIMIT_KIND] != NO_LIMIT and limit[LIMIT_SOFT_WEIGHT] == 0.0 for limit in plan.limit_rows]
    ):
        node, dofs = plan.layout.nodes[i], slice(plan.layout.nodes[i].dof_start, plan.layout.nodes[i].dof_start + 3)
        ball_rotations = plan.q_to_u(q)[:, node.u_start : node.u_start + 4]
        direction, is_held_back = _find_open_direction(plan.limit_rows[i], ball_rotations, gradient[:, dofs])
        residual_change = np.einsum("kd,krd->kr", direction, jacobian[:, :, dofs])
        decrease_along_open = np.einsum("kd,kd->k", direction, gradient[:, dofs]) ** 2 / np.maximum(
            (residual_change**2).sum(axis=1), 1e-300
        )
        is_open = (direction**2).sum(axis=1) > _STATIONARY_SHARE**2
        can_improve[:, dofs] = (is_open & (decrease_along_open > 2 * _STATIONARY_SHARE * (residual**2).sum(axis=1)))[
            :, None
        ]
        can_help[:, dofs] = can_help[:, dofs].any(axis=1, keepdims=True)
        is_at_limit[:, node.dof_start] = is_blocked[:, node.dof_start] = is_held_back
    is_stationary = ~can_improve.any(axis=1)
    row_of_dof = {
        node.dof_start + i: _find_leader(problem, node.row)
        for node in plan.layout.nodes
        for i in range(DOF_COUNTS[node.kind])
    }
    joint_rows = tuple(row_of_dof[dof] for dof in range(len(low)))
    return LocalOptimality(
        is_stationary, _find_blocking(is_at_limit, can_help & is_blocked), joint_rows, joint_values, ranges
    )


def _find_leader(problem: Problem, joint_row: int) -> int:
    """Return the row with this joint's range. For a coupled joint it is the row of its leader."""
    coupling = problem.skeleton.couplings[joint_row]
    return joint_row if coupling is None else coupling.leader


def _probe_joints(chain: Chain, problem: Problem, q: Floats, targets: Floats) -> LocalOptimality:
    """Move every joint of a chain alone, exactly."""
    x, tip_targets = chain.q_to_motions(q), np.ascontiguousarray(chain.pack_targets(problem, targets)[:, :3])
    points, tips = chain.effector_point, np.zeros((len(x), 3))
    errors_by_joint = np.zeros((len(x), len(chain.joint_rows), 2))
    kernels.ccd_position.measure_joint_leverage(
        chain.link_kinds, chain.axes, chain.ranges, chain.frames, points, tip_targets, x, errors_by_joint,
        get_scratch(kernels.ccd_goals.compute_goal_work_size(len(chain.link_kinds))),
    )  # fmt: skip
    kernels.chain_kinematics.compute_tips(chain.link_kinds, chain.axes, chain.frames, points, x, tips)
    errors = np.sqrt(((tips - tip_targets) ** 2).sum(axis=-1))
    is_stationary = (errors_by_joint[:, :, 0] >= (1 - _STATIONARY_SHARE) * errors[:, None]).all(axis=1)
    joint_values = x[:, :, 0]
    is_at_limit = np.logical_or(
        *_find_values_at_ends(
            joint_values, chain.ranges, np.where(chain.link_kinds == SLIDE, chain.plan.kernel_unit_in_base, 1.0)
        )
    )
    can_help = errors_by_joint[:, :, 1] < (1 - _STATIONARY_SHARE) * errors_by_joint[:, :, 0]
    return LocalOptimality(
        is_stationary, _find_blocking(is_at_limit, can_help), chain.joint_rows, joint_values, chain.ranges
    )


def _find_open_direction(limit: Floats, ball_rotations: Floats, gradient: Floats) -> tuple[Floats, Bools]:
    """Find the allowed direction (k, 3) of pushed balls at their limits.

    Takes pushes (k, 3) and rotations (k, 4). Also returns whether the limit deflects the push.

    It takes a small step in that direction, clamps it and returns the remainder in lengths of the step.
    """
    gradient_length = np.sqrt((gradient**2).sum(axis=-1, keepdims=True))
    probe_rotations = rotations.multiply(
        rotations.about(gradient / np.maximum(gradient_length, 1e-300), np.full(len(gradient), _PROBE_ANGLE_RAD)),
        ball_rotations,
    )
    probe_rotations = np.where(gradient_length > 0.0, probe_rotations, ball_rotations)
    clamped_step = rotations.multiply(clamp_rotations(limit, probe_rotations), rotations.inverse(ball_rotations))
    direction = 2.0 * clamped_step[:, 1:] * np.where(clamped_step[:, :1] < 0.0, -1.0, 1.0) / _PROBE_ANGLE_RAD
    along_gradient = (direction * gradient).sum(axis=-1) / np.maximum(gradient_length[:, 0], 1e-300)
    return direction, (along_gradient < 1.0 - _STATIONARY_SHARE) & (gradient_length[:, 0] > 0.0)


def _find_values_at_ends(values: Floats, ranges: Floats, value_scales: Floats) -> tuple[Bools, Bools]:
    """Find values at the lower and upper end of their range.

    `value_scales` scales the tolerance: one radian for a rotation, the rig size for a slide, in any unit.
    """
    tolerances = _AT_LIMIT_TOLERANCE * np.maximum(value_scales, np.abs(values))
    return values <= ranges[:, 0] + tolerances, values >= ranges[:, 1] - tolerances


def _find_blocking(is_at_limit: Bools, can_help: Bools) -> Bools:
    """Find the joints blocked by their limits.

    They are the joints at a limit that would reduce the error, or all joints at a limit if there are none.
    """
    is_blocking = is_at_limit & can_help
    return np.where(is_blocking.any(axis=1, keepdims=True), is_blocking, is_at_limit)
