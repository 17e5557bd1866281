"""The quick test of a box of angles beside the whole one, and the ends of ranges without cosines."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from poise import EulerBox
from poise.kernels import layout, limits
from poise.kernels.vec_quat import Quat, Vec
from poise.model.limit_bounds import pack_limit
from tests.strategies import rng_of, seeds, unit_quaternions

MAX_ERROR = 0.005  # [rad] of an estimated angle
END = 2 * limits.ESTIMATE_MARGIN_RAD  # [rad] farther from all ends, the quick test says yes
PUSHES = [Vec(1.0, 0.0, 0.0), Vec(-1.0, 0.0, 0.0), Vec(0.3, -0.9, 0.2), Vec(-0.2, 0.5, 0.9), Vec(0.1, 0.2, -1.0)]
ORDERS = ["XYZ", "ZYX", "ZXY", "YXZ"]
ends = st.sampled_from([(0.0, 0.0), (-180.0, 180.0), (-30.0, 45.0), (-90.0, 90.0), (0.0, 170.0), (-200.0, 10.0)])
angles = st.one_of(st.floats(-np.pi, np.pi), st.sampled_from([0.0, np.pi, -np.pi, np.pi / 2, -np.pi / 2, 1e-9]))


def make_row(order, *ranges):
    return pack_limit(EulerBox.degrees(order, **dict(zip(order.lower(), ranges, strict=True))))


def is_legal(row, q):
    """The whole decomposition, with the frame of the limit."""
    vector = limits.rotate(limits.conjugate(limits.read_quat_at(row, layout.LIMIT_FRAME)), Vec(q.x, q.y, q.z))
    return limits._clamp_euler_box(row, Quat(q.w, vector.x, vector.y, vector.z))[0]


def turn_by(row, a, b, c):
    """The rotation with these angles in the frame of a limit."""
    local = limits._euler_to_quaternion(Vec(a, b, c))
    vector = limits.rotate(limits.read_quat_at(row, layout.LIMIT_FRAME), Vec(local.x, local.y, local.z))
    return Quat(local.w, vector.x, vector.y, vector.z)


def assert_free(row, q):
    """A rotation that is clearly inside is legal, at no end, and comes back bit for bit."""
    assert is_legal(row, q)
    assert limits.clamp_rotation(row, q) is q
    for push in PUSHES:
        for blocked in limits.find_blocked_directions(row, q, push):
            assert (blocked.x, blocked.y, blocked.z) == (0.0, 0.0, 0.0)


class TestQuickTest:
    @given(st.sampled_from(ORDERS), ends, ends, ends, angles, angles, angles, st.sampled_from([1.0, -1.0]))
    @example("XYZ", (-180.0, 180.0), (-180.0, 180.0), (-180.0, 180.0), np.pi, np.pi / 2, np.pi, 1.0)
    @example("XYZ", (-30.0, 45.0), (-90.0, 90.0), (0.0, 170.0), 0.0, 0.0, 0.0, 1.0)
    def test_it_says_yes_only_where_the_decomposition_does(self, order, first, second, third, a, b, c, sign):
        row = make_row(order, first, second, third)
        q = turn_by(row, a, b, c)
        q = Quat(sign * q.w, sign * q.x, sign * q.y, sign * q.z)
        if limits.is_clearly_inside(row, q):
            assert_free(row, q)

    @given(st.sampled_from(ORDERS), ends, ends, ends, seeds)
    def test_it_agrees_on_random_rotations(self, order, first, second, third, seed):
        row = make_row(order, first, second, third)
        for numbers in unit_quaternions(rng_of(seed), 8):
            q = Quat(*map(float, numbers))
            if limits.is_clearly_inside(row, q):
                assert_free(row, q)

    @given(ends, st.sampled_from([(-30.0, 45.0), (-80.0, 80.0)]), ends, seeds)
    def test_most_rotations_inside_need_no_angle(self, first, second, third, seed):
        row = make_row("XYZ", first, second, third)
        bounds = row[layout.LIMIT_BOUNDS : layout.LIMIT_SOFT_WEIGHT].reshape(3, 2)
        low, high = np.maximum(bounds[:, 0], -np.pi) + END, np.minimum(bounds[:, 1], np.pi) - END
        a, b, c = rng_of(seed).uniform(low, np.maximum(low, high)).tolist()
        assert limits.is_clearly_inside(row, turn_by(row, a, b, c)) == bool((low < high).all())

    @pytest.mark.parametrize("at", range(4))
    def test_nothing_is_said_of_nan(self, at):
        row = make_row("XYZ", (-180.0, 180.0), (-180.0, 180.0), (-180.0, 180.0))
        q = [1.0, 0.0, 0.0, 0.0]
        q[at] = math.nan
        assert not limits.is_clearly_inside(row, Quat(*q))

    @pytest.mark.parametrize("b", [np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9])
    def test_nothing_is_said_at_gimbal_lock(self, b):
        row = make_row("XYZ", (-30.0, 30.0), (-180.0, 180.0), (-30.0, 30.0))
        assert not limits.is_clearly_inside(row, turn_by(row, 0.1, b, 0.2))

    @given(st.floats(-np.pi, np.pi), st.sampled_from([1e-6, 1.0, 7.0]))
    @example(np.pi, 1.0)
    @example(-np.pi / 2, 1.0)
    @example(np.pi / 4, 1.0)
    def test_estimated_angles(self, angle, length):
        estimate = limits._estimate_angle(length * math.sin(angle), length * math.cos(angle))
        assert abs(math.remainder(estimate - angle, 2 * math.pi)) < MAX_ERROR


class TestEnds:
    @given(st.floats(-20.0, 20.0), st.floats(-7.0, 7.0), st.floats(0.0, 6.2))
    def test_the_nearer_end_is_that_of_the_greater_cosine(self, angle, low, width):
        high = low + width
        found = limits.clamp_angle(angle, low, high)
        cosines = math.cos(low - angle), math.cos(high - angle)
        assert low <= found <= high
        turned = angle - 2 * math.pi * math.floor((angle - low) / (2 * math.pi))
        if turned > high + 1e-9 and abs(cosines[0] - cosines[1]) > 1e-9:
            assert found == (low if cosines[0] > cosines[1] else high)

    @pytest.mark.parametrize("angle", [0.0, math.pi, -math.pi, 1.0 + 4 * math.pi])
    def test_angles_in_the_range_stay(self, angle):
        assert limits.clamp_angle(angle, -20.0, 20.0) == angle
        assert limits.clamp_angle(angle, angle, angle) == angle

    def test_nan_stays(self):
        assert math.isnan(limits.clamp_angle(math.nan, -1.0, 1.0))
