"""Operations on vectors as arrays (..., 3)."""

from __future__ import annotations

import numpy as np

from poise.maths.arrays import Floats

UP = np.array([0.0, 0.0, 1.0])
UP.setflags(write=False)


def dots(a: Floats, b: Floats) -> Floats:
    """a . b (...)."""
    return (a * b).sum(axis=-1)


def cross(a: Floats, b: Floats) -> Floats:
    """Multiply vectors (..., 3) as np.cross does, number for number. For few vectors it takes half the time."""
    x = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    y = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    return np.stack([x, y, a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]], axis=-1)


def units(v: Floats) -> Floats:
    """v / |v|; zero stays zero."""
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-300)


def level(v: Floats) -> Floats:
    """The level part of v."""
    return v * [1.0, 1.0, 0.0]


def raised(height: Floats) -> Floats:
    """Vectors (..., 3) straight up."""
    return height[..., None] * UP


def to_z_up(up: str) -> Floats:
    """Rotation (4,) from axes whose `up` is "y" or "z" to z up."""
    half = np.sqrt(0.5)
    return np.array([half, half, 0.0, 0.0]) if up == "y" else np.array([1.0, 0.0, 0.0, 0.0])
