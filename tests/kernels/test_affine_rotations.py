"""Rotations of affine maps: at once where the map is nearly a rotation times a factor, by others where it is not."""

from __future__ import annotations

import numpy as np
import pytest

from poise.kernels import kinematics
from poise.maths import rotations
from tests.strategies import rng_of, unit_quaternions

EXACT = 1e-9


def turns_of(linear):
    """What the kernel finds for linear maps (k, 3, 3)."""
    maps = np.zeros((len(linear), 3, 4))
    maps[:, :, :3], maps[:, :, 3] = linear, 7.0
    turns = np.full((len(linear), 4), np.nan)
    kinematics.similarities_to_quaternions(maps.reshape(-1, 12), EXACT, turns)
    return turns


@pytest.mark.parametrize("factor", [1.0, -1.0, 1e-6, -1e6])
def test_a_rotation_times_a_factor_is_that_rotation(factor):
    turns = unit_quaternions(rng_of(1), 20)
    found = turns_of(factor * rotations.as_matrix(turns))
    assert (found[:, 0] >= 0.0).all()
    np.testing.assert_allclose(found * np.sign((found * turns).sum(axis=1))[:, None], turns, atol=1e-12)


@pytest.mark.parametrize("noise", [1e-7, 1e-4, 1e-2])
@pytest.mark.parametrize("factor", [1.0, -1.0, 1e-6, -1e6])
def test_of_what_is_nearly_such_a_map_it_is_the_nearest(factor, noise):
    rng = rng_of(3)
    linear = rotations.as_matrix(unit_quaternions(rng, 50)) + noise * rng.uniform(-1.0, 1.0, (50, 3, 3))
    nearest = rotations.from_matrix(rotations.rotation_part(linear))  # by singular values
    np.testing.assert_allclose(turns_of(factor * linear), nearest, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize(
    "spoilt", [np.diag([1.0, 1.0, 1.5]), np.diag([1.0, 1.0, 0.0]), np.zeros((3, 3)), np.eye(3) + np.eye(3, k=1)]
)
def test_what_is_no_such_map_is_left_to_others(spoilt):
    found = turns_of(rotations.as_matrix(unit_quaternions(rng_of(2), 5)) @ spoilt)
    np.testing.assert_array_equal(found[:, 0], -1.0)
