"""What one target in a batch costs on ever longer chains, from what the benchmark has measured."""

from __future__ import annotations

from pathlib import Path

from figures._style import COLOURS, LINES, MARKERS, figure, save
from figures.methods_table import measured


def draw(path: Path) -> None:
    """A line for each method that takes chains of more than one length."""
    rows = [row for row in measured()["growth"] if row["in a batch [µs]"] is not None]
    drawing, axes = figure(height=3.6)
    for i, name in enumerate(sorted({row["method"] for row in rows})):
        own = [row for row in rows if row["method"] == name]
        look = {
            "color": COLOURS[i % len(COLOURS)],
            "linestyle": LINES[i % len(LINES)],
            "marker": MARKERS[i % len(MARKERS)],
        }
        axes.plot([row["joints"] for row in own], [row["in a batch [µs]"] for row in own], label=name, **look)
    joints = sorted({row["joints"] for row in rows})
    axes.set(xscale="log", yscale="log", xlabel="joints", ylabel="one target [µs]")
    axes.set_xticks(joints, [str(count) for count in joints])
    axes.minorticks_off()
    drawing.legend(loc="outside right upper")
    save(drawing, path)
