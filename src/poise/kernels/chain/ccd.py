# pyright: standard
"""Cyclic coordinate descent for a position goal.

Each joint in turn brings the tip as near to its target as it alone can.

This kernel handles a position goal only. It is three times as fast as the general one with all goals, stiffness and
windows (ccd_goals.py). Where sweeps converge slowly, a polish moves all joints at once (chain_polish.py). Where both
stall, the chain restarts from a perturbed pose (chain_restarts.py).
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

LAGGING = 0.2  # fraction of the error: after a smaller decrease, polish or sweep from the tip next
FARTHEST = 32.0  # maximum extrapolation, in changes of the last sweep


class PointSetup(NamedTuple):
    """Solver options for a position goal, equal for every problem."""

    tolerance: float  # distance, chain sizes
    iterations: int  # maximum of sweeps and polish steps, over all attempts
    order: int  # TIP_FIRST or BASE_FIRST
    bend: float  # [rad] initial bend of a straight chain; 0: none
    max_turn: float  # [rad] maximum rotation of a joint in one step
    restarts: int
    finish: bool  # whether to polish where sweeps converge slowly
    hinge: int  # EXACT or PROJECT


class PointRoom(NamedTuple):
    """Workspace of one problem, (m, 4) each.

    Not created in a `kernel`, which counts references: Numba then frees arrays in tuples too soon.
    """

    best: Any  # best motions
    previous: Any  # motions before the last sweep; trial of the polish
    origins: Any  # origins of links, or a point in each link's frame
    rotations: Any  # rotations of links
    turns: Any  # cosine and sine of hinges, see kernels/chain_kinematics.py
    walls: Any  # normals of the active limits of balls, see kernels/chain_polish.py


@kernel
def solve(
    kinds, axes, ranges, limits, frames, tips, reach, starts, targets, options, x_out, errors, counts, trace_x,
    trace_error,
):  # fmt: skip
    """Solve k position targets (k, 3). Each has its own start (1|k, m, 4).

    limits: (m, LIMIT_ROW) of balls. reach (1|k, 2): min and max distance of the tip from the first link's frame; there
    are no restarts for targets outside. options: see `CcdPositionOptions`. errors (k, 2): the error, and 1 if met.
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
    # Outside the reachable shell no restart can meet the target: one attempt finds the nearest pose.
    within = kinds.shape[0] > 0 and reach[0] <= norm(sub(target, link_offset(frames, 0))) <= reach[1]
    search(descend, measure, links, tip, target, setup, within, start, x, found, count, room, trace_x, trace_error)


@inline
def measure(links, tip, target, setup, x):
    """Measure the error, and whether it is within tolerance."""
    error = norm(sub(target, tip_position(links.kinds, links.axes, links.frames, tip, x)))
    return error, error <= setup.tolerance


@inline
def descend(links, tip, target, setup, least_gain, x, found, count, room, trace_x, trace_error):
    """Sweep until converged, stalled or out of sweeps. `best_error` and workspace.best hold the best pose.

    After a sweep with a small decrease the polish runs as long as it converges.
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
    # slow: consecutive iterations with a small decrease; is_lagging: whether the last sweep had one; extrapolation: in
    # changes of the last sweep.
    slow, lagging, reach_on = 0, False, 1.0
    while count[0] < setup.iterations and error > setup.tolerance and slow < 3 and error < math.inf:
        before, tries = error, 1
        # The polish counts its own iterations. Without progress it counts twice, because the sweep before it was slow.
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

    Returns the error and the next extrapolation.
    """
    copy(x, room.previous)
    # Sweeps from the base unroll a chain of 20 balls in 2.5 iterations, those from the tip in 41; where they converge
    # slowly, the other order often helps.
    if setup.order == TIP_FIRST or lagging:
        error = sweep_from_tip(links, tip, target, setup.hinge, setup.max_turn, x, room.turns, room.origins)
    else:
        error = sweep_from_base(links, tip, target, setup.hinge, setup.max_turn, x, room.turns, room.origins)
    if setup.order == BASE_FIRST and lagging and setup.max_turn >= math.pi:
        # A successful extrapolation is doubled the next time, a failed one is reset to the last change.
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
