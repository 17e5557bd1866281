"""Uniform grid in plan, and traversal of its cells by rays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from poise.ground.terrain.rays.march import within
from poise.maths.arrays import Bools, Floats, Ints

SLACK = 1e-9  # cells: what touches a border within this belongs to both sides


@dataclass(frozen=True)
class PlanGrid:
    """Grid of `cols` by `rows` cells of `wide` by `deep`. The first cell's corner is at (x, y)."""

    x: float
    y: float
    wide: float
    deep: float
    cols: int
    rows: int

    def places(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Coordinates in cells, 0 at the first corner."""
        return (x - self.x) / self.wide, (y - self.y) / self.deep

    def clamp_places(self, u: Floats, v: Floats) -> tuple[Floats, Floats, Bools, Bools]:
        """Nearest places on the grid, and whether each axis was inside."""
        near_u, near_v = np.minimum(np.maximum(u, 0.0), self.cols), np.minimum(np.maximum(v, 0.0), self.rows)
        return near_u, near_v, np.abs(u - near_u) <= SLACK, np.abs(v - near_v) <= SLACK

    def cells(self, u: Floats, v: Floats) -> tuple[Ints, Ints]:
        """Return column and row of the cells of places. A border belongs to the cell behind it."""
        return np.minimum(u.astype(np.int64), self.cols - 1), np.minimum(v.astype(np.int64), self.rows - 1)


class Stretch(NamedTuple):
    """Segments of rays within one cell each. With the ray, the cell, and the distances of entry and exit."""

    rays: Ints
    cols: Ints
    rows: Ints
    enter: Floats
    leave: Floats


Test: TypeAlias = Callable[[Stretch], "tuple[Floats, Ints]"]  # distances, infinite for a miss, and what was hit


class _Axis(NamedTuple):
    """Rays along one axis of the grid, in units of cells. With place, speed, and the number of cells."""

    place: Floats
    speed: Floats
    cells: int

    def stretch(self) -> tuple[Floats, Floats]:
        """Return distances of rays to entry and exit of the grid."""
        return within(self.place, self.speed, -SLACK, self.cells + SLACK)

    def cell(self, t: Floats) -> Ints:
        place = np.floor(self.place + np.where(self.speed != 0.0, t, 0.0) * self.speed)
        return np.minimum(np.maximum(place, 0), self.cells - 1).astype(np.int64)

    def border(self, rays: Ints, cell: Ints) -> Floats:
        """Return distances of rays to the next cell border. Infinite for a ray without motion along this axis."""
        speed = self.speed[rays]
        moves = speed != 0.0
        return np.where(moves, (cell + (speed > 0.0) - self.place[rays]) / np.where(moves, speed, 1.0), np.inf)


def walk(
    grid: PlanGrid, between: tuple[float, float], origins: Floats, directions: Floats, test: Test
) -> tuple[Floats, Ints]:
    """Find first hits of rays on the content of cells. Returns distances and what was hit; infinite and -1 for a miss.

    All that lies in the cells has heights in `between`. All rays go from cell to cell side by side (Amanatides, Woo,
    Eurographics 1987); `test` sees each piece of a ray in its cell and must answer only with hits in that piece.
    """
    distances, found = np.full(len(origins), np.inf), np.full(len(origins), -1)
    u, v = grid.places(origins[:, 0], origins[:, 1])
    east = _Axis(u, directions[:, 0] / grid.wide, grid.cols)
    north = _Axis(v, directions[:, 1] / grid.deep, grid.rows)
    (in_u, out_u), (in_v, out_v) = east.stretch(), north.stretch()
    in_z, out_z = within(origins[:, 2], directions[:, 2], *between)
    enter, end = np.maximum(np.maximum(np.maximum(in_u, in_v), in_z), 0.0), np.minimum(np.minimum(out_u, out_v), out_z)
    rays = np.flatnonzero(enter <= end)
    i, j, enter = east.cell(enter)[rays], north.cell(enter)[rays], enter[rays]
    while rays.size:
        border_u, border_v = east.border(rays, i), north.border(rays, j)
        leave = np.maximum(np.minimum(np.minimum(border_u, border_v), end[rays]), enter)
        hit, what = test(Stretch(rays, i, j, enter, leave))
        distances[rays], found[rays] = hit, what
        sideways = border_u <= border_v
        i = i + np.where(sideways, np.sign(east.speed[rays]), 0.0).astype(np.int64)
        j = j + np.where(sideways, 0.0, np.sign(north.speed[rays])).astype(np.int64)
        on = (hit == np.inf) & (leave < end[rays]) & (i >= 0) & (i < grid.cols) & (j >= 0) & (j < grid.rows)
        rays, i, j, enter = rays[on], i[on], j[on], leave[on]
    return distances, found
