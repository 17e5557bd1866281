# pyright: standard
"""Rows of vectors and rotations, with the bits of NumPy.

Of two operands the shorter one repeats, as NumPy repeats an array whose axes are the last ones of the other.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import inline_strict
from poise.kernels.entries import gil_kernel
from poise.kernels.thresholds import OPPOSITE_SQUARED_LENGTH


@inline_strict
def multiply_row(a, b, i, j, products, row):
    """Compose the rotations a[i] and b[j]. The operations are those of `maths.rotations.multiply`."""
    aw, ax, ay, az = a[i, 0], a[i, 1], a[i, 2], a[i, 3]
    bw, bx, by, bz = b[j, 0], b[j, 1], b[j, 2], b[j, 3]
    products[row, 0] = aw * bw - ax * bx - ay * by - az * bz
    products[row, 1] = aw * bx + ax * bw + ay * bz - az * by
    products[row, 2] = aw * by + ay * bw + az * bx - ax * bz
    products[row, 3] = aw * bz + az * bw + ax * by - ay * bx


@inline_strict
def rotate_row(q, v, i, j, rotated, row):
    """Rotate the vector v[j] by q[i]. The operations are those of `maths.rotations.rotate`."""
    w, x, y, z = q[i, 0], q[i, 1], q[i, 2], q[i, 3]
    a, b, c = v[j, 0], v[j, 1], v[j, 2]
    s, t, u = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    rotated[row, 0] = a + w * s + (y * u - z * t)
    rotated[row, 1] = b + w * t + (z * s - x * u)
    rotated[row, 2] = c + w * u + (x * t - y * s)


@inline_strict
def cross_row(a, b, i, j, products, row):
    """Compute the cross product of a[i] and b[j]. The operations are those of `maths.vectors.cross`."""
    ax, ay, az = a[i, 0], a[i, 1], a[i, 2]
    bx, by, bz = b[j, 0], b[j, 1], b[j, 2]
    products[row, 0] = ay * bz - az * by
    products[row, 1] = az * bx - ax * bz
    products[row, 2] = ax * by - ay * bx


@inline_strict
def measure_row(v, row):
    """Measure the length of the vector v[row]."""
    x, y, z = v[row, 0], v[row, 1], v[row, 2]
    return math.sqrt(x * x + y * y + z * z)


@inline_strict
def find_largest_part(v, row):
    """Find the absolute value of the largest part of the vector v[row]."""
    return max(max(abs(v[row, 0]), abs(v[row, 1])), abs(v[row, 2]))


@inline_strict
def unit_row(v, row, largest):
    """Scale the vector v[row] to unit length. `largest` is its largest part, not 0."""
    x, y, z = v[row, 0] / largest, v[row, 1] / largest, v[row, 2] / largest
    size = math.sqrt(x * x + y * y + z * z)
    return x / size, y / size, z / size


@inline_strict
def turn_row(a, b, turns, row):
    """Find the shortest rotation from a[row] to b[row]. The operations are those of `maths.rotations`.

    Return whether it is known: not for zero and for opposite directions.
    """
    a_part, b_part = find_largest_part(a, row), find_largest_part(b, row)
    if a_part == 0.0 or b_part == 0.0:
        return False
    ax, ay, az = unit_row(a, row, a_part)
    bx, by, bz = unit_row(b, row, b_part)
    x, y, z = ax + bx, ay + by, az + bz
    squared_length = x * x + y * y + z * z
    if squared_length < OPPOSITE_SQUARED_LENGTH:
        return False
    q0, q1, q2, q3 = 0.5 * squared_length, ay * z - az * y, az * x - ax * z, ax * y - ay * x
    largest = max(max(max(abs(q0), abs(q1)), abs(q2)), abs(q3))
    q0, q1, q2, q3 = q0 / largest, q1 / largest, q2 / largest, q3 / largest
    size = math.sqrt(q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3)
    turns[row, 0], turns[row, 1], turns[row, 2], turns[row, 3] = q0 / size, q1 / size, q2 / size, q3 / size
    return True


@gil_kernel("F2 F2 wF2 -> b")
def find_rotations_between(a, b, turns):
    """Find the shortest rotations (k, 4) between vectors (k, 3). Return whether all are known, see `turn_row`."""
    for row in range(turns.shape[0]):
        if not turn_row(a, b, turns, row):
            return False
    return True


@gil_kernel("F2 F2 wF2 ->")
def multiply_rows(a, b, products):
    """Compose rotations (k, 4). Fewer repeat."""
    i, j = 0, 0
    for row in range(products.shape[0]):
        multiply_row(a, b, i, j, products, row)
        i, j = i + 1 if i + 1 < a.shape[0] else 0, j + 1 if j + 1 < b.shape[0] else 0


@gil_kernel("F2 F2 wF2 ->")
def rotate_rows(q, v, rotated):
    """Rotate vectors (k, 3) by rotations (k, 4). Fewer repeat."""
    i, j = 0, 0
    for row in range(rotated.shape[0]):
        rotate_row(q, v, i, j, rotated, row)
        i, j = i + 1 if i + 1 < q.shape[0] else 0, j + 1 if j + 1 < v.shape[0] else 0


@gil_kernel("F2 F2 wF2 ->")
def cross_rows(a, b, products):
    """Compute the cross products of vectors (k, 3). Fewer repeat."""
    i, j = 0, 0
    for row in range(products.shape[0]):
        cross_row(a, b, i, j, products, row)
        i, j = i + 1 if i + 1 < a.shape[0] else 0, j + 1 if j + 1 < b.shape[0] else 0


@gil_kernel("F2 wF1 ->")
def measure_lengths(v, lengths):
    """Measure the lengths (k,) of vectors (k, 3)."""
    for row in range(v.shape[0]):
        lengths[row] = measure_row(v, row)
