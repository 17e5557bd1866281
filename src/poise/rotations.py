"""Rotations as unit quaternions w x y z, arguments checked. Arrays have any leading axes.

`q` and `-q` are the same rotation. Products compose like matrices: `multiply(a, b)` rotates by b first.

Arguments are lists or arrays of finite numbers; leading axes are broadcast against each other. Quaternions and axes may
have any length but zero: they are scaled to unit length, except those of unit length to rounding. Anything else is an
`InputError`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.calls.old_names import make_alias
from poise.errors import InputError
from poise.maths import rotations
from poise.maths.arrays import Floats, broadcast_together, check_finite
from poise.maths.rotations import IDENTITY, check_rotation_matrices, normalise, rotation_between, split_transforms

__all__ = [
    "IDENTITY",
    "about",
    "as_matrix",
    "as_vector",
    "from_matrix",
    "from_vector",
    "inverse",
    "multiply",
    "normalise",
    "rotate",
    "rotation_between",
    "rotation_part",
    "slerp",
    "twist_angle",
    "unit",
]

_MAX_COORDINATE = 1e100  # no length and no angle is meant beyond this, and squares stay finite

normalised: Callable[..., Any] = make_alias("poise.rotations.normalised", normalise)


def unit(q: ArrayLike) -> Floats:
    """Scale quaternions (..., 4) to unit length. Those of unit length to rounding stay bit for bit.

    Parameters
    ----------
    q
        (..., 4) quaternions w x y z of any length but zero.

    Raises
    ------
    InputError
        For a quaternion of zero length.
    """
    return _check_quaternions(q).copy()


def multiply(a: ArrayLike, b: ArrayLike) -> Floats:
    """Compose two rotations (..., 4). The result rotates by b, then by a.

    Parameters
    ----------
    a, b
        (..., 4) quaternions w x y z of any length but zero.

    Raises
    ------
    InputError
        For a quaternion of zero length, and for leading axes that do not go together.
    """
    return rotations.multiply(*broadcast_together(_check_quaternions(a), _check_quaternions(b)))


def inverse(q: ArrayLike) -> Floats:
    """Invert rotations (..., 4): negate the vector part.

    Parameters
    ----------
    q
        (..., 4) quaternions w x y z of any length but zero.
    """
    return rotations.inverse(_check_quaternions(q))


def rotate(q: ArrayLike, v: ArrayLike) -> Floats:
    """Rotate vectors (..., 3) by rotations (..., 4).

    Parameters
    ----------
    q
        (..., 4) quaternions w x y z of any length but zero.
    v
        (..., 3) vectors.

    Raises
    ------
    InputError
        For a quaternion of zero length, a coordinate beyond 1e100, and for leading axes that do not go together.
    """
    return rotations.rotate(*broadcast_together(_check_quaternions(q), _check_vectors(v, "a vector")))


def about(axis: ArrayLike, angle: ArrayLike) -> Floats:
    """Make rotations (..., 4) about axes (..., 3). Angles (...) are in [rad].

    Parameters
    ----------
    axis
        (..., 3) axes of any length but zero.
    angle
        (...) angles [rad].

    Raises
    ------
    InputError
        For an axis of zero length, and for leading axes that do not go together.
    """
    axes, angles = broadcast_together(_check_axes(axis), check_finite(angle, "the angle")[..., None])
    return rotations.about(axes, angles[..., 0])


def as_matrix(q: ArrayLike) -> Floats:
    """Make rotation matrices (..., 3, 3) of rotations (..., 4). Columns are the rotated axes.

    Parameters
    ----------
    q
        (..., 4) quaternions w x y z of any length but zero.
    """
    return rotations.as_matrix(_check_quaternions(q))


def from_matrix(m: ArrayLike) -> Floats:
    """Make unit quaternions of rotation matrices. The result is (..., 4), w >= 0.

    Parameters
    ----------
    m
        (..., 3, 3) rotation matrices, or rigid transforms (..., 4, 4) or (..., 3, 4) with such a rotation. They act on
        column vectors.

    Raises
    ------
    InputError
        For another shape, and for matrices other than rotations: not orthogonal within 1e-6, such as one with scale, or
        mirrored. `rotation_part` removes scale and mirroring.
    """
    matrices = check_finite(m, "the matrix")
    if matrices.shape[-2:] in {(3, 4), (4, 4)}:
        matrices = split_transforms(matrices, "the rigid transform")[1]
    if matrices.shape[-2:] != (3, 3):
        message = f"the matrix needs the shape (..., 3, 3), (..., 3, 4) or (..., 4, 4); its shape is {matrices.shape}"
        raise InputError(message)
    check_rotation_matrices(matrices, "the matrix")
    return rotations.from_matrix(matrices)


def slerp(a: ArrayLike, b: ArrayLike, t: ArrayLike) -> Floats:
    """Interpolate rotations a to b (..., 4) by fractions (...).

    It follows the shorter arc at constant speed.

    Parameters
    ----------
    a, b
        (..., 4) quaternions w x y z of any length but zero.
    t
        (...) fractions: 0 is a, 1 is b.

    Raises
    ------
    InputError
        For a quaternion of zero length, and for leading axes that do not go together.
    """
    a, b, t = broadcast_together(
        _check_quaternions(a), _check_quaternions(b), check_finite(t, "the fraction")[..., None]
    )
    return rotations.slerp(a, b, t[..., 0])


def as_vector(q: ArrayLike) -> Floats:
    """Make rotation vectors (..., 3) of rotations (..., 4). They are axis times angle [rad], at most pi long.

    Parameters
    ----------
    q
        (..., 4) quaternions w x y z of any length but zero.
    """
    return rotations.as_vector(_check_quaternions(q))


def from_vector(v: ArrayLike) -> Floats:
    """Make unit quaternions (..., 4) of rotation vectors (..., 3).

    Parameters
    ----------
    v
        (..., 3) axes times angles [rad]; zero is the identity.
    """
    return rotations.from_vector(_check_vectors(v, "a rotation vector"))


def twist_angle(q: ArrayLike, axis: ArrayLike) -> Floats:
    """Find twist angles [rad] of rotations about axes.

    Rotations are (..., 4), axes (..., 3), angles in (-pi, pi]. The twist is the rotation about the axis nearest to q.
    At half a turn about a perpendicular axis every twist is equally near; 0 is returned.

    Parameters
    ----------
    q
        (..., 4) quaternions w x y z of any length but zero.
    axis
        (..., 3) axes of any length but zero.

    Raises
    ------
    InputError
        For a quaternion or an axis of zero length, and for leading axes that do not go together.
    """
    return rotations.twist_angle(*broadcast_together(_check_quaternions(q), _check_axes(axis)))


def rotation_part(linear: ArrayLike) -> Floats:
    """Find the proper rotations (..., 3, 3) nearest to linear maps.

    A mirrored map is negated first. A map of rank below 2 has no rotation: the result is the identity.

    Parameters
    ----------
    linear
        (..., 3, 3) linear maps that act on column vectors.

    Raises
    ------
    InputError
        For another shape, and for numbers beyond 1e100.
    """
    maps = _check_vectors(linear, "a linear map")
    if maps.shape[-2:] != (3, 3):
        message = f"a linear map needs the shape (..., 3, 3); its shape is {maps.shape}"
        raise InputError(message)
    return rotations.rotation_part(maps)


def _check_quaternions(q: ArrayLike) -> Floats:
    """Check unit quaternions (..., 4). The array may be the caller's own."""
    return rotations.unit(check_finite(q, "a quaternion", last_axis_length=4))


def _check_vectors(v: ArrayLike, label: str) -> Floats:
    """Check vectors (..., 3) with finite squares. The array may be the caller's own."""
    vectors = check_finite(v, label, last_axis_length=3)
    if np.abs(vectors).max(initial=0.0) > _MAX_COORDINATE:
        message = f"{label} has a number beyond {_MAX_COORDINATE:g}"
        raise InputError(message)
    return vectors


def _check_axes(axis: ArrayLike) -> Floats:
    """Check axes (..., 3) and scale them to unit length. The array may be the caller's own."""
    axes = check_finite(axis, "an axis", last_axis_length=3)
    scaled = rotations.scale_to_unit(axes, "an axis of zero length has no direction")
    return np.where(rotations.is_off_unit(axes), scaled, axes)
