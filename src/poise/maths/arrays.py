"""Array types, checks of arrays, and aligned memory for kernels."""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.errors import InputError, quote_value
from poise.kernels import entries
from poise.kernels.levels import LEVELS, find_level

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

_NON_NUMERIC_TYPES = (str, bytes, bool, type(None))
_REAL_TYPES = (int, float, np.integer, np.floating)  # a union would be built in each call
_FLOAT_DTYPE = np.dtype(np.float64)
_MAX_QUOTED_LETTERS = 80  # letters of a value quoted in a message


def check_finite(
    values: ArrayLike, label: str, *, last_axis_length: int | None = None, accepts_bools: bool = False
) -> Floats:
    """Return an array of float64.

    Parameters
    ----------
    values
        Finite numbers, in any form accepted by NumPy.
    label
        Name of the values in the message.
    last_axis_length
        Required length of the last axis, if any.
    accepts_bools
        Whether truth values count as 0 and 1.

    Raises
    ------
    InputError
        For anything else.
    """
    array: Any = values if type(values) is np.ndarray else None
    if array is None or array.dtype is not _FLOAT_DTYPE:
        array = _convert_to_float(values, label, accepts_bools=accepts_bools)
    if last_axis_length is not None and (array.ndim == 0 or array.shape[-1] != last_axis_length):
        message = f"{label} must end with an axis of {last_axis_length} numbers; its shape is {array.shape}"
        raise InputError(message)
    if np.count_nonzero(np.isfinite(array)) != array.size:  # .all() takes twice as long for a few numbers
        message = f"{label} must be finite; it holds {array[~np.isfinite(array)].flat[0]}"
        raise InputError(message)
    return array


def _convert_to_float(values: ArrayLike, label: str, *, accepts_bools: bool) -> Floats:
    """Convert numbers of any type to float64. InputError for other values."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in ("iufb" if accepts_bools else "iuf") or isinstance(values, np.ma.MaskedArray):
            _check_numbers(values, array, label)
        return array.astype(np.float64, copy=False)
    except InputError:
        raise
    except OverflowError as error:
        message = f"{label} must be numbers that a float can hold; one here is too large"
        raise InputError(message) from error
    except (TypeError, ValueError) as error:
        message = f"{label} must be numbers, not {abbreviate(values)}"
        raise InputError(message) from error


def copy_numbers_or_nan(values: ArrayLike, label: str) -> Floats:
    """Copy numbers to a new array of float64. NaN and infinite numbers pass; InputError for other values."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iuf" or isinstance(values, np.ma.MaskedArray):
            _check_numbers(values, array, label)
        return np.array(array, dtype=np.float64)
    except InputError:
        raise
    except (OverflowError, TypeError, ValueError) as error:
        message = f"{label} must be numbers, not {abbreviate(values)}"
        raise InputError(message) from error


def _check_numbers(values: ArrayLike, array: NDArray[Any], label: str) -> None:
    """Reject non-numbers: texts, dates, truth values, masked entries."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        message = f"{label} must be numbers; some of them are masked"
        raise InputError(message)
    has_non_numbers = array.dtype.kind == "O" and any(isinstance(v, _NON_NUMERIC_TYPES) for v in array.ravel().tolist())
    if array.dtype.kind == "c":
        message = f"{label} must be real numbers, not {array.dtype}"
        raise InputError(message)
    if array.size and (has_non_numbers or array.dtype.kind not in "iufO"):
        raise TypeError


def check_real(value: Any, label: str) -> float:
    """Return one number as a float. Infinity and NaN are allowed.

    Parameters
    ----------
    value
        The number.
    label
        Name of the number in the message.

    Raises
    ------
    InputError
        For other values, and for numbers too large for a float.
    """
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, _REAL_TYPES):
        message = f"{label} must be a number, not {abbreviate(value)}"
        raise InputError(message)
    try:
        return float(value)
    except OverflowError as error:
        message = f"{label} must be a number that a float can hold; this one is too large"
        raise InputError(message) from error


def broadcast_shapes(label: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Broadcast batch shapes against each other. InputError, with `label` for a name, where they do not fit."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        message = f"{label} have batch shapes that do not go together: {', '.join(map(str, shapes))}"
        raise InputError(message) from error


def broadcast_together(*arrays: Floats) -> tuple[Floats, ...]:
    """Broadcast the leading axes of arrays against each other. Each keeps a last axis of its own.

    Raises
    ------
    InputError
        For leading axes that do not go together.
    """
    shapes = [array.shape[:-1] for array in arrays]
    if shapes.count(shapes[0]) == len(shapes):  # broadcasting takes as long as composing two rotations
        return arrays
    shape = broadcast_shapes("these arrays", *shapes)
    return tuple([np.broadcast_to(array, (*shape, array.shape[-1])) for array in arrays])


def abbreviate(value: object) -> str:
    """Abbreviate a value for a message. A value without text form is shown by its type."""
    return quote_value(value, _MAX_QUOTED_LETTERS)


def prepare_for_kernel(array: Floats) -> Floats:
    """Return an array in the layout of compiled kernels.

    It is float64 in C order and aligned; a copy only where needed. It may be read-only where the library has the code
    of all kernels: Numba would compile for seconds for every other kind of array, and refuse numbers in another byte
    order.
    """
    flags = array.flags
    if array.dtype is _FLOAT_DTYPE and (flags.carray or (flags.c_contiguous and flags.aligned and _has_code_of_all())):
        return array
    return np.array(array, dtype=_FLOAT_DTYPE, order="C")


@cache
def _has_code_of_all() -> bool:
    return entries.has_code_of_all()


def freeze_array(array: NDArray[np.generic]) -> None:
    """Make an array read-only."""
    array.setflags(write=False)


def is_equal(a: Any, b: Any) -> bool:
    """Return whether two values are equal, arrays number by number."""
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a == b)


# --- SIMD width of this machine, and memory aligned for it -----------------------------------------------------------


_ALIGNMENT_BYTES = 64  # bytes of an AVX-512 register
_SIMD_WIDTHS = ("4", "8")
_MAX_SCRATCH_NUMBERS = 1 << 16  # numbers kept per thread


@cache
def find_simd_width() -> int:
    """Return the number of problems solved side by side. 8 float64 on processors of level v4, else 4.

    The environment variable POISE_LANES (4 or 8) decides otherwise.
    """
    override = os.environ.get("POISE_LANES")
    if override is not None:
        if override not in _SIMD_WIDTHS:
            message = f"POISE_LANES must be 4 or 8, not {override!r}"
            raise InputError(message)
        return int(override)
    return LEVELS[find_level()].lane_count


def allocate_aligned(number_count: int) -> Floats:
    """Allocate uninitialised float64 numbers on a 64-byte boundary."""
    memory = np.empty(number_count + _ALIGNMENT_BYTES // 8)
    first_index = (-memory.ctypes.data // 8) % (_ALIGNMENT_BYTES // 8)
    return memory[first_index : first_index + number_count]


class _ThreadScratch(threading.local):
    """Workspace of one thread's kernels."""

    workspace = allocate_aligned(0)


_SCRATCH = _ThreadScratch()


def get_scratch(number_count: int) -> Floats:
    """Return a reused workspace of at least `number_count` aligned numbers.

    For one call of a kernel: the next call in this thread gets the same memory.
    """
    workspace = _SCRATCH.workspace
    if len(workspace) < number_count:
        workspace = allocate_aligned(number_count)
        if number_count <= _MAX_SCRATCH_NUMBERS:
            _SCRATCH.workspace = workspace
    return workspace
