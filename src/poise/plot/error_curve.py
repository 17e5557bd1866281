"""Error curve and tip path of a traced solve."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from poise.maths.arrays import Bools, Floats
from poise.problem.dof_layout import POSITION
from poise.solvers.base.interface import Trace
from poise.solving.result import Result

_RESTART_ERROR_RATIO = 2.0  # error ratio that marks a restart in traces without rows for the starts of restarts
_SAME_ANSWER_DISTANCE = 1e-2  # [rad, file units] distance in q: the first restart this close to the best pose led to it
_MANY_RESTARTS = 4  # restarts drawn as lines; with more, the best error is a line and iterations are dots
_MAX_TOLERANCE_RATIO = 100.0  # ratio of smallest error to tolerance above which the tolerance is noted instead of drawn
_MIN_LOG_RATIO = 10.0  # ratio of errors up to which the axis stays linear


class ErrorCurve(NamedTuple):
    """Errors (rows,) over iterations (rows,), with restarts and axis label."""

    errors: Floats
    iterations: Floats
    is_restart_start: Bools
    tolerance: float | None
    axis_label: str


def build_error_curve(result: Result) -> ErrorCurve | None:
    """Build the error curve of a traced result. None without a trace or iterations."""
    trace = result.trace
    if trace is None or not result.iterations:
        return None
    measures = result.problem.measures
    is_single_position = len(measures) == 1 and measures[0].kind == POSITION
    unit = "m" if result.problem.skeleton.metres_per_unit == 1.0 else "file units"
    axis_label = f"distance left [{unit}]" if is_single_position else "weighted error of all goals"
    count = int(result.iterations)
    is_restart_start = _find_restarts(trace, count)
    return ErrorCurve(
        trace.errors,
        _count_iterations(is_restart_start, count),
        is_restart_start,
        result.tolerance if is_single_position else None,
        axis_label,
    )


def find_tip_path(result: Result, joint: str) -> Floats | None:
    """Find the tip path (t, 3) of the best restart. None without a trace or iterations.

    Steps with a larger error are omitted, since solvers reject them.
    """
    trace = result.trace
    if trace is None or not result.iterations:
        return None
    rows = _find_best_restart(trace, _find_restarts(trace, int(result.iterations)))
    errors = trace.errors[rows]
    q = trace.q[rows][errors <= np.minimum.accumulate(errors)]
    return result.problem.make_pose(q).world_of(joint).positions


def _find_restarts(trace: Trace, iterations: int) -> Bools:
    """Find the rows (t,) with the start of a restart.

    Rows beyond the number of iterations are restarts; they are placed at the largest jumps of the pose.
    """
    is_restart_start = np.arange(len(trace.errors)) == 0
    restart_count = len(is_restart_start) - 1 - iterations
    if restart_count > 0:
        pose_jumps = np.linalg.norm(np.diff(trace.q, axis=0), axis=-1)
        is_restart_start[1 + np.argsort(-pose_jumps, kind="stable")[:restart_count]] = True
    else:
        is_restart_start[1:] = trace.errors[1:] > _RESTART_ERROR_RATIO * trace.errors[:-1]
    return is_restart_start


def _find_best_restart(trace: Trace, is_restart_start: Bools) -> slice:
    """Find the rows of the restart with the best pose. A solver may return to it at the end, to refine it."""
    best_row = int(np.argmin(trace.errors))
    first_near_row = int(np.argmax(np.linalg.norm(trace.q - trace.q[best_row], axis=-1) < _SAME_ANSWER_DISTANCE))
    restart_rows = np.append(np.flatnonzero(is_restart_start), len(is_restart_start))
    restart_number = int(np.searchsorted(restart_rows, first_near_row, side="right"))
    return slice(int(restart_rows[restart_number - 1]), min(int(restart_rows[restart_number]), best_row + 1))


def _count_iterations(is_restart_start: Bools, count: int) -> Floats:
    """Count the iterations before each row. The last row counts all of them, as elsewhere."""
    row_count = len(is_restart_start)
    if row_count - 1 <= count:
        return np.linspace(0, count, row_count)  # shortened traces have at least start and result
    return np.cumsum(~is_restart_start).astype(np.float64)


def draw_curve(axes: Any, curve: ErrorCurve, colours: tuple[str, str, str]) -> None:
    """Draw the error curve on Matplotlib axes. `colours` are those of line, tolerance and text."""
    line_colour, _, text_colour = colours
    min_error = np.min(curve.errors[curve.errors > 0], initial=1.0)
    errors, restart_count = np.maximum(curve.errors, 0.1 * min_error), int(curve.is_restart_start.sum())
    if restart_count > _MANY_RESTARTS:
        axes.plot(curve.iterations, errors, color=line_colour, ls="", marker="o", ms=1.5, mew=0, alpha=0.25,
                  label="each iteration")  # fmt: skip
        axes.plot(curve.iterations, np.minimum.accumulate(errors), color=line_colour, lw=1.6, label="best so far")
        axes.legend(fontsize=8, frameon=False, labelcolor=text_colour, loc="lower right", bbox_to_anchor=(1.0, 1.0),
                    ncols=2, borderaxespad=0.2, columnspacing=1.0, handlelength=1.4, markerscale=2.0)  # fmt: skip
    else:
        restart_rows = np.flatnonzero(curve.is_restart_start)[1:]
        x, y = (np.insert(values, restart_rows, np.nan) for values in (curve.iterations, errors))
        axes.plot(x, y, color=line_colour, lw=1.6, marker="o", ms=2.5)
    _draw_tolerance(axes, curve, colours)
    axes.set_xlabel(
        "iterations" if restart_count == 1 else f"iterations, in {restart_count} restarts", size=8.5, color=text_colour
    )
    axes.set_ylabel(curve.axis_label, size=8.5, color=text_colour)
    axes.tick_params(labelsize=8, colors=text_colour, which="both")
    axes.xaxis.get_major_locator().set_params(integer=True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _draw_tolerance(axes: Any, curve: ErrorCurve, colours: tuple[str, str, str]) -> None:
    """Draw the tolerance as a line or a note. It also sets the axis range."""
    _, tolerance_colour, _ = colours
    tolerance, min_error = curve.tolerance or 0.0, curve.errors.min()
    is_far_below = tolerance > 0.0 and min_error > _MAX_TOLERANCE_RATIO * tolerance
    if not is_far_below or curve.errors.max() > _MIN_LOG_RATIO * min_error:
        axes.set_yscale("log")
    if not tolerance:
        return
    note, note_position, coordinate_system = "tolerance", (0, tolerance), ("axes fraction", "data")
    if is_far_below:
        note, note_position, coordinate_system = f"tolerance: {tolerance:.3g}, far below", (0, 0), "axes fraction"
        axes.margins(y=0.12)  # margin for the text
    else:
        axes.axhline(tolerance, color=tolerance_colour, lw=1.0, ls=(0, (4, 2)))
    axes.annotate(
        note,
        note_position,
        xycoords=coordinate_system,
        xytext=(3, 3),
        textcoords="offset points",
        ha="left",
        size=8,
        color=tolerance_colour,
    )
