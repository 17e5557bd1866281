"""Strip: frames one after the other in which pelvis and feet may move, and what their legs then do."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import HIP
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.vectors import dot, make_vertical, normalise

MM = 1000.0
BESIDE = 3.0  # a millimetre beyond a wall counts as so many of a change of step over its bound
_WITHIN = 0.2  # [mm] beyond a wall still counts as within it
_CLOSE = 0.02  # [m] from the ground on a point is asked for how steep it is there
_EDGE = 0.004  # [m] to each side: over so much
_STEEPEST = 3.0  # a riser counts as ground so steep
_AWAY = -1e6  # [mm] beyond a wall that is not there


class SoleArms(NamedTuple):
    """The feet of L legs in F frames, z up [m]: heels go up about balls, and toes about their joints.

    balls   (F, L, 3) the points of soles about which feet turn
    across  (F, L, 3) the level axes about which heels go up, and toes the other way round
    arms    (F, L, 3, 3) from ball to ankle, from there to the joint of the toes, and from there to their end
    soles   (3, F, L, 3) from the ankle to heel and ball, and from the joint of the toes to the tip of the sole
    deep    (3, F, L) [m] how deep these may be in the ground
    bends   (L,) whether toes bend
    """

    balls: Floats
    across: Floats
    arms: Floats
    soles: Floats
    deep: Floats
    bends: Bools

    def part(self, rows: slice) -> SoleArms:
        """Some frames of them."""
        balls, across, arms, soles, deep, bends = self
        return SoleArms(balls[rows], across[rows], arms[rows], soles[:, rows], deep[:, rows], bends)

    def points(self, balls: Floats, angles: Floats) -> tuple[Floats, Floats, Floats]:
        """Ankles and joints of toes (F, L, 3); heels, balls and tips (3, F, L, 3): when heels and toes go up."""
        turn, bent = rotations.about(self.across, angles[..., 0]), rotations.about(-self.across, angles[..., 1])
        ankles = balls + rotations.rotate(turn, self.arms[:, :, 0])
        heel, ball, tip = (
            rotations.rotate(own, arm) for own, arm in zip((turn, turn, self.toes(turn, bent)), self.soles, strict=True)
        )
        joint = rotations.rotate(turn, self.arms[:, :, 1])
        return ankles, ankles + joint, ankles + np.stack([heel, ball, joint + tip])

    def toes(self, turn: Floats, bent: Floats) -> Floats:
        """How toes turn (F, L, 4): by themselves, or with their foot if they do not bend."""
        return np.where(self.bends[:, None], bent, turn)


class Strip(NamedTuple):
    """Frames beside each other of a figure whose changes of step are to be made smaller.

    counts          (F,) whether changes of step are known there
    bounds          (F, L, 4) [mm]
    slack           [mm] over these is still within what may be
    places, axes    as for `bend_legs`
    up              (F,) [m] how much higher the pelvis is
    feet            where they are
    most, lengths   (F, L) the longest chords [m], and what legs are made longer by
    walled          (F, L) feet whose soles are to stay out of the ground
    free            (F, K) which moves there may be, see `poise.kernels.ground.spread`
    even            whether the ground is a plane
    """

    counts: Bools
    bounds: Floats
    slack: float
    places: Floats
    axes: Floats
    up: Floats
    feet: SoleArms
    most: Floats
    lengths: Floats
    walled: Bools
    free: Bools
    footing: Footing
    even: bool

    def part(self, rows: slice, may: Bools) -> Strip:
        """Some frames of it, and moves only where there may be some (F,)."""
        counts = self.counts[rows].copy()
        counts[0] = counts[-1] = False
        return Strip(
            counts, self.bounds[rows], self.slack, self.places[rows], self.axes[rows], self.up[rows],
            self.feet.part(rows), self.most[rows], self.lengths[rows], self.walled[rows],
            self.free[rows] & may[:, None], self.footing, self.even,
        )  # fmt: skip

    @property
    def digest(self) -> bytes:
        """What tells this strip from others on the same ground."""
        told = blake2b(digest_size=16)
        for value in (*self, *self.feet):
            if isinstance(value, np.ndarray):
                told.update(repr(value.shape).encode())
                told.update(value.tobytes())
        return told.digest()


class Swung(NamedTuple):
    """A strip after moves (F, K) [mm]; see `poise.kernels.ground.spread.Linear`.

    over  (F, L, 4) [mm] by how much changes of step are over their bounds
    """

    moves: Floats
    changes: Floats
    slopes: Floats
    walls: Floats
    wall_slopes: Floats
    over: Floats

    def cost(self, weights: Floats) -> float:
        """What `costs` of the kernel is near to."""
        kinds = (self.over, 1.0), (np.maximum(self.walls, 0.0), 1.0), (self.moves, weights[0])
        kinds = (*kinds, (second_differences(self.moves), weights[1]))
        return 0.5 * sum(float(weight * (kind * kind).sum()) for kind, weight in kinds)

    def within(self, slack: float) -> bool:
        """Whether nothing is over its bound by more than that [mm], or beyond its wall."""
        return self.over.max(initial=0.0) <= slack and self.farthest <= _WITHIN

    @property
    def beyond(self) -> float:
        """How far [mm] all is over its bounds and beyond its walls."""
        return float(self.over.sum() + np.maximum(self.walls, 0.0).sum() / BESIDE)

    @property
    def farthest(self) -> float:
        """How far [mm] anything is beyond its wall."""
        return float(self.walls.max(initial=0.0)) / BESIDE


def second_differences(rows: Floats) -> Floats:
    """r+ - 2 r + r- (F, ...) of rows; 0 at the ends."""
    found = np.zeros_like(rows)
    found[1:-1] = np.diff(rows, 2, axis=0)
    return found


def moved(up: Floats, balls: Floats, moves: Floats) -> tuple[Floats, Floats, Floats]:
    """Pelvis (F,), balls (F, L, 3) and angles (F, L, 2) of heels and toes after moves (F, K) [mm]."""
    own = moves[:, 1:].reshape(*balls.shape[:2], kernels.ground.spread.OWN) / MM
    higher = up + kernels.ground.spread.PELVIS * moves[:, 0] / MM
    return higher, balls + own[..., :3], own[..., 3:] / kernels.ground.spread.ARM


def swung(strip: Strip, moves: Floats) -> Swung:
    """What a strip is after moves (F, K) [mm]."""
    up, balls, angles = moved(strip.up, strip.feet.balls, moves)
    shape = (*strip.most.shape, 4)
    found, slopes = np.empty((*shape, 3)), np.empty((*shape, 3, kernels.ground.spread.OWN + 1))
    feet = (balls, np.ascontiguousarray(strip.feet.across), angles, strip.feet.arms)
    kernels.ground.spread.swung(strip.places, strip.axes, up, *feet, strip.most, strip.lengths, found, slopes)
    changes = MM * second_differences(found)
    over = np.maximum(np.linalg.norm(changes, axis=-1) - strip.bounds, 0.0) * strip.counts[:, None, None]
    return Swung(moves, changes, slopes, *_walls(strip, up, balls, angles), over)


def _walls(strip: Strip, up: Floats, balls: Floats, angles: Floats) -> tuple[Floats, Floats]:
    """How far beyond their walls legs, heels, balls and tips are, weighted, and what moves do about that."""
    arm, across = kernels.ground.spread.ARM, strip.feet.across
    ankles, joint, points = strip.feet.points(balls, angles)
    walls = np.empty((*strip.most.shape, 4))
    slopes = np.zeros((*walls.shape, kernels.ground.spread.OWN + 1))
    chords = ankles - strip.places[:, :, HIP] - make_vertical(up)[:, None]
    walls[..., 0] = MM * (np.linalg.norm(chords, axis=-1) / strip.lengths - strip.most)
    ways = normalise(chords)
    slopes[..., 0, 0], slopes[..., 0, 1:4] = -kernels.ground.spread.PELVIS * ways[..., 2], ways
    slopes[..., 0, 4] = dot(ways, np.cross(across, ankles - balls)) / arm
    slopes[..., 0, :] /= strip.lengths[..., None]
    ground, tilts = _ground(strip, points)
    walls[..., 1:] = np.moveaxis(np.where(strip.walled, MM * (ground - points[..., 2] - strip.feet.deep), _AWAY), 0, -1)
    slopes[..., 1:, 1:3], slopes[..., 1:, 3] = np.moveaxis(tilts, 0, -2), -1.0
    turning = points - balls
    turning[2] = np.where(strip.feet.bends[:, None], joint - balls, turning[2])
    down = np.concatenate([tilts, -np.ones((*tilts.shape[:-1], 1))], axis=-1)  # normals of the ground
    heels = np.asarray(np.cross(across, turning), dtype=np.float64)
    toes = np.asarray(np.cross(-across, points[2] - joint), dtype=np.float64)
    slopes[..., 1:, 4] = np.moveaxis(dot(down, heels), 0, -1) / arm
    slopes[..., 3, 5] = strip.feet.bends * dot(down[2], toes) / arm
    return BESIDE * walls, BESIDE * slopes


def _ground(strip: Strip, points: Floats) -> tuple[Floats, Floats]:
    """How high the ground is under points (3, F, L, 3) and how steep (3, F, L, 2) along x and y.

    Near to a riser it counts as high as behind it: what is a hair in front of an edge is in it after a rounding.
    """
    ground, tilts = strip.footing.heights(points), np.zeros((*points.shape[:-1], 2))
    where = np.nonzero(strip.walled & ((not strip.even) | (points[..., 2] - ground < _CLOSE)))
    for axis in range(2 * bool(len(where[0]))):
        aside = _EDGE * np.eye(3)[axis]
        there, here = (strip.footing.heights(points[where] + way) for way in (aside, -aside))
        tilts[(*where, axis)] = np.clip((there - here) / (2.0 * _EDGE), -_STEEPEST, _STEEPEST)
        if not strip.even:
            ground[where] = np.maximum(ground[where], np.maximum(there, here))
    return ground, tilts
