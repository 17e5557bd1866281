"""Numbers of the pages, each read from its benchmark in benchmarks/results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from data_manifest import describe_short

RESULTS = Path(__file__).parent.parent.parent / "benchmarks" / "results"

_BLANK = "\N{NO-BREAK SPACE}"
_MACHINE = {"cpu": "CPU", "cores": "cores", "python": "Python", "numpy": "NumPy", "numba": "Numba"}


class Figure(NamedTuple):
    """A figure: what it says, its benchmark, which rows it is read from, their column and unit."""

    what: str
    benchmark: str
    rows: dict[str, str]
    column: str
    unit: str
    table: str = "rows"


FIGURES = (
    Figure("robot arms and legs to places, each target of a batch of thousands", "robots",
           {"compared": "batch mean against mean"}, "poise [us]", "µs", "ratios"),
    Figure("the same, one target at a time from Python, median", "robots",
           {"compared": "single p50 against p50"}, "poise [us]", "µs", "ratios"),
    Figure("a whole body with five places, a frame of a batch", "full_body",
           {"way": "batch of 2000, 8 lanes"}, "median [us]", "µs"),
    Figure("the same, one frame at a time from Python", "full_body",
           {"way": "one at a time, prepared"}, "median [us]", "µs"),
    Figure("a limb of two bones in closed form, in a batch through `solve()`", "two_bone",
           {"what": "solve(), default"}, "ours [ns]", "ns"),
    Figure("ten free bones: share of targets that `CCD()` reaches, five sets", "classic_ccd",
           {"solver": "poise CCD()"}, "reached [%]", "%"),
    Figure("the same by the classic form of CCD", "classic_ccd",
           {"solver": "poise CCD, classic form"}, "reached [%]", "%"),
    Figure("feet on flat ground, live, a frame and figure, median", "grounder",
           {"ground": "flat"}, "a frame, median [us]", "µs"),
    Figure("feet of whole clips put on ground, one core", "plant_feet", {}, "frames/s", "frames/s"),
    Figure("`import poise` in a fresh process", "start_up", {"fresh process": "import poise"}, "median [s]", "s"),
    Figure("a fresh process that loads an arm and solves once", "start_up",
           {"fresh process": "import, load an arm, first solve", "kernels": "native"}, "median [s]", "s"),
    Figure("the same where Numba compiles the kernels first", "start_up",
           {"fresh process": "import, load an arm, first solve", "cache": "empty"}, "median [s]", "s"),
    Figure("first picture of the viewer's page", "viewer", {}, "first picture, median [s]", "s"),
)  # fmt: skip


def facts(name: str) -> dict[str, Any]:
    """Read the results of a benchmark."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def text() -> str:
    """Write a row for each figure."""
    lines = ["| what | figure | measured in | repeatable by |", "|---|---|---|---|"]
    for figure in FIGURES:
        values = _values(figure)
        least, most = _shown(min(values)), _shown(max(values))
        message = f"{least if least == most else f'{least} to {most}'}{_BLANK}{figure.unit}"
        link = f"[{figure.benchmark}](results/{figure.benchmark}.md)"
        lines.append(f"| {figure.what} | {message} | {link} | {describe_short(figure.benchmark)} |")
    return "\n".join(lines) + "\n"


def machine() -> str:
    """Write what the figures were measured on."""
    found = facts("chain10")["machine"]
    return ", ".join(f"{message} {found[key]}" for key, message in _MACHINE.items() if key in found) + ".\n"


def _values(figure: Figure) -> list[float]:
    rows = facts(figure.benchmark)[figure.table]
    found = [row[figure.column] for row in rows
             if figure.column in row and all(row.get(key) == value for key, value in figure.rows.items())]  # fmt: skip
    if not found:
        raise ValueError(f"benchmarks/results/{figure.benchmark}.json has no row for {figure.what!r}")
    return [float(value) for value in found]


def _shown(value: float) -> str:
    """Two digits, three from a hundred on: times differ by more from machine to machine."""
    return f"{float(f'{value:.2g}' if value < 100 else f'{value:.3g}'):,g}"
