"""Architecture: the packages in the order of the import layers, with counts of imports.

The layers are those of pyproject.toml. Beside each package stand the number of imports from packages below it, counted
in the sources, and the number of these packages.
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
SOURCE = ROOT / "src" / "poise"
_HEIGHT_IN, _GAP_IN = 0.30, 0.05  # of a bar, and between bars
RIGHT_IN = 3.5  # right end of the bars

# Content of each package in a few words, and its colour.
PACKAGES = {
    "cli": ("commands", BLUE),
    "extend": ("custom parts", BLUE),
    "viewer": ("browser viewer", BLUE),
    "notebook": ("values as HTML", BLUE),
    "comparison": ("methods compared", BLUE),
    "benchmark": ("poise bench", SKY),
    "precompile": ("poise warmup", SKY),
    "plot": ("pictures", SKY),
    "conversion": ("file conversion", SKY),
    "batch": ("folders of files", SKY),
    "retargeting": ("motion onto figures", SKY),
    "ground": ("foot planting", SKY),
    "solving": ("solve, diagnose", RED),
    "solvers": ("one file per method", RED),
    "jax": ("derivatives (extra)", ORANGE),
    "problem": ("goals, packing", ORANGE),
    "io": ("files", PINK),
    "svg": ("charts", GREY),
    "model": ("skeleton, pose, limits", GREEN),
    "rotations": ("public rotations", GREEN),
    "calls": ("argument checks", GREEN),
    "maths": ("arrays, numbers", GREEN),
    "kernels": ("compiled loops", BLACK),
    "errors": ("exceptions", BLACK),
    "formatting": ("numbers as text", BLACK),
    "call_clock": ("clock of calls", BLACK),
    "runtime": ("immutable values", BLACK),
}


def read_layers() -> list[list[str]]:
    """Read the layers of the import contract, the uppermost first.

    Each layer is a list of packages. `__main__` is left out: it only starts the command line.
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(each for each in settings["tool"]["importlinter"]["contracts"] if each["type"] == "layers")
    layers = [[name.strip().strip("()") for name in layer.split("|")] for layer in contract["layers"]]
    return [packages for packages in layers if packages != ["__main__"]]


@cache
def count_imports() -> Counter[tuple[str, str]]:
    """Count the imports between packages, by (importing, imported)."""
    counts: Counter[tuple[str, str]] = Counter()
    for path in SOURCE.rglob("*.py"):
        importing = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if importing.startswith("__"):
            continue
        for imported in _list_imported_packages(ast.parse(path.read_text(encoding="utf-8"))):
            if imported != importing and imported in PACKAGES:
                counts[importing, imported] += 1
    return counts


def _list_imported_packages(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name.split(".")[1] for name in names if name.startswith("poise."))


def draw(path: Path) -> None:
    """Write the picture."""
    save(draw_picture()[0], path)


def draw_picture() -> tuple[Any, Any]:
    """Draw a bar for each package and an arrow beside them. Returns figure and axes."""
    packages = [name for layer in read_layers() for name in layer]
    height = (_HEIGHT_IN + _GAP_IN) * len(packages) + _GAP_IN + 0.25
    drawing, axes = figure(height=height, width=4.0)
    axes.set(xlim=(0, 4.0), ylim=(height, 0))
    axes.set_axis_off()
    axes.text(RIGHT_IN - 0.08, 0.14, "imports to packages", fontsize=9.5, va="center", ha="right", color=GREY)
    for i, name in enumerate(packages):
        _draw_bar(axes, name, 0.25 + _GAP_IN + i * (_HEIGHT_IN + _GAP_IN))
    axes.annotate(
        "", (3.86, height - 0.1), (3.86, 0.1), arrowprops={"arrowstyle": "-|>", "color": BLACK, "linewidth": 1.6}
    )
    axes.text(3.78, height / 2, "imports point down", rotation=90, va="center", ha="right", fontsize=10)
    return drawing, axes


def _draw_bar(axes: Any, name: str, top: float) -> None:
    """Draw one package: name, content, number of imports and of imported packages."""
    text, colour = PACKAGES[name]
    counts = [count for (importing, _), count in count_imports().items() if importing == name]
    axes.fill_between([0.02, RIGHT_IN], top, top + _HEIGHT_IN, color=PALE, alpha=0.45, linewidth=0)
    axes.fill_between([0.02, 0.1], top, top + _HEIGHT_IN, color=colour, linewidth=0)
    middle = top + _HEIGHT_IN / 2
    axes.text(0.18, middle, name, fontsize=10, fontweight="bold", va="center")
    axes.text(1.18, middle, text, fontsize=9.5, va="center")
    if counts:
        axes.text(RIGHT_IN - 0.08, middle, f"{sum(counts)} to {len(counts)}", fontsize=9.5, va="center", ha="right")
