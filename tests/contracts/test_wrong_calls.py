"""What cannot be meant is told in one sentence: a table of calls, each with a part of what is said."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples

ARM, FIGURE = poise.load(samples.path("arm.urdf")), poise.load(samples.path("humanoid.bvh"))
CLIP, THERE = FIGURE.clips[0], [0.3, 0.2, 0.4]


def solved(count=None):
    """A result, or a batch of so many."""
    target = THERE if count is None else np.tile(THERE, (count, 1))
    return poise.solve(ARM.rest, poise.Position("tool", target))


def point(target):
    return poise.Position("tool", target)


def follow(**how):
    return poise.Tracker(ARM.rest, point(THERE), **how)


def endless():
    return poise.Clip(np.array([0.0, 3e38]), CLIP.poses[:2], "endless")


def too_late():
    return poise.Clip(np.array([0.0, 1e39]), CLIP.poses[:2], "late")


def build(names=("a", "b"), parents=(-1, 0), kinds=(3, 3)):
    return poise.Skeleton.build(names, parents, kinds)


MASKED = np.ma.masked_array([0.1, 0.2, 0.3], mask=[False, True, False])
CALLS = {
    "target: a text": (lambda: point("abc"), "the target of 'tool' must be numbers, not 'abc'"),
    "target: texts": (lambda: point(["1", "2", "3"]), "must be numbers, not"),
    "target: texts among numbers": (lambda: point(np.array([1.0, 2.0, "3"], dtype=object)), "must be numbers, not"),
    "target: truth values": (lambda: point([True, False, True]), "must be numbers, not"),
    "target: an array of truth values": (lambda: point(np.array([True, False, True])), "must be numbers, not"),
    "target: dates": (lambda: point(np.array(["2020-01-01"] * 3, dtype="datetime64[D]")), "must be numbers, not"),
    "target: times": (lambda: point(np.array([1, 2, 3], dtype="timedelta64[s]")), "must be numbers, not"),
    "target: structured": (lambda: point(np.zeros(3, dtype=[("a", float)])), "must be numbers, not"),
    "target: masked": (lambda: point(MASKED), "some of them are masked"),
    "target: a mapping": (lambda: point({"x": 1}), "must be numbers, not"),
    "target: None inside": (lambda: point([1, 2, None]), "must be numbers, not"),
    "target: complex": (lambda: point(np.array([1j, 2, 3])), "must be real numbers"),
    "prepared: masked": (lambda: poise.prepare(ARM.rest, point(THERE))(MASKED), "some of them are masked"),
    "joint: a list": (lambda: poise.Position(["tool"], THERE), "the joint of Position is the name of a joint"),
    "joint: None": (lambda: poise.Orientation(None, [1, 0, 0, 0]), "the joint of Orientation is the name of a joint"),
    "root: a list": (lambda: poise.Position("tool", THERE, root=["a"]), "the root of Position is the name of a joint"),
    "start: None": (lambda: poise.solve(None, point(THERE)), "give a Pose"),
    "start: a rig": (lambda: poise.solve(ARM, point(THERE)), "give a Pose, such as rig.rest"),
    "goals: None": (lambda: poise.solve(ARM.rest, None), "goals are values such as"),
    "threads: a text": (lambda: poise.solve(ARM.rest, point(THERE), threads="a"), "threads must be"),
    "trace: a number": (lambda: poise.solve(ARM.rest, point(THERE), trace=1), "trace must be True or False, not 1"),
    "trace: 0": (lambda: poise.solve(ARM.rest, point(THERE), trace=0), "trace must be True or False, not 0"),
    "free_root: a text": (lambda: poise.solve(ARM.rest, point(THERE), free_root="no"), "free_root must be True or"),
    "free_root: a list": (lambda: poise.solve(ARM.rest, point(THERE), free_root=[]), "free_root must be True or"),
    "free_root of prepare: 0": (lambda: poise.prepare(ARM.rest, point(THERE), free_root=0), "free_root must be"),
    "free_root of a tracker: a list": (lambda: follow(free_root=[]), "free_root must be True or False, not []"),
    "restart: a text": (lambda: follow(restart="no"), "restart must be True or False, not 'no'"),
    "keep_tip: a text": (lambda: poise.TwoBone(keep_tip="no"), "keep_tip must be True or False, not 'no'"),
    "refine: a text": (
        lambda: poise.fit(FIGURE.rest, FIGURE.rest.world.positions[None], refine="no"),
        "refine must be True or False",
    ),
    "rotation of a Pin: a rotation": (
        lambda: poise.Pin("tool", rotation=[1, 0, 0, 0]),
        "the rotation of the Pin of 'tool' must be True or False",
    ),
    "message: too large": (lambda: solved().message(99), "the number of a problem, 0 to 0, not 99"),
    "message: of a batch": (lambda: solved(3).message(7), "the number of a problem, 0 to 2, not 7"),
    "message: negative": (lambda: solved(3).message(-1), "0 to 2, not -1"),
    "message: a text": (lambda: solved(3).message("a"), "0 to 2, not 'a'"),
    "dt: NaN": (lambda: follow()(THERE, float("nan")), "dt is the time since the last frame"),
    "dt: negative": (lambda: follow(speed=1.0)(THERE, -1), "dt is the time since the last frame"),
    "fps of a tracker: 0": (lambda: follow().clip([THERE], fps=0), "frames per second must be above zero"),
    "fps of a tracker: a text": (lambda: follow().clip([THERE], fps="a"), "frames per second must be a number"),
    "speed: of no joint": (lambda: follow(speed={"nope": 1.0}), "no joint 'nope'"),
    "resampled: a text": (lambda: CLIP.resample("30"), "frames per second must be a number"),
    "resampled: endless": (lambda: endless().resample(30), "frames: too many"),
    "pose.replace: a list": (lambda: ARM.rest.replace([1]), "replace() takes values by joint name"),
    "pose.blended: None": (lambda: ARM.rest.blend(None, 0.5), "a pose is blended with another Pose"),
    "limited: None": (lambda: ARM.skeleton.with_limits(None), "limits are given by joint name"),
    "load: None": (lambda: poise.load(None), "a file is given by its path"),
    "load: a list": (lambda: poise.load(["a.glb"]), "a file is given by its path"),
    "save: no path": (lambda: poise.save(ARM, None), "a file is given by its path"),
    "bake: a rig": (lambda: poise.bake(FIGURE, poise.Position("LeftHand", THERE)), "give a Clip"),
    "q: a text": (lambda: poise.Pose(ARM.skeleton, "abc"), "q must be numbers, not 'abc'"),
    "jacobian: a text": (lambda: ARM.rest.jacobian("tool", "a"), "point must be numbers, not 'a'"),
    "joint name: a list": (lambda: build([["a"], "b"]), "the names of joints are texts; row 0 has ['a']"),
    "joint name: None": (lambda: build(["a", None]), "row 1 has None"),
    "joint name: a number": (lambda: build([1, 2]), "row 0 has 1"),
    "joint name: half a character": (lambda: build(["a", "\ud800"]), "half a character"),
    "parents: texts": (lambda: build(parents=[-1, "a"]), "the parents of joints are whole numbers; row 1 has 'a'"),
    "parents: huge": (lambda: build(parents=[-1, 10**30]), "the parents of joints are whole numbers; row 1"),
    "parents: a part": (lambda: build(parents=[-1, 0.5]), "whole numbers; row 1 has 0.5"),
    "kinds: texts": (lambda: build(kinds=["ball", 3]), "the kinds of joints are whole numbers; row 0 has 'ball'"),
    "kinds: unknown": (lambda: build(kinds=[7, 3]), "joint kinds are 0 fixed, 1 hinge"),
    "limited: a tuple": (lambda: ARM.skeleton.with_limits({("a",): None}), "no joint ('a',)"),
    "world: a list": (lambda: ARM.rest.world[["tool"]], "no joint"),
    "glTF key: too late": (lambda: poise.save(too_late(), "late.glb"), "ends at 1e+39 s; a glTF animation ends by"),
    "height map: 3-D": (lambda: poise.Terrain.heightmap(np.ones((2, 2, 2))), "its shape is (2, 2, 2)"),
    "height map: huge": (lambda: poise.Terrain.heightmap(np.full((2, 2), 1e300)), "beyond 1e+30"),
    "height map: tiny cells": (lambda: poise.Terrain.heightmap(np.ones((2, 2)), size=1e-300), "at least 1e-30"),
    "Near: a text for a weight": (lambda: poise.Near(ARM.rest, joints={"tool": "a"}), "weight"),
}


@pytest.mark.parametrize("call", CALLS)
def test_one_sentence(call):
    made, reported = CALLS[call]
    with pytest.raises(poise.PoiseError) as error:
        made()
    assert reported in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_no_name_is_in_no_skeleton():
    assert ["tool"] not in ARM.skeleton
    assert None not in ARM.skeleton
    assert "tool" in ARM.skeleton


@pytest.mark.parametrize("truth", [True, False])
def test_truths_of_numpy_are_truths(truth):
    given = np.bool_(truth)
    assert poise.TwoBone(keep_tip=given).keep_tip is truth
    assert follow(restart=given).restart is truth
    assert (poise.solve(ARM.rest, point(THERE), trace=given).trace is not None) is truth
    goal = poise.Position("LeftHand", THERE)
    found = poise.solve(FIGURE.rest, goal, free_root=given)
    np.testing.assert_array_equal(found.q, poise.solve(FIGURE.rest, goal, free_root=truth).q)


@pytest.mark.parametrize("target", [[1, 2, 3], np.array([1, 2, 3]), np.float32([1, 2, 3]), (1.0, 2, np.float64(3))])
def test_numbers_of_any_kind_are_numbers(target):
    np.testing.assert_array_equal(point(target).target, [1.0, 2.0, 3.0])


def test_what_is_masked_nowhere_is_numbers():
    np.testing.assert_array_equal(point(np.ma.masked_array([1.0, 2.0, 3.0])).target, [1.0, 2.0, 3.0])
