"""Figures with a root bone above the hips: free_root=True moves the hips, whatever stands above them."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.model.skeleton import find_free_root
from tests.root_bones import ROOT_BONE, Channels, add_root_bone

CHANNELS: tuple[Channels, ...] = ("each", "root and hips", "hips")
ENDS = ("LeftHand", "RightHand", "LeftFoot", "RightFoot")


@pytest.fixture(scope="module", params=CHANNELS)
def rig(request, tmp_path_factory):
    return load(tmp_path_factory.mktemp("rigs"), request.param)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    path = tmp_path_factory.mktemp("rigs") / "figure.bvh"  # without the limits beside the sample
    path.write_text(samples.path("humanoid.bvh").read_text())
    return poise.load(path)


def load(folder, channels):
    path = folder / "figure.bvh"
    path.write_text(add_root_bone(samples.path("humanoid.bvh").read_text(), channels, frames=40))
    return poise.load(path)


def six(poses, root):
    """The place of the hips, and where head, hands and feet are."""
    world = poses.world
    hips = world["Hips"]
    return [
        poise.Place("Hips", hips.positions, hips.rotations),
        *[poise.Position(end, world[end].positions, root=root) for end in ("Head", *ENDS)],
    ]


def test_the_hips_are_the_free_root(rig, plain):
    for each in (rig, plain):
        skeleton = each.skeleton
        hips = skeleton.index("Hips")
        assert find_free_root(skeleton) == hips
        assert find_free_root(skeleton, skeleton.index("LeftHand")) == hips
    first = rig.skeleton.index(ROOT_BONE)
    assert find_free_root(rig.skeleton, first) == (first if rig.skeleton.kinds[first] == poise.Kind.FREE else None)


@pytest.mark.parametrize("way", [(1, 0, 0), (0, 0, 1), (3, 0, 0), (0, 0, 3)], ids=str)
@pytest.mark.parametrize("natural", [None, False])
def test_hips_go_anywhere_and_the_root_bone_stays(rig, way, natural):
    hips = rig.rest.world["Hips"].positions
    metre = hips[1]  # about
    result = poise.solve(
        rig.rest, poise.Position("Hips", hips + metre * np.array(way)), free_root=True, natural=natural
    )
    assert result.reached
    np.testing.assert_array_equal(
        result.q[rig.skeleton.q_slice(ROOT_BONE)], rig.rest.q[rig.skeleton.q_slice(ROOT_BONE)]
    )


@pytest.mark.parametrize("root", [None, "Hips"])
def test_poses_are_those_of_the_figure_without_a_root_bone(rig, plain, root):
    """Six things that are asked for are found as they are without the bone, and no bone gets longer."""
    clip = plain.clips[0]
    goals = six(clip.poses[:: len(clip) // 12], root)
    ours = poise.solve(rig.rest, goals, free_root=True)
    other = poise.solve(plain.rest, goals, free_root=True)
    assert ours.reached.all()
    there, here = ours.pose.world, other.pose.world
    size = np.ptp(plain.rest.world.positions, axis=0).max()
    for joint in plain.skeleton.names:
        assert np.abs(there[joint].positions - here[joint].positions).max() < 1e-3 * size, joint


def test_limbs_turn_without_a_free_root(rig, plain):
    """Position channels of an arm's joints are its bones: they keep their lengths."""
    hand = plain.clips[0].poses[5].world["LeftHand"].positions - plain.clips[0].poses[5].world["LeftArm"].positions
    goal = poise.Position("LeftHand", plain.rest.world["LeftArm"].positions + hand)
    ours, other = (poise.solve(each.rest, goal) for each in (rig, plain))
    assert ours.reached
    assert other.reached
    np.testing.assert_allclose(ours.pose.world["LeftForeArm"].positions, other.pose.world["LeftForeArm"].positions)


def test_near_alone_and_relative_goals_move_all_joints_of_a_body(rig, plain):
    pose = plain.clips[0].poses[5]
    near = poise.solve(rig.rest, poise.Near(rig.clips[0].poses[5]))
    arm = rig.skeleton.q_slice("LeftArm")
    np.testing.assert_allclose(near.q[arm][-4:], rig.clips[0].poses[5].q[arm][-4:], atol=1e-3)
    hand = pose.world["LeftHand"].positions - pose.world["Head"].positions
    goal = poise.Position("LeftHand", hand, relative_to="Head")
    assert bool(poise.solve(rig.rest, goal).reached) == bool(poise.solve(plain.rest, goal).reached)


def test_a_goal_of_the_root_bone_moves_that(rig):
    if rig.skeleton[ROOT_BONE].kind is not poise.Kind.FREE:
        pytest.skip("its root bone cannot move")
    result = poise.solve(rig.rest, poise.Position(ROOT_BONE, (5.0, 0.0, 5.0)), free_root=True)
    assert result.reached


def test_the_message_names_the_hips(rig):
    hand = rig.rest.world["LeftHand"].positions
    message = poise.solve(rig.rest, poise.Position("LeftHand", 100 * hand)).message()
    assert "'Hips' is a free joint" in message


def test_another_solver_starts_again_without_longer_bones(rig):
    goal = poise.Position("LeftHand", rig.rest.world["LeftHand"].positions + np.array([0.0, 1.0, 0.0]), root="Hips")
    result = poise.solve(rig.rest, goal, solver=poise.Anneal(seed=1), free_root=True)
    for joint in ("LeftArm", "LeftForeArm", "LeftHand"):
        part = rig.skeleton.q_slice(joint)
        np.testing.assert_array_equal(result.q[part][:-4], rig.rest.q[part][:-4])
