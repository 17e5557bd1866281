"""The stretch of a ray between two parallel planes."""

from __future__ import annotations

import numpy as np

from poise.maths.arrays import Floats


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
