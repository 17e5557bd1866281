"""The look that all figures share, and how they are written.

A figure is a module docs/figures/NAME.py with one function, and a page shows it as
`![what is seen](../_figures/NAME.svg)`:

    from figures._style import BLUE, figure, save

    def draw(path: Path) -> None:
        drawing, axes = figure(height=2.4)
        axes.plot(times, angles, color=BLUE, label="elbow")
        axes.set(xlabel="time [s]", ylabel="angle [degrees]")
        axes.legend()
        save(drawing, path)

The name to write under ends in .svg. Curves come from real solves, never by hand. The same code gives the same bytes
on the same machine; a module with `TIMED = True` draws measured times, which differ.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

# Okabe and Ito 2002: told apart by colour-blind readers, and of different greys on paper.
BLUE, RED, GREEN, PINK = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
ORANGE, SKY, BLACK = "#e69f00", "#56b4e9", "#000000"
COLOURS = (BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK)
LINES = ("-", "--", "-.", ":")  # a second way to tell curves apart
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY, PALE = "#6b6b6b", "#d9d9d9"

WIDTH = 6.4  # inches: the width of a page's text
_SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with Matplotlib: the same everywhere
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.prop_cycle": mpl.cycler(color=COLOURS),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": PALE,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "figure.facecolor": "white",  # a figure keeps its white ground on a dark page
    "svg.hashsalt": "poise",  # names of clip paths: the same at every build
    "svg.fonttype": "path",
}
mpl.rcParams.update(_SETTINGS)  # for all that this process draws: what a figure adds later has the look, too


def figure(rows: int = 1, columns: int = 1, *, height: float = 3.0, width: float = WIDTH, **options: Any) -> Any:
    """A figure and its axes, as `subplots` of Matplotlib returns them; other options go there (`sharex=True`).

    height, width  inches
    """
    drawing = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(drawing)
    return drawing, drawing.subplots(rows, columns, **options)


def plane(axes: Any, *, title: str = "") -> None:
    """Make axes a drawing board: both directions alike, no ticks, no frame, no grid."""
    axes.set_aspect("equal")
    axes.set(xticks=[], yticks=[], title=title)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def chain(axes: Any, points: Any, *, colour: str = BLUE, **options: Any) -> None:
    """Draw bones through points (n, 2): lines with a dot at every joint; other options go to `plot` (`alpha`)."""
    look: dict[str, Any] = {"linewidth": 2.2, "marker": "o", "markersize": 5, "solid_capstyle": "round", **options}
    axes.plot(points[:, 0], points[:, 1], color=colour, **look)


def target(axes: Any, point: Any, *, label: str | None = "target") -> None:
    """Mark a target (2,): a cross that stays visible over bones."""
    axes.plot(
        [point[0]],
        [point[1]],
        "x",
        color=RED,
        markersize=8,
        markeredgewidth=2.2,
        linestyle="none",
        zorder=5,
        label=label,
    )


def save(drawing: Figure, path: Path) -> None:
    """Write a figure as .svg or .png, without the date: the same figure gives the same bytes."""
    metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    with mpl.rc_context(_SETTINGS):
        drawing.savefig(path, dpi=150, metadata=metadata)
