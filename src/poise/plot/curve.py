"""The error after each iteration, and the way of the tip: what a trace shows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from poise.maths.arrays import Floats
from poise.problem.layout import POSITION
from poise.solving.result import Result

_RISE = 2.0  # an error that doubles is another attempt


class ErrorCurve(NamedTuple):
    """Errors (rows,) with NaN between attempts, the tolerance or None, and the words of the axis."""

    errors: Floats
    tolerance: float | None
    words: str


def curve_of(result: Result) -> ErrorCurve | None:
    """The curve of a traced result; None where there is no trace or nothing was iterated."""
    trace = result.trace
    if trace is None or len(trace.errors) < 2:  # noqa: PLR2004
        return None
    measures = result.problem.measures
    lone = len(measures) == 1 and measures[0].kind == POSITION
    unit = "m" if result.problem.skeleton.metres_per_unit == 1.0 else "file units"
    words = f"distance left [{unit}]" if lone else "weighted error of all goals"
    return ErrorCurve(_with_gaps(trace.errors, trace.errors)[:, 0], result.tolerance if lone else None, words)


def trail_of(result: Result, joint: str) -> Floats | None:
    """Where the tip was after each iteration (t, 3), with NaN between attempts; None without a trace."""
    trace = result.trace
    if trace is None or len(trace.errors) < 2:  # noqa: PLR2004
        return None
    return _with_gaps(result.problem.posed(trace.q).world_of(joint).positions, trace.errors)


def _with_gaps(rows: Floats, errors: Floats) -> Floats:
    """Rows (t, n) with a row of NaN before each that begins another attempt."""
    rows = rows.reshape(len(errors), -1)
    with np.errstate(invalid="ignore"):
        starts = np.flatnonzero(errors[1:] > _RISE * errors[:-1]) + 1
    return np.insert(rows, starts, np.nan, axis=0)


def draw_curve(axes: Any, curve: ErrorCurve, colours: tuple[str, str, str]) -> None:
    """Draw the curve on Matplotlib axes; colours of the line, the tolerance and the words."""
    line, goal, ink = colours
    tiny = np.nanmin(np.where(curve.errors > 0, curve.errors, np.nan)) if (curve.errors > 0).any() else 1.0
    axes.semilogy(np.maximum(curve.errors, 0.1 * tiny), color=line, lw=1.6, marker="o", ms=2.5)
    if curve.tolerance:
        axes.axhline(curve.tolerance, color=goal, lw=1.0, ls=(0, (4, 2)))
        axes.annotate("tolerance", (0, curve.tolerance), xycoords=("axes fraction", "data"), xytext=(3, 3),
                      textcoords="offset points", ha="left", size=8, color=goal)  # fmt: skip
    axes.set_xlabel("iterations", size=8.5, color=ink)
    axes.set_ylabel(curve.words, size=8.5, color=ink)
    axes.tick_params(labelsize=8, colors=ink)
    axes.xaxis.get_major_locator().set_params(integer=True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
