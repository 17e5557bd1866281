"""One step of a leg with three poles: a fixed foot, three knees."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poise
from figures._style import BLACK, BLUE, GREEN, PALE, RED, chain, figure, plane, save
from poise import samples

FOOT = (0.1, 0.4, 0.25)
POLES = {"in front": (0.1, 0.6, 2.0), "to the left": (1.5, 0.6, 1.0), "to the right": (-1.0, 0.6, 1.0)}
LEG = ("LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToe")
BODY = ("Head", "Neck", "Chest", "Spine", "Hips", "RightUpLeg", "RightLeg", "RightFoot")


def draw(path: Path) -> None:
    """Solve for each pole and draw the leg from the front and from above."""
    start = poise.load(samples.path("humanoid.glb")).rest
    drawing, (front, above) = figure(columns=2, height=3.2)
    plane(front, title="from the front")
    plane(above, title="from above")
    chain(front, _observed(start, BODY, (0, 1)), colour=PALE, marker="")
    leg = poise.Position("LeftFoot", FOOT, root="LeftUpLeg")
    for (label, pole), colour in zip(POLES.items(), (BLUE, RED, GREEN), strict=True):
        pose = poise.solve(start, [leg, poise.Pole("LeftLeg", pole, root="LeftUpLeg", tip="LeftFoot")]).pose
        chain(front, _observed(pose, LEG, (0, 1)), colour=colour)
        chain(above, _observed(pose, LEG, (0, 2)), colour=colour, label=f"pole {label}")
        _arrow(above, pose, np.array(pole)[[0, 2]], colour)
    above.invert_yaxis()  # it looks down the page, as it looks at us in the front view
    above.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    save(drawing, path)


def _arrow(board: object, pose: poise.Pose, pole: object, colour: str) -> None:
    """A short arrow from the knee towards the pole."""
    knee = pose.world["LeftLeg"].positions[[0, 2]]
    way = (pole - knee) / np.linalg.norm(pole - knee)
    board.annotate("", knee + 0.16 * way, knee + 0.04 * way, arrowprops={"arrowstyle": "->", "color": colour})
    board.plot(*(knee + 0.17 * way), color=BLACK, alpha=0.0)  # makes room for the arrow's head


def _observed(pose: poise.Pose, names: tuple[str, ...], plane_axes: tuple[int, int]) -> object:
    return pose.world.positions[[pose.skeleton.index(name) for name in names]][:, plane_axes]
