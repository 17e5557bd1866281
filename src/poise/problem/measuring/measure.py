"""Goal errors of poses by forward kinematics.

Measurements use the skeleton's own joint data, and nothing reported by a solver.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.kernels.codes import ASK_ROW, PATH_ROW, SAME
from poise.maths import rotations
from poise.maths.angles import Side, direction_left, length, rotation_left, side_of
from poise.maths.arrays import Floats, Ints
from poise.maths.lanes import lane_width, scratch
from poise.maths.remember import remember
from poise.model.joints import NQ
from poise.model.kinematics import Given, world_maps
from poise.model.pose import Pose, Transforms
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import AnyGoal, Balance, Pole
from poise.problem.layout import AIM, BALANCE, DIRECTION, NUMBERS, POLE, POSITION, ROTATION, Measure, measures_of
from poise.problem.measuring.balance import left_of_balance
from poise.problem.packing import axis_in, offset_of

_EXACT = 1e-9  # largest deviation from a rotation times a factor
_SAME = math.sqrt(SAME)  # relative distance of coincident points, from rounding


class Paths(NamedTuple):
    """Kernel input for the paths from the root to the measures. See kernels/paths.py.

    angle_factors  (column, factor) of angular errors: ratio of the error to the angle computed by the kernel
    """

    table: Floats
    spans: Ints
    asks: Floats
    used: Ints
    factors: tuple[tuple[int, float], ...]


def paths_of(skeleton: Skeleton, goals: Sequence[AnyGoal], kinds: Hashable) -> Paths | None:
    """Pack the paths from the root to the goals' joints.

    None for non-uniform scale and for a Balance, which depends on all joints; `Pose.world` measures these. Paths are
    remembered with the skeleton for goals of these kinds, and hold for poses without translations and scales of their
    own.
    """
    return remember(skeleton, "paths", kinds, lambda: _packed(skeleton, goals))


def _asks(skeleton: Skeleton, measures: Sequence[Measure], goals: Sequence[AnyGoal]) -> Floats:
    """Pack the quantity measured at the end of each path. See kernels/paths.py."""
    asks = np.zeros((len(measures), ASK_ROW))
    for row, measure in zip(asks, measures, strict=True):
        goal = goals[measure.goal]
        row[:2], row[5:] = (measure.kind, measure.column), offset_of(goal)
        if measure.kind in (DIRECTION, AIM):
            row[2:5] = axis_in(skeleton, goal)
        elif isinstance(goal, Pole):
            row[2:4] = [len(skeleton.way(joint)) for joint in measure.limb]
    return asks


def _packed(skeleton: Skeleton, goals: Sequence[AnyGoal]) -> Paths | None:
    measures = measures_of(skeleton, goals)
    rows: list[int] = []
    spans = np.zeros((len(measures), 2), dtype=np.int64)
    for i, measure in enumerate(measures):
        if measure.kind == BALANCE:
            return None
        way = skeleton.way(measure.row)
        spans[i] = len(rows), len(rows) + len(way)
        rows.extend(way)
    packed = {row: _packed_row(skeleton, row) for row in set(rows)}
    if any([line is None for line in packed.values()]):  # noqa: C419  (faster than a generator)
        return None
    table = np.array([packed[row] for row in rows]).reshape(-1, PATH_ROW)
    used = _used(skeleton, sorted(set(rows)))
    _count_in(table, used)
    angles = tuple([(c, 2.0 if m.kind == ROTATION else 1.0) for c, m in enumerate(measures) if m.kind != POSITION])
    return Paths(table, spans, _asks(skeleton, measures, goals), used, angles)


def _packed_row(s: Skeleton, row: int) -> Floats | None:
    """Pack a table row, with columns of the skeleton's q. None where the row's scale is not uniform."""
    line, b = np.zeros(PATH_ROW), s.B[row]
    line[0], line[1:4], line[4:11] = s.kinds[row], s.axes[row], s.A[row]
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


def _used(s: Skeleton, rows: Sequence[int]) -> Ints:
    """Return the columns of q used by these rows."""
    return np.unique([int(s.q_start[row]) + j for row in rows for j in NQ[s.kinds[row]]]).astype(np.int64)


def _count_in(table: Floats, used: Ints) -> None:
    """Renumber the table's q columns among the used ones."""
    moving = table[:, 0] != Kind.FIXED
    table[moving, 11] = np.searchsorted(used, table[moving, 11].astype(np.int64))


def errors_by_paths(paths: Paths, q: Floats, targets: Floats) -> Floats:
    """Compute the errors (k, c) of poses q (k, nq). Distances are in file units, angles in radians."""
    out = np.empty((len(q), len(paths.spans), 2))
    width = lane_width()
    work = scratch((len(paths.used) + 7) * width)
    measure = kernels.paths.measure8 if width == 8 else kernels.paths.measure4  # noqa: PLR2004
    measure(paths.table, paths.spans, paths.asks, q, paths.used, targets, work, out)
    errors = out[:, :, 0]
    for c, factor in paths.factors:
        errors[:, c] = factor * np.arctan2(out[:, c, 0] + 0.0, out[:, c, 1] + 0.0)  # atan2(0, -0) is half a turn
    return errors


def errors_of_one(paths: Paths, allowed: Floats, q: Floats, target: Floats) -> tuple[Floats, bool]:
    """Compute the errors (c,) of one pose q (nq,).

    Also return whether each error is within `max_errors` (c,) to rounding; `target` is (1, W). Errors equal those of
    `compute_path_errors` to rounding. A separate kernel, as arrays take ten times as long for one pose.
    """
    errors = np.empty(len(allowed))
    work = np.empty(len(paths.used) + 7 + 2 * len(allowed))
    parts = paths.table, paths.spans, paths.asks, paths.used
    return errors, kernels.paths.measure_one(*parts, allowed, q, target, work, errors)


def errors_by_world(
    pose: Pose, goals: Sequence[AnyGoal], targets: Floats, q: Floats | None = None, measures: Sequence[Measure] = ()
) -> Floats:
    """Compute errors (k, c) from world transforms of any scale. For `q` see `WorldTransforms`."""
    measures = measures or measures_of(pose.skeleton, goals)
    places = Places(pose, {row for measure in measures for row in (measure.row, *measure.limb)}, q)
    errors = np.empty((len(pose), len(measures)))
    for c, measure in enumerate(measures):
        given = targets[:, measure.column : measure.column + NUMBERS[measure.kind]]
        goal = goals[measure.goal]
        if isinstance(goal, Balance):
            errors[:, c] = length(left_of_balance(pose, goal)[0])
        elif measure.kind == POSITION:
            errors[:, c] = length(given - places.point(measure, goal))
        elif measure.kind == POLE:
            errors[:, c] = np.abs(places.side(measure, given).angle)
        elif measure.kind == ROTATION:
            errors[:, c] = rotation_left(places[measure.row].rotations, given)
        else:
            errors[:, c] = direction_left(places.axis(measure, goal), places.way(measure, goal, given))
    return errors


# --- measures in world coordinates -------------------------------------------------------------------------------


class Places:
    """World transforms of a pose batch (k,) by skeleton row.

    Transforms of `rows` are computed along their paths where that is shorter than one pass over all joints. `q` are the
    values of the poses in kernel layout.
    """

    def __init__(self, pose: Pose, rows: Collection[int] = (), q: Floats | None = None) -> None:
        skeleton, self._pose = pose.skeleton, pose
        self._found: dict[int, Transforms] = {}
        if q is not None and sum([len(skeleton.way(row)) for row in rows]) < len(skeleton):
            given = Given(pose.translations, pose.scales)
            self._found = {row: Transforms(skeleton, world_maps(skeleton, row, q, given)[:, 0]) for row in rows}

    def __getitem__(self, row: int) -> Transforms:
        found = self._found.get(row)
        return self._pose.world[self._pose.skeleton.names[row]] if found is None else found

    def point(self, measure: Measure, goal: AnyGoal) -> Floats:
        """Compute the point (k, 3) of a position or an aim."""
        affine, offset = self[measure.row].affine, offset_of(goal)
        return affine[:, :, 3] + affine[:, :, :3] @ np.array(offset) if any(offset) else affine[:, :, 3]

    def axis(self, measure: Measure, goal: AnyGoal) -> Floats:
        """Compute the axis (k, 3) of a direction or an aim."""
        return rotations.rotate(self[measure.row].rotations, np.array(axis_in(self._pose.skeleton, goal)))

    def way(self, measure: Measure, goal: AnyGoal, given: Floats) -> Floats:
        """Compute the desired direction (k, 3) of a direction or aim.

        It has any length; it is zero for an aim at its target.
        """
        if measure.kind != AIM:
            return given
        point = self.point(measure, goal)
        way = given - point
        there = length(way) <= _SAME * np.hypot(length(given), length(point))
        return np.where(there[:, None], 0.0, way)

    def side(self, measure: Measure, given: Floats) -> Side:
        """Compute the bend direction of a pole's limb."""
        first, middle, tip = (self[row].positions for row in (*measure.limb, measure.row))
        return side_of(first, middle, tip, given)


def point_of(pose: Pose, measure: Measure, goal: AnyGoal) -> Floats:
    """Compute the goal point (k, 3) of a position or aim."""
    return Places(pose).point(measure, goal)
