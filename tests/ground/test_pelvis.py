"""Pelvis: up and down with the ground, and lower only where a leg would be too short."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from poise.ground.figure.motion import ANKLE, BALL, END, HIP, KNEE
from poise.ground.legs.pelvis import EASY, EASY_IN_AIR, chord_limits, pelvis_heights
from tests.ground.motions import moved, path
from tests.strategies import rng_of, seeds

FRAMES = 60
STILL = np.zeros((FRAMES, 2))
STANDS = np.ones((FRAMES, 2), dtype=bool)


def standing(bent=0.1, **options):
    """Two legs that stand with their hips lower by `bent` [m] than straight legs allow."""
    motion = moved(path(FRAMES), path(FRAMES), **options)
    motion.places[:, :, HIP, 2] -= bent
    motion.places[:, :, KNEE, 1] -= np.sqrt(0.4**2 - (0.4 - bent / 2) ** 2)
    motion.places[:, :, KNEE, 2] -= bent / 2
    return motion


def easy_chords(motion):
    return chord_limits(motion, np.ones(motion.places.shape[:2], dtype=bool))[0]


def heights(motion, ankles, rise, stands=STANDS):
    return pelvis_heights(motion, ankles, rise, easy_chords(motion), stands)


def reached(motion, ankles, up, stands=STANDS):
    """By how much [m] the farthest of the ankles that stand is beyond its leg."""
    hips = motion.places[:, :, HIP] + up[:, None, None] * [0.0, 0.0, 1.0]
    beyond = np.linalg.norm(ankles - hips, axis=-1) - easy_chords(motion)
    return beyond[stands].max(initial=-np.inf)


def ankles_of(motion, rise):
    return motion.places[:, :, ANKLE] + rise[..., None] * [0.0, 0.0, 1.0]


class TestChordLimits:
    def test_a_leg_that_stands_gives_way_before_it_is_almost_straight(self):
        easy, most = chord_limits(standing(), STANDS)
        np.testing.assert_allclose(easy, EASY * 0.8, atol=1e-12)
        assert (easy < most).all()
        assert (most < 0.8).all()

    def test_one_in_the_air_gives_way_earlier_and_that_begins_smoothly(self):
        stands = STANDS.copy()
        stands[20:40] = False
        easy, most = chord_limits(standing(fps=60.0), stands)
        np.testing.assert_allclose(easy[30], EASY_IN_AIR * 0.8, atol=1e-12)
        np.testing.assert_allclose(easy[:20], EASY * 0.8, atol=1e-12)
        assert np.abs(np.diff(easy, n=2, axis=0)).max() < 0.1 * (EASY - EASY_IN_AIR)
        assert (easy < most).all()

    def test_a_straight_leg_stays_straight_on_its_own_ground_and_only_there(self):
        np.testing.assert_allclose(chord_limits(standing(0.0), STANDS)[0], 0.8, atol=1e-12)
        np.testing.assert_allclose(chord_limits(standing(0.0), STANDS, 0.0)[0], EASY * 0.8, atol=1e-12)

    def test_no_leg_gets_straighter_than_it_is_animated_by_more_than_a_quarter_of_the_rest(self):
        bent = 0.001  # the chord is 0.799 of 0.8
        np.testing.assert_allclose(chord_limits(standing(bent), STANDS)[1], 0.79925, atol=1e-12)


class TestNoNeed:
    def test_on_its_own_ground_the_pelvis_stays(self):
        motion = standing()
        assert not heights(motion, motion.places[:, :, ANKLE], STILL).any()
        straight = standing(0.0)
        np.testing.assert_allclose(heights(straight, straight.places[:, :, ANKLE], STILL), 0.0, atol=1e-15)

    def test_it_rises_with_the_ground_and_no_further(self):
        motion, rise = standing(), np.full((FRAMES, 2), 0.3)
        np.testing.assert_allclose(heights(motion, ankles_of(motion, rise), rise), 0.3, atol=1e-12)

    def test_a_slope_is_followed(self):
        motion, rise = standing(), np.repeat(np.linspace(0.0, 0.5, FRAMES)[:, None], 2, axis=1)
        up = heights(motion, ankles_of(motion, rise), rise)
        np.testing.assert_allclose(up[15:-15], rise[15:-15, 0], atol=1e-12)

    def test_legs_in_the_air_do_not_pull_it_down(self):
        motion, rise = standing(), STILL - [0.0, 0.5]
        stands = STANDS & [True, False]
        level = heights(motion, ankles_of(motion, rise), STILL, stands)
        assert not level.any()


class TestSinking:
    def test_the_closed_form_against_a_bisection(self):
        motion = standing(fps=1.0)  # a frame a second: nothing is averaged
        rise = STILL.copy()
        rise[:, 1] = -np.linspace(0.0, 0.6, FRAMES)
        ankles = ankles_of(motion, rise)
        up = heights(motion, ankles, rise)
        low, high = np.full(FRAMES, -2.0), rise.mean(axis=1)
        for _ in range(60):
            middle = 0.5 * (low + high)
            hips = motion.places[:, :, HIP] + middle[:, None, None] * [0.0, 0.0, 1.0]
            fits = (np.linalg.norm(ankles - hips, axis=-1) <= easy_chords(motion)).all(axis=1)
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        np.testing.assert_allclose(up, low, atol=1e-12)
        assert (up[-10:] < rise.mean(axis=1)[-10:] - 0.05).all()

    @settings(max_examples=40)
    @given(seeds)
    def test_legs_that_stand_reach_afterwards_and_it_is_never_above_the_ground(self, seed):
        rng = rng_of(seed)
        motion = standing()
        rise = np.repeat(rng.uniform(-0.3, 0.3, (FRAMES // 6, 2)), 6, axis=0)
        stands = np.repeat(rng.random((FRAMES // 6, 2)) < 0.6, 6, axis=0)
        ankles = ankles_of(motion, rise)
        ankles[..., :2] += 0.05 * rng.normal(size=(FRAMES, 2, 2))
        up = heights(motion, ankles, rise, stands)
        assert reached(motion, ankles, up, stands) <= 1e-12
        base = heights(motion, ankles, rise, ~STANDS)
        assert (up <= base + 1e-15).all()

    def test_no_more_than_what_is_needed_at_most(self):
        motion = standing()
        rise = STILL.copy()
        rise[45:, 1] = -0.3
        ankles = ankles_of(motion, rise)
        base = heights(motion, ankles, rise, ~STANDS)
        up = heights(motion, ankles, rise)
        high = ankles[..., 2] + np.sqrt(easy_chords(motion) ** 2) - motion.places[:, :, HIP, 2]
        missing = np.maximum(base - high.min(axis=1), 0.0)
        assert missing.max() > 0.05
        assert (base - up <= missing.max() + 1e-12).all()
        assert up[:3] == pytest.approx(base[:3], abs=1e-12)  # half a second before

    def test_it_sinks_early_and_smoothly(self):
        motion = standing(fps=120.0)
        rise = STILL.copy()
        rise[30:, :] = -0.3
        up = heights(motion, ankles_of(motion, rise), rise)
        assert up[29] < -0.05
        assert np.abs(np.diff(up)).max() < 0.02

    def test_an_ankle_beyond_reach_to_the_side_needs_no_more_than_that_the_leg_leans(self):
        motion = standing()
        ankles = motion.places[:, :, ANKLE] + [5.0, 0.0, 0.0]
        up = heights(motion, ankles, STILL)
        assert np.isfinite(up).all()
        assert (up >= -0.8).all()


@pytest.mark.parametrize("frames", [1, 3])
def test_without_time_each_frame_is_for_itself(frames):
    motion = moved(path(frames), path(frames), times=np.zeros(frames))
    rise = np.zeros((frames, 2))
    rise[-1] = -0.2
    up = pelvis_heights(motion, ankles_of(motion, rise), rise, easy_chords(motion), np.ones((frames, 2), dtype=bool))
    np.testing.assert_allclose(up, rise[:, 0], atol=1e-12)


def test_balls_and_ends_do_not_matter():
    motion, other = standing(), standing()
    other.places[:, :, [BALL, END]] += 7.0
    rise = STILL - [0.0, 0.4]
    up = heights(motion, ankles_of(motion, rise), rise)
    np.testing.assert_array_equal(heights(other, ankles_of(other, rise), rise), up)
