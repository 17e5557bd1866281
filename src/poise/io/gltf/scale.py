"""Pose conversion between skeletons of different scale.

A BVH file has no scale, so the scale of a glTF's armature node is in the offsets of its BVH. When such a pose is
written back, the lengths are divided by the document's scale, which stays because its mesh is bound to it.
"""

from __future__ import annotations

import numpy as np

from poise.errors import UnsupportedError
from poise.maths.arrays import Floats, Ints
from poise.model.local import Parts, local_parts
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton

_UNIFORM = 1e-3  # relative tolerance of uniform scale; exported files have noise


def same_scale(skeleton: Skeleton, document: Skeleton, rows: Ints) -> bool:
    """Return whether the common joints have the same scale. `rows` are the document's rows, -1 for none."""
    kept = rows >= 0
    return np.array_equal(skeleton.B[kept], document.B[rows[kept]])


def parts_in(document: Skeleton, pose: Pose, rows: Ints) -> Parts:
    """Convert a pose to translations, rotations and scales of the document's nodes. `rows` are its rows."""
    parts = local_parts(pose)
    if same_scale(pose.skeleton, document, rows):
        return parts
    if pose.scales is not None:
        raise UnsupportedError("a pose with scales of its own fits only a document of the same scale")
    ratio = _scale_above(pose.skeleton) / _scale_above(document)[rows]
    scale = np.diagonal(document.B[rows, :, :3], axis1=1, axis2=2)
    return Parts(parts.translation * ratio[:, None], parts.rotation, np.broadcast_to(scale, parts.translation.shape))


def _scale_above(skeleton: Skeleton) -> Floats:
    """Compute the product of the ancestors' scales (n,) of each joint.

    UnsupportedError where a scale is not uniform.
    """
    diagonal = np.diagonal(skeleton.B[:, :, :3], axis1=1, axis2=2)
    above = np.ones(len(skeleton))
    for row, parent in enumerate(skeleton.parents.tolist()):
        if parent < 0:
            continue
        if np.ptp(diagonal[parent]) > _UNIFORM * np.abs(diagonal[parent]).max() or diagonal[parent, 0] == 0.0:
            name = skeleton.names[parent]
            raise UnsupportedError(
                f"the scale of {name!r} differs by axis; a pose of another scale cannot be put below it"
            )
        above[row] = above[parent] * diagonal[parent, 0]
    return above
