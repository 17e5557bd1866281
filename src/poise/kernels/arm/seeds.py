# pyright: standard
"""Restart seeds of an arm, sorted by tip distance. They are spread over its ranges.

    seeds  (s, m)   the values
    poses  flat     their tip transforms: blocks of as many seeds as lanes, in each x y z w x y z, lane by lane

Restarts go through the table group by group and take the best seed of each group, then the second best, until all are
used. Later ones are mixed, with the value of each joint from another seed, so that no start is repeated.
"""

from __future__ import annotations

from poise.kernels.codes import ARM_CANDIDATES, ARM_MOST_CANDIDATES, ARM_WEIGHTS
from poise.kernels.compiled import inline, part
from poise.kernels.values.lanes import SCALAR, fill, lane, part_of, room, select, width

BLOCKS = 8  # blocks of seeds compared in a race
HUGE = 1e300  # larger than any squared error; infinity times zero would be NaN


@inline
def seed_at(seeds, number, i):
    """Return value i of seed `number`. Numbers beyond the table (s, m) mix values of its seeds."""
    return seeds[(number + i * (number // seeds.shape[0])) % seeds.shape[0], i]


@inline
def cost_of(kind, poses, block, target, weights):
    """Compute squared tip errors of a block of seeds. The target has 7 numbers."""
    at = part_of(kind, poses, block * 7 * width(kind), 7)
    x, y, z = at[0] - target[0], at[1] - target[1], at[2] - target[2]
    cosine = at[3] * target[3] + at[4] * target[4] + at[5] * target[5] + at[6] * target[6]
    # 4 (1 - cos^2) of half the angle is (2 sin)^2 of it, as in the error.
    away, turned = x * x + y * y + z * z, 1.0 - cosine * cosine
    return away * (weights[0] * weights[0]) + turned * (4.0 * weights[1] * weights[1])


@part
def put_costs(kind, poses, first, count, target, weights, costs):
    """Compute costs (count,) of seeds from `first` on."""
    w = width(kind)
    for b in range(count // w):
        cost = cost_of(kind, poses, first // w + b, target, weights)
        for l in range(w):
            costs[b * w + l] = lane(cost, l)


@part
def ranked(costs, count, rank):
    """Return the index of the cost of a given rank. Rank 0 is the least; among equal costs the first comes first."""
    found, reached = 0, -HUGE
    for r in range(rank + 1):
        before, best = found, HUGE
        for i in range(count):
            later = costs[i] > reached or (costs[i] == reached and i > before and r > 0)
            if later and costs[i] < best:
                best, found = costs[i], i
        reached = best
    return found


@part
def put_seed(kind, seeds, poses, target, settings, values, l, number):
    """Load the seed of restart `number`, counted from 0, into lane l."""
    count, m, w = int(settings[ARM_CANDIDATES]), seeds.shape[1], width(kind)
    groups = seeds.shape[0] // count
    if number < groups * count:
        # Comparing four seeds at a restart raised the solved poses of a Panda from 99.95 to 99.98 %.
        costs, first = room(SCALAR, ARM_MOST_CANDIDATES), (number % groups) * count
        put_costs(kind, poses, first, count, target, settings[ARM_WEIGHTS:], costs)
        seed = first + ranked(costs, count, number // groups)
        for i in range(m):
            values[i * w + l] = seeds[seed, i]
        return
    for i in range(m):
        values[i * w + l] = seed_at(seeds, number, i)


@part
def put_nearest(kind, seeds, poses, target, settings, values):
    """Load seeds into all lanes but the first. Each lane takes the best of its own seeds in eight blocks."""
    w, m = width(kind), seeds.shape[1]
    best, found = fill(kind, HUGE), fill(kind, 0.0)
    for b in range(min(BLOCKS, seeds.shape[0] // w)):
        cost = cost_of(kind, poses, b, target, settings[ARM_WEIGHTS:])
        found, best = select(cost < best, fill(kind, b * 1.0), found), select(cost < best, cost, best)
    for l in range(1, w):
        seed = int(lane(found, l)) * w + l
        for i in range(m):
            values[i * w + l] = seeds[seed, i]
