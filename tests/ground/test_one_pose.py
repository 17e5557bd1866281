"""Single poses and batches of them on the ground: they stand, each by itself, and bad input is told."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Clip, InputError, Pose, Terrain, plant_pose
from poise.ground.figure.figure import figure_of
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, finer_times, motion_of
from poise.ground.grounder import Grounder
from poise.ground.report.measures import paths_of
from poise.io import samples

GROUNDS = {
    "flat": Terrain.flat(0.4),
    "slope": Terrain.slope(20.0),
    "across": Terrain.slope(20.0, direction=(1.0, 0.0, 0.0)),
    "stairs": Terrain.stairs(0.15, 0.30),
    "noise": Terrain.noise(0.05),
}


@pytest.fixture(scope="module")
def rig():
    return poise.load(samples.path("humanoid.bvh"))


def heights(pose, reference, terrain):
    """(L, 3) heights of heel, ball and tip over the ground [m]."""
    live = Grounder(reference, terrain)
    motion = motion_of(Clip(np.zeros(1), Pose(pose.skeleton, pose.q[None])), live.figure)
    return paths_of(motion, live.gait.soles, Footing(terrain, live.figure)).heights[0]


def crowd(rig, count=6):
    """The standing figure at places 0.37 m apart."""
    q = np.tile(rig.rest.q, (count, 1))
    q[:, 0] += 0.37 * np.arange(count) * figure_of(rig.rest).metre
    q[:, 2] += 0.53 * np.arange(count) * figure_of(rig.rest).metre
    return Pose(rig.skeleton, q)


@pytest.mark.parametrize("name", ["flat", "slope", "across", "noise"])
def test_a_standing_pose_stands_on_the_ground(rig, name):
    planted = plant_pose(rig.rest, GROUNDS[name], rig=rig)
    over = heights(planted, rig.rest, GROUNDS[name])[:, :2]
    assert np.abs(over).max() < 0.003
    assert planted.shape == ()


def test_it_stands_although_it_was_off_the_ground_before(rig):
    assert np.abs(heights(rig.rest, rig.rest, GROUNDS["flat"])[:, :2]).max() > 0.3


def test_knees_bend_and_bones_keep_their_length(rig):
    before, after = (
        motion_of(Clip(np.zeros(1), Pose(rig.skeleton, pose.q[None])), figure_of(rig.rest)).places[0]
        for pose in (rig.rest, plant_pose(rig.rest, GROUNDS["across"], rig=rig))
    )
    lengths = [np.linalg.norm(np.diff(places[:, : ANKLE + 1], axis=1), axis=2) for places in (before, after)]
    np.testing.assert_allclose(lengths[1], lengths[0], atol=1e-9)
    assert abs(after[0, ANKLE, 2] - after[1, ANKLE, 2]) > 0.02  # one foot stands higher than the other


@pytest.mark.parametrize("name", list(GROUNDS))
def test_a_batch_is_each_alone(rig, name):
    poses = crowd(rig)
    together = plant_pose(poses, GROUNDS[name], rig=rig)
    alone = [plant_pose(poses[i], GROUNDS[name], rig=rig).q for i in range(len(poses.q))]
    np.testing.assert_array_equal(together.q, np.array(alone))


def test_a_batch_keeps_its_axes_and_is_not_written_to(rig):
    poses = Pose(rig.skeleton, crowd(rig).q.reshape(2, 3, -1))
    before = poses.q.copy()
    assert plant_pose(poses, GROUNDS["noise"], rig=rig).shape == (2, 3)
    np.testing.assert_array_equal(poses.q, before)


def test_a_single_standing_pose_is_its_own_reference(rig):
    np.testing.assert_array_equal(
        plant_pose(rig.rest, GROUNDS["slope"]).q, plant_pose(rig.rest, GROUNDS["slope"], reference=rig.rest).q
    )


def test_feet_in_the_air_stay_as_high_over_the_ground(rig):
    lifted = plant_pose(rig.rest, GROUNDS["flat"], rig=rig, contacts=[[False, False]] * 2)
    raised = rig.rest.with_q(rig.rest.q + np.eye(len(rig.rest.q))[1] * 0.3 * figure_of(rig.rest).metre)
    high = plant_pose(raised, GROUNDS["flat"], rig=rig)
    over = [heights(pose, rig.rest, GROUNDS["flat"])[:, :2].min() for pose in (lifted, high)]
    assert abs(over[0]) < 0.02
    assert abs(over[1] - 0.3) < 0.02


def test_bad_input_is_reported(rig):
    clip = Clip(np.zeros(1), Pose(rig.skeleton, rig.rest.q[None]))
    with pytest.raises(InputError, match=r"plant_pose\(\) takes a Pose"):
        plant_pose(clip, GROUNDS["flat"], rig=rig)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="give rig= or reference="):
        plant_pose(crowd(rig), GROUNDS["flat"])
    with pytest.raises(InputError, match="two truth values"):
        plant_pose(rig.rest, GROUNDS["flat"], rig=rig, contacts=[[True, True]] * 3)


def test_a_single_time_is_as_fine_as_it_gets():
    assert finer_times(np.array([0.5]), 3).tolist() == [0.5]
    assert finer_times(np.array([0.0, 1.0]), 2).tolist() == [0.0, 0.5, 1.0]
