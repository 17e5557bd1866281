"""Room that a thread keeps for its kernels."""

from __future__ import annotations

from poise.maths import arrays


def test_the_same_room_is_taken_again_and_a_large_one_is_not_kept():
    first = arrays.get_scratch(1000)
    assert len(first) >= 1000
    assert arrays.get_scratch(500) is first
    large = arrays.get_scratch(10_000_000)
    assert len(large) >= 10_000_000
    assert arrays.get_scratch(500) is first
