"""SVG diagrams of the report page.

They show an overview (share solved, time of a call), convergence, cost against chain length and batch size,
distributions of errors, times and steps, and missed targets by distance and position.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from poise.comparison.metrics import compute_displacements, compute_share_interval
from poise.comparison.report.chart_drawing import (
    ChartLabels,
    ChartRow,
    Line,
    draw_curves,
    draw_rectangle,
    draw_rows,
    make_row_axis,
    wrap_figure,
)
from poise.comparison.report.method_styles import MethodStyle, format_method
from poise.comparison.report.page_text import format_percent, format_time
from poise.comparison.results import ComparisonData, find_length_unit
from poise.comparison.runs import MethodRun
from poise.comparison.task import TOLERANCE_LEVELS, Task
from poise.formatting import format_count
from poise.maths.arrays import Bools, Floats, Ints
from poise.problem.goals import Orientation
from poise.solvers.base.interface import join_words
from poise.svg.charts import Axis, draw_polyline
from poise.svg.figures import open_svg

_BAR_ROW_HEIGHT = 22.0  # px, height of a row
_BAR_EXTENT = (4.0, 14.0)  # px, top and height of a bar in its row
_AXIS_MARGIN_FACTOR = 1.5  # factor by which the axis extends beyond the extreme times


def draw_overview(styles: Sequence[MethodStyle]) -> str:
    """Draw bars of share solved and call time, best first. Returns "" where nothing was measured."""
    figures = _draw_solved(styles) + _draw_call_times(styles)
    return f'<div class="pair first">{figures}</div>' if figures else ""


def _draw_solved(styles: Sequence[MethodStyle]) -> str:
    drawn_styles = [style for style in styles if style.method.main is not None and len(style.method.main)]
    if not drawn_styles:
        return ""
    axis = make_row_axis(0.0, 100.0, log=False)
    shares = [style.method.compute_solved_share() for style in drawn_styles]
    rows = [
        _draw_bar(style, 0.0, 100.0 * share, axis, f"{format_percent(share)} %")
        for style, share in zip(drawn_styles, shares, strict=True)
    ]
    labels = ChartLabels("shares of targets that each method solves", "targets solved [%]", "solved")
    return wrap_figure(
        "Who gets there?",
        draw_rows(rows, axis, _BAR_ROW_HEIGHT, labels),
        "Longer is better; the best method is on top.",
    )


def _draw_call_times(styles: Sequence[MethodStyle]) -> str:
    timed_styles = [
        (style, float(np.median(style.method.call_times))) for style in styles if style.method.call_times.size
    ]
    timed_styles = [(style, time) for style, time in timed_styles if time > 0.0]
    if not timed_styles:
        return ""
    times = [time for _, time in timed_styles]
    axis = make_row_axis(min(times) / _AXIS_MARGIN_FACTOR, max(times) * _AXIS_MARGIN_FACTOR)
    rows = [_draw_bar(style, axis.low, time, axis, format_time(time)) for style, time in timed_styles]
    labels = ChartLabels("median time of a call of each method", "time of a call [\N{MICRO SIGN}s]", "median")
    return wrap_figure(
        "How quickly?", draw_rows(rows, axis, _BAR_ROW_HEIGHT, labels), "Shorter is better; the axis is logarithmic."
    )


def _draw_bar(style: MethodStyle, low: float, high: float, axis: Axis, value_text: str) -> ChartRow:
    """Draw a bar with its number at the right."""
    start, end = float(axis.locate(low)), float(axis.locate(max(high, low)))
    top, height = _BAR_EXTENT
    tooltip = f"{style.method.name}: {value_text}"
    return ChartRow(style, [draw_rectangle("length", start, top, max(end - start, 1.0), height, tooltip)], value_text)


# --- Draw convergence and the cost of longer chains and larger batches -----------------------------------------------


_MICROSECONDS = "\N{MICRO SIGN}s"
_ERROR_SHARES = (0.1, 1e-3, 1e-6)  # shares of the first error
_MIN_SHOWN_SHARE = 1e-9  # share of the first error: smaller ones are drawn at the edge
_MIN_SOLVED_SHARE = 0.9  # share solved below which a size gets an open circle


def draw_convergence(styles: Sequence[MethodStyle]) -> str:
    """Draw convergence curves with a table."""
    traced_styles = [style for style in styles if style.method.convergence is not None]
    if not traced_styles:
        return "<p>None of these methods shows its iterations.</p>"
    lines: list[Line] = []
    for style in traced_styles:
        assert style.method.convergence is not None
        low, median, high = style.method.convergence.quantiles()
        lines.append(Line(style, np.arange(1.0, len(median) + 1.0), median, (low, high)))
    min_error = max(min(float(line.y.min()) for line in lines), _MIN_SHOWN_SHARE)
    labels = ChartLabels(
        "error after each iteration", "iterations + 1", "error left, as a share of the error at the start"
    )
    max_iteration = max(2.0, *(float(line.x[-1]) for line in lines))
    untraced_names = [style.method.name for style in styles if style.method.convergence is None]
    caption = "Line: half of the targets are below; band: from a quarter to three quarters. Both axes are logarithmic."
    if untraced_names:
        caption += f" Not shown, as they do not report their iterations: {escape(join_words(untraced_names))}."
    figure = wrap_figure(
        "Error after each iteration",
        draw_curves(lines, (1.0, max_iteration), (min(min_error, 0.1) / 2, 1.0), labels),
        caption,
    )
    return f'<div class="pair">{figure}{_format_progress(traced_styles)}</div>'


def _format_progress(traced_styles: Sequence[MethodStyle]) -> str:
    """Format the iterations until half of the targets reach each error. Also shows rises and stalls."""
    share_headings = "".join(f'<th class="n">to {share:g}</th>' for share in _ERROR_SHARES)
    further_headings = "".join(f'<th class="n">{heading} <small>[%]</small></th>' for heading in ("rises", "stalled"))
    lines = [f"<thead><tr><th>method</th>{share_headings}{further_headings}</tr></thead><tbody>"]
    for style in traced_styles:
        convergence = style.method.convergence
        assert convergence is not None
        count_cells = "".join(
            f'<td class="n">{_find_first_below(convergence.quantiles()[1], share)}</td>' for share in _ERROR_SHARES
        )
        lines.append(
            f'<tr class="{style.css_class}"><th>{format_method(style)}</th>{count_cells}'
            f'<td class="n">{format_percent(convergence.rise_share)}</td>'
            f'<td class="n">{format_percent(convergence.stalled_share)}</td></tr>'
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
    figures = [_draw_scaling(styles, uses_batch=False), _draw_scaling(styles, uses_batch=True), _draw_batches(styles)]
    drawn_figures = [figure for figure in figures if figure]
    if not drawn_figures:
        return "<p>Not measured: this comparison was a quick one.</p>"
    return f'<div class="pair">{"".join(drawn_figures)}</div>'


def _draw_scaling(styles: Sequence[MethodStyle], *, uses_batch: bool) -> str:
    lines: list[Line] = []
    for style in styles:
        points = [
            point for point in style.method.growth if not np.isnan(point.batch_us if uses_batch else point.call_us)
        ]
        if points:
            joints = np.array([float(point.joint_count) for point in points])
            times = np.array([point.batch_us if uses_batch else point.call_us for point in points])
            is_filled = np.array([point.solved_share >= _MIN_SOLVED_SHARE for point in points])
            lines.append(Line(style, joints, times, is_filled=is_filled))
    title = "One target in a batch, on longer chains" if uses_batch else "A call, on longer chains"
    caption = "Free ball joints, bones of length 1, straight at the start. Open: less than 90 % solved."
    return _draw_times_chart(lines, title, "ball joints of the chain", caption)


def _draw_batches(styles: Sequence[MethodStyle]) -> str:
    lines = [
        Line(
            style,
            np.array(sorted(map(float, style.method.batches))),
            np.array([style.method.batch_times[size] for size in sorted(style.method.batches)]),
            is_filled=np.ones(len(style.method.batches), dtype=bool),
        )
        for style in styles
        if style.method.batches
    ]
    return _draw_times_chart(lines, "One target, in larger batches", "targets in one call", "Medians, on one core.")


def _draw_times_chart(lines: list[Line], title: str, x_label: str, caption: str) -> str:
    """Draw a chart of times [us]. Returns "" for fewer than two sizes."""
    if not lines or max(float(line.x[-1]) for line in lines) <= min(float(line.x[0]) for line in lines):
        return ""
    times, sizes = np.concatenate([line.y for line in lines]), np.concatenate([line.x for line in lines])
    time_range = float(times.min()) / 1.3, float(times.max()) * 1.3
    labels = ChartLabels(title, x_label, f"time of one target [{_MICROSECONDS}]")
    return wrap_figure(
        title, draw_curves(lines, (float(sizes.min()) / 1.05, float(sizes.max()) * 1.05), time_range, labels), caption
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
    scored_styles = [
        (style, style.method.main.scores)
        for style in styles
        if style.method.main is not None and len(style.method.main)
    ]
    finite_scores = np.concatenate([np.zeros(0), *(scores[np.isfinite(scores)] for _, scores in scored_styles)])
    if not scored_styles or not finite_scores.size:
        return ""
    axis = _make_axis(
        np.clip(np.r_[finite_scores, min(TOLERANCE_LEVELS), max(TOLERANCE_LEVELS)], _MIN_SHOWN_ERROR, _MAX_SHOWN_ERROR)
    )
    rows = [
        _draw_distribution(style, scores, axis, f"{format_percent(style.method.compute_solved_share())} %")
        for style, scores in scored_styles
    ]
    labels = ChartLabels("error left", "error left, in units of the tolerance", "solved")
    caption = (
        "Each mark is a target; box: from a quarter to three quarters; thick: median. Dotted: 1, 10 and 100 times the "
        "tolerance. At the right edge: no answer."
    )
    return wrap_figure("Error left", draw_rows(rows, axis, _ROW_HEIGHT, labels, TOLERANCE_LEVELS), caption)


def draw_times(styles: Sequence[MethodStyle]) -> str:
    """Draw the times of single calls."""
    timed_styles = [(style, style.method.call_times) for style in styles if style.method.call_times.size]
    if not timed_styles:
        return ""
    axis = _make_axis(np.concatenate([times[times > 0] for _, times in timed_styles]))
    rows = [
        _draw_distribution(style, times, axis, format_time(float(np.median(times)))) for style, times in timed_styles
    ]
    labels = ChartLabels("time of a call", "time of a call [\N{MICRO SIGN}s]", "median")
    caption = "Each mark is a target: the median over all rounds. Box: from a quarter to three quarters; thick: median."
    return wrap_figure("Time of a call", draw_rows(rows, axis, _ROW_HEIGHT, labels), caption)


def _make_axis(values: Floats) -> Axis:
    """Make a logarithmic axis slightly wider than positive values."""
    if not values.size:
        return make_row_axis(0.1, 10.0)
    low, high = float(values.min()), float(values.max())
    return make_row_axis(low / 1.5, high * 1.5)


def _draw_distribution(style: MethodStyle, values: Floats, axis: Axis, value_text: str) -> ChartRow:
    """Draw marks, box and median of one method."""
    sorted_values = np.clip(np.nan_to_num(np.sort(values), nan=np.inf), axis.low, axis.high)
    if len(sorted_values) > _MAX_MARKS:
        sorted_values = sorted_values[np.linspace(0, len(sorted_values) - 1, _MAX_MARKS).astype(np.int64)]
    x_values = axis.locate(sorted_values)
    lower_quartile_x, median_x, upper_quartile_x = np.quantile(x_values, (0.25, 0.5, 0.75))
    marks = "".join(f"M{x:.1f} 5v12" for x in np.unique(np.round(x_values, 1)))
    parts = [
        draw_rectangle("box", lower_quartile_x, 4, max(upper_quartile_x - lower_quartile_x, 2.0), 14),
        f'<path class="rug" d="{marks}"/>',
        f'<path class="mid" d="M{median_x:.1f} 3v16"/>',
    ]
    return ChartRow(style, parts, value_text)


# --- paths ---------------------------------------------------------------------------------------------------------


def draw_steps(comparison: ComparisonData, styles: Sequence[MethodStyle], set_name: str, title: str) -> str:
    """Draw the largest joint rotation per frame along a set. There is a curve for each method."""
    task = comparison.task
    all_steps = [
        (style, _compute_steps(task, style.method.runs[set_name])) for style in styles if set_name in style.method.runs
    ]
    drawn_steps = [(style, steps) for style, steps in all_steps if steps.size]
    positive_steps = np.concatenate(
        [np.zeros(0), *(steps[np.isfinite(steps) & (steps > 0)] for _, steps in drawn_steps)]
    )
    if not positive_steps.size:
        return ""
    max_step = float(positive_steps.max()) * 1.1
    y_axis = Axis(
        max(float(positive_steps.min()), max_step * 10.0**-_STEP_DECADES) / 1.3,
        max_step,
        _CURVE_ROW_HEIGHT - 3,
        3,
        is_log=True,
    )
    axis = make_row_axis(0.0, float(max(len(steps) for _, steps in drawn_steps)), log=False)
    rows = [_draw_step_curve(style, steps, axis, y_axis) for style, steps in drawn_steps]
    labels = ChartLabels(title, "frame", "largest [rad]")
    set_text = task.sets[set_name].text
    caption = (
        f"{escape(set_text[:1].upper() + set_text[1:])}. Logarithmic, all rows alike: {y_axis.low:.2g} to "
        f"{y_axis.high:.2g} rad."
    )
    slow_names = [
        style.method.name for style, _ in drawn_steps if len(style.method.runs[set_name]) < len(task.sets[set_name])
    ]
    caption += f" Too slow to be followed to the end: {escape(join_words(slow_names))}." if slow_names else ""
    return wrap_figure(title, draw_rows(rows, axis, _CURVE_ROW_HEIGHT, labels), caption)


def _compute_steps(task: Task, run: MethodRun) -> Floats:
    """Compute the largest joint steps (frames - 1,). NaN where one of the two frames has no answer."""
    if len(run) < 2:  # noqa: PLR2004
        return np.zeros(0)
    is_answered = np.asarray(np.isfinite(run.q).all(axis=1))
    has_both = is_answered[:-1] & is_answered[1:]
    steps = np.full(len(run) - 1, np.nan)
    if has_both.any():
        displacements = compute_displacements(task, run.q[:-1][has_both], run.q[1:][has_both])
        steps[has_both] = np.sqrt((displacements**2).sum(axis=-1)).max(axis=-1, initial=0.0)
    return steps


def _draw_step_curve(style: MethodStyle, steps: Floats, axis: Axis, y_axis: Axis) -> ChartRow:
    """Draw the curve of one method. Frames without an answer are gaps."""
    parts: list[str] = []
    for frames in np.split(np.arange(len(steps)), np.flatnonzero(np.diff(np.isnan(steps))) + 1):
        if not frames.size or np.isnan(steps[frames[0]]):
            continue
        x, y = (
            axis.locate(1.0 + frames.astype(np.float64)),
            y_axis.locate_clipped(np.maximum(steps[frames], y_axis.low)),
        )
        area_points = " ".join(
            f"{a:.1f},{b:.1f}" for a, b in zip(np.r_[x[0], x, x[-1]], np.r_[y_axis.begin, y, y_axis.begin], strict=True)
        )
        parts += [f'<polygon class="area" points="{area_points}"/>', draw_polyline("line thin", x, y)]
    return ChartRow(style, parts, f"{np.nanmax(steps):.3g}" if np.isfinite(steps).any() else "\N{EN DASH}")


# --- Charts and maps of missed targets -------------------------------------------------------------------------------
#
# They show misses by distance and by position in the workspace.


_CHART_WIDTH, _CHART_HEIGHT = 210, 150  # px, size of a small chart
_LEFT_MARGIN, _RIGHT_MARGIN, _TOP_MARGIN, _BOTTOM_MARGIN = 34, 8, 8, 30
_BIN_WIDTH_SHARE = 0.1  # share of the longest reach
_MAX_BINS = 12  # maximum number of bins
_MAX_CELLS = 12  # cells along the larger extent
_MAP_SIDE = 150  # px, longer side of a map
_AXIS_NAMES = "xyz"


def _split_by_misses(styles: Sequence[MethodStyle]) -> tuple[list[MethodStyle], list[MethodStyle]]:
    """Split methods by whether they missed targets."""
    drawn_styles = [style for style in styles if style.method.main is not None and len(style.method.main)]
    imperfect = [style for style in drawn_styles if style.method.compute_solved_share() < 1]
    return imperfect, [style for style in drawn_styles if style not in imperfect]


def _format_faultless(faultless: Sequence[MethodStyle]) -> str:
    """Format a sentence about methods without a miss."""
    return (
        f"<p>Every target is solved by {escape(join_words(style.method.name for style in faultless))}.</p>"
        if faultless
        else ""
    )


# --- by distance ---------------------------------------------------------------------------------------------------


def draw_reach_charts(comparison: ComparisonData, styles: Sequence[MethodStyle]) -> str:
    """Draw the share solved by distance of the targets. Only methods with a miss are drawn."""
    shares = comparison.task.compute_reach_shares(comparison.task.main.rows)
    if shares is None or not np.isfinite(shares).all():
        return "<p>A rotation, or a reach without a bound, has no distance to go by.</p>"
    edges = _compute_bin_edges(shares)
    imperfect, faultless = _split_by_misses(styles)
    panels = [_draw_counts(shares, edges), *(_draw_success(style, shares, edges) for style in imperfect)]
    caption = (
        "Across: distance of the target from the chain's first joint, as a share of the longest reach. Band: 95 % "
        "interval (Wilson), wide where there are few targets. Bars: how many targets there are."
    )
    return f'{_format_faultless(faultless)}<p class="muted">{caption}</p><div class="small">{"".join(panels)}</div>'


def _compute_bin_edges(shares: Floats) -> Floats:
    """Compute bin edges. Bins are a tenth of the reach wide, or wider where targets lie far beyond it."""
    low, high = float(shares.min()), float(shares.max())
    bin_width = _BIN_WIDTH_SHARE if high - low <= _BIN_WIDTH_SHARE * _MAX_BINS else (high - low) / _MAX_BINS
    first_bin = np.floor(low / bin_width)
    return bin_width * np.arange(first_bin, max(np.ceil(high / bin_width), first_bin + 1) + 0.5)


def _find_bins(shares: Floats, edges: Floats) -> Ints:
    return np.clip(np.searchsorted(edges, shares, side="right") - 1, 0, len(edges) - 2)


def _make_axes(edges: Floats, max_count: float) -> tuple[Axis, Axis]:
    return Axis(float(edges[0]), float(edges[-1]), _LEFT_MARGIN, _CHART_WIDTH - _RIGHT_MARGIN), Axis(
        0.0, max_count, _CHART_HEIGHT - _BOTTOM_MARGIN, _TOP_MARGIN
    )


def _draw_frame(description: str, x_axis: Axis, y_axis: Axis, y_ticks: Sequence[float]) -> list[str]:
    parts = [open_svg(_CHART_WIDTH, _CHART_HEIGHT, description)]
    for tick in y_ticks:
        y = float(y_axis.locate(tick))
        parts.append(f'<path d="M{_LEFT_MARGIN} {y:.1f}H{_CHART_WIDTH - _RIGHT_MARGIN}"/>')
        parts.append(f'<text x="{_LEFT_MARGIN - 4}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for tick in np.unique([x_axis.low, 0.5 * (x_axis.low + x_axis.high), x_axis.high]):
        x = float(x_axis.locate(tick))
        parts.append(
            f'<text x="{x:.1f}" y="{_CHART_HEIGHT - _BOTTOM_MARGIN + 14}" text-anchor="middle">{tick:.2g}</text>'
        )
    return parts


def _draw_counts(shares: Floats, edges: Floats) -> str:
    """Draw the number of targets in each bin."""
    counts = np.bincount(_find_bins(shares, edges), minlength=len(edges) - 1)
    x_axis, y_axis = _make_axes(edges, float(counts.max()))
    parts = _draw_frame("targets at each distance", x_axis, y_axis, [0, int(counts.max())])
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        x_low, x_high, y = float(x_axis.locate(low)), float(x_axis.locate(high)), float(y_axis.locate(count))
        parts.append(draw_rectangle("bar", x_low + 1, y, x_high - x_low - 2, y_axis.begin - y))
    svg = "".join(parts) + "</svg>"
    return f"<figure>{svg}<figcaption>targets: {len(shares):,}</figcaption></figure>"


def _draw_success(style: MethodStyle, shares: Floats, edges: Floats) -> str:
    run = style.method.main
    assert run is not None
    bins, solved = _find_bins(shares[: len(run)], edges), run.find_solved()
    x_axis, y_axis = _make_axes(edges, 100.0)
    parts = [*_draw_frame(f"{style.method.name}: share solved by distance", x_axis, y_axis, [0, 50, 100]), "<g>"]
    points: list[tuple[float, float]] = []
    for bin_index, (low, high) in enumerate(pairwise(edges)):
        count, solved_count = int((bins == bin_index).sum()), int(solved[bins == bin_index].sum())
        if count:
            interval = compute_share_interval(solved_count, count)
            x_low, x_high = float(x_axis.locate(low)), float(x_axis.locate(high))
            top, bottom = float(y_axis.locate(100 * interval.high)), float(y_axis.locate(100 * interval.low))
            range_text = f"{format_percent(interval.low)} to {format_percent(interval.high)}"
            tooltip = f"{solved_count} of {count} solved, 95 %: {range_text} %"
            parts.append(draw_rectangle("band", x_low, top, x_high - x_low, bottom - top, tooltip))
            points.append((0.5 * (x_low + x_high), float(y_axis.locate(100 * solved_count / count))))
    parts.append(draw_polyline("line", *np.array(points).T))
    parts += [f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2"/>' for x, y in points]
    svg = "".join(parts) + "</g></svg>"
    caption = f"{format_method(style)}: {format_percent(style.method.compute_solved_share())} % of {len(run):,} solved"
    return f'<figure class="{style.css_class}">{svg}<figcaption>{caption}</figcaption></figure>'


# --- by position ---------------------------------------------------------------------------------------------------


class _MapView(NamedTuple):
    """Map of the workspace.

    Holds both axes, the lower corner (2,), cell size and cell counts (2,).
    """

    horizontal_axis: int
    vertical_axis: int
    lower_corner: Floats
    cell_size: float
    cell_counts: Ints

    def find_cells(self, points: Floats) -> Ints:
        """Find the cells (k, 2) of points (k, 3), column and row."""
        cells = ((points[:, [self.horizontal_axis, self.vertical_axis]] - self.lower_corner) / self.cell_size).astype(
            np.int64
        )
        return np.clip(cells, 0, self.cell_counts - 1)


def draw_miss_maps(comparison: ComparisonData, styles: Sequence[MethodStyle]) -> str:
    """Draw maps of the share missed. Only methods with a miss are drawn."""
    task = comparison.task
    if isinstance(task.goal, Orientation):
        return "<p>A rotation has no place in the workspace.</p>"
    imperfect, faultless = _split_by_misses(styles)
    if not imperfect:
        return f"{_format_faultless(faultless)}<p>There is nothing to map.</p>"
    points, root_position = task.main.rows[:, :3], _find_root(task)
    views = _choose_views(points)
    unit, (first_view, second_view) = find_length_unit(comparison), views
    first_plane, second_plane = (
        f"{_AXIS_NAMES[view.horizontal_axis]}{_AXIS_NAMES[view.vertical_axis]}" for view in (first_view, second_view)
    )
    caption = (
        f"Targets seen along two axes: {first_plane} and {second_plane}, cells of {first_view.cell_size:.2g} "
        f"{unit}. Filling of a cell: share of its targets that is missed; "
        "empty frames: all solved; no frame: no targets. Cross: the chain's first joint. "
        "Methods that missed none are left out."
    )
    panels = [_draw_panel(style, points, views, root_position) for style in imperfect]
    maps = f'<div class="small" style="--least: 300px">{"".join(panels)}</div>'
    return f'<p class="muted">{caption}</p>{_draw_scale()}{maps}'


def _find_root(task: Task) -> Floats:
    return task.start.world[task.joints[0]].positions


def _choose_views(points: Floats) -> tuple[_MapView, _MapView]:
    """Choose the plane of the two largest extents, and one across it."""
    extents = np.ptp(points, axis=0)
    order = np.argsort(-extents, kind="stable").tolist()
    cell_size = float(extents.max()) / _MAX_CELLS * (1 + 1e-9) or 1.0
    axis_pairs = (sorted(order[:2]), sorted((order[0], order[2])))
    return tuple(_make_view(points, horizontal, vertical, cell_size) for horizontal, vertical in axis_pairs)  # pyright: ignore[reportReturnType]


def _make_view(points: Floats, horizontal: int, vertical: int, cell_size: float) -> _MapView:
    coordinates = points[:, [horizontal, vertical]]
    cell_counts = np.maximum(np.ceil(np.ptp(coordinates, axis=0) / cell_size), 1).astype(np.int64)
    centre = 0.5 * (coordinates.min(axis=0) + coordinates.max(axis=0))
    return _MapView(horizontal, vertical, centre - 0.5 * cell_size * cell_counts, cell_size, cell_counts)


def _draw_panel(style: MethodStyle, points: Floats, views: tuple[_MapView, _MapView], root_position: Floats) -> str:
    run = style.method.main
    assert run is not None
    missed = ~run.find_solved()
    maps = "".join(
        _draw_map(view, points[: len(run)], missed, root_position, i * (_MAP_SIDE + 20)) for i, view in enumerate(views)
    )
    height = max(int(view.cell_counts[1]) for view in views) * _MAP_SIDE / _MAX_CELLS + 44
    svg = f"{open_svg(2 * _MAP_SIDE + 40, height, f'{style.method.name}: where targets are missed')}{maps}</svg>"
    caption = f"{format_method(style)}: {int(missed.sum()):,} of {format_count(len(run), 'target')} missed"
    return f'<figure class="{style.css_class}">{svg}<figcaption>{caption}</figcaption></figure>'


def _draw_map(view: _MapView, points: Floats, missed: Bools, root_position: Floats, x_offset: float) -> str:
    cell_side, (column_count, row_count) = _MAP_SIDE / _MAX_CELLS, view.cell_counts.tolist()
    cells = view.find_cells(points)
    parts = [f'<g transform="translate({x_offset + 16:g} 12)">']
    for column, row in np.unique(cells, axis=0).tolist():
        in_cell = (cells == (column, row)).all(axis=1)
        missed_share, tooltip = (
            float(missed[in_cell].mean()),
            f"{int(missed[in_cell].sum())} of {int(in_cell.sum())} missed",
        )
        x, y = cell_side * column, cell_side * (row_count - 1 - row)
        parts += _draw_cell(x, y, cell_side, missed_share, tooltip)
    u, v = ((root_position[[view.horizontal_axis, view.vertical_axis]] - view.lower_corner) / view.cell_size).tolist()
    x, y = np.clip(
        [cell_side * u, cell_side * (row_count - v)],
        [-8, -8],
        [cell_side * column_count + 8, cell_side * row_count + 8],
    ).tolist()
    parts.append(f'<path class="root" d="M{x - 4:.1f} {y:.1f}h8M{x:.1f} {y - 4:.1f}v8"/>')
    label_y = cell_side * row_count + 22
    tooltip = (
        f"{_AXIS_NAMES[view.horizontal_axis]} \N{RIGHTWARDS ARROW}, {_AXIS_NAMES[view.vertical_axis]} \N{UPWARDS ARROW}"
    )
    parts.append(f'<text x="0" y="{label_y:.1f}">{tooltip}</text></g>')
    return "".join(parts)


def _draw_cell(x: float, y: float, cell_side: float, missed_share: float, tooltip: str) -> list[str]:
    """Draw a cell filled by its share missed. The filled area shows the share, so that grey print shows it as well."""
    fill_side = cell_side * missed_share**0.5
    inset = 0.5 * (cell_side - fill_side)
    fill_shapes = [draw_rectangle("miss", x + inset, y + inset, fill_side, fill_side)] if missed_share > 0 else []
    return [draw_rectangle("cell", x, y, cell_side, cell_side, tooltip), *fill_shapes]


def _draw_scale() -> str:
    """Draw the legend of cell fillings."""
    cell_side, parts = 14.0, [open_svg(300, 20, "scale: share missed")]
    for i, missed_share in enumerate((0.0, 0.25, 0.5, 1.0)):
        x = 74.0 * i
        parts += _draw_cell(x, 2.0, cell_side, missed_share, "")
        parts.append(f'<text x="{x + cell_side + 5:g}" y="14">{100 * missed_share:.0f} %</text>')
    return f'<div style="max-width: 320px">{"".join(parts)}</svg></div>'
