"""The steady frames of clips whose keys lie anywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from poise.errors import InputError, UnsupportedError
from poise.model.clip import Clip, find_common_step, find_frame_grid, measure_key_error
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton

LIMB = Skeleton.build(["a", "b"], [-1, 0], [Kind.BALL, Kind.BALL], offsets=[[0, 0, 0], [0, 1, 0]])


def clip_at(times, name="c"):
    """The limb turns about z by a radian a second, unevenly sampled."""
    angles = np.asarray(times) * 0.5
    q = np.zeros((len(angles), 8))
    q[:, 0], q[:, 3], q[:, 4] = np.cos(angles), np.sin(angles), 1.0
    return Clip(times, Pose(LIMB, q), name)


@given(
    rate=st.sampled_from([12, 24, 25, 29.97, 30, 60, 90, 120]),
    frames=st.lists(st.integers(1, 40), min_size=2, max_size=60),
    first=st.integers(0, 2000),
    bits=st.sampled_from([np.float32, np.float64]),
)
@example(rate=29.97, frames=[1, 1], first=0, bits=np.float32)  # four keys: within rounding of 30 but for their rate
def test_every_key_is_a_frame_of_a_rate_that_is_hidden_in_the_times(rate, frames, first, bits):
    at = first + np.cumsum([0, *frames, 1])
    times = (at / rate).astype(bits).astype(float)
    grid = find_frame_grid(clip_at(times))
    assert grid.hits_all_keys
    assert np.isin(times, grid.times).all()
    assert grid.start_time == 0
    assert 1 / grid.step < rate * 1.001  # a coarser one, where all keys share it


def test_the_first_key_counts():
    times = np.arange(1, 31, 2) / 24  # frames 1, 3, 5: two frames apart
    assert clip_at(times).fps == pytest.approx(12)
    grid = find_frame_grid(clip_at(times))
    assert grid.step == 1 / 24
    np.testing.assert_array_equal(grid.times[1::2], times)


@pytest.mark.parametrize("at", [[0, 2, 5], [3, 8, 11], [0, 4, 10, 25]])
def test_the_shortest_gap_may_hold_several_steps(at):
    assert find_common_step(np.array(at) / 30) == pytest.approx(np.gcd.reduce(at) / 30)


def test_keys_that_differ_by_rounding_are_one():
    times = np.sort(np.concatenate([np.arange(20) / 30, np.arange(1, 20) / 30 + 3e-6]))
    assert find_common_step(np.arange(20) / 30) == pytest.approx(1 / 30)
    grid = find_frame_grid(clip_at(times))
    assert (grid.step, grid.hits_all_keys, len(grid.times)) == (1 / 30, True, 20)


def test_times_below_zero_begin_with_the_first_key():
    grid = find_frame_grid(clip_at(np.arange(-1, 4) / 24))
    assert grid.start_time == -1 / 24
    np.testing.assert_allclose(grid.times, np.arange(-1, 4) / 24, atol=1e-15)


def test_where_no_rate_hits_all_keys_the_distance_at_them_is_known():
    times = np.array([0.0, 0.1, 0.21317, 0.29003, 0.5, 0.71773, 1.0])
    clip = clip_at(times)
    grid = find_frame_grid(clip)
    assert not grid.hits_all_keys
    far, size = measure_key_error(clip, Clip(grid.times, clip.at(grid.times)))
    assert size == pytest.approx(1.0)
    assert 0 < far < 0.05
    exact = find_frame_grid(clip, 1000)
    assert measure_key_error(clip, Clip(exact.times, clip.at(exact.times)))[0] < 1e-3


@pytest.mark.parametrize("count", [5, 1001])  # the last frames are looked at by themselves, and one does not move
def test_the_size_is_that_of_what_moves_and_no_camera_far_away(count):
    skeleton = Skeleton.build(
        ["top", "a", "b", "camera"], [-1, 0, 1, 0], [Kind.FIXED, Kind.BALL, Kind.BALL, Kind.FIXED],
        offsets=[[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 150]],
    )  # fmt: skip
    angles = np.linspace(0, 1, count) / 2
    q = np.zeros((count, 8))
    q[:, [0, 3]], q[:, 4] = np.stack([np.cos(angles), np.sin(angles)], axis=1), 1
    clip = Clip.at_rate(Pose(skeleton, q), 30)
    assert measure_key_error(clip, clip)[1] == pytest.approx(2.0)
    still = Clip.at_rate(Pose(skeleton, q[:1]), 30)
    assert measure_key_error(still, still)[1] > 150


def test_rates_that_are_meaningless():
    with pytest.raises(InputError, match="above zero"):
        find_frame_grid(clip_at([0.0, 1.0]), 0)
    with pytest.raises(UnsupportedError, match="are too many; call resample"):
        find_frame_grid(clip_at([0.0, 1e6]), 1000)
