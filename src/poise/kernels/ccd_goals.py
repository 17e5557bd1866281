"""Cyclic coordinate descent for any goals of one joint. They respect stiffness, limits and roles.

The error of kernels/chain_kinematics.py, as a function of one hinge angle alone, is const - 2 [k21 cos phi + k3 sin
phi]:

    point      k21 = d.h - (d.a)(h.a)    k3 = a.(h x d)    tip h and target d from the joint, its axis a
    direction  the same for the two unit vectors
    rotation   k21 = w^2 - (a.v)^2       k3 = 2 w (a.v)    rotation error: (w, v)

each times its weight. The sum has its minimum at atan2(k3, k21). A stiffness mu, a cost mu A (1 - cos phi) with the
amplitude A, moves it to atan2(k3, k21 + mu A). For a ball joint the sum is q^T K q (kernels/matrices.py).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from poise.kernels import matrices
from poise.kernels.ccd_position import LAG_SHARE, MAX_HALVINGS, halve_rotation
from poise.kernels.chain_kinematics import (
    GoalWeights,
    WeightedChain,
    compute_motion,
    compute_rotation_error,
    compute_squared_error,
    compute_tip_in_base,
    is_met,
    read_link_offset,
    read_link_rotation,
    read_target,
    record_trace,
    to_local,
    to_parent,
    write_target,
)
from poise.kernels.chain_polish import polish_goals
from poise.kernels.chain_restarts import (
    bend_if_straight,
    clamp_balls,
    descend_with_restarts,
    store_if_best,
    store_initial,
)
from poise.kernels.jit import device_function, inline, kernel
from poise.kernels.layout import (
    BALL,
    BASE_FIRST,
    CHAIN_TARGET,
    HINGE,
    LIMIT_KIND,
    MIN_LEVERAGE,
    NO_LIMIT,
    SLIDE,
    WINDOW,
)
from poise.kernels.limits import cap_rotation, clamp, clamp_angle, clamp_rotation
from poise.kernels.vec_quat import (
    Vec,
    add,
    cross,
    dot,
    from_axis_angle,
    multiply,
    norm,
    normalise,
    read_quat,
    read_vec,
    rotation_between,
    scale,
    sub,
    write_quat,
    write_vec,
)

NO_TRANSLATION = Vec(0.0, 0.0, 0.0)  # no translation


@inline
def perpendicular_dot(axis, a, b):
    """Compute the part of a.b perpendicular to the axis."""
    return dot(a, b) - dot(a, axis) * dot(b, axis)


@inline
def compute_hinge_step(axis, value, low, high, joint_weight, max_turn, current, target, weights):
    """Compute the best hinge value in its range. `current` is the tip rotated by `value`."""
    rotation_error = compute_rotation_error(current.turn, target.turn)
    along = axis.x * rotation_error.x + axis.y * rotation_error.y + axis.z * rotation_error.z
    k21 = weights.point * perpendicular_dot(axis, target.point, current.point) + weights.axis * perpendicular_dot(
        axis, target.axis, current.axis
    )
    k3 = dot(
        axis,
        add(
            scale(cross(current.point, target.point), weights.point),
            scale(cross(current.axis, target.axis), weights.axis),
        ),
    )
    k21 += weights.turn * (rotation_error.w * rotation_error.w - along * along)
    k3 += weights.turn * 2.0 * rotation_error.w * along
    amplitude = math.sqrt(k3 * k3 + k21 * k21)
    if amplitude <= MIN_LEVERAGE:
        return value
    if joint_weight < 1.0:
        # joint_weight = 1 / (1 + mu), so this adds mu A: the cost of moving, relative to the largest decrease.
        k21 += (1.0 / joint_weight - 1.0) * amplitude
    return clamp_angle(value + math.atan2(k3, k21), max(low, value - max_turn), min(high, value + max_turn))


@device_function
def compute_ball_rotation(current, target, weights, joint_weight, workspace):
    """Compute the best rotation of a ball joint, with stiffness."""
    stiffness = 1.0 / joint_weight - 1.0
    if stiffness == 0.0 and weights.turn == 0.0:
        if weights.axis == 0.0:
            return rotation_between(current.point, target.point)
        if weights.point == 0.0:
            return rotation_between(current.axis, target.axis)
    rotation_error = compute_rotation_error(current.turn, target.turn)
    if stiffness == 0.0 and weights.point == 0.0 and weights.axis == 0.0:
        return rotation_error
    K = workspace.davenport[0]
    matrices.reset_davenport(K)
    matrices.add_vector_pair(K, weights.point, current.point, target.point)
    matrices.add_vector_pair(K, weights.axis, current.axis, target.axis)
    matrices.add_wanted_rotation(K, weights.turn, rotation_error)
    amplitude = weights.point * norm(current.point) * norm(target.point) + weights.axis + weights.turn
    # K[0, 0] is the gain of the identity: stiffness favours no rotation.
    K[0, 0] += 2.0 * stiffness * amplitude
    return matrices.find_best_rotation(K, workspace.davenport[1])


@inline
def rotate_target(effector, q):
    """Rotate a target from a ball's moved frame to its frame."""
    return to_parent(effector, NO_TRANSLATION, q)


@device_function
def step_ball(links, i, max_turn, weights, tip, target, x, workspace):
    """Step ball i. A step whose clamped rotation would raise the error is halved, or not taken."""
    q, limit = read_quat(x, i), links.limits[i]
    current = rotate_target(tip, q)
    rotation = compute_ball_rotation(current, target, weights, links.ease[i], workspace)
    if max_turn < math.pi:
        rotation = cap_rotation(rotation, max_turn)
    if limit[LIMIT_KIND] == NO_LIMIT:
        write_quat(x, i, normalise(multiply(rotation, q)))
        return
    max_squared_error = compute_squared_error(current, target, weights)
    for _ in range(MAX_HALVINGS + 1):
        legal = clamp_rotation(limit, normalise(multiply(rotation, q)))
        # The legal rotation nearest to the best one need not be the best legal one, and may raise the error.
        if compute_squared_error(rotate_target(tip, legal), target, weights) <= max_squared_error:
            write_quat(x, i, legal)
            return
        rotation = halve_rotation(rotation)


@inline
def step_slide(links, i, weights, tip, target, x):
    """Step slide i to bring the point nearest."""
    axis, low, high = read_vec(links.axes, i), links.ranges[i, 0], links.ranges[i, 1]
    length = dot(axis, axis)
    if length > 0.0 and weights.point > 0.0:
        current = add(tip.point, scale(axis, x[i, 0]))
        displacement = links.ease[i] * dot(axis, sub(target.point, current)) / length
        x[i, 0] = clamp(x[i, 0] + displacement, low, high)


@device_function
def step_joint(links, i, max_turn, weights, tip, target, x, workspace):
    """Step joint i to bring the tip nearest. `tip` is in its moved frame, `target` in its frame."""
    kind, axis = links.kinds[i], read_vec(links.axes, i)
    if weights.point + weights.turn + weights.axis == 0.0:  # no goal for this joint
        return
    if kind == BALL:
        step_ball(links, i, max_turn, weights, tip, target, x, workspace)
    elif kind == HINGE:
        current = rotate_target(tip, from_axis_angle(axis, x[i, 0]))
        low, high = links.ranges[i, 0], links.ranges[i, 1]
        x[i, 0] = compute_hinge_step(axis, x[i, 0], low, high, links.ease[i], max_turn, current, target, weights)
    elif kind == SLIDE:
        step_slide(links, i, weights, tip, target, x)
    elif weights.point > 0.0:
        translation = read_vec(x, i)
        write_vec(x, i, add(translation, scale(sub(target.point, add(tip.point, translation)), links.ease[i])))


@inline
def select_weights(weights, shares, i):
    """Select the weights of joint i; `shares` (m, 3) of all joints."""
    return GoalWeights(weights.point * shares[i, 0], weights.turn * shares[i, 1], weights.axis * shares[i, 2])


@device_function
def sweep_from_tip(links, tip, target, weights, shares, max_turn, first, x, workspace):
    """Sweep over the joints from the last down to `first`."""
    m, local_target = links.kinds.shape[0], target
    for i in range(m):
        local_target = to_local(local_target, read_link_offset(links.frames, i), read_link_rotation(links.frames, i))
        write_target(workspace.held[i], local_target)
        offset, rotation = compute_motion(links.kinds[i], read_vec(links.axes, i), x, i)
        local_target = to_local(local_target, offset, rotation)
    local_tip = tip
    for k in range(m - first):
        i = m - 1 - k
        step_joint(
            links,
            i,
            max_turn,
            select_weights(weights, shares, i),
            local_tip,
            read_target(workspace.held[i]),
            x,
            workspace,
        )
        offset, rotation = compute_motion(links.kinds[i], read_vec(links.axes, i), x, i)
        local_tip = to_parent(
            to_parent(local_tip, offset, rotation),
            read_link_offset(links.frames, i),
            read_link_rotation(links.frames, i),
        )


@device_function
def sweep_from_base(links, tip, target, weights, shares, max_turn, x, workspace):
    """Sweep over the joints from the first up."""
    m, local_tip = links.kinds.shape[0], tip
    for k in range(m):
        i = m - 1 - k
        write_target(workspace.held[i], local_tip)
        offset, rotation = compute_motion(links.kinds[i], read_vec(links.axes, i), x, i)
        local_tip = to_parent(
            to_parent(local_tip, offset, rotation),
            read_link_offset(links.frames, i),
            read_link_rotation(links.frames, i),
        )
    local_target = target
    for i in range(m):
        local_target = to_local(local_target, read_link_offset(links.frames, i), read_link_rotation(links.frames, i))
        step_joint(
            links,
            i,
            max_turn,
            select_weights(weights, shares, i),
            read_target(workspace.held[i]),
            local_target,
            x,
            workspace,
        )
        offset, rotation = compute_motion(links.kinds[i], read_vec(links.axes, i), x, i)
        local_target = to_local(local_target, offset, rotation)


@device_function
def sweep_growing_window(links, tip, target, weights, shares, max_turn, width, x, workspace):
    """Sweep from the tip with a window of growing size.

    It starts with the last `width` joints. Returns the number of steps.
    """
    m, steps = links.kinds.shape[0], 0
    # Joints near the tip move first; lower ones only reduce the remaining error.
    for first in range(m - width, -1, -1):
        sweep_from_tip(links, tip, target, weights, shares, max_turn, first, x, workspace)
        steps += m - first
    return steps


# --- Cyclic coordinate descent for any goals of one joint ------------------------------------------------------------
#
# With stiffness, roles and the growing window.
#
# Where sweeps converge slowly, chain_polish.py moves all joints at once. A single position goal has its own kernel
# (ccd_position.py), which compiles and runs faster.


# Damping of the polish, as a factor of the squared error: initial value and bounds. It adapts: a step that does not
# lower the error is rejected and repeated with more damping.
INITIAL_DAMPING, MIN_DAMPING, MAX_DAMPING = 0.04, 1e-3, 1e3
DAMPING_DECAY, DAMPING_GROWTH = 0.3, 8.0  # factors of the damping after successful and failed steps
MAX_RESIDUAL_ROWS = 9  # maximum residual rows: point, rotation, direction


class CcdGoalOptions(NamedTuple):
    """Solver options and goal weights, equal for every problem."""

    tolerance: float  # distance, chain sizes
    iterations: int  # maximum of sweeps and polish steps, over all attempts
    order: int  # TIP_FIRST, BASE_FIRST or WINDOW
    bend: float  # [rad] initial bend of a straight chain; 0: none
    max_turn: float  # [rad] maximum rotation of a joint in one step
    restarts: int
    finish: bool  # whether to polish where sweeps converge slowly
    chord: float  # 2 sin(angle / 2) of the angle tolerance
    weights: GoalWeights
    shares: Any  # (m, 3) 1 or 0: whether a joint is used for the point, the rotation, the direction


class CcdGoalWorkspace(NamedTuple):
    """Workspace of one problem.

    Not created in a `kernel`, which counts references: Numba then frees arrays in tuples too soon.
    """

    best: Any  # (m, 4) best motions
    previous: Any  # (m, 4) trial of the polish
    origins: Any  # (m, 4) origins of links
    rotations: Any  # (m, 4) rotations of links
    held: Any  # (m, CHAIN_TARGET) the target, or the tip, in each link's frame
    columns: Any  # (3 m, MAX_RESIDUAL_ROWS) Jacobian of the polish, a row per degree of freedom
    steps: Any  # (m, 3) polish step of each link
    normal: Any  # (MAX_RESIDUAL_ROWS, MAX_RESIDUAL_ROWS) normal matrix of the polish
    vectors: Any  # (4, MAX_RESIDUAL_ROWS) residual, reciprocal pivots, unused, multipliers
    davenport: Any  # (2, 4, 4) see kernels/matrices.py


@kernel
def solve(
    kinds, axes, ranges, limits, joint_weights, shares, frames, tips, reach, starts, targets, options, x_out, errors,
    counts,
    trace_x, trace_error,
):  # fmt: skip
    """Solve k targets (k, 10). Each has its own start (1|k, m, 4). Targets and tips: see `EffectorTarget`.

    joint_weights (m,): 1 / (1 + stiffness). options, shares: see `CcdGoalOptions`. errors (k, 2): the error, and 1
    where the goals are met. The rest: see kernels/ccd_position.py.
    """
    m = kinds.shape[0]
    motions, targets_in_links, columns, steps = (
        np.empty((4, m, 4)),
        np.empty((m, CHAIN_TARGET)),
        np.empty((3 * m, MAX_RESIDUAL_ROWS)),
        np.empty((m, 3)),
    )
    normal, vectors, davenport = (
        np.empty((MAX_RESIDUAL_ROWS, MAX_RESIDUAL_ROWS)),
        np.empty((4, MAX_RESIDUAL_ROWS)),
        np.empty((2, 4, 4)),
    )
    for k in range(targets.shape[0]):
        solve_one(
            kinds, axes, ranges, limits, joint_weights, shares, frames[min(k, frames.shape[0] - 1)],
            tips[min(k, tips.shape[0] - 1)], reach[min(k, reach.shape[0] - 1)], starts[min(k, starts.shape[0] - 1)],
            targets[k], options, x_out[k], errors[k], counts[k], motions, targets_in_links, columns, steps, normal,
            vectors,
            davenport, trace_x, trace_error,
        )  # fmt: skip


@device_function
def solve_one(
    kinds, axes, ranges, limits, joint_weights, shares, frames, tip_row, reach, start, target_row, options, x,
    best_error, count,
    motions, targets_in_links, columns, steps, normal, vectors, davenport, trace_x, trace_error,
):  # fmt: skip
    """Solve one target."""
    links = WeightedChain(kinds, axes, ranges, limits, frames, joint_weights)
    settings = CcdGoalOptions(
        options[0], int(options[1]), int(options[2]), options[3], options[4], int(options[5]), options[6] > 0.0,
        options[7], GoalWeights(options[8], options[9], options[10]), shares,
    )  # fmt: skip
    workspace = CcdGoalWorkspace(
        motions[0], motions[1], motions[2], motions[3], targets_in_links, columns, steps, normal, vectors, davenport
    )
    tip, target = read_target(tip_row), read_target(target_row)
    is_reachable = kinds.shape[0] > 0 and reach[0] <= norm(sub(target.point, read_link_offset(frames, 0))) <= reach[1]
    descend_with_restarts(
        descend,
        measure,
        links,
        tip,
        target,
        settings,
        is_reachable,
        start,
        x,
        best_error,
        count,
        workspace,
        trace_x,
        trace_error,
    )


@device_function
def measure(links, tip, target, settings, x):
    """Measure the error, and whether all goals are met."""
    current = compute_tip_in_base(links, tip, x)
    met = is_met(current, target, settings.weights, (settings.tolerance, settings.chord))
    return math.sqrt(compute_squared_error(current, target, settings.weights)), met


@device_function
def descend(links, tip, target, settings, min_gain, x, best_error, count, workspace, trace_x, trace_error):
    """Sweep until converged, stalled or out of sweeps. `best_error` and workspace.best hold the best pose."""
    # A straight chain is singular for a point on its own line only; rotations and directions turn it.
    m, bends = links.kinds.shape[0], settings.bend > 0.0 and settings.weights.point > 0.0
    if bends and bend_if_straight(
        links.kinds,
        links.axes,
        links.ranges,
        links.frames,
        tip.point,
        settings.bend,
        x,
        workspace.origins,
        workspace.rotations,
    ):
        clamp_balls(links.kinds, links.limits, x)
        count[1] += m
    error, is_met = measure(links, tip, target, settings, x)
    store_initial(x, error, is_met, best_error, count, workspace.best, trace_x, trace_error)
    slow, is_lagging, damping = 0, False, INITIAL_DAMPING
    while count[0] < settings.iterations and not is_met and slow < 3 and error < math.inf:
        before, is_polishing = error, is_lagging and settings.finish
        if is_polishing:
            polish_goals(
                links, tip, target, settings.weights, settings.max_turn, damping, x, workspace.previous, workspace
            )
            count[1] += m
        else:
            count[1] += sweep(links, tip, target, settings, x, workspace)
        error, is_met = measure(links, tip, target, settings, x)
        if is_polishing:
            # A failed step was rejected: the next one is shorter and nearer to steepest descent.
            damping = (
                max(MIN_DAMPING, DAMPING_DECAY * damping)
                if error < before
                else min(MAX_DAMPING, DAMPING_GROWTH * damping)
            )
        # A successful polish step is followed by another one, an unsuccessful one by a sweep.
        is_lagging = before - error < LAG_SHARE * before if not is_polishing else before - error >= LAG_SHARE * before
        count[0] += 1
        slow = slow + 1 if before - error <= min_gain * before else 0
        store_if_best(x, error, is_met, best_error, workspace.best)
        record_trace(trace_x, trace_error, count[0], x, error)


@inline
def sweep(links, tip, target, settings, x, workspace):
    """Sweep once; return the number of visited joints."""
    m, weights, shares, max_turn = links.kinds.shape[0], settings.weights, settings.shares, settings.max_turn
    if settings.order == BASE_FIRST:
        sweep_from_base(links, tip, target, weights, shares, max_turn, x, workspace)
        return m
    return sweep_growing_window(
        links, tip, target, weights, shares, max_turn, 1 if settings.order == WINDOW else m, x, workspace
    )
