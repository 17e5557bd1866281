"""The table of a comparison as plain text, as wide as the terminal: as many columns as fit, the first ones first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from poise.comparison.columns import Column
from poise.comparison.measured import Measured

if TYPE_CHECKING:
    from poise.comparison.comparison import Comparison

_MICRO = "\N{MICRO SIGN}s"
SHOWN = (
    "solved_100",
    "solved_10",
    "solved_1",
    "call",
    "call_p99",
    "batch",
    "iterations",
    "left",
    "violated",
    "path",
    "step",
)


def number(column: Column, value: float) -> str:
    """A figure with its unit's usual digits; a dash where there is none."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "none"
    if column.unit == "%":
        return f"{value:.4g}" if value < 100 else "100"  # noqa: PLR2004
    if abs(value) >= 1000:  # noqa: PLR2004
        return f"{value:,.0f}"
    return f"{value:.3g}"


def heading(column: Column, distance: str = "") -> str:
    """The title with its unit in brackets; `distance` is the unit of lengths."""
    unit = {"us": _MICRO, "distance": distance}.get(column.unit, column.unit)
    return f"{column.title} [{unit}]" if unit else column.title


def text_table(comparison: Comparison) -> str:
    """Title, a line for each method, and those that refused."""
    columns = [column for column in comparison.columns if column.key in SHOWN]
    lines = [["rank", "method", *(heading(column, length_unit(comparison)) for column in columns)]]
    lines += [_line(method, columns) for method in comparison.compared]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    texts = ["  ".join(_aligned(line, widths)).rstrip() for line in lines]
    refused = [f"{method.name}: {method.refused}" for method in comparison.refused]
    return "\n".join([comparison.task.title, "", *texts, *([""] if refused else []), *refused])


def length_unit(comparison: Comparison) -> str:
    """Of the rig: m where it is known to be in metres, else file units."""
    return "m" if comparison.task.start.skeleton.metres_per_unit == 1 else "units"


def _line(method: Measured, columns: list[Column]) -> list[str]:
    rank = "" if method.ranks is None else str(method.ranks.overall)
    return [rank, method.name, *(number(column, column.of(method)) for column in columns)]


def _aligned(line: list[str], widths: list[int]) -> list[str]:
    return [
        cell.ljust(width) if i == 1 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]
