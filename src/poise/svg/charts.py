"""Curves over time with contact bars below."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Bools, Floats, Ints
from poise.svg.axes import Axis, grid, polyline

WIDTH = 400  # width of the drawing, about that of a page column, so that letters stay readable
_LEFT, _RIGHT, _TOP, _HEIGHT = 44, 10, 22, 150  # margins for labels, and height of the plot
_BAR, _FOOT = 12, 20  # height of a bar row, and of the time labels
_ROOM = 1.5  # of the result's range: how far the source may extend it
_BEYOND = 0.02  # of the range: lines are clipped this far outside it
_MANY = 600  # frames; of more only the extremes of each bin are drawn


class Curve(NamedTuple):
    """Values (F,) over time, drawn in a class of the page's style."""

    style: str
    values: Floats


class Bars(NamedTuple):
    """A row of bars: when something holds (F,)."""

    label: str
    style: str
    held: Bools


def chart(times: Floats, curves: list[Curve], bars: list[Bars], words: str, low: float, high: float) -> str:
    """Draw curves between low and high as an SVG element.

    low < high; bars stand below, `label` names the upright axis.
    """
    first, last = (float(times[0]), float(times[-1])) if times[-1] > times[0] else (times[0] - 0.5, times[0] + 0.5)
    x, y = Axis(first, last, _LEFT, WIDTH - _RIGHT), Axis(low, high, _TOP + _HEIGHT, _TOP)
    height = _TOP + _HEIGHT + _BAR * len(bars) + _FOOT
    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(words)}">']
    parts += grid(x, y, below=_BAR * len(bars))
    parts.append(f'<text class="words" x="2" y="12">{escape(words)}</text>')
    parts.append(f'<text class="words" x="{WIDTH - _RIGHT}" y="12" text-anchor="end">time [s]</text>')
    parts += [_line(x, y, times, curve) for curve in curves]
    for row, bar in enumerate(bars):
        parts += _bars(x, times, bar, _TOP + _HEIGHT + _BAR * row)
    return "\n".join([*parts, "</svg>"])


def shown_range(before: Floats, after: Floats) -> tuple[float, float]:
    """Choose the value range of a chart.

    It covers the result without short jumps, and of the source up to half as much again.
    """
    low, high = _usual(after)
    room = _ROOM * max(high - low, 1e-3)
    old_low, old_high = _usual(before)
    low, high = min(low, max(old_low, high - room)), max(high, min(old_high, low + room), low + 1e-3)
    return low - 0.03 * (high - low), high + 0.03 * (high - low)


def _usual(values: Floats) -> tuple[float, float]:
    """Measure the range of 98 % of the values.

    It includes 0; both ends may lie a third beyond, at most at the extreme values.
    """
    low, high = np.percentile(values, [1, 99])
    margin = (max(high, 0.0) - min(low, 0.0)) / 3
    return max(min(values.min(), 0.0), low - margin), min(max(values.max(), 0.0), high + margin)


def _line(x: Axis, y: Axis, times: Floats, curve: Curve) -> str:
    rows, room = _drawn(curve.values), _BEYOND * (y.high - y.low)
    shown = np.clip(curve.values[rows], y.low - room, y.high + room)
    return polyline(curve.style, x.at(times[rows]), y.at(shown))


def _drawn(values: Floats) -> Ints:
    """Select the drawn frames. Of many frames these are the extreme values of each bin."""
    if len(values) <= _MANY:
        return np.arange(len(values))
    bins = np.array_split(np.arange(len(values)), _MANY // 2)
    return np.unique([rows[pick] for rows in bins for pick in (values[rows].argmin(), values[rows].argmax())])


def _bars(x: Axis, times: Floats, bar: Bars, top: int) -> list[str]:
    """Draw a bar for each run of held frames. It is half a step wider on either side; the row's name stands beside."""
    half = 0.5 * float(np.median(np.diff(times))) if len(times) > 1 else 0.5
    edges = np.flatnonzero(np.diff(np.pad(bar.held, 1).astype(np.int8)))
    parts = [f'<text x="{_LEFT - 5}" y="{top + 11}" text-anchor="end">{escape(bar.label)}</text>']
    for start, end in edges.reshape(-1, 2):
        left, right = x.inside(np.array([times[start] - half, times[end - 1] + half]))
        parts.append(
            f'<rect class="{bar.style}" x="{left:.1f}" y="{top + 3}" width="{max(right - left, 1):.1f}" height="8"/>'
        )
    return parts
