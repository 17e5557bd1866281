# pyright: standard
"""Conversion of configurations and targets to the coordinates of the kernels.

The kernels compute in the base frame of the moving joints and in kernel units, with lengths near one. q and world
targets are converted into these coordinates, and solutions back into q. Targets are not converted back.

u are the numbers of the moving joints in the kernels. Most of them are numbers of q. A ball joint limited to one axis
is an angle in u, and the position of a free root is in units of the rig's size.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels import layout
from poise.kernels.device_functions import inline, never_inline
from poise.kernels.entries import kernel
from poise.kernels.layout import BALL, DIRECTION, MOVE, Q_COLUMN, ROTATION, U_COLUMN
from poise.kernels.limits import TWO_PI, clamp_angle, find_nearest_equivalent, twist_angle
from poise.kernels.rotation_matrices import compute_base_from_world
from poise.kernels.unit_rows import scale_to_unit
from poise.kernels.vec_quat import (
    Vec,
    from_axis_angle,
    multiply,
    read_quat_at,
    read_vec_at,
    rotate,
    sub,
    write_quat_at,
    write_vec_at,
)

MAX_FINITE = 1.7e308  # largest finite number; goals report others


@inline
def read_hinge_angle(q, hinged_ball_limit):
    """Return the angle of a ball limited to one axis.

    It lies in the range of `hinged_ball_limit`.

    `hinged_ball_limit` has the columns HINGED_BALL_ of layout.py. Angles a turn apart are the same pose: the soft range
    selects the one inside it or nearest to it.
    """
    angle = twist_angle(q, read_vec_at(hinged_ball_limit, layout.HINGED_BALL_AXIS))
    angle = angle - TWO_PI if angle > math.pi else angle + TWO_PI if angle <= -math.pi else angle
    soft_low, soft_high = (
        hinged_ball_limit[layout.HINGED_BALL_SOFT_LOW],
        hinged_ball_limit[layout.HINGED_BALL_SOFT_HIGH],
    )
    if soft_low <= soft_high:
        angle += TWO_PI * math.floor((clamp_angle(angle, soft_low, soft_high) - angle) / TWO_PI + 0.5)
    return clamp_angle(angle, hinged_ball_limit[layout.HINGED_BALL_LOW], hinged_ball_limit[layout.HINGED_BALL_HIGH])


@kernel("F2 I2 I2 F2 I2 F1 wF2 ->")
def convert_q_to_u(q, shared_columns, hinged_balls, hinged_ball_limits, translation_columns, translation_scales, u):
    """Fill u (k, nu) from configurations q (k, nq).

    shared_columns       (p, 2)  columns of q and u with the same number
    hinged_balls         (h, 2)  column of q with the quaternion of a ball limited to one axis, column of u with its
                                 angle
    hinged_ball_limits         (h, 7)  its axis, its range, and its soft range: the columns HINGED_BALL_ of layout.py
    translation_columns  (m, 2)  columns of q and u with the position of a free joint
    translation_scales    (m,)    kernel units per file unit
    """
    for k in range(q.shape[0]):
        for i in range(shared_columns.shape[0]):
            u[k, shared_columns[i, U_COLUMN]] = q[k, shared_columns[i, Q_COLUMN]]
        for i in range(hinged_balls.shape[0]):
            u[k, hinged_balls[i, U_COLUMN]] = read_hinge_angle(
                read_quat_at(q[k], hinged_balls[i, Q_COLUMN]), hinged_ball_limits[i]
            )
        for i in range(translation_columns.shape[0]):
            for j in range(3):
                u[k, translation_columns[i, U_COLUMN] + j] = (
                    q[k, translation_columns[i, Q_COLUMN] + j] * translation_scales[i]
                )


@inline
def unwrap_hinges(q, start_q, turning_hinges):
    """Shift hinges by multiples of 2 pi towards the start pose.

    turning_hinges  (h, 3)  the columns TURNING_HINGE_ of layout.py
    """
    for i in range(turning_hinges.shape[0]):
        q_column = int(turning_hinges[i, layout.TURNING_HINGE_COLUMN])
        q[q_column] = find_nearest_equivalent(
            q[q_column],
            start_q[q_column],
            turning_hinges[i, layout.TURNING_HINGE_LOW],
            turning_hinges[i, layout.TURNING_HINGE_HIGH],
        )


@kernel("wF2 F2 F2 ->")
def unwrap_hinges_batch(q, start_q, turning_hinges):
    """Unwrap hinges of many configurations: q (k, nq), start_q (1|k, nq)."""
    for k in range(q.shape[0]):
        unwrap_hinges(q[k], start_q[k if start_q.shape[0] > 1 else 0], turning_hinges)


@kernel("F2 B1 F2 I2 I2 F2 I2 F1 F2 wF2 ->")
def convert_u_to_q(
    u,
    has_moved,
    start_q,
    shared_columns,
    hinged_balls,
    hinged_ball_limits,
    translation_columns,
    translation_scales,
    turning_hinges,
    q,
):
    """Fill q (k, nq) from u (k, nu) where `has_moved` (k,). Elsewhere copy the start (1|k, nq) bit for bit.

    turning_hinges  (h, 3)  see `unwrap_hinges`
    """
    coordinate_map = CoordinateMapArrays(
        shared_columns, hinged_balls, hinged_ball_limits, translation_columns, translation_scales
    )
    for k in range(u.shape[0]):
        start_row = k if start_q.shape[0] > 1 else 0
        for i in range(q.shape[1]):
            q[k, i] = start_q[start_row, i]
        if has_moved[k]:
            write_moved_q(u[k], start_q[start_row], coordinate_map, turning_hinges, q[k])


class CoordinateMapArrays(NamedTuple):
    """Arrays of `convert_q_to_u` between q and u. Columns may also be float64."""

    shared_columns: Any
    hinged_balls: Any
    hinged_ball_limits: Any
    translation_columns: Any
    translation_scales: Any


# A function of its own, so that all kernels that write q give the same bits.
@never_inline
def write_moved_q(u, start_q, coordinate_map, turning_hinges, q):
    """Write the moved joints of one configuration. The arguments are rows of those of `convert_u_to_q`."""
    shared_columns, hinged_balls, limits, translation_columns, translation_scales = coordinate_map
    for i in range(shared_columns.shape[0]):
        q[int(shared_columns[i, Q_COLUMN])] = u[int(shared_columns[i, U_COLUMN])]
    unwrap_hinges(q, start_q, turning_hinges)
    for i in range(hinged_balls.shape[0]):
        rotation, q_column = (
            from_axis_angle(read_vec_at(limits[i], layout.HINGED_BALL_AXIS), u[int(hinged_balls[i, U_COLUMN])]),
            int(hinged_balls[i, Q_COLUMN]),
        )
        q[q_column], q[q_column + 1], q[q_column + 2], q[q_column + 3] = rotation.w, rotation.x, rotation.y, rotation.z
    for i in range(translation_columns.shape[0]):
        q_column, u_column = int(translation_columns[i, Q_COLUMN]), int(translation_columns[i, U_COLUMN])
        for j in range(3):
            q[q_column + j] = u[u_column + j] / translation_scales[i]


class TargetTerm(NamedTuple):
    """Columns of one term in targets: a row of `terms`."""

    goal_kind: int  # POSITION, ROTATION, DIRECTION, AIM or POLE
    world_column: int  # first of its numbers in world targets
    kernel_column: int  # first of its numbers in kernel targets


@inline
def read_target_term(terms, t):
    """Read row t of `terms`."""
    return TargetTerm(int(terms[t, 0]), int(terms[t, 1]), int(terms[t, 2]))


@kernel("F2 F2 f I2 wF2 ->")
def convert_targets(world_targets, base_transforms, unit, terms, kernel_targets):
    """Convert world targets to base frame and kernel units.

    world_targets    (k, columns of the world targets), kernel_targets (k, columns of the kernel targets): the result

    base_transforms  (1|k, 12)  world transforms of the base row, without its scale
    unit                        world units per kernel unit; negative for a mirroring scale
    terms            (t, 3)     see `TargetTerm`
    """
    base_from_world = compute_base_rotation(base_transforms[0])
    for k in range(world_targets.shape[0]):
        base_transform = base_transforms[k if base_transforms.shape[0] > 1 else 0]
        if base_transforms.shape[0] > 1:
            base_from_world = compute_base_rotation(base_transform)
        convert_target(world_targets[k], base_transform, base_from_world, unit, terms, kernel_targets[k])


# These two stay functions of their own. Inlined, they would be optimised apart for one base and for a base of each
# target, and a batch of starts would have other last bits than one start.


@never_inline
def compute_base_rotation(base_transform):
    """Compute the rotation from world into a base."""
    return compute_base_from_world(base_transform)


@never_inline
def convert_target(world_target, base_transform, base_from_world, unit, terms, kernel_target):
    """Convert one target; the arguments are rows of those of `convert_targets`."""
    for t in range(terms.shape[0]):
        goal_kind, world_column, kernel_column = read_target_term(terms, t)
        if goal_kind == ROTATION:
            rotation = multiply(base_from_world, read_quat_at(world_target, world_column))
            write_quat_at(kernel_target, kernel_column, rotation)
            continue
        v = read_vec_at(world_target, world_column)
        if goal_kind != DIRECTION:
            v = sub(v, Vec(base_transform[3], base_transform[7], base_transform[11]))
            v = Vec(v.x / unit, v.y / unit, v.z / unit)
        write_vec_at(kernel_target, kernel_column, rotate(base_from_world, v))


@kernel("F2 F2 F2 wF2 ->")
def convert_set_targets(world_targets, base_transforms, set_rows, kernel_targets):
    """Convert targets of relative goals, and axes of boxes.

    set_rows  (s, 23)  the columns SET_ of layout.py; for the others see `convert_targets`
    """
    base_from_world = compute_base_rotation(base_transforms[0])
    for k in range(world_targets.shape[0]):
        if base_transforms.shape[0] > 1:
            base_from_world = compute_base_rotation(base_transforms[k])
        convert_set_target(world_targets[k], base_from_world, set_rows, kernel_targets[k])


@never_inline
def convert_set_target(world_target, base_from_world, set_rows, kernel_target):
    """Convert one target; the arguments are rows of those of `convert_set_targets`."""
    for i in range(set_rows.shape[0]):
        row = set_rows[i]
        goal_kind, is_relative = int(row[layout.SET_TERM_KIND]), row[layout.SET_IS_RELATIVE] > 0.0
        reference = row[layout.SET_REFERENCE :]
        frame_rotation = read_quat_at(reference, layout.REFERENCE_ROTATION)
        world_column, kernel_column = int(row[layout.SET_WORLD_COLUMN]), int(row[layout.SET_KERNEL_COLUMN])
        if is_relative and goal_kind == ROTATION:
            rotation = multiply(frame_rotation, read_quat_at(world_target, world_column))
            write_quat_at(kernel_target, kernel_column, rotation)
        elif is_relative:
            v = read_vec_at(world_target, world_column)
            v = rotate(frame_rotation, v) if goal_kind == DIRECTION else move_to_node(reference, v)
            write_vec_at(kernel_target, kernel_column, v)
        kernel_axes, world_axes = int(row[layout.SET_KERNEL_AXES]), int(row[layout.SET_WORLD_AXES])
        if kernel_axes >= 0:
            to_frame = frame_rotation if is_relative else base_from_world
            axes = multiply(to_frame, read_quat_at(world_target, world_axes)) if world_axes >= 0 else to_frame
            write_quat_at(kernel_target, kernel_axes, axes)


@inline
def move_to_node(reference, v):
    """Move a point from a reference's frame to its node's.

    `reference` is a REFERENCE_ row.
    """
    origin = read_vec_at(reference, layout.REFERENCE_ORIGIN)
    return Vec(
        reference[0] * v.x + reference[1] * v.y + reference[2] * v.z + origin.x,
        reference[3] * v.x + reference[4] * v.y + reference[5] * v.z + origin.y,
        reference[6] * v.x + reference[7] * v.y + reference[8] * v.z + origin.z,
    )


@kernel("wF1 I2 f -> b")
def normalise_target(target_row, terms, max_coordinate):
    """Normalise a row of world targets and return whether it is usable.

    Points must be finite and near; rotations are scaled to unit length.

    terms           (t, 3)  see `TargetTerm`
    max_coordinate  the largest coordinate of a point
    """
    for t in range(terms.shape[0]):
        goal_kind, world_column, _ = read_target_term(terms, t)
        if goal_kind == ROTATION or goal_kind == DIRECTION:
            number_count = 4 if goal_kind == ROTATION else 3
            for j in range(world_column, world_column + number_count):
                if not abs(target_row[j]) <= MAX_FINITE:
                    return False
            if not scale_to_unit(target_row, world_column, number_count):
                return False
        else:
            for j in range(world_column, world_column + 3):
                if not abs(target_row[j]) <= max_coordinate:
                    return False
    return True


class LinkConversion(NamedTuple):
    """Conversion from u to the motion of a link.

    A row of `links`. The value of a hinge or slide is ratio u + offset.
    """

    link_kind: int  # BALL, HINGE, SLIDE or MOVE
    u_column: int  # first of its numbers in u
    ratio: float
    offset: float
    low: float  # range of u
    high: float


@inline
def read_link_conversion(links, i):
    """Read row i of `links`."""
    return LinkConversion(int(links[i, 0]), int(links[i, 1]), links[i, 2], links[i, 3], links[i, 4], links[i, 5])


@kernel("F2 F2 wF3 ->")
def convert_u_to_motions(u, links, x):
    """Fill the link motions x (k, m, 4) from u (k, nu).

    links  (m, 6)  see `LinkConversion`
    """
    for k in range(u.shape[0]):
        for i in range(links.shape[0]):
            link = read_link_conversion(links, i)
            if link.link_kind == BALL:
                for j in range(4):
                    x[k, i, j] = u[k, link.u_column + j]
            elif link.link_kind == MOVE:  # in kernel units already, no second gain
                for j in range(3):
                    x[k, i, j] = u[k, link.u_column + j]
            else:
                x[k, i, 0] = link.ratio * u[k, link.u_column] + link.offset


@kernel("F3 F2 wF2 ->")
def convert_motions_to_u(x, links, u):
    """Fill u (k, nu) from link motions x (k, m, 4). See `convert_u_to_motions`."""
    for k in range(x.shape[0]):
        write_motions(x[k], links, u[k])


@inline
def write_motions(x, links, u):
    """Write the motions (m, 4) of one chain into u (nu,)."""
    for i in range(links.shape[0]):
        link = read_link_conversion(links, i)
        if link.link_kind == BALL:
            for j in range(4):
                u[link.u_column + j] = x[i, j]
        elif link.link_kind == MOVE:
            for j in range(3):
                u[link.u_column + j] = x[i, j]
        else:
            value = (x[i, 0] - link.offset) / link.ratio
            u[link.u_column] = min(max(value, link.low), link.high)
