# pyright: standard
"""Conversion of world targets of a tree, and measures of its solutions.

`tree_lm` solves in the base frame. With world targets its entries convert them first, and convert and measure the
solutions afterwards, in one call: a call from Python costs about a microsecond, a small solve two or three. Constant
data are in two arrays, `packed_tables` and `packed_layout`: see `TreeTables`. k problems:

    world_targets    (0|k, W)      numbers of all goals side by side; without rows nothing below is read or written
    base_transforms  (1|k, 12)     world transforms of the base, without scale
    far_reaches      (0|1|k, 4)    first joint x y z, and a distance: with a target beyond it nothing is solved
    start_q          (1|k, nq)     the starts
    local_offsets    (0|1|k, 6 r)  translations and scales of the starts, see kernels/world_errors.py
    q                (k, nq)       written: solutions; where no joint has moved, the start bit for bit
    error_parts      (k, c, 2)     written: see kernels/goal_errors.py and kernels/world_errors.py
"""

from __future__ import annotations

from typing import Any, NamedTuple

from poise.kernels.chain_targets import is_beyond
from poise.kernels.device_functions import inline, never_inline
from poise.kernels.goal_errors import PathArrays, measure_solutions
from poise.kernels.kernel_coordinates import (
    CoordinateMapArrays,
    compute_base_rotation,
    convert_set_target,
    convert_target,
    write_moved_q,
)
from poise.kernels.lanes import SCALAR, view_lanes
from poise.kernels.layout import (
    COUNT_ITERATIONS,
    TREE_HEAD_SIZE,
    TREE_MAP_COLUMN_COUNT,
    TREE_PATH_COLUMN_COUNT,
    TreeTables,
)
from poise.kernels.world_errors import WorldPaths, measure_poses


class TargetArrays(NamedTuple):
    """Arrays around the solver, see above."""

    packed_tables: Any
    packed_layout: Any
    world_targets: Any
    base_transforms: Any
    far_reaches: Any
    start_q: Any
    local_offsets: Any
    q: Any
    error_parts: Any


@inline
def read_tables(packed_tables, packed_layout):
    """View all tables."""
    p, n, h = packed_tables, packed_layout, TREE_HEAD_SIZE
    return TreeTables(
        view_lanes(SCALAR, p, n[h], n[h + 1]),
        view_lanes(SCALAR, p, n[h + 3], n[h + 4], n[h + 5]),
        view_lanes(SCALAR, p, n[h + 6], n[h + 7], n[h + 8]),
        view_lanes(SCALAR, p, n[h + 9], n[h + 10]),
        view_lanes(SCALAR, p, n[h + 12], n[h + 13], n[h + 14]),
        view_lanes(SCALAR, p, n[h + 15], n[h + 16], n[h + 17]),
        view_lanes(SCALAR, p, n[h + 18], n[h + 19], n[h + 20]),
        view_lanes(SCALAR, p, n[h + 21], n[h + 22], n[h + 23]),
        view_lanes(SCALAR, p, n[h + 24], n[h + 25]),
        view_lanes(SCALAR, p, n[h + 27], n[h + 28], n[h + 29]),
        view_lanes(SCALAR, p, n[h + 30], n[h + 31], n[h + 32]),
        view_lanes(SCALAR, p, n[h + 33], n[h + 34], n[h + 35]),
        view_lanes(SCALAR, p, n[h + 36], n[h + 37], n[h + 38]),
        view_lanes(SCALAR, p, n[h + 39], n[h + 40], n[h + 41]),
        view_lanes(SCALAR, p, n[h + 42], n[h + 43], n[h + 44]),
    )


@never_inline
def convert_world_targets(arrays, first, end, kernel_targets):
    """Convert targets first..end to base frame and kernel units. Return the number of those beyond reach."""
    tables = read_tables(arrays.packed_tables, arrays.packed_layout)
    bases, reaches = arrays.base_transforms, arrays.far_reaches
    base_from_world = compute_base_rotation(bases[0])
    far_count = 0
    for k in range(first, end):
        base_transform = bases[min(k, bases.shape[0] - 1)]
        if bases.shape[0] > 1:
            base_from_world = compute_base_rotation(base_transform)
        for i in range(tables.target_template.shape[0]):
            kernel_targets[k, i] = tables.target_template[i]
        convert_target(
            arrays.world_targets[k],
            base_transform,
            base_from_world,
            tables.kernel_unit[0],
            tables.target_terms,
            kernel_targets[k],
        )
        if tables.set_targets.shape[0] > 0:
            convert_set_target(arrays.world_targets[k], base_from_world, tables.set_targets, kernel_targets[k])
        if reaches.shape[0] > 0 and is_beyond(kernel_targets[k], reaches[min(k, reaches.shape[0] - 1)]):
            far_count += 1
    return far_count


@never_inline
def write_measured_solutions(lane_kind, arrays, u, counts, first, end, work):
    """Write solutions first..end into q, and measure them. `work` is aligned to 64 bytes."""
    tables, layout = read_tables(arrays.packed_tables, arrays.packed_layout), arrays.packed_layout
    coordinate_map = CoordinateMapArrays(
        tables.shared_columns,
        tables.hinged_balls,
        tables.hinged_ball_limits,
        tables.translation_columns,
        tables.translation_scales,
    )
    for k in range(first, end):
        start, q = arrays.start_q[min(k, arrays.start_q.shape[0] - 1)], arrays.q[k]
        for i in range(q.shape[0]):
            q[i] = start[i]
        if counts[k, COUNT_ITERATIONS] > 0:
            write_moved_q(u[k], start, coordinate_map, tables.turning_hinges, q)
    columns_start = TREE_HEAD_SIZE + 3 * len(tables)
    columns_end = columns_start + layout[TREE_PATH_COLUMN_COUNT]
    path_columns = layout[columns_start:columns_end]
    map_columns = layout[columns_end : columns_end + layout[TREE_MAP_COLUMN_COUNT]]
    q, targets, error_parts = arrays.q[first:end], arrays.world_targets[first:end], arrays.error_parts[first:end]
    paths = PathArrays(tables.path_table, tables.path_spans, tables.measures, path_columns)
    measure_solutions(lane_kind, paths, q, targets, work, error_parts)
    if tables.map_measures.shape[0] > 0:
        offsets = arrays.local_offsets
        has_own_offsets = offsets.shape[0] > 1
        own_offsets = offsets[first if has_own_offsets else 0 : end if has_own_offsets else offsets.shape[0]]
        world_paths = WorldPaths(tables.map_table, tables.map_measures, map_columns)
        measure_poses(lane_kind, world_paths, q, own_offsets, targets, work, error_parts)
