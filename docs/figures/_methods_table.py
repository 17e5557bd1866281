"""Property table of the methods, from measurements of its benchmark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent.parent / "benchmarks" / "results" / "properties.json"
TABLES = (
    ("method", "what it is", "lines", "speed"),
    ("method", "hinge joints", "joint limits", "number of joints"),
    ("method", "singularities", "convergence"),
)


def text() -> str:
    """Three tables that fit on a page, and what their words mean."""
    document = measured()
    parts = [_table(document["rows"], heads) for heads in TABLES]
    words = [note.partition(": ") for note in document["notes"][2:]]
    parts += ["## Meaning of the words", *document["notes"][:2]]
    parts += ["\n".join(f"- **{about}.** {text[0].upper()}{text[1:]}" for about, _, text in words)]
    return "\n\n".join(parts) + "\n"


def measured() -> dict[str, Any]:
    """The results of the benchmark."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def _table(rows: list[dict[str, Any]], heads: tuple[str, ...]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|---|" + "---|" * (len(heads) - 1)]
    return "\n".join([*lines, *(f"| {' | '.join(_cell(head, row[head]) for head in heads)} |" for row in rows)])


def _cell(head: str, value: Any) -> str:
    if head == "method":
        name = value.strip("`")
        return f"[{name}](solvers/{name}.md)"
    return str(value)
