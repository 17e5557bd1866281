# pyright: standard
"""Cyclic coordinate descent: each joint in turn brings the tip as near to the target as it alone can.

One sweep is O(n). Turning a joint moves nothing between it and the base, and everything between it and
the tip as one rigid piece. So a sweep from the tip needs the frames once and carries the tip down in
joint coordinates; a sweep from the base needs the tip in every joint's frame once and carries the frame
up. Both end with the tip's new position, without further forward kinematics.
"""

from __future__ import annotations

import math

import numpy as np

from poise.kernels.chain import (
    BALL,
    HINGE,
    SLIDE,
    link_offset,
    link_rotation,
    move_frame,
    moved_point,
    next_frame,
    tip_position,
)
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.limits import TURN, best_angle, capped, clamp, twist_angle
from poise.kernels.linear import (
    Quat,
    Vec,
    about,
    add,
    conjugate,
    cross,
    dot,
    multiply,
    norm,
    normalise,
    perpendicular,
    put_quat,
    put_vec,
    quat_at,
    rotate,
    rotation_between,
    scale,
    sub,
    vec_at,
)

TIP_FIRST, BASE_FIRST = 0, 1
EXACT, PROJECT = 0, 1
NO_LEVERAGE = 1e-14  # in chain sizes squared: the hinge cannot move the tip towards or away from the target
LAGGING = 0.2  # base first: after a sweep that lowers the error by less than this share, one runs from the tip
BALL_KICK = 1.0  # [rad] most that a restart turns a ball joint without limits
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


@part
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
def turn(kind, axis, ranges, i, x, hinge, max_turn, point, d):
    """Move joint i so that `point` of its moved frame comes nearest to d in its frame."""
    h = moved_point(kind, axis, x, i, point)
    if kind == BALL:
        step = rotation_between(h, d)
        if max_turn < math.pi:
            step = capped(step, max_turn)
        put_quat(x, i, multiply(step, quat_at(x, i)))
    elif kind == HINGE:
        if hinge == EXACT:
            x[i, 0] = hinge_exact(axis, x[i, 0], ranges[i, 0], ranges[i, 1], max_turn, h, d)
        else:
            x[i, 0] = hinge_project(axis, x[i, 0], ranges[i, 0], ranges[i, 1], max_turn, h, d)
    elif kind == SLIDE:
        length = dot(axis, axis)
        if length > 0.0:
            x[i, 0] = clamp(x[i, 0] + dot(axis, sub(d, h)) / length, ranges[i, 0], ranges[i, 1])
    else:
        put_vec(x, i, add(vec_at(x, i), sub(d, h)))


@inline
def sweep_from_tip(kinds, axes, ranges, frames, tip, target, hinge, max_turn, x, origins, rotations):
    """One sweep tip to base; returns the tip's new position."""
    m = kinds.shape[0]
    store_frames(kinds, axes, frames, x, origins, rotations)
    point = tip
    for k in range(m):
        i = m - 1 - k
        axis = vec_at(axes, i)
        d = rotate(conjugate(quat_at(rotations, i)), sub(target, vec_at(origins, i)))
        turn(kinds[i], axis, ranges, i, x, hinge, max_turn, point, d)
        point = moved_point(kinds[i], axis, x, i, point)
        point = add(link_offset(frames, i), rotate(link_rotation(frames, i), point))
    return point


@part
def store_frames(kinds, axes, frames, x, origins, rotations):
    """Origin and rotation of every link's frame, before its motion."""
    origin, rotation = Vec(0.0, 0.0, 0.0), Quat(1.0, 0.0, 0.0, 0.0)
    for i in range(kinds.shape[0]):
        origin, rotation = next_frame(frames, i, origin, rotation)
        put_vec(origins, i, origin)
        put_quat(rotations, i, rotation)
        origin, rotation = move_frame(kinds[i], vec_at(axes, i), x, i, origin, rotation)


@inline
def sweep_from_base(kinds, axes, ranges, frames, tip, target, hinge, max_turn, x, origins):
    """One sweep base to tip; returns the tip's new position. `origins` holds the tip in each moved frame."""
    m = kinds.shape[0]
    point = tip
    for k in range(m):
        i = m - 1 - k
        put_vec(origins, i, point)
        point = moved_point(kinds[i], vec_at(axes, i), x, i, point)
        point = add(link_offset(frames, i), rotate(link_rotation(frames, i), point))
    origin, rotation = Vec(0.0, 0.0, 0.0), Quat(1.0, 0.0, 0.0, 0.0)
    for i in range(m):
        axis = vec_at(axes, i)
        origin, rotation = next_frame(frames, i, origin, rotation)
        d = rotate(conjugate(rotation), sub(target, origin))
        turn(kinds[i], axis, ranges, i, x, hinge, max_turn, vec_at(origins, i), d)
        origin, rotation = move_frame(kinds[i], axis, x, i, origin, rotation)
    return add(origin, rotate(rotation, tip))


@part
def is_straight(kinds, tip_at, origins, bend):
    """Whether all turning joints and the tip lie on one line through the first of them, within `bend`."""
    first = -1
    for i in range(kinds.shape[0]):
        if kinds[i] == BALL or kinds[i] == HINGE:
            first = i
            break
    if first < 0:
        return False
    base = vec_at(origins, first)
    line = sub(tip_at, base)
    slack = math.sin(bend) * norm(line)
    for i in range(first + 1, kinds.shape[0]):
        away = sub(vec_at(origins, i), base)
        if norm(cross(away, line)) > slack * norm(away):
            return False
    return norm(line) > 0.0


@part
def bend_chain(kinds, ranges, line, rotations, bend, x):
    """Turn every joint by `bend` to one side: balls about an axis across the line, hinges into their range."""
    side = perpendicular(line)
    for i in range(kinds.shape[0]):
        if kinds[i] == BALL:
            axis = rotate(conjugate(quat_at(rotations, i)), side)
            put_quat(x, i, multiply(about(axis, bend), quat_at(x, i)))
        elif kinds[i] == HINGE:
            up = min(x[i, 0] + bend, ranges[i, 1])
            down = max(x[i, 0] - bend, ranges[i, 0])
            x[i, 0] = up if up - x[i, 0] >= x[i, 0] - down else down


@part
def unbend(kinds, axes, ranges, frames, tip, bend, x, origins, rotations):
    """Bend a chain if it is straight; returns whether it was."""
    tip_at = tip_position(kinds, axes, frames, tip, x)
    store_frames(kinds, axes, frames, x, origins, rotations)
    straight = is_straight(kinds, tip_at, origins, bend)
    if straight:
        bend_chain(kinds, ranges, sub(tip_at, vec_at(origins, 0)), rotations, bend, x)
    return straight


@part
def kick(kinds, ranges, start, attempt, x):
    """Start again from elsewhere: a mix of the start pose and a point of a low-discrepancy sequence.

    The first attempts stay near the start, the fourth and later ones range over all that the limits allow.
    The sequence is Roberts' R_d: u_i = frac(1/2 + n g^-(i+1)) with g^(d+1) = g + 1. It is the same for every
    problem, so that a result depends on nothing but its own problem.
    """
    d = 4 * kinds.shape[0]
    g = 1.5
    for _ in range(32):
        g = (1.0 + g) ** (1.0 / (d + 1.0))
    share = min(1.0, 0.25 * attempt)
    copy(start, x)
    for i in range(kinds.shape[0]):
        u = draw(g, 4 * i, attempt)
        if kinds[i] == BALL:
            axis = Vec(draw(g, 4 * i + 1, attempt) - 0.5, draw(g, 4 * i + 2, attempt) - 0.5, 0.5 - u)
            if norm(axis) > 0.0:
                put_quat(x, i, multiply(about(scale(axis, 1.0 / norm(axis)), share * BALL_KICK), quat_at(x, i)))
        elif kinds[i] == HINGE or kinds[i] == SLIDE:
            spread = math.pi if kinds[i] == HINGE else 0.5
            low, high = max(ranges[i, 0], x[i, 0] - spread), min(ranges[i, 1], x[i, 0] + spread)
            x[i, 0] += share * (low + u * (high - low) - x[i, 0])


@inline
def draw(g, dimension, n):
    """Coordinate of the n-th point of the R_d sequence, in 0..1."""
    value = 0.5 + n * g ** (-(dimension + 1.0))
    return value - math.floor(value)


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
    scratch = np.empty((2, m, 4))
    best = np.empty((m, 4))
    for k in range(targets.shape[0]):
        chain_frames = frames[min(k, frames.shape[0] - 1)]
        start = starts[min(k, starts.shape[0] - 1)]
        tip = vec_at(tips, min(k, tips.shape[0] - 1))
        target = vec_at(targets, k)
        within = m > 0 and in_reach(reach, min(k, reach.shape[0] - 1), sub(target, link_offset(chain_frames, 0)))
        errors[k] = search(
            kinds, axes, ranges, chain_frames, tip, target, within, start, options, x_out[k], counts[k], best,
            scratch[0], scratch[1], trace_x, trace_error,
        )  # fmt: skip


@inline
def in_reach(reach, k, offset):
    """Whether the lengths alone allow the tip to be at this offset from the first link."""
    return reach[k, 0] <= norm(offset) <= reach[k, 1]


@part
def search(
    kinds, axes, ranges, frames, tip, target, within, start, options, x, count, best, origins, rotations,
    trace_x, trace_error,
):  # fmt: skip
    """Descend from the start; where that stalls within reach, descend again from kicks. x keeps the best seen."""
    tolerance, iterations = options[0], int(options[1])
    restarts = int(options[6]) if within else 0
    count[0] = 0
    count[1] = 0
    copy(start, x)
    error = norm(sub(target, tip_position(kinds, axes, frames, tip, x)))
    record(trace_x, trace_error, 0, x, error)
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
            kinds, axes, ranges, frames, tip, target, options, least_gain, x, count, best, error, origins,
            rotations, trace_x, trace_error,
        )  # fmt: skip
    copy(best, x)
    if attempt > 1 and count[0] < iterations and error > tolerance:  # the best of attempts that were cut short
        error = descend(
            kinds, axes, ranges, frames, tip, target, options, STALLED, x, count, best, error, origins, rotations,
            trace_x, trace_error,
        )  # fmt: skip
        copy(best, x)
    for i in range(kinds.shape[0]):
        if kinds[i] == BALL and count[0] > 0:
            put_quat(x, i, normalise(quat_at(x, i)))
    return error


@part
def descend(
    kinds, axes, ranges, frames, tip, target, options, least_gain, x, count, best, best_error, origins, rotations,
    trace_x, trace_error,
):  # fmt: skip
    """Sweep until the tip is within tolerance, the sweeps run out or stall; `best` keeps the best seen."""
    tolerance, iterations, order, hinge = options[0], int(options[1]), int(options[2]), int(options[3])
    bend, max_turn = options[4], options[5]
    if bend > 0.0 and unbend(kinds, axes, ranges, frames, tip, bend, x, origins, rotations):
        count[1] += kinds.shape[0]
    error = norm(sub(target, tip_position(kinds, axes, frames, tip, x)))
    slow, lagging = 0, False
    while count[0] < iterations and error > tolerance and slow < 3:
        before = error
        if order == TIP_FIRST or lagging:
            tip_at = sweep_from_tip(kinds, axes, ranges, frames, tip, target, hinge, max_turn, x, origins, rotations)
        else:
            tip_at = sweep_from_base(kinds, axes, ranges, frames, tip, target, hinge, max_turn, x, origins)
        error = norm(sub(target, tip_at))
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
def copy(source, to):
    """Copy link motions; a slice assignment would cost seconds of compile time."""
    for i in range(source.shape[0]):
        put_quat(to, i, quat_at(source, i))


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
    origins, rotations, one = np.empty((m, 3)), np.empty((m, 4)), np.empty((1, 4))
    open_range = np.empty((1, 2))
    open_range[0, 0], open_range[0, 1] = -math.inf, math.inf
    for k in range(targets.shape[0]):
        chain_frames = frames[min(k, frames.shape[0] - 1)]
        point = vec_at(tips, min(k, tips.shape[0] - 1))
        store_frames(kinds, axes, chain_frames, x[k], origins, rotations)
        for j in range(m):
            i = m - 1 - j
            axis = vec_at(axes, i)
            d = rotate(conjugate(quat_at(rotations, i)), sub(vec_at(targets, k), vec_at(origins, i)))
            for free in range(2):
                put_quat(one, 0, quat_at(x[k], i))
                allowed = open_range if free == 1 else ranges[i : i + 1]
                turn(kinds[i], axis, allowed, 0, one, EXACT, math.inf, point, d)
                errors[k, i, free] = norm(sub(d, moved_point(kinds[i], axis, one, 0, point)))
            point = moved_point(kinds[i], axis, x[k], i, point)
            point = add(link_offset(chain_frames, i), rotate(link_rotation(chain_frames, i), point))
