"""Residuals: what a try leaves of a leg problem, and how that changes with the unknowns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import HIP
from poise.ground.trajectory.leg_problem import BEND, FOLD, HEEL, REACH, ROWS, TIP, LegProblem
from poise.maths.arrays import Floats
from poise.maths.vectors import dot, make_vertical, normalise

_ROW_WEIGHT = 5e4  # [1/s^2] a row of 1 mm counts as 50 m/s^2: rows end within 0.1 mm of where they may be
_BEND_FIRST = 10.0  # times as much as others: toes in front of a riser rather touch it than bend over
_PROBE_M = 0.015  # [m] to each side over which the slope of the ground is taken: an edge is as wide
_MAX_SLOPE = 3.0  # a riser counts as ground so steep
_NEAR_M = 0.02  # [m] above a plane in which a point feels it


class Residuals(NamedTuple):
    """What values (F, K) leave of a problem with P points and R rows; see `poise.kernels.trajectory`.

    cost  (F,) of each frame
    """

    values: Floats
    changes: Floats
    slopes: Floats
    rows: Floats
    row_slopes: Floats
    cost: Floats


def measure_residuals(problem: LegProblem, values: Floats) -> Residuals:
    """Measure what values (F, K) leave of a problem."""
    up, balls, angles = problem.apply(values)
    found, slopes = move_joints(problem, up, balls, angles)
    changes = difference_twice(found) - problem.wanted
    rows, row_slopes = _measure_rows(problem, up, balls, angles)
    squares = (
        problem.point_weights * (changes**2).sum(axis=-1),
        np.maximum(rows, 0.0) ** 2,
        problem.value_weights * values**2,
    )
    cost = 0.5 * np.sum([terms.sum(axis=1) for terms in squares], axis=0)
    return Residuals(values, changes, slopes, rows, row_slopes, cost)


def move_joints(problem: LegProblem, up: Floats, balls: Floats, angles: Floats) -> tuple[Floats, Floats]:
    """Compute joints (F, 5 L, 3) for a pelvis, balls and angles, and their derivatives (F, 5 L, 3, 6)."""
    (frames, legs), moves = problem.longest.shape, kernels.ground.leg_moves
    found = np.empty((frames, legs, moves.POINTS, 3))
    slopes = np.empty((*found.shape, moves.UNKNOWNS))
    moves.move_legs(
        problem.places, problem.axes, up, balls, problem.feet.across, np.ascontiguousarray(angles), problem.feet.arms,
        2.0 * problem.longest, problem.lengths, found, slopes,
    )  # fmt: skip
    return found.reshape(frames, -1, 3), slopes.reshape(frames, -1, 3, moves.UNKNOWNS)


def difference_twice(points: Floats) -> Floats:
    """Compute p+ - 2 p + p- (F, ...) of points; 0 at the ends."""
    found = np.zeros_like(points)
    found[1:-1] = points[2:] - 2.0 * points[1:-1] + points[:-2]
    return found


def _measure_rows(problem: LegProblem, up: Floats, balls: Floats, angles: Floats) -> tuple[Floats, Floats]:
    """Measure rows (F, 6 L) and their derivatives (F, 6 L, 6), times what they weigh."""
    feet, arm = problem.feet, kernels.ground.leg_moves.ARM_M
    ankles, joints, points = feet.place_points(balls, angles)
    rows = np.empty((*problem.longest.shape, ROWS))
    slopes = np.zeros((*rows.shape, kernels.ground.leg_moves.UNKNOWNS))
    chords = ankles - problem.places[:, :, HIP] - make_vertical(up)[:, None]
    lengths, ways = np.linalg.norm(chords, axis=-1), normalise(chords)
    rows[..., REACH], rows[..., FOLD] = lengths - problem.longest, problem.shortest - lengths
    slopes[..., REACH, 0], slopes[..., REACH, 1:4] = -ways[..., 2], ways
    slopes[..., REACH, 4] = dot(ways, np.cross(feet.across, ankles - balls)) / arm
    slopes[..., FOLD, :] = -slopes[..., REACH, :]
    ground, tilts = sample_ground(problem.footing, points, is_plane=problem.is_plane)
    soles = slopes[..., HEEL : TIP + 1, :]
    rows[..., HEEL : TIP + 1] = np.moveaxis(ground - points[..., 2] - problem.depths, 1, -1)
    soles[..., 1:3], soles[..., 3] = np.moveaxis(tilts, 1, -2), -1.0
    # A point of a foot turns about its ball; the tip of toes that bend moves with their joint.
    levers = points - balls[:, None]
    levers[:, 2] = np.where(feet.bends[..., None], joints - balls, levers[:, 2])
    down = np.concatenate([tilts, -np.ones((*tilts.shape[:-1], 1))], axis=-1)
    soles[..., 4] = np.moveaxis(dot(down, np.cross(feet.across[:, None], levers)), 1, -1) / arm
    soles[..., 2, 5] = feet.bends * dot(down[:, 2], np.cross(-feet.across, points[:, 2] - joints)) / arm
    rows[..., BEND] = _BEND_FIRST * np.where(feet.bends, arm * (problem.bend + angles.sum(axis=-1)), -1.0)
    slopes[..., BEND, 4:] = _BEND_FIRST
    frames = len(rows)
    return _ROW_WEIGHT * rows.reshape(frames, -1), _ROW_WEIGHT * slopes.reshape(frames, -1, slopes.shape[-1])


def sample_ground(footing: Footing, points: Floats, *, is_plane: bool) -> tuple[Floats, Floats]:
    """Sample heights (...) of the ground under points (..., 3), and its slopes (..., 2) along x and y.

    Near to a riser the ground counts as high as behind it: so toes keep a distance.
    """
    ground, tilts = footing.heights(points), np.zeros((*points.shape[:-1], 2))
    near = np.nonzero(points[..., 2] - ground < _NEAR_M if is_plane else np.ones(ground.shape, dtype=np.bool_))
    for axis in range(2 if len(near[0]) else 0):
        aside = _PROBE_M * np.eye(3)[axis]
        there, here = footing.heights(points[near] + aside), footing.heights(points[near] - aside)
        tilts[(*near, axis)] = np.clip((there - here) / (2.0 * _PROBE_M), -_MAX_SLOPE, _MAX_SLOPE)
        if not is_plane:
            ground[near] = np.maximum(ground[near], np.maximum(there, here))
    return ground, tilts
