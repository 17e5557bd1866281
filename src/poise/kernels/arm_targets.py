# pyright: standard
"""Solver of a serial arm, from world targets to q.

One kernel solves one target or many, with the same bits. A call into compiled code costs about 30 ns per array and half
a microsecond for a tuple of eight, while solving takes two microseconds. Constant data are therefore in two arrays:
`packed_arm`, and `packed_layout` with their offsets (an ArmLayout, then lists). The others are:

    world_targets    (k, W)           W = 3, 4 or 7 numbers: x y z, w x y z
    base_transforms  (1|k, 12)        world transforms of the arm's base, without scale
    q                (k + t, nq + 4)  starts, then solutions, each followed by ARM_RESULT_ROW numbers: iterations,
                                      attempts, is met, weighted squared error; with measuring paths in the layout
                                      the second is whether the target is reached. The last t rows are for a trace,
                                      see arm_lm.py
    work             flat             ARM_WORKSPACE_PER_TARGET and two per link, for each target from `first` to
                                      `end`; a single target needs none
"""

from __future__ import annotations

import math

from poise.kernels.arm_lm import MAX_ARM_FRAMES, ArmProblems, solve_range
from poise.kernels.arm_preference import approach_preference, finish_attempts, start_at_preferred
from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
from poise.kernels.goal_errors import measure_batch
from poise.kernels.lanes import LANES4, LANES8, SCALAR, stack_array, stack_matrix, view_lanes
from poise.kernels.layout import (
    ARM_LINK_ROW,
    ARM_SETTINGS,
    ARM_WORKSPACE_ONE_TARGET,
    ARM_WORKSPACE_SIZE,
    COUNT_ATTEMPTS,
    COUNT_IS_MET,
    COUNT_ITERATIONS,
    INVALID_TARGET,
    MEASURE_KIND,
    MEASURE_ROW,
    PATH_ROW,
    POSITION,
    START_OUTSIDE_LIMITS,
    ArmLayout,
)
from poise.kernels.limits import find_nearest_equivalent
from poise.kernels.rotation_matrices import compute_base_from_world
from poise.kernels.thresholds import TOLERANCE_SLACK
from poise.kernels.unit_rows import scale_to_unit
from poise.kernels.vec_quat import Quat, Vec, multiply, rotate, sub

_MAX_COORDINATE = 1e100  # file units; keeps squares finite


@inline
def read_layout(packed_layout):
    """Read the head of a layout."""
    n = packed_layout
    return ArmLayout(
        n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12], n[13], n[14], n[15], n[16],
        n[17], n[18], n[19], n[20],
    )  # fmt: skip


@device_function
def is_valid_target(world_target, width):
    """Return whether a target is valid. It must be finite; its rotation is scaled to unit length."""
    for i in range(width):
        # Not `>`: a NaN is never less or equal, and is rejected.
        if not abs(world_target[i]) <= _MAX_COORDINATE:
            return False
    return width == 3 or scale_to_unit(world_target, width - 4, 4)


@device_function
def is_in_ranges(q, ranges):
    """Return whether q is inside all ranges; NaN is not."""
    for i in range(q.shape[0]):
        # NaN is outside.
        if not ranges[2 * i] <= q[i] <= ranges[2 * i + 1]:
            return False
    return True


@device_function
def world_to_base(world_target, width, base_transform, unit, kernel_target):
    """Convert a world target to the base frame and kernel units (7,). `unit` is world units per kernel unit."""
    base_from_world, position, rotation = (
        compute_base_from_world(base_transform),
        Vec(0.0, 0.0, 0.0),
        Quat(1.0, 0.0, 0.0, 0.0),
    )
    if width != 4:
        position = rotate(
            base_from_world,
            sub(
                Vec(world_target[0], world_target[1], world_target[2]),
                Vec(base_transform[3], base_transform[7], base_transform[11]),
            ),
        )
    if width != 3:
        rotation_start = width - 4
        rotation = multiply(
            base_from_world,
            Quat(
                world_target[rotation_start],
                world_target[rotation_start + 1],
                world_target[rotation_start + 2],
                world_target[rotation_start + 3],
            ),
        )
    kernel_target[0], kernel_target[1], kernel_target[2] = position.x / unit, position.y / unit, position.z / unit
    kernel_target[3], kernel_target[4], kernel_target[5], kernel_target[6] = (
        rotation.w,
        rotation.x,
        rotation.y,
        rotation.z,
    )


@device_function
def write_solution(x, q_columns, is_hinge, value_scales, ranges, q, has_preference):
    """Write the solution into q.

    A hinge takes as few turns from the start as its range allows; with a preferred configuration it has done so.
    """
    for i in range(q_columns.shape[0]):
        q_column = q_columns[i]
        low, high = ranges[2 * q_column], ranges[2 * q_column + 1]
        # Dividing by the scale may exceed a range by rounding.
        value = min(max(x[i] / value_scales[i], low), high)
        is_turning = is_hinge[i] > 0 and not has_preference
        q[q_column] = find_nearest_equivalent(value, q[q_column], low, high) if is_turning else value


@inline
def measure_solution(packed_arm, packed_layout, arm_layout, q, world_target):
    """Measure whether q meets the target (1 or 0).

    It is measured along the skeleton's own path.
    """
    measure_count = arm_layout.measure_count
    work, error_buffer = stack_array(SCALAR, ARM_WORKSPACE_SIZE), stack_array(SCALAR, 4)
    path_table = view_lanes(SCALAR, packed_arm, arm_layout.path_table_start, arm_layout.path_row_count, PATH_ROW)
    measures = view_lanes(SCALAR, packed_arm, arm_layout.measures_start, measure_count, MEASURE_ROW)
    spans = stack_matrix(SCALAR, 2, 2)  # an arm has two measures at most
    for c in range(measure_count):
        spans[c, 0] = packed_layout[arm_layout.path_spans_start + 2 * c]
        spans[c, 1] = packed_layout[arm_layout.path_spans_start + 2 * c + 1]
    used_columns = packed_layout[
        arm_layout.used_columns_start : arm_layout.used_columns_start + arm_layout.used_column_count
    ]
    q_row, target_row = (
        view_lanes(SCALAR, q, 0, 1, arm_layout.nq),
        view_lanes(SCALAR, world_target, 0, 1, arm_layout.target_width),
    )
    error_parts = view_lanes(SCALAR, error_buffer, 0, 1, 2, 2)
    measure_batch(SCALAR, path_table, spans, measures, q_row, used_columns, target_row, work, error_parts)
    is_reached = 1
    for c in range(measure_count):
        error = (
            error_parts[0, c, 0]
            if measures[c, MEASURE_KIND] == POSITION
            else 2.0 * math.atan2(error_parts[0, c, 0], error_parts[0, c, 1])
        )
        # Not `>`: a NaN is not met.
        if not error <= packed_arm[arm_layout.tolerances_start + c] * (1.0 + TOLERANCE_SLACK):
            is_reached = 0
    return is_reached


@inline
def solve_targets(
    lane_kind, packed_arm, packed_layout, world_targets, base_transforms, q, first, end, work, preferences
):
    """Solve targets first..end. With measuring paths in the layout, targets and starts are validated first.

    Returns for the first target whether it is reached, or a negative status of any, and its iterations.
    """
    arm_layout = read_layout(packed_layout)
    m, nq, target_count, width = arm_layout.link_count, arm_layout.nq, end - first, arm_layout.target_width
    has_paths = arm_layout.path_row_count > 0
    ranges = packed_arm[arm_layout.ranges_start : arm_layout.ranges_start + 2 * nq]
    for k in range(first, end if has_paths else first):
        if not is_valid_target(world_targets[k], width):
            return INVALID_TARGET, 0
        if not is_in_ranges(q[k, :nq], ranges):
            return START_OUTSIDE_LIMITS, 0
    workspace = stack_array(SCALAR, ARM_WORKSPACE_ONE_TARGET) if target_count == 1 else work
    kernel_targets = view_lanes(SCALAR, workspace, 0, target_count, 7)
    x, start_x = (
        view_lanes(SCALAR, workspace, 7 * target_count, target_count, m),
        view_lanes(SCALAR, workspace, (7 + m) * target_count, target_count, m),
    )
    errors, counts = (
        view_lanes(SCALAR, workspace, (7 + 2 * m) * target_count, target_count),
        view_lanes(SCALAR, workspace, (8 + 2 * m) * target_count, target_count, 3),
    )
    q_columns = packed_layout[arm_layout.q_columns_start : arm_layout.q_columns_start + m]
    value_scales, unit = (
        packed_arm[arm_layout.value_scales_start : arm_layout.value_scales_start + m],
        packed_arm[arm_layout.unit_start],
    )
    for k in range(target_count):
        base_transform = base_transforms[min(first + k, base_transforms.shape[0] - 1)]
        world_to_base(world_targets[first + k], width, base_transform, unit, kernel_targets[k])
        counts[k, COUNT_ITERATIONS], counts[k, COUNT_ATTEMPTS], counts[k, COUNT_IS_MET] = (
            0.0,
            0.0,
            0.0,
        )
        for i in range(m):
            start_x[k, i] = q[first + k, q_columns[i]] * value_scales[i]
    links = view_lanes(SCALAR, packed_arm, arm_layout.links_start, m + 1, ARM_LINK_ROW)
    seeds = view_lanes(SCALAR, packed_arm, arm_layout.seeds_start, arm_layout.seed_count, m)
    seed_tips = packed_arm[arm_layout.seed_tips_start : arm_layout.seed_tips_start + 7 * arm_layout.seed_count]
    settings = packed_arm[arm_layout.settings_start : arm_layout.settings_start + ARM_SETTINGS]
    trace = q[world_targets.shape[0] :, : m + 1]
    problems = ArmProblems(links, seeds, seed_tips, kernel_targets, start_x, settings, x, errors, counts)
    is_hinge = packed_layout[arm_layout.is_hinge_start : arm_layout.is_hinge_start + m]
    has_preference = preferences.shape[0] > 0
    for k in range(target_count if has_preference else 0):
        start_at_preferred(problems, preferences, first, k, trace)
    solve_range(lane_kind, problems, 0, target_count, trace)
    if has_preference:
        start = stack_array(SCALAR, MAX_ARM_FRAMES)
        for k in range(target_count):
            for i in range(m):
                start[i] = q[first + k, q_columns[i]] * value_scales[i]
            finish_attempts(problems, start, is_hinge, k)
        approach_preference(lane_kind, problems, preferences, first, target_count, trace)
    for k in range(target_count):
        solution = q[first + k]
        # No iteration: the start meets the target, and q stays unchanged bit for bit.
        if counts[k, COUNT_ITERATIONS] > 0.0:
            write_solution(x[k], q_columns, is_hinge, value_scales, ranges, solution, has_preference)
        solution[nq], solution[nq + 1], solution[nq + 2] = (
            counts[k, COUNT_ITERATIONS],
            counts[k, COUNT_ATTEMPTS],
            counts[k, COUNT_IS_MET],
        )
        solution[nq + 3] = errors[k]
    if not has_paths:
        return 0, 0
    for k in range(first, end):
        q[k, nq + 1] = measure_solution(packed_arm, packed_layout, arm_layout, q[k, :nq], world_targets[k])
    return int(q[first, nq + 1]), int(q[first, nq])


@kernel("F1 I1 F2 F2 wF2 i i sF1 F2 -> i i")
def solve_targets4(packed_arm, packed_layout, world_targets, base_transforms, q, first, end, work, preferences):
    """Solve with four targets or attempts side by side."""
    return solve_targets(
        LANES4, packed_arm, packed_layout, world_targets, base_transforms, q, first, end, work, preferences
    )


@kernel("F1 I1 F2 F2 wF2 i i sF1 F2 -> i i")
def solve_targets8(packed_arm, packed_layout, world_targets, base_transforms, q, first, end, work, preferences):
    """Solve with eight targets or attempts side by side."""
    return solve_targets(
        LANES8, packed_arm, packed_layout, world_targets, base_transforms, q, first, end, work, preferences
    )
