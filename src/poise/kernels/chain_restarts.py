# pyright: standard
"""Restarts, bends and extrapolation of chains where sweeps stop converging.

Straight chains are bent, restarts perturbed, sweeps extrapolated along narrow valleys.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels.chain_kinematics import (
    cache_all_sincos,
    compute_tip_position,
    copy_motions,
    read_link_offset,
    record_trace,
    store_frames_and_point,
)
from poise.kernels.device_functions import device_function, inline
from poise.kernels.layout import (
    BALL,
    COUNT_ITERATIONS,
    COUNT_JOINT_STEPS,
    HINGE,
    LIMIT_KIND,
    NO_LIMIT,
    OUTCOME_ERROR,
    OUTCOME_IS_MET,
    SLIDE,
)
from poise.kernels.limits import clamp, clamp_rotation
from poise.kernels.vec_quat import (
    Vec,
    conjugate,
    cross,
    find_perpendicular,
    from_axis_angle,
    multiply,
    norm,
    normalise,
    read_quat,
    read_vec,
    rotate,
    scale,
    sub,
    write_quat,
)

MAX_BALL_PERTURBATION_RAD = 1.0  # [rad] maximum rotation of an unlimited ball at a restart


@inline
def find_first_rotating_joint(link_kinds):
    """Return the first rotating joint; -1 if there is none.

    Links before it only slide, and bending does not help them.
    """
    for i in range(link_kinds.shape[0]):
        if link_kinds[i] == BALL or link_kinds[i] == HINGE:
            return i
    return -1


@device_function
def is_straight(link_kinds, tip_position, origins, max_angle):
    """Return whether a chain is straight.

    All rotating joints and the tip lie on one line through the first of them, within `max_angle`.
    """
    first_joint = find_first_rotating_joint(link_kinds)
    if first_joint < 0:
        return False
    base = read_vec(origins, first_joint)
    tip_offset = sub(tip_position, base)
    max_sine_length = math.sin(max_angle) * norm(tip_offset)
    for i in range(first_joint + 1, link_kinds.shape[0]):
        joint_offset = sub(read_vec(origins, i), base)
        # Compare the sine of the angle at the base, without dividing: joints at the base are on every line.
        if norm(cross(joint_offset, tip_offset)) > max_sine_length * norm(joint_offset):
            return False
    return norm(tip_offset) > 0.0


@device_function
def bend_chain(link_kinds, ranges, chain_direction, rotations, bend_angle, x):
    """Bend every joint to one side by `bend_angle`.

    Balls turn about an axis perpendicular to the line, hinges into their range.
    """
    bend_axis = find_perpendicular(chain_direction)
    for i in range(link_kinds.shape[0]):
        if link_kinds[i] == BALL:
            # All balls bend about one axis of the base frame, to one side: the chain becomes an arc, not a zigzag
            # along the line.
            axis = rotate(conjugate(read_quat(rotations, i)), bend_axis)
            write_quat(x, i, multiply(from_axis_angle(axis, bend_angle), read_quat(x, i)))
        elif link_kinds[i] == HINGE:
            increased_value = min(x[i, 0] + bend_angle, ranges[i, 1])
            decreased_value = max(x[i, 0] - bend_angle, ranges[i, 0])
            x[i, 0] = increased_value if increased_value - x[i, 0] >= x[i, 0] - decreased_value else decreased_value


@device_function
def bend_if_straight(chain, point, bend_angle, x, workspace):
    """Bend a chain if it is straight; return whether it was.

    `point` is the tip in its frame; `workspace` has workspace for `origins` (m, 4) and `rotations` (m, 4) of links.
    """
    link_kinds, origins, rotations = chain.link_kinds, workspace.origins, workspace.rotations
    tip_position = store_frames_and_point(chain, point, x, origins, rotations)
    was_straight = is_straight(link_kinds, tip_position, origins, bend_angle)
    if was_straight:
        chain_direction = sub(tip_position, read_vec(origins, find_first_rotating_joint(link_kinds)))
        bend_chain(link_kinds, chain.ranges, chain_direction, rotations, bend_angle, x)
    return was_straight


@device_function
def perturb(link_kinds, ranges, start_x, attempt, x):
    """Perturb the start pose for a restart. The result mixes it with a point of a low-discrepancy sequence.

    The first attempts stay near the start, the fourth and later ones cover the whole limits. A slide without two ends
    stays, because no length would be independent of units.
    The sequence is Roberts' R_d: u_i = frac(1/2 + n g^-(i+1)) with g^(d+1) = g + 1. It is the same for every
    problem, so that a result depends on its own problem only.
    """
    d = 4 * link_kinds.shape[0]
    g = 1.5
    # The root of g^(d + 1) = g + 1 by fixed-point iteration, which converges from any start above 1.
    for _ in range(32):
        g = (1.0 + g) ** (1.0 / (d + 1.0))
    # Near the start at first: of several solutions the caller prefers one near the current pose.
    mix_share = min(1.0, 0.25 * attempt)
    copy_motions(start_x, x)
    for i in range(link_kinds.shape[0]):
        sample = sample_low_discrepancy(g, 4 * i, attempt)
        if link_kinds[i] == BALL:
            axis = Vec(
                sample_low_discrepancy(g, 4 * i + 1, attempt) - 0.5,
                sample_low_discrepancy(g, 4 * i + 2, attempt) - 0.5,
                0.5 - sample,
            )
            if norm(axis) > 0.0:
                write_quat(
                    x,
                    i,
                    multiply(
                        from_axis_angle(scale(axis, 1.0 / norm(axis)), mix_share * MAX_BALL_PERTURBATION_RAD),
                        read_quat(x, i),
                    ),
                )
        elif link_kinds[i] == HINGE:
            # Angles repeat beyond half a turn in either direction.
            low, high = max(ranges[i, 0], x[i, 0] - math.pi), min(ranges[i, 1], x[i, 0] + math.pi)
            x[i, 0] += mix_share * (low + sample * (high - low) - x[i, 0])
        elif link_kinds[i] == SLIDE and ranges[i, 1] - ranges[i, 0] < math.inf:
            x[i, 0] += mix_share * (ranges[i, 0] + sample * (ranges[i, 1] - ranges[i, 0]) - x[i, 0])


@device_function
def clamp_balls(link_kinds, limits, x):
    """Clamp every ball to its limit. Bends and perturbations ignore limits."""
    for i in range(link_kinds.shape[0]):
        if link_kinds[i] == BALL and limits[i, LIMIT_KIND] != NO_LIMIT:
            write_quat(x, i, clamp_rotation(limits[i], normalise(read_quat(x, i))))


@inline
def sample_low_discrepancy(g, dimension, n):
    """Sample the R_d sequence in 0..1. Returns one coordinate of its n-th point."""
    value = 0.5 + n * g ** (-(dimension + 1.0))
    return value - math.floor(value)


@device_function
def extrapolate_sweep(chain, target, extrapolation, error, previous_x, x, sincos):
    """Extrapolate the last sweep by `extrapolation`. Undone where it does not lower the error; returns the error.

    It speeds up sweeps along a narrow valley: the pattern move of Hooke and Jeeves, J. ACM 8, 1961.
    """
    link_kinds, ranges, limits = chain.link_kinds, chain.ranges, chain.limits
    for i in range(link_kinds.shape[0]):
        current_motion, previous_motion = read_quat(x, i), read_quat(previous_x, i)
        # `previous_x` becomes the current pose, restored if the extrapolation fails.
        write_quat(previous_x, i, current_motion)
        if link_kinds[i] == HINGE or link_kinds[i] == SLIDE:
            x[i, 0] = clamp(
                current_motion.w + extrapolation * (current_motion.w - previous_motion.w), ranges[i, 0], ranges[i, 1]
            )
        else:
            for j in range(4):
                x[i, j] += extrapolation * (x[i, j] - previous_motion[j])
            if link_kinds[i] == BALL:
                write_quat(x, i, clamp_rotation(limits[i], normalise(read_quat(x, i))))
    new_error = norm(sub(target, compute_tip_position(chain, x)))
    if new_error < error:
        cache_all_sincos(link_kinds, x, sincos)
        return new_error
    copy_motions(previous_x, x)
    return error


# --- Restart loop of chain descents ----------------------------------------------------------------------------------
#
# The first starts from the given pose, later ones from perturbed poses; the best result is kept.


# Fraction of the error: a descent ends after three consecutive iterations with a smaller decrease.
MIN_FINAL_DECREASE = 1e-6  # of the last descent
MIN_RESTART_DECREASE = 1e-2  # of a descent before a restart, because another start is likely to converge faster


class ChainProblem(NamedTuple):
    """Target and start of one descent."""

    target: Any  # Vec or EffectorTarget in the base frame
    start_x: Any  # (m, 4) motions of the first attempt
    is_reachable: bool  # whether the target is within reach of the chain: else there are no restarts


@inline
def is_within_reach(chain, point, reach_range):
    """Return whether a point is within reach of the tip.

    reach_range (2,): min and max distance from the first link.
    """
    return (
        chain.link_kinds.shape[0] > 0
        and reach_range[0] <= norm(sub(point, read_link_offset(chain.frames, 0))) <= reach_range[1]
    )


@inline
def store_if_best(x, error, is_met, workspace):
    """Store x if it is the best so far. Sets `best_x` (m, 4) and `best_outcome` (2,) of the workspace."""
    if is_met or error < workspace.best_outcome[OUTCOME_ERROR]:
        workspace.best_outcome[OUTCOME_ERROR], workspace.best_outcome[OUTCOME_IS_MET] = error, 1.0 if is_met else 0.0
        copy_motions(x, workspace.best_x)


@inline
def store_initial(error, is_met, output, workspace):
    """Store the first pose of a descent, bent or perturbed. If it meets the goals, the descent is done."""
    store_if_best(output.x, error, is_met, workspace)
    # Count an iteration: zero iterations would mean the start.
    if is_met:
        output.counts[COUNT_ITERATIONS] += 1
        record_trace(output, error)


@inline
def descend_with_restarts(descend, measure, chain, problem, options, output, workspace):
    """Descend from the start pose, with restarts after stalls.

    output.x becomes the best pose found.

    descend    (chain, target, options, min_decrease, output, workspace): moves output.x downhill, counts
               iterations, and stores the best pose in the workspace
    measure    (chain, target, options, x): the error, and whether the goals are met
    options    has `iterations`, of all descents together, and `max_restarts`
    workspace  has `best_x` (m, 4) and `best_outcome` (2,): the best pose, its error, and 1 where it meets the goals
    """
    x, counts, best_x, best_outcome = output.x, output.counts, workspace.best_x, workspace.best_outcome
    max_restarts = options.restarts if problem.is_reachable else 0
    counts[COUNT_ITERATIONS], counts[COUNT_JOINT_STEPS] = 0, 0
    copy_motions(problem.start_x, x)
    error, is_met = measure(chain, problem.target, options, x)
    record_trace(output, error)
    best_outcome[OUTCOME_ERROR], best_outcome[OUTCOME_IS_MET] = error, 1.0 if is_met else 0.0
    # A start with a NaN error is returned unchanged.
    if is_met or not error < math.inf or chain.link_kinds.shape[0] == 0:
        return
    copy_motions(x, best_x)
    # The start, the restarts, and a last descent from the best.
    for attempt in range(max_restarts + 2 if max_restarts > 0 else 1):
        if counts[COUNT_ITERATIONS] >= options.iterations or best_outcome[OUTCOME_IS_MET] > 0.0:
            break
        # Attempts before the last were stopped while still decreasing slowly: the best of them is now continued.
        if attempt > max_restarts:
            copy_motions(best_x, x)
        elif attempt > 0:
            perturb(chain.link_kinds, chain.ranges, problem.start_x, attempt, x)
            clamp_balls(chain.link_kinds, chain.limits, x)
        min_decrease = MIN_RESTART_DECREASE if attempt < max_restarts else MIN_FINAL_DECREASE
        descend(chain, problem.target, options, min_decrease, output, workspace)
    copy_motions(best_x, x)
    # Products of many unit quaternions drift by rounding. An unmoved start stays bit for bit.
    for i in range(chain.link_kinds.shape[0]):
        if chain.link_kinds[i] == BALL and counts[COUNT_ITERATIONS] > 0:
            write_quat(x, i, normalise(read_quat(x, i)))
