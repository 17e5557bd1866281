# pyright: standard
"""Levenberg-Marquardt solver of a serial arm, with restarts.

Each lane has one problem; the attempts at a single problem run side by side.

    links   (m + 1, 10)  x y z, w x y z: from the previous moved frame to this link's frame, whose z is the axis;
                         min and max value; 1 for a slide, else 0. The last row is the tip
    x       (m,)         values: radians, or displacement along the axis
    axes    (m, 3)       each link's axis in the base frame
    origins (m, 3)       a point on it
    J       (m, 6)       the tip's motion per unit of each value: velocity, angular velocity, in the base frame

The step is Levenberg-Marquardt in its dual form, x += J^T (J J^T + l I)^-1 e: the system is 6 x 6 for any number of
links. The damping l is proportional to the squared error (Chan and Lawrence, ICRA 1988; Sugihara, IEEE T-RO 27(5),
2011): large far away and zero at the goal, so that convergence is quadratic without a line search.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from poise.kernels import layout
from poise.kernels.arm_race import (
    NO_WINNER,
    RACE_BEST_ATTEMPT,
    RACE_ITERATIONS,
    RACE_NEXT_ATTEMPT,
    RACE_OLDEST_ATTEMPT,
    RACE_SIZE,
    RACE_WINNING_ATTEMPT,
    can_start,
    can_store,
    finish_attempt,
    init_race,
    is_race_over,
)
from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
from poise.kernels.lanes import (
    SCALAR,
    broadcast,
    count_lanes,
    get_lane,
    half_angle_sincos,
    mask_to_bits,
    maximum,
    minimum,
    select,
    stack_array,
    stack_matrix,
    view_lanes,
)
from poise.kernels.layout import MAX_ARM_CANDIDATES, MAX_ARM_LINKS
from poise.kernels.symmetric_matrices import factor_ldl, solve_ldl
from poise.kernels.vec_quat import (
    Quat,
    Vec,
    add,
    cross,
    dot,
    multiply,
    read_vec,
    rotate,
    rotate_about_z,
    rotation_error,
    scale,
    sub,
    write_vec,
    z_axis,
)

MAX_ARM_FRAMES = MAX_ARM_LINKS + 1  # links and tip; stack arrays of whole pages would share cache sets
# Growth, decay and minimum of the damping multiplier.
MULTIPLIER_GROWTH, MULTIPLIER_DECAY, MIN_MULTIPLIER = 4.0, 0.7, 1.0


class ArmWorkspace(NamedTuple):
    """Arrays of one iteration, in kernel units and the base frame.

    axes, origins  (m, 3)    each link's axis, and a point on it
    e              (6,)      weighted error: distance and rotation vector
    J              (m, 6)    weighted motion of the tip per unit of each value
    A, d           (6, 6), (6,)  the system of the step, factored
    y              (6,)      its solution
    """

    axes: Any
    origins: Any
    e: Any
    J: Any
    A: Any
    d: Any
    y: Any


class ArmProblems(NamedTuple):
    """Arrays of a batch of targets for one arm of m links.

    links      (m + 1, 10)  the arm, see the module
    seeds      (s, m)       values of restarts
    seed_tips  (7 s,)       tip transforms of the seeds, number by number
    targets    (k, 7)       x y z, w x y z of the tip in the base frame
    start_x    (1|k, m)     values to start from
    settings   (13,)        the columns ARM_ of layout.py
    x          (k, m)       results: values
    errors     (k,)         results: weighted squared errors; 1e300 where no pose had a smaller one
    counts     (k, 3)       results: iterations, attempts, 1 where the target was met
    """

    links: Any
    seeds: Any
    seed_tips: Any
    targets: Any
    start_x: Any
    settings: Any
    x: Any
    errors: Any
    counts: Any


class ArmLanes(NamedTuple):
    """Memory of the lanes as single numbers.

    Of w lanes, number i of lane l is at i w + l.

    lane_state     (LANE_STATE_SIZE,)   rows LANE_ of each lane
    values         (LANE_VALUES_SIZE,)  values of each lane
    tested_values  (LANE_VALUES_SIZE,)  values before the last step
    """

    lane_state: Any
    values: Any
    tested_values: Any


@inline
def read_link_offset(links, i):
    """Return the translation from the previous frame to link i."""
    return Vec(links[i, 0], links[i, 1], links[i, 2])


@inline
def read_link_rotation(links, i):
    """Return the rotation from the previous frame to link i."""
    return Quat(links[i, 3], links[i, 4], links[i, 5], links[i, 6])


@inline
def read_first_frame(lane_kind, links):
    """Return the constant position and rotation of link 0's frame."""
    p, q = read_link_offset(links, 0), read_link_rotation(links, 0)
    # Constant in all lanes, which saves a product with the identity for the first link.
    position = Vec(broadcast(lane_kind, p.x), broadcast(lane_kind, p.y), broadcast(lane_kind, p.z))
    return position, Quat(
        broadcast(lane_kind, q.w), broadcast(lane_kind, q.x), broadcast(lane_kind, q.y), broadcast(lane_kind, q.z)
    )


@inline
def compute_tip(lane_kind, links, x, store_frames, axes, origins):
    """Compute position and rotation of the tip.

    They are in the base frame; axes and origins are filled if `store_frames` is set.
    """
    m = links.shape[0] - 1
    position, rotation = read_first_frame(lane_kind, links)
    for i in range(m):
        if i > 0:
            position = add(position, rotate(rotation, read_link_offset(links, i)))
            rotation = multiply(rotation, read_link_rotation(links, i))
        # Needed by a Jacobian, but not by the tip transforms of seeds.
        if store_frames:
            write_vec(axes, i, z_axis(rotation))
            write_vec(origins, i, position)
        if links[i, layout.ARM_IS_SLIDE] > 0.0:
            position = add(position, scale(z_axis(rotation), x[i]))
        else:
            # Frames are packed with z as the axis: such a rotation takes 8 products, a general one 16.
            s, c = half_angle_sincos(x[i])
            rotation = rotate_about_z(rotation, s, c)
    return add(position, rotate(rotation, read_link_offset(links, m))), multiply(rotation, read_link_rotation(links, m))


@inline
def write_error(e, position_error, rotation_vector, weights):
    """Write the six weighted numbers of the error."""
    e[0], e[1], e[2] = position_error.x * weights[0], position_error.y * weights[0], position_error.z * weights[0]
    e[3], e[4], e[5] = rotation_vector.x * weights[1], rotation_vector.y * weights[1], rotation_vector.z * weights[1]


@inline
def compute_jacobian_column(links, i, axis, origin, tip):
    """Compute link i's column of the Jacobian. It is the tip's velocity and angular velocity per unit of its value."""
    if links[i, layout.ARM_IS_SLIDE] > 0.0:
        return axis, scale(axis, 0.0)
    return cross(axis, sub(tip, origin)), axis


@inline
def apply_damped_step(links, x, tip, weights, damping, workspace):
    """Apply a damped step, clamped to the limits. x += J^T (J J^T + damping I)^-1 e; e and J carry the weights.

    A value at a limit, pushed out of it by the gradient J e, is frozen: its row of J is zeroed before the step, so that
    the others make the whole step. With clamping alone the contribution of frozen values would be lost.
    """
    e, J, A, d, y = workspace.e, workspace.J, workspace.A, workspace.d, workspace.y
    m = links.shape[0] - 1
    for r in range(6):
        for k in range(r):
            # Times zero gives a zero of the damping's type, number or lanes.
            A[r, k] = damping * 0.0
        A[r, r] = damping
    for i in range(m):
        velocity, angular_velocity = compute_jacobian_column(
            links, i, read_vec(workspace.axes, i), read_vec(workspace.origins, i), tip
        )
        velocity, angular_velocity = scale(velocity, weights[0]), scale(angular_velocity, weights[1])
        # J e of this row: the gradient descent direction of the value.
        push = (
            velocity.x * e[0]
            + velocity.y * e[1]
            + velocity.z * e[2]
            + angular_velocity.x * e[3]
            + angular_velocity.y * e[4]
            + angular_velocity.z * e[5]
        )
        # Freezing by the sign of the gradient, compared with clamping alone: 17.7 iterations for a pose of a Panda
        # instead of 39.6, and 99.92 % solved instead of 98.8.
        is_blocked = ((x[i] <= links[i, layout.ARM_LOW]) & (push < 0.0)) | (
            (x[i] >= links[i, layout.ARM_HIGH]) & (push > 0.0)
        )
        free_mask = select(is_blocked, push * 0.0, push * 0.0 + 1.0)
        velocity, angular_velocity = scale(velocity, free_mask), scale(angular_velocity, free_mask)
        J[i, 0], J[i, 1], J[i, 2] = velocity.x, velocity.y, velocity.z
        J[i, 3], J[i, 4], J[i, 5] = angular_velocity.x, angular_velocity.y, angular_velocity.z
        for r in range(6):
            for k in range(r + 1):
                A[r, k] = A[r, k] + J[i, r] * J[i, k]
    # No pivoting: the damping on the diagonal keeps the matrix positive definite even at singular poses.
    factor_ldl(A, d, 6)
    solve_ldl(A, d, e, y, 6)
    for i in range(m):
        step = J[i, 0] * y[0] + J[i, 1] * y[1] + J[i, 2] * y[2] + J[i, 3] * y[3] + J[i, 4] * y[4] + J[i, 5] * y[5]
        # Clamped values are exactly at their limit; the next step tests whether the gradient pushes them out.
        x[i] = minimum(maximum(x[i] + step, links[i, layout.ARM_LOW]), links[i, layout.ARM_HIGH])


@inline
def update_damping_multiplier(multiplier, previous_error, error):
    """Update the damping factor of a polishing attempt. It grows whenever the error has grown.

    `multiplier` is the current factor, `previous_error` the squared error before the last step. A polish looks
    for the pose nearest to an unreachable target: there the residual does not vanish, its second derivative, neglected
    by Gauss-Newton, matters, and steps with the plain damping overshoot. Other attempts have a multiplier of 0, which
    stays 0.
    """
    # The last term keeps the multiplier at MIN_MULTIPLIER or above, but leaves a multiplier of 0 unchanged.
    return select(
        error > previous_error,
        MULTIPLIER_GROWTH * multiplier,
        maximum(MULTIPLIER_DECAY * multiplier, minimum(multiplier, MIN_MULTIPLIER + 0.0 * error)),
    )


@inline
def compute_damping(multiplier, error, factor, floor):
    """Compute the damping. It is `factor` times the squared error, plus a floor, times the multiplier if any."""
    # The damping is large far away, where the linearisation is inaccurate, and vanishes at the goal. Steps are never
    # rejected: 17.7 iterations for a pose of a Panda, 25.2 with the textbook damping, which adapts to success.
    return select(multiplier > 0.0, multiplier, 1.0 + 0.0 * error) * (error * factor + floor)


@inline
def squared_norm(v):
    """Return the squared length."""
    return dot(v, v)


@kernel("F2 F2 wF2 ->")
def compute_tip_transforms(links, x, transforms):
    """Compute tip transforms (k, 7) in the base frame. Rows are x y z w x y z, for values x (k, m)."""
    axes, origins = stack_matrix(SCALAR, 1, 3), stack_matrix(SCALAR, 1, 3)
    for k in range(x.shape[0]):
        position, rotation = compute_tip(SCALAR, links, x[k], False, axes, origins)
        write_vec(transforms, k, position)
        transforms[k, 3], transforms[k, 4], transforms[k, 5], transforms[k, 6] = (
            rotation.w,
            rotation.x,
            rotation.y,
            rotation.z,
        )


# --- Restart seeds of an arm, sorted by tip distance -----------------------------------------------------------------
#
# They are spread over its ranges.
#
# seeds      (s, m)  the values
# seed_tips  flat  their tip transforms: x of all seeds, then y, z and w, x, y, z of the rotations
#
# Restarts go through the table group by group and take the best seed of each group, then the second best, until all are
# used. Later ones are mixed, with the value of each joint from another seed, so that no start is repeated.


MAX_SEED_BLOCKS = 8  # blocks of seeds compared in a race
HUGE_ERROR = 1e300  # larger than any squared error; infinity times zero would be NaN


@inline
def read_seed_value(seeds, seed_index, i):
    """Return value i of seed `seed_index`. Numbers beyond the table (s, m) mix values of its seeds."""
    return seeds[(seed_index + i * (seed_index // seeds.shape[0])) % seeds.shape[0], i]


@inline
def compute_seed_cost(lane_kind, seed_tips, block, target, weights):
    """Compute squared tip errors of a block of seeds, one per lane. The target has 7 numbers."""
    block_count = seed_tips.shape[0] // (7 * count_lanes(lane_kind))
    tips = view_lanes(lane_kind, seed_tips, 0, 7, block_count)
    x, y, z = tips[0, block] - target[0], tips[1, block] - target[1], tips[2, block] - target[2]
    half_angle_cosine = (
        tips[3, block] * target[3]
        + tips[4, block] * target[4]
        + tips[5, block] * target[5]
        + tips[6, block] * target[6]
    )
    # 4 (1 - cos^2) of half the angle is (2 sin)^2 of it, as in the error.
    squared_distance, squared_sine = x * x + y * y + z * z, 1.0 - half_angle_cosine * half_angle_cosine
    return squared_distance * (weights[0] * weights[0]) + squared_sine * (4.0 * weights[1] * weights[1])


@device_function
def compute_seed_costs(lane_kind, seed_tips, first_seed, seed_count, target, weights, costs):
    """Compute costs (seed_count,) of seeds from `first_seed` on."""
    w = count_lanes(lane_kind)
    for b in range(seed_count // w):
        cost = compute_seed_cost(lane_kind, seed_tips, first_seed // w + b, target, weights)
        for l in range(w):
            costs[b * w + l] = get_lane(cost, l)


@device_function
def find_nth_best(costs, cost_count, rank):
    """Return the index of the cost of a given rank. Rank 0 is the least; among equal costs the first comes first."""
    index, previous_cost = 0, -HUGE_ERROR
    for r in range(rank + 1):
        previous_index, best_cost = index, HUGE_ERROR
        for i in range(cost_count):
            comes_later = costs[i] > previous_cost or (costs[i] == previous_cost and i > previous_index and r > 0)
            if comes_later and costs[i] < best_cost:
                best_cost, index = costs[i], i
        previous_cost = best_cost
    return index


@device_function
def apply_seed(lane_kind, seeds, seed_tips, target, settings, values, l, restart_index):
    """Load the seed of restart `restart_index`, counted from 0, into lane l."""
    candidate_count, m, w = int(settings[layout.ARM_CANDIDATE_COUNT]), seeds.shape[1], count_lanes(lane_kind)
    group_count = seeds.shape[0] // candidate_count
    if restart_index < group_count * candidate_count:
        # Comparing four seeds at a restart raised the solved poses of a Panda from 99.95 to 99.98 %.
        costs, first_seed = stack_array(SCALAR, MAX_ARM_CANDIDATES), (restart_index % group_count) * candidate_count
        compute_seed_costs(
            lane_kind, seed_tips, first_seed, candidate_count, target, settings[layout.ARM_WEIGHTS :], costs
        )
        seed = first_seed + find_nth_best(costs, candidate_count, restart_index // group_count)
        for i in range(m):
            values[i * w + l] = seeds[seed, i]
        return
    for i in range(m):
        values[i * w + l] = read_seed_value(seeds, restart_index, i)


@device_function
def apply_nearest_seeds(lane_kind, seeds, seed_tips, target, settings, values):
    """Load seeds into all lanes but the first. Each lane takes the best of its own seeds in eight blocks."""
    w, m = count_lanes(lane_kind), seeds.shape[1]
    best_cost, best_block = broadcast(lane_kind, HUGE_ERROR), broadcast(lane_kind, 0.0)
    for b in range(min(MAX_SEED_BLOCKS, seeds.shape[0] // w)):
        cost = compute_seed_cost(lane_kind, seed_tips, b, target, settings[layout.ARM_WEIGHTS :])
        best_block, best_cost = (
            select(cost < best_cost, broadcast(lane_kind, b * 1.0), best_block),
            select(cost < best_cost, cost, best_cost),
        )
    for l in range(1, w):
        seed = int(get_lane(best_block, l)) * w + l
        for i in range(m):
            values[i * w + l] = seeds[seed, i]


# --- Batches: a problem per lane -------------------------------------------------------------------------------------
#
# Each lane has one problem and takes the next when it is done.
#
# The arrays are those of `ArmProblems`, and a trace (t, m + 1): error and values of every iteration of the first
# problem, attempt after attempt; t may be 0.
#
# The solution of a problem does not depend on the rest of its batch: lanes do not mix, and every problem runs the same
# attempts in the same order: from its start, from seeds, and, where none has met the target, polish attempts towards
# the nearest pose. The attempts of a lone problem run side by side.


# An attempt ends after 4 iterations that lower the squared error by less than 20 %. Stopping early pays, because a
# restart is cheap: with this rule a pose of a Panda takes 12.8 iterations on average, without it 16.8.
STALL_ERROR_RATIO, MAX_STALL_COUNT = 0.8, 4.0
MAX_POLISHES = 3  # polish attempts where none has met the target: best pose, then two other seeds
SOLO_ITERATIONS = 2  # iterations before a lone problem starts a second attempt
STARTS_PER_ITERATION = 2  # attempts started per iteration after that
UNREACHABLE_RESTARTS = 4.0  # maximum restarts for a target out of reach

# Rows of the lane state, one number per lane.
LANE_TARGET = 0  # seven rows: the target, x y z, w x y z
LANE_BEST_ERROR = 7  # smallest squared error of this attempt
LANE_STALL_COUNT = 8  # consecutive iterations without progress; negative: remaining patience
LANE_ITERATIONS, LANE_MAX_ITERATIONS = 9, 10  # iterations of this attempt, and their maximum
LANE_PROBLEM = 11  # number of the lane's problem; -1: idle
LANE_ATTEMPT, LANE_MAX_RESTARTS = 12, 13  # number of the attempt, and number of restarts
LANE_MULTIPLIER = 14  # damping factor of a polish, see `update_damping_multiplier`; else 0
LANE_PREVIOUS_ERROR = 15  # squared error of the previous iteration
LANE_ROWS = 16
MAX_LANES = 8  # lanes
LANE_STATE_SIZE, LANE_VALUES_SIZE = LANE_ROWS * MAX_LANES, MAX_ARM_FRAMES * MAX_LANES  # stack array sizes


@device_function
def count_restarts(links, target, settings):
    """Return the number of restarts for a target."""
    squared_distance = squared_norm(sub(Vec(target[0], target[1], target[2]), read_link_offset(links, 0)))
    # Outside the reachable shell no seed succeeds; a few attempts still find the nearest pose.
    is_unreachable = (
        squared_distance > settings[layout.ARM_MAX_REACH] * settings[layout.ARM_MAX_REACH]
        or squared_distance < settings[layout.ARM_MIN_REACH] * settings[layout.ARM_MIN_REACH]
    )
    return (
        min(settings[layout.ARM_RESTARTS], UNREACHABLE_RESTARTS)
        if is_unreachable and settings[layout.ARM_WEIGHTS] > 0.0
        else settings[layout.ARM_RESTARTS]
    )


@device_function
def load_problem(lane_state, w, l, k, target, max_restarts):
    """Load problem k into lane l of w."""
    for j in range(7):
        lane_state[(LANE_TARGET + j) * w + l] = target[j]
    lane_state[LANE_PROBLEM * w + l] = k
    lane_state[LANE_ATTEMPT * w + l] = 0.0
    lane_state[LANE_MAX_RESTARTS * w + l] = max_restarts


@device_function
def start_attempt(lane_state, values, w, l, start, m, max_iterations, patience):
    """Start an attempt of lane l from these values.

    `max_iterations` limits its iterations; `patience` is used up before it can stall.
    """
    for i in range(m):
        values[i * w + l] = start[i]
    lane_state[LANE_BEST_ERROR * w + l] = HUGE_ERROR
    # Counted from below zero: the attempt stalls only after its patience is used up, so its error may rise at first.
    lane_state[LANE_STALL_COUNT * w + l] = -patience
    lane_state[LANE_ITERATIONS * w + l] = 0.0
    lane_state[LANE_MAX_ITERATIONS * w + l] = max_iterations


@device_function
def start_damped_attempt(lane_state, values, w, l, start, m, max_iterations, patience, multiplier):
    """Start an attempt with a damping multiplier."""
    start_attempt(lane_state, values, w, l, start, m, max_iterations, patience)
    lane_state[LANE_MULTIPLIER * w + l], lane_state[LANE_PREVIOUS_ERROR * w + l] = multiplier, HUGE_ERROR


@device_function
def store_attempt_result(lane_state, tested_values, w, l, m, error, is_met, x, errors, counts):
    """Store lane l's result if it is the best."""
    k = int(lane_state[LANE_PROBLEM * w + l])
    counts[k, layout.COUNT_IS_MET] = 1 if is_met else 0
    # The last iteration only measures: its step is not part of the solution.
    counts[k, layout.COUNT_ITERATIONS] += int(lane_state[LANE_ITERATIONS * w + l]) - 1
    counts[k, layout.COUNT_ATTEMPTS] += 1
    if is_met or error < errors[k]:
        write_best(lane_state, tested_values, w, l, m, error, x, errors)


@device_function
def write_best(lane_state, tested_values, w, l, m, error, x, errors):
    """Write the values of lane l as the best of its problem."""
    k = int(lane_state[LANE_PROBLEM * w + l])
    errors[k] = error
    for i in range(m):
        x[k, i] = tested_values[i * w + l]


@device_function
def store_if_best(lane_state, tested_values, w, l, m, multiplier, error, x, errors):
    """Store the tested values of lane l if they are best.

    It applies to the start of every attempt, and to every pose of a polish: where a target cannot be met, steps may
    overshoot, and the last pose need not be the best. So no result is worse than the start pose.
    """
    # After the first iteration LANE_ITERATIONS is 1, and the tested values are the start of the attempt.
    if (lane_state[LANE_ITERATIONS * w + l] == 1.0 or multiplier > 0.0) and error < errors[
        int(lane_state[LANE_PROBLEM * w + l])
    ]:
        write_best(lane_state, tested_values, w, l, m, error, x, errors)


@device_function
def find_last_attempt(max_restarts, settings):
    """Return the number of the last attempt, counted from 0."""
    return max_restarts + (MAX_POLISHES if settings[layout.ARM_POLISH_ITERATIONS] > 0.0 else 0.0)


@device_function
def launch_attempt(lane_kind, problems, lanes, l, attempt):
    """Start attempt `attempt` of lane l. It starts from the start, from a seed, or as a final polish."""
    w, m, settings = count_lanes(lane_kind), problems.seeds.shape[1], problems.settings
    k, max_restarts = int(lanes.lane_state[LANE_PROBLEM * w + l]), lanes.lane_state[LANE_MAX_RESTARTS * w + l]
    lanes.lane_state[LANE_ATTEMPT * w + l] = attempt
    if attempt == 0.0:
        start = problems.start_x[min(k, problems.start_x.shape[0] - 1)]
        start_damped_attempt(lanes.lane_state, lanes.values, w, l, start, m, settings[layout.ARM_ITERATIONS], 0.0, 0.0)
        return
    # x[k] only initialises the values, unless this attempt polishes the best pose; otherwise a seed replaces them.
    result_x = problems.x[k]
    if attempt <= max_restarts:
        start_damped_attempt(
            lanes.lane_state, lanes.values, w, l, result_x, m, settings[layout.ARM_ITERATIONS], 0.0, 0.0
        )
    else:
        # A polish never stalls (all its iterations are patience); its multiplier of 1 makes the damping adaptive.
        start_damped_attempt(
            lanes.lane_state,
            lanes.values,
            w,
            l,
            result_x,
            m,
            settings[layout.ARM_POLISH_ITERATIONS],
            settings[layout.ARM_POLISH_ITERATIONS],
            1.0,
        )
    # The nearest pose may be in another solution branch than the best attempt: later attempts polish other seeds.
    if attempt != max_restarts + 1.0:
        seed = int(attempt) - 1
        apply_seed(lane_kind, problems.seeds, problems.seed_tips, problems.targets[k], settings, lanes.values, l, seed)


@device_function
def write_start(start_x, k, x, errors):
    """Write the start as the first result of problem k."""
    start = start_x[min(k, start_x.shape[0] - 1)]
    errors[k] = HUGE_ERROR
    for i in range(start.shape[0]):
        x[k, i] = start[i]


@device_function
def assign_problem(lane_kind, problems, lanes, l, k):
    """Assign problem k to lane l."""
    target = problems.targets[k]
    max_restarts = count_restarts(problems.links, target, problems.settings)
    load_problem(lanes.lane_state, count_lanes(lane_kind), l, k, target, max_restarts)
    launch_attempt(lane_kind, problems, lanes, l, 0.0)
    write_start(problems.start_x, k, problems.x, problems.errors)


@device_function
def schedule_lane(lane_kind, problems, lanes, l, is_met, next_problem, end):
    """Schedule lane l: next attempt, or problem number `next_problem`.

    Returns whether it took that problem. Without further problems the lane becomes idle.
    """
    w = count_lanes(lane_kind)
    attempt = lanes.lane_state[LANE_ATTEMPT * w + l] + 1.0
    if (
        lanes.lane_state[LANE_PROBLEM * w + l] >= 0.0
        and not is_met
        and attempt <= find_last_attempt(lanes.lane_state[LANE_MAX_RESTARTS * w + l], problems.settings)
    ):
        launch_attempt(lane_kind, problems, lanes, l, attempt)
        return False
    if next_problem >= end:
        lanes.lane_state[LANE_PROBLEM * w + l] = -1.0
        return False
    assign_problem(lane_kind, problems, lanes, l, next_problem)
    return True


# --- One problem: an attempt per lane ----------------------------------------------------------------------------


@device_function
def fill_lanes(lane_kind, problems, lanes, race, k, max_restarts, max_starts):
    """Start the next attempts at problem k on idle lanes.

    Starts at most `max_starts`; returns the number of busy lanes.
    """
    w, active_count, started_count, last_attempt = (
        count_lanes(lane_kind),
        0,
        0,
        find_last_attempt(max_restarts, problems.settings),
    )
    for l in range(w):
        if (
            lanes.lane_state[LANE_PROBLEM * w + l] < 0.0
            and started_count < max_starts
            and can_start(race, max_restarts + 1.0, last_attempt)
        ):
            load_problem(lanes.lane_state, w, l, k, problems.targets[k], max_restarts)
            launch_attempt(lane_kind, problems, lanes, l, race[RACE_NEXT_ATTEMPT])
            race[RACE_NEXT_ATTEMPT] += 1.0
            started_count += 1
        active_count += 1 if lanes.lane_state[LANE_PROBLEM * w + l] >= 0.0 else 0
    return active_count


@device_function
def fill_all_lanes(lane_kind, problems, lanes, race, k, max_restarts):
    """Start attempts on all lanes; return their number. Used where the first attempt to arrive wins."""
    w, m, settings = count_lanes(lane_kind), problems.seeds.shape[1], problems.settings
    active_count = min(w, int(max_restarts) + 1)
    for l in range(active_count):
        load_problem(lanes.lane_state, w, l, k, problems.targets[k], max_restarts)
        start_damped_attempt(
            lanes.lane_state, lanes.values, w, l, problems.start_x[k], m, settings[layout.ARM_ITERATIONS], 0.0, 0.0
        )
        lanes.lane_state[LANE_ATTEMPT * w + l] = l
    if active_count > 1:
        apply_nearest_seeds(lane_kind, problems.seeds, problems.seed_tips, problems.targets[k], settings, lanes.values)
    race[RACE_NEXT_ATTEMPT] = active_count
    return active_count


@device_function
def check_race_end(lane_kind, problems, lanes, race, max_restarts, k):
    """Return whether the race for problem k is over. If so, write its counts."""
    settings, counts = problems.settings, problems.counts
    # Lane 0 runs the attempt from the start as long as that lasts.
    start_error = lanes.lane_state[LANE_PREVIOUS_ERROR * count_lanes(lane_kind)]
    is_over = is_race_over(
        race, find_last_attempt(max_restarts, settings), settings[layout.ARM_FIRST_FINISH_WINS] > 0.0, start_error
    )
    if is_over:
        counts[k, layout.COUNT_ITERATIONS] += race[RACE_ITERATIONS]
        counts[k, layout.COUNT_ATTEMPTS] = race[RACE_OLDEST_ATTEMPT]
        counts[k, layout.COUNT_IS_MET] = 1.0 if race[RACE_WINNING_ATTEMPT] < NO_WINNER else 0.0
    return is_over


@device_function
def store_race_result(lane_kind, problems, lanes, race, l, error, is_met, has_ended):
    """Store the result of lane l in a race.

    As `store_if_best` and `store_attempt_result`; a lane whose attempt ends becomes idle.
    """
    w, m, state = count_lanes(lane_kind), problems.links.shape[0] - 1, lanes.lane_state
    k, attempt = int(state[LANE_PROBLEM * w + l]), state[LANE_ATTEMPT * w + l]
    is_candidate = has_ended or state[LANE_ITERATIONS * w + l] == 1.0 or state[LANE_MULTIPLIER * w + l] > 0.0
    is_winner = is_met and has_ended and attempt < race[RACE_WINNING_ATTEMPT]
    if is_winner or (is_candidate and can_store(race, attempt, error, problems.errors[k])):
        # The values have not taken the step of this iteration yet.
        write_best(state, lanes.values, w, l, m, error, problems.x, problems.errors)
        race[RACE_BEST_ATTEMPT] = attempt
    if has_ended:
        finish_attempt(race, attempt, state[LANE_ITERATIONS * w + l] - 1.0, is_met)
        state[LANE_PROBLEM * w + l] = -1.0


@device_function
def record_trace(trace, trace_row, tested_values, w, m, error):
    """Record an iteration of the first problem, in lane 0."""
    if trace_row < trace.shape[0]:
        trace[trace_row, 0] = error
        for i in range(m):
            trace[trace_row, i + 1] = tested_values[i * w]


@inline
def solve_range(lane_kind, problems, first, end, trace):
    """Solve problems first..end."""
    links, settings, x, errors, counts = (
        problems.links,
        problems.settings,
        problems.x,
        problems.errors,
        problems.counts,
    )
    m, w = links.shape[0] - 1, count_lanes(lane_kind)
    workspace = ArmWorkspace(
        stack_matrix(lane_kind, MAX_ARM_FRAMES, 3),
        stack_matrix(lane_kind, MAX_ARM_FRAMES, 3),
        stack_array(lane_kind, 6),
        stack_matrix(lane_kind, MAX_ARM_FRAMES, 6),
        stack_matrix(lane_kind, 6, 6),
        stack_array(lane_kind, 6),
        stack_array(lane_kind, 6),
    )
    lanes = ArmLanes(
        stack_array(SCALAR, LANE_STATE_SIZE),
        stack_array(SCALAR, LANE_VALUES_SIZE),
        stack_array(SCALAR, LANE_VALUES_SIZE),
    )
    lane_state = lanes.lane_state
    state_rows, lane_values, tested_values = (
        view_lanes(lane_kind, lane_state, 0, LANE_ROWS),
        view_lanes(lane_kind, lanes.values, 0, m),
        view_lanes(lane_kind, lanes.tested_values, 0, m),
    )
    weights = settings[layout.ARM_WEIGHTS : layout.ARM_WEIGHTS + 2]
    first_finish_wins = settings[layout.ARM_FIRST_FINISH_WINS] > 0.0
    # A lone problem starts with one attempt, or on all lanes where the first attempt to arrive wins.
    active_count, max_starts, iteration = min(w, end - first), 0 if first_finish_wins else 1, 0
    next_problem, has_any_ended = first + active_count, False
    # A trace records attempts sequentially.
    is_single, max_restarts, race = (
        end - first == 1 and w > 1 and trace.shape[0] == 0,
        0.0,
        stack_array(SCALAR, RACE_SIZE),
    )
    for l in range(w):
        lane_state[LANE_PROBLEM * w + l] = -1.0
        start_damped_attempt(lane_state, lanes.values, w, l, problems.start_x[0], m, 0.0, 0.0, 0.0)
    if is_single:
        init_race(race)
        max_restarts = count_restarts(links, problems.targets[first], settings)
        write_start(problems.start_x, first, x, errors)
        if first_finish_wins:
            active_count = fill_all_lanes(lane_kind, problems, lanes, race, first, max_restarts)
    else:
        for l in range(active_count):
            assign_problem(lane_kind, problems, lanes, l, first + l)
    while active_count > 0:
        if is_single:
            active_count = fill_lanes(lane_kind, problems, lanes, race, first, max_restarts, max_starts)
        # One forward pass serves both: the error belongs to the values before the step, which are stored when a lane
        # ends here.
        tip_position, tip_rotation = compute_tip(lane_kind, links, lane_values, True, workspace.axes, workspace.origins)
        position_error = sub(Vec(state_rows[0], state_rows[1], state_rows[2]), tip_position)
        rotation_error_vector = rotation_error(
            Quat(state_rows[3], state_rows[4], state_rows[5], state_rows[6]), tip_rotation
        )
        squared_distance, squared_angle = squared_norm(position_error), squared_norm(rotation_error_vector)
        error = squared_distance * (weights[0] * weights[0]) + squared_angle * (weights[1] * weights[1])
        met_mask = (squared_distance <= settings[layout.ARM_DISTANCE_TOLERANCE2]) & (
            squared_angle <= settings[layout.ARM_ANGLE_TOLERANCE2]
        )
        state_rows[LANE_MULTIPLIER] = update_damping_multiplier(
            state_rows[LANE_MULTIPLIER], state_rows[LANE_PREVIOUS_ERROR], error
        )
        state_rows[LANE_PREVIOUS_ERROR] = error
        # Progress is measured against the best of the attempt, not the previous iteration: an oscillating error makes
        # none.
        state_rows[LANE_STALL_COUNT] = select(
            error > state_rows[LANE_BEST_ERROR] * STALL_ERROR_RATIO,
            state_rows[LANE_STALL_COUNT] + 1.0,
            minimum(state_rows[LANE_STALL_COUNT], 0.0),
        )
        state_rows[LANE_BEST_ERROR] = minimum(state_rows[LANE_BEST_ERROR], error)
        end_bits = mask_to_bits(
            met_mask
            | (state_rows[LANE_STALL_COUNT] >= MAX_STALL_COUNT)
            | (state_rows[LANE_ITERATIONS] >= state_rows[LANE_MAX_ITERATIONS])
        )
        state_rows[LANE_ITERATIONS] = state_rows[LANE_ITERATIONS] + 1.0
        # Reading single numbers of lanes is slow, and done only when an attempt ends, has just started, or is a polish.
        event_bits = end_bits | mask_to_bits((state_rows[LANE_ITERATIONS] == 1.0) | (state_rows[LANE_MULTIPLIER] > 0.0))
        if is_single:
            for l in range(w if event_bits != 0 else 0):
                if lane_state[LANE_PROBLEM * w + l] >= 0.0:
                    is_attempt_met, has_attempt_ended = (mask_to_bits(met_mask) >> l) & 1 == 1, (end_bits >> l) & 1 == 1
                    store_race_result(
                        lane_kind, problems, lanes, race, l, get_lane(error, l), is_attempt_met, has_attempt_ended
                    )
                    has_any_ended = has_any_ended or has_attempt_ended
            if has_any_ended and check_race_end(lane_kind, problems, lanes, race, max_restarts, first):
                break
        write_error(workspace.e, position_error, rotation_error_vector, weights)
        for i in range(m):
            tested_values[i] = lane_values[i]
        damping = compute_damping(
            state_rows[LANE_MULTIPLIER],
            error,
            settings[layout.ARM_DAMPING_FACTOR],
            settings[layout.ARM_DAMPING_FLOOR],
        )
        # A lane that has arrived makes one superfluous step: cheaper than masking it, and `tested_values` has the
        # solution.
        apply_damped_step(links, lane_values, tip_position, weights, damping, workspace)
        if is_single:
            # A few at a time: choosing seeds takes time, which is lost where the first attempt arrives soon.
            iteration += 1
            max_starts = STARTS_PER_ITERATION if iteration > SOLO_ITERATIONS or has_any_ended else 0
            continue
        if trace.shape[0] > 0 and lane_state[LANE_PROBLEM * w] == first:
            trace_row = (
                int(
                    counts[first, layout.COUNT_ITERATIONS]
                    + counts[first, layout.COUNT_ATTEMPTS]
                    + lane_state[LANE_ITERATIONS * w]
                )
                - 1
            )
            record_trace(trace, trace_row, lanes.tested_values, w, m, get_lane(error, 0))
        for l in range(w if event_bits != 0 else 0):
            if lane_state[LANE_PROBLEM * w + l] < 0.0:
                continue
            is_met = (mask_to_bits(met_mask) >> l) & 1 == 1
            multiplier = lane_state[LANE_MULTIPLIER * w + l]
            store_if_best(lane_state, lanes.tested_values, w, l, m, multiplier, get_lane(error, l), x, errors)
            if (end_bits >> l) & 1:
                store_attempt_result(
                    lane_state, lanes.tested_values, w, l, m, get_lane(error, l), is_met, x, errors, counts
                )
                # A finished lane takes its next problem at once, without waiting for the slowest lane.
                if schedule_lane(lane_kind, problems, lanes, l, is_met, next_problem, end):
                    next_problem += 1
                elif lane_state[LANE_PROBLEM * w + l] < 0.0:
                    active_count -= 1
