"""Pages of measured figures, made from benchmarks/results: nothing is typed a second time.

docs/results/NAME.md      a benchmark: its question, the command that repeats it, its tables as they were written
docs/results/_summary.md  the figures that other pages speak of, each read from the numbers of its benchmark
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from generated import write_pages
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

_ROOT = Path(__file__).parent.parent.parent
_BENCHMARKS = _ROOT / "benchmarks"
_PAGES = _ROOT / "docs" / "results"
_BLANK = "\N{NO-BREAK SPACE}"
_MACHINE = {"cpu": "CPU", "cores": "cores", "python": "Python", "numpy": "NumPy", "numba": "Numba"}


class Figure(NamedTuple):
    """A figure that we speak of: what it says, its benchmark, which rows it is read from, their column and unit."""

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
           {"fresh process": "import, load an arm, first solve", "cache": "warm"}, "median [s]", "s"),
    Figure("`poise.warmup()` where nothing is compiled yet", "start_up",
           {"fresh process": "poise.warmup()"}, "median [s]", "s"),
    Figure("first picture of the viewer's page", "viewer", {}, "first picture, median [s]", "s"),
)  # fmt: skip


def names() -> list[str]:
    """Benchmarks that have results."""
    found = (path.stem for path in (_BENCHMARKS / "results").glob("*.md"))
    return sorted(name for name in found if name != "README")


def pages() -> dict[str, str]:
    """File name -> Markdown of everything that is made here."""
    made = {f"{name}.md": _page(name) for name in names()}
    made["_summary.md"] = _summary()
    made["_machine.md"] = _machine() + "\n"
    return made


def _page(name: str) -> str:
    text = (_BENCHMARKS / "results" / f"{name}.md").read_text(encoding="utf-8")
    title, _, tables = text.partition("\n")
    tables = re.sub(r"^#(#+ )", r"\1", tables, flags=re.MULTILINE)
    said = f"{_first_paragraph(name)}\n\nRepeat it with\n\n```bash\npython benchmarks/run.py {name}\n```\n"
    return f"# {title.lstrip('# ')}\n\n{said}\n{tables.strip()}\n"


def _first_paragraph(name: str) -> str:
    """What a benchmark says of itself."""
    path = _BENCHMARKS / f"{name}.py"
    source = path if path.is_file() else _BENCHMARKS / name / "__init__.py"
    doc = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return " ".join(doc.split("\n\n")[0].split())


def _facts(name: str) -> dict[str, Any]:
    return json.loads((_BENCHMARKS / "results" / f"{name}.json").read_text(encoding="utf-8"))


def _machine() -> str:
    found = _facts("chain10")["machine"]
    return ", ".join(f"{said} {found[key]}" for key, said in _MACHINE.items() if key in found) + "."


def _summary() -> str:
    lines = ["| what | figure | measured by |", "|---|---|---|"]
    for figure in FIGURES:
        values = _values(figure)
        least, most = _shown(min(values)), _shown(max(values))
        said = f"{least if least == most else f'{least} to {most}'}{_BLANK}{figure.unit}"
        lines.append(f"| {figure.what} | {said} | [{figure.benchmark}](results/{figure.benchmark}.md) |")
    return "\n".join(lines) + "\n"


def _values(figure: Figure) -> list[float]:
    rows = _facts(figure.benchmark)[figure.table]
    found = [row[figure.column] for row in rows
             if figure.column in row and all(row.get(key) == value for key, value in figure.rows.items())]  # fmt: skip
    if not found:
        raise ExtensionError(f"benchmarks/results/{figure.benchmark}.json has no row for {figure.what!r}")
    return [float(value) for value in found]


def _shown(value: float) -> str:
    """Two digits, three from a hundred on: times differ by more from machine to machine."""
    return f"{float(f'{value:.2g}' if value < 100 else f'{value:.3g}'):,g}"


def write(_app: Sphinx) -> None:
    """Write the pages."""
    write_pages(_PAGES, pages())


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the pages at the start of every build."""
    app.connect("builder-inited", write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
