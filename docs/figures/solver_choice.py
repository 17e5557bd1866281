"""One rope and one target: evenness of the bend by five methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import poise
from figures._solver_chain import solved, straight
from figures._style import BLUE, GREEN, GREY, ORANGE, PINK, chain, figure, plane, save, target

TARGET = [4.0, 4.0, 0.0]
CASES: tuple[tuple[str, Any, str], ...] = (
    ("no name (engine)", "auto", GREY),
    ("ccd", "ccd", ORANGE),
    ("CCD(max_turn=0.1)", poise.CCD(max_turn=0.1), GREEN),
    ("fabrik", "fabrik", BLUE),
    ("selectively_damped", "selectively_damped", PINK),
)


def draw(path: Path) -> None:
    """The answers side by side, each with its sharpest bend."""
    start = straight(10)
    drawing, panels = figure(1, len(CASES), height=2.0)
    for axes, (label, solver, colour) in zip(panels, CASES, strict=True):
        points = solved(start, TARGET, solver, 1e-4).require().pose.world.positions
        bones = np.diff(points, axis=0)
        bends = np.degrees(np.arccos(np.clip((bones[1:] * bones[:-1]).sum(axis=1), -1, 1)))
        chain(axes, points[:, :2], colour=colour, markersize=3, linewidth=1.8)
        target(axes, TARGET[:2], label=None)
        plane(axes)
        axes.set_title(f"{label}\nsharpest {bends.max():.0f}°", fontsize=7.5)
        axes.set(xlim=(-2.2, 6.2), ylim=(-0.6, 7.2))
    save(drawing, path)
