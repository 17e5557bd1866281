"""The interface of surfaces, and records of samples and hits.

Heights, normals and ray hits of a surface are in one frame, Z up, right-handed.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from poise.maths.arrays import Bools, Floats
from poise.model.anatomy.rest_geometry import FIGURE_HEIGHT_M

HEIGHT = FIGURE_HEIGHT_M  # shapes are in these metres

Normal: TypeAlias = "tuple[Floats | float, Floats | float, Floats | float]"


class Sample(NamedTuple):
    """Heights (n,), unit normals and inside mask at n places. Normals are components.

    What is the same everywhere may be a single number.
    """

    heights: Floats
    normal: Normal
    inside: Bools | bool


class Strike(NamedTuple):
    """First hits of n rays: distances (n,) and normals. Distances are infinite for a miss."""

    distances: Floats
    normal: Normal


class Surface(Protocol):
    """A ground of one kind. Z is up; x, y, z are (n,) arrays of finite numbers, n may be 0."""

    def heights(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Return heights (n,) at plan places x, y. z tells storeys apart and is ignored where there is one."""
        ...

    def sample(self, x: Floats, y: Floats, z: Floats) -> Sample:
        """Heights as above, with normals and what is inside."""
        ...

    def hit(self, origins: Floats, directions: Floats) -> Strike:
        """First hits of rays: origins (n, 3), unit directions (n, 3). Both sides of the ground are hit."""
        ...


def normal_of(slope_x: Floats, slope_y: Floats) -> Normal:
    """Compute unit normals of a height field from its slopes. (-dh/dx, -dh/dy, 1) / length."""
    up = 1.0 / np.sqrt(slope_x * slope_x + slope_y * slope_y + 1.0)
    return -slope_x * up, -slope_y * up, up


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
