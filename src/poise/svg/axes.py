"""Axes of SVG charts: positions, ticks, grid lines.

Colours come from the style of the surrounding page, by class.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats

_TICKS = 5
_FINE, _COARSE = 2.6, 7  # decades: below the first also 2 and 5 are labelled, above the second not every power
_RAISED = str.maketrans("-0123456789", "\N{SUPERSCRIPT MINUS}⁰¹²³⁴⁵⁶⁷⁸⁹")
_PLAIN = 3  # largest exponent written out as a plain number


class Axis(NamedTuple):
    """Mapping of values low..high to drawing coordinates `begin`..`end`. low < high; `log` maps logarithms."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def at(self, values: Floats | float) -> Floats:
        """Map values to drawing positions, also beyond the ends."""
        low, high, found = self.low, self.high, np.asarray(values, dtype=np.float64)
        if self.log:
            low, high, found = math.log(low), math.log(high), np.log(found)
        return self.begin + (self.end - self.begin) * (found - low) / (high - low)

    def inside(self, values: Floats | float) -> Floats:
        """Map values to drawing positions, clipped to the ends."""
        return self.at(np.clip(values, self.low, self.high))

    def ticks(self) -> list[tuple[float, str]]:
        """List about five round values with their labels."""
        return _powers(self.low, self.high) if self.log else _steps(self.low, self.high)


def _steps(low: float, high: float) -> list[tuple[float, str]]:
    rough = (high - low) / _TICKS
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    counts = range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1)
    return [(count * step, f"{count * step:.{decimals}f}") for count in counts]


def _powers(low: float, high: float) -> list[tuple[float, str]]:
    first, last = math.log10(low), math.log10(high)
    every = max(1, math.ceil((last - first) / _COARSE))
    factors = (1, 2, 5) if last - first < _FINE else (1,)
    powers = range(math.floor(first), math.ceil(last) + 1)
    values = [factor * 10.0**power for power in powers if power % every == 0 for factor in factors]
    found = [(value, written(value)) for value in values if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
    return found if len(found) > 1 else _steps(low, high)


def written(value: float) -> str:
    """Format a round number, with a power of ten if long."""
    power = math.floor(math.log10(value) + 1e-9)
    if abs(power) <= _PLAIN:
        return f"{value:g}"
    factor = round(value / 10.0**power)
    times = "" if factor == 1 else f"{factor}\N{MULTIPLICATION SIGN}"
    return f"{times}10{str(power).translate(_RAISED)}"


def polyline(style: str, x: Floats, y: Floats) -> str:
    """Draw a line through points."""
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return f'<polyline class="{style}" points="{points}"/>'


def grid(x: Axis, y: Axis, *, below: float = 0.0) -> list[str]:
    """Draw grid lines and labels of both axes.

    Labels of x stand under the plot, lower by `below`, and its lines reach there.

    y.begin is the lower end, y.end the upper one; a line at 0 has the class "zero", the others "grid".
    """
    parts: list[str] = []
    for value, label in y.ticks():
        at, style = float(y.at(value)), "zero" if value == 0 else "grid"
        parts.append(f'<path class="{style}" d="M{x.begin:g} {at:.1f}H{x.end:g}"/>')
        parts.append(f'<text x="{x.begin - 5:g}" y="{at + 4:.1f}" text-anchor="end">{label}</text>')
    bottom = y.begin + below
    for value, label in x.ticks():
        at = float(x.at(value))
        parts.append(f'<path class="grid" d="M{at:.1f} {y.end:g}V{bottom:g}"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 14:g}" text-anchor="middle">{label}</text>')
    return parts
