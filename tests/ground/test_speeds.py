from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poise.ground.figure.speeds import Shots, lowest_near, shots_of, velocities
from tests.ground.motions import motion, moved, path


def one_shot(frames):
    return Shots(np.zeros(frames, dtype=np.int64), np.full(frames, frames - 1))


def split(frames, at):
    first = np.where(np.arange(frames) < at, 0, at)
    return Shots(first, np.where(np.arange(frames) < at, at - 1, frames - 1))


@pytest.mark.parametrize("fps", [12.0, 24.0, 60.0, 120.0, 1000.0])
def test_a_point_at_constant_speed_has_that_speed_in_every_frame(fps):
    times = np.arange(20) / fps
    found = velocities(times, times[:, None] * [1.0, -2.0, 0.5], one_shot(20), 0.04)
    np.testing.assert_allclose(found, np.tile([1.0, -2.0, 0.5], (20, 1)), atol=1e-12)


def test_a_staircase_is_smoothed_over_the_window():
    times = np.arange(40) / 120
    stairs = np.repeat(times[::2], 2)[:, None]  # 60 frames a second, each written twice
    inner = velocities(times, stairs, one_shot(40), 0.05)[4:-4]
    assert inner.min() > 0.8
    assert inner.max() < 1.2


def test_speeds_do_not_go_over_a_cut():
    times, points = np.arange(10) / 30, np.where(np.arange(10) < 5, 0.0, 100.0)[:, None]
    np.testing.assert_array_equal(velocities(times, points, split(10, 5), 0.1), 0.0)


@pytest.mark.parametrize("times", [[0.0], [0.0, 0.0], [1.0, 1.0, 1.0]])
def test_no_time_no_speed(times):
    points = np.arange(len(times), dtype=float)[:, None]
    np.testing.assert_array_equal(velocities(np.array(times), points, one_shot(len(times)), 0.05), 0.0)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.floats(0.001, 2.0))
def test_the_lowest_near_is_what_a_search_finds(seed, frames, reach):
    rng = np.random.default_rng(seed)
    times = np.sort(rng.choice(np.arange(200), size=frames)) / 64  # uneven, some twice
    values, cut = rng.normal(size=(frames, 2)), int(rng.integers(1, frames + 1))
    shots = split(frames, cut)
    shot = np.arange(frames) >= cut
    for frame, found in enumerate(lowest_near(times, values, shots, reach)):
        near = (np.abs(times - times[frame]) <= reach * (1 + 1e-9)) & (shot == shot[frame])
        np.testing.assert_array_equal(found, values[near].min(axis=0))


class TestShots:
    def test_a_walk_is_one_shot(self, data):
        assert set(shots_of(motion(data / "bvh/walk_mass.bvh")).first) == {0}

    @pytest.mark.parametrize("fps", [120.0, 60.0, 30.0, 24.0])
    def test_a_reference_pose_before_the_walk_is_alone(self, data, fps):
        shots = shots_of(motion(data / "bvh/cmu_12_01_walk.bvh", fps=fps))
        assert shots.first[:3].tolist() == [0, 1, 1]
        assert shots.last[0] == 0
        assert set(shots.first[1:]) == {1}

    def test_a_jump_of_metres_is_a_cut(self):
        jump = path(20, x=np.where(np.arange(20) < 8, 0.0, 3.0))
        assert sorted(set(shots_of(moved(jump, jump)).first)) == [0, 8]

    @pytest.mark.parametrize("clip", ["Walking_A", "Running_A", "1H_Melee_Attack_Chop", "Death_A", "Dodge_Left"])
    def test_a_clip_that_only_walks_or_fights_is_not_cut(self, data, clip):
        assert set(shots_of(motion(data / "glb/knight_kaykit.glb", clip)).first) == {0}

    @pytest.mark.parametrize("frames", [1, 2, 3])
    def test_few_frames_are_one_shot(self, frames):
        assert set(shots_of(moved(path(frames), path(frames))).first) == {0}


def test_a_reference_pose_at_the_end_stays_the_last_frame():
    offsets = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.2, 0.0, 0.0], [5.0, 0.0, 0.0]])
    fine = moved(offsets, offsets, 30.0).finer(4, np.array([False, False, False, True]))
    places = fine.places[:, 0, 0, 0] - fine.places[0, 0, 0, 0]
    assert places[-1] == pytest.approx(5.0)
    np.testing.assert_allclose(places[:-1], 0.025 * np.arange(12), atol=1e-12)  # what is between goes on
