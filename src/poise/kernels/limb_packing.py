# pyright: standard
"""Packing of posed limbs into rows of numbers for the limb kernels.

plan    (57,)        constants of the limb, the columns POSED_ in layout.py
maps    (k, 12 m)    world maps of joints, affine 3 x 4 (kernels/kinematics.py)
q       (k, nq)      the poses
local_offsets (0|k, 6 r)  their translations and scales, see kernels/kinematics.py
rotations (k, 16)    rotations of the four maps in POSED_MAPS

A joint with map number -1 has the world as its parent.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.kernels import layout
from poise.kernels.jit import device_function, inline, kernel
from poise.kernels.kinematics import similarity_to_quaternion
from poise.kernels.lanes import round_half_even
from poise.kernels.limits import TWO_PI, clamp_angle, twist_angle
from poise.kernels.planar_two_bone import PlaneRow, write_plane
from poise.kernels.two_bone import LimbRow, split_length, write_limb
from poise.kernels.vec_quat import (
    Quat,
    Vec,
    add,
    conjugate,
    cross,
    dot,
    find_perpendicular,
    from_axis_angle,
    multiply,
    norm,
    read_quat_at,
    read_vec_at,
    rotate,
    rotation_between,
    scale,
    sub,
    write_quat_at,
)

SIMILARITY_TOLERANCE = 1e-12  # tolerance for a map to be a rotation times a factor, as in `Transforms.rotations`
NO_LEVER_SHARE = 1e-12  # share of the squared length; with a smaller lever bending does not move the tip
MIN_BEND_RAD = 1e-9  # bend [rad] below which a limb is straight
FIRST_JOINT, MIDDLE_JOINT, TIP_JOINT = 0, 1, 2  # numbers of the joints in the plan
TIP_MAP = 3  # number of the tip's own map in POSED_MAPS


class LimbFrame(NamedTuple):
    """Position, frame rotation and motion of one posed joint."""

    position: Vec  # world
    turn: Quat  # world rotation of its frame before its motion
    motion: Quat


class TipCircle(NamedTuple):
    """The tip's circle about the middle joint; see LimbRow."""

    still: Vec
    across: Vec
    around: Vec
    shortest2: float
    longest2: float
    gain: float
    offset: float  # angle from the posed bend to the longest limb


# --- joints ------------------------------------------------------------------------------------------------------


@device_function
def write_rotations(plan, maps, rotations):
    """Fill `rotations` with the rotations of the limb's maps.

    Return the number of maps far from any rotation; w is -1 there.
    """
    irregular, count = 0, 4 if plan[layout.POSED_TIP_ROTATES] > 0.0 else 2
    for i in range(maps.shape[0]):
        for j in range(count):
            at, rotation = int(plan[layout.POSED_MAPS + j]), Quat(1.0, 0.0, 0.0, 0.0)
            if at >= 0:
                rotation, is_similar = similarity_to_quaternion(maps[i, 12 * at : 12 * at + 12], SIMILARITY_TOLERANCE)
                irregular += 0 if is_similar else 1
            write_quat_at(rotations[i], 4 * j, rotation)
    return irregular


@inline
def transform_point(m, v):
    """Transform a point by an affine map."""
    return Vec(
        m[0] * v.x + m[1] * v.y + m[2] * v.z + m[3],
        m[4] * v.x + m[5] * v.y + m[6] * v.z + m[7],
        m[8] * v.x + m[9] * v.y + m[10] * v.z + m[11],
    )


@device_function
def compute_frame(plan, joint, maps, q, local_offsets, rotations, i):
    """Compute one of the three joint frames in pose i."""
    row, values = plan[layout.POSED_JOINTS + layout.POSED_JOINT * joint :], q[i]
    position, rotation, column = (
        read_vec_at(row, layout.POSED_OFFSET),
        read_quat_at(row, layout.POSED_ROTATION),
        int(row[layout.POSED_COLUMN]),
    )
    if local_offsets.shape[0] > 0:
        position = add(position, read_vec_at(local_offsets[i], 6 * int(row[layout.POSED_SUPPLIED])))
    if row[layout.POSED_TRANSLATION] >= 0.0:
        position = add(position, rotate(rotation, read_vec_at(values, int(row[layout.POSED_TRANSLATION]))))
    at = int(plan[layout.POSED_MAPS + joint])
    if at >= 0:
        position = transform_point(maps[i, 12 * at :], position)
    if row[layout.POSED_HAS_ANGLE] > 0.0:
        motion = from_axis_angle(read_vec_at(row, layout.POSED_AXIS), values[column])
    else:
        motion = read_quat_at(values, column)
    return LimbFrame(position, multiply(read_quat_at(rotations[i], 4 * joint), rotation), motion)


@inline
def read_tip(plan, maps, i):
    """Return the world position of the tip in pose i."""
    m = maps[i, 12 * int(plan[layout.POSED_MAPS + TIP_MAP]) :]
    return Vec(m[3], m[7], m[11])


@inline
def read_range(plan, joint):
    """Return the lowest and the highest angle of a hinge."""
    at = layout.POSED_JOINTS + layout.POSED_JOINT * joint + layout.POSED_RANGE
    return plan[at], plan[at + 1]


@inline
def read_axis(plan, joint):
    """Return the axis of a hinge in its joint frame."""
    return read_vec_at(plan, layout.POSED_JOINTS + layout.POSED_JOINT * joint + layout.POSED_AXIS)


@device_function
def read_angle(plan, joint, q, i):
    """Return the angle of a hinge in pose i. The angle of a ball limited to one axis is clamped to its range."""
    row = plan[layout.POSED_JOINTS + layout.POSED_JOINT * joint :]
    column = int(row[layout.POSED_COLUMN])
    if row[layout.POSED_HAS_ANGLE] > 0.0:
        return q[i, column]
    angle = twist_angle(read_quat_at(q[i], column), read_vec_at(row, layout.POSED_AXIS))
    if angle > math.pi:
        angle -= TWO_PI
    elif angle <= -math.pi:
        angle += TWO_PI
    return clamp_angle(angle, row[layout.POSED_RANGE], row[layout.POSED_RANGE + 1])


# --- the bend ----------------------------------------------------------------------------------------------------


@device_function
def compute_tip_circle(thigh, shin, axis):
    """Compute the tip's circle about the middle joint's axis."""
    along = scale(axis, dot(shin, axis))
    radius, ahead = sub(shin, along), cross(axis, shin)
    cosine, sine = dot(thigh, radius), dot(thigh, ahead)
    levered = math.hypot(cosine, sine) > NO_LEVER_SHARE * (dot(thigh, thigh) + dot(shin, shin))
    offset = math.atan2(sine, cosine) if levered else 0.0
    still, across = add(thigh, along), add(scale(radius, math.cos(offset)), scale(ahead, math.sin(offset)))
    farthest, nearest = add(still, across), sub(still, across)
    longest2, shortest2 = dot(farthest, farthest), dot(nearest, nearest)
    gain = 1.0 / (longest2 - shortest2) if levered else 0.0
    return TipCircle(still, across, cross(axis, across), shortest2, longest2, gain, offset)


@inline
def compute_reach(circle, straight, low, high):
    """Return the longest tip distance within the middle joint's range."""
    bend = clamp_angle(straight, low, high) - straight
    return norm(add(circle.still, add(scale(circle.across, math.cos(bend)), scale(circle.around, math.sin(bend)))))


@inline
def choose_bend_sign(offset, straight, low, high, branch):
    """Choose the bend sign, 1 or -1. A straight limb bends towards the wider part of its range."""
    if branch != 0.0:
        return branch
    if abs(offset) < MIN_BEND_RAD:
        return 1.0 if high - straight >= straight - low else -1.0
    return 1.0 if offset < 0.0 else -1.0


@inline
def unit_vec(v):
    """Return v / |v|; zero stays zero."""
    return split_length(v)[0]


# --- Packing of posed limbs with a ball joint into LimbRow numbers ---------------------------------------------------


STRAIGHT_ANGLE_RAD = 1e-3  # bend [rad] below which the limb does not define its bend axis
RANGE_MARGIN = 1e-9  # squared sine; bends this close to the end of a range are left to the limit kernel


@device_function
def find_bend_axis(thigh, shin):
    """Find the bend axis of a free middle joint. Also return 1 where any axis across the limb would do, else 0.

    A bent limb defines its axis. A limb straight within 1e-3 rad does not: it is made exactly straight first. The last
    two results are its shin then, and the rotation used.
    """
    normal, sizes, none = cross(thigh, shin), norm(thigh) * norm(shin), Quat(1.0, 0.0, 0.0, 0.0)
    if norm(normal) > STRAIGHT_ANGLE_RAD * sizes:
        return unit_vec(normal), 0.0, shin, none
    along = unit_vec(shin)
    if sizes > 0.0:
        along = scale(unit_vec(thigh), -1.0 if dot(thigh, shin) < 0.0 else 1.0)
    spare = along if norm(along) > 0.0 else Vec(0.0, 0.0, 1.0)
    axis = find_perpendicular(spare)
    if not sizes > 0.0:
        return axis, 1.0, shin, none
    straightened = scale(along, norm(shin))
    return axis, 1.0, straightened, rotation_between(shin, straightened)


@device_function
def find_legal_interval(straight, low, high):
    """Return the certainly legal bends as squared half-angle sines.

    They are of the bends b from 0 to pi with straight + b inside the range.
    """
    size = high - low
    if not size < TWO_PI:
        return 0.0, 1.0
    lowest_bend = low - straight
    lowest_bend -= TWO_PI * round_half_even(lowest_bend / TWO_PI)
    a, b = max(lowest_bend, 0.0), min(lowest_bend + size, math.pi)
    sine, cosine = math.sin(0.5 * a), math.sin(0.5 * b)
    at_least = sine * sine + (RANGE_MARGIN if a > 0.0 else 0.0)
    at_most = (cosine * cosine if b > 0.0 else -1.0) - (RANGE_MARGIN if b < math.pi else 0.0)
    return at_least, at_most


@inline
def compute_tip_fields(plan, maps, q, local_offsets, rotations, i, into):
    """Compute the last four fields of a LimbRow."""
    if plan[layout.POSED_TIP_ROTATES] == 0.0:
        none = Quat(1.0, 0.0, 0.0, 0.0)
        return none, none, none, none
    tip, world = (
        compute_frame(plan, TIP_JOINT, maps, q, local_offsets, rotations, i),
        read_quat_at(rotations[i], 4 * TIP_MAP),
    )
    return multiply(into, tip.turn), multiply(conjugate(world), multiply(tip.turn, tip.motion)), tip.motion, world


@inline
def pack_limb(plan, maps, q, local_offsets, rotations, i):
    """Pack the limb in pose i as a LimbRow."""
    first, middle = (
        compute_frame(plan, FIRST_JOINT, maps, q, local_offsets, rotations, i),
        compute_frame(plan, MIDDLE_JOINT, maps, q, local_offsets, rotations, i),
    )
    into = conjugate(first.turn)
    thigh = rotate(into, sub(middle.position, first.position))
    shin = rotate(into, sub(read_tip(plan, maps, i), middle.position))
    tip, to_middle = add(thigh, shin), multiply(into, middle.turn)
    low, high = read_range(plan, MIDDLE_JOINT)
    if plan[layout.POSED_HINGE] > 0.0:
        knee, posed, twists, branch = (
            read_axis(plan, MIDDLE_JOINT),
            read_angle(plan, MIDDLE_JOINT, q, i),
            0.0,
            plan[layout.POSED_BRANCH],
        )
        axis, after = rotate(to_middle, knee), Quat(1.0, 0.0, 0.0, 0.0)
    else:
        axis, twists, shin, straightening = find_bend_axis(thigh, shin)
        back = conjugate(to_middle)
        knee, posed, branch = rotate(back, axis), 0.0, 0.0
        after = multiply(back, multiply(straightening, multiply(to_middle, middle.motion)))
    circle = compute_tip_circle(thigh, shin, axis)
    straight = posed + circle.offset
    side = choose_bend_sign(circle.offset, straight, low, high, branch)
    min_sine2, max_sine2 = find_legal_interval(
        side * straight, min(side * low, side * high), max(side * low, side * high)
    )
    to_tip, of_tip, tip_motion, last = compute_tip_fields(plan, maps, q, local_offsets, rotations, i, into)
    bend_side = sub(scale(unit_vec(thigh), plan[layout.POSED_THIGH]), scale(unit_vec(shin), plan[layout.POSED_SHIN]))
    return LimbRow(
        first.position, into, thigh, tip, circle.still, circle.across, circle.around, axis, bend_side,
        circle.shortest2, circle.longest2,
        circle.gain, compute_reach(circle, straight, low, high), straight, posed, low, high, side, min_sine2,
        max_sine2, twists,
        Vec(math.cos(0.5 * straight), math.sin(0.5 * straight), 0.0), knee, after, first.motion, middle.motion,
        to_middle, to_tip, of_tip, tip_motion, last,
    )  # fmt: skip


@kernel
def pack_limbs(plan, maps, q, local_offsets, has_rotations, rotations, rows):
    """Fill rows (k, LIMB_ROW), and `rotations` unless `has_rotations`.

    Returns the number of maps other than a rotation times a factor. Rows of poses with such a map are invalid; the
    caller sets their rotations and fills the rows again. The second result is 0, the number of non-planar limbs in
    `pack_planar_limbs`.
    """
    irregular = 0 if has_rotations else write_rotations(plan, maps, rotations)
    for i in range(rows.shape[0]):
        write_limb(rows[i], pack_limb(plan, maps, q, local_offsets, rotations, i))
    return irregular, 0


# --- Packing of posed limbs with two parallel hinges into PlaneRow numbers -------------------------------------------


PARALLEL_TOLERANCE = 1e-9  # largest angle [rad] between parallel axes


@inline
def pack_planar_limb(plan, maps, q, local_offsets, rotations, i):
    """Pack the limb in pose i as a PlaneRow. Also return whether its axes are parallel."""
    first, middle = (
        compute_frame(plan, FIRST_JOINT, maps, q, local_offsets, rotations, i),
        compute_frame(plan, MIDDLE_JOINT, maps, q, local_offsets, rotations, i),
    )
    first_axis, middle_axis = read_axis(plan, FIRST_JOINT), read_axis(plan, MIDDLE_JOINT)
    w, other = rotate(first.turn, first_axis), rotate(middle.turn, middle_axis)
    off = cross(w, other)
    parallel = max(abs(off.x), abs(off.y), abs(off.z)) <= PARALLEL_TOLERANCE
    u = scale(find_perpendicular(w), -1.0)
    v = cross(w, u)
    to_middle, to_tip = sub(middle.position, first.position), sub(read_tip(plan, maps, i), middle.position)
    thigh = Vec(dot(u, to_middle), dot(v, to_middle), dot(w, to_middle))
    shin = Vec(dot(u, to_tip), dot(v, to_tip), dot(w, to_tip))
    sense = 1.0 if dot(w, other) > 0.0 else -1.0
    circle = compute_tip_circle(Vec(thigh.x, thigh.y, 0.0), Vec(shin.x, shin.y, 0.0), Vec(0.0, 0.0, sense))
    low, high = read_range(plan, FIRST_JOINT)
    middle_low, middle_high = read_range(plan, MIDDLE_JOINT)
    angle, bent = read_angle(plan, FIRST_JOINT, q, i), read_angle(plan, MIDDLE_JOINT, q, i)
    straight = bent + circle.offset
    side = choose_bend_sign(circle.offset, straight, middle_low, middle_high, plan[layout.POSED_BRANCH])
    return PlaneRow(
        first.position, u, v, w, thigh, shin, circle.longest2, circle.shortest2, circle.gain,
        compute_reach(circle, straight, middle_low, middle_high), sense, side, straight, Vec(angle, low, high),
        Vec(bent, middle_low, middle_high), first_axis, middle_axis,
    ), parallel  # fmt: skip


@kernel
def pack_planar_limbs(plan, maps, q, local_offsets, has_rotations, rotations, rows):
    """Fill rows (k, PLANE_ROW), and `rotations` unless already known.

    Returns the number of maps other than a rotation times a factor (see `pack_limbs`) and the number of non-planar
    limbs.
    """
    irregular, not_planar = 0 if has_rotations else write_rotations(plan, maps, rotations), 0
    for i in range(rows.shape[0]):
        row, parallel = pack_planar_limb(plan, maps, q, local_offsets, rotations, i)
        write_plane(rows[i], row)
        not_planar += 0 if parallel else 1
    return irregular, not_planar
