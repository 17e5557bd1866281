"""Leg trajectories: the unknowns of a planted motion, and how points, reach and ground depend on them.

In each frame the pelvis moves up or down; the ball of each foot moves, its heel turns about the ball, its toes about
their joint: 1 + 5 L unknowns. The legs follow in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import HIP
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, get_scratch
from poise.maths.vectors import dot, make_vertical, normalise

PELVIS, BALL_X, BALL_Y, BALL_Z, HEEL, TOES = range(6)
OWN_COUNT = 5
_PROBE_M = 0.004  # [m] to each side, over which the slope of the ground is taken
_MAX_SLOPE = 3.0  # a riser counts as ground so steep
_REACH, _FOLD, _HEEL_ROW, _BALL_ROW, _TIP_ROW, _BEND_ROW = range(6)
_ROW_COUNT = 6


@dataclass(frozen=True)
class LegArms:
    balls: Floats  # (F, L, 3)
    across: Floats  # (F, L, 3)
    arms: Floats  # (F, L, 3, 3)
    soles: Floats  # (3, F, L, 3)
    bends: Bools  # (L,)

    def points(self, balls: Floats, angles: Floats):
        turn, bent = rotations.about(self.across, angles[..., 0]), rotations.about(-self.across, angles[..., 1])
        ankles = balls + rotations.rotate(turn, self.arms[:, :, 0])
        toes = np.where(self.bends[:, None], bent, turn)
        heel, ball, tip = (rotations.rotate(own, arm) for own, arm in zip((turn, turn, toes), self.soles, strict=True))
        joint = rotations.rotate(turn, self.arms[:, :, 1])
        return ankles, ankles + joint, ankles + np.stack([heel, ball, joint + tip])


@dataclass(frozen=True)
class LegProblem:
    """F frames of L legs.

    source   (F, 4L, 3) hips, knees, ankles, toe ends of the source
    known    (F,) where changes of step are known
    places, axes, up, feet, most, least, lengths
    walled   (3, F, L) which of heel, ball, tip are to be above the ground
    bend     (F, L) [rad] bend of the toes now, minus what it may be
    free     (F, K)
    """

    step: float
    source: Floats
    known: Bools
    places: Floats
    axes: Floats
    up: Floats
    feet: LegArms
    most: Floats
    clamp: Floats
    least: Floats
    lengths: Floats
    deep: Floats
    bend: Floats
    free: Bools
    point_weights: Floats  # (F, 4L)
    value_weights: Floats  # (K,)
    row_weight: float
    footing: Footing
    even: bool

    @property
    def shape(self):
        return self.free.shape

    def columns(self) -> tuple[Ints, Ints]:
        legs = self.most.shape[1]
        own = np.stack([np.concatenate([[0], 1 + OWN_COUNT * j + np.arange(OWN_COUNT)]) for j in range(legs)])
        return np.repeat(own, 4, axis=0), np.repeat(own, _ROW_COUNT, axis=0)


class State(NamedTuple):
    values: Floats
    found: Floats
    changes: Floats
    slopes: Floats
    rows: Floats
    row_slopes: Floats
    cost: float


SHARES = (1.0,)
ARM = kernels.ground.spread.ARM
PELVIS_SHARE = kernels.ground.spread.PELVIS


def moved(problem, values):
    legs = problem.most.shape[1]
    own = values[:, 1:].reshape(len(values), legs, OWN_COUNT)
    return problem.up + PELVIS_SHARE * values[:, 0], problem.feet.balls + own[..., :3], own[..., 3:] / ARM


def second_differences(rows):
    found = np.zeros_like(rows)
    found[1:-1] = rows[2:] - 2 * rows[1:-1] + rows[:-2]
    return found


def evaluate(problem: LegProblem, values: Floats) -> State:
    up, balls, angles = moved(problem, values)
    frames, legs = problem.most.shape
    found, slopes = np.empty((frames, legs, 4, 3)), np.empty((frames, legs, 4, 3, OWN_COUNT + 1))
    feet = problem.feet
    kernels.ground.spread.swung(
        problem.places, problem.axes, up, np.ascontiguousarray(balls), np.ascontiguousarray(feet.across),
        np.ascontiguousarray(angles), feet.arms, problem.clamp, problem.lengths, found, slopes,
    )
    points = found.reshape(frames, 4 * legs, 3)
    changes = second_differences(points - problem.source)
    rows, row_slopes = measure_rows(problem, up, balls, angles)
    cost = 0.5 * float((problem.point_weights * (changes**2).sum(-1)).sum())
    cost += 0.5 * float((np.maximum(rows, 0.0) ** 2).sum()) + 0.5 * float((problem.value_weights * values**2).sum())
    return State(values, found, changes, slopes.reshape(frames, 4 * legs, 3, -1), rows, row_slopes, cost)


def measure_rows(problem, up, balls, angles):
    feet = problem.feet
    frames, legs = problem.most.shape
    ankles, joint, points = feet.points(balls, angles)
    rows = np.full((frames, legs, _ROW_COUNT), -1.0)
    slopes = np.zeros((frames, legs, _ROW_COUNT, OWN_COUNT + 1))
    chords = ankles - problem.places[:, :, HIP] - make_vertical(up)[:, None]
    length = np.linalg.norm(chords, axis=-1)
    ways = normalise(chords)
    rows[..., _REACH] = length - problem.most
    rows[..., _FOLD] = problem.least - length
    slopes[..., _REACH, 0], slopes[..., _REACH, 1:4] = -PELVIS_SHARE * ways[..., 2], ways
    slopes[..., _REACH, 4] = dot(ways, np.cross(feet.across, ankles - balls)) / ARM
    slopes[..., _FOLD, :] = -slopes[..., _REACH, :]
    ground, tilts = sample_ground(problem, points)
    rows[..., _HEEL_ROW : _TIP_ROW + 1] = np.moveaxis(ground - points[..., 2] - problem.deep, 0, -1)
    sole = slopes[..., _HEEL_ROW : _TIP_ROW + 1, :]
    sole[..., 1:3], sole[..., 3] = np.moveaxis(tilts, 0, -2), -1.0
    turning = points - balls
    turning[2] = np.where(feet.bends[:, None], joint - balls, turning[2])
    down = np.concatenate([tilts, -np.ones((*tilts.shape[:-1], 1))], axis=-1)
    sole[..., 4] = np.moveaxis(dot(down, np.cross(feet.across, turning)), 0, -1) / ARM
    sole[..., 2, 5] = feet.bends * dot(down[2], np.cross(-feet.across, points[2] - joint)) / ARM
    rows[..., _BEND_ROW] = np.where(feet.bends, ARM * (problem.bend + angles.sum(axis=-1)), -1.0)
    slopes[..., _BEND_ROW, 4:] = 1.0
    w = problem.row_weight
    return (w * rows).reshape(frames, -1), (w * slopes).reshape(frames, legs * _ROW_COUNT, -1)


def sample_ground(problem, points):
    ground, tilts = problem.footing.heights(points), np.zeros((*points.shape[:-1], 2))
    where = np.nonzero((points[..., 2] - ground < 0.02) | (not problem.even))
    if len(where[0]):
        for axis in range(2):
            aside = _PROBE_M * np.eye(3)[axis]
            there, here = (problem.footing.heights(points[where] + way) for way in (aside, -aside))
            tilts[(*where, axis)] = np.clip((there - here) / (2.0 * _PROBE_M), -_MAX_SLOPE, _MAX_SLOPE)
            if not problem.even:
                ground[where] = np.maximum(ground[where], np.maximum(there, here))
    return ground, tilts


def solve(problem: LegProblem, rounds: int = 12, log=None) -> State:
    import dataclasses
    columns, row_columns = problem.columns()
    values = np.zeros(problem.shape)
    damping, step = 0.1, np.empty(problem.free.size)
    value_weights = np.broadcast_to(problem.value_weights, problem.shape).copy()
    work = get_scratch(kernels.trajectory.compute_work_size(*problem.shape))
    final = problem.row_weight
    best = None
    for stage, share in enumerate(SHARES):
        now = dataclasses.replace(problem, row_weight=final * share)
        best = evaluate(now, values)
        for r in range(rounds):
            kernels.trajectory.compute_step(
                best.changes, best.slopes, columns, problem.point_weights, best.rows, best.row_slopes, row_columns,
                best.values, problem.free, value_weights, damping, 10, step, work,
            )
            tried = evaluate(now, best.values + step.reshape(problem.shape))
            gain = best.cost - tried.cost
            if log is not None:
                log(stage * 100 + r, best.cost, tried.cost, damping, np.abs(step).max())
            if gain > 0.0:
                best, damping = tried, max(0.2 * damping, 1e-3)
                if gain < 1e-2 * best.cost:
                    break
            else:
                damping = 5.0 * damping
        values = best.values
    return best
