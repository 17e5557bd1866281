"""Errors of the transpose with both factor rules, and of damped least squares."""

from __future__ import annotations

from pathlib import Path

import poise
from figures._solver_chain import NEARLY_STRETCHED, errors, solved, straight
from figures._style import BLUE, GREEN, RED, figure, save

CASES = (
    ("damped least squares", "damped_least_squares", GREEN, "-."),
    ("transpose, optimal", "jacobian_transpose", BLUE, "-"),
    ("transpose, adaptive", poise.JacobianTranspose(step="adaptive"), RED, "--"),
)


def draw(path: Path) -> None:
    """One panel for a target anywhere, one for a target near full extension."""
    start = straight(10)
    drawing, panels = figure(1, 2, height=2.7, sharey=True)
    for axes, to, title, last in (
        (panels[0], [5.0, 4.0, 0.0], "a target anywhere", 150),
        (panels[1], NEARLY_STRETCHED, "a target near full extension", 1000),
    ):
        for label, solver, colour, line in CASES:
            axes.semilogy(errors(solved(start, to, solver, 1e-4))[:last], color=colour, linestyle=line, label=label)
        axes.set(xlabel="iterations", title=title)
    panels[0].set(ylabel="distance left [bones]")
    panels[1].legend(loc="lower right")
    save(drawing, path)
