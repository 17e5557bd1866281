"""Metrics and ranks of compared methods. Ranks are reproducible: methods with overlapping 95 % intervals share one.

Shares have Wilson's interval (E. B. Wilson, JASA 22, 1927). Times have the interval of a median between order
statistics, which asks nothing of how they are distributed: of 9 rounds the second smallest and the second largest
(1 - 2 (1 + 9) / 2^9 = 96 %; fewer than six rounds, as in a quick comparison, hold less). What a round was slower than
others, for the method in the middle, is taken off: a machine that is busy slows all of them.

The same program, started again, differs by some per cent for no reason of its own (where its memory lies, how hot the
processor is). So intervals are never narrower than 5 to 12 % either way: as wide as leaves no two neighbours near the
line between sharing a rank and not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats

_Z = 1.959963984540054  # 97.5 % of a normal distribution lie below
_MISSED = 0.05  # of the intervals, that do not hold the true value
_NARROW, _WIDE = 2 * math.log(1.05), 2 * math.log(1.12)  # of whole intervals


class Interval(NamedTuple):
    """95 % confidence interval."""

    low: float
    high: float


def share_interval(good: int, count: int) -> Interval:
    """Compute Wilson's interval of a share."""
    if count == 0:
        return Interval(0.0, 1.0)
    share, z2 = good / count, _Z * _Z
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = _Z / (1 + z2 / count) * math.sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    return Interval(max(middle - half, 0.0), min(middle + half, 1.0))


def time_intervals(rounds: Sequence[Floats]) -> list[Interval]:
    """Compute intervals of the logarithm of each method's times. Times (r,) belong to the same rounds for each.

    NaN is a round in which a method did not take part. One that has an infinite time, or none, is beyond all others:
    its interval is infinity alone.
    """
    able = [i for i, one in enumerate(rounds) if np.isfinite(one).any() and not np.isinf(one).any()]
    found = [Interval(math.inf, math.inf)] * len(rounds)
    if not able:
        return found
    logs = np.log(np.array([rounds[i] for i in able]))
    logs = logs[:, np.isfinite(logs).any(axis=0)]
    busy = np.nanmedian(logs - np.nanmedian(logs, axis=1, keepdims=True), axis=0)
    relative = logs - busy
    half = _clearest(np.nanmedian(relative, axis=1))
    for i, values in zip(able, relative, strict=True):
        row = np.sort(values[np.isfinite(values)])
        rank, middle = _order(len(row)), float(np.median(row))
        found[i] = Interval(min(float(row[rank]), middle - half), max(float(row[-1 - rank]), middle + half))
    return found


def _clearest(middles: Floats) -> float:
    """Choose the half width with the clearest ranking.

    With it no gap between neighbours is nearly as wide as an interval.
    """
    gaps = np.sort(np.diff(np.sort(middles)))
    between = 0.5 * (gaps[1:] + gaps[:-1])
    widths = np.r_[_NARROW, between[(between > _NARROW) & (between < _WIDE)], _WIDE]
    if not gaps.size:
        return 0.5 * _NARROW
    room = np.abs(widths[:, None] - gaps).min(axis=1)
    return 0.5 * float(widths[room.argmax()])


def _order(count: int) -> int:
    """Find the order statistic bounding a median with 95 %. It is counted from either end of `count` values."""
    tail, rank = 0.0, 0
    for k in range(count // 2):
        tail += math.comb(count, k) / 2.0**count
        if 2 * tail > _MISSED:
            break
        rank = k
    return rank


def shared_ranks(intervals: Sequence[Interval], loose: Collection[int] = ()) -> list[int]:
    """Rank intervals from 1, low values first.

    Methods with intervals that overlap, directly or through others, share a rank.

    loose  indices of intervals that connect nobody, because they are wide for want of data: each shares the first rank
           that it overlaps, or has one of its own
    """
    firm = sorted((i for i in range(len(intervals)) if i not in loose), key=lambda i: intervals[i])
    groups: list[list[int]] = []
    end = -math.inf
    for i in firm:
        if intervals[i].low > end or not groups:
            groups.append([])
        end = max(end, intervals[i].high)
        groups[-1].append(i)
    for i in sorted(set(range(len(intervals))) - set(firm), key=lambda i: intervals[i]):
        home = next((g for g in groups if any(_overlap(intervals[i], intervals[j]) for j in g)), None)
        if home is None:
            groups.append([i])
            groups.sort(key=lambda group: min(intervals[j] for j in group))
        else:
            home.append(i)
    ranks = {i: rank for rank, group in enumerate(groups, start=1) for i in group}
    return [ranks[i] for i in range(len(intervals))]


def _overlap(a: Interval, b: Interval) -> bool:
    return a.low <= b.high and b.low <= a.high


def in_order(*keys: Sequence[int]) -> list[int]:
    """Rank from 1 by the first key, then the next. Equal keys give an equal rank."""
    pairs = list(zip(*keys, strict=True))
    places = {pair: place for place, pair in enumerate(sorted(set(pairs)), start=1)}
    return [places[pair] for pair in pairs]
