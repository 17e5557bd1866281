"""The reach of the five-minute start: the arm before and after, seen from the front."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poise
from figures._style import BLUE, GREY, chain, figure, plane, save, target
from poise import samples

TARGET = np.array([0.4, 1.2, 0.35])


def draw(path: Path) -> None:
    """All bones at rest in grey, the arm that reached in blue."""
    rig = poise.load(samples.path("humanoid.glb"))
    result = poise.solve(rig.rest, poise.Position("LeftHand", TARGET, root="LeftArm")).require()
    drawing, boards = figure(1, 2, height=3.4)
    for axes, (right, up), title in zip(boards, ((0, 1), (2, 1)), ("from the front", "from the left"), strict=True):
        view = [right, up]
        for pose, colour, label in ((rig.rest, GREY, "at rest"), (result.pose, BLUE, "after the solve")):
            for start, end in bones(pose):
                chain(axes, np.stack([start, end])[:, view], colour=colour, label=label, markersize=3)
                label = None  # noqa: PLW2901 (once in the legend)
        target(axes, TARGET[view])
        plane(axes, title=title)
    boards[1].legend(loc="lower right")
    save(drawing, path)


def bones(pose: poise.Pose) -> list[tuple[np.ndarray, np.ndarray]]:
    """Every bone as its two ends, world."""
    positions, parents = pose.world.positions, pose.skeleton.parents
    return [(positions[parent], positions[child]) for child, parent in enumerate(parents) if parent >= 0]
