"""Every column of a comparison with what it means, from the columns themselves."""

from __future__ import annotations

from pathlib import Path

from poise.comparison.findings.columns import COLUMNS

SUFFIX = ".md"
UNITS = {"us": "µs", "distance": "rig's unit", "": "-"}


def draw(path: Path) -> None:
    """A row for each column, in the order of the table."""
    lines = ["| column | in JSON | unit | what it says |", "|---|---|---|---|"]
    lines += [f"| {c.title} | `{c.key}` | {UNITS.get(c.unit, c.unit)} | {c.text} |" for c in COLUMNS]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
