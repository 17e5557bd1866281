"""The charts of each foot's height and speed: how much their axes show, and what they say of the rest."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from poise.plot import planted_feet


def chart_of(before: np.ndarray, after: np.ndarray, least: float):
    axes = Figure().add_subplot()
    planted_feet._set_value_range(axes, [before, after], least)
    return axes


@pytest.mark.parametrize("least", planted_feet._MIN_AXIS_RANGES)
def test_a_foot_at_rest_is_not_drawn_as_rounding_errors(least):
    still = 1e-5 * np.sin(np.arange(100.0))
    low, high = chart_of(still, still, least).get_ylim()
    assert high - low >= least
    assert low < 0 < high


@pytest.mark.parametrize(
    ("before", "words"),
    [([90.0], "above"), ([-90.0], "below"), ([90.0, -90.0], "above and below")],
)
def test_the_chart_says_where_what_came_before_is_out_of_sight(before, words):
    after = np.linspace(0.0, 20.0, 100)
    chart = chart_of(np.resize(before, 100), after, 4.0)
    assert [text.get_text() for text in chart.texts] == [f"before: also {words} the shown range"]


def test_what_came_before_is_shown_whole_where_it_does_not_flatten_the_rest():
    after = np.linspace(0.0, 20.0, 100)
    chart = chart_of(after + 4.0, after, 4.0)
    assert chart.get_ylim()[1] > 24.0
    assert not chart.texts
