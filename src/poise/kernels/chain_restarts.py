"""Restarts, bends and extrapolation for stalled chain descents.

Straight chains are bent, restarts perturbed, sweeps extrapolated along narrow valleys.
"""

from __future__ import annotations

import math

from poise.kernels.chain_kinematics import (
    cache_all_sincos,
    compute_tip_position,
    copy_motions,
    record_trace,
    store_frames,
)
from poise.kernels.jit import device_function, inline
from poise.kernels.layout import BALL, HINGE, LIMIT_KIND, NO_LIMIT, SLIDE
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
def find_first_rotating_joint(kinds):
    """Return the first rotating joint; -1 if there is none.

    Links before it only slide, and bending does not help them.
    """
    for i in range(kinds.shape[0]):
        if kinds[i] == BALL or kinds[i] == HINGE:
            return i
    return -1


@device_function
def is_straight(kinds, tip_at, origins, bend):
    """Return whether a chain is straight.

    All rotating joints and the tip lie on one line through the first of them, within `bend`.
    """
    first = find_first_rotating_joint(kinds)
    if first < 0:
        return False
    base = read_vec(origins, first)
    line = sub(tip_at, base)
    tolerance = math.sin(bend) * norm(line)
    for i in range(first + 1, kinds.shape[0]):
        offset = sub(read_vec(origins, i), base)
        # Compare the sine of the angle at the base, without dividing: joints at the base are on every line.
        if norm(cross(offset, line)) > tolerance * norm(offset):
            return False
    return norm(line) > 0.0


@device_function
def bend_chain(kinds, ranges, line, rotations, bend, x):
    """Bend every joint to one side by `bend`.

    Balls turn about an axis perpendicular to the line, hinges into their range.
    """
    side = find_perpendicular(line)
    for i in range(kinds.shape[0]):
        if kinds[i] == BALL:
            # All balls bend about one axis of the base frame, to one side: the chain becomes an arc, not a zigzag
            # along the line.
            axis = rotate(conjugate(read_quat(rotations, i)), side)
            write_quat(x, i, multiply(from_axis_angle(axis, bend), read_quat(x, i)))
        elif kinds[i] == HINGE:
            increased = min(x[i, 0] + bend, ranges[i, 1])
            decreased = max(x[i, 0] - bend, ranges[i, 0])
            x[i, 0] = increased if increased - x[i, 0] >= x[i, 0] - decreased else decreased


@device_function
def bend_if_straight(kinds, axes, ranges, frames, tip, bend, x, origins, rotations):
    """Bend a chain if it is straight; return whether it was."""
    tip_at = store_frames(kinds, axes, frames, tip, x, origins, rotations)
    was_straight = is_straight(kinds, tip_at, origins, bend)
    if was_straight:
        bend_chain(kinds, ranges, sub(tip_at, read_vec(origins, find_first_rotating_joint(kinds))), rotations, bend, x)
    return was_straight


@device_function
def perturb(kinds, ranges, start, attempt, x):
    """Perturb the start pose for a restart. The result mixes it with a point of a low-discrepancy sequence.

    The first attempts stay near the start, the fourth and later ones cover the whole limits. A slide without two ends
    stays, because no length would be independent of units.
    The sequence is Roberts' R_d: u_i = frac(1/2 + n g^-(i+1)) with g^(d+1) = g + 1. It is the same for every
    problem, so that a result depends on its own problem only.
    """
    d = 4 * kinds.shape[0]
    g = 1.5
    # The root of g^(d + 1) = g + 1 by fixed-point iteration, which converges from any start above 1.
    for _ in range(32):
        g = (1.0 + g) ** (1.0 / (d + 1.0))
    # Near the start at first: of several solutions the caller prefers one near the current pose.
    share = min(1.0, 0.25 * attempt)
    copy_motions(start, x)
    for i in range(kinds.shape[0]):
        u = sample_low_discrepancy(g, 4 * i, attempt)
        if kinds[i] == BALL:
            axis = Vec(
                sample_low_discrepancy(g, 4 * i + 1, attempt) - 0.5,
                sample_low_discrepancy(g, 4 * i + 2, attempt) - 0.5,
                0.5 - u,
            )
            if norm(axis) > 0.0:
                write_quat(
                    x,
                    i,
                    multiply(
                        from_axis_angle(scale(axis, 1.0 / norm(axis)), share * MAX_BALL_PERTURBATION_RAD),
                        read_quat(x, i),
                    ),
                )
        elif kinds[i] == HINGE:
            # Angles repeat beyond half a turn in either direction.
            low, high = max(ranges[i, 0], x[i, 0] - math.pi), min(ranges[i, 1], x[i, 0] + math.pi)
            x[i, 0] += share * (low + u * (high - low) - x[i, 0])
        elif kinds[i] == SLIDE and ranges[i, 1] - ranges[i, 0] < math.inf:
            x[i, 0] += share * (ranges[i, 0] + u * (ranges[i, 1] - ranges[i, 0]) - x[i, 0])


@device_function
def clamp_balls(kinds, limits, x):
    """Clamp every ball to its limit. Bends and perturbations ignore limits."""
    for i in range(kinds.shape[0]):
        if kinds[i] == BALL and limits[i, LIMIT_KIND] != NO_LIMIT:
            write_quat(x, i, clamp_rotation(limits[i], normalise(read_quat(x, i))))


@inline
def sample_low_discrepancy(g, dimension, n):
    """Sample the R_d sequence in 0..1. Returns one coordinate of its n-th point."""
    value = 0.5 + n * g ** (-(dimension + 1.0))
    return value - math.floor(value)


@device_function
def extrapolate_sweep(links, tip, target, share, error, previous, x, sincos):
    """Extrapolate the last sweep by `share`. Undone where it does not lower the error; returns the error.

    It speeds up sweeps along a narrow valley: the pattern move of Hooke and Jeeves, J. ACM 8, 1961.
    """
    kinds, axes, ranges, limits, frames = links
    for i in range(kinds.shape[0]):
        current, before = read_quat(x, i), read_quat(previous, i)
        # `previous` becomes the current pose, restored if the extrapolation fails.
        write_quat(previous, i, current)
        if kinds[i] == HINGE or kinds[i] == SLIDE:
            x[i, 0] = clamp(current.w + share * (current.w - before.w), ranges[i, 0], ranges[i, 1])
        else:
            for j in range(4):
                x[i, j] += share * (x[i, j] - before[j])
            if kinds[i] == BALL:
                write_quat(x, i, clamp_rotation(limits[i], normalise(read_quat(x, i))))
    new_error = norm(sub(target, compute_tip_position(kinds, axes, frames, tip, x)))
    if new_error < error:
        cache_all_sincos(kinds, x, sincos)
        return new_error
    copy_motions(previous, x)
    return error


# --- Restart loop of chain descents ----------------------------------------------------------------------------------
#
# The first starts from the given pose, later ones from perturbed poses; the best result is kept.


# Fraction of the error: a descent ends after three consecutive iterations with a smaller decrease.
STALL_SHARE = 1e-6  # of the last descent
SLOW_SHARE = 1e-2  # of a descent before a restart, because another start is likely to converge faster


@inline
def store_if_best(x, error, is_met, best_error, best):
    """Store x if it is the best so far."""
    if is_met or error < best_error[0]:
        best_error[0], best_error[1] = error, 1.0 if is_met else 0.0
        copy_motions(x, best)


@inline
def store_initial(x, error, is_met, best_error, count, best, trace_x, trace_error):
    """Store the first pose of a descent, bent or perturbed. If it meets the goals, the descent is done."""
    store_if_best(x, error, is_met, best_error, best)
    # Count an iteration: zero iterations would mean the start.
    if is_met:
        count[0] += 1
        record_trace(trace_x, trace_error, count[0], x, error)


@inline
def descend_with_restarts(
    descend,
    measure,
    links,
    tip,
    target,
    options,
    is_reachable,
    start,
    x,
    best_error,
    count,
    workspace,
    trace_x,
    trace_error,
):
    """Descend from the start pose, with restarts after stalls.

    x becomes the best pose found.

    is_reachable  whether the target is within reach of the chain: else there are no restarts
    descend       (links, tip, target, options, min_gain, x, best_error, count, workspace, trace_x, trace_error): moves
                  x downhill, counts iterations, and stores the best in best_error and workspace.best
    measure       (links, tip, target, options, x): the error, and whether the goals are met
    best_error    (2,) out: error of the best pose, and 1 where it meets the goals
    options       has `iterations`, of all descents together, and `restarts`
    """
    restarts = options.restarts if is_reachable else 0
    count[0], count[1] = 0, 0
    copy_motions(start, x)
    error, is_met = measure(links, tip, target, options, x)
    record_trace(trace_x, trace_error, 0, x, error)
    best_error[0], best_error[1] = error, 1.0 if is_met else 0.0
    # A start with a NaN error is returned unchanged.
    if is_met or not error < math.inf or links.kinds.shape[0] == 0:
        return
    copy_motions(x, workspace.best)
    # The start, the restarts, and a last descent from the best.
    for attempt in range(restarts + 2 if restarts > 0 else 1):
        if count[0] >= options.iterations or best_error[1] > 0.0:
            break
        # Attempts before the last were stopped while still decreasing slowly: the best of them is now continued.
        if attempt > restarts:
            copy_motions(workspace.best, x)
        elif attempt > 0:
            perturb(links.kinds, links.ranges, start, attempt, x)
            clamp_balls(links.kinds, links.limits, x)
        min_gain = SLOW_SHARE if attempt < restarts else STALL_SHARE
        descend(links, tip, target, options, min_gain, x, best_error, count, workspace, trace_x, trace_error)
    copy_motions(workspace.best, x)
    # Products of many unit quaternions drift by rounding. An unmoved start stays bit for bit.
    for i in range(links.kinds.shape[0]):
        if links.kinds[i] == BALL and count[0] > 0:
            write_quat(x, i, normalise(read_quat(x, i)))
