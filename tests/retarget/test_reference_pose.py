"""The reference pose of poise.retarget() where a rest pose lies, or is a frame of some other motion."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.maths import rotations
from tests.retarget.characters import LIMBS, find_directions, measure_angles

# degrees about x of joints of the sample figure, which faces +z: a deep bow in mid-stride
BOW = {"Hips": 40.0, "Spine": 15.0, "Chest": 15.0, "LeftUpLeg": -75.0, "LeftLeg": 40.0, "RightLeg": 60.0}


def build_with_rest(clip, degrees):
    """The same motion over a rest pose with these rotations about x in the joints' frames."""
    skeleton = clip.skeleton
    transforms, q = np.array(skeleton.A), clip.poses.q.copy()
    local = np.array(clip.poses.local_rotations)
    for name, angle in degrees.items():
        row = skeleton.index(name)
        transforms[row, 3:] = rotations.multiply(
            transforms[row, 3:], rotations.about([1.0, 0.0, 0.0], np.radians(angle))
        )
        start = int(skeleton.q_start[row])
        q[:, start : start + 4] = rotations.multiply(rotations.inverse(transforms[row, 3:]), local[:, row])
    posed = dataclasses.replace(skeleton, A=transforms, source=None)
    return poise.Clip(clip.times, poise.Pose(posed, q, clip.poses.translations), "walk")


def turn_clip(clip, degrees):
    """A clip and its rest pose turned about up."""
    turn = rotations.about([0.0, 1.0, 0.0], np.radians(degrees))
    skeleton, translations = clip.skeleton, clip.poses.translations
    transforms = np.array(skeleton.A)
    transforms[0] = np.concatenate(
        [rotations.rotate(turn, transforms[0, :3]), rotations.multiply(turn, transforms[0, 3:])]
    )
    if translations is not None:
        translations = np.array(translations)
        translations[:, 0] = rotations.rotate(turn, translations[:, 0])
    turned = dataclasses.replace(skeleton, A=transforms, source=None)
    return poise.Clip(clip.times, poise.Pose(turned, clip.poses.q, translations), "walk")


def test_a_clip_over_a_rest_pose_upside_down_has_the_heading_of_files(walk):
    target = poise.load(samples.path("humanoid.bvh"))
    clips = walk, build_with_rest(walk, {"Hips": 180.0})
    expected, done = (poise.retarget(clip, target, ground=False, hands="directions") for clip in clips)
    for role, end in LIMBS:
        ways = [find_directions(clip, target.roles.joints, role, end) for clip in (expected, done)]
        assert measure_angles(*ways).max() < 0.01, role


@pytest.fixture(scope="module")
def walk():
    rig = poise.load(samples.path("humanoid.glb"))
    return rig.clips[0].resample(30.0)


@pytest.mark.parametrize("yaw", [0.0, 90.0, 180.0])
@pytest.mark.parametrize("degrees", [BOW, {"Hips": -90.0}, {"Hips": 90.0}, {"Hips": 35.0}], ids=str)
def test_a_clip_that_stands_over_another_rest_pose_is_the_same_motion(walk, degrees, yaw):
    """Also one whose figure faces another way than files do: its rest pose shows where."""
    walk = turn_clip(walk, yaw)
    other = build_with_rest(walk, degrees)
    assert np.abs(other.poses.world.positions - walk.poses.world.positions).max() < 1e-12
    target = poise.load(samples.path("humanoid.bvh"))
    expected, done = (poise.retarget(clip, target, ground=False, hands="directions") for clip in (walk, other))
    for role, end in LIMBS:
        ways = [find_directions(clip, target.roles.joints, role, end) for clip in (expected, done)]
        assert measure_angles(*ways).max() < 0.01, role
    heights = [clip.poses.world.positions[:, target.skeleton.index("Hips")] for clip in (expected, done)]
    assert np.abs(heights[0] - heights[1]).max() < 0.01 * np.ptp(target.rest.world.positions[:, 1])
