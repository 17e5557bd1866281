"""Ground from triangles: with holes, overhangs and several storeys.

Triangles are sorted into the cells of a grid in plan, so that a place or a ray meets only those near it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from poise.ground.terrain.rays.plan_grid import SLACK, PlanGrid, Stretch, walk
from poise.ground.terrain.surface import Normal, Sample, Strike, normal_of
from poise.maths.arrays import Bools, Floats, Ints
from poise.runtime.immutable_values import FrozenValue

_WALL = 1e-6  # upward part of a unit normal: what is steeper than 89.9999 degrees is a wall, no ground
THIN = 1e-12  # of a triangle's longest side: so far outside still belongs to it, so that no crack opens; or a sine
_MOST_CELLS = 2**22
_ENTRIES = 16  # cells that a triangle may lie in on average; cells are made larger until it holds
_FEW = 4096  # entries that never matter
_FARTHEST = 1e100  # of a place: the square of more would overflow
_PAIRS = 2**21  # of a place and an edge that are looked at together


@dataclass(frozen=True, eq=False)
class Mesh(FrozenValue):
    """Triangles (t, 3, 3) with an area, counterclockwise seen from their outside.

    The ground at a place is the highest triangle that is not above z; where all are above, the lowest. Triangles
    that face down, the undersides of bodies, are ground only at places that nothing else covers. Beyond the edges
    and over holes the height of the nearest edge in plan holds, and the ground is level outwards.
    """

    corners: Floats

    def __repr__(self) -> str:
        return f"Mesh({len(self.corners)} triangles)"

    @cached_property
    def _normals(self) -> Floats:
        """Unit normals (t, 3) as wound."""
        a, b, c = self.corners.transpose(1, 0, 2)
        normals = np.cross(b - a, c - a)
        return normals / np.sqrt((normals * normals).sum(axis=1, keepdims=True))

    @cached_property
    def _layers(self) -> list[_Layer]:
        """Return layers: triangles facing up, then those facing down. Empty layers are left out."""
        up = self._normals[:, 2]
        faces = (up > _WALL, up < -_WALL)
        return [_Layer(self.corners[face], self._normals[face]) for face in faces if face.any()]

    @property
    def has_ground(self) -> bool:
        """Whether there is more than walls."""
        return bool(self._layers)

    def heights(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Return heights at x, y of the ground up to z."""
        return self.sample(x, y, z).heights

    def sample(self, x: Floats, y: Floats, z: Floats) -> Sample:
        """Heights, normals, and whether a place is over any triangle."""
        heights, normals = np.full(len(x), np.inf), np.empty((len(x), 3))
        for layer in self._layers:
            left = np.flatnonzero(heights == np.inf)
            if left.size:
                heights[left], normals[left] = layer.under(x[left], y[left], z[left])
        inside = heights < np.inf
        left = np.flatnonzero(~inside)
        if left.size:
            heights[left], slope_x, slope_y = self._layers[0].edges.nearest(x[left], y[left])
            normals[left] = np.stack(normal_of(slope_x, slope_y), axis=1)
        return Sample(heights, _columns(normals), inside)

    def hit(self, origins: Floats, directions: Floats) -> Strike:
        """First hits on any triangle, walls and undersides too, from either side."""
        cells, table = self._all
        fastest = np.abs(directions[:, :2] / [cells.grid.wide, cells.grid.deep]).max(axis=1)
        slack = np.where(fastest > 0.0, SLACK / np.where(fastest > 0.0, fastest, 1.0), 0.0)

        def test(piece: Stretch) -> tuple[Floats, Ints]:
            distances, triangles = np.full(len(piece.rays), np.inf), np.full(len(piece.rays), -1)
            enter, leave = piece.enter - slack[piece.rays], piece.leave + slack[piece.rays]
            near = np.flatnonzero(cells.reaches_cells(piece, origins[piece.rays, 2], directions[piece.rays, 2]))
            pairs = cells.pairs(piece.cols[near], piece.rows[near])
            asking = near[pairs.owner]
            rays = piece.rays[asking]
            t = _meeting(table[pairs.triangles], origins[rays], directions[rays])
            t = np.where((np.maximum(t, 0.0) >= enter[asking]) & (t <= leave[asking]), t, np.inf)
            if t.size:
                distances[near[pairs.askers]] = np.minimum.reduceat(t, pairs.firsts)
                same = np.where(t == distances[asking], pairs.triangles, len(self.corners))
                triangles[near[pairs.askers]] = np.minimum.reduceat(same, pairs.firsts)
            return np.maximum(distances, 0.0), triangles

        distances, triangles = walk(cells.grid, cells.range, origins, directions, test)
        normals = self._normals[np.maximum(triangles, 0)]
        return Strike(distances, _columns(np.where(normals[:, 2:] < -_WALL, -normals, normals)))

    @cached_property
    def _all(self) -> tuple[TriangleCells, Floats]:
        """Sort all triangles into cells, and pack rows for `_meeting`."""
        a, b, c = self.corners.transpose(1, 0, 2)
        sides = np.stack([b - a, c - b, a - c], axis=1)
        longest = np.sqrt((sides * sides).sum(axis=2).max(axis=1, keepdims=True))
        normals = np.cross(b - a, c - a)
        return sorted_into_cells(self.corners), np.concatenate([a, b - a, c - a, normals, longest], axis=1)


def _columns(normals: Floats) -> Normal:
    x, y, z = normals.T
    return x, y, z


def _meeting(table: Floats, origins: Floats, directions: Floats) -> Floats:
    """Intersect rays with their triangles (Möller, Trumbore, JGT 2, 1997). Returns distances (k,), infinite for a miss.

    Rows are: first corner, the two sides from it, their cross product, the longest side. A ray that starts on the
    triangle to rounding meets it there.
    """
    first, one, other, normal = table[:, 0:3], table[:, 3:6], table[:, 6:9], table[:, 9:12]
    longest = table[:, 12]
    away = origins - first
    across = np.cross(away, directions)
    rate = (normal * directions).sum(axis=1)
    area = np.sqrt((normal * normal).sum(axis=1))
    meets = np.abs(rate) > THIN * area
    rate = np.where(meets, rate, 1.0)
    along = -(normal * away).sum(axis=1) / rate
    sign = np.copysign(1.0, rate)
    u, v = -(across * other).sum(axis=1) * sign, (across * one).sum(axis=1) * sign
    slack = THIN * longest * (longest + np.sqrt((away * away).sum(axis=1)))
    meets &= (u >= -slack) & (v >= -slack) & (u + v <= np.abs(rate) + slack) & (along >= -THIN * longest)
    return np.where(meets, along, np.inf)


class _Layer:
    """Triangles of the ground without walls, with lookup from above."""

    def __init__(self, corners: Floats, normals: Floats) -> None:
        facing = np.copysign(1.0, normals[:, 2])[:, None]
        self._corners = np.where(facing[:, :, None] > 0.0, corners, corners[:, ::-1])  # counterclockwise in plan
        self._normals = normals * facing
        self._cells = sorted_into_cells(self._corners)
        self._table = _plan_table(self._corners, self._normals)

    @cached_property
    def edges(self) -> Edges:
        """Boundary edges: sides of one triangle only."""
        return outline(self._corners)

    def under(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Find the highest triangles not above z, else the lowest.

        Returns heights (n,), infinite where there is none, and normals.
        """
        heights, triangles = np.full(len(x), np.inf), np.full(len(x), 0)
        u, v, inside_u, inside_v = self._cells.grid.clamp_places(*self._cells.grid.places(x, y))
        on = np.flatnonzero(inside_u & inside_v)
        pairs = self._cells.pairs(*self._cells.grid.cells(u[on], v[on]))
        if pairs.owner.size:
            queries = on[pairs.owner]
            found, over = _plan_heights(self._table[pairs.triangles], x[queries], y[queries])
            best = _highest_below(found, over, z[queries], pairs.firsts)
            heights[on[pairs.askers]] = best
            same = np.where(over & (found == heights[queries]), pairs.triangles, len(self._corners) - 1)
            triangles[on[pairs.askers]] = np.minimum.reduceat(same, pairs.firsts)
        return heights, self._normals[triangles]


def _highest_below(heights: Floats, counts: Bools, ceiling: Floats, firsts: Ints) -> Floats:
    """Find the highest height of each group up to its ceiling. Else the smallest; infinite where none counts."""
    under = counts & (heights <= ceiling)
    highest = np.maximum.reduceat(np.where(under, heights, -np.inf), firsts)
    lowest = np.minimum.reduceat(np.where(counts, heights, np.inf), firsts)
    return np.where(highest > -np.inf, highest, lowest)


def _plan_table(corners: Floats, normals: Floats) -> Floats:
    """Rows of what `_plan_heights` needs, side by side in memory."""
    a, b, c = corners.transpose(1, 0, 2)
    one, other = (b - a)[:, :2], (a - c)[:, :2]
    last = (c - b)[:, :2]
    area = one[:, :1] * -other[:, 1:] - one[:, 1:] * -other[:, :1]
    longest = np.stack([(side * side).sum(axis=1) for side in (one, other, last)]).max(axis=0)[:, None]
    slopes = -normals[:, :2] / normals[:, 2:]
    low, high = corners[..., 2].min(axis=1, keepdims=True), corners[..., 2].max(axis=1, keepdims=True)
    return np.concatenate([a, one, other, area, -THIN * longest, slopes, low, high], axis=1)


def _plan_heights(table: Floats, x: Floats, y: Floats) -> tuple[Floats, Bools]:
    """Heights (k,) of triangles over places, and whether they are over them.

    A place is within the three sides where twice the areas that it spans with them are not negative; they add up to
    the triangle's. Heights stay between those of the corners, whatever the plane of a steep sliver does.
    """
    ax, ay, az, one_x, one_y, other_x, other_y, area, least, slope_x, slope_y, low, high = table.T
    x, y = x - ax, y - ay
    first = one_x * y - one_y * x
    third = other_x * y - other_y * x
    over = (first >= least) & (third >= least) & (area - first - third >= least)
    return np.minimum(np.maximum(az + slope_x * x + slope_y * y, low), high), over


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


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges in space: `starts` (e, 3) and `sides` (e, 3). A side is the vector to the edge's end."""

    starts: Floats
    sides: Floats

    def nearest(self, x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """Return heights (n,) and slopes (n, 2) of the nearest edges.

        Nearest in plan; the ground beyond is level outwards.
        """
        heights, slopes = np.empty(len(x)), np.empty((len(x), 2))
        x, y = (np.minimum(np.maximum(axis, -_FARTHEST), _FARTHEST) for axis in (x, y))
        share = max(_PAIRS // len(self.starts), 1)
        for first in range(0, len(x), share):
            part = slice(first, first + share)
            edge, along = self._nearest(x[part], y[part])
            heights[part] = self.starts[edge, 2] + along * self.sides[edge, 2]
            slopes[part] = self._slopes(edge, along)
        return heights, slopes[:, 0], slopes[:, 1]

    def _nearest(self, x: Floats, y: Floats) -> tuple[Ints, Floats]:
        """The nearest edge (n,) and how far along it, 0 to 1."""
        away_x, away_y = x[:, None] - self.starts[:, 0], y[:, None] - self.starts[:, 1]
        side_x, side_y, _ = self.sides.T
        square = side_x * side_x + side_y * side_y
        along = (away_x * side_x + away_y * side_y) / np.where(square > 0.0, square, 1.0)
        along = np.minimum(np.maximum(along, 0.0), 1.0)
        off_x, off_y = away_x - along * side_x, away_y - along * side_y
        edge = (off_x * off_x + off_y * off_y).argmin(axis=1)
        return edge, along[np.arange(len(x)), edge]

    def _slopes(self, edge: Ints, along: Floats) -> Floats:
        """Slopes (n, 2) along the edge; none beyond its ends."""
        side = self.sides[edge]
        square = side[:, 0] * side[:, 0] + side[:, 1] * side[:, 1]
        beside = (along > 0.0) & (along < 1.0) & (square > 0.0)
        return np.where(beside, side[:, 2] / np.where(square > 0.0, square, 1.0), 0.0)[:, None] * side[:, :2]


def outline(corners: Floats) -> Edges:
    """Find the boundary edges of triangles (t, 3, 3).

    An edge of one triangle only is one. Corners are the same where their numbers are.
    """
    _, names = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    names = names.reshape(-1, 3)
    ends = np.stack([names, np.roll(names, -1, axis=1)], axis=-1).reshape(-1, 2)
    _, kind, count = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True, return_counts=True)
    alone = np.flatnonzero(count[kind.reshape(-1)] == 1)
    if not alone.size:  # every edge is shared: triangles that lie double
        alone = np.arange(len(ends))
    starts = corners.reshape(-1, 3)[alone]
    return Edges(starts, np.roll(corners, -1, axis=1).reshape(-1, 3)[alone] - starts)
