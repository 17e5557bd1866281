"""Pelvis: up and down with the ground under the feet, before legs ask for anything."""

from __future__ import annotations

import numpy as np
import pytest

from poise.ground.legs.legs import base_heights, leg_lengths
from tests.ground.motions import moved, path

FRAMES = 60
STILL = np.zeros((FRAMES, 2))


@pytest.fixture
def motion():
    """Two legs that stand."""
    return moved(path(FRAMES), path(FRAMES))


def test_on_its_own_ground_the_pelvis_stays(motion):
    assert not base_heights(motion, STILL).any()


def test_it_rises_with_the_ground_and_no_further(motion):
    np.testing.assert_allclose(base_heights(motion, STILL + 0.3), 0.3, atol=1e-12)


def test_it_is_as_high_as_the_ground_is_on_average(motion):
    np.testing.assert_allclose(base_heights(motion, np.broadcast_to([0.1, 0.3], STILL.shape)), 0.2, atol=1e-12)


def test_a_slope_is_followed(motion):
    rise = np.repeat(np.linspace(0.0, 0.5, FRAMES)[:, None], 2, axis=1)
    np.testing.assert_allclose(base_heights(motion, rise)[15:-15], rise[15:-15, 0], atol=1e-12)


def test_over_a_step_it_goes_early_and_smoothly():
    motion = moved(path(FRAMES), path(FRAMES), fps=120.0)
    rise = STILL.copy()
    rise[30:] = -0.3
    up = base_heights(motion, rise)
    assert up[29] < -0.05
    assert np.abs(np.diff(up)).max() < 0.02
    assert not up[:5].any()


@pytest.mark.parametrize("frames", [1, 3])
def test_without_time_each_frame_is_for_itself(frames):
    motion = moved(path(frames), path(frames), times=np.zeros(frames))
    rise = np.zeros((frames, 2))
    rise[-1] = -0.2
    np.testing.assert_allclose(base_heights(motion, rise), rise[:, 0], atol=1e-12)


def test_lengths_of_bones_and_from_hip_to_ankle(motion):
    motion.places[:, 1, 0, 2] -= 0.1
    thigh, shin, chord = leg_lengths(motion)
    np.testing.assert_allclose(
        np.stack([thigh, shin, chord])[:, :, 0], [[0.4] * FRAMES, [0.4] * FRAMES, [0.8] * FRAMES]
    )
    np.testing.assert_allclose(chord[:, 1], 0.7)
