# pyright: standard
"""Packing of limbs and their poses into rows of numbers.

The rows are for kernels/two_bone.py and kernels/planar_two_bone.py.

limb_constants  (57,)       constants of the limb, the columns LIMB_ in layout.py
maps           (k, 12 m)   world maps of joints, affine 3 x 4 (kernels/kinematics.py)
q              (k, nq)     the poses
local_offsets  (0|k, 6 r)  their translations and scales, see kernels/kinematics.py
map_rotations  (k, 16)     rotations of the four maps in LIMB_MAP_INDICES

A joint with map number -1 has the world as its parent.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.kernels import layout
from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
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
    read_vec,
    read_vec_at,
    rotate,
    rotation_between,
    scale,
    sub,
    write_quat_at,
    write_vec_at,
)

SIMILARITY_TOLERANCE = 1e-12  # tolerance for a map to be a rotation times a factor, as in `Transforms.rotations`
MIN_LEVER_SHARE = 1e-12  # share of the squared length; with a smaller lever bending does not move the tip
MIN_BEND_RAD = 1e-9  # bend [rad] below which a limb is straight
FIRST_JOINT, MIDDLE_JOINT, TIP_JOINT = 0, 1, 2  # numbers of the joints in limb_constants
TIP_MAP = 3  # number of the tip's own map in LIMB_MAP_INDICES
POSED_TIP, POSED_TIP_ROTATION = 10, 74  # columns of a LimbRow


class JointPlacement(NamedTuple):
    """Position, frame rotation and motion of one posed joint."""

    position: Vec  # world
    frame_rotation: Quat  # world rotation of its frame before its motion
    motion: Quat


class TipCircle(NamedTuple):
    """The tip's circle about the middle joint; see LimbRow."""

    centre: Vec
    circle_cos: Vec
    circle_sin: Vec
    shortest2: float
    longest2: float
    sine2_gain: float
    straight_offset: float  # angle from the posed bend to the longest limb


# --- joints ------------------------------------------------------------------------------------------------------


@device_function
def write_rotations(limb_constants, maps, map_rotations):
    """Fill `map_rotations` with the rotations of the limb's maps.

    Return the number of maps far from any rotation; w is -1 there.
    """
    irregular_count, map_count = 0, 4 if limb_constants[layout.LIMB_TIP_ROTATES] > 0.0 else 2
    for i in range(maps.shape[0]):
        for j in range(map_count):
            map_index, rotation = int(limb_constants[layout.LIMB_MAP_INDICES + j]), Quat(1.0, 0.0, 0.0, 0.0)
            if map_index >= 0:
                rotation, is_similar = similarity_to_quaternion(
                    maps[i, 12 * map_index : 12 * map_index + 12], SIMILARITY_TOLERANCE
                )
                irregular_count += 0 if is_similar else 1
            write_quat_at(map_rotations[i], 4 * j, rotation)
    return irregular_count


@inline
def transform_point(m, v):
    """Transform a point by an affine map."""
    return Vec(
        m[0] * v.x + m[1] * v.y + m[2] * v.z + m[3],
        m[4] * v.x + m[5] * v.y + m[6] * v.z + m[7],
        m[8] * v.x + m[9] * v.y + m[10] * v.z + m[11],
    )


@device_function
def compute_frame(limb_constants, joint_index, maps, q, local_offsets, map_rotations, i):
    """Compute one of the three joint frames in pose i."""
    joint_row, pose_q = limb_constants[layout.LIMB_JOINTS_START + layout.LIMB_JOINT_ROW * joint_index :], q[i]
    position, rotation, column = (
        read_vec_at(joint_row, layout.LIMB_JOINT_OFFSET),
        read_quat_at(joint_row, layout.LIMB_JOINT_ROTATION),
        int(joint_row[layout.LIMB_JOINT_Q_START]),
    )
    if local_offsets.shape[0] > 0:
        position = add(position, read_vec_at(local_offsets[i], 6 * int(joint_row[layout.LIMB_JOINT_LOCAL_OFFSET])))
    if joint_row[layout.LIMB_JOINT_TRANSLATION_COLUMN] >= 0.0:
        position = add(
            position, rotate(rotation, read_vec_at(pose_q, int(joint_row[layout.LIMB_JOINT_TRANSLATION_COLUMN])))
        )
    map_index = int(limb_constants[layout.LIMB_MAP_INDICES + joint_index])
    if map_index >= 0:
        position = transform_point(maps[i, 12 * map_index :], position)
    if joint_row[layout.LIMB_JOINT_HAS_ANGLE] > 0.0:
        motion = from_axis_angle(read_vec_at(joint_row, layout.LIMB_JOINT_AXIS), pose_q[column])
    else:
        motion = read_quat_at(pose_q, column)
    return JointPlacement(position, multiply(read_quat_at(map_rotations[i], 4 * joint_index), rotation), motion)


@inline
def read_tip(limb_constants, maps, i):
    """Return the world position of the tip in pose i."""
    tip_map = maps[i, 12 * int(limb_constants[layout.LIMB_MAP_INDICES + TIP_MAP]) :]
    return Vec(tip_map[3], tip_map[7], tip_map[11])


@inline
def read_range(limb_constants, joint_index):
    """Return the lowest and the highest angle of a hinge."""
    range_start = layout.LIMB_JOINTS_START + layout.LIMB_JOINT_ROW * joint_index + layout.LIMB_JOINT_RANGE
    return limb_constants[range_start], limb_constants[range_start + 1]


@inline
def read_axis(limb_constants, joint_index):
    """Return the axis of a hinge in its joint frame."""
    return read_vec_at(
        limb_constants, layout.LIMB_JOINTS_START + layout.LIMB_JOINT_ROW * joint_index + layout.LIMB_JOINT_AXIS
    )


@device_function
def read_angle(limb_constants, joint_index, q, i):
    """Return the angle of a hinge in pose i. The angle of a ball limited to one axis is clamped to its range."""
    joint_row = limb_constants[layout.LIMB_JOINTS_START + layout.LIMB_JOINT_ROW * joint_index :]
    column = int(joint_row[layout.LIMB_JOINT_Q_START])
    if joint_row[layout.LIMB_JOINT_HAS_ANGLE] > 0.0:
        return q[i, column]
    angle = twist_angle(read_quat_at(q[i], column), read_vec_at(joint_row, layout.LIMB_JOINT_AXIS))
    if angle > math.pi:
        angle -= TWO_PI
    elif angle <= -math.pi:
        angle += TWO_PI
    return clamp_angle(angle, joint_row[layout.LIMB_JOINT_RANGE], joint_row[layout.LIMB_JOINT_RANGE + 1])


# --- the bend ----------------------------------------------------------------------------------------------------


@device_function
def compute_tip_circle(thigh, shin, axis):
    """Compute the tip's circle about the middle joint's axis."""
    axial_part = scale(axis, dot(shin, axis))
    radius, sideways_radius = sub(shin, axial_part), cross(axis, shin)
    cosine, sine = dot(thigh, radius), dot(thigh, sideways_radius)
    has_lever = math.hypot(cosine, sine) > MIN_LEVER_SHARE * (dot(thigh, thigh) + dot(shin, shin))
    straight_offset = math.atan2(sine, cosine) if has_lever else 0.0
    centre, circle_cos = (
        add(thigh, axial_part),
        add(scale(radius, math.cos(straight_offset)), scale(sideways_radius, math.sin(straight_offset))),
    )
    farthest_tip, nearest_tip = add(centre, circle_cos), sub(centre, circle_cos)
    longest2, shortest2 = dot(farthest_tip, farthest_tip), dot(nearest_tip, nearest_tip)
    sine2_gain = 1.0 / (longest2 - shortest2) if has_lever else 0.0
    return TipCircle(centre, circle_cos, cross(axis, circle_cos), shortest2, longest2, sine2_gain, straight_offset)


@inline
def compute_reach(circle, straight_angle, low, high):
    """Return the longest tip distance within the middle joint's range."""
    bend = clamp_angle(straight_angle, low, high) - straight_angle
    return norm(
        add(circle.centre, add(scale(circle.circle_cos, math.cos(bend)), scale(circle.circle_sin, math.sin(bend))))
    )


@inline
def choose_bend_sign(straight_offset, straight_angle, low, high, requested_sign):
    """Choose the bend sign, 1 or -1. A straight limb bends towards the wider part of its range."""
    if requested_sign != 0.0:
        return requested_sign
    if abs(straight_offset) < MIN_BEND_RAD:
        return 1.0 if high - straight_angle >= straight_angle - low else -1.0
    return 1.0 if straight_offset < 0.0 else -1.0


@inline
def unit_vec(v):
    """Return v / |v|; zero stays zero."""
    return split_length(v)[0]


# --- Packing of posed limbs with a ball joint into LimbRow numbers ---------------------------------------------------


STRAIGHT_ANGLE_RAD = 1e-3  # bend [rad] below which the limb does not define its bend axis
RANGE_MARGIN_SINE2 = 1e-9  # squared sine; bends this close to the end of a range are left to the limit kernel


@device_function
def find_bend_axis(thigh, shin):
    """Find the bend axis of a free middle joint. Also return 1 where any axis across the limb would do, else 0.

    A bent limb defines its axis. A limb straight within 1e-3 rad does not: it is made exactly straight first. The last
    two results are its shin then, and the rotation used.
    """
    plane_normal, length_product, no_rotation = cross(thigh, shin), norm(thigh) * norm(shin), Quat(1.0, 0.0, 0.0, 0.0)
    if norm(plane_normal) > STRAIGHT_ANGLE_RAD * length_product:
        return unit_vec(plane_normal), 0.0, shin, no_rotation
    bone_direction = unit_vec(shin)
    if length_product > 0.0:
        bone_direction = scale(unit_vec(thigh), -1.0 if dot(thigh, shin) < 0.0 else 1.0)
    axis_reference = bone_direction if norm(bone_direction) > 0.0 else Vec(0.0, 0.0, 1.0)
    axis = find_perpendicular(axis_reference)
    if not length_product > 0.0:
        return axis, 1.0, shin, no_rotation
    straight_shin = scale(bone_direction, norm(shin))
    return axis, 1.0, straight_shin, rotation_between(shin, straight_shin)


@device_function
def find_legal_interval(straight_angle, low, high):
    """Return the certainly legal bends as squared half-angle sines.

    They are of the bends b from 0 to pi with straight_angle + b inside the range.
    """
    range_size = high - low
    if not range_size < TWO_PI:
        return 0.0, 1.0
    range_start = low - straight_angle
    range_start -= TWO_PI * round_half_even(range_start / TWO_PI)
    min_bend, max_bend = max(range_start, 0.0), min(range_start + range_size, math.pi)
    min_sine, max_sine = math.sin(0.5 * min_bend), math.sin(0.5 * max_bend)
    min_sine2 = min_sine * min_sine + (RANGE_MARGIN_SINE2 if min_bend > 0.0 else 0.0)
    max_sine2 = (max_sine * max_sine if max_bend > 0.0 else -1.0) - (RANGE_MARGIN_SINE2 if max_bend < math.pi else 0.0)
    return min_sine2, max_sine2


@inline
def compute_tip_fields(limb_constants, maps, q, local_offsets, map_rotations, i, limb_from_world):
    """Compute the last four fields of a LimbRow."""
    if limb_constants[layout.LIMB_TIP_ROTATES] == 0.0:
        no_rotation = Quat(1.0, 0.0, 0.0, 0.0)
        return no_rotation, no_rotation, no_rotation, no_rotation
    tip, tip_rotation = (
        compute_frame(limb_constants, TIP_JOINT, maps, q, local_offsets, map_rotations, i),
        read_quat_at(map_rotations[i], 4 * TIP_MAP),
    )
    return (
        multiply(limb_from_world, tip.frame_rotation),
        multiply(conjugate(tip_rotation), multiply(tip.frame_rotation, tip.motion)),
        tip.motion,
        tip_rotation,
    )


@inline
def pack_limb(limb_constants, maps, q, local_offsets, map_rotations, i):
    """Pack the limb in pose i as a LimbRow."""
    first, middle = (
        compute_frame(limb_constants, FIRST_JOINT, maps, q, local_offsets, map_rotations, i),
        compute_frame(limb_constants, MIDDLE_JOINT, maps, q, local_offsets, map_rotations, i),
    )
    limb_from_world = conjugate(first.frame_rotation)
    thigh = rotate(limb_from_world, sub(middle.position, first.position))
    shin = rotate(limb_from_world, sub(read_tip(limb_constants, maps, i), middle.position))
    tip, limb_from_middle = add(thigh, shin), multiply(limb_from_world, middle.frame_rotation)
    middle_low, middle_high = read_range(limb_constants, MIDDLE_JOINT)
    if limb_constants[layout.LIMB_MIDDLE_IS_HINGE] > 0.0:
        middle_axis, posed_angle, has_free_axis, requested_sign = (
            read_axis(limb_constants, MIDDLE_JOINT),
            read_angle(limb_constants, MIDDLE_JOINT, q, i),
            0.0,
            limb_constants[layout.LIMB_BEND_SIGN],
        )
        bend_axis, straight_motion = rotate(limb_from_middle, middle_axis), Quat(1.0, 0.0, 0.0, 0.0)
    else:
        bend_axis, has_free_axis, shin, straightening_rotation = find_bend_axis(thigh, shin)
        middle_from_limb = conjugate(limb_from_middle)
        middle_axis, posed_angle, requested_sign = rotate(middle_from_limb, bend_axis), 0.0, 0.0
        straight_motion = multiply(
            middle_from_limb, multiply(straightening_rotation, multiply(limb_from_middle, middle.motion))
        )
    circle = compute_tip_circle(thigh, shin, bend_axis)
    straight_angle = posed_angle + circle.straight_offset
    bend_sign = choose_bend_sign(circle.straight_offset, straight_angle, middle_low, middle_high, requested_sign)
    min_sine2, max_sine2 = find_legal_interval(
        bend_sign * straight_angle,
        min(bend_sign * middle_low, bend_sign * middle_high),
        max(bend_sign * middle_low, bend_sign * middle_high),
    )
    limb_from_tip, tip_offset_inverse, tip_motion, tip_rotation = compute_tip_fields(
        limb_constants, maps, q, local_offsets, map_rotations, i, limb_from_world
    )
    bend_direction = sub(
        scale(unit_vec(thigh), limb_constants[layout.LIMB_THIGH_WEIGHT]),
        scale(unit_vec(shin), limb_constants[layout.LIMB_SHIN_WEIGHT]),
    )
    return LimbRow(
        first.position, limb_from_world, thigh, tip, circle.centre, circle.circle_cos, circle.circle_sin, bend_axis,
        bend_direction, circle.shortest2, circle.longest2, circle.sine2_gain,
        compute_reach(circle, straight_angle, middle_low, middle_high), straight_angle, posed_angle, middle_low,
        middle_high, bend_sign, min_sine2, max_sine2, has_free_axis,
        Vec(math.cos(0.5 * straight_angle), math.sin(0.5 * straight_angle), 0.0), middle_axis, straight_motion,
        first.motion, middle.motion, limb_from_middle, limb_from_tip, tip_offset_inverse, tip_motion, tip_rotation,
    )  # fmt: skip


@kernel("F1 F2 F2 F2 b wF2 wF2 -> i i")
def pack_limbs(limb_constants, maps, q, local_offsets, has_rotations, map_rotations, limb_rows):
    """Fill limb_rows (k, POSED_LIMB_ROW), and `map_rotations` unless `has_rotations`.

    Returns the number of maps other than a rotation times a factor. Rows of poses with such a map are invalid; the
    caller sets their rotations and fills the rows again. The second result is 0, the number of non-planar limbs in
    `pack_planar_limbs`.
    """
    irregular_count = 0 if has_rotations else write_rotations(limb_constants, maps, map_rotations)
    for i in range(limb_rows.shape[0]):
        write_limb(limb_rows[i], pack_limb(limb_constants, maps, q, local_offsets, map_rotations, i))
    return irregular_count, 0


@kernel("F1 F2 F2 F2 F2 F2 f sF2 sF2 sF2 wF2 ->")
def straighten_limbs(
    limb_constants, maps, q, local_offsets, map_rotations, bend, min_cosine, pose_maps, pose_q, pose_rotations,
    limb_rows,
):  # fmt: skip
    """Pack limbs of a wrong bend as if straight.

    Motions of the middle joint that are bent less than a cosine, to the axis of the bend, are straightened by the
    shortest rotation. The rows keep where the tip is and how it is turned.

    map_rotations   as `pack_limbs` leaves it
    bend            (3, 3)  upper bone, lower bone without motion, and axis of the wrong bend, in the middle joint's
                    frame
    pose_maps       (1, 12 m)  scratch memory, as are pose_q (1, nq) and pose_rotations (1, 16)
    limb_rows       (k, POSED_LIMB_ROW)  as `pack_limbs` leaves it
    """
    upper, lower, axis = read_vec(bend, 0), read_vec(bend, 1), read_vec(bend, 2)
    column = int(
        limb_constants[layout.LIMB_JOINTS_START + layout.LIMB_JOINT_ROW * MIDDLE_JOINT + layout.LIMB_JOINT_Q_START]
    )
    for i in range(limb_rows.shape[0]):
        motion = read_quat_at(q[i], column)
        turned = rotate(motion, lower)
        if not (dot(turned, upper) > min_cosine and dot(cross(upper, turned), axis) > 0.0):
            continue
        middle = compute_frame(limb_constants, MIDDLE_JOINT, maps, q, local_offsets, map_rotations, i)
        straightening = rotation_between(turned, upper)
        world_turn = multiply(multiply(middle.frame_rotation, straightening), conjugate(middle.frame_rotation))
        tip, tip_rotation = read_tip(limb_constants, maps, i), read_quat_at(limb_rows[i], POSED_TIP_ROTATION)
        straight_tip = add(middle.position, rotate(world_turn, sub(tip, middle.position)))
        for j in range(maps.shape[1]):
            pose_maps[0, j] = maps[i, j]
        for j in range(q.shape[1]):
            pose_q[0, j] = q[i, j]
        for j in range(2):
            write_quat_at(pose_rotations[0], 4 * j, read_quat_at(map_rotations[i], 4 * j))
        tip_map = 12 * int(limb_constants[layout.LIMB_MAP_INDICES + TIP_MAP])
        pose_maps[0, tip_map + 3], pose_maps[0, tip_map + 7], pose_maps[0, tip_map + 11] = (
            straight_tip.x,
            straight_tip.y,
            straight_tip.z,
        )
        write_quat_at(pose_q[0], column, multiply(straightening, motion))
        if limb_constants[layout.LIMB_TIP_ROTATES] > 0.0:
            for j in (TIP_JOINT, TIP_MAP):
                write_quat_at(pose_rotations[0], 4 * j, multiply(world_turn, read_quat_at(map_rotations[i], 4 * j)))
        own_offsets = local_offsets[i : i + 1] if local_offsets.shape[0] > 0 else local_offsets
        tip_way, row = read_vec_at(limb_rows[i], POSED_TIP), limb_rows[i]
        write_limb(row, pack_limb(limb_constants, pose_maps, pose_q, own_offsets, pose_rotations, 0))
        write_vec_at(row, POSED_TIP, tip_way)
        write_quat_at(row, POSED_TIP_ROTATION, tip_rotation)


# --- Packing of posed limbs with two parallel hinges into PlaneRow numbers -------------------------------------------


PARALLEL_TOLERANCE = 1e-9  # largest angle [rad] between parallel axes


@inline
def pack_planar_limb(limb_constants, maps, q, local_offsets, map_rotations, i):
    """Pack the limb in pose i as a PlaneRow. Also return whether its axes are parallel."""
    first, middle = (
        compute_frame(limb_constants, FIRST_JOINT, maps, q, local_offsets, map_rotations, i),
        compute_frame(limb_constants, MIDDLE_JOINT, maps, q, local_offsets, map_rotations, i),
    )
    first_axis, middle_axis = read_axis(limb_constants, FIRST_JOINT), read_axis(limb_constants, MIDDLE_JOINT)
    w, world_middle_axis = rotate(first.frame_rotation, first_axis), rotate(middle.frame_rotation, middle_axis)
    axis_cross = cross(w, world_middle_axis)
    is_parallel = max(abs(axis_cross.x), abs(axis_cross.y), abs(axis_cross.z)) <= PARALLEL_TOLERANCE
    u = scale(find_perpendicular(w), -1.0)
    v = cross(w, u)
    middle_offset, tip_offset = (
        sub(middle.position, first.position),
        sub(read_tip(limb_constants, maps, i), middle.position),
    )
    thigh = Vec(dot(u, middle_offset), dot(v, middle_offset), dot(w, middle_offset))
    shin = Vec(dot(u, tip_offset), dot(v, tip_offset), dot(w, tip_offset))
    axis_sign = 1.0 if dot(w, world_middle_axis) > 0.0 else -1.0
    circle = compute_tip_circle(Vec(thigh.x, thigh.y, 0.0), Vec(shin.x, shin.y, 0.0), Vec(0.0, 0.0, axis_sign))
    first_low, first_high = read_range(limb_constants, FIRST_JOINT)
    middle_low, middle_high = read_range(limb_constants, MIDDLE_JOINT)
    first_angle, middle_angle = (
        read_angle(limb_constants, FIRST_JOINT, q, i),
        read_angle(limb_constants, MIDDLE_JOINT, q, i),
    )
    straight_angle = middle_angle + circle.straight_offset
    bend_sign = choose_bend_sign(
        circle.straight_offset, straight_angle, middle_low, middle_high, limb_constants[layout.LIMB_BEND_SIGN]
    )
    return PlaneRow(
        first.position, u, v, w, thigh, shin, circle.longest2, circle.shortest2, circle.sine2_gain,
        compute_reach(circle, straight_angle, middle_low, middle_high), axis_sign, bend_sign, straight_angle,
        Vec(first_angle, first_low, first_high), Vec(middle_angle, middle_low, middle_high), first_axis, middle_axis,
    ), is_parallel  # fmt: skip


@kernel("F1 F2 F2 F2 b wF2 wF2 -> i i")
def pack_planar_limbs(limb_constants, maps, q, local_offsets, has_rotations, map_rotations, plane_rows):
    """Fill plane_rows (k, POSED_PLANE_ROW), and `map_rotations` unless already known.

    Returns the number of maps other than a rotation times a factor (see `pack_limbs`) and the number of non-planar
    limbs.
    """
    irregular_count, nonplanar_count = 0 if has_rotations else write_rotations(limb_constants, maps, map_rotations), 0
    for i in range(plane_rows.shape[0]):
        plane_row, is_parallel = pack_planar_limb(limb_constants, maps, q, local_offsets, map_rotations, i)
        write_plane(plane_rows[i], plane_row)
        nonplanar_count += 0 if is_parallel else 1
    return irregular_count, nonplanar_count
