# pyright: standard
"""Joint frames of posed limbs from world maps, and tip circles.

plan    (57,)        constants of the limb, the columns POSED_ in codes.py
maps    (k, 12 m)    world maps of joints, affine 3 x 4 (kernels/forward.py)
q       (k, nq)      the poses
local_offsets (0|k, 6 r)  their translations and scales, laid out as in kernels/forward.py
rotations (k, 16)    rotations of the four maps in POSED_MAPS

A joint with map number -1 has the world as its parent.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.kernels.codes import (
    POSED_ANGLED,
    POSED_AXIS,
    POSED_COLUMN,
    POSED_GIVEN,
    POSED_JOINT,
    POSED_JOINTS,
    POSED_MAPS,
    POSED_MOVES,
    POSED_OFFSET,
    POSED_RANGE,
    POSED_TURN,
    POSED_TURNS,
)
from poise.kernels.compiled import inline, part
from poise.kernels.forward import turn_of_similar
from poise.kernels.limb.arcs import unit
from poise.kernels.limits.angles import TURN, best_angle, twist_angle
from poise.kernels.values.linear import (
    Quat,
    Vec,
    about,
    add,
    cross,
    dot,
    multiply,
    norm,
    put_quat_in,
    quat_in,
    rotate,
    scale,
    sub,
    vec_in,
)

SIMILAR = 1e-12  # tolerance for a map to be a rotation times a factor, as in `Transforms.rotations`
NO_LEVER = 1e-12  # share of the squared length; with a smaller lever bending does not move the tip
BENT = 1e-9  # bend [rad] below which a limb is straight
FIRST, MIDDLE, TIP = 0, 1, 2  # numbers of the joints in the plan
POSED_TIP = 3  # number of the tip's own map in POSED_MAPS


class LimbFrame(NamedTuple):
    """Position, frame rotation and motion of one posed joint."""

    position: Vec  # world
    turn: Quat  # world rotation of its frame before its motion
    motion: Quat


class LimbArc(NamedTuple):
    """The tip's circle about the middle joint; see LimbRow."""

    still: Vec
    across: Vec
    around: Vec
    shortest2: float
    longest2: float
    gain: float
    offset: float  # angle from the posed bend to the longest limb


# --- joints ------------------------------------------------------------------------------------------------------


@part
def put_turns(plan, maps, turns):
    """Fill `rotations` with the rotations of the limb's maps.

    Return the number of maps far from any rotation; w is -1 there.
    """
    askew, count = 0, 4 if plan[POSED_TURNS] > 0.0 else 2
    for i in range(maps.shape[0]):
        for j in range(count):
            at, turn = int(plan[POSED_MAPS + j]), Quat(1.0, 0.0, 0.0, 0.0)
            if at >= 0:
                turn, near = turn_of_similar(maps[i, 12 * at : 12 * at + 12], SIMILAR)
                askew += 0 if near else 1
            put_quat_in(turns[i], 4 * j, turn)
    return askew


@inline
def through(m, v):
    """Transform a point by an affine map."""
    return Vec(
        m[0] * v.x + m[1] * v.y + m[2] * v.z + m[3],
        m[4] * v.x + m[5] * v.y + m[6] * v.z + m[7],
        m[8] * v.x + m[9] * v.y + m[10] * v.z + m[11],
    )


@part
def frame_of(plan, joint, maps, q, given, turns, i):
    """Compute one of the three joint frames in pose i."""
    row, values = plan[POSED_JOINTS + POSED_JOINT * joint :], q[i]
    position, turn, column = vec_in(row, POSED_OFFSET), quat_in(row, POSED_TURN), int(row[POSED_COLUMN])
    if given.shape[0] > 0:
        position = add(position, vec_in(given[i], 6 * int(row[POSED_GIVEN])))
    if row[POSED_MOVES] >= 0.0:
        position = add(position, rotate(turn, vec_in(values, int(row[POSED_MOVES]))))
    at = int(plan[POSED_MAPS + joint])
    if at >= 0:
        position = through(maps[i, 12 * at :], position)
    if row[POSED_ANGLED] > 0.0:
        motion = about(vec_in(row, POSED_AXIS), values[column])
    else:
        motion = quat_in(values, column)
    return LimbFrame(position, multiply(quat_in(turns[i], 4 * joint), turn), motion)


@inline
def tip_at(plan, maps, i):
    """Return the world position of the tip in pose i."""
    m = maps[i, 12 * int(plan[POSED_MAPS + POSED_TIP]) :]
    return Vec(m[3], m[7], m[11])


@inline
def range_of(plan, joint):
    """Return the lowest and the highest angle of a hinge."""
    at = POSED_JOINTS + POSED_JOINT * joint + POSED_RANGE
    return plan[at], plan[at + 1]


@inline
def axis_of(plan, joint):
    """Return the axis of a hinge in its joint frame."""
    return vec_in(plan, POSED_JOINTS + POSED_JOINT * joint + POSED_AXIS)


@part
def angle_of(plan, joint, q, i):
    """Return the angle of a hinge in pose i. The angle of a ball limited to one axis is clamped to its range."""
    row = plan[POSED_JOINTS + POSED_JOINT * joint :]
    column = int(row[POSED_COLUMN])
    if row[POSED_ANGLED] > 0.0:
        return q[i, column]
    angle = twist_angle(quat_in(q[i], column), vec_in(row, POSED_AXIS))
    if angle > math.pi:
        angle -= TURN
    elif angle <= -math.pi:
        angle += TURN
    return best_angle(angle, row[POSED_RANGE], row[POSED_RANGE + 1])


# --- the bend ----------------------------------------------------------------------------------------------------


@part
def arc_of(thigh, shin, axis):
    """Compute the tip's circle about the middle joint's axis."""
    along = scale(axis, dot(shin, axis))
    radius, ahead = sub(shin, along), cross(axis, shin)
    cosine, sine = dot(thigh, radius), dot(thigh, ahead)
    levered = math.hypot(cosine, sine) > NO_LEVER * (dot(thigh, thigh) + dot(shin, shin))
    offset = math.atan2(sine, cosine) if levered else 0.0
    still, across = add(thigh, along), add(scale(radius, math.cos(offset)), scale(ahead, math.sin(offset)))
    far, near = add(still, across), sub(still, across)
    longest2, shortest2 = dot(far, far), dot(near, near)
    gain = 1.0 / (longest2 - shortest2) if levered else 0.0
    return LimbArc(still, across, cross(axis, across), shortest2, longest2, gain, offset)


@inline
def reach_of(arc, straight, low, high):
    """Return the longest tip distance within the middle joint's range."""
    bend = best_angle(straight, low, high) - straight
    return norm(add(arc.still, add(scale(arc.across, math.cos(bend)), scale(arc.around, math.sin(bend)))))


@inline
def side_of(offset, straight, low, high, branch):
    """Choose the bend sign, 1 or -1. A straight limb bends towards the wider part of its range."""
    if branch != 0.0:
        return branch
    if abs(offset) < BENT:
        return 1.0 if high - straight >= straight - low else -1.0
    return 1.0 if offset < 0.0 else -1.0


@inline
def direction(v):
    """Return v / |v|; zero stays zero."""
    return unit(v)[0]
