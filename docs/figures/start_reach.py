"""Reach of the five-minute start: the arm before and after."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.lines import Line2D

import poise
from figures._style import BLACK, BLUE, PALE, chain, figure, plane, save, target
from poise import samples

TARGET = np.array([0.4, 1.2, 0.35])


def draw(path: Path) -> None:
    """The figure at rest in grey; what moved in blue, the rest of the reached pose in black."""
    rig = poise.load(samples.path("humanoid.glb"))
    result = poise.solve(rig.rest, poise.Position("LeftHand", TARGET)).require()
    moved = {*result.joints[1:], "LeftHand"}
    drawing, boards = figure(1, 2, height=3.6)
    for axes, (right, up), title in zip(boards, ((0, 1), (2, 1)), ("from the front", "from its right"), strict=True):
        view = [right, up]
        for name, ends in bones(rig.rest).items():
            chain(axes, ends[:, view], colour=PALE if name in moved else BLACK, markersize=3)
        for name, ends in bones(result.pose).items():
            if name in moved:
                chain(axes, ends[:, view], colour=BLUE, markersize=3)
        target(axes, TARGET[view])
        plane(axes, title=title)
    handles = [*boards[0].get_lines()[-1:], *label_lines()]
    drawing.legend(handles=handles, loc="outside lower center", ncols=4)
    save(drawing, path)


def bones(pose: poise.Pose) -> dict[str, np.ndarray]:
    """Every bone by the joint at its end: both ends (2, 3), world."""
    positions, skeleton = pose.world.positions, pose.skeleton
    return {
        name: positions[[parent, row]]
        for row, (name, parent) in enumerate(zip(skeleton.names, skeleton.parents, strict=True))
        if parent >= 0
    }


def label_lines() -> list[Line2D]:
    """What the colours mean."""
    meanings = ((PALE, "the arm at rest"), (BLUE, "after the solve"), (BLACK, "what did not move"))
    return [
        Line2D([], [], color=colour, linewidth=2.2, marker="o", markersize=3, label=text) for colour, text in meanings
    ]
