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
# decades: below the first also 2 and 5 are labelled, above the second not every power
_MAX_FINE_DECADES, _MAX_COARSE_DECADES = 2.6, 7
_SUPERSCRIPTS = str.maketrans("-0123456789", "\N{SUPERSCRIPT MINUS}⁰¹²³⁴⁵⁶⁷⁸⁹")
_MAX_PLAIN_EXPONENT = 3  # largest exponent written out as a plain number


class Axis(NamedTuple):
    """Mapping of values low..high to drawing coordinates `begin`..`end`. low < high; `is_log` maps logarithms."""

    low: float
    high: float
    begin: float
    end: float
    is_log: bool = False

    def locate(self, values: Floats | float) -> Floats:
        """Map values to drawing positions, also beyond the ends."""
        low, high, mapped = self.low, self.high, np.asarray(values, dtype=np.float64)
        if self.is_log:
            low, high, mapped = math.log(low), math.log(high), np.log(mapped)
        return self.begin + (self.end - self.begin) * (mapped - low) / (high - low)

    def locate_clipped(self, values: Floats | float) -> Floats:
        """Map values to drawing positions, clipped to the ends."""
        return self.locate(np.clip(values, self.low, self.high))

    def list_ticks(self) -> list[tuple[float, str]]:
        """List about five round values with their labels."""
        return _list_log_ticks(self.low, self.high) if self.is_log else _list_even_ticks(self.low, self.high)


def _list_even_ticks(low: float, high: float) -> list[tuple[float, str]]:
    min_step = (high - low) / _TICK_COUNT
    power = 10.0 ** np.floor(np.log10(min_step))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= min_step * (1 - 1e-9))
    decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    counts = range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1)
    return [(count * step, f"{count * step:.{decimals}f}") for count in counts]


def _list_log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    first_power, last_power = math.log10(low), math.log10(high)
    step = max(1, math.ceil((last_power - first_power) / _MAX_COARSE_DECADES))
    factors = (1, 2, 5) if last_power - first_power < _MAX_FINE_DECADES else (1,)
    powers = range(math.floor(first_power), math.ceil(last_power) + 1)
    values = [factor * 10.0**power for power in powers if power % step == 0 for factor in factors]
    ticks = [(value, format_tick(value)) for value in values if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
    return ticks if len(ticks) > 1 else _list_even_ticks(low, high)


def format_tick(value: float) -> str:
    """Format a round number, with a power of ten if long."""
    power = math.floor(math.log10(value) + 1e-9)
    if abs(power) <= _MAX_PLAIN_EXPONENT:
        return f"{value:g}"
    factor = round(value / 10.0**power)
    factor_text = "" if factor == 1 else f"{factor}\N{MULTIPLICATION SIGN}"
    return f"{factor_text}10{str(power).translate(_SUPERSCRIPTS)}"


def draw_polyline(style: str, x: Floats, y: Floats) -> str:
    """Draw a line through points."""
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return f'<polyline class="{style}" points="{points}"/>'


def draw_grid(x_axis: Axis, y_axis: Axis, *, label_drop: float = 0.0) -> list[str]:
    """Draw grid lines and labels of both axes.

    Labels of x stand under the plot, lower by `label_drop`, and its lines reach there.

    y_axis.begin is the lower end, y_axis.end the upper one; a line at 0 has the class "zero", the others "grid".
    """
    elements: list[str] = []
    for value, label in y_axis.list_ticks():
        position, style = float(y_axis.locate(value)), "zero" if value == 0 else "grid"
        elements.append(f'<path class="{style}" d="M{x_axis.begin:g} {position:.1f}H{x_axis.end:g}"/>')
        elements.append(f'<text x="{x_axis.begin - 5:g}" y="{position + 4:.1f}" text-anchor="end">{label}</text>')
    bottom = y_axis.begin + label_drop
    for value, label in x_axis.list_ticks():
        position = float(x_axis.locate(value))
        elements.append(f'<path class="grid" d="M{position:.1f} {y_axis.end:g}V{bottom:g}"/>')
        elements.append(f'<text x="{position:.1f}" y="{bottom + 14:g}" text-anchor="middle">{label}</text>')
    return elements


# --- Curves over time with contact bars below ------------------------------------------------------------------------


WIDTH = 400  # width of the drawing, about that of a page column, so that letters stay readable
# margins for labels, and height of the plot
_LEFT_MARGIN_PX, _RIGHT_MARGIN_PX, _TOP_MARGIN_PX, _PLOT_HEIGHT_PX = 44, 10, 22, 150
_BAR_HEIGHT_PX, _LABEL_HEIGHT_PX = 12, 20  # height of a bar row, and of the time labels
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
    first_time, last_time = (
        (float(times[0]), float(times[-1])) if times[-1] > times[0] else (times[0] - 0.5, times[0] + 0.5)
    )
    x_axis, y_axis = (
        Axis(first_time, last_time, _LEFT_MARGIN_PX, WIDTH - _RIGHT_MARGIN_PX),
        Axis(low, high, _TOP_MARGIN_PX + _PLOT_HEIGHT_PX, _TOP_MARGIN_PX),
    )
    height = _TOP_MARGIN_PX + _PLOT_HEIGHT_PX + _BAR_HEIGHT_PX * len(bars) + _LABEL_HEIGHT_PX
    elements = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">']
    elements += draw_grid(x_axis, y_axis, label_drop=_BAR_HEIGHT_PX * len(bars))
    elements.append(f'<text class="words" x="2" y="12">{escape(label)}</text>')
    elements.append(f'<text class="words" x="{WIDTH - _RIGHT_MARGIN_PX}" y="12" text-anchor="end">time [s]</text>')
    elements += [_draw_line(x_axis, y_axis, times, curve) for curve in curves]
    for bar_index, bar in enumerate(bars):
        elements += _draw_bars(x_axis, times, bar, _TOP_MARGIN_PX + _PLOT_HEIGHT_PX + _BAR_HEIGHT_PX * bar_index)
    return "\n".join([*elements, "</svg>"])


def choose_range(source: Floats, result: Floats) -> tuple[float, float]:
    """Choose the value range of a chart.

    It covers the result without short jumps, and of the source up to half as much again.
    """
    low, high = _measure_usual_range(result)
    margin = _SOURCE_MARGIN_RATIO * max(high - low, 1e-3)
    source_low, source_high = _measure_usual_range(source)
    low, high = min(low, max(source_low, high - margin)), max(high, min(source_high, low + margin), low + 1e-3)
    return low - 0.03 * (high - low), high + 0.03 * (high - low)


def _measure_usual_range(values: Floats) -> tuple[float, float]:
    """Measure the range of 98 % of the values.

    It includes 0; both ends may lie a third beyond, at most at the extreme values.
    """
    low, high = np.percentile(values, [1, 99])
    margin = (max(high, 0.0) - min(low, 0.0)) / 3
    return max(min(values.min(), 0.0), low - margin), min(max(values.max(), 0.0), high + margin)


def _draw_line(x_axis: Axis, y_axis: Axis, times: Floats, curve: Curve) -> str:
    frames, margin = _select_frames(curve.values), _CLIP_MARGIN_RATIO * (y_axis.high - y_axis.low)
    clipped_values = np.clip(curve.values[frames], y_axis.low - margin, y_axis.high + margin)
    return draw_polyline(curve.style, x_axis.locate(times[frames]), y_axis.locate(clipped_values))


def _select_frames(values: Floats) -> Ints:
    """Select the drawn frames. Of many frames these are the extreme values of each bin."""
    if len(values) <= _MAX_DRAWN_FRAMES:
        return np.arange(len(values))
    bins = np.array_split(np.arange(len(values)), _MAX_DRAWN_FRAMES // 2)
    return np.unique(
        [
            bin_frames[frame_index]
            for bin_frames in bins
            for frame_index in (values[bin_frames].argmin(), values[bin_frames].argmax())
        ]
    )


def _draw_bars(x_axis: Axis, times: Floats, bar: Bars, row_top: int) -> list[str]:
    """Draw a bar for each run of held frames. It is half a step wider on either side; the row's name stands beside."""
    half_step = 0.5 * float(np.median(np.diff(times))) if len(times) > 1 else 0.5
    run_edges = np.flatnonzero(np.diff(np.pad(bar.is_held, 1).astype(np.int8)))
    elements = [f'<text x="{_LEFT_MARGIN_PX - 5}" y="{row_top + 11}" text-anchor="end">{escape(bar.label)}</text>']
    for start, end in run_edges.reshape(-1, 2):
        left_edge, right_edge = x_axis.locate_clipped(np.array([times[start] - half_step, times[end - 1] + half_step]))
        elements.append(
            f'<rect class="{bar.style}" x="{left_edge:.1f}" y="{row_top + 3}"'
            f' width="{max(right_edge - left_edge, 1):.1f}" height="8"/>'
        )
    return elements
