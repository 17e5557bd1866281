"""Aim: a ray from a joint goes through a point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from poise import Aim, Coupling, InputError, Pose, Position, Range, Status
from poise.maths import rotations
from poise.problem.goal_errors import compute_world_errors
from tests.strategies import figure, rng_of, seeds, straight_chain

CHAIN = straight_chain(3)
REST = Pose(CHAIN, CHAIN.rest_q)


def ray(pose, goal):
    """The ray's beginning and unit direction, from the world transform alone."""
    affine = pose.world[goal.joint].affine
    scale = np.cbrt(np.linalg.det(affine[..., :3]))[..., None]
    return affine[..., 3] + affine[..., :3] @ goal.offset, affine[..., :3] @ goal.axis / scale


def missed_by(pose, goal):
    """The angle between the ray and the way to the target, from the triangle's sides."""
    begin, direction = ray(pose, goal)
    way = (goal.target - begin) / np.linalg.norm(goal.target - begin, axis=-1, keepdims=True)
    return 2 * np.arcsin(np.clip(np.linalg.norm(way - direction, axis=-1) / 2, 0, 1))


@given(seeds)
@settings(max_examples=60)
def test_the_error_is_the_angle_that_the_ray_misses_by(seed):
    rng = rng_of(seed)
    target, axis, offset = rng.normal(size=(3, 3)) * 2
    goal = Aim("j2", target, axis=axis, offset=offset)
    result = poise.solve(REST, goal, solver=poise.LevenbergMarquardt(iterations=int(rng.integers(3)), restarts=0))
    np.testing.assert_allclose(result.errors, [missed_by(result.pose, goal)], atol=1e-7)
    np.testing.assert_array_equal(result.angle_errors, result.errors)
    assert np.isnan(result.position_errors).all()


@pytest.mark.parametrize("seed", range(20))
def test_a_ray_from_a_point_beside_the_joint_goes_through_the_target(seed):
    rng = rng_of(seed)
    goal = Aim("j2", rng.normal(size=3) * 3, axis=rng.normal(size=3), offset=rng.normal(size=3) * 0.3)
    result = poise.solve(REST, goal)
    assert result.reached
    assert missed_by(result.pose, goal) <= result.angle_tolerance


@pytest.mark.parametrize("distance", [0.4, 0.6])
def test_a_joint_alone_cannot_aim_at_what_is_nearer_than_its_line(distance):
    """As in ozz: the line passes the joint at 0.5, so that no turn of the joint brings it nearer."""
    goal = Aim("j0", [0, 0, distance], axis=(0, 0, 1), offset=(0.5, 0, 0), root="j0")
    result = poise.solve(REST, goal)
    assert result.reached == (distance > 0.5)
    assert result.joints == ("j0",)
    if not result.reached:
        assert result.status == Status.stalled
        begin, _ = ray(result.pose, goal)  # the nearest it comes: seen from the joint, both are on one side
        np.testing.assert_allclose(begin @ goal.target / (0.5 * distance), 1.0, atol=0.3)


def test_a_target_at_the_point_itself_is_met_from_everywhere():
    """Every ray from there goes through it; nothing moves, nothing is NaN."""
    for offset in ((0, 0, 0), (0.25, 0.5, -0.125)):
        at = REST.world["j2"].positions + np.array(offset)
        result = poise.solve(REST, Aim("j2", at, axis=(1, 2, 3), offset=offset))
        assert (result.reached, result.iterations) == (True, 0)
        np.testing.assert_array_equal(result.errors, [0.0])
        np.testing.assert_array_equal(result.q, REST.q)


@pytest.mark.parametrize("far", [1e-6, 1.0, 1e6])
def test_a_target_at_the_point_to_rounding_is_met_however_far_out(far):
    """A millionth of a millionth of how far both are from the origin: no way leads from the one to the other."""
    chain = straight_chain(3, length=far)
    pose = Pose(chain, chain.rest_q)
    point = pose.world["j2"].positions
    for share, there in ((0.5, True), (20.0, False)):
        target = point + np.array([share * 1e-12 * far, 0.0, 0.0])
        left = compute_world_errors(Pose(chain, pose.q[None]), (Aim("j2", target, axis=(0, 0, 1)),), target[None])
        assert (left[0, 0] == 0.0) == there


@pytest.mark.parametrize("near", [1e-3, 1e-6, 1e-9, 1e-13, 1e-160])
def test_a_target_close_to_the_point_is_aimed_at(near):
    goal = Aim("j0", [near, 0, 0], axis=(0, 0, 1), root="j0")
    result = poise.solve(REST, goal)
    assert np.isfinite(result.q).all()
    assert result.errors[0] <= np.pi
    assert result.reached == (missed_by(result.pose, goal) <= result.angle_tolerance)
    assert near < 1e-12 or result.reached


@pytest.mark.parametrize("axis", [*np.eye(3), *-np.eye(3), (1, 1, 1), (-0.3, 0.2, -1)])
def test_a_target_exactly_behind_is_turned_to(axis):
    goal = Aim("j0", -5 * np.array(axis), axis=axis, root="j0")
    assert poise.solve(REST, goal).reached
    np.testing.assert_allclose(poise.solve(REST, goal, solver=poise.LevenbergMarquardt(iterations=0)).errors, np.pi)


def test_a_slide_aims_too():
    """A gantry: a slide along x carries a ray along z; only moving it brings the ray to the target."""
    s = poise.Skeleton.build(["rail", "eye"], [-1, 0], [2, 0], offsets=np.zeros((2, 3)), axes=[(1, 0, 0)] * 2)
    result = poise.solve(Pose(s, [0.0]), Aim("eye", [0.7, 0, 2]))
    assert result.reached
    np.testing.assert_allclose(result.q, [0.7], atol=1e-5)


def test_coupled_hinges_aim_together():
    s = poise.Skeleton.build(
        ["a", "b", "eye"], [-1, 0, 1], [1, 1, 0], offsets=[(0, 0, 0), (1, 0, 0), (1, 0, 0)],
        axes=[(0, 0, 1)] * 3, couplings=[None, Coupling(0, 0.5, 0.0), None],
    )  # fmt: skip
    for value in (0.3, -0.8, 1.2):
        begin, direction = ray(Pose(s, [value]), Aim("eye", [0, 0, 0], axis=(1, 0, 0)))
        result = poise.solve(Pose(s, [0.0]), Aim("eye", begin + 3 * direction, axis=(1, 0, 0)))
        assert result.reached
        np.testing.assert_allclose(result.q, [value], atol=1e-3)


def test_a_limit_that_keeps_a_ray_away_is_named():
    s = poise.Skeleton.build(
        ["turn", "eye"],
        [-1, 0],
        [1, 0],
        offsets=np.zeros((2, 3)),
        axes=[(0, 0, 1)] * 2,
        limits=[Range(-0.5, 0.5), None],
    )
    result = poise.solve(Pose(s, [0.0]), Aim("eye", [0, 5, 0], axis=(1, 0, 0)))
    assert result.status == Status.limited
    assert "turn at its highest" in result.message()
    np.testing.assert_allclose(result.errors, [np.pi / 2 - 0.5])


def test_a_hand_aims_where_another_goal_holds_it():
    """Position and Aim of one joint at once: a tool at its place, pointing at another."""
    s = figure(free=False)
    start = Pose(s, s.rest_q)
    at = start.world["l_foot"].positions
    for aim in rng_of(3).normal(size=(10, 3)):
        goals = [Position("l_foot", at + np.array([0.1, 0.2, 0.1])), Aim("l_foot", at + 2 * aim, axis=(0, -1, 0))]
        result = poise.solve(start, goals)
        assert result.reached, result
        assert missed_by(result.pose, goals[1]) <= 1e-4


@pytest.mark.parametrize("name", ["knight_kaykit.glb", "mixamo_human_makehuman.glb"])
def test_real_rigs_aim_several_joints_at_once(data, name):
    rig = poise.load(data / "glb" / name)
    start, s = rig.rest, rig.skeleton
    low, high = start.world.positions.min(axis=0), start.world.positions.max(axis=0)
    joints = [n for n in s.names if any(part in n.lower() for part in ("hand", "head")) and s.chain(None, n)][:2]
    assert joints
    for seed in range(5):
        targets = high + (high - low) * rng_of(seed).normal(size=(len(joints), 3))
        result = poise.solve(start, [Aim(n, t, axis=(0, 1, 0)) for n, t in zip(joints, targets, strict=True)])
        assert result.reached, (name, joints, str(result))


@given(st.sampled_from([1.0, -1.0, 2.0, -0.5]), seeds)
@settings(max_examples=30)
def test_mirrored_rigs_aim_with_the_axis_of_their_world_rotation(scale, seed):
    """The axis is turned by `world.rotations`, as for Direction; the point is carried by the whole transform."""
    s = poise.Skeleton.build(
        ["root", "a", "eye"], [-1, 0, 1], [0, 3, 3], offsets=[(1, 2, 3), (0, 1, 0), (0, 1, 0)],
        scales=[[scale] * 3, [1.0] * 3, [1.0] * 3],
    )  # fmt: skip
    goal = Aim("eye", rng_of(seed).normal(size=3) * 9, axis=(0, 0, 1), offset=(0.1, 0.2, 0.3))
    result = poise.solve(Pose(s, s.rest_q), goal)
    assert result.reached
    world = result.pose.world["eye"]
    begin = world.positions + world.affine[:, :3] @ goal.offset
    direction = rotations.rotate(world.rotations, np.array(goal.axis))
    assert np.linalg.norm(np.cross(goal.target - begin, direction)) < 1e-3 * np.linalg.norm(goal.target - begin)
    assert (goal.target - begin) @ direction > 0


class TestValue:
    def test_a_target_is_a_point_in_space(self):
        for wrong in ([1, 2], [np.nan, 0, 0], [1e200, 0, 0], "there"):
            with pytest.raises(InputError, match="^the target of 'eye'"):
                Aim("eye", wrong)

    @pytest.mark.parametrize("offset", [1.0, [1, 2], [np.inf, 0, 0], [[0, 0, 0]], [1e200, 0, 0], "tip"])
    def test_an_offset_is_one_point(self, offset):
        for make in (Aim, Position, poise.LookAt):
            with pytest.raises(InputError, match="^the offset of 'eye'"):
                make("eye", [0, 0, 1], offset=offset)
