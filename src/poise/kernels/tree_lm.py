# pyright: standard
"""Batched Levenberg-Marquardt solver of a tree of joints with any goals.

Each lane has one problem; at its end it takes the next one. The restarts of a lone problem run side by side.

It works like the driver of serial arms, kernels/arm_lm.py. kernels/problem_arrays.py describes the arrays of a tree.
Further arrays are those of kernels/tree_targets.py, and:

    settings (6,)         the columns TREE_ of layout.py
    work                  memory of compute_workspace_size numbers, 64-byte aligned; its content is arbitrary
    counts   (k, 3)       iterations and attempts used; 1 where the goals were met
    trace    (t, nu + 1)  error and configuration of the first problem before each of its iterations; t may be 0

A preferred configuration and soft limits have lower priority than the goals. An attempt begins with both, and ends
where the goals are met and the step is zero. When it stalls, or its last iterations begin, the preferences are dropped
and only the goals count.

If the first attempt misses, its best pose is polished before any restart: the result is the nearest pose in the start's
own basin. A restart replaces it if it meets the goals or has a clearly smaller error.
"""

from __future__ import annotations

import math

from poise.kernels import layout, thresholds
from poise.kernels.arm_lm import (
    HUGE_ERROR,
    LANE_ATTEMPT,
    LANE_BEST_ERROR,
    LANE_ITERATIONS,
    LANE_MAX_ITERATIONS,
    LANE_PROBLEM,
    LANE_STALL_COUNT,
    MAX_STALL_COUNT,
    STALL_ERROR_RATIO,
    compute_damping,
    read_seed_value,
    record_trace,
    start_attempt,
    store_attempt_result,
    store_if_best,
    update_damping_multiplier,
    write_best,
    write_start,
)
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
from poise.kernels.lane_workspace import (
    DAMPING_MULTIPLIER,
    PREFERENCE_SHARE,
    PREVIOUS_ERROR,
    RESTART_THRESHOLD,
    START_RESULT_ERROR,
    make_views,
)
from poise.kernels.lanes import (
    LANES4,
    LANES8,
    SCALAR,
    count_lanes,
    get_lane,
    mask_to_bits,
    minimum,
    select,
    stack_array,
)
from poise.kernels.layout import BALL, HINGE, SLIDE
from poise.kernels.problem_arrays import TreeArrays, TreeProblems, read_node, read_term
from poise.kernels.symmetric_matrices import factor_ldl_blocks, solve_ldl_blocks
from poise.kernels.tree_residual import (
    add_soft_limit_step,
    apply_step,
    build_normal_matrix,
    clamp_balls,
    fill_preference_step,
    forward_kinematics,
    freeze_balls,
    freeze_dofs,
    has_ball_limits,
    measure_residuals,
)
from poise.kernels.tree_targets import TargetArrays, convert_world_targets, write_measured_solutions
from poise.kernels.vec_quat import Quat, Vec, from_axis_angle, multiply, norm, scale

# With a preferred configuration the error of the goals decreases slowly, and may increase first:
PREFERENCE_STALL_RATIO = 0.98  # error ratio of an iteration above which it counts as stalled, in place of STALL_SHARE
PREFERENCE_PATIENCE = 10.0  # iterations without progress allowed at the beginning of an attempt
MAX_CONVERGED_STEP = 1e-7  # largest number of a converged step
MAX_ROUNDING_STEP = 1e-14  # largest number of a step below rounding: a straight limb pushed along itself cannot bend
FINAL_ITERATIONS = 8.0  # last iterations of an attempt, for the goals only
MIN_IMPROVEMENT = 1e-3  # distance in rig sizes by which a restart must beat the result of the start's own basin
RESTART_ANGLE_STEP_RAD, MAX_RESTART_ANGLE_RAD = 0.25, 2.0  # rotation of the balls per restart and its maximum [rad]


@device_function
def write_lane(lane_values, w, l, values):
    """Write numbers into lane l."""
    for i in range(values.shape[0]):
        lane_values[i * w + l] = values[i]


@device_function
def compute_length_factor(tree):
    """Compute the longest path in units of LONG_PATH_JOINTS joints. It is at least 1.

    For n joints J J^T grows with n^3 and the squared error with n^2, in link lengths. With damping proportional to the
    error only, long chains would jump, and rotations as large as in a short chain would coil them around the base (500
    free hinges: 12 % of targets missed; with both in proportion to n none).
    """
    longest_path = 0
    for t in range(tree.terms.shape[0]):
        term = read_term(tree.terms, t)
        longest_path = max(longest_path, term.path_end - term.path_start)
    return max(1.0, longest_path / thresholds.LONG_PATH_JOINTS)


@device_function
def randomize_start(tree, restart_draws, restart_index, max_angle, u, w, l):
    """Randomize the start in lane l. Hinges and slides get any value in their range, balls stay near the start.

    A hinge without a finite range rotates by up to half a turn in both directions, within its one end if any; such
    slides and moves stay. In a long chain hinges and balls rotate less, see `compute_length_factor`.
    """
    rotation_factor = 1.0 / compute_length_factor(tree)
    for i in range(tree.nodes.shape[0]):
        _, motion, u_start, dof_start = read_node(tree.nodes, i)
        if motion == HINGE or motion == SLIDE:
            low, high, start_value = (
                tree.dofs[dof_start, layout.DOF_LOW],
                tree.dofs[dof_start, layout.DOF_HIGH],
                u[u_start * w + l],
            )
            # Both ends are finite: any value between them.
            if high - low < HUGE_ERROR:
                u[u_start * w + l] = low + read_seed_value(restart_draws, restart_index, dof_start) * (high - low)
            elif motion == HINGE:
                value = start_value + (2.0 * read_seed_value(restart_draws, restart_index, dof_start) - 1.0) * math.pi
                u[u_start * w + l] = min(max(value, low), high)
            if motion == HINGE and rotation_factor < 1.0:
                u[u_start * w + l] = start_value + rotation_factor * (u[u_start * w + l] - start_value)
        elif motion == BALL:
            x, y, z = (
                read_seed_value(restart_draws, restart_index, dof_start),
                read_seed_value(restart_draws, restart_index, dof_start + 1),
                read_seed_value(restart_draws, restart_index, dof_start + 2),
            )
            rotation_vector = Vec(2.0 * x - 1.0, 2.0 * y - 1.0, 2.0 * z - 1.0)
            angle = norm(rotation_vector)
            # Three numbers in -1..1 as a rotation vector. It is not uniform (corners are more likely), which is good
            # enough for a restart.
            u_index = u_start * w + l
            start_rotation = Quat(u[u_index], u[u_index + w], u[u_index + 2 * w], u[u_index + 3 * w])
            q = multiply(
                from_axis_angle(scale(rotation_vector, 1.0 / max(angle, 1e-12)), rotation_factor * max_angle * angle),
                start_rotation,
            )
            u[u_index], u[u_index + w], u[u_index + 2 * w], u[u_index + 3 * w] = q.w, q.x, q.y, q.z


@inline
def randomize_lane(tree, limits, restart_draws, restart_number, scalars, w, l):
    """Randomize lane l for restart number `restart_number`, counted from 1. Balls rotate farther with every restart."""
    max_angle = min(RESTART_ANGLE_STEP_RAD * restart_number, MAX_RESTART_ANGLE_RAD)
    randomize_start(tree, restart_draws, restart_number - 1, max_angle, scalars.u, w, l)
    clamp_balls(tree, limits, scalars.u, w, l)


@device_function
def start_lane_attempt(scalars, w, l, start, max_iterations, patience, preference_share, damping_multiplier):
    """Start an attempt in lane l. The multipliers of the lane's previous attempt are cleared."""
    patience = patience if preference_share <= 0.0 else PREFERENCE_PATIENCE
    start_attempt(scalars.lane_state, scalars.u, w, l, start, start.shape[0], max_iterations, patience)
    (
        scalars.lane_state[PREFERENCE_SHARE * w + l],
        scalars.lane_state[DAMPING_MULTIPLIER * w + l],
        scalars.lane_state[PREVIOUS_ERROR * w + l],
    ) = (
        preference_share,
        damping_multiplier,
        HUGE_ERROR,
    )
    # `compute_push` reads the multipliers of the previous step, which belong to another problem.
    for r in range(scalars.y.shape[0] // w):
        scalars.y[r * w + l] = 0.0


@device_function
def write_frames(scalars, w, l, frames):
    """Write the frames (n, 9) of a problem into lane l."""
    for i in range(frames.shape[0]):
        for j in range(layout.FRAME_ROW):
            scalars.frames[(layout.FRAME_ROW * i + j) * w + l] = frames[i, j]


@device_function
def compute_restart_threshold(error):
    """Compute the squared error of a winning restart. Only then does it replace the result of the start's own basin."""
    distance = max(math.sqrt(error) - MIN_IMPROVEMENT, 0.0)
    return distance * distance


@device_function
def load_lane(problems, scalars, w, l, k):
    """Load target and frames of problem k into lane l. The start is its result until a better one is found."""
    scalars.lane_state[LANE_PROBLEM * w + l], scalars.lane_state[LANE_ATTEMPT * w + l] = k, 0.0
    write_lane(scalars.targets, w, l, problems.targets[k])
    if problems.frames.shape[0] > 1:
        write_frames(scalars, w, l, problems.frames[k])
    write_start(problems.start_u, k, problems.u, problems.errors)


@inline
def start_with_preference(problems, scalars, w, l, k):
    """Start an attempt of lane l at problem k, with the preferences."""
    start, settings = problems.start_u[min(k, problems.start_u.shape[0] - 1)], problems.settings
    start_lane_attempt(
        scalars, w, l, start, settings[layout.TREE_ITERATIONS], 0.0, settings[layout.TREE_PREFERENCE_SHARE], 0.0
    )


@inline
def start_polish(problems, scalars, w, l, k):
    """Start a polish of the result of problem k in lane l.

    It has a damping multiplier of 1 and no preferences, and does not stall.
    """
    max_iterations = problems.settings[layout.TREE_POLISH_ITERATIONS]
    start_lane_attempt(scalars, w, l, problems.u[k], max_iterations, max_iterations, 0.0, 1.0)


@device_function
def load_problem(problems, scalars, w, l, k):
    """Load problem k into lane l, and start its first attempt."""
    load_lane(problems, scalars, w, l, k)
    start_with_preference(problems, scalars, w, l, k)


@inline
def count_restarts(problems):
    """Return the largest number of restarts."""
    return int(problems.settings[layout.TREE_RESTARTS]) if problems.restart_draws.shape[0] > 0 else 0


@device_function
def schedule_lane(tree, limits, problems, scalars, w, l, is_met, next_problem, end):
    """Schedule lane l: restart, final polish, or problem number `next_problem`.

    Returns whether the lane took that problem; without any left it idles.
    """
    k, attempt_count = int(scalars.lane_state[LANE_PROBLEM * w + l]), int(scalars.lane_state[LANE_ATTEMPT * w + l]) + 1
    scalars.lane_state[LANE_ATTEMPT * w + l] = attempt_count
    restart_draws, settings = problems.restart_draws, problems.settings
    max_restarts = count_restarts(problems)
    has_polish = settings[layout.TREE_POLISH_ITERATIONS] > 0.0
    if not is_met and attempt_count == 1 and has_polish:
        # Polish the result of the start's own attempt.
        start_polish(problems, scalars, w, l, k)
        return False
    restart_number = attempt_count - 1 if has_polish else attempt_count
    if not is_met and restart_number == 1 and has_polish:
        scalars.lane_state[START_RESULT_ERROR * w + l] = problems.errors[k]
        scalars.lane_state[RESTART_THRESHOLD * w + l] = compute_restart_threshold(problems.errors[k])
        problems.errors[k] = scalars.lane_state[RESTART_THRESHOLD * w + l]
    if not is_met and restart_number <= max_restarts:
        # Restart from the randomized start pose. The balls rotate farther with every attempt, so nearby poses are tried
        # first.
        start_with_preference(problems, scalars, w, l, k)
        randomize_lane(tree, limits, restart_draws, restart_number, scalars, w, l)
        return False
    # Polish the best pose of all restarts; the start's own is polished already.
    if (
        not is_met
        and restart_number == max_restarts + 1
        and has_polish
        and problems.errors[k] < scalars.lane_state[RESTART_THRESHOLD * w + l]
    ):
        start_polish(problems, scalars, w, l, k)
        return False
    if not is_met and has_polish and problems.errors[k] == scalars.lane_state[RESTART_THRESHOLD * w + l]:
        problems.errors[k] = scalars.lane_state[START_RESULT_ERROR * w + l]
    if next_problem < end:
        load_problem(problems, scalars, w, l, next_problem)
        return True
    scalars.lane_state[LANE_PROBLEM * w + l] = -1.0
    return False


# --- Restarts of a lone problem, side by side ------------------------------------------------------------------------
#
# The result is that of restarts one after the other, see kernels/arm_race.py. Attempt 0 of the race is restart 1.


@device_function
def start_next_restart(tree, limits, problems, scalars, race, w, l):
    """Start the next restart of the race in lane l. Without any left the lane becomes idle."""
    is_started = can_start(race, NO_WINNER, count_restarts(problems) - 1.0)
    if is_started:
        k, attempt = int(scalars.lane_state[LANE_PROBLEM * w + l]), int(race[RACE_NEXT_ATTEMPT])
        race[RACE_NEXT_ATTEMPT] += 1.0
        scalars.lane_state[LANE_ATTEMPT * w + l] = attempt
        start_with_preference(problems, scalars, w, l, k)
        randomize_lane(tree, limits, problems.restart_draws, attempt + 1, scalars, w, l)
    else:
        scalars.lane_state[LANE_PROBLEM * w + l] = -1.0
    return is_started


@device_function
def begin_race(tree, limits, problems, scalars, race, w, k):
    """Begin the race for problem k in all lanes.

    The polish of its start has missed. Returns the number of busy lanes.
    """
    init_race(race)
    # The start's own result counts until a restart is clearly better.
    threshold = compute_restart_threshold(problems.errors[k])
    scalars.lane_state[START_RESULT_ERROR * w] = problems.errors[k]
    scalars.lane_state[RESTART_THRESHOLD * w] = threshold
    problems.errors[k] = threshold
    active_count = 0
    for l in range(w):
        scalars.lane_state[LANE_PROBLEM * w + l] = k
        active_count += 1 if start_next_restart(tree, limits, problems, scalars, race, w, l) else 0
    return active_count


@device_function
def store_race_result(problems, scalars, race, w, l, nu, error, is_met, has_ended):
    """Store the result of lane l in a race.

    As `store_if_best` and `store_attempt_result`.
    """
    state, k = scalars.lane_state, int(scalars.lane_state[LANE_PROBLEM * w + l])
    attempt = state[LANE_ATTEMPT * w + l]
    is_candidate = has_ended or state[LANE_ITERATIONS * w + l] == 1.0 or state[DAMPING_MULTIPLIER * w + l] > 0.0
    is_winner = is_met and has_ended and attempt < race[RACE_WINNING_ATTEMPT]
    if is_winner or (is_candidate and can_store(race, attempt, error, problems.errors[k])):
        write_best(state, scalars.previous_u, w, l, nu, error, problems.u, problems.errors)
        race[RACE_BEST_ATTEMPT] = attempt
    if has_ended:
        finish_attempt(race, attempt, state[LANE_ITERATIONS * w + l] - 1.0, is_met)


@device_function
def end_race(tree, limits, problems, scalars, race, w, k):
    """End the race for problem k. Returns 1 where its best pose is polished in the first lane, else 0."""
    counts = problems.counts
    is_met = race[RACE_WINNING_ATTEMPT] < NO_WINNER
    counts[k, layout.COUNT_IS_MET] = 1 if is_met else 0
    counts[k, layout.COUNT_ITERATIONS] += int(race[RACE_ITERATIONS])
    counts[k, layout.COUNT_ATTEMPTS] += int(race[RACE_OLDEST_ATTEMPT])
    for l in range(w):
        scalars.lane_state[LANE_PROBLEM * w + l] = -1.0
    if is_met:
        return 0
    # `schedule_lane` continues behind the last restart.
    scalars.lane_state[LANE_PROBLEM * w] = k
    scalars.lane_state[LANE_ATTEMPT * w] = count_restarts(problems) + 1.0
    schedule_lane(tree, limits, problems, scalars, w, 0, False, k + 1, k + 1)
    return 1 if scalars.lane_state[LANE_PROBLEM * w] >= 0.0 else 0


@device_function
def update_progress(lane_state, error, met_mask, max_step):
    """Update the progress of each lane by one iteration.

    `max_step` is the largest number of its step. Returns the mask of ended attempts.

    An attempt stalls when its error does not fall clearly below the best so far or, with a preference, below that of
    the previous iteration.
    """
    has_preference, zero = lane_state[PREFERENCE_SHARE] > 0.0, 0.0 * lane_state[PREFERENCE_SHARE]
    # Progress resets the count of iterations without progress; patience, a count below zero, stays.
    stall_ratio, reset_count = (
        select(has_preference, zero + PREFERENCE_STALL_RATIO, zero + STALL_ERROR_RATIO),
        minimum(lane_state[LANE_STALL_COUNT], 0.0),
    )
    # Where the goals are met the error is rounding and no measure of progress; only the preference remains.
    stall_count = select(
        met_mask,
        reset_count,
        select(error > lane_state[LANE_BEST_ERROR] * stall_ratio, lane_state[LANE_STALL_COUNT] + 1.0, reset_count),
    )
    is_stalled, is_final = (
        stall_count >= MAX_STALL_COUNT,
        lane_state[LANE_ITERATIONS] >= lane_state[LANE_MAX_ITERATIONS] - FINAL_ITERATIONS,
    )
    has_no_preference = lane_state[PREFERENCE_SHARE] <= 0.0
    # Without a preference an attempt ends with its goals met or a step below rounding. With one it ends when converged;
    # a stalled attempt drops its preference and continues.
    end_mask = (
        (met_mask & (has_no_preference | (max_step <= MAX_CONVERGED_STEP)))
        | ((is_stalled | (max_step <= MAX_ROUNDING_STEP)) & has_no_preference)
        | (lane_state[LANE_ITERATIONS] >= lane_state[LANE_MAX_ITERATIONS])
    )
    drops_preference = has_preference & (is_stalled | is_final)
    # With a preference, compare with the previous iteration: the smallest error may precede the preference's effect.
    lane_state[LANE_BEST_ERROR] = select(has_preference, error, minimum(lane_state[LANE_BEST_ERROR], error))
    lane_state[LANE_STALL_COUNT] = select(drops_preference, zero, stall_count)
    lane_state[PREFERENCE_SHARE] = select(drops_preference, zero, lane_state[PREFERENCE_SHARE])
    lane_state[LANE_ITERATIONS] = lane_state[LANE_ITERATIONS] + 1.0
    return end_mask


@inline
def solve_lanes(lane_kind, tree, problems, limits, work, first, end, trace):
    """Solve problems first..end, a problem in each lane.

    The preferred configuration counts only if TREE_PREFERENCE_SHARE > 0. A plain tree has limits None.
    """
    nodes, dofs, terms = tree.nodes, tree.dofs, tree.terms
    targets, settings, u = problems.targets, problems.settings, problems.u
    errors, counts = problems.errors, problems.counts
    w, nu, has_preference, has_limits = (
        count_lanes(lane_kind),
        problems.start_u.shape[1],
        settings[layout.TREE_PREFERENCE_SHARE] > 0.0,
        has_ball_limits(limits),
    )
    damping_factor = settings[layout.TREE_DAMPING_FACTOR] * compute_length_factor(tree)
    scalars, lanes = make_views(
        lane_kind, work, nodes.shape[0], dofs.shape[0], nu, 3 * terms.shape[0], targets.shape[1]
    )
    active_count = max(min(w, end - first), 0)
    next_problem = first + active_count
    # A race needs the polish of the start before it. A trace records attempts one after the other.
    can_race = (
        end - first == 1
        and trace.shape[0] == 0
        and settings[layout.TREE_POLISH_ITERATIONS] > 0.0
        and count_restarts(problems) > 1
    )
    race, is_racing = stack_array(SCALAR, RACE_SIZE), False
    for l in range(w if active_count > 0 else 0):
        write_frames(scalars, w, l, problems.frames[0])
        load_problem(problems, scalars, w, l, first + min(l, active_count - 1))
        if l >= active_count:
            scalars.lane_state[LANE_PROBLEM * w + l] = -1.0
    while active_count > 0:
        busy_bits = mask_to_bits(lanes.lane_state[LANE_PROBLEM] >= 0.0)
        forward_kinematics(tree, lanes)
        error, met_mask = measure_residuals(lane_kind, tree, limits, lanes)
        for i in range(nu):
            lanes.previous_u[i] = lanes.u[i]
        # Constant during a call: without preferences no preference step is computed.
        if has_preference:
            fill_preference_step(lane_kind, tree, lanes)
            add_soft_limit_step(lane_kind, tree, limits, lanes)
        # Before `freeze_dofs`, which scales J by the step weights.
        if has_limits:
            freeze_balls(lane_kind, tree, limits, lanes, busy_bits, has_preference)
        freeze_dofs(lane_kind, tree, lanes, has_preference)
        lanes.lane_state[DAMPING_MULTIPLIER], lanes.lane_state[PREVIOUS_ERROR] = (
            update_damping_multiplier(lanes.lane_state[DAMPING_MULTIPLIER], lanes.lane_state[PREVIOUS_ERROR], error),
            error,
        )
        damping = compute_damping(
            lanes.lane_state[DAMPING_MULTIPLIER], error, damping_factor, settings[layout.TREE_DAMPING_FLOOR]
        )
        build_normal_matrix(lane_kind, tree, lanes, damping)
        factor_ldl_blocks(lanes.A, lanes.d)
        solve_ldl_blocks(lanes.A, lanes.d, lanes.step_error, lanes.y)
        # The next iteration computes the residual of the new pose: `previous_u` holds the configuration of this
        # error.
        max_step = apply_step(lane_kind, tree, lanes, has_preference)
        if has_limits:
            for l in range(w):
                if (busy_bits >> l) & 1 == 1:
                    clamp_balls(tree, limits, scalars.u, w, l)
        if trace.shape[0] > 0 and scalars.lane_state[LANE_PROBLEM * w] == first:
            record_trace(
                trace,
                counts[first, layout.COUNT_ITERATIONS]
                + counts[first, layout.COUNT_ATTEMPTS]
                + int(scalars.lane_state[LANE_ITERATIONS * w]),
                scalars.previous_u,
                w,
                nu,
                get_lane(error, 0),
            )
        end_bits, met_bits = (
            mask_to_bits(update_progress(lanes.lane_state, error, met_mask, max_step)),
            mask_to_bits(met_mask),
        )
        for l in range(w):
            if scalars.lane_state[LANE_PROBLEM * w + l] < 0.0:
                continue
            is_met, has_ended = (met_bits >> l) & 1 == 1, (end_bits >> l) & 1 == 1
            if is_racing:
                store_race_result(problems, scalars, race, w, l, nu, get_lane(error, l), is_met, has_ended)
                if has_ended and not start_next_restart(tree, limits, problems, scalars, race, w, l):
                    active_count -= 1
                continue
            store_if_best(
                scalars.lane_state,
                scalars.previous_u,
                w,
                l,
                nu,
                scalars.lane_state[DAMPING_MULTIPLIER * w + l],
                get_lane(error, l),
                u,
                errors,
            )
            if has_ended:
                store_attempt_result(
                    scalars.lane_state, scalars.previous_u, w, l, nu, get_lane(error, l), is_met, u, errors, counts
                )
                if can_race and not is_met and scalars.lane_state[LANE_ATTEMPT * w + l] == 1.0:
                    is_racing, can_race = True, False
                elif schedule_lane(tree, limits, problems, scalars, w, l, is_met, next_problem, end):
                    next_problem += 1
                elif scalars.lane_state[LANE_PROBLEM * w + l] < 0.0:
                    active_count -= 1
                if is_racing:
                    active_count = begin_race(tree, limits, problems, scalars, race, w, first)
                    break
        if is_racing and is_race_over(race, count_restarts(problems) - 1.0, False, 0.0):
            active_count = end_race(tree, limits, problems, scalars, race, w, first)
            is_racing = False


@inline
def solve_targets(lane_kind, tree, problems, limits, work, first, end, trace, target_arrays):
    """Solve problems first..end, with world targets if there are any.

    These are converted first, and the solutions measured; see kernels/tree_targets.py. Returns the number of far
    targets: with any, nothing is solved.
    """
    has_world_targets = target_arrays.world_targets.shape[0] > 0
    if has_world_targets:
        far_count = convert_world_targets(target_arrays, first, end, problems.targets)
        if far_count > 0:
            return far_count
    solve_lanes(lane_kind, tree, problems, limits, work, first, end, trace)
    if has_world_targets:
        write_measured_solutions(lane_kind, target_arrays, problems.u, problems.counts, first, end, work)
    return 0


@kernel("I2 F3 F2 I2 F2 I1 I2 wF2 F2 F2 F1 F1 F2 F1 aF1 i i wF2 wF1 wI2 wF2 F1 I1 F2 F2 F2 F2 F2 wF2 wF3 -> i")
def solve4(
    nodes, frames, dofs, terms, effectors, paths, row_ranges, targets, start_u, restart_draws, preferred_u,
    preference_weights, limits, settings, work, first, end, u, errors, counts, trace,
    packed_tables, packed_layout, world_targets, base_transforms, far_reaches, start_q, local_offsets, q, error_parts,
):  # fmt: skip
    """Solve four problems side by side."""
    tree = TreeArrays(nodes, dofs, terms, effectors, paths, row_ranges, preferred_u, preference_weights)
    problems = TreeProblems(frames, targets, start_u, restart_draws, settings, u, errors, counts)
    target_arrays = TargetArrays(
        packed_tables,
        packed_layout,
        world_targets,
        base_transforms,
        far_reaches,
        start_q,
        local_offsets,
        q,
        error_parts,
    )
    return solve_targets(LANES4, tree, problems, limits, work, first, end, trace, target_arrays)


@kernel("I2 F3 F2 I2 F2 I1 I2 wF2 F2 F2 F1 F1 F2 F1 aF1 i i wF2 wF1 wI2 wF2 F1 I1 F2 F2 F2 F2 F2 wF2 wF3 -> i")
def solve8(
    nodes, frames, dofs, terms, effectors, paths, row_ranges, targets, start_u, restart_draws, preferred_u,
    preference_weights, limits, settings, work, first, end, u, errors, counts, trace,
    packed_tables, packed_layout, world_targets, base_transforms, far_reaches, start_q, local_offsets, q, error_parts,
):  # fmt: skip
    """Solve eight problems side by side."""
    tree = TreeArrays(nodes, dofs, terms, effectors, paths, row_ranges, preferred_u, preference_weights)
    problems = TreeProblems(frames, targets, start_u, restart_draws, settings, u, errors, counts)
    target_arrays = TargetArrays(
        packed_tables,
        packed_layout,
        world_targets,
        base_transforms,
        far_reaches,
        start_q,
        local_offsets,
        q,
        error_parts,
    )
    return solve_targets(LANES8, tree, problems, limits, work, first, end, trace, target_arrays)


@kernel("I2 F3 F2 I2 F2 I1 I2 wF2 F2 F2 F1 F1 F1 aF1 i i wF2 wF1 wI2 wF2 F1 I1 F2 F2 F2 F2 F2 wF2 wF3 -> i")
def plain4(
    nodes, frames, dofs, terms, effectors, paths, row_ranges, targets, start_u, restart_draws, preferred_u,
    preference_weights, settings, work, first, end, u, errors, counts, trace,
    packed_tables, packed_layout, world_targets, base_transforms, far_reaches, start_q, local_offsets, q, error_parts,
):  # fmt: skip
    """Solve four problems of a tree without limits side by side."""
    tree = TreeArrays(nodes, dofs, terms, effectors, paths, row_ranges, preferred_u, preference_weights)
    problems = TreeProblems(frames, targets, start_u, restart_draws, settings, u, errors, counts)
    target_arrays = TargetArrays(
        packed_tables,
        packed_layout,
        world_targets,
        base_transforms,
        far_reaches,
        start_q,
        local_offsets,
        q,
        error_parts,
    )
    return solve_targets(LANES4, tree, problems, None, work, first, end, trace, target_arrays)


@kernel("I2 F3 F2 I2 F2 I1 I2 wF2 F2 F2 F1 F1 F1 aF1 i i wF2 wF1 wI2 wF2 F1 I1 F2 F2 F2 F2 F2 wF2 wF3 -> i")
def plain8(
    nodes, frames, dofs, terms, effectors, paths, row_ranges, targets, start_u, restart_draws, preferred_u,
    preference_weights, settings, work, first, end, u, errors, counts, trace,
    packed_tables, packed_layout, world_targets, base_transforms, far_reaches, start_q, local_offsets, q, error_parts,
):  # fmt: skip
    """Solve eight problems of a tree without limits side by side."""
    tree = TreeArrays(nodes, dofs, terms, effectors, paths, row_ranges, preferred_u, preference_weights)
    problems = TreeProblems(frames, targets, start_u, restart_draws, settings, u, errors, counts)
    target_arrays = TargetArrays(
        packed_tables,
        packed_layout,
        world_targets,
        base_transforms,
        far_reaches,
        start_q,
        local_offsets,
        q,
        error_parts,
    )
    return solve_targets(LANES8, tree, problems, None, work, first, end, trace, target_arrays)
