"""Room that a thread keeps for its kernels."""

from __future__ import annotations

from poise.maths import lanes


def test_the_same_room_is_taken_again_and_a_large_one_is_not_kept():
    first = lanes.scratch(1000)
    assert len(first) >= 1000
    assert lanes.scratch(500) is first
    large = lanes.scratch(10_000_000)
    assert len(large) >= 10_000_000
    assert lanes.scratch(500) is first
