"""Outcome for each position of a foot: reached, limited by the knee, or out of reach."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

import poise
from figures._style import BLACK, BLUE, ORANGE, PALE, SKY, chain, figure, save
from poise import samples

Z, Y = np.linspace(-0.95, 0.95, 96), np.linspace(0.0, 1.85, 94)
COLOURS = {"reached": BLUE, "out_of_reach": PALE, "limited": ORANGE, "stalled": SKY}
LEG = ("LeftUpLeg", "LeftLeg", "LeftFoot")


def draw(path: Path) -> None:
    """Ask for every point of a grid through the leg, from the side."""
    skeleton = poise.load(samples.path("humanoid.glb")).skeleton
    knee = skeleton.with_limits({"LeftLeg": poise.Range.degrees(-5, 110, axis=(1, 0, 0))})
    start = poise.Pose(knee, knee.rest_q)
    hip = start.world["LeftUpLeg"].positions
    z, y = np.meshgrid(Z, Y)
    points = np.stack([np.full(z.shape, hip[0]), y, z], axis=-1)
    answers = poise.solve(start, poise.Position("LeftFoot", points, root="LeftUpLeg"))
    drawing, axes = figure(height=3.2, width=5.4)
    axes.pcolormesh(Z, Y, answers.status, cmap=ListedColormap(list(COLOURS.values())), vmin=0, vmax=3, rasterized=True)
    chain(axes, start.world.positions[[knee.index(name) for name in LEG]][:, [2, 1]], colour=BLACK)
    axes.set(xlabel="z, forwards [m]", ylabel="height [m]", aspect="equal")
    axes.grid(visible=False)
    shown = {name: colour for i, (name, colour) in enumerate(COLOURS.items()) if (answers.status == i).any()}
    patches = [Patch(color=colour, label=name) for name, colour in shown.items()]
    axes.legend(handles=patches, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    save(drawing, path)
