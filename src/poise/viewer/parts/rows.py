"""Pose arrays for the page: position and rotation, or affine maps."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from poise.maths.arrays import Bools, Floats
from poise.maths.remember import remember
from poise.maths.rotations import rotation_part
from poise.model.kinematics import turns_of
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton

Singles: TypeAlias = NDArray[np.float32]

PLACES, MAPS = 7, 12  # numbers a joint: x y z w x y z, or the rows of a 3 x 4 map
_SIMILAR = 1e-3  # relative deviation from a rotation times a factor; exported scales are noisy
_SAME = 1e-5  # relative difference up to which a pose's scales count as the skeleton's own


class Drawn(NamedTuple):
    """Constant linear maps behind each joint's rotation.

    linear   (n, 3, 3) the world's linear part at rest is rotation @ linear
    inverse  (n, 3, 3) their inverses; None if all are identities
    still    whether that holds in every pose: no joint rotates below a non-uniform scale
    """

    linear: Floats
    inverse: Floats | None
    still: bool


def drawn(skeleton: Skeleton) -> Drawn:
    """Find the constant linear maps of a skeleton, cached."""
    return remember(skeleton, "drawn", None, lambda: _drawn(skeleton))


def _drawn(skeleton: Skeleton) -> Drawn:
    whole = Pose(skeleton, skeleton.rest_q).world.affine[..., :3]
    turns = rotation_part(whole)
    linear = np.swapaxes(turns, -1, -2) @ whole
    same = np.abs(linear - np.eye(3)).max(axis=(1, 2), initial=0.0) <= _SAME
    linear[same] = np.eye(3)
    flat = np.abs(np.linalg.det(linear)) <= 1e-12 * np.abs(linear).max(axis=(1, 2), initial=0.0) ** 3
    if same.all():
        return Drawn(linear, None, still=True)
    inverse = np.linalg.inv(np.where(flat[:, None, None], np.eye(3), linear))
    return Drawn(linear, inverse, still=not flat.any() and not _turns_below(skeleton, ~_similar(skeleton)))


def _similar(skeleton: Skeleton) -> Bools:
    """Find the joints (n,) with a similarity behind their motion. A similarity is a rotation times a factor."""
    linear = skeleton.B[:, :, :3]
    gram = np.swapaxes(linear, 1, 2) @ linear
    size = np.trace(gram, axis1=1, axis2=2)[:, None, None] / 3.0
    return (np.abs(gram - size * np.eye(3)) <= _SIMILAR * size).all(axis=(1, 2))


def _turns_below(skeleton: Skeleton, marked: Bools) -> bool:
    """Return whether a rotating joint has a marked ancestor."""
    below = np.zeros(len(skeleton), dtype=np.bool_)
    for row, parent in enumerate(skeleton.parents.tolist()):
        below[row] = parent >= 0 and (below[parent] or marked[parent])
    return bool((below & ~np.isin(skeleton.kinds, (Kind.FIXED, Kind.SLIDE))).any())


def width_of(pose: Pose) -> int:
    """Find the numbers per joint: 7 or 12.

    It is 12 where a scale shears a rotating part or the pose has its own scales.
    """
    if not drawn(pose.skeleton).still:
        return MAPS
    if pose.scales is None:
        return PLACES
    own = pose.skeleton.B[:, :, :3]
    given = pose.scales[..., None] * np.eye(3)
    size = np.abs(own).max(axis=(1, 2), initial=0.0)[:, None, None]
    return PLACES if (np.abs(given - own) <= _SAME * size).all() else MAPS


def frame_rows(pose: Pose, width: int | None = None) -> Singles:
    """Pack world transforms (..., joints, width) as float32. They are in file units; `width` is 7 or 12.

    7 numbers are x y z and w x y z: the world's linear part is that rotation times `linear` of the rig message.
    """
    affine = pose.world.affine
    if (width_of(pose) if width is None else width) == MAPS:
        return affine.reshape(*affine.shape[:-2], MAPS).astype(np.float32)
    inverse = drawn(pose.skeleton).inverse
    maps = np.array(affine.reshape(-1, *affine.shape[-3:]))
    if inverse is not None:
        maps[..., :3] = maps[..., :3] @ inverse
    turns = turns_of(maps.reshape(-1, MAPS), _SIMILAR, poses=len(maps))
    rows = np.concatenate([maps[..., 3].reshape(-1, 3), turns], axis=1, dtype=np.float32)
    return rows.reshape(*affine.shape[:-2], PLACES)
