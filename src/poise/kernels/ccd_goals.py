# pyright: standard
"""Cyclic coordinate descent for several goals at the tip.

Any mix of position, rotation and direction of the last joint; other joints may have stiffness and limits.

The error of kernels/chain_kinematics.py, as a function of one hinge angle alone, is const - 2 [k21 cos phi + k3 sin
phi]:

    point      k21 = d.h - (d.a)(h.a)    k3 = a.(h x d)    tip h and target d from the joint, its axis a
    direction  the same for the two unit vectors
    rotation   k21 = w^2 - (a.v)^2       k3 = 2 w (a.v)    rotation error: (w, v)

each times its weight. The sum has its minimum at atan2(k3, k21). A stiffness mu, a cost mu A (1 - cos phi) with the
amplitude A, moves it to atan2(k3, k21 + mu A). For a ball joint the sum is q^T K q (kernels/rotation_fit.py).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels import rotation_fit
from poise.kernels.ccd_position import MAX_HALVINGS, MAX_SLOW_SWEEPS, MIN_SWEEP_DECREASE, halve_rotation
from poise.kernels.chain_kinematics import (
    ChainOutput,
    GoalChain,
    GoalWeights,
    clear,
    compute_motion,
    compute_rotation_error,
    compute_squared_error,
    compute_tip_in_base,
    is_met,
    read_joint,
    read_link_offset,
    read_link_rotation,
    read_target,
    record_trace,
    to_local,
    to_parent,
    write_target,
)
from poise.kernels.chain_polish import MAX_RESIDUAL_ROWS, GoalPolishWorkspace, polish_goals
from poise.kernels.chain_restarts import (
    ChainProblem,
    bend_if_straight,
    clamp_balls,
    descend_with_restarts,
    is_within_reach,
    store_if_best,
    store_initial,
)
from poise.kernels.chain_targets import CHAIN_SIGNATURE, ChainConstants, ChainResults, ChainStarts, solve_chain
from poise.kernels.device_functions import device_function, inline, never_inline
from poise.kernels.entries import kernel
from poise.kernels.lanes import SCALAR, view_lanes
from poise.kernels.layout import (
    BALL,
    BASE_FIRST,
    CHAIN_TARGET_ROW,
    COUNT_ITERATIONS,
    COUNT_JOINT_STEPS,
    GROWING_WINDOW,
    HINGE,
    IS_FAR,
    LIMIT_KIND,
    NO_LIMIT,
    OUTCOME_IS_MET,
    SLIDE,
)
from poise.kernels.limits import cap_rotation, clamp, clamp_angle, clamp_rotation
from poise.kernels.thresholds import MIN_LEVERAGE
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

NO_TRANSLATION = Vec(0.0, 0.0, 0.0)


@inline
def perpendicular_dot(axis, a, b):
    """Compute the part of a.b perpendicular to the axis."""
    return dot(a, b) - dot(a, axis) * dot(b, axis)


@inline
def compute_weighted_hinge_angle(axis, value, low, high, joint_weight, max_rotation, current_tip, target, weights):
    """Compute the best hinge value in its range. `current_tip` is the tip rotated by `value`."""
    rotation_error = compute_rotation_error(current_tip.rotation, target.rotation)
    axial_part = axis.x * rotation_error.x + axis.y * rotation_error.y + axis.z * rotation_error.z
    k21 = weights.point * perpendicular_dot(
        axis, target.point, current_tip.point
    ) + weights.direction * perpendicular_dot(axis, target.direction, current_tip.direction)
    k3 = dot(
        axis,
        add(
            scale(cross(current_tip.point, target.point), weights.point),
            scale(cross(current_tip.direction, target.direction), weights.direction),
        ),
    )
    k21 += weights.rotation * (rotation_error.w * rotation_error.w - axial_part * axial_part)
    k3 += weights.rotation * 2.0 * rotation_error.w * axial_part
    amplitude = math.sqrt(k3 * k3 + k21 * k21)
    if amplitude <= MIN_LEVERAGE:
        return value
    if joint_weight < 1.0:
        # joint_weight = 1 / (1 + mu), so this adds mu A: the cost of moving, relative to the largest decrease.
        k21 += (1.0 / joint_weight - 1.0) * amplitude
    return clamp_angle(value + math.atan2(k3, k21), max(low, value - max_rotation), min(high, value + max_rotation))


@device_function
def compute_ball_rotation(current_tip, target, weights, joint_weight, fit_matrices):
    """Compute the best rotation of a ball joint, with stiffness. fit_matrices (2, 4, 4): see `CcdGoalWorkspace`."""
    stiffness = 1.0 / joint_weight - 1.0
    if stiffness == 0.0 and weights.rotation == 0.0:
        if weights.direction == 0.0:
            return rotation_between(current_tip.point, target.point)
        if weights.point == 0.0:
            return rotation_between(current_tip.direction, target.direction)
    rotation_error = compute_rotation_error(current_tip.rotation, target.rotation)
    if stiffness == 0.0 and weights.point == 0.0 and weights.direction == 0.0:
        return rotation_error
    K = fit_matrices[0]
    rotation_fit.reset_matrix(K)
    rotation_fit.add_vector_pair(K, weights.point, current_tip.point, target.point)
    rotation_fit.add_vector_pair(K, weights.direction, current_tip.direction, target.direction)
    rotation_fit.add_wanted_rotation(K, weights.rotation, rotation_error)
    amplitude = weights.point * norm(current_tip.point) * norm(target.point) + weights.direction + weights.rotation
    # K[0, 0] is the gain of the identity: stiffness favours no rotation.
    K[0, 0] += 2.0 * stiffness * amplitude
    return rotation_fit.find_best_rotation(K, fit_matrices[1])


@inline
def rotate_target(effector, q):
    """Rotate a target from a ball's moved frame to its frame."""
    return to_parent(effector, NO_TRANSLATION, q)


@device_function
def step_ball(chain, i, max_rotation, weights, tip, target, x, fit_matrices):
    """Step ball i. A step whose clamped rotation would raise the error is halved, or not taken."""
    q, limit = read_quat(x, i), chain.limits[i]
    current_tip = rotate_target(tip, q)
    rotation = compute_ball_rotation(current_tip, target, weights, chain.joint_weights[i], fit_matrices)
    if max_rotation < math.pi:
        rotation = cap_rotation(rotation, max_rotation)
    if limit[LIMIT_KIND] == NO_LIMIT:
        write_quat(x, i, normalise(multiply(rotation, q)))
        return
    max_squared_error = compute_squared_error(current_tip, target, weights)
    for _ in range(MAX_HALVINGS + 1):
        legal_rotation = clamp_rotation(limit, normalise(multiply(rotation, q)))
        # The legal rotation nearest to the best one need not be the best legal one, and may raise the error.
        if compute_squared_error(rotate_target(tip, legal_rotation), target, weights) <= max_squared_error:
            write_quat(x, i, legal_rotation)
            return
        rotation = halve_rotation(rotation)


@inline
def step_slide(joint, i, joint_weight, weights, tip, target, x):
    """Step slide i to bring the point nearest."""
    axis = joint.axis
    squared_length = dot(axis, axis)
    if squared_length > 0.0 and weights.point > 0.0:
        current_point = add(tip.point, scale(axis, x[i, 0]))
        displacement = joint_weight * dot(axis, sub(target.point, current_point)) / squared_length
        x[i, 0] = clamp(x[i, 0] + displacement, joint.low, joint.high)


@device_function
def step_joint(chain, i, max_rotation, weights, tip, target, x, fit_matrices):
    """Step joint i to bring the tip nearest. `tip` is in its moved frame, `target` in its frame."""
    joint, joint_weight = read_joint(chain, i), chain.joint_weights[i]
    if weights.point + weights.rotation + weights.direction == 0.0:  # no goal for this joint
        return
    if joint.link_kind == BALL:
        step_ball(chain, i, max_rotation, weights, tip, target, x, fit_matrices)
    elif joint.link_kind == HINGE:
        current_tip = rotate_target(tip, from_axis_angle(joint.axis, x[i, 0]))
        x[i, 0] = compute_weighted_hinge_angle(
            joint.axis, x[i, 0], joint.low, joint.high, joint_weight, max_rotation, current_tip, target, weights
        )
    elif joint.link_kind == SLIDE:
        step_slide(joint, i, joint_weight, weights, tip, target, x)
    elif weights.point > 0.0:
        translation = read_vec(x, i)
        write_vec(x, i, add(translation, scale(sub(target.point, add(tip.point, translation)), joint_weight)))


@inline
def select_weights(chain, weights, i):
    """Select the weights of joint i."""
    goal_masks = chain.goal_masks
    return GoalWeights(
        weights.point * goal_masks[i, 0], weights.rotation * goal_masks[i, 1], weights.direction * goal_masks[i, 2]
    )


@inline
def parent_target_to_link(chain, i, target):
    """Transform a target from the previous moved frame to link i's frame."""
    return to_local(target, read_link_offset(chain.frames, i), read_link_rotation(chain.frames, i))


@inline
def link_target_to_moved(chain, i, target, x):
    """Transform a target from link i's frame to its moved frame."""
    offset, rotation = compute_motion(chain.link_kinds[i], read_vec(chain.axes, i), x, i)
    return to_local(target, offset, rotation)


@inline
def moved_target_to_parent(chain, i, target, x):
    """Transform a target from link i's moved frame to the previous one."""
    offset, rotation = compute_motion(chain.link_kinds[i], read_vec(chain.axes, i), x, i)
    target = to_parent(target, offset, rotation)
    return to_parent(target, read_link_offset(chain.frames, i), read_link_rotation(chain.frames, i))


@device_function
def sweep_from_tip(chain, target, options, first_joint, x, workspace):
    """Sweep over the joints from the last down to `first_joint`."""
    m, targets_in_links, local_target = chain.link_kinds.shape[0], workspace.effectors_in_links, target
    for i in range(m):
        local_target = parent_target_to_link(chain, i, local_target)
        write_target(targets_in_links[i], local_target)
        local_target = link_target_to_moved(chain, i, local_target, x)
    local_tip = chain.tip
    for k in range(m - first_joint):
        i = m - 1 - k
        weights, local_target = select_weights(chain, options.weights, i), read_target(targets_in_links[i])
        step_joint(chain, i, options.max_rotation, weights, local_tip, local_target, x, workspace.fit_matrices)
        local_tip = moved_target_to_parent(chain, i, local_tip, x)


@device_function
def sweep_from_base(chain, target, options, x, workspace):
    """Sweep over the joints from the first up."""
    m, tips_in_links, local_tip = chain.link_kinds.shape[0], workspace.effectors_in_links, chain.tip
    for k in range(m):
        i = m - 1 - k
        write_target(tips_in_links[i], local_tip)
        local_tip = moved_target_to_parent(chain, i, local_tip, x)
    local_target = target
    for i in range(m):
        local_target = parent_target_to_link(chain, i, local_target)
        weights, local_tip = select_weights(chain, options.weights, i), read_target(tips_in_links[i])
        step_joint(chain, i, options.max_rotation, weights, local_tip, local_target, x, workspace.fit_matrices)
        local_target = link_target_to_moved(chain, i, local_target, x)


@device_function
def sweep_growing_window(chain, target, options, window_size, x, workspace):
    """Sweep from the tip with a window of growing size.

    It starts with the last `window_size` joints. Returns the number of steps.
    """
    m, step_count = chain.link_kinds.shape[0], 0
    # Joints near the tip move first; lower ones only reduce the remaining error.
    for first_joint in range(m - window_size, -1, -1):
        sweep_from_tip(chain, target, options, first_joint, x, workspace)
        step_count += m - first_joint
    return step_count


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


class CcdGoalOptions(NamedTuple):
    """Solver options and goal weights, equal for every problem."""

    tolerance: float  # distance, chain sizes
    iterations: int  # maximum of sweeps and polish steps, over all attempts
    sweep_order: int  # TIP_FIRST, BASE_FIRST or GROWING_WINDOW
    initial_bend: float  # [rad] initial bend of a straight chain; 0: none
    max_rotation: float  # [rad] maximum rotation of a joint in one step
    restarts: int
    has_polish: bool  # whether to polish where sweeps converge slowly
    chord_tolerance: float  # 2 sin(angle / 2) of the angle tolerance
    weights: GoalWeights


class CcdGoalWorkspace(NamedTuple):
    """Workspace of one problem."""

    best_x: Any  # (m, 4) best motions
    best_outcome: Any  # (2,) their error, and 1 if they meet the goals
    effectors_in_links: Any  # (m, CHAIN_TARGET_ROW) in each link's frame: targets in a sweep from the tip, else tips
    fit_matrices: Any  # (2, 4, 4) matrix K and eigenvectors of kernels/rotation_fit.py
    polish: GoalPolishWorkspace


@inline
def read_options(option_row):
    """Read the options from an array (11,), see `CCD._pack_options` in solvers/ccd.py."""
    return CcdGoalOptions(
        tolerance=option_row[0],
        iterations=int(option_row[1]),
        sweep_order=int(option_row[2]),
        initial_bend=option_row[3],
        max_rotation=option_row[4],
        restarts=int(option_row[5]),
        has_polish=option_row[6] > 0.0,
        chord_tolerance=option_row[7],
        weights=GoalWeights(option_row[8], option_row[9], option_row[10]),
    )


@inline
def compute_goal_work_size(m):
    """Compute the scratch memory size for m links."""
    return (20 + 3 * MAX_RESIDUAL_ROWS + CHAIN_TARGET_ROW) * m + 32 + (3 + MAX_RESIDUAL_ROWS) * MAX_RESIDUAL_ROWS


@kernel(CHAIN_SIGNATURE)
def solve(
    packed_chain, packed_layout, link_kinds, frames, reach_ranges, far_reaches, base_transforms, start_x, start_q,
    world_targets, q, error_parts, outcomes, counts, trace_x, trace_error, work,
):  # fmt: skip
    """Solve targets of several goals. See kernels/chain_targets.py."""
    starts = ChainStarts(frames, reach_ranges, far_reaches, base_transforms, start_x, start_q)
    results = ChainResults(q, error_parts, outcomes, counts, trace_x, trace_error)
    chain = ChainConstants(packed_chain, packed_layout, link_kinds)
    return solve_chain(solve_in_base, chain, starts, world_targets, results, work)


@never_inline
def solve_in_base(base_chain, targets, results, work):
    """Solve targets (k, 10) in the base frame; see `solve_chain`. Targets and tip: see `EffectorTarget`.

    options: see `read_options`. work: scratch memory for `compute_goal_work_size` numbers.
    """
    link_kinds, tables, frames, reach_ranges, start_x = base_chain
    m, options = link_kinds.shape[0], read_options(tables.options)
    clear(work, compute_goal_work_size(m))
    motions = view_lanes(SCALAR, work, 0, 5, m, 4)
    jacobian = view_lanes(SCALAR, work, 20 * m, 3 * m, MAX_RESIDUAL_ROWS)
    end = (20 + 3 * MAX_RESIDUAL_ROWS) * m
    effectors_in_links = view_lanes(SCALAR, work, end, m, CHAIN_TARGET_ROW)
    end += CHAIN_TARGET_ROW * m
    fit_matrices = view_lanes(SCALAR, work, end, 2, 4, 4)
    work_vectors = view_lanes(SCALAR, work, end + 32, 3, MAX_RESIDUAL_ROWS)
    normal_matrix = view_lanes(SCALAR, work, end + 32 + 3 * MAX_RESIDUAL_ROWS, MAX_RESIDUAL_ROWS, MAX_RESIDUAL_ROWS)
    polish = GoalPolishWorkspace(motions[1], motions[2], motions[3], motions[4], jacobian, normal_matrix, work_vectors)
    tip = read_target(tables.tip[0])
    for k in range(targets.shape[0]):
        if results.outcomes[k, OUTCOME_IS_MET] == IS_FAR:
            continue
        target = read_target(targets[k])
        chain = GoalChain(
            link_kinds,
            tables.axes,
            tables.ranges,
            tables.limits,
            frames[min(k, frames.shape[0] - 1)],
            tables.joint_weights,
            tables.goal_masks,
            tip,
        )
        is_reachable = is_within_reach(chain, target.point, reach_ranges[min(k, reach_ranges.shape[0] - 1)])
        problem = ChainProblem(target, start_x[min(k, start_x.shape[0] - 1)], is_reachable)
        output = ChainOutput(results.x[k], results.counts[k], results.trace_x, results.trace_error)
        workspace = CcdGoalWorkspace(motions[0], results.outcomes[k], effectors_in_links, fit_matrices, polish)
        solve_one(options, chain, problem, output, workspace)


@device_function
def solve_one(options, chain, problem, output, workspace):
    """Solve one target."""
    descend_with_restarts(descend, measure, chain, problem, options, output, workspace)


@device_function
def measure(chain, target, options, x):
    """Measure the error, and whether all goals are met."""
    current_tip = compute_tip_in_base(chain, x)
    is_all_met = is_met(current_tip, target, options.weights, (options.tolerance, options.chord_tolerance))
    return math.sqrt(compute_squared_error(current_tip, target, options.weights)), is_all_met


@device_function
def descend(chain, target, options, min_decrease, output, workspace):
    """Sweep until converged, stalled or out of sweeps. The workspace holds the best pose."""
    x, counts, m = output.x, output.counts, chain.link_kinds.shape[0]
    # A straight chain is singular for a point on its own line only; rotations and directions turn it.
    needs_bend = options.initial_bend > 0.0 and options.weights.point > 0.0
    if needs_bend and bend_if_straight(chain, chain.tip.point, options.initial_bend, x, workspace.polish):
        clamp_balls(chain.link_kinds, chain.limits, x)
        counts[COUNT_JOINT_STEPS] += m
    error, has_met = measure(chain, target, options, x)
    store_initial(error, has_met, output, workspace)
    slow_sweeps, polishes_next, damping = 0, False, INITIAL_DAMPING
    while (
        counts[COUNT_ITERATIONS] < options.iterations
        and not has_met
        and slow_sweeps < MAX_SLOW_SWEEPS
        and error < math.inf
    ):
        last_error, is_polishing = error, polishes_next and options.has_polish
        if is_polishing:
            polish_goals(chain, target, options, damping, x, workspace.polish)
            counts[COUNT_JOINT_STEPS] += m
        else:
            counts[COUNT_JOINT_STEPS] += sweep(chain, target, options, x, workspace)
        error, has_met = measure(chain, target, options, x)
        if is_polishing:
            # A failed step was rejected: the next one is shorter and nearer to steepest descent.
            damping = (
                max(MIN_DAMPING, DAMPING_DECAY * damping)
                if error < last_error
                else min(MAX_DAMPING, DAMPING_GROWTH * damping)
            )
        # A successful polish step is followed by another one, an unsuccessful one by a sweep.
        polishes_next = (
            last_error - error < MIN_SWEEP_DECREASE * last_error
            if not is_polishing
            else last_error - error >= MIN_SWEEP_DECREASE * last_error
        )
        counts[COUNT_ITERATIONS] += 1
        slow_sweeps = slow_sweeps + 1 if last_error - error <= min_decrease * last_error else 0
        store_if_best(x, error, has_met, workspace)
        record_trace(output, error)


@inline
def sweep(chain, target, options, x, workspace):
    """Sweep once; return the number of visited joints."""
    m = chain.link_kinds.shape[0]
    if options.sweep_order == BASE_FIRST:
        sweep_from_base(chain, target, options, x, workspace)
        return m
    return sweep_growing_window(chain, target, options, 1 if options.sweep_order == GROWING_WINDOW else m, x, workspace)
