"""Decomposition of USD's row-vector matrices."""

from __future__ import annotations

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Bools, Floats

_SQUARE = 1e-5  # largest cosine between axes without shear; allows matrices printed with few digits


def parts_of(matrices: Floats) -> tuple[Floats, Floats, Floats, Bools]:
    """Decompose matrices (n, 16) into translation, rotation and scale.

    Rotations are w x y z; the last result marks sheared matrices, for which the parts are not the whole.

    A mirrored matrix has a negative first scale. With a scale of zero the rotation is the nearest one.
    """
    given = matrices.reshape(-1, 4, 4)
    linear = given[:, :3, :3].transpose(0, 2, 1)
    scales = np.linalg.norm(linear, axis=1)
    scales[:, 0] *= np.where(np.linalg.det(linear) < 0.0, -1.0, 1.0)
    axes = linear / np.where(scales == 0.0, 1.0, scales)[:, None, :]
    turns = rotations.from_matrix(rotations.rotation_part(axes)) if len(given) else np.zeros((0, 4))
    between = np.abs(np.einsum("nij,nik->njk", axes, axes) * (1.0 - np.eye(3))).max(axis=(1, 2), initial=0.0)
    return given[:, 3, :3].copy(), turns, scales, between > _SQUARE
