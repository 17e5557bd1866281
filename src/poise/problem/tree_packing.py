"""Tables around the solver of a tree, packed for kernels/tree_targets.py."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.kernels.layout import FK_ROW, SET_TARGET_ROW, WORLD_MEASURE_ROW, TreeTables
from poise.maths.arrays import Floats, Ints, find_simd_width
from poise.problem.goal_errors import NO_ERROR_PATHS, ErrorPaths
from poise.problem.packed_tables import pack_tables
from poise.problem.problem import Problem
from poise.problem.set_targets import pack_set_targets
from poise.problem.world_measures import WorldMeasures
from poise.runtime.result_cache import get_or_compute

_NO_COLUMNS = np.empty(0, dtype=np.int64)
_NO_MAPS = np.empty((0, FK_ROW)), np.empty((0, WORLD_MEASURE_ROW)), _NO_COLUMNS


class TreeTargetTables(NamedTuple):
    """Constant inputs of kernels/tree_targets.py.

    work_size      numbers of scratch memory for measuring
    measure_count  number of measured errors; 0 where kernels cannot measure
    """

    tables: Floats
    layout: Ints
    work_size: int
    measure_count: int


def pack_tree_tables(problem: Problem) -> TreeTargetTables:
    """Pack the tables of a problem. They serve all starts with its plan, and all weights."""
    goal_key, start = problem.goal_key, problem.start
    has_offsets = start.translations is not None, start.scales is not None
    key = goal_key.offsets, goal_key.ranges, problem.has_preference, has_offsets
    return get_or_compute(problem.plan.tree, "tables of targets", key, lambda: _pack_tables(problem))


def _pack_tables(problem: Problem) -> TreeTargetTables:
    plan, paths = problem.plan, problem.error_paths
    world = problem.world_measures if paths is None else None
    set_rows, template = np.empty((0, SET_TARGET_ROW)), np.zeros(plan.target_width)
    if plan.has_set_terms:
        set_rows, template = pack_set_targets(plan)
    path_rows = NO_ERROR_PATHS if paths is None else paths
    map_table, map_measures, map_columns = _NO_MAPS
    if world is not None:
        map_table, map_measures, map_columns = world.table.constants, world.measure_rows, world.table.q_columns
    tables = TreeTables(
        np.array([plan.signed_kernel_unit]),
        plan.target_columns,
        set_rows,
        template,
        *plan.coordinate_map,
        problem.unwrapped_hinges,
        path_rows.table,
        path_rows.spans,
        path_rows.measure_rows,
        map_table,
        map_measures,
    )
    head = len(path_rows.q_columns), len(map_columns)
    packed = pack_tables(head, tables, path_rows.q_columns, map_columns)
    return TreeTargetTables(*packed, _compute_work_size(paths, world), len(path_rows.spans) + len(map_measures))


def _compute_work_size(paths: ErrorPaths | None, world: WorldMeasures | None) -> int:
    if paths is not None:
        return (len(paths.q_columns) + 7) * find_simd_width()
    return 0 if world is None else world.work_size
