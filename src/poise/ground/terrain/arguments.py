"""Arguments of terrain, checked: numbers, level directions, directions of rays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.maths.arrays import Floats, abbreviate, check_finite, check_real


def finite_number(value: Any, what: str) -> float:
    """Return a finite number of the caller. InputError names `what`."""
    number = check_real(value, what)
    if not math.isfinite(number):
        message = f"{what} must be finite; got {number:g}"
        raise InputError(message)
    return number


def positive_number(value: Any, what: str) -> float:
    """Return a finite number above 0; InputError names `what`."""
    number = finite_number(value, what)
    if number <= 0.0:
        message = f"{what} must be more than 0; got {number:g}"
        raise InputError(message)
    return number


def level_direction(direction: ArrayLike | None, up: str) -> tuple[float, float]:
    """Return the unit plan direction (x, y) of a direction.

    `up` is the up axis of the direction's frame, the plan is that of surfaces.
    """
    if direction is None:
        return 0.0, -1.0
    given = check_finite(direction, "a direction", last_axis_length=3)
    if given.shape != (3,):
        message = f"a direction is three numbers; got an array of shape {given.shape}"
        raise InputError(message)
    x, y = (given[0], -given[2]) if up == "y" else (given[0], given[1])
    if x == 0.0 and y == 0.0:
        message = f"the direction {abbreviate(given.tolist())} has no level part; up is {up}"
        raise InputError(message)
    largest = max(abs(x), abs(y))  # first, so that squares of huge or tiny numbers stay representable
    x, y = x / largest, y / largest
    return float(x / math.hypot(x, y)), float(y / math.hypot(x, y))


def unit_directions(directions: Floats) -> Floats:
    """Normalise directions of rays (..., 3). InputError for a zero vector."""
    largest = np.abs(directions).max(axis=-1, keepdims=True, initial=0.0)
    if (largest == 0.0).any():
        message = "a ray needs a direction; one here has zero length"
        raise InputError(message)
    scaled = directions / largest
    return scaled / np.sqrt((scaled * scaled).sum(axis=-1, keepdims=True))
