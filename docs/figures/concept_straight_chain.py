"""A straight chain with its target on its own line: errors by joint and method."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poise
from figures._rope import rope
from figures._style import BLUE, COLOURS, GREEN, LINES, RED, figure, save
from poise.maths import rotations

GOAL = (0.0, 5.0, 0.0)
SHOWN = (0, 2, 4, 7)  # joints
WAYS = {
    "gradient descent": (poise.JacobianTranspose(bend=0, restarts=0), RED),
    "classic CCD": (poise.CCD(order="tip-first", bend=0, finish=False), GREEN),
    "CCD with pre-bend": (poise.CCD(), BLUE),
}


def draw(path: Path) -> None:
    """Turn one joint after the other and measure; then solve with and without the pre-bend."""
    start = rope()
    drawing, (left, right) = figure(columns=2, height=2.8)
    degrees = np.linspace(-60, 60, 61)
    turns = rotations.about(np.array([0.0, 0.0, 1.0]), np.radians(degrees))
    for joint, colour, line in zip(SHOWN, COLOURS, LINES, strict=False):
        q = np.tile(start.q, (len(degrees), 1))
        q[:, start.skeleton.q_slice(f"bone_{joint}")] = turns
        away = np.linalg.norm(start.with_q(q).world_of("tip").positions - GOAL, axis=-1)
        left.plot(degrees, away, color=colour, linestyle=line, label=f"joint {joint + 1}")
    left.set(xlabel="turn of this joint alone [degrees]", ylabel="tip to target [bones]", xticks=[-60, 0, 60])
    left.legend()
    for (label, (solver, colour)), line in zip(WAYS.items(), LINES, strict=False):
        found = poise.solve(start, poise.Position("tip", GOAL), solver=solver, tolerance=1e-3, trace=True)
        right.semilogy(np.maximum(found.trace.errors[:8], 1e-5), color=colour, linestyle=line, marker="o", label=label)
    right.set(xlabel="iteration", ylabel="tip to target [bones]")
    right.legend(loc=(0.46, 0.42))
    save(drawing, path)
