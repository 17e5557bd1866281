from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import poise
from poise.maths import rotations
from poise.maths.rotations import rotation_part
from tests.reference import slow_kinematics
from tests.strategies import random_q, random_skeleton, rng_of, seeds, straight_chain, unit_quaternions


@given(seeds)
def test_world_transforms_agree_with_the_definition(seed):
    rng = rng_of(seed)
    s = random_skeleton(rng)
    q = random_q(rng, s, 3)
    pose = poise.Pose(s, q)
    expected = np.array([slow_kinematics.world(s, row) for row in q])
    np.testing.assert_allclose(pose.world.matrices, expected, atol=1e-12)
    np.testing.assert_allclose(pose.world["j3"].positions, expected[:, 3, :3, 3], atol=1e-12)


@given(seeds)
def test_local_transforms_compose_to_world(seed):
    rng = rng_of(seed)
    s = random_skeleton(rng)
    pose = poise.Pose(s, random_q(rng, s))
    for i, parent in enumerate(s.parents):
        above = np.eye(4) if parent < 0 else pose.world.matrices[parent]
        np.testing.assert_allclose(above @ pose.local.matrices[i], pose.world.matrices[i], atol=1e-12)


@given(seeds)
def test_a_batch_gives_the_bits_of_its_members(seed):
    rng = rng_of(seed)
    s = random_skeleton(rng)
    q = random_q(rng, s, 2, 3)
    world = poise.Pose(s, q).world
    assert world.affine.shape == (2, 3, len(s), 3, 4)
    np.testing.assert_array_equal(world.affine[1, 2], poise.Pose(s, q[1, 2]).world.affine)


@given(seeds)
def test_translations_and_scales_replace_a_and_b(seed):
    rng = rng_of(seed)
    s = random_skeleton(rng)
    q, t, scale = random_q(rng, s), rng.normal(size=(len(s), 3)), rng.uniform(0.5, 2, size=(len(s), 3))
    pose = poise.Pose(s, q, t, scale)
    other = poise.Skeleton.build(
        s.names, s.parents, s.kinds, axes=s.axes, rotations=s.A[:, 3:], scales=scale, couplings=s.couplings,
        offsets=np.where((s.kinds == poise.Kind.FREE)[:, None], s.A[:, :3], t),
    )  # fmt: skip
    np.testing.assert_allclose(pose.world.affine, poise.Pose(other, q).world.affine, atol=1e-12)


@given(seeds, st.sampled_from([(), ("translations",), ("scales",), ("translations", "scales")]))
def test_one_joint_has_the_bits_of_all(seed, names):
    rng = rng_of(seed)
    s = random_skeleton(rng)
    given = {name: rng.uniform(0.5, 2, size=(11, len(s), 3)) for name in names}
    pose = poise.Pose(s, random_q(rng, s, 11), **given)
    for joint in s.names:
        one = pose.world_of(joint)
        np.testing.assert_array_equal(one.affine, pose.world[joint].affine)
        np.testing.assert_array_equal(one.affine[9], pose[9].world_of(joint).affine)
        np.testing.assert_array_equal(one.rotations, pose.world.rotations[:, s.index(joint)])


def test_world_maps_are_read_only():
    pose = poise.Pose(straight_chain(2), straight_chain(2).rest_q)
    for maps in (pose.world, pose.world["tip"], pose.world_of("tip")):
        for array in (maps.affine, maps.positions):
            assert not array.flags.writeable
    for array in (pose.local_positions, pose.local_rotations):
        assert not array.flags.writeable


@given(seeds)
def test_what_one_pose_is_given_is_not_remembered_for_others(seed):
    rng = rng_of(seed)
    s = random_skeleton(rng)
    q, values = random_q(rng, s), rng.uniform(0.5, 2, size=(len(s), 3))
    for more in ({}, {"scales": values}, {"translations": values}, {"translations": values, "scales": values}):
        fresh = poise.Pose(dataclasses.replace(s), q, **more)
        np.testing.assert_array_equal(poise.Pose(s, q, **more).world.affine, fresh.world.affine)
        np.testing.assert_array_equal(poise.Pose(s, q, **more).world_of("j7").affine, fresh.world["j7"].affine)


def test_one_joint_of_no_poses_and_of_many_axes():
    s = poise.Skeleton.build("ab", [-1, 0], [3, 1], axes=np.ones((2, 3)))
    assert poise.Pose(s, np.zeros((0, 5))).world_of("b").affine.shape == (0, 3, 4)
    assert poise.Pose(s, np.zeros((0, 5))).world.rotations.shape == (0, 2, 4)
    assert poise.Pose(s, np.tile(s.rest_q, (2, 3, 1))).world_of("a").rotations.shape == (2, 3, 4)
    with pytest.raises(poise.UnknownNameError, match="'c'"):
        poise.Pose(s, s.rest_q).world_of("c")


@pytest.mark.parametrize("scale", [1.0, -1.0])
@pytest.mark.parametrize("angle", [0.0, 1.0, np.pi / 2, np.pi, 3.0, 1e3, 9.9999e4, 1.0001e5, 1e9, 1e15, 1e300])
def test_angles_of_any_size_turn_as_libm_says(angle, scale):
    s = poise.Skeleton.build("a", [-1], [1], axes=[[0, 0, 1]])
    angles = scale * np.array([angle, np.nextafter(angle, 7.0), 0.1, 0.2])  # huge ones beside small ones
    affine = poise.Pose(s, angles[:, None]).world_of("a").affine
    expected = [[[np.cos(x), -np.sin(x), 0, 0], [np.sin(x), np.cos(x), 0, 0], [0, 0, 1, 0]] for x in angles]
    np.testing.assert_allclose(affine, expected, atol=2e-16 * max(abs(angle), 4) if angle < 1e5 else 4e-16)


def test_affine_b_with_translation_and_shear_counts():
    rng = rng_of(8)
    s = random_skeleton(rng, 12)
    s = dataclasses.replace(s, B=rng.normal(size=(12, 3, 4)))
    q = random_q(rng, s)
    expected = slow_kinematics.world(s, q)
    np.testing.assert_allclose(poise.Pose(s, q).world.matrices, expected, atol=1e-12 * np.abs(expected).max())


BONE = poise.Skeleton.build(["bone"], [-1], [poise.Kind.BALL])


class TestRotations:
    @given(seeds)
    def test_they_are_those_of_the_nearest_rotation_matrix(self, seed):
        rng = rng_of(seed)
        turned = rotations.as_matrix(unit_quaternions(rng, 20)) * rng.choice([-3.0, 0.1, 1.0], size=(20, 1, 1))
        turned[15:] = rng.normal(size=(5, 3, 3))
        turned[12:15] = rotations.as_matrix(np.eye(4)[1:])  # half turns
        affine = np.concatenate([turned, rng.normal(size=(20, 3, 1))], axis=-1)
        found = poise.Transforms(BONE, affine).rotations
        np.testing.assert_allclose(found, rotations.from_matrix(rotation_part(turned)), atol=1e-14)
        assert (found[:, 0] >= 0).all()
        np.testing.assert_array_equal(found[7], poise.Transforms(BONE, affine[7]).rotations)

    @pytest.mark.parametrize("size", [0.0, 1e-200, 1e200])
    def test_maps_without_size_or_beyond_floats_have_one_too(self, size):
        with np.errstate(all="ignore"):
            found = poise.Transforms(BONE, size * np.eye(3, 4)).rotations
        np.testing.assert_array_equal(found, [1, 0, 0, 0])


class TestRotationPart:
    @given(seeds)
    def test_uniform_and_mirrored_scale_are_taken_out(self, seed):
        rng = rng_of(seed)
        q = unit_quaternions(rng, 4)
        r = Rotation.from_quat(np.roll(q, -1, axis=-1)).as_matrix()
        scale = rng.choice([-1, 1], size=4) * 10 ** rng.uniform(-3, 3, size=4)
        np.testing.assert_allclose(rotation_part(r * scale[:, None, None]), r, atol=1e-12)

    @given(seeds)
    def test_of_a_stretched_map_it_is_the_polar_factor(self, seed):
        rng = rng_of(seed)
        r = Rotation.from_quat(rng.normal(size=(1, 4))).as_matrix()
        stretch = rng.normal(size=(1, 3, 3))
        stretch = stretch @ np.swapaxes(stretch, 1, 2) + 0.1 * np.eye(3)
        np.testing.assert_allclose(rotation_part(r @ stretch), r, atol=1e-9)

    def test_a_flat_map_has_none(self):
        np.testing.assert_array_equal(rotation_part(np.zeros((1, 3, 3))), np.eye(3)[None])


class TestReplace:
    def test_by_name(self):
        s = poise.Skeleton.build("abc", [-1, 0, 1], [1, 3, 4], axes=np.ones((3, 3)))
        pose = poise.Pose(s, s.rest_q).replace({"a": 0.5, "b": [2, 0, 0, 0], "c": [1, 2, 3, 0, 0, 5, 0]})
        np.testing.assert_array_equal(pose.q, [0.5, 1, 0, 0, 0, 1, 2, 3, 0, 0, 1, 0])

    @pytest.mark.parametrize(("name", "value"), [("a", "x"), ("b", [1, 0, 0]), ("b", [0, 0, 0, 0]), ("a", np.nan)])
    def test_bad_values_are_refused(self, name, value):
        s = poise.Skeleton.build("ab", [-1, 0], [1, 3], axes=np.ones((2, 3)))
        with pytest.raises(poise.InputError):
            poise.Pose(s, s.rest_q).replace({name: value})

    def test_what_has_no_numbers_is_refused(self):
        s = poise.Skeleton.build(
            "abc", [-1, 0, 1], [1, 1, 0], axes=np.ones((3, 3)), couplings=[None, poise.Coupling(0, 1, 0), None]
        )
        with pytest.raises(poise.InputError, match="'b' follows 'a'"):
            poise.Pose(s, s.rest_q).replace({"b": 1})
        with pytest.raises(poise.InputError, match="'c' is fixed"):
            poise.Pose(s, s.rest_q).replace({"c": 1})


def test_blending_meets_both_ends_and_halves_rotations():
    s = poise.Skeleton.build("ab", [-1, 0], [4, 3])
    a = poise.Pose(s, s.rest_q)
    b = a.replace({"a": [2, 0, 0, 1, 0, 0, 0], "b": [0.5**0.5, 0.5**0.5, 0, 0]})
    np.testing.assert_array_equal(a.blend(b, 0).q, a.q)
    np.testing.assert_allclose(a.blend(b, 1).q, b.q, atol=1e-15)
    half = a.blend(b, 0.5)
    np.testing.assert_allclose(half.q, [1, 0, 0, 1, 0, 0, 0, np.cos(np.pi / 8), np.sin(np.pi / 8), 0, 0], atol=1e-15)
    assert a.blend(b, np.linspace(0, 1, 5)).shape == (5,)


@pytest.mark.parametrize("q", [[1, 2], [[1, 2, 3]], np.full(5, np.nan), "abc"])
def test_a_q_of_the_wrong_shape_or_not_finite_is_refused(q):
    s = poise.Skeleton.build("ab", [-1, 0], [1, 3], axes=np.ones((2, 3)))
    with pytest.raises(poise.InputError, match="q must"):
        poise.Pose(s, q)


def test_a_single_pose_is_no_batch():
    s = poise.Skeleton.build("a", [-1], [3])
    pose = poise.Pose(s, s.rest_q)
    with pytest.raises(TypeError, match="no length"):
        len(pose)
    with pytest.raises(TypeError, match="indexed"):
        pose[0]
    with pytest.raises(TypeError, match=r"the transform of a joint is pose\.world\['a'\]"):
        pose["a"]
    with pytest.raises(TypeError, match=r"the transform of a joint is pose\.world\['a'\]"):
        poise.Pose(s, s.rest_q[None])["a"]


def test_quaternions_in_q_are_made_unit_and_unit_ones_are_left_alone():
    s = poise.Skeleton.build("ab", [-1, 0], [4, 3])
    q = random_q(rng_of(3), s)
    np.testing.assert_array_equal(poise.Pose(s, q).q, q)
    stretched = q.copy()
    stretched[3:] *= 3
    np.testing.assert_allclose(poise.Pose(s, stretched).q, q, atol=1e-15)
    with pytest.raises(poise.InputError, match="'b' in q has zero length"):
        poise.Pose(s, np.concatenate([q[:7], np.zeros(4)]))


@given(seeds)
def test_one_pose_is_made_unit_with_the_bits_of_a_batch(seed):
    """A kernel checks one pose where it is loaded, NumPy a batch."""
    rng = rng_of(seed)
    s = random_skeleton(rng)
    poise.Pose(s, s.rest_q).world  # noqa: B018  (loads the kernels)
    q = random_q(rng, s, 4)
    lengths = [1.0, 1 + 3e-13, 1 + 2e-12, 3.0, 1e-160, 1e160]
    for columns in s.quaternion_columns:
        q[:, columns] *= rng.choice(lengths, size=(4, 1))
    batch = poise.Pose(s, q).q
    for one, expected in zip(q, batch, strict=True):
        np.testing.assert_array_equal(poise.Pose(s, one).q, expected)
        np.testing.assert_array_equal(poise.Pose(s, np.repeat(one, 2)[::2]).q, expected)


def test_what_is_in_q_is_checked_whatever_its_columns():
    s = straight_chain(3, kind=4)
    q = s.rest_q.copy()
    for i in range(s.nq):
        for bad in (np.nan, np.inf):
            with pytest.raises(poise.InputError, match="must be finite"):
                poise.Pose(s, np.where(np.arange(s.nq) == i, bad, q))
    q[s.quaternion_columns[1]] = 0.0
    for each in (q, q[None], q.tolist()):
        with pytest.raises(poise.InputError, match=f"the rotation of {s.names[1]!r} in q has zero length"):
            poise.Pose(s, each)
