"""Check matrices of rotations and of rigid transforms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.maths.arrays import Floats, finite

_ORTHOGONAL = 1e-6  # largest error of a dot product of two columns of a rotation matrix
_BOTTOM = 1e-9  # largest error of the last row of a 4 x 4 matrix


def split_transforms(matrices: ArrayLike, what: str) -> tuple[Floats, Floats]:
    """Split rigid transforms into positions (..., 3) and linear parts.

    Transforms are (..., 4, 4) or (..., 3, 4). The linear parts are not checked.

    Raises
    ------
    InputError
        For another shape, numbers that are not finite, or a last row of a 4 x 4 that is not 0 0 0 1 within 1e-9.
    """
    given = finite(matrices, what)
    if given.shape[-2:] not in {(3, 4), (4, 4)}:
        message = f"{what} needs a 4 x 4 or 3 x 4 matrix; its shape is {given.shape}"
        raise InputError(message)
    wrong = np.abs(given[..., 3:, :] - (0.0, 0.0, 0.0, 1.0)).max(axis=-1, initial=0.0) > _BOTTOM
    if wrong.any():
        row = " ".join(f"{number:.12g}" for number in given[..., 3:, :][wrong][0])
        message = f"{what} needs 0 0 0 1 as the last row of its matrix, not {row}; matrices act on column vectors"
        raise InputError(message)
    return given[..., :3, 3], given[..., :3, :3]


def check_proper(matrices: Floats, what: str) -> None:
    """Refuse matrices (..., 3, 3) other than rotations. These are orthogonal within 1e-6, and not mirrored."""
    with np.errstate(over="ignore", invalid="ignore"):  # huge numbers: the gap is then infinite or NaN
        gaps = np.abs(np.swapaxes(matrices, -1, -2) @ matrices - np.eye(3)).max(axis=(-2, -1), initial=0.0)
    if not (gaps <= _ORTHOGONAL).all():
        message = (
            f"{what} is no rotation matrix: it is not orthogonal, M^T M differs from the identity by "
            f"{gaps.max():.3g}; scale and shear must be taken out first"
        )
        raise InputError(message)
    if (np.linalg.det(matrices) < 0.0).any():
        message = f"{what} is no rotation matrix: it is mirrored, its determinant is -1"
        raise InputError(message)
