"""Ray marching on height fields, and rays between two planes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from poise.maths.arrays import Floats, Ints

_STEPS = 20_000  # of one ray; then it counts as a miss
_HALVINGS = 60  # of the last step: to the last bit


def march(
    heights: Callable[[Floats, Floats, Floats], Floats],
    origins: Floats,
    directions: Floats,
    steepest: float,
    smallest: float,
    reach: float,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Floats:
    """Compute distances (n,) of rays to z = heights(x, y). To the first hit; infinite for a miss.

    A ray `gap` over the ground cannot meet it before gap / (|dz| + steepest |dxy|) (sphere tracing, Hart, The Visual
    Computer 12, 1996), and goes that far, but at least `smallest`. Where the gap changes sign, halving finds the
    place. What is thinner than `smallest` along the ray may be missed where a ray grazes it.

    reach   distance that a ray is followed for, from where it enters the bounds
    bounds  lowest and highest ground: a ray starts where it enters this slab and ends where it leaves it
    """
    start, end = within(origins[:, 2], directions[:, 2], *bounds)
    start = np.where(start > 0.0, start, 0.0)
    end = np.minimum(end, start + reach)
    allowed = 1.0 / (np.abs(directions[:, 2]) + steepest * np.hypot(directions[:, 0], directions[:, 1]))

    def gaps(rays: Ints, t: Floats) -> Floats:
        x, y, z = (origins[rays] + t[:, None] * directions[rays]).T
        return z - heights(x, y, z)

    near, far = np.full((2, len(origins)), np.inf)
    rays = np.flatnonzero(start <= end)
    t = start[rays]
    gap = gaps(rays, t)
    for _ in range(_STEPS):
        met = gap == 0.0
        near[rays[met]] = far[rays[met]] = t[met]
        going = ~met & (t < end[rays])
        rays, t, gap = rays[going], t[going], gap[going]
        if not rays.size:
            break
        further = np.minimum(t + np.maximum(np.abs(gap) * allowed[rays], smallest), end[rays])
        after = gaps(rays, further)
        crossed = (gap < 0.0) != (after < 0.0)
        near[rays[crossed]], far[rays[crossed]] = t[crossed], further[crossed]
        rays, t, gap = rays[~crossed], further[~crossed], after[~crossed]
    crossing = np.flatnonzero(near < far)
    far[crossing] = _bisect(gaps, crossing, near[crossing], far[crossing])
    return far


def _bisect(gaps: Callable[[Ints, Floats], Floats], rays: Ints, near: Floats, far: Floats) -> Floats:
    """Bisect between `near` and `far` for the crossing. The sign of the gap differs at the two."""
    below = gaps(rays, near) < 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (near + far)
        same = (gaps(rays, middle) < 0.0) == below
        near, far = np.where(same, middle, near), np.where(same, far, middle)
    return far


def within(place: Floats, speed: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return distances (n,) of entry and exit of a slab.

    place + t speed is between low and high, along the whole line, backwards too.

    Without speed that is all of the line, or (infinity, -infinity), an empty stretch.
    """
    moves = speed != 0.0
    rate = np.where(moves, speed, 1.0)
    one, other = (low - place) / rate, (high - place) / rate
    level = np.where((place >= low) & (place <= high), np.inf, -np.inf)
    return np.where(moves, np.minimum(one, other), -level), np.where(moves, np.maximum(one, other), level)
