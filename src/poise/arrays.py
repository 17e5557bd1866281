"""Array aliases and the checks that turn what a person types into an array of known shape."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.errors import InputError

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]


def finite(values: ArrayLike, what: str, *, last: int | None = None) -> Floats:
    """Return `values` as float64, refusing what is not numeric, not finite or of the wrong last axis."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        message = f"{what} must be numbers, not {values!r}"
        raise InputError(message) from error
    if last is not None and (array.ndim == 0 or array.shape[-1] != last):
        message = f"{what} must end with an axis of {last} numbers; its shape is {array.shape}"
        raise InputError(message)
    if not np.isfinite(array).all():
        message = f"{what} must be finite; it holds {array[~np.isfinite(array)].flat[0]}"
        raise InputError(message)
    return array


def frozen(array: NDArray[np.generic]) -> None:
    """Make an array read-only, so that a frozen value stays what it is."""
    array.setflags(write=False)
