"""Rotations for JAX: unit quaternions w x y z in the last axis, with finite gradients everywhere.

Where a formula has a hole, the argument is replaced before the formula, not the value after it: JAX differentiates
both sides of a `where`, and a NaN times zero is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import jax.numpy as jnp
from jax import Array

Parts: TypeAlias = tuple[Array, ...]
Join: TypeAlias = Callable[[Parts, Parts], Parts]

_SERIES = 1e-3  # squared angle [rad^2] below which three terms of the series are exact to rounding
_OPPOSITE = 1e-24  # |a + b|^2 of opposite unit vectors: its direction is rounding


def multiply(a: Array, b: Array) -> Array:
    """Compose rotations (..., 4): by b, then by a."""
    aw, ax, ay, az = (a[..., i] for i in range(4))
    bw, bx, by, bz = (b[..., i] for i in range(4))
    return jnp.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by + ay * bw + az * bx - ax * bz,
            aw * bz + az * bw + ax * by - ay * bx,
        ],
        axis=-1,
    )


def inverse(q: Array) -> Array:
    """Invert unit quaternions (..., 4)."""
    return jnp.concatenate([q[..., :1], -q[..., 1:]], axis=-1)


def cross(a: Array, b: Array) -> Array:
    """a x b (..., 3)."""
    (ax, ay, az), (bx, by, bz) = ([v[..., i] for i in range(3)] for v in (a, b))
    return jnp.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def rotate(q: Array, v: Array) -> Array:
    """Rotate vectors (..., 3) by unit quaternions (..., 4)."""
    u = q[..., 1:]
    t = 2.0 * cross(u, v)
    return v + q[..., :1] * t + cross(u, t)


def normalised(q: Array) -> Array:
    """Scale quaternions (..., 4) to unit length; one of zero length becomes the identity, with gradient zero."""
    square = (q * q).sum(axis=-1, keepdims=True)
    empty = square == 0.0
    unit = q / jnp.sqrt(jnp.where(empty, 1.0, square))
    return jnp.where(empty, jnp.array([1.0, 0.0, 0.0, 0.0], q.dtype), unit)


def exp(v: Array) -> Array:
    """Turn by |v| [rad] about v (..., 3): (cos |v| / 2, sin(|v| / 2) v / |v|), a series near zero."""
    square = (v * v).sum(axis=-1, keepdims=True)
    near = square < _SERIES
    angle = jnp.sqrt(jnp.where(near, 1.0, square))
    w = jnp.where(near, 1.0 - square / 8.0 + square**2 / 384.0, jnp.cos(0.5 * angle))
    k = jnp.where(near, 0.5 - square / 48.0 + square**2 / 3840.0, jnp.sin(0.5 * angle) / angle)
    return jnp.concatenate([w, k * v], axis=-1)


def as_matrix(q: Array) -> Array:
    """Rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    w, x, y, z = (q[..., i] for i in range(4))
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)


def rotation_left(wanted: Array, q: Array) -> Array:
    """2 sin(angle / 2) times the axis of the rotation (..., 3) from q to `wanted`."""
    left = multiply(wanted, inverse(q))
    return 2.0 * left[..., 1:] * jnp.where(left[..., :1] < 0, -1.0, 1.0)


def direction_left(wanted: Array, a: Array) -> Array:
    """2 sin(angle / 2) times the axis of the shortest turn from unit vectors a to `wanted` (..., 3).

    2 a x (a + b) / |a + b|; where they are opposite, any axis across with gradient zero.
    """
    middle = a + wanted
    square = (middle * middle).sum(axis=-1, keepdims=True)
    tiny = jnp.maximum(_OPPOSITE, 16 * jnp.finfo(a.dtype).eps ** 2)
    opposite = square < tiny
    turn = 2.0 * cross(a, middle) / jnp.sqrt(jnp.where(opposite, 1.0, square))
    return jnp.where(opposite, 2.0 * _across(wanted), turn)


def _across(a: Array) -> Array:
    """A unit vector perpendicular to unit vectors (..., 3), without branches (Duff et al., JCGT 6(1), 2017)."""
    x, y, z = (a[..., i] for i in range(3))
    sign = jnp.where(z < 0, -1.0, 1.0)
    k = -1.0 / (sign + z)
    return jnp.stack([1.0 + sign * x * x * k, sign * x * y * k, -sign * x], axis=-1)


def downwards(parents: Array, rounds: int, join: Join, parts: Parts) -> Parts:
    """Compose what stands in the rows (n + 1, ...) of `parts` down a tree; the last row is the identity, the world.

    Pointer doubling (Hillis and Steele, CACM 29(12), 1986): every round joins each row with the ancestor that it has
    come to, so that a tree of depth d needs ceil(log2 d) rounds whatever its shape, and `parents` may be an argument.
    """
    for _ in range(rounds):
        parts = join(tuple(part[parents] for part in parts), parts)
        parents = parents[parents]
    return parts
