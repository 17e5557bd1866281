"""Gauss-Newton polish of chains: position goals (3 x 3) and all goals of one joint.

Damped steps of all joints at once, where sweeps from joint to joint converge slowly.

Sweeps come near a target in a few iterations, but their final convergence is slow. The step is
x += J^T (J J^T + l I)^-1 e with l = caution |e|^2 (Levenberg-Marquardt in its dual form; Chan and Lawrence, ICRA 1988,
for the damping). With a position goal the system is 3 x 3 for any chain length, and a ball joint needs no columns: its
three together give J J^T = h.h I - h h^T, h from the joint to the tip. A step that does not lower the error is
rejected; more caution makes a shorter one, nearer to steepest descent.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.kernels.chain_kinematics import (
    compute_rotation_error,
    compute_squared_error,
    compute_tip_and_frames,
    compute_tip_position,
    copy_motions,
    record_trace,
    store_frames,
)
from poise.kernels.jit import device_function, inline
from poise.kernels.layout import BALL, HINGE, MOVE, SLIDE
from poise.kernels.limits import clamp, clamp_rotation
from poise.kernels.matrices import factor_ldl, solve_ldl
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

MIN_CAUTION = 0.04  # minimum and initial l / |e|^2
CAUTION_DECAY, CAUTION_GROWTH = 0.1, 10.0  # factors of the caution after a successful step and a failed one
MAX_CAUTION = 1e9  # caution of steps too short for progress: the polish ends
DAMPING_FLOOR = 1e-14  # fraction of the trace: regularises the system where no joint moves the tip in some direction
WALL_TOLERANCE_RAD = 1e-12  # [rad] a limit correcting a ball by less is not counted as a wall
STEP_PASSES = 2  # passes of a step: one meets walls, one follows them
STALL_SHARE = 1e-2  # fraction of the error: three consecutive smaller decreases end the polish


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
    reduced = a.yz - l20 * a.xy
    l21 = reduced / d1
    d2 = a.zz + damping - l20 * a.xz - l21 * reduced
    y1 = e.y - l10 * e.x
    z = (e.z - l20 * e.x - l21 * y1) / d2
    y = y1 / d1 - l21 * z
    return Vec(e.x / d0 - l10 * y - l20 * z, y, z)


@inline
def compute_column(kind, axis, h, rotation):
    """Compute the Jacobian column of a hinge or slide.

    It is the tip's motion in the base frame, per radian of a hinge, or per length of a slide whatever its unit.
    """
    axis = rotate(rotation, axis)
    return cross(axis, h) if kind == HINGE else scale(axis, 1.0 / norm(axis))


@inline
def is_blocked(ranges, x, i, push):
    """Return whether a limit blocks hinge or slide i. It stands at an end of its range and is pushed out of it."""
    return (x[i, 0] <= ranges[i, 0] and push < 0.0) or (x[i, 0] >= ranges[i, 1] and push > 0.0)


@inline
def build_normal_matrix(kinds, axes, ranges, x, tip_at, e, origins, rotations, walls):
    """Build J J^T without blocked columns. Rotations of a ball about its wall's normal are removed."""
    a = Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for i in range(kinds.shape[0]):
        h = sub(tip_at, read_vec(origins, i))
        if kinds[i] == BALL:
            wall = rotate(read_quat(rotations, i), read_vec(walls, i))
            # Rotations about the normal of a wall are blocked: that direction is removed from the three.
            a = subtract_rank1(add_ball(a, h), cross(wall, h))
        elif kinds[i] == MOVE:
            a = Sym3(a.xx + 1.0, a.yy + 1.0, a.zz + 1.0, a.xy, a.xz, a.yz)
        else:
            column = compute_column(kinds[i], read_vec(axes, i), h, read_quat(rotations, i))
            # Blocked values are left out, so that the others make the whole step, see `apply_damped_step` in
            # kernels/arm_lm.py.
            if not is_blocked(ranges, x, i, dot(column, e)):
                a = add_rank1(a, column)
    return a


@inline
def make_small_rotation(v):
    """Make the rotation about v by 2 atan(|v| / 2). Nearly |v|, and never more than half a turn."""
    return normalise(Quat(1.0, 0.5 * v.x, 0.5 * v.y, 0.5 * v.z))


@inline
def step_ball(limit, x, i, step, walls, trial):
    """Step ball i, clamped to its limit. Returns whether it met a new wall.

    A wall is the limit linearised near a ball: its normal, in the link's frame, is the blocked direction of the step.
    """
    wall = read_vec(walls, i)
    step = sub(step, scale(wall, dot(wall, step)))
    q = read_quat(x, i)
    unclamped = normalise(multiply(make_small_rotation(step), q))
    # The step already runs along known walls; it is still clamped, because limits are curved.
    clamped = clamp_rotation(limit, unclamped)
    write_quat(trial, i, clamped)
    if dot(wall, wall) > 0.0 or (clamped.w == unclamped.w and clamped.x == unclamped.x and clamped.y == unclamped.y):
        return False
    excess = multiply(unclamped, conjugate(clamped))
    normal = Vec(excess.x, excess.y, excess.z)
    if not norm(normal) > WALL_TOLERANCE_RAD:
        return False
    write_vec(walls, i, scale(normal, 1.0 / norm(normal)))
    return True


@inline
def write_step(kinds, axes, ranges, limits, x, tip_at, e, y, origins, rotations, walls, trial):
    """Write the motions after the step J^T y. Returns whether it met new walls."""
    met_wall = False
    for i in range(kinds.shape[0]):
        h, rotation = sub(tip_at, read_vec(origins, i)), read_quat(rotations, i)
        if kinds[i] == BALL:
            step = rotate(conjugate(rotation), cross(h, y))
            met_wall = step_ball(limits[i], x, i, step, walls, trial) or met_wall
        elif kinds[i] == MOVE:
            write_vec(trial, i, add(read_vec(x, i), rotate(conjugate(rotation), y)))
        else:
            column = compute_column(kinds[i], read_vec(axes, i), h, rotation)
            is_at_limit = is_blocked(ranges, x, i, dot(column, e))
            step = 0.0 if is_at_limit else dot(column, y)
            if kinds[i] == SLIDE:
                step /= norm(read_vec(axes, i))
            trial[i, 0] = clamp(x[i, 0] + step, ranges[i, 0], ranges[i, 1])
    return met_wall


@inline
def take_damped_step(kinds, axes, ranges, limits, x, tip_at, e, caution, origins, rotations, walls, trial):
    """Write the motions after a damped step. Where balls meet walls, the step is repeated along them."""
    for i in range(kinds.shape[0]):
        write_vec(walls, i, Vec(0.0, 0.0, 0.0))
    for _ in range(STEP_PASSES):
        a = build_normal_matrix(kinds, axes, ranges, x, tip_at, e, origins, rotations, walls)
        damping = caution * dot(e, e) + DAMPING_FLOOR * (a.xx + a.yy + a.zz)
        # No joint moves the tip, or the error is NaN.
        if not damping > 0.0:
            return False
        y = solve_sym3(a, damping, e)
        if not write_step(kinds, axes, ranges, limits, x, tip_at, e, y, origins, rotations, walls, trial):
            break
    return True


@device_function
def polish_position(
    kinds, axes, ranges, limits, frames, tip, target, tolerance, max_iterations, x, count, trial, origins, rotations,
    walls,
    trace_x, trace_error,
):  # fmt: skip
    """Polish until the tip is within tolerance.

    Ends also after `max_iterations` iterations, or when steps reduce the error little.

    x becomes the best motions; returns their error. count: iterations and single joint updates, increased, also by
    rejected steps. Each joint must start inside its limits, and stays there.
    """
    tip_at = store_frames(kinds, axes, frames, tip, x, origins, rotations)
    e = sub(target, tip_at)
    error, caution, slow_steps = norm(e), MIN_CAUTION, 0
    while count[0] < max_iterations and error > tolerance and slow_steps < 3 and caution < MAX_CAUTION:
        if not take_damped_step(kinds, axes, ranges, limits, x, tip_at, e, caution, origins, rotations, walls, trial):
            break
        new_error = norm(sub(target, compute_tip_position(kinds, axes, frames, tip, trial)))
        count[0] += 1
        count[1] += kinds.shape[0]
        if new_error < error:
            slow_steps = slow_steps + 1 if error - new_error <= STALL_SHARE * error else 0
            # Reduce the damping by factors of ten, not at once: after one failed step the next ones may fail.
            error, caution = new_error, max(MIN_CAUTION, CAUTION_DECAY * caution)
            copy_motions(trial, x)
            tip_at = store_frames(kinds, axes, frames, tip, x, origins, rotations)
            e = sub(target, tip_at)
        else:
            caution *= CAUTION_GROWTH
        record_trace(trace_x, trace_error, count[0], x, error)
    return error


# --- Gauss-Newton polish of all goals --------------------------------------------------------------------------------
#
# Damped steps of all joints at once end a slow coordinate descent.
#
# dx = W J^T (J W J^T + l I)^-1 e with up to nine rows: point, rotation and direction (chain_kinematics.py). W holds the
# joint weights. Values pushed against a limit by the gradient are left out; the result is clamped to the limits.
# Levenberg, Q. Appl. Math. 2, 1944; in its dual form Nakamura and Hanafusa, J. Dyn. Sys. 108, 1986.


REGULARIZATION = 1e-13  # regularises the system where no joint changes a residual row
MAX_JOINT_STEP = 1.0  # [rad, chain sizes] maximum joint motion of one step


@inline
def write_rows(row, first, weight, v):
    """Write three weighted numbers."""
    row[first], row[first + 1], row[first + 2] = weight * v.x, weight * v.y, weight * v.z


@inline
def compute_error_vector(error):
    """Compute 2 sin(angle / 2) along a rotation's axis."""
    return Vec(2.0 * error.x, 2.0 * error.y, 2.0 * error.z)


@inline
def write_residual(current, target, weights, e):
    """Write the weighted residual rows; return their number."""
    rows = 0
    if weights.point > 0.0:
        write_rows(e, rows, math.sqrt(weights.point), sub(target.point, current.point))
        rows += 3
    if weights.turn > 0.0:
        write_rows(
            e, rows, math.sqrt(weights.turn), compute_error_vector(compute_rotation_error(current.turn, target.turn))
        )
        rows += 3
    if weights.axis > 0.0:
        write_rows(e, rows, math.sqrt(weights.axis), compute_error_vector(rotation_between(current.axis, target.axis)))
        rows += 3
    return rows


@inline
def write_column(column, is_rotation, axis, lever, current, weights):
    """Write the residual's derivative by one degree of freedom. It rotates about `axis` or moves along it."""
    rows = 0
    if weights.point > 0.0:
        write_rows(column, rows, math.sqrt(weights.point), cross(axis, lever) if is_rotation else axis)
        rows += 3
    if weights.turn > 0.0:
        write_rows(column, rows, math.sqrt(weights.turn) if is_rotation else 0.0, axis)
        rows += 3
    if weights.axis > 0.0:
        perpendicular = sub(axis, scale(current.axis, dot(current.axis, axis)))
        write_rows(column, rows, math.sqrt(weights.axis) if is_rotation else 0.0, perpendicular)


@inline
def basis_vector(j):
    """Return the j-th axis of a frame."""
    return Vec(1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)


@inline
def count_dofs(kind):
    """Return the number of columns of a link."""
    return 3 if kind == BALL or kind == MOVE else 1


@inline
def find_dof_axis(kind, axis, rotation, j):
    """Return the base-frame axis of column j. The link rotates about it or moves along it; balls use the base axes."""
    if kind == BALL:
        return basis_vector(j)
    if kind == MOVE:
        return rotate(rotation, basis_vector(j))
    if kind == SLIDE:
        length = norm(axis)
        axis = scale(axis, 1.0 / length if length > 0.0 else 0.0)
    return rotate(rotation, axis)


@inline
def is_blocked_by_limit(kind, value, low, high, push):
    """Return whether the gradient pushes a value out of its range."""
    return (kind == HINGE or kind == SLIDE) and ((value <= low and push < 0.0) or (value >= high and push > 0.0))


@inline
def build_system(links, current, weights, rows, x, workspace):
    """Build the columns and J W J^T, lower triangle."""
    normal, columns, e = workspace.normal, workspace.columns, workspace.vectors[0]
    for r in range(rows):
        for s in range(r + 1):
            normal[r, s] = 0.0
    for i in range(links.kinds.shape[0]):
        kind, rotation = links.kinds[i], read_quat(workspace.rotations, i)
        lever = sub(current.point, read_vec(workspace.origins, i))
        is_rotation = kind == BALL or kind == HINGE
        for j in range(count_dofs(kind)):
            column, joint_weight = columns[3 * i + j], links.ease[i]
            write_column(
                column, is_rotation, find_dof_axis(kind, read_vec(links.axes, i), rotation, j), lever, current, weights
            )
            push = 0.0
            for r in range(rows):
                push += column[r] * e[r]
            if is_blocked_by_limit(kind, x[i, 0], links.ranges[i, 0], links.ranges[i, 1], push):
                joint_weight = 0.0
            for r in range(rows):
                # W in one of the two factors only; a blocked joint has weight 0 and an empty column, so that it does
                # not move.
                weighted = joint_weight * column[r]
                for s in range(r + 1):
                    normal[r, s] += weighted * column[s]
                column[r] = column[r] if joint_weight > 0.0 else 0.0


@inline
def compute_dof_step(links, i, j, workspace, rows):
    """Compute the step of column j of link i."""
    y, column, step = workspace.vectors[3], workspace.columns[3 * i + j], 0.0
    for r in range(rows):
        step += column[r] * y[r]
    return links.ease[i] * step


@inline
def apply_goal_step(links, workspace, rows, max_step, x, destination):
    """Apply the step, with limits. It is shortened as a whole so that nothing moves farther than `max_step`."""
    largest = 0.0
    for i in range(links.kinds.shape[0]):
        step = Vec(0.0, 0.0, 0.0)
        if count_dofs(links.kinds[i]) > 1:
            step = Vec(
                compute_dof_step(links, i, 0, workspace, rows),
                compute_dof_step(links, i, 1, workspace, rows),
                compute_dof_step(links, i, 2, workspace, rows),
            )
        else:
            step = Vec(compute_dof_step(links, i, 0, workspace, rows), 0.0, 0.0)
        largest = max(largest, norm(step))
        workspace.steps[i, 0], workspace.steps[i, 1], workspace.steps[i, 2] = step.x, step.y, step.z
    # Scaled as a whole: limiting each joint separately would change the direction of the step.
    share = 1.0 if largest <= max_step else max_step / largest
    for i in range(links.kinds.shape[0]):
        kind, step = links.kinds[i], scale(read_vec(workspace.steps, i), share)
        write_quat(destination, i, read_quat(x, i))
        if kind == BALL:
            step = rotate(conjugate(read_quat(workspace.rotations, i)), scale(step, 0.5))
            # A rotation by 2 atan(|step|): at most half a turn, and equal to the exponential map to second order.
            rotated = normalise(multiply(Quat(1.0, step.x, step.y, step.z), read_quat(x, i)))
            write_quat(destination, i, clamp_rotation(links.limits[i], rotated))
        elif kind == MOVE:
            destination[i, 0], destination[i, 1], destination[i, 2] = (
                x[i, 0] + step.x,
                x[i, 1] + step.y,
                x[i, 2] + step.z,
            )
        else:
            length = norm(read_vec(links.axes, i)) if kind == SLIDE else 1.0
            if length > 0.0:
                destination[i, 0] = clamp(x[i, 0] + step.x / length, links.ranges[i, 0], links.ranges[i, 1])


@inline
def polish_goals(links, tip, target, weights, max_turn, damping, x, trial, workspace):
    """Take one damped step if it lowers the error; return the error."""
    current = compute_tip_and_frames(links, tip, x, workspace.origins, workspace.rotations)
    error = compute_squared_error(current, target, weights)
    rows = write_residual(current, target, weights, workspace.vectors[0])
    build_system(links, current, weights, rows, x, workspace)
    for r in range(rows):
        # Damping in proportion to the squared error: none at the goal, where Gauss-Newton converges quadratically.
        workspace.normal[r, r] += damping * error + REGULARIZATION
    factor_ldl(workspace.normal, workspace.vectors[1], rows)
    solve_ldl(workspace.normal, workspace.vectors[1], workspace.vectors[0], workspace.vectors[3], rows)
    apply_goal_step(links, workspace, rows, min(max_turn, MAX_JOINT_STEP), x, trial)
    new_error = compute_squared_error(
        compute_tip_and_frames(links, tip, trial, workspace.origins, workspace.rotations), target, weights
    )
    if new_error < error:
        copy_motions(trial, x)
        return math.sqrt(new_error)
    return math.sqrt(error)
