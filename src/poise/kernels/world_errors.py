# pyright: standard
"""Goal errors measured in the world maps of joints.

It serves poses with translations and scales of their own, non-uniform scale, relative goals and ranges. All others are
measured along their paths by kernels/goal_errors.py, in less time.

    table          (r, FK_ROW)  rows from the roots to the measured joints, see kernels/kinematics.py
    measures       (c, 26)      the columns WORLD_ of layout.py
    q              (k, nq)      poses
    used_columns   (u,)         the columns of q used by the table
    local_offsets  (0|1|k, 6 r) see kernels/kinematics.py
    targets        (1|k, w)     in the world, or in the frames of the references
    error_parts    (k, c, 2)    see kernels/goal_errors.py; -1, -1 where the rotation of a sheared map is needed

The arithmetic of the measures is strict, so the bits depend neither on the kernel nor on its lanes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels import layout, thresholds
from poise.kernels.device_functions import device_function, inline, inline_strict, never_inline
from poise.kernels.entries import kernel
from poise.kernels.goal_sets import clamp_turn
from poise.kernels.kinematics import compute_world_maps, similarity_to_quaternion
from poise.kernels.lanes import LANES4, LANES8, SCALAR, count_lanes, view_lanes
from poise.kernels.layout import AIM, DIRECTION, POLE, POSITION, ROTATION
from poise.kernels.vec_quat import Quat, Vec, conjugate, read_quat_at, read_vec_at

NOT_MEASURED = -1.0  # parts of an error that needs the rotation of a sheared map


class WorldPaths(NamedTuple):
    """Joints and measures, see above."""

    table: Any
    measures: Any
    used_columns: Any


# --- strict arithmetic -----------------------------------------------------------------------------------------------


@inline_strict
def subtract(a, b):
    """Return a - b."""
    return Vec(a.x - b.x, a.y - b.y, a.z - b.z)


@inline_strict
def multiply_parts(a, b):
    """Return a . b."""
    return a.x * b.x + a.y * b.y + a.z * b.z


@inline_strict
def compute_length(a):
    """Return |a|."""
    return math.sqrt(a.x * a.x + a.y * a.y + a.z * a.z)


@inline_strict
def compute_cross(a, b):
    """Return a x b."""
    return Vec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


@inline_strict
def compose_rotations(a, b):
    """Compose rotations: b, then a."""
    return Quat(
        a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
        a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
        a.w * b.y + a.y * b.w + a.z * b.x - a.x * b.z,
        a.w * b.z + a.z * b.w + a.x * b.y - a.y * b.x,
    )


@inline_strict
def rotate_vector(q, v):
    """Rotate a vector by a unit quaternion."""
    s, t, u = 2.0 * (q.y * v.z - q.z * v.y), 2.0 * (q.z * v.x - q.x * v.z), 2.0 * (q.x * v.y - q.y * v.x)
    return Vec(
        v.x + q.w * s + (q.y * u - q.z * t), v.y + q.w * t + (q.z * s - q.x * u), v.z + q.w * u + (q.x * t - q.y * s)
    )


@inline_strict
def move_point(m, v):
    """Return a point of a frame in the world. `m` is the frame's map (12,)."""
    return Vec(
        m[3] + (m[0] * v.x + m[1] * v.y + m[2] * v.z),
        m[7] + (m[4] * v.x + m[5] * v.y + m[6] * v.z),
        m[11] + (m[8] * v.x + m[9] * v.y + m[10] * v.z),
    )


@inline_strict
def find_local_point(m, point):
    """Return a world point in a frame. `m` is the frame's map (12,)."""
    a, b, c = Vec(m[0], m[4], m[8]), Vec(m[1], m[5], m[9]), Vec(m[2], m[6], m[10])
    offset = subtract(point, Vec(m[3], m[7], m[11]))
    bc, ca, ab = compute_cross(b, c), compute_cross(c, a), compute_cross(a, b)
    volume = multiply_parts(a, bc)
    return Vec(
        multiply_parts(bc, offset) / volume, multiply_parts(ca, offset) / volume, multiply_parts(ab, offset) / volume
    )


@inline_strict
def clamp_offset(row, offset):
    """Return the nearest offset of a box. `row` begins with its bounds."""
    return Vec(
        min(max(offset.x, row[0]), row[1]), min(max(offset.y, row[2]), row[3]), min(max(offset.z, row[4]), row[5])
    )


@inline_strict
def remove_part(v, direction, part):
    """Return v - part direction."""
    return Vec(v.x - direction.x * part, v.y - direction.y * part, v.z - direction.z * part)


# --- errors of one measure -------------------------------------------------------------------------------------------


@inline
def read_point(maps, measure):
    """Return the measured point in the world."""
    m = maps[int(measure[layout.WORLD_MAP])]
    point = read_vec_at(measure, layout.WORLD_POINT)
    has_point = point.x != 0.0 or point.y != 0.0 or point.z != 0.0
    return move_point(m, point) if has_point else Vec(m[3], m[7], m[11])


@inline
def read_target_axes(measure, target):
    """Return the rotation of a target. A goal without one has the identity."""
    column = int(measure[layout.WORLD_AXES_START])
    return read_quat_at(target, column) if column >= 0 else Quat(1.0, 0.0, 0.0, 0.0)


@inline_strict
def measure_position(maps, measure, target, rotation, reference_rotation):
    """Measure the distance of a point to its target or set. It is in the units of the target's frame."""
    reference, set_kind = int(measure[layout.WORLD_REFERENCE]), int(measure[layout.WORLD_SET_KIND])
    point = read_point(maps, measure)
    if reference >= 0:
        point = find_local_point(maps[reference], point)
    offset = subtract(point, read_vec_at(target, int(measure[layout.WORLD_TARGET_START])))
    if set_kind == layout.TARGET_BOX or set_kind == layout.JOINT_BOX:
        axes = read_target_axes(measure, target)
        if set_kind == layout.JOINT_BOX:
            axes = compose_rotations(conjugate(reference_rotation), rotation)
        local = rotate_vector(conjugate(axes), offset)
        offset = subtract(clamp_offset(measure[layout.WORLD_SET :], local), local)
    return compute_length(offset)


@inline_strict
def measure_rotation(measure, target, rotation, reference_rotation):
    """Measure sine and cosine of half the angle to a rotation."""
    wanted = read_quat_at(target, int(measure[layout.WORLD_TARGET_START]))
    if int(measure[layout.WORLD_REFERENCE]) >= 0:
        wanted = compose_rotations(reference_rotation, wanted)
    if int(measure[layout.WORLD_SET_KIND]) == layout.TURN_SET:
        turn = compose_rotations(conjugate(wanted), rotation)
        wanted = compose_rotations(wanted, clamp_turn(measure[layout.WORLD_SET :], turn))
    error = compose_rotations(wanted, conjugate(rotation))
    return compute_length(Vec(error.x, error.y, error.z)), abs(error.w)


@inline_strict
def measure_direction(maps, measure, target, rotation, reference_rotation):
    """Measure sine and cosine of a direction's or aim's angle.

    They have a common factor.
    """
    reference, is_aim = int(measure[layout.WORLD_REFERENCE]), int(measure[layout.WORLD_KIND]) == AIM
    wanted = read_vec_at(target, int(measure[layout.WORLD_TARGET_START]))
    if reference >= 0:
        wanted = move_point(maps[reference], wanted) if is_aim else rotate_vector(reference_rotation, wanted)
    if is_aim:
        point = read_point(maps, measure)
        way = subtract(wanted, point)
        is_at_target = multiply_parts(way, way) <= thresholds.SAME_POINT_RATIO * (
            multiply_parts(wanted, wanted) + multiply_parts(point, point)
        )
        wanted = Vec(0.0, 0.0, 0.0) if is_at_target else way  # at the target every direction is right
    axis = rotate_vector(rotation, read_vec_at(measure, layout.WORLD_VECTOR))
    return compute_length(compute_cross(axis, wanted)), multiply_parts(axis, wanted)


@inline_strict
def measure_pole(maps, measure, target):
    """Measure sine and cosine of a pole's angle.

    They have a common factor, and are zeros where a side is undefined.
    """
    a, b = maps[int(measure[layout.WORLD_VECTOR])], maps[int(measure[layout.WORLD_VECTOR + 1])]
    c = maps[int(measure[layout.WORLD_MAP])]
    first, middle, tip = Vec(a[3], a[7], a[11]), Vec(b[3], b[7], b[11]), Vec(c[3], c[7], c[11])
    chord, middle_way = subtract(tip, first), subtract(middle, first)
    pole_way = subtract(read_vec_at(target, int(measure[layout.WORLD_TARGET_START])), first)
    chord_length = compute_length(chord)
    limb_length = compute_length(middle_way) + compute_length(subtract(tip, middle))
    divisor = max(chord_length, thresholds.MIN_DIVISOR)
    n = Vec(chord.x / divisor, chord.y / divisor, chord.z / divisor)
    bend, pole = (
        remove_part(middle_way, n, multiply_parts(n, middle_way)),
        remove_part(pole_way, n, multiply_parts(n, pole_way)),
    )
    if min(min(compute_length(bend), compute_length(pole)), chord_length) <= thresholds.STRAIGHT_RATIO * limb_length:
        return 0.0, 0.0
    return abs(multiply_parts(n, compute_cross(bend, pole))), multiply_parts(bend, pole)


@inline
def read_rotation(maps, row):
    """Return the rotation of a joint, and whether its map has one."""
    return similarity_to_quaternion(maps[row], thresholds.SIMILARITY_TOLERANCE)


@device_function
def measure_world_error(maps, measure, target):
    """Measure one error. Returns the two numbers of `error_parts`."""
    kind, set_kind = int(measure[layout.WORLD_KIND]), int(measure[layout.WORLD_SET_KIND])
    reference = int(measure[layout.WORLD_REFERENCE])
    rotation, reference_rotation = Quat(1.0, 0.0, 0.0, 0.0), Quat(1.0, 0.0, 0.0, 0.0)
    has_rotations = True
    if kind == ROTATION or kind == DIRECTION or kind == AIM or set_kind == layout.JOINT_BOX:
        rotation, has_rotations = read_rotation(maps, int(measure[layout.WORLD_MAP]))
        if reference >= 0:
            reference_rotation, has_reference = read_rotation(maps, reference)
            has_rotations = has_rotations and has_reference
    if not has_rotations:
        return NOT_MEASURED, NOT_MEASURED
    if kind == POSITION:
        return measure_position(maps, measure, target, rotation, reference_rotation), 0.0
    if kind == ROTATION:
        return measure_rotation(measure, target, rotation, reference_rotation)
    if kind == POLE:
        return measure_pole(maps, measure, target)
    return measure_direction(maps, measure, target, rotation, reference_rotation)


# A function of its own, so that all kernels that measure give the same bits.
@never_inline
def measure_poses(lane_kind, paths, q, local_offsets, targets, work, error_parts):
    """Measure all errors of poses. `work` holds (u + 30 r + 12) values, aligned to 64 bytes."""
    w, k, r, u = count_lanes(lane_kind), q.shape[0], paths.table.shape[0], paths.used_columns.shape[0]
    maps_start = (u + 18 * r + 12) * w
    for first in range(0, k, w):
        count = min(w, k - first)
        has_own_offsets = local_offsets.shape[0] > 1
        offsets_first = first if has_own_offsets else 0
        offsets_end = first + count if has_own_offsets else local_offsets.shape[0]
        compute_world_maps(
            lane_kind,
            paths.table,
            q[first : first + count],
            paths.used_columns,
            local_offsets[offsets_first:offsets_end],
            work,
            view_lanes(SCALAR, work, maps_start, count, 12 * r),
        )
        for l in range(count):
            maps = view_lanes(SCALAR, work, maps_start + 12 * r * l, r, 12)
            target = targets[min(first + l, targets.shape[0] - 1)]
            for c in range(paths.measures.shape[0]):
                error_parts[first + l, c, 0], error_parts[first + l, c, 1] = measure_world_error(
                    maps, paths.measures[c], target
                )


@kernel("F2 F2 I1 F2 F2 F2 aF1 wF3 ->")
def measure4(table, measures, used_columns, q, local_offsets, targets, work, error_parts):
    """Measure errors of poses. Four are computed side by side."""
    measure_poses(LANES4, WorldPaths(table, measures, used_columns), q, local_offsets, targets, work, error_parts)


@kernel("F2 F2 I1 F2 F2 F2 aF1 wF3 ->")
def measure8(table, measures, used_columns, q, local_offsets, targets, work, error_parts):
    """Measure errors of poses. Eight are computed side by side."""
    measure_poses(LANES8, WorldPaths(table, measures, used_columns), q, local_offsets, targets, work, error_parts)
