"""Rays against a height field that is known only by its heights."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from poise.arrays import Bools, Floats, Ints
from poise.ground.slab import within

_STEPS = 1000  # of one ray; then it counts as a miss
_HALVINGS = 60  # of the last step: to the last bit


def march(
    heights: Callable[[Floats, Floats, Floats], Floats],
    origins: Floats,
    directions: Floats,
    steepest: float,
    smallest: float,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Floats:
    """Distances (n,) to the first hits of rays on the ground z = heights(x, y); infinite for a miss.

    A ray `gap` over the ground cannot meet it before gap / (|dz| + steepest |dxy|) (sphere tracing, Hart, The Visual
    Computer 12, 1996), and goes that far, but at least `smallest`. Where the gap changes sign, halving finds the
    place. What is thinner than `smallest` along the ray may be missed where a ray grazes it.

    bounds  lowest and highest ground: a ray starts where it enters this slab and ends where it leaves it. Without
    them a ray ends after 1000 steps.
    """
    start, end = within(origins[:, 2], directions[:, 2], *bounds)
    start = np.where(start > 0.0, start, 0.0)
    allowed = 1.0 / (np.abs(directions[:, 2]) + steepest * np.hypot(directions[:, 0], directions[:, 1]))

    def gaps(rays: Ints, t: Floats) -> Floats:
        x, y, z = (origins[rays] + t[:, None] * directions[rays]).T
        return z - heights(x, y, z)

    distances = np.full(len(origins), np.inf)
    rays = np.flatnonzero(start <= end)
    t = start[rays]
    gap = gaps(rays, t)
    for _ in range(_STEPS):
        distances[rays[gap == 0.0]] = t[gap == 0.0]
        going = (gap != 0.0) & (t < end[rays])
        rays, t, gap = rays[going], t[going], gap[going]
        if not rays.size:
            break
        further = np.minimum(t + np.maximum(np.abs(gap) * allowed[rays], smallest), end[rays])
        after = gaps(rays, further)
        crossed = (gap < 0.0) != (after < 0.0)
        crossing = rays[crossed]
        distances[crossing] = _halved(gaps, crossing, t[crossed], further[crossed], gap[crossed] < 0.0)
        rays, t, gap = rays[~crossed], further[~crossed], after[~crossed]
    return distances


def _halved(gaps: Callable[[Ints, Floats], Floats], rays: Ints, near: Floats, far: Floats, below: Bools) -> Floats:
    """Halve the way between `near` and `far`, where the sign of the gap differs, until it is found."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (near + far)
        same = (gaps(rays, middle) < 0.0) == below
        near, far = np.where(same, middle, near), np.where(same, far, middle)
    return far
