# pyright: standard
"""Gauss-Newton polish of chains.

Goals are a position (3 x 3) or all goals of one joint. It takes damped steps of all joints at once, where sweeps from
joint to joint converge slowly.

Sweeps come near a target in a few iterations, but their final convergence is slow. The step is
x += J^T (J J^T + l I)^-1 e with l = c |e|^2, c the relative damping (Levenberg-Marquardt in its dual form; Chan and
Lawrence, ICRA 1988, for the damping). With a position goal the system is 3 x 3 for any chain length, and a ball joint
needs no columns: its three together give J J^T = h.h I - h h^T, h from the joint to the tip. A step that does not lower
the error is rejected; more damping makes a shorter one, nearer to steepest descent.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels.chain_kinematics import (
    compute_rotation_error,
    compute_squared_error,
    compute_tip_position,
    copy_motions,
    read_joint,
    record_trace,
    store_frames_and_point,
    store_frames_and_tip,
)
from poise.kernels.device_functions import device_function, inline
from poise.kernels.layout import BALL, COUNT_ITERATIONS, COUNT_JOINT_STEPS, HINGE, MOVE, SLIDE
from poise.kernels.limits import clamp, clamp_rotation
from poise.kernels.symmetric_matrices import factor_ldl, solve_ldl
from poise.kernels.vec_quat import (
    Quat,
    Vec,
    add,
    conjugate,
    cross,
    dot,
    multiply,
    norm,
    normalise,
    read_quat,
    read_vec,
    rotate,
    rotation_between,
    scale,
    sub,
    write_quat,
    write_vec,
)

MIN_RELATIVE_DAMPING = 0.04  # minimum and initial l / |e|^2
# Factors of the relative damping after a successful step and a failed one.
RELATIVE_DAMPING_DECAY, RELATIVE_DAMPING_GROWTH = 0.1, 10.0
MAX_RELATIVE_DAMPING = 1e9  # relative damping of steps too short for progress: the polish ends
DAMPING_FLOOR = 1e-14  # fraction of the trace: regularises the system where no joint moves the tip in some direction
LIMIT_TOLERANCE_RAD = 1e-12  # [rad] a limit correcting a ball by less is not counted as active
STEP_PASSES = 2  # passes of a step: one meets limits, one follows them
MIN_POLISH_DECREASE = 1e-2  # fraction of the error: a step with a smaller decrease is slow
MAX_SLOW_STEPS = 3  # slow steps in a row that end the polish


class PositionPolishWorkspace(NamedTuple):
    """Workspace of a polish for a position goal."""

    trial_x: Any  # (m, 4) motions after the step
    origins: Any  # (m, 3+) origins of links
    rotations: Any  # (m, 4) rotations of links
    limit_normals: Any  # (m, 3+) normals of the active limits of balls, 0 where none is active


class Sym3(NamedTuple):
    """Symmetric 3 x 3 matrix."""

    xx: float
    yy: float
    zz: float
    xy: float
    xz: float
    yz: float


@inline
def add_rank1(a, c):
    """Return A + c c^T."""
    return Sym3(
        a.xx + c.x * c.x, a.yy + c.y * c.y, a.zz + c.z * c.z, a.xy + c.x * c.y, a.xz + c.x * c.z, a.yz + c.y * c.z
    )


@inline
def add_ball(a, h):
    """Return A + h.h I - h h^T. The sum adds the three columns of a ball joint at -h from the tip."""
    xx, yy, zz = h.x * h.x, h.y * h.y, h.z * h.z
    return Sym3(a.xx + yy + zz, a.yy + xx + zz, a.zz + xx + yy, a.xy - h.x * h.y, a.xz - h.x * h.z, a.yz - h.y * h.z)


@inline
def subtract_rank1(a, c):
    """Return A - c c^T."""
    return Sym3(
        a.xx - c.x * c.x, a.yy - c.y * c.y, a.zz - c.z * c.z, a.xy - c.x * c.y, a.xz - c.x * c.z, a.yz - c.y * c.z
    )


@inline
def solve_sym3(a, damping, e):
    """Solve (A + damping I) x = e by L D L^T."""
    # Unrolled: for three unknowns a loop over small arrays costs more than the arithmetic.
    d0 = a.xx + damping
    l10, l20 = a.xy / d0, a.xz / d0
    d1 = a.yy + damping - l10 * a.xy
    remainder = a.yz - l20 * a.xy
    l21 = remainder / d1
    d2 = a.zz + damping - l20 * a.xz - l21 * remainder
    y1 = e.y - l10 * e.x
    z = (e.z - l20 * e.x - l21 * y1) / d2
    y = y1 / d1 - l21 * z
    return Vec(e.x / d0 - l10 * y - l20 * z, y, z)


@inline
def compute_column(link_kind, axis, h, rotation):
    """Compute the Jacobian column of a hinge or slide.

    It is the tip's motion in the base frame, per radian of a hinge, or per length of a slide whatever its unit.
    """
    axis = rotate(rotation, axis)
    return cross(axis, h) if link_kind == HINGE else scale(axis, 1.0 / norm(axis))


@inline
def is_blocked(joint, value, push):
    """Return whether a limit blocks a hinge or slide. It is at an end of its range and is pushed out of it."""
    return (value <= joint.low and push < 0.0) or (value >= joint.high and push > 0.0)


@inline
def build_normal_matrix(chain, x, tip_position, e, workspace):
    """Build J J^T without blocked columns. Rotations of a ball about its limit's normal are removed."""
    a = Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for i in range(chain.link_kinds.shape[0]):
        link_kind, h = chain.link_kinds[i], sub(tip_position, read_vec(workspace.origins, i))
        if link_kind == BALL:
            limit_normal = rotate(read_quat(workspace.rotations, i), read_vec(workspace.limit_normals, i))
            # Rotations about the normal of a limit are blocked: that direction is removed from the three.
            a = subtract_rank1(add_ball(a, h), cross(limit_normal, h))
        elif link_kind == MOVE:
            a = Sym3(a.xx + 1.0, a.yy + 1.0, a.zz + 1.0, a.xy, a.xz, a.yz)
        else:
            joint = read_joint(chain, i)
            column = compute_column(link_kind, joint.axis, h, read_quat(workspace.rotations, i))
            # Blocked values are left out, so that the others make the whole step, see `apply_damped_step` in
            # kernels/arm_lm.py.
            if not is_blocked(joint, x[i, 0], dot(column, e)):
                a = add_rank1(a, column)
    return a


@inline
def make_unscaled_rotation(v):
    """Make the rotation about v by 2 atan(|v| / 2), not normalised. Nearly |v|, and never more than half a turn."""
    return Quat(1.0, 0.5 * v.x, 0.5 * v.y, 0.5 * v.z)


@inline
def make_small_rotation(v):
    """Make the rotation about v by 2 atan(|v| / 2)."""
    return normalise(make_unscaled_rotation(v))


@inline
def step_ball(limit, x, i, rotation_step, limit_normals, trial_x):
    """Step ball i, clamped to its limit. Returns whether it met a new limit.

    The limit is linearised near the ball: its normal, in the link's frame, is the blocked direction of the step.
    """
    limit_normal = read_vec(limit_normals, i)
    rotation_step = sub(rotation_step, scale(limit_normal, dot(limit_normal, rotation_step)))
    q = read_quat(x, i)
    unclamped_rotation = normalise(multiply(make_small_rotation(rotation_step), q))
    # The step already runs along known limits; it is still clamped, because limits are curved.
    clamped_rotation = clamp_rotation(limit, unclamped_rotation)
    write_quat(trial_x, i, clamped_rotation)
    if dot(limit_normal, limit_normal) > 0.0 or (
        clamped_rotation.w == unclamped_rotation.w
        and clamped_rotation.x == unclamped_rotation.x
        and clamped_rotation.y == unclamped_rotation.y
    ):
        return False
    excess_rotation = multiply(unclamped_rotation, conjugate(clamped_rotation))
    normal = Vec(excess_rotation.x, excess_rotation.y, excess_rotation.z)
    if not norm(normal) > LIMIT_TOLERANCE_RAD:
        return False
    write_vec(limit_normals, i, scale(normal, 1.0 / norm(normal)))
    return True


@inline
def write_step(chain, x, tip_position, e, y, workspace):
    """Write the motions after the step J^T y to workspace.trial_x. Returns whether it met new limits."""
    has_new_limit, trial_x = False, workspace.trial_x
    for i in range(chain.link_kinds.shape[0]):
        link_kind, h = chain.link_kinds[i], sub(tip_position, read_vec(workspace.origins, i))
        rotation = read_quat(workspace.rotations, i)
        if link_kind == BALL:
            step = rotate(conjugate(rotation), cross(h, y))
            has_new_limit = step_ball(chain.limits[i], x, i, step, workspace.limit_normals, trial_x) or has_new_limit
        elif link_kind == MOVE:
            write_vec(trial_x, i, add(read_vec(x, i), rotate(conjugate(rotation), y)))
        else:
            joint = read_joint(chain, i)
            column = compute_column(link_kind, joint.axis, h, rotation)
            step = 0.0 if is_blocked(joint, x[i, 0], dot(column, e)) else dot(column, y)
            if link_kind == SLIDE:
                step /= norm(joint.axis)
            trial_x[i, 0] = clamp(x[i, 0] + step, joint.low, joint.high)
    return has_new_limit


@inline
def take_damped_step(chain, x, tip_position, e, relative_damping, workspace):
    """Write the motions after a damped step. Where balls meet limits, the step is repeated along them."""
    for i in range(chain.link_kinds.shape[0]):
        write_vec(workspace.limit_normals, i, Vec(0.0, 0.0, 0.0))
    for _ in range(STEP_PASSES):
        a = build_normal_matrix(chain, x, tip_position, e, workspace)
        damping = relative_damping * dot(e, e) + DAMPING_FLOOR * (a.xx + a.yy + a.zz)
        # No joint moves the tip, or the error is NaN.
        if not damping > 0.0:
            return False
        if not write_step(chain, x, tip_position, e, solve_sym3(a, damping, e), workspace):
            break
    return True


@device_function
def polish_position(chain, target, options, output, workspace):
    """Polish until the tip is within tolerance.

    Ends also after `options.iterations` iterations, or when steps reduce the error little.

    output.x becomes the best motions; returns their error. Rejected steps count as iterations, too. Each joint must
    start inside its limits, and stays there. workspace: see `PositionPolishWorkspace`.
    """
    x, counts = output.x, output.counts
    tip_position = store_frames_and_point(chain, chain.tip, x, workspace.origins, workspace.rotations)
    e = sub(target, tip_position)
    error, relative_damping, slow_steps = norm(e), MIN_RELATIVE_DAMPING, 0
    while (
        counts[COUNT_ITERATIONS] < options.iterations
        and error > options.tolerance
        and slow_steps < MAX_SLOW_STEPS
        and relative_damping < MAX_RELATIVE_DAMPING
    ):
        if not take_damped_step(chain, x, tip_position, e, relative_damping, workspace):
            break
        new_error = norm(sub(target, compute_tip_position(chain, workspace.trial_x)))
        counts[COUNT_ITERATIONS] += 1
        counts[COUNT_JOINT_STEPS] += chain.link_kinds.shape[0]
        if new_error < error:
            slow_steps = slow_steps + 1 if error - new_error <= MIN_POLISH_DECREASE * error else 0
            # Reduce the damping by factors of ten, not at once: after one failed step the next ones may fail.
            error, relative_damping = new_error, max(MIN_RELATIVE_DAMPING, RELATIVE_DAMPING_DECAY * relative_damping)
            copy_motions(workspace.trial_x, x)
            tip_position = store_frames_and_point(chain, chain.tip, x, workspace.origins, workspace.rotations)
            e = sub(target, tip_position)
        else:
            relative_damping *= RELATIVE_DAMPING_GROWTH
        record_trace(output, error)
    return error


# --- Gauss-Newton polish of all goals --------------------------------------------------------------------------------
#
# Damped steps of all joints at once end a slow coordinate descent.
#
# dx = W J^T (J W J^T + l I)^-1 e with up to nine rows: point, rotation and direction (chain_kinematics.py). W holds the
# joint weights. Values pushed against a limit by the gradient are left out; the result is clamped to the limits.
# Levenberg, Q. Appl. Math. 2, 1944; in its dual form Nakamura and Hanafusa, J. Dyn. Sys. 108, 1986.


MAX_RESIDUAL_ROWS = 9  # maximum residual rows: point, rotation, direction
REGULARIZATION = 1e-13  # regularises the system where no joint changes a residual row
MAX_JOINT_STEP = 1.0  # [rad, chain sizes] maximum joint motion of one step


class GoalPolishWorkspace(NamedTuple):
    """Workspace of a polish for all goals."""

    trial_x: Any  # (m, 4) motions after the step
    origins: Any  # (m, 4) origins of links
    rotations: Any  # (m, 4) rotations of links
    steps: Any  # (m, 4) polish step of each link
    jacobian: Any  # (3 m, MAX_RESIDUAL_ROWS) Jacobian, a row per degree of freedom
    normal_matrix: Any  # (MAX_RESIDUAL_ROWS, MAX_RESIDUAL_ROWS) normal matrix
    work_vectors: Any  # (3, MAX_RESIDUAL_ROWS) residual, reciprocal pivots, multipliers


@inline
def write_rows(numbers, column, weight, v):
    """Write three weighted numbers."""
    numbers[column], numbers[column + 1], numbers[column + 2] = weight * v.x, weight * v.y, weight * v.z


@inline
def compute_error_vector(error):
    """Compute 2 sin(angle / 2) along a rotation's axis."""
    return Vec(2.0 * error.x, 2.0 * error.y, 2.0 * error.z)


@inline
def write_residual(current_tip, target, weights, e):
    """Write the weighted residual rows; return their number."""
    row_count = 0
    if weights.point > 0.0:
        write_rows(e, row_count, math.sqrt(weights.point), sub(target.point, current_tip.point))
        row_count += 3
    if weights.rotation > 0.0:
        write_rows(
            e,
            row_count,
            math.sqrt(weights.rotation),
            compute_error_vector(compute_rotation_error(current_tip.rotation, target.rotation)),
        )
        row_count += 3
    if weights.direction > 0.0:
        write_rows(
            e,
            row_count,
            math.sqrt(weights.direction),
            compute_error_vector(rotation_between(current_tip.direction, target.direction)),
        )
        row_count += 3
    return row_count


@inline
def write_column(column, is_rotation, axis, lever, current_tip, weights):
    """Write the residual's derivative by one degree of freedom. It rotates about `axis` or moves along it."""
    row = 0
    if weights.point > 0.0:
        write_rows(column, row, math.sqrt(weights.point), cross(axis, lever) if is_rotation else axis)
        row += 3
    if weights.rotation > 0.0:
        write_rows(column, row, math.sqrt(weights.rotation) if is_rotation else 0.0, axis)
        row += 3
    if weights.direction > 0.0:
        perpendicular = sub(axis, scale(current_tip.direction, dot(current_tip.direction, axis)))
        write_rows(column, row, math.sqrt(weights.direction) if is_rotation else 0.0, perpendicular)


@inline
def basis_vector(j):
    """Return the j-th axis of a frame."""
    return Vec(1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)


@inline
def count_dofs(link_kind):
    """Return the number of columns of a link."""
    return 3 if link_kind == BALL or link_kind == MOVE else 1


@inline
def find_dof_axis(link_kind, axis, rotation, j):
    """Return the base-frame axis of column j. The link rotates about it or moves along it; balls use the base axes."""
    if link_kind == BALL:
        return basis_vector(j)
    if link_kind == MOVE:
        return rotate(rotation, basis_vector(j))
    if link_kind == SLIDE:
        length = norm(axis)
        axis = scale(axis, 1.0 / length if length > 0.0 else 0.0)
    return rotate(rotation, axis)


@inline
def build_system(chain, current_tip, weights, row_count, x, workspace):
    """Build the columns and J W J^T, lower triangle."""
    normal_matrix, jacobian, e = workspace.normal_matrix, workspace.jacobian, workspace.work_vectors[0]
    for row in range(row_count):
        for column_row in range(row + 1):
            normal_matrix[row, column_row] = 0.0
    for i in range(chain.link_kinds.shape[0]):
        joint, rotation = read_joint(chain, i), read_quat(workspace.rotations, i)
        lever = sub(current_tip.point, read_vec(workspace.origins, i))
        is_rotation = joint.link_kind == BALL or joint.link_kind == HINGE
        for j in range(count_dofs(joint.link_kind)):
            column, joint_weight = jacobian[3 * i + j], chain.joint_weights[i]
            axis = find_dof_axis(joint.link_kind, joint.axis, rotation, j)
            write_column(column, is_rotation, axis, lever, current_tip, weights)
            push = 0.0
            for row in range(row_count):
                push += column[row] * e[row]
            if (joint.link_kind == HINGE or joint.link_kind == SLIDE) and is_blocked(joint, x[i, 0], push):
                joint_weight = 0.0
            for row in range(row_count):
                # W in one of the two factors only; a blocked joint has weight 0 and an empty column, so that it does
                # not move.
                weighted_rate = joint_weight * column[row]
                for column_row in range(row + 1):
                    normal_matrix[row, column_row] += weighted_rate * column[column_row]
                column[row] = column[row] if joint_weight > 0.0 else 0.0


@inline
def compute_dof_step(chain, i, j, workspace, row_count):
    """Compute the step of column j of link i."""
    y, column, step = workspace.work_vectors[2], workspace.jacobian[3 * i + j], 0.0
    for r in range(row_count):
        step += column[r] * y[r]
    return chain.joint_weights[i] * step


@inline
def apply_goal_step(chain, workspace, row_count, max_step, x):
    """Write the motions after the step to workspace.trial_x, inside limits.

    The step is shortened as a whole so that nothing moves farther than `max_step` [rad, chain sizes].
    """
    max_link_step, trial_x = 0.0, workspace.trial_x
    for i in range(chain.link_kinds.shape[0]):
        step = Vec(0.0, 0.0, 0.0)
        if count_dofs(chain.link_kinds[i]) > 1:
            step = Vec(
                compute_dof_step(chain, i, 0, workspace, row_count),
                compute_dof_step(chain, i, 1, workspace, row_count),
                compute_dof_step(chain, i, 2, workspace, row_count),
            )
        else:
            step = Vec(compute_dof_step(chain, i, 0, workspace, row_count), 0.0, 0.0)
        max_link_step = max(max_link_step, norm(step))
        write_vec(workspace.steps, i, step)
    # Scaled as a whole: limiting each joint separately would change the direction of the step.
    step_factor = 1.0 if max_link_step <= max_step else max_step / max_link_step
    for i in range(chain.link_kinds.shape[0]):
        joint, step = read_joint(chain, i), scale(read_vec(workspace.steps, i), step_factor)
        write_quat(trial_x, i, read_quat(x, i))
        if joint.link_kind == BALL:
            step = rotate(conjugate(read_quat(workspace.rotations, i)), step)
            unclamped_rotation = normalise(multiply(make_unscaled_rotation(step), read_quat(x, i)))
            write_quat(trial_x, i, clamp_rotation(joint.limit, unclamped_rotation))
        elif joint.link_kind == MOVE:
            write_vec(trial_x, i, add(read_vec(x, i), step))
        else:
            length = norm(joint.axis) if joint.link_kind == SLIDE else 1.0
            if length > 0.0:
                trial_x[i, 0] = clamp(x[i, 0] + step.x / length, joint.low, joint.high)


@inline
def polish_goals(chain, target, options, damping, x, workspace):
    """Take one damped step if it lowers the error. workspace: see `GoalPolishWorkspace`."""
    weights, work_vectors = options.weights, workspace.work_vectors
    current_tip = store_frames_and_tip(chain, x, workspace.origins, workspace.rotations)
    squared_error = compute_squared_error(current_tip, target, weights)
    row_count = write_residual(current_tip, target, weights, work_vectors[0])
    build_system(chain, current_tip, weights, row_count, x, workspace)
    for r in range(row_count):
        # Damping in proportion to the squared error: none at the goal, where Gauss-Newton converges quadratically.
        workspace.normal_matrix[r, r] += damping * squared_error + REGULARIZATION
    factor_ldl(workspace.normal_matrix, work_vectors[1], row_count)
    solve_ldl(workspace.normal_matrix, work_vectors[1], work_vectors[0], work_vectors[2], row_count)
    apply_goal_step(chain, workspace, row_count, min(options.max_rotation, MAX_JOINT_STEP), x)
    new_tip = store_frames_and_tip(chain, workspace.trial_x, workspace.origins, workspace.rotations)
    if compute_squared_error(new_tip, target, weights) < squared_error:
        copy_motions(workspace.trial_x, x)
