"""The house: the rooms of the package as floors, the layers of pyproject.toml, with the imports that go down.

Beside each room stands how many imports of its files go to rooms below, counted in the sources, and to how many rooms.
"""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from figures._style import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, PINK, RED, SKY, figure, save

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "poise"
_LINE, _GAP = 0.30, 0.05  # inches of a floor, and between floors
RIGHT = 3.5  # inches: where the floors end

# What each room is for, in a few words, and its colour.
ROOMS = {
    "cli": ("commands", BLUE),
    "extend": ("writing one's own", BLUE),
    "viewer": ("the page", BLUE),
    "comparison": ("methods compared", BLUE),
    "libraries": ("folders of files", SKY),
    "machine": ("compiling, figures", SKY),
    "plot": ("pictures", SKY),
    "ground": ("feet on the ground", SKY),
    "solving": ("solve, judge, Result", RED),
    "solvers": ("one file a method", RED),
    "jax": ("derivatives (extra)", ORANGE),
    "problem": ("goals, packing", ORANGE),
    "io": ("files", PINK),
    "svg": ("charts", GREY),
    "model": ("skeleton, pose, limits", GREEN),
    "maths": ("rotations, arrays", GREEN),
    "kernels": ("compiled loops", BLACK),
    "errors": ("exceptions", BLACK),
    "timing": ("times of calls", BLACK),
}


def layers() -> list[list[str]]:
    """The layers of the import contract, the uppermost first, each with its rooms; `__main__` only starts the first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(one for one in settings["tool"]["importlinter"]["contracts"] if one["type"] == "layers")
    found = [[name.strip().strip("()") for name in layer.split("|")] for layer in contract["layers"]]
    return [rooms for rooms in found if rooms != ["__main__"]]


@cache
def arrows() -> Counter[tuple[str, str]]:
    """How many imports go from one room to another, by (from, to)."""
    found: Counter[tuple[str, str]] = Counter()
    for path in PACKAGE.rglob("*.py"):
        here = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if here.startswith("__"):
            continue
        for there in _imported(ast.parse(path.read_text(encoding="utf-8"))):
            if there != here and there in ROOMS:
                found[here, there] += 1
    return found


def _imported(tree: ast.Module) -> Iterator[str]:
    """The room of every name that is imported from the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name.split(".")[1] for name in names if name.startswith("poise."))


def draw(path: Path) -> None:
    """Write the picture."""
    save(picture()[0], path)


def picture() -> tuple[Any, Any]:
    """The figure and its axes: a floor for each room, an arrow beside them."""
    rooms = [room for layer in layers() for room in layer]
    whole = (_LINE + _GAP) * len(rooms) + _GAP + 0.25
    drawing, axes = figure(height=whole, width=4.0)
    axes.set(xlim=(0, 4.0), ylim=(whole, 0))
    axes.set_axis_off()
    axes.text(RIGHT - 0.08, 0.14, "imports to rooms below", fontsize=9.5, va="center", ha="right", color=GREY)
    for i, room in enumerate(rooms):
        _floor(axes, room, 0.25 + _GAP + i * (_LINE + _GAP))
    axes.annotate(
        "", (3.86, whole - 0.1), (3.86, 0.1), arrowprops={"arrowstyle": "-|>", "color": BLACK, "linewidth": 1.6}
    )
    axes.text(3.78, whole / 2, "imports point down", rotation=90, va="center", ha="right", fontsize=10)
    return drawing, axes


def _floor(axes: Any, room: str, top: float) -> None:
    """One room: its name, what it is for, its imports and how many rooms they go to."""
    text, colour = ROOMS[room]
    below = {there: count for (here, there), count in arrows().items() if here == room}
    axes.fill_between([0.02, RIGHT], top, top + _LINE, color=PALE, alpha=0.45, linewidth=0)
    axes.fill_between([0.02, 0.1], top, top + _LINE, color=colour, linewidth=0)
    middle = top + _LINE / 2
    axes.text(0.18, middle, room, fontsize=10, fontweight="bold", va="center")
    axes.text(1.18, middle, text, fontsize=9.5, va="center")
    if below:
        axes.text(RIGHT - 0.08, middle, f"{sum(below.values())} to {len(below)}", fontsize=9.5, va="center", ha="right")
