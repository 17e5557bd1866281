# pyright: standard
"""Nearest rotation of a linear map: Newton's polar decomposition.

X <- (X + X^-T) / 2 keeps the singular vectors and maps every singular value s to (s + 1/s) / 2, which squares its
distance from 1. Higham, "Computing the polar decomposition - with applications", SIAM J. Sci. Stat. Comput. 7(4), 1986.
"""

from __future__ import annotations

import math

from poise.kernels.compiled import inline, part
from poise.kernels.values.linear import Vec, add, cross, dot, scale

STEPS = 8  # most iterations; singular values between 0.5 and 2 take five
CLOSE = 1e-15  # change of every component below which the iteration ends
NEAR = 0.1  # largest relative error of column lengths and volume of a near rotation


@inline
def columns_of(m):
    """Return the columns of an affine map's linear part (12,)."""
    return Vec(m[0], m[4], m[8]), Vec(m[1], m[5], m[9]), Vec(m[2], m[6], m[10])


@part
def nearest_rotation(m):
    """Find the columns of the rotation nearest to an affine map (12,).

    The map must be nearly a rotation times a factor; also return whether it is.

    The factor may be negative.
    """
    x, y, z = columns_of(m)
    volume = dot(x, cross(y, z))
    sizes = math.sqrt(dot(x, x)), math.sqrt(dot(y, y)), math.sqrt(dot(z, z))
    longest, shortest = max(sizes[0], sizes[1], sizes[2]), min(sizes[0], sizes[1], sizes[2])
    cube = longest * longest * longest
    near = longest - shortest <= NEAR * longest and abs(abs(volume) - cube) <= 3.0 * NEAR * cube
    if not (longest > 0.0 and near):
        return x, y, z, False
    factor = math.copysign(1.0 / longest, volume)
    x, y, z = scale(x, factor), scale(y, factor), scale(z, factor)
    for _ in range(STEPS):
        # The cofactors are the transposed inverse times the volume.
        a, b, c = cross(y, z), cross(z, x), cross(x, y)
        k = 0.5 / dot(x, a)
        u, v, w = add(scale(x, 0.5), scale(a, k)), add(scale(y, 0.5), scale(b, k)), add(scale(z, 0.5), scale(c, k))
        change = max(
            abs(u.x - x.x), abs(u.y - x.y), abs(u.z - x.z), abs(v.x - y.x), abs(v.y - y.y), abs(v.z - y.z),
            abs(w.x - z.x), abs(w.y - z.y), abs(w.z - z.z),
        )  # fmt: skip
        x, y, z = u, v, w
        if change <= CLOSE:
            break
    return x, y, z, True
