"""Measures in world maps, packed for kernels/world_errors.py.

They serve starts with translations and scales of their own, non-uniform scale, relative goals and ranges. Other goals
are measured along their paths, see `ErrorPaths` in problem/goal_errors.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.kernels import layout
from poise.maths.arrays import Floats, find_simd_width, get_scratch
from poise.model.kinematics import (
    KinematicsTable,
    LocalOffsets,
    build_table,
    flatten_local_offsets,
    pack_local_offsets,
)
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.problem import dof_layout
from poise.problem.goal_fields import get_goal_point, get_pointing_axis
from poise.problem.goal_ranges import get_set_kind, get_within, pack_turn
from poise.problem.goals import AnyGoal
from poise.runtime.result_cache import get_or_compute

_WIDE_LANE_COUNT = 8
_NO_OFFSET_ROWS = np.empty((0, 0))


class WorldMeasures(NamedTuple):
    """Kernel input for measures of some starts.

    table          rows from the roots to the measured joints
    measure_rows   (c, WORLD_MEASURE_ROW)
    local_offsets  (0|1|k, 6 r) translations and scales of the starts
    """

    table: KinematicsTable
    measure_rows: Floats
    local_offsets: Floats

    @property
    def work_size(self) -> int:
        """Numbers of scratch memory."""
        return compute_work_size(self.table)


def compute_work_size(table: KinematicsTable) -> int:
    """Compute the numbers of scratch memory for measuring."""
    return (len(table.q_columns) + 30 * len(table.joint_rows) + 12) * find_simd_width()


def pack_world_measures(
    start: Pose, goals: Sequence[AnyGoal], measures: Sequence[dof_layout.Measure], goal_key: Hashable
) -> WorldMeasures | None:
    """Pack the measures of goals in starts. None with a Balance, which depends on all joints."""
    if dof_layout.BALANCE in [measure.kind for measure in measures]:
        return None
    skeleton, offsets = start.skeleton, (start.translations, start.scales)
    key = goal_key, offsets[0] is not None, offsets[1] is not None

    def pack_rows() -> tuple[KinematicsTable, Floats]:
        table = _get_paths_table(skeleton, measures, LocalOffsets(*offsets))
        return table, _pack_measure_rows(skeleton, goals, measures, table)

    table, measure_rows = get_or_compute(skeleton, "world measures", key, pack_rows)
    if offsets[0] is None and offsets[1] is None:
        return WorldMeasures(table, measure_rows, _NO_OFFSET_ROWS)
    return WorldMeasures(table, measure_rows, pack_local_offsets(table, flatten_local_offsets(*offsets)))


def _get_paths_table(
    skeleton: Skeleton, measures: Sequence[dof_layout.Measure], offsets: LocalOffsets
) -> KinematicsTable:
    """Return the remembered table of all paths to measured joints, parents first."""
    measured = {row for measure in measures for row in (measure.row, *measure.limb_rows, measure.reference_row)}
    rows = tuple(sorted({row for end in measured if end >= 0 for row in skeleton.list_path(end)}))
    has_translations, has_scales = offsets.translations is not None, offsets.scales is not None

    def build_paths_table() -> KinematicsTable:
        return build_table(skeleton, list(rows), has_translations=has_translations, has_scales=has_scales)

    return get_or_compute(skeleton, "tables of paths", (rows, has_translations, has_scales), build_paths_table)


def _pack_measure_rows(
    skeleton: Skeleton, goals: Sequence[AnyGoal], measures: Sequence[dof_layout.Measure], table: KinematicsTable
) -> Floats:
    index_by_row = {row: i for i, row in enumerate(table.joint_rows.tolist())}
    rows = np.zeros((len(measures), layout.WORLD_MEASURE_ROW))
    for row, measure in zip(rows, measures, strict=True):
        goal = goals[measure.goal_index]
        row[layout.WORLD_KIND], row[layout.WORLD_TARGET_START] = measure.kind, measure.target_column
        row[layout.WORLD_MAP] = index_by_row[measure.row]
        if measure.kind in (dof_layout.POSITION, dof_layout.AIM):
            row[layout.WORLD_POINT : layout.WORLD_REFERENCE] = get_goal_point(goal)
        if measure.kind in (dof_layout.DIRECTION, dof_layout.AIM):
            row[layout.WORLD_VECTOR : layout.WORLD_POINT] = get_pointing_axis(skeleton, goal)
        elif measure.kind == dof_layout.POLE:
            row[layout.WORLD_VECTOR : layout.WORLD_VECTOR + 2] = [index_by_row[joint] for joint in measure.limb_rows]
        row[layout.WORLD_REFERENCE] = index_by_row.get(measure.reference_row, -1)
        _pack_set(row, measure, goal, find_axes_column(measures, measure.goal_index))
    return rows


def find_axes_column(measures: Sequence[dof_layout.Measure], goal_index: int) -> int:
    """Find the column of the rotation of a goal's target. It is -1 for goals without rotation."""
    columns = [m.target_column for m in measures if m.goal_index == goal_index and m.kind == dof_layout.ROTATION]
    return columns[0] if columns else -1


def _pack_set(row: Floats, measure: dof_layout.Measure, goal: AnyGoal, axes_column: int) -> None:
    """Pack the set of a measure."""
    within, set_kind = get_within(goal), get_set_kind(goal, dof_layout.MEASURE_NAMES[measure.kind])
    row[layout.WORLD_SET_KIND], row[layout.WORLD_AXES_START] = set_kind, axes_column
    if set_kind == layout.NO_SET:
        return
    assert within is not None
    if set_kind == layout.TURN_SET:
        assert within.turn is not None
        row[layout.WORLD_SET :] = pack_turn(within.turn)
    else:
        row[layout.WORLD_SET : layout.WORLD_SET + 6] = np.ravel(within.intervals)


def measure_parts(world: WorldMeasures, q: Floats, targets: Floats) -> Floats:
    """Measure parts of errors (k, c, 2).

    Poses are q (k, nq).
    """
    table, measure_rows, local_offsets = world
    if len(local_offsets) > 1:
        local_offsets = np.broadcast_to(local_offsets, (len(q), local_offsets.shape[1]))  # raises for another count
    error_parts = np.empty((len(q), len(measure_rows), 2))
    is_wide = find_simd_width() == _WIDE_LANE_COUNT
    measure = kernels.world_errors.measure8 if is_wide else kernels.world_errors.measure4
    measure(
        table.constants, measure_rows, table.q_columns, q, local_offsets, targets, get_scratch(world.work_size),
        error_parts,
    )  # fmt: skip
    return error_parts
