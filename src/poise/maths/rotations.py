"""Rotations as arrays of unit quaternions w x y z. Arrays have any leading axes; rotation matrices are checked.

`q` and `-q` are the same rotation. Products compose like matrices: `multiply(a, b)` rotates by b first.
Kernels implement the same for single rotations (kernels/vec_quat.py); tests compare both.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.errors import InputError
from poise.kernels.entries import find_native_kernel
from poise.kernels.thresholds import OPPOSITE_SQUARED_LENGTH
from poise.maths.arrays import Floats, broadcast_together, check_finite
from poise.maths.vectors import apply_to_rows, cross, find_largest_part, sum_squares

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
IDENTITY.setflags(write=False)
_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])
_UNIT_TOLERANCE = 1e-14  # ten times the rounding error of a normalised squared length
_SMALL_ANGLE_RAD = 1e-9  # [rad] below, slerp weights equal linear ones to rounding


_UNIFORM_TOLERANCE = 1e-12  # relative difference of equal lengths


def normalise(q: ArrayLike) -> Floats:
    """Scale quaternions (..., 4) to unit length.

    Parameters
    ----------
    q
        (..., 4) quaternions w x y z of any length but zero.

    Raises
    ------
    InputError
        For a quaternion of zero length, and for numbers that are not finite.
    """
    message = "a quaternion of zero length is no rotation; the identity is (1, 0, 0, 0)"
    return scale_to_unit(check_finite(q, "a quaternion", last_axis_length=4), message)


def scale_to_unit(v: Floats, message: str) -> Floats:
    """Scale finite vectors (..., n) to unit length. InputError with `message` for one of zero length."""
    max_component = find_largest_part(v)
    if (max_component == 0.0).any():
        raise InputError(message)
    scaled = v / max_component  # first, so that squares of huge or tiny numbers stay representable
    return scaled / np.sqrt(sum_squares(scaled))


def is_off_unit(v: Floats) -> NDArray[np.bool_]:
    """Find vectors (..., n) without unit length. Returns (..., 1) where they differ by more than rounding."""
    with np.errstate(over="ignore", under="ignore"):
        return np.abs(sum_squares(v) - 1.0) > _UNIT_TOLERANCE


def unit(q: Floats) -> Floats:
    """Scale quaternions (..., 4) to unit length. Those of unit length to rounding stay bit for bit.

    Zero length is an InputError, never a NaN.
    """
    is_off = is_off_unit(q)
    if not is_off.any():
        return q
    return np.where(is_off, normalise(np.where(is_off, q, IDENTITY)), q)


def multiply(a: Floats, b: Floats) -> Floats:
    """Compose two rotations (..., 4). The result rotates by b, then by a."""
    if a.ndim == 1 and b.ndim == 1:  # Python floats: the same bits in a fifth of the time
        (aw, ax, ay, az), (bw, bx, by, bz) = a.tolist(), b.tolist()
        return np.array(
            [
                aw * bw - ax * bx - ay * by - az * bz,
                aw * bx + ax * bw + ay * bz - az * by,
                aw * by + ay * bw + az * bx - ax * bz,
                aw * bz + az * bw + ax * by - ay * bx,
            ]
        )
    result = apply_to_rows("vector_rows.multiply_rows", a, b, (4, 4, 4))
    if result is not None:
        return result
    aw, ax, ay, az = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bw, bx, by, bz = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    w = aw * bw - ax * bx - ay * by - az * bz
    result = np.empty((*w.shape, 4), w.dtype)  # np.stack takes half as long again
    result[..., 0] = w
    result[..., 1] = aw * bx + ax * bw + ay * bz - az * by
    result[..., 2] = aw * by + ay * bw + az * bx - ax * bz
    result[..., 3] = aw * bz + az * bw + ax * by - ay * bx
    return result


def inverse(q: Floats) -> Floats:
    """Invert unit quaternions (..., 4). The vector part is negated."""
    return q * _CONJUGATE


def rotate(q: Floats, v: Floats) -> Floats:
    """Rotate vectors (..., 3) by unit quaternions (..., 4). Uses v + 2 w (u x v) + 2 u x (u x v)."""
    if q.ndim == 1 and v.ndim == 1:  # Python floats, as in `multiply`
        (w, x, y, z), (a, b, c) = q.tolist(), v.tolist()
        s, t, u = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
        return np.array([a + w * s + (y * u - z * t), b + w * t + (z * s - x * u), c + w * u + (x * t - y * s)])
    result = apply_to_rows("vector_rows.rotate_rows", q, v, (4, 3, 3))
    if result is not None:
        return result
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    a, b, c = v[..., 0], v[..., 1], v[..., 2]
    s, t, u = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)  # np.cross takes twice as long
    first = a + w * s + (y * u - z * t)
    result = np.empty((*first.shape, 3), first.dtype)
    result[..., 0] = first
    result[..., 1] = b + w * t + (z * s - x * u)
    result[..., 2] = c + w * u + (x * t - y * s)
    return result


def about(axis: Floats, angle: ArrayLike) -> Floats:
    """Make rotations by `angle` [rad] about unit axes. With axes (..., 3): (cos a/2, sin a/2 axis)."""
    half = 0.5 * np.asarray(angle, dtype=np.float64)[..., None]
    return _join_parts(np.cos(half), np.sin(half) * axis)


def _join_parts(w: Floats, v: Floats) -> Floats:
    result = np.empty((*np.broadcast(w[..., 0], v[..., 0]).shape, 4), w.dtype)  # 8 times as fast as np.concatenate
    result[..., :1], result[..., 1:] = w, v
    return result


def rotation_between(a: ArrayLike, b: ArrayLike) -> Floats:
    """Find the shortest rotation between two directions.

    Parameters
    ----------
    a, b
        Directions (..., 3). Their lengths do not matter, however tiny or huge.

    Returns
    -------
    Floats
        (..., 4) quaternions w x y z rotating a onto b. Parallel directions: the identity. Opposite ones: half a turn
        about an axis perpendicular to a (there is no shortest one; the choice depends on a only). A zero vector has no
        direction: the identity.

    Raises
    ------
    InputError
        For numbers that are not finite, and for leading axes that do not go together.

    Notes
    -----
    With unit vectors and m = a + b, the quaternion is `(m . m / 2, a x m)`, normalised. The half vector gives half the
    angle without trigonometry and without loss of precision near half a turn.
    """
    a, b = broadcast_together(
        check_finite(a, "the first vector", last_axis_length=3),
        check_finite(b, "the second vector", last_axis_length=3),
    )
    if a.ndim == 1:
        return _find_shortest(a, b)
    find_between = find_native_kernel("vector_rows.find_rotations_between")
    if find_between is not None:
        turns = np.empty((*a.shape[:-1], 4))
        rows = np.ascontiguousarray(a).reshape(-1, 3), np.ascontiguousarray(b).reshape(-1, 3)
        if find_between(*rows, turns.reshape(-1, 4)):
            return turns
    a, a_is_zero = _normalise_nonzero(a)
    b, b_is_zero = _normalise_nonzero(b)
    m = a + b
    squared_length = sum_squares(m)
    q = np.concatenate([0.5 * squared_length, cross(a, m)], axis=-1)
    is_opposite, is_zero = squared_length < OPPOSITE_SQUARED_LENGTH, a_is_zero | b_is_zero
    if is_opposite.any():
        half_turn = np.concatenate([np.zeros_like(squared_length), _find_perpendicular(a)], axis=-1)
        q = np.where(is_opposite, half_turn, q)
    return scale_to_unit(np.where(is_zero, IDENTITY, q) if is_zero.any() else q, "no direction")


def _find_shortest(a: Floats, b: Floats) -> Floats:
    """Find the shortest rotation between two vectors (3,). The same bits as of many, in a tenth of the time."""
    if not a.any() or not b.any():
        return IDENTITY.copy()
    (ax, ay, az), (bx, by, bz) = _scale_to_one(a.tolist()), _scale_to_one(b.tolist())
    x, y, z = ax + bx, ay + by, az + bz
    squared_length = x * x + y * y + z * z
    if squared_length < OPPOSITE_SQUARED_LENGTH:
        return np.array(_scale_to_one([0.0, *_find_perpendicular(np.array([ax, ay, az])).tolist()]))
    return np.array(_scale_to_one([0.5 * squared_length, ay * z - az * y, az * x - ax * z, ax * y - ay * x]))


def _scale_to_one(v: list[float]) -> list[float]:
    """Scale a vector to unit length. It is not zero."""
    largest = max(map(abs, v))
    scaled = [number / largest for number in v]
    squared_length = 0.0
    for number in scaled:
        squared_length += number * number
    length = math.sqrt(squared_length)
    return [number / length for number in scaled]


def _normalise_nonzero(v: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Normalise vectors v (..., 3). Also returns (..., 1) where v is zero; the first axis is returned there."""
    parts = np.abs(v)
    max_component = np.maximum(np.maximum(parts[..., :1], parts[..., 1:2]), parts[..., 2:])
    is_zero = max_component == 0.0
    if is_zero.any():
        v = np.where(is_zero, [1.0, 0.0, 0.0], v / np.where(is_zero, 1.0, max_component))
    else:
        v = v / max_component
    squares = v * v
    return v / np.sqrt(squares[..., :1] + squares[..., 1:2] + squares[..., 2:]), is_zero


def _find_perpendicular(v: Floats) -> Floats:
    """Find a unit vector perpendicular to each unit v (..., 3). It is v x the axis with v's smallest component."""
    axis = np.eye(3)[np.abs(v).argmin(axis=-1)]
    return _normalise_nonzero(cross(v, axis))[0]


def as_matrix(q: Floats) -> Floats:
    """Make rotation matrices (..., 3, 3) of unit quaternions. Columns are the rotated axes."""
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    matrices = np.empty((*w.shape, 3, 3), w.dtype)  # np.stack takes twice as long
    matrices[..., 0, 0], matrices[..., 0, 1] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z)
    matrices[..., 0, 2], matrices[..., 1, 0] = 2 * (x * z + w * y), 2 * (x * y + w * z)
    matrices[..., 1, 1], matrices[..., 1, 2] = 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    matrices[..., 2, 0], matrices[..., 2, 1] = 2 * (x * z - w * y), 2 * (y * z + w * x)
    matrices[..., 2, 2] = 1 - 2 * (x * x + y * y)
    return matrices


def from_matrix(m: Floats) -> Floats:
    """Make unit quaternions of rotation matrices (..., 3, 3). The result is (..., 4), w >= 0.

    Of the four formulas the one dividing by the largest component is used (Shepperd, J. Guidance and Control 1(3),
    1978).
    """
    diagonal = np.diagonal(m, axis1=-2, axis2=-1)
    trace = diagonal.sum(axis=-1)
    squares = np.empty((*trace.shape, 4))  # 4 w^2 - 1, 4 x^2 - 1, ...
    squares[..., 0], squares[..., 1:] = trace, 2 * diagonal - trace[..., None]
    candidates = np.empty((*trace.shape, 4, 4))  # a row for each formula; np.stack takes twice as long
    for i, (j, k) in enumerate(((2, 1), (0, 2), (1, 0)), 1):
        candidates[..., 0, i] = candidates[..., i, 0] = m[..., j, k] - m[..., k, j]
    for i, j in ((0, 1), (1, 2), (2, 0)):
        candidates[..., i + 1, j + 1] = candidates[..., j + 1, i + 1] = m[..., i, j] + m[..., j, i]
    for i in range(4):
        candidates[..., i, i] = 1 + squares[..., i]
    largest_indices = squares.argmax(axis=-1).ravel()
    chosen = candidates.reshape(-1, 4, 4)[np.arange(len(largest_indices)), largest_indices]
    q = normalise(chosen.reshape(*trace.shape, 4))
    return np.where(q[..., :1] < 0, -q, q)


def slerp(a: Floats, b: Floats, t: ArrayLike) -> Floats:
    """Interpolate rotations a to b (..., 4) by fractions (...). It follows the shorter arc, at constant speed.

    sin((1-t) h) a + sin(t h) b, over sin h, with h the angle between the two quaternions, computed from chord lengths
    to be exact near 0; equal ends return that end (Shoemake, SIGGRAPH 1985).
    """
    t = np.asarray(t, dtype=np.float64)[..., None]
    b = np.where((a * b).sum(axis=-1, keepdims=True) < 0, -b, b)
    chord, sum_ = a - b, a + b
    h = 2 * np.arctan2(np.sqrt(sum_squares(chord)), np.sqrt(sum_squares(sum_)))
    is_small = h < _SMALL_ANGLE_RAD
    divisor = np.where(is_small, 1.0, np.sin(h))
    weight_a = np.where(is_small, 1 - t, np.sin((1 - t) * h) / divisor)
    weight_b = np.where(is_small, t, np.sin(t * h) / divisor)
    return normalise(weight_a * a + weight_b * b)


def slerp_components(a: Floats, b: Floats, t: Floats) -> Floats:
    """Interpolate rotations as `slerp` does, with components first.

    a and b are (4, ...), t (...). Numbers equal those of `slerp` bit for bit; many rotations take a third of its time,
    because sums run over whole arrays.
    """
    b = np.where(_sum_components(a * b) < 0, -b, b)
    if ((t == 0.0) | (t == 1.0)).all():  # as at the keys of a clip: there the weights below are exactly 0 and 1
        return normalise_components((1.0 - t) * a + t * b)
    chord, sum_ = a - b, a + b
    h = 2 * np.arctan2(np.sqrt(_sum_components(chord * chord)), np.sqrt(_sum_components(sum_ * sum_)))
    is_small = h < _SMALL_ANGLE_RAD
    divisor = np.where(is_small, 1.0, np.sin(h))
    weight_a = np.where(is_small, 1 - t, np.sin((1 - t) * h) / divisor)
    weight_b = np.where(is_small, t, np.sin(t * h) / divisor)
    return normalise_components(weight_a * a + weight_b * b)


def normalise_components(q: Floats) -> Floats:
    """Scale quaternions (4, ...) to unit length, components first."""
    max_component = np.abs(q).max(axis=0)
    if not (np.isfinite(max_component) & (max_component > 0.0)).all():
        return np.moveaxis(normalise(np.moveaxis(q, 0, -1)), -1, 0)  # raises its error
    scaled = q / max_component
    return scaled / np.sqrt(_sum_components(scaled * scaled))


def _sum_components(v: Floats) -> Floats:
    """Sum the components of (4, ...). The order is that of NumPy for a last axis of four."""
    return v[0] + v[1] + v[2] + v[3]


def as_vector(q: Floats) -> Floats:
    """Make rotation vectors (..., 3) of unit quaternions (..., 4).

    They are axis times angle of the shorter arc, at most pi long.
    """
    q = np.where(q[..., :1] < 0, -q, q)
    sine = np.sqrt(sum_squares(q[..., 1:]))
    angle = 2.0 * np.arctan2(sine, q[..., :1])
    return q[..., 1:] * np.where(sine > _SMALL_ANGLE_RAD, angle / np.maximum(sine, _SMALL_ANGLE_RAD), 2.0)


def from_vector(v: Floats) -> Floats:
    """Make unit quaternions (..., 4) of rotation vectors (..., 3).

    cos |v|/2, and v/|v| sin |v|/2; zero is the identity.
    """
    angle = np.sqrt(sum_squares(v))
    half = 0.5 * angle
    factor = np.where(angle > _SMALL_ANGLE_RAD, np.sin(half) / np.maximum(angle, _SMALL_ANGLE_RAD), 0.5)
    return _join_parts(np.cos(half), factor * v)


def twist_angle(q: Floats, axis: Floats) -> Floats:
    """Compute twist angles [rad] about unit axes. In (-pi, pi], of q (..., 4) about `axis` (..., 3).

    2 atan2(v.axis, w), of the rotation about the axis nearest to q. At half a turn about a perpendicular axis every
    twist is equally near; 0 is returned.
    """
    axis_component = (q[..., 1:] * axis).sum(axis=-1)
    angle = 2 * np.arctan2(axis_component, q[..., 0])
    return np.where(angle > np.pi, angle - 2 * np.pi, np.where(angle <= -np.pi, angle + 2 * np.pi, angle))


def rotation_part(linear: Floats) -> Floats:
    """Find the rotations nearest to linear maps. They are proper, (..., 3, 3); a mirrored map is negated first.

    Similar maps (uniform scale) are divided by their scale; others go through the polar decomposition.
    A map of rank below 2 has no rotation: the identity is returned.
    """
    determinant = np.linalg.det(linear)
    proper_maps = linear * np.where(determinant < 0, -1.0, 1.0)[..., None, None]
    column_lengths = np.sqrt((proper_maps**2).sum(axis=-2))
    max_length = column_lengths.max(axis=-1)
    is_uniform = (max_length > 0) & (np.ptp(column_lengths, axis=-1) <= _UNIFORM_TOLERANCE * max_length)
    is_uniform &= np.abs(np.abs(determinant) - max_length**3) <= _UNIFORM_TOLERANCE * max_length**3
    result = proper_maps / np.where(max_length > 0, max_length, 1.0)[..., None, None]
    if not is_uniform.all():
        u, s, vt = np.linalg.svd(result[~is_uniform])
        handedness = np.sign(np.linalg.det(u @ vt))
        u[..., 2] *= handedness[..., None]
        is_rank_one = s[..., 1] <= 1e-12 * np.maximum(s[..., 0], 1e-300)
        result[~is_uniform] = np.where(is_rank_one[..., None, None], np.eye(3), u @ vt)
    return result


# --- Check matrices of rotations and of rigid transforms -------------------------------------------------------------


_ORTHOGONALITY_TOLERANCE = 1e-6  # largest error of a dot product of two columns of a rotation matrix
_LAST_ROW_TOLERANCE = 1e-9  # largest error of the last row of a 4 x 4 matrix


def split_transforms(matrices: ArrayLike, label: str) -> tuple[Floats, Floats]:
    """Split rigid transforms into positions (..., 3) and linear parts.

    Transforms are (..., 4, 4) or (..., 3, 4). The linear parts are not checked.

    Raises
    ------
    InputError
        For another shape, numbers that are not finite, or a last row of a 4 x 4 that is not 0 0 0 1 within 1e-9.
    """
    transforms = check_finite(matrices, label)
    if transforms.shape[-2:] not in {(3, 4), (4, 4)}:
        message = f"{label} needs a 4 x 4 or 3 x 4 matrix; its shape is {transforms.shape}"
        raise InputError(message)
    is_wrong = np.abs(transforms[..., 3:, :] - (0.0, 0.0, 0.0, 1.0)).max(axis=-1, initial=0.0) > _LAST_ROW_TOLERANCE
    if is_wrong.any():
        row = " ".join(f"{number:.12g}" for number in transforms[..., 3:, :][is_wrong][0])
        message = f"{label} needs 0 0 0 1 as the last row of its matrix, not {row}; matrices act on column vectors"
        raise InputError(message)
    return transforms[..., :3, 3], transforms[..., :3, :3]


def check_rotation_matrices(matrices: Floats, label: str) -> None:
    """Refuse matrices (..., 3, 3) other than rotations. These are orthogonal within 1e-6, and not mirrored."""
    with np.errstate(over="ignore", invalid="ignore"):  # huge numbers: the gap is then infinite or NaN
        errors = np.abs(np.swapaxes(matrices, -1, -2) @ matrices - np.eye(3)).max(axis=(-2, -1), initial=0.0)
    if not (errors <= _ORTHOGONALITY_TOLERANCE).all():
        message = (
            f"{label} is no rotation matrix: it is not orthogonal, M^T M differs from the identity by "
            f"{errors.max():.3g}; scale and shear must be taken out first"
        )
        raise InputError(message)
    if (np.linalg.det(matrices) < 0.0).any():
        message = f"{label} is no rotation matrix: it is mirrored, its determinant is -1"
        raise InputError(message)
