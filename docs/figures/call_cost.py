"""Time of a call against joints, and of a target against targets and threads, from benchmarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from figures._style import COLOURS, GREY, MARKERS, figure, save

RESULTS = Path(__file__).parent.parent.parent / "benchmarks" / "results" / "call_cost.json"
THREAD_LINES = {"1": "-", "2": "--"}


def draw(path: Path) -> None:
    """On the left a curve for each kind of skeleton and method, on the right one for each problem and thread count."""
    document = json.loads(RESULTS.read_text(encoding="utf-8"))
    drawing, (left, right) = figure(1, 2, height=4.3)
    for axes in (left, right):
        axes.set(xscale="log", yscale="log")
    _draw_joints(left, document["rows"])
    _draw_targets(right, document["targets"])
    for axes in (left, right):
        axes.minorticks_off()
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.16), fontsize=8)
    save(drawing, path)


def _draw_joints(axes: Any, rows: list[dict[str, Any]]) -> None:
    """Draw the time of a prepared call over the number of joints, and a line of linear growth."""
    joints = [row["joints"] for row in rows]
    for i, name in enumerate(list(rows[0])[1:]):
        look = {"color": COLOURS[i], "marker": MARKERS[i], "markersize": 3}
        axes.plot(joints, [row[name] for row in rows], label=name, **look)
    highest = max(value for name, value in rows[-1].items() if name != "joints")
    line = [highest * count / joints[-1] for count in joints]
    axes.plot(joints, line, color=GREY, linestyle=":", linewidth=1.0, label="linear growth")
    axes.set(xlabel="joints", ylabel="one call [µs]", title="A prepared call with one target")
    counts = (6, 16, 64, 200, 500)
    axes.set_xticks(counts, [str(count) for count in counts])


def _draw_targets(axes: Any, rows: list[dict[str, Any]]) -> None:
    """Draw the time of a target over the number of targets in the call, with one thread and with two."""
    targets = [row["targets"] for row in rows]
    for i, name in enumerate(list(rows[0])[1:]):
        label, _, threads = name.rpartition(", threads=")
        look = {"color": COLOURS[i // 2], "marker": MARKERS[i // 2], "markersize": 3}
        look |= {"linestyle": THREAD_LINES[threads], "label": label if threads == "1" else None}
        axes.plot(targets, [row[name] for row in rows], **look)
    for threads, line in THREAD_LINES.items():
        axes.plot([], [], color=GREY, linestyle=line, label=f"threads={threads}")
    axes.set(xlabel="targets in the call", ylabel="one target [µs]", title="A target of a call with many")
    counts = (1, 64, 4_096, 100_000)
    axes.set_xticks(counts, [f"{count:,}" for count in counts], fontsize=8)
