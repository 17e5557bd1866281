"""Pack a figure and its terrain for the kernels of live frames. Arrays of the figure, its soles and knees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.ground.bearing.parts import arms_of, leaning
from poise.ground.contact.contacts import Thresholds, stances
from poise.ground.contact.in_place import add_travel, in_place
from poise.ground.contact.soles import MAX_TOE_BEND_RAD, Soles
from poise.ground.figure.figure import Figure
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import BALL, FOOT, SHIN, THIGH, Motion, motion_of, turning
from poise.ground.legs.feet import floor_level
from poise.ground.legs.legs import bend_axes
from poise.ground.terrain.shapes import Plane, Stairs
from poise.ground.terrain.terrain import Terrain
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.model.clip import Clip
from poise.model.kinematics import KinematicsTable, build_table
from poise.model.roles import Leg
from poise.model.skeleton import Kind

# Share of the times of whole clips, which see as much after as before: half-life in which a floor comes up to a foot
# that rests, of the time that floors are sought; and time constant of speeds, of their window.
_MEMORY = 0.25
_NOW = 1e-9  # [s] a half-life of 0 is this short


class Gait(NamedTuple):
    """What a clip shows of a figure's legs.

    soles  the points of the feet that touch the ground
    axes   (L, 3) the axis about which each knee bends, in the thigh's frame
    toes   (L,) how far up tips of toes may be from the line from heel to ball [rad]
    level  height of the animation's floor [m]
    speed  [m/s] at which the ground passes under the figure if it walks in place, else 0. The feet of such clips slide,
           so that thresholds for contacts must be looser
    """

    soles: Soles
    axes: Floats
    toes: Floats
    level: float
    speed: float


def gait_of(clip: Clip, figure: Figure) -> Gait:
    """Measure soles, knees and floor over a clip. In a single pose feet that are low count as standing."""
    motion = motion_of(clip, figure)
    ground = in_place(motion)
    if ground is not None:
        motion, _ = add_travel(motion, ground)
    soles, contacts = stances(motion, ground)
    axes = rotations.rotate(rotations.inverse(motion.turns[0, :, THIGH]), bend_axes(motion, soles)[0])
    speed = 0.0 if ground is None else float(np.hypot(*ground))
    return Gait(soles, axes, most_bend(motion, soles), floor_level(motion, soles, contacts), speed)


def most_bend(motion: Motion, soles: Soles) -> Floats:
    """Return the largest angle (L,) of toe tips [rad]. Up from the line from heel to ball."""
    points = soles.points(motion)
    ahead, tip = points[:, :, 1] - points[:, :, 0], points[:, :, 2] - motion.places[:, :, BALL]
    across = rotations.rotate(motion.turns[:, :, FOOT], across_soles(soles))
    bends = np.arctan2((across * np.cross(ahead, tip)).sum(axis=-1), (ahead * tip).sum(axis=-1))
    flat = bends[np.ptp(points[..., 2], axis=2).argmin(axis=0), np.arange(bends.shape[1])]
    return np.maximum(flat + MAX_TOE_BEND_RAD, bends.max(axis=0))


def across_soles(soles: Soles) -> Floats:
    """Compute unit vectors (L, 3) across the soles. In the feet's frames; zero where heel and ball are one point."""
    across = np.cross(soles.heel, soles.ball)  # both are below the ankle, one behind and one ahead of it
    return across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-12)


class Springs(NamedTuple):
    """Springs and bounds of a live figure. Springs are half-lives [s]; bounds are lengths [m] and angles [rad]."""

    blend: float
    pelvis: float
    lift: float
    farthest: float
    steepest: float
    pause: float


@dataclass(frozen=True, eq=False)
class Live:
    """A figure packed for kernels/ground/grounder.py; see there for the arrays."""

    figure: Figure
    rows: Ints
    legs: Ints
    marks: Floats
    settings: Floats
    moves: bool  # whether translations of joints are written, beside q
    known: bool  # whether the kernel knows the ground by itself: planes and stairs

    def table(self, *, moved: bool, scaled: bool) -> KinematicsTable:
        """The rows of the legs, by the pose's channels. For poses with translations, scales, or neither."""
        return build_table(self.figure.skeleton, self.rows.tolist(), has_translations=moved, has_scales=scaled)


def pack(figure: Figure, gait: Gait, terrain: Terrain, rule: Thresholds, springs: Springs) -> Live:
    """Pack a figure and its terrain."""
    skeleton = figure.skeleton
    needed = {skeleton.index(figure.mover)}
    needed |= {row for leg in figure.legs for name in turning(leg) for row in skeleton.list_path(skeleton.index(name))}
    rows = sorted(needed)
    slots = {row: i + 1 for i, row in enumerate(rows)}
    trunk = _leaning(figure)
    legs = np.array([_leg_row(figure, leg, slots, trunk) for leg in figure.legs], dtype=np.int64)
    k, settings = kernels.ground.grounder_walk, _settings(gait, rule, springs)
    known = _put_ground(settings, terrain, figure)
    turn = rotations.as_matrix(figure.turn) / figure.metre
    settings[k.FIGURE_MAP : k.FIGURE_MAP + 12] = np.column_stack([turn, np.zeros(3)]).ravel()
    mover = skeleton.index(figure.mover)
    free = skeleton.kinds[mover] == Kind.FREE
    settings[k.MOVER_REST : k.MOVER_REST + 4] = skeleton.A[mover, 3:]
    settings[k.MOVER_ABOVE] = slots.get(int(skeleton.parents[mover]), 0)
    settings[k.MOVER_START], settings[k.MOVER_ROW] = skeleton.q_start[mover] if free else -1, mover
    settings[k.TRUNK_START] = -1
    if trunk is not None:
        settings[k.TRUNK], settings[k.TRUNK_ABOVE] = slots[trunk], slots.get(int(skeleton.parents[trunk]), 0)
        settings[k.TRUNK_REST : k.TRUNK_REST + 4] = skeleton.A[trunk, 3:]
        settings[k.TRUNK_START] = skeleton.q_slice(skeleton.names[trunk]).stop - 4
    moves = not free or bool((legs[:, k.FOOT_ROW] >= 0).any())
    return Live(figure, np.array(rows), legs, _marks(figure, gait), settings, moves, known)


def _put_ground(settings: Floats, terrain: Terrain, figure: Figure) -> bool:
    """Write the kernel's ground. Returns whether the kernel knows all of it."""
    k, plane = kernels.ground.grounder_walk, _plane(terrain, figure)
    scale = 1.0 if terrain.unit is None else figure.metre / terrain.unit
    settings[k.TERRAIN_SCALE], settings[k.TERRAIN_Y] = scale, terrain.up == "y"
    if plane is not None:
        settings[k.IS_PLANE], settings[k.PLANE : k.PLANE + 3] = 1.0, plane
    if isinstance(terrain.surface, Stairs):
        settings[k.IS_STAIRS] = 1.0
        settings[k.TREADS : k.LOWEST + 1] = _stairs(terrain.surface, terrain, scale)
    return isinstance(terrain.surface, Plane | Stairs)


def _leaning(figure: Figure) -> int | None:
    """Find the row of the leaning joint, with arms and legs.

    None for figures without arms, or with feet that hang in it.

    Figures on four legs have no arms.
    """
    skeleton, arms = figure.skeleton, arms_of(figure)
    trunk = skeleton.index(leaning(figure, arms).trunk)
    for leg in figure.legs:
        foot, parent = skeleton.index(leg.foot), int(skeleton.parents[skeleton.index(leg.foot)])
        apart = skeleton.index(turning(leg)[SHIN]) not in skeleton.list_path(foot)
        if apart and parent >= 0 and trunk in skeleton.list_path(parent):
            return None
    return trunk if arms else None


def _leg_row(figure: Figure, leg: Leg, slots: dict[int, int], trunk: int | None) -> list[int]:
    """Pack a row of `legs`, see kernels/ground/grounder_walk.py. trunk: row of the joint that leans."""
    skeleton, names = figure.skeleton, turning(leg)
    parents = [slots.get(int(skeleton.parents[skeleton.index(name)]), 0) for name in names]
    parts = [skeleton.index(name) for name in names]
    paths = [skeleton.list_path(row) for row in parts]
    bottom = [kernels.ground.grounder_walk.CARRIED if trunk in path else -1 for path in paths]
    over = [max((i for i in range(part) if parts[i] in paths[part]), default=bottom[part]) for part in range(4)]
    apart = parts[SHIN] not in paths[FOOT]
    return [
        *(slots[skeleton.index(name)] for name in names),
        *parents,
        *over,
        *(skeleton.q_slice(name).stop - 4 for name in names),
        len(names) if leg.toes else FOOT + 1,
        skeleton.index(leg.foot) if apart else -1,
    ]


def _marks(figure: Figure, gait: Gait) -> Floats:
    """Pack the sole points, axes and rest rotations of a leg.

    Heel, ball and tip, the axis of the knee, that across the foot, and the rotations of A of the four parts.
    """
    skeleton, soles = figure.skeleton, gait.soles
    rests = [[skeleton.A[skeleton.index(name), 3:] for name in turning(leg)] for leg in figure.legs]
    rows = soles.heel, soles.ball, soles.tip, gait.axes, across_soles(soles), np.reshape(rests, (-1, 16))
    return np.concatenate([*rows, gait.toes[:, None]], axis=1)


def _settings(gait: Gait, rule: Thresholds, springs: Springs) -> Floats:
    k = kernels.ground.grounder_walk
    settings = np.zeros(k.SETTINGS)
    settings[k.LEVEL], settings[k.RISE], settings[k.ON_HEIGHT] = gait.level, rule.rise, rule.on_height
    settings[k.ON_SPEED], settings[k.OFF_SPEED] = rule.on_speed, rule.off_speed
    settings[k.OFF_HEIGHTS : k.OFF_HEIGHTS + 2] = rule.heel_off, rule.ball_off
    settings[k.FLOOR_RATE] = np.log(2.0) / max(_MEMORY * rule.floor, _NOW)
    settings[k.SPEED_RATE] = 1.0 / max(_MEMORY * rule.window, _NOW)
    for at, half in ((k.BLEND_RATE, springs.blend), (k.PELVIS_RATE, springs.pelvis), (k.LIFT_RATE, springs.lift)):
        settings[at] = kernels.springs.HALF_LIFE_FACTOR / max(half, _NOW)
    settings[k.FARTHEST], settings[k.STEEPEST], settings[k.LONGEST_PAUSE] = springs[3:]
    return settings


def _plane(terrain: Terrain, figure: Figure) -> Floats | None:
    """Return height at the origin and slopes of a planar ground. In metres, z up; None for any other ground."""
    if not isinstance(terrain.surface, Plane):
        return None
    heights, normals, _ = Footing(terrain, figure).sample(np.zeros((1, 3)))
    return np.array([heights[0], *(-normals[0, :2] / normals[0, 2])])


def _stairs(stairs: Stairs, terrain: Terrain, scale: float) -> list[float]:
    """Pack stairs in metres.

    Treads in a metre along x and y, the one at the origin, height of a riser and of a tread [m]; see Stairs.heights.

    scale: units of the terrain in a metre.
    """
    per_metre = scale / (terrain.scale * stairs.going)
    along = stairs.along_x * per_metre, stairs.along_y * per_metre
    return [*along, stairs.start / stairs.going, stairs.rise * terrain.scale / scale, terrain.lift / scale]
