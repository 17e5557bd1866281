"""Curves in time: never below what is needed, constant where that is, and smooth where a mask ends and begins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poise.ground.figure.motion import Motion
from poise.ground.figure.speeds import Shots
from poise.ground.legs.swing import between_of, fade_offsets, interpolate_swings
from poise.maths import rotations
from poise.maths.frame_masks import find_last_true, find_next_true, measure_time_from, take_frames
from poise.maths.smoothing import (
    average_hann,
    compute_upper_envelope,
    compute_window_max,
    interpolate_frames,
    smoothstep,
)
from tests.ground.motions import two_legs
from tests.strategies import rng_of, seeds

halves = st.integers(0, 12)
frames = st.integers(1, 40)
few = settings(max_examples=25)
SECOND = 960  # frames
LEAVES, LANDS = SECOND // 2, 3 * SECOND // 2
MASK = np.zeros(2 * SECOND, dtype=bool)
MASK[:LEAVES] = MASK[LANDS:] = True  # stands, swings for a second, stands


def curve(seed, count, *more):
    return rng_of(seed).normal(size=(count, *more))


def runs(seed, count, legs=2):
    """A mask of stances and gaps."""
    return np.repeat(rng_of(seed).random((count, legs)) < 0.5, 3, axis=0)[:count]


def moving(count=2 * SECOND):
    """Offsets (F, 1, 3) that change all the time, fast where the mask ends and begins, and their times."""
    times = np.arange(count) / SECOND
    turn = 2 * np.pi * times
    return times, np.stack([0.1 * np.sin(turn), 0.1 * np.cos(turn + 1.0), 0.05 * times], axis=-1)[:, None]


class TestAbove:
    @few
    @given(seeds, frames, halves)
    def test_nowhere_below_the_values_and_not_above_the_largest(self, seed, count, half):
        values = curve(seed, count, 2)
        smooth = compute_upper_envelope(values, half)
        assert smooth.shape == values.shape
        assert (smooth >= values - 1e-15 * np.abs(values).max()).all()
        assert (smooth <= values.max(axis=0) + 1e-12).all()

    def test_a_need_of_one_frame_begins_and_ends_early_and_late(self):
        need = np.zeros(41)
        need[20] = 1.0
        smooth = compute_upper_envelope(need, 5)
        assert smooth[20] == pytest.approx(1.0, abs=1e-15)
        assert (smooth[[9, 31]] == 0.0).all()
        assert (np.diff(smooth[:21]) >= 0).all()
        np.testing.assert_allclose(smooth, smooth[::-1], atol=1e-15)

    def test_nothing_needed_stays_nothing(self):
        assert not compute_upper_envelope(np.zeros((9, 2)), 4).any()


@given(seeds, frames, halves)
def test_the_largest_near_is_the_largest_of_all_that_are_near(seed, count, half):
    values = curve(seed, count, 2)
    near = [values[max(at - half, 0) : at + half + 1].max(axis=0) for at in range(count)]
    np.testing.assert_array_equal(compute_window_max(values, half), near)


def test_the_largest_near_each_frame():
    values = np.array([3.0, 0.0, 1.0, 0.0, 0.0, 5.0, 0.0])
    np.testing.assert_array_equal(compute_window_max(values, 0), values)
    np.testing.assert_array_equal(compute_window_max(values, 1), [3, 3, 1, 1, 5, 5, 5])
    np.testing.assert_array_equal(compute_window_max(values, 9), [5] * 7)


class TestAveraged:
    @few
    @given(st.floats(-1e9, 1e9), frames, halves)
    def test_a_constant_stays(self, value, count, half):
        np.testing.assert_allclose(average_hann(np.full((count, 2), value), half), value, rtol=1e-14, atol=1e-300)

    def test_a_line_stays_where_the_ends_are_far(self):
        line = np.linspace(0.0, 1.0, 41)
        np.testing.assert_allclose(average_hann(line, 6)[6:-6], line[6:-6], atol=1e-14)

    def test_a_step_is_gone_up_without_overshoot_and_half_way_at_its_place(self):
        smooth = average_hann((np.arange(41) >= 20.5).astype(float), 6)
        assert (np.diff(smooth) >= 0).all()
        assert (smooth[:15] == 0.0).all()
        np.testing.assert_allclose(smooth[27:], 1.0, atol=1e-14)
        assert smooth[20] + smooth[21] == pytest.approx(1.0, abs=1e-14)

    def test_without_a_window_values_are_themselves(self):
        values = curve(1, 5)
        assert average_hann(values, 0) is values
        assert compute_upper_envelope(values, 0) is values


def test_ease_is_held_outside_and_flat_at_its_ends():
    np.testing.assert_array_equal(smoothstep(np.array([-2.0, 0.0, 0.5, 1.0, np.inf])), [0, 0, 0.5, 1, 1])
    near = smoothstep(np.array([1e-6, 1.0 - 1e-6]))
    np.testing.assert_allclose(near, [0.0, 1.0], atol=4e-12)


class TestMasks:
    @few
    @given(seeds, frames)
    def test_last_and_next_against_a_search(self, seed, count):
        mask = runs(seed, count)
        for leg in range(2):
            held = np.flatnonzero(mask[:, leg])
            for frame in range(count):
                assert find_last_true(mask)[frame, leg] == max(held[held <= frame], default=-1)
                assert find_next_true(mask)[frame, leg] == min(held[held >= frame], default=count)

    def test_a_mask_of_one_column_or_none(self):
        mask = np.array([False, True, False])
        np.testing.assert_array_equal(find_last_true(mask), [-1, 1, 1])
        np.testing.assert_array_equal(find_next_true(mask), [1, 1, 3])
        assert find_last_true(np.zeros((0, 2), bool)).shape == (0, 2)

    def test_time_since_and_until(self):
        times = np.array([0.0, 0.1, 0.3, 0.6])
        mask = np.array([[False, False], [True, False], [False, False], [False, False]])
        since, until = measure_time_from(times, mask)
        np.testing.assert_allclose(since[:, 0], [np.inf, 0.0, 0.2, 0.5])
        np.testing.assert_allclose(until[:, 0], [0.1, 0.0, np.inf, np.inf])
        assert np.isinf(since[:, 1]).all()
        assert np.isinf(until[:, 1]).all()

    def test_rows_of_each_leg(self):
        values = np.arange(12.0).reshape(3, 2, 2)
        np.testing.assert_array_equal(take_frames(values, np.array([[2, 0]])), [[[8, 9], [2, 3]]])


class TestFaded:
    @few
    @given(seeds, frames, st.floats(0.01, 1.0))
    def test_exact_where_the_mask_holds_and_finite_elsewhere(self, seed, count, seconds):
        mask, offsets = runs(seed, count), curve(seed, count, 2, 3)
        result = fade_offsets(np.arange(count) / 30.0, offsets, mask, seconds)
        np.testing.assert_array_equal(result[mask], offsets[mask])
        assert np.isfinite(result).all()

    def test_gone_after_its_time(self):
        times, offsets = moving()
        result = fade_offsets(times, offsets, MASK[:, None], 0.2)
        fifth = SECOND // 5
        assert not result[LEAVES + fifth : LANDS - fifth].any()
        assert result[LEAVES + fifth - 9].any()

    @few
    @given(seeds, frames)
    def test_what_is_reported_elsewhere_does_not_matter(self, seed, count):
        mask, offsets, times = runs(seed, count), curve(seed, count, 2, 3), np.arange(count) / 30.0
        clean = np.where(mask[..., None], offsets, 0.0)
        np.testing.assert_array_equal(fade_offsets(times, offsets, mask, 0.2), fade_offsets(times, clean, mask, 0.2))

    def test_a_mask_of_one_frame_has_no_speed(self):
        offsets = np.ones((5, 1, 3)) * np.array([9.0, 1.0, 2.0, 7.0, -3.0])[:, None, None]
        mask = np.array([[False], [False], [True], [False], [False]])
        result = fade_offsets(np.arange(5) / 30.0, offsets, mask, 0.2)[:, 0, 0]
        np.testing.assert_allclose(result, result[::-1], atol=1e-15)
        assert result[2] == 2.0
        assert 0.0 < result[1] < 2.0

    @pytest.mark.parametrize("edge", [LEAVES, LANDS])
    def test_no_jump_of_value_or_speed_where_the_mask_ends_and_begins(self, edge):
        times, offsets = moving()
        result = fade_offsets(times, offsets, MASK[:, None], 0.2)[:, 0]
        speed = np.diff(result, axis=0) * SECOND
        assert 0.6 < np.abs(speed[edge - 4 : edge + 4]).max() < 0.8  # [m/s]
        assert np.abs(np.diff(speed[edge - 4 : edge + 4], axis=0)).max() < 0.1

    def test_a_gap_shorter_than_the_fade_is_crossed_on_the_shortest_way(self):
        offsets = np.where(np.arange(20) < 8, -0.04, 0.04)[:, None, None] * np.ones(3)
        mask = (np.arange(20) < 8) | (np.arange(20) >= 12)
        way = fade_offsets(np.arange(20) / 30.0, offsets, mask[:, None], 0.2)[7:13, 0, 0]
        assert (np.diff(way) > 0.0).all()
        assert np.diff(way).max() < 1.5 * 0.08 / 5

    def test_equal_offsets_stay_over_a_gap_shorter_than_the_fade(self):
        mask = np.abs(np.arange(20) - 10) > 2
        result = fade_offsets(np.arange(20) / 30.0, np.full((20, 1, 3), 0.04), mask[:, None], 0.2)
        np.testing.assert_allclose(result, 0.04, atol=1e-15)

    @pytest.mark.parametrize("values", [(0.0, 1.0), (1.0, 0.0)])
    def test_frames_at_a_cut_have_offsets_of_their_own_shot(self, values):
        second = np.arange(20) >= 10
        shots = Shots(np.where(second, 10, 0), np.where(second, 19, 9))
        offsets = np.where(second, values[1], values[0])[:, None, None] * np.ones(3)
        for cut in (9, 10):
            mask = (np.arange(20) != cut)[:, None]
            result = fade_offsets(np.arange(20) / 30.0, offsets, mask, 0.2, shots)[cut]
            np.testing.assert_allclose(result, offsets[cut], atol=0.1)

    @pytest.mark.parametrize("gap", [1, 3, 5, 9])
    def test_a_shot_fades_as_it_does_alone(self, gap):
        times, second = np.arange(20) / 30.0, np.arange(20) >= 10
        shots, mask = Shots(np.where(second, 10, 0), np.where(second, 19, 9)), np.abs(np.arange(20) - 10) >= gap
        offsets = curve(3, 20, 2, 3)
        masks = np.repeat(mask[:, None], 2, axis=1)
        result = fade_offsets(times, offsets, masks, 0.2, shots)
        for rows in (slice(0, 10), slice(10, 20)):
            alone = fade_offsets(times[rows], offsets[rows], masks[rows], 0.2)
            np.testing.assert_allclose(result[rows], alone, atol=1e-14)

    @pytest.mark.parametrize("degrees", [179.9, 178.0, 150.0])
    def test_turns_beyond_half_a_turn_go_on_by_the_shorter_arc(self, degrees):
        second = np.arange(20) >= 10
        vectors = np.radians(np.where(second, -degrees, degrees))[:, None, None] * np.array([0.0, 0.6, 0.8])
        mask = (np.abs(np.arange(20) - 9.5) > 2)[:, None]
        turns = rotations.from_vector(fade_offsets(np.arange(20) / 30.0, vectors, mask, 0.2, are_turns=True))[:, 0]
        steps = np.linalg.norm(
            rotations.as_vector(rotations.multiply(turns[1:], rotations.inverse(turns[:-1]))), axis=-1
        )
        assert np.degrees(steps.sum()) == pytest.approx(360.0 - 2.0 * degrees, abs=1e-6)

    def test_turns_fade_at_the_speed_they_had_beyond_half_a_turn(self):
        """They turn by 4 degrees a frame, over half a turn within a contact."""
        times = np.arange(40) / 30.0
        angles = np.radians(142.0 + 4.0 * np.arange(40))
        mask = np.zeros((40, 1), bool)
        mask[5:11] = True
        vectors = rotations.as_vector(rotations.from_vector(angles[:, None, None] * np.array([0.0, 0.0, 1.0])))
        turns = rotations.from_vector(fade_offsets(times, vectors, mask, 0.2, are_turns=True))[:, 0]
        steps = rotations.as_vector(rotations.multiply(turns[1:], rotations.inverse(turns[:-1])))
        assert 4.0 < np.degrees(steps[10, 2]) < 25.0
        assert np.degrees(np.abs(steps[10:, 2]).max()) < 60.0

    def test_nothing_holds(self):
        times, offsets = moving(20)
        assert not fade_offsets(times, offsets, np.zeros((20, 1), bool), 0.2).any()

    def test_all_holds(self):
        times, offsets = moving(20)
        np.testing.assert_array_equal(fade_offsets(times, offsets, np.ones((20, 1), bool), 0.2), offsets)

    @pytest.mark.parametrize("holds", [False, True])
    def test_one_frame(self, holds):
        result = fade_offsets(np.zeros(1), np.ones((1, 1, 3)), np.array([[holds]]), 0.2)
        np.testing.assert_array_equal(result, np.full((1, 1, 3), float(holds)))


class TestCarriedOn:
    def carried(self, offsets, mask, times, level=0.0):
        """Of feet whose animated ankles go a level way (F,) [m]."""
        places = np.zeros((*mask.shape, 5, 3))
        places[..., 1] = np.reshape(level, (-1, 1, 1))
        motion = Motion(two_legs(), times, places, np.zeros((*mask.shape, 4, 4)))
        return interpolate_swings(motion, offsets, between_of(times, mask), mask)

    @few
    @given(seeds, frames)
    def test_exact_where_the_foot_stands_and_finite_elsewhere(self, seed, count):
        mask, offsets = runs(seed, count), curve(seed, count, 2, 3)
        result = self.carried(offsets, mask, np.arange(count) / 30.0)
        np.testing.assert_array_equal(result[mask], offsets[mask])
        assert np.isfinite(result).all()

    @pytest.mark.parametrize("edge", [LEAVES, LANDS])
    def test_no_jump_of_value_or_speed_where_the_foot_leaves_and_lands(self, edge):
        times, offsets = moving()
        speed = np.diff(self.carried(offsets, MASK[:, None], times)[:, 0], axis=0) * SECOND
        assert 0.6 < np.abs(speed[edge - 4 : edge + 4]).max() < 0.8
        assert np.abs(np.diff(speed[edge - 4 : edge + 4], axis=0)).max() < 0.1

    def test_speeds_die_away_slowly(self):
        times, offsets = moving()
        change = np.diff(self.carried(offsets, MASK[:, None], times)[:, 0], n=2, axis=0) * SECOND**2
        assert np.abs(change).max() < 20.0  # [m/s^2] a speed of v dies away in T with 4 v / T; of 0.6 m/s in 0.2 s

    @pytest.mark.parametrize("back", [False, True], ids=["leaves", "lands"])
    def test_a_swing_that_the_clip_cuts_off_after_two_frames_does_not_end_in_them(self, back):
        times, offsets = np.arange(10) / 30.0, np.zeros((10, 1, 3))
        mask = np.ones((10, 1), dtype=bool)
        mask[8:], offsets[:8] = False, 0.06
        if back:
            mask, offsets = mask[::-1].copy(), offsets[::-1].copy()
        result = self.carried(offsets, mask, times)[:, 0, 0]
        assert np.abs(np.diff(result, n=2)).max() < 0.02  # [m] 0.05 if it had to be over
        assert (result >= 0.0).all()

    @pytest.mark.parametrize("end", [0.3, -0.3], ids=["up", "down"])
    def test_up_and_down_with_the_level_way(self, end):
        times = np.arange(2 * SECOND) / SECOND
        way = np.clip(times - 0.5, 0.0, 1.0) ** 3  # late
        result = self.carried(self.stepped(end), MASK[:, None], times, level=-0.8 * way)[:, 0, 2]
        np.testing.assert_allclose(result[LEAVES : LANDS - 9] / end, smoothstep(way[LEAVES : LANDS - 9]), atol=0.02)
        assert (np.diff(result / end) >= -1e-12).all()

    @pytest.mark.parametrize("end", [0.3, -0.3], ids=["up", "down"])
    def test_on_the_spot_with_the_time(self, end):
        times = np.arange(2 * SECOND) / SECOND
        result = self.carried(self.stepped(end), MASK[:, None], times, level=0.05 * np.sin(9.0 * times))[:, 0, 2]
        np.testing.assert_allclose(result / end, smoothstep(times - 0.5), atol=0.01)

    def stepped(self, end):
        offsets = np.zeros((2 * SECOND, 1, 3))
        offsets[LANDS:, 0, 2] = end
        return offsets

    @pytest.mark.parametrize("holds", [False, True])
    def test_one_value_all_along_stays(self, holds):
        times = np.arange(20) / 30.0
        offsets = np.full((20, 1, 3), 0.2)
        np.testing.assert_allclose(self.carried(offsets, np.full((20, 1), holds), times), offsets, atol=1e-15)

    def test_one_frame(self):
        offsets = np.ones((1, 1, 3))
        for holds in (False, True):
            np.testing.assert_array_equal(self.carried(offsets, np.array([[holds]]), np.zeros(1)), offsets)

    def test_frames_at_one_time(self):
        result = self.carried(curve(1, 3, 1, 3), np.array([[True], [False], [True]]), np.zeros(3))
        assert np.isfinite(result).all()


class TestInterpolateFrames:
    @few
    @given(seeds, frames, st.integers(1, 5))
    def test_it_goes_through_the_values_and_then_stays(self, seed, count, each):
        values = curve(seed, count, 2)
        found = interpolate_frames(values, each, count * each)
        np.testing.assert_array_equal(found[::each], values)
        np.testing.assert_array_equal(found[(count - 1) * each :], np.repeat(values[-1:], each, axis=0))

    def test_smooth_curves_are_kept(self):
        times = np.linspace(0.0, 2.0, 81)
        found = interpolate_frames(np.sin(3.0 * times[::4]), 4, 81)
        np.testing.assert_allclose(found[4:-4], np.sin(3.0 * times[4:-4]), atol=1e-3)
