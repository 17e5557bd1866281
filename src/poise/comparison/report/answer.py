"""SVG diagrams of the report page.

They show an overview (share solved, time of a call), convergence, cost against chain length and batch size, and
distributions of errors, times and steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.comparison.report.charts import ChartRow, Words, figure, rectangle, row_axis, rows
from poise.comparison.report.look import Look
from poise.comparison.report.words import percent, spent
from poise.svg.axes import Axis

_HEIGHT = 22.0  # px, height of a row
_BAR = (4.0, 14.0)  # px, top and height of a bar in its row
_ROOM = 1.5  # factor by which the axis extends beyond the extreme times


def picture(shown: Sequence[Look]) -> str:
    """Draw bars of share solved and call time, best first. Returns "" where nothing was measured."""
    found = _solved(shown) + _times(shown)
    return f'<div class="pair first">{found}</div>' if found else ""


def _solved(shown: Sequence[Look]) -> str:
    some = [look for look in shown if look.method.main is not None and len(look.method.main)]
    if not some:
        return ""
    axis = row_axis(0.0, 100.0, log=False)
    shares = [look.method.solved() for look in some]
    drawn = [
        _bar(look, 0.0, 100.0 * share, axis, f"{percent(share)} %") for look, share in zip(some, shares, strict=True)
    ]
    words = Words("shares of targets that each method solves", "targets solved [%]", "solved")
    return figure("Who gets there?", rows(drawn, axis, _HEIGHT, words), "Longer is better; the best method is on top.")


def _times(shown: Sequence[Look]) -> str:
    some = [(look, float(np.median(look.method.call_times))) for look in shown if look.method.call_times.size]
    some = [(look, time) for look, time in some if time > 0.0]
    if not some:
        return ""
    times = [time for _, time in some]
    axis = row_axis(min(times) / _ROOM, max(times) * _ROOM)
    drawn = [_bar(look, axis.low, time, axis, spent(time)) for look, time in some]
    words = Words("median time of a call of each method", "time of a call [\N{MICRO SIGN}s]", "median")
    return figure("How quickly?", rows(drawn, axis, _HEIGHT, words), "Shorter is better; the axis is logarithmic.")


def _bar(look: Look, low: float, high: float, axis: Axis, text: str) -> ChartRow:
    """Draw a bar with its number at the right."""
    start, end = float(axis.at(low)), float(axis.at(max(high, low)))
    top, height = _BAR
    words = f"{look.method.name}: {text}"
    return ChartRow(look, [rectangle("length", start, top, max(end - start, 1.0), height, words)], text)
