"""Live: what the kernel of a live frame needs to know of a figure, its soles, its knees and the terrain, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poise import rotations
from poise.arrays import Floats, Ints
from poise.clip import Clip
from poise.ground.contacts import Thresholds, stances
from poise.ground.feet import floor_level
from poise.ground.figure import Figure
from poise.ground.footing import Footing
from poise.ground.legs import bend_axes
from poise.ground.motion import FOOT, SHIN, THIGH, motion_of, turning
from poise.ground.shapes import Plane
from poise.ground.soles import Soles
from poise.ground.terrain import Terrain
from poise.ground.travel import in_place, travelled
from poise.humanoid import Leg
from poise.kinematics import Table, table_of
from poise.skeleton import Kind

_HALF = 1.6783469900166605  # rate x half-life of a critically damped spring that starts at rest, see kernels/springs.py
_NOW = 1e-9  # [s] a half-life of 0 is this short


class Gait(NamedTuple):
    """What a clip tells of a figure's legs.

    soles  the points of the feet that touch the ground
    axes   (L, 3) the axis about which each knee bends, in the thigh's frame
    level  height of the animation's floor [m]
    """

    soles: Soles
    axes: Floats
    level: float


def gait_of(clip: Clip, figure: Figure) -> Gait:
    """Measure soles, knees and floor over a clip; of a single pose, what is low stands."""
    motion = motion_of(clip, figure)
    ground = in_place(motion)
    if ground is not None:
        motion, _ = travelled(motion, ground)
    soles, contacts = stances(motion, ground)
    axes = rotations.rotate(rotations.inverse(motion.turns[0, :, THIGH]), bend_axes(motion, soles)[0])
    return Gait(soles, axes, floor_level(motion, soles, contacts))


@dataclass(frozen=True)
class Springs:
    """How a live figure follows: half-lives [s], lengths [m], angles [rad]."""

    blend: float
    pelvis: float
    lift: float
    farthest: float
    steepest: float
    pause: float


@dataclass(frozen=True, eq=False)
class Live:
    """A figure packed for kernels/grounder.py; see there for the arrays."""

    figure: Figure
    rows: Ints
    legs: Ints
    marks: Floats
    settings: Floats
    moves: bool  # whether translations of joints are written, beside q
    plane: bool  # whether the ground is a plane, which the kernel knows by itself

    def table(self, *, moved: bool, scaled: bool) -> Table:
        """The rows of the legs, for poses that say translations, scales, or neither."""
        return table_of(self.figure.skeleton, self.rows.tolist(), moved=moved, scaled=scaled)


def pack(figure: Figure, gait: Gait, terrain: Terrain, rule: Thresholds, springs: Springs) -> Live:
    """Pack a figure and its terrain."""
    skeleton = figure.skeleton
    needed = {skeleton.index(figure.mover)}
    needed |= {row for leg in figure.legs for name in turning(leg) for row in skeleton.way(skeleton.index(name))}
    rows = sorted(needed)
    slots = {row: i + 1 for i, row in enumerate(rows)}
    legs = np.array([_leg_row(figure, leg, slots) for leg in figure.legs], dtype=np.int64)
    settings = _settings(gait, rule, springs, _plane(terrain, figure))
    settings[15:17] = figure.metre / terrain.unit if terrain.unit is not None else 1.0, terrain.up == "y"
    settings[21:33] = np.column_stack([rotations.as_matrix(figure.turn) / figure.metre, np.zeros(3)]).ravel()
    mover = skeleton.index(figure.mover)
    free = skeleton.kinds[mover] == Kind.FREE
    settings[33:37] = skeleton.A[mover, 3:]
    settings[37:40] = slots.get(int(skeleton.parents[mover]), 0), skeleton.q_start[mover] if free else -1, mover
    moves = not free or bool((legs[:, 17] >= 0).any())
    return Live(figure, np.array(rows), legs, _marks(figure, gait), settings, moves, bool(settings[17]))


def _leg_row(figure: Figure, leg: Leg, slots: dict[int, int]) -> list[int]:
    """A row of `legs`, see kernels/grounder_walk.py."""
    skeleton, names = figure.skeleton, turning(leg)
    parents = [slots.get(int(skeleton.parents[skeleton.index(name)]), 0) for name in names]
    parts = [skeleton.index(name) for name in names]
    over = [max((i for i in range(part) if parts[i] in skeleton.way(parts[part])), default=-1) for part in range(4)]
    apart = parts[SHIN] not in skeleton.way(parts[FOOT])
    return [
        *(slots[skeleton.index(name)] for name in names),
        *parents,
        *over,
        *(skeleton.q_slice(name).stop - 4 for name in names),
        len(names) if leg.toes else FOOT + 1,
        skeleton.index(leg.foot) if apart else -1,
    ]


def _marks(figure: Figure, gait: Gait) -> Floats:
    """Heel, ball and tip, the axis of the knee, and the rotations of A of the four parts."""
    skeleton, soles = figure.skeleton, gait.soles
    rests = [[skeleton.A[skeleton.index(name), 3:] for name in turning(leg)] for leg in figure.legs]
    across = np.cross(soles.heel, soles.ball)  # both are below the ankle, one behind and one ahead of it
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-12)
    return np.concatenate([soles.heel, soles.ball, soles.tip, gait.axes, across, np.reshape(rests, (-1, 16))], axis=1)


def _settings(gait: Gait, rule: Thresholds, springs: Springs, plane: Floats | None) -> Floats:
    settings = np.zeros(40)
    settings[:7] = gait.level, rule.on_speed, rule.off_speed, rule.rise, rule.on_height, rule.heel_off, rule.ball_off
    settings[7:9] = 4.0 * np.log(2.0) / max(rule.floor, _NOW), 4.0 / max(rule.window, _NOW)
    settings[9:12] = [_HALF / max(half, _NOW) for half in (springs.blend, springs.pelvis, springs.lift)]
    settings[12:15] = springs.farthest, springs.steepest, springs.pause
    if plane is not None:
        settings[17], settings[18:21] = 1.0, plane
    return settings


def _plane(terrain: Terrain, figure: Figure) -> Floats | None:
    """Height at the origin and slopes of a ground that is a plane, in metres, z up; None of any other."""
    if not isinstance(terrain.surface, Plane):
        return None
    heights, normals, _ = Footing(terrain, figure).sample(np.zeros((1, 3)))
    return np.array([heights[0], *(-normals[0, :2] / normals[0, 2])])
