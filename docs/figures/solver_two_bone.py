"""A leg with a target leaving its reach, for several softness values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import poise
from figures._style import BLUE, COLOURS, LINES, RED, chain, figure, plane, save, target
from poise import samples

LEG = ("LeftUpLeg", "LeftLeg", "LeftFoot")
SOFT = (0.0, 0.05, 0.15, 0.3)
SHOWN = (0.8, 0.9, 1.0)  # of the reach


def draw(path: Path) -> None:
    """Poses of the plain and of a soft leg on the left, ways of the foot on the right."""
    rest = poise.load(samples.path("humanoid.glb")).rest
    reach = float(sum(np.linalg.norm(rest.local[name].positions) for name in LEG[1:]))
    drawing, (left, right) = figure(1, 2, height=3.0)
    for soft, colour, aside in ((0.0, RED, 0.0), (0.3, BLUE, 0.5)):
        for i, leg in enumerate(_legs(rest, reach * np.array(SHOWN), soft)):
            chain(left, leg / reach + [aside, 0], colour=colour, alpha=(i + 1) / len(SHOWN), markersize=4)
            target(left, [aside, -SHOWN[i]])
        left.annotate(f"soft={soft:g}", (aside, 0.08), ha="center")
    plane(left)
    left.set(ylim=(-1.08, 0.2))
    away = np.linspace(0.7, 1.3, 121)
    for soft, colour, line in zip(SOFT, COLOURS, LINES, strict=False):
        gone = np.linalg.norm(_legs(rest, reach * away, soft)[:, 2], axis=-1) / reach
        right.plot(away, gone, color=colour, linestyle=line, label=f"soft={soft:g}")
    right.set(xlabel="distance of the target [reach]", title="distance of the foot [reach]")
    right.legend(loc="lower right")
    save(drawing, path)


def _legs(rest: poise.Pose, distances: Any, soft: float) -> Any:
    """Hip, knee and foot (k, 3, 2) seen from the side, the hip at zero, for targets straight below it."""
    hip = rest.world[LEG[0]].positions
    foot = poise.Position(LEG[2], hip + np.outer(distances, [0, -1, 0]), root=LEG[0])
    world = poise.solve(rest, foot, solver=poise.TwoBone(soft=soft)).pose.world
    at = np.stack([world[name].positions - hip for name in LEG], axis=1)
    return at[..., [2, 1]]
