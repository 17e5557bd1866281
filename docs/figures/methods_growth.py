"""Time of one target in a batch against chain length, from benchmarks."""

from __future__ import annotations

from pathlib import Path

from figures._methods_table import measured
from figures._style import COLOURS, LINES, MARKERS, figure, save

TIME = "in a batch [µs]"


def draw(path: Path) -> None:
    """A line for each method, the slowest first in the legend."""
    rows = [row for row in measured()["growth"] if row[TIME] is not None]
    drawing, axes = figure(height=3.6)
    curves = {name: [row for row in rows if row["method"] == name] for name in {row["method"] for row in rows}}
    for i, name in enumerate(sorted(curves, key=lambda name: (-len(curves[name]), -curves[name][-1][TIME]))):
        times = [row[TIME] for row in curves[name]]
        look = {"color": COLOURS[i % 7], "linestyle": LINES[i % 4], "marker": MARKERS[(i + i // 7) % 7]}
        axes.plot([row["joints"] for row in curves[name]], times, label=name, **look)
    joints = sorted({row["joints"] for row in rows})
    axes.set(xscale="log", yscale="log", xlabel="joints", ylabel="one target [µs]")
    axes.set_xticks(joints, [str(count) for count in joints])
    axes.minorticks_off()
    drawing.legend(loc="outside right upper")
    save(drawing, path)
