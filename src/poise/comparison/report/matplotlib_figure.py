"""Matplotlib figures for papers. A figure has several panels; each panel answers one question on Matplotlib axes.

The style of a method (`PanelStyle`) is the same in every panel. Styles also differ in dash and marker, so that they can
be distinguished in grey.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from poise.comparison.metrics import MethodMetrics
from poise.comparison.results import ComparisonData
from poise.comparison.task import TOLERANCE_LEVELS
from poise.errors import InputError
from poise.io.files import write_atomically
from poise.maths.arrays import Floats
from poise.plot.scene_drawing import encode_figure, open_canvas

# Okabe and Ito 2002: distinguishable for colour-blind readers and in grey print.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "p", ">", "*")
_DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
_MICROSECONDS = "\N{MICRO SIGN}s"
_GRID_OPTIONS = {"color": "#D9D9D9", "linewidth": 0.5}
_MIN_SHOWN_ERROR, _MAX_SHOWN_ERROR = 1e-4, 1e5  # tolerances, range of shown errors
_REACH_BINS = 5  # bins of reach
_DARK_SHARE = 0.5  # share below which text is white on dark
_MARKER_COUNT = 6  # markers on a long curve
_SHORT_AXIS_RATIO = 200  # ratio high / low below which an axis has ticks besides powers of ten
_LINEAR_ITERATIONS = 10  # iterations on the linear part of the axis


class PanelStyle(NamedTuple):
    """Drawing style of a method."""

    method: MethodMetrics
    colour: str
    dash: Any
    marker: str

    @property
    def line_options(self) -> dict[str, Any]:
        """Options of `plot`."""
        return {
            "color": self.colour, "linestyle": self.dash, "marker": self.marker, "linewidth": 1.1,
            "markersize": 3.6, "markerfacecolor": "white", "markeredgewidth": 0.9,
        }  # fmt: skip


class ReportPanel(NamedTuple):
    """Panel of the figure.

    Holds its title, whether it has a row for each method, a test for data and its draw function.
    """

    title: str
    has_method_rows: bool
    has_data: Callable[[Sequence[PanelStyle]], bool]
    draw: Callable[[Any, Sequence[PanelStyle]], None]


def build_panel_styles(comparison: ComparisonData) -> tuple[PanelStyle, ...]:
    """Build a style for each compared method, in order of rank. No two are alike."""
    return tuple(
        PanelStyle(
            method,
            _COLOURS[i % len(_COLOURS)],
            _DASHES[(i + i // len(_COLOURS)) % len(_DASHES)],
            _MARKERS[i % len(_MARKERS)],
        )
        for i, method in enumerate(comparison.compared)
    )


def style_axes(axes: Any) -> None:
    """Style axes: no frame above and right, small ticks, a pale grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=7)
    axes.grid(visible=True, **_GRID_OPTIONS)
    axes.set_axisbelow(True)


# --- a row for each method ----------------------------------------------------------------------------------------


def _draw_times(axes: Any, styles: Sequence[PanelStyle]) -> None:
    """Draw the median and 1st to 99th percentile of call times."""
    for i, style in enumerate(styles):
        times = style.method.call_times
        if times.size:
            low, median, high = np.quantile(times, (0.01, 0.5, 0.99))
            axes.plot([low, high], [i, i], color=style.colour, linewidth=1.6, solid_capstyle="butt")
            axes.plot([median], [i], **style.line_options)
    style_axes(axes)
    axes.set(xscale="log", xlabel=f"median, and from 1 % to 99 % of the calls [{_MICROSECONDS}]")
    _format_ticks(axes.xaxis)
    _label_rows(axes, styles)


def _compute_reach_shares(styles: Sequence[PanelStyle]) -> Floats | None:
    task = styles[0].method.task  # the same for all
    return task.compute_reach_shares(task.main.rows)


def _has_reach(styles: Sequence[PanelStyle]) -> bool:
    return _compute_reach_shares(styles) is not None


def _draw_reach(axes: Any, styles: Sequence[PanelStyle]) -> None:
    """Draw the share solved in bins of reach. Bins hold equally many targets; each cell shows a number on grey."""
    shares = _compute_reach_shares(styles)
    if shares is None:
        return
    edges = np.quantile(shares, np.linspace(0.0, 1.0, _REACH_BINS + 1))
    bins = np.clip(np.searchsorted(edges, shares, side="right") - 1, 0, _REACH_BINS - 1)
    solved_shares = np.array(
        [[_compute_share(style.method, bins == bin_index) for bin_index in range(_REACH_BINS)] for style in styles]
    )
    axes.imshow(solved_shares, aspect="auto", cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")
    for (method_index, bin_index), share in np.ndenumerate(solved_shares):
        cell_text = "" if np.isnan(share) else f"{100 * share:.0f}"
        axes.text(
            bin_index,
            method_index,
            cell_text,
            ha="center",
            va="center",
            size=6,
            color="white" if share < _DARK_SHARE else "black",
        )
    axes.set_xticks(np.arange(_REACH_BINS + 1) - 0.5, [f"{100 * edge:.0f}" for edge in edges])
    axes.set_xlabel("solved [%], by distance [% of the reach]")
    axes.tick_params(labelsize=7)
    _label_rows(axes, styles)


def _compute_share(method: MethodMetrics, is_in_bin: Any) -> float:
    run = method.main
    if run is None:
        return float("nan")
    solved = run.find_solved()[is_in_bin[: len(run)]]
    return float(solved.mean()) if solved.size else float("nan")


def _label_rows(axes: Any, styles: Sequence[PanelStyle]) -> None:
    axes.set_yticks(range(len(styles)), [style.method.name for style in styles])
    axes.set_ylim(len(styles) - 0.5, -0.5)


# --- curves ----------------------------------------------------------------------------------------------------------


def _draw_errors(axes: Any, styles: Sequence[PanelStyle]) -> None:
    """Draw the cumulative distribution of remaining errors."""
    max_error = _MIN_SHOWN_ERROR
    for style in reversed(styles):
        run = style.method.main
        if run is None or not len(run):
            continue
        scores = np.clip(np.sort(run.scores), _MIN_SHOWN_ERROR, None)
        is_shown = scores <= _MAX_SHOWN_ERROR
        target_percent = 100.0 * np.arange(1, len(scores) + 1) / len(scores)
        if is_shown.any():
            max_error = max(max_error, float(scores[is_shown][-1]))
            axes.plot(
                scores[is_shown],
                target_percent[is_shown],
                drawstyle="steps-post",
                **_choose_markers(style, int(is_shown.sum())),
            )
    for level in TOLERANCE_LEVELS:
        axes.axvline(level, color="#6B6B6B", linewidth=0.7, linestyle=(0, (2, 2)), zorder=0.5)
    style_axes(axes)
    axes.set(xscale="log", xlim=(_MIN_SHOWN_ERROR, max(2 * max_error, 2 * TOLERANCE_LEVELS[0])), ylim=(-3, 103))
    axes.set(xlabel="error left, in units of the tolerance", ylabel="targets with at most this [%]")


def _draw_convergence(axes: Any, styles: Sequence[PanelStyle]) -> None:
    """Draw the median of the least error so far."""
    for style in reversed(styles):
        if style.method.convergence is not None:
            curve = style.method.convergence.quantiles()[1]
            axes.plot(np.arange(len(curve)), curve, **_choose_markers(style, len(curve)))
    style_axes(axes)
    axes.set_yscale("log")
    axes.set_xscale("symlog", linthresh=_LINEAR_ITERATIONS, linscale=1.0)
    max_iterations = max(
        style.method.convergence.curves.shape[1] for style in styles if style.method.convergence is not None
    )
    ticks = [tick for tick in (0, 2, 5, 10, 20, 50, 100, 200) if tick < max_iterations]
    axes.set_xticks(ticks, [str(tick) for tick in ticks], minor=False)
    axes.set_xlim(-0.3, max_iterations)
    axes.minorticks_off()
    axes.set(xlabel="iterations", ylabel="median error / first error")


def _draw_scaling(axes: Any, styles: Sequence[PanelStyle]) -> None:
    """Draw the time of one target against chain length. Times are from batches, or from calls where there are none."""
    joint_counts: set[int] = set()
    for style in reversed(styles):
        points = style.method.growth
        if points:
            times = [point.call_us if np.isnan(point.batch_us) else point.batch_us for point in points]
            axes.plot([point.joint_count for point in points], times, **style.line_options)
            joint_counts.update(point.joint_count for point in points)
    style_axes(axes)
    axes.set(xscale="log", yscale="log", xlabel="joints of a chain of balls", ylabel=f"one target [{_MICROSECONDS}]")
    _format_ticks(axes.yaxis)
    _set_ticks(axes, joint_counts)


def _draw_batches(axes: Any, styles: Sequence[PanelStyle]) -> None:
    """Draw the time of one target against batch size."""
    batch_sizes: set[int] = set()
    for style in reversed(styles):
        batch_times = style.method.batch_times
        if batch_times:
            axes.plot(list(batch_times), list(batch_times.values()), **style.line_options)
            batch_sizes.update(batch_times)
    style_axes(axes)
    axes.set(xscale="log", yscale="log", xlabel="targets in one call, one core", ylabel=f"one target [{_MICROSECONDS}]")
    _format_ticks(axes.yaxis)
    _set_ticks(axes, batch_sizes)


def _set_ticks(axes: Any, sizes: set[int]) -> None:
    axes.set_xticks(sorted(sizes), [f"{size:,}" for size in sorted(sizes)], minor=False)
    axes.tick_params(axis="x", which="minor", length=0, labelbottom=False)


def _format_ticks(axis: Any) -> None:
    """Format round numbers on a logarithmic axis. They are powers of ten, with their 2- and 5-fold on a short axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator  # noqa: PLC0415

    low, high = axis.get_view_interval()
    is_short = high / low < _SHORT_AXIS_RATIO
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if is_short else (1.0,)))
    axis.set_major_formatter(FuncFormatter(_format_tick))
    axis.set_minor_formatter(NullFormatter())
    if is_short:
        axis.set_minor_locator(NullLocator())


def _format_tick(value: float, _position: int) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _choose_markers(style: PanelStyle, point_count: int) -> dict[str, Any]:
    """Make line options with a few markers. Each method has them at other points."""
    step = max(point_count // _MARKER_COUNT, 1)
    first_marker = sum(style.method.name.encode()) % step  # reproducible
    return {**style.line_options, "markevery": (first_marker, step)}


def _make_any(read_data: Callable[[MethodMetrics], object]) -> Callable[[Sequence[PanelStyle]], bool]:
    def has_any(styles: Sequence[PanelStyle]) -> bool:
        return any(read_data(style.method) for style in styles)

    return has_any


PANELS: tuple[ReportPanel, ...] = (
    ReportPanel("Time of a call", True, _make_any(lambda m: m.call_times.size), _draw_times),
    ReportPanel("Success against reach", True, _has_reach, _draw_reach),
    ReportPanel("Error left", False, _make_any(lambda m: m.main is not None and len(m.main)), _draw_errors),
    ReportPanel("Convergence", False, _make_any(lambda m: m.convergence is not None), _draw_convergence),
    ReportPanel("Cost against joints", False, _make_any(lambda m: m.growth), _draw_scaling),
    ReportPanel("Batches", False, _make_any(lambda m: m.batches), _draw_batches),
)


# --- Draw a comparison as a figure for papers ------------------------------------------------------------------------
#
# Panels are side by side, with one legend.


_SUFFIXES = (".png", ".svg", ".pdf")
_FIGURE_WIDTH_IN = 7.2  # inches, text width of a two-column page
# inches, heights: curves, method row, axis labels, title, margin
_CURVE_HEIGHT_IN, _ROW_HEIGHT_IN, _AXIS_HEIGHT_IN, _TITLE_HEIGHT_IN, _MARGIN_IN = 2.0, 0.155, 0.7, 0.3, 0.1
# inches, legend: width of a letter and of the line sample, height of a line
_LETTER_WIDTH_IN, _SAMPLE_WIDTH_IN, _LEGEND_LINE_IN = 0.062, 0.55, 0.17
_RC_PARAMS: Any = {
    "font.size": 7.5, "axes.titlesize": 8.5, "axes.labelsize": 7.5, "axes.linewidth": 0.7,
    "pdf.fonttype": 42,  # TrueType; publishers refuse Type 3
    "svg.fonttype": "path",
}  # fmt: skip


def write_figure(path: Path, comparison: ComparisonData) -> None:
    """Write the figure, reproducible byte for byte.

    Panels: time of a call, success against reach, error left, convergence, cost against joints, batches; panels without
    data are left out. Raises InputError for a suffix other than .png, .svg or .pdf and for a comparison without
    methods, UnsupportedError without Matplotlib, FileError if the file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        known_suffixes = ", ".join((".html", ".json", *_SUFFIXES))
        raise InputError(
            f"{path}: a comparison is saved as {known_suffixes}, not as {suffix or 'a file without a suffix'}"
        )
    write_atomically(path, render_figure(suffix[1:], comparison))


def render_figure(file_format: str, comparison: ComparisonData) -> bytes:
    """Render the figure as bytes of a format."""
    styles = build_panel_styles(comparison) if comparison.best else ()  # `best` raises if there is nothing to show
    row_panels, curve_panels = _choose_panels(styles)
    entry_width = max(len(style.method.name) for style in styles) * _LETTER_WIDTH_IN + _SAMPLE_WIDTH_IN
    legend_columns = max(1, min(len(styles), int(_FIGURE_WIDTH_IN / entry_width)))
    heights = [
        _TITLE_HEIGHT_IN + (_ROW_HEIGHT_IN * len(styles) + _AXIS_HEIGHT_IN if row_panels else 0.0),
        _CURVE_HEIGHT_IN * math.ceil(len(curve_panels) / _count_columns(len(curve_panels)))
        + _LEGEND_LINE_IN * math.ceil(len(styles) / legend_columns)
        + _MARGIN_IN,
    ]
    with open_canvas(_FIGURE_WIDTH_IN, sum(heights)) as figure:
        import matplotlib as mpl  # noqa: PLC0415  (an extra, which canvas() has found)

        with mpl.rc_context(_RC_PARAMS):
            figure.set_layout_engine("constrained", w_pad=0.06, h_pad=0.05)
            row_figure, curve_figure = figure.subfigures(2, 1, height_ratios=heights)
            row_figure.suptitle(comparison.task.title, size=9)
            for i, axes in enumerate(_draw_panels(row_figure, row_panels, styles)):
                axes.tick_params(labelleft=i == 0)  # method names only once
            _draw_panels(curve_figure, curve_panels, styles)
            _draw_legend(curve_figure, styles, legend_columns)
            return encode_figure(figure, file_format)


def _count_columns(panel_count: int) -> int:
    """Count the columns of a grid of panels. There are two, or three where that fills the row."""
    return panel_count if panel_count in {1, 3} else 2


def _choose_panels(styles: tuple[PanelStyle, ...]) -> tuple[list[ReportPanel], list[ReportPanel]]:
    """Choose the panels with data. Returns those with a row for each method, and curves."""
    panels = [panel for panel in PANELS if panel.has_data(styles)]
    return [panel for panel in panels if panel.has_method_rows], [
        panel for panel in panels if not panel.has_method_rows
    ]


def _draw_panels(figure: Any, panels: list[ReportPanel], styles: tuple[PanelStyle, ...]) -> list[Any]:
    """Draw panels side by side and return their axes."""
    if not panels:
        return []
    columns = _count_columns(len(panels))
    axes_grid = list(figure.subplots(math.ceil(len(panels) / columns), columns, squeeze=False).flat)
    for axes, panel in zip(axes_grid, panels, strict=False):
        panel.draw(axes, styles)
        axes.set_title(panel.title, loc="left", weight="bold")
    for axes in axes_grid[len(panels) :]:
        axes.set_visible(False)
    return axes_grid[: len(panels)]


def _draw_legend(figure: Any, styles: tuple[PanelStyle, ...], legend_columns: int) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415

    handles = [Line2D([], [], label=style.method.name, **style.line_options) for style in styles]
    figure.legend(handles=handles, loc="outside lower center", ncols=legend_columns, frameon=False, handlelength=3.2)
