"""Solver: the best values of a leg problem, block by block.

Each block is solved by Gauss-Newton steps with the damping of Levenberg and Marquardt. The damping has a value for each
frame: where a step made a frame worse, frames around it take shorter ones, and all others go on. Blocks overlap, since
what happens in a frame is felt for a fraction of a second only; in an overlap the one goes over to the other smoothly.
So memory does not grow with the number of frames, and blocks run in threads.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.ground.trajectory.leg_problem import LegProblem
from poise.ground.trajectory.residuals import Residuals, differentiate_residuals, measure_residuals
from poise.maths.arrays import Bools, Floats, Ints, get_scratch
from poise.maths.smoothing import average_hann, compute_window_max, smoothstep

_BLOCK_S = 8.0  # [s] of a block, overlaps aside: twice as long ones are 6 % faster, half as long ones 25 % slower
_OVERLAP_S = 0.5  # [s] on each side: an edit has died away by then, see the times of leg_problem.py
_STEPS = 22  # of a block, and where blocks meet
_FEW = 0.5  # share of frames that still change, below which only what is near to those is solved further
_FELT_S = 0.25  # [s] from frames that still change, values may change, too
_EDGE = 2  # frames on each side that stay: a change of step reaches so far
_MAX_ROW_CHANGES = 4  # of the set of violated rows within a step
_MIN_GAIN, _MIN_COST = 0.05, 30.0  # share of the cost of a frame, and [m^2/s^4]: what changes less has settled
_UNSEEN_M = 0.001  # [m] change of step: a frame whose cost differs by less than that of one is solved already
_DAMPING, _MIN_DAMPING, _MAX_DAMPING = 0.1, 1e-3, 1e4  # at first, at least, at most: times the weights of values
_RAISE, _LOWER = 8.0, 0.2  # of the damping, after a step that made a frame worse, and after others
_WORSE = 1.0  # times the mean cost of frames: a frame that became worse by more is worse
_AROUND = 8  # frames on each side that are damped with it


def solve_problem(
    problem: LegProblem, threads: int = 2, start: Floats | None = None, costs: Floats | None = None
) -> Floats:
    """Return the values (F, K) of the least cost.

    start  values (F, K) near to them, if such are known
    costs  (F,) where they solve a problem like this one, with these costs: frames that cost as much now have settled
    """
    frames = len(problem.free)
    size, overlap = (max(1, round(seconds / problem.step)) for seconds in (_BLOCK_S, _OVERLAP_S))
    firsts = range(0, max(frames - overlap, 1), size)
    blocks = [slice(max(0, first - overlap), min(frames, first + size + overlap)) for first in firsts]
    if len(blocks) == 1:
        return _solve_block(problem, start, costs)
    with ThreadPoolExecutor(threads) as pool:
        starts, before = ([None if rows is None else rows[block] for block in blocks] for rows in (start, costs))
        solved = list(pool.map(_solve_block, map(problem.take_frames, blocks), starts, before))
    values = np.zeros(problem.free.shape)
    for rows, block in zip(blocks, solved, strict=True):
        share = smoothstep((np.arange(rows.start, rows.stop) - rows.start + 0.5) / max(2 * overlap, 1))
        share = share[:, None] if rows.start > 0 else 1.0
        values[rows] += share * (block - values[rows])
    for rows in blocks[1:]:  # what is between two ways around an edge may be in it
        seam = np.arange(max(0, rows.start - _EDGE), min(rows.start + 2 * overlap + _EDGE, frames))
        inner = (seam >= rows.start) & (seam < rows.start + 2 * overlap)
        wide = slice(int(seam[0]), int(seam[-1]) + 1)
        _improve(problem.take_frames(wide), values[wide], inner)
    return values


def _solve_block(problem: LegProblem, start: Floats | None, costs: Floats | None) -> Floats:
    """Return the best values (F, K) of all frames of a problem."""
    values = np.zeros(problem.free.shape) if start is None else start.copy()
    changing = np.ones(len(values), dtype=np.bool_)
    if costs is not None:
        least = min(_MIN_COST, 0.5 * (_UNSEEN_M / problem.step**2) ** 2)
        changing = _differ(measure_residuals(problem, values).cost, costs, least)
    _improve(problem, values, _widen(changing, round(_FELT_S / problem.step)))
    return values


def _differ(cost: Floats, before: Floats, least: float = _MIN_COST) -> Bools:
    """Return where (F,) a cost is another one than before."""
    return np.asarray(np.abs(cost - before) > _MIN_GAIN * before + least)


class _Part(NamedTuple):
    """A part of a problem, solved at once.

    problem  that of these frames
    frames   (k,) which they are
    counts   (k,) whether their changes of step are known
    """

    problem: LegProblem
    frames: Ints
    counts: Bools


def _take_part(problem: LegProblem, inner: Bools) -> _Part:
    """Take the inner frames (F,) of a problem, and those around them."""
    frames = np.flatnonzero(_widen(inner, _EDGE))
    if inner.all():
        return _Part(problem, frames, inner)
    return _Part(problem.take_runs(frames, inner[frames]), frames, _widen(inner, 1)[frames])


def _improve(problem: LegProblem, values: Floats, inner: Bools) -> None:
    """Improve values (F, K) of the inner frames (F,) in place.

    First of all of them, and then of those near to frames that still change.
    """
    around, damping = round(_FELT_S / problem.step), np.full(len(values), _DAMPING)
    if not inner.any():
        return
    best, part = measure_residuals(problem, values), _take_part(problem, inner)
    for _ in range(_STEPS):
        frames, counts = part.frames, part.counts
        now = Residuals(*(rows[frames] for rows in best))
        change = _compute_change(part.problem, now, damping[frames])
        tried = measure_residuals(part.problem, now.values + change)
        worse = _find_worse(now, tried) & counts
        if worse.any():  # go on where it was no worse
            share = 1.0 - average_hann(_widen(worse, _AROUND).astype(np.float64), _AROUND)
            partly = measure_residuals(part.problem, now.values + share[:, None] * change)
            tried = min(tried, partly, key=lambda residuals: float(residuals.cost[counts].sum()))
        changing = _differ(tried.cost, now.cost) | (worse & (damping[frames] < _MAX_DAMPING))
        changing &= counts
        raised, lowered = _RAISE * damping[frames], np.maximum(_LOWER * damping[frames], _MIN_DAMPING)
        damping[frames] = np.where(_widen(worse, _AROUND), raised, lowered)
        if tried.cost[counts].sum() < now.cost[counts].sum():
            for rows, found in zip(best, tried, strict=True):
                rows[frames[counts]] = found[counts]
        elif not worse.any():
            damping[frames] *= _RAISE / _LOWER
        if not changing.any():
            break
        if changing.mean() < _FEW:
            still = np.zeros(len(values), dtype=np.bool_)
            still[frames] = changing
            inner = _widen(still, around) & inner
            part = _take_part(problem, inner)
    values[:] = best.values


def _compute_change(problem: LegProblem, residuals: Residuals, damping: Floats) -> Floats:
    """Compute a step from residuals: changes of values (F, K)."""
    columns, moves = problem.columns, kernels.ground.leg_moves
    points, rows = np.repeat(columns, moves.POINTS, axis=0), np.repeat(columns, moves.ROWS, axis=0)
    work = get_scratch(kernels.trajectory.compute_work_size(*problem.free.shape, len(points), len(rows)))
    slopes, row_slopes = differentiate_residuals(problem, residuals)
    step = np.empty(problem.free.size)
    kernels.trajectory.compute_step(
        residuals.changes, slopes, points, problem.point_weights, residuals.rows, row_slopes, rows, residuals.values,
        problem.free, problem.value_weights, damping, _MAX_ROW_CHANGES, step, work,
    )  # fmt: skip
    return step.reshape(problem.free.shape)


def _find_worse(best: Residuals, tried: Residuals) -> Bools:
    """Find the frames (F,) of far higher cost after a step."""
    return np.asarray(tried.cost - best.cost > _WORSE * best.cost.mean())


def _widen(frames: Bools, reach: int) -> Bools:
    """Mark frames near to marked ones (F,), too."""
    return compute_window_max(frames.astype(np.float64), reach) > 0.0
