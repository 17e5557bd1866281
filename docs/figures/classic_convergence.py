"""Excess distance of CCD and Jacobian transpose after each iteration."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from figures._classic import BEYOND, CLASSIC, CLOSE, COLOURS, LINES, LONGEST, reaching
from figures._style import GREY, figure, save

FLOOR = 1e-5  # of the reach: below is what nobody sees


def draw(path: Path) -> None:
    """Medians, and where the middle half of the targets lies; targets inside the reach, and beyond it."""
    drawing, boards = figure(1, 2, height=2.9, sharey=True)
    titles = {None: "targets within reach", BEYOND: "targets beyond the reach"}
    for axes, (away, title) in zip(boards, titles.items(), strict=True):
        for name in CLASSIC:
            left = np.maximum(reaching(name, away=away).left, FLOOR)
            low, middle, high = np.quantile(left, (0.25, 0.5, 0.75), axis=0)
            steps = np.unique(np.geomspace(1, len(middle), 200).astype(int)) - 1  # more would not be seen
            low, middle, high = low[steps], middle[steps], high[steps]
            axes.fill_between(steps, low, high, color=COLOURS[name], alpha=0.18, linewidth=0)
            axes.plot(steps, middle, color=COLOURS[name], linestyle=LINES[name], label=name)
        axes.axhline(CLOSE, color=GREY, linewidth=0.8, linestyle=":")
        axes.set_yscale("log")
        axes.set_xscale("symlog", linthresh=10, linscale=1.0)
        axes.set_xticks([0, 5, 10, 100, 1000], ["0", "5", "10", "100", "1000"])
        axes.minorticks_off()
        axes.set(xlabel="iterations", title=title, xlim=(0, LONGEST))
    boards[0].set(ylabel="distance above the least possible\n[share of the reach]", ylim=(FLOOR, 2))
    boards[0].legend(loc="lower left")
    save(drawing, path)
