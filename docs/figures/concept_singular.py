"""Joint rotations of one inward step, without damping and with two amounts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poise
from figures._rope import rope
from figures._style import BLUE, GREEN, PALE, RED, chain, figure, plane, save, target

PULL = 0.05  # bones: the target lies so much nearer than the tip
WAYS = {"no damping": (0.0, RED, "-"), "l = 0.001": (0.001, BLUE, "--"), "l = 0.01": (0.01, GREEN, "-.")}


def draw(path: Path) -> None:
    """The first step of each from arms that are bent less and less, by the arm's own Jacobian."""
    drawing, (left, right) = figure(columns=2, height=2.8, width_ratios=(0.7, 1.3))
    arm = rope(2, poise.Kind.HINGE)
    _arms(left, arm)
    degrees = np.geomspace(0.3, 90, 61)
    bent = arm.with_q(np.stack([-np.radians(degrees) / 2, np.radians(degrees)], axis=-1))
    jacobian = bent.jacobian("tip")[:, :2]  # the tip's velocity in the plane, for each of the two joints
    tips = bent.world_of("tip").positions[:, :2]
    error = -PULL * tips / np.linalg.norm(tips, axis=-1, keepdims=True)
    for label, (damping, colour, line) in WAYS.items():
        turned = np.swapaxes(jacobian, 1, 2)
        step = turned @ np.linalg.solve(jacobian @ turned + damping * np.eye(2), error[..., None])
        largest = np.degrees(np.abs(step[..., 0])).max(axis=-1)
        right.loglog(degrees, largest, color=colour, linestyle=line, label=label)
    right.set(xlabel="bend of the arm [degrees]", ylabel="largest turn in one step [degrees]")
    right.legend()
    save(drawing, path)


def _arms(axes: object, arm: poise.Pose) -> None:
    """Two of the arms; the target is drawn farther in than it is, to be seen."""
    plane(axes, title="pull the tip inwards")
    for degrees, colour in ((90, PALE), (15, BLUE)):
        half = np.radians(degrees) / 2
        points = arm.with_q(np.array([-half, 2 * half])).world.positions
        chain(axes, points, colour=colour)
        target(axes, points[-1] * (1 - 5 * PULL / np.linalg.norm(points[-1])), label=None)
