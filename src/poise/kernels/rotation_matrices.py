# pyright: standard
"""Rotation matrices: conversion to quaternions, nearest rotation of a linear map."""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
from poise.kernels.vec_quat import Quat, Vec, add, conjugate, cross, dot, normalise, scale

ORTHOGONALITY_TOLERANCE = 1e-6  # largest error of a product of rows from 0 or 1


@device_function
def matrix_to_quaternion(matrix, row_length):
    """Convert a matrix to a quaternion and check its orthogonality.

    The matrix is row-major in rows of length `row_length`; the second result is whether it is a rotation.

    Of the four formulas it uses the one with the largest divisor (Shepperd, J. Guidance and Control 1(3), 1978).
    """
    a, b, c = matrix[0], matrix[1], matrix[2]
    d, e, f = matrix[row_length], matrix[row_length + 1], matrix[row_length + 2]
    g, h, i = matrix[2 * row_length], matrix[2 * row_length + 1], matrix[2 * row_length + 2]
    # Rows one and two must be orthonormal and row three their cross product, which excludes mirrors.
    max_error = max(abs(a * a + b * b + c * c - 1.0), abs(d * d + e * e + f * f - 1.0), abs(a * d + b * e + c * f))
    max_error = max(max_error, abs(b * f - c * e - g), abs(c * d - a * f - h), abs(a * e - b * d - i))
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
    return q, max_error <= ORTHOGONALITY_TOLERANCE


@inline
def compute_base_from_world(base_transform):
    """Compute the rotation from world into a base with transform (12,).

    The transform is stored as world transforms are; its scale is left out.
    """
    world_from_base, _ = matrix_to_quaternion(base_transform, 4)
    return conjugate(normalise(world_from_base))


@kernel("F2 wF2 -> i")
def convert_to_quaternions(matrices, out):
    """Convert matrices (k, 9) to quaternions (k, 4) with w >= 0.

    Rigid transforms (k, 12|16) give (k, 7), the position first.

    Returns the first matrix other than a rotation, or -1. One kernel serves one and many, so the bits are equal.
    """
    column_count, q_start = matrices.shape[1], out.shape[1] - 4
    row_length = 3 if column_count == 9 else 4
    for k in range(matrices.shape[0]):
        q, is_rotation = matrix_to_quaternion(matrices[k], row_length)
        if column_count == 16:
            last_row = matrices[k, 12:]
            is_rotation = (
                is_rotation and last_row[0] == 0.0 and last_row[1] == 0.0 and last_row[2] == 0.0 and last_row[3] == 1.0
            )
        if not is_rotation:
            return k
        q = normalise(q)
        sign = -1.0 if q.w < 0.0 else 1.0
        out[k, q_start], out[k, q_start + 1], out[k, q_start + 2], out[k, q_start + 3] = (
            sign * q.w,
            sign * q.x,
            sign * q.y,
            sign * q.z,
        )
        for i in range(q_start):
            out[k, i] = matrices[k, i * row_length + 3]
    return -1


# --- Nearest rotation of a linear map: Newton's polar decomposition --------------------------------------------------
#
# X <- (X + X^-T) / 2 keeps the singular vectors and maps every singular value s to (s + 1/s) / 2, which squares its
# distance from 1. Higham, "Computing the polar decomposition - with applications", SIAM J. Sci. Stat. Comput. 7(4),
# 1986.


MAX_POLAR_STEPS = 8  # most iterations; singular values between 0.5 and 2 take five
POLAR_TOLERANCE = 1e-15  # change of every component below which the iteration ends
SIMILARITY_SLACK = 0.1  # largest relative error of column lengths and volume of a near rotation


@inline
def read_columns(m):
    """Return the columns of an affine map's linear part (12,)."""
    return Vec(m[0], m[4], m[8]), Vec(m[1], m[5], m[9]), Vec(m[2], m[6], m[10])


@device_function
def find_nearest_rotation(affine_map):
    """Find the columns of the rotation nearest to an affine map (12,).

    The map must be nearly a rotation times a factor; also return whether it is.

    The factor may be negative.
    """
    x, y, z = read_columns(affine_map)
    volume = dot(x, cross(y, z))
    column_lengths = math.sqrt(dot(x, x)), math.sqrt(dot(y, y)), math.sqrt(dot(z, z))
    longest, shortest = (
        max(column_lengths[0], column_lengths[1], column_lengths[2]),
        min(column_lengths[0], column_lengths[1], column_lengths[2]),
    )
    cube = longest * longest * longest
    is_similar = (
        longest - shortest <= SIMILARITY_SLACK * longest and abs(abs(volume) - cube) <= 3.0 * SIMILARITY_SLACK * cube
    )
    if not (longest > 0.0 and is_similar):
        return x, y, z, False
    unit_factor = math.copysign(1.0 / longest, volume)
    x, y, z = scale(x, unit_factor), scale(y, unit_factor), scale(z, unit_factor)
    for _ in range(MAX_POLAR_STEPS):
        # The cofactors are the transposed inverse times the volume.
        a, b, c = cross(y, z), cross(z, x), cross(x, y)
        k = 0.5 / dot(x, a)
        u, v, w = add(scale(x, 0.5), scale(a, k)), add(scale(y, 0.5), scale(b, k)), add(scale(z, 0.5), scale(c, k))
        change = max(
            abs(u.x - x.x), abs(u.y - x.y), abs(u.z - x.z), abs(v.x - y.x), abs(v.y - y.y), abs(v.z - y.z),
            abs(w.x - z.x), abs(w.y - z.y), abs(w.z - z.z),
        )  # fmt: skip
        x, y, z = u, v, w
        if change <= POLAR_TOLERANCE:
            break
    return x, y, z, True
