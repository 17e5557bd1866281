"""Euler angles against scipy's rotations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from poise.errors import InputError
from poise.maths import euler

angle = st.floats(-10.0, 10.0)
triples = st.tuples(angle, angle, angle)
orders = st.sampled_from(euler.ORDERS)


def apart(a, b):
    """Largest difference of two sets of quaternions, up to their sign."""
    return np.minimum(np.abs(a - b).max(axis=-1), np.abs(a + b).max(axis=-1)).max()


def oracle(angles, order):
    return Rotation.from_euler(order, angles).as_quat(scalar_first=True)


@given(triples, orders)
def test_quaternions_agree_with_scipy(angles, order):
    assert apart(euler.to_quaternion(angles, order), oracle(angles, order)) < 1e-14


@given(triples, orders)
def test_there_and_back_is_the_same_rotation(angles, order):
    q = euler.to_quaternion(angles, order)
    back = euler.from_quaternion(q, order)
    assert (np.abs(back) <= np.array([np.pi, np.pi / 2, np.pi]) + 1e-15).all()
    assert apart(euler.to_quaternion(back, order), q) < 1e-14


@given(st.tuples(st.floats(-3.14, 3.14), st.floats(-1.5, 1.5), st.floats(-3.14, 3.14)), orders)
def test_angles_in_range_come_back_as_they_were(angles, order):
    # 1e-12: at 1.5 rad the cosine of the middle angle is 0.07, and outer angles lose that much
    np.testing.assert_allclose(euler.from_quaternion(euler.to_quaternion(angles, order), order), angles, atol=1e-12)


@pytest.mark.parametrize("order", euler.ORDERS)
@pytest.mark.parametrize("middle", [-np.pi / 2, np.pi / 2])
@pytest.mark.parametrize("off", [0.0, 1e-13, 1e-11, 1e-8])
def test_gimbal_lock_keeps_the_rotation(order, middle, off):
    outer = np.linspace(-3.0, 3.0, 13)
    angles = np.stack([outer, np.full(13, middle - np.sign(middle) * off), outer[::-1] * 0.7], axis=-1)
    q = euler.to_quaternion(angles, order)
    back = euler.from_quaternion(q, order)
    # beside the lock's own width of 1e-12 nothing is lost
    assert apart(euler.to_quaternion(back, order), q) < 2e-12
    if off == 0.0:
        np.testing.assert_allclose(back[:, 2], 0.0, atol=1e-15)


def test_many_at_once_agree_with_scipy():
    q = Rotation.random(2000, random_state=7).as_quat(scalar_first=True)
    for order in euler.ORDERS:
        expected = Rotation.from_quat(q, scalar_first=True).as_euler(order)
        np.testing.assert_allclose(
            euler.from_quaternion(q.reshape(20, 100, 4), order).reshape(-1, 3), expected, atol=1e-9
        )


@pytest.mark.parametrize("order", euler.ORDERS)
def test_a_quaternion_of_other_length_gives_the_same_angles(order):
    q = euler.to_quaternion([0.3, 0.4, -0.5], order)
    np.testing.assert_allclose(euler.from_quaternion(1e-3 * q, order), [0.3, 0.4, -0.5], atol=1e-14)


@given(triples, triples, orders)
def test_nearest_is_the_same_rotation_and_never_farther(angles, reference, order):
    angles, reference = np.array(angles), np.array(reference)
    near = euler.find_nearest_angles(angles, reference)
    assert apart(euler.to_quaternion(near, order), euler.to_quaternion(angles, order)) < 1e-14
    assert np.abs(near - reference).sum() <= np.abs(angles - reference).sum() + 1e-12


def test_nearest_finds_the_other_triple_of_a_rotation():
    assert np.allclose(
        euler.find_nearest_angles(np.array([0.1 + np.pi, np.pi - 0.2, 0.3 - np.pi]), np.zeros(3)), [0.1, 0.2, 0.3]
    )


@pytest.mark.parametrize("order", euler.ORDERS)
def test_a_smooth_motion_gets_smooth_angles(order):
    t = np.linspace(0.0, 1.0, 400)[:, None]
    smooth = np.concatenate([9.0 * t, 5.0 * np.sin(4.0 * t), -7.0 * t], axis=1)  # passes a quarter turn, wraps often
    principal = euler.from_quaternion(euler.to_quaternion(smooth, order), order)
    assert np.abs(np.diff(principal, axis=0)).max() > 1.0  # the principal angles do jump
    joined = euler.unwrap_angles(np.stack([principal, principal], axis=1))
    np.testing.assert_allclose(np.diff(joined[:, 0], axis=0), np.diff(smooth, axis=0), atol=1e-9)
    np.testing.assert_array_equal(joined[:, 0], joined[:, 1])
    assert apart(euler.to_quaternion(joined[:, 0], order), euler.to_quaternion(smooth, order)) < 1e-12


def test_none_and_one_frame_are_continuous():
    assert euler.unwrap_angles(np.zeros((0, 2, 3))).shape == (0, 2, 3)
    np.testing.assert_array_equal(euler.unwrap_angles(np.ones((1, 2, 3))), np.ones((1, 2, 3)))


@pytest.mark.parametrize("order", ["", "xyz", "XYX", "ZX"])
def test_unknown_orders_are_refused(order):
    with pytest.raises(InputError, match="unknown rotation order"):
        euler.to_quaternion([0, 0, 0], order)
    with pytest.raises(InputError, match="known: XYZ, XZY"):
        euler.from_quaternion([1, 0, 0, 0], order)


def test_values_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match="must be finite"):
        euler.to_quaternion([0, np.nan, 0], "XYZ")
