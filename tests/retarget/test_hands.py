"""poise.retarget(): hands near each other keep their distance; nothing else moves."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.maths import rotations
from tests.retarget.characters import build_character, build_rig


def build_clap(skeleton, frames=40):
    """Both arms swing forward until the hands meet, and back."""
    q = np.tile(skeleton.rest_q, (frames, 1))
    share = np.sin(np.linspace(0.0, np.pi, frames))
    for side, sign in (("Left", -1.0), ("Right", 1.0)):
        for name, angle in ((f"{side}Arm", 1.2), (f"{side}ForeArm", 1.4)):
            start = int(skeleton.q_start[skeleton.index(name)])
            q[:, start : start + 4] = rotations.about(np.array([0.0, 1.0, 0.0]), sign * angle * share)
    return poise.Clip.at_rate(poise.Pose(skeleton, q), 30.0, "clap")


def measure_distances(clip, arm_length):
    world = clip.poses.world
    return np.linalg.norm(world["LeftHand"].positions - world["RightHand"].positions, axis=-1) / arm_length


@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_a_clap_stays_a_clap_on_other_arms(factor):
    source = build_character([1.0] * 12)
    target = build_rig(build_character([1.0, 1.0, 1.0, 1.3, factor, factor, *[1.0] * 6]))
    clip = build_clap(source)
    free, done = (poise.retarget(clip, target, hands=hands, ground=False) for hands in ("directions", "touch"))
    lengths = [0.53 + 0.000025, (0.28 + 0.25) * factor]
    wanted = measure_distances(clip, lengths[0])
    near = done.touching > 0.999
    assert near.any()
    assert np.abs(measure_distances(done, lengths[1]) - wanted)[near].max() < 0.01
    assert np.abs(measure_distances(free, lengths[1]) - wanted)[near].max() > 0.05
    assert done.report.hands[1] < 0.01
    assert free.report.hands is None


def test_only_arms_move_and_hands_keep_their_rotation():
    source, target = build_character([1.0] * 12), build_rig(build_character([1.0, 1.0, 1.0, 1.3, *[1.3] * 8]))
    clip = build_clap(source)
    free, done = (poise.retarget(clip, target, hands=hands, ground=False) for hands in ("directions", "touch"))
    first, second = free.poses.world, done.poses.world
    moved = {"Arm", "ForeArm", "Hand", "HandMiddle1"}
    for name in target.skeleton.names:
        same_place = name.removeprefix("Left").removeprefix("Right") not in moved - {"Arm"}
        if same_place:
            assert np.abs(first[name].positions - second[name].positions).max() < 1e-9, name
    between = np.abs((first["LeftHand"].rotations * second["LeftHand"].rotations).sum(axis=-1))
    assert between.min() > 1.0 - 1e-12
    apart = done.touching == 0.0
    assert apart.any()
    assert np.array_equal(free.poses.q[apart], done.poses.q[apart])


@pytest.mark.long
@pytest.mark.parametrize("name", ["mixamo_human_makehuman.glb", "cryptovoxels.vrm", "knight_kaykit.glb"])
def test_hands_of_a_recorded_clip_are_as_near_as_in_it(data, name):
    clip, target = poise.load(data / "bvh/mocapbank.bvh"), poise.load(data / "glb" / name)
    done = poise.retarget(clip, target, ground=False)
    assert done.report.hands[1] < 0.03
    assert done.report.ok


@pytest.mark.parametrize("role", ["leftUpperArm", "rightLowerArm", "leftHand"])
def test_an_arm_with_a_skipped_row_stays_as_it_is(role):
    source, target = build_rig(build_character([1.0] * 12)), build_rig(build_character([*[1.0] * 3, *[1.3] * 9]))
    match = poise.match(source, target).with_joint(role, skip=True)
    done = poise.retarget(build_clap(source.skeleton), target, match=match, ground=False)
    start = int(target.skeleton.q_start[target.skeleton.index(match[role].target)])
    assert np.abs(done.poses.q[:, start : start + 4] - target.skeleton.rest_q[start : start + 4]).max() < 1e-12
    assert not done.touching.any()
    assert "hands are not brought together: the match skips a row of an arm" in done.notes
