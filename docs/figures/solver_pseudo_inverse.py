"""A target out of reach: joint rotations and errors of the pseudo-inverse."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poise
from figures._solver_chain import PLAIN, errors, solved, straight, turns
from figures._style import BLUE, GREEN, RED, figure, save
from poise import Kind, Pose

TOO_FAR = [2.5, 2.5, 0.0]
STEPS = 40
CASES = (
    ("pseudo-inverse, textbook", poise.PseudoInverse(iterations=STEPS, **PLAIN), RED, "--"),
    ("pseudo-inverse, default cap", poise.PseudoInverse(iterations=STEPS, restarts=0), BLUE, "-"),
    ("selectively damped", poise.SelectivelyDamped(iterations=STEPS, restarts=0), GREEN, "-."),
)


def draw(path: Path) -> None:
    """Turns on the left, errors on the right."""
    start = Pose(straight(3, Kind.HINGE).skeleton, np.array([0.4, -0.5, 0.6]))
    drawing, (left, right) = figure(1, 2, height=2.7)
    for label, solver, colour, line in CASES:
        result = solved(start, TOO_FAR, solver)
        left.plot(np.arange(1, STEPS + 1), turns(result)[:STEPS], color=colour, linestyle=line)
        right.plot(errors(result)[: STEPS + 1], color=colour, linestyle=line, label=label)
    left.set(xlabel="step", title="largest turn of a joint [rad]")
    right.set(xlabel="step", title="distance left [bones]", ylim=(0, 9))
    right.legend(loc="upper right")
    save(drawing, path)
