# pyright: standard
"""Conversion of q and world targets to plan coordinates and back.

q and world targets become u and targets in the base frame and unit of a plan, and u becomes q.

u are the numbers of the moving joints in the kernels. Most of them are numbers of q. A ball joint limited to one axis
is an angle in u, and the position of a free root is in units of the rig's size.
"""

from __future__ import annotations

import math

from poise.kernels.jit import inline, kernel
from poise.kernels.layout import BALL, DIRECTION, MOVE, ROTATION
from poise.kernels.limits import TWO_PI, clamp_angle, find_nearest_equivalent, twist_angle
from poise.kernels.matrices import read_base_from_world, scale_to_unit
from poise.kernels.vec_quat import Vec, from_axis_angle, multiply, read_quat_at, read_vec_at, rotate, sub

MAX_FINITE = 1.7e308  # largest finite number; goals report others


@inline
def read_hinge_angle(q, hinge_limit):
    """Return the angle of a ball limited to axis hinge_limit[:3].

    It lies in the range hinge_limit[3:5].

    Angles a turn apart are the same pose: the soft range hinge_limit[5:7] selects the one inside it or nearest to it.
    """
    angle = twist_angle(q, read_vec_at(hinge_limit, 0))
    angle = angle - TWO_PI if angle > math.pi else angle + TWO_PI if angle <= -math.pi else angle
    soft_low, soft_high = hinge_limit[5], hinge_limit[6]
    if soft_low <= soft_high:
        angle += TWO_PI * math.floor((clamp_angle(angle, soft_low, soft_high) - angle) / TWO_PI + 0.5)
    return clamp_angle(angle, hinge_limit[3], hinge_limit[4])


@kernel
def convert_q_to_u(q, copied_columns, hinge_balls, hinge_limits, translation_columns, translation_gains, u):
    """Fill u (k, nu) from configurations q (k, nq).

    copied_columns       (p, 2)  columns of q and u with the same number
    hinge_balls          (h, 2)  column of q with the quaternion of a ball limited to one axis, column of u with its
                                 angle
    hinge_limits         (h, 7)  its axis, its range, and its soft range (low above high: none)
    translation_columns  (m, 2)  columns of q and u with the position of a free joint
    translation_gains    (m,)    kernel units per file unit
    """
    for k in range(q.shape[0]):
        for i in range(copied_columns.shape[0]):
            u[k, copied_columns[i, 1]] = q[k, copied_columns[i, 0]]
        for i in range(hinge_balls.shape[0]):
            u[k, hinge_balls[i, 1]] = read_hinge_angle(read_quat_at(q[k], hinge_balls[i, 0]), hinge_limits[i])
        for i in range(translation_columns.shape[0]):
            for j in range(3):
                u[k, translation_columns[i, 1] + j] = q[k, translation_columns[i, 0] + j] * translation_gains[i]


@inline
def unwrap_hinges(q, start_q, hinge_ranges):
    """Shift hinges by multiples of 2 pi towards the start pose. hinge_ranges (h, 3): column of q, range."""
    for i in range(hinge_ranges.shape[0]):
        q_column = int(hinge_ranges[i, 0])
        q[q_column] = find_nearest_equivalent(q[q_column], start_q[q_column], hinge_ranges[i, 1], hinge_ranges[i, 2])


@kernel
def unwrap_hinges_batch(q, start_q, hinge_ranges):
    """Unwrap hinges of many configurations: q (k, nq), start_q (1|k, nq)."""
    for k in range(q.shape[0]):
        unwrap_hinges(q[k], start_q[k if start_q.shape[0] > 1 else 0], hinge_ranges)


@kernel
def convert_u_to_q(
    u,
    has_moved,
    start_q,
    copied_columns,
    hinge_balls,
    hinge_limits,
    translation_columns,
    translation_gains,
    hinge_ranges,
    q,
):
    """Fill q (k, nq) from u (k, nu) where `has_moved` (k,). Elsewhere copy the start (1|k, nq) bit for bit.

    hinge_ranges  (h, 3)  see `unwrap_hinges`
    """
    for k in range(u.shape[0]):
        start_row = k if start_q.shape[0] > 1 else 0
        for i in range(q.shape[1]):
            q[k, i] = start_q[start_row, i]
        if not has_moved[k]:
            continue
        for i in range(copied_columns.shape[0]):
            q[k, copied_columns[i, 0]] = u[k, copied_columns[i, 1]]
        unwrap_hinges(q[k], start_q[start_row], hinge_ranges)
        for i in range(hinge_balls.shape[0]):
            rotation, q_start = (
                from_axis_angle(read_vec_at(hinge_limits[i], 0), u[k, hinge_balls[i, 1]]),
                hinge_balls[i, 0],
            )
            q[k, q_start], q[k, q_start + 1], q[k, q_start + 2], q[k, q_start + 3] = (
                rotation.w,
                rotation.x,
                rotation.y,
                rotation.z,
            )
        for i in range(translation_columns.shape[0]):
            for j in range(3):
                q[k, translation_columns[i, 0] + j] = u[k, translation_columns[i, 1] + j] / translation_gains[i]


@kernel
def convert_targets(world_targets, base_transforms, unit, terms, kernel_targets):
    """Convert world targets (k, W) to base frame and kernel units. The result is kernel_targets (k, N).

    base_transforms  (1|k, 12)  world transforms of the base row, without its scale
    unit                        world units per kernel unit; negative for a mirroring scale
    terms            (t, 3)     kind, first column in `world_targets`, first column in `kernel_targets`
    """
    base_from_world = read_base_from_world(base_transforms[0])
    for k in range(world_targets.shape[0]):
        base_transform = base_transforms[k if base_transforms.shape[0] > 1 else 0]
        if base_transforms.shape[0] > 1:
            base_from_world = read_base_from_world(base_transform)
        for t in range(terms.shape[0]):
            goal_kind, target_start, kernel_start = terms[t, 0], terms[t, 1], terms[t, 2]
            if goal_kind == ROTATION:
                rotation = multiply(base_from_world, read_quat_at(world_targets[k], target_start))
                (
                    kernel_targets[k, kernel_start],
                    kernel_targets[k, kernel_start + 1],
                    kernel_targets[k, kernel_start + 2],
                    kernel_targets[k, kernel_start + 3],
                ) = (
                    rotation.w,
                    rotation.x,
                    rotation.y,
                    rotation.z,
                )
                continue
            v = read_vec_at(world_targets[k], target_start)
            if goal_kind != DIRECTION:
                v = sub(v, Vec(base_transform[3], base_transform[7], base_transform[11]))
                v = Vec(v.x / unit, v.y / unit, v.z / unit)
            v = rotate(base_from_world, v)
            (
                kernel_targets[k, kernel_start],
                kernel_targets[k, kernel_start + 1],
                kernel_targets[k, kernel_start + 2],
            ) = v.x, v.y, v.z


@kernel
def normalise_target(target_row, terms, max_coordinate):
    """Normalise a target row (W,) and return whether it is usable.

    Points must be finite and near; rotations are scaled to unit length.

    terms           (t, 3)  as for `convert_targets`
    max_coordinate  the largest coordinate of a point
    """
    for t in range(terms.shape[0]):
        goal_kind, target_start = terms[t, 0], terms[t, 1]
        if goal_kind == ROTATION or goal_kind == DIRECTION:
            number_count = 4 if goal_kind == ROTATION else 3
            for j in range(target_start, target_start + number_count):
                if not abs(target_row[j]) <= MAX_FINITE:
                    return False
            if not scale_to_unit(target_row, target_start, number_count):
                return False
        else:
            for j in range(target_start, target_start + 3):
                if not abs(target_row[j]) <= max_coordinate:
                    return False
    return True


@kernel
def convert_u_to_motions(u, links, x):
    """Fill the link motions x (k, m, 4) from u (k, nu).

    links  (m, 6)  kind, column in u, ratio and offset of its value, and its range
    """
    for k in range(u.shape[0]):
        for i in range(links.shape[0]):
            joint_kind, u_start = int(links[i, 0]), int(links[i, 1])
            if joint_kind == BALL:
                for j in range(4):
                    x[k, i, j] = u[k, u_start + j]
            elif joint_kind == MOVE:  # in kernel units already, no second gain
                for j in range(3):
                    x[k, i, j] = u[k, u_start + j]
            else:
                x[k, i, 0] = links[i, 2] * u[k, u_start] + links[i, 3]


@kernel
def convert_motions_to_u(x, links, u):
    """Fill u (k, nu) from link motions x (k, m, 4). See `convert_u_to_motions`."""
    for k in range(x.shape[0]):
        for i in range(links.shape[0]):
            joint_kind, u_start = int(links[i, 0]), int(links[i, 1])
            if joint_kind == BALL:
                for j in range(4):
                    u[k, u_start + j] = x[k, i, j]
            elif joint_kind == MOVE:
                for j in range(3):
                    u[k, u_start + j] = x[k, i, j]
            else:
                value = (x[k, i, 0] - links[i, 3]) / links[i, 2]
                u[k, u_start] = min(max(value, links[i, 4]), links[i, 5])
