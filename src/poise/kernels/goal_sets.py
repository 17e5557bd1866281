# pyright: standard
"""Residual and Jacobian rows of relative goals and of ranges.

A relative goal has its target in the moved frame of another node, the reference. A range replaces the target by a set
about it. Both are one rule: the target is moved to where it is now, by the reference and to the nearest point of the
set, and the rows of the plain term are written for it (kernels/goal_jacobians.py). Two parts follow:

- A motion of the reference moves the target: its rates are subtracted from the rows of the nodes on its path. The paths
  have no common node, since a node above both moves neither against the other.
- Inside a range nothing pulls. The rows are projected on the directions in which the point or rotation is outside:
  J' = P J, with P the sum of n n^T over unit normals n of the set. Directions of width zero are always active.

A box has its axes at the target or at the joint. Axes of the joint turn with it, so a rotation moves the point of the
joint that the target touches: its lever ends at the target, not at the point.
"""

from __future__ import annotations

import math

from poise.kernels import layout
from poise.kernels.device_functions import device_function, inline, never_inline
from poise.kernels.goal_jacobians import (
    add_jacobian_rows,
    compute_aim_line,
    compute_point,
    count_dofs,
    is_rotating,
    write_aim,
    write_direction,
    write_position,
    write_rotation,
)
from poise.kernels.lanes import broadcast, count_lanes, maximum, minimum, select, set_lane
from poise.kernels.layout import AIM, DIRECTION, POSITION, RANGE, ROTATION
from poise.kernels.limits import clamp_angle, clamp_rotation, find_blocked_directions
from poise.kernels.problem_arrays import read_node, read_term
from poise.kernels.vec_quat import (
    Quat,
    Vec,
    add,
    conjugate,
    cross,
    dot,
    get_quat_lane,
    identity,
    multiply,
    read_quat,
    read_quat_at,
    read_vec,
    read_vec_at,
    rotate,
    scale,
    sub,
    write_quat_at,
    write_vec_at,
    x_axis,
    y_axis,
    z_axis,
)


@inline
def has_set(tree, t):
    """Return whether a term has a reference or a range."""
    return tree.terms[t, layout.TERM_REFERENCE_NODE] >= 0 or tree.terms[t, layout.TERM_SET_KIND] != layout.NO_SET


@never_inline
def write_set_term(lane_kind, tree, lanes, t):
    """Write the rows of a term with a reference or a range.

    Returns the squared distance to the set.
    """
    term, set_kind = read_term(tree.terms, t), tree.terms[t, layout.TERM_SET_KIND]
    target_rotation = identity(lane_kind)
    turn, nearest_turn = identity(lane_kind), identity(lane_kind)
    if term.goal_kind == ROTATION:
        target_rotation = compute_moved_rotation(lane_kind, tree, lanes, t)
        wanted = target_rotation
        if set_kind == layout.TURN_SET:
            turn = compute_turn(tree, lanes, t, target_rotation)
            nearest_turn = find_nearest_turn(lane_kind, tree, t, turn)
            wanted = multiply(target_rotation, nearest_turn)
        write_quat_at(lanes.moved_targets, term.target_start, wanted)
        squared_residual = write_rotation(tree, lanes, lanes.moved_targets, t)
    else:
        move_target(lane_kind, tree, lanes, t)
        squared_residual = write_set_rows(tree, lanes, t)
    if set_kind == layout.JOINT_BOX:
        extend_levers(tree, lanes, t)
    if tree.terms[t, layout.TERM_REFERENCE_NODE] >= 0:
        subtract_reference_rows(tree, lanes, t)
    if set_kind == layout.TARGET_BOX or set_kind == layout.JOINT_BOX:
        project_on_box(lane_kind, tree, lanes, t)
    elif set_kind == layout.TURN_SET:
        project_on_turn(lane_kind, tree, lanes, t, target_rotation, turn, nearest_turn)
    return squared_residual


@inline
def write_set_rows(tree, lanes, t):
    """Write the rows of a term for its moved target. It is no ROTATION."""
    goal_kind = read_term(tree.terms, t).goal_kind
    if goal_kind == POSITION:
        return write_position(tree, lanes, lanes.moved_targets, t)
    if goal_kind == AIM:
        return write_aim(tree, lanes, lanes.moved_targets, t)
    return write_direction(tree, lanes, lanes.moved_targets, t)


# --- where the target is now -----------------------------------------------------------------------------------------


@inline
def read_reference_rotation(lane_kind, tree, lanes, t):
    """Return the rotation of a term's reference. It is the identity without one."""
    reference = tree.terms[t, layout.TERM_REFERENCE_NODE]
    return read_quat(lanes.rotations, reference) if reference >= 0 else identity(lane_kind)


@inline
def compute_moved_rotation(lane_kind, tree, lanes, t):
    """Return the target rotation of a term, moved with its reference."""
    reference_rotation = read_reference_rotation(lane_kind, tree, lanes, t)
    return multiply(reference_rotation, read_quat_at(lanes.targets, read_term(tree.terms, t).target_start))


@inline
def compute_moved_point(tree, lanes, t):
    """Return the target point of a term, moved with its reference."""
    reference = tree.terms[t, layout.TERM_REFERENCE_NODE]
    point = read_vec_at(lanes.targets, read_term(tree.terms, t).target_start)
    if reference >= 0:
        point = add(read_vec(lanes.positions, reference), rotate(read_quat(lanes.rotations, reference), point))
    return point


@inline
def compute_box_axes(lane_kind, tree, lanes, t):
    """Return the rotation of a box.

    It is that of the target, of the reference or of the joint.
    """
    if tree.terms[t, layout.TERM_SET_KIND] == layout.JOINT_BOX:
        joint_rotation = read_quat_at(tree.effectors[t], layout.EFFECTOR_ROTATION)
        return multiply(read_quat(lanes.rotations, read_term(tree.terms, t).node), joint_rotation)
    rotation, column = read_reference_rotation(lane_kind, tree, lanes, t), tree.terms[t, layout.TERM_AXES_START]
    return multiply(rotation, read_quat_at(lanes.targets, column)) if column >= 0 else rotation


@inline
def read_bounds(lane_kind, tree, t):
    """Return the lowest and the highest corner of a box."""
    row, zero = tree.effectors[t], broadcast(lane_kind, 0.0)
    low = Vec(zero + row[layout.EFFECTOR_SET], zero + row[layout.EFFECTOR_SET + 2], zero + row[layout.EFFECTOR_SET + 4])
    return low, Vec(
        zero + row[layout.EFFECTOR_SET + 1], zero + row[layout.EFFECTOR_SET + 3], zero + row[layout.EFFECTOR_SET + 5]
    )


@inline
def compute_box_offset(lane_kind, tree, lanes, t):
    """Return the offset of the measured point in box axes.

    It is measured from the target.
    """
    point = compute_point(lanes, read_term(tree.terms, t).node, tree.effectors[t], layout.EFFECTOR_POINT)
    offset = sub(point, compute_moved_point(tree, lanes, t))
    return rotate(conjugate(compute_box_axes(lane_kind, tree, lanes, t)), offset)


@device_function
def move_target(lane_kind, tree, lanes, t):
    """Write the current target of a term.

    It is moved with the reference, and to the nearest point of the set. The term is no ROTATION.
    """
    term, set_kind = read_term(tree.terms, t), tree.terms[t, layout.TERM_SET_KIND]
    if term.goal_kind == DIRECTION:
        direction = read_vec_at(lanes.targets, term.target_start)
        reference_rotation = read_reference_rotation(lane_kind, tree, lanes, t)
        write_vec_at(lanes.moved_targets, term.target_start, rotate(reference_rotation, direction))
    else:
        point = compute_moved_point(tree, lanes, t)
        if set_kind == layout.TARGET_BOX or set_kind == layout.JOINT_BOX:
            offset, (low, high) = compute_box_offset(lane_kind, tree, lanes, t), read_bounds(lane_kind, tree, t)
            nearest = Vec(
                minimum(maximum(offset.x, low.x), high.x),
                minimum(maximum(offset.y, low.y), high.y),
                minimum(maximum(offset.z, low.z), high.z),
            )
            point = add(point, rotate(compute_box_axes(lane_kind, tree, lanes, t), nearest))
        write_vec_at(lanes.moved_targets, term.target_start, point)


@device_function
def clamp_turn(limit, q):
    """Clamp a rotation to the set of a turn. A RANGE is a turn about one axis: its swing is removed."""
    if limit[layout.LIMIT_KIND] != RANGE:
        return clamp_rotation(limit, q)
    frame = read_quat_at(limit, layout.LIMIT_FRAME)
    axis = z_axis(frame)
    twist = 2.0 * math.atan2(q.x * axis.x + q.y * axis.y + q.z * axis.z, q.w)
    half = 0.5 * clamp_angle(twist, limit[layout.LIMIT_X_LOW], limit[layout.LIMIT_X_HIGH])
    s = math.sin(half)
    return Quat(math.cos(half), s * axis.x, s * axis.y, s * axis.z)


@inline
def compute_turn(tree, lanes, t, target_rotation):
    """Return the measured rotation in the axes of a target rotation."""
    local_rotation = read_quat_at(tree.effectors[t], layout.EFFECTOR_ROTATION)
    rotation = multiply(read_quat(lanes.rotations, read_term(tree.terms, t).node), local_rotation)
    return multiply(conjugate(target_rotation), rotation)


@device_function
def find_nearest_turn(lane_kind, tree, t, turn):
    """Return the turn of a set nearest to a measured turn."""
    limit, zero = tree.effectors[t, layout.EFFECTOR_SET :], broadcast(lane_kind, 0.0)
    w, x, y, z = zero, zero, zero, zero
    for l in range(count_lanes(lane_kind)):
        # Limits of rotations branch, so lanes are handled one by one.
        nearest = clamp_turn(limit, get_quat_lane(turn, l))
        w, x = set_lane(w, l, nearest.w), set_lane(x, l, nearest.x)
        y, z = set_lane(y, l, nearest.y), set_lane(z, l, nearest.z)
    return Quat(w, x, y, z)


# --- rates -----------------------------------------------------------------------------------------------------------


@device_function
def extend_levers(tree, lanes, t):
    """Move the ends of levers from the point to the target.

    This is for a box with the axes of the joint.
    """
    term, weight = read_term(tree.terms, t), tree.effectors[t, layout.EFFECTOR_WEIGHT]
    point = compute_point(lanes, term.node, tree.effectors[t], layout.EFFECTOR_POINT)
    offset = sub(compute_moved_point(tree, lanes, t), point)
    for j in range(term.path_start, term.path_end):
        node = read_node(tree.nodes, tree.paths[j])
        if is_rotating(node.motion):
            for c in range(count_dofs(node.motion)):
                axis = read_vec(lanes.axes, 3 * tree.paths[j] + c)
                add_jacobian_rows(lanes.J, node.dof_start + c, term.error_row, cross(axis, offset), weight)


@device_function
def subtract_reference_rows(tree, lanes, t):
    """Subtract the rates of the moving target.

    It moves with the nodes on the path of the reference.
    """
    term, weight = read_term(tree.terms, t), tree.effectors[t, layout.EFFECTOR_WEIGHT]
    target = read_vec_at(lanes.moved_targets, term.target_start)  # of a ROTATION, three of its four numbers: unused
    if tree.terms[t, layout.TERM_SET_KIND] == layout.JOINT_BOX:
        target = compute_moved_point(tree, lanes, t)
    line, inverse_distance = scale(target, 0.0), target.x * 0.0
    if term.goal_kind == AIM:
        _, line, inverse_distance = compute_aim_line(tree, lanes, lanes.moved_targets, t)
    for j in range(tree.terms[t, layout.TERM_REFERENCE_PATH_START], tree.terms[t, layout.TERM_REFERENCE_PATH_END]):
        i = tree.paths[j]
        node = read_node(tree.nodes, i)
        for c in range(count_dofs(node.motion)):
            axis = read_vec(lanes.axes, 3 * i + c)
            if term.goal_kind == POSITION or term.goal_kind == AIM:
                rate = axis
                if is_rotating(node.motion):
                    rate = cross(axis, sub(target, read_vec(lanes.positions, i)))
                if term.goal_kind == AIM:
                    rate = scale(cross(line, rate), inverse_distance)
            elif is_rotating(node.motion):
                rate = sub(axis, scale(target, dot(target, axis))) if term.goal_kind == DIRECTION else axis
            else:
                continue
            add_jacobian_rows(lanes.J, node.dof_start + c, term.error_row, rate, -weight)


# --- projection on the directions outside the set --------------------------------------------------------------------


@inline
def project_rows(rows, d, r, a, b, c):
    """Project three numbers of a row on a span.

    The perpendicular vectors have length one or zero.
    """
    v = Vec(rows[d, r], rows[d, r + 1], rows[d, r + 2])
    v = add(scale(a, dot(a, v)), add(scale(b, dot(b, v)), scale(c, dot(c, v))))
    rows[d, r], rows[d, r + 1], rows[d, r + 2] = v.x, v.y, v.z


@device_function
def project_term(tree, lanes, t, a, b, c):
    """Project the residual and the rows of a term.

    They are projected on the span of perpendicular vectors of length one or zero.
    """
    term = read_term(tree.terms, t)
    r = term.error_row
    error = Vec(lanes.e[r], lanes.e[r + 1], lanes.e[r + 2])
    error = add(scale(a, dot(a, error)), add(scale(b, dot(b, error)), scale(c, dot(c, error))))
    lanes.e[r], lanes.e[r + 1], lanes.e[r + 2] = error.x, error.y, error.z
    for d in range(tree.row_ranges.shape[0]):
        if tree.row_ranges[d, 0] <= r and r < tree.row_ranges[d, 1]:
            project_rows(lanes.J, d, r, a, b, c)


@inline
def compute_activity(offset, low, high):
    """Return 1 outside a range, else 0.

    A range without width has no inside.
    """
    one = offset * 0.0 + 1.0
    return select((offset < low) | (offset > high) | (low >= high), one, one * 0.0)


@device_function
def project_on_box(lane_kind, tree, lanes, t):
    """Project the rows of a term on box axes.

    These are the axes along which its point is outside the box.
    """
    axes, (low, high) = compute_box_axes(lane_kind, tree, lanes, t), read_bounds(lane_kind, tree, t)
    offset = compute_box_offset(lane_kind, tree, lanes, t)
    project_term(
        tree,
        lanes,
        t,
        scale(x_axis(axes), compute_activity(offset.x, low.x, high.x)),
        scale(y_axis(axes), compute_activity(offset.y, low.y, high.y)),
        scale(z_axis(axes), compute_activity(offset.z, low.z, high.z)),
    )


@device_function
def find_turn_normals(limit, turn, nearest):
    """Return up to three unit normals of a set of turns.

    They are perpendicular angular velocities in the target's axes, at the turn nearest to a measured one; zeros where
    there are fewer.
    """
    difference = multiply(turn, conjugate(nearest))
    sign = -1.0 if difference.w < 0.0 else 1.0
    push = Vec(sign * difference.x, sign * difference.y, sign * difference.z)
    if limit[layout.LIMIT_KIND] != RANGE:
        return find_blocked_directions(limit, nearest, push)
    frame = read_quat_at(limit, layout.LIMIT_FRAME)
    axis = z_axis(frame)
    low, high = limit[layout.LIMIT_X_LOW], limit[layout.LIMIT_X_HIGH]
    twist = 2.0 * math.atan2(turn.x * axis.x + turn.y * axis.y + turn.z * axis.z, turn.w)
    # The legal angle may be whole turns away.
    is_inside = low < high and abs(math.sin(0.5 * (clamp_angle(twist, low, high) - twist))) < 1e-15
    activity = 0.0 if is_inside else 1.0
    return x_axis(frame), y_axis(frame), scale(axis, activity)


@device_function
def project_on_turn(lane_kind, tree, lanes, t, target_rotation, turn, nearest_turn):
    """Project the rows of a term on normals of its turns."""
    limit, zero = tree.effectors[t, layout.EFFECTOR_SET :], broadcast(lane_kind, 0.0)
    ax, ay, az, bx, by, bz, cx, cy, cz = zero, zero, zero, zero, zero, zero, zero, zero, zero
    for l in range(count_lanes(lane_kind)):
        a, b, c = find_turn_normals(limit, get_quat_lane(turn, l), get_quat_lane(nearest_turn, l))
        ax, ay, az = set_lane(ax, l, a.x), set_lane(ay, l, a.y), set_lane(az, l, a.z)
        bx, by, bz = set_lane(bx, l, b.x), set_lane(by, l, b.y), set_lane(bz, l, b.z)
        cx, cy, cz = set_lane(cx, l, c.x), set_lane(cy, l, c.y), set_lane(cz, l, c.z)
    a, b, c = Vec(ax, ay, az), Vec(bx, by, bz), Vec(cx, cy, cz)
    project_term(tree, lanes, t, rotate(target_rotation, a), rotate(target_rotation, b), rotate(target_rotation, c))
