"""Couplings: chains of followers, and followers' ranges that would block their leader."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.model.joints import drop_blocking_ranges, resolve_couplings
from tests.timeouts import assert_linear

INF = float("inf")
HINGE = poise.Kind.HINGE


def left_out(leader, *followers):
    """Which followers' ranges are left out: `leader` is (low, high) or None, a follower (low, high, ratio, offset)."""
    names = ["lead", *(f"f{i}" for i in range(len(followers)))]
    limits = [leader and poise.Range(*leader), *(poise.Range(low, high) for low, high, _, _ in followers)]
    couplings = [None, *(poise.Coupling(0, ratio, offset) for _, _, ratio, offset in followers)]
    kept, notes = drop_blocking_ranges(names, np.full(len(names), HINGE), limits, couplings)
    assert [limit is None for limit in kept[1:]].count(True) == len(notes)
    assert kept[0] == limits[0]
    return [f"f{i}" for i in range(len(followers)) if kept[i + 1] is None]


@pytest.mark.parametrize(
    ("leader", "follower"),
    [
        ((0, 0.8), (0, 0.8757, -1, 0)),  # Robotiq 2F-85: [0, -0]
        ((0, 0.548), (0, 0.548, -1, 0.001)),  # almost nothing is left
        ((-0.5, 0), (-1, 0, -2, 0)),
        ((-1, 2), (5, 6, 1, 0)),  # no value at all
        ((-1, 2), (1, 1.01, 1, 0)),
        ((0, INF), (0, 0.8, -1, 0)),  # a leader without an end
        (None, (0, 0, 1, 0)),  # a follower whose range is a point holds a leader without a range
        ((-1, 2), (1, 2, 0, 0.5)),  # a follower that is held outside its range
    ],
)
def test_a_range_that_blocks_the_leader_is_left_out(leader, follower):
    assert left_out(leader, follower) == ["f0"]


@pytest.mark.parametrize(
    ("leader", "follower"),
    [
        ((0, 0.8), (-0.8757, 0, -1, 0)),
        ((0, 0.8), (0, 0.02, 1, 0)),  # a fortieth is left
        ((-1, 2), (0, 1, -1, 0.5)),
        (None, (0, 0.8, -1, 0)),
        ((0.5, 0.5), (0, 1, 1, 0)),  # the leader stands still without it
        ((-1, 2), (1, 2, 0, 1.5)),
        ((0, 0.8), (-INF, INF, -1, 0)),
    ],
)
def test_a_range_that_leaves_room_is_kept(leader, follower):
    assert left_out(leader, follower) == []


def test_followers_are_counted_together():
    assert left_out((0, 1), (0, 0.5, 1, 0), (0.499, 1, 1, 0)) == ["f1"]
    assert left_out(None, (0, 1, 1, 0), (0, 1, -1, 0), (0, 1, 1, 0.5)) == ["f1"]


def test_the_note_names_both_joints():
    limits, couplings = [poise.Range(0, 0.8), poise.Range(0, 0.9)], [None, poise.Coupling(0, -1.0, 0.0)]
    _, notes = drop_blocking_ranges(["finger", "inner"], np.full(2, HINGE), limits, couplings)
    (note,) = notes
    assert note.startswith(
        "the range of 'inner', 0 to 0.9, leaves 'finger', which it follows with ratio -1 and offset 0,"
    )
    assert note.endswith("no range of motion: it is ignored")


def test_a_follower_of_a_follower_counts_with_both_ratios():
    limits = [poise.Range(0, 1), None, poise.Range(0, 1)]
    couplings = [None, poise.Coupling(0, -1.0, 0.0), poise.Coupling(1, -1.0, 0.0)]
    assert drop_blocking_ranges("abc", np.full(3, HINGE), limits, couplings) == (tuple(limits), [])
    couplings[2] = poise.Coupling(1, 1.0, 0.0)
    kept, notes = drop_blocking_ranges("abc", np.full(3, HINGE), limits, couplings)
    assert kept[2] is None
    assert len(notes) == 1


def test_a_range_of_the_caller_still_has_to_leave_a_value():
    build = {"axes": np.ones((2, 3)), "couplings": [None, poise.Coupling(0, -1.0, 0.0)]}
    with pytest.raises(poise.InputError, match="leave no legal value"):
        poise.Skeleton.build("ab", [-1, 0], [HINGE] * 2, limits=[poise.Range(1, 2), poise.Range(1, 2)], **build)


def test_a_long_line_of_followers_takes_time_in_proportion():
    def compose(n):
        couplings = [poise.Coupling(i + 1, 1.0, 0.0) for i in range(n - 1)] + [None]
        found = resolve_couplings([f"j{i}" for i in range(n)], np.full(n, HINGE), couplings)
        assert {coupling.leader for coupling in found[:-1]} == {n - 1}

    assert_linear(compose, 2_000)
