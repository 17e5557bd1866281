"""Parse target values into arrays of known shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise import kernels
from poise.errors import InputError
from poise.kernels.codes import UNIT_SLACK
from poise.maths import rotations
from poise.maths.arrays import Floats, finite, for_kernel
from poise.maths.matrices import check_proper

FARTHEST = 1e100  # [file units] largest coordinate; squares stay finite
_NO_ROTATION = "has zero length; the identity is (1, 0, 0, 0)"


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
    if type(value) is np.ndarray and value.dtype == np.float64 and value.shape[-1:] == (3,):
        usual: Floats = value.astype(np.float64, order="C")
        if np.abs(usual).max(initial=0.0) <= FARTHEST:  # False for NaN
            return usual
    given = _point_numbers(value if planar else finite(value, what, last=3), what)
    result = np.zeros((*given.shape[:-1], 3))
    result[..., : given.shape[-1]] = given
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
    result = finite(value, what, last=3).copy()
    _scale_to_unit(result, f"{what} has zero length, so no direction")
    return result


def quaternions(value: ArrayLike, what: str) -> Floats:
    """Parse quaternions or rotation matrices into unit quaternions (..., 4).

    Quaternions may have any length but zero; matrices are (..., 3, 3).

    Quaternions of unit length to rounding stay bit for bit, sign included. A matrix M must be a proper rotation:
    |M^T M - 1| <= 1e-6 in every number and det M > 0; its quaternion has w >= 0.
    InputError: another shape, not finite, zero length, not orthogonal, mirrored.
    """
    result = _rotation_numbers(value, what).copy()
    _scale_to_unit(result, f"{what} {_NO_ROTATION}")
    return result


def places(position: ArrayLike, rotation: ArrayLike, joint: str) -> Floats:
    """Parse positions and rotations into rows (..., 7).

    A row is x y z w x y z. Both parts are read as by `points` and `parse_quaternions`, with the same InputErrors.

    Leading axes are broadcast against each other; InputError where they do not go together.
    """
    there = _point_numbers(position, f"the position of {joint!r}")
    turned = _rotation_numbers(rotation, f"the rotation of {joint!r}")
    batches = there.shape[:-1], turned.shape[:-1]
    try:
        shape = np.broadcast_shapes(*batches)
    except ValueError as error:
        message = (
            f"the position of {joint!r} has the batch shape {batches[0]}, which does not go with its "
            f"rotation's, {batches[1]}"
        )
        raise InputError(message) from error
    rows = np.zeros((*shape, 7))  # the only new array; both parts are normalized in place
    rows[..., : there.shape[-1]] = there
    rows[..., 3:] = turned
    _scale_to_unit(rows[..., 3:], f"the rotation of {joint!r} {_NO_ROTATION}")
    return rows


def _point_numbers(value: ArrayLike, what: str) -> Floats:
    """Check points (..., 3) or (..., 2). May return the caller's own array."""
    given = finite(value, what)
    if given.shape[-1:] not in {(2,), (3,)}:
        message = f"{what} needs 3 numbers (or 2 in the plane); its shape is {given.shape}"
        raise InputError(message)
    if max(given.max(initial=0.0), -given.min(initial=0.0)) > FARTHEST:
        message = f"{what} lies beyond {FARTHEST:g}, the largest length allowed"
        raise InputError(message)
    return given


def _rotation_numbers(value: ArrayLike, what: str) -> Floats:
    """Check rotations and return quaternions (..., 4) of any length. May return the caller's own array."""
    given = finite(value, what)
    if given.shape[-2:] == (3, 3):
        return _of_matrices(given, what)
    if given.shape[-1:] != (4,):
        message = f"{what} needs 4 numbers w x y z or a 3 x 3 matrix; its shape is {given.shape}"
        raise InputError(message)
    return given


def _of_matrices(matrices: Floats, what: str) -> Floats:
    result = np.empty((*matrices.shape[:-2], 4))
    rows = for_kernel(matrices.reshape(-1, 9))
    if kernels.values.turns.quaternions(rows, result.reshape(-1, 4)) >= 0:
        check_proper(matrices, what)  # raises with the reason
        return rotations.from_matrix(matrices)  # within tolerance after all
    return result


def _scale_to_unit(vectors: Floats, zero: str) -> None:
    """Normalize vectors (..., n) in place. Raises InputError with `message` for a vector of length zero."""
    squares: Any = np.einsum("...i,...i->...", vectors, vectors)  # no temporary; infinite or 0 for extreme vectors
    off = np.abs(squares - 1.0) > UNIT_SLACK / 2  # candidates; the kernel leaves unit vectors unchanged bit for bit
    if not off.any():
        return
    rest = np.array(vectors[off], order="C")
    if kernels.values.turns.scale_rows(rest) >= 0:
        raise InputError(zero)
    vectors[off] = rest
