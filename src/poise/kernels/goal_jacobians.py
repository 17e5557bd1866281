# pyright: standard
"""Residual and Jacobian rows of each goal term.

A function write_KIND(tree, lanes, targets, t) writes the weighted residual of term t to lanes.e and its rows of every
dof on the path to lanes.J, for the targets of one problem a lane. It returns the squared residual without the weight,
for comparison with the squared tolerance.
"""

from __future__ import annotations

from poise.kernels import layout, thresholds
from poise.kernels.device_functions import device_function, inline
from poise.kernels.lanes import maximum, minimum, select, sqrt
from poise.kernels.layout import BALL, HINGE, MOVE
from poise.kernels.problem_arrays import read_node, read_term
from poise.kernels.vec_quat import (
    Vec,
    add,
    cross,
    dot,
    multiply,
    read_quat,
    read_quat_at,
    read_vec,
    read_vec_at,
    rotate,
    rotation_error,
    scale,
    sub,
)


@inline
def is_rotating(motion):
    """Return whether a motion is a rotation."""
    return motion == HINGE or motion == BALL


@inline
def count_dofs(motion):
    """Return the number of dofs of a movable motion."""
    return 3 if motion == BALL or motion == MOVE else 1


@inline
def write_residual(e, row, v, weight):
    """Write three rows of the residual."""
    e[row], e[row + 1], e[row + 2] = v.x * weight, v.y * weight, v.z * weight


@inline
def add_jacobian_rows(J, dof, row, rate, weight):
    """Add a rate to the three rows of a dof. Coupled nodes on one path share a dof, and their rates add up."""
    J[dof, row] = J[dof, row] + rate.x * weight
    J[dof, row + 1] = J[dof, row + 1] + rate.y * weight
    J[dof, row + 2] = J[dof, row + 2] + rate.z * weight


@inline
def compute_point(lanes, node, row, column):
    """Return a point of a node's moved frame."""
    return add(read_vec(lanes.positions, node), rotate(read_quat(lanes.rotations, node), read_vec_at(row, column)))


# --- POSITION: a point of a node's moved frame is at a position ------------------------------------------------------
#
# Residual: wanted - point, kernel units.


@inline
def write_position(tree, lanes, targets, t):
    """Write the rows of a POSITION term.

    A rotation moves the point by axis x lever, with the lever from the rotating node to the point.
    """
    term, weight = read_term(tree.terms, t), tree.effectors[t, layout.EFFECTOR_WEIGHT]
    point_offset = rotate(read_quat(lanes.rotations, term.node), read_vec_at(tree.effectors[t], layout.EFFECTOR_POINT))
    point = add(read_vec(lanes.positions, term.node), point_offset)
    error = sub(read_vec_at(targets, term.target_start), point)
    write_residual(lanes.e, term.error_row, error, weight)
    for j in range(term.path_start, term.path_end):
        i = tree.paths[j]
        node = read_node(tree.nodes, i)
        lever = sub(point, read_vec(lanes.positions, i))
        for c in range(count_dofs(node.motion)):
            axis = read_vec(lanes.axes, 3 * i + c)
            if is_rotating(node.motion):
                add_jacobian_rows(lanes.J, node.dof_start + c, term.error_row, cross(axis, lever), weight)
            else:
                add_jacobian_rows(lanes.J, node.dof_start + c, term.error_row, axis, weight)
    return dot(error, error)


# --- ROTATION: a frame of a node has a wanted rotation ---------------------------------------------------------------
#
# Residual: 2 sin(angle / 2) times the axis of the remaining rotation.


@inline
def write_rotation(tree, lanes, targets, t):
    """Write the rows of a ROTATION term.

    A rotation changes the rotation vector by its axis: exact at the goal, where the residual is the rotation vector.
    """
    term, weight = read_term(tree.terms, t), tree.effectors[t, layout.EFFECTOR_WEIGHT]
    local_rotation = read_quat_at(tree.effectors[t], layout.EFFECTOR_ROTATION)
    target_rotation = read_quat_at(targets, term.target_start)
    error = rotation_error(target_rotation, multiply(read_quat(lanes.rotations, term.node), local_rotation))
    write_residual(lanes.e, term.error_row, error, weight)
    for j in range(term.path_start, term.path_end):
        i = tree.paths[j]
        node = read_node(tree.nodes, i)
        if is_rotating(node.motion):
            for c in range(count_dofs(node.motion)):
                add_jacobian_rows(lanes.J, node.dof_start + c, term.error_row, read_vec(lanes.axes, 3 * i + c), weight)
    return dot(error, error)


# --- DIRECTION: an axis of a node's moved frame points along a direction ---------------------------------------------
#
# The rotation about the axis is free.
#
# With the axis a, the wanted direction b and the angle between them: the residual is 2 sin(angle / 2) along a x b.


OPPOSITE_SUM2 = 1e-24  # |a + b|^2; below it a + b has no usable direction


@inline
def find_perpendicular(a):
    """Return a unit vector perpendicular to a unit vector. It has no branches (Duff et al., JCGT 6(1), 2017)."""
    sign = select(a.z < 0.0, a.z * 0.0 - 1.0, a.z * 0.0 + 1.0)
    # |sign + z| >= 1, so there is no division by a small number for any a.
    k = -1.0 / (sign + a.z)
    return Vec(1.0 + sign * a.x * a.x * k, sign * a.x * a.y * k, -(sign * a.x))


@inline
def direction_error(a, b):
    """Return 2 sin(angle / 2) times the axis from a to b.

    a and b are unit vectors; any perpendicular axis is taken where they are opposite.

    a x b is 2 sin cos of half the angle, and |a + b| is 2 cos: 2 a x (a + b) / |a + b| loses no digits at any angle.
    """
    # Where a and b are opposite, take one of the perpendicular axes, or the residual of the largest error would vanish.
    sum_vector = add(a, b)
    squared_sum = dot(sum_vector, sum_vector)
    is_opposite = squared_sum < OPPOSITE_SUM2
    error = scale(cross(a, sum_vector), 2.0 / sqrt(maximum(squared_sum, squared_sum * 0.0 + OPPOSITE_SUM2)))
    perpendicular = find_perpendicular(a)
    return Vec(
        select(is_opposite, 2.0 * perpendicular.x, error.x),
        select(is_opposite, 2.0 * perpendicular.y, error.y),
        select(is_opposite, 2.0 * perpendicular.z, error.z),
    )


@inline
def write_direction(tree, lanes, targets, t):
    """Write the rows of a DIRECTION term. A rotation w rotates the axis a by w - a (a . w)."""
    term, weight = read_term(tree.terms, t), tree.effectors[t, layout.EFFECTOR_WEIGHT]
    a = rotate(read_quat(lanes.rotations, term.node), read_vec_at(tree.effectors[t], layout.EFFECTOR_POINT))
    error = direction_error(a, read_vec_at(targets, term.target_start))
    write_residual(lanes.e, term.error_row, error, weight)
    for j in range(term.path_start, term.path_end):
        i = tree.paths[j]
        node = read_node(tree.nodes, i)
        if is_rotating(node.motion):
            for c in range(count_dofs(node.motion)):
                axis = read_vec(lanes.axes, 3 * i + c)
                add_jacobian_rows(
                    lanes.J, node.dof_start + c, term.error_row, sub(axis, scale(a, dot(a, axis))), weight
                )
    return dot(error, error)


# --- AIM: a ray from a node's point passes through a position --------------------------------------------------------
#
# The ray lies along an axis of the node's moved frame.
#
# With the axis a, the point p, the position x and b = (x - p) / |x - p|, the residual is that of DIRECTION, from a to
# b. It changes with the rotation of a and with that of b: a velocity v of p rotates b by -b x v / |x - p|. Where x is p
# to rounding, b is undefined: then b and the residual are zero.
#
# Where joints share the rotation (LookAt: spine, neck and head), they all rotate about one axis, each by a share given
# by its step weight. The point then moves as if all of them were at one position, the mean of their positions weighted
# by the step weights. So one rate serves all of them, and their steps stay in proportion to these weights.


@inline
def compute_mean_lever(tree, lanes, t, point):
    """Compute the weighted mean lever of the rotating joints to the point. The weights are the joints' step weights."""
    mean_lever, total_weight = scale(point, 0.0), 0.0
    term = read_term(tree.terms, t)
    for j in range(term.path_start, term.path_end):
        i = tree.paths[j]
        node = read_node(tree.nodes, i)
        if is_rotating(node.motion):
            step_weight = tree.dofs[node.dof_start, layout.DOF_WEIGHT]
            mean_lever, total_weight = (
                add(mean_lever, scale(sub(point, read_vec(lanes.positions, i)), step_weight)),
                total_weight + step_weight,
            )
    return scale(mean_lever, 1.0 / total_weight) if total_weight > 0.0 else mean_lever


@inline
def compute_aim_line(tree, lanes, targets, t):
    """Return an aim's point, its line and 1 / distance.

    The line is the unit vector from the point to the target. At the target it and the last number are zero: a joint
    there has no direction to it, and every rotation meets the goal.
    """
    term = read_term(tree.terms, t)
    point = compute_point(lanes, term.node, tree.effectors[t], layout.EFFECTOR_POINT)
    target_point = read_vec_at(targets, term.target_start)
    target_offset = sub(target_point, point)
    squared_distance = dot(target_offset, target_offset)
    is_at_target = squared_distance <= thresholds.SAME_POINT_RATIO * (
        dot(target_point, target_point) + dot(point, point)
    )
    inverse_distance = select(
        is_at_target, squared_distance * 0.0, 1.0 / maximum(sqrt(squared_distance), thresholds.MIN_DIVISOR)
    )
    return point, scale(target_offset, inverse_distance), inverse_distance


@inline
def write_aim(tree, lanes, targets, t):
    """Write the rows of an AIM term.

    A rotation moves the axis, and the point by axis x lever; a slide moves the point only.
    """
    term, weight = read_term(tree.terms, t), tree.effectors[t, layout.EFFECTOR_WEIGHT]
    a = rotate(read_quat(lanes.rotations, term.node), read_vec_at(tree.effectors[t], layout.EFFECTOR_AXIS))
    point, b, inverse_distance = compute_aim_line(tree, lanes, targets, t)
    error = direction_error(a, b)
    write_residual(lanes.e, term.error_row, error, weight)
    is_shared = tree.effectors[t, layout.EFFECTOR_IS_SHARED] > 0.0
    mean_lever = compute_mean_lever(tree, lanes, t, point) if is_shared else Vec(point.x, point.y, point.z)
    for j in range(term.path_start, term.path_end):
        i = tree.paths[j]
        node = read_node(tree.nodes, i)
        # One lever for all joints sharing the rotation: with their own levers their shares would be unequal.
        lever = mean_lever if is_shared else sub(point, read_vec(lanes.positions, i))
        for c in range(count_dofs(node.motion)):
            axis = read_vec(lanes.axes, 3 * i + c)
            if is_rotating(node.motion):
                # A rotation of the axis also moves the point, and with it the direction to the target.
                direction_rate = scale(cross(b, cross(axis, lever)), inverse_distance)
                add_jacobian_rows(
                    lanes.J,
                    node.dof_start + c,
                    term.error_row,
                    add(direction_rate, sub(axis, scale(a, dot(a, axis)))),
                    weight,
                )
            else:
                add_jacobian_rows(
                    lanes.J, node.dof_start + c, term.error_row, scale(cross(b, axis), inverse_distance), weight
                )
    return dot(error, error)


# --- POLE: a limb's middle joint lies on the side of a position ------------------------------------------------------
#
# The side is measured about the line from the limb's first joint to its tip.
#
# With the unit vector n along the line, the offset k of the middle joint and p of the position, both perpendicular to
# n, and phi the angle from k to p about n, the residual is 2 sin(phi / 2) in the first of its three rows. The points
# move with H' (first), K' (middle), T' (tip). With m_k = n x k / |k|^2 and t_k = the share of the line before the foot
# of k (m_p and t_p alike) phi changes by
#
# m_p . (-(1 - t_p) H' - t_p T') - m_k . (K' - (1 - t_k) H' - t_k T')
#
# Where k, p or the line have zero length, the side is undefined and the goal is met. Near there the row fades
# with each length relative to the limb's (FADE_LENGTH_SHARE), so every rate is bounded.


FADE_LENGTH_SHARE = 1e-3  # share of the limb's length; below it a length fades the row


@inline
def vec_norm(v):
    """Return |v|."""
    return sqrt(dot(v, v))


@inline
def divide_safely(a, b):
    """Return a / b, finite where b is 0."""
    return a / maximum(b, thresholds.MIN_DIVISOR)


@device_function
def write_pole(tree, lanes, targets, t):
    """Write the rows of a POLE term.

    A rotation moves each of the three points above it by axis x lever, a slide by its axis.
    """
    term_row, effector_row = tree.terms[t], tree.effectors[t]
    term, weight = read_term(tree.terms, t), effector_row[layout.EFFECTOR_WEIGHT]
    first_position, middle_position = (
        compute_point(lanes, term_row[layout.TERM_FIRST_NODE], effector_row, layout.EFFECTOR_FIRST_POINT),
        compute_point(lanes, term_row[layout.TERM_MIDDLE_NODE], effector_row, layout.EFFECTOR_MIDDLE_POINT),
    )
    tip_position = compute_point(lanes, term.node, effector_row, layout.EFFECTOR_POINT)
    chord_vector, middle_vector, pole_vector = (
        sub(tip_position, first_position),
        sub(middle_position, first_position),
        sub(read_vec_at(targets, term.target_start), first_position),
    )
    chord_length = vec_norm(chord_vector)
    n = scale(chord_vector, divide_safely(1.0, chord_length))
    k, p = sub(middle_vector, scale(n, dot(n, middle_vector))), sub(pole_vector, scale(n, dot(n, pole_vector)))
    k_length, p_length, limb_length = (
        vec_norm(k),
        vec_norm(p),
        vec_norm(middle_vector) + vec_norm(sub(tip_position, middle_position)),
    )
    # The side of a nearly straight limb is ill-conditioned: its rate grows as 1 / |k|. Fading the row bounds it, and a
    # straight limb has no side to miss.
    fade_weight = minimum(divide_safely(k_length, FADE_LENGTH_SHARE * limb_length), 1.0) * minimum(
        divide_safely(p_length, FADE_LENGTH_SHARE * limb_length), 1.0
    )
    fade_weight = fade_weight * minimum(divide_safely(chord_length, FADE_LENGTH_SHARE * limb_length), 1.0) * weight
    k_unit, p_unit = scale(k, divide_safely(1.0, k_length)), scale(p, divide_safely(1.0, p_length))
    side_error, sine_phi = vec_norm(sub(k_unit, p_unit)), dot(n, cross(k_unit, p_unit))
    zero = side_error * 0.0
    # Every term has three rows, so the blocks of the normal matrix stay 3 x 3.
    lanes.e[term.error_row], lanes.e[term.error_row + 1], lanes.e[term.error_row + 2] = (
        select(sine_phi < 0.0, -side_error, side_error) * fade_weight,
        zero,
        zero,
    )
    middle_rate, pole_rate = (
        scale(cross(n, k_unit), divide_safely(fade_weight, k_length)),
        scale(cross(n, p_unit), divide_safely(fade_weight, p_length)),
    )
    k_share, p_share = (
        divide_safely(dot(n, middle_vector), chord_length),
        divide_safely(dot(n, pole_vector), chord_length),
    )
    tip_rate = sub(scale(pole_rate, p_share), scale(middle_rate, k_share))
    first_rate = sub(scale(pole_rate, 1.0 - p_share), scale(middle_rate, 1.0 - k_share))
    for j in range(term.path_start, term.path_end):
        i = tree.paths[j]
        node = read_node(tree.nodes, i)
        position = read_vec(lanes.positions, i)
        # Rate of phi under a translation or rotation of the three points, by the principle of virtual work: forces at
        # points add up to a force and a torque about the joint.
        force, torque = tip_rate, cross(sub(tip_position, position), tip_rate)
        # The path leads to the tip; its first parts also move the middle joint and the first joint.
        if j < term_row[layout.TERM_MIDDLE_PATH_END]:
            force, torque = add(force, middle_rate), add(torque, cross(sub(middle_position, position), middle_rate))
        if j < term_row[layout.TERM_FIRST_PATH_END]:
            force, torque = add(force, first_rate), add(torque, cross(sub(first_position, position), first_rate))
        for c in range(count_dofs(node.motion)):
            axis = read_vec(lanes.axes, 3 * i + c)
            lanes.J[node.dof_start + c, term.error_row] = lanes.J[node.dof_start + c, term.error_row] + dot(
                axis, torque if is_rotating(node.motion) else force
            )
    is_straight = minimum(minimum(k_length, p_length), chord_length) <= thresholds.STRAIGHT_RATIO * limb_length
    return select(is_straight, zero, side_error * side_error)
