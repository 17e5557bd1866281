"""Columns of joint values: names, order and numbers.

Columns are the joints that move, in skeleton order, coupled ones included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.errors import UnsupportedError, join_names
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton

_TARGET_COLUMNS = {"position": ("x", "y", "z"), "rotation": ("qw", "qx", "qy", "qz")}
_ERROR_COLUMNS = {"position": "error", "rotation": "angle_error"}
_COLUMN_SUFFIXES = {
    Kind.HINGE: ("",), Kind.SLIDE: ("",), Kind.BALL: (".w", ".x", ".y", ".z"),
    Kind.FREE: (".px", ".py", ".pz", ".w", ".x", ".y", ".z"),
}  # fmt: skip


def list_table_columns(measures: Sequence[str]) -> tuple[str, ...]:
    """List the columns of solved targets before the joint values. They are the target and the solve's status.

    measures  measures of the goal: "position", "rotation" or both
    """
    target_columns = [name for measure in measures for name in _TARGET_COLUMNS[measure]]
    return (*target_columns, "status", *(_ERROR_COLUMNS[measure] for measure in measures), "iterations")


TABLE_COLUMNS = list_table_columns(("position", "rotation"))
"""All possible columns of a solved target."""


class MovableJoint(NamedTuple):
    """Row of a movable joint, and the number of its values."""

    row: int
    value_count: int


def list_movable_joints(skeleton: Skeleton) -> list[MovableJoint]:
    """List all movable joints."""
    value_counts = [kind.nq for kind in Kind]
    return [
        MovableJoint(row, value_counts[kind]) for row, kind in enumerate(skeleton.kinds.tolist()) if kind != Kind.FIXED
    ]


def list_columns(skeleton: Skeleton) -> list[str]:
    """List a column name for each number."""
    return [
        skeleton.names[joint.row] + suffix
        for joint in list_movable_joints(skeleton)
        for suffix in _COLUMN_SUFFIXES[Kind(skeleton.kinds[joint.row])]
    ]


def compute_joint_numbers(skeleton: Skeleton, q: Floats) -> Floats:
    """Compute numbers (..., columns) from configurations (..., nq). Coupled joints get ratio * leader + offset."""
    columns: list[Floats] = []
    for i, value_count in list_movable_joints(skeleton):
        start = int(skeleton.q_start[i])
        joint_numbers = q[..., start : start + value_count]
        coupling = skeleton.couplings[i]
        columns.append(joint_numbers if coupling is None else coupling.ratio * joint_numbers + coupling.offset)
    return np.concatenate(columns, axis=-1) if columns else np.zeros((*q.shape[:-1], 0))


def check_no_local_offsets(poses: Pose) -> None:
    """Refuse local translations and scales other than the skeleton's. Joint values cannot hold them."""
    skeleton = poses.skeleton
    is_changed = np.zeros(len(skeleton), dtype=bool)
    own_scales = np.diagonal(skeleton.B[:, :, :3], axis1=1, axis2=2)
    for values, expected in ((poses.translations, skeleton.A[:, :3]), (poses.scales, own_scales)):
        if values is not None:
            is_changed |= (values != expected).reshape(-1, len(skeleton), 3).any(axis=(0, 2))
    if is_changed.any():
        names = join_names(skeleton.names[i] for i in np.flatnonzero(is_changed))
        message = f"joint values hold no translation or scale of single joints, and these have one: {names}"
        raise UnsupportedError(message)
