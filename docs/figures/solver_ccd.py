"""Three forms of CCD: sweeps to a near target, errors for a far one."""

from __future__ import annotations

from pathlib import Path

import poise
from figures._solver_chain import NEARLY_STRETCHED, errors, poses, solved, straight
from figures._style import BLUE, GREEN, RED, chain, figure, plane, save, target

INSIDE = [4.0, 4.0, 0.0]
CLASSIC = poise.CCD(order="tip-first", bend=0, finish=False, iterations=60)
SHOWN = (1, 2, 3, 5, -1)  # sweeps, and the answer


def draw(path: Path) -> None:
    """Successive poses of each, and the errors beside them."""
    start = straight(10)
    drawing, panels = figure(1, 4, height=2.5, width_ratios=(1, 1, 1, 1.2))
    for axes, solver, colour, title in (
        (panels[0], CLASSIC, RED, "classic"),
        (panels[1], poise.CCD(), BLUE, "default"),
        (panels[2], poise.CCD(max_turn=0.1), GREEN, "max_turn=0.1"),
    ):
        rows = poses(solved(start, INSIDE, solver, 1e-6))
        chosen = [rows[i] for i in SHOWN if i < len(rows)]
        for i, points in enumerate(chosen):
            chain(axes, points, colour=colour, alpha=(i + 1) / len(chosen), markersize=2.5, linewidth=1.5)
        target(axes, INSIDE[:2], label=None)
        plane(axes, title=title)
        axes.set(xlim=(-0.9, 7.6), ylim=(-0.6, 7.6))
    for label, solver, colour, line in (
        ("classic", CLASSIC, RED, "--"),
        ("default", poise.CCD(), BLUE, "-"),
        ("max_turn=0.1", poise.CCD(max_turn=0.1), GREEN, "-."),
    ):
        panels[3].semilogy(
            errors(solved(start, NEARLY_STRETCHED, solver, 1e-6)), color=colour, linestyle=line, label=label
        )
    panels[3].set(xlabel="iterations", title="distance left [bones]", ylim=(1e-7, 20))
    drawing.legend(loc="outside lower center", ncols=3)
    save(drawing, path)
