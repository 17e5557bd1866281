"""Euler angles and quaternions. There are six intrinsic orders of three different axes, as in motion files.

An order reads as a product of matrices: "ZXY" with angles (a, b, c) is Rz(a) Rx(b) Ry(c): a rotation about z, then
about the rotated x, then about the twice rotated y. Angles [rad] have any leading axes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError, quote_value
from poise.maths.arrays import Floats, check_finite

ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
_GIMBAL_LOCK_COSINE = 1e-12  # gimbal lock: smaller cosines of the middle angle are zero to rounding


def to_quaternion(angles: ArrayLike, order: str) -> Floats:
    """Convert Euler angles to quaternions w x y z (..., 4).

    Angles [rad] are (..., 3), the order is a text such as "ZXY".

    The product of the three half-angle quaternions, written out. An unknown order or angles that are not
    finite are an InputError.
    """
    i, j, k, sign = parse_order(order)
    half_angles = 0.5 * check_finite(angles, "Euler angles", last_axis_length=3)
    (ca, cb, cc), (sa, sb, sc) = np.moveaxis(np.cos(half_angles), -1, 0), np.moveaxis(np.sin(half_angles), -1, 0)
    cacb, sasb, sacb, casb = ca * cb, sa * sb, sa * cb, ca * sb
    q = np.empty((*half_angles.shape[:-1], 4))
    q[..., 0] = cacb * cc - sign * sasb * sc
    q[..., 1 + i] = sacb * cc + sign * casb * sc
    q[..., 1 + j] = casb * cc - sign * sacb * sc
    q[..., 1 + k] = cacb * sc + sign * sasb * cc
    return q


def from_quaternion(q: ArrayLike, order: str) -> Floats:
    """Convert unit quaternions to Euler angles [rad] (..., 3).

    Quaternions are w x y z (..., 4); the middle angle is in -pi/2..pi/2.

    With half sums and differences of the outer angles: (w + y', x + z') = (cos b/2 + sin b/2)(cos, sin)((a + c)/2)
    and (w - y', x - z') = (cos b/2 - sin b/2)(cos, sin)((a - c)/2), where x y z are the components along the
    order's axes. No precision is lost for any angle. With the middle angle at a quarter turn (gimbal lock) only a + c
    or a - c is defined; c is 0 there, and the rotation is the same.
    """
    i, j, k, sign = parse_order(order)
    w, *xyz = np.moveaxis(check_finite(q, "a quaternion", last_axis_length=4), -1, 0)
    x, y, z = xyz[i], sign * xyz[j], xyz[k]
    sum_length, difference_length = np.hypot(w + y, x + z), np.hypot(w - y, x - z)
    middle = 2.0 * np.arctan2(sum_length, difference_length) - 0.5 * np.pi
    outer_sum, outer_difference = np.arctan2(x + z, w + y), np.arctan2(x - z, w - y)
    total_length = np.hypot(sum_length, difference_length)
    outer_difference = np.where(difference_length <= _GIMBAL_LOCK_COSINE * total_length, outer_sum, outer_difference)
    outer_sum = np.where(sum_length <= _GIMBAL_LOCK_COSINE * total_length, outer_difference, outer_sum)
    return np.stack(
        [wrap_angles(outer_sum + outer_difference), sign * middle, wrap_angles(outer_sum - outer_difference)], axis=-1
    )


def wrap_angles(angle: ArrayLike) -> Floats:
    """Wrap angles [rad] to -pi..pi."""
    angle = np.asarray(angle, dtype=np.float64)
    return angle - 2.0 * np.pi * np.round(angle / (2.0 * np.pi))


def find_nearest_angles(angles: Floats, reference: Floats) -> Floats:
    """Find equivalent angles nearest to reference angles. Both are (..., 3) [rad], in any order.

    Every rotation has two triples modulo turns, (a, b, c) and (a + pi, pi - b, c + pi).
    """
    candidates = np.stack([angles, compute_alternative(angles)])
    candidates = reference + wrap_angles(candidates - reference)
    distance = np.abs(candidates - reference).sum(axis=-1)
    return np.where((distance[1] < distance[0])[..., None], candidates[1], candidates[0])


def unwrap_angles(angles: Floats) -> Floats:
    """Unwrap Euler angles over time.

    The rotations (frames, ..., 3) [rad] stay the same, without jumps from frame to frame.

    Each frame uses the triple nearest to that of the previous frame; the first frame stays.
    """
    if len(angles) < 2:  # noqa: PLR2004  (nothing to go on from)
        return angles
    candidates = np.stack([angles, compute_alternative(angles)], axis=1)  # (frames, 2, ..., 3)
    angle_steps = wrap_angles(candidates[1:, :, None] - candidates[:-1, None])  # (frames - 1, to, from, ..., 3)
    next_choice = (
        np.abs(angle_steps).sum(axis=-1).argmin(axis=1)
    )  # (frames - 1, from, ...): next triple after either one
    chosen_index = np.zeros(angles.shape[:-1], dtype=np.int64)
    for frame, (from_first, from_second) in enumerate(zip(next_choice[:, 0], next_choice[:, 1], strict=True), start=1):
        chosen_index[frame] = np.where(chosen_index[frame - 1] == 0, from_first, from_second)
    chosen_angles = np.where((chosen_index == 0)[..., None], candidates[:, 0], candidates[:, 1])
    return np.unwrap(chosen_angles, axis=0)


def compute_alternative(angles: Floats) -> Floats:
    """Return the alternative angles of the same rotation. In the same order: (a + pi, pi - b, c + pi)."""
    return np.array([0.0, np.pi, 0.0]) + np.array([1.0, -1.0, 1.0]) * angles + np.array([np.pi, 0.0, np.pi])


def parse_order(order: str) -> tuple[int, int, int, float]:
    """Parse a rotation order.

    Returns the indices of the three axes, and +1 where they follow each other cyclically, else -1.
    """
    if not isinstance(order, str) or order not in ORDERS:  # pyright: ignore[reportUnnecessaryIsInstance]
        message = f"unknown rotation order {quote_value(order)}; known: {', '.join(ORDERS)}"
        raise InputError(message)
    i, j, k = ("XYZ".index(letter) for letter in order)
    return i, j, k, 1.0 if (j - i) % 3 == 1 else -1.0
