"""Charts and maps of missed targets. They show misses by distance and by position in the workspace."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from poise.comparison.findings.findings import Findings
from poise.comparison.findings.ranks import share_interval
from poise.comparison.findings.table import length_unit
from poise.comparison.report.charts import opened, rectangle
from poise.comparison.report.look import Look, named
from poise.comparison.report.words import percent
from poise.comparison.trials.task import Task
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.in_words import counted
from poise.problem.goals import Orientation
from poise.solvers.base.capabilities import series
from poise.svg.axes import Axis, polyline

_WIDE, _HIGH = 210, 150  # px, size of a small chart
_LEFT, _RIGHT, _TOP, _FOOT = 34, 8, 8, 30
_BIN = 0.1  # share of the longest reach
_MOST = 12  # maximum number of bins
_CELLS = 12  # cells along the larger extent
_MAP = 150  # px, longer side of a map
_NAMES = "xyz"


def _missing(shown: Sequence[Look]) -> tuple[list[Look], list[Look]]:
    """Split methods by whether they missed targets."""
    some = [look for look in shown if look.method.main is not None and len(look.method.main)]
    worse = [look for look in some if look.method.solved() < 1]
    return worse, [look for look in some if look not in worse]


def _said(clean: Sequence[Look]) -> str:
    """Format a sentence about methods without a miss."""
    return f"<p>Every target is solved by {escape(series(look.method.name for look in clean))}.</p>" if clean else ""


# --- by distance ---------------------------------------------------------------------------------------------------


def reaching(findings: Findings, shown: Sequence[Look]) -> str:
    """Draw the share solved by distance of the targets. Only methods with a miss are drawn."""
    shares = findings.task.reach_shares(findings.task.main.rows)
    if shares is None or not np.isfinite(shares).all():
        return "<p>A rotation, or a reach without a bound, has no distance to go by.</p>"
    edges = _edges(shares)
    worse, clean = _missing(shown)
    panels = [_counts(shares, edges), *(_reached(look, shares, edges) for look in worse)]
    caption = (
        "Across: distance of the target from the chain's first joint, as a share of the longest reach. Band: 95 % "
        "interval (Wilson), wide where there are few targets. Bars: how many targets there are."
    )
    return f'{_said(clean)}<p class="muted">{caption}</p><div class="small">{"".join(panels)}</div>'


def _edges(shares: Floats) -> Floats:
    """Compute bin edges. Bins are a tenth of the reach wide, or wider where targets lie far beyond it."""
    low, high = float(shares.min()), float(shares.max())
    wide = _BIN if high - low <= _BIN * _MOST else (high - low) / _MOST
    first = np.floor(low / wide)
    return wide * np.arange(first, max(np.ceil(high / wide), first + 1) + 0.5)


def _bins(shares: Floats, edges: Floats) -> Ints:
    return np.clip(np.searchsorted(edges, shares, side="right") - 1, 0, len(edges) - 2)


def _axes(edges: Floats, high: float) -> tuple[Axis, Axis]:
    return Axis(float(edges[0]), float(edges[-1]), _LEFT, _WIDE - _RIGHT), Axis(0.0, high, _HIGH - _FOOT, _TOP)


def _frame(words: str, across: Axis, up: Axis, numbers: Sequence[float]) -> list[str]:
    parts = [opened(_WIDE, _HIGH, words)]
    for value in numbers:
        y = float(up.at(value))
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDE - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 4}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for value in np.unique([across.low, 0.5 * (across.low + across.high), across.high]):
        x = float(across.at(value))
        parts.append(f'<text x="{x:.1f}" y="{_HIGH - _FOOT + 14}" text-anchor="middle">{value:.2g}</text>')
    return parts


def _counts(shares: Floats, edges: Floats) -> str:
    """Draw the number of targets in each bin."""
    counts = np.bincount(_bins(shares, edges), minlength=len(edges) - 1)
    across, up = _axes(edges, float(counts.max()))
    parts = _frame("targets at each distance", across, up, [0, int(counts.max())])
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        left, right, y = float(across.at(low)), float(across.at(high)), float(up.at(count))
        parts.append(rectangle("bar", left + 1, y, right - left - 2, up.begin - y))
    svg = "".join(parts) + "</svg>"
    return f"<figure>{svg}<figcaption>targets: {len(shares):,}</figcaption></figure>"


def _reached(look: Look, shares: Floats, edges: Floats) -> str:
    run = look.method.main
    assert run is not None
    bins, solved = _bins(shares[: len(run)], edges), run.solved()
    across, up = _axes(edges, 100.0)
    parts = [*_frame(f"{look.method.name}: share solved by distance", across, up, [0, 50, 100]), "<g>"]
    points: list[tuple[float, float]] = []
    for b, (low, high) in enumerate(pairwise(edges)):
        count, good = int((bins == b).sum()), int(solved[bins == b].sum())
        if count:
            interval = share_interval(good, count)
            left, right = float(across.at(low)), float(across.at(high))
            top, bottom = float(up.at(100 * interval.high)), float(up.at(100 * interval.low))
            words = f"{good} of {count} solved, 95 %: {percent(interval.low)} to {percent(interval.high)} %"
            parts.append(rectangle("band", left, top, right - left, bottom - top, words))
            points.append((0.5 * (left + right), float(up.at(100 * good / count))))
    parts.append(polyline("line", *np.array(points).T))
    parts += [f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2"/>' for x, y in points]
    svg = "".join(parts) + "</g></svg>"
    caption = f"{named(look)}: {percent(look.method.solved())} % of {len(run):,} solved"
    return f'<figure class="{look.style}">{svg}<figcaption>{caption}</figcaption></figure>'


# --- by position ---------------------------------------------------------------------------------------------------


class _Map(NamedTuple):
    """Map of the workspace.

    Holds the coordinates across and up, its lower corner (2,), the cell size and the number of cells (2,).
    """

    across: int
    up: int
    low: Floats
    cell: float
    counts: Ints

    def cells(self, points: Floats) -> Ints:
        """Find the cells (k, 2) of points (k, 3), column and row."""
        found = ((points[:, [self.across, self.up]] - self.low) / self.cell).astype(np.int64)
        return np.clip(found, 0, self.counts - 1)


def mapped(findings: Findings, shown: Sequence[Look]) -> str:
    """Draw maps of the share missed. Only methods with a miss are drawn."""
    task = findings.task
    if isinstance(task.goal, Orientation):
        return "<p>A rotation has no place in the workspace.</p>"
    worse, clean = _missing(shown)
    if not worse:
        return f"{_said(clean)}<p>There is nothing to map.</p>"
    points, root = task.main.rows[:, :3], _root(task)
    views = _views(points)
    unit, (first, second) = length_unit(findings), views
    words = (
        f"Targets seen along two axes: {_NAMES[first.across]}{_NAMES[first.up]} and {_NAMES[second.across]}"
        f"{_NAMES[second.up]}, cells of {first.cell:.2g} {unit}. Filling of a cell: share of its targets that is "
        "missed; empty frames: all solved; no frame: no targets. Cross: the chain's first joint. "
        "Methods that missed none are left out."
    )
    panels = [_panel(look, points, views, root) for look in worse]
    maps = f'<div class="small" style="--least: 300px">{"".join(panels)}</div>'
    return f'<p class="muted">{words}</p>{_scale()}{maps}'


def _root(task: Task) -> Floats:
    return task.start.world[task.joints[0]].positions


def _views(points: Floats) -> tuple[_Map, _Map]:
    """Choose the plane of the two largest extents, and one across it."""
    extents = np.ptp(points, axis=0)
    order = np.argsort(-extents, kind="stable").tolist()
    cell = float(extents.max()) / _CELLS * (1 + 1e-9) or 1.0
    pairs = (sorted(order[:2]), sorted((order[0], order[2])))
    return tuple(_view(points, a, b, cell) for a, b in pairs)  # pyright: ignore[reportReturnType]


def _view(points: Floats, across: int, up: int, cell: float) -> _Map:
    some = points[:, [across, up]]
    counts = np.maximum(np.ceil(np.ptp(some, axis=0) / cell), 1).astype(np.int64)
    middle = 0.5 * (some.min(axis=0) + some.max(axis=0))
    return _Map(across, up, middle - 0.5 * cell * counts, cell, counts)


def _panel(look: Look, points: Floats, views: tuple[_Map, _Map], root: Floats) -> str:
    run = look.method.main
    assert run is not None
    missed = ~run.solved()
    maps = "".join(_map(view, points[: len(run)], missed, root, i * (_MAP + 20)) for i, view in enumerate(views))
    height = max(int(view.counts[1]) for view in views) * _MAP / _CELLS + 44
    svg = f"{opened(2 * _MAP + 40, height, f'{look.method.name}: where targets are missed')}{maps}</svg>"
    caption = f"{named(look)}: {int(missed.sum()):,} of {counted(len(run), 'target')} missed"
    return f'<figure class="{look.style}">{svg}<figcaption>{caption}</figcaption></figure>'


def _map(view: _Map, points: Floats, missed: Bools, root: Floats, left: float) -> str:
    side, (wide, high) = _MAP / _CELLS, view.counts.tolist()
    cells = view.cells(points)
    parts = [f'<g transform="translate({left + 16:g} 12)">']
    for column, row in np.unique(cells, axis=0).tolist():
        here = (cells == (column, row)).all(axis=1)
        share, words = float(missed[here].mean()), f"{int(missed[here].sum())} of {int(here.sum())} missed"
        x, y = side * column, side * (high - 1 - row)
        parts += _cell(x, y, side, share, words)
    u, v = ((root[[view.across, view.up]] - view.low) / view.cell).tolist()
    x, y = np.clip([side * u, side * (high - v)], [-8, -8], [side * wide + 8, side * high + 8]).tolist()
    parts.append(f'<path class="root" d="M{x - 4:.1f} {y:.1f}h8M{x:.1f} {y - 4:.1f}v8"/>')
    foot = side * high + 22
    words = f"{_NAMES[view.across]} \N{RIGHTWARDS ARROW}, {_NAMES[view.up]} \N{UPWARDS ARROW}"
    parts.append(f'<text x="0" y="{foot:.1f}">{words}</text></g>')
    return "".join(parts)


def _cell(x: float, y: float, side: float, share: float, words: str) -> list[str]:
    """Draw a cell filled by its share missed. The filled area shows the share, so that grey print shows it as well."""
    part = side * share**0.5
    inset = 0.5 * (side - part)
    filled = [rectangle("miss", x + inset, y + inset, part, part)] if share > 0 else []
    return [rectangle("cell", x, y, side, side, words), *filled]


def _scale() -> str:
    """Draw the legend of cell fillings."""
    side, parts = 14.0, [opened(300, 20, "scale: share missed")]
    for i, share in enumerate((0.0, 0.25, 0.5, 1.0)):
        x = 74.0 * i
        parts += _cell(x, 2.0, side, share, "")
        parts.append(f'<text x="{x + side + 5:g}" y="14">{100 * share:.0f} %</text>')
    return f'<div style="max-width: 320px">{"".join(parts)}</svg></div>'
