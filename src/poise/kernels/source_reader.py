# pyright: standard
"""Read rotations, directions and hips of a live source.

They are in axes ahead, left, up.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import inline
from poise.kernels.entries import gil_kernel

_TINY = 1e-300


@inline
def write_turn(q, turn_map, out):
    """Write a rotation matrix (9,) from a quaternion. The map (9, 16) takes the products of its numbers."""
    for i in range(9):
        total = 0.0
        for j in range(4):
            for k in range(4):
                total += turn_map[i, 4 * j + k] * (q[j] * q[k])
        out[i] = total


@gil_kernel("F2 F3 I1 F3 I1 I2 I1 F2 I1 f f wF2 wF1 ->")
def read_source(
    rotations, affine, turn_rows, turn_maps, turn_places, bones, bone_places, axes, hips, ratio, height, out, path
):
    """Read a pose of the source.

    rotations    (n, 4) and affine (n, 3, 4), of its joints
    turn_rows    (r,) joints, turn_maps (r, 9, 16) from products of their quaternions to rotation matrices,
    turn_places  (r,) rows of `out` where these go
    bones        (d, 2) joints at both ends, bone_places (d,) rows of `out` where their directions go
    axes         (3, 3) ahead, left and up in the file
    hips         (2,) hip joints, whose middle times `ratio`, raised by `height`, is where hips are to be
    out          (m, 9) out
    path         (3,) out: the hips
    """
    for r in range(len(turn_rows)):
        write_turn(rotations[turn_rows[r]], turn_maps[r], out[turn_places[r]])
    for d in range(len(bone_places)):
        start, end, way = affine[bones[d, 0]], affine[bones[d, 1]], out[bone_places[d]]
        x, y, z = end[0, 3] - start[0, 3], end[1, 3] - start[1, 3], end[2, 3] - start[2, 3]
        square = 0.0
        for k in range(3):
            way[k] = x * axes[k, 0] + y * axes[k, 1] + z * axes[k, 2]
            square += way[k] * way[k]
        length = max(math.sqrt(square), _TINY)
        for k in range(3):
            way[k] /= length
    left, right = affine[hips[0]], affine[hips[1]]
    x, y, z = 0.5 * (left[0, 3] + right[0, 3]), 0.5 * (left[1, 3] + right[1, 3]), 0.5 * (left[2, 3] + right[2, 3])
    for k in range(3):
        path[k] = ratio * (x * axes[k, 0] + y * axes[k, 1] + z * axes[k, 2])
    path[2] += height
