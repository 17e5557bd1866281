"""Smoothness of CCD and Jacobian transpose: largest rotations, and final bends."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from figures._classic import BONES, CLASSIC, COLOURS, LINES, MARKS, following
from figures._style import figure, save


def draw(path: Path) -> None:
    """On the left from frame to frame behind a moving target, on the right the bend of each joint in the last frame."""
    drawing, (along, bent) = figure(1, 2, height=2.9)
    for name in CLASSIC:
        look = {"color": COLOURS[name], "linestyle": LINES[name], "label": name}
        along.plot(following(name).turns, **look)
        bent.plot(np.arange(1, BONES + 1), following(name).bends, marker=MARKS[name], **look)
    along.set(xlabel="frame of the path", ylabel="largest turn of a joint [degrees]", yscale="log")
    along.set_yticks([0.2, 0.5, 1, 2, 5, 10], ["0.2", "0.5", "1", "2", "5", "10"])
    along.minorticks_off()
    bent.set(xlabel="joint, from the base to the tip", ylabel="bend in the last frame [degrees]", ylim=(0, 180))
    bent.set_xticks(np.arange(1, BONES + 1))
    bent.set_yticks([0, 45, 90, 135, 180])
    drawing.legend(*along.get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    save(drawing, path)
