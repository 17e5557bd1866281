"""Parsing of target points, directions and rotations, with checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise import kernels
from poise.errors import InputError
from poise.kernels.thresholds import UNIT_SLACK
from poise.maths import rotations
from poise.maths.arrays import Floats, check_finite, prepare_for_kernel
from poise.maths.rotations import check_rotation_matrices

MAX_COORDINATE = 1e100  # [file units] largest coordinate; squares stay finite
_ZERO_ROTATION_MESSAGE = "has zero length; the identity is (1, 0, 0, 0)"


def points(value: ArrayLike, what: str, *, planar: bool = True) -> Floats:
    """Check points and return them as an array (..., 3).

    Parameters
    ----------
    value
        Points (..., 3) [file units].
    what
        What they are, for the message.
    planar
        Whether (..., 2) are taken too, as points of the plane z = 0.

    Raises
    ------
    InputError
        For another last axis, numbers that are not finite, or a coordinate beyond 1e100.
    """
    numbers = _list_numbers(value, 3)
    if numbers is not None and _is_near(*numbers):
        return np.array(numbers, dtype=np.float64)
    if type(value) is np.ndarray and value.dtype == np.float64 and value.shape[-1:] == (3,):
        points_copy: Floats = value.astype(np.float64, order="C")
        if np.abs(points_copy).max(initial=0.0) <= MAX_COORDINATE:  # False for NaN
            return points_copy
    checked = _check_points(value if planar else check_finite(value, what, last_axis_length=3), what)
    result = np.zeros((*checked.shape[:-1], 3))
    result[..., : checked.shape[-1]] = checked
    return result


def directions(value: ArrayLike, what: str) -> Floats:
    """Normalize vectors to unit vectors (..., 3).

    Parameters
    ----------
    value
        Vectors (..., 3) of any length but zero.
    what
        What they are, for the message.

    Raises
    ------
    InputError
        For anything else.
    """
    result = check_finite(value, what, last_axis_length=3).copy()
    _scale_to_unit(result, f"{what} has zero length, so no direction")
    return result


def parse_quaternions(value: ArrayLike, label: str) -> Floats:
    """Parse quaternions or rotation matrices into unit quaternions (..., 4).

    Quaternions may have any length but zero; matrices are (..., 3, 3).

    Quaternions of unit length to rounding stay bit for bit, sign included. A matrix M must be a proper rotation:
    |M^T M - 1| <= 1e-6 in every number and det M > 0; its quaternion has w >= 0.
    InputError: another shape, not finite, zero length, not orthogonal, mirrored.
    """
    numbers = _list_numbers(value, 4)
    if numbers is not None and _has_unit_length(*numbers):
        return np.array(numbers, dtype=np.float64)
    result = _check_rotations(value, label).copy()
    _scale_to_unit(result, f"{label} {_ZERO_ROTATION_MESSAGE}")
    return result


def parse_transforms(position: ArrayLike, rotation: ArrayLike, joint: str) -> Floats:
    """Parse positions and rotations into rows (..., 7).

    A row is x y z w x y z. Both parts are read as by `positions` and `parse_quaternions`, with the same InputErrors.

    Leading axes are broadcast against each other; InputError where they do not go together.
    """
    row = _parse_transform(position, rotation)
    if row is not None:
        return row
    positions = _check_points(position, f"the position of {joint!r}")
    quaternions = _check_rotations(rotation, f"the rotation of {joint!r}")
    batch_shapes = positions.shape[:-1], quaternions.shape[:-1]
    try:
        shape = np.broadcast_shapes(*batch_shapes)
    except ValueError as error:
        message = (
            f"the position of {joint!r} has the batch shape {batch_shapes[0]}, which does not go with its "
            f"rotation's, {batch_shapes[1]}"
        )
        raise InputError(message) from error
    rows = np.zeros((*shape, 7))  # the only new array; both parts are normalized in place
    rows[..., : positions.shape[-1]] = positions
    rows[..., 3:] = quaternions
    _scale_to_unit(rows[..., 3:], f"the rotation of {joint!r} {_ZERO_ROTATION_MESSAGE}")
    return rows


# --- One target of plain numbers, in Python: NumPy takes several times as long for a few numbers ---------------------


_ARRAY_TYPE, _FLOAT_DTYPE = np.ndarray, np.dtype(np.float64)
_TRANSFORM_SHAPES = ((4, 4), (3, 4))
_MAX_INTEGER = 1 << 53  # largest integers that are exact as a float64


def parse_transform_row(value: Any) -> Floats | None:
    """Parse one matrix or row of float64 into a row (7,).

    It is (4, 4), (3, 4) or (7,). Returns None for other forms and for invalid numbers.
    """
    numbers = _list_numbers(value, 7)
    if numbers is not None:
        return _build_transform_row(numbers[:3], numbers[3:])
    if type(value) is not _ARRAY_TYPE or value.dtype is not _FLOAT_DTYPE or value.shape not in _TRANSFORM_SHAPES:
        return None
    row = np.empty((1, 7))
    if kernels.rotation_matrices.convert_to_quaternions(prepare_for_kernel(value.reshape(1, -1)), row) >= 0:
        return None
    numbers = row[0].tolist()
    return _build_transform_row(numbers[:3], numbers[3:])


def _parse_transform(position: Any, rotation: Any) -> Floats | None:
    """Parse one position and one rotation into a row (7,). Returns None for other forms and for invalid numbers."""
    coordinates = _list_numbers(position, 3)
    if coordinates is None:
        return None
    components = _list_numbers(rotation, 4)
    if components is not None:
        return _build_transform_row(coordinates, components)
    if type(rotation) is not _ARRAY_TYPE or rotation.dtype is not _FLOAT_DTYPE or rotation.shape != (3, 3):
        return None
    quaternion = np.empty((1, 4))
    if kernels.rotation_matrices.convert_to_quaternions(prepare_for_kernel(rotation.reshape(1, 9)), quaternion) >= 0:
        return None
    return _build_transform_row(coordinates, quaternion[0].tolist())


def _build_transform_row(coordinates: Sequence[float], components: Sequence[float]) -> Floats | None:
    """Build a row (7,) of a position and a quaternion. Returns None for invalid numbers."""
    if not _is_near(*coordinates):
        return None
    row = np.array((*coordinates, *components), dtype=np.float64)
    if not _has_unit_length(*components) and not _is_finite_and_scaled(row[3:]):
        return None
    return row


def _list_numbers(value: Any, count: int) -> Sequence[float] | None:
    """List plain numbers. Returns None for other forms, and for another count."""
    kind = type(value)
    if kind is _ARRAY_TYPE:
        return value.tolist() if value.shape == (count,) and value.dtype is _FLOAT_DTYPE else None
    if (kind is not list and kind is not tuple) or len(value) != count:
        return None
    for number in value:
        if type(number) is not float and (type(number) is not int or abs(number) > _MAX_INTEGER):
            return None
    return value


def _is_near(x: float, y: float, z: float) -> bool:
    """Return whether the largest coordinate is allowed. NaN is not."""
    return abs(x) <= MAX_COORDINATE and abs(y) <= MAX_COORDINATE and abs(z) <= MAX_COORDINATE


def _has_unit_length(w: float, x: float, y: float, z: float) -> bool:
    """Return whether a quaternion stays bit for bit. Others are for the kernel, which has twice this slack."""
    return abs(w * w + x * x + y * y + z * z - 1.0) <= UNIT_SLACK / 2


def _is_finite_and_scaled(quaternion: Floats) -> bool:
    """Scale a quaternion (4,) in place. Returns False where it is not finite or has no length."""
    return bool(np.isfinite(quaternion).all()) and kernels.unit_rows.scale_rows_to_unit(quaternion.reshape(1, 4)) < 0


# --- Any number of targets -------------------------------------------------------------------------------------------


def _check_points(value: ArrayLike, label: str) -> Floats:
    """Check points (..., 3) or (..., 2). May return the caller's own array."""
    array = check_finite(value, label)
    if array.shape[-1:] not in {(2,), (3,)}:
        message = f"{label} needs 3 numbers (or 2 in the plane); its shape is {array.shape}"
        raise InputError(message)
    if max(array.max(initial=0.0), -array.min(initial=0.0)) > MAX_COORDINATE:
        message = f"{label} lies beyond {MAX_COORDINATE:g}, the largest length allowed"
        raise InputError(message)
    return array


def _check_rotations(value: ArrayLike, label: str) -> Floats:
    """Check rotations and return quaternions (..., 4) of any length. May return the caller's own array."""
    array = check_finite(value, label)
    if array.shape[-2:] == (3, 3):
        return _convert_matrices(array, label)
    if array.shape[-1:] != (4,):
        message = f"{label} needs 4 numbers w x y z or a 3 x 3 matrix; its shape is {array.shape}"
        raise InputError(message)
    return array


def _convert_matrices(matrices: Floats, label: str) -> Floats:
    result = np.empty((*matrices.shape[:-2], 4))
    rows = prepare_for_kernel(matrices.reshape(-1, 9))
    if kernels.rotation_matrices.convert_to_quaternions(rows, result.reshape(-1, 4)) >= 0:
        check_rotation_matrices(matrices, label)  # raises with the reason
        return rotations.from_matrix(matrices)  # within tolerance after all
    return result


def _scale_to_unit(vectors: Floats, message: str) -> None:
    """Normalize vectors (..., n) in place. Raises InputError with `message` for a vector of length zero."""
    squared_lengths: Any = np.einsum(
        "...i,...i->...", vectors, vectors
    )  # no temporary; infinite or 0 for extreme vectors
    is_not_unit = (
        np.abs(squared_lengths - 1.0) > UNIT_SLACK / 2
    )  # candidates; the kernel leaves unit vectors unchanged bit for bit
    if not is_not_unit.any():
        return
    unit_vectors = np.array(vectors[is_not_unit], order="C")
    if kernels.unit_rows.scale_rows_to_unit(unit_vectors) >= 0:
        raise InputError(message)
    vectors[is_not_unit] = unit_vectors
