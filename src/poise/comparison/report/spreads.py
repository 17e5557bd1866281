"""Draw distributions of errors and call times, and joint steps. There is one row for each method."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from poise.comparison.findings.findings import Findings
from poise.comparison.findings.motion import moved
from poise.comparison.report.charts import ChartRow, Words, figure, rectangle, row_axis, rows
from poise.comparison.report.look import Look
from poise.comparison.report.words import percent, spent
from poise.comparison.trials.runs import MethodRun
from poise.comparison.trials.task import LEVELS, Task
from poise.maths.arrays import Floats
from poise.solvers.base.capabilities import series
from poise.svg.axes import Axis, polyline

_HEIGHT, _TALL = 22.0, 34.0  # px, height of a row without and with a curve
_LEAST, _MOST = 1e-8, 1e8  # tolerances, range of shown errors
_TICKS = 250  # marks of a row; more values are reduced to quantiles
_DECADES = 4.0  # decades of shown steps


def errors(shown: Sequence[Look]) -> str:
    """Draw the main set's errors in units of the tolerance."""
    some = [(look, look.method.main.scores) for look in shown if look.method.main is not None and len(look.method.main)]
    finite = np.concatenate([np.zeros(0), *(scores[np.isfinite(scores)] for _, scores in some)])
    if not some or not finite.size:
        return ""
    axis = _around(np.clip(np.r_[finite, min(LEVELS), max(LEVELS)], _LEAST, _MOST))
    drawn = [_row(look, scores, axis, f"{percent(look.method.solved())} %") for look, scores in some]
    words = Words("error left", "error left, in units of the tolerance", "solved")
    caption = (
        "Each mark is a target; box: from a quarter to three quarters; thick: median. Dotted: 1, 10 and 100 times the "
        "tolerance. At the right edge: no answer."
    )
    return figure("Error left", rows(drawn, axis, _HEIGHT, words, LEVELS), caption)


def times(shown: Sequence[Look]) -> str:
    """Draw the times of single calls."""
    some = [(look, look.method.call_times) for look in shown if look.method.call_times.size]
    if not some:
        return ""
    axis = _around(np.concatenate([values[values > 0] for _, values in some]))
    drawn = [_row(look, values, axis, spent(float(np.median(values)))) for look, values in some]
    words = Words("time of a call", "time of a call [\N{MICRO SIGN}s]", "median")
    caption = "Each mark is a target: the median over all rounds. Box: from a quarter to three quarters; thick: median."
    return figure("Time of a call", rows(drawn, axis, _HEIGHT, words), caption)


def _around(values: Floats) -> Axis:
    """Make a logarithmic axis slightly wider than positive values."""
    if not values.size:
        return row_axis(0.1, 10.0)
    low, high = float(values.min()), float(values.max())
    return row_axis(low / 1.5, high * 1.5)


def _row(look: Look, values: Floats, axis: Axis, text: str) -> ChartRow:
    """Draw marks, box and median of one method."""
    ordered = np.clip(np.nan_to_num(np.sort(values), nan=np.inf), axis.low, axis.high)
    if len(ordered) > _TICKS:
        ordered = ordered[np.linspace(0, len(ordered) - 1, _TICKS).astype(np.int64)]
    at = axis.at(ordered)
    low, middle, high = np.quantile(at, (0.25, 0.5, 0.75))
    marks = "".join(f"M{x:.1f} 5v12" for x in np.unique(np.round(at, 1)))
    parts = [
        rectangle("box", low, 4, max(high - low, 2.0), 14),
        f'<path class="rug" d="{marks}"/>',
        f'<path class="mid" d="M{middle:.1f} 3v16"/>',
    ]
    return ChartRow(look, parts, text)


# --- paths ---------------------------------------------------------------------------------------------------------


def steps(findings: Findings, shown: Sequence[Look], name: str, title: str) -> str:
    """Draw the largest joint rotation per frame along a set. There is a curve for each method."""
    task = findings.task
    found = [(look, _steps(task, look.method.runs[name])) for look in shown if name in look.method.runs]
    some = [(look, values) for look, values in found if values.size]
    sizes = np.concatenate([np.zeros(0), *(values[np.isfinite(values) & (values > 0)] for _, values in some)])
    if not sizes.size:
        return ""
    high = float(sizes.max()) * 1.1
    up = Axis(max(float(sizes.min()), high * 10.0**-_DECADES) / 1.3, high, _TALL - 3, 3, log=True)
    axis = row_axis(0.0, float(max(len(values) for _, values in some)), log=False)
    drawn = [_curve(look, values, axis, up) for look, values in some]
    words = Words(title, "frame", "largest [rad]")
    text = task.sets[name].text
    caption = f"{escape(text[:1].upper() + text[1:])}. Logarithmic, all rows alike: {up.low:.2g} to {up.high:.2g} rad."
    slow = [look.method.name for look, _ in some if len(look.method.runs[name]) < len(task.sets[name])]
    caption += f" Too slow to be followed to the end: {escape(series(slow))}." if slow else ""
    return figure(title, rows(drawn, axis, _TALL, words), caption)


def _steps(task: Task, run: MethodRun) -> Floats:
    """Compute the largest joint steps (frames - 1,). NaN where one of the two frames has no answer."""
    if len(run) < 2:  # noqa: PLR2004
        return np.zeros(0)
    usable = np.asarray(np.isfinite(run.q).all(axis=1))
    both = usable[:-1] & usable[1:]
    found = np.full(len(run) - 1, np.nan)
    if both.any():
        turns = moved(task, run.q[:-1][both], run.q[1:][both])
        found[both] = np.sqrt((turns**2).sum(axis=-1)).max(axis=-1, initial=0.0)
    return found


def _curve(look: Look, values: Floats, axis: Axis, up: Axis) -> ChartRow:
    """Draw the curve of one method. Frames without an answer are gaps."""
    parts: list[str] = []
    for run in np.split(np.arange(len(values)), np.flatnonzero(np.diff(np.isnan(values))) + 1):
        if not run.size or np.isnan(values[run[0]]):
            continue
        x, y = axis.at(1.0 + run.astype(np.float64)), up.inside(np.maximum(values[run], up.low))
        ring = " ".join(
            f"{a:.1f},{b:.1f}" for a, b in zip(np.r_[x[0], x, x[-1]], np.r_[up.begin, y, up.begin], strict=True)
        )
        parts += [f'<polygon class="area" points="{ring}"/>', polyline("line thin", x, y)]
    return ChartRow(look, parts, f"{np.nanmax(values):.3g}" if np.isfinite(values).any() else "\N{EN DASH}")
