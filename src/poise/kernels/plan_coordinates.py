# pyright: standard
"""Conversion between skeleton coordinates and solver coordinates.

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
def read_hinge_angle(q, limits):
    """Return the angle of a ball limited to axis limits[:3]. It lies in the range limits[3:5].

    Angles a turn apart are the same pose: the soft range limits[5:7] selects the one inside it or nearest to it.
    """
    angle = twist_angle(q, read_vec_at(limits, 0))
    angle = angle - TWO_PI if angle > math.pi else angle + TWO_PI if angle <= -math.pi else angle
    low, high = limits[5], limits[6]
    if low <= high:
        angle += TWO_PI * math.floor((clamp_angle(angle, low, high) - angle) / TWO_PI + 0.5)
    return clamp_angle(angle, limits[3], limits[4])


@kernel
def convert_q_to_u(q, copied_columns, hinge_balls, hinge_limits, free_translations, gains, u):
    """Fill u (k, nu) from configurations q (k, nq).

    copied_columns     (p, 2)  columns of q and u with the same number
    hinge_balls        (h, 2)  column of q with the quaternion of a ball limited to one axis, column of u with its angle
    hinge_limits       (h, 7)  its axis, its range, and its soft range (low above high: none)
    free_translations  (m, 2)  columns of q and u with the position of a free joint
    gains              (m,)    kernel units per file unit
    """
    for k in range(q.shape[0]):
        for i in range(copied_columns.shape[0]):
            u[k, copied_columns[i, 1]] = q[k, copied_columns[i, 0]]
        for i in range(hinge_balls.shape[0]):
            u[k, hinge_balls[i, 1]] = read_hinge_angle(read_quat_at(q[k], hinge_balls[i, 0]), hinge_limits[i])
        for i in range(free_translations.shape[0]):
            for j in range(3):
                u[k, free_translations[i, 1] + j] = q[k, free_translations[i, 0] + j] * gains[i]


@inline
def unwrap_hinges(q, start, hinge_ranges):
    """Shift hinges by multiples of 2 pi towards the start pose. hinge_ranges (h, 3): column of q, range."""
    for i in range(hinge_ranges.shape[0]):
        j = int(hinge_ranges[i, 0])
        q[j] = find_nearest_equivalent(q[j], start[j], hinge_ranges[i, 1], hinge_ranges[i, 2])


@kernel
def unwrap_hinges_batch(q, starts, hinge_ranges):
    """Unwrap hinges of many configurations: q (k, nq), starts (1|k, nq)."""
    for k in range(q.shape[0]):
        unwrap_hinges(q[k], starts[k if starts.shape[0] > 1 else 0], hinge_ranges)


@kernel
def convert_u_to_q(
    u, has_moved, starts, copied_columns, hinge_balls, hinge_limits, free_translations, gains, hinge_ranges, q
):
    """Fill q (k, nq) from u (k, nu) where `has_moved` (k,). Elsewhere copy the start (1|k, nq) bit for bit.

    hinge_ranges  (h, 3)  see `unwrap_hinges`
    """
    for k in range(u.shape[0]):
        row = k if starts.shape[0] > 1 else 0
        for i in range(q.shape[1]):
            q[k, i] = starts[row, i]
        if not has_moved[k]:
            continue
        for i in range(copied_columns.shape[0]):
            q[k, copied_columns[i, 0]] = u[k, copied_columns[i, 1]]
        unwrap_hinges(q[k], starts[row], hinge_ranges)
        for i in range(hinge_balls.shape[0]):
            rotation, first = (
                from_axis_angle(read_vec_at(hinge_limits[i], 0), u[k, hinge_balls[i, 1]]),
                hinge_balls[i, 0],
            )
            q[k, first], q[k, first + 1], q[k, first + 2], q[k, first + 3] = (
                rotation.w,
                rotation.x,
                rotation.y,
                rotation.z,
            )
        for i in range(free_translations.shape[0]):
            for j in range(3):
                q[k, free_translations[i, 0] + j] = u[k, free_translations[i, 1] + j] / gains[i]


@kernel
def convert_targets(rows, bases, unit, terms, out):
    """Convert world targets (k, W) to base frame and kernel units. The result is out (k, N).

    bases  (1|k, 12)  world transforms of the base row, without its scale
    unit   world units per kernel unit; negative for a mirroring scale
    terms  (t, 3)     kind, first column in `rows`, first column in `out`
    """
    base_from_world = read_base_from_world(bases[0])
    for k in range(rows.shape[0]):
        base = bases[k if bases.shape[0] > 1 else 0]
        if bases.shape[0] > 1:
            base_from_world = read_base_from_world(base)
        for t in range(terms.shape[0]):
            goal_kind, target_start, out_start = terms[t, 0], terms[t, 1], terms[t, 2]
            if goal_kind == ROTATION:
                r = multiply(base_from_world, read_quat_at(rows[k], target_start))
                out[k, out_start], out[k, out_start + 1], out[k, out_start + 2], out[k, out_start + 3] = (
                    r.w,
                    r.x,
                    r.y,
                    r.z,
                )
                continue
            v = read_vec_at(rows[k], target_start)
            if goal_kind != DIRECTION:
                v = sub(v, Vec(base[3], base[7], base[11]))
                v = Vec(v.x / unit, v.y / unit, v.z / unit)
            v = rotate(base_from_world, v)
            out[k, out_start], out[k, out_start + 1], out[k, out_start + 2] = v.x, v.y, v.z


@kernel
def normalise_target(row, terms, max_coordinate):
    """Normalise a target row (W,) and return whether it is usable.

    Points must be finite and near; rotations are scaled to unit length.

    terms           (t, 3)  as for `convert_targets`
    max_coordinate  the largest coordinate of a point
    """
    for t in range(terms.shape[0]):
        goal_kind, target_start = terms[t, 0], terms[t, 1]
        if goal_kind == ROTATION or goal_kind == DIRECTION:
            n = 4 if goal_kind == ROTATION else 3
            for j in range(target_start, target_start + n):
                if not abs(row[j]) <= MAX_FINITE:
                    return False
            if not scale_to_unit(row, target_start, n):
                return False
        else:
            for j in range(target_start, target_start + 3):
                if not abs(row[j]) <= max_coordinate:
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
