"""A character with joints at human limits, from the front and the left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import poise
from figures._style import BLUE, GREY, RED, figure, plane, save
from poise.maths import rotations

# role -> which end of its first swing: 1 the highest (flexion), 0 the lowest (extension)
ENDS: dict[str, dict[str, int]] = {
    "at rest": {},
    "knee, elbow and\nhip flexed": {"leftLowerLeg": 1, "leftLowerArm": 1, "rightUpperLeg": 1},
    "hip and ankles,\nknees and elbows extended": {
        "leftUpperLeg": 0, "leftFoot": 0, "rightFoot": 1, "leftLowerLeg": 0, "rightLowerLeg": 0, "leftLowerArm": 0,
        "rightLowerArm": 0,
    },
    "spine, neck and\nwrists flexed": {"spine": 1, "chest": 1, "neck": 1, "head": 1, "leftHand": 1, "rightHand": 1},
}  # fmt: skip
VIEWS = {"from the front": np.array([1.0, 0.0, 0.0]), "from its left": np.array([0.0, 0.0, -1.0])}
UP = np.array([0.0, 1.0, 0.0])


def draw(path: Path) -> None:
    """Turn joints of the sample to the ends of their limits; the left limbs are red, the right ones blue."""
    rig = poise.load(poise.samples.path("humanoid.glb"))
    found = poise.find_roles(rig)
    limits: dict[str, Any] = found.limits()
    drawing, boards = figure(2, len(ENDS), height=5.2)
    for column, (title, ends) in enumerate(ENDS.items()):
        joints = {found.joints[role]: _end(limits[found.joints[role]], end) for role, end in ends.items()}
        places = poise.Pose(rig.skeleton, rig.skeleton.rest_q).replace(joints).world.positions
        for row, (view, across) in enumerate(VIEWS.items()):
            board = boards[row][column]
            plane(board, title=title if row == 0 else "")
            _bones(board, rig.skeleton, np.stack([places @ across, places @ UP], axis=-1))
            if column == 0:
                board.set_ylabel(view)
    save(drawing, path)


def _end(limit: poise.SwingTwist, end: int) -> Any:
    return rotations.about(np.array(limit.swing_axes[0]), limit.sides[0][end])


def _bones(board: Any, skeleton: poise.Skeleton, points: Any) -> None:
    for row, parent in enumerate(skeleton.parents.tolist()):
        if parent < 0:
            continue
        name = skeleton.names[row]
        colour = RED if name.startswith("Left") else BLUE if name.startswith("Right") else GREY
        board.plot(*points[[parent, row]].T, "-o", color=colour, markersize=2.5, linewidth=1.8)
