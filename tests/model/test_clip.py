from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation, Slerp

import poise
from poise.model.channels import bracket_times
from tests.strategies import rng_of, unit_quaternions


@pytest.fixture
def skeleton():
    return poise.Skeleton.build(
        "abc", [-1, 0, 1], [4, 3, 3], offsets=np.ones((3, 3)), rotations=unit_quaternions(rng_of(1), 3)
    )


@pytest.fixture
def clip(skeleton):
    q = np.tile(skeleton.rest_q, (3, 1))
    q[:, 0] = [0, 1, 3]
    return poise.Clip(np.array([0.0, 1.0, 2.0]), poise.Pose(skeleton, q), "walk")


def test_bracket_holds_at_both_ends():
    times = np.array([1.0, 2.0, 4.0])
    lower, weight = bracket_times(times, np.array([0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 9.0]))
    assert (lower + weight).tolist() == [0, 0, 0.5, 1, 1.5, 2, 2]


class TestClip:
    def test_between_frames_it_blends(self, clip):
        assert clip.at(0.5).q[0] == 0.5
        assert clip.at(1.5).q[0] == 2.0
        assert clip.at(-1).q[0] == 0
        assert clip.at(9).q[0] == 3
        assert clip.at([0.5, 1.0]).shape == (2,)

    def test_on_a_frame_it_is_that_frame_bit_for_bit(self, clip):
        np.testing.assert_array_equal(clip.at(clip.times).q, clip.poses.q)

    def test_figures(self, clip):
        assert (len(clip), clip.duration, clip.fps) == (3, 2.0, 1.0)

    def test_resample(self, clip):
        finer = clip.resample(4)
        assert len(finer) == 9
        assert finer.poses.q[:, 0].tolist() == [0, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3]
        with pytest.raises(poise.InputError, match="above zero"):
            clip.resample(0)

    def test_one_frame_and_none(self, skeleton):
        one = poise.Clip.at_rate(poise.Pose(skeleton, skeleton.rest_q[None]), 30)
        assert (one.fps, one.duration) == (0, 0)
        np.testing.assert_array_equal(one.at(5).q, skeleton.rest_q)
        none = poise.Clip.at_rate(poise.Pose(skeleton, np.zeros((0, skeleton.nq))), 30)
        assert len(none) == 0
        with pytest.raises(poise.InputError, match="no frames"):
            none.at(0)

    @pytest.mark.parametrize("times", [[0, 1], [0, 2, 1], [0, np.nan, 1]])
    def test_bad_times_are_refused(self, clip, times):
        with pytest.raises(poise.InputError):
            poise.Clip(np.array(times, float), clip.poses)


class TestTracks:
    times = np.array([0.5, 1.0, 2.0])

    def test_linear_rotation_is_slerp_and_holds_outside(self, skeleton):
        keys = unit_quaternions(rng_of(2), 3)
        clip = poise.KeyedClip(skeleton, (poise.Channel(1, "rotation", "LINEAR", self.times, keys),))
        scipy = Slerp(self.times, Rotation.from_quat(np.roll(keys, -1, axis=-1)))
        t = np.array([0.0, 0.5, 0.6, 1.0, 1.7, 2.0, 3.0])
        ours = Rotation.from_quat(np.roll(clip.at(t).local_rotations[:, 1], -1, axis=-1))
        assert (ours * scipy(np.clip(t, 0.5, 2.0)).inv()).magnitude().max() < 1e-12

    def test_step(self, skeleton):
        keys = np.arange(9.0).reshape(3, 3)
        clip = poise.KeyedClip(skeleton, (poise.Channel(2, "translation", "STEP", self.times, keys),))
        t = np.array([0.0, 0.5, 0.99, 1.0, 1.99, 2.0, 3.0])
        assert clip.at(t).local_positions[:, 2, 0].tolist() == [0, 0, 0, 3, 3, 6, 6]

    def test_cubic_spline_is_hermite(self, skeleton):
        keys = rng_of(3).normal(size=(3, 3, 3))
        clip = poise.KeyedClip(skeleton, (poise.Channel(2, "scale", "CUBICSPLINE", self.times, keys),))
        t = np.linspace(0.5, 2, 31)
        for i in range(2):  # each span has its own tangents at its two ends
            spline = CubicHermiteSpline(self.times[i : i + 2], keys[i : i + 2, 1], [keys[i, 2], keys[i + 1, 0]])
            inside = (t >= self.times[i]) & (t <= self.times[i + 1])
            np.testing.assert_allclose(clip.at(t[inside]).scales[:, 2], spline(t[inside]), atol=1e-12)

    def test_a_free_joint_carries_its_translation_in_q(self, skeleton):
        keys = np.arange(9.0).reshape(3, 3)
        clip = poise.KeyedClip(skeleton, (poise.Channel(0, "translation", "LINEAR", self.times, keys),))
        pose = clip.at(1.5)
        assert pose.translations is None
        np.testing.assert_allclose(pose.local_positions[0], [4.5, 5.5, 6.5], atol=1e-12)

    def test_times_are_all_keys(self, skeleton):
        tracks = (
            poise.Channel(1, "rotation", "LINEAR", self.times, unit_quaternions(rng_of(4), 3)),
            poise.Channel(2, "translation", "LINEAR", np.array([0.0, 3.0]), np.zeros((2, 3))),
        )
        clip = poise.KeyedClip(skeleton, tracks, "x")
        assert clip.times.tolist() == [0, 0.5, 1, 2, 3]
        assert clip.poses.shape == (5,)
        assert clip.duration == 3.0
        assert len(poise.KeyedClip(skeleton, ())) == 0


class TestRate:
    """Rates of clips whose times a file has rounded to 32 bits."""

    @pytest.mark.parametrize(
        "rate", [12, 24, 50, 30, 60, 120, 200, 1000, 24 / 1.001, 30 / 1.001, 60 / 1.001, 120 / 1.001]
    )
    @pytest.mark.parametrize("begins", [0.0, 0.75, 40.0])
    @pytest.mark.parametrize("every", [1, 2])
    def test_times_of_32_bits_give_the_true_rate(self, rate, begins, every):
        times = (begins + np.arange(0, 2000, every) / rate).astype(np.float32).astype(np.float64)
        assert clip_at(times).fps == rate / every

    @pytest.mark.parametrize("rate", [59.94, 23.976, 12.5, 120.5, 29.97])
    @pytest.mark.parametrize("frames", [2000, 72000])
    def test_rates_of_three_decimals(self, rate, frames):
        clip = clip_at((np.arange(frames) / rate).astype(np.float32))
        assert clip.fps == pytest.approx(rate, rel=1e-5 if frames < 72000 else 1e-12)

    @pytest.mark.parametrize("step", [0.0083333, 0.033333, 0.01666667, 1 / 87.12345])
    @pytest.mark.parametrize("frames", [3000, 72000])
    def test_a_steady_step_of_any_length(self, step, frames):
        """BVH says 0.0083333 s for 120 frames a second, which its times of 32 bits in a GLB show late in a clip."""
        clip = clip_at((step * np.arange(frames)).astype(np.float32))
        assert clip.fps == pytest.approx(1.0 / step, rel=1e-6 if frames < 72000 else 1e-7)

    @pytest.mark.parametrize("rate", [29.9, 29.5, 120.0005, 30.0001, 1 / 3, 0.4])
    def test_another_rate_stays(self, rate):
        clip = clip_at(np.arange(3000) / rate)
        assert clip.fps == pytest.approx(rate, rel=1e-9)
        assert clip.fps not in (30, 120, 30 / 1.001)

    def test_keys_that_are_left_out_are_no_other_rate(self):
        times = np.delete(np.arange(500), [3, 4, 90, 91, 92]) / 30
        assert clip_at(times.astype(np.float32)).fps == 30

    def test_where_rounding_is_coarser_than_frames_nothing_is_made_up(self):
        times = (1e6 + np.arange(50) / 8.3).astype(np.float32)
        assert clip_at(times).fps == 1.0 / np.median(np.diff(times.astype(float))[np.diff(times) > 0])

    def test_of_two_rates_that_would_do_the_nearer_counts(self):
        assert clip_at(1000 + np.arange(5) / 59.94).fps == pytest.approx(59.94, rel=1e-5)

    def test_uneven_times_keep_the_median(self):
        assert clip_at([0, 0.1, 0.21, 0.3, 0.47]).fps == pytest.approx(
            1 / np.median(np.diff([0, 0.1, 0.21, 0.3, 0.47]))
        )


def clip_at(times):
    """A clip of one joint at given times."""
    s = poise.Skeleton.build(["a"], [-1], [poise.Kind.BALL])
    return poise.Clip(np.asarray(times, dtype=np.float64), poise.Pose(s, np.tile([1.0, 0, 0, 0], (len(times), 1))))
