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

from poise.comparison.data import ComparisonData, find_length_unit
from poise.comparison.metrics import compute_displacements, compute_share_interval
from poise.comparison.report.chart_drawing import (
    ChartLabels,
    ChartRow,
    Line,
    draw_curves,
    draw_rectangle,
    draw_rows,
    make_row_axis,
    open_svg,
    wrap_figure,
)
from poise.comparison.report.method_styles import MethodStyle, format_method
from poise.comparison.report.page_text import format_percent, format_time
from poise.comparison.runs import MethodRun
from poise.comparison.task import TOLERANCE_LEVELS, Task
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.formatting import format_count
from poise.problem.goals import Orientation
from poise.solvers.base.interface import join_words
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
    shares = [look.method.compute_solved_share() for look in some]
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
            lines.append(Line(style, joints, times, is_filled=full))
    title = "One target in a batch, on longer chains" if batch else "A call, on longer chains"
    caption = "Free ball joints, bones of length 1, straight at the start. Open: less than 90 % solved."
    return _draw_times_chart(lines, title, "ball joints of the chain", caption)


def _draw_batches(styles: Sequence[MethodStyle]) -> str:
    lines = [
        Line(
            look,
            np.array(sorted(map(float, look.method.batches))),
            np.array([look.method.batch_times[size] for size in sorted(look.method.batches)]),
            is_filled=np.ones(len(look.method.batches), dtype=bool),
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
        _draw_distribution(look, scores, axis, f"{format_percent(look.method.compute_solved_share())} %")
        for look, scores in some
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
    x_values = axis.locate(ordered)
    low, middle, high = np.quantile(x_values, (0.25, 0.5, 0.75))
    marks = "".join(f"M{x:.1f} 5v12" for x in np.unique(np.round(x_values, 1)))
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
    all_steps = [
        (style, _compute_steps(task, style.method.runs[name])) for style in styles if name in style.method.runs
    ]
    drawn_steps = [(style, values) for style, values in all_steps if values.size]
    sizes = np.concatenate([np.zeros(0), *(values[np.isfinite(values) & (values > 0)] for _, values in drawn_steps)])
    if not sizes.size:
        return ""
    max_step = float(sizes.max()) * 1.1
    y_axis = Axis(
        max(float(sizes.min()), max_step * 10.0**-_STEP_DECADES) / 1.3, max_step, _CURVE_ROW_HEIGHT - 3, 3, log=True
    )
    axis = make_row_axis(0.0, float(max(len(values) for _, values in drawn_steps)), log=False)
    drawn = [_draw_step_curve(style, values, axis, y_axis) for style, values in drawn_steps]
    labels = ChartLabels(title, "frame", "largest [rad]")
    text = task.sets[name].text
    caption = (
        f"{escape(text[:1].upper() + text[1:])}. Logarithmic, all rows alike: {y_axis.low:.2g} to "
        f"{y_axis.high:.2g} rad."
    )
    slow = [style.method.name for style, _ in drawn_steps if len(style.method.runs[name]) < len(task.sets[name])]
    caption += f" Too slow to be followed to the end: {escape(join_words(slow))}." if slow else ""
    return wrap_figure(title, draw_rows(drawn, axis, _CURVE_ROW_HEIGHT, labels), caption)


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


# --- Charts and maps of missed targets -------------------------------------------------------------------------------
#
# They show misses by distance and by position in the workspace.


_CHART_WIDTH, _CHART_HEIGHT = 210, 150  # px, size of a small chart
_LEFT_MARGIN, _RIGHT_MARGIN, _TOP_MARGIN, _BOTTOM_MARGIN = 34, 8, 8, 30
_BIN_SHARE = 0.1  # share of the longest reach
_MAX_BINS = 12  # maximum number of bins
_MAX_CELLS = 12  # cells along the larger extent
_MAP_SIDE = 150  # px, longer side of a map
_AXIS_NAMES = "xyz"


def _split_by_misses(styles: Sequence[MethodStyle]) -> tuple[list[MethodStyle], list[MethodStyle]]:
    """Split methods by whether they missed targets."""
    some = [look for look in styles if look.method.main is not None and len(look.method.main)]
    worse = [look for look in some if look.method.compute_solved_share() < 1]
    return worse, [look for look in some if look not in worse]


def _format_faultless(faultless: Sequence[MethodStyle]) -> str:
    """Format a sentence about methods without a miss."""
    return (
        f"<p>Every target is solved by {escape(join_words(look.method.name for look in faultless))}.</p>"
        if faultless
        else ""
    )


# --- by distance ---------------------------------------------------------------------------------------------------


def draw_reach_charts(data: ComparisonData, styles: Sequence[MethodStyle]) -> str:
    """Draw the share solved by distance of the targets. Only methods with a miss are drawn."""
    shares = data.task.compute_reach_shares(data.task.main.rows)
    if shares is None or not np.isfinite(shares).all():
        return "<p>A rotation, or a reach without a bound, has no distance to go by.</p>"
    edges = _compute_bin_edges(shares)
    worse, clean = _split_by_misses(styles)
    panels = [_draw_counts(shares, edges), *(_draw_success(look, shares, edges) for look in worse)]
    caption = (
        "Across: distance of the target from the chain's first joint, as a share of the longest reach. Band: 95 % "
        "interval (Wilson), wide where there are few targets. Bars: how many targets there are."
    )
    return f'{_format_faultless(clean)}<p class="muted">{caption}</p><div class="small">{"".join(panels)}</div>'


def _compute_bin_edges(shares: Floats) -> Floats:
    """Compute bin edges. Bins are a tenth of the reach wide, or wider where targets lie far beyond it."""
    low, high = float(shares.min()), float(shares.max())
    wide = _BIN_SHARE if high - low <= _BIN_SHARE * _MAX_BINS else (high - low) / _MAX_BINS
    first = np.floor(low / wide)
    return wide * np.arange(first, max(np.ceil(high / wide), first + 1) + 0.5)


def _find_bins(shares: Floats, edges: Floats) -> Ints:
    return np.clip(np.searchsorted(edges, shares, side="right") - 1, 0, len(edges) - 2)


def _make_axes(edges: Floats, high: float) -> tuple[Axis, Axis]:
    return Axis(float(edges[0]), float(edges[-1]), _LEFT_MARGIN, _CHART_WIDTH - _RIGHT_MARGIN), Axis(
        0.0, high, _CHART_HEIGHT - _BOTTOM_MARGIN, _TOP_MARGIN
    )


def _draw_frame(description: str, x_axis: Axis, y_axis: Axis, numbers: Sequence[float]) -> list[str]:
    parts = [open_svg(_CHART_WIDTH, _CHART_HEIGHT, description)]
    for value in numbers:
        y = float(y_axis.locate(value))
        parts.append(f'<path d="M{_LEFT_MARGIN} {y:.1f}H{_CHART_WIDTH - _RIGHT_MARGIN}"/>')
        parts.append(f'<text x="{_LEFT_MARGIN - 4}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for value in np.unique([x_axis.low, 0.5 * (x_axis.low + x_axis.high), x_axis.high]):
        x = float(x_axis.locate(value))
        parts.append(
            f'<text x="{x:.1f}" y="{_CHART_HEIGHT - _BOTTOM_MARGIN + 14}" text-anchor="middle">{value:.2g}</text>'
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
    for b, (low, high) in enumerate(pairwise(edges)):
        count, solved_count = int((bins == b).sum()), int(solved[bins == b].sum())
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

    Holds the coordinates across and up, its lower corner (2,), the cell size and the number of cells (2,).
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


def draw_miss_maps(data: ComparisonData, styles: Sequence[MethodStyle]) -> str:
    """Draw maps of the share missed. Only methods with a miss are drawn."""
    task = data.task
    if isinstance(task.goal, Orientation):
        return "<p>A rotation has no place in the workspace.</p>"
    imperfect, faultless = _split_by_misses(styles)
    if not imperfect:
        return f"{_format_faultless(faultless)}<p>There is nothing to map.</p>"
    points, root = task.main.rows[:, :3], _find_root(task)
    views = _choose_views(points)
    unit, (first, second) = find_length_unit(data), views
    caption = (
        f"Targets seen along two axes: {_AXIS_NAMES[first.horizontal_axis]}{_AXIS_NAMES[first.vertical_axis]} and "
        f"{_AXIS_NAMES[second.horizontal_axis]}{_AXIS_NAMES[second.vertical_axis]}, cells of {first.cell_size:.2g} "
        f"{unit}. Filling of a cell: share of its targets that is missed; "
        "empty frames: all solved; no frame: no targets. Cross: the chain's first joint. "
        "Methods that missed none are left out."
    )
    panels = [_draw_panel(style, points, views, root) for style in imperfect]
    maps = f'<div class="small" style="--least: 300px">{"".join(panels)}</div>'
    return f'<p class="muted">{caption}</p>{_draw_scale()}{maps}'


def _find_root(task: Task) -> Floats:
    return task.start.world[task.joints[0]].positions


def _choose_views(points: Floats) -> tuple[_MapView, _MapView]:
    """Choose the plane of the two largest extents, and one across it."""
    extents = np.ptp(points, axis=0)
    order = np.argsort(-extents, kind="stable").tolist()
    cell = float(extents.max()) / _MAX_CELLS * (1 + 1e-9) or 1.0
    pairs = (sorted(order[:2]), sorted((order[0], order[2])))
    return tuple(_make_view(points, a, b, cell) for a, b in pairs)  # pyright: ignore[reportReturnType]


def _make_view(points: Floats, horizontal: int, vertical: int, cell: float) -> _MapView:
    some = points[:, [horizontal, vertical]]
    counts = np.maximum(np.ceil(np.ptp(some, axis=0) / cell), 1).astype(np.int64)
    middle = 0.5 * (some.min(axis=0) + some.max(axis=0))
    return _MapView(horizontal, vertical, middle - 0.5 * cell * counts, cell, counts)


def _draw_panel(style: MethodStyle, points: Floats, views: tuple[_MapView, _MapView], root: Floats) -> str:
    run = style.method.main
    assert run is not None
    missed = ~run.find_solved()
    maps = "".join(
        _draw_map(view, points[: len(run)], missed, root, i * (_MAP_SIDE + 20)) for i, view in enumerate(views)
    )
    height = max(int(view.cell_counts[1]) for view in views) * _MAP_SIDE / _MAX_CELLS + 44
    svg = f"{open_svg(2 * _MAP_SIDE + 40, height, f'{style.method.name}: where targets are missed')}{maps}</svg>"
    caption = f"{format_method(style)}: {int(missed.sum()):,} of {format_count(len(run), 'target')} missed"
    return f'<figure class="{style.css_class}">{svg}<figcaption>{caption}</figcaption></figure>'


def _draw_map(view: _MapView, points: Floats, missed: Bools, root: Floats, x_offset: float) -> str:
    side, (column_count, row_count) = _MAP_SIDE / _MAX_CELLS, view.cell_counts.tolist()
    cells = view.find_cells(points)
    parts = [f'<g transform="translate({x_offset + 16:g} 12)">']
    for column, row in np.unique(cells, axis=0).tolist():
        in_cell = (cells == (column, row)).all(axis=1)
        share, words = float(missed[in_cell].mean()), f"{int(missed[in_cell].sum())} of {int(in_cell.sum())} missed"
        x, y = side * column, side * (row_count - 1 - row)
        parts += _draw_cell(x, y, side, share, words)
    u, v = ((root[[view.horizontal_axis, view.vertical_axis]] - view.lower_corner) / view.cell_size).tolist()
    x, y = np.clip(
        [side * u, side * (row_count - v)], [-8, -8], [side * column_count + 8, side * row_count + 8]
    ).tolist()
    parts.append(f'<path class="root" d="M{x - 4:.1f} {y:.1f}h8M{x:.1f} {y - 4:.1f}v8"/>')
    label_y = side * row_count + 22
    words = (
        f"{_AXIS_NAMES[view.horizontal_axis]} \N{RIGHTWARDS ARROW}, {_AXIS_NAMES[view.vertical_axis]} \N{UPWARDS ARROW}"
    )
    parts.append(f'<text x="0" y="{label_y:.1f}">{words}</text></g>')
    return "".join(parts)


def _draw_cell(x: float, y: float, side: float, share: float, tooltip: str) -> list[str]:
    """Draw a cell filled by its share missed. The filled area shows the share, so that grey print shows it as well."""
    part = side * share**0.5
    inset = 0.5 * (side - part)
    filled = [draw_rectangle("miss", x + inset, y + inset, part, part)] if share > 0 else []
    return [draw_rectangle("cell", x, y, side, side, tooltip), *filled]


def _draw_scale() -> str:
    """Draw the legend of cell fillings."""
    side, parts = 14.0, [open_svg(300, 20, "scale: share missed")]
    for i, share in enumerate((0.0, 0.25, 0.5, 1.0)):
        x = 74.0 * i
        parts += _draw_cell(x, 2.0, side, share, "")
        parts.append(f'<text x="{x + side + 5:g}" y="14">{100 * share:.0f} %</text>')
    return f'<div style="max-width: 320px">{"".join(parts)}</svg></div>'
