"""Joints of the example character and arm, some with names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import poise
from figures._style import BLACK, BLUE, GREY, RED, figure, plane, save
from poise import samples

HINGES = {"LeftForeArm", "RightForeArm", "LeftLeg", "RightLeg"}
NAMED = ("Hips", "Spine", "Chest", "Head", "LeftShoulder", "LeftArm", "LeftForeArm", "LeftHand", "LeftUpLeg", "LeftLeg")
NAMED += ("LeftFoot",)
BELOW = {"LeftArm", "LeftHand"}  # their names would meet those of their neighbours


def draw(path: Path) -> None:
    """Draw both skeletons at rest, joints as dots, each bone from a joint to its parent."""
    drawing, (left, right) = figure(columns=2, height=3.4, width_ratios=(1.5, 1.0))
    figure_rig, arm = (poise.load(samples.path(name)) for name in ("humanoid.glb", "arm.urdf"))
    _draw(left, figure_rig.rest, (0, 1), NAMED, HINGES)
    names = arm.skeleton.names
    _draw(right, arm.rest, (0, 2), names[:4], {name for name in names if arm.skeleton[name].kind == poise.Kind.HINGE})
    left.set_title("humanoid.glb, from the front")
    right.set_title("arm.urdf, from the side")
    for colour, label in ((BLUE, "ball"), (RED, "hinge"), (GREY, "fixed")):
        right.plot([], [], "o", color=colour, label=label)
    right.legend(loc="lower right")
    save(drawing, path)


def _draw(axes: Any, pose: poise.Pose, observed: tuple[int, int], named: tuple[str, ...], hinges: set[str]) -> None:
    plane(axes)
    skeleton, points = pose.skeleton, pose.world.positions[:, observed]
    for row, parent in enumerate(skeleton.parents):
        if parent >= 0 and np.linalg.norm(points[row] - points[parent]) > 0 and skeleton.names[row] != "Body":
            axes.plot(*points[[parent, row]].T, color=BLACK, linewidth=1.2)
    for row, name in enumerate(skeleton.names):
        colour = RED if name in hinges else GREY if skeleton[name].kind == poise.Kind.FIXED else BLUE
        if name != "Body":
            axes.plot(*points[row], "o", color=colour, markersize=5, zorder=3)
        if name in named:
            offset = (-4, -12) if name in BELOW else (4, 5)
            axes.annotate(name, points[row], xytext=offset, textcoords="offset points", size=7)
