"""Quaternions and vectors in JAX, with finite gradients everywhere.

They are tuples of arrays. Each component is an array of its own. With stacked components XLA recomputes every component
of every factor for each component of a product, and compilation takes twenty times as long.

At a singularity of a formula its argument is replaced, not its value: JAX differentiates both sides of a `where`,
and a NaN times zero is NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from poise.kernels.thresholds import SAME_POINT_RATIO

_SERIES_MAX_ANGLE2 = 1e-3  # squared angle [rad^2]; below it three terms of the series are exact to rounding
_OPPOSITE_SUM2 = 1e-24  # |a + b|^2 of unit vectors; below it a + b has no usable direction


class TracedVec(NamedTuple):
    """A vector of arrays."""

    x: Array
    y: Array
    z: Array


class TracedQuat(NamedTuple):
    """A rotation: a unit quaternion of arrays."""

    w: Array
    x: Array
    y: Array
    z: Array


def to_vec(array: Array) -> TracedVec:
    """Return the vectors (..., 3) of an array."""
    return TracedVec(*(array[..., i] for i in range(3)))


def to_quat(array: Array) -> TracedQuat:
    """Return the quaternions (..., 4) of an array."""
    return TracedQuat(*(array[..., i] for i in range(4)))


def stack(components: TracedVec | TracedQuat) -> Array:
    """Stack the components into one array (..., 3) or (..., 4)."""
    return jnp.stack(jnp.broadcast_arrays(*components), axis=-1)


def choose(condition: Array, a: TracedVec | TracedQuat, b: TracedVec | TracedQuat) -> tuple[Array, ...]:
    """Select the components of a where `condition` holds, else b."""
    return tuple(jnp.where(condition, p, q) for p, q in zip(a, b, strict=True))


def identity_like(x: Array) -> TracedQuat:
    """Return identity rotations of the shape of x."""
    zero = jnp.zeros_like(x)
    return TracedQuat(jnp.ones_like(x), zero, zero, zero)


def add(a: TracedVec, b: TracedVec) -> TracedVec:
    """Return a + b."""
    return TracedVec(a.x + b.x, a.y + b.y, a.z + b.z)


def sub(a: TracedVec, b: TracedVec) -> TracedVec:
    """Return a - b."""
    return TracedVec(a.x - b.x, a.y - b.y, a.z - b.z)


def scale(a: TracedVec, s: Array | float) -> TracedVec:
    """Return s times a."""
    return TracedVec(a.x * s, a.y * s, a.z * s)


def dot(a: TracedVec, b: TracedVec) -> Array:
    """Return the dot product."""
    return a.x * b.x + a.y * b.y + a.z * b.z


def cross(a: TracedVec, b: TracedVec) -> TracedVec:
    """Return a x b."""
    return TracedVec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


def multiply(a: TracedQuat, b: TracedQuat) -> TracedQuat:
    """Compose rotations: by b, then by a."""
    return TracedQuat(
        a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
        a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
        a.w * b.y + a.y * b.w + a.z * b.x - a.x * b.z,
        a.w * b.z + a.z * b.w + a.x * b.y - a.y * b.x,
    )


def inverse(q: TracedQuat) -> TracedQuat:
    """Return the inverse rotation."""
    return TracedQuat(q.w, -q.x, -q.y, -q.z)


def rotate(q: TracedQuat, v: TracedVec) -> TracedVec:
    """Rotate vectors by unit quaternions."""
    u = TracedVec(q.x, q.y, q.z)
    t = scale(cross(u, v), 2.0)
    return add(add(v, scale(t, q.w)), cross(u, t))


def normalise(q: TracedQuat) -> TracedQuat:
    """Scale quaternions to unit length. One of zero length becomes the identity, with gradient zero."""
    square = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z
    is_zero = square == 0.0
    length = jnp.sqrt(jnp.where(is_zero, 1.0, square))
    return TracedQuat(*choose(is_zero, identity_like(square), TracedQuat(*(component / length for component in q))))


def exp(v: TracedVec) -> TracedQuat:
    """Return the rotation by |v| [rad] about v. It is (cos |v| / 2, sin(|v| / 2) v / |v|), a series near zero."""
    square = dot(v, v)
    is_small = square < _SERIES_MAX_ANGLE2
    angle = jnp.sqrt(jnp.where(is_small, 1.0, square))
    w = jnp.where(is_small, 1.0 - square / 8.0 + square**2 / 384.0, jnp.cos(0.5 * angle))
    k = jnp.where(is_small, 0.5 - square / 48.0 + square**2 / 3840.0, jnp.sin(0.5 * angle) / angle)
    return TracedQuat(w, k * v.x, k * v.y, k * v.z)


def to_matrix(q: TracedQuat) -> Array:
    """Convert to rotation matrices (..., 3, 3)."""
    w, x, y, z = q
    rows = [
        TracedVec(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        TracedVec(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        TracedVec(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    ]
    return jnp.stack([stack(row) for row in rows], axis=-2)


def rotation_error(target: TracedQuat, q: TracedQuat) -> TracedVec:
    """Return 2 sin(angle / 2) times the axis from q to `target`."""
    difference = multiply(target, inverse(q))
    return scale(TracedVec(difference.x, difference.y, difference.z), jnp.where(difference.w < 0, -2.0, 2.0))


def direction_error(target: TracedVec, a: TracedVec) -> TracedVec:
    """Return 2 sin(angle / 2) times the axis to `target`. It is of the shortest rotation from the unit vectors a.

    2 a x (a + b) / |a + b|; any perpendicular axis, with gradient zero, where they are opposite.
    """
    bisector = add(a, target)
    square = dot(bisector, bisector)
    is_opposite = square < max(_OPPOSITE_SUM2, 16 * float(jnp.finfo(square.dtype).eps) ** 2)
    error = scale(cross(a, bisector), 2.0 / jnp.sqrt(jnp.where(is_opposite, 1.0, square)))
    return TracedVec(*choose(is_opposite, scale(_find_perpendicular(target), 2.0), error))


def unit_direction(target: TracedVec, point: TracedVec, axis: TracedVec) -> TracedVec:
    """Return the unit vector from a point to another.

    Where they are equal to rounding, return `axis`, the right limit there.
    """
    difference = sub(target, point)
    square = dot(difference, difference)
    is_same_point = square <= SAME_POINT_RATIO * (dot(target, target) + dot(point, point))
    direction = scale(difference, 1.0 / jnp.sqrt(jnp.where(is_same_point, 1.0, square)))
    return TracedVec(*choose(is_same_point, axis, direction))


def _find_perpendicular(a: TracedVec) -> TracedVec:
    """Return a unit vector perpendicular to unit vectors. It has no branches (Duff et al., JCGT 6(1), 2017)."""
    sign = jnp.where(a.z < 0, -1.0, 1.0)
    k = -1.0 / (sign + a.z)
    return TracedVec(1.0 + sign * a.x * a.x * k, sign * a.x * a.y * k, -sign * a.x)
