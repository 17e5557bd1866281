"""The joints that move for a tip where nobody names the first of them, and poses of other skeletons."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise.model.pose import check_same_skeleton
from tests.strategies import figure, generic_arm, straight_chain

HINGE, BALL, FREE, FIXED = poise.Kind.HINGE, poise.Kind.BALL, poise.Kind.FREE, poise.Kind.FIXED


def forked(kind, root=FIXED):
    """A base with two limbs of three joints, one of which ends in a fixed flange with a tool and a camera arm."""
    names = ["base", "hip", "a1", "a2", "a3", "flange", "tool", "c1", "c2", "b1", "b2", "b3"]
    parents = [-1, 0, 1, 2, 3, 4, 5, 5, 7, 1, 9, 10]
    kinds = [root, kind, kind, kind, kind, FIXED, FIXED, kind, kind, kind, kind, kind]
    axes = [(0, 0, 1), (0, 1, 0), (1, 0, 0)] * 4
    return poise.Skeleton.build(names, parents, kinds, offsets=[(0.1, 0.3, 0.05)] * 12, axes=axes)


@pytest.mark.parametrize("root", [FIXED, FREE])
def test_a_robot_moves_from_its_base_to_the_tip(root):
    s = forked(HINGE, root)
    base = () if root == FREE else ("base",)
    assert s.chain(None, "tool") == (*base, "hip", "a1", "a2", "a3", "flange")
    assert s.chain(None, "b3") == (*base, "hip", "b1", "b2")
    start = poise.Pose(s, s.rest_q)
    goal = poise.Position("tool", start.world["tool"].positions)
    assert poise.solve(start, goal).joints == ("hip", "a1", "a2", "a3")


def test_a_floating_base_may_hang_in_a_fixed_world():
    s = poise.Skeleton.build(
        ["world", "float", "hip", "a1", "a2", "a3", "b1", "b2", "b3"], [-1, 0, 1, 2, 3, 4, 2, 6, 7],
        [FIXED, FREE, *[HINGE] * 7], offsets=[(0.1, 0.3, 0.05)] * 9, axes=[(0, 0, 1), (0, 1, 0), (1, 0, 0)] * 3,
    )  # fmt: skip
    assert s.chain(None, "a3") == ("hip", "a1", "a2")
    start = poise.Pose(s, s.rest_q)
    result = poise.solve(start, poise.Position("a3", start.world["a3"].positions + 0.01))
    assert (result.tolerance, result.angle_tolerance) == (1e-6, 1e-6), "it is a robot"


def test_free_joints_below_others_make_a_figure():
    s = forked(HINGE)
    kinds = [FREE if name == "a1" else kind for name, kind in zip(s.names, s.kinds, strict=True)]
    s = poise.Skeleton.build(s.names, s.parents, kinds, offsets=[(0.1, 0.3, 0.05)] * 12, axes=[(0, 0, 1)] * 12)
    assert s.chain(None, "b3") == ("b1", "b2")


def test_a_figure_moves_up_to_the_next_fork():
    s = forked(BALL)
    assert s.chain(None, "a3") == ("a1", "a2")
    assert s.chain(None, "b3") == ("b1", "b2")


def test_fixed_joints_next_to_the_tip_are_passed():
    s = forked(BALL)
    assert s.chain(None, "tool") == ("a1", "a2", "a3", "flange"), "although a camera hangs on the flange, too"
    s = poise.Skeleton.build(["rig", "mesh", "hip", "knee"], [-1, 0, 0, 2], [FIXED, FIXED, BALL, BALL])
    assert s.chain(None, "mesh") == (), "nothing above it moves"


def test_what_was_left_out_is_named_where_the_reach_is_too_short():
    s = forked(BALL)
    result = poise.solve(poise.Pose(s, s.rest_q), poise.Position("a3", [9.0, 0.0, 0.0]))
    assert result.status == poise.Status.out_of_reach
    assert result.message().startswith("out of reach: the target is ")
    assert result.message().endswith(" left ('hip' above stood still: name a root to move them, too)")
    named = poise.solve(poise.Pose(s, s.rest_q), poise.Position("a3", [9.0, 0.0, 0.0], root="hip"))
    assert "stood still" not in named.message()


@pytest.mark.parametrize("name", ["h1.urdf", "tiago_pro.urdf", "g1_29dof.urdf", "panda_moveit.urdf"])
def test_real_robots_reach_their_places_from_base_to_tip(data, name):
    path = next(iter(sorted(data.rglob(name))), None)
    assert path is not None, name
    rig = poise.load(path)
    s, rng = rig.skeleton, np.random.default_rng(3)
    depth = {tip: sum(s.kinds[row] in (1, 2) for row in s.list_path(s.index(tip))) for tip in s.names}
    tip = max(depth, key=lambda joint: depth[joint])
    ranges = np.where(np.isfinite(s.value_ranges), s.value_ranges, [-np.pi, np.pi])
    q = s.legal(np.tile(s.rest_q, (60, 1)) * 0.0 + ranges[:, 0] + rng.random((60, s.nq)) * np.ptp(ranges, axis=1))[0]
    world = poise.Pose(s, q).world[tip]
    result = poise.solve(rig.rest, poise.Place(tip, world.positions, world.rotations))
    assert result.reached.all(), (tip, str(result))


OTHERS = {
    "fewer joints": (lambda: straight_chain(3), r"it has 4 joints, not 12"),
    "another name": (lambda: renamed(forked(HINGE)), r"it has a joint 'wrist' where this one has 'a3'"),
    "another kind": (lambda: forked(BALL), r"its 'hip' is a ball joint, not a hinge one"),
    "another parent": (lambda: moved(forked(HINGE)), r"its 'b1' hangs on 'base', not on 'hip'"),
}


def renamed(s):
    return dataclasses.replace(s, names=tuple("wrist" if name == "a3" else name for name in s.names))


def moved(s):
    parents = s.parents.copy()
    parents[s.index("b1")] = 0
    return dataclasses.replace(s, parents=parents)


@pytest.mark.parametrize("other", OTHERS)
def test_a_pose_of_another_skeleton_is_reported(other):
    make, reported = OTHERS[other]
    own, pose = forked(HINGE), poise.Pose(make(), make().rest_q)
    start = poise.Pose(own, own.rest_q)
    goal = poise.Position("tool", start.world["tool"].positions + 0.1)
    with pytest.raises(poise.InputError, match=f"the pose of Near is a pose of another skeleton: {reported}"):
        poise.solve(start, [goal, poise.Near(pose)])
    with pytest.raises(
        poise.InputError, match=f"the argument of reset\\(\\) is a pose of another skeleton: {reported}"
    ):
        poise.Tracker(start, goal).reset(pose)


def test_poses_of_the_same_joints_are_taken():
    own = forked(HINGE)
    for other in (own, forked(HINGE), own.with_limits({"hip": poise.Range(-1, 1)})):
        check_same_skeleton(own, other, "it")
    with pytest.raises(poise.InputError, match="another skeleton"):
        check_same_skeleton(figure(), generic_arm(), "it")
