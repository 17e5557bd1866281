"""Metrics and ranks of compared methods. Ranks are reproducible: methods with overlapping 95 % intervals share one.

Shares have Wilson's interval (E. B. Wilson, JASA 22, 1927). Times have the interval of a median between order
statistics, which assumes no distribution: of 9 rounds the second smallest and the second largest (1 - 2 (1 + 9) / 2^9 =
96 %; fewer than six rounds, as in a quick comparison, give less). The slowdown of each round relative to the others,
taken from the median method, is subtracted, because a busy machine slows all methods.

Repeated runs of the same program differ by a few per cent for other reasons (memory layout, processor temperature).
Intervals are therefore never narrower than 5 to 12 % on either side; the width is chosen so that no two neighbours are
close to the border between shared and separate ranks.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats

_Z = 1.959963984540054  # 97.5 % quantile of the normal distribution
_MISSED = 0.05  # probability that an interval misses the true value
# log ratio, bounds of the smallest full width of an interval
_NARROW, _WIDE = 2 * math.log(1.05), 2 * math.log(1.12)


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

    NaN marks a skipped round. A method with an infinite time, or without any time, ranks behind all others: its
    interval is infinity alone.
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

    wide  indices of intervals that are wide for lack of data and therefore connect no others: each shares the first
          rank that it overlaps, or has one of its own
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
