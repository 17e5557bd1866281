"""The rotation nearest to a map that is nearly one: as the singular value decomposition finds it."""

from __future__ import annotations

import numpy as np
import pytest

from poise.kernels.rotation_matrices import find_nearest_rotation
from poise.maths import rotations
from poise.maths.rotations import rotation_part
from tests.kernels.kernel_entries import compiled
from tests.strategies import rng_of, unit_quaternions


@compiled
def _found(m):
    return find_nearest_rotation(m)


def found(linear):
    """The rotation (3, 3) that is found for a linear map, and whether it is nearly one."""
    x, y, z, near = _found(np.concatenate([linear, np.full((3, 1), 7.0)], axis=1).ravel())
    return np.array([x, y, z]).T, near


@pytest.mark.parametrize("factor", [1.0, -3.0, 1e-8, -1e8])
@pytest.mark.parametrize("off", [0.0, 1e-9, 1e-4, 0.03])
def test_it_is_that_of_the_singular_values(factor, off):
    rng = rng_of(4)
    for turn in rotations.as_matrix(unit_quaternions(rng, 10)):
        linear = factor * turn @ (np.eye(3) + off * rng.uniform(-1, 1, (3, 3)))
        rotation, near = found(linear)
        assert near
        np.testing.assert_allclose(rotation, rotation_part(linear), rtol=0, atol=1e-14)


@pytest.mark.parametrize("linear", [np.zeros((3, 3)), np.diag([1.0, 1.0, 0.0]), np.diag([1.0, 1.0, 1.5])])
def test_what_is_far_from_any_is_left_to_others(linear):
    assert not found(linear)[1]


def test_what_is_no_number_is_left_to_others():
    assert not found(np.full((3, 3), np.nan))[1]
