# pyright: standard
"""Conversion of rotation matrices to quaternions."""

from __future__ import annotations

import math

from poise.kernels.codes import UNIT_SLACK
from poise.kernels.compiled import inline, kernel, part, strict
from poise.kernels.values.linear import Quat, conjugate, normalise

ORTHOGONAL = 1e-6  # largest error of a product of rows from 0 or 1


@part
def quaternion_of(t, n):
    """Convert a matrix to a quaternion and check its orthogonality.

    The matrix is row-major in rows of length n; the second result is whether it is a rotation.

    Of the four formulas it uses the one with the largest divisor (Shepperd, J. Guidance and Control 1(3), 1978).
    """
    a, b, c = t[0], t[1], t[2]
    d, e, f = t[n], t[n + 1], t[n + 2]
    g, h, i = t[2 * n], t[2 * n + 1], t[2 * n + 2]
    # Rows one and two must be orthonormal and row three their cross product, which excludes mirrors.
    off = max(abs(a * a + b * b + c * c - 1.0), abs(d * d + e * e + f * f - 1.0), abs(a * d + b * e + c * f))
    off = max(off, abs(b * f - c * e - g), abs(c * d - a * f - h), abs(a * e - b * d - i))
    trace = a + e + i
    if trace > 0.0:
        s = math.sqrt(trace + 1.0)
        k = 0.5 / s
        q = Quat(0.5 * s, (h - f) * k, (c - g) * k, (d - b) * k)
    elif a >= e and a >= i:
        s = math.sqrt(1.0 + a - e - i)
        k = 0.5 / s
        q = Quat((h - f) * k, 0.5 * s, (b + d) * k, (c + g) * k)
    elif e >= i:
        s = math.sqrt(1.0 - a + e - i)
        k = 0.5 / s
        q = Quat((c - g) * k, (b + d) * k, 0.5 * s, (f + h) * k)
    else:
        s = math.sqrt(1.0 - a - e + i)
        k = 0.5 / s
        q = Quat((d - b) * k, (c + g) * k, (f + h) * k, 0.5 * s)
    return q, off <= ORTHOGONAL


@strict
def scale_to_unit(row, at, n):
    """Scale n numbers of a row from `at` on to unit length.

    Numbers of unit length to rounding are kept; return False for zero length.
    """
    square, largest = 0.0, 0.0
    for i in range(at, at + n):
        square += row[i] * row[i]
        largest = max(largest, abs(row[i]))
    if abs(square - 1.0) <= UNIT_SLACK:
        return True
    if not largest > 0.0:
        return False
    square = 0.0
    for i in range(at, at + n):
        row[i] /= largest  # first, so squares of huge or tiny numbers stay representable
        square += row[i] * row[i]
    root = math.sqrt(square)
    for i in range(at, at + n):
        row[i] /= root
    return True


@kernel
def scale_rows(rows):
    """Scale rows (k, n) to length one. Returns the first row of zero length, or -1."""
    for k in range(rows.shape[0]):
        if not scale_to_unit(rows[k], 0, rows.shape[1]):
            return k
    return -1


@inline
def turn_into(base):
    """Return the rotation from world into a base (12,), without scale. The base is stored as world transforms are."""
    turn, _ = quaternion_of(base, 4)
    return conjugate(normalise(turn))


@kernel
def quaternions(matrices, out):
    """Convert matrices (k, 9) to quaternions (k, 4) with w >= 0.

    Rigid transforms (k, 12|16) give (k, 7), the position first.

    Returns the first matrix other than a rotation, or -1. One kernel serves one and many, so the bits are equal.
    """
    size, at = matrices.shape[1], out.shape[1] - 4
    n = 3 if size == 9 else 4
    for k in range(matrices.shape[0]):
        q, is_rotation = quaternion_of(matrices[k], n)
        if size == 16:
            last = matrices[k, 12:]
            is_rotation = is_rotation and last[0] == 0.0 and last[1] == 0.0 and last[2] == 0.0 and last[3] == 1.0
        if not is_rotation:
            return k
        q = normalise(q)
        sign = -1.0 if q.w < 0.0 else 1.0
        out[k, at], out[k, at + 1], out[k, at + 2], out[k, at + 3] = sign * q.w, sign * q.x, sign * q.y, sign * q.z
        for i in range(at):
            out[k, i] = matrices[k, i * n + 3]
    return -1
