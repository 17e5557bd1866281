"""The order of joint values in files: the joints that move, in skeleton order, coupled ones included."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.maths.arrays import Floats
from poise.model.skeleton import Kind, Skeleton

_TARGET = {"position": ("x", "y", "z"), "rotation": ("qw", "qx", "qy", "qz")}
_ERROR = {"position": "error", "rotation": "angle_error"}
_SUFFIXES = {
    Kind.HINGE: ("",), Kind.SLIDE: ("",), Kind.BALL: (".w", ".x", ".y", ".z"),
    Kind.FREE: (".px", ".py", ".pz", ".w", ".x", ".y", ".z"),
}  # fmt: skip


def table_columns(measures: Sequence[str]) -> tuple[str, ...]:
    """What a table of solved targets has before the joint values: the target and how the solve ended.

    measures  "position", "rotation" or both: what the goal asks for
    """
    target = [name for measure in measures for name in _TARGET[measure]]
    return (*target, "status", *(_ERROR[measure] for measure in measures), "iterations")


TABLE_COLUMNS = table_columns(("position", "rotation"))
"""Every column that may stand there."""


def moving_rows(skeleton: Skeleton) -> list[tuple[int, int]]:
    """(row, how many numbers) of every joint that is not fixed."""
    sizes = [kind.nq for kind in Kind]
    return [(i, sizes[kind]) for i, kind in enumerate(skeleton.kinds.tolist()) if kind != Kind.FIXED]


def columns_of(skeleton: Skeleton) -> list[str]:
    """A name for each number."""
    return [
        skeleton.names[i] + suffix for i, _ in moving_rows(skeleton) for suffix in _SUFFIXES[Kind(skeleton.kinds[i])]
    ]


def joint_numbers(skeleton: Skeleton, q: Floats) -> Floats:
    """Numbers (..., columns) of configurations (..., nq): coupled joints get ratio * leader + offset."""
    parts: list[Floats] = []
    for i, size in moving_rows(skeleton):
        start = int(skeleton.q_start[i])
        part = q[..., start : start + size]
        coupling = skeleton.couplings[i]
        parts.append(part if coupling is None else coupling.ratio * part + coupling.offset)
    return np.concatenate(parts, axis=-1) if parts else np.zeros((*q.shape[:-1], 0))
