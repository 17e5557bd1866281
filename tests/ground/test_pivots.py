"""The points about which feet turn, of feet that were rolled about known ones."""

import numpy as np
import pytest

from poise.ground.contact.pivots import find_pivots
from poise.ground.figure.motion import ANKLE, FOOT, Motion
from poise.maths import rotations

HEEL, BALL = np.array([-0.05, -0.07, 0.02]), np.array([0.12, -0.07, 0.02])
TIMES = np.arange(60) / 60


def roll(point, start, degrees, count, sway=0.0):
    """Rotations and ankles of a foot that turns about a point of its sole that stands at `start`."""
    angles = np.radians(np.linspace(0.0, degrees, count))
    axes = np.stack([sway * np.sin(np.arange(count)), np.ones(count), np.zeros(count)], axis=1)
    turns = rotations.about(axes / np.linalg.norm(axes, axis=1, keepdims=True), angles)
    return turns, start - rotations.rotate(turns, np.broadcast_to(point, (count, 3)))


def motion_with(turns, ankles):
    """A motion of one leg with nothing but a foot."""
    places = np.zeros((len(turns), 1, 5, 3))
    turning = np.broadcast_to(rotations.IDENTITY, (len(turns), 1, 4, 4)).copy()
    places[:, 0, ANKLE], turning[:, 0, FOOT] = ankles, turns
    return Motion(None, TIMES[: len(turns)], places, turning)


def test_heel_and_ball_of_a_rolling_foot():
    parts = [roll(HEEL, np.zeros(3), 20, 8), roll(BALL, np.array([0.17, 0.0, 0.0]), 40, 12)]
    turns, ankles = (np.concatenate(part) for part in zip(*parts, strict=True))
    found = find_pivots(motion_with(turns, ankles), BALL[None])[0]
    np.testing.assert_allclose(found, [BALL, HEEL], atol=1e-6)  # the one with more frames first


def test_along_the_axis_it_is_where_it_was_measured():
    measured = BALL + np.array([0.01, 0.03, -0.01])  # the foot turns about y
    found = find_pivots(motion_with(*roll(BALL, np.zeros(3), 40, 12)), measured[None])[0]
    np.testing.assert_allclose(found, [BALL + np.array([0.0, 0.03, 0.0])], atol=1e-6)


def test_roundings_of_files_do_not_matter():
    turns, ankles = roll(BALL, np.zeros(3), 40, 12, sway=0.2)
    rounded = rotations.unit(np.round(turns, 6)), np.round(ankles, 6)
    np.testing.assert_allclose(find_pivots(motion_with(*rounded), BALL[None])[0], [BALL], atol=3e-4)


def test_slow_turns_count_in_single_precision():
    parts = [part.astype(np.float32).astype(np.float64) for part in roll(BALL, np.array([3.0, 1.0, 0.0]), 1, 12)]
    np.testing.assert_allclose(find_pivots(motion_with(*parts), BALL[None])[0], [BALL], atol=3e-4)


@pytest.mark.parametrize("noise", [0.001, 0.01])
def test_recorded_feet_have_none(noise):
    turns, ankles = roll(BALL, np.zeros(3), 120, 60)
    ankles = ankles + np.random.default_rng(1).normal(0.0, noise, ankles.shape)
    assert find_pivots(motion_with(turns, ankles), BALL[None])[0].shape == (0, 3)


def test_nor_has_a_foot_that_keeps_still_or_a_single_frame():
    still = motion_with(np.tile(rotations.IDENTITY, (10, 1)), np.zeros((10, 3)))
    for motion in (still, motion_with(rotations.IDENTITY[None], np.zeros((1, 3)))):
        assert find_pivots(motion, BALL[None])[0].shape == (0, 3)
