"""Columns of a comparison with their meanings, from the columns themselves."""

from __future__ import annotations

from poise.comparison.results import COLUMNS

UNITS = {"us": "µs", "distance": "rig's unit", "": "-"}


def text() -> str:
    """Write a row for each column, in the order of the table."""
    lines = ["| column | in JSON | unit | what it says |", "|---|---|---|---|"]
    lines += [f"| {c.title} | `{c.key}` | {UNITS.get(c.unit, c.unit)} | {c.description} |" for c in COLUMNS]
    return "\n".join(lines) + "\n"
