"""Levenberg-Marquardt in NumPy on forward kinematics. It serves trees with non-uniform scale, and Balance.

Residual and Jacobian are computed from the affine maps (problem/residuals.py); limits are kept. The starts are answers
of other solvers, so few problems need it, and few steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.kernels.codes import LIMIT_SOFT, NO_LIMIT
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.remember import remember
from poise.problem.layout import BALL, MOVE
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance
from poise.problem.reach import beyond_reach
from poise.problem.residuals import residual
from poise.solvers.base.contract import Answer
from poise.solvers.base.engine import eased, seeds_of

_STEPS = 100  # largest number of steps in one run
_TOGETHER = 4096  # runs in memory at once
_SPREAD = 0.1  # [rad] rotation of balls in the first restart; it grows linearly with the restart number
_SHARE = 4.0  # largest ratio of a miss to the length error; larger misses are not caused by shear
_DAMPING = 0.04  # damping per squared error, as in the engine
_EASIER, _HARDER = 0.2, 10.0  # factors on the damping after an improving step and after a failed one
_EASIEST, _HARDEST = 1e-3, 1e6  # bounds of the accumulated damping factor
_LONGEST = 0.5  # [rad, kernel units] largest step of a degree of freedom
_FLOOR = 1e-12  # smallest damping; keeps the system solvable
_GAIN, _IDLE = 1e-6, 3  # [kernel units, rad] and steps: a run ends after this many steps of less gain
_FEW = 8  # restarts in the first round
_HOPE = 0.9  # largest remaining error ratio for a second round; above it the goals conflict
_WORTH = 0.999  # largest error ratio to accept another miss
_PROBE = 1e-4  # [rad] rotation of a ball to probe its limit
_KEPT = 1e-3  # smallest share of a rotation removed by a limit to count as blocked


class DescentPatience(NamedTuple):
    """Number of steps, and the relative gain required in them."""

    steps: int
    share: float


_SETTLING = DescentPatience(10, 1e-4)  # for the final run towards unreachable goals
_TRYING = DescentPatience(4, 0.2)  # for restarts, as in the engine


class Descent(NamedTuple):
    """Result of Levenberg-Marquardt runs.

    Fields: values u (k, nu), squared errors (k,), success (k,) and steps (k,).
    """

    u: Floats
    costs: Floats
    met: Bools
    steps: Ints


def descended(problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance, *, attempts: int) -> Answer:
    """Refine poses q (k, nq) towards their targets (k, W).

    The affine maps are used, and each pose gets as near as possible. Misses small enough to be caused by shear get
    `restarts` further starts.
    """
    found = descend(problem, problem.plan.u_of(q), targets, tolerance)
    near = _near(problem, found, targets, tolerance) if attempts else np.empty(0, dtype=np.int64)
    together = max(_TOGETHER // max(attempts, 1), 1)
    for first in range(0, len(near), together):
        _try_again(problem, found, near[first : first + together], targets, tolerance, attempts)
    kept = (found.steps == 0)[:, None]
    turned = np.where(kept, q, problem.q_of(found.u, ~kept[:, 0]))
    return Answer(turned, found.met, found.steps, found.steps * len(problem.joints))


def _near(problem: Problem, found: Descent, targets: Floats, tolerance: Tolerance) -> Ints:
    """Find missed rows within reach of a shear correction. Rows out of reach by bone lengths are excluded."""
    plan = problem.plan
    span = max([reach for _, reach, _ in plan.reaches if np.isfinite(reach)], default=1.0)
    most = (_SHARE * plan.stretch * max(span, 1.0) * plan.aims[:, 7].max(initial=0.0)) ** 2
    near = np.flatnonzero(~found.met & (found.costs <= most))
    if not len(near):
        return near
    return near[beyond_reach(problem.part(near), targets[near], tolerance) == 0]


def _try_again(
    problem: Problem, found: Descent, rows: Ints, targets: Floats, tolerance: Tolerance, attempts: int
) -> None:
    """Restart rows, keeping the first success or the best.

    Restarts with little gain are given up; only the best remaining miss is run to convergence.
    """
    first, before = found.u[rows], found.costs[rows]
    _try_from(problem, found, rows, first, targets, tolerance, range(min(_FEW, attempts)))
    left = np.flatnonzero(~found.met[rows] & (found.costs[rows] < _HOPE**2 * before))
    if len(left) and attempts > _FEW:
        _try_from(problem, found, rows[left], first[left], targets, tolerance, range(_FEW, attempts))
    on = rows[~found.met[rows] & (found.costs[rows] < before)]
    if len(on):
        settled = descend(problem.part(on), found.u[on], targets[on], tolerance)
        _keep(found, on, settled, np.arange(len(on)))
        found.steps[on] += settled.steps


def _try_from(
    problem: Problem, found: Descent, rows: Ints, first: Floats, targets: Floats, tolerance: Tolerance, tried: range
) -> None:
    """Run restarts from random poses around `first` (r, nu). Each row keeps the better result."""
    count, every = len(tried), np.repeat(rows, len(tried))
    part, seeds = problem.part(every), seeds_of(len(problem.plan.layout.dofs))
    starts = [problem.plan.scattered(first, seeds[i], min(_SPREAD * (i + 1), 2.0)) for i in tried]
    u = np.stack(starts, axis=1).reshape(len(every), -1)
    again = descend(part, u, targets[every], tolerance, _TRYING)
    costs, met = again.costs.reshape(-1, count), again.met.reshape(-1, count)
    best = np.where(met.any(axis=1), met.argmax(axis=1), costs.argmin(axis=1)) + count * np.arange(len(rows))
    better = again.met[best] | (again.costs[best] < _WORTH * found.costs[rows])
    _keep(found, rows[better], again, best[better])
    found.steps[rows] += again.steps.reshape(-1, count).sum(axis=1)


def _keep(found: Descent, rows: Ints, other: Descent, theirs: Ints) -> None:
    """Copy values, costs and success of some rows."""
    for mine, new in zip(found[:3], other[:3], strict=True):
        mine[rows] = new[theirs]


def descend(
    problem: Problem, u: Floats, targets: Floats, tolerance: Tolerance, patience: DescentPatience = _SETTLING
) -> Descent:
    """Run Levenberg-Marquardt from values u (k, nu). Each row stops when its goals are met or it gains nothing."""
    k, plan, u = len(u), problem.plan, u.copy()
    q = problem.q_of(u, np.ones(k, dtype=bool))
    rates, left = residual(problem, q, targets)
    costs, met = (left**2).sum(axis=1), problem.met(problem.errors(q, targets), tolerance)
    caution, idle, steps = np.ones(k), np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64)
    before = costs.copy()
    for i in range(_STEPS):
        if i and i % patience.steps == 0:
            idle[np.sqrt(costs) > (1.0 - patience.share) * np.sqrt(before)] = _IDLE
            before = costs.copy()
        rows = np.flatnonzero(~met & (idle < _IDLE) & (caution < _HARDEST))
        if not len(rows):
            break
        part = problem.part(rows)
        tried = _moved(plan, u[rows], _step(plan, u[rows], rates[rows], left[rows], caution[rows]))
        q = part.q_of(tried, np.ones(len(rows), dtype=bool))
        new_rates, new_left = residual(part, q, targets[rows])
        new_costs = (new_left**2).sum(axis=1)
        better = new_costs < costs[rows]
        idle[rows] = np.where(np.sqrt(costs[rows]) - np.sqrt(new_costs) > _GAIN, 0, idle[rows] + better)
        caution[rows] = np.maximum(caution[rows] * np.where(better, _EASIER, _HARDER), _EASIEST)
        steps[rows] += 1
        gone = rows[better]
        u[gone], rates[gone], left[gone], costs[gone] = (
            tried[better], new_rates[better], new_left[better], new_costs[better],
        )  # fmt: skip
        if len(gone):  # an empty problem has no plan
            met[gone] = problem.met(part.part(better).errors(q[better], targets[gone]), tolerance)
    return Descent(u, costs, met, steps)


def _step(plan: Plan, u: Floats, rates: Floats, left: Floats, caution: Floats) -> Floats:
    """Compute damped least-squares steps (k, nd). Columns blocked by a limit are excluded."""
    dofs, rates = eased(plan), rates.copy()
    push = (rates * left[:, :, None]).sum(axis=1)
    at = dofs[:, 2].astype(np.int64)
    values = np.where(at >= 0, u[:, at], 0.0)
    stuck = (at >= 0) & (((values <= dofs[:, 0]) & (push < 0)) | ((values >= dofs[:, 1]) & (push > 0)))
    rates *= ~stuck[:, None]
    _take_out_kept(plan, u, push, rates)
    scaled = rates * dofs[:, 3]
    square = scaled @ np.swapaxes(rates, 1, 2)
    damping = np.maximum(_DAMPING * caution * (left**2).sum(axis=1), _FLOOR)
    solved = np.linalg.solve(square + damping[:, None, None] * np.eye(square.shape[1]), left[:, :, None])
    step = (scaled * solved).sum(axis=1)
    most = np.abs(step / np.sqrt(dofs[:, 3])).max(axis=1, initial=_LONGEST)
    return step * (_LONGEST / most)[:, None]


def _take_out_kept(plan: Plan, u: Floats, push: Floats, rates: Floats) -> None:
    """Remove ball rotations blocked by limits from the Jacobian.

    The blocked direction is the part of a small rotation lost by clamping.
    """
    held = _balls(plan, held=True)
    if not len(held.at):
        return
    ways = push[:, held.dofs]
    ways /= np.maximum(np.sqrt((ways**2).sum(axis=2, keepdims=True)), 1e-300)
    turns, probes = u[:, held.numbers], u.copy()
    probes[:, held.numbers] = rotations.multiply(rotations.from_vector(_PROBE * ways), turns)
    kernels.limits.rotations.put_inside(held.at, held.limits, probes)
    gone = rotations.multiply(probes[:, held.numbers], rotations.inverse(turns))
    lost = ways - rotations.as_vector(gone) / _PROBE
    size = np.sqrt((lost**2).sum(axis=2, keepdims=True))
    out = np.where(size > _KEPT, lost / np.maximum(size, 1e-300), 0.0)[:, None]
    columns = rates[:, :, held.dofs]
    rates[:, :, held.dofs] = columns - (columns * out).sum(axis=3, keepdims=True) * out


class _Balls(NamedTuple):
    """Ball joints of a plan. Fields: first columns in u (b,), all columns in u (b, 4), dofs (b, 3) and limits."""

    at: Ints
    numbers: Ints
    dofs: Ints
    limits: Floats


def _balls(plan: Plan, *, held: bool = False) -> _Balls:
    """Find all balls, or only those with hard limits."""

    def make() -> _Balls:
        limits = plan.limits
        binds = (limits[:, 0] != NO_LIMIT) & (limits[:, LIMIT_SOFT] == 0.0)
        rows = [i for i, node in enumerate(plan.layout.nodes) if node.kind == BALL and (binds[i] or not held)]
        found = np.array([(plan.layout.nodes[i].at, plan.layout.nodes[i].dof) for i in rows], dtype=np.int64)
        at, dofs = found.reshape(-1, 2).T.copy()
        return _Balls(at, at[:, None] + np.arange(4), dofs[:, None] + np.arange(3), np.array(limits[rows]))

    return remember(plan, "balls", held, make)


def _moved(plan: Plan, u: Floats, step: Floats) -> Floats:
    """Apply a step (k, nd) to u (k, nu) within limits."""
    u, dofs, balls, held = u.copy(), plan.layout.dofs, _balls(plan), _balls(plan, held=True)
    one = np.flatnonzero(dofs[:, 2] >= 0.0)
    at = dofs[one, 2].astype(np.int64)
    u[:, at] = np.clip(u[:, at] + step[:, one], dofs[one, 0], dofs[one, 1])
    for node in plan.layout.nodes:
        if node.kind == MOVE:
            u[:, node.at : node.at + 3] += step[:, node.dof : node.dof + 3]
    if len(balls.at):
        turns = rotations.multiply(rotations.from_vector(step[:, balls.dofs]), u[:, balls.numbers])
        u[:, balls.numbers] = rotations.unit(turns)
    if len(held.at):
        kernels.limits.rotations.put_inside(held.at, held.limits, u)
    return u
