"""Smoothness and final distance of methods along a path."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poise
from figures._style import BLUE, GREEN, figure, save
from poise import samples

METHODS = {
    "levenberg_marquardt": "levenberg_marquardt",
    "ccd": "ccd",
    "fabrik": "fabrik",
    "classic ccd": poise.CCD(order="tip-first", bend=0, finish=False),
    "jacobian_transpose": "jacobian_transpose",
}
SMALL = poise.Effort(reachable=8, path=30, extreme=1, joints=(), batches=(), rounds=1, timed=1, traced=0, seconds=60.0)


def draw(path: Path) -> None:
    """Compare on the sample character, from the spine to the hand; no column here depends on the machine."""
    start = poise.load(samples.path("humanoid.glb")).rest
    goal = poise.Position("LeftHand", (0.4, 1.2, 0.3), root="Spine")
    found = poise.compare(start, goal, solvers=list(METHODS.values()), effort=SMALL)
    by_label = {label: _row(found, solver) for label, solver in METHODS.items()}
    drawing, (left, right) = figure(columns=2, height=2.3, sharey=True)
    rows = np.arange(len(by_label))
    left.plot([one.smooth("path").jerk for one in by_label.values()], rows, "o", color=BLUE, markersize=7)
    right.barh(rows, [one.travel for one in by_label.values()], color=GREEN)
    left.set(yticks=rows, yticklabels=list(by_label), xscale="log", xlabel="jerk along a path [rad a frame³]")
    right.set_xlabel("from start to answer [rad]")
    left.invert_yaxis()
    save(drawing, path)


def _row(found: poise.Comparison, solver: object) -> object:
    """The row of a solver: values stand with their options in their name."""
    if isinstance(solver, str):
        return found[solver]
    return next(one for one in found.compared if one.name.startswith(f"{solver.name}("))
