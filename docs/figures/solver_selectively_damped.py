"""A target out of reach: poses and step sizes of selectively damped least squares."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poise
from figures._solver_chain import PLAIN, poses, solved, straight, turns
from figures._style import BLUE, GREEN, GREY, RED, chain, figure, plane, save, target
from poise import Kind, Pose

TOO_FAR = [2.5, 2.5, 0.0]
STEPS = 60
CASES = (
    ("pseudo-inverse", poise.PseudoInverse(iterations=STEPS, **PLAIN), RED, "--"),
    ("damped, constant", poise.DampedLeastSquares(iterations=STEPS, damping="constant", **PLAIN), BLUE, "-"),
    ("selectively damped", poise.SelectivelyDamped(iterations=STEPS, bend=0, restarts=0), GREEN, "-."),
)


def draw(path: Path) -> None:
    """Its poses on the left, the turns of three methods on the right."""
    start = Pose(straight(3, Kind.HINGE).skeleton, np.array([0.4, -0.5, 0.6]))
    drawing, (left, right) = figure(1, 2, height=2.7, width_ratios=(1, 1.4))
    results = [solved(start, TOO_FAR, solver) for _, solver, _, _ in CASES]
    for (label, _, colour, line), result in zip(CASES, results, strict=True):
        right.semilogy(np.arange(1, STEPS + 1), turns(result)[:STEPS], color=colour, linestyle=line, label=label)
    rows = poses(results[-1])
    for i in (0, 1, 2, STEPS):
        colour, alpha = (GREY, 1.0) if i == 0 else (GREEN, (1 + min(i, 3)) / 4)
        chain(left, rows[i], colour=colour, alpha=alpha)
    target(left, TOO_FAR[:2])
    plane(left, title=f"after 0, 1, 2, {STEPS} steps")
    right.set(xlabel="step", title="largest turn of a joint [rad]", ylim=(1e-7, 30))
    right.legend(loc="lower left")
    save(drawing, path)
