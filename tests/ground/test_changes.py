"""What has changed between two clips, with answers worked out by hand, and the filter against SciPy's."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise.ground.figure.figure import Figure, figure_of
from poise.ground.report import edit_measures as changes
from poise.ground.report.edit_measures import accelerations, changes_of, low_passed
from poise.io import samples
from poise.maths import rotations


@pytest.fixture(scope="module")
def walk() -> poise.Clip:
    clip = poise.load(samples.path("humanoid.bvh")).clips[0]
    return poise.Clip(clip.times, clip.poses, clip.name)


@pytest.fixture(scope="module")
def figure(walk) -> Figure:
    return Figure(walk.skeleton, (), "y", 1.0, walk.skeleton.names[0], walk.skeleton.names[0])


def swinging(fps: float, hertz: float, seconds: float = 4.0) -> tuple[np.ndarray, np.ndarray]:
    times = np.arange(round(seconds * fps) + 1) / fps
    return times, 0.01 * np.sin(2 * np.pi * hertz * times)[:, None, None] * [1.0, 0, 0]


@pytest.mark.parametrize("fps", [24, 30, 120, 1000])
class TestAccelerations:
    def test_a_constant_one(self, fps):
        times = np.arange(2 * fps + 1) / fps
        most, jerk = accelerations(times, 1.5 * times[:, None, None] ** 2 * [0.6, 0, 0.8])
        np.testing.assert_allclose(most, 3, rtol=0.025)
        assert jerk[0] < 3  # the filter's own, of an acceleration that starts with the clip

    def test_none_at_constant_speed(self, fps):
        times = np.arange(fps + 1) / fps
        most, jerk = accelerations(times, times[:, None, None] * [5.0, 6, 7])
        np.testing.assert_allclose([*most, *jerk], 0, atol=1e-4)

    def test_a_swing_of_two_hertz_passes(self, fps):
        times, places = swinging(fps, 2.0)
        most, jerk = accelerations(times, places)
        np.testing.assert_allclose(most, 0.01 * (4 * np.pi) ** 2, rtol=0.04)
        np.testing.assert_allclose(jerk, 0.01 * (4 * np.pi) ** 3, rtol=0.08)


def test_a_swing_at_the_cutoff_is_halved():
    _, places = swinging(960, 12.0)
    middle = slice(960, 2880)
    np.testing.assert_allclose(low_passed(places, 1 / 960)[middle], 0.5 * places[middle], atol=1e-6)


def test_the_filter_is_a_butterworth_run_both_ways():
    from scipy import signal  # takes seconds: not by every worker

    values = np.random.default_rng(5).normal(size=(4000, 2)).cumsum(axis=0)
    there_and_back = signal.filtfilt(*signal.butter(2, 12.0, fs=2000.0), values, axis=0, padlen=1000)
    ours = low_passed(values, 1 / 2000.0)
    np.testing.assert_allclose(ours[200:-200], there_and_back[200:-200], atol=1e-4 * np.ptp(values))


def test_the_filter_keeps_ends_and_lines_and_short_clips():
    line = np.linspace(3, 8, 40)[:, None] * [1.0, -2]
    np.testing.assert_allclose(low_passed(line, 0.01), line, atol=1e-12)
    noise = np.random.default_rng(6).normal(size=(31, 3))
    np.testing.assert_allclose(low_passed(noise, 0.01)[[0, -1]], noise[[0, -1]], atol=1e-12)
    assert low_passed(noise[:2], 0.01) is not None
    np.testing.assert_array_equal(low_passed(noise[:2], 0.01), noise[:2])


@pytest.mark.parametrize("frames", [1, 2, 3, 4])
def test_clips_that_are_too_short_have_no_acceleration(frames):
    most, jerk = accelerations(np.arange(frames) / 30, np.random.default_rng(7).normal(size=(frames, 2, 3)))
    assert most.tolist() == jerk.tolist() == [0, 0]


def test_a_cut_is_no_acceleration():
    times = np.concatenate([np.arange(60) / 60, 59 / 60 + np.arange(60) / 60])  # twice the same time
    places = np.where(np.arange(120) < 60, 0.0, 3.0)[:, None, None] * [1.0, 0, 0]
    np.testing.assert_allclose(accelerations(times, places), 0, atol=1e-9)


def test_a_reference_pose_before_the_first_frame_is_no_acceleration():
    times, places = np.arange(60) / 60, np.zeros((60, 1, 3))
    places[0] = 1.0
    assert accelerations(times, places)[0] > 1
    np.testing.assert_allclose(accelerations(times, places, [1]), 0, atol=1e-9)


def test_uneven_times_are_sampled_evenly():
    times, _ = swinging(240, 2.0)
    keep = np.sort(np.random.default_rng(8).permutation(len(times))[: len(times) * 3 // 4])
    wave = 0.01 * np.sin(4 * np.pi * times[keep])[:, None, None] * [1.0, 0, 0]
    np.testing.assert_allclose(accelerations(times[keep], wave)[0], 0.01 * (4 * np.pi) ** 2, rtol=0.1)


class TestChanges:
    def test_none_against_itself(self, walk, figure):
        same = changes_of(walk, walk, figure)
        assert (same.sideways, same.vertical, same.stretch, same.largest_move, same.largest_turn) == (0, 0, 0, 0, 0)
        moving = same.accelerations[0] > 0.5
        assert moving.sum() > 10
        np.testing.assert_array_equal(same.acceleration_ratios[moving], 1)

    def test_a_rigid_move(self, walk, figure):
        moved = self._moved(walk, np.array([0.03, 0.2, -0.04]))
        found = changes_of(walk, moved, figure)
        assert found.sideways == pytest.approx(50)
        assert [found.vertical, found.pelvis, found.pelvis_median] == pytest.approx([200, 200, 200])  # y is up
        assert found.largest_move == pytest.approx(1000 * np.sqrt(0.05**2 + 0.2**2))
        assert found.stretch == 0
        np.testing.assert_allclose(found.accelerations[0], found.accelerations[1], atol=1e-6)

    def test_lengths_are_metres_of_the_figure(self, walk, figure):
        tall = dataclasses.replace(figure, metre=2.0)
        assert changes_of(walk, self._moved(walk, np.array([0, 0.2, 0])), tall).vertical == pytest.approx(100)

    def test_a_stretched_bone_and_a_turned_one(self, walk, figure):
        skeleton, row = walk.skeleton, walk.skeleton.index("LeftLeg")
        translations = walk.poses.local_positions.copy()
        translations[7, row] *= 1.02
        stretched = poise.Clip(walk.times, dataclasses.replace(walk.poses, translations=translations))
        assert changes_of(walk, stretched, figure).stretch == pytest.approx(0.02)
        q = walk.poses.q.copy()
        part = skeleton.q_slice("Head")
        q[3, part] = rotations.multiply(q[3, part], rotations.about(np.array([1.0, 0, 0]), np.radians(4)))
        turned = changes_of(walk, poise.Clip(walk.times, walk.poses.with_q(q)), figure)
        assert turned.largest_turn == pytest.approx(4)
        assert turned.sideways == 0

    def test_a_foot_that_hangs_elsewhere_has_no_bone(self, data):
        with pytest.warns(poise.PoiseWarning, match="renamed"):
            rig = poise.load(data / "glb" / "robot_quaternius.glb")
        clip = rig.clip("Robot_Walking")
        figure = figure_of(clip, rig=rig)
        for joint, expected in ((figure.legs[0].foot, 0.0), (figure.legs[0].lower, 0.5)):
            translations = clip.poses.local_positions.copy()
            translations[:, rig.skeleton.index(joint)] *= 1.5
            longer = poise.Clip(clip.times, dataclasses.replace(clip.poses, translations=translations))
            assert changes_of(clip, longer, figure).stretch == pytest.approx(expected)

    def test_a_body_that_leans_has_no_longer_bones(self, data):
        rig = poise.load(data / "glb" / "fox.glb")
        figure = figure_of(rig.clip("Walk"), rig=rig)
        assert figure.trunk != figure.mover  # hips below a root on the ground: no bone, and it slides in the clip
        planted = poise.plant_feet(rig.clip("Walk"), poise.Terrain.slope(10), rig=rig)
        assert planted.report.changes.stretch == 0
        assert planted.report.facts[-1] == "bone lengths unchanged"
        grown = poise.plant_feet(rig.clip("Walk"), poise.Terrain.stairs(0.15, 0.3), rig=rig, stretch=0.02)
        assert 0 < grown.report.changes.stretch <= 0.02 + 1e-12

    def test_the_worst_joint_is_named_and_calm_ones_have_no_ratio(self):
        swing, jerk = np.array([[2.0, 4, 1e-9], [3, 5, 0.4]]), np.array([[100.0, 200, 0], [300, 700, 1]])
        found = changes.Changes(("hips", "toes", "prop"), swing, jerk, *[0.0] * 7)
        assert found.worst_acceleration == ("hips", 1.5)
        assert found.worst_jerk[0] == "toes"
        assert found.acceleration_ratios[2] == found.jerk_ratios[2] == 1

    def test_other_times_are_refused(self, walk, figure):
        with pytest.raises(poise.errors.InputError, match="the same times"):
            changes_of(walk, walk.resample(50), figure)

    def _moved(self, walk: poise.Clip, offset) -> poise.Clip:
        translations = walk.poses.local_positions.copy()
        root = walk.skeleton.names[0]
        q = walk.poses.q.copy()
        if walk.skeleton[root].kind == poise.Kind.FREE:
            q[:, :3] += offset
        translations[:, 0] += offset
        return poise.Clip(walk.times, dataclasses.replace(walk.poses, q=q, translations=translations))
