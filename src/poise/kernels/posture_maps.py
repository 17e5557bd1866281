# pyright: standard
"""Vectors through the world maps of joints, for postures of figures.

A map is a row of 12 numbers, [A | p] by rows. A may scale and mirror.
"""

from __future__ import annotations

from poise.kernels.device_functions import device_function, inline
from poise.kernels.vec_quat import Vec, cross, dot, norm, scale


@device_function
def scale_to_unit(v):
    """Return a vector with length 1. A zero vector stays."""
    length = norm(v)
    return scale(v, 1.0 / length) if length > 0.0 else v


@device_function
def read_origin(maps, map_index):
    """Return the position of map number `map_index`."""
    return Vec(maps[12 * map_index + 3], maps[12 * map_index + 7], maps[12 * map_index + 11])


@device_function
def map_vector(maps, map_index, v):
    """Return a vector of map number `map_index` in the world, A v."""
    i = 12 * map_index
    return Vec(
        maps[i] * v.x + maps[i + 1] * v.y + maps[i + 2] * v.z,
        maps[i + 4] * v.x + maps[i + 5] * v.y + maps[i + 6] * v.z,
        maps[i + 8] * v.x + maps[i + 9] * v.y + maps[i + 10] * v.z,
    )


@device_function
def map_direction(maps, map_index, v):
    """Return a direction of map number `map_index` as a world unit vector."""
    return scale_to_unit(map_vector(maps, map_index, v))


@inline
def find_turn_sign(maps, map_index):
    """Return 1, or -1 for a mirroring map.

    Turns look reversed in a mirror.
    """
    i = 12 * map_index
    x, y, z = (
        Vec(maps[i], maps[i + 4], maps[i + 8]),
        Vec(maps[i + 1], maps[i + 5], maps[i + 9]),
        Vec(maps[i + 2], maps[i + 6], maps[i + 10]),
    )
    return -1.0 if dot(cross(x, y), z) < 0.0 else 1.0


@device_function
def map_turn(maps, map_index, v):
    """Return a turn's axis as a world unit vector."""
    return scale(map_direction(maps, map_index, v), find_turn_sign(maps, map_index))


@device_function
def unmap_turn(maps, map_index, v):
    """Return a world turn's axis within a map.

    It is A^T v, of any length.
    """
    i = 12 * map_index
    local = Vec(
        maps[i] * v.x + maps[i + 4] * v.y + maps[i + 8] * v.z,
        maps[i + 1] * v.x + maps[i + 5] * v.y + maps[i + 9] * v.z,
        maps[i + 2] * v.x + maps[i + 6] * v.y + maps[i + 10] * v.z,
    )
    return scale(local, find_turn_sign(maps, map_index))
