"""Draw the documentation's figures that are out of date: `python docs/figures/_build.py [NAME ...]`.

Named ones are drawn anyway. A figure is out of date when its module, the shared parts, the package or measured results
are newer. With POISE_FIGURES=missing in the environment only those are drawn that do not exist.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
DRAWN = FOLDER.parent / "_figures"
PACKAGE = FOLDER.parent.parent / "src" / "poise"
RESULTS = FOLDER.parent.parent / "benchmarks" / "results"
if str(FOLDER.parent) not in sys.path:
    sys.path.insert(0, str(FOLDER.parent))  # figures import each other's parts as `figures.NAME`


def names() -> list[str]:
    """Every figure: the modules here whose names do not begin with a line."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if not path.name.startswith("_"))


def module(name: str) -> Any:
    """The module of a figure; SystemExit if it has no draw(path)."""
    found = importlib.import_module(f"figures.{name}")
    if not callable(getattr(found, "draw", None)):
        sys.exit(f"docs/figures/{name}.py: has no function draw(path)")
    return found


def out_of_date() -> list[str]:
    """Names of the figures to draw."""
    shared = [*FOLDER.glob("_*.py"), *PACKAGE.rglob("*.py"), *RESULTS.glob("*.json")]
    package = max(path.stat().st_mtime for path in shared)
    only_missing = os.environ.get("POISE_FIGURES") == "missing"
    found: list[str] = []
    for name in names():
        made = [path for path in DRAWN.glob(f"{name}.*") if path.suffix in (".svg", ".png", ".md")]
        needed = max(package, (FOLDER / f"{name}.py").stat().st_mtime)
        if not made or not (only_missing or made[0].stat().st_mtime >= needed):
            found.append(name)
    return found


def draw(which: Iterable[str]) -> None:
    """Draw figures into docs/_figures; one that fails names its module and stops the build."""
    DRAWN.mkdir(exist_ok=True)
    for name in which:
        began = time.perf_counter()
        found = module(name)
        path = DRAWN / (name + getattr(found, "SUFFIX", ".svg"))
        beside = path.with_name(f".{os.getpid()}-{path.name}")  # never half a figure, nor two builds in one file
        try:
            try:
                found.draw(beside)
            except Exception as problem:
                raise RuntimeError(f"docs/figures/{name}.py cannot be drawn: {problem!r}") from problem
            if not beside.is_file():
                sys.exit(f"docs/figures/{name}.py: draw(path) wrote nothing")
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
        print(f"docs/_figures/{path.name}: {time.perf_counter() - began:.1f} s", flush=True)


if __name__ == "__main__":
    draw(sys.argv[1:] or out_of_date())
