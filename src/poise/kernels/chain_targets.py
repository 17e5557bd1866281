# pyright: standard
"""Solve of a chain from world targets to q, with its errors.

The entries of the solvers of chains have the same arguments (`CHAIN_SIGNATURE`) and differ in the function that solves
in the base frame. A call from Python costs about 30 ns an array, a small solve one or two microseconds. Constant data
are therefore in two arrays, `packed_chain` and `packed_layout`: see `ChainTables`. k targets, m links:

    link_kinds       (m,)         see kernels/chain_kinematics.py. An array of its own: LLVM knows that the length of a
                                  part is not negative, and would order sums otherwise
    frames           (1|k, m, 7)  see kernels/chain_kinematics.py
    reach_ranges     (1|k, 2)     shortest and longest distance of the tip from the first link's frame
    far_reaches      (0|1|k, 4)   first joint x y z, and the distance beyond which a target is left to a closed form;
                                  without rows all targets are solved
    base_transforms  (1|k, 12)    world transforms of the base, without scale
    start_x          (1|k, m, 4)  link motions of the starts
    start_q          (1|k, nq)    the starts
    world_targets    (k, W)       numbers of all goals side by side
    q                (k, nq)      written: solutions; where no joint has moved, the start bit for bit
    error_parts      (k, c, 2)    written: see kernels/goal_errors.py
    outcomes         (k, 2)       written: the solver's own error, and 1 where it counts the goals as met; IS_FAR marks
                                  a target that is left to a closed form
    counts           (k, 2)       written: iterations, single joint updates
    trace_x          (iterations + 1 or 0, m, 4), trace_error: written for the last target
    work             flat         scratch memory, see `PackedChain` in problem/chain.py

They return the number of far targets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from poise.kernels.device_functions import inline, inline_strict
from poise.kernels.goal_errors import PathArrays, measure_solutions
from poise.kernels.kernel_coordinates import (
    CoordinateMapArrays,
    compute_base_rotation,
    convert_target,
    write_motions,
    write_moved_q,
)
from poise.kernels.lanes import SCALAR, view_lanes
from poise.kernels.layout import (
    CHAIN_AXIS,
    CHAIN_HEAD_SIZE,
    CHAIN_ROTATION,
    CHAIN_TARGET_ROW,
    CHAIN_U_SIZE,
    CHAIN_USED_COLUMN_COUNT,
    CHAIN_WORK_SIZE,
    COUNT_ITERATIONS,
    COUNT_JOINT_STEPS,
    IS_FAR,
    MEASURE_WORK_SIZE,
    OUTCOME_IS_MET,
    ChainTables,
)

CHAIN_SIGNATURE = "F1 I1 I1 F3 F2 F2 F2 F3 F2 F2 wF2 wF3 wF2 wI2 wF3 wF1 sF1 -> i"


class ChainConstants(NamedTuple):
    """Arrays of the chain and its solver, see above."""

    packed_chain: Any
    packed_layout: Any
    link_kinds: Any


class ChainStarts(NamedTuple):
    """Arrays of the starts, see above."""

    frames: Any
    reach_ranges: Any
    far_reaches: Any
    base_transforms: Any
    start_x: Any
    start_q: Any


class ChainResults(NamedTuple):
    """Written arrays, see above."""

    q: Any
    error_parts: Any
    outcomes: Any
    counts: Any
    trace_x: Any
    trace_error: Any


class BaseChain(NamedTuple):
    """Chain and starts in the base frame."""

    link_kinds: Any  # (m,)
    tables: ChainTables
    frames: Any
    reach_ranges: Any
    start_x: Any


class BaseResults(NamedTuple):
    """Written arrays in the base frame."""

    x: Any  # (k, m, 4) link motions
    outcomes: Any
    counts: Any
    trace_x: Any
    trace_error: Any


@inline
def read_tables(packed_chain, packed_layout):
    """View all tables."""
    p, n, h = packed_chain, packed_layout, CHAIN_HEAD_SIZE
    return ChainTables(
        view_lanes(SCALAR, p, n[h], n[h + 1], n[h + 2]),
        view_lanes(SCALAR, p, n[h + 3], n[h + 4], n[h + 5]),
        view_lanes(SCALAR, p, n[h + 6], n[h + 7], n[h + 8]),
        view_lanes(SCALAR, p, n[h + 9], n[h + 10]),
        view_lanes(SCALAR, p, n[h + 12], n[h + 13], n[h + 14]),
        view_lanes(SCALAR, p, n[h + 15], n[h + 16], n[h + 17]),
        view_lanes(SCALAR, p, n[h + 18], n[h + 19]),
        view_lanes(SCALAR, p, n[h + 21], n[h + 22]),
        view_lanes(SCALAR, p, n[h + 24], n[h + 25], n[h + 26]),
        view_lanes(SCALAR, p, n[h + 27], n[h + 28], n[h + 29]),
        view_lanes(SCALAR, p, n[h + 30], n[h + 31], n[h + 32]),
        view_lanes(SCALAR, p, n[h + 33], n[h + 34], n[h + 35]),
        view_lanes(SCALAR, p, n[h + 36], n[h + 37], n[h + 38]),
        view_lanes(SCALAR, p, n[h + 39], n[h + 40], n[h + 41]),
        view_lanes(SCALAR, p, n[h + 42], n[h + 43]),
        view_lanes(SCALAR, p, n[h + 45], n[h + 46], n[h + 47]),
        view_lanes(SCALAR, p, n[h + 48], n[h + 49], n[h + 50]),
        view_lanes(SCALAR, p, n[h + 51], n[h + 52], n[h + 53]),
        view_lanes(SCALAR, p, n[h + 54], n[h + 55], n[h + 56]),
    )


@inline_strict
def is_beyond(kernel_target, far_reach):
    """Return whether a target is beyond the reach of a chain."""
    x, y, z = kernel_target[0] - far_reach[0], kernel_target[1] - far_reach[1], kernel_target[2] - far_reach[2]
    return x * x + y * y + z * z > far_reach[3] * far_reach[3]


@inline
def mark_far_targets(kernel_targets, far_reaches, results):
    """Mark the targets beyond reach, and no others. Return their number."""
    far_count, row_count = 0, far_reaches.shape[0]
    for k in range(kernel_targets.shape[0]):
        results.outcomes[k, OUTCOME_IS_MET] = 0.0
        if row_count > 0 and is_beyond(kernel_targets[k], far_reaches[min(k, row_count - 1)]):
            results.outcomes[k, OUTCOME_IS_MET] = IS_FAR
            results.counts[k, COUNT_ITERATIONS], results.counts[k, COUNT_JOINT_STEPS] = 0, 0
            far_count += 1
    return far_count


@inline
def convert_world_targets(world_targets, base_transforms, tables, kernel_targets):
    """Convert world targets to base frame and kernel units. Missing rotations and axes are those of the base."""
    base_from_world = compute_base_rotation(base_transforms[0])
    for k in range(world_targets.shape[0]):
        base_transform = base_transforms[k if base_transforms.shape[0] > 1 else 0]
        if base_transforms.shape[0] > 1:
            base_from_world = compute_base_rotation(base_transform)
        for i in range(CHAIN_TARGET_ROW):
            kernel_targets[k, i] = 1.0 if i == CHAIN_ROTATION or i == CHAIN_AXIS + 2 else 0.0
        convert_target(
            world_targets[k],
            base_transform,
            base_from_world,
            tables.kernel_unit[0],
            tables.target_terms,
            kernel_targets[k],
        )


@inline
def write_solutions(x, counts, tables, start_q, u, q):
    """Write the link motions into q (k, nq). `u` is scratch memory for one configuration."""
    coordinate_map = CoordinateMapArrays(
        tables.shared_columns,
        tables.hinged_balls,
        tables.hinged_ball_limits,
        tables.translation_columns,
        tables.translation_scales,
    )
    for k in range(q.shape[0]):
        start = start_q[k if start_q.shape[0] > 1 else 0]
        for i in range(q.shape[1]):
            q[k, i] = start[i]
        if counts[k, COUNT_JOINT_STEPS] > 0:
            write_motions(x[k], tables.link_conversions, u)
            write_moved_q(u, start, coordinate_map, tables.turning_hinges, q[k])


@inline
def solve_chain(solve_in_base, constants, starts, world_targets, results, work):
    """Convert the targets, solve, convert the solutions, measure.

    solve_in_base  (chain, kernel_targets, results, work): writes the results of targets (k, CHAIN_TARGET_ROW) that are
                   not marked as far. `chain` is a BaseChain, `results` a BaseResults.
    """
    packed_chain, packed_layout, link_kinds = constants
    tables = read_tables(packed_chain, packed_layout)
    k, m, u_size = world_targets.shape[0], link_kinds.shape[0], packed_layout[CHAIN_U_SIZE]
    used_column_count = packed_layout[CHAIN_USED_COLUMN_COUNT]
    used_columns_start = CHAIN_HEAD_SIZE + 3 * len(tables)
    used_columns = packed_layout[used_columns_start : used_columns_start + used_column_count]
    kernel_targets = view_lanes(SCALAR, work, 0, k, tables.tip.shape[1])
    x_start = CHAIN_TARGET_ROW * k
    x, u_start = view_lanes(SCALAR, work, x_start, k, m, starts.start_x.shape[2]), x_start + 4 * m * k
    u, measure_start = view_lanes(SCALAR, work, u_start, u_size), u_start + u_size
    measure_size = used_column_count + MEASURE_WORK_SIZE
    measure_work = view_lanes(SCALAR, work, measure_start, measure_size)
    solver_work = view_lanes(SCALAR, work, measure_start + measure_size, packed_layout[CHAIN_WORK_SIZE])
    convert_world_targets(world_targets, starts.base_transforms, tables, kernel_targets)
    far_count = mark_far_targets(kernel_targets, starts.far_reaches, results)
    solve_in_base(
        BaseChain(link_kinds, tables, starts.frames, starts.reach_ranges, starts.start_x),
        kernel_targets,
        BaseResults(x, results.outcomes, results.counts, results.trace_x, results.trace_error),
        solver_work,
    )
    write_solutions(x, results.counts, tables, starts.start_q, u, results.q)
    paths = PathArrays(tables.path_table, tables.path_spans, tables.measures, used_columns)
    measure_solutions(SCALAR, paths, results.q, world_targets, measure_work, results.error_parts)
    return far_count
