"""Picture of a comparison of the bundled arm, with few measurements."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import poise
from poise import samples
from poise.comparison.report import matplotlib_figure
from poise.comparison.runs import QUICK

TIMED = True
SOLVERS = ("ccd", "damped_least_squares", "fabrik", "jacobian_transpose", "levenberg_marquardt")


def draw(path: Path) -> None:
    """Positions of the tool, five methods."""
    arm = poise.load(samples.path("arm.urdf"))
    effort = dataclasses.replace(QUICK, reachable=100, path=20, extreme=10, timed=10, traced=9, seconds=0.6)
    goal = poise.Position("tool", (0, 0, 0))
    found = poise.compare(arm.rest, goal, solvers=SOLVERS, effort=effort, name="arm.urdf")
    path.write_bytes(matplotlib_figure.render_figure("svg", found))
