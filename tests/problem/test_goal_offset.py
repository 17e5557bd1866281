"""Position and Place of a point in the joint's frame: a heel, the tip of a tool."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from poise import Place, Pose, Position, Status
from poise.io import samples
from poise.problem.goal_errors import compute_world_errors
from tests.strategies import (
    figure,
    generic_arm,
    random_q,
    random_skeleton,
    rng_of,
    seeds,
    straight_chain,
    unit_quaternions,
)

SOLVERS = ["ccd", "levenberg_marquardt"]


def rest(skeleton):
    return Pose(skeleton, skeleton.rest_q)


def with_a_tool(skeleton, joint, offset):
    """The same skeleton with a fixed joint where the point is."""
    row = skeleton.index(joint)
    return poise.Skeleton.build(
        [*skeleton.names, "tool tip"], [*skeleton.parents, row], [*skeleton.kinds, 0],
        offsets=[*skeleton.A[:, :3], offset], rotations=[*skeleton.A[:, 3:], (1, 0, 0, 0)],
        axes=[*skeleton.axes, (0, 0, 0)], limits=[*skeleton.limits, None],
        scales=[*np.diagonal(skeleton.B[:, :, :3], axis1=1, axis2=2), np.ones(3)],
    )  # fmt: skip


@given(seeds, st.sampled_from(SOLVERS))
@settings(max_examples=60)
def test_a_point_of_a_joint_goes_where_a_joint_at_that_point_would(seed, solver):
    """Errors, joints that move and reach are those of a rig that has the point as a joint of its own."""
    rng = rng_of(seed)
    s = random_skeleton(rng, 5, kinds=(1, 3), couple=False)
    joint, offset = s.names[-1], rng.normal(size=3)
    other = with_a_tool(s, joint, offset)
    start = Pose(s, random_q(rng, s))
    target = rng.normal(size=3) * 3
    root = s.names[0] if joint != s.names[0] and s.names[0] in s.ancestors(joint) else None
    a = poise.solve(start, Position(joint, target, offset=offset, root=root), solver=solver)
    b = poise.solve(Pose(other, start.q), Position("tool tip", target, root=root), solver=solver)
    if root is not None:  # else the limb of the added joint may begin elsewhere
        assert a.joints == b.joints
        assert (a.status == Status.out_of_reach) == (b.status == Status.out_of_reach)
        assert a.reached == b.reached
    world = a.pose.world[joint]
    point = world.positions + world.affine[:, :3] @ offset
    np.testing.assert_allclose(a.errors, [np.linalg.norm(target - point)], atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_joint_itself_turns_for_its_point(solver):
    s = straight_chain(2)
    result = poise.solve(rest(s), Position("j1", [0.4, 1.0, 0], offset=(0, 0.4, 0), root="j1"), solver=solver)
    assert result.reached
    assert result.joints == ("j1",)
    np.testing.assert_allclose(result.pose.world["j1"].positions, [0, 1, 0], atol=1e-12)
    still = poise.solve(rest(s), Position("j1", [0.4, 1.0, 0]), solver=solver)
    assert still.joints == ("j0",)


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_offset_changes_no_bit(solver):
    s = straight_chain(6)
    targets = rng_of(2).normal(size=(50, 3)) * 2
    a = poise.solve(rest(s), Position("tip", targets), solver=solver)
    b = poise.solve(rest(s), Position("tip", targets, offset=(0.0, -0.0, 0)), solver=solver)
    np.testing.assert_array_equal(a.q, b.q)
    np.testing.assert_array_equal(a.errors, b.errors)


@pytest.mark.parametrize("solver", SOLVERS)
def test_reach_is_that_of_the_point(solver):
    s = straight_chain(3)
    inside = poise.solve(rest(s), Position("tip", [3.2, 0, 0], offset=(0, 0.25, 0)), solver=solver)
    assert inside.reached
    beyond = poise.solve(rest(s), Position("tip", [3.3, 0, 0], offset=(0, 0.25, 0)), solver=solver)
    assert beyond.status == Status.out_of_reach
    assert "beyond the longest reach of 3.25" in beyond.message()


def test_a_tool_on_an_arm_single_and_in_a_batch():
    """The fastest kernels know the tool, and forget the one before."""
    s = generic_arm()
    q = s.legal(random_q(rng_of(5), s, 40))[0]
    world = Pose(s, q).world["tool"]
    for offset in ((0.05, 0, 0.1), (0, 0.2, 0), (0, 0, 0), (0.05, 0, 0.1)):
        points = world.positions + world.affine[..., :3] @ offset
        for goal in (Position("tool", points, offset=offset), Place("tool", points, world.rotations, offset=offset)):
            every = poise.solve(rest(s), goal)
            assert every.reached.all()
            ready = poise.prepare(rest(s), goal.with_target(goal.rows()[0]))
            for i in (0, 7, 39):
                single = ready(goal.rows()[i])
                assert single.reached
                at = single.pose.world["tool"]
                assert np.linalg.norm(at.positions + at.affine[:, :3] @ offset - points[i]) <= 1e-6 * (1 + 1e-9)


def test_a_heel_and_a_toe_on_a_figure():
    """Two points of one foot: its rotation follows."""
    figure_rest = poise.load(samples.path("humanoid.bvh")).rest
    at = figure_rest.world["LeftFoot"].positions
    goals = [
        Position("LeftFoot", at + np.array([0.02, 0.25, 0.1]), offset=(0, -0.05, -0.05)),
        Position("LeftFoot", at + np.array([0.02, 0.3, 0.1 + np.sqrt(0.15**2 - 0.05**2)]), offset=(0, -0.05, 0.1)),
    ]
    result = poise.solve(figure_rest, goals)
    assert result.reached
    assert "LeftFoot" in result.joints


def test_limits_hold_for_the_joint_that_turns():
    s = figure(free=False)
    goal = Position("l_knee", [0.1, 0.5, 3.0], offset=(0, -0.45, 0))
    for solver in SOLVERS:
        result = poise.solve(rest(s), goal, solver=solver)
        assert "l_knee" in result.joints
        assert result.violation <= 1e-9


def test_a_place_keeps_its_offset():
    place = Place("tip", [1, 2, 3], unit_quaternions(rng_of(0)), offset=(1, 0, 0))
    assert place.with_target(([0, 0, 0], (1, 0, 0, 0))).offset == (1, 0, 0)
    assert Place.from_matrix("tip", np.eye(4), offset=(0, 2, 0)).offset == (0, 2, 0)
    assert dataclasses.replace(Position("tip", [0, 0, 0], offset=(1, 2, 3)), weight=2).offset == (1, 2, 3)


@pytest.mark.parametrize("offset", [(0.3, 0.0, 0.0), (0.0, 0.2, 0.0), (0.0, 0.0, -0.1), (0.3, 0.0, -0.1)])
def test_an_offset_along_an_axis_is_measured(offset):
    """From the world transforms of whole poses, as where each has scales of its own."""
    s = figure()
    rng = rng_of(5)
    poses = Pose(s, random_q(rng, s, 4))
    joint = s.names[-1]
    at = poses.world[joint].matrices @ np.array([*offset, 1.0])
    errors = compute_world_errors(poses, (Position(joint, [0, 0, 0], offset=offset),), np.zeros((4, 3)))
    np.testing.assert_allclose(errors[:, 0], np.linalg.norm(at[:, :3], axis=-1), rtol=1e-12)
