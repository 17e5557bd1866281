"""What a figure does for a goal or two: a squat, a chair, a hand on the floor, a hand up on tiptoe; front and side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import poise
from figures._style import BLUE, GREY, RED, figure, plane, save, target

VIEWS = {"from the front": np.array([1.0, 0.0, 0.0]), "from its left": np.array([0.0, 0.0, -1.0])}
UP, AHEAD, LEFT = np.eye(3)[[1, 2, 0]]


def requested(rest: poise.Pose) -> dict[str, tuple[tuple[str, ...], str, Any]]:
    """Titles: what is held, what is brought somewhere, and the place."""
    world = rest.world
    hips, foot, arm = (world[name].positions for name in ("Hips", "LeftFoot", "LeftArm"))
    feet, toes = ("LeftFoot", "RightFoot"), ("LeftToe", "RightToe")
    return {
        "hips lowered": (feet, "Hips", hips - 0.33 * UP),
        "hips on a chair": (feet, "Hips", hips - 0.42 * UP - 0.42 * AHEAD),
        "hand beside the foot": (feet, "LeftHand", foot + 0.17 * LEFT),
        "hand up, toes held": (toes, "LeftHand", arm + 0.64 * UP),
    }


def draw(path: Path) -> None:
    """Solve from the rest pose; the left limbs are red, the right ones blue, crosses are the targets."""
    rest = poise.load(poise.samples.path("humanoid.glb")).rest
    poses = requested(rest)
    drawing, boards = figure(2, len(poses), height=4.6)
    for column, (title, (held, joint, place)) in enumerate(poses.items()):
        goals = [*(poise.Pin(name) for name in held), poise.Position(joint, place)]
        result = poise.solve(rest, goals, free_root=True)
        if not (result.reached and result.natural):
            raise RuntimeError(f"{title}: {result}")
        for row, (view, across) in enumerate(VIEWS.items()):
            board, axes = boards[row][column], np.stack([across, UP], axis=1)
            plane(board, title=title if row == 0 else "")
            _bones(board, rest.skeleton, result.pose.world.positions @ axes)
            target(board, np.asarray(place) @ axes, label=None)
            board.set(xlim=(-0.85, 0.85), ylim=(-0.05, 2.15))
            if column == 0:
                board.set_ylabel(view)
    save(drawing, path)


def _bones(board: Any, skeleton: poise.Skeleton, points: Any) -> None:
    for row, parent in enumerate(skeleton.parents.tolist()):
        name = skeleton.names[row]
        if parent < 0 or name == "Body":
            continue
        colour = RED if name.startswith("Left") else BLUE if name.startswith("Right") else GREY
        board.plot(*points[[parent, row]].T, "-o", color=colour, markersize=2.5, linewidth=1.8)
