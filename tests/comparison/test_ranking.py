"""Ranks: shared where intervals overlap, and the intervals themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poise.comparison.metrics import (
    Interval,
    compute_share_interval,
    compute_shared_ranks,
    compute_time_intervals,
    rank_by_keys,
)
from poise.comparison.metrics import _choose_half_width as clearest
from poise.comparison.metrics import _find_order_statistic as order

pairs = st.tuples(st.floats(-1e3, 1e3), st.floats(0, 10)).map(lambda p: Interval(p[0], p[0] + p[1]))


@given(st.lists(pairs, max_size=12))
def test_who_overlaps_shares_a_rank_and_who_is_apart_does_not(intervals):
    ranks = compute_shared_ranks(intervals)
    assert sorted(set(ranks)) == list(range(1, len(set(ranks)) + 1))
    for i, a in enumerate(intervals):
        for j, b in enumerate(intervals):
            if a.low <= b.high and b.low <= a.high:
                assert ranks[i] == ranks[j]
            elif ranks[i] < ranks[j]:
                assert a.high < b.low


def test_a_method_between_two_connects_them():
    assert compute_shared_ranks([Interval(0, 2), Interval(3, 5), Interval(1, 4), Interval(6, 7)]) == [1, 1, 1, 2]


def test_a_wide_interval_for_want_of_data_connects_none():
    narrow, wide = [Interval(0, 1), Interval(2, 3), Interval(4, 5)], Interval(0.5, 4.5)
    assert compute_shared_ranks([*narrow, wide]) == [1, 1, 1, 1]
    assert compute_shared_ranks([*narrow, wide], {3}) == [1, 2, 3, 1]
    assert compute_shared_ranks([*narrow, Interval(1.2, 1.8)], {3}) == [1, 3, 4, 2]
    assert compute_shared_ranks([wide], {0}) == [1]


def test_who_has_no_time_ranks_behind_all_others():
    assert compute_shared_ranks(compute_time_intervals([np.full(9, np.inf), np.full(9, 1.0), np.full(9, 9.0)])) == [
        3,
        1,
        2,
    ]
    assert compute_shared_ranks(compute_time_intervals([np.full(9, np.nan), np.full(9, 1.0)])) == [2, 1]


@pytest.mark.parametrize(("good", "count"), [(0, 20), (20, 20), (7, 20), (199, 200), (1, 1)])
def test_shares_have_wilsons_interval(good, count):
    from scipy import stats  # takes seconds: not by every worker

    expected = stats.binomtest(good, count).proportion_ci(0.95, method="wilson")
    assert compute_share_interval(good, count) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_nothing_counted_is_nothing_known():
    assert compute_share_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("rounds", range(1, 40))
def test_order_statistics_hold_the_median_with_95_percent(rounds):
    from scipy import stats  # takes seconds: not by every worker

    rank = order(rounds)
    held = 1 - 2 * stats.binom.cdf(rank, rounds, 0.5)
    closer = 1 - 2 * stats.binom.cdf(rank + 1, rounds, 0.5)
    assert held >= 0.95 or rank == 0
    assert closer < 0.95


def test_a_busy_machine_slows_all_alike_and_changes_nothing():
    rng = np.random.default_rng(0)
    times = [np.exp(rng.normal(mean, 0.05, 9)) for mean in (0.0, 0.4, 2.0)]
    busy = np.exp(rng.normal(0.0, 2.0, 9))
    quiet, loud = compute_time_intervals(times), compute_time_intervals([t * busy for t in times])
    assert compute_shared_ranks(loud) == compute_shared_ranks(quiet) == [1, 2, 3]
    assert max(one.high - one.low for one in loud) < 0.5


def test_intervals_are_never_narrower_than_five_percent():
    a, b = compute_time_intervals([np.full(9, 10.0), np.full(9, 10.0)])
    assert a == b
    assert 2 * math.log(1.05) <= a.high - a.low <= 2 * math.log(1.12)
    assert compute_shared_ranks(compute_time_intervals([np.full(9, 10.0), np.full(9, 10.5)])) == [1, 1]
    assert compute_shared_ranks(compute_time_intervals([np.full(9, 10.0), np.full(9, 15.0)])) == [1, 2]


@given(st.lists(st.floats(0.0, 3.0), min_size=2, max_size=12), st.integers(0, 2**32 - 1))
def test_a_second_run_that_differs_a_little_gives_the_same_ranks(logs, seed):
    """As little as half the room that the clearest width leaves; it leaves the most that any of the widths does."""
    middles = np.array(logs)
    gaps = np.diff(np.sort(middles))
    width = 2 * clearest(middles)
    room = np.abs(width - gaps).min()
    tried = np.linspace(2 * math.log(1.05), 2 * math.log(1.12), 400)
    assert room >= np.abs(tried[:, None] - gaps).min(axis=1).max() - 1e-3
    again = middles + np.random.default_rng(seed).uniform(-0.24, 0.24, len(logs)) * room
    ranks = [compute_shared_ranks([Interval(m - width / 2, m + width / 2) for m in some]) for some in (middles, again)]
    assert ranks[0] == ranks[1]


def test_a_method_that_takes_part_in_some_rounds_is_compared_in_those():
    slow = np.array([np.nan, 30.0, np.nan] * 3)
    busy = np.array([1.0, 2.0, 3.0] * 3)
    quick, part = compute_time_intervals([10.0 * busy, slow * busy])
    assert (part.low + part.high) / 2 - (quick.low + quick.high) / 2 == pytest.approx(math.log(3.0), abs=1e-9)


def test_order_by_several_keys():
    assert rank_by_keys([1, 1, 2, 1], [2, 1, 1, 2]) == [2, 1, 3, 2]
