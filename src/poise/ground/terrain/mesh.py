"""Ground from triangles: with holes, overhangs and several storeys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from poise.ground.terrain.rays.mesh_edges import Edges, outline
from poise.ground.terrain.rays.plan_grid import SLACK, Stretch, walk
from poise.ground.terrain.rays.triangle_cells import TriangleCells, sorted_into_cells
from poise.ground.terrain.surface import Normal, Sample, Strike, normal_of
from poise.maths.arrays import Bools, Floats, Ints
from poise.runtime.immutable_values import FrozenValue

_WALL = 1e-6  # upward part of a unit normal: what is steeper than 89.9999 degrees is a wall, no ground
THIN = 1e-12  # of a triangle's longest side: so far outside still belongs to it, so that no crack opens; or a sine


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
