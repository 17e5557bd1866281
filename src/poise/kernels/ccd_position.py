# pyright: standard
"""Cyclic coordinate descent for a position goal of a chain.

A sweep over m links takes O(m) steps.

A step of CCD (`step_joint`: `step_hinge`, `step_ball`, or a slide) moves one joint so that the tip comes nearest to the
target. A sweep carries points only: from the tip, the target is propagated up into every joint's frame once, then the
tip down; from the base, in the other order.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels.chain_kinematics import (
    ChainLinks,
    ChainOutput,
    LinkJoint,
    PositionChain,
    cache_all_sincos,
    cache_sincos,
    clear,
    compute_tip_position,
    copy_motions,
    link_to_parent,
    moved_to_link,
    parent_to_link,
    propagate_target,
    read_joint,
    record_trace,
)
from poise.kernels.chain_polish import PositionPolishWorkspace, polish_position
from poise.kernels.chain_restarts import (
    ChainProblem,
    bend_if_straight,
    clamp_balls,
    descend_with_restarts,
    extrapolate_sweep,
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
    COUNT_ITERATIONS,
    COUNT_JOINT_STEPS,
    EXACT_HINGE,
    HINGE,
    IS_FAR,
    LIMIT_KIND,
    LIMIT_ROW,
    NO_LIMIT,
    OUTCOME_IS_MET,
    SLIDE,
    TIP_FIRST,
)
from poise.kernels.limits import TWO_PI, cap_rotation, clamp, clamp_angle, clamp_rotation, twist_angle
from poise.kernels.thresholds import MIN_LEVERAGE
from poise.kernels.vec_quat import (
    Quat,
    add,
    conjugate,
    cross,
    dot,
    from_axis_angle,
    has_directions,
    multiply,
    norm,
    normalise,
    read_quat,
    read_vec,
    rotate,
    rotate_about_axis,
    rotation_between,
    scale,
    sub,
    write_quat,
    write_vec,
)

MAX_HALVINGS = 3  # maximum halvings of a ball's step at its limit


# Numba passes tuples of arrays and numbers at no cost. A kernel may create them, but must not receive arrays from a
# device function: those count no references, and the kernel would free the arrays too soon.


class JointStepRule(NamedTuple):
    """Options of the step of one joint."""

    hinge_rule: int  # EXACT_HINGE or PROJECTED_HINGE
    max_rotation: float  # [rad] maximum rotation in one step


@inline
def compute_best_hinge_angle(axis, value, low, high, max_rotation, h, d):
    """Compute the best hinge angle inside its range. It brings the tip h nearest to the target d.

    Rotating h about a by phi gives |d - h|^2 = const - 2 [k1 (1 - cos phi) + k2 cos phi + k3 sin phi] with
        k1 = (d.a)(h.a), k2 = d.h, k3 = a.(h x d): one cosine with its minimum at phi = atan2(k3, k2 - k1).
    """
    k21 = dot(d, h) - dot(d, axis) * dot(h, axis)
    k3 = dot(axis, cross(h, d))
    # Tip or target on the axis: all angles are equal, and an arc tangent of rounding errors would spin the hinge.
    if k3 * k3 + k21 * k21 <= MIN_LEVERAGE * MIN_LEVERAGE:
        return value
    # max_rotation narrows the range, which is exact: the best point of a cosine in a range is its minimum or the nearer
    # end.
    return clamp_angle(value + math.atan2(k3, k21), max(low, value - max_rotation), min(high, value + max_rotation))


@inline
def compute_projected_hinge_angle(axis, value, low, high, max_rotation, h, d):
    """Compute a hinge angle by projecting a free rotation.

    Rotates freely, rotates back so that the axis returns, reads the angle and clamps it.

    The result is the twist of the free rotation about the axis, a smaller angle than the best one
    (`compute_best_hinge_angle`).
    """
    free_rotation = cap_rotation(rotation_between(h, d), max_rotation)
    free_motion = multiply(free_rotation, from_axis_angle(axis, value))
    axis_correction = rotation_between(rotate(free_motion, axis), axis)
    angle = twist_angle(multiply(axis_correction, free_motion), axis)
    turn_count = math.floor((angle - value) / TWO_PI + 0.5)
    return clamp_angle(angle - turn_count * TWO_PI, low, high)


@inline
def halve_rotation(q):
    """Halve a rotation."""
    sign = -1.0 if q.w < 0.0 else 1.0
    return normalise(Quat(1.0 + sign * q.w, sign * q.x, sign * q.y, sign * q.z))


@device_function
def step_limited_ball(limit, x, i, max_rotation, point, d):
    """Step a ball with a limit. A step whose clamped rotation would raise the error is halved, or not taken."""
    q = read_quat(x, i)
    h = rotate(q, point)
    rotation, error_vector = cap_rotation(rotation_between(h, d), max_rotation), sub(h, d)
    max_squared_error = dot(error_vector, error_vector)
    for _ in range(MAX_HALVINGS + 1):
        legal_rotation = clamp_rotation(limit, normalise(multiply(rotation, q)))
        h = rotate(legal_rotation, point)
        error_vector = sub(h, d)
        # The legal rotation nearest to the best one may raise the error: such a step is rejected.
        if dot(error_vector, error_vector) <= max_squared_error:
            write_quat(x, i, legal_rotation)
            return h, rotate(conjugate(legal_rotation), d)
        rotation = halve_rotation(rotation)
    return rotate(q, point), rotate(conjugate(q), d)


@inline
def step_ball(x, i, max_rotation, point, d):
    """Step a ball joint without a limit."""
    q = read_quat(x, i)
    h = rotate(q, point)
    rotation = rotation_between(h, d)
    if max_rotation < math.pi:
        rotation = cap_rotation(rotation, max_rotation)
    q = multiply(rotation, q)
    write_quat(x, i, q)
    pp, dd = dot(point, point), dot(d, d)
    if max_rotation < math.pi or not has_directions(pp, dd):
        return rotate(rotation, h), rotate(conjugate(q), d)
    # Joint, tip and target are now collinear: their lengths give the positions, without waiting for the rotation.
    return scale(d, math.sqrt(pp) / math.sqrt(dd)), scale(point, math.sqrt(dd) / math.sqrt(pp))


@inline
def step_hinge(joint, step_rule, x, sincos, i, point, d):
    """Step a hinge."""
    axis, value = joint.axis, x[i, 0]
    h = rotate_about_axis(axis, sincos[i, 0], sincos[i, 1], point)
    if step_rule.hinge_rule == EXACT_HINGE:
        best_value = compute_best_hinge_angle(axis, value, joint.low, joint.high, step_rule.max_rotation, h, d)
    else:
        best_value = compute_projected_hinge_angle(axis, value, joint.low, joint.high, step_rule.max_rotation, h, d)
    # Many hinges stay at an end of their range, with known cosine and sine.
    if best_value != value:
        x[i, 0] = best_value
        cache_sincos(sincos, i, best_value)
    return rotate_about_axis(axis, sincos[i, 0], sincos[i, 1], point), rotate_about_axis(
        axis, sincos[i, 0], -sincos[i, 1], d
    )


@inline
def step_joint(joint, step_rule, x, sincos, i, point, d):
    """Step joint i to bring the point nearest to d. `point` is in its moved frame, d in its frame.

    Returns both after the step: the point in the joint's frame, d in the moved frame.
    """
    if joint.link_kind == BALL:
        if joint.limit[LIMIT_KIND] == NO_LIMIT:
            return step_ball(x, i, step_rule.max_rotation, point, d)
        return step_limited_ball(joint.limit, x, i, step_rule.max_rotation, point, d)
    if joint.link_kind == HINGE:
        return step_hinge(joint, step_rule, x, sincos, i, point, d)
    if joint.link_kind == SLIDE:
        axis = joint.axis
        squared_length = dot(axis, axis)
        if squared_length > 0.0:
            slide_tip = add(point, scale(axis, x[i, 0]))
            x[i, 0] = clamp(x[i, 0] + dot(axis, sub(d, slide_tip)) / squared_length, joint.low, joint.high)
        shift = scale(axis, x[i, 0])
    else:
        shift = sub(d, point)
        write_vec(x, i, shift)
    return add(point, shift), sub(d, shift)


# --- CCD sweeps for a position goal, in O(n) -------------------------------------------------------------------------
#
# They transform points only, no frames.
#
# Moving a joint moves everything between it and the tip as one rigid body, and nothing between it and the base. A sweep
# from the tip needs the target in every joint's frame, which does not depend on joints nearer to the tip: the target is
# transformed from the base to the tip once, then the tip from joint to joint towards the base. A sweep from the base
# transforms the tip towards the base once, then the target towards the tip. Both end with the remaining distance and
# need no further forward kinematics. The textbook sweep, with forward kinematics after each joint, is O(n^2).


@never_inline
def sweep_from_tip(chain, target, step_rule, x, sincos, link_targets):
    """Sweep tip to base; return the remaining distance.

    `link_targets` holds the target in each link's frame.
    """
    m = chain.link_kinds.shape[0]
    propagate_target(chain, target, x, sincos, link_targets)
    point = chain.tip
    for k in range(m):
        i = m - 1 - k
        # `link_targets` has the target in the joint's frame, before the joint's own rotation.
        d = read_vec(link_targets, i)
        point, _ = step_joint(read_joint(chain, i), step_rule, x, sincos, i, point, d)
        point = link_to_parent(chain.frames, i, point)
    return norm(sub(target, point))


@never_inline
def sweep_from_base(chain, target, step_rule, x, sincos, moved_tips):
    """Sweep base to tip; return the remaining distance.

    `moved_tips` holds the tip in each moved frame.
    """
    m, frames = chain.link_kinds.shape[0], chain.frames
    point = chain.tip
    for k in range(m):
        i = m - 1 - k
        write_vec(moved_tips, i, point)
        point = link_to_parent(
            frames, i, moved_to_link(chain.link_kinds[i], read_vec(chain.axes, i), x, sincos, i, point)
        )
    local_target = target
    for i in range(m):
        local_target = parent_to_link(frames, i, local_target)
        # The joints towards the tip have not moved yet: `points` has the tip from before the sweep.
        point = read_vec(moved_tips, i)
        _, local_target = step_joint(read_joint(chain, i), step_rule, x, sincos, i, point, local_target)
    return norm(sub(local_target, chain.tip))


# --- Sweeps, polish and restarts until the target is met -------------------------------------------------------------
#
# Each joint in turn brings the tip as near to its target as it alone can.
#
# This kernel handles a position goal only. It is three times as fast as the general one with all goals, stiffness and
# windows (ccd_goals.py). Where sweeps converge slowly, a polish moves all joints at once (chain_polish.py). Where both
# stall, the chain restarts from a perturbed pose (chain_restarts.py).


MIN_SWEEP_DECREASE = 0.2  # fraction of the error: after a smaller decrease, polish or sweep from the tip next
MAX_SLOW_SWEEPS = 3  # iterations in a row with a small decrease before a descent ends
MAX_EXTRAPOLATION = 32.0  # maximum extrapolation, in changes of the last sweep


class CcdPositionOptions(NamedTuple):
    """Solver options for a position goal, equal for every problem."""

    tolerance: float  # distance, chain sizes
    iterations: int  # maximum of sweeps and polish steps, over all attempts
    sweep_order: int  # TIP_FIRST or BASE_FIRST
    initial_bend: float  # [rad] initial bend of a straight chain; 0: none
    step_rule: JointStepRule
    restarts: int
    has_polish: bool  # whether to polish where sweeps converge slowly


class CcdPositionWorkspace(NamedTuple):
    """Workspace of one problem."""

    best_x: Any  # (m, 4) best motions
    best_outcome: Any  # (2,) their error, and 1 if it is within tolerance
    sincos: Any  # (m, 4) cosine and sine of hinges, see kernels/chain_kinematics.py
    polish: (
        PositionPolishWorkspace  # trial_x also holds the motions before the last sweep, origins a point of each link
    )


@inline
def read_options(option_row):
    """Read the options from an array (8,), see `CCD._pack_options` in solvers/ccd.py."""
    max_rotation = option_row[4]
    return CcdPositionOptions(
        tolerance=option_row[0],
        iterations=int(option_row[1]),
        sweep_order=int(option_row[2]),
        initial_bend=option_row[3],
        step_rule=JointStepRule(int(option_row[7]), max_rotation),
        restarts=int(option_row[5]),
        # The polish has no maximum rotation.
        has_polish=option_row[6] > 0.0 and max_rotation >= math.pi,
    )


@kernel(CHAIN_SIGNATURE)
def solve(
    packed_chain, packed_layout, link_kinds, frames, reach_ranges, far_reaches, base_transforms, start_x, start_q,
    world_targets, q, error_parts, outcomes, counts, trace_x, trace_error, work,
):  # fmt: skip
    """Solve position targets. See kernels/chain_targets.py."""
    starts = ChainStarts(frames, reach_ranges, far_reaches, base_transforms, start_x, start_q)
    results = ChainResults(q, error_parts, outcomes, counts, trace_x, trace_error)
    chain = ChainConstants(packed_chain, packed_layout, link_kinds)
    return solve_chain(solve_in_base, chain, starts, world_targets, results, work)


@inline
def compute_work_size(m):
    """Compute the scratch memory size for m links."""
    return 24 * m


@never_inline
def solve_in_base(base_chain, targets, results, work):
    """Solve position targets in the base frame; see `solve_chain`.

    There are no restarts for targets outside the reach ranges. options: see `read_options`. counts: sweeps, single
    joint updates. work: scratch memory for `compute_work_size` numbers.
    """
    link_kinds, tables, frames, reach_ranges, start_x = base_chain
    m, options = link_kinds.shape[0], read_options(tables.options)
    clear(work, compute_work_size(m))
    motions = view_lanes(SCALAR, work, 0, 6, m, 4)
    polish = PositionPolishWorkspace(motions[1], motions[2], motions[3], motions[5])
    tip = read_vec(tables.tip, 0)
    for k in range(targets.shape[0]):
        if results.outcomes[k, OUTCOME_IS_MET] == IS_FAR:
            continue
        chain = PositionChain(
            link_kinds, tables.axes, tables.ranges, tables.limits, frames[min(k, frames.shape[0] - 1)], tip
        )
        target, start = read_vec(targets, k), start_x[min(k, start_x.shape[0] - 1)]
        # Outside the reachable shell no restart can meet the target: one attempt finds the nearest pose.
        problem = ChainProblem(
            target, start, is_within_reach(chain, target, reach_ranges[min(k, reach_ranges.shape[0] - 1)])
        )
        output = ChainOutput(results.x[k], results.counts[k], results.trace_x, results.trace_error)
        workspace = CcdPositionWorkspace(motions[0], results.outcomes[k], motions[4], polish)
        solve_one(chain, problem, options, output, workspace)


@device_function
def solve_one(chain, problem, options, output, workspace):
    """Solve one target."""
    descend_with_restarts(descend, measure, chain, problem, options, output, workspace)


@inline
def measure(chain, target, options, x):
    """Measure the error, and whether it is within tolerance."""
    error = norm(sub(target, compute_tip_position(chain, x)))
    return error, error <= options.tolerance


@inline
def descend(chain, target, options, min_decrease, output, workspace):
    """Sweep until converged, stalled or out of sweeps. The workspace holds the best pose.

    After a sweep with a small decrease the polish runs as long as it converges.
    """
    x, counts, m = output.x, output.counts, chain.link_kinds.shape[0]
    if options.initial_bend > 0.0 and bend_if_straight(chain, chain.tip, options.initial_bend, x, workspace.polish):
        clamp_balls(chain.link_kinds, chain.limits, x)
        counts[COUNT_JOINT_STEPS] += m
    error, is_met = measure(chain, target, options, x)
    store_initial(error, is_met, output, workspace)
    cache_all_sincos(chain.link_kinds, x, workspace.sincos)
    # slow_sweeps: iterations in a row with a decrease below min_decrease; is_slow: whether the last sweep decreased by
    # less than MIN_SWEEP_DECREASE; extrapolation: in changes of the last sweep.
    slow_sweeps, is_slow, extrapolation = 0, False, 1.0
    while (
        counts[COUNT_ITERATIONS] < options.iterations
        and error > options.tolerance
        and slow_sweeps < MAX_SLOW_SWEEPS
        and error < math.inf
    ):
        last_error, slow_increment = error, 1
        # The polish counts its own iterations. Without progress it counts twice, because the sweep before it was slow.
        if is_slow and options.has_polish:
            error = polish_position(chain, target, options, output, workspace.polish)
            cache_all_sincos(chain.link_kinds, x, workspace.sincos)
            is_slow, slow_increment = False, 2
        else:
            error, extrapolation = sweep(chain, target, options, is_slow, extrapolation, x, workspace)
            is_slow = last_error - error < MIN_SWEEP_DECREASE * last_error
            counts[COUNT_ITERATIONS] += 1
            counts[COUNT_JOINT_STEPS] += m
            record_trace(output, error)
        slow_sweeps = slow_sweeps + slow_increment if last_error - error <= min_decrease * last_error else 0
        store_if_best(x, error, error <= options.tolerance, workspace)


@inline
def sweep(chain, target, options, is_slow, extrapolation, x, workspace):
    """Sweep once. A slow base-first sweep is followed by one from the tip, and by an extrapolation of its change.

    Returns the error and the next extrapolation.
    """
    previous_x, points, sincos, step_rule = (
        workspace.polish.trial_x,
        workspace.polish.origins,
        workspace.sincos,
        options.step_rule,
    )
    copy_motions(x, previous_x)
    # Sweeps from the base unroll a chain of 20 balls in 2.5 iterations, those from the tip in 41; where they converge
    # slowly, the other order often helps.
    if options.sweep_order == TIP_FIRST or is_slow:
        error = sweep_from_tip(chain, target, step_rule, x, sincos, points)
    else:
        error = sweep_from_base(chain, target, step_rule, x, sincos, points)
    if options.sweep_order == BASE_FIRST and is_slow and step_rule.max_rotation >= math.pi:
        # A successful extrapolation is doubled the next time, a failed one is reset to the last change.
        new_error = extrapolate_sweep(chain, target, extrapolation, error, previous_x, x, sincos)
        return new_error, min(2.0 * extrapolation, MAX_EXTRAPOLATION) if new_error < error else 1.0
    return error, extrapolation


@kernel("I1 F2 F2 F3 F2 F2 F3 wF3 sF1 ->")
def measure_joint_leverage(link_kinds, axes, ranges, frames, tips, targets, x, errors, work):
    """Measure the error within reach of each joint alone.

    errors is (k, m, 2): with the joint's range, and without one. work: scratch memory for 5 m + 3 LIMIT_ROW numbers.
    """
    m = link_kinds.shape[0]
    clear(work, 5 * m + 3 * LIMIT_ROW)
    points, sincos = view_lanes(SCALAR, work, 0, m, 3), view_lanes(SCALAR, work, 3 * m, m, 2)
    scratch = view_lanes(SCALAR, work, 5 * m, 3, LIMIT_ROW)
    for k in range(targets.shape[0]):
        tip = read_vec(tips, min(k, tips.shape[0] - 1))
        chain = ChainLinks(link_kinds, axes, frames[min(k, frames.shape[0] - 1)], tip)
        cache_all_sincos(link_kinds, x[k], sincos)
        propagate_target(chain, read_vec(targets, k), x[k], sincos, points)
        point = tip
        for j in range(m):
            i = m - 1 - j
            axis, d, motion = read_vec(axes, i), read_vec(points, i), read_quat(x[k], i)
            low, high = ranges[i, 0], ranges[i, 1]
            errors[k, i, 0] = measure_step(link_kinds[i], axis, low, high, motion, point, d, scratch)
            errors[k, i, 1] = measure_step(link_kinds[i], axis, -math.inf, math.inf, motion, point, d, scratch)
            point = link_to_parent(chain.frames, i, moved_to_link(link_kinds[i], axis, x[k], sincos, i, point))


@device_function
def measure_step(link_kind, axis, low, high, motion, point, d, scratch):
    """Measure a point's distance from d after a joint's best step. Balls have no limit.

    scratch (3, LIMIT_ROW): the joint's motion, its cosine and sine, and a row of zeros, the limit of a free ball.
    """
    x, sincos = scratch[0:1], scratch[1:2]
    write_quat(x, 0, motion)
    if link_kind == HINGE:
        cache_sincos(sincos, 0, motion.w)
    joint = LinkJoint(link_kind, axis, low, high, scratch[2])
    nearest_point, _ = step_joint(joint, JointStepRule(EXACT_HINGE, math.inf), x, sincos, 0, point, d)
    return norm(sub(d, nearest_point))
