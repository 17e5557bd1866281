"""Records of samples of a terrain and of ray hits on it."""

from __future__ import annotations

from typing import NamedTuple

from poise.maths.arrays import Bools, Floats


class Ground(NamedTuple):
    """The ground at points (..., 3): what `Terrain.sample` gives.

    Parameters
    ----------
    heights
        (...) along the up axis.
    normals
        (..., 3) of unit length, on the upper side.
    inside
        (...) False over holes and beyond edges, where heights and normals are those of the nearest ground.
    """

    heights: Floats
    normals: Floats
    inside: Bools


class Hits(NamedTuple):
    """Where rays (..., 3) first meet the ground: what `Terrain.hit` gives.

    Parameters
    ----------
    points
        (..., 3); the ray's origin where it misses.
    normals
        (..., 3) of the upper side, whichever side was hit; up where the ray misses.
    distances
        (...) along the ray; infinite where it misses.
    hit
        (...) whether the ray meets the ground.
    """

    points: Floats
    normals: Floats
    distances: Floats
    hit: Bools
