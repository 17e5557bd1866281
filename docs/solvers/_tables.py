"""Write the parts of the solver pages that come from the code and the measurements: `python docs/solvers/_tables.py`.

The sections `Options` (what a solver handles, and its options with their sentences) and `Measured` (from
benchmarks/results) of docs/solvers/NAME.md. tests/docs/test_solver_pages.py fails where a page is not what this writes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from poise import solvers
from poise.solvers.base.option_parsing import list_parameters

FOLDER = Path(__file__).parent
RESULTS = FOLDER.parent.parent / "benchmarks" / "results"
_SETS = {
    "ball": "anywhere within reach",
    "axis": "on the straight chain's own line",
    "edge": "at 99 to 100 % of the reach",
}


def options(name: str) -> str:
    """What a solver handles, in a list, and its options in a table."""
    made: Any = solvers.make_solver(name)
    handles = made.handles
    together = "several at once" if handles.several else "one at a time"
    if handles.one_joint:
        together += ", all of one joint"
    together += "".join(f"; {goal} only beside another" for goal in handles.beside)
    also = {"soft limits": handles.soft, "coupled joints": handles.coupled, "a free root": handles.free_root}
    lines = [
        f"- Goals: {', '.join(f'`{goal}`' for goal in handles.goals)}; {together}.",
        f"- Joints: {', '.join(kind.name.lower() for kind in handles.joints)}.",
        f"- Limits: {', '.join(f'`{limit}`' for limit in handles.limits)}.",
        f"- Also: {', '.join(what for what, can in also.items() if can) or 'nothing more'}.",
        f"- Not: {', '.join(what for what, can in also.items() if not can) or 'it refuses nothing of these'}.",
        f"- `prefer`: {', '.join(f'`{word}`' for word in handles.prefer)}.",
        "",
        f"Options of `poise.{type(made).__name__}`; `poise solvers {name}` prints the same list.",
        "",
        "| option | default | meaning |",
        "|---|---|---|",
    ]
    for option in list_parameters(type(made)):
        cells = (f"`{option.name}`", f"`{_shown(option.default)}`", option.description)
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines)


def measured(name: str) -> str:
    """What the benchmarks in the repository say of a solver; the tables that they come from are named."""
    return _closed_form() if name == "two_bone" else _iterative(name)


def _iterative(name: str) -> str:
    rows = [row for row in _rows("chain10") if row["solver"].split()[0].rstrip(",") == name]
    lines = [
        "Ten bones, started straight, to 1/1000 of a bone (conditions: [chain10](../results/chain10.md)).",
        "",
        "| targets | form | reached [%] | iterations, mean | each, in a batch [us] |",
        "|---|---|---|---|---|",
    ]
    for kind, words in _SETS.items():
        for row in rows:
            if row["targets"] == kind:
                numbers = row["reached [%]"], row["iterations, mean"], row["each [us]"]
                lines.append(f"| {words} | {row['solver']} | {' | '.join(f'{x:.3g}' for x in numbers)} |")
    for row in _rows("methods_panda"):
        if row["solver"] == name:
            where = "A Panda to placements, to 1e-6 m and 1e-6 rad within its limits"
            found = f"{row['solved [%]']:.3g} % of {row['of']} solved, {float(row['batch [us]']):,.5g} us each"
            lines += ["", f"{where} ([methods_panda](../results/methods_panda.md)): {found}."]
    return "\n".join(lines)


def _closed_form() -> str:
    lines = [
        "A leg of three ball joints, targets within its reach (conditions: [two_bone](../results/two_bone.md)).",
        "",
        "| what | targets | each [ns] |",
        "|---|---|---|",
    ]
    lines += [f"| {row['what']} | {row['targets']:,} | {row['ours [ns]']:.3g} |" for row in _rows("two_bone")]
    return "\n".join(lines)


def _rows(table: str) -> list[dict[str, Any]]:
    return json.loads((RESULTS / f"{table}.json").read_text(encoding="utf-8"))["rows"]


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


WRITTEN = {"Measured": measured, "Options": options}


def section(page: str, title: str) -> str | None:
    """The text of a page below a heading, up to the next one; None where there is no such heading."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page, flags=re.DOTALL | re.MULTILINE)
    return None if found is None else found[1].strip()


def rewritten(name: str, page: str) -> str:
    """The page of a solver with its written sections as they should be."""
    for title, write in WRITTEN.items():
        text = f"## {title}\n\n{write(name)}\n\n"
        page = re.sub(rf"^## {title}\n.*?(?=^## |\Z)", lambda _, text=text: text, page, flags=re.DOTALL | re.MULTILINE)
    return page.rstrip() + "\n"


def main() -> None:
    """Write all pages that are not what they should be."""
    for name in solvers.names():
        path = FOLDER / f"{name}.md"
        before = path.read_text(encoding="utf-8")
        after = rewritten(name, before)
        if after != before:
            path.write_text(after, encoding="utf-8")
            print(f"written: docs/solvers/{name}.md")


if __name__ == "__main__":
    main()
