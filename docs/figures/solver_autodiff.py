"""Levenberg-Marquardt and L-BFGS by automatic differentiation on a six-hinge arm."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poise
from figures._solver_chain import errors, solved, straight
from figures._style import BLUE, RED, figure, save
from poise import Kind, Pose


def draw(path: Path) -> None:
    """Both errors over iterations."""
    start = Pose(straight(6, Kind.HINGE, poise.Range(-2, 2)).skeleton, np.full(6, 0.2))
    drawing, axes = figure(height=2.7)
    for method, label, colour, line in (
        ("levenberg_marquardt", "Levenberg-Marquardt", BLUE, "-"),
        ("lbfgs", "L-BFGS", RED, "--"),
    ):
        result = solved(start, [3.0, 3.0, 0.0], poise.Autodiff(method=method))
        axes.semilogy(errors(result), color=colour, linestyle=line, marker="o", markersize=3, label=label)
    axes.set(xlabel="iterations", ylabel="distance left [bones]")
    axes.legend()
    save(drawing, path)
