"""Error of the custom solver by round, and of two built-in ones."""

from __future__ import annotations

import contextlib
import io
import runpy
from pathlib import Path

import poise
from figures._style import BLUE, GREEN, RED, figure, save
from poise import samples

EXAMPLE = Path(__file__).parents[2] / "examples" / "18_own_solver.py"
GOAL = (0.3, 0.2, 0.5)
ROUNDS = 30


def draw(path: Path) -> None:
    """Let each have more and more rounds, and draw what the judge measures."""
    with contextlib.redirect_stdout(io.StringIO()):
        nudge = runpy.run_path(str(EXAMPLE))["Nudge"]
    arm = poise.load(samples.path("arm.urdf")).rest
    ways = {
        "nudge": (lambda n: nudge(iterations=n), RED, "-"),
        "ccd": (lambda n: poise.CCD(iterations=n, restarts=0), GREEN, "-."),
        "levenberg_marquardt": (lambda n: poise.LevenbergMarquardt(iterations=n, restarts=0), BLUE, "--"),
    }
    drawing, axes = figure(height=2.7)
    for label, (made, colour, line) in ways.items():
        left = [_left(arm, made(n)) for n in range(ROUNDS + 1)]
        axes.semilogy(left, color=colour, linestyle=line, marker="o", markersize=2.5, label=label)
    axes.set(xlabel="iterations allowed", ylabel="distance left [m]", ylim=(1e-12, 1))
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.35))
    save(drawing, path)


def _left(arm: poise.Pose, solver: object) -> float:
    found = poise.solve(arm, poise.Position("tool", GOAL), solver=solver, tolerance=1e-11)
    return max(float(found.errors[0]), 1e-12)
