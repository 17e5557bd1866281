# pyright: standard
"""Rows of vectors and rotations, with the bits of NumPy.

Of two operands the shorter one repeats, as NumPy repeats an array whose axes are the last ones of the other.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import inline_strict
from poise.kernels.entries import gil_kernel


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
