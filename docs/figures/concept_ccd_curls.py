"""Bends of a chain of ten bones by four methods with one target."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poise
from figures._rope import bends, rope
from figures._style import BLUE, GREEN, PALE, PINK, RED, chain, figure, plane, save, target

GOAL = (5.0, 4.0, 0.0)
WAYS = {
    "classic CCD": (poise.CCD(order="tip-first", bend=0, finish=False), RED),
    "default CCD": (poise.CCD(), PINK),
    "max_turn=0.1": (poise.CCD(max_turn=0.1), BLUE),
    "the engine": (poise.LevenbergMarquardt(), GREEN),
}


def draw(path: Path) -> None:
    """Solve four times; above the chains, below the bend of each joint."""
    start = rope()
    drawing, rows = figure(2, 4, height=3.6, sharex="row", sharey="row", height_ratios=(1.5, 1.0))
    for above, below, (title, (solver, colour)) in zip(*rows, WAYS.items(), strict=True):
        pose = poise.solve(start, poise.Position("tip", GOAL), solver=solver, tolerance=1e-3).require().pose
        plane(above, title=title)
        chain(above, start.world.positions, colour=PALE, markersize=3)
        chain(above, pose.world.positions, colour=colour, markersize=3.5)
        target(above, GOAL, label=None)
        below.bar(np.arange(1, 11), bends(pose), color=colour)
        below.set(xticks=[1, 5, 10], yticks=[0, 90, 180], xlabel="joint")
    rows[1][0].set_ylabel("bend [degrees]")
    save(drawing, path)
