"""How far goals are from being met in a pose, by forward kinematics along the skeleton's own rows.

The judge's side of the work: nothing that a solver was given, or says, is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise import kernels, rotations
from poise.arrays import Floats, Ints
from poise.goals import AnyGoal, Direction
from poise.machine import aligned, lane_width
from poise.pose import Pose
from poise.skeleton import Kind
from poise.tree_layout import DIRECTION, NUMBERS, POSITION, measures_of

_EXACT = 1e-9  # linear parts this near to a rotation times a factor are one
_TABLE = 23  # columns; see kernels/paths.py


class Paths(NamedTuple):
    """What the kernel needs; see kernels/paths.py."""

    table: Floats
    spans: Ints
    asks: Floats
    used: Ints


def paths_of(start: Pose, goals: Sequence[AnyGoal]) -> Paths | None:
    """Pack the paths from the root to the goals' joints; None where scale is not uniform (then Pose.world tells).

    Remembered per skeleton for poses without translations and scales of their own.
    """
    if start.translations is not None or start.scales is not None:
        return _packed(start, goals)
    known: dict[object, Paths | None] = start.skeleton.__dict__.setdefault("_measured_paths", {})
    key = tuple((m, goals[m.goal].axis if m.kind == DIRECTION else None) for m in measures_of(start.skeleton, goals))  # pyright: ignore[reportAttributeAccessIssue]
    if key not in known:
        known[key] = _packed(start, goals)
    return known[key]


def _packed(start: Pose, goals: Sequence[AnyGoal]) -> Paths | None:
    measures = measures_of(start.skeleton, goals)
    rows: list[int] = []
    spans = np.zeros((len(measures), 2), dtype=np.int64)
    asks = np.zeros((len(measures), 5))
    for i, measure in enumerate(measures):
        way = start.skeleton.way(measure.row)
        spans[i] = len(rows), len(rows) + len(way)
        rows.extend(way)
        asks[i, :2] = measure.kind, measure.column
        goal = goals[measure.goal]
        if isinstance(goal, Direction):
            asks[i, 2:] = goal.axis
    packed = {row: _packed_row(start, row) for row in set(rows)}
    if any(line is None for line in packed.values()):
        return None
    table = np.array([packed[row] for row in rows]).reshape(-1, _TABLE)
    used = _used(start, sorted(set(rows)))
    _count_in(table, used)
    return Paths(table, spans, asks, used)


def _packed_row(start: Pose, row: int) -> Floats | None:
    """A row of the table, its q columns still those of the skeleton; None where its scale is not uniform."""
    s = start.skeleton
    kind = Kind(s.kinds[row])
    a, b = s.A[row].copy(), start.b_affine.reshape(-1, len(s), 3, 4)[0, row]
    if start.translations is not None and kind != Kind.FREE:
        a[:3] = start.translations.reshape(-1, len(s), 3)[0, row]
    line = np.zeros(_TABLE)
    line[0], line[1:4], line[4:11] = int(kind), s.axes[row], a
    line[11], line[12:14] = s.q_start[row], s.coupling_rows[row]
    line[18], line[22] = 1.0, 1.0
    if (b != np.eye(3, 4)).any():
        determinant = np.linalg.det(b[:, :3])
        scale = np.cbrt(determinant)
        if scale == 0 or np.abs(b[:, :3] @ b[:, :3].T / scale**2 - np.eye(3)).max() > _EXACT:
            return None
        line[14], line[15:18], line[22] = 1.0, b[:, 3], scale
        line[18:22] = rotations.from_matrix(b[:, :3] / scale)
    return line


def _used(start: Pose, rows: Sequence[int]) -> Ints:
    """The columns of q that these rows need."""
    s = start.skeleton
    needed = {int(s.q_start[row]) + j for row in rows for j in range(Kind(s.kinds[row]).nq)}
    return np.array(sorted(needed), dtype=np.int64)


def _count_in(table: Floats, used: Ints) -> None:
    """Make the table count in the columns that are used."""
    moving = table[:, 0] != Kind.FIXED
    table[moving, 11] = np.searchsorted(used, table[moving, 11].astype(np.int64))


def errors_by_paths(paths: Paths, q: Floats, targets: Floats) -> Floats:
    """The errors (k, c) of poses q (k, nq): distances in file units, angles in radians."""
    out = np.empty((len(q), len(paths.spans), 2))
    width = lane_width()
    work = aligned((len(paths.used) + 7) * width)
    measure = kernels.paths.measure8 if width == 8 else kernels.paths.measure4  # noqa: PLR2004
    measure(paths.table, paths.spans, paths.asks, q, paths.used, targets, work, out)
    errors = out[:, :, 0]
    for c, kind in enumerate(paths.asks[:, 0]):
        if kind != POSITION:
            factor = 1.0 if kind == DIRECTION else 2.0
            errors[:, c] = factor * np.arctan2(out[:, c, 0], out[:, c, 1])
    return errors


def errors_by_world(pose: Pose, goals: Sequence[AnyGoal], targets: Floats) -> Floats:
    """The same from the world transforms of a batch of poses (k,), whatever their scale."""
    measures = measures_of(pose.skeleton, goals)
    errors = np.empty((len(pose), len(measures)))
    for c, measure in enumerate(measures):
        affine = pose.world.affine[:, measure.row]
        given = targets[:, measure.column : measure.column + NUMBERS[measure.kind]]
        if measure.kind == POSITION:
            errors[:, c] = np.sqrt(((given - affine[:, :, 3]) ** 2).sum(axis=-1))
            continue
        turned = pose.world[pose.skeleton.names[measure.row]].rotations
        goal = goals[measure.goal]
        errors[:, c] = _turn_left(turned, given, np.array(goal.axis) if isinstance(goal, Direction) else None)
    return errors


def _turn_left(turned: Floats, wanted: Floats, axis: Floats | None) -> Floats:
    """Angle (k,) that is left to a rotation, or of a joint's axis to a direction."""
    if axis is None:
        left = rotations.multiply(wanted, rotations.inverse(turned))
        return 2.0 * np.arctan2(np.sqrt((left[:, 1:] ** 2).sum(axis=-1)), np.abs(left[:, 0]))
    points = rotations.rotate(turned, axis)
    across = np.cross(points, wanted)
    return np.arctan2(np.sqrt((across**2).sum(axis=-1)), (points * wanted).sum(axis=-1))
