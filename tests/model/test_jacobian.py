"""Jacobians against central differences of forward kinematics, for every kind of joint, scale and coupling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise import Kind, Pose, Skeleton
from poise.maths import rotations
from tests.strategies import random_q, random_skeleton, rng_of, seeds

STEP = 1e-5
NEAR = 3e-8  # relative: a central difference of STEP is off by its square and by rounding / STEP


def stepped(s, q, v, step):
    """Q (nq,) moved along degree of freedom v, as `Pose.jacobian` defines it."""
    q = q.copy()
    for i, kind in enumerate(s.kinds):
        part = s.v_slice(s.names[i])
        if s.couplings[i] or not part.start <= v < part.stop:
            continue
        start, way = s.q_start[i], v - part.start
        if kind in (Kind.HINGE, Kind.SLIDE):
            q[start] += step
        elif kind == Kind.FREE and way < 3:
            q[start + way] += step
        else:
            turn = slice(start + (3 if kind == Kind.FREE else 0), start + Kind(kind).nq)
            q[turn] = rotations.multiply(rotations.about(np.eye(3)[way % 3], step), q[turn])
    return q


def both_ways(pose):
    """Poses (2, nv): a single pose, moved along each degree of freedom and against it."""
    s = pose.skeleton
    q = [[stepped(s, pose.q, v, step) for v in range(s.nv)] for step in (STEP, -STEP)]
    return pose.with_q(np.reshape(q, (2, s.nv, s.nq)))


def differences(moved, joint, point):
    """Jacobian (6, nv) of a single pose by central differences, from its `both_ways`."""
    world = moved.world[joint]
    velocities = (world.matrices[0] - world.matrices[1]) @ [*point, 1.0] / (2 * STEP)
    turns = rotations.multiply(world.rotations[0], rotations.inverse(world.rotations[1]))
    spins = np.copysign(1.0, turns[:, :1]) * turns[:, 1:] / STEP
    return np.concatenate([velocities[:, :3], spins], axis=1).T


def assert_near(jacobian, expected):
    np.testing.assert_allclose(jacobian, expected, rtol=0, atol=NEAR * (1 + np.abs(expected).max(initial=0.0)))


# --- what the columns are ----------------------------------------------------------------------------------------


@given(seeds)
def test_it_is_the_derivative_of_forward_kinematics(seed):
    rng = rng_of(seed)
    s = random_skeleton(rng)
    pose, point = Pose(s, random_q(rng, s)), rng.normal(size=3)
    moved = both_ways(pose)
    for joint in s.names:
        assert_near(pose.jacobian(joint, point), differences(moved, joint, point))


@given(seeds)
def test_translations_and_scales_of_a_pose_count(seed):
    rng = rng_of(seed)
    s = random_skeleton(rng, 6)
    scales = rng.choice([-1.5, 0.5, 2.0], size=(2, 6, 1)) * np.ones(3)
    pose = Pose(s, random_q(rng, s, 2), rng.normal(size=(2, 6, 3)), scales)
    moved = [both_ways(pose[k]) for k in range(2)]
    for joint in s.names:
        both = pose.jacobian(joint, [0.3, 0, -0.2])
        for k in range(2):
            assert_near(both[k], differences(moved[k], joint, [0.3, 0, -0.2]))
            np.testing.assert_array_equal(both[k], pose[k].jacobian(joint, [0.3, 0, -0.2]))


@given(seeds, st.sampled_from(["translations", "scales"]))
def test_either_alone_counts_too(seed, name):
    rng = rng_of(seed)
    s = random_skeleton(rng, 5)
    values = rng.uniform(0.5, 2, size=(5, 1)) * np.ones(3) if name == "scales" else rng.normal(size=(5, 3))
    pose = Pose(s, random_q(rng, s), **{name: values})
    assert_near(pose.jacobian("j4"), differences(both_ways(pose), "j4", np.zeros(3)))


def test_the_columns_of_each_kind_by_hand():
    s = Skeleton.build(
        ["free", "ball", "slide", "hinge", "tip"], range(-1, 4), [4, 3, 2, 1, 0], axes=[[0, 0, 1]] * 5,
        offsets=[[0, 0, 0]] * 4 + [[1, 0, 0]],
    )  # fmt: skip
    pose = Pose(s, s.rest_q).replace({"hinge": np.pi / 2})
    turns = [[0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 0], [-1, 0, 0, 0, 0, 1]]  # the tip is at (0, 1, 0)
    moves = [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]]
    assert s.v_start.tolist() == [0, 6, 9, 10, 11]
    expected = np.array([*moves, *turns, *turns, moves[2], turns[2]]).T
    np.testing.assert_allclose(pose.jacobian("tip"), expected, rtol=0, atol=1e-15)


def test_coupled_joints_count_in_their_leader_with_their_ratio():
    s = Skeleton.build(
        "abt", [-1, 0, 1], [1, 1, 0], axes=[[0, 0, 1]] * 3, offsets=[[0, 0, 0], [1, 0, 0], [1, 0, 0]],
        couplings=[None, poise.Coupling(0, -2.0, 0.0), None],
    )  # fmt: skip
    expected = [[0], [2 - 2], [0], [0], [0], [1 - 2]]  # a turns two metres of arm, b one metre the other way
    np.testing.assert_allclose(Pose(s, [0.0]).jacobian("t"), expected, rtol=0, atol=1e-15)
    assert s.v_slice("b") == s.v_slice("a") == slice(0, 1)


def test_far_from_the_origin_no_digits_are_lost():
    offsets = [[1e9, -1e9, 1e9], [0, 0, 0], [0.3, 0.1, 0.2]]
    s = Skeleton.build("abc", [-1, 0, 1], [0, 3, 0], offsets=offsets)
    x, y, z = offsets[2]
    np.testing.assert_allclose(
        Pose(s, s.rest_q).jacobian("c")[:3], [[0, z, -y], [-z, 0, x], [y, -x, 0]], rtol=0, atol=1e-15
    )


def test_joints_that_are_not_above_have_columns_of_zeros():
    s = Skeleton.build("abcd", [-1, 0, 0, 2], [3, 1, 1, 1], axes=np.ones((4, 3)))
    jacobian = Pose(s, s.rest_q).jacobian("c", [1, 2, 3])
    assert not jacobian[:, [3, 5]].any()
    assert jacobian[:, [0, 1, 2, 4]].any(axis=0).all()


# --- shapes ------------------------------------------------------------------------------------------------------


@given(seeds)
def test_a_batch_gives_the_bits_of_its_members(seed):
    rng = rng_of(seed)
    s = random_skeleton(rng)
    pose, points = Pose(s, random_q(rng, s, 3, 5)), rng.normal(size=(3, 5, 3))
    jacobian = pose.jacobian("j5", points)
    assert jacobian.shape == (3, 5, 6, s.nv)
    np.testing.assert_array_equal(jacobian[2, 3], Pose(s, pose.q[2, 3]).jacobian("j5", points[2, 3]))
    np.testing.assert_array_equal(pose.jacobian("j5", points[0])[1], pose.jacobian("j5", points[[0, 0, 0]])[1])
    np.testing.assert_array_equal(pose.jacobian("j5", points[0, 0])[1, 2], pose[1][2].jacobian("j5", points[0, 0]))


def test_no_poses_no_freedoms_and_joints_that_do_not_move():
    s = Skeleton.build("ab", [-1, 0], [0, 0])
    assert Pose(s, np.zeros(0)).jacobian("b").shape == (6, 0)
    assert Pose(s, np.zeros((4, 0))).jacobian("b").shape == (4, 6, 0)
    s = Skeleton.build("ab", [-1, 0], [0, 1], axes=np.eye(3)[:2])
    assert Pose(s, np.zeros((0, 1))).jacobian("b").shape == (0, 6, 1)
    np.testing.assert_array_equal(Pose(s, [0.5]).jacobian("a", [1, 2, 3]), np.zeros((6, 1)))
    np.testing.assert_allclose(Pose(s, [0.5]).jacobian("b"), [[0], [0], [0], [0], [1], [0]], rtol=0, atol=1e-15)


@pytest.mark.parametrize("point", [[1, 2], [1, 2, np.nan], "abc", 1.0])
def test_bad_points_are_refused(point):
    s = Skeleton.build("a", [-1], [3])
    with pytest.raises(poise.InputError, match="point must"):
        Pose(s, s.rest_q).jacobian("a", point)


def test_points_of_another_batch_are_refused():
    s = Skeleton.build("a", [-1], [3])
    with pytest.raises(poise.InputError, match=r"batch shape \(2,\).*\(3,\)"):
        Pose(s, np.tile(s.rest_q, (3, 1))).jacobian("a", np.zeros((2, 3)))
    with pytest.raises(poise.InputError, match=r"batch shape \(2,\).*\(\)"):
        Pose(s, s.rest_q).jacobian("a", np.zeros((2, 3)))


def test_an_unknown_joint_is_named():
    s = Skeleton.build("a", [-1], [3])
    with pytest.raises(poise.UnknownNameError, match="'b'"):
        Pose(s, s.rest_q).jacobian("b")


# --- scale that is not uniform -----------------------------------------------------------------------------------

STRETCHED = [[1.0, 1.0, 1.0], [1.0, 2.0, 0.5], [1.0, 1.0, 1.0]]


@pytest.mark.parametrize("scales", [STRETCHED, [[1, 1, 1], [2, 2, 0], [1, 1, 1]]])
def test_below_what_turns_it_is_exact(scales):
    rng = rng_of(4)
    s = Skeleton.build("abc", [-1, 0, 1], [3, 1, 2], axes=np.ones((3, 3)), offsets=np.eye(3), scales=scales)
    pose, point = Pose(s, random_q(rng, s)), rng.normal(size=3)
    expected = differences(both_ways(pose), "c", point)
    kept = slice(None) if scales is STRETCHED else slice(3)  # a flattened joint has no rotation to differentiate
    assert_near(pose.jacobian("c", point)[kept], expected[kept])


@given(seeds)
def test_what_turns_below_it_is_exact(seed):
    """Every kind of joint, couplings, mirrors; the rotation of a sheared joint is the nearest one."""
    rng = rng_of(seed)
    s = random_skeleton(rng, scale=False)
    scales = rng.choice([-1.0, 1.0], size=(len(s), 1)) * rng.uniform(0.6, 1.6, size=(len(s), 3))
    pose, point = Pose(s, random_q(rng, s), scales=scales), rng.normal(size=3)
    expected = differences(both_ways(pose), s.names[-1], point)
    assert_near(pose.jacobian(s.names[-1], point), expected)


def test_a_pose_has_its_own_bits_beside_one_that_shears():
    rng = rng_of(2)
    s = Skeleton.build("abc", [-1, 0, 1], [3, 3, 3], offsets=np.eye(3))
    q = random_q(rng, s, 3)
    scales = np.stack([np.ones((3, 3)), rng.uniform(0.8, 1.2, size=(3, 3)), np.full((3, 3), 2.0)])
    together = Pose(s, q, scales=scales).jacobian("c")
    for i in range(3):
        np.testing.assert_array_equal(Pose(s, q[i], scales=scales[i]).jacobian("c"), together[i])


def test_what_turns_below_a_scale_of_zero_is_refused():
    flat = [[1, 1, 1], [0, 0, 0], [1, 1, 1]]
    s = Skeleton.build("abc", [-1, 0, 1], [3, 2, 1], axes=np.ones((3, 3)), scales=flat)
    with pytest.raises(poise.UnsupportedError, match="scale above 'c' is zero"):
        Pose(s, s.rest_q).jacobian("c")
    assert Pose(s, s.rest_q).jacobian("b").shape == (6, s.nv)
    plain = Skeleton.build("abc", [-1, 0, 1], [3, 2, 1], axes=np.ones((3, 3)))
    with pytest.raises(poise.UnsupportedError, match="scale above 'c'"):
        Pose(plain, np.tile(s.rest_q, (2, 1)), scales=[np.ones((3, 3)), flat]).jacobian("c")


def test_the_noise_of_exported_scales_passes():
    s = Skeleton.build("ab", [-1, 0], [3, 3], offsets=np.eye(3)[:2], scales=[[1, 1 + 1e-5, 1 - 1e-5], [1, 1, 1]])
    pose = Pose(s, random_q(rng_of(2), s))
    expected = differences(both_ways(pose), "b", np.ones(3))
    np.testing.assert_allclose(pose.jacobian("b", np.ones(3))[:3], expected[:3], rtol=0, atol=1e-8)
    np.testing.assert_allclose(pose.jacobian("b", np.ones(3))[3:], expected[3:], rtol=0, atol=1e-4)
