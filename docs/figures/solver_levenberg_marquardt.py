"""The engine: errors on a six-axis arm, and a character with four goals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import poise
from figures._style import BLUE, GREY, SKY, chain, figure, plane, save, target
from poise import samples

PLACES = 12


def draw(path: Path) -> None:
    """Errors of random places on the left, the figure before and after on the right."""
    drawing, (left, right) = figure(1, 2, height=3.1, width_ratios=(1.4, 1))
    _draw_errors(left)
    _draw_figure(right)
    save(drawing, path)


def _draw_errors(axes: Any) -> None:
    arm = poise.load(samples.path("arm.urdf"))
    low, high = arm.skeleton.value_ranges.T
    q = np.random.default_rng(4).uniform(low, high, (PLACES, arm.skeleton.nq))
    tools = poise.Pose(arm.skeleton, q).world_of("tool")
    for position, rotation in zip(tools.positions, tools.rotations, strict=True):
        result = poise.solve(arm.rest, poise.Place("tool", position, rotation), trace=True, tolerance=1e-9)
        axes.semilogy(result.trace.errors, color=BLUE, alpha=0.6, linewidth=1.1)
    axes.set(xlabel="steps, all attempts", title="error of position and rotation", ylim=(1e-11, 5))


def _draw_figure(axes: Any) -> None:
    rig = poise.load(samples.path("humanoid.bvh"))
    hips, hand = rig.skeleton.names[0], rig.rest.world["LeftHand"].positions
    to = hand + np.array([-0.35, 0.35, 0.1])
    goals = [
        poise.Position("LeftHand", to, root=hips),
        poise.Pin("LeftFoot", root=hips),
        poise.Pin("RightFoot", root=hips),
        poise.Near(rig.rest),
    ]
    result = poise.solve(rig.rest, goals, free_root=True).require()
    for pose, colour, label in ((rig.rest, GREY, "before"), (result.pose, BLUE, "after")):
        at = pose.world.positions[:, :2]
        for child, parent in enumerate(pose.skeleton.parents):
            if parent >= 0:
                named = label if child == 1 else None
                chain(axes, at[[parent, child]], colour=colour, markersize=2.5, linewidth=1.8, label=named)
    for foot in ("LeftFoot", "RightFoot"):
        axes.plot(*rig.rest.world[foot].positions[:2], "s", color=SKY, markersize=7, zorder=4)
    target(axes, to[:2], label=None)
    plane(axes)
    axes.legend(loc="lower left")
