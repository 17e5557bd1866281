"""A target leaving the reach of a leg, with and without soft reach."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poise
from figures._style import BLACK, COLOURS, LINES, figure, save
from poise import samples

SOFT = (0.0, 0.05, 0.15)


def draw(path: Path) -> None:
    """Solve for a row of targets straight below the hip, with three settings."""
    start = poise.load(samples.path("humanoid.glb")).rest
    hip = start.world["LeftUpLeg"].positions
    wanted = np.linspace(0.6, 1.0, 201)
    targets = hip - wanted[:, None] * [0, 1, 0]
    drawing, (left, right) = figure(columns=2, height=2.8)
    left.plot(wanted, wanted, color=BLACK, linewidth=0.8, linestyle=":", label="the target")
    for soft, colour, line in zip(SOFT, COLOURS, LINES, strict=False):
        leg = poise.TwoBone(soft=soft)
        pose = poise.solve(start, poise.Position("LeftFoot", targets, root="LeftUpLeg"), solver=leg).pose
        gone = np.linalg.norm(pose.world_of("LeftFoot").positions - hip, axis=-1)
        w = np.minimum(np.abs(pose.q[:, start.skeleton.q_slice("LeftLeg")][:, 0]), 1.0)
        left.plot(wanted, gone, color=colour, linestyle=line, label=f"soft={soft:g}")
        right.plot(wanted, np.degrees(2 * np.arccos(w)), color=colour, linestyle=line, label=f"soft={soft:g}")
    left.set(xlabel="hip to target [m]", ylabel="hip to foot [m]", ylim=(0.6, 0.9))
    right.set(xlabel="hip to target [m]", ylabel="bend of the knee [degrees]")
    left.legend(loc="lower right")
    right.legend()
    save(drawing, path)
