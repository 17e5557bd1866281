"""Search stride lengths for footfalls on treads, and find the treads.

The lengths are shares of the body's path from one footfall to the next. A beam search: of all walks up to a footfall
the best few are carried on, each with every share. A walk costs what treads its steps leave out, what its soles have of
edges, and what its shares differ from 1 and from each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.ground.figure.footing import Footing
from poise.ground.strides.footfalls import Footfalls
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.vectors import normalise, project_horizontal

LEAST, LONGEST = 0.2, 1.07  # shares of an animated step that are tried, from the least to the most
SHARES = np.concatenate([np.geomspace(LEAST, 1.0, 23), [1.03, LONGEST]])
_WALKS = 24  # that are carried on
ALLOWED = 1, 2  # treads that a step past the other foot may climb, and one to the next place of the same foot
_LEFT_OUT = 1000.0  # the cost of a tread that a step leaves out; an edge at the end of a sole costs 1
_SHORT, _CHANGED = 0.3, 3.0  # a share that is not 1, and one that is not the last: squares of logarithms
_NEAR = 1.2  # [m] along the way: strides change so far before stairs and behind them
APART = 0.03  # [m] the body goes less far between two footfalls: no share would be felt, they count as one
_STEEP = 1.0  # 45 degrees: steeper ground is a riser, or what a map makes of one
_EDGE = 0.05  # [m] lower risers are no treads
_SAMPLES = 41  # along a step, which may be 2 m long
_AROUND = 0.1  # [m] before the heel and beyond the tip are risers felt; so far behind the tip they count most
_ON_SOLE = 25  # samples along a sole
_MARGIN = 0.02  # [m] a heel stands no nearer to an edge
_WORST = 3.0  # how much a riser counts at most; 1 at the tip


class Search(NamedTuple):
    """Input of the search: K footfalls, and the ground under them.

    order  (k,) the footfalls to be placed, one after the other; the others stay where they are
    moves  (K, 3) [m] how far the body goes to each of them from the one before it in that order
    pairs  (K, 2) which footfalls its steps come from, in that order: `pairs_of`
    """

    falls: Footfalls
    footing: Footing
    order: Ints
    moves: Floats
    pairs: Ints


class Placed(NamedTuple):
    """Footfalls K, moved; of W walks, if there are more.

    moved   (..., K, 3) [m] by how much the body, and with it the foot, is displaced there
    shares  (..., K) of its way that the body went to come there
    """

    moved: Floats
    shares: Floats


def left_out(search: Search, moved: Floats) -> Ints:
    """Count the treads (K,) skipped by the steps to each footfall.

    The footfalls are moved by (K, 3). The step past the other foot may climb one tread, or go down one; from one place
    of a foot to its next, two.
    """
    balls, count = search.falls.ball + moved, np.zeros(len(moved), dtype=np.int64)
    for before, most in zip(search.pairs.T, ALLOWED, strict=True):
        some = np.flatnonzero(before >= 0)
        count[some] += np.maximum(np.abs(count_treads(search.footing, balls[before[some]], balls[some])) - most, 0)
    return count


def search_walks(search: Search, placed: Placed, last: float) -> Placed:
    """Place the footfalls in order by beam search.

    `last` is the share before the first of them, not a number for none.
    """
    walks = Placed(placed.moved[None], placed.shares[None])
    costs, here, lasts = np.zeros(1), np.zeros((1, 3)), np.array([last])
    for k in search.order:
        felt = np.linalg.norm(search.moves[k]) > APART
        tried = np.broadcast_to(SHARES, (len(costs), len(SHARES))) if felt else np.nan_to_num(lasts, nan=1.0)[:, None]
        there = here[:, None] + (tried - 1.0)[..., None] * search.moves[k]
        total = costs[:, None] + _smoothness(tried, lasts) + _landing(search, walks.moved, there, k)
        if felt:
            total[~_near_treads(search, here, k)[:, None] & (tried != 1.0)] = np.inf
        walk, share = np.unravel_index(np.argsort(total, axis=None, kind="stable")[:_WALKS], total.shape)
        here, costs, lasts = there[walk, share], total[walk, share], tried[walk, share]
        walks = Placed(walks.moved[walk], walks.shares[walk])  # copies
        walks.moved[:, k], walks.shares[:, k] = here, lasts
    return Placed(walks.moved[0], walks.shares[0])


def _near_treads(search: Search, here: Floats, k: int) -> Bools:
    """Return whether a footfall of walks is near treads.

    The walks are displaced by `here` (W, 3); elsewhere strides stay.
    """
    reach = _NEAR * normalise(search.moves[k])
    ball = search.falls.ball[k] + here
    return any_on(search.footing, ball - reach, ball + reach)


def _smoothness(shares: Floats, last: Floats) -> Floats:
    """Return the smoothness costs (W, C) of shares (W, C).

    They follow the last ones (W,), which are not numbers at the start.
    """
    logs = np.log(shares)
    changed = np.nan_to_num(logs - np.log(last)[:, None])
    return _SHORT * logs**2 + _CHANGED * changed**2


def _landing(search: Search, moved: Floats, there: Floats, k: int) -> Floats:
    """Return the costs (W, C) of landings at `there` (W, C, 3).

    These are displacements of the foot; the walks before are (W, K, 3).
    """
    falls, footing = search.falls, search.footing
    ahead = np.broadcast_to(falls.ahead[k], there.shape)
    cost = overhang(footing, falls.heel[k] + there, falls.tip[k] + there, ahead)
    for before, most in zip(search.pairs[k], ALLOWED, strict=True):
        if before >= 0:
            start = np.broadcast_to((falls.ball[before] + moved[:, before])[:, None], there.shape)
            treads = count_treads(footing, start, falls.ball[k] + there)
            cost += _LEFT_OUT * np.maximum(np.abs(treads) - most, 0)
    return cost


class Risers(NamedTuple):
    """Risers of the ground, up or down, along n ways.

    way   (E,) which way each is on
    share (E,) how far along it, from 0 to 1
    rise  (E,) [m] how much higher the ground is behind it
    """

    way: Ints
    share: Floats
    rise: Floats


def count_treads(footing: Footing, starts: Floats, ends: Floats) -> Ints:
    """Count the treads (...) climbed on straight paths.

    They go from starts to ends (..., 3) [m]; down counts below 0.
    """
    shape = starts.shape[:-1]
    risers = _risers_on(footing, starts.reshape(-1, 3), ends.reshape(-1, 3), _SAMPLES)
    count = np.bincount(risers.way, weights=np.sign(risers.rise), minlength=starts.size // 3)
    return np.rint(count).astype(np.int64).reshape(shape)


def any_on(footing: Footing, starts: Floats, ends: Floats) -> Bools:
    """Return whether (n,) straight paths cross a riser. They go from starts to ends (n, 3) [m]."""
    return np.isin(np.arange(len(starts)), _risers_on(footing, starts, ends, _SAMPLES).way)


def overhang(footing: Footing, heel: Floats, tip: Floats, ahead: Floats) -> Floats:
    """Rate how badly (...) soles lie over risers.

    They go from heel to tip (..., 3), and point to `ahead` (..., 3), level units. A riser under the heel counts 3,
    under the toes 1 at their tip and up to 3 behind it. One that stands in front of the toes, or behind the heel, is in
    the way of the swing: it counts less and less up to 0.1 m away. A drop there does not.
    """
    shape = heel.shape[:-1]
    reach = _AROUND * ahead
    start, end = (heel - reach).reshape(-1, 3), (tip + reach).reshape(-1, 3)
    risers = _risers_on(footing, start, end, _ON_SOLE)
    length = np.linalg.norm(project_horizontal(end - start), axis=1)[risers.way]
    behind = risers.share * length - _AROUND + _MARGIN  # the heel
    before = (1.0 - risers.share) * length - _AROUND  # the tip
    wall = (behind > before) == (risers.rise > 0.0)
    near = np.clip(1.0 + np.minimum(behind, before) / _AROUND, 0.0, 1.0) ** 2 * wall
    toes = np.minimum(1.0 + (_WORST - 1.0) * before / _AROUND, _WORST)
    counts = np.where((behind < 0.0) | (before < 0.0), near, np.where(behind < before, _WORST, toes))
    total: Floats = np.asarray(np.bincount(risers.way, weights=counts, minlength=len(start)), dtype=np.float64)
    return total.reshape(shape)


def _risers_on(footing: Footing, starts: Floats, ends: Floats, count: int) -> Risers:
    """Find the risers on paths from starts to ends (n, 3). They are runs of samples with steep ground between them."""
    line = starts[:, None] + np.linspace(0.0, 1.0, count)[:, None] * (ends - starts)[:, None]
    heights = footing.heights(line)
    steps = np.diff(heights, axis=1)
    spacing = np.linalg.norm(project_horizontal(ends - starts), axis=1, keepdims=True) / (count - 1)
    signs = np.where(np.abs(steps) > _STEEP * spacing, np.sign(steps), 0.0)
    padded = np.pad(signs, ((0, 0), (1, 1)))
    way, first = np.nonzero((signs != 0.0) & (signs != padded[:, :-2]))
    last = np.nonzero((signs != 0.0) & (signs != padded[:, 2:]))[1] + 1
    rise = heights[way, last] - heights[way, first]
    high = np.abs(rise) > _EDGE
    return Risers(way[high], (0.5 * (first + last) / (count - 1))[high], rise[high])
