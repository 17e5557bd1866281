"""SVG diagrams of the report page.

They show an overview (share solved, time of a call), convergence, cost against chain length and batch size, and
distributions of errors, times and steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from poise.comparison.data import ComparisonData
from poise.comparison.metrics import compute_displacements
from poise.comparison.report.charts import (
    ChartLabels,
    ChartRow,
    Line,
    MethodStyle,
    draw_curves,
    draw_rectangle,
    draw_rows,
    format_method,
    make_row_axis,
    wrap_figure,
)
from poise.comparison.report.page_text import format_percent, format_time
from poise.comparison.runs import MethodRun
from poise.comparison.task import TOLERANCE_LEVELS, Task
from poise.maths.arrays import Floats
from poise.solvers.base.solver_calls import join_words
from poise.svg import Axis, draw_polyline

_BAR_ROW_HEIGHT = 22.0  # px, height of a row
_BAR_EXTENT = (4.0, 14.0)  # px, top and height of a bar in its row
_AXIS_MARGIN_FACTOR = 1.5  # factor by which the axis extends beyond the extreme times


def draw_overview(styles: Sequence[MethodStyle]) -> str:
    """Draw bars of share solved and call time, best first. Returns "" where nothing was measured."""
    drawn = _draw_solved(styles) + _draw_call_times(styles)
    return f'<div class="pair first">{drawn}</div>' if drawn else ""


def _draw_solved(styles: Sequence[MethodStyle]) -> str:
    some = [look for look in styles if look.method.main is not None and len(look.method.main)]
    if not some:
        return ""
    axis = make_row_axis(0.0, 100.0, log=False)
    shares = [look.method.solved() for look in some]
    drawn = [
        _draw_bar(look, 0.0, 100.0 * share, axis, f"{format_percent(share)} %")
        for look, share in zip(some, shares, strict=True)
    ]
    words = ChartLabels("shares of targets that each method solves", "targets solved [%]", "solved")
    return wrap_figure(
        "Who gets there?",
        draw_rows(drawn, axis, _BAR_ROW_HEIGHT, words),
        "Longer is better; the best method is on top.",
    )


def _draw_call_times(styles: Sequence[MethodStyle]) -> str:
    some = [(look, float(np.median(look.method.call_times))) for look in styles if look.method.call_times.size]
    some = [(look, time) for look, time in some if time > 0.0]
    if not some:
        return ""
    times = [time for _, time in some]
    axis = make_row_axis(min(times) / _AXIS_MARGIN_FACTOR, max(times) * _AXIS_MARGIN_FACTOR)
    drawn = [_draw_bar(look, axis.low, time, axis, format_time(time)) for look, time in some]
    words = ChartLabels("median time of a call of each method", "time of a call [\N{MICRO SIGN}s]", "median")
    return wrap_figure(
        "How quickly?", draw_rows(drawn, axis, _BAR_ROW_HEIGHT, words), "Shorter is better; the axis is logarithmic."
    )


def _draw_bar(style: MethodStyle, low: float, high: float, axis: Axis, text: str) -> ChartRow:
    """Draw a bar with its number at the right."""
    start, end = float(axis.locate(low)), float(axis.locate(max(high, low)))
    top, height = _BAR_EXTENT
    words = f"{style.method.name}: {text}"
    return ChartRow(style, [draw_rectangle("length", start, top, max(end - start, 1.0), height, words)], text)


# --- Draw convergence and the cost of longer chains and larger batches -----------------------------------------------


_MICROSECONDS = "\N{MICRO SIGN}s"
_ERROR_SHARES = (0.1, 1e-3, 1e-6)  # shares of the first error
_MIN_SHOWN_SHARE = 1e-9  # share of the first error: smaller ones are drawn at the edge
_MIN_SOLVED_SHARE = 0.9  # share solved below which a size gets an open circle


def draw_convergence(styles: Sequence[MethodStyle]) -> str:
    """Draw convergence curves with a table."""
    some = [style for style in styles if style.method.convergence is not None]
    if not some:
        return "<p>None of these methods shows its iterations.</p>"
    lines: list[Line] = []
    for style in some:
        assert style.method.convergence is not None
        low, middle, high = style.method.convergence.quantiles()
        lines.append(Line(style, np.arange(1.0, len(middle) + 1.0), middle, (low, high)))
    least = max(min(float(line.y.min()) for line in lines), _MIN_SHOWN_SHARE)
    words = ChartLabels(
        "error after each iteration", "iterations + 1", "error left, as a share of the error at the start"
    )
    last = max(2.0, *(float(line.x[-1]) for line in lines))
    silent = [style.method.name for style in styles if style.method.convergence is None]
    caption = "Line: half of the targets are below; band: from a quarter to three quarters. Both axes are logarithmic."
    if silent:
        caption += f" Not shown, as they do not report their iterations: {escape(join_words(silent))}."
    drawn = wrap_figure(
        "Error after each iteration", draw_curves(lines, (1.0, last), (min(least, 0.1) / 2, 1.0), words), caption
    )
    return f'<div class="pair">{drawn}{_format_progress(some)}</div>'


def _format_progress(some: Sequence[MethodStyle]) -> str:
    """Format the iterations until half of the targets reach each error. Also shows rises and stalls."""
    head = "".join(f'<th class="n">to {share:g}</th>' for share in _ERROR_SHARES)
    further_headings = "".join(f'<th class="n">{word} <small>[%]</small></th>' for word in ("rises", "stalled"))
    lines = [f"<thead><tr><th>method</th>{head}{further_headings}</tr></thead><tbody>"]
    for style in some:
        convergence = style.method.convergence
        assert convergence is not None
        counts = "".join(
            f'<td class="n">{_find_first_below(convergence.quantiles()[1], share)}</td>' for share in _ERROR_SHARES
        )
        lines.append(
            f'<tr class="{style.css_class}"><th>{format_method(style)}</th>{counts}'
            f'<td class="n">{format_percent(convergence.rises)}</td>'
            f'<td class="n">{format_percent(convergence.stalled)}</td></tr>'
        )
    caption = (
        "Iterations until half of the targets have at most that share of their first error. Rises: iterations with an "
        "increase of the error. Stalled: targets that ended above the tolerance. Methods differ in the meaning and "
        "the cost of an iteration."
    )
    table = f'<div class="wide"><table>{"".join(lines)}</tbody></table></div>'
    return wrap_figure("Iterations it takes", table, caption)


def _find_first_below(curve: Floats, share: float) -> str:
    below = np.flatnonzero(curve <= share)
    return str(int(below[0])) if below.size else "\N{EN DASH}"


def draw_costs(styles: Sequence[MethodStyle]) -> str:
    """Draw times against chain length and batch size."""
    drawn = [_draw_scaling(styles, batch=False), _draw_scaling(styles, batch=True), _draw_batches(styles)]
    charts = [one for one in drawn if one]
    if not charts:
        return "<p>Not measured: this comparison was a quick one.</p>"
    return f'<div class="pair">{"".join(charts)}</div>'


def _draw_scaling(styles: Sequence[MethodStyle], *, batch: bool) -> str:
    lines: list[Line] = []
    for style in styles:
        points = [one for one in style.method.growth if not np.isnan(one.batch if batch else one.call)]
        if points:
            joints = np.array([float(one.joints) for one in points])
            times = np.array([one.batch if batch else one.call for one in points])
            full = np.array([one.solved >= _MIN_SOLVED_SHARE for one in points])
            lines.append(Line(style, joints, times, full=full))
    title = "One target in a batch, on longer chains" if batch else "A call, on longer chains"
    caption = "Free ball joints, bones of length 1, straight at the start. Open: less than 90 % solved."
    return _draw_times_chart(lines, title, "ball joints of the chain", caption)


def _draw_batches(styles: Sequence[MethodStyle]) -> str:
    lines = [
        Line(
            look,
            np.array(sorted(map(float, look.method.batches))),
            np.array([look.method.batch_times[size] for size in sorted(look.method.batches)]),
            full=np.ones(len(look.method.batches), dtype=bool),
        )
        for look in styles
        if look.method.batches
    ]
    return _draw_times_chart(lines, "One target, in larger batches", "targets in one call", "Medians, on one core.")


def _draw_times_chart(lines: list[Line], title: str, along: str, caption: str) -> str:
    """Draw a chart of times [us]. Returns "" for fewer than two sizes."""
    if not lines or max(float(line.x[-1]) for line in lines) <= min(float(line.x[0]) for line in lines):
        return ""
    times, sizes = np.concatenate([line.y for line in lines]), np.concatenate([line.x for line in lines])
    ends = float(times.min()) / 1.3, float(times.max()) * 1.3
    words = ChartLabels(title, along, f"time of one target [{_MICROSECONDS}]")
    return wrap_figure(
        title, draw_curves(lines, (float(sizes.min()) / 1.05, float(sizes.max()) * 1.05), ends, words), caption
    )


# --- Draw distributions of errors and call times, and joint steps ----------------------------------------------------
#
# There is one row for each method.


_ROW_HEIGHT, _CURVE_ROW_HEIGHT = 22.0, 34.0  # px, height of a row without and with a curve
_MIN_SHOWN_ERROR, _MAX_SHOWN_ERROR = 1e-8, 1e8  # tolerances, range of shown errors
_MAX_MARKS = 250  # marks of a row; more values are reduced to quantiles
_STEP_DECADES = 4.0  # decades of shown steps


def draw_errors(styles: Sequence[MethodStyle]) -> str:
    """Draw the main set's errors in units of the tolerance."""
    some = [
        (look, look.method.main.scores) for look in styles if look.method.main is not None and len(look.method.main)
    ]
    finite = np.concatenate([np.zeros(0), *(scores[np.isfinite(scores)] for _, scores in some)])
    if not some or not finite.size:
        return ""
    axis = _make_axis(
        np.clip(np.r_[finite, min(TOLERANCE_LEVELS), max(TOLERANCE_LEVELS)], _MIN_SHOWN_ERROR, _MAX_SHOWN_ERROR)
    )
    drawn = [
        _draw_distribution(look, scores, axis, f"{format_percent(look.method.solved())} %") for look, scores in some
    ]
    words = ChartLabels("error left", "error left, in units of the tolerance", "solved")
    caption = (
        "Each mark is a target; box: from a quarter to three quarters; thick: median. Dotted: 1, 10 and 100 times the "
        "tolerance. At the right edge: no answer."
    )
    return wrap_figure("Error left", draw_rows(drawn, axis, _ROW_HEIGHT, words, TOLERANCE_LEVELS), caption)


def draw_times(styles: Sequence[MethodStyle]) -> str:
    """Draw the times of single calls."""
    some = [(look, look.method.call_times) for look in styles if look.method.call_times.size]
    if not some:
        return ""
    axis = _make_axis(np.concatenate([values[values > 0] for _, values in some]))
    drawn = [_draw_distribution(look, values, axis, format_time(float(np.median(values)))) for look, values in some]
    words = ChartLabels("time of a call", "time of a call [\N{MICRO SIGN}s]", "median")
    caption = "Each mark is a target: the median over all rounds. Box: from a quarter to three quarters; thick: median."
    return wrap_figure("Time of a call", draw_rows(drawn, axis, _ROW_HEIGHT, words), caption)


def _make_axis(values: Floats) -> Axis:
    """Make a logarithmic axis slightly wider than positive values."""
    if not values.size:
        return make_row_axis(0.1, 10.0)
    low, high = float(values.min()), float(values.max())
    return make_row_axis(low / 1.5, high * 1.5)


def _draw_distribution(style: MethodStyle, values: Floats, axis: Axis, text: str) -> ChartRow:
    """Draw marks, box and median of one method."""
    ordered = np.clip(np.nan_to_num(np.sort(values), nan=np.inf), axis.low, axis.high)
    if len(ordered) > _MAX_MARKS:
        ordered = ordered[np.linspace(0, len(ordered) - 1, _MAX_MARKS).astype(np.int64)]
    at = axis.locate(ordered)
    low, middle, high = np.quantile(at, (0.25, 0.5, 0.75))
    marks = "".join(f"M{x:.1f} 5v12" for x in np.unique(np.round(at, 1)))
    parts = [
        draw_rectangle("box", low, 4, max(high - low, 2.0), 14),
        f'<path class="rug" d="{marks}"/>',
        f'<path class="mid" d="M{middle:.1f} 3v16"/>',
    ]
    return ChartRow(style, parts, text)


# --- paths ---------------------------------------------------------------------------------------------------------


def draw_steps(data: ComparisonData, styles: Sequence[MethodStyle], name: str, title: str) -> str:
    """Draw the largest joint rotation per frame along a set. There is a curve for each method."""
    task = data.task
    all_steps = [(look, _compute_steps(task, look.method.runs[name])) for look in styles if name in look.method.runs]
    some = [(look, values) for look, values in all_steps if values.size]
    sizes = np.concatenate([np.zeros(0), *(values[np.isfinite(values) & (values > 0)] for _, values in some)])
    if not sizes.size:
        return ""
    high = float(sizes.max()) * 1.1
    y_axis = Axis(max(float(sizes.min()), high * 10.0**-_STEP_DECADES) / 1.3, high, _CURVE_ROW_HEIGHT - 3, 3, log=True)
    axis = make_row_axis(0.0, float(max(len(values) for _, values in some)), log=False)
    drawn = [_draw_step_curve(look, values, axis, y_axis) for look, values in some]
    words = ChartLabels(title, "frame", "largest [rad]")
    text = task.sets[name].text
    caption = (
        f"{escape(text[:1].upper() + text[1:])}. Logarithmic, all rows alike: {y_axis.low:.2g} to "
        f"{y_axis.high:.2g} rad."
    )
    slow = [look.method.name for look, _ in some if len(look.method.runs[name]) < len(task.sets[name])]
    caption += f" Too slow to be followed to the end: {escape(join_words(slow))}." if slow else ""
    return wrap_figure(title, draw_rows(drawn, axis, _CURVE_ROW_HEIGHT, words), caption)


def _compute_steps(task: Task, run: MethodRun) -> Floats:
    """Compute the largest joint steps (frames - 1,). NaN where one of the two frames has no answer."""
    if len(run) < 2:  # noqa: PLR2004
        return np.zeros(0)
    usable = np.asarray(np.isfinite(run.q).all(axis=1))
    both = usable[:-1] & usable[1:]
    steps = np.full(len(run) - 1, np.nan)
    if both.any():
        displacements = compute_displacements(task, run.q[:-1][both], run.q[1:][both])
        steps[both] = np.sqrt((displacements**2).sum(axis=-1)).max(axis=-1, initial=0.0)
    return steps


def _draw_step_curve(style: MethodStyle, values: Floats, axis: Axis, y_axis: Axis) -> ChartRow:
    """Draw the curve of one method. Frames without an answer are gaps."""
    parts: list[str] = []
    for run in np.split(np.arange(len(values)), np.flatnonzero(np.diff(np.isnan(values))) + 1):
        if not run.size or np.isnan(values[run[0]]):
            continue
        x, y = axis.locate(1.0 + run.astype(np.float64)), y_axis.locate_clipped(np.maximum(values[run], y_axis.low))
        ring = " ".join(
            f"{a:.1f},{b:.1f}" for a, b in zip(np.r_[x[0], x, x[-1]], np.r_[y_axis.begin, y, y_axis.begin], strict=True)
        )
        parts += [f'<polygon class="area" points="{ring}"/>', draw_polyline("line thin", x, y)]
    return ChartRow(style, parts, f"{np.nanmax(values):.3g}" if np.isfinite(values).any() else "\N{EN DASH}")
