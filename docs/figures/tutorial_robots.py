"""Reachable slice of a robot arm: points, and points with a downward tool."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

import poise
from figures._style import BLACK, BLUE, ORANGE, PALE, chain, figure, save
from poise import samples

X, Z = np.linspace(-0.9, 0.9, 49), np.linspace(-0.4, 1.3, 47)
ANSWERS = {"reached": BLUE, "no pose found": ORANGE, "out of reach": PALE}
DOWN = poise.Direction("tool", (0, 0, -1), axis=(1, 0, 0))


def draw(path: Path) -> None:
    """Ask for every point of a grid in two calls and colour the answers."""
    arm = poise.load(samples.path("arm.urdf"))
    x, z = np.meshgrid(X, Z)
    points = poise.Position("tool", np.stack([x, 0 * x, z], axis=-1))
    drawing, boards = figure(columns=2, height=3.3, sharey=True)
    for board, (title, more) in zip(boards, {"the point": [], "the point, the tool down": [DOWN]}.items(), strict=True):
        answers = poise.solve(arm.rest, [points, *more])
        beyond = answers.status == poise.Status.out_of_reach
        shown = np.where(answers.reached, 0, np.where(beyond, 2, 1))
        board.pcolormesh(X, Z, shown, cmap=ListedColormap(list(ANSWERS.values())), vmin=0, vmax=2, rasterized=True)
        chain(board, arm.rest.world.positions[:, [0, 2]], colour=BLACK)
        board.set(title=title, xlabel="x [m]", aspect="equal")
        board.grid(visible=False)
    boards[0].set_ylabel("z [m]")
    patches = [Patch(color=colour, label=label) for label, colour in ANSWERS.items()]
    drawing.legend(handles=patches, loc="outside lower center", ncols=3, frameon=False)
    save(drawing, path)
