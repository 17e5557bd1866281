"""Axes of drawn charts: where values lie, and which of them get a number."""

from __future__ import annotations

import numpy as np
import pytest

from poise.svg.charts import Axis, draw_grid, draw_polyline, format_tick


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"), (-3, 22, "0 5 10 15 20"), (0, 0.013, "0.000 0.005 0.010")],
)
def test_ticks_are_round(low, high, expected):
    assert " ".join(label for _, label in Axis(low, high, 0, 1).list_ticks()) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.9, 60, "1 2 5 10 20 50"),
        (1, 1e5, "1 10 100 1000 10⁴ 10⁵"),
        (1e-12, 1, "10⁻¹² 10⁻¹⁰ 10⁻⁸ 10⁻⁶ 10⁻⁴ 0.01 1"),
        (1.1, 1.9, "1.2 1.4 1.6 1.8"),
    ],
)
def test_ticks_of_logarithms_are_powers_of_ten(low, high, expected):
    assert " ".join(label for _, label in Axis(low, high, 0, 1, is_log=True).list_ticks()) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(20.0, "20"), (0.005, "0.005"), (5e-7, "5\N{MULTIPLICATION SIGN}10⁻⁷"), (1e12, "10¹²")]
)
def test_numbers_are_short(value, expected):
    assert format_tick(value) == expected


def test_values_lie_between_the_ends():
    assert Axis(0, 4, 100, 0).locate(1) == 75
    assert Axis(1, 10_000, 0, 8, is_log=True).locate(100) == 4
    np.testing.assert_allclose(Axis(0, 1, 10, 20).locate(np.array([-1.0, 2.0])), [0, 30])
    np.testing.assert_allclose(Axis(0, 1, 10, 20).locate_clipped(np.array([-1.0, 0.5, 2.0])), [10, 15, 20])


def test_a_grid_marks_zero_and_names_what_it_draws():
    parts = draw_grid(Axis(0, 10, 40, 140), Axis(-1, 1, 100, 0), label_drop=12)
    assert '<path class="zero" d="M40 50.0H140"/>' in parts
    assert '<path class="grid" d="M60.0 0V112"/>' in parts
    assert '<text x="60.0" y="126" text-anchor="middle">2</text>' in parts


def test_a_line_goes_through_its_points():
    drawn = draw_polyline("heel", np.array([0.0, 1.25]), np.array([2.0, 3.0]))
    assert drawn == '<polyline class="heel" points="0.0,2.0 1.2,3.0"/>'
