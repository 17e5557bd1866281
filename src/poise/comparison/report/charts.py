"""Shared drawing functions of the page's charts. A chart has curves with labels, or one row for each method."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from poise.comparison.report.look import Look
from poise.maths.arrays import Bools, Floats
from poise.svg.axes import Axis, grid, polyline

WIDTH = 440  # px, width of a drawing, about its size on the page
# px, margins: numbers, names at the right, axis label above, numbers below
_LEFT, _NAMES, _TOP, _FOOT = 42, 152, 22, 34
_HEIGHT = 230  # px, height of the plot
_GAP = 13.5  # px between names
_ROWS_LEFT, _ROWS_RIGHT = 144, 52  # px, margins of rows: names, numbers
_ROW_FOOT = 20


class Line(NamedTuple):
    """Curve of a chart. Holds x and y (k,), its band (lower, upper), and a mask of filled markers."""

    look: Look
    x: Floats
    y: Floats
    band: tuple[Floats, Floats] | None = None
    full: Bools | None = None


class Words(NamedTuple):
    """Title and axis labels of a chart."""

    title: str
    x: str
    y: str


def curves(lines: Sequence[Line], x: tuple[float, float], y: tuple[float, float], words: Words) -> str:
    """Draw curves on logarithmic axes. `x` and `y` are the axis limits; each curve has its label at the right."""
    height = max(_HEIGHT, _GAP * len(lines))
    across = Axis(*x, _LEFT, WIDTH - _NAMES, log=True)
    up = Axis(*y, _TOP + height, _TOP, log=True)
    parts = [opened(WIDTH, _TOP + height + _FOOT, words.title), *grid(across, up)]
    parts.append(f'<text class="words" x="2" y="12">{escape(words.y)}</text>')
    foot = _TOP + height + 30
    parts.append(f'<text class="words" x="{WIDTH - _NAMES}" y="{foot:g}" text-anchor="end">{escape(words.x)}</text>')
    ends = np.array([float(up.inside(line.y[-1])) for line in lines])
    for line, at in zip(lines, spread(ends, _GAP, _TOP + 4, _TOP + height), strict=True):
        parts += _curve(line, across, up, float(at))
    return "\n".join([*parts, "</svg>"])


def _curve(line: Line, across: Axis, up: Axis, at: float) -> list[str]:
    x, y = across.inside(line.x), up.inside(line.y)
    parts = [f'<g class="{line.look.style}">']
    if line.band is not None:
        low, high = (up.inside(edge) for edge in line.band)
        ring = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(np.r_[x, x[::-1]], np.r_[low, high[::-1]], strict=True))
        parts.append(f'<polygon class="band" points="{ring}"/>')
    parts.append(polyline("line", x, y))
    for a, b, full in zip(x, y, [] if line.full is None else line.full, strict=False):
        parts.append(f'<circle class="dot{"" if full else " open"}" cx="{a:.1f}" cy="{b:.1f}" r="2.6"/>')
    edge = WIDTH - _NAMES
    parts.append(f'<path class="leader" d="M{x[-1]:.1f} {y[-1]:.1f}H{edge + 2}L{edge + 12} {at:.1f}"/>')
    return [*parts, line.look.label(edge + 15, at + 4), "</g>"]


class ChartRow(NamedTuple):
    """Row of a chart: its drawing and its number at the right."""

    look: Look
    parts: list[str]
    figure: str


def row_axis(low: float, high: float, *, log: bool = True) -> Axis:
    """Make the axis of rows from low to high."""
    return Axis(low, high, _ROWS_LEFT, WIDTH - _ROWS_RIGHT, log=log)


def rows(drawn: Sequence[ChartRow], axis: Axis, height: float, words: Words, levels: Sequence[float] = ()) -> str:
    """Draw rows below each other along one axis.

    Rows are `height` apart; numbers are below and words.y is above the right column.
    """
    bottom = _TOP + height * len(drawn)
    parts = [opened(WIDTH, bottom + _FOOT, words.title)]
    for value, label in axis.ticks():
        at = float(axis.at(value))
        parts.append(f'<path d="M{at:.1f} {_TOP}V{bottom:g}"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 13:g}" text-anchor="middle">{label}</text>')
    parts += [f'<path class="level" d="M{float(axis.at(level)):.1f} {_TOP}V{bottom:g}"/>' for level in levels]
    parts.append(f'<text class="words" x="{_ROWS_LEFT}" y="{bottom + 29:g}">{escape(words.x)}</text>')
    parts.append(f'<text class="words" x="{WIDTH - 2}" y="12" text-anchor="end">{escape(words.y)}</text>')
    for i, row in enumerate(drawn):
        parts.append(f'<g class="{row.look.style}" transform="translate(0 {_TOP + height * i:g})">')
        parts += [row.look.label(_ROWS_LEFT - 6, height / 2 + 4, "end"), *row.parts]
        parts.append(f'<text x="{WIDTH - 2}" y="{height / 2 + 4:g}" text-anchor="end">{escape(row.figure)}</text></g>')
    return "\n".join([*parts, "</svg>"])


def opened(width: float, height: float, words: str) -> str:
    """Open an SVG drawing with its description."""
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(words)}">'


def rectangle(style: str, x: float, y: float, width: float, height: float, words: str = "") -> str:
    """Draw a rectangle. The words are its tooltip."""
    drawn = f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f"{drawn}><title>{escape(words)}</title></rect>" if words else f"{drawn}/>"


def figure(title: str, svg: str, caption: str = "") -> str:
    """Wrap a drawing with its title and caption. The caption is HTML."""
    below = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f"<figure><h3>{escape(title)}</h3>{svg}{below}</figure>"


def spread(wanted: Floats, gap: float, low: float, high: float) -> Floats:
    """Spread label positions (k,) apart, keeping their order.

    They stay as near to the wanted ones as possible, `gap` or more apart, between low and high.

    Least squares under a fixed order: neighbours that are too close move to their common mean until none are (pool
    adjacent violators).
    """
    order = np.argsort(wanted, kind="stable")
    blocks: list[tuple[float, int]] = []  # sum and count
    for i, at in enumerate(wanted[order].tolist()):
        blocks.append((at - gap * i, 1))
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] > blocks[-1][0] * blocks[-2][1]:
            (a, m), (b, n) = blocks[-2:]
            blocks[-2:] = [(a + b, m + n)]
    level = np.repeat([total / count for total, count in blocks], [count for _, count in blocks])
    last = max(high - gap * (len(wanted) - 1), low)
    found = np.zeros(len(wanted))
    found[order] = np.clip(level, low, last) + gap * np.arange(len(wanted))
    return found
