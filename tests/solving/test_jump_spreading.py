"""Baked natural poses: calm clips keep them, and jumps between them are spread over time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise.io import samples
from poise.maths import rotations

RIG = poise.load(samples.path("humanoid.glb"))
SIDES = ("Left", "Right")


def still(pose, frames, fps):
    return poise.Clip.at_rate(poise.Pose(pose.skeleton, np.tile(pose.q, (frames, 1))), fps, "still")


def ease(frames, waiting=0):
    t = np.linspace(0.0, 1.0, frames - waiting)
    return np.concatenate([np.zeros(waiting), t * t * (3 - 2 * t)])[:, None]


def changes(poses, joint):
    """How much a joint's step changes from frame to frame [m]."""
    return np.linalg.norm(np.diff(poses.world[joint].positions, 2, axis=0), axis=-1)


def standing(turn):
    """Feet held, knees hardly bent, the right knee turned outward about the line from hip to foot."""
    rest = RIG.rest
    low = rest.world["Hips"].positions - [0, 0.001, 0]
    feet = [poise.Pin(f"{side}Foot") for side in SIDES]
    pose = poise.solve(rest, [*feet, poise.Position("Hips", low)], free_root=True).pose
    world = pose.world
    hip, knee, foot = (world[joint].positions for joint in ("RightUpLeg", "RightLeg", "RightFoot"))
    way = (foot - hip) / np.linalg.norm(foot - hip)
    pole = hip + rotations.rotate(rotations.about(way, np.array(turn)), knee - hip) * 4.0
    goals = [
        poise.Place("RightFoot", foot, world["RightFoot"].rotations, root="RightUpLeg"),
        poise.Pole("RightLeg", pole),
    ]
    return poise.solve(pose, goals).pose


@given(
    st.tuples(st.floats(0.1, 0.28), st.floats(0.1, 0.28), st.floats(0.0, 0.1)), st.sampled_from([30.0, 60.0, 120.0]),
    st.floats(2.0, 6.0),
)  # fmt: skip
def test_calm_clips_keep_natural_poses(size, fps, seconds):
    """A hand draws a figure ahead of the chest, at any rate: each frame keeps what it has alone."""
    rest, frames = RIG.rest, round(seconds * fps)
    shoulder = rest.world["LeftArm"].positions
    length = np.linalg.norm(rest.world["LeftHand"].positions - shoulder)
    t = np.linspace(0.0, 2 * np.pi, frames)
    a, b, c = size
    path = shoulder + length * np.c_[a * np.cos(t), b * np.sin(t) - 0.19, 0.56 + c * np.sin(2 * t)]
    baked, alone = (
        poise.bake(still(rest, frames, fps), poise.Position("LeftHand", path), continuous=each)
        for each in (True, False)
    )
    np.testing.assert_array_equal(baked.poses.q, alone.poses.q)


@pytest.mark.parametrize("fps", [30, 60])
@pytest.mark.parametrize("turn", [1.0, -0.4])
def test_a_figure_sits_down_from_a_pose_of_its_own(turn, fps):
    """The knee does not jump to where bodies have it. It goes there within a second, and stays natural then."""
    start, frames, waiting = standing(turn), 3 * fps, fps // 3
    hips = start.world["Hips"].positions - ease(frames, waiting) * np.array([0.0, 0.35, 0.15])
    goals = [*(poise.Pin(f"{side}Foot") for side in SIDES), poise.Position("Hips", hips)]
    clip = still(start, frames, fps)
    baked, alone = (poise.bake(clip, goals, free_root=True, continuous=each) for each in (True, False))
    assert baked.result.reached.all()
    straightening = changes(alone.poses, "LeftLeg").max()  # of a knee that does not jump
    assert changes(alone.poses, "RightLeg").max() > 3.0 * straightening
    for side in SIDES:
        assert changes(baked.poses, f"{side}Leg").max() < 1.1 * straightening
    after = slice(waiting + fps + 3, None)
    np.testing.assert_array_equal(baked.poses.q[after], alone.poses.q[after])
    np.testing.assert_array_equal(baked.poses.q[:waiting], clip.poses.q[:waiting])


def test_a_jump_of_the_target_stays():
    """What the goals say is done at once: the hand is there in the next frame, and nothing else has changed."""
    rest, frames = RIG.rest, 40
    at = rest.world["LeftArm"].positions + np.array([0.1, -0.1, 0.3])
    path = np.where(np.arange(frames)[:, None] < 20, at, at + np.array([0.0, 0.15, -0.1]))
    clip = still(rest, frames, 30.0)
    baked, alone = (poise.bake(clip, poise.Position("LeftHand", path), continuous=each) for each in (True, False))
    assert baked.result.reached.all()
    np.testing.assert_array_equal(baked.poses.q, alone.poses.q)


@pytest.mark.parametrize("frame", [0, 9, 18])
def test_strides_of_natural_knees_stay_bit_for_bit(frame):
    walk = poise.load(samples.path("humanoid.bvh")).clips[0]
    start, frames = walk.poses[frame], 60
    hips = start.world["Hips"].positions - ease(frames, 10) * np.array([0.0, 0.35, 0.15])
    goals = [*(poise.Pin(f"{side}Foot") for side in SIDES), poise.Position("Hips", hips)]
    baked, alone = (
        poise.bake(still(start, frames, 30), goals, free_root=True, continuous=each) for each in (True, False)
    )
    np.testing.assert_array_equal(baked.poses.q, alone.poses.q)
