"""Solver: the values of a leg problem that cost least, block of frames by block of frames.

Each block is solved by Gauss-Newton steps with the damping of Levenberg and Marquardt. The damping has a value for each
frame: where a step made a frame worse, frames around it take shorter ones, and all others go on. Blocks overlap, since
what happens in a frame is felt for a fraction of a second only; in an overlap the one goes over to the other smoothly.
So memory does not grow with the number of frames, and blocks run in threads.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from poise import kernels
from poise.ground.trajectory.leg_problem import ROWS, LegProblem
from poise.ground.trajectory.residuals import measure_residuals
from poise.maths.arrays import Bools, Floats, get_scratch
from poise.maths.smoothing import smoothstep

_BLOCK_S = 4.0  # [s] of a block, overlaps aside
_OVERLAP_S = 0.5  # [s] on each side: an edit has died away by then, see the times of leg_problem.py
_MAX_STEPS = 25
_MAX_ROW_CHANGES = 10  # of the set of violated rows within a step
_MIN_GAIN = 0.01  # of the cost: a step that gains less is the last
_DAMPING, _MIN_DAMPING = 0.1, 1e-3  # at first, and at least: times the weights of values
_RAISE, _LOWER = 8.0, 0.2  # of the damping, after a step that made a frame worse, and after others
_WORSE = 1.0  # times the mean cost of frames: a frame that became worse by more is worse
_AROUND = 8  # frames on each side that are damped with it


def solve_problem(problem: LegProblem, threads: int = 2) -> Floats:
    """Return the values (F, K) that cost least."""
    frames = len(problem.free)
    size, overlap = (max(1, round(seconds / problem.step)) for seconds in (_BLOCK_S, _OVERLAP_S))
    starts = range(0, max(frames - overlap, 1), size)
    blocks = [slice(max(0, start - overlap), min(frames, start + size + overlap)) for start in starts]
    with ThreadPoolExecutor(threads) as pool:
        solved = list(pool.map(_solve_block, map(problem.take_frames, blocks)))
    values = np.zeros(problem.free.shape)
    for rows, block in zip(blocks, solved, strict=True):
        share = smoothstep((np.arange(rows.start, rows.stop) - rows.start + 0.5) / max(2 * overlap, 1))
        share = share[:, None] if rows.start > 0 else 1.0
        values[rows] += share * (block - values[rows])
    return values


def _solve_block(problem: LegProblem) -> Floats:
    """Return the best values (F, K) of all frames of a problem."""
    columns = problem.columns
    points, rows = np.repeat(columns, kernels.ground.leg_moves.POINTS, axis=0), np.repeat(columns, ROWS, axis=0)
    point_weights, value_weights = problem.point_weights, problem.value_weights
    step = np.empty(problem.free.size)
    damping = np.full(len(problem.free), _DAMPING)
    best = measure_residuals(problem, np.zeros(problem.free.shape))
    for _ in range(_MAX_STEPS):
        work = get_scratch(kernels.trajectory.compute_work_size(*problem.free.shape))
        kernels.trajectory.compute_step(
            best.changes, best.slopes, points, point_weights, best.rows, best.row_slopes, rows, best.values,
            problem.free, value_weights, damping, _MAX_ROW_CHANGES, step, work,
        )  # fmt: skip
        tried = measure_residuals(problem, best.values + step.reshape(best.values.shape))
        worse = _widen(tried.cost - best.cost > _WORSE * best.cost.mean())
        damping = np.where(worse, _RAISE * damping, np.maximum(_LOWER * damping, _MIN_DAMPING))
        gain = best.cost.sum() - tried.cost.sum()
        if gain > 0.0:
            best = tried
            if gain < _MIN_GAIN * best.cost.sum():
                break
        elif not worse.any():
            damping *= _RAISE / _LOWER
    return best.values


def _widen(frames: Bools) -> Bools:
    """Mark frames near to those that are marked (F,), too."""
    return np.convolve(frames, np.ones(2 * _AROUND + 1), mode="same")[: len(frames)] > 0.5  # noqa: PLR2004
