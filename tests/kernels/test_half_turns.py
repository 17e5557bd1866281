"""Half turns, and turns at the edge of a limit: the sign that they get, and where they end."""

from __future__ import annotations

import math

import numpy as np
import pytest

import poise
from poise.kernels import limits, rotation_matrices
from poise.kernels.vec_quat import Quat, Vec
from tests.kernels.kernel_entries import entered
from tests.strategies import straight_chain

pytestmark = pytest.mark.long


@pytest.mark.parametrize("axis", range(3))
def test_a_half_turn_about_an_axis_is_reported_by_that_axis(axis):
    matrix, out = np.diag(-np.ones(3)), np.zeros((1, 4))
    matrix[axis, axis] = 1.0
    assert rotation_matrices.convert_to_quaternions(matrix.reshape(1, 9), out) == -1
    assert tuple(out[0]) == tuple(np.eye(4)[axis + 1])


def test_a_half_turn_across_a_hinge_is_as_far_from_all_its_angles():
    excess = entered(limits.measure_hinge_excess)
    across, axis = Quat(0.0, 1.0, 0.0, 0.0), Vec(0.0, 0.0, 1.0)
    for low, high in ((-1.0, 1.0), (0.2, 0.3), (0.0, 0.0)):
        assert math.isfinite(excess(across, axis, low, high))
        assert excess(across, axis, low, high) >= 1.0
    assert excess(Quat(1.0, 0.0, 0.0, 0.0), axis, -1.0, 1.0) == 0.0


def test_a_turn_that_is_out_of_its_box_by_the_last_bits_stays_as_it_is():
    box = poise.EulerBox.degrees("XYZ", x=(-40, 30), y=(-20, 20), z=(-30, 50))
    rows = straight_chain(1, limits=[box]).ball_limits.limit_rows
    for off, stays in ((0.0, True), (0.7e-12, True), (1.4e-12, False), (1e-3, False)):
        half_angle = 0.5 * (math.radians(30.0) + off)
        q = Quat(math.cos(half_angle), math.sin(half_angle), 0.0, 0.0)
        assert (entered(limits.clamp_rotation)(rows[0], q) == q) is stays
