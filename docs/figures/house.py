"""The house: the layers of pyproject.toml, grouped into the floors that a newcomer needs, imports pointing down."""

from __future__ import annotations

import textwrap
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from figures._style import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, PINK, RED, SKY, figure, save

ROOT = Path(__file__).parents[2]
_WIDE, _LINE, _GAP = 41, 0.155, 0.16  # characters of a line; inches of one, and between floors


class Floor(NamedTuple):
    """What a floor is for, its colour, and the first of its layers."""

    title: str
    colour: str
    first: str


FLOORS = (
    Floor("what people start", BLUE, "cli"),
    Floor("what is made with solves", SKY, "bench"),
    Floor("solving", RED, "solve"),
    Floor("a problem, packed and measured", ORANGE, "modes"),
    Floor("what is wanted", GREEN, "goals"),
    Floor("files", PINK, "io.gltf"),
    Floor("skeletons, poses, limits", GREY, "clip"),
)
RIGHT = 3.5  # inches: where the floors end
REGISTRIES = ("solvers", "goals", "limits", "io")


def layers() -> list[list[str]]:
    """The layers of the import contract, the uppermost first, each with its modules, without `poise.` before them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(one for one in settings["tool"]["importlinter"]["contracts"] if one["type"] == "layers")
    return [[name.strip().removeprefix("poise.") for name in layer.split("|")] for layer in contract["layers"]]


def floors() -> list[tuple[Floor, list[str]]]:
    """Each floor with its rooms from top to bottom; parts of a folder stand under its name, once."""
    found: list[tuple[Floor, list[str]]] = []
    starts = {floor.first: floor for floor in FLOORS}
    for layer in layers():
        for module in layer:
            if module in starts:
                found.append((starts.pop(module), []))
            room = module.partition(".")[0]
            if not any(room in rooms for _, rooms in found):
                found[-1][1].append(room)
    if starts:
        raise ValueError(f"pyproject.toml has no layer {', '.join(starts)}: where does that floor begin now?")
    return [*found, (Floor("compiled functions on numbers", BLACK, "kernels"), ["kernels"])]


def draw(path: Path) -> None:
    """Write the picture."""
    save(picture()[0], path)


def picture() -> tuple[Any, Any]:
    """The figure and its axes: floors, an arrow beside them; folders that are registries have a slash."""
    every = [(floor, _lines(rooms)) for floor, rooms in floors()]
    heights = [_LINE * (len(lines) + 1.9) for _, lines in every]
    whole = sum(heights) + _GAP * len(every)
    drawing, axes = figure(height=whole, width=4.0)
    axes.set(xlim=(0, 4.0), ylim=(whole, 0))
    axes.set_axis_off()
    top = _GAP / 2
    for (floor, lines), height in zip(every, heights, strict=True):
        _floor(axes, floor, lines, top, height)
        top += height + _GAP
    axes.annotate(
        "", (3.86, whole - 0.1), (3.86, 0.1), arrowprops={"arrowstyle": "-|>", "color": BLACK, "linewidth": 1.6}
    )
    axes.text(3.78, whole / 2, "imports point down", rotation=90, va="center", ha="right", fontsize=10)
    return drawing, axes


def _lines(rooms: list[str]) -> list[str]:
    """The rooms of a floor as lines of text."""
    names = [f"{room}/" if room in REGISTRIES else room for room in rooms]
    return textwrap.wrap(", ".join(names), _WIDE, break_long_words=False, break_on_hyphens=False)


def _floor(axes: Any, floor: Floor, lines: list[str], top: float, height: float) -> None:
    axes.fill_between([0.02, RIGHT], top, top + height, color=PALE, alpha=0.45, linewidth=0)
    axes.fill_between([0.02, 0.1], top, top + height, color=floor.colour, linewidth=0)
    axes.text(0.2, top + 0.85 * _LINE, floor.title, fontsize=10.5, fontweight="bold", va="center")
    for i, line in enumerate(lines):
        axes.text(0.2, top + (i + 2.05) * _LINE, line, fontsize=9.5, va="center")
