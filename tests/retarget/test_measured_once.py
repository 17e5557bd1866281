"""What poise.retarget() measures once: clips, their sources, targets."""

from __future__ import annotations

import dataclasses
import gc
import weakref

import numpy as np
import pytest

import poise
from poise.model.roles import role_search
from poise.retargeting import measured_characters, robot
from poise.retargeting.added_joints import extend_clip
from poise.retargeting.measured_characters import measure_source
from tests.retarget.characters import build_character, build_clip, build_rig


@pytest.fixture
def walk():
    return poise.load(poise.sample("humanoid.bvh"))


@pytest.fixture
def target():
    return poise.load(poise.sample("humanoid.glb"))


def count_calls(monkeypatch, module, name):
    """Watch a function. Returns a list that grows with each call."""
    call, calls = getattr(module, name), []

    def watched(*args, **words):
        calls.append(name)
        return call(*args, **words)

    monkeypatch.setattr(module, name, watched)
    return calls


def test_a_clip_is_measured_once_for_all_targets(walk, target, monkeypatch):
    calls = count_calls(monkeypatch, measured_characters, "analyse_ground")
    other = poise.load(poise.sample("humanoid.glb"))
    first = poise.retarget(walk, target)
    measured = len(calls)
    again, onto_other = poise.retarget(walk, target, ground=False), poise.retarget(walk, other)
    assert len(calls) - measured <= 1  # of the other target
    np.testing.assert_array_equal(onto_other.poses.q, first.poses.q)
    assert not np.array_equal(again.poses.q, first.poses.q)


def test_a_clip_is_measured_anew_for_another_rig_rate_or_first_frame(walk, target):
    clip = walk.clips[0]
    measured = [
        measure_source(clip, walk, target, None),
        measure_source(clip, walk, target, None, fps=50.0),
        measure_source(clip, walk, target, None, first="keep"),
        measure_source(clip, dataclasses.replace(walk, notes=("another",)), target, None),
        measure_source(clip, walk, target, None),
    ]
    assert len({id(each.body) for each in measured}) == len(measured)
    assert len({len(each.clip) for each in measured}) > 1
    last = measure_source(clip, walk, target, None)
    assert last.body is measured[-1].body


def test_other_roles_of_a_source_count_after_the_first_call(walk, target):
    """A rig that was changed is another one, though its clip is the same."""
    sides = {"left": "right", "right": "left"}
    mirrored = {role: next((sides[side] + role[len(side) :] for side in sides if role.startswith(side)), role)
                for role in walk.roles.joints}  # fmt: skip
    swapped = {mirrored[role]: joint for role, joint in walk.roles.joints.items()}
    crossed = dataclasses.replace(walk, humanoid=swapped, sidecar_roles=frozenset(swapped))
    plain = poise.retarget(walk, target, ground=False, hands="directions")
    changed = poise.retarget(walk.clips[0], target, source=crossed, ground=False, hands="directions")
    fresh_walk = poise.load(poise.sample("humanoid.bvh"))
    fresh_rig = dataclasses.replace(fresh_walk, humanoid=swapped, sidecar_roles=frozenset(swapped))
    fresh = poise.retarget(fresh_walk.clips[0], target, source=fresh_rig, ground=False, hands="directions")
    assert not np.array_equal(changed.poses.q, plain.poses.q)
    np.testing.assert_array_equal(changed.poses.q, fresh.poses.q)


def test_other_joints_of_a_match_count_after_the_first_call(target):
    skeleton = build_character([1.0] * 12)
    source = build_rig(skeleton)
    clip = build_clip(skeleton, 1)
    match = poise.match(source, target)
    plain = poise.retarget(clip, target, source=source, match=match)
    other = match.with_joint("leftHand", source="LeftHandMiddle1")
    changed = poise.retarget(clip, target, source=source, match=other)
    fresh_source = build_rig(build_character([1.0] * 12))
    fresh = poise.retarget(build_clip(fresh_source.skeleton, 1), target, source=fresh_source, match=other)
    assert not np.array_equal(changed.poses.q, plain.poses.q)
    np.testing.assert_array_equal(changed.poses.q, fresh.poses.q)


@pytest.mark.parametrize("name", ["humanoid.glb", "humanoid.bvh"])
def test_what_is_kept_keeps_no_clip_and_no_rig_alive(name):
    walk, target = poise.load(poise.sample("humanoid.bvh")), poise.load(poise.sample(name))
    clip = poise.Clip(walk.clips[0].times[:8], walk.clips[0].poses[:8], "short")
    poise.retarget(clip, target, source=walk)
    poise.retarget(clip, target)
    seen = [weakref.ref(clip), weakref.ref(walk), weakref.ref(target)]
    gc.collect()
    gc.disable()
    try:
        del clip
        assert seen[0]() is None
    finally:
        gc.enable()
    del walk, target
    gc.collect()
    assert [each() for each in seen] == [None] * len(seen)


def test_a_robot_is_measured_once_for_all_clips(data, monkeypatch):
    calls = count_calls(monkeypatch, robot, "build_tree")
    g1 = poise.load(data / "urdf/g1_29dof.urdf")
    clip = build_clip(build_character([1.0] * 12), 3)
    first = poise.retarget(clip, g1)
    again, fast = poise.retarget(clip, g1), poise.retarget(clip, g1, speed=3.0)
    free = poise.retarget(clip, g1, clear=False)
    assert len(calls) == 2  # with capsules and without
    np.testing.assert_array_equal(again.poses.q, first.poses.q)
    fresh = poise.retarget(clip, poise.load(data / "urdf/g1_29dof.urdf"), speed=3.0)
    np.testing.assert_array_equal(fast.poses.q, fresh.poses.q)
    assert free.robot is not None
    assert not len(free.robot.robot.parts)


def test_roles_of_equal_skeletons_are_searched_once(monkeypatch):
    calls = count_calls(monkeypatch, role_search, "_search_tree")
    lengths = [1.0, 1.1, 0.9, 1.0, 1.05, 0.97, 1.0, 1.0, 1.03, 0.99, 1.0, 1.013]
    first = build_rig(build_character(lengths)).roles
    first.joints["leftHand"] = "changed by a caller"
    again = build_rig(build_character(lengths)).roles
    assert len(calls) == 1
    assert again.joints["leftHand"] == "LeftHand"
    for changed in (
        build_rig(build_character([1.2, *lengths[1:]])),
        build_rig(build_character(lengths, names={"Head": "Skull"})),
        build_rig(build_character(lengths), humanoid={"leftHand": "LeftForeArm"}),
        build_rig(dataclasses.replace(build_character(lengths), up="z")),
    ):
        calls.clear()
        assert changed.roles.skeleton is changed.skeleton
        assert calls


def test_clips_of_a_whole_character_are_not_sampled_to_be_extended(target):
    clip = target.clips[0]
    assert extend_clip(clip, target.skeleton) is clip
    assert "poses" not in vars(clip)


def list_arrays(value):
    """Arrays of a value, also in tuples, mappings and dataclasses."""
    if isinstance(value, np.ndarray):
        return [value]
    if dataclasses.is_dataclass(value):
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [array for part in parts for array in list_arrays(part)]


def test_who_edits_a_result_does_not_change_the_next(walk, target):
    expected = poise.retarget(walk, target).poses.q
    edited = poise.retarget(walk, target)
    contacts = edited.contacts
    contacts.heel[...], contacts.ball[...] = False, False
    for array in list_arrays((edited.planted.soles, edited.planted.figure, edited.bodies, edited.match)):
        if array.flags.writeable and array.dtype == np.float64:
            array[...] += 0.1
    np.testing.assert_array_equal(poise.retarget(walk, target).poses.q, expected)


def test_old_clips_forget_their_measures(target):
    skeleton = build_character([1.0] * 12)
    rig, clips = build_rig(skeleton), [build_clip(skeleton, seed) for seed in range(12)]
    for clip in clips:
        measure_source(clip, rig, target, None)
    kept = [bool(vars(clip).get("_remembered", {}).get("measured source")) for clip in clips]
    assert kept == [False] * 4 + [True] * 8


@pytest.mark.parametrize("fps", [[30], {}, "fast", True, 0.0])
def test_a_wrong_rate_is_refused_in_words(walk, target, fps):
    with pytest.raises(poise.InputError, match="frames per second"):
        poise.retarget(walk, target, fps=fps)
