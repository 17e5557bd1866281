# pyright: standard
"""The course of a descent: from the start, and where that stalls again from elsewhere; the best is kept."""

from __future__ import annotations

import math

from poise.kernels.chain.escape import keep_turns, kick
from poise.kernels.chain.links import copy, record
from poise.kernels.codes import BALL
from poise.kernels.compiled import merged
from poise.kernels.values.linear import normalise, put_quat, quat_at

STALLED = 1e-6  # three times in a row an error that falls by less than this share of it end a descent
SLOW = 1e-2  # the same, where a restart is left: from elsewhere the error falls faster


@merged
def search(descend, measure, links, tip, target, setup, within, start, x, found, count, room, trace_x, trace_error):
    """Descend from the start; where that stalls within reach, descend again from kicks. x becomes the best found.

    descend(links, tip, target, setup, least_gain, x, found, count, room, trace_x, trace_error) moves x, counts on, and
    keeps the best in `found` and room.best; measure(links, tip, target, setup, x) gives the error, and whether the
    goals are met. found (2,): the same of the best. setup has iterations and restarts.
    """
    restarts = setup.restarts if within else 0
    count[0], count[1] = 0, 0
    copy(start, x)
    error, met = measure(links, tip, target, setup, x)
    record(trace_x, trace_error, 0, x, error)
    found[0], found[1] = error, 1.0 if met else 0.0
    if met or not error < math.inf or links.kinds.shape[0] == 0:
        return
    copy(x, room.best)
    for attempt in range(restarts + 2 if restarts > 0 else 1):
        if count[0] >= setup.iterations or found[1] > 0.0:
            break
        if attempt > restarts:  # at last on from the best of attempts that were cut short
            copy(room.best, x)
        elif attempt > 0:
            kick(links.kinds, links.ranges, start, attempt, x)
            keep_turns(links.kinds, links.limits, x)
        least_gain = SLOW if attempt < restarts else STALLED
        descend(links, tip, target, setup, least_gain, x, found, count, room, trace_x, trace_error)
    copy(room.best, x)
    for i in range(links.kinds.shape[0]):
        if links.kinds[i] == BALL and count[0] > 0:
            put_quat(x, i, normalise(quat_at(x, i)))
