"""Rank methods by share solved, call time and batch time."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from poise.comparison.findings.measured import Measured, Ranks
from poise.comparison.findings.ranks import Interval, in_order, share_interval, shared_ranks, time_intervals
from poise.maths.arrays import Floats

_PART = 0.5  # share of the targets: below it the interval is wide only for lack of time


def ranked(found: Sequence[Measured]) -> list[Measured]:
    """Rank the methods.

    The share solved (largest first), calls and batches (shortest first) have ranks of their own; the overall rank
    follows from the first two.
    """
    if not found:
        return []
    solved = _by_share(found)
    calls = shared_ranks(time_intervals([_of_rounds(one.calls) for one in found]))
    size = max((max(one.batches) for one in found if one.batches), default=0)
    with_batch = [i for i, one in enumerate(found) if size in one.batches]
    many = shared_ranks(time_intervals([found[i].batches[size] for i in with_batch]))
    places = dict(zip(with_batch, many, strict=True))
    overall = in_order(solved, calls)
    return [
        dataclasses.replace(one, ranks=Ranks(overall[i], solved[i], calls[i], places.get(i)))
        for i, one in enumerate(found)
    ]


def _by_share(found: Sequence[Measured]) -> list[int]:
    counts = [(int(run.solved().sum()), len(run), run.asked) for run in (one.main for one in found) if run is not None]
    shares = [share_interval(good, count) for good, count, _ in counts]
    few = {i for i, (_, count, asked) in enumerate(counts) if count < _PART * asked}
    return shared_ranks([Interval(-share.high, -share.low) for share in shares], few)


def _of_rounds(calls: Floats | None) -> Floats:
    """Compute the median call of each round.

    NaN where the method skipped the round, infinite where no call succeeded.
    """
    if calls is None:
        return np.full(1, np.inf)
    answered = ~np.isinf(calls).any(axis=0)
    return np.median(calls[:, answered], axis=1) if answered.any() else np.full(len(calls), np.inf)
