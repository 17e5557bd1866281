"""free_root=True: every figure and robot moves as a whole, from poses of either skeleton, in every call that solves."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples

FEET = ("LeftFoot", "RightFoot")


def figure(name="humanoid.glb"):
    return poise.load(samples.path(name))


def squat(rig, depth=0.2):
    """Both feet where they are, the hips lower."""
    hips = rig.rest.world["Hips"].positions - [0, depth, 0]
    return [*(poise.Pin(foot) for foot in FEET), poise.Position("Hips", hips)]


def test_a_figure_squats():
    rig = figure()
    result = poise.solve(rig.rest, squat(rig), free_root=True)
    assert result.reached
    assert result.pose.skeleton is rig.skeleton.with_free_root()
    for foot in FEET:
        assert np.abs(result.pose.world[foot].positions - rig.rest.world[foot].positions).max() < 1e-3
    assert not poise.solve(rig.rest, squat(rig)).reached


def test_poses_of_either_skeleton_give_the_same_bits():
    rig = figure()
    free = rig.rest.on(rig.skeleton.with_free_root())
    own, other = (poise.solve(start, squat(rig), free_root=True) for start in (rig.rest, free))
    assert np.array_equal(own.q, other.q)
    assert poise.solve(rig.rest, [*squat(rig), poise.Near(rig.rest)], free_root=True).q.tolist() == (
        poise.solve(rig.rest, [*squat(rig), poise.Near(free)], free_root=True).q.tolist()
    )


@pytest.mark.parametrize(("name", "root"), [("humanoid.glb", "Hips"), ("arm.urdf", "base")])
def test_a_root_that_stands_fast_hears_how_it_may_move(name, root):
    rest = figure(name).rest
    goal = poise.Position(root, rest.world[root].positions + 0.1)
    message = poise.solve(rest, goal).message()
    assert f"{root!r} is a root; nothing stands above it (free_root=True, or --free-root, lets it move)" in message
    assert poise.solve(rest, goal, free_root=True).reached


def test_a_root_that_cannot_be_set_free_is_not_reported():
    """The robot's own root is a hinge; what is asked for stands beside it."""
    both = poise.Skeleton.build(["camera", "arm"], [-1, -1], [poise.Kind.FIXED, poise.Kind.HINGE], axes=np.eye(3)[:2])
    message = poise.solve(poise.Pose(both, both.rest_q), poise.Position("camera", (1, 0, 0))).message()
    assert "'camera' is a root; nothing stands above it, " in message


def test_the_root_itself_goes_to_a_place():
    rig = figure()
    goal = poise.Place("Hips", [1.0, 2.0, 3.0], [0.6, 0.0, 0.8, 0.0])
    result = poise.solve(rig.rest, goal, free_root=True)
    assert result.reached
    assert np.abs(result.pose.world["Hips"].positions - [1, 2, 3]).max() < 1e-3


def test_a_robot_moves_with_its_base():
    rig = figure("arm.urdf")
    result = poise.solve(rig.rest, poise.Position("tool", [5.0, 5.0, 5.0]), free_root=True)
    assert result.reached
    assert result.pose.skeleton.nq == rig.skeleton.nq + 7


def test_prepared_calls_and_batches():
    rig = figure()
    goals = squat(rig)
    reach = poise.prepare(rig.rest, goals, free_root=True)
    lower = goals[-1].target - [0, 0.05, 0]
    batch = poise.Position("Hips", np.array([goals[-1].target, lower]))
    both = poise.solve(rig.rest, [*goals[:-1], batch], free_root=True)
    for k, target in enumerate((goals[-1].target, lower)):
        assert np.array_equal(reach(target).q, both.q[k])


def test_a_tracker_takes_both():
    rig = figure()
    follow = poise.Tracker(rig.rest, squat(rig), free_root=True)
    target = squat(rig)[-1].target
    assert any(follow(target).reached for _ in range(10))
    follow.reset(rig.pose)
    first = follow(target).q
    follow.reset(rig.pose.on(follow.skeleton))
    assert np.array_equal(follow(target).q, first)


def test_a_clip_whose_hips_move_is_baked_and_saved(tmp_path):
    rig = figure("humanoid.bvh")
    walk = rig.clips[0]
    glb = tmp_path / "walk.glb"
    poise.save(walk, glb)
    rig = poise.load(glb)
    clip = rig.clips[0]
    baked = poise.bake(clip, [poise.Pin("LeftFoot")], free_root=True)
    assert baked.result.reached.all()
    poise.save(baked, tmp_path / "baked.glb", like=rig)
    again = poise.load(tmp_path / "baked.glb").clips[-1]
    there = again.at(clip.times).world["LeftFoot"].positions
    assert np.abs(there - baked.poses.world["LeftFoot"].positions).max() < 1e-4


def test_what_hangs_on_no_root_is_reported():
    lone = poise.Skeleton.build(["a", "b", "c", "x"], [-1, 0, 1, -1], [3, 3, 3, 3], offsets=np.eye(4, 3))
    start = poise.Pose(lone, lone.rest_q)
    with pytest.raises(poise.UnsupportedError, match="needs a free joint above 'x'"):
        poise.solve(start, poise.Direction("x", [1.0, 0, 0]), free_root=True)
