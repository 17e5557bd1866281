"""Charts and maps of missed targets. They show misses by distance and by position in the workspace."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from poise.comparison.data import ComparisonData, find_length_unit
from poise.comparison.metrics import compute_share_interval
from poise.comparison.report.charts import MethodStyle, draw_rectangle, format_method, open_svg
from poise.comparison.report.page_text import format_percent
from poise.comparison.task import Task
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.formatting import format_count
from poise.problem.goals import Orientation
from poise.solvers.base.solver_calls import join_words
from poise.svg import Axis, draw_polyline

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
    worse = [look for look in some if look.method.solved() < 1]
    return worse, [look for look in some if look not in worse]


def _format_faultless(clean: Sequence[MethodStyle]) -> str:
    """Format a sentence about methods without a miss."""
    return (
        f"<p>Every target is solved by {escape(join_words(look.method.name for look in clean))}.</p>" if clean else ""
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


def _draw_frame(words: str, x_axis: Axis, y_axis: Axis, numbers: Sequence[float]) -> list[str]:
    parts = [open_svg(_CHART_WIDTH, _CHART_HEIGHT, words)]
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
        count, good = int((bins == b).sum()), int(solved[bins == b].sum())
        if count:
            interval = compute_share_interval(good, count)
            x_low, x_high = float(x_axis.locate(low)), float(x_axis.locate(high))
            top, bottom = float(y_axis.locate(100 * interval.high)), float(y_axis.locate(100 * interval.low))
            words = (
                f"{good} of {count} solved, 95 %: {format_percent(interval.low)} to {format_percent(interval.high)} %"
            )
            parts.append(draw_rectangle("band", x_low, top, x_high - x_low, bottom - top, words))
            points.append((0.5 * (x_low + x_high), float(y_axis.locate(100 * good / count))))
    parts.append(draw_polyline("line", *np.array(points).T))
    parts += [f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2"/>' for x, y in points]
    svg = "".join(parts) + "</g></svg>"
    caption = f"{format_method(style)}: {format_percent(style.method.solved())} % of {len(run):,} solved"
    return f'<figure class="{style.css_class}">{svg}<figcaption>{caption}</figcaption></figure>'


# --- by position ---------------------------------------------------------------------------------------------------


class _MapView(NamedTuple):
    """Map of the workspace.

    Holds the coordinates across and up, its lower corner (2,), the cell size and the number of cells (2,).
    """

    across: int
    up: int
    low: Floats
    cell: float
    counts: Ints

    def find_cells(self, points: Floats) -> Ints:
        """Find the cells (k, 2) of points (k, 3), column and row."""
        cells = ((points[:, [self.across, self.up]] - self.low) / self.cell).astype(np.int64)
        return np.clip(cells, 0, self.counts - 1)


def draw_miss_maps(data: ComparisonData, styles: Sequence[MethodStyle]) -> str:
    """Draw maps of the share missed. Only methods with a miss are drawn."""
    task = data.task
    if isinstance(task.goal, Orientation):
        return "<p>A rotation has no place in the workspace.</p>"
    worse, clean = _split_by_misses(styles)
    if not worse:
        return f"{_format_faultless(clean)}<p>There is nothing to map.</p>"
    points, root = task.main.rows[:, :3], _find_root(task)
    views = _choose_views(points)
    unit, (first, second) = find_length_unit(data), views
    words = (
        f"Targets seen along two axes: {_AXIS_NAMES[first.across]}{_AXIS_NAMES[first.up]} and "
        f"{_AXIS_NAMES[second.across]}"
        f"{_AXIS_NAMES[second.up]}, cells of {first.cell:.2g} {unit}. Filling of a cell: share of its targets that is "
        "missed; empty frames: all solved; no frame: no targets. Cross: the chain's first joint. "
        "Methods that missed none are left out."
    )
    panels = [_draw_panel(look, points, views, root) for look in worse]
    maps = f'<div class="small" style="--least: 300px">{"".join(panels)}</div>'
    return f'<p class="muted">{words}</p>{_draw_scale()}{maps}'


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
    height = max(int(view.counts[1]) for view in views) * _MAP_SIDE / _MAX_CELLS + 44
    svg = f"{open_svg(2 * _MAP_SIDE + 40, height, f'{style.method.name}: where targets are missed')}{maps}</svg>"
    caption = f"{format_method(style)}: {int(missed.sum()):,} of {format_count(len(run), 'target')} missed"
    return f'<figure class="{style.css_class}">{svg}<figcaption>{caption}</figcaption></figure>'


def _draw_map(view: _MapView, points: Floats, missed: Bools, root: Floats, x_offset: float) -> str:
    side, (wide, high) = _MAP_SIDE / _MAX_CELLS, view.counts.tolist()
    cells = view.find_cells(points)
    parts = [f'<g transform="translate({x_offset + 16:g} 12)">']
    for column, row in np.unique(cells, axis=0).tolist():
        here = (cells == (column, row)).all(axis=1)
        share, words = float(missed[here].mean()), f"{int(missed[here].sum())} of {int(here.sum())} missed"
        x, y = side * column, side * (high - 1 - row)
        parts += _draw_cell(x, y, side, share, words)
    u, v = ((root[[view.across, view.up]] - view.low) / view.cell).tolist()
    x, y = np.clip([side * u, side * (high - v)], [-8, -8], [side * wide + 8, side * high + 8]).tolist()
    parts.append(f'<path class="root" d="M{x - 4:.1f} {y:.1f}h8M{x:.1f} {y - 4:.1f}v8"/>')
    foot = side * high + 22
    words = f"{_AXIS_NAMES[view.across]} \N{RIGHTWARDS ARROW}, {_AXIS_NAMES[view.up]} \N{UPWARDS ARROW}"
    parts.append(f'<text x="0" y="{foot:.1f}">{words}</text></g>')
    return "".join(parts)


def _draw_cell(x: float, y: float, side: float, share: float, words: str) -> list[str]:
    """Draw a cell filled by its share missed. The filled area shows the share, so that grey print shows it as well."""
    part = side * share**0.5
    inset = 0.5 * (side - part)
    filled = [draw_rectangle("miss", x + inset, y + inset, part, part)] if share > 0 else []
    return [draw_rectangle("cell", x, y, side, side, words), *filled]


def _draw_scale() -> str:
    """Draw the legend of cell fillings."""
    side, parts = 14.0, [open_svg(300, 20, "scale: share missed")]
    for i, share in enumerate((0.0, 0.25, 0.5, 1.0)):
        x = 74.0 * i
        parts += _draw_cell(x, 2.0, side, share, "")
        parts.append(f'<text x="{x + side + 5:g}" y="14">{100 * share:.0f} %</text>')
    return f'<div style="max-width: 320px">{"".join(parts)}</svg></div>'
