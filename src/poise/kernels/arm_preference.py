# pyright: standard
"""Nearest configuration of a serial arm to a preferred one.

It is chosen among those with the same tip.

The answer of kernels/arm_lm.py is moved along the self-motion of the arm to a minimum of

    f = 1/2 sum_i weight_i (x_i - preferred_i)^2,  tip(x) = target,  low <= x <= high

by Newton steps. With the Lagrangian multipliers y of the tip, H the second derivative of f - y . tip, J the motion of
the tip, and P the projection onto the null space of J, a step is d = d_t + d_n:

    d_t = J^T (J J^T)^-1 e                   corrects the tip
    d_n = -P z,  P H P z = P (grad f + H d_t)  goes to the minimum, by projected conjugate gradients

(Nocedal and Wright, Numerical Optimization, algorithm 16.2 and section 18.1). The null space has one dimension for
seven hinges and a Place: one gradient then is the whole step. H of a serial arm needs no differences: the second
derivative of the tip is a cross product of axes, so that a product H v takes two passes over the links.

A value at its limit is blocked while the gradient pushes it out, and released when its multiplier changes sign. A step
ends at the first limit. Behind it the tip is corrected; then a step that does not reduce f is shortened.

    preferences  (1|k, 2 m)  preferred values of the links, then their weights, the largest of which is 1

Each lane has one problem and takes the next when it is done. Lanes do not mix, so that a problem gives the same bits
alone and in a batch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from poise.kernels import layout
from poise.kernels.arm_lm import (
    HUGE_ERROR,
    LANE_VALUES_SIZE,
    MAX_ARM_FRAMES,
    MAX_LANES,
    compute_jacobian_column,
    compute_tip,
    record_trace,
    squared_norm,
    write_error,
)
from poise.kernels.arm_race import CLOSE_ERROR
from poise.kernels.device_functions import device_function, inline
from poise.kernels.lanes import (
    SCALAR,
    broadcast,
    count_lanes,
    mask_to_bits,
    maximum,
    minimum,
    select,
    sqrt,
    stack_array,
    stack_matrix,
    view_lanes,
)
from poise.kernels.limits import find_nearest_equivalent
from poise.kernels.symmetric_matrices import factor_ldl, solve_ldl
from poise.kernels.vec_quat import Quat, Vec, add, cross, dot, read_vec, rotation_error, scale, sub, write_vec

MAX_STEPS, MAX_RIGID_STEPS = 150.0, 12.0  # most steps, two to four of which are usual; of arms without self-motion
MAX_IDLE_STEPS = 6.0  # most steps in a row that only release values or block them
MAX_STEP = 0.7  # largest change of a value in a step [rad, kernel units]
CONVERGED_STEP = 1e-7  # largest change of a value in a step that is not worth making
CORRECTED_SHARE = 1e-6  # share of the squared tolerances below which the tip is not corrected
MAX_CONVERGED_GAIN = 1e-9  # decrease of f, per unit of 1 + f, below which the converged configuration is the best one
FIRST_ERROR2 = 0.2  # twice the squared error of the tip above which a step is shortened
MAX_ERROR2, MAX_LIMIT_ERROR2 = 1e-4, 1e-12  # squared errors above which the tip is corrected first; at a new limit
MAX_CLOSE_CORRECTION2 = 0.01  # squared length of a correction above which the tip is corrected first
RELEASING_STEP = 0.01  # largest change of a value in a step below which others are released from their limit
SHORTENING, MIN_STEP_SHARE = 0.25, 1e-3  # factor of a step that reduces nothing; its least share
COST_ROUNDING = 1e-9  # increase of the cost that counts as none, per unit of 1 + f
COST_ERROR = 4.0  # error of the cost that is left when the tip is corrected, per cubed length of the correction
NULL_SPACE_DAMPING = 1e-12  # added to J J^T; smaller squared motions of the tip count as none
MIN_CURVATURE = 1e-3  # of f along the null space; with less, a step has its largest length
MIN_SQUARED_GRADIENT = 1e-28  # below it, a gradient is rounding
MIN_RELEASE = 1e-9  # least multiplier that releases a value from its limit

# Rows of the lane state, one number per lane.
TARGET = 0  # seven rows: the target, x y z, w x y z
PROBLEM, STEPS = 7, 8  # number of the lane's problem, -1: idle; steps made
MAX_COST = 9  # cost before the step with its correction, and the error of that
STEP_SHARE = 10  # share of the step that is tried
BEST_COST = 11  # least cost of values that meet the target
ERROR = 12  # squared error of the tip that the next one must halve, if it is corrected again
TRIED_ERROR = 13  # squared error of the values that were judged last
IS_AT_LIMIT = 14  # 1: the step ends at a limit
IDLE_STEPS = 15  # consecutive steps that moved nothing
STATE_ROWS = 16
STATE_SIZE = STATE_ROWS * MAX_LANES


class PreferenceLanes(NamedTuple):
    """Memory of the lanes as single numbers, or its views as lanes.

    Of w lanes, number i of lane l is at i w + l.

    state      (STATE_ROWS,)  the rows above
    x          (m,)           values that are tried
    before     (m,)           values before the step
    step       (m,)           the whole step from these
    best       (m,)           best values that meet the target
    preferred  (m,)           preferred values
    weights    (m,)           their weights
    released   (m,)           1 for values at a limit that may leave it
    """

    state: Any
    x: Any
    before: Any
    step: Any
    best: Any
    preferred: Any
    weights: Any
    released: Any


class StepWorkspace(NamedTuple):
    """Arrays of one step, in kernel units and the base frame.

    axes, origins    (m, 3)        each link's axis, and a point on it
    e                (6,)          weighted error of the tip
    J                (m, 6)        weighted motion of the tip per unit of each value
    A, d             (6, 6), (6,)  J J^T of the free values, factored
    b, y             (6,)          right side and solution of a system
    multipliers      (6,)          of the tip
    bends, twists    (m, 3)        axes times the multipliers of position and of rotation; see `multiply_hessian`
    free             (m,)          0 for values blocked at a limit, else 1
    gradient         (m,)          gradient of the Lagrangian
    correction       (m,)          change of the free values that corrects the tip
    change           (m,)          the whole change
    residual, descent, product  (m,)  vectors of the conjugate gradients, then scratch
    """

    axes: Any
    origins: Any
    e: Any
    J: Any
    A: Any
    d: Any
    b: Any
    y: Any
    multipliers: Any
    bends: Any
    twists: Any
    free: Any
    gradient: Any
    correction: Any
    change: Any
    residual: Any
    descent: Any
    product: Any


@inline
def dot6(a, b):
    """Return the scalar product of six numbers."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@inline
def dot_row(J, i, y):
    """Return the scalar product of row i of J and six numbers."""
    return J[i, 0] * y[0] + J[i, 1] * y[1] + J[i, 2] * y[2] + J[i, 3] * y[3] + J[i, 4] * y[4] + J[i, 5] * y[5]


@inline
def dot_values(lane_kind, a, b, m):
    """Return the scalar product of values."""
    total = broadcast(lane_kind, 0.0)
    for i in range(m):
        total = total + a[i] * b[i]
    return total


@inline
def max_abs_value(lane_kind, a, m):
    """Return the largest absolute value."""
    largest = broadcast(lane_kind, 0.0)
    for i in range(m):
        largest = maximum(largest, maximum(a[i], -a[i]))
    return largest


@inline
def solve_for_values(lane_kind, work, values, m):
    """Solve (J J^T) y = J values. `values` are zero where blocked."""
    for r in range(6):
        total = broadcast(lane_kind, 0.0)
        for i in range(m):
            total = total + work.J[i, r] * values[i]
        work.b[r] = total
    solve_ldl(work.A, work.d, work.b, work.y, 6)


@inline
def project(lane_kind, work, values, m):
    """Project values onto the null space of J. Blocked ones become zero."""
    for i in range(m):
        values[i] = values[i] * work.free[i]
    solve_for_values(lane_kind, work, values, m)
    for i in range(m):
        values[i] = (values[i] - dot_row(work.J, i, work.y)) * work.free[i]


@inline
def fill_jacobian(lane_kind, links, values, released, tip, limb_weights, work):
    """Fill J and `free`, and factor J J^T of the free values."""
    m = links.shape[0] - 1
    zero, one = broadcast(lane_kind, 0.0), broadcast(lane_kind, 1.0)
    A = work.A
    for r in range(6):
        for k in range(r):
            A[r, k] = zero
        A[r, r] = zero + NULL_SPACE_DAMPING
    for i in range(m):
        velocity, angular_velocity = compute_jacobian_column(
            links, i, read_vec(work.axes, i), read_vec(work.origins, i), tip
        )
        velocity, angular_velocity = scale(velocity, limb_weights[0]), scale(angular_velocity, limb_weights[1])
        is_at_limit = (values[i] <= links[i, layout.ARM_LOW]) | (values[i] >= links[i, layout.ARM_HIGH])
        free = select(is_at_limit & (released[i] < 0.5), zero, one)
        work.free[i] = free
        J = work.J
        J[i, 0], J[i, 1], J[i, 2] = velocity.x, velocity.y, velocity.z
        J[i, 3], J[i, 4], J[i, 5] = angular_velocity.x, angular_velocity.y, angular_velocity.z
        for r in range(6):
            free_motion = J[i, r] * free
            for k in range(r + 1):
                A[r, k] = A[r, k] + free_motion * J[i, k]
    factor_ldl(A, work.d, 6)


@inline
def fill_multipliers(lane_kind, links, lanes, work):
    """Fill the multipliers, the gradient, and `bends` and `twists`."""
    m = links.shape[0] - 1
    for i in range(m):
        work.gradient[i] = lanes.weights[i] * (lanes.x[i] - lanes.preferred[i])
        work.product[i] = work.gradient[i] * work.free[i]
    solve_for_values(lane_kind, work, work.product, m)
    y = work.multipliers
    for r in range(6):
        y[r] = work.y[r]
    position_part, rotation_part = Vec(y[0], y[1], y[2]), Vec(y[3], y[4], y[5])
    for i in range(m):
        work.gradient[i] = work.gradient[i] - dot_row(work.J, i, y)
        # A slide turns nothing.
        turning = 0.0 if links[i, layout.ARM_IS_SLIDE] > 0.0 else 1.0
        axis = scale(read_vec(work.axes, i), turning)
        write_vec(work.bends, i, cross(axis, position_part))
        write_vec(work.twists, i, scale(cross(axis, rotation_part), 0.5))


@inline
def multiply_hessian(lane_kind, weights, work, values, out, m):
    """Multiply values by H, the second derivative of the Lagrangian.

    The axis z_i of a hinge turns the motion of all later links: d^2 tip / dx_i dx_j is z_i x v_j for the position and
    i <= j, with the velocity v_j, and z_i x z_j / 2 for the rotation and i < j. Sums over the links before and behind
    each take two passes.
    """
    zero = broadcast(lane_kind, 0.0)
    behind_velocity, behind_turn = Vec(zero, zero, zero), Vec(zero, zero, zero)
    for back in range(m):
        i = m - 1 - back
        value, bend, twist = values[i], read_vec(work.bends, i), read_vec(work.twists, i)
        velocity = scale(Vec(work.J[i, 0], work.J[i, 1], work.J[i, 2]), value)
        turn = scale(Vec(work.J[i, 3], work.J[i, 4], work.J[i, 5]), value)
        behind_velocity = add(behind_velocity, velocity)
        out[i] = weights[i] * value + dot(bend, behind_velocity) + dot(twist, behind_turn)
        behind_turn = add(behind_turn, turn)
    before_bend, before_twist = Vec(zero, zero, zero), Vec(zero, zero, zero)
    for i in range(m):
        velocity = Vec(work.J[i, 0], work.J[i, 1], work.J[i, 2])
        turn = Vec(work.J[i, 3], work.J[i, 4], work.J[i, 5])
        out[i] = out[i] + dot(before_bend, velocity) + dot(before_twist, turn)
        before_bend = add(before_bend, scale(read_vec(work.bends, i), values[i]))
        before_twist = add(before_twist, scale(read_vec(work.twists, i), values[i]))


@inline
def add_tangent_step(lane_kind, weights, work, m, dimension_count):
    """Fill `change`: correction of the tip and step in the null space.

    Returns the largest projected gradient. `product` is H times the correction. Where f is not convex along the null
    space the step has its largest length.
    """
    zero, one = broadcast(lane_kind, 0.0), broadcast(lane_kind, 1.0)
    residual, descent, product, change = work.residual, work.descent, work.product, work.change
    for i in range(m):
        change[i] = work.correction[i]
        residual[i] = -work.gradient[i] - product[i]
    project(lane_kind, work, residual, m)
    max_gradient = max_abs_value(lane_kind, residual, m)
    for i in range(m):
        descent[i] = residual[i]
    squared_residual, is_going_on = dot_values(lane_kind, residual, residual, m), one
    for c in range(dimension_count):
        multiply_hessian(lane_kind, weights, work, descent, product, m)
        curvature, squared_descent = (
            dot_values(lane_kind, descent, product, m),
            dot_values(lane_kind, descent, descent, m),
        )
        has_descent = squared_residual > MIN_SQUARED_GRADIENT
        is_convex = curvature > MIN_CURVATURE * squared_descent
        longest = MAX_STEP / maximum(max_abs_value(lane_kind, descent, m), zero + MIN_SQUARED_GRADIENT)
        length = select(is_convex, squared_residual / select(is_convex, curvature, one), longest if c == 0 else zero)
        length = select(has_descent, length, zero) * is_going_on
        for i in range(m):
            change[i] = change[i] + length * descent[i]
        if c + 1 == dimension_count:
            break
        is_going_on = select(has_descent & is_convex, is_going_on, zero)
        if mask_to_bits(is_going_on > 0.0) == 0:
            break
        for i in range(m):
            residual[i] = residual[i] - length * product[i]
        project(lane_kind, work, residual, m)
        new_squared_residual = dot_values(lane_kind, residual, residual, m)
        ratio = new_squared_residual / maximum(squared_residual, zero + MIN_SQUARED_GRADIENT)
        for i in range(m):
            descent[i] = residual[i] + ratio * descent[i]
        squared_residual = new_squared_residual
    return max_gradient


@inline
def release_values(lane_kind, links, lanes, work, max_gradient, is_accepted, is_calm):
    """Choose the values to be released from their limits.

    Returns 1 for lanes with a new one, else 0. A blocked value is released where its multiplier pulls it inside, more
    than the gradient pulls any free one, once the lane is calm: the others have nearly converged.
    """
    zero, one = broadcast(lane_kind, 0.0), broadcast(lane_kind, 1.0)
    has_released, least = zero, maximum(max_gradient, zero + MIN_RELEASE)
    for i in range(links.shape[0] - 1):
        low, high = links[i, layout.ARM_LOW], links[i, layout.ARM_HIGH]
        # A value whose range is a point stays.
        at_low = (lanes.x[i] <= low) & (lanes.x[i] < high)
        at_high = (lanes.x[i] >= high) & (lanes.x[i] > low)
        is_blocked = work.free[i] < 0.5
        is_pulled_inside = is_calm & ((at_low & (-work.gradient[i] > least)) | (at_high & (work.gradient[i] > least)))
        is_leaving = (at_low & (work.change[i] >= 0.0)) | (at_high & (work.change[i] <= 0.0))
        has_released = select(is_blocked & is_pulled_inside, one, has_released)
        is_released = select(is_blocked, select(is_pulled_inside, one, zero), select(is_leaving, one, zero))
        lanes.released[i] = select(is_accepted, is_released, lanes.released[i])
    return has_released


@inline
def shorten_to_limits(lane_kind, links, lanes, work):
    """Shorten `change` to MAX_STEP and to the first limit. Returns 1 where it ends there, else 0."""
    zero, one, m = broadcast(lane_kind, 0.0), broadcast(lane_kind, 1.0), links.shape[0] - 1
    largest = max_abs_value(lane_kind, work.change, m)
    share = minimum(one, MAX_STEP / maximum(largest, zero + MIN_SQUARED_GRADIENT))
    reach = one
    for i in range(m):
        work.change[i] = work.change[i] * share
        end = lanes.x[i] + work.change[i]
        clamped_end = minimum(maximum(end, zero + links[i, layout.ARM_LOW]), zero + links[i, layout.ARM_HIGH])
        is_cut = (end < clamped_end) | (end > clamped_end)
        # Each value's own share of the change up to its limit.
        own_reach = select(is_cut, (clamped_end - lanes.x[i]) / select(is_cut, work.change[i], one), one)
        work.product[i], work.residual[i] = own_reach, clamped_end - lanes.x[i]
        reach = minimum(reach, own_reach)
    for i in range(m):
        # The value that ends the step comes to its limit exactly.
        is_ending = (work.product[i] <= reach) & (work.product[i] < 1.0)
        work.change[i] = select(is_ending, work.residual[i], work.change[i] * reach)
    return select(reach < 1.0, one, zero)


@inline
def improve_lanes(lane_kind, problems, lanes, work, dimension_count, max_steps):
    """Judge the values of each lane and choose the next. Returns the bits of lanes that are done.

    Values that are too far from the target are corrected first, as long as that halves their squared error. Then their
    cost is compared with that before the step.
    """
    links, settings, m = problems.links, problems.settings, problems.links.shape[0] - 1
    zero, one, state = broadcast(lane_kind, 0.0), broadcast(lane_kind, 1.0), lanes.state
    goal_weights = settings[layout.ARM_WEIGHTS : layout.ARM_WEIGHTS + 2]
    tip, tip_rotation = compute_tip(lane_kind, links, lanes.x, True, work.axes, work.origins)
    position_error = sub(Vec(state[0], state[1], state[2]), tip)
    turn_error = rotation_error(Quat(state[3], state[4], state[5], state[6]), tip_rotation)
    squared_distance, squared_angle = squared_norm(position_error), squared_norm(turn_error)
    max_distance2, max_angle2 = settings[layout.ARM_DISTANCE_TOLERANCE2], settings[layout.ARM_ANGLE_TOLERANCE2]
    is_met = (squared_distance <= max_distance2) & (squared_angle <= max_angle2)
    is_exact = (squared_distance <= max_distance2 * CORRECTED_SHARE) & (squared_angle <= max_angle2 * CORRECTED_SHARE)
    e = work.e
    write_error(e, position_error, turn_error, goal_weights)
    squared_error, cost = dot6(e, e), zero
    for i in range(m):
        difference = lanes.x[i] - lanes.preferred[i]
        cost = cost + 0.5 * lanes.weights[i] * difference * difference

    fill_jacobian(lane_kind, links, lanes.x, lanes.released, tip, goal_weights, work)
    fill_multipliers(lane_kind, links, lanes, work)
    for r in range(6):
        work.b[r] = select(is_exact, zero, e[r])
    solve_ldl(work.A, work.d, work.b, work.y, 6)
    for i in range(m):
        work.correction[i] = dot_row(work.J, i, work.y) * work.free[i]
    multiply_hessian(lane_kind, lanes.weights, work, work.correction, work.product, m)
    # The cost that is left when the tip is corrected, up to third order.
    bend_cost = 0.5 * dot_values(lane_kind, work.correction, work.product, m)
    corrected_cost = cost + dot6(work.multipliers, e) + bend_cost
    squared_correction = dot_values(lane_kind, work.correction, work.correction, m)
    # Near a singular pose the terms do not become smaller, and the estimate is as wrong as its last term.
    max_cost = (
        corrected_cost + maximum(bend_cost, -bend_cost) + COST_ERROR * squared_correction * sqrt(squared_correction)
    )
    # A value that has come to its limit no longer helps to correct the tip, which changes the cost in first order. On
    # shorter steps the way there an estimated cost may fall round and round, and the true one not.
    max_error = select(state[IS_AT_LIMIT] > 0.5, zero + MAX_LIMIT_ERROR2, zero + MAX_ERROR2)
    is_close = is_exact | ((squared_error <= max_error) & (squared_correction <= MAX_CLOSE_CORRECTION2))
    # A cost before the step that was estimated may be too low: what meets the target need be no worse than the best.
    is_known = squared_error <= MAX_LIMIT_ERROR2
    allowed_cost = select(is_known, maximum(state[MAX_COST], state[BEST_COST]), state[MAX_COST])
    is_worse = corrected_cost > allowed_cost + COST_ROUNDING * (1.0 + cost)
    is_accepted = select(is_close, select(is_worse, zero, one), zero) > 0.5
    is_correctable = (squared_error <= 0.5 * state[ERROR]) & (squared_correction <= MAX_STEP * MAX_STEP)
    is_corrected = select(is_close, zero, select(is_correctable, one, zero)) > 0.5
    is_rejected = select(is_accepted | is_corrected, zero, one) > 0.5
    has_failed = is_rejected & (state[STEP_SHARE] <= MIN_STEP_SHARE)

    max_gradient = add_tangent_step(lane_kind, lanes.weights, work, m, dimension_count)
    largest_change = max_abs_value(lane_kind, work.change, m)
    # With other values free the cost is another one, unless the tip is at its target.
    is_calm = is_accepted & (is_exact | (squared_error <= MAX_LIMIT_ERROR2)) & (largest_change <= RELEASING_STEP)
    has_released = release_values(lane_kind, links, lanes, work, max_gradient, is_accepted, is_calm)
    is_converged = is_accepted & is_met & (largest_change <= CONVERGED_STEP) & (has_released < 0.5)
    allowance = select(is_converged, MAX_CONVERGED_GAIN * (1.0 + cost), zero)
    is_best = is_met & (corrected_cost < state[BEST_COST] + allowance)
    state[BEST_COST] = select(is_best, corrected_cost, state[BEST_COST])
    is_at_limit = shorten_to_limits(lane_kind, links, lanes, work)
    share = select(is_accepted, one, select(is_rejected, state[STEP_SHARE] * SHORTENING, state[STEP_SHARE]))
    for i in range(m):
        lanes.best[i] = select(is_best, lanes.x[i], lanes.best[i])
        lanes.step[i] = select(is_accepted, work.change[i], lanes.step[i])
        lanes.before[i] = select(is_accepted, lanes.x[i], lanes.before[i])
        new_value = select(is_corrected, lanes.x[i] + work.correction[i], lanes.before[i] + share * lanes.step[i])
        lanes.x[i] = minimum(maximum(new_value, zero + links[i, layout.ARM_LOW]), zero + links[i, layout.ARM_HIGH])
    state[IS_AT_LIMIT] = select(is_accepted, is_at_limit, state[IS_AT_LIMIT])
    state[MAX_COST] = select(is_accepted, max_cost, state[MAX_COST])
    state[ERROR] = select(is_corrected, squared_error, zero + FIRST_ERROR2)
    state[TRIED_ERROR] = squared_error
    state[STEP_SHARE] = share
    # Among many limits that meet in a corner, releases may follow each other without end.
    is_idle = is_accepted & (max_abs_value(lane_kind, work.change, m) <= CONVERGED_STEP)
    state[IDLE_STEPS] = select(is_idle, state[IDLE_STEPS] + 1.0, select(is_accepted, zero, state[IDLE_STEPS]))
    done_bits = mask_to_bits(
        is_converged | has_failed | (state[IDLE_STEPS] >= MAX_IDLE_STEPS) | (state[STEPS] >= max_steps)
    )
    state[STEPS] = state[STEPS] + 1.0
    return done_bits


@device_function
def load_answer(problems, preferences, first, lanes, w, l, k):
    """Load the answer of problem k into lane l."""
    state, m = lanes.state, problems.x.shape[1]
    preference = preferences[min(first + k, preferences.shape[0] - 1)]
    for j in range(7):
        state[(TARGET + j) * w + l] = problems.targets[k, j]
    state[PROBLEM * w + l], state[STEPS * w + l], state[STEP_SHARE * w + l] = k, 0.0, 1.0
    state[MAX_COST * w + l], state[BEST_COST * w + l], state[ERROR * w + l] = HUGE_ERROR, HUGE_ERROR, FIRST_ERROR2
    state[IS_AT_LIMIT * w + l], state[IDLE_STEPS * w + l] = 0.0, 0.0
    for i in range(m):
        value = problems.x[k, i]
        lanes.x[i * w + l], lanes.before[i * w + l], lanes.best[i * w + l] = value, value, value
        lanes.preferred[i * w + l], lanes.weights[i * w + l] = preference[i], preference[m + i]
        lanes.step[i * w + l], lanes.released[i * w + l] = 0.0, 0.0


@device_function
def load_next_answer(problems, preferences, first, lanes, w, l, next_problem, end):
    """Load the next successful answer into lane l.

    Without any the lane is idle. Returns the number after it.
    """
    lanes.state[PROBLEM * w + l] = -1.0
    k = next_problem
    while k < end and problems.counts[k, layout.COUNT_IS_MET] == 0.0:
        k += 1
    if k < end:
        load_answer(problems, preferences, first, lanes, w, l, k)
    return k + 1


@inline
def approach_preference(lane_kind, problems, preferences, first, end, trace):
    """Move the answers of problems 0..end to their preferred configurations.

    Problem 0 has the preference of target `first`.
    """
    m, w = problems.links.shape[0] - 1, count_lanes(lane_kind)
    memory = PreferenceLanes(
        stack_array(SCALAR, STATE_SIZE),
        stack_array(SCALAR, LANE_VALUES_SIZE),
        stack_array(SCALAR, LANE_VALUES_SIZE),
        stack_array(SCALAR, LANE_VALUES_SIZE),
        stack_array(SCALAR, LANE_VALUES_SIZE),
        stack_array(SCALAR, LANE_VALUES_SIZE),
        stack_array(SCALAR, LANE_VALUES_SIZE),
        stack_array(SCALAR, LANE_VALUES_SIZE),
    )
    lanes = PreferenceLanes(
        view_lanes(lane_kind, memory.state, 0, STATE_ROWS),
        view_lanes(lane_kind, memory.x, 0, m),
        view_lanes(lane_kind, memory.before, 0, m),
        view_lanes(lane_kind, memory.step, 0, m),
        view_lanes(lane_kind, memory.best, 0, m),
        view_lanes(lane_kind, memory.preferred, 0, m),
        view_lanes(lane_kind, memory.weights, 0, m),
        view_lanes(lane_kind, memory.released, 0, m),
    )
    work = StepWorkspace(
        stack_matrix(lane_kind, MAX_ARM_FRAMES, 3),
        stack_matrix(lane_kind, MAX_ARM_FRAMES, 3),
        stack_array(lane_kind, 6),
        stack_matrix(lane_kind, MAX_ARM_FRAMES, 6),
        stack_matrix(lane_kind, 6, 6),
        stack_array(lane_kind, 6),
        stack_array(lane_kind, 6),
        stack_array(lane_kind, 6),
        stack_array(lane_kind, 6),
        stack_matrix(lane_kind, MAX_ARM_FRAMES, 3),
        stack_matrix(lane_kind, MAX_ARM_FRAMES, 3),
        stack_array(lane_kind, MAX_ARM_FRAMES),
        stack_array(lane_kind, MAX_ARM_FRAMES),
        stack_array(lane_kind, MAX_ARM_FRAMES),
        stack_array(lane_kind, MAX_ARM_FRAMES),
        stack_array(lane_kind, MAX_ARM_FRAMES),
        stack_array(lane_kind, MAX_ARM_FRAMES),
        stack_array(lane_kind, MAX_ARM_FRAMES),
    )
    goal_weights = problems.settings[layout.ARM_WEIGHTS : layout.ARM_WEIGHTS + 2]
    constraint_count = (3 if goal_weights[0] > 0.0 else 0) + (3 if goal_weights[1] > 0.0 else 0)
    dimension_count, next_problem, active_count = max(m - constraint_count, 1), 0, 0
    max_steps = MAX_STEPS if m > constraint_count else MAX_RIGID_STEPS
    for l in range(w):
        load_answer(problems, preferences, first, memory, w, l, 0)  # a lane without work has numbers, too
        next_problem = load_next_answer(problems, preferences, first, memory, w, l, next_problem, end)
        active_count += 1 if memory.state[PROBLEM * w + l] >= 0.0 else 0
    while active_count > 0:
        done_bits = improve_lanes(lane_kind, problems, lanes, work, dimension_count, max_steps)
        for l in range(w if done_bits != 0 or trace.shape[0] > 0 else 0):
            k = int(memory.state[PROBLEM * w + l])
            if k < 0:
                continue
            if trace.shape[0] > 0 and l == 0 and memory.state[STEPS * w] > 1.0:
                # Only the first problem has a trace; its answer is in lane 0, and the last row.
                rows = int(problems.counts[k, layout.COUNT_ITERATIONS] + problems.counts[k, layout.COUNT_ATTEMPTS])
                row = rows + int(memory.state[STEPS * w]) - 2
                record_trace(trace, row, memory.before, w, m, memory.state[TRIED_ERROR * w])
            if (done_bits >> l) & 1:
                problems.counts[k, layout.COUNT_ITERATIONS] += memory.state[STEPS * w + l] - 1.0
                for i in range(m):
                    problems.x[k, i] = memory.best[i * w + l]
                next_problem = load_next_answer(problems, preferences, first, memory, w, l, next_problem, end)
                active_count -= 1 if memory.state[PROBLEM * w + l] < 0.0 else 0


# --- start of the attempts -------------------------------------------------------------------------------------------


@device_function
def measure_error(links, x, target, weights):
    """Return the weighted squared error of the tip."""
    axes, origins = stack_matrix(SCALAR, 1, 3), stack_matrix(SCALAR, 1, 3)
    tip, tip_rotation = compute_tip(SCALAR, links, x, False, axes, origins)
    position_error = sub(Vec(target[0], target[1], target[2]), tip)
    turn_error = rotation_error(Quat(target[3], target[4], target[5], target[6]), tip_rotation)
    squared_distance, squared_angle = squared_norm(position_error), squared_norm(turn_error)
    return squared_distance * (weights[0] * weights[0]) + squared_angle * (weights[1] * weights[1])


@device_function
def start_at_preferred(problems, preferences, first, k, trace):
    """Replace a start far from its target by the preferred configuration.

    From there the nearest branch of solutions is found. A close start is that of a moving target, whose answer must not
    jump. Values without a weight keep their start. Without restarts, too, the attempt is that from the start. The
    replacement counts as an iteration.
    """
    links, start_x, settings, m = problems.links, problems.start_x[k], problems.settings, problems.x.shape[1]
    weights = settings[layout.ARM_WEIGHTS : layout.ARM_WEIGHTS + 2]
    error = measure_error(links, start_x, problems.targets[k], weights)
    if error <= CLOSE_ERROR or settings[layout.ARM_RESTARTS] <= 0.0:
        return
    if k == 0:
        record_trace(trace, 0, start_x, 1, m, error)
    problems.counts[k, layout.COUNT_ITERATIONS] = 1.0
    preference = preferences[min(first + k, preferences.shape[0] - 1)]
    for i in range(m):
        if preference[m + i] > 0.0:
            start_x[i] = min(max(preference[i], links[i, layout.ARM_LOW]), links[i, layout.ARM_HIGH])


@device_function
def finish_attempts(problems, start, is_hinge, k):
    """Finish the answer of the attempts at problem k.

    Where no attempt has met the target, the start (m,) counts, too, if it was replaced. Hinges are turned by whole
    turns to the values nearest to those that the attempts started from.
    """
    m, attempted_start, settings = problems.x.shape[1], problems.start_x[k], problems.settings
    if problems.counts[k, layout.COUNT_IS_MET] == 0.0:
        weights = settings[layout.ARM_WEIGHTS : layout.ARM_WEIGHTS + 2]
        error = measure_error(problems.links, start, problems.targets[k], weights)
        if error < problems.errors[k]:
            problems.errors[k] = error
            for i in range(m):
                problems.x[k, i] = start[i]
            return
    for i in range(m):
        if is_hinge[i] > 0:
            low, high = problems.links[i, layout.ARM_LOW], problems.links[i, layout.ARM_HIGH]
            problems.x[k, i] = find_nearest_equivalent(problems.x[k, i], attempted_start[i], low, high)
