"""Charts of the page: curves, rows of bars, figures with captions.

They are written as SVG.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from poise.comparison.report.method_styles import MethodStyle
from poise.maths.arrays import Bools, Floats
from poise.svg.charts import Axis, draw_grid, draw_polyline
from poise.svg.figures import open_svg

WIDTH = 440  # px, width of a drawing, about its size on the page
# px, margins: numbers, names at the right, axis label above, numbers below
_LEFT_MARGIN, _NAME_MARGIN, _TOP_MARGIN, _BOTTOM_MARGIN = 42, 152, 22, 34
_PLOT_HEIGHT = 230  # px, height of the plot
_NAME_GAP = 13.5  # px between names
_ROW_LEFT_MARGIN, _ROW_RIGHT_MARGIN = 144, 52  # px, margins of rows: names, numbers


class Line(NamedTuple):
    """Curve of a chart. Holds x and y (k,), its band (lower, upper), and a mask of filled markers."""

    style: MethodStyle
    x: Floats
    y: Floats
    band: tuple[Floats, Floats] | None = None
    is_filled: Bools | None = None


class ChartLabels(NamedTuple):
    """Title and axis labels of a chart."""

    title: str
    x_label: str
    y_label: str


def draw_curves(
    lines: Sequence[Line], x_range: tuple[float, float], y_range: tuple[float, float], labels: ChartLabels
) -> str:
    """Draw curves on logarithmic axes.

    `x_range` and `y_range` are the axis limits; each curve has its label at the right.
    """
    height = max(_PLOT_HEIGHT, _NAME_GAP * len(lines))
    x_axis = Axis(*x_range, _LEFT_MARGIN, WIDTH - _NAME_MARGIN, is_log=True)
    y_axis = Axis(*y_range, _TOP_MARGIN + height, _TOP_MARGIN, is_log=True)
    parts = [open_svg(WIDTH, _TOP_MARGIN + height + _BOTTOM_MARGIN, labels.title), *draw_grid(x_axis, y_axis)]
    parts.append(f'<text class="words" x="2" y="12">{escape(labels.y_label)}</text>')
    x_label_y = _TOP_MARGIN + height + 30
    x_label_text = escape(labels.x_label)
    parts.append(
        f'<text class="words" x="{WIDTH - _NAME_MARGIN}" y="{x_label_y:g}" text-anchor="end">{x_label_text}</text>'
    )
    curve_ends = np.array([float(y_axis.locate_clipped(line.y[-1])) for line in lines])
    for line, label_y in zip(
        lines, spread_labels(curve_ends, _NAME_GAP, _TOP_MARGIN + 4, _TOP_MARGIN + height), strict=True
    ):
        parts += _draw_curve(line, x_axis, y_axis, float(label_y))
    return "\n".join([*parts, "</svg>"])


def _draw_curve(line: Line, x_axis: Axis, y_axis: Axis, label_y: float) -> list[str]:
    x, y = x_axis.locate_clipped(line.x), y_axis.locate_clipped(line.y)
    parts = [f'<g class="{line.style.css_class}">']
    if line.band is not None:
        low, high = (y_axis.locate_clipped(bound) for bound in line.band)
        band_points = " ".join(
            f"{a:.1f},{b:.1f}" for a, b in zip(np.r_[x, x[::-1]], np.r_[low, high[::-1]], strict=True)
        )
        parts.append(f'<polygon class="band" points="{band_points}"/>')
    parts.append(draw_polyline("line", x, y))
    for a, b, is_full in zip(x, y, [] if line.is_filled is None else line.is_filled, strict=False):
        parts.append(f'<circle class="dot{"" if is_full else " open"}" cx="{a:.1f}" cy="{b:.1f}" r="2.6"/>')
    plot_right = WIDTH - _NAME_MARGIN
    parts.append(
        f'<path class="leader" d="M{x[-1]:.1f} {y[-1]:.1f}H{plot_right + 2}L{plot_right + 12} {label_y:.1f}"/>'
    )
    return [*parts, line.style.draw_label(plot_right + 15, label_y + 4), "</g>"]


class ChartRow(NamedTuple):
    """Row of a chart: its drawing and its number at the right."""

    style: MethodStyle
    svg_parts: list[str]
    value_text: str


def make_row_axis(low: float, high: float, *, log: bool = True) -> Axis:
    """Make the axis of rows from low to high."""
    return Axis(low, high, _ROW_LEFT_MARGIN, WIDTH - _ROW_RIGHT_MARGIN, is_log=log)


def draw_rows(
    rows: Sequence[ChartRow], axis: Axis, height: float, labels: ChartLabels, levels: Sequence[float] = ()
) -> str:
    """Draw rows below each other along one axis.

    Rows are `height` apart; numbers are below and labels.y_label is above the right column.
    """
    bottom = _TOP_MARGIN + height * len(rows)
    parts = [open_svg(WIDTH, bottom + _BOTTOM_MARGIN, labels.title)]
    for value, label in axis.list_ticks():
        tick_x = float(axis.locate(value))
        parts.append(f'<path d="M{tick_x:.1f} {_TOP_MARGIN}V{bottom:g}"/>')
        parts.append(f'<text x="{tick_x:.1f}" y="{bottom + 13:g}" text-anchor="middle">{label}</text>')
    parts += [
        f'<path class="level" d="M{float(axis.locate(level)):.1f} {_TOP_MARGIN}V{bottom:g}"/>' for level in levels
    ]
    parts.append(f'<text class="words" x="{_ROW_LEFT_MARGIN}" y="{bottom + 29:g}">{escape(labels.x_label)}</text>')
    parts.append(f'<text class="words" x="{WIDTH - 2}" y="12" text-anchor="end">{escape(labels.y_label)}</text>')
    for i, row in enumerate(rows):
        parts.append(f'<g class="{row.style.css_class}" transform="translate(0 {_TOP_MARGIN + height * i:g})">')
        parts += [row.style.draw_label(_ROW_LEFT_MARGIN - 6, height / 2 + 4, "end"), *row.svg_parts]
        parts.append(
            f'<text x="{WIDTH - 2}" y="{height / 2 + 4:g}" text-anchor="end">{escape(row.value_text)}</text></g>'
        )
    return "\n".join([*parts, "</svg>"])


def draw_rectangle(style: str, x: float, y: float, width: float, height: float, tooltip: str = "") -> str:
    """Draw a rectangle. The tooltip is optional."""
    rectangle = f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f"{rectangle}><title>{escape(tooltip)}</title></rect>" if tooltip else f"{rectangle}/>"


def wrap_figure(title: str, svg: str, caption: str = "") -> str:
    """Wrap a drawing with its title and caption. The caption is HTML."""
    caption_html = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f"<figure><h3>{escape(title)}</h3>{svg}{caption_html}</figure>"


class _LabelBlock(NamedTuple):
    """Sum of the wanted positions of neighbouring labels, and their number."""

    position_sum: float
    label_count: int


def spread_labels(wanted_positions: Floats, min_gap: float, low: float, high: float) -> Floats:
    """Spread label positions (k,) apart, keeping their order.

    They stay as near to the wanted ones as possible, `min_gap` or more apart, between low and high.

    Least squares under a fixed order: neighbours that are too close move to their common mean until none are (pool
    adjacent violators).
    """
    order = np.argsort(wanted_positions, kind="stable")
    blocks: list[_LabelBlock] = []
    for i, wanted_position in enumerate(wanted_positions[order].tolist()):
        blocks.append(_LabelBlock(wanted_position - min_gap * i, 1))
        while (
            len(blocks) > 1
            and blocks[-2].position_sum * blocks[-1].label_count > blocks[-1].position_sum * blocks[-2].label_count
        ):
            upper, lower = blocks[-2:]
            blocks[-2:] = [_LabelBlock(upper.position_sum + lower.position_sum, upper.label_count + lower.label_count)]
    block_means = np.repeat(
        [block.position_sum / block.label_count for block in blocks], [block.label_count for block in blocks]
    )
    max_start = max(high - min_gap * (len(wanted_positions) - 1), low)
    positions = np.zeros(len(wanted_positions))
    positions[order] = np.clip(block_means, low, max_start) + min_gap * np.arange(len(wanted_positions))
    return positions
