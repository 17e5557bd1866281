"""Triangles binned into the cells of a grid in plan. A place or a ray then meets only the triangles near it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poise.ground.terrain.rays.plan_grid import SLACK, PlanGrid, Stretch
from poise.maths.arrays import Bools, Floats, Ints

_MOST_CELLS = 2**22
_ENTRIES = 16  # cells that a triangle may lie in on average; cells are made larger until it holds
_FEW = 4096  # entries that never matter


class Pairs(NamedTuple):
    """Candidate triangles of m queries, sorted by query.

    owner      (k,) the asker of each pair
    triangles  (k,)
    askers     (a,) those that have a pair at all
    firsts     (a,) where the pairs of each begin
    """

    owner: Ints
    triangles: Ints
    askers: Ints
    firsts: Ints


@dataclass(frozen=True, eq=False)
class TriangleCells:
    """Triangles of each cell of a grid, by their plan boxes. Cell c has `triangles[starts[c] : starts[c + 1]]`.

    low, high  heights that the triangles of each cell are between, with some slack; (infinity, -infinity) where none is
    """

    grid: PlanGrid
    starts: Ints
    triangles: Ints
    low: Floats
    high: Floats

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest place of all triangles, with some slack."""
        return float(self.low.min()), float(self.high.max())

    def reaches_cells(self, piece: Stretch, z: Floats, climb: Floats) -> Bools:
        """Return whether ray segments reach their cell's height range.

        z is the height of rays, climb its change per distance.
        """
        cell = piece.rows * self.grid.cols + piece.cols
        first, last = z + piece.enter * climb, z + piece.leave * climb
        return (np.minimum(first, last) <= self.high[cell]) & (np.maximum(first, last) >= self.low[cell])

    def pairs(self, cols: Ints, rows: Ints) -> Pairs:
        """Triangles in the cells (m,) of m askers."""
        cell = rows * self.grid.cols + cols
        first = self.starts[cell]
        count = self.starts[cell + 1] - first
        ends = np.cumsum(count)
        owner = np.repeat(np.arange(len(cell)), count)
        triangles = self.triangles[np.arange(len(owner)) + np.repeat(first - (ends - count), count)]
        askers = np.flatnonzero(count)
        return Pairs(owner, triangles, askers, (ends - count)[askers])


def sorted_into_cells(corners: Floats) -> TriangleCells:
    """Bin triangles (t, 3, 3), about one to a cell. t is at least 1."""
    low, high = corners[..., :2].min(axis=1), corners[..., :2].max(axis=1)
    grid = _grid(low.min(axis=0), high.max(axis=0), len(corners))
    while True:
        first, counts = _boxes(grid, low, high)
        entries = counts.prod(axis=1)
        if entries.sum() <= _ENTRIES * len(corners) + _FEW or grid.cols * grid.rows == 1:
            break
        grid = _coarser(grid)
    triangle = np.repeat(np.arange(len(corners)), entries)
    within = np.arange(len(triangle)) - np.repeat(np.cumsum(entries) - entries, entries)
    wide = counts[triangle, 0]
    cell = (first[triangle, 1] + within // wide) * grid.cols + first[triangle, 0] + within % wide
    order = np.argsort(cell, kind="stable")
    filled = np.bincount(cell, minlength=grid.cols * grid.rows)
    starts = np.concatenate([[0], np.cumsum(filled)])
    return TriangleCells(grid, starts, triangle[order], *_heights(corners, triangle[order], starts))


def _heights(corners: Floats, triangles: Ints, starts: Ints) -> tuple[Floats, Floats]:
    """Compute the lowest and highest corner in each cell. Moved a little apart for rounding."""
    z = corners[..., 2]
    slack = SLACK * (z.max() - z.min()) + np.spacing(np.abs(z).max())
    full = starts[:-1] < starts[1:]
    low, high = np.full(len(full), np.inf), np.full(len(full), -np.inf)
    low[full] = np.minimum.reduceat(z.min(axis=1)[triangles], starts[:-1][full]) - slack
    high[full] = np.maximum.reduceat(z.max(axis=1)[triangles], starts[:-1][full]) + slack
    return low, high


def _grid(low: Floats, high: Floats, count: int) -> PlanGrid:
    """Build a grid of about `count` nearly square cells. It covers a plan box, which may have no width."""
    wide, deep = (high - low).tolist()
    wide, deep = wide or deep or 1.0, deep or wide or 1.0
    cells = min(count, _MOST_CELLS)
    cols = int(min(max(round((cells * wide / deep) ** 0.5), 1), cells))
    rows = max(cells // cols, 1)
    return PlanGrid(float(low[0]), float(low[1]), wide / cols, deep / rows, cols, rows)


def _coarser(grid: PlanGrid) -> PlanGrid:
    cols, rows = (grid.cols + 1) // 2, (grid.rows + 1) // 2
    return PlanGrid(grid.x, grid.y, grid.wide * grid.cols / cols, grid.deep * grid.rows / rows, cols, rows)


def _boxes(grid: PlanGrid, low: Floats, high: Floats) -> tuple[Ints, Ints]:
    """Find the first cell and the cell count of each box.

    First cell (t, 2) is column and row; counts (t, 2) are of cells touched along each.
    """
    size, last = np.array([grid.wide, grid.deep]), np.array([grid.cols, grid.rows]) - 1
    first = np.clip(np.floor((low - [grid.x, grid.y]) / size - SLACK), 0, last).astype(np.int64)
    final = np.clip(np.floor((high - [grid.x, grid.y]) / size + SLACK), 0, last).astype(np.int64)
    return first, final - first + 1
