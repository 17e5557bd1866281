"""Residuals of a leg problem, and their derivatives by its unknowns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.ground.figure.footing import Footing
from poise.ground.figure.steps import NEAR
from poise.ground.trajectory.leg_problem import LegProblem
from poise.maths.arrays import Floats
from poise.maths.smoothing import compute_window_max
from poise.maths.vectors import length

_PROBE_M = 0.015  # [m] to each side over which the slope of the ground is taken: an edge is as wide
_MAX_SLOPE = 3.0  # a riser counts as ground so steep
_VISIBLE_M = 0.003  # [m] change of step beyond the source's that is visible: there its weight is doubled
_MAX_EMPHASIS = 9.0  # with more, pelvis and toes move farther than pops shrink


class Residuals(NamedTuple):
    """Residuals of P points and R rows for values (F, K).

    See `poise.kernels.trajectory`.

    cost            (F,) of each frame
    points, ground  (F, 3, L, 3) of the soles, and heights (F, 3, L) of the ground there
    tilts           (F, 3, L, 2) slopes of the ground there
    """

    values: Floats
    changes: Floats
    rows: Floats
    cost: Floats
    points: Floats
    ground: Floats
    tilts: Floats


def measure_residuals(problem: LegProblem, values: Floats) -> Residuals:
    """Measure what values (F, K) leave of a problem."""
    found, points, ankles = place_points(problem, values)
    ground, tilts = sample_ground(problem.footing, points, problem.plane)
    changes, cost = np.empty(found.shape), np.empty(len(values))
    rows = np.empty((len(values), kernels.ground.leg_moves.ROWS * ankles.shape[1]))
    kernels.ground.leg_moves.measure_moves(
        found, points, ankles, ground, problem.wanted, problem.longest, problem.shortest, problem.depths, problem.bend,
        problem.feet.bends, values, problem.point_weights, problem.value_weights, changes, rows, cost,
    )  # fmt: skip
    return Residuals(values, changes, rows, cost, points, ground, tilts)


def differentiate_residuals(problem: LegProblem, residuals: Residuals) -> tuple[Floats, Floats]:
    """Differentiate points and rows by the unknowns of their leg.

    Returns the derivatives of points (F, P, 3, 6) and of rows (F, R, 6).
    """
    moves, feet = kernels.ground.leg_moves, problem.feet
    slopes = np.empty((*residuals.changes.shape, moves.UNKNOWNS))
    row_slopes = np.empty((*residuals.rows.shape, moves.UNKNOWNS))
    moves.differentiate_moves(
        problem.places, problem.axes, problem.up, feet.balls, feet.across, feet.arms, problem.drawn_out,
        problem.lengths, feet.bends, residuals.values, residuals.points, residuals.tilts, slopes, row_slopes,
    )  # fmt: skip
    return slopes, row_slopes


def place_points(problem: LegProblem, values: Floats) -> tuple[Floats, Floats, Floats]:
    """Place the points of legs for values (F, K).

    Returns joints (F, 5 L, 3), points of soles (F, 3, L, 3) and targets of ankles (F, L, 3).
    """
    (frames, legs), moves, feet = problem.longest.shape, kernels.ground.leg_moves, problem.feet
    found, points = np.empty((frames, moves.POINTS * legs, 3)), np.empty((frames, 3, legs, 3))
    ankles = np.empty((frames, legs, 3))
    moves.place_points(
        problem.places, problem.axes, problem.up, feet.balls, feet.across, feet.arms, problem.drawn_out,
        problem.lengths, feet.soles, feet.bends, values, found, points, ankles,
    )  # fmt: skip
    return found, points, ankles


def weigh_pops(problem: LegProblem, values: Floats) -> Floats:
    """Compute the emphasis (F, 5 L) of changes of step.

    Pops weigh more: what a solution has beyond the largest change that is wanted within 0.1 s. Least squares leave a
    few large ones, and an eye sees these. After Lawson, Contributions to the theory of linear least maximum
    approximation (1961).
    """
    wanted = length(problem.wanted)
    wanted = compute_window_max(wanted, max(1, round(NEAR / problem.step)))
    changes = length(measure_residuals(problem, values).changes + problem.wanted)
    return np.minimum(1.0 + (np.maximum(changes - wanted, 0.0) / _VISIBLE_M) ** 2, _MAX_EMPHASIS)


def difference_twice(points: Floats) -> Floats:
    """Compute p+ - 2 p + p- of points (F, ...). It is 0 at both ends."""
    found = np.zeros_like(points)
    found[1:-1] = points[2:] - 2.0 * points[1:-1] + points[:-2]
    return found


def find_plane(footing: Footing) -> Floats:
    """Return a plane (3,): its height at the origin, and its slopes."""
    at = footing.heights(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    return np.array([at[0], at[1] - at[0], at[2] - at[0]])


def sample_ground(footing: Footing, points: Floats, plane: Floats | None) -> tuple[Floats, Floats]:
    """Sample the ground under points (..., 3): heights (...), slopes (..., 2).

    Near to a riser the ground counts as high as behind it: so toes keep a distance.

    plane  (3,) of ground that is one, see `find_plane`
    """
    tilts = np.empty((*points.shape[:-1], 2))
    if plane is not None:
        tilts[:] = plane[1:]
        return plane[0] + plane[1] * points[..., 0] + plane[2] * points[..., 1], tilts
    probes = _PROBE_M * np.array(
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]
    )
    around = footing.heights(points + probes.reshape(5, *[1] * (points.ndim - 1), 3))
    for axis in range(2):
        slope = (around[1 + 2 * axis] - around[2 + 2 * axis]) / (2.0 * _PROBE_M)
        np.clip(slope, -_MAX_SLOPE, _MAX_SLOPE, out=tilts[..., axis])
    return around.max(axis=0), tilts
