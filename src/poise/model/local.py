"""Parent-relative transforms as translation, rotation and scale, as in file nodes.

NumPy only: reading and saving do not wait for a compiler. `kinematics.py` has compiled forward kinematics.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton


class Parts(NamedTuple):
    """Local transforms as stored in file nodes.

    Translations are (..., n, 3), rotations (..., n, 4) w x y z, scales (..., n, 3).
    """

    translation: Floats
    rotation: Floats
    scale: Floats


def local_parts(pose: Pose) -> Parts:
    """Compute the local transform of every joint, A . J(q) . B.

    A joint at q = 0 gets the numbers of A bit for bit. The scale does not contain a shear of B.
    """
    s, q = pose.skeleton, pose.q
    rotation = np.broadcast_to(s.A[:, 3:], (*pose.shape, len(s), 4)).copy()
    translation = np.broadcast_to(s.A[:, :3], (*pose.shape, len(s), 3)).copy()
    turning = np.flatnonzero(s.kinds >= Kind.BALL)
    starts = s.q_start[turning] + np.where(s.kinds[turning] == Kind.FREE, 3, 0)
    turns = q[..., starts[:, None] + np.arange(4)]
    rotation[..., turning, :] = rotations.multiply(rotation[..., turning, :], turns)
    for row in np.flatnonzero((s.kinds != Kind.BALL) & (s.kinds != Kind.FIXED)).tolist():
        _move(s, row, q, translation, rotation)
    if pose.translations is not None:
        beside = s.kinds != Kind.FREE  # free joints have their translation in q
        translation[..., beside, :] = pose.translations[..., beside, :]
    units = rotations.unit(rotation)
    scale = np.diagonal(s.B[:, :, :3], axis1=1, axis2=2) if pose.scales is None else pose.scales
    return Parts(translation, units, np.broadcast_to(scale, translation.shape))


def _move(s: Skeleton, row: int, q: Floats, translation: Floats, rotation: Floats) -> None:
    """Apply the motion of a free joint, hinge or slide."""
    start, rest = int(s.q_start[row]), s.A[row]
    if s.kinds[row] == Kind.FREE:
        translation[..., row, :] = rest[:3] + rotations.rotate(rest[3:], q[..., start : start + 3])
        return
    ratio, offset = s.coupling_rows[row]
    value = ratio * q[..., start] + offset
    if s.kinds[row] == Kind.SLIDE:
        translation[..., row, :] = rest[:3] + value[..., None] * rotations.rotate(rest[3:], s.axes[row])
    else:
        turn = rotations.about(s.axes[row], value)
        rotation[..., row, :] = rotations.multiply(np.broadcast_to(rest[3:], turn.shape), turn)


def rest_parts(pose: Pose) -> Parts:
    """Compute the local rest transforms. They are A . B; a free joint is where rest_q has it."""
    s = pose.skeleton
    q = s.zero_q()
    for row in np.flatnonzero(s.kinds == Kind.FREE).tolist():
        start = int(s.q_start[row])
        q[start : start + 7] = s.rest_q[start : start + 7]
    parts = local_parts(Pose(s, q))
    A_rows = (s.kinds == Kind.HINGE) | (s.kinds == Kind.SLIDE)  # noqa: N806  (a coupling's offset is not part of the rest pose)
    parts.translation[A_rows], parts.rotation[A_rows] = s.A[A_rows, :3], s.A[A_rows, 3:]
    return parts


def world(parents: list[int], translations: Floats, turned: Floats, linear: Floats) -> Floats:
    """Compose world transforms (n, 4, 4) from local ones, parents first.

    A local transform is T . R . L. A product that overflows is inf or NaN.
    """
    local = np.zeros((len(parents), 4, 4))
    local[:, :3, :3] = rotations.as_matrix(turned) @ linear
    local[:, :3, 3], local[:, 3, 3] = translations, 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        for row, parent in enumerate(parents):
            if parent >= 0:
                local[row] = local[parent] @ local[row]
    return local
