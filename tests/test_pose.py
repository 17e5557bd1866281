from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.transform import Rotation

import poise
from poise.pose import rotation_part
from tests.reference import slow_kinematics
from tests.strategies import random_q, random_skeleton, rng_of, seeds, unit_quaternions


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
    np.testing.assert_array_equal(a.blended(b, 0).q, a.q)
    np.testing.assert_allclose(a.blended(b, 1).q, b.q, atol=1e-15)
    half = a.blended(b, 0.5)
    np.testing.assert_allclose(half.q, [1, 0, 0, 1, 0, 0, 0, np.cos(np.pi / 8), np.sin(np.pi / 8), 0, 0], atol=1e-15)
    assert a.blended(b, np.linspace(0, 1, 5)).shape == (5,)


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


def test_quaternions_in_q_are_made_unit_and_unit_ones_are_left_alone():
    s = poise.Skeleton.build("ab", [-1, 0], [4, 3])
    q = random_q(rng_of(3), s)
    np.testing.assert_array_equal(poise.Pose(s, q).q, q)
    stretched = q.copy()
    stretched[3:] *= 3
    np.testing.assert_allclose(poise.Pose(s, stretched).q, q, atol=1e-15)
    with pytest.raises(poise.InputError, match="'b' in q has zero length"):
        poise.Pose(s, np.concatenate([q[:7], np.zeros(4)]))
