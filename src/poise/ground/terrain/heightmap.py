"""Ground from a grid of heights, bilinear between its posts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from poise.ground.terrain.rays.plan_grid import SLACK, PlanGrid, Stretch, walk
from poise.ground.terrain.surface import Normal, Sample, Strike, normal_of
from poise.maths.arrays import Bools, Floats, Ints
from poise.runtime.immutable_values import FrozenValue


@dataclass(frozen=True, eq=False)
class HeightMap(FrozenValue):
    """Bilinear patches between the posts of a grid. Slopes are those of the patch at the place.

    posts   (rows + 1, cols + 1) finite heights at the corners of the grid's cells
    hollow  (rows, cols) cells that are holes, or None

    Heights are continuous; normals jump where cells meet, as those of triangles do, and belong to the cell behind.
    Beyond an edge the height of the nearest place on it holds, and the ground is level outwards.
    """

    grid: PlanGrid
    posts: Floats
    hollow: Bools | None = None

    def __repr__(self) -> str:
        return f"HeightMap({self.grid.rows} x {self.grid.cols} cells)"

    @cached_property
    def _range(self) -> tuple[float, float]:
        low, high = float(self.posts.min()), float(self.posts.max())
        slack = SLACK * (high - low) + np.spacing(max(abs(low), abs(high)))
        return low - slack, high + slack

    def heights(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Heights at x, y."""
        u, v, _, _ = self.grid.clamp_places(*self.grid.places(x, y))
        i, j = self.grid.cells(u, v)
        a, b, c, d = self._about(i, j)
        u, v = u - i, v - j
        return (a * (1.0 - u) + b * u) * (1.0 - v) + (c * (1.0 - u) + d * u) * v

    def sample(self, x: Floats, y: Floats, z: Floats) -> Sample:
        """Return heights, normals, and an inside mask. Places beyond the map and over holes are outside."""
        u, v, inside_u, inside_v = self.grid.clamp_places(*self.grid.places(x, y))
        i, j = self.grid.cells(u, v)
        heights, slope_x, slope_y = self._patch(i, j, u - i, v - j)
        inside = inside_u & inside_v
        if self.hollow is not None:
            inside &= ~self.hollow[j, i]
        return Sample(heights, normal_of(slope_x * inside_u, slope_y * inside_v), inside)

    def _about(self, cols: Ints, rows: Ints) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the four posts about cells. In the order low low, high low, low high, high high (x, then y)."""
        flat, wide = self.posts.reshape(-1), self.posts.shape[1]
        first = rows * wide + cols
        return flat[first], flat[first + 1], flat[first + wide], flat[first + wide + 1]

    def _patch(self, i: Ints, j: Ints, u: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """Return heights and slopes at places u, v in cells. u and v are 0 to 1."""
        a, b, c, d = self._about(i, j)
        near, far = a * (1.0 - u) + b * u, c * (1.0 - u) + d * u
        slope_x = ((b - a) * (1.0 - v) + (d - c) * v) / self.grid.wide
        return near * (1.0 - v) + far * v, slope_x, (far - near) / self.grid.deep

    def hit(self, origins: Floats, directions: Floats) -> Strike:
        """Find first hits on the map.

        There are none beyond its edges nor over holes. Each cell on the way is a quadratic equation.
        """
        speeds = directions / np.array([self.grid.wide, self.grid.deep, 1.0])
        places = np.stack([*self.grid.places(origins[:, 0], origins[:, 1]), origins[:, 2]], axis=1)

        def test(piece: Stretch) -> tuple[Floats, Ints]:
            distances = self._crossing(places[piece.rays], speeds[piece.rays], piece)
            if self.hollow is not None:
                distances = np.where(self.hollow[piece.rows, piece.cols], np.inf, distances)
            return distances, piece.rows * self.grid.cols + piece.cols

        distances, cells = walk(self.grid, self._range, origins, directions, test)
        return Strike(distances, self._normal_in(places, speeds, distances, cells))

    def _crossing(self, places: Floats, speeds: Floats, piece: Stretch) -> Floats:
        """Compute distances of rays to the patch of a cell. Infinite for a hit outside the segment in the cell."""
        a, b, c, d = self._about(piece.cols, piece.rows)
        u, v, z = (places + piece.enter[:, None] * speeds).T
        u, v = u - piece.cols, v - piece.rows
        du, dv, dz = speeds.T
        east, north, twist = b - a, c - a, d - c - b + a
        over = z - ((a * (1.0 - u) + b * u) * (1.0 - v) + (c * (1.0 - u) + d * u) * v)
        rate = dz - (east * du + north * dv + twist * (u * dv + v * du))
        fastest = np.maximum(np.abs(du), np.abs(dv))
        slack = np.where(fastest > 0.0, SLACK / np.where(fastest > 0.0, fastest, 1.0), 0.0)
        low, high = np.where(piece.enter > 0.0, -slack, 0.0), piece.leave - piece.enter + slack
        one, other = _roots(-twist * du * dv, rate, over)
        along = np.minimum(*(np.where((s >= low) & (s <= high), s, np.inf) for s in (one, other)))
        return np.maximum(piece.enter + along, 0.0)

    def _normal_in(self, places: Floats, speeds: Floats, distances: Floats, cells: Ints) -> Normal:
        """Normals where rays end; of the first cell for a miss."""
        cells = np.maximum(cells, 0)
        i, j = cells % self.grid.cols, cells // self.grid.cols
        u, v, _ = (places + np.where(np.isfinite(distances), distances, 0.0)[:, None] * speeds).T
        _, slope_x, slope_y = self._patch(i, j, u - i, v - j)
        return normal_of(slope_x, slope_y)


def _roots(a: Floats, b: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Find the real roots of a s^2 + b s + c. Infinite where there is none, 0 where c is 0."""
    square = b * b - 4.0 * a * c
    q = -0.5 * (b + np.copysign(np.sqrt(np.maximum(square, 0.0)), b))
    one = np.divide(q, a, out=np.full_like(q, np.inf), where=(a != 0.0) & (square >= 0.0))
    other = np.divide(c, q, out=np.full_like(q, np.inf), where=(q != 0.0) & (square >= 0.0))
    return one, np.where(c == 0.0, 0.0, other)
