"""Share of solved placements of an arm against the number of restarts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import poise
from figures._style import BLUE, GREEN, PINK, RED, figure, save
from poise import samples

RESTARTS = (0, 1, 2, 4, 8, 16, 32)
CASES: tuple[tuple[str, Any, str, str, str], ...] = (
    ("around ccd", poise.CCD(restarts=0), "growing", BLUE, "-"),
    ("around ccd, cooling", poise.CCD(restarts=0), "cooling", PINK, ":"),
    ("around damped_least_squares", poise.DampedLeastSquares(restarts=0, iterations=100), "growing", GREEN, "-."),
    ("around selectively_damped", poise.SelectivelyDamped(restarts=0, iterations=100), "growing", RED, "--"),
)


def draw(path: Path) -> None:
    """One curve for each inner solver and schedule."""
    arm = poise.load(samples.path("arm.urdf"))
    low, high = arm.skeleton.value_ranges.T
    q = np.random.default_rng(0).uniform(low, high, (200, arm.skeleton.nq))
    tools = poise.Pose(arm.skeleton, q).world_of("tool")
    goal = poise.Place("tool", tools.positions, tools.rotations)
    drawing, axes = figure(height=2.8)
    for label, inner, schedule, colour, line in CASES:
        shares = []
        for restarts in RESTARTS:
            solver: Any = poise.Anneal(solver=inner, schedule=schedule, restarts=restarts)
            found = poise.solve(arm.rest, goal, solver=solver, tolerance=1e-4, angle_tolerance=1e-4)
            shares.append(100 * found.reached.mean())
        axes.plot(range(len(RESTARTS)), shares, color=colour, linestyle=line, marker="o", label=label)
    axes.set(xlabel="restarts allowed", ylabel="places met [%]", xticks=range(len(RESTARTS)), xticklabels=RESTARTS)
    axes.legend(loc="lower right")
    save(drawing, path)
