"""Draw the documentation's figures: `python docs/figures/_build.py [NAME ...]`, by default all.

The figures are in the repository, so that pages show them without a build. A test draws each again and compares.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

FOLDER = Path(__file__).parent
DRAWN = FOLDER.parent / "_figures"
if str(FOLDER.parent) not in sys.path:
    sys.path.insert(0, str(FOLDER.parent))  # figures import each other's parts as `figures.NAME`

# Larger than what other processors change in the last digits of a solve, smaller than a visible change of a curve.
MAX_SHIFT_PT = 3.0
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_LABEL = re.compile(r"<!-- (.*?) -->", re.DOTALL)


def names() -> list[str]:
    """List every figure: the modules here whose names do not begin with a line."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if not path.name.startswith("_"))


def module(name: str) -> Any:
    """Import the module of a figure; SystemExit if it has no draw(path)."""
    found = importlib.import_module(f"figures.{name}")
    if not callable(getattr(found, "draw", None)):
        sys.exit(f"docs/figures/{name}.py: has no function draw(path)")
    return found


def draw(which: Iterable[str], folder: Path | None = None) -> None:
    """Draw figures into a folder, by default docs/_figures; one that fails names its module."""
    folder = folder or DRAWN
    folder.mkdir(exist_ok=True)
    for name in which:
        began = time.perf_counter()
        path = folder / f"{name}.svg"
        beside = path.with_name(f".{os.getpid()}-{path.name}")  # never half a figure, nor two builds in one file
        try:
            try:
                module(name).draw(beside)
            except Exception as problem:
                raise RuntimeError(f"docs/figures/{name}.py cannot be drawn: {problem!r}") from problem
            if not beside.is_file():
                sys.exit(f"docs/figures/{name}.py: draw(path) wrote nothing")
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
        print(f"{path}: {time.perf_counter() - began:.1f} s", flush=True)


def find_difference(shown: str, drawn: str, *, is_timed: bool = False) -> str:
    """Describe how two SVG figures differ to a reader; empty for none.

    Numbers in labels are not compared. Of a figure with measured times only the labels are.
    """
    labels = [Counter(_NUMBER.sub("#", label) for label in _LABEL.findall(text)) for text in (shown, drawn)]
    if not is_timed and labels[0] != labels[1]:
        return f"other labels: {sorted((labels[0] - labels[1]) + (labels[1] - labels[0]))}"
    if is_timed:  # times set the ticks of an axis and their number
        words = [{label for label in found if re.search(r"[a-z]{2}", label)} for found in labels]
        return "" if words[0] == words[1] else f"other labels: {sorted(words[0] ^ words[1])}"
    first, second = (_find_paths(text) for text in (shown, drawn))
    if first.keys() != second.keys():
        return f"other parts: {sorted(first.keys() ^ second.keys())}"
    for name, paths in first.items():
        others = second[name]
        if len(paths) != len(others):
            return f"{name} has {len(others)} paths, {len(paths)} in the repository"
        shift = max(
            (abs(a - b) for one, other in zip(paths, others, strict=True) for a, b in zip(one, other, strict=True)),
            default=0.0,
        )
        if shift > MAX_SHIFT_PT:
            return f"{name} is {shift:.1f} pt away from its place in the repository"
    return ""


def _find_paths(text: str) -> dict[str, list[tuple[float, ...]]]:
    """Find the extents (least x, least y, largest x, largest y) [pt] of the paths in each named group of an SVG."""
    found: dict[str, list[tuple[float, ...]]] = {}

    def visit(element: ET.Element, group: str) -> None:
        name = element.get("id", "")
        if element.tag.endswith("}defs") or name.startswith("text_"):
            return
        group = name or group
        marker = f"{element.get('x', '')} {element.get('y', '')}" if element.tag.endswith("}use") else ""
        numbers = [float(number) for number in _NUMBER.findall(element.get("d", marker))]
        if numbers:
            x, y = numbers[0::2], numbers[1::2]
            found.setdefault(group, []).append((min(x), min(y), max(x), max(y)))
        for child in element:
            visit(child, group)

    visit(ET.fromstring(text), "")  # noqa: S314  (drawn by this project)
    return found


if __name__ == "__main__":
    draw(sys.argv[1:] or names())
