"""SVG charts: axes, curves and bars. Colours come from the style of the surrounding page."""

from __future__ import annotations

import math
from html import escape
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Bools, Floats, Ints

# --- Axes of SVG charts: positions, ticks, grid lines ----------------------------------------------------------------
#
# Colours come from the style of the surrounding page, by class.


_TICK_COUNT = 5
_FINE_DECADES, _COARSE_DECADES = (
    2.6,
    7,
)  # decades: below the first also 2 and 5 are labelled, above the second not every power
_SUPERSCRIPTS = str.maketrans("-0123456789", "\N{SUPERSCRIPT MINUS}⁰¹²³⁴⁵⁶⁷⁸⁹")
_MAX_PLAIN_EXPONENT = 3  # largest exponent written out as a plain number


class Axis(NamedTuple):
    """Mapping of values low..high to drawing coordinates `begin`..`end`. low < high; `log` maps logarithms."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def locate(self, values: Floats | float) -> Floats:
        """Map values to drawing positions, also beyond the ends."""
        low, high, mapped = self.low, self.high, np.asarray(values, dtype=np.float64)
        if self.log:
            low, high, mapped = math.log(low), math.log(high), np.log(mapped)
        return self.begin + (self.end - self.begin) * (mapped - low) / (high - low)

    def locate_clipped(self, values: Floats | float) -> Floats:
        """Map values to drawing positions, clipped to the ends."""
        return self.locate(np.clip(values, self.low, self.high))

    def list_ticks(self) -> list[tuple[float, str]]:
        """List about five round values with their labels."""
        return _list_log_ticks(self.low, self.high) if self.log else _list_even_ticks(self.low, self.high)


def _list_even_ticks(low: float, high: float) -> list[tuple[float, str]]:
    rough = (high - low) / _TICK_COUNT
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    counts = range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1)
    return [(count * step, f"{count * step:.{decimals}f}") for count in counts]


def _list_log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    first, last = math.log10(low), math.log10(high)
    step = max(1, math.ceil((last - first) / _COARSE_DECADES))
    factors = (1, 2, 5) if last - first < _FINE_DECADES else (1,)
    powers = range(math.floor(first), math.ceil(last) + 1)
    values = [factor * 10.0**power for power in powers if power % step == 0 for factor in factors]
    ticks = [(value, format_tick(value)) for value in values if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
    return ticks if len(ticks) > 1 else _list_even_ticks(low, high)


def format_tick(value: float) -> str:
    """Format a round number, with a power of ten if long."""
    power = math.floor(math.log10(value) + 1e-9)
    if abs(power) <= _MAX_PLAIN_EXPONENT:
        return f"{value:g}"
    factor = round(value / 10.0**power)
    times = "" if factor == 1 else f"{factor}\N{MULTIPLICATION SIGN}"
    return f"{times}10{str(power).translate(_SUPERSCRIPTS)}"


def draw_polyline(style: str, x: Floats, y: Floats) -> str:
    """Draw a line through points."""
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return f'<polyline class="{style}" points="{points}"/>'


def draw_grid(x: Axis, y: Axis, *, below: float = 0.0) -> list[str]:
    """Draw grid lines and labels of both axes.

    Labels of x stand under the plot, lower by `below`, and its lines reach there.

    y.begin is the lower end, y.end the upper one; a line at 0 has the class "zero", the others "grid".
    """
    parts: list[str] = []
    for value, label in y.list_ticks():
        position, style = float(y.locate(value)), "zero" if value == 0 else "grid"
        parts.append(f'<path class="{style}" d="M{x.begin:g} {position:.1f}H{x.end:g}"/>')
        parts.append(f'<text x="{x.begin - 5:g}" y="{position + 4:.1f}" text-anchor="end">{label}</text>')
    bottom = y.begin + below
    for value, label in x.list_ticks():
        position = float(x.locate(value))
        parts.append(f'<path class="grid" d="M{position:.1f} {y.end:g}V{bottom:g}"/>')
        parts.append(f'<text x="{position:.1f}" y="{bottom + 14:g}" text-anchor="middle">{label}</text>')
    return parts


# --- Curves over time with contact bars below ------------------------------------------------------------------------


WIDTH = 400  # width of the drawing, about that of a page column, so that letters stay readable
_LEFT_MARGIN, _RIGHT_MARGIN, _TOP_MARGIN, _PLOT_HEIGHT = 44, 10, 22, 150  # margins for labels, and height of the plot
_BAR_ROW_HEIGHT, _FOOT_HEIGHT = 12, 20  # height of a bar row, and of the time labels
_SOURCE_MARGIN_RATIO = 1.5  # of the result's range: how far the source may extend it
_CLIP_MARGIN_RATIO = 0.02  # of the range: lines are clipped this far outside it
_MAX_DRAWN_FRAMES = 600  # frames; of more only the extremes of each bin are drawn


class Curve(NamedTuple):
    """Values (F,) over time, drawn in a class of the page's style."""

    style: str
    values: Floats


class Bars(NamedTuple):
    """A row of bars: when something holds (F,)."""

    label: str
    style: str
    is_held: Bools


def draw_chart(times: Floats, curves: list[Curve], bars: list[Bars], label: str, low: float, high: float) -> str:
    """Draw curves between low and high as an SVG element.

    low < high; bars stand below, `label` names the upright axis.
    """
    first, last = (float(times[0]), float(times[-1])) if times[-1] > times[0] else (times[0] - 0.5, times[0] + 0.5)
    x, y = (
        Axis(first, last, _LEFT_MARGIN, WIDTH - _RIGHT_MARGIN),
        Axis(low, high, _TOP_MARGIN + _PLOT_HEIGHT, _TOP_MARGIN),
    )
    height = _TOP_MARGIN + _PLOT_HEIGHT + _BAR_ROW_HEIGHT * len(bars) + _FOOT_HEIGHT
    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">']
    parts += draw_grid(x, y, below=_BAR_ROW_HEIGHT * len(bars))
    parts.append(f'<text class="words" x="2" y="12">{escape(label)}</text>')
    parts.append(f'<text class="words" x="{WIDTH - _RIGHT_MARGIN}" y="12" text-anchor="end">time [s]</text>')
    parts += [_draw_line(x, y, times, curve) for curve in curves]
    for row, bar in enumerate(bars):
        parts += _draw_bars(x, times, bar, _TOP_MARGIN + _PLOT_HEIGHT + _BAR_ROW_HEIGHT * row)
    return "\n".join([*parts, "</svg>"])


def choose_range(source: Floats, result: Floats) -> tuple[float, float]:
    """Choose the value range of a chart.

    It covers the result without short jumps, and of the source up to half as much again.
    """
    low, high = _measure_usual_range(result)
    margin = _SOURCE_MARGIN_RATIO * max(high - low, 1e-3)
    old_low, old_high = _measure_usual_range(source)
    low, high = min(low, max(old_low, high - margin)), max(high, min(old_high, low + margin), low + 1e-3)
    return low - 0.03 * (high - low), high + 0.03 * (high - low)


def _measure_usual_range(values: Floats) -> tuple[float, float]:
    """Measure the range of 98 % of the values.

    It includes 0; both ends may lie a third beyond, at most at the extreme values.
    """
    low, high = np.percentile(values, [1, 99])
    margin = (max(high, 0.0) - min(low, 0.0)) / 3
    return max(min(values.min(), 0.0), low - margin), min(max(values.max(), 0.0), high + margin)


def _draw_line(x: Axis, y: Axis, times: Floats, curve: Curve) -> str:
    rows, margin = _select_frames(curve.values), _CLIP_MARGIN_RATIO * (y.high - y.low)
    clipped = np.clip(curve.values[rows], y.low - margin, y.high + margin)
    return draw_polyline(curve.style, x.locate(times[rows]), y.locate(clipped))


def _select_frames(values: Floats) -> Ints:
    """Select the drawn frames. Of many frames these are the extreme values of each bin."""
    if len(values) <= _MAX_DRAWN_FRAMES:
        return np.arange(len(values))
    bins = np.array_split(np.arange(len(values)), _MAX_DRAWN_FRAMES // 2)
    return np.unique([rows[pick] for rows in bins for pick in (values[rows].argmin(), values[rows].argmax())])


def _draw_bars(x: Axis, times: Floats, bar: Bars, top: int) -> list[str]:
    """Draw a bar for each run of held frames. It is half a step wider on either side; the row's name stands beside."""
    half = 0.5 * float(np.median(np.diff(times))) if len(times) > 1 else 0.5
    edges = np.flatnonzero(np.diff(np.pad(bar.is_held, 1).astype(np.int8)))
    parts = [f'<text x="{_LEFT_MARGIN - 5}" y="{top + 11}" text-anchor="end">{escape(bar.label)}</text>']
    for start, end in edges.reshape(-1, 2):
        left_edge, right_edge = x.locate_clipped(np.array([times[start] - half, times[end - 1] + half]))
        parts.append(
            f'<rect class="{bar.style}" x="{left_edge:.1f}" y="{top + 3}"'
            f' width="{max(right_edge - left_edge, 1):.1f}" height="8"/>'
        )
    return parts
