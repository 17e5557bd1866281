# pyright: standard
"""Forward kinematics, residual and damped step of a packed tree.

It has hinges, slides, balls and moves, and any number of goals.

The step is Levenberg and Marquardt's in its dual form,

    delta = S J^T y + b,  (J S J^T + damping I) y = e - J b

The system has one row per row of the goals, for any number of joints. S is the ease of the dofs (inverse stiffness). b
is a step towards a preferred configuration; the system compensates its effect on the goals, so preferences never
compete with goals. As for serial arms (kernels/arm/serial.py) the damping follows the squared error, and dofs pushed
out of a limit are frozen.
"""

from __future__ import annotations

import math

from poise.kernels.codes import (
    AIM,
    AIM_TOLERANCE,
    AIM_WEIGHT,
    BALL,
    DOF_EASE,
    DOF_HIGH,
    DOF_LOW,
    DOF_NUMBER,
    FIXED,
    HINGE,
    LIMIT_BOUNDS,
    LIMIT_KIND,
    LIMIT_SOFT,
    MOVE,
    NO_LIMIT,
    NODE_AT,
    NODE_DOF,
    NODE_MOTION,
    NODE_PARENT,
    POLE,
    POSITION,
    RANGE,
    ROTATION,
    SLIDE,
    TERM_KIND,
)
from poise.kernels.compiled import inline, part
from poise.kernels.limits.closed_ways import closed_ways
from poise.kernels.limits.rotations import binds, is_free, nearest_turn
from poise.kernels.tree.arrays import PULLING
from poise.kernels.tree.goal_rows import aim, direction, pole, position, rotation
from poise.kernels.values.axes import first_axis, second_axis, third_axis, turned_about_z
from poise.kernels.values.lanes import fill, half_turn, lane, maximum, minimum, select, sqrt, width, with_lane
from poise.kernels.values.linear import (
    Quat,
    Vec,
    add,
    conjugate,
    dot,
    multiply,
    put_quat,
    put_vec,
    quat_at,
    quat_in,
    rotate,
    scale,
    sub,
    vec_at,
    vec_in,
)

# --- forward kinematics ------------------------------------------------------------------------------------------


@part
def forward(tree, lanes):
    """Compute positions, rotations and motion axes of all nodes at lanes.u."""
    for i in range(tree.nodes.shape[0]):
        parent, motion, at = tree.nodes[i, NODE_PARENT], tree.nodes[i, NODE_MOTION], tree.nodes[i, NODE_AT]
        frame = lanes.frames[i]
        place, turn = vec_in(frame, 0), quat_in(frame, 3)
        # Parents come first, so one loop is enough; the frame of a root is in the base frame already.
        if parent >= 0:
            before = quat_at(lanes.rotations, parent)
            place = add(vec_at(lanes.positions, parent), rotate(before, place))
            turn = multiply(before, turn)
        if motion == HINGE or motion == SLIDE:
            # Motions are about or along z of the node's frame, by the choice of frames in packing.
            axis, ratio = third_axis(turn), frame[7]
            value = ratio * lanes.u[at] + frame[8]
            # Rate per unit of the node's number in u: a coupled joint moves by its ratio.
            put_vec(lanes.axes, 3 * i, scale(axis, ratio))
            if motion == HINGE:
                s, c = half_turn(value)
                turn = turned_about_z(turn, s, c)
            else:
                place = add(place, scale(axis, value))
        elif motion != FIXED:
            put_vec(lanes.axes, 3 * i, first_axis(turn))
            put_vec(lanes.axes, 3 * i + 1, second_axis(turn))
            put_vec(lanes.axes, 3 * i + 2, third_axis(turn))
            if motion == BALL:
                turn = multiply(turn, quat_in(lanes.u, at))
            else:
                place = add(place, rotate(turn, vec_in(lanes.u, at)))
        put_vec(lanes.positions, i, place)
        put_quat(lanes.rotations, i, turn)


# --- residual and Jacobian ----------------------------------------------------------------------------------------


@inline
def sight(tree, limits, lanes, t):
    """Write the rows of an AIM or DIRECTION term."""
    if limits is None:
        return tree.aims[t, AIM_WEIGHT] * lanes.e[0]  # never executed: a plain tree has no such terms
    if tree.terms[t, TERM_KIND] == AIM:
        return aim.put(tree, lanes, t)
    return direction.put(tree, lanes, t)


@part
def residuals(kind, tree, limits, lanes):
    """Fill e and J from the placed nodes. Returns the squared error, weighted, and whether every term is met.

    A plain tree (limits is None) has no terms of AIM and DIRECTION.
    """
    zero = fill(kind, 0.0)
    for d in range(tree.row_ranges.shape[0]):
        for r in range(tree.row_ranges[d, 0], tree.row_ranges[d, 1]):
            # Terms add their rates, because coupled nodes share a dof. Only rows in a dof's range are ever read.
            lanes.J[d, r] = zero
    error, met = zero, zero <= 0.0
    for t in range(tree.terms.shape[0]):
        if tree.terms[t, TERM_KIND] == POSITION:
            square = position.put(tree, lanes, t)
        elif tree.terms[t, TERM_KIND] == ROTATION:
            square = rotation.put(tree, lanes, t)
        elif tree.terms[t, TERM_KIND] == POLE:
            square = pole.put(tree, lanes, t)
        else:
            square = sight(tree, limits, lanes, t)
        # Tolerances apply without weights, the step with them: a goal of low weight must be met too.
        error = error + square * (tree.aims[t, AIM_WEIGHT] * tree.aims[t, AIM_WEIGHT])
        met = met & (square <= tree.aims[t, AIM_TOLERANCE])
    return error, met


@part
def pull_near(kind, tree, lanes):
    """Fill pull with steps towards the preferred configuration. Each is the lane's share of the whole difference."""
    zero, share = fill(kind, 0.0), lanes.book[PULLING]
    for d in range(tree.dofs.shape[0]):
        # Dofs of balls and moves have no number of their own in u; they follow below.
        lanes.pull[d] = zero
        at = int(tree.dofs[d, DOF_NUMBER])
        if at >= 0:
            lanes.pull[d] = (tree.near_u[at] - lanes.u[at]) * minimum(share * tree.near_on[d], zero + 1.0)
    for i in range(tree.nodes.shape[0]):
        motion, at, dof = tree.nodes[i, NODE_MOTION], tree.nodes[i, NODE_AT], tree.nodes[i, NODE_DOF]
        if motion == BALL:
            left = multiply(quat_in(tree.near_u, at), conjugate(quat_in(lanes.u, at)))
            # The shorter arc. Twice the vector part is the rotation vector, as in the residual of a rotation.
            k = select(left.w < 0.0, zero - 2.0, zero + 2.0) * minimum(share * tree.near_on[dof], zero + 1.0)
            lanes.pull[dof], lanes.pull[dof + 1], lanes.pull[dof + 2] = k * left.x, k * left.y, k * left.z
        elif motion == MOVE:
            k = minimum(share * tree.near_on[dof], zero + 1.0)
            for c in range(3):
                lanes.pull[dof + c] = (tree.near_u[at + c] - lanes.u[at + c]) * k


@part
def pull_inside(kind, tree, limits, lanes):
    """Add steps towards the soft limits to pull. They use the same share, times the limits' weights."""
    if limits is None:
        return
    zero, share = fill(kind, 0.0), lanes.book[PULLING]
    for i in range(tree.nodes.shape[0]):
        limit = limits[i]
        if limit[LIMIT_SOFT] == 0.0 or limit[LIMIT_KIND] == NO_LIMIT:
            continue
        at, dof = tree.nodes[i, NODE_AT], tree.nodes[i, NODE_DOF]
        k = minimum(share * limit[LIMIT_SOFT], zero + 1.0)
        if limit[LIMIT_KIND] == RANGE:
            # No pull inside the soft range.
            inside = minimum(maximum(lanes.u[at], zero + limit[LIMIT_BOUNDS]), zero + limit[LIMIT_BOUNDS + 1])
            lanes.pull[dof] = lanes.pull[dof] + (inside - lanes.u[at]) * k
            continue
        u = quat_in(lanes.u, at)
        x, y, z = zero, zero, zero
        for l in range(width(kind)):
            # Limits of balls branch, so lanes are handled one by one.
            q = Quat(lane(u.w, l), lane(u.x, l), lane(u.y, l), lane(u.z, l))
            left = multiply(nearest_turn(limit, q), conjugate(q))
            x, y, z = with_lane(x, l, 2.0 * left.x), with_lane(y, l, 2.0 * left.y), with_lane(z, l, 2.0 * left.z)
        lanes.pull[dof], lanes.pull[dof + 1] = lanes.pull[dof] + k * x, lanes.pull[dof + 1] + k * y
        lanes.pull[dof + 2] = lanes.pull[dof + 2] + k * z


# --- the step ----------------------------------------------------------------------------------------------------


@inline
def along(kind, tree, J, d, y):
    """Multiply row d of J by y (m,)."""
    total = fill(kind, 0.0)
    for r in range(tree.row_ranges[d, 0], tree.row_ranges[d, 1]):
        total = total + J[d, r] * y[r]
    return total


@inline
def pushed(kind, tree, lanes, d, near):
    """Compute the push of a dof; its sign matters.

    Without a preferred configuration it is the gradient J e; with one it is the step from the last multipliers y,
    because near the goal e vanishes.
    """
    push = along(kind, tree, lanes.J, d, lanes.e)
    if near:
        # y of the previous iteration is nearly right and known before this one is solved.
        step = lanes.pull[d] + tree.dofs[d, DOF_EASE] * along(kind, tree, lanes.J, d, lanes.y)
        push = select(lanes.book[PULLING] > 0.0, step, push)
    return push


@part
def freeze(kind, tree, lanes, near):
    """Freeze dofs at their limits and scale J by the ease.

    Rows of dofs held at a limit become zero, all others are multiplied by the root of the ease; also fill rest.

    A dof at a limit is frozen if it is pushed outwards.
    """
    zero = fill(kind, 0.0)
    for r in range(lanes.e.shape[0]):
        lanes.rest[r] = lanes.e[r]
    for d in range(tree.dofs.shape[0]):
        first, last = tree.row_ranges[d, 0], tree.row_ranges[d, 1]
        at, ease = int(tree.dofs[d, DOF_NUMBER]), tree.dofs[d, DOF_EASE]
        if at >= 0:
            push = pushed(kind, tree, lanes, d, near)
            low, high = lanes.u[at] <= tree.dofs[d, DOF_LOW], lanes.u[at] >= tree.dofs[d, DOF_HIGH]
            free = select((low & (push < 0.0)) | (high & (push > 0.0)), zero, zero + 1.0)
            for r in range(first, last):
                # A frozen dof has no part in the goals' step and no pull.
                lanes.J[d, r] = lanes.J[d, r] * free
            if near:
                lanes.pull[d] = lanes.pull[d] * free
        if near:
            for r in range(first, last):
                # The goals compensate the effect of the pull. This needs the unscaled J, before the ease.
                lanes.rest[r] = lanes.rest[r] - lanes.J[d, r] * lanes.pull[d]
        if ease != 1.0:
            for r in range(first, last):
                # J S J^T is the product of the scaled rows with themselves, so `build_normal_matrix` does not need S.
                lanes.J[d, r] = lanes.J[d, r] * math.sqrt(ease)


@part
def all_free(kind, tree, limits, lanes, i):
    """Return whether node i's ball is clearly inside its limit everywhere."""
    u = quat_in(lanes.u, tree.nodes[i, NODE_AT])
    for l in range(width(kind)):
        if not is_free(limits[i], Quat(lane(u.w, l), lane(u.x, l), lane(u.y, l), lane(u.z, l))):
            return False
    return True


@part
def freeze_turns(kind, tree, limits, lanes, near):
    """Remove outward motion of limited balls from J. Call it before `freeze_dofs`, the counterpart for other dofs."""
    if limits is None:
        return
    zero = fill(kind, 0.0)
    for i in range(tree.nodes.shape[0]):
        # Most balls are inside their limits most of the time; this check needs no angle.
        if not binds(limits[i]) or all_free(kind, tree, limits, lanes, i):
            continue
        at, dof = tree.nodes[i, NODE_AT], tree.nodes[i, NODE_DOF]
        x, y = pushed(kind, tree, lanes, dof, near), pushed(kind, tree, lanes, dof + 1, near)
        z = pushed(kind, tree, lanes, dof + 2, near)
        ax, ay, az, bx, by, bz, cx, cy, cz = zero, zero, zero, zero, zero, zero, zero, zero, zero
        for l in range(width(kind)):
            u = quat_in(lanes.u, at)
            q = Quat(lane(u.w, l), lane(u.x, l), lane(u.y, l), lane(u.z, l))
            # A ball at the edge of its cone may still move along it: only outward directions are blocked, at most
            # three.
            a, b, c = closed_ways(limits[i], q, Vec(lane(x, l), lane(y, l), lane(z, l)))
            ax, ay, az = with_lane(ax, l, a.x), with_lane(ay, l, a.y), with_lane(az, l, a.z)
            bx, by, bz = with_lane(bx, l, b.x), with_lane(by, l, b.y), with_lane(bz, l, b.z)
            cx, cy, cz = with_lane(cx, l, c.x), with_lane(cy, l, c.y), with_lane(cz, l, c.z)
        a, b, c = Vec(ax, ay, az), Vec(bx, by, bz), Vec(cx, cy, cz)
        for r in range(tree.row_ranges[dof, 0], tree.row_ranges[dof, 1]):
            v = open_part(Vec(lanes.J[dof, r], lanes.J[dof + 1, r], lanes.J[dof + 2, r]), a, b, c)
            lanes.J[dof, r], lanes.J[dof + 1, r], lanes.J[dof + 2, r] = v.x, v.y, v.z
        if near:
            v = open_part(Vec(lanes.pull[dof], lanes.pull[dof + 1], lanes.pull[dof + 2]), a, b, c)
            lanes.pull[dof], lanes.pull[dof + 1], lanes.pull[dof + 2] = v.x, v.y, v.z


@inline
def open_part(v, a, b, c):
    """Remove components of v along perpendicular vectors. They have length one or zero."""
    return sub(v, add(scale(a, dot(a, v)), add(scale(b, dot(b, v)), scale(c, dot(c, v)))))


@inline
def add_block(J, d, end, r, k, A):
    """Add dofs d..end to block (r, k) of J J^T. A block is 3 x 3. The nine sums stay in registers."""
    a, b, c = A[r, k], A[r, k + 1], A[r, k + 2]
    f, g, h = A[r + 1, k], A[r + 1, k + 1], A[r + 1, k + 2]
    o, p, q = A[r + 2, k], A[r + 2, k + 1], A[r + 2, k + 2]
    # Nine sums at once in registers: every element of J is read once for three of them.
    for i in range(d, end):
        x, y, z = J[i, r], J[i, r + 1], J[i, r + 2]
        u, v, w = J[i, k], J[i, k + 1], J[i, k + 2]
        a, b, c = a + x * u, b + x * v, c + x * w
        f, g, h = f + y * u, g + y * v, h + y * w
        o, p, q = o + z * u, p + z * v, q + z * w
    A[r, k], A[r, k + 1], A[r, k + 2] = a, b, c
    A[r + 1, k], A[r + 1, k + 1], A[r + 1, k + 2] = f, g, h
    A[r + 2, k], A[r + 2, k + 1], A[r + 2, k + 2] = o, p, q


@part
def normal_matrix(kind, tree, lanes, damping):
    """Build A = J J^T + damping I.

    Only its lower triangle and diagonal blocks are filled, over the rows of each dof.
    """
    ranges, zero = tree.row_ranges, fill(kind, 0.0)
    # Only the lower triangle, but whole 3 x 3 blocks on the diagonal: `add_block` writes nine elements.
    for r in range(lanes.e.shape[0]):
        for k in range(r - r % 3 + 3):
            lanes.A[r, k] = zero
        lanes.A[r, r] = damping
    end = 0
    for d in range(ranges.shape[0]):
        if d < end:
            continue  # added already with an earlier dof of the same rows
        end = d + 1
        # Dofs of one branch are consecutive and have the same rows: add their blocks at once.
        while end < ranges.shape[0] and ranges[end, 0] == ranges[d, 0] and ranges[end, 1] == ranges[d, 1]:
            end += 1
        for r in range(ranges[d, 0], ranges[d, 1], 3):
            for k in range(ranges[d, 0], r + 3, 3):
                add_block(lanes.J, d, end, r, k, lanes.A)


@inline
def step_of(kind, tree, lanes, d, near):
    """Compute the step of a dof. It is sqrt(s) J y + b, with J scaled by sqrt(s) already."""
    step = along(kind, tree, lanes.J, d, lanes.y)
    if tree.dofs[d, DOF_EASE] != 1.0:
        step = step * math.sqrt(tree.dofs[d, DOF_EASE])
    return step + lanes.pull[d] if near else step


@part
def move(kind, tree, lanes, near):
    """Apply the step within the limits.

    Hinges and slides are clamped, balls become exp(delta) u. Returns the largest part of it.

    exp is approximated by (1, delta / 2) normalised, a rotation by 2 atan(|delta| / 2): equal to second order, without
    a sine, and below half a turn for any step.
    """
    most = fill(kind, 0.0)
    for d in range(tree.dofs.shape[0]):
        at = int(tree.dofs[d, DOF_NUMBER])
        if at >= 0:
            wanted = lanes.u[at] + step_of(kind, tree, lanes, d, near)
            # The change counts after clamping: a number held by its limit has converged.
            value = minimum(maximum(wanted, tree.dofs[d, DOF_LOW]), tree.dofs[d, DOF_HIGH])
            # In the metric of the step: a slide counts in rig lengths for any unit.
            moved = maximum(value - lanes.u[at], lanes.u[at] - value)
            if tree.dofs[d, DOF_EASE] != 1.0:
                moved = moved * (1.0 / math.sqrt(tree.dofs[d, DOF_EASE]))
            most = maximum(most, moved)
            lanes.u[at] = value
    for i in range(tree.nodes.shape[0]):
        motion, at, dof = tree.nodes[i, NODE_MOTION], tree.nodes[i, NODE_AT], tree.nodes[i, NODE_DOF]
        if motion == BALL or motion == MOVE:
            x, y = step_of(kind, tree, lanes, dof, near), step_of(kind, tree, lanes, dof + 1, near)
            z = step_of(kind, tree, lanes, dof + 2, near)
            most = maximum(most, maximum(maximum(maximum(x, -x), maximum(y, -y)), maximum(z, -z)))
            if motion == BALL:
                # On the left: the dofs of a ball rotate about the axes of its own frame.
                q = multiply(Quat(fill(kind, 1.0), 0.5 * x, 0.5 * y, 0.5 * z), quat_in(lanes.u, at))
                k = 1.0 / sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z)
                lanes.u[at], lanes.u[at + 1], lanes.u[at + 2], lanes.u[at + 3] = k * q.w, k * q.x, k * q.y, k * q.z
            else:
                p = add(vec_in(lanes.u, at), Vec(x, y, z))
                lanes.u[at], lanes.u[at + 1], lanes.u[at + 2] = p.x, p.y, p.z
    return most


# --- balls inside their limits -----------------------------------------------------------------------------------


@part
def has_bound_turns(limits):
    """Return whether a hard limit applies to any ball."""
    if limits is None:
        return False
    for i in range(limits.shape[0]):
        if binds(limits[i]):
            return True
    return False


@part
def keep_turns(tree, limits, u, w, l):
    """Clamp the balls of lane l to their limits. Number i of a lane is at u[i w + l]."""
    if limits is None:
        return
    for i in range(tree.nodes.shape[0]):
        if binds(limits[i]):
            j = tree.nodes[i, NODE_AT] * w + l
            q = nearest_turn(limits[i], Quat(u[j], u[j + w], u[j + 2 * w], u[j + 3 * w]))
            u[j], u[j + w], u[j + 2 * w], u[j + 3 * w] = q.w, q.x, q.y, q.z
