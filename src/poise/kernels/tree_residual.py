# pyright: standard
"""Forward kinematics, residual and damped step of a tree of joints.

kernels/problem_arrays.py describes the arrays of the tree.
"""

from __future__ import annotations

import math

from poise.kernels import goal_jacobians, goal_sets, layout
from poise.kernels.device_functions import device_function, inline
from poise.kernels.lane_workspace import PREFERENCE_SHARE
from poise.kernels.lanes import (
    broadcast,
    count_lanes,
    get_lane,
    half_angle_sincos,
    maximum,
    minimum,
    select,
    set_lane,
    sqrt,
)
from poise.kernels.layout import AIM, BALL, FIXED, HINGE, MOVE, NO_LIMIT, POLE, POSITION, RANGE, ROTATION, SLIDE
from poise.kernels.limits import clamp_rotation, find_blocked_directions, has_hard_limit, is_clearly_inside
from poise.kernels.problem_arrays import read_node, read_term
from poise.kernels.vec_quat import (
    Quat,
    Vec,
    add,
    conjugate,
    dot,
    get_quat_lane,
    multiply,
    read_quat,
    read_quat_at,
    read_vec,
    read_vec_at,
    rotate,
    rotate_about_z,
    scale,
    sub,
    write_quat,
    write_vec,
    x_axis,
    y_axis,
    z_axis,
)

# --- Levenberg-Marquardt step of a tree in dual form -----------------------------------------------------------------
#
# The tree has hinges, slides, balls and moves, and any number of goals. The step is
#
# delta = S J^T y + b,  (J S J^T + damping I) y = e - J b
#
# The system has one row per row of the goals, for any number of joints. S is the step weight of the dofs (inverse
# stiffness). b is a step towards a preferred configuration; the system compensates its effect on the goals, so
# preferences never compete with goals. As for serial arms (kernels/arm_lm.py) the damping follows the squared error,
# and dofs pushed out of a limit are frozen.


# --- forward kinematics ------------------------------------------------------------------------------------------


@device_function
def forward_kinematics(tree, lanes):
    """Compute positions, rotations and motion axes of all nodes at lanes.u."""
    for i in range(tree.nodes.shape[0]):
        parent, motion, u_start, _ = read_node(tree.nodes, i)
        frame = lanes.frames[i]
        position, rotation = read_vec_at(frame, layout.FRAME_OFFSET), read_quat_at(frame, layout.FRAME_ROTATION)
        # Parents come first, so one loop is enough; the frame of a root is in the base frame already.
        if parent >= 0:
            parent_rotation = read_quat(lanes.rotations, parent)
            position = add(read_vec(lanes.positions, parent), rotate(parent_rotation, position))
            rotation = multiply(parent_rotation, rotation)
        if motion == HINGE or motion == SLIDE:
            # Motions are about or along z of the node's frame, by the choice of frames in packing.
            axis, ratio = z_axis(rotation), frame[layout.FRAME_RATIO]
            value = ratio * lanes.u[u_start] + frame[layout.FRAME_VALUE_OFFSET]
            # Rate per unit of the node's number in u: a coupled joint moves by its ratio.
            write_vec(lanes.axes, 3 * i, scale(axis, ratio))
            if motion == HINGE:
                s, c = half_angle_sincos(value)
                rotation = rotate_about_z(rotation, s, c)
            else:
                position = add(position, scale(axis, value))
        elif motion != FIXED:
            write_vec(lanes.axes, 3 * i, x_axis(rotation))
            write_vec(lanes.axes, 3 * i + 1, y_axis(rotation))
            write_vec(lanes.axes, 3 * i + 2, z_axis(rotation))
            if motion == BALL:
                rotation = multiply(rotation, read_quat_at(lanes.u, u_start))
            else:
                position = add(position, rotate(rotation, read_vec_at(lanes.u, u_start)))
        write_vec(lanes.positions, i, position)
        write_quat(lanes.rotations, i, rotation)


# --- residual and Jacobian ----------------------------------------------------------------------------------------


@inline
def write_other_term(lane_kind, tree, limits, lanes, t):
    """Write the rows of a term absent in plain trees."""
    if limits is None:
        return tree.effectors[t, layout.EFFECTOR_WEIGHT] * lanes.e[0]  # never executed: a plain tree has no such terms
    if goal_sets.has_set(tree, t):
        return goal_sets.write_set_term(lane_kind, tree, lanes, t)
    if read_term(tree.terms, t).goal_kind == AIM:
        return goal_jacobians.write_aim(tree, lanes, lanes.targets, t)
    return goal_jacobians.write_direction(tree, lanes, lanes.targets, t)


@inline
def is_plain_term(tree, limits, t):
    """Return whether a term has a single target in the world."""
    return limits is None or not goal_sets.has_set(tree, t)


@device_function
def measure_residuals(lane_kind, tree, limits, lanes):
    """Fill e and J from the node positions and rotations.

    Returns the squared error, weighted, and whether every term is met.

    A plain tree (limits is None) has no terms of AIM and DIRECTION, no references and no ranges.
    """
    zero = broadcast(lane_kind, 0.0)
    for d in range(tree.row_ranges.shape[0]):
        for r in range(tree.row_ranges[d, 0], tree.row_ranges[d, 1]):
            # Terms add their rates, because coupled nodes share a dof. Only rows in a dof's range are ever read.
            lanes.J[d, r] = zero
    error, met_mask = zero, zero <= 0.0
    for t in range(tree.terms.shape[0]):
        term = read_term(tree.terms, t)
        is_plain = is_plain_term(tree, limits, t)
        if term.goal_kind == POSITION and is_plain:
            squared_residual = goal_jacobians.write_position(tree, lanes, lanes.targets, t)
        elif term.goal_kind == ROTATION and is_plain:
            squared_residual = goal_jacobians.write_rotation(tree, lanes, lanes.targets, t)
        elif term.goal_kind == POLE:
            squared_residual = goal_jacobians.write_pole(tree, lanes, lanes.targets, t)
        else:
            squared_residual = write_other_term(lane_kind, tree, limits, lanes, t)
        # Tolerances apply without weights, the step with them: a goal of low weight must be met too.
        error = error + squared_residual * (
            tree.effectors[t, layout.EFFECTOR_WEIGHT] * tree.effectors[t, layout.EFFECTOR_WEIGHT]
        )
        met_mask = met_mask & (squared_residual <= tree.effectors[t, layout.EFFECTOR_TOLERANCE2])
    return error, met_mask


@device_function
def fill_preference_step(lane_kind, tree, lanes):
    """Fill preference_step, towards the preferred configuration. It is the lane's share of the whole difference."""
    zero, preference_share = broadcast(lane_kind, 0.0), lanes.lane_state[PREFERENCE_SHARE]
    for d in range(tree.dofs.shape[0]):
        # Dofs of balls and moves have no number of their own in u; they follow below.
        lanes.preference_step[d] = zero
        u_column = int(tree.dofs[d, layout.DOF_U_COLUMN])
        if u_column >= 0:
            lanes.preference_step[d] = (tree.preferred_u[u_column] - lanes.u[u_column]) * minimum(
                preference_share * tree.preference_weights[d], zero + 1.0
            )
    for i in range(tree.nodes.shape[0]):
        _, motion, u_start, dof_start = read_node(tree.nodes, i)
        if motion == BALL:
            rotation_offset = multiply(
                read_quat_at(tree.preferred_u, u_start), conjugate(read_quat_at(lanes.u, u_start))
            )
            # The shorter arc. Twice the vector part is the rotation vector, as in the residual of a rotation.
            step_factor = select(rotation_offset.w < 0.0, zero - 2.0, zero + 2.0) * minimum(
                preference_share * tree.preference_weights[dof_start], zero + 1.0
            )
            (
                lanes.preference_step[dof_start],
                lanes.preference_step[dof_start + 1],
                lanes.preference_step[dof_start + 2],
            ) = step_factor * rotation_offset.x, step_factor * rotation_offset.y, step_factor * rotation_offset.z
        elif motion == MOVE:
            step_factor = minimum(preference_share * tree.preference_weights[dof_start], zero + 1.0)
            for c in range(3):
                lanes.preference_step[dof_start + c] = (
                    tree.preferred_u[u_start + c] - lanes.u[u_start + c]
                ) * step_factor


@device_function
def add_soft_limit_step(lane_kind, tree, limits, lanes):
    """Add steps towards the soft limits to preference_step. They use the same share, times the limits' weights."""
    if limits is None:
        return
    zero, preference_share = broadcast(lane_kind, 0.0), lanes.lane_state[PREFERENCE_SHARE]
    for i in range(tree.nodes.shape[0]):
        limit = limits[i]
        if limit[layout.LIMIT_SOFT_WEIGHT] == 0.0 or limit[layout.LIMIT_KIND] == NO_LIMIT:
            continue
        _, _, u_start, dof_start = read_node(tree.nodes, i)
        step_factor = minimum(preference_share * limit[layout.LIMIT_SOFT_WEIGHT], zero + 1.0)
        if limit[layout.LIMIT_KIND] == RANGE:
            # No step inside the soft range.
            clamped_value = minimum(
                maximum(lanes.u[u_start], zero + limit[layout.LIMIT_X_LOW]), zero + limit[layout.LIMIT_X_HIGH]
            )
            lanes.preference_step[dof_start] = (
                lanes.preference_step[dof_start] + (clamped_value - lanes.u[u_start]) * step_factor
            )
            continue
        ball_rotation = read_quat_at(lanes.u, u_start)
        x, y, z = zero, zero, zero
        for l in range(count_lanes(lane_kind)):
            # Limits of balls branch, so lanes are handled one by one.
            q = get_quat_lane(ball_rotation, l)
            rotation_offset = multiply(clamp_rotation(limit, q), conjugate(q))
            x, y, z = (
                set_lane(x, l, 2.0 * rotation_offset.x),
                set_lane(y, l, 2.0 * rotation_offset.y),
                set_lane(z, l, 2.0 * rotation_offset.z),
            )
        lanes.preference_step[dof_start], lanes.preference_step[dof_start + 1] = (
            lanes.preference_step[dof_start] + step_factor * x,
            lanes.preference_step[dof_start + 1] + step_factor * y,
        )
        lanes.preference_step[dof_start + 2] = lanes.preference_step[dof_start + 2] + step_factor * z


# --- the step ----------------------------------------------------------------------------------------------------


@inline
def multiply_jacobian_row(lane_kind, tree, J, d, y):
    """Multiply row d of J by y (m,)."""
    row_product = broadcast(lane_kind, 0.0)
    for r in range(tree.row_ranges[d, 0], tree.row_ranges[d, 1]):
        row_product = row_product + J[d, r] * y[r]
    return row_product


@inline
def compute_push(lane_kind, tree, lanes, d, has_preference):
    """Compute the push of a dof; its sign matters.

    Without a preferred configuration it is the gradient J e; with one it is the step from the last multipliers y,
    because near the goal e vanishes.
    """
    push = multiply_jacobian_row(lane_kind, tree, lanes.J, d, lanes.e)
    if has_preference:
        # y of the previous iteration is nearly right and known before this one is solved.
        step = lanes.preference_step[d] + tree.dofs[d, layout.DOF_WEIGHT] * multiply_jacobian_row(
            lane_kind, tree, lanes.J, d, lanes.y
        )
        push = select(lanes.lane_state[PREFERENCE_SHARE] > 0.0, step, push)
    return push


@device_function
def freeze_dofs(lane_kind, tree, lanes, has_preference):
    """Freeze dofs at their limits and scale J by the step weights.

    Rows of dofs held at a limit become zero, all others are multiplied by the root of the step weight; also fill
    step_error.

    A dof at a limit is frozen if it is pushed outwards.
    """
    zero = broadcast(lane_kind, 0.0)
    for r in range(lanes.e.shape[0]):
        lanes.step_error[r] = lanes.e[r]
    for d in range(tree.dofs.shape[0]):
        row_start, row_end = tree.row_ranges[d, 0], tree.row_ranges[d, 1]
        u_column, step_weight = int(tree.dofs[d, layout.DOF_U_COLUMN]), tree.dofs[d, layout.DOF_WEIGHT]
        if u_column >= 0:
            push = compute_push(lane_kind, tree, lanes, d, has_preference)
            is_at_min, is_at_max = (
                lanes.u[u_column] <= tree.dofs[d, layout.DOF_LOW],
                lanes.u[u_column] >= tree.dofs[d, layout.DOF_HIGH],
            )
            free_mask = select((is_at_min & (push < 0.0)) | (is_at_max & (push > 0.0)), zero, zero + 1.0)
            for r in range(row_start, row_end):
                # A frozen dof has no part in the goals' step and no preference step.
                lanes.J[d, r] = lanes.J[d, r] * free_mask
            if has_preference:
                lanes.preference_step[d] = lanes.preference_step[d] * free_mask
        if has_preference:
            for r in range(row_start, row_end):
                # The goals compensate the effect of the preference step. This needs the unscaled J.
                lanes.step_error[r] = lanes.step_error[r] - lanes.J[d, r] * lanes.preference_step[d]
        if step_weight != 1.0:
            for r in range(row_start, row_end):
                # J S J^T is the product of the scaled rows with themselves, so `build_normal_matrix` does not need S.
                lanes.J[d, r] = lanes.J[d, r] * math.sqrt(step_weight)


@device_function
def find_lanes_near_limit(lane_kind, tree, limits, lanes, i, busy_bits):
    """Find the busy lanes with node i's ball near its limit. Returns their bits."""
    ball_rotation, found_bits = read_quat_at(lanes.u, read_node(tree.nodes, i).u_start), 0
    for l in range(count_lanes(lane_kind)):
        if (busy_bits >> l) & 1 == 1 and not is_clearly_inside(limits[i], get_quat_lane(ball_rotation, l)):
            found_bits |= 1 << l
    return found_bits


@device_function
def freeze_balls(lane_kind, tree, limits, lanes, busy_bits, has_preference):
    """Remove outward motion of limited balls from J. Call it before `freeze_dofs`, the counterpart for other dofs.

    Lanes without a bit in busy_bits have no problem; they are left as they are.
    """
    if limits is None:
        return
    zero = broadcast(lane_kind, 0.0)
    for i in range(tree.nodes.shape[0]):
        if not has_hard_limit(limits[i]):
            continue
        # Most balls are inside their limits most of the time; this check needs no angle.
        near_bits = find_lanes_near_limit(lane_kind, tree, limits, lanes, i, busy_bits)
        if near_bits == 0:
            continue
        _, _, u_start, dof_start = read_node(tree.nodes, i)
        push_x, push_y = (
            compute_push(lane_kind, tree, lanes, dof_start, has_preference),
            compute_push(lane_kind, tree, lanes, dof_start + 1, has_preference),
        )
        push_z = compute_push(lane_kind, tree, lanes, dof_start + 2, has_preference)
        ax, ay, az, bx, by, bz, cx, cy, cz = zero, zero, zero, zero, zero, zero, zero, zero, zero
        for l in range(count_lanes(lane_kind)):
            if (near_bits >> l) & 1 == 0:
                continue
            ball_rotation = read_quat_at(lanes.u, u_start)
            q = get_quat_lane(ball_rotation, l)
            # A ball at the edge of its cone may still move along it: only outward directions are blocked, at most
            # three.
            a, b, c = find_blocked_directions(
                limits[i], q, Vec(get_lane(push_x, l), get_lane(push_y, l), get_lane(push_z, l))
            )
            ax, ay, az = set_lane(ax, l, a.x), set_lane(ay, l, a.y), set_lane(az, l, a.z)
            bx, by, bz = set_lane(bx, l, b.x), set_lane(by, l, b.y), set_lane(bz, l, b.z)
            cx, cy, cz = set_lane(cx, l, c.x), set_lane(cy, l, c.y), set_lane(cz, l, c.z)
        a, b, c = Vec(ax, ay, az), Vec(bx, by, bz), Vec(cx, cy, cz)
        for r in range(tree.row_ranges[dof_start, 0], tree.row_ranges[dof_start, 1]):
            remaining_rate = remove_components(
                Vec(lanes.J[dof_start, r], lanes.J[dof_start + 1, r], lanes.J[dof_start + 2, r]), a, b, c
            )
            lanes.J[dof_start, r], lanes.J[dof_start + 1, r], lanes.J[dof_start + 2, r] = (
                remaining_rate.x,
                remaining_rate.y,
                remaining_rate.z,
            )
        if has_preference:
            remaining_rate = remove_components(
                Vec(
                    lanes.preference_step[dof_start],
                    lanes.preference_step[dof_start + 1],
                    lanes.preference_step[dof_start + 2],
                ),
                a,
                b,
                c,
            )
            (
                lanes.preference_step[dof_start],
                lanes.preference_step[dof_start + 1],
                lanes.preference_step[dof_start + 2],
            ) = remaining_rate.x, remaining_rate.y, remaining_rate.z


@inline
def remove_components(v, a, b, c):
    """Remove components of v along perpendicular vectors. They have length one or zero."""
    return sub(v, add(scale(a, dot(a, v)), add(scale(b, dot(b, v)), scale(c, dot(c, v)))))


@inline
def add_block(J, dof_start, dof_end, r, k, A):
    """Add dofs dof_start..dof_end to block (r, k) of J J^T.

    A block is 3 x 3. The nine sums stay in registers.
    """
    a, b, c = A[r, k], A[r, k + 1], A[r, k + 2]
    f, g, h = A[r + 1, k], A[r + 1, k + 1], A[r + 1, k + 2]
    o, p, q = A[r + 2, k], A[r + 2, k + 1], A[r + 2, k + 2]
    # Nine sums at once in registers: every element of J is read once for three of them.
    for i in range(dof_start, dof_end):
        x, y, z = J[i, r], J[i, r + 1], J[i, r + 2]
        u, v, w = J[i, k], J[i, k + 1], J[i, k + 2]
        a, b, c = a + x * u, b + x * v, c + x * w
        f, g, h = f + y * u, g + y * v, h + y * w
        o, p, q = o + z * u, p + z * v, q + z * w
    A[r, k], A[r, k + 1], A[r, k + 2] = a, b, c
    A[r + 1, k], A[r + 1, k + 1], A[r + 1, k + 2] = f, g, h
    A[r + 2, k], A[r + 2, k + 1], A[r + 2, k + 2] = o, p, q


@device_function
def build_normal_matrix(lane_kind, tree, lanes, damping):
    """Build A = J J^T + damping I.

    Only its lower triangle and diagonal blocks are filled, over the rows of each dof.
    """
    row_ranges, zero = tree.row_ranges, broadcast(lane_kind, 0.0)
    # Only the lower triangle, but whole 3 x 3 blocks on the diagonal: `add_block` writes nine elements.
    for r in range(lanes.e.shape[0]):
        for k in range(r - r % 3 + 3):
            lanes.A[r, k] = zero
        lanes.A[r, r] = damping
    dof_end = 0
    for d in range(row_ranges.shape[0]):
        if d < dof_end:
            continue  # added already with an earlier dof of the same rows
        dof_end = d + 1
        # Dofs of one branch are consecutive and have the same rows: add their blocks at once.
        while (
            dof_end < row_ranges.shape[0]
            and row_ranges[dof_end, 0] == row_ranges[d, 0]
            and row_ranges[dof_end, 1] == row_ranges[d, 1]
        ):
            dof_end += 1
        for r in range(row_ranges[d, 0], row_ranges[d, 1], 3):
            for k in range(row_ranges[d, 0], r + 3, 3):
                add_block(lanes.J, d, dof_end, r, k, lanes.A)


@inline
def compute_dof_step(lane_kind, tree, lanes, d, has_preference):
    """Compute the step of a dof. It is sqrt(s) J y + b, with J scaled by sqrt(s) already."""
    step = multiply_jacobian_row(lane_kind, tree, lanes.J, d, lanes.y)
    if tree.dofs[d, layout.DOF_WEIGHT] != 1.0:
        step = step * math.sqrt(tree.dofs[d, layout.DOF_WEIGHT])
    return step + lanes.preference_step[d] if has_preference else step


@device_function
def apply_step(lane_kind, tree, lanes, has_preference):
    """Apply the step within the limits.

    Hinges and slides are clamped, balls become exp(delta) u. Returns the largest part of it.

    exp is approximated by (1, delta / 2) normalised, a rotation by 2 atan(|delta| / 2): equal to second order, without
    a sine, and below half a turn for any step.
    """
    max_step = broadcast(lane_kind, 0.0)
    for d in range(tree.dofs.shape[0]):
        u_column = int(tree.dofs[d, layout.DOF_U_COLUMN])
        if u_column >= 0:
            unclamped_value = lanes.u[u_column] + compute_dof_step(lane_kind, tree, lanes, d, has_preference)
            # The change counts after clamping: a number held by its limit has converged.
            value = minimum(maximum(unclamped_value, tree.dofs[d, layout.DOF_LOW]), tree.dofs[d, layout.DOF_HIGH])
            # In the metric of the step: a slide counts in rig lengths for any unit.
            value_change = maximum(value - lanes.u[u_column], lanes.u[u_column] - value)
            if tree.dofs[d, layout.DOF_WEIGHT] != 1.0:
                value_change = value_change * (1.0 / math.sqrt(tree.dofs[d, layout.DOF_WEIGHT]))
            max_step = maximum(max_step, value_change)
            lanes.u[u_column] = value
    for i in range(tree.nodes.shape[0]):
        _, motion, u_start, dof_start = read_node(tree.nodes, i)
        if motion == BALL or motion == MOVE:
            x, y = (
                compute_dof_step(lane_kind, tree, lanes, dof_start, has_preference),
                compute_dof_step(lane_kind, tree, lanes, dof_start + 1, has_preference),
            )
            z = compute_dof_step(lane_kind, tree, lanes, dof_start + 2, has_preference)
            max_step = maximum(max_step, maximum(maximum(maximum(x, -x), maximum(y, -y)), maximum(z, -z)))
            if motion == BALL:
                # On the left: the dofs of a ball rotate about the axes of its own frame.
                q = multiply(Quat(broadcast(lane_kind, 1.0), 0.5 * x, 0.5 * y, 0.5 * z), read_quat_at(lanes.u, u_start))
                k = 1.0 / sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z)
                lanes.u[u_start], lanes.u[u_start + 1], lanes.u[u_start + 2], lanes.u[u_start + 3] = (
                    k * q.w,
                    k * q.x,
                    k * q.y,
                    k * q.z,
                )
            else:
                new_position = add(read_vec_at(lanes.u, u_start), Vec(x, y, z))
                lanes.u[u_start], lanes.u[u_start + 1], lanes.u[u_start + 2] = (
                    new_position.x,
                    new_position.y,
                    new_position.z,
                )
    return max_step


# --- balls inside their limits -----------------------------------------------------------------------------------


@device_function
def has_ball_limits(limits):
    """Return whether a hard limit applies to any ball."""
    if limits is None:
        return False
    for i in range(limits.shape[0]):
        if has_hard_limit(limits[i]):
            return True
    return False


@device_function
def clamp_balls(tree, limits, u, w, l):
    """Clamp the balls of lane l to their limits. Number i of a lane is at u[i w + l]."""
    if limits is None:
        return
    for i in range(tree.nodes.shape[0]):
        if has_hard_limit(limits[i]):
            u_index = read_node(tree.nodes, i).u_start * w + l
            q = clamp_rotation(limits[i], Quat(u[u_index], u[u_index + w], u[u_index + 2 * w], u[u_index + 3 * w]))
            u[u_index], u[u_index + w], u[u_index + 2 * w], u[u_index + 3 * w] = q.w, q.x, q.y, q.z
