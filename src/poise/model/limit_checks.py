"""Argument checks shared by the limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.maths.arrays import check_finite, check_real

# [-] a squared length this near to 1 counts as 1 (rounding)
_UNIT_TOLERANCE = 1e-15

AxisTuple: TypeAlias = tuple[float, float, float]


def unit_axis(axis: ArrayLike) -> tuple[float, float, float]:
    """Scale an axis to length one.

    Parameters
    ----------
    axis
        Three finite numbers, not all 0.

    Raises
    ------
    InputError
        For anything else.
    """
    x, y, z = _check_vector(axis)
    if abs(x * x + y * y + z * z - 1.0) < _UNIT_TOLERANCE:
        return (x, y, z)  # unchanged: an axis survives saving and loading bit for bit
    largest = max(abs(x), abs(y), abs(z))
    if largest == 0.0:
        message = "an axis of zero length has no direction"
        raise InputError(message)
    x, y, z = x / largest, y / largest, z / largest
    length = math.sqrt(x * x + y * y + z * z)
    return (x / length, y / length, z / length)


def _check_vector(axis: ArrayLike) -> Sequence[float]:
    if type(axis) is tuple and len(axis) == 3 and all([type(n) is float and math.isfinite(n) for n in axis]):  # noqa: C419, PLR2004  (faster than a generator)
        return axis
    values = check_finite(axis, "an axis", last_axis_length=3)
    if values.shape != (3,):
        message = f"an axis is three numbers; got an array of shape {values.shape}"
        raise InputError(message)
    return values.tolist()


def checked_soft(soft: float) -> float:
    """Check the weight of a soft limit.

    Parameters
    ----------
    soft
        A finite number, at least 0; 0 is a hard limit.

    Raises
    ------
    InputError
        For anything else.
    """
    soft = check_real(soft, "the weight of a soft limit")
    if not (math.isfinite(soft) and soft >= 0.0):
        message = f"soft must be 0 (a hard limit) or a positive weight; got {soft:g}"
        raise InputError(message)
    return soft


def is_collection(value: Any) -> bool:
    """Return whether a value is a list, tuple or array."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def convert_to_radians(degrees: Any, label: str) -> Any:
    """Convert degrees to radians, in any nesting."""
    if is_collection(degrees):
        return tuple(convert_to_radians(entry, label) for entry in degrees)
    return math.radians(check_real(degrees, f"the {label}"))
