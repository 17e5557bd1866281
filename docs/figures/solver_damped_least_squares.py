"""Joint rotations in one step of each Jacobian method near a straight pose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import poise
from figures._solver_chain import PLAIN, solved, straight, turns
from figures._style import BLUE, GREEN, ORANGE, PINK, RED, figure, save
from poise import Kind, Pose

CASES: tuple[tuple[str, Any, str, str], ...] = (
    ("pseudo-inverse", poise.PseudoInverse(iterations=1, cut=0, **PLAIN), RED, "--"),
    ("damped, by the error", poise.DampedLeastSquares(iterations=1, **PLAIN), ORANGE, "-"),
    ("damped, constant", poise.DampedLeastSquares(iterations=1, damping="constant", **PLAIN), BLUE, "-"),
    ("selectively damped", poise.SelectivelyDamped(iterations=1, bend=0, restarts=0), GREEN, "-."),
    ("transpose", poise.JacobianTranspose(iterations=1, **PLAIN), PINK, ":"),
)


def draw(path: Path) -> None:
    """The largest turn against the bend of the elbow."""
    arm = straight(2, Kind.HINGE).skeleton
    bends = np.geomspace(1e-3, 1.5, 40)
    starts = [Pose(arm, np.array([-bend / 2, bend])) for bend in bends]
    drawing, axes = figure(height=3.0)
    for label, solver, colour, line in CASES:
        steps = [turns(solved(start, start.world["tip"].positions - [0, 0.1, 0], solver))[0] for start in starts]
        axes.loglog(np.degrees(bends), steps, color=colour, linestyle=line, label=label)
    axes.set(xlabel="bend of the elbow [degrees]; straight is on the left", ylabel="largest turn in one step [rad]")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    save(drawing, path)
