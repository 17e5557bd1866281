from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

import poise
from poise import kernels
from poise.maths import rotations
from poise.maths import vectors as vectors_of_one
from tests.kernels.kernel_entries import entered
from tests.strategies import rng_of, seeds, unit_quaternions, vectors

UNITS = st.sampled_from([1e-300, 1e-160, 1e-9, 1.0, 1e9, 1e160, 1e300])


def scipy_of(q):
    return Rotation.from_quat(np.roll(q, -1, axis=-1))


@given(seeds)
def test_products_inverses_and_matrices_agree_with_scipy(seed):
    rng = rng_of(seed)
    a, b, v = unit_quaternions(rng, 5), unit_quaternions(rng, 5), rng.normal(size=(5, 3))
    np.testing.assert_allclose(
        rotations.as_matrix(rotations.multiply(a, b)), (scipy_of(a) * scipy_of(b)).as_matrix(), atol=1e-14
    )
    np.testing.assert_allclose(rotations.rotate(a, v), scipy_of(a).apply(v), atol=1e-14)
    np.testing.assert_allclose(rotations.rotate(rotations.inverse(a), rotations.rotate(a, v)), v, atol=1e-14)
    back = rotations.from_matrix(rotations.as_matrix(a))
    np.testing.assert_allclose(back, np.where(a[:, :1] < 0, -a, a), atol=1e-14)


@given(seeds, UNITS)
def test_one_vector_and_many_have_the_same_bits(seed, unit):
    rng = rng_of(seed)
    p, q, v, w = unit_quaternions(rng, 1), unit_quaternions(rng, 1), rng.normal(size=(1, 3)), rng.normal(size=(1, 3))
    for call, first, second in (
        (rotations.multiply, p, q),
        (rotations.rotate, p, unit * v),
        (vectors_of_one.cross, unit * v, w),
        (rotations.rotation_between, unit * v, w),
        (rotations.rotation_between, unit * v, -unit * v),
        (rotations.rotation_between, unit * v, 0.0 * w),
        (rotations.rotation_between, v, v + 1e-17 * unit * w),
    ):
        assert call(first[0], second[0]).tobytes() == call(first, second)[0].tobytes()
    for each in (unit * v, 0.0 * v):
        with np.errstate(all="ignore"):
            many = vectors_of_one.normalise(each)
        assert vectors_of_one.normalise(each[0]).tobytes() == many[0].tobytes()


@pytest.mark.parametrize("shapes", [((40,), (40,)), ((20, 3), (3,)), ((2,), (30, 2)), ((), (40,)), ((9, 1), (9, 5))])
@pytest.mark.parametrize("unit", [1e-300, 1.0, 1e160])
def test_rows_of_a_kernel_have_the_bits_of_one(shapes, unit):
    kernels.vector_rows  # noqa: B018  (loaded: many rows go to it)
    rng, (shape, other) = np.random.default_rng(9), shapes
    q, p = unit_quaternions(rng, int(np.prod(shape))), unit_quaternions(rng, int(np.prod(other)))
    q, p = q.reshape(*shape, 4), p.reshape(*other, 4)
    v, w = unit * rng.normal(size=(*shape, 3)), rng.normal(size=(*other, 3))
    with np.errstate(all="ignore"):  # of one as of many, huge squares are infinite
        for call, first, second in (
            (rotations.multiply, q, p),
            (rotations.rotate, q, w),
            (rotations.rotate, p, v),
            (vectors_of_one.cross, v, w),
        ):
            many = call(first, second)
            sizes = first.shape[-1], second.shape[-1]
            pairs = (
                np.broadcast_to(each, (*many.shape[:-1], size))
                for each, size in zip((first, second), sizes, strict=True)
            )
            alone = [call(a, b) for a, b in zip(*(each.reshape(-1, each.shape[-1]) for each in pairs), strict=True)]
            assert many.tobytes() == np.array(alone).tobytes()
        alone = [vectors_of_one.normalise(each) for each in v.reshape(-1, 3)]
        assert vectors_of_one.normalise(v).tobytes() == np.array(alone).tobytes()
    ends = np.where(rng.uniform(size=(*shape, 1)) < 0.5, v, -v)
    for end in (rng.normal(size=(*shape, 3)), v, ends, ends * (rng.uniform(size=(*shape, 1)) < 0.5)):
        many = rotations.rotation_between(v, end)
        alone = [rotations.rotation_between(*each) for each in zip(v.reshape(-1, 3), end.reshape(-1, 3), strict=True)]
        assert many.tobytes() == np.array(alone).tobytes()


@pytest.mark.parametrize("count", [1, 2, 3, 8, 101])
def test_medians_are_those_of_numpy(count):
    values = np.random.default_rng(count).normal(size=(count, 4, 3))
    values[:, 0] = np.round(values[:, 0])  # ties
    np.testing.assert_array_equal(vectors_of_one.median(values), np.median(values, axis=0))
    assert float(vectors_of_one.median(values[:, 1, 1])) == np.median(values[:, 1, 1])


@pytest.mark.parametrize("axis", np.eye(3))
@pytest.mark.parametrize("angle", [0, 1e-12, 1e-8, np.pi / 2, np.pi - 1e-8, np.pi])
def test_from_matrix_at_the_edges_of_its_four_branches(axis, angle):
    q = rotations.about(axis, angle)
    np.testing.assert_allclose(rotations.from_matrix(rotations.as_matrix(q)), np.abs(q), atol=1e-15)


@given(seeds, st.floats(0, 1))
def test_slerp_agrees_with_scipy(seed, t):
    a, b = unit_quaternions(rng_of(seed), 2)
    expected = Slerp([0, 1], Rotation.concatenate([scipy_of(a), scipy_of(b)]))(t)
    assert (scipy_of(rotations.slerp(a, b, t)) * expected.inv()).magnitude() < 1e-12


def test_slerp_of_components_at_ends_has_the_bits_of_slerp():
    rng = np.random.default_rng(3)
    a, b = unit_quaternions(rng, 60), unit_quaternions(rng, 60)
    b[:10], b[10:20], a[20:30], b[25:30] = a[:10], -a[10:20], np.eye(4)[0], np.eye(4)[1]
    t = rng.integers(2, size=60).astype(float)
    for fractions in (t, np.where(np.arange(60) == 7, 0.25, t)):
        by_component = rotations.slerp_components(a.T.copy(), b.T.copy(), fractions)
        assert by_component.T.tobytes() == rotations.slerp(a, b, fractions).tobytes()


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-10, 0.99e-9, 1e-9, 2.01e-9, 1e-4, np.pi - 1e-9])
def test_slerp_at_small_angles_keeps_the_fraction(angle):
    axis = np.array([0.0, 0.6, 0.8])
    q = rotations.slerp(rotations.about(axis, 0.0), rotations.about(axis, angle), 0.25)
    assert rotations.twist_angle(q, axis) == pytest.approx(0.25 * angle, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("angle", [-3.1, -1.0, 0.0, 0.5, 3.1])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_twist_is_the_same_of_both_quaternions_of_a_rotation(angle, sign):
    axis, across = np.array([0.0, 0.6, 0.8]), np.array([1.0, 0.0, 0.0])
    q = sign * rotations.multiply(rotations.about(across, 0.7), rotations.about(axis, angle))
    assert rotations.twist_angle(q, axis) == pytest.approx(angle, abs=1e-12)


def test_slerp_takes_the_shorter_arc_and_returns_its_ends():
    a, b = unit_quaternions(rng_of(0), 2)
    for t, end in ((0.0, a), (1.0, b)):
        for sign in (1, -1):
            q = rotations.slerp(a, sign * b, t)
            np.testing.assert_allclose(np.abs(q @ end), 1.0, atol=1e-15)


@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
def test_rotation_vectors_of_any_number_of_axes_are_those_of_scipy(shape):
    q = unit_quaternions(rng_of(2), 6)[: int(np.prod(shape))].reshape(*shape, 4)
    expected = scipy_of(q.reshape(-1, 4)).as_rotvec().reshape(*shape, 3)
    np.testing.assert_allclose(rotations.as_vector(q), expected, atol=1e-14)


@pytest.mark.parametrize("angle", [1e-300, 1e-12, 0.99e-9, 1.01e-9, 1e-4, 3.0])
def test_a_rotation_vector_of_any_length_gives_the_quaternion_of_scipy(angle):
    vector = angle * np.array([0.0, 0.6, -0.8])
    expected = np.roll(Rotation.from_rotvec(vector).as_quat(), 1)
    np.testing.assert_allclose(rotations.from_vector(vector), expected, rtol=1e-14)


class TestRotationBetween:
    @given(vectors, vectors, UNITS, UNITS)
    def test_turns_one_direction_onto_the_other(self, a, b, unit_a, unit_b):
        if min(np.abs(a).max(), np.abs(b).max()) < 1e-5:
            return
        q = poise.rotation_between(a * unit_a, b * unit_b)
        turned = rotations.rotate(q, a / np.linalg.norm(a))
        np.testing.assert_allclose(turned, b / np.linalg.norm(b), atol=4e-15)
        assert np.linalg.norm(q) == pytest.approx(1, abs=1e-15)

    @given(vectors, vectors)
    def test_is_the_shortest(self, a, b):
        if min(np.abs(a).max(), np.abs(b).max()) < 1e-5:
            return
        cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        angle = 2 * np.arccos(min(abs(poise.rotation_between(a, b)[0]), 1.0))
        assert angle == pytest.approx(np.arccos(np.clip(cosine, -1, 1)), abs=1e-7)

    @pytest.mark.parametrize("a", [(1, 0, 0), (0, -1, 0), (1, 1, 1), (1e-200, 2e-200, 0), (3e250, 0, 1e250)])
    def test_parallel_is_the_identity(self, a):
        np.testing.assert_allclose(poise.rotation_between(a, 2 * np.array(a)), [1, 0, 0, 0], atol=1e-15)

    @pytest.mark.parametrize("a", [(1, 0, 0), (0, 1, 0), (0, 0, -1), (1, 1, 1), (1e-200, 2e-200, 0), (0.3, -0.2, 5)])
    def test_opposite_is_half_a_turn(self, a):
        q = poise.rotation_between(a, -3 * np.array(a))
        assert abs(q[0]) < 1e-15
        assert abs(q[1:] @ np.array(a) / np.abs(a).max()) < 1e-15

    @pytest.mark.parametrize("off", [1e-3, 1e-6, 1e-7, 1e-8, 1e-9, 1e-12, 1e-15, 1e-16, 1e-17])
    def test_nearly_opposite_loses_no_digits(self, off):
        a, b = np.array([1.0, 0, 0]), np.array([-1.0, off, 0])
        turned = rotations.rotate(poise.rotation_between(a, b), a)
        np.testing.assert_allclose(turned, b / np.linalg.norm(b), atol=3e-16)

    @pytest.mark.parametrize(("a", "b"), [((0, 0, 0), (1, 0, 0)), ((1, 2, 3), (0, 0, 0)), ((0, 0, 0), (0, 0, 0))])
    def test_zero_vector_is_the_identity(self, a, b):
        np.testing.assert_array_equal(poise.rotation_between(a, b), [1, 0, 0, 0])

    @pytest.mark.parametrize("bad", [(np.nan, 0, 0), (np.inf, 0, 0), (1, 2), "abc", 3])
    def test_what_is_no_vector_is_refused(self, bad):
        with pytest.raises(poise.InputError):
            poise.rotation_between(bad, (1, 0, 0))

    def test_broadcasts(self):
        assert poise.rotation_between(np.ones((4, 1, 3)), np.ones((5, 3))).shape == (4, 5, 4)

    @given(seeds)
    def test_the_kernel_gives_the_same(self, seed):
        from poise.kernels import vec_quat

        a, b = rng_of(seed).normal(size=(2, 3))
        kernel = entered(vec_quat.rotation_between)(vec_quat.Vec(*a), vec_quat.Vec(*b))
        np.testing.assert_allclose(kernel, poise.rotation_between(a, b), atol=1e-15)


def test_a_quaternion_of_zero_length_is_refused():
    with pytest.raises(poise.InputError, match="zero length"):
        rotations.normalise([[1, 0, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_normalised_at_any_length(size):
    np.testing.assert_allclose(rotations.normalise([size, 0, -size, 0]), [0.5**0.5, 0, -(0.5**0.5), 0], rtol=1e-15)


@pytest.mark.parametrize("apply", [rotations.rotate, vectors_of_one.cross])
def test_many_rows_that_are_too_short_are_no_vectors(apply):
    width = 4 if apply is rotations.rotate else 3
    kernels.vector_rows  # noqa: B018  (loaded, as where many frames move)
    with pytest.raises(IndexError):
        apply(np.ones((40, width)), np.ones((40, 2)))
