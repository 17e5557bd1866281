"""Sweeps of FABRIK on ten bones, and its polish near full extension."""

from __future__ import annotations

from pathlib import Path

import poise
from figures._solver_chain import NEARLY_STRETCHED, errors, poses, solved, straight
from figures._style import BLUE, GREEN, GREY, RED, SKY, chain, figure, plane, save, target

INSIDE = [4.0, 4.0, 0.0]


def draw(path: Path) -> None:
    """Poses after some sweeps for a target well inside and one at the edge, and the errors of both."""
    start = straight(10)
    plain = poise.FABRIK(finish=False, bend=0, iterations=60)
    inside, edge = (solved(start, to, plain, 1e-6) for to in (INSIDE, NEARLY_STRETCHED))
    drawing, (left, middle, right) = figure(1, 3, height=2.8, width_ratios=(1, 1, 1.6))
    for axes, result, to, shown, title in (
        (left, inside, INSIDE, (0, 1, 2, 5), "well inside:\nsweeps 1, 2, 5"),
        (middle, edge, NEARLY_STRETCHED, (0, 1, 3, 20), "nearly stretched:\nsweeps 1, 3, 20"),
    ):
        for i, colour in zip(shown, (GREY, SKY, RED, BLUE), strict=True):
            chain(axes, poses(result)[i], colour=colour, markersize=2.5, linewidth=1.5)
        target(axes, to[:2])
        plane(axes, title=title)
        axes.set(xlim=(-1.5, 8), ylim=(-0.6, 10.6))
    right.semilogy(errors(inside), color=GREEN, linestyle="-.", label="plain, well inside")
    right.semilogy(errors(edge), color=RED, linestyle="--", label="plain, nearly stretched")
    default = solved(start, NEARLY_STRETCHED, "fabrik", 1e-6)
    right.semilogy(errors(default), color=BLUE, label="default, nearly stretched")
    right.set(xlabel="iterations", title="distance left [bones]", ylim=(1e-7, 20))
    right.legend(loc="lower right", bbox_to_anchor=(1, 0.2), fontsize=7.5)
    save(drawing, path)
