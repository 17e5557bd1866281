"""Half turns: the sign that they get, and what a hinge makes of one across its axis."""

from __future__ import annotations

import math

import numpy as np
import pytest

from poise.kernels.limits import violation
from poise.kernels.values import turns
from poise.kernels.values.linear import Quat, Vec
from tests.kernels.entered import entered


@pytest.mark.parametrize("axis", range(3))
def test_a_half_turn_about_an_axis_is_told_by_that_axis(axis):
    matrix, out = np.diag(-np.ones(3)), np.zeros((1, 4))
    matrix[axis, axis] = 1.0
    assert turns.quaternions(matrix.reshape(1, 9), out) == -1
    assert tuple(out[0]) == tuple(np.eye(4)[axis + 1])


def test_a_half_turn_across_a_hinge_is_as_far_from_all_its_angles():
    excess = entered(violation.hinge_excess)
    across, axis = Quat(0.0, 1.0, 0.0, 0.0), Vec(0.0, 0.0, 1.0)
    for low, high in ((-1.0, 1.0), (0.2, 0.3), (0.0, 0.0)):
        assert math.isfinite(excess(across, axis, low, high))
        assert excess(across, axis, low, high) >= 1.0
    assert excess(Quat(1.0, 0.0, 0.0, 0.0), axis, -1.0, 1.0) == 0.0
