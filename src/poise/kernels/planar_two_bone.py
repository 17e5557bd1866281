# pyright: standard
"""Planar two-bone limb: two parallel hinges with ranges, solved exactly.

    limbs    (1|k, POSED_PLANE_ROW)  see PlaneRow; one row for all problems, or one each
    targets  (k, 3)        world
    q_columns and all others: see kernels/two_bone.py

The target is met where the law of cosines gives legal angles. Otherwise the smallest distance over the rectangle of
legal angles has the limb aimed at the target with its middle joint at its optimum or at an end of its range, or lies on
an edge of the first joint's range, where the error is one cosine of the other angle. All of these candidates are tried.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
from poise.kernels.goal_errors import PathArrays, measure_solutions
from poise.kernels.lanes import SCALAR
from poise.kernels.layout import (
    LIMB_FIRST_COLUMN,
    LIMB_FIRST_HAS_ANGLE,
    LIMB_MIDDLE_COLUMN,
    LIMB_MIDDLE_HAS_ANGLE,
    OUTCOME_HAS_MOVED,
    OUTCOME_IS_MET,
)
from poise.kernels.limits import TWO_PI, clamp_angle
from poise.kernels.two_bone import TIE_TOLERANCE, read_settings, soften_distance
from poise.kernels.vec_quat import Vec, add, dot, from_axis_angle, norm, read_vec_at, sub, write_vec_at


class PlaneRow(NamedTuple):
    """A posed limb in its plane; file units and radians. x and y lie along `u` and `v`, z along the first joint's axis.

    A row holds the fields in this order.
    """

    hip: Vec  # world position of the first joint
    u: Vec  # unit vectors in the world; u and v lie in the plane
    v: Vec
    w: Vec  # the third: the first joint's axis
    thigh: Vec  # from the first to the middle joint, in u, v, w
    shin: Vec  # from there to the tip
    longest2: float  # largest squared in-plane distance of the tip from the first joint, ignoring limits
    shortest2: float  # smallest such squared distance, ignoring limits
    sine2_gain: float  # 1 / (longest2 - shortest2); 0 where bending does not change the distance
    reach: float  # largest distance within the middle joint's range
    axis_sign: float  # 1 or -1: the middle joint's axis is parallel or opposite to the first one's
    bend_sign: float  # 1 or -1: bend direction from straight
    straight_angle: float  # middle joint's angle of the longest limb
    first_angle_range: Vec  # x: angle in the start pose; y, z: lowest and highest angle
    middle_angle_range: Vec
    first_axis: Vec  # in the joint's frame before its motion
    middle_axis: Vec


@inline
def read_plane(rows, i):
    """Read row i as a PlaneRow."""
    r = rows[i]
    return PlaneRow(
        read_vec_at(r, 0), read_vec_at(r, 3), read_vec_at(r, 6), read_vec_at(r, 9), read_vec_at(r, 12),
        read_vec_at(r, 15), r[18], r[19], r[20], r[21], r[22], r[23], r[24], read_vec_at(r, 25), read_vec_at(r, 28),
        read_vec_at(r, 31), read_vec_at(r, 34),
    )  # fmt: skip


@inline
def write_plane(r, limb):
    """Write a PlaneRow as a row."""
    write_vec_at(r, 0, limb.hip)
    write_vec_at(r, 3, limb.u)
    write_vec_at(r, 6, limb.v)
    write_vec_at(r, 9, limb.w)
    write_vec_at(r, 12, limb.thigh)
    write_vec_at(r, 15, limb.shin)
    r[18], r[19], r[20], r[21] = limb.longest2, limb.shortest2, limb.sine2_gain, limb.reach
    r[22], r[23], r[24] = limb.axis_sign, limb.bend_sign, limb.straight_angle
    write_vec_at(r, 25, limb.first_angle_range)
    write_vec_at(r, 28, limb.middle_angle_range)
    write_vec_at(r, 31, limb.first_axis)
    write_vec_at(r, 34, limb.middle_axis)


@inline
def rotate_z(v, angle):
    """Rotate a vector about z."""
    c, s = math.cos(angle), math.sin(angle)
    return Vec(c * v.x - s * v.y, s * v.x + c * v.y, v.z)


@inline
def angle_about_z(a, b):
    """Return the angle about z from a to b."""
    return math.atan2(a.x * b.y - a.y * b.x, a.x * b.x + a.y * b.y)


@inline
def clamp_joint_angle(angle, angle_range):
    """Return the legal joint angle nearest to this one. Of equivalent angles use the one nearest to the posed angle."""
    return clamp_angle(
        angle - TWO_PI * math.floor((angle - angle_range.x) / TWO_PI + 0.5), angle_range.y, angle_range.z
    )


@inline
def compute_chord(limb, middle_angle):
    """Return first joint to tip with the first joint as posed."""
    return add(limb.thigh, rotate_z(limb.shin, limb.axis_sign * (middle_angle - limb.middle_angle_range.x)))


@inline
def measure_error(limb, first_angle, middle_angle, plane_target):
    """Measure the in-plane distance from tip to target for two angles."""
    error_vector = sub(
        plane_target, rotate_z(compute_chord(limb, middle_angle), first_angle - limb.first_angle_range.x)
    )
    return math.sqrt(error_vector.x * error_vector.x + error_vector.y * error_vector.y)


@inline
def aim_first_joint(limb, bend, plane_target):
    """Bend the middle joint and aim the tip at the target."""
    middle_angle = clamp_joint_angle(limb.straight_angle + bend, limb.middle_angle_range)
    return clamp_joint_angle(
        limb.first_angle_range.x + angle_about_z(compute_chord(limb, middle_angle), plane_target),
        limb.first_angle_range,
    ), middle_angle


@inline
def aim_middle_joint(limb, first_angle, plane_target):
    """Fix the first joint and find the best middle angle."""
    target_shin = sub(rotate_z(plane_target, limb.first_angle_range.x - first_angle), limb.thigh)
    return first_angle, clamp_joint_angle(
        limb.middle_angle_range.x + limb.axis_sign * angle_about_z(limb.shin, target_shin), limb.middle_angle_range
    )


@device_function
def find_best_angles(limb, plane_target):
    """Find the legal angles of both joints nearest to the target. The preferred side wins ties."""
    bend = 0.0
    if limb.sine2_gain > 0.0:
        d2 = plane_target.x * plane_target.x + plane_target.y * plane_target.y
        sine2 = min(max((limb.longest2 - d2) * limb.sine2_gain, 0.0), 1.0)
        cosine2 = min(max((d2 - limb.shortest2) * limb.sine2_gain, 0.0), 1.0)
        bend = 2.0 * limb.bend_sign * math.atan2(math.sqrt(sine2), math.sqrt(cosine2))
    tie_distance = TIE_TOLERANCE * limb.reach
    first_angle, middle_angle = aim_first_joint(limb, bend, plane_target)
    min_error = measure_error(limb, first_angle, middle_angle, plane_target)
    # If the bend to the preferred side is illegal, try the other side and both ends of the first range. The best of all
    # is exact, because the distance is one cosine on each piece.
    for candidate_index in range(3):
        if min_error <= tie_distance:
            break
        if candidate_index == 0:
            candidate_first, candidate_middle = aim_first_joint(limb, -bend, plane_target)
        else:
            range_end = limb.first_angle_range.y if candidate_index == 1 else limb.first_angle_range.z
            if not abs(range_end) < math.inf:
                continue
            candidate_first, candidate_middle = aim_middle_joint(limb, range_end, plane_target)
        error = measure_error(limb, candidate_first, candidate_middle, plane_target)
        # The gain must exceed rounding, or targets on a symmetry line would flip the limb from frame to frame.
        if error < min_error - tie_distance:
            first_angle, middle_angle, min_error = candidate_first, candidate_middle, error
    return first_angle, middle_angle


@inline
def write_angle(row, column, has_angle, axis, angle):
    """Write an angle, or the quaternion of a limited ball joint."""
    if has_angle:
        row[column] = angle
    else:
        rotation = from_axis_angle(axis, angle)
        row[column], row[column + 1], row[column + 2], row[column + 3] = rotation.w, rotation.x, rotation.y, rotation.z


@inline
def solve_one(limbs, targets, q_columns, settings_row, start_q, q, outcome, i):
    """Solve problem i."""
    settings = read_settings(settings_row)
    limb = read_plane(limbs, min(i, limbs.shape[0] - 1))
    start = start_q[min(i, start_q.shape[0] - 1)]
    for j in range(start.shape[0]):
        q[i, j] = start[j]
    target_offset = sub(read_vec_at(targets[i], 0), limb.hip)
    plane_target = Vec(dot(target_offset, limb.u), dot(target_offset, limb.v), dot(target_offset, limb.w))
    start_error = norm(sub(plane_target, add(limb.thigh, limb.shin)))
    outcome[i, OUTCOME_HAS_MOVED], outcome[i, OUTCOME_IS_MET] = not start_error <= settings.tolerance, True
    if not outcome[i, OUTCOME_HAS_MOVED]:
        return
    distance = math.sqrt(plane_target.x * plane_target.x + plane_target.y * plane_target.y)
    softened_distance = soften_distance(distance, limb.reach, settings.soft_share)
    soft_target = (
        plane_target
        if softened_distance == distance
        else Vec(
            plane_target.x * softened_distance / distance, plane_target.y * softened_distance / distance, plane_target.z
        )
    )
    first_angle, middle_angle = find_best_angles(limb, soft_target)
    error = measure_error(limb, first_angle, middle_angle, plane_target)
    # Parallel hinges never leave their plane: no angle changes the out-of-plane distance.
    plane_distance = limb.thigh.z + limb.shin.z - plane_target.z
    outcome[i, OUTCOME_IS_MET] = (
        error * error + plane_distance * plane_distance <= settings.tolerance * settings.tolerance
        and settings.blend_weight == 1.0
    )
    first_angle = limb.first_angle_range.x + settings.blend_weight * (first_angle - limb.first_angle_range.x)
    middle_angle = limb.middle_angle_range.x + settings.blend_weight * (middle_angle - limb.middle_angle_range.x)
    write_angle(q[i], q_columns[LIMB_FIRST_COLUMN], q_columns[LIMB_FIRST_HAS_ANGLE] > 0, limb.first_axis, first_angle)
    write_angle(
        q[i], q_columns[LIMB_MIDDLE_COLUMN], q_columns[LIMB_MIDDLE_HAS_ANGLE] > 0, limb.middle_axis, middle_angle
    )


@kernel("F2 F2 I1 F1 F2 F2 I2 F2 I1 F2 wF2 wB2 wF3 sF1 ->")
def solve(
    limbs, targets, q_columns, settings_row, start_q, path_table, path_spans, measures, used_columns, world_targets, q,
    outcome, error_parts, work,
):  # fmt: skip
    """Solve all problems, and measure. Fill `q`, `outcome` and `error_parts`."""
    for i in range(targets.shape[0]):
        solve_one(limbs, targets, q_columns, settings_row, start_q, q, outcome, i)
    paths = PathArrays(path_table, path_spans, measures, used_columns)
    measure_solutions(SCALAR, paths, q, world_targets, work, error_parts)
