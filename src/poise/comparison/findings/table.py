"""Format a comparison as a plain text table. It shows as many columns as fit into the width."""

from __future__ import annotations

import math
from textwrap import wrap

from poise.comparison.findings.columns import Column
from poise.comparison.findings.findings import Findings
from poise.maths.in_words import write_number
from poise.problem.goals import Orientation, Position

_MICRO = "\N{MICRO SIGN}s"
_NARROW = 9  # characters, smallest width of a heading
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
    """Format a number with the usual digits of its unit. A dash stands for a missing value."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "none"
    if column.unit == "%":
        return f"{value:.4g}" if value < 100 else "100"  # noqa: PLR2004
    if abs(value) >= 1000:  # noqa: PLR2004
        return f"{value:,.0f}"
    return write_number(value, 3)


def heading(column: Column, distance: str = "") -> str:
    """Format the title with its unit in brackets. `distance` is the unit of lengths."""
    unit = {"us": _MICRO, "distance": distance}.get(column.unit, column.unit)
    return f"{column.title} [{unit}]" if unit else column.title


def text_table(findings: Findings, width: int = 120) -> str:
    """Format the title, method rows and refusals. Columns beyond `width` characters are left out."""
    asked = {len(method.main) for method in findings.compared if method.main is not None}
    shown = ("targets", *SHOWN) if len(asked) > 1 else SHOWN
    columns = [column for column in findings.columns if column.key in shown]
    cells = [["rank", *_ranks(findings)], ["method", *(method.name for method in findings.compared)]]
    cells += [[_words(column, findings), *_numbers(column, findings)] for column in columns]
    lines = _joined(cells, width) if findings.compared else []
    lines += [f"\nsolved 1x: within {closeness(findings)}, by forward kinematics; times are medians"] if lines else []
    refused = [f"{method.name}: {method.refused}" for method in findings.refused]
    return "\n".join([findings.task.title, *([""] if lines else []), *lines, *([""] if refused else []), *refused])


def closeness(findings: Findings) -> str:
    """Format the tolerance: `1e-06 m and 1e-06 rad`."""
    task = findings.task
    parts = [f"{task.tolerance.distance:.3g} {length_unit(findings)}"] * (not isinstance(task.goal, Orientation))
    parts += [f"{task.tolerance.angle:.3g} rad"] * (not isinstance(task.goal, Position))
    return " and ".join(parts)


def length_unit(findings: Findings) -> str:
    """Return the rig's unit of length. "m" where the rig is known to be in metres, else "units"."""
    return "m" if findings.task.start.skeleton.metres_per_unit == 1 else "units"


def _ranks(findings: Findings) -> list[str]:
    return ["" if method.ranks is None else str(method.ranks.overall) for method in findings.compared]


def _words(column: Column, findings: Findings) -> str:
    return heading(column, length_unit(findings))


def _numbers(column: Column, findings: Findings) -> list[str]:
    return [number(column, column.of(method)) for method in findings.compared]


def _joined(columns: list[list[str]], width: int) -> list[str]:
    """Join columns side by side. Long headings are wrapped, and the second column is left-aligned."""
    heads = [
        wrap(column[0], max(_NARROW, *(len(cell) for cell in column[1:])), break_long_words=False) for column in columns
    ]
    most = max(map(len, heads))
    lines = [""] * (most + len(columns[0]) - 1)
    for i, (head, column) in enumerate(zip(heads, columns, strict=True)):
        cells = [*[""] * (most - len(head)), *head, *column[1:]]
        wide = max(map(len, cells))
        if i > 1 and len(lines[0]) + 2 + wide > width:
            break
        lines = [
            f"{line}{'  ' if i else ''}{cell.ljust(wide) if i == 1 else cell.rjust(wide)}"
            for line, cell in zip(lines, cells, strict=True)
        ]
    return [line.rstrip() for line in lines]
