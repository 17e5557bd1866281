# pyright: standard
"""Goal errors by forward kinematics along joint paths.

Several poses are measured side by side.

    table         (r, 23)    rows of the skeleton from the root to each joint, path by path; see the columns
    path_spans    (c, 2)     first and last row of the path of each measure
    measures      (c, 8)     kind of each measure, its first column in a target; 2-4: direction, aim: the joint's axis;
                             pole: path lengths of the limb's first and middle joint (the path is that of its tip); 5-7:
                             position, aim: the point in the joint's frame
    q             (k, nq)    poses
    used_columns  (u,)       the columns of q used by the table, which counts in these
    targets       (1|k, w)   world
    error_parts   (k, c, 2)  position: distance, 0. Rotation: |sin|, |cos| of half the angle. Others: |sin|, cos of the
                             angle times a common factor; 0, 0 where an aim is at its target or a pole is undefined

The kernels use the skeleton's own rows, independently of the solver's packed problem.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels import layout, thresholds
from poise.kernels.device_functions import device_function, inline, never_inline
from poise.kernels.entries import gil_kernel, kernel
from poise.kernels.lanes import (
    LANES4,
    LANES8,
    SCALAR,
    broadcast,
    count_lanes,
    get_lane,
    half_angle_sincos,
    maximum,
    minimum,
    select,
    sqrt,
    view_lanes,
)
from poise.kernels.layout import AIM, BALL, FREE, HINGE, POLE, POSITION, ROTATION, SLIDE
from poise.kernels.vec_quat import (
    Quat,
    Vec,
    add,
    cross,
    dot,
    identity,
    multiply,
    read_quat_at,
    read_vec_at,
    rotate,
    scale,
    sub,
)


@inline
def compute_transform(lane_kind, table, path_start, path_end, q_values):
    """Compute world position, rotation and scale at a path's end."""
    zero = broadcast(lane_kind, 0.0)
    position, rotation, scale_factor = Vec(zero, zero, zero), identity(lane_kind), 1.0
    for i in range(path_start, path_end):
        row = table[i]
        position = add(position, rotate(rotation, scale(read_vec_at(row, layout.PATH_OFFSET), scale_factor)))
        rotation = multiply(rotation, read_quat_at(row, layout.PATH_ROTATION))
        # Every path starts at the root, even where paths share rows: paths are few, and nothing need be stored.
        joint_kind, column = int(row[layout.PATH_KIND]), int(row[layout.PATH_Q_START])
        if joint_kind == HINGE:
            axis = read_vec_at(row, layout.PATH_AXIS)
            s, c = half_angle_sincos(
                q_values[column] * row[layout.PATH_COUPLING_RATIO] + row[layout.PATH_COUPLING_OFFSET]
            )
            rotation = multiply(rotation, Quat(c, s * axis.x, s * axis.y, s * axis.z))
        elif joint_kind == SLIDE:
            value = (
                q_values[column] * row[layout.PATH_COUPLING_RATIO] + row[layout.PATH_COUPLING_OFFSET]
            ) * scale_factor
            position = add(position, rotate(rotation, scale(read_vec_at(row, layout.PATH_AXIS), value)))
        elif joint_kind == BALL:
            rotation = multiply(rotation, read_quat_at(q_values, column))
        elif joint_kind == FREE:
            position = add(position, rotate(rotation, scale(read_vec_at(q_values, column), scale_factor)))
            rotation = multiply(rotation, read_quat_at(q_values, column + 3))
        # B has a uniform scale here; otherwise the caller uses the full transforms instead.
        if row[layout.PATH_HAS_POST_TRANSFORM] > 0.0:
            position = add(position, rotate(rotation, scale(read_vec_at(row, layout.PATH_POST_OFFSET), scale_factor)))
            rotation = multiply(rotation, read_quat_at(row, layout.PATH_POST_ROTATION))
            scale_factor = scale_factor * row[layout.PATH_POST_SCALE]
    return position, rotation, scale_factor


@inline
def measure_error(goal_kind, measure, target, position, rotation, scale_factor):
    """Measure the error of one goal term. Returns the two numbers of `error_parts`."""
    # Most goals measure the joint's origin, with no offset to rotate.
    if (
        measure[layout.MEASURE_POINT] != 0.0
        or measure[layout.MEASURE_POINT + 1] != 0.0
        or measure[layout.MEASURE_POINT + 2] != 0.0
    ):
        position = add(position, rotate(rotation, scale(read_vec_at(measure, layout.MEASURE_POINT), scale_factor)))
    if goal_kind == POSITION:
        offset = sub(read_vec_at(target, 0), position)
        # Times zero gives a zero of the same type, number or lanes.
        return sqrt(dot(offset, offset)), dot(offset, offset) * 0.0
    if goal_kind == ROTATION:
        target_rotation = read_quat_at(target, 0)
        x = (
            target_rotation.x * rotation.w
            - target_rotation.w * rotation.x
            + target_rotation.z * rotation.y
            - target_rotation.y * rotation.z
        )
        y = (
            target_rotation.y * rotation.w
            - target_rotation.w * rotation.y
            + target_rotation.x * rotation.z
            - target_rotation.z * rotation.x
        )
        z = (
            target_rotation.z * rotation.w
            - target_rotation.w * rotation.z
            + target_rotation.y * rotation.x
            - target_rotation.x * rotation.y
        )
        cosine = (
            target_rotation.w * rotation.w
            + target_rotation.x * rotation.x
            + target_rotation.y * rotation.y
            + target_rotation.z * rotation.z
        )
        # q and -q are the same rotation: the absolute cosine gives the smaller angle.
        return sqrt(x * x + y * y + z * z), maximum(cosine, -cosine)
    target_vector = read_vec_at(target, 0)
    if goal_kind == AIM:
        target_offset = sub(target_vector, position)
        is_at_target = dot(target_offset, target_offset) <= thresholds.SAME_POINT_RATIO * (
            dot(target_vector, target_vector) + dot(position, position)
        )
        # At the target every direction is right: both numbers and the angle become zero.
        target_vector = scale(
            target_offset,
            select(
                is_at_target, dot(target_offset, target_offset) * 0.0, dot(target_offset, target_offset) * 0.0 + 1.0
            ),
        )
    axis = rotate(rotation, read_vec_at(measure, layout.MEASURE_VECTOR))
    cross_product = cross(axis, target_vector)
    return sqrt(dot(cross_product, cross_product)), dot(axis, target_vector)


@inline
def vec_norm(v):
    """Return |v|."""
    return sqrt(dot(v, v))


@device_function
def measure_pole_error(lane_kind, table, path_start, path_end, measure, q_values, target):
    """Measure the error of a pole.

    Returns the two numbers of `error_parts`, of the angle about the line from the limb's first joint to its tip.
    """
    first_position, _, _ = compute_transform(
        lane_kind, table, path_start, path_start + int(measure[layout.MEASURE_VECTOR]), q_values
    )
    middle_position, _, _ = compute_transform(
        lane_kind, table, path_start, path_start + int(measure[layout.MEASURE_VECTOR + 1]), q_values
    )
    tip_position, _, _ = compute_transform(lane_kind, table, path_start, path_end, q_values)
    chord_vector, middle_vector, pole_vector = (
        sub(tip_position, first_position),
        sub(middle_position, first_position),
        sub(read_vec_at(target, 0), first_position),
    )
    chord_length, limb_length = (
        vec_norm(chord_vector),
        vec_norm(middle_vector) + vec_norm(sub(tip_position, middle_position)),
    )
    n = scale(chord_vector, 1.0 / maximum(chord_length, thresholds.MIN_DIVISOR))
    k, p = sub(middle_vector, scale(n, dot(n, middle_vector))), sub(pole_vector, scale(n, dot(n, pole_vector)))
    # For a straight limb, a pole on its line or a tip at the first joint, the bend is undefined and the error zero.
    is_straight = minimum(minimum(vec_norm(k), vec_norm(p)), chord_length) <= thresholds.STRAIGHT_RATIO * limb_length
    sine, cosine = dot(n, cross(k, p)), dot(k, p)
    zero = sine * 0.0
    return select(is_straight, zero, maximum(sine, -sine)), select(is_straight, zero, cosine)


@inline
def measure_batch(lane_kind, table, path_spans, measures, q, used_columns, targets, work, error_parts):
    """Measure all errors. `work` holds (used columns + 7) values, aligned to 64 bytes."""
    w, k = count_lanes(lane_kind), q.shape[0]
    q_values = view_lanes(lane_kind, work, 0, used_columns.shape[0])
    target = view_lanes(lane_kind, work, used_columns.shape[0] * w, 7)
    for block in range((k + w - 1) // w):
        gather_columns(work, 0, q, block, w, used_columns)
        for c in range(measures.shape[0]):
            for j in range(4 if measures[c, layout.MEASURE_KIND] == ROTATION else 3):
                for l in range(w):
                    # The last block repeats its last pose, and a single target serves all.
                    i = min(block * w + l, k - 1, targets.shape[0] - 1)
                    work[(used_columns.shape[0] + j) * w + l] = targets[
                        i, int(measures[c, layout.MEASURE_TARGET_START]) + j
                    ]
            if measures[c, layout.MEASURE_KIND] == POLE:
                sine, cosine = measure_pole_error(
                    lane_kind, table, int(path_spans[c, 0]), int(path_spans[c, 1]), measures[c], q_values, target
                )
            else:
                position, rotation, scale_factor = compute_transform(
                    lane_kind, table, int(path_spans[c, 0]), int(path_spans[c, 1]), q_values
                )
                sine, cosine = measure_error(
                    int(measures[c, layout.MEASURE_KIND]), measures[c], target, position, rotation, scale_factor
                )
            for l in range(min(w, k - block * w)):
                error_parts[block * w + l, c, 0], error_parts[block * w + l, c, 1] = (
                    get_lane(sine, l),
                    get_lane(cosine, l),
                )


class PathArrays(NamedTuple):
    """Paths and measures, see above."""

    table: Any
    spans: Any
    measures: Any
    used_columns: Any


# A function of its own, so that the solvers that call it keep their bits.
@never_inline
def measure_solutions(lane_kind, paths, q, targets, work, error_parts):
    """Measure the solutions of a solver, if there are measures."""
    if paths.measures.shape[0] > 0:
        measure_batch(
            lane_kind, paths.table, paths.spans, paths.measures, q, paths.used_columns, targets, work, error_parts
        )


@inline
def gather_columns(work, start, q, block, w, used_columns):
    """Gather the used columns of w rows of q side by side. Rows beyond the last repeat it."""
    for j in range(used_columns.shape[0]):
        for l in range(w):
            work[start + j * w + l] = q[min(block * w + l, q.shape[0] - 1), used_columns[j]]


@kernel("F2 I2 F2 F2 I1 F2 aF1 wF3 ->")
def measure4(table, path_spans, measures, q, used_columns, targets, work, error_parts):
    """Measure errors of four poses side by side."""
    measure_batch(LANES4, table, path_spans, measures, q, used_columns, targets, work, error_parts)


@kernel("F2 I2 F2 F2 I1 F2 aF1 wF3 ->")
def measure8(table, path_spans, measures, q, used_columns, targets, work, error_parts):
    """Measure errors of eight poses side by side."""
    measure_batch(LANES8, table, path_spans, measures, q, used_columns, targets, work, error_parts)


@inline
def compute_error(goal_kind, sine, cosine):
    """Compute a distance or angle from the two numbers of `error_parts`. `sine` is the distance of a position."""
    if goal_kind == POSITION:
        return sine
    angle = 0.0 if sine == 0.0 and cosine == 0.0 else math.atan2(abs(sine), cosine)  # atan2(0, -0) is half a turn
    return 2.0 * angle if goal_kind == ROTATION else angle


@gil_kernel("F2 I2 F2 I1 F1 F1 F2 sF1 wF1 -> b")
def measure_one(table, path_spans, measures, used_columns, tolerances, q, target, work, errors):
    """Measure errors (c,) of one pose q (nq,). The target is (1, w).

    `work` has space for used columns + 7 + 2 c numbers.
    """
    measure_count, error_start = path_spans.shape[0], used_columns.shape[0] + 7
    error_parts = view_lanes(SCALAR, work, error_start, 1, measure_count, 2)
    measure_batch(
        SCALAR,
        table,
        path_spans,
        measures,
        view_lanes(SCALAR, q, 0, 1, q.shape[0]),
        used_columns,
        target,
        work,
        error_parts,
    )
    is_met = True
    for i in range(measure_count):
        errors[i] = compute_error(int(measures[i, layout.MEASURE_KIND]), error_parts[0, i, 0], error_parts[0, i, 1])
        # NaN counts as not met.
        if not errors[i] <= tolerances[i] * (1.0 + thresholds.TOLERANCE_SLACK):
            is_met = False
    return is_met
