"""poise.retarget(): limbs of the target point as those of the source, whatever the proportions and the rest poses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from poise.io import samples
from poise.model import rig_roles
from poise.retargeting import measured_characters
from poise.retargeting.bend_axes import sample_worlds
from tests.retarget.characters import (
    LIMBS,
    build_character,
    build_clip,
    build_rig,
    find_directions,
    measure_angles,
    measure_turns,
)

factors = st.lists(st.floats(0.6, 1.6), min_size=12, max_size=12)
shapes = st.fixed_dictionaries(
    {
        "spine": st.integers(1, 7), "has_neck": st.booleans(), "has_toes": st.booleans(), "has_twist": st.booleans(),
        "leaves": st.integers(0, 4),
    }
)  # fmt: skip


def check_directions(done, source_joints, target_joints, bound=1e-5):
    for role, end in LIMBS:
        wanted = find_directions(done.source, source_joints, role, end)
        assert measure_angles(wanted, find_directions(done, target_joints, role, end)).max() < bound, role


@pytest.mark.long
@settings(max_examples=25)
@given(factors, shapes, factors, shapes, st.integers(0, 1000))
def test_any_proportions(lengths, shape, target_lengths, target_shape, seed):
    source, target = build_character(lengths, **shape), build_rig(build_character(target_lengths, **target_shape))
    clip = build_clip(source, seed)
    done = poise.retarget(clip, target, ground=False, hands="directions", first="keep")
    check_directions(done, poise.find_roles(source).joints, target.roles.joints)


def test_roles_that_were_swapped_by_hand_swap_the_arms():
    skeleton = build_character([1.0] * 12)
    sides = {"left": "Right", "right": "Left"}
    parts = {"UpperArm": "Arm", "LowerArm": "ForeArm", "Hand": "Hand", "UpperLeg": "UpLeg", "LowerLeg": "Leg",
             "Foot": "Foot", "Toes": "ToeBase", "Shoulder": "Shoulder"}  # fmt: skip
    swapped = {f"{side}{part}": f"{word}{name}" for side, word in sides.items() for part, name in parts.items()}
    target = build_rig(skeleton, humanoid=swapped)
    done = poise.retarget(build_clip(skeleton, 1), target, ground=False, hands="directions", first="keep")
    assert done.match["leftUpperArm"].target == "RightArm"
    check_directions_across(done, poise.find_roles(skeleton).joints, target.roles.joints)


def check_directions_across(done, source_joints, target_joints):
    """The target faces back: its own left is the file's right."""
    turned = np.array([-1.0, 1.0, -1.0])
    for role, end in LIMBS:
        wanted = turned * find_directions(done.source, source_joints, role, end)
        assert measure_angles(wanted, find_directions(done, target_joints, role, end)).max() < 1e-5


@pytest.mark.long
@pytest.mark.parametrize("name", ["A", "hang", "up"])
@pytest.mark.parametrize("target", ["mixamo_human_makehuman.glb", "cryptovoxels.vrm", "knight_kaykit.glb"])
def test_other_rest_poses_give_the_same_motion(data, name, target):
    rig = poise.load(data / "glb" / target)
    results = [
        poise.retarget(
            poise.load(data / f"bvh/rest/walk_{rest}.bvh"), rig, ground=False, hands="directions", first="keep"
        )
        for rest in ("T", name)
    ]
    positions = [result.poses.world.positions for result in results]
    height = np.ptp(positions[0][0], axis=0).max()
    assert np.abs(positions[0] - positions[1]).max() < 1e-6 * height


# Nothing in the file with bones along a line tells how the spine is bent when upright: here it leans by 15 degrees.
@pytest.mark.parametrize(
    ("name", "limb_bound", "trunk_bound", "spine_bound"), [("rolled", 1e-4, 0.5, 0.5), ("line", 0.5, 4.0, 16.0)]
)
def test_rests_that_show_no_roll_or_no_body(data, name, limb_bound, trunk_bound, spine_bound):
    rig = poise.load(data / "glb/cryptovoxels.vrm")
    first, second = (
        poise.retarget(
            poise.load(data / f"bvh/rest/walk_{rest}.bvh"), rig, ground=False, hands="directions", first="keep"
        )
        for rest in ("T", name)
    )
    turns = measure_turns(first.poses.world.rotations, second.poses.world.rotations).max(axis=0)
    by_role = {row.role: turns[rig.skeleton.index(row.target)] for row in first.match.joints if row.target}
    assert max(by_role[role] for role, _ in LIMBS) < limb_bound
    assert max(by_role[role] for role in ("hips", "chest")) < trunk_bound
    assert by_role["spine"] < spine_bound
    assert max(by_role[f"{side}{part}"] for side in ("left", "right") for part in ("Foot", "Toes")) < 2.0


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("up", ["y", "z"])
def test_units_and_up_axes_do_not_matter(tmp_path, scale, up):
    walk, target = samples.path("humanoid.bvh"), poise.load(samples.path("humanoid.glb"))
    path = tmp_path / "walk.bvh"
    poise.convert(walk, path, scale=scale, up=up)
    expected, done = (poise.retarget(poise.load(file), target) for file in (walk, path))
    height = np.ptp(expected.poses.world.positions[0], axis=0).max()
    assert np.abs(expected.poses.world.positions - done.poses.world.positions).max() < 1e-5 * height


def test_a_mirrored_clip_mirrors():
    skeleton = build_character([1.0, 1.2, 0.9, 1.1, 0.8, 1.0, 1.0, 1.3, 0.9, 1.1, 1.0, 1.0])
    target = build_rig(build_character([1.0] * 12, spine=2))
    clip = build_clip(skeleton, 3)
    partners = [skeleton.names.index(swap_side(name)) for name in skeleton.names]
    q = clip.poses.q.reshape(len(clip), len(skeleton), 4)[:, partners] * [1.0, 1.0, -1.0, -1.0]
    translations = clip.poses.translations[:, partners] * [-1.0, 1.0, 1.0]
    mirrored = poise.Clip(clip.times, poise.Pose(skeleton, q.reshape(len(clip), -1), translations), "mirrored")
    done, other = (
        poise.retarget(one, target, ground=False, hands="directions", first="keep") for one in (clip, mirrored)
    )
    across = [target.skeleton.names.index(swap_side(name)) for name in target.skeleton.names]
    expected = done.poses.world.positions[:, across] * [-1.0, 1.0, 1.0]
    assert np.abs(other.poses.world.positions - expected).max() < 1e-6


def swap_side(name):
    if name.startswith("Left"):
        return "Right" + name[4:]
    return "Left" + name[5:] if name.startswith("Right") else name


def test_a_target_is_searched_and_measured_once_for_all_clips(monkeypatch):
    skeleton, target = build_character([1.0] * 12), build_rig(build_character([0.8] * 12))
    seen = []  # joints of what was searched or measured

    def watch(module, name, skeleton_of):
        call = getattr(module, name)

        def watched(*args, **words):
            seen.append(skeleton_of(args[0]))
            return call(*args, **words)

        monkeypatch.setattr(module, name, watched)

    watch(measured_characters, "measure_body", lambda skeleton: skeleton)
    watch(rig_roles, "search_tree", lambda tree: tree.skeleton)
    clips = [build_clip(skeleton, seed) for seed in (1, 2)]
    first, again, other = (poise.retarget(clip, target) for clip in (clips[0], *clips))
    assert sum(each is target.skeleton for each in seen) == 2
    np.testing.assert_array_equal(again.poses.q, first.poses.q)
    assert not np.array_equal(other.poses.q, first.poses.q)


def test_of_many_clips_some_are_sampled():
    rig = poise.load(samples.path("humanoid.glb"))
    clips = [rig.clips[0].resample(480)] * 70
    worlds = sample_worlds(clips, [0])
    assert 10 <= len(worlds) <= 16
    assert 500 <= sum(len(world.positions) for world in worlds) <= 1016  # a frame of each may be over
    assert len(sample_worlds(clips[:3], [0])) == 3
    assert sample_worlds([], [0]) == []
    empty = poise.Clip(np.zeros(0), clips[0].poses[:0])
    assert len(sample_worlds([empty, clips[0]] * 9, [0])) == 9
