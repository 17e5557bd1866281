# pyright: standard
"""Cyclic coordinate descent: each joint in turn brings the tip as near to the target as it alone can.

One sweep is O(n) and turns points only, no frames. Turning a joint moves nothing between it and the base,
and everything between it and the tip as one rigid piece. So a sweep from the tip carries the target up
through all links once, then the tip down, joint by joint; a sweep from the base carries the tip down
once, then the target up. Both end with the distance left, without further forward kinematics.
"""

from __future__ import annotations

import math

import numpy as np

from poise.kernels.chain import (
    BALL,
    HINGE,
    SLIDE,
    carry_up,
    copy,
    into_link,
    link_offset,
    out_of_link,
    out_of_moved,
    put_turn,
    put_turns,
    tip_position,
)
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.escape import go_on, kick, unbend
from poise.kernels.limits import TURN, best_angle, capped, clamp, twist_angle
from poise.kernels.linear import (
    about,
    add,
    conjugate,
    cross,
    dot,
    have_directions,
    multiply,
    norm,
    normalise,
    put_quat,
    put_vec,
    quat_at,
    rotate,
    rotation_between,
    scale,
    spin,
    sub,
    vec_at,
)

TIP_FIRST, BASE_FIRST = 0, 1
EXACT, PROJECT = 0, 1
NO_LEVERAGE = 1e-14  # in chain sizes squared: the hinge cannot move the tip towards or away from the target
LAGGING = 0.2  # base first: after a sweep that lowers the error by less than this share, one runs from the tip
FARTHEST = 32.0  # times the last sweep's change: the longest leap along a valley
STALLED = 1e-6  # three sweeps in a row that each lower the error by less than this share of it end the solve
SLOW = 1e-2  # the same, where a restart is left: from elsewhere the error falls faster


@inline
def hinge_exact(axis, value, low, high, max_turn, h, d):
    """The hinge value in its range that brings the tip h nearest to the target d.

    Turning h about a by phi gives |d - h|^2 = const - 2 [k1 (1 - cos phi) + k2 cos phi + k3 sin phi] with
    k1 = (d.a)(h.a), k2 = d.h, k3 = a.(h x d): one cosine with its minimum at phi = atan2(k3, k2 - k1).
    """
    k21 = dot(d, h) - dot(d, axis) * dot(h, axis)
    k3 = dot(axis, cross(h, d))
    if k3 * k3 + k21 * k21 <= NO_LEVERAGE * NO_LEVERAGE:
        return value
    return best_angle(value + math.atan2(k3, k21), max(low, value - max_turn), min(high, value + max_turn))


@inline
def hinge_project(axis, value, low, high, max_turn, h, d):
    """The classic way: turn freely, turn back so that the axis returns, read the angle, keep it in range.

    That keeps the twist of the free turn about the axis, which falls short of the minimiser.
    """
    free = capped(rotation_between(h, d), max_turn)
    turned = multiply(free, about(axis, value))
    back = rotation_between(rotate(turned, axis), axis)
    angle = twist_angle(multiply(back, turned), axis)
    turns = math.floor((angle - value) / TURN + 0.5)
    return best_angle(angle - turns * TURN, low, high)


@inline
def step_ball(x, i, max_turn, point, d):
    """`step` for a ball joint."""
    q = quat_at(x, i)
    h = rotate(q, point)
    turn = rotation_between(h, d)
    if max_turn < math.pi:
        turn = capped(turn, max_turn)
    q = multiply(turn, q)
    put_quat(x, i, q)
    pp, dd = dot(point, point), dot(d, d)
    if max_turn < math.pi or not have_directions(pp, dd):
        return rotate(turn, h), rotate(conjugate(q), d)
    # Joint, tip and target now stand on one line: lengths alone say where, without waiting for the rotation.
    return scale(d, math.sqrt(pp) / math.sqrt(dd)), scale(point, math.sqrt(dd) / math.sqrt(pp))


@inline
def step_hinge(axis, low, high, hinge, max_turn, x, turns, i, point, d):
    """`step` for a hinge."""
    value = x[i, 0]
    h = spin(axis, turns[i, 0], turns[i, 1], point)
    if hinge == EXACT:
        best = hinge_exact(axis, value, low, high, max_turn, h, d)
    else:
        best = hinge_project(axis, value, low, high, max_turn, h, d)
    if best != value:
        x[i, 0] = best
        put_turn(turns, i, best)
    return spin(axis, turns[i, 0], turns[i, 1], point), spin(axis, turns[i, 0], -turns[i, 1], d)


@inline
def step(kind, axis, low, high, hinge, max_turn, x, turns, i, point, d):
    """Move joint i so that `point` of its moved frame comes nearest to d in its frame.

    Returns both as they then are: the point in the joint's frame, d in the moved frame.
    """
    if kind == BALL:
        return step_ball(x, i, max_turn, point, d)
    if kind == HINGE:
        return step_hinge(axis, low, high, hinge, max_turn, x, turns, i, point, d)
    if kind == SLIDE:
        length = dot(axis, axis)
        if length > 0.0:
            h = add(point, scale(axis, x[i, 0]))
            x[i, 0] = clamp(x[i, 0] + dot(axis, sub(d, h)) / length, low, high)
        shift = scale(axis, x[i, 0])
    else:
        shift = sub(d, point)
        put_vec(x, i, shift)
    return add(point, shift), sub(d, shift)


@part
def sweep_from_tip(kinds, axes, ranges, frames, tip, target, hinge, max_turn, x, turns, points):
    """One sweep tip to base; returns the distance left. `points` holds the target in each link's frame."""
    m = kinds.shape[0]
    carry_up(kinds, axes, frames, target, x, turns, points)
    point = tip
    for k in range(m):
        i = m - 1 - k
        low, high, d = ranges[i, 0], ranges[i, 1], vec_at(points, i)
        point, _ = step(kinds[i], vec_at(axes, i), low, high, hinge, max_turn, x, turns, i, point, d)
        point = out_of_link(frames, i, point)
    return norm(sub(target, point))


@part
def sweep_from_base(kinds, axes, ranges, frames, tip, target, hinge, max_turn, x, turns, points):
    """One sweep base to tip; returns the distance left. `points` holds the tip in each moved frame."""
    m = kinds.shape[0]
    point = tip
    for k in range(m):
        i = m - 1 - k
        put_vec(points, i, point)
        point = out_of_link(frames, i, out_of_moved(kinds[i], vec_at(axes, i), x, turns, i, point))
    d = target
    for i in range(m):
        d = into_link(frames, i, d)
        low, high, point = ranges[i, 0], ranges[i, 1], vec_at(points, i)
        _, d = step(kinds[i], vec_at(axes, i), low, high, hinge, max_turn, x, turns, i, point, d)
    return norm(sub(d, tip))


@kernel
def solve(
    kinds, axes, ranges, frames, tips, reach, starts, targets, options, x_out, errors, counts, trace_x, trace_error
):  # fmt: skip
    """Solve k targets (k, 3), each from its own start (1|k, m, 4).

    reach (1|k, 2): shortest and longest distance of the tip from the first link's frame; a target outside
    is not worth a restart. options: tolerance, iterations, order, hinge, bend, max_turn, restarts.
    counts (k, 2): sweeps, single joint updates. trace_x (iterations + 1 or 0, m, 4) and trace_error are
    filled for the last target.
    """
    m = kinds.shape[0]
    scratch = np.empty((4, m, 4))
    for k in range(targets.shape[0]):
        chain_frames = frames[min(k, frames.shape[0] - 1)]
        start = starts[min(k, starts.shape[0] - 1)]
        tip = vec_at(tips, min(k, tips.shape[0] - 1))
        target = vec_at(targets, k)
        within = m > 0 and in_reach(reach, min(k, reach.shape[0] - 1), sub(target, link_offset(chain_frames, 0)))
        errors[k] = search(
            kinds, axes, ranges, chain_frames, tip, target, within, start, options, x_out[k], counts[k], scratch[3],
            scratch[2], scratch[0], scratch[1], trace_x, trace_error,
        )  # fmt: skip


@inline
def in_reach(reach, k, offset):
    """Whether the lengths alone allow the tip to be at this offset from the first link."""
    return reach[k, 0] <= norm(offset) <= reach[k, 1]


@part
def search(
    kinds, axes, ranges, frames, tip, target, within, start, options, x, count, best, previous, origins, rotations,
    trace_x, trace_error,
):  # fmt: skip
    """Descend from the start; where that stalls within reach, descend again from kicks. x keeps the best seen."""
    tolerance, iterations = options[0], int(options[1])
    restarts = int(options[6]) if within else 0
    count[0] = 0
    count[1] = 0
    copy(start, x)
    error = norm(sub(target, tip_position(kinds, axes, frames, tip, x)))
    record(trace_x, trace_error, count[0], x, error)
    if error <= tolerance or not error < math.inf:
        return error
    copy(x, best)
    attempt = 0 if kinds.shape[0] > 0 else restarts + 1
    while attempt <= restarts and count[0] < iterations and error > tolerance:
        if attempt > 0:
            kick(kinds, ranges, start, attempt, x)
        attempt += 1
        least_gain = SLOW if attempt <= restarts else STALLED
        error = descend(
            kinds, axes, ranges, frames, tip, target, options, least_gain, x, count, best, error, previous,
            origins, rotations, trace_x, trace_error,
        )  # fmt: skip
    copy(best, x)
    if attempt > 1 and count[0] < iterations and error > tolerance:  # the best of attempts that were cut short
        error = descend(
            kinds, axes, ranges, frames, tip, target, options, STALLED, x, count, best, error, previous, origins,
            rotations, trace_x, trace_error,
        )  # fmt: skip
        copy(best, x)
    for i in range(kinds.shape[0]):
        if kinds[i] == BALL and count[0] > 0:
            put_quat(x, i, normalise(quat_at(x, i)))
    return error


@part
def descend(
    kinds, axes, ranges, frames, tip, target, options, least_gain, x, count, best, best_error, previous, origins,
    rotations, trace_x, trace_error,
):  # fmt: skip
    """Sweep until the tip is within tolerance, the sweeps run out or stall; `best` keeps the best seen."""
    tolerance, iterations, order, hinge = options[0], int(options[1]), int(options[2]), int(options[3])
    bend, max_turn = options[4], options[5]
    if bend > 0.0 and unbend(kinds, axes, ranges, frames, tip, bend, x, origins, rotations):
        count[1] += kinds.shape[0]
    error = norm(sub(target, tip_position(kinds, axes, frames, tip, x)))
    points, turns = origins, rotations  # the frames were for the bend only
    put_turns(kinds, x, turns)
    slow, lagging, reach_on = 0, False, 1.0
    while count[0] < iterations and error > tolerance and slow < 3:
        before = error
        copy(x, previous)
        if order == TIP_FIRST or lagging:
            error = sweep_from_tip(kinds, axes, ranges, frames, tip, target, hinge, max_turn, x, turns, points)
        else:
            error = sweep_from_base(kinds, axes, ranges, frames, tip, target, hinge, max_turn, x, turns, points)
        if order == BASE_FIRST and lagging and max_turn >= math.pi:
            farther = go_on(kinds, axes, ranges, frames, tip, target, reach_on, error, previous, x, turns)
            reach_on = min(2.0 * reach_on, FARTHEST) if farther < error else 1.0
            error = farther
        count[0] += 1
        count[1] += kinds.shape[0]
        lagging = before - error < LAGGING * before
        slow = slow + 1 if before - error <= least_gain * before else 0
        if error < best_error:
            best_error = error
            copy(x, best)
        record(trace_x, trace_error, count[0], x, error)
    return best_error


@inline
def record(trace_x, trace_error, row, x, error):
    """Keep the state after a sweep, if a trace was asked for."""
    if row < trace_error.shape[0]:
        copy(x, trace_x[row])
        trace_error[row] = error


@kernel
def probe(kinds, axes, ranges, frames, tips, targets, x, errors):
    """What each joint alone could still do: the errors (k, m, 2) with its range, and without one."""
    m = kinds.shape[0]
    points, turns = np.empty((m, 3)), np.empty((m, 2))
    one, alone = np.empty((1, 4)), np.empty((1, 2))
    for k in range(targets.shape[0]):
        chain_frames = frames[min(k, frames.shape[0] - 1)]
        put_turns(kinds, x[k], turns)
        carry_up(kinds, axes, chain_frames, vec_at(targets, k), x[k], turns, points)
        point = vec_at(tips, min(k, tips.shape[0] - 1))
        for j in range(m):
            i = m - 1 - j
            axis, d = vec_at(axes, i), vec_at(points, i)
            for free in range(2):
                low, high = (-math.inf, math.inf) if free == 1 else (ranges[i, 0], ranges[i, 1])
                put_quat(one, 0, quat_at(x[k], i))
                put_turns(kinds[i : i + 1], one, alone)
                near, _ = step(kinds[i], axis, low, high, EXACT, math.inf, one, alone, 0, point, d)
                errors[k, i, free] = norm(sub(d, near))
            point = out_of_link(chain_frames, i, out_of_moved(kinds[i], axis, x[k], turns, i, point))
