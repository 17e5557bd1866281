"""Boundary edges of a mesh in plan, and the ground beyond them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.maths.arrays import Floats, Ints

_FARTHEST = 1e100  # of a place: the square of more would overflow
_PAIRS = 2**21  # of a place and an edge that are looked at together


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
