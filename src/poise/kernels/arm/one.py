# pyright: standard
"""One target for one serial arm: every lane starts elsewhere, the first that arrives wins.

Lane 0 starts from the caller's pose, the others from the seeds whose tips are nearest to the target. If another lane
arrives while lane 0 is close to the target, lane 0 is given a few iterations more: who follows a moving target from
frame to frame must not jump to another branch of solutions. Without restarts every lane starts from the caller's pose,
so that the answer is the one that lies nearby.

    poses  flat (s 7,)  where the seeds put the tip: blocks of `width` seeds, in each x y z w x y z lane by lane
"""

from __future__ import annotations

from poise.kernels.arm.many import HUGE, POLISHES, VALUES_ROOM, WIDEST, restarts_for
from poise.kernels.arm.serial import (
    LARGEST,
    cautious,
    damped_step,
    damping_of,
    forward,
    put_error,
    square,
)
from poise.kernels.codes import (
    ARM_ANGLE,
    ARM_DISTANCE,
    ARM_FACTOR,
    ARM_FLOOR,
    ARM_ITERATIONS,
    ARM_POLISH,
    ARM_RESTARTS,
    ARM_WEIGHTS,
)
from poise.kernels.compiled import inline, part
from poise.kernels.values.axes import rotation_error
from poise.kernels.values.lanes import SCALAR, bits, fill, lane, part_of, room, room2, select, width
from poise.kernels.values.linear import Quat, Vec

# Eight starts at once leave nearly no unlucky targets: on a Panda the slowest of a hundred takes 6.3 us instead of
# 17.7, and all are solved; eight lanes cost little more than one start.
BLOCKS = 8  # seeds that each lane chooses its start from
ROUND = 15.0  # iterations of all lanes before they start again: most that succeed need fewer
CLOSE = 0.05  # squared error below which lane 0 is waited for, because convergence is quadratic from there,
PATIENCE = 4  # for so many iterations


@inline
def nearest_seeds(kind, poses, first, count, target, weights, chosen):
    """For every lane, which block of `count` from `first` on has a seed in it that puts the tip nearest."""
    w = width(kind)
    blocks = poses.shape[0] // (7 * w)
    best, found = fill(kind, HUGE), fill(kind, 0.0)
    for b in range(count):
        block = (first + b) % blocks
        at = part_of(kind, poses, block * 7 * w, 7)
        off = Vec(at[0] - target[0], at[1] - target[1], at[2] - target[2])
        # The absolute value is not needed: only its square counts, and q and -q are the same rotation.
        cosine = at[3] * target[3] + at[4] * target[4] + at[5] * target[5] + at[6] * target[6]
        cost = square(off) * (weights[0] * weights[0]) + (1.0 - cosine * cosine) * (4.0 * weights[1] * weights[1])
        # Every lane compares its own seed of the block, so that the chosen starts come from all over the seeds.
        found = select(cost < best, fill(kind, block * 1.0), found)
        best = select(cost < best, cost, best)
    for l in range(w):
        chosen[l] = lane(found, l)


@part
def put_values(values, w, l, start, m):
    """Start lane l from these values."""
    for i in range(m):
        values[i * w + l] = start[i]


@part
def take_values(values, w, l, x, m):
    """Copy what lane l has."""
    for i in range(m):
        x[i] = values[i * w + l]


@inline
def solve_target(kind, links, seeds, poses, target, start, settings, x, found):
    """Solve one target (7 numbers) from `start`; x receives the answer, found: reached, iterations, squared error."""
    m, w = links.shape[0] - 1, width(kind)
    axes, origins, J = room2(kind, LARGEST, 3), room2(kind, LARGEST, 3), room2(kind, LARGEST, 6)
    A, d, y, e = room2(kind, 6, 6), room(kind, 6), room(kind, 6), room(kind, 6)
    values, before, chosen = room(SCALAR, VALUES_ROOM), room(SCALAR, VALUES_ROOM), room(SCALAR, WIDEST)
    v, tested = part_of(kind, values, 0, m), part_of(kind, before, 0, m)
    weights = settings[ARM_WEIGHTS : ARM_WEIGHTS + 2]
    at, turned = Vec(target[0], target[1], target[2]), Quat(target[3], target[4], target[5], target[6])
    rounds = int(restarts_for(links, target, settings)) // w + 1
    wait = -1  # iterations that lane 0 may still take, once another lane has arrived; -1: none has
    iterations, least = 0, HUGE  # of all lanes together; squared error of x
    polishes = POLISHES if settings[ARM_POLISH] > 0.0 else 0  # rounds that settle where nothing met the target
    alone = settings[ARM_RESTARTS] < 1.0  # no restarts: all lanes start from the caller's pose
    # A single start has all iterations to itself; with restarts a slow round is worth less than a fresh one.
    longest = settings[ARM_ITERATIONS] if alone else min(ROUND, settings[ARM_ITERATIONS])
    # Rounds that have begun, iterations of a round at most, and those of this one: more than it may have, so that the
    # first pass of the loop begins a round like any later one.
    attempt, most, spent = 0, longest, longest + 1.0
    caution, last = fill(kind, 0.0), fill(kind, HUGE)
    found[0] = 0.0
    while True:
        if spent > most:
            if attempt >= rounds + polishes:
                break
            # The next blocks of seeds every round: no start is tried twice.
            nearest_seeds(kind, poses, attempt * BLOCKS, BLOCKS, target, weights, chosen)
            for l in range(w):
                put_values(values, w, l, start if alone else seeds[int(chosen[l]) * w + l], m)
            if attempt == 0:
                put_values(values, w, 0, start, m)
            # All rounds failed, the target may be out of reach: lane 0 settles the best pose so far, the others what
            # their seeds lead to, with a caution of 1 that lets the damping adapt.
            if attempt >= rounds:
                put_values(values, w, 0, x, m)
                most, caution = settings[ARM_POLISH], fill(kind, 1.0)
            attempt += 1
            spent, last = 0.0, fill(kind, HUGE)
        tip, rotation = forward(kind, links, v, True, axes, origins)
        off = Vec(at.x - tip.x, at.y - tip.y, at.z - tip.z)
        turn = rotation_error(turned, rotation)
        distance, angle = square(off), square(turn)
        error = distance * (weights[0] * weights[0]) + angle * (weights[1] * weights[1])
        met = bits((distance <= settings[ARM_DISTANCE]) & (angle <= settings[ARM_ANGLE]))
        # Lane 0 has arrived, and its answer is the nearest to the caller's pose; or its time is up, and x has another
        # lane's.
        if met & 1 or wait == 0:
            if met & 1:
                take_values(values, w, 0, x, m)
                least = lane(error, 0)
            found[0] = 1.0
            break
        if wait > 0:
            wait -= 1
        elif met != 0:
            # Of several lanes that arrive together the first counts: a rule, so that the answer is the same every time.
            l = 0
            while (met >> l) & 1 == 0:
                l += 1
            take_values(values, w, l, x, m)
            least = lane(error, l)
            iterations = max(iterations, 1)  # 0 would say that the start is the answer
            # In later rounds lane 0 no longer comes from the caller's pose, so that there is nothing to wait for.
            if attempt > 1 or lane(error, 0) > CLOSE:
                found[0] = 1.0
                break
            wait = PATIENCE
        for i in range(m):
            # The error was measured before the step: what it belongs to is kept aside.
            tested[i] = v[i]
        put_error(e, off, turn, weights)
        caution, last = cautious(caution, last, error), error
        damping = damping_of(caution, error, settings[ARM_FACTOR], settings[ARM_FLOOR])
        damped_step(links, v, axes, origins, tip, e, weights, damping, J, A, d, y)
        iterations += 1
        spent += 1.0
        # As `keep_seen` in many.py: the caller's start, and every pose while a round settles; besides, where a round
        # ends. Not while lane 0 is waited for: x has met the target then.
        began, settles = attempt == 1 and spent == 1.0, attempt > rounds
        if (spent > most or began or settles) and wait < 0:
            for l in range(w):
                if lane(error, l) < least:
                    least = lane(error, l)
                    take_values(before, w, l, x, m)
    found[1] = iterations
    found[2] = least
