"""A leg with one target, with a free knee and with a hinge."""

from __future__ import annotations

from pathlib import Path

import poise
from figures._style import BLUE, PALE, chain, figure, plane, save, target
from poise import samples

GOAL = (0.1, 0.5, 0.3)
LEG = ("LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToe")
TRUNK = ("Hips", "Spine", "Chest", "Neck", "Head")
SIDE = (2, 1)  # z to the right, y up: the figure looks to the right


def draw(path: Path) -> None:
    """Solve with and without the limit of the knee, and draw the leg from the side."""
    skeleton = poise.load(samples.path("humanoid.glb")).skeleton
    drawing, boards = figure(columns=3, height=2.9, sharex=True, sharey=True)
    loose = skeleton.with_limits({"LeftLeg": None})
    for board, (title, knee) in zip(
        boards[1:], {"no limit": loose, "a hinge, 0 to 150 degrees": skeleton}.items(), strict=True
    ):
        start = poise.Pose(knee, knee.rest_q)
        found = poise.solve(start, poise.Position("LeftFoot", GOAL, root="LeftUpLeg"), solver="fabrik")
        _leg(board, found.pose, title)
    _leg(boards[0], poise.Pose(skeleton, skeleton.rest_q), "at rest")
    save(drawing, path)


def _leg(board: object, pose: poise.Pose, title: str) -> None:
    plane(board, title=title)
    chain(board, _points(pose, TRUNK), colour=PALE, marker="")
    chain(board, _points(pose, LEG), colour=BLUE)
    target(board, [GOAL[axis] for axis in SIDE], label=None)


def _points(pose: poise.Pose, names: tuple[str, ...]) -> object:
    world = pose.world
    return world.positions[[pose.skeleton.index(name) for name in names]][:, SIDE]
