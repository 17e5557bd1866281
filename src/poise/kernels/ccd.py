# pyright: standard
"""Cyclic coordinate descent: each joint in turn brings the tip as near to its target as it alone can.

Sweeps for a point alone are in ccd_sweep.py, for any goals of a joint in ccd_goals.py; where they creep, finish.py
moves all joints at once. Here: what is swept when, and where to start again.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from poise.kernels import ccd_goals
from poise.kernels.aims import NUMBERS, Links, Weights, aim_in, carried_down, is_met, keep_turns, squared_error
from poise.kernels.ccd_steps import EXACT, step
from poise.kernels.ccd_sweep import sweep_from_base, sweep_from_tip
from poise.kernels.chain import (
    BALL,
    carry_up,
    copy,
    link_offset,
    out_of_link,
    out_of_moved,
    put_turns,
    tip_position,
)
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.escape import go_on, kick, unbend
from poise.kernels.finish import finish_step
from poise.kernels.linear import norm, normalise, put_quat, quat_at, sub, vec_at

TIP_FIRST, BASE_FIRST, WINDOW = 0, 1, 2
LAGGING = 0.2  # after a sweep that lowers the error by less than this share, all joints move at once, or from the tip
FARTHEST = 32.0  # times the last sweep's change: the longest leap along a valley
STALLED = 1e-6  # three sweeps in a row that each lower the error by less than this share of it end the solve
SLOW = 1e-2  # the same, where a restart is left: from elsewhere the error falls faster
DAMPING, LEAST, MOST = 0.04, 1e-3, 1e3  # of the finish, times the squared error: at first, and its bounds
LESS, MORE = 0.3, 8.0  # what a step that lowers the error does to the damping, and one that does not
ROWS = 9  # of the finish, at most


class Setup(NamedTuple):
    """How to solve: what the options and goals say, the same for every problem."""

    tolerance: float
    chord: float
    iterations: int
    order: int
    hinge: int
    bend: float
    max_turn: float
    restarts: int
    finish: bool
    points: bool
    weights: Weights
    shares: Any


class Room(NamedTuple):
    """Scratch for one problem."""

    best: Any
    previous: Any
    origins: Any
    rotations: Any
    turns: Any
    held: Any
    columns: Any
    steps: Any
    normal: Any
    vectors: Any
    davenport: Any


@inline
def setup_of(options, shares):
    """The setup from the options: tolerance, chord, iterations, order, hinge, bend, max_turn, restarts, finish, whether
    sweeps for points do, and the three squared weights.
    """
    return Setup(
        options[0], options[1], int(options[2]), int(options[3]), int(options[4]), options[5], options[6],
        int(options[7]), options[8] > 0.0, options[9] > 0.0, Weights(options[10], options[11], options[12]), shares,
    )  # fmt: skip


@kernel
def solve(
    kinds, axes, ranges, limits, ease, shares, frames, tips, reach, starts, targets, options, x_out, errors, counts, trace_x,
    trace_error,
):  # fmt: skip
    """Solve k targets (k, 10), each from its own start (1|k, m, 4); see kernels/aims.py for targets and tips.

    ease (m,) and shares (m, 3): what stiffness leaves of a step, and of which goals a joint takes part. reach (1|k, 2):
    shortest and longest distance of the tip from the first link's frame; a target outside is not worth a restart.
    options: see `setup_of`. errors (k, 2): the error, and 1 where the goals are met. counts (k, 2): sweeps, single joint
    updates. trace_x (iterations + 1 or 0, m, 4) and trace_error are filled for the last target.
    """
    m = kinds.shape[0]
    solve_each(
        kinds, axes, ranges, limits, ease, shares, frames, tips, reach, starts, targets, options, x_out, errors, counts, trace_x,
        trace_error, np.empty((5, m, 4)), np.empty((m, NUMBERS)), np.empty((3 * m, ROWS)), np.empty((m, 3)),
        np.empty((ROWS, ROWS)), np.empty((4, ROWS)), np.empty((2, 4, 4)),
    )  # fmt: skip


@inline
def solve_each(
    kinds, axes, ranges, limits, ease, shares, frames, tips, reach, starts, targets, options, x_out, errors, counts, trace_x,
    trace_error, motions, held, columns, steps, normal, vectors, davenport,
):  # fmt: skip
    """`solve` with its scratch."""
    m = kinds.shape[0]
    setup = setup_of(options, shares)
    room = Room(
        motions[0], motions[1], motions[2], motions[3], motions[4], held, columns, steps, normal, vectors, davenport
    )
    for k in range(targets.shape[0]):
        links = Links(kinds, axes, ranges, limits, frames[min(k, frames.shape[0] - 1)], ease)
        start = starts[min(k, starts.shape[0] - 1)]
        tip, target = aim_in(tips[min(k, tips.shape[0] - 1)]), aim_in(targets[k])
        allowed = reach[min(k, reach.shape[0] - 1)]
        within = m > 0 and allowed[0] <= norm(sub(target.point, link_offset(links.frames, 0))) <= allowed[1]
        search(links, tip, target, setup, within, start, x_out[k], errors[k], counts[k], room, trace_x, trace_error)


@inline
def error_of(links, tip, target, setup, x):
    """The error of a configuration, and whether the goals are met."""
    if setup.points:
        error = norm(sub(target.point, tip_position(links.kinds, links.axes, links.frames, tip.point, x)))
        return error, error <= setup.tolerance
    return goal_error(links, tip, target, setup.weights, x), goals_met(links, tip, target, setup, x)


@part
def goal_error(links, tip, target, weights, x):
    """The error of any goals."""
    return math.sqrt(squared_error(carried_down(links, tip, x), target, weights))


@part
def goals_met(links, tip, target, setup, x):
    """Whether what is asked for is within what is allowed."""
    return is_met(carried_down(links, tip, x), target, setup.weights, (setup.tolerance, setup.chord))


@inline
def search(links, tip, target, setup, within, start, x, found, count, room, trace_x, trace_error):
    """Descend from the start; where that stalls within reach, descend again from kicks. x keeps the best seen."""
    restarts = setup.restarts if within else 0
    count[0], count[1] = 0, 0
    copy(start, x)
    error, met = error_of(links, tip, target, setup, x)
    record(trace_x, trace_error, count[0], x, error)
    found[0], found[1] = error, 1.0 if met else 0.0
    if met or not error < math.inf:
        return
    copy(x, room.best)
    attempt = 0 if links.kinds.shape[0] > 0 else restarts + 1
    while attempt <= restarts and count[0] < setup.iterations and found[1] == 0.0:
        if attempt > 0:
            kick(links.kinds, links.ranges, start, attempt, x)
            keep_turns(links, x)
        attempt += 1
        least_gain = SLOW if attempt <= restarts else STALLED
        descend(links, tip, target, setup, least_gain, x, found, count, room, trace_x, trace_error)
    copy(room.best, x)
    if attempt > 1 and count[0] < setup.iterations and found[1] == 0.0:  # the best of attempts that were cut short
        descend(links, tip, target, setup, STALLED, x, found, count, room, trace_x, trace_error)
        copy(room.best, x)
    for i in range(links.kinds.shape[0]):
        if links.kinds[i] == BALL and count[0] > 0:
            put_quat(x, i, normalise(quat_at(x, i)))


@part
def descend(links, tip, target, setup, least_gain, x, found, count, room, trace_x, trace_error):
    """Sweep until the goals are met, the sweeps run out or stall; `found` and room.best keep the best seen."""
    m = links.kinds.shape[0]
    if setup.bend > 0.0 and unbend(
        links.kinds, links.axes, links.ranges, links.frames, tip.point, setup.bend, x, room.origins, room.rotations
    ):
        keep_turns(links, x)
        count[1] += m
    error, met = error_of(links, tip, target, setup, x)
    put_turns(links.kinds, x, room.turns)
    slow, lagging, reach_on, damping = 0, False, 1.0, DAMPING
    while count[0] < setup.iterations and not met and slow < 3 and error < math.inf:
        before = error
        if lagging and setup.finish:
            error = finish_step(links, tip, target, setup.weights, setup.max_turn, damping, x, room.previous, room)
            put_turns(links.kinds, x, room.turns)
            damping = max(LEAST, LESS * damping) if error < before else min(MOST, MORE * damping)
            lagging = before - error >= LAGGING * before
            count[1] += m
        else:
            error, reach_on = sweep(links, tip, target, setup, lagging, reach_on, x, count, room)
            lagging = before - error < LAGGING * before
        met = error <= setup.tolerance if setup.points else goals_met(links, tip, target, setup, x)
        count[0] += 1
        slow = slow + 1 if before - error <= least_gain * before else 0
        if met or error < found[0]:
            found[0], found[1] = error, 1.0 if met else 0.0
            copy(x, room.best)
        record(trace_x, trace_error, count[0], x, error)


@inline
def sweep(links, tip, target, setup, lagging, reach_on, x, count, room):
    """One sweep; base first, where that lags, one from the tip, and then on in the direction of its change.

    Returns the error and how far to go on the next time.
    """
    if not setup.points:
        count[1] += goal_sweep(links, tip, target, setup, x, room)
        return goal_error(links, tip, target, setup.weights, x), reach_on
    count[1] += links.kinds.shape[0]
    copy(x, room.previous)
    if setup.order == TIP_FIRST or lagging:
        error = sweep_from_tip(
            links.kinds, links.axes, links.ranges, links.frames, tip.point, target.point, setup.hinge, setup.max_turn, x,
            room.turns, room.origins,
        )  # fmt: skip
    else:
        error = sweep_from_base(
            links.kinds, links.axes, links.ranges, links.frames, tip.point, target.point, setup.hinge, setup.max_turn, x,
            room.turns, room.origins,
        )  # fmt: skip
    if setup.order == BASE_FIRST and lagging and setup.max_turn >= math.pi:
        farther = go_on(
            links.kinds, links.axes, links.ranges, links.frames, tip.point, target.point, reach_on, error, room.previous,
            x, room.turns,
        )  # fmt: skip
        return farther, min(2.0 * reach_on, FARTHEST) if farther < error else 1.0
    return error, reach_on


@part
def goal_sweep(links, tip, target, setup, x, room):
    """One sweep for any goals; returns how many joints were visited."""
    m, weights, shares, most = links.kinds.shape[0], setup.weights, setup.shares, setup.max_turn
    if setup.order == WINDOW:
        return ccd_goals.grow_window(links, tip, target, weights, shares, most, x, room)
    if setup.order == TIP_FIRST:
        ccd_goals.sweep_from_tip(links, tip, target, weights, shares, most, 0, x, room)
    else:
        ccd_goals.sweep_from_base(links, tip, target, weights, shares, most, x, room)
    return m


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
