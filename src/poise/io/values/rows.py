"""Joint values in files: column order and reader.

Columns are the joints that move, in skeleton order, coupled ones included.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.errors import UnsupportedError, listed
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton

_TARGET = {"position": ("x", "y", "z"), "rotation": ("qw", "qx", "qy", "qz")}
_ERROR = {"position": "error", "rotation": "angle_error"}
_SUFFIXES = {
    Kind.HINGE: ("",), Kind.SLIDE: ("",), Kind.BALL: (".w", ".x", ".y", ".z"),
    Kind.FREE: (".px", ".py", ".pz", ".w", ".x", ".y", ".z"),
}  # fmt: skip


def table_columns(measures: Sequence[str]) -> tuple[str, ...]:
    """List the columns of solved targets before the joint values. They are the target and the solve's status.

    measures  measures of the goal: "position", "rotation" or both
    """
    target = [name for measure in measures for name in _TARGET[measure]]
    return (*target, "status", *(_ERROR[measure] for measure in measures), "iterations")


TABLE_COLUMNS = table_columns(("position", "rotation"))
"""All possible columns of a solved target."""


def moving_rows(skeleton: Skeleton) -> list[tuple[int, int]]:
    """List (row, number of values) of every non-fixed joint."""
    sizes = [kind.nq for kind in Kind]
    return [(i, sizes[kind]) for i, kind in enumerate(skeleton.kinds.tolist()) if kind != Kind.FIXED]


def columns_of(skeleton: Skeleton) -> list[str]:
    """List a column name for each number."""
    return [
        skeleton.names[i] + suffix for i, _ in moving_rows(skeleton) for suffix in _SUFFIXES[Kind(skeleton.kinds[i])]
    ]


def joint_numbers(skeleton: Skeleton, q: Floats) -> Floats:
    """Compute numbers (..., columns) from configurations (..., nq). Coupled joints get ratio * leader + offset."""
    parts: list[Floats] = []
    for i, size in moving_rows(skeleton):
        start = int(skeleton.q_start[i])
        part = q[..., start : start + size]
        coupling = skeleton.couplings[i]
        parts.append(part if coupling is None else coupling.ratio * part + coupling.offset)
    return np.concatenate(parts, axis=-1) if parts else np.zeros((*q.shape[:-1], 0))


def refuse_extras(poses: Pose) -> None:
    """Refuse local translations and scales other than the skeleton's. Joint values cannot hold them."""
    skeleton = poses.skeleton
    moved = np.zeros(len(skeleton), dtype=bool)
    own_scales = np.diagonal(skeleton.B[:, :, :3], axis1=1, axis2=2)
    for given, own in ((poses.translations, skeleton.A[:, :3]), (poses.scales, own_scales)):
        if given is not None:
            moved |= (given != own).reshape(-1, len(skeleton), 3).any(axis=(0, 2))
    if moved.any():
        names = listed(skeleton.names[i] for i in np.flatnonzero(moved))
        message = f"joint values hold no translation or scale of single joints, and these have one: {names}"
        raise UnsupportedError(message)
