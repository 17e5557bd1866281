from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise.model.limit_bounds import clamp_angles
from poise.model.limits import unit_axis
from tests.kernels.kernel_entries import entered
from tests.strategies import straight_chain

ANGLES = st.floats(-20, 20)


def hinge(limit):
    return straight_chain(1, kind=poise.Kind.HINGE, axes=[(0, 0, 1)], limits=[limit])


class TestRange:
    def test_degrees(self):
        assert poise.Range.degrees(-180, 90) == poise.Range(-math.pi, math.pi / 2)

    @pytest.mark.parametrize(("low", "high"), [(-90, 90), (0, 30), (-math.inf, 45), (-360, 15)])
    def test_radians_that_look_like_degrees_are_refused(self, low, high):
        with pytest.raises(poise.InputError, match=r"looks like degrees: write Range\.degrees\("):
            hinge(poise.Range(low, high))

    @pytest.mark.parametrize(("low", "high"), [(-15, 15), (-90, 89), (0, 375), (-math.inf, math.inf)])
    def test_other_radians_are_taken(self, low, high):
        assert hinge(poise.Range(low, high))["j0"].limit == poise.Range(low, high)

    @pytest.mark.parametrize(("low", "high"), [(1, -1), (math.nan, 1), (0, math.nan), (math.inf, math.inf)])
    def test_empty_ranges_are_refused(self, low, high):
        with pytest.raises(poise.InputError, match="range"):
            poise.Range(low, high)

    def test_an_empty_range_in_degrees_is_reported_in_degrees(self):
        with pytest.raises(poise.InputError, match="low 50 deg is not at or below high -150 deg"):
            poise.Range.degrees(50, -150)

    @pytest.mark.parametrize("axis", [(0, 0, 0), (1, 2), (math.nan, 0, 1), "x"])
    def test_bad_axes_are_refused(self, axis):
        with pytest.raises(poise.InputError, match="axis"):
            poise.Range(-1, 1, axis=axis)

    @given(st.tuples(*[st.floats(-1e3, 1e3)] * 3).filter(lambda a: max(map(abs, a)) > 1e-6))
    def test_an_axis_is_normalised_once(self, axis):
        once = unit_axis(axis)
        assert math.hypot(*once) == pytest.approx(1, abs=1e-15)
        assert unit_axis(once) == once

    def test_the_source_is_not_compared(self):
        assert poise.Range(0, 1, source="file") == poise.Range(0, 1)
        assert hash(poise.Range(0, 1, source="file")) == hash(poise.Range(0, 1))


def brute_force(angle, low, high):
    """The angle in low..high that is nearest to `angle` on the circle, by trying many."""
    x = np.linspace(max(low, -30), min(high, 30), 40_001)
    return np.cos(x - angle).max()


@given(ANGLES, ANGLES, st.floats(0, 15))
def test_best_angle_has_the_greatest_cosine_in_the_range(angle, low, width):
    from poise.kernels.limits import clamp_angle

    high = low + width
    best = entered(clamp_angle)(angle, low, high)
    assert low <= best <= high
    assert math.cos(best - angle) >= brute_force(angle, low, high) - 1e-12


@given(ANGLES, ANGLES, st.floats(0, 15))
def test_the_array_twin_agrees(angle, low, width):
    from poise.kernels.limits import clamp_angle

    high = low + width
    twin = float(clamp_angles(np.array(angle), low, high))
    assert low <= twin <= high
    assert math.cos(twin - angle) == pytest.approx(math.cos(entered(clamp_angle)(angle, low, high) - angle), abs=1e-9)


@pytest.mark.parametrize(
    ("angle", "low", "high", "expected"),
    [
        (0.5, -1, 1, 0.5),
        (math.pi, 3, 4, math.pi),  # straddles pi
        (-math.pi, 3, 4, math.pi),
        (math.radians(170), -math.radians(175), math.radians(20), -math.radians(175)),  # plain clamping says 20
        (7.0, -10, 10, 7.0),  # wider than a turn: left alone
        (11.0, -10, 10, 11.0 - 2 * math.pi),
        (2.0, -math.inf, 1.0, 2.0 - 2 * math.pi),
        (100.0, -math.inf, math.inf, 100.0),
        (0.0, 1.0, 1.0, 1.0),
    ],
)
def test_best_angle_at_its_edges(angle, low, high, expected):
    from poise.kernels.limits import clamp_angle

    assert entered(clamp_angle)(angle, low, high) == pytest.approx(expected, abs=1e-12)
    assert float(clamp_angles(np.array(angle), low, high)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("w", [1.0, -1.0])
def test_capped_turns_less_about_the_same_axis(w):
    from poise.kernels.limits import cap_rotation
    from poise.kernels.vec_quat import Quat

    q = Quat(w * math.cos(0.6), w * math.sin(0.6), 0.0, 0.0)
    assert entered(cap_rotation)(q, 2.0) == q
    half = entered(cap_rotation)(q, 0.5)
    np.testing.assert_allclose(half, [math.cos(0.25), math.sin(0.25), 0, 0], atol=1e-15)
    assert entered(cap_rotation)(Quat(1.0, 0.0, 0.0, 0.0), 0.5) == (1, 0, 0, 0)
