# pyright: standard
"""Cyclic coordinate descent for any goals of one joint. With stiffness, roles and the growing window.

Where sweeps converge slowly, chain_polish.py moves all joints at once. A single position goal has its own kernel
(ccd_position.py), which compiles and runs faster.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from poise.kernels.chain.aims import EasedLinks, Weights, aim_in, carried_down, is_met, squared_error
from poise.kernels.chain.attempts import keep, keep_first, search
from poise.kernels.chain.ccd import LAGGING
from poise.kernels.chain.ccd_goal_sweep import grow_window, sweep_from_base
from poise.kernels.chain.escape import keep_turns, unbend
from poise.kernels.chain.finish import finish_step
from poise.kernels.chain.links import link_offset, record
from poise.kernels.codes import BASE_FIRST, CHAIN_AIM, WINDOW
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.values.linear import norm, sub

# Damping of the polish, as a factor of the squared error: initial value and bounds. It adapts: a step that does not
# lower the error is rejected and repeated with more damping.
DAMPING, LEAST, MOST = 0.04, 1e-3, 1e3
LESS, MORE = 0.3, 8.0  # factors of the damping after successful and failed steps
ROWS = 9  # maximum residual rows: point, rotation, direction


class GoalSetup(NamedTuple):
    """Solver options and goal weights, equal for every problem."""

    tolerance: float  # distance, chain sizes
    iterations: int  # maximum of sweeps and polish steps, over all attempts
    order: int  # TIP_FIRST, BASE_FIRST or WINDOW
    bend: float  # [rad] initial bend of a straight chain; 0: none
    max_turn: float  # [rad] maximum rotation of a joint in one step
    restarts: int
    finish: bool  # whether to polish where sweeps converge slowly
    chord: float  # 2 sin(angle / 2) of the angle tolerance
    weights: Weights
    shares: Any  # (m, 3) 1 or 0: whether a joint is used for the point, the rotation, the direction


class GoalRoom(NamedTuple):
    """Workspace of one problem.

    Not created in a `kernel`, which counts references: Numba then frees arrays in tuples too soon.
    """

    best: Any  # (m, 4) best motions
    previous: Any  # (m, 4) trial of the polish
    origins: Any  # (m, 4) origins of links
    rotations: Any  # (m, 4) rotations of links
    held: Any  # (m, CHAIN_TARGET) the target, or the tip, in each link's frame
    columns: Any  # (3 m, MAX_RESIDUAL_ROWS) Jacobian of the polish, a row per degree of freedom
    steps: Any  # (m, 3) polish step of each link
    normal: Any  # (MAX_RESIDUAL_ROWS, MAX_RESIDUAL_ROWS) normal matrix of the polish
    vectors: Any  # (4, MAX_RESIDUAL_ROWS) residual, reciprocal pivots, unused, multipliers
    davenport: Any  # (2, 4, 4) see kernels/values/davenport.py


@kernel
def solve(
    kinds, axes, ranges, limits, ease, shares, frames, tips, reach, starts, targets, options, x_out, errors, counts,
    trace_x, trace_error,
):  # fmt: skip
    """Solve k targets (k, 10). Each has its own start (1|k, m, 4). Targets and tips: see `EffectorTarget`.

    joint_weights (m,): 1 / (1 + stiffness). options, shares: see `CcdGoalOptions`. errors (k, 2): the error, and 1
    where the goals are met. The rest: see kernels/ccd_position.py.
    """
    m = kinds.shape[0]
    motions, held, columns, steps = (
        np.empty((4, m, 4)),
        np.empty((m, CHAIN_AIM)),
        np.empty((3 * m, ROWS)),
        np.empty((m, 3)),
    )
    normal, vectors, davenport = np.empty((ROWS, ROWS)), np.empty((4, ROWS)), np.empty((2, 4, 4))
    for k in range(targets.shape[0]):
        solve_one(
            kinds, axes, ranges, limits, ease, shares, frames[min(k, frames.shape[0] - 1)],
            tips[min(k, tips.shape[0] - 1)], reach[min(k, reach.shape[0] - 1)], starts[min(k, starts.shape[0] - 1)],
            targets[k], options, x_out[k], errors[k], counts[k], motions, held, columns, steps, normal, vectors,
            davenport, trace_x, trace_error,
        )  # fmt: skip


@part
def solve_one(
    kinds, axes, ranges, limits, ease, shares, frames, tip_row, reach, start, target_row, options, x, found, count,
    motions, held, columns, steps, normal, vectors, davenport, trace_x, trace_error,
):  # fmt: skip
    """Solve one target."""
    links = EasedLinks(kinds, axes, ranges, limits, frames, ease)
    setup = GoalSetup(
        options[0], int(options[1]), int(options[2]), options[3], options[4], int(options[5]), options[6] > 0.0,
        options[7], Weights(options[8], options[9], options[10]), shares,
    )  # fmt: skip
    room = GoalRoom(motions[0], motions[1], motions[2], motions[3], held, columns, steps, normal, vectors, davenport)
    tip, target = aim_in(tip_row), aim_in(target_row)
    within = kinds.shape[0] > 0 and reach[0] <= norm(sub(target.point, link_offset(frames, 0))) <= reach[1]
    search(descend, measure, links, tip, target, setup, within, start, x, found, count, room, trace_x, trace_error)


@part
def measure(links, tip, target, setup, x):
    """Measure the error, and whether all goals are met."""
    now = carried_down(links, tip, x)
    met = is_met(now, target, setup.weights, (setup.tolerance, setup.chord))
    return math.sqrt(squared_error(now, target, setup.weights)), met


@part
def descend(links, tip, target, setup, least_gain, x, found, count, room, trace_x, trace_error):
    """Sweep until converged, stalled or out of sweeps. `best_error` and workspace.best hold the best pose."""
    # A straight chain is singular for a point on its own line only; rotations and directions turn it.
    m, bends = links.kinds.shape[0], setup.bend > 0.0 and setup.weights.point > 0.0
    if bends and unbend(
        links.kinds, links.axes, links.ranges, links.frames, tip.point, setup.bend, x, room.origins, room.rotations
    ):
        keep_turns(links.kinds, links.limits, x)
        count[1] += m
    error, met = measure(links, tip, target, setup, x)
    keep_first(x, error, met, found, count, room.best, trace_x, trace_error)
    slow, lagging, damping = 0, False, DAMPING
    while count[0] < setup.iterations and not met and slow < 3 and error < math.inf:
        before, finishing = error, lagging and setup.finish
        if finishing:
            finish_step(links, tip, target, setup.weights, setup.max_turn, damping, x, room.previous, room)
            count[1] += m
        else:
            count[1] += sweep(links, tip, target, setup, x, room)
        error, met = measure(links, tip, target, setup, x)
        if finishing:
            # A failed step was rejected: the next one is shorter and nearer to steepest descent.
            damping = max(LEAST, LESS * damping) if error < before else min(MOST, MORE * damping)
        # A successful polish step is followed by another one, an unsuccessful one by a sweep.
        lagging = before - error < LAGGING * before if not finishing else before - error >= LAGGING * before
        count[0] += 1
        slow = slow + 1 if before - error <= least_gain * before else 0
        keep(x, error, met, found, room.best)
        record(trace_x, trace_error, count[0], x, error)


@inline
def sweep(links, tip, target, setup, x, room):
    """Sweep once; return the number of visited joints."""
    m, weights, shares, most = links.kinds.shape[0], setup.weights, setup.shares, setup.max_turn
    if setup.order == BASE_FIRST:
        sweep_from_base(links, tip, target, weights, shares, most, x, room)
        return m
    return grow_window(links, tip, target, weights, shares, most, 1 if setup.order == WINDOW else m, x, room)
