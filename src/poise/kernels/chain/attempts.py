# pyright: standard
"""Restart loop of chain descents.

The first starts from the given pose, later ones from perturbed poses; the best result is kept.
"""

from __future__ import annotations

import math

from poise.kernels.chain.escape import keep_turns, kick
from poise.kernels.chain.links import copy, record
from poise.kernels.codes import BALL
from poise.kernels.compiled import inline
from poise.kernels.values.linear import normalise, put_quat, quat_at

# Fraction of the error: a descent ends after three consecutive iterations with a smaller decrease.
STALLED = 1e-6  # of the last descent
SLOW = 1e-2  # of a descent before a restart, because another start is likely to converge faster


@inline
def keep(x, error, met, found, best):
    """Store x if it is the best so far."""
    if met or error < found[0]:
        found[0], found[1] = error, 1.0 if met else 0.0
        copy(x, best)


@inline
def keep_first(x, error, met, found, count, best, trace_x, trace_error):
    """Store the first pose of a descent, bent or perturbed. If it meets the goals, the descent is done."""
    keep(x, error, met, found, best)
    # Count an iteration: zero iterations would mean the start.
    if met:
        count[0] += 1
        record(trace_x, trace_error, count[0], x, error)


@inline
def search(descend, measure, links, tip, target, setup, within, start, x, found, count, room, trace_x, trace_error):
    """Descend from the start pose, with restarts after stalls.

    x becomes the best pose found.

    is_reachable  whether the target is within reach of the chain: else there are no restarts
    descend       (links, tip, target, options, min_gain, x, best_error, count, workspace, trace_x, trace_error): moves
                  x downhill, counts iterations, and stores the best in best_error and workspace.best
    measure       (links, tip, target, options, x): the error, and whether the goals are met
    best_error    (2,) out: error of the best pose, and 1 where it meets the goals
    options       has `iterations`, of all descents together, and `restarts`
    """
    restarts = setup.restarts if within else 0
    count[0], count[1] = 0, 0
    copy(start, x)
    error, met = measure(links, tip, target, setup, x)
    record(trace_x, trace_error, 0, x, error)
    found[0], found[1] = error, 1.0 if met else 0.0
    # A start with a NaN error is returned unchanged.
    if met or not error < math.inf or links.kinds.shape[0] == 0:
        return
    copy(x, room.best)
    # The start, the restarts, and a last descent from the best.
    for attempt in range(restarts + 2 if restarts > 0 else 1):
        if count[0] >= setup.iterations or found[1] > 0.0:
            break
        # Attempts before the last were stopped while still decreasing slowly: the best of them is now continued.
        if attempt > restarts:
            copy(room.best, x)
        elif attempt > 0:
            kick(links.kinds, links.ranges, start, attempt, x)
            keep_turns(links.kinds, links.limits, x)
        least_gain = SLOW if attempt < restarts else STALLED
        descend(links, tip, target, setup, least_gain, x, found, count, room, trace_x, trace_error)
    copy(room.best, x)
    # Products of many unit quaternions drift by rounding. An unmoved start stays bit for bit.
    for i in range(links.kinds.shape[0]):
        if links.kinds[i] == BALL and count[0] > 0:
            put_quat(x, i, normalise(quat_at(x, i)))
