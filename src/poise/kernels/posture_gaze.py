# pyright: standard
"""Gaze: turn pelvis, spine and neck of a looking figure.

A number x says how far the ranges are used: the neck turns by x of its range, the spine by x^2, the pelvis by x^3, and
beyond all ranges each by x. The heading is taken by twists about the long axis of the trunk, what is left by the
smallest rotation, of neck and spine.

The joints stand in a row from the pelvis up. Turns of a joint carry all above it. `turned` (m, 7) holds what has turned
each of them since the maps were computed, as w x y z, and where its origin is now.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function
from poise.kernels.entries import kernel
from poise.kernels.posture import perpendicular_part
from poise.kernels.posture_maps import map_turn, map_vector, read_origin, scale_to_unit, unmap_turn
from poise.kernels.smoothing import smoothstep_between
from poise.kernels.vec_quat import (
    Quat,
    Vec,
    add,
    conjugate,
    cross,
    dot,
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
    write_vec_at,
)

# Columns of `numbers`: the ray of the head and its begin in the frame of the head, the long axis of the trunk in the
# frame that carries the neck, and the vertical. Ray and trunk are turned by rotations, which drop a mirror.
GAZE_RAY, GAZE_BEGIN, GAZE_TRUNK, GAZE_VERTICAL, GAZE_NUMBER_COUNT = 0, 3, 6, 9, 12
# Columns of `ranges` [rad]: neck, spine and pelvis, for twists and then for other turns.
NOD_RANGES, GAZE_RANGE_COUNT = 3, 6
TURNED_COLUMNS = 7

NOD_PASSES = 3  # the head moves as the spine turns; what the last one leaves is for the engine
SHARE_STEPS = 8  # of Newton's method, from above
# Sine of the angle to the trunk's axis: the heading of steeper directions counts not at all, of more level ones fully.
NO_HEADING_SINE, FULL_HEADING_SINE = 0.1, 0.5


@device_function
def share_angle(angle, neck, spine, pelvis):
    """Share an angle by the ranges of neck, spine and pelvis."""
    size, whole = abs(angle), neck + spine + pelvis
    x = min(size / neck, 1.0)
    for _ in range(SHARE_STEPS):
        excess = x * (neck + x * (spine + x * pelvis)) - size
        if not excess > 0.0:
            break
        x -= excess / (neck + x * (2.0 * spine + 3.0 * x * pelvis))
    is_inside = size <= whole
    x = max(x, size / whole)
    square, cube = (x * x, x * x * x) if is_inside else (x, x)
    sign = 1.0 if angle >= 0.0 else -1.0
    return sign * (size - spine * square - pelvis * cube), sign * spine * square, sign * pelvis * cube


@device_function
def begin_turning(maps, map_indices, turned):
    """Fill `turned` for joints as the maps show them."""
    for i in range(turned.shape[0]):
        write_quat_at(turned[i], 0, Quat(1.0, 0.0, 0.0, 0.0))
        write_vec_at(turned[i], 4, read_origin(maps, map_indices[i]))


@device_function
def turn_group(maps, parents, frames, q_columns, first, count, axis, angle, q, turned):
    """Turn joints of a row q (nq,) about a world axis.

    Each takes the same part of the angle.
    """
    if count == 0 or angle == 0.0:
        return
    turn = from_axis_angle(axis, angle / count)
    for i in range(first, first + count):
        local = axis if i == 0 else rotate(conjugate(read_quat_at(turned[i - 1], 0)), axis)
        if parents[i] >= 0:
            local = scale_to_unit(unmap_turn(maps, parents[i], local))
        local = rotate(conjugate(read_quat_at(frames[i], 0)), local)
        own = from_axis_angle(local, angle / count)
        write_quat_at(q, q_columns[i], multiply(own, read_quat_at(q, q_columns[i])))
        origin = read_vec_at(turned[i], 4)
        for j in range(i, turned.shape[0]):
            write_quat_at(turned[j], 0, multiply(turn, read_quat_at(turned[j], 0)))
            write_vec_at(turned[j], 4, add(origin, rotate(turn, sub(read_vec_at(turned[j], 4), origin))))


@device_function
def find_directions(maps, map_indices, numbers, target, turned):
    """Return unit vectors of a gaze and to its target."""
    last = turned.shape[0] - 1
    turn = read_quat_at(turned[last], 0)
    ray = rotate(turn, map_turn(maps, map_indices[last], read_vec_at(numbers, GAZE_RAY)))
    begin = rotate(turn, map_vector(maps, map_indices[last], read_vec_at(numbers, GAZE_BEGIN)))
    way = sub(target, add(read_vec_at(turned[last], 4), begin))
    length = norm(way)
    return ray, scale(way, 1.0 / length) if length > 0.0 else ray


@device_function
def find_trunk_axis(maps, carrier, numbers, first_of_neck, turned):
    """Return the long axis of the trunk, carried along with the neck."""
    axis = map_turn(maps, carrier, read_vec_at(numbers, GAZE_TRUNK))
    return axis if first_of_neck == 0 else rotate(read_quat_at(turned[first_of_neck - 1], 0), axis)


@device_function
def measure_heading(ray, wanted, axis):
    """Return the angle from gaze to target about the trunk.

    Less of it counts where one of them is near the axis.
    """
    first, second = perpendicular_part(ray, axis), perpendicular_part(wanted, axis)
    angle = math.atan2(dot(axis, cross(first, second)), dot(first, second))
    share = smoothstep_between(norm(first), NO_HEADING_SINE, FULL_HEADING_SINE)
    return angle * share * smoothstep_between(norm(second), NO_HEADING_SINE, FULL_HEADING_SINE)


@kernel("F2 I1 I1 F2 I1 i i i F1 F1 F2 wF2 wF2 ->")
def turn_gazes(
    maps,
    map_indices,
    parents,
    frames,
    q_columns,
    carrier,
    pelvis_count,
    spine_count,
    numbers,
    ranges,
    targets,
    q,
    turned,
):
    """Turn poses q (k, nq) to look at targets (k, 3).

    maps          (k, 12 n)  world transforms of joints in the poses
    map_indices   (m,)  numbers of the maps of pelvis, spine and neck; the last one looks
    parents       (m,)  those of the joints above them in the file; -1 for none
    frames        (m, 4)  rotations of their frames in those of their parents
    q_columns     (m,)  first columns of their quaternions
    carrier       number of the map that carries the neck
    pelvis_count  0 or 1
    spine_count   how many joints follow it; the neck has the others
    numbers       (GAZE_NUMBER_COUNT,)
    ranges        (GAZE_RANGE_COUNT,)  0 for joints that do not turn
    turned        (m, 7)  scratch memory
    """
    neck_first = pelvis_count + spine_count
    neck_count = map_indices.shape[0] - neck_first
    for k in range(targets.shape[0]):
        pose_maps, target = maps[k], read_vec_at(targets[k], 0)
        begin_turning(pose_maps, map_indices, turned)
        ray, wanted = find_directions(pose_maps, map_indices, numbers, target, turned)
        axis = find_trunk_axis(pose_maps, carrier, numbers, neck_first, turned)
        neck, spine, pelvis = share_angle(measure_heading(ray, wanted, axis), ranges[0], ranges[1], ranges[2])
        vertical = read_vec_at(numbers, GAZE_VERTICAL)
        turn_group(pose_maps, parents, frames, q_columns, 0, pelvis_count, vertical, pelvis, q[k], turned)
        axis = find_trunk_axis(pose_maps, carrier, numbers, neck_first, turned)
        turn_group(pose_maps, parents, frames, q_columns, pelvis_count, spine_count, axis, spine, q[k], turned)
        turn_group(pose_maps, parents, frames, q_columns, neck_first, neck_count, axis, neck, q[k], turned)
        for _ in range(NOD_PASSES):
            ray, wanted = find_directions(pose_maps, map_indices, numbers, target, turned)
            rest = rotation_between(ray, wanted)
            sine = norm(Vec(rest.x, rest.y, rest.z))
            if not sine > 0.0:
                break
            axis = scale(Vec(rest.x, rest.y, rest.z), 1.0 / sine)
            angle = 2.0 * math.atan2(sine, rest.w)
            neck, spine, _ = share_angle(angle, ranges[NOD_RANGES], ranges[NOD_RANGES + 1], ranges[NOD_RANGES + 2])
            turn_group(pose_maps, parents, frames, q_columns, pelvis_count, spine_count, axis, spine, q[k], turned)
            turn_group(pose_maps, parents, frames, q_columns, neck_first, neck_count, axis, neck, q[k], turned)
