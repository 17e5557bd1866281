"""Fixed rigid transforms between a tree's moving joints.

Lengths are in units of the tree's size, and scale is taken out.

A joint's linear part is s R, a rotation times one factor (negative: mirrored); offsets further out are multiplied by
the factors before them. Rotating the joint keeps distances only then. Non-uniform scale is replaced by the nearest map
of this kind, and answers are corrected (solvers/base/answer_refinement.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from poise.errors import UnsupportedError
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.remember import remember
from poise.maths.rotations import rotation_part
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton

SIMILAR = 1e-3  # relative length error of exporter rounding; scale below it counts as uniform
_EXACT = 1e-9  # largest deviation of M M^T / s^2 from the identity in an exact similarity
_FLAT = 1e-6  # smallest ratio of singular values; below it a scale counts as zero


class Transform(NamedTuple):
    """Rigid transforms with offset (k, 3) and rotation (k, 4). `factor` (k,) is the accumulated scale above them."""

    offset: Floats
    rotation: Floats
    factor: Floats


def constant_parts(start: Pose, moving: set[int], translating: Iterable[int] = ()) -> tuple[Floats, Floats]:
    """Build the fixed maps before and after each motion.

    Both are affine maps (k, n, 3, 4). The map before is A with the pose's translation; it includes the motion of a
    fixed joint, and the translation of a free joint outside `translating`. The map after is B.
    """
    skeleton = start.skeleton
    n = len(skeleton)
    positions = start.local_positions.reshape(-1, n, 3).copy()
    quaternions = start.local_rotations.reshape(-1, n, 4).copy()
    for row in moving:
        quaternions[:, row] = skeleton.A[row, 3:]
        if skeleton.kinds[row] == Kind.SLIDE:
            positions[:, row] = skeleton.A[row, :3] if start.translations is None else start.translations[..., row, :]
    for row in translating:
        positions[:, row] = skeleton.A[row, :3]
    before = np.concatenate([rotations.as_matrix(quaternions), positions[..., None]], axis=-1)
    after = np.broadcast_to(start.b_affine, before.shape)
    return before, after


def compose(a: Floats, b: Floats) -> Floats:
    """Compose affine maps (..., 3, 4), b applied first."""
    product = a[..., :3] @ b
    product[..., 3] += a[..., 3]
    return product


def still_map(skeleton: Skeleton, row: int) -> Floats | None:
    """Return the constant world transform (1, 3, 4) of a row.

    It is None where a joint moves the row. It holds for poses without scales of their own, is remembered with the
    skeleton, and needs no kernel. Most robot arms have such a base.
    """

    def make() -> Floats | None:
        rows = skeleton.way(row)
        if (skeleton.kinds[rows] != Kind.FIXED).any():
            return None
        before = np.concatenate([rotations.as_matrix(skeleton.A[rows, 3:]), skeleton.A[rows, :3, None]], axis=-1)
        whole = np.eye(3, 4)
        for a, b in zip(before, skeleton.B[rows], strict=True):
            whole = compose(compose(whole, a), b)
        return whole[None]

    return remember(skeleton, "still", row, make)


def similar(linear: Floats, skeleton: Skeleton, row: int) -> tuple[Floats, Floats, float]:
    """Split linear maps (k, 3, 3) into signed factor and rotation.

    Also return the largest relative length error of this split. It is 0 for similarity maps. Raises UnsupportedError
    for singular maps.
    """
    determinant = np.linalg.det(linear)
    scale = np.cbrt(determinant)
    if (scale == 0).any():
        raise UnsupportedError(_flattens(skeleton, row, linear))
    rotation = linear / scale[:, None, None]
    off = float(np.abs(rotation @ np.swapaxes(rotation, 1, 2) - np.eye(3)).max(initial=0.0))
    if off <= _EXACT:
        return scale, rotation, 0.0
    sizes = np.linalg.svd(rotation, compute_uv=False)
    if (sizes[:, 2] < _FLAT * sizes[:, 0]).any():
        raise UnsupportedError(_flattens(skeleton, row, linear))
    return scale, rotation_part(rotation), float(np.abs(sizes - 1.0).max())


def _flattens(skeleton: Skeleton, row: int, linear: Floats) -> str:
    """Format the message about a zero scale above a rotating joint."""
    lengths = ", ".join(f"{value:.4g}" for value in np.sqrt((linear[0] ** 2).sum(axis=0)))
    return (
        f"the scale above {skeleton.names[row]!r} is zero ({lengths}): its children have no size; start from a pose "
        "whose scales are not zero, such as rest"
    )


def span_size(*measures: Iterable[Floats]) -> float:
    """Compute the kernel unit, a power of two.

    It is the next power above the longest offset of the first length set with any length. The file's unit must not
    matter, so 1 is used only without any length, as for a single unbounded slide.
    """
    for offsets in measures:
        largest = max([np.abs(offset).max(initial=0.0) for offset in offsets], default=0.0)
        if largest > 0:
            return float(2.0 ** np.ceil(np.log2(largest)))
    return 1.0
