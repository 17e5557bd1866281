# pyright: standard
"""Cyclic coordinate descent for a position goal.

Each joint in turn brings the tip as near to its target as it alone can.

This is the kernel for a point alone, with the sweeps of ccd_position.py: three times as fast as the general one, which
knows all goals, stiffness and windows (ccd_goals.py). Where sweeps creep, a finish moves all joints at once
(chain_polish.py). Where both stall, chain_restarts.py begins elsewhere.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from poise.kernels.chain.attempts import keep, keep_first, search
from poise.kernels.chain.ccd_steps import step
from poise.kernels.chain.ccd_sweep import sweep_from_base, sweep_from_tip
from poise.kernels.chain.chain_finish import finish
from poise.kernels.chain.escape import go_on, keep_turns, unbend
from poise.kernels.chain.links import (
    Links,
    carry_up,
    copy,
    link_offset,
    out_of_link,
    out_of_moved,
    put_turns,
    record,
    tip_position,
)
from poise.kernels.codes import BASE_FIRST, EXACT, LIMIT, TIP_FIRST
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.values.linear import norm, put_quat, quat_at, sub, vec_at

LAGGING = 0.2  # a sweep that lowers the error by less than this share is followed by the finish, or by one from the tip
FARTHEST = 32.0  # times the change of the last sweep: the longest leap along a valley


class PointSetup(NamedTuple):
    """Solver options for a position goal, equal for every problem."""

    tolerance: float  # distance, chain sizes
    iterations: int  # sweeps and steps of the finish at most, of all attempts
    order: int  # TIP_FIRST or BASE_FIRST
    bend: float  # [rad] by which a straight chain is bent first; 0: not at all
    max_turn: float  # [rad] of a joint in one step
    restarts: int
    finish: bool  # whether all joints move at once where sweeps creep
    hinge: int  # EXACT or PROJECT


class PointRoom(NamedTuple):
    """Workspace of one problem, (m, 4) each.

    Not made in a `kernel`, which counts references: Numba then frees arrays in tuples too soon.
    """

    best: Any  # the best motions so far
    previous: Any  # the motions before the last sweep; trial of the finish
    origins: Any  # origins of links, or a point as each link sees it
    rotations: Any  # rotations of links
    turns: Any  # cosine and sine of hinges, see kernels/chain_kinematics.py
    walls: Any  # normals of the walls that balls have met, see kernels/chain_polish.py


@kernel
def solve(
    kinds, axes, ranges, limits, frames, tips, reach, starts, targets, options, x_out, errors, counts, trace_x,
    trace_error,
):  # fmt: skip
    """Solve k position targets (k, 3). Each has its own start (1|k, m, 4).

    reach (1|k, 2): shortest and longest distance of the tip from the first link's frame; a target outside is not worth
    a restart. options: see `CcdPositionOptions`. errors (k, 2): the error, and 1 where it is within the tolerance.
    counts (k, 2): sweeps, single joint updates. trace_x (iterations + 1 or 0, m, 4) and trace_error are filled for the
    last target.
    """
    scratch = np.empty((6, kinds.shape[0], 4))
    for k in range(targets.shape[0]):
        solve_one(
            kinds, axes, ranges, limits, frames[min(k, frames.shape[0] - 1)], vec_at(tips, min(k, tips.shape[0] - 1)),
            reach[min(k, reach.shape[0] - 1)], starts[min(k, starts.shape[0] - 1)], vec_at(targets, k), options,
            x_out[k], errors[k], counts[k], scratch, trace_x, trace_error,
        )  # fmt: skip


@part
def solve_one(
    kinds, axes, ranges, limits, frames, tip, reach, start, target, options, x, found, count, scratch, trace_x,
    trace_error,
):  # fmt: skip
    """Solve one target."""
    links = Links(kinds, axes, ranges, limits, frames)
    setup = PointSetup(
        options[0], int(options[1]), int(options[2]), options[3], options[4], int(options[5]),
        options[6] > 0.0 and options[4] >= math.pi, int(options[7]),
    )  # fmt: skip
    room = PointRoom(scratch[0], scratch[1], scratch[2], scratch[3], scratch[4], scratch[5])
    # Outside the shell that the lengths allow no restart can meet the target: one attempt finds the nearest pose.
    within = kinds.shape[0] > 0 and reach[0] <= norm(sub(target, link_offset(frames, 0))) <= reach[1]
    search(descend, measure, links, tip, target, setup, within, start, x, found, count, room, trace_x, trace_error)


@inline
def measure(links, tip, target, setup, x):
    """Measure the error, and whether it is within tolerance."""
    error = norm(sub(target, tip_position(links.kinds, links.axes, links.frames, tip, x)))
    return error, error <= setup.tolerance


@inline
def descend(links, tip, target, setup, least_gain, x, found, count, room, trace_x, trace_error):
    """Sweep until converged, stalled or out of sweeps. `best_error` and room.best hold the best pose.

    A sweep that gains little is followed by the finish, which goes on for as long as it gains.
    """
    m = links.kinds.shape[0]
    if setup.bend > 0.0 and unbend(
        links.kinds, links.axes, links.ranges, links.frames, tip, setup.bend, x, room.origins, room.rotations
    ):
        keep_turns(links.kinds, links.limits, x)
        count[1] += m
    error, met = measure(links, tip, target, setup, x)
    keep_first(x, error, met, found, count, room.best, trace_x, trace_error)
    put_turns(links.kinds, x, room.turns)
    # slow: iterations in a row that gained little; lagging: whether the last sweep crept; reach_on: how far to go on in
    # the direction of a sweep, in its own changes.
    slow, lagging, reach_on = 0, False, 1.0
    while count[0] < setup.iterations and error > setup.tolerance and slow < 3 and error < math.inf:
        before, tries = error, 1
        # The finish counts its own iterations. Twice as slow where it gained nothing: sweeps had crept before it.
        if lagging and setup.finish:
            error = finish(
                links.kinds, links.axes, links.ranges, links.limits, links.frames, tip, target, setup.tolerance,
                setup.iterations, x, count, room.previous, room.origins, room.rotations, room.walls, trace_x,
                trace_error,
            )  # fmt: skip
            put_turns(links.kinds, x, room.turns)
            lagging, tries = False, 2
        else:
            error, reach_on = sweep(links, tip, target, setup, lagging, reach_on, x, room)
            lagging = before - error < LAGGING * before
            count[0] += 1
            count[1] += m
            record(trace_x, trace_error, count[0], x, error)
        slow = slow + tries if before - error <= least_gain * before else 0
        keep(x, error, error <= setup.tolerance, found, room.best)


@inline
def sweep(links, tip, target, setup, lagging, reach_on, x, room):
    """Sweep once. A base-first sweep that lags is followed by one from the tip, and by an extrapolation of its change.

    Returns the error and how far to go on the next time.
    """
    copy(x, room.previous)
    # Sweeps from the base unroll a chain in 2.5 iterations where those from the tip take 41 (20 balls); where they
    # creep, the other order often gains.
    if setup.order == TIP_FIRST or lagging:
        error = sweep_from_tip(links, tip, target, setup.hinge, setup.max_turn, x, room.turns, room.origins)
    else:
        error = sweep_from_base(links, tip, target, setup.hinge, setup.max_turn, x, room.turns, room.origins)
    if setup.order == BASE_FIRST and lagging and setup.max_turn >= math.pi:
        # A leap that paid is tried twice as far the next time, one that did not is the last change once more.
        farther = go_on(links, tip, target, reach_on, error, room.previous, x, room.turns)
        return farther, min(2.0 * reach_on, FARTHEST) if farther < error else 1.0
    return error, reach_on


@kernel
def probe(kinds, axes, ranges, frames, tips, targets, x, errors):
    """Measure the error within reach of each joint alone.

    errors is (k, m, 2): with the joint's range, and without one.
    """
    m = kinds.shape[0]
    points, turns = np.empty((m, 3)), np.empty((m, 2))
    one, alone, free_ball = np.empty((1, 4)), np.empty((1, 2)), np.zeros(LIMIT)
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
                near, _ = step(kinds[i], axis, low, high, free_ball, EXACT, math.inf, one, alone, 0, point, d)
                errors[k, i, free] = norm(sub(d, near))
            point = out_of_link(chain_frames, i, out_of_moved(kinds[i], axis, x[k], turns, i, point))
