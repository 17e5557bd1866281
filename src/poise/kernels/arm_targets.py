# pyright: standard
"""Solve world targets of a serial arm. Targets are converted to the base frame, solved, and converted back to q.

One kernel solves one target or many, with the same bits. A call into compiled code costs about 30 ns per array and half
a microsecond for a tuple of eight, while solving takes two microseconds. Constant data are therefore in two arrays:
`numbers`, and `layout` with their offsets (an ArmLayout, then lists). The others are:

    rows    (k, W)       world targets, W = 3, 4 or 7 numbers: x y z, w x y z
    bases   (1|k, 12)    world transforms of the arm's base, without scale
    q       (k + t, nq + 4)  starts, then solutions, each followed by ARM_RESULT numbers. The last t rows are for a
                         trace, see arm_lm.py
    work    flat         ARM_WORK_PER_TARGET and two per link, for each target from `first` to `last`; a single target
                         needs none
"""

from __future__ import annotations

import math

from poise.kernels.arm_lm import ArmProblems, solve_range
from poise.kernels.goal_errors import measure_batch
from poise.kernels.jit import device_function, inline, kernel
from poise.kernels.lanes import LANES4, LANES8, SCALAR, stack_array, view_lanes
from poise.kernels.layout import (
    ARM_LINK_ROW,
    ARM_SETTINGS,
    ARM_WORK,
    ARM_WORK_ONE_TARGET,
    INVALID_TARGET,
    MEASURE_KIND,
    MEASURE_ROW,
    PATH_ROW,
    POSITION,
    START_OUTSIDE_LIMITS,
    TOLERANCE_SLACK,
    ArmLayout,
)
from poise.kernels.limits import find_nearest_equivalent
from poise.kernels.matrices import read_base_from_world, scale_to_unit
from poise.kernels.vec_quat import Quat, Vec, multiply, rotate, sub

_MAX_COORDINATE = 1e100  # file units; keeps squares finite


@inline
def read_layout(layout):
    """Read the head of a layout."""
    return ArmLayout(
        layout[0], layout[1], layout[2], layout[3], layout[4], layout[5], layout[6], layout[7], layout[8], layout[9],
        layout[10], layout[11], layout[12], layout[13], layout[14], layout[15], layout[16], layout[17], layout[18],
        layout[19], layout[20],
    )  # fmt: skip


@device_function
def is_valid_target(row, width):
    """Return whether a target is valid. It must be finite; its rotation is scaled to unit length."""
    for i in range(width):
        # Not `>`: a NaN is never less or equal, and is rejected.
        if not abs(row[i]) <= _MAX_COORDINATE:
            return False
    return width == 3 or scale_to_unit(row, width - 4, 4)


@device_function
def is_in_ranges(q, ranges):
    """Return whether q is inside all ranges; NaN is not."""
    for i in range(q.shape[0]):
        # NaN is outside.
        if not ranges[2 * i] <= q[i] <= ranges[2 * i + 1]:
            return False
    return True


@device_function
def world_to_base(row, width, base, unit, target):
    """Convert a world target to the base frame and kernel units (7,). `unit` is world units per kernel unit."""
    base_from_world, p, q = read_base_from_world(base), Vec(0.0, 0.0, 0.0), Quat(1.0, 0.0, 0.0, 0.0)
    if width != 4:
        p = rotate(base_from_world, sub(Vec(row[0], row[1], row[2]), Vec(base[3], base[7], base[11])))
    if width != 3:
        column = width - 4
        q = multiply(base_from_world, Quat(row[column], row[column + 1], row[column + 2], row[column + 3]))
    target[0], target[1], target[2] = p.x / unit, p.y / unit, p.z / unit
    target[3], target[4], target[5], target[6] = q.w, q.x, q.y, q.z


@device_function
def write_solution(x, columns, is_hinge, gains, ranges, q):
    """Write the solution into q. A hinge takes as few turns from the start as its range allows."""
    for i in range(columns.shape[0]):
        j = columns[i]
        low, high = ranges[2 * j], ranges[2 * j + 1]
        # Dividing by the gain may exceed a range by rounding.
        value = min(max(x[i] / gains[i], low), high)
        q[j] = find_nearest_equivalent(value, q[j], low, high) if is_hinge[i] > 0 else value


@inline
def measure_solution(numbers, layout, head, q, row):
    """Measure whether q meets the target (1 or 0).

    Also returns the two errors, measured along the skeleton's own path.
    """
    count = head.measures
    work, out = stack_array(SCALAR, ARM_WORK), stack_array(SCALAR, 4)
    rows = view_lanes(SCALAR, numbers, head.path_table_at, head.rows, PATH_ROW)
    measures = view_lanes(SCALAR, numbers, head.measures_at, count, MEASURE_ROW)
    spans = layout[head.path_spans_at : head.path_spans_at + 2 * count].reshape(count, 2)
    used_columns = layout[head.used_columns_at : head.used_columns_at + head.used_count]
    one_q, one_target = view_lanes(SCALAR, q, 0, 1, head.nq), view_lanes(SCALAR, row, 0, 1, head.width)
    sines_cosines = view_lanes(SCALAR, out, 0, 1, 2, 2)
    measure_batch(SCALAR, rows, spans, measures, one_q, used_columns, one_target, work, sines_cosines)
    is_reached, first_error, second_error = 1, 0.0, 0.0
    for c in range(count):
        error = (
            sines_cosines[0, c, 0]
            if measures[c, MEASURE_KIND] == POSITION
            else 2.0 * math.atan2(sines_cosines[0, c, 0], sines_cosines[0, c, 1])
        )
        # Not `>`: a NaN is not met.
        if not error <= numbers[head.tolerances_at + c] * (1.0 + TOLERANCE_SLACK):
            is_reached = 0
        if c == 0:
            first_error = error
        else:
            second_error = error
    return is_reached, first_error, second_error


@inline
def solve_targets(lane_kind, numbers, layout, rows, bases, q, first, last, work):
    """Solve targets first..last. With measuring paths in the layout, there is one target and it is validated first.

    Returns for the first target: whether it is reached, or a negative status; its iterations; two errors.
    """
    head = read_layout(layout)
    m, nq, n, width = head.links, head.nq, last - first, head.width
    is_lone = head.rows > 0
    ranges = numbers[head.ranges_at : head.ranges_at + 2 * nq]
    if is_lone and not is_valid_target(rows[0], width):
        return INVALID_TARGET, 0, 0.0, 0.0
    if is_lone and not is_in_ranges(q[0, :nq], ranges):
        return START_OUTSIDE_LIMITS, 0, 0.0, 0.0
    workspace = stack_array(SCALAR, ARM_WORK_ONE_TARGET) if n == 1 else work
    targets = view_lanes(SCALAR, workspace, 0, n, 7)
    x, starts = view_lanes(SCALAR, workspace, 7 * n, n, m), view_lanes(SCALAR, workspace, (7 + m) * n, n, m)
    errors, counts = (
        view_lanes(SCALAR, workspace, (7 + 2 * m) * n, n),
        view_lanes(SCALAR, workspace, (8 + 2 * m) * n, n, 3),
    )
    columns = layout[head.columns_at : head.columns_at + m]
    gains, unit = numbers[head.gains_at : head.gains_at + m], numbers[head.unit_at]
    for k in range(n):
        base = bases[min(first + k, bases.shape[0] - 1)]
        world_to_base(rows[first + k], width, base, unit, targets[k])
        counts[k, 0], counts[k, 1], counts[k, 2] = 0.0, 0.0, 0.0
        for i in range(m):
            starts[k, i] = q[first + k, columns[i]] * gains[i]
    links = view_lanes(SCALAR, numbers, head.links_at, m + 1, ARM_LINK_ROW)
    seeds = view_lanes(SCALAR, numbers, head.seeds_at, head.seeds, m)
    poses = numbers[head.poses_at : head.poses_at + 7 * head.seeds]
    settings = numbers[head.settings_at : head.settings_at + ARM_SETTINGS]
    trace = q[rows.shape[0] :, : m + 1]
    problems = ArmProblems(links, seeds, poses, targets, starts, settings, x, errors, counts)
    solve_range(lane_kind, problems, 0, n, trace)
    is_hinge = layout[head.is_hinge_at : head.is_hinge_at + m]
    for k in range(n):
        solution = q[first + k]
        # No iteration: the start meets the target, and q stays unchanged bit for bit.
        if counts[k, 0] > 0.0:
            write_solution(x[k], columns, is_hinge, gains, ranges, solution)
        solution[nq], solution[nq + 1], solution[nq + 2] = counts[k, 0], counts[k, 1], counts[k, 2]
        solution[nq + 3] = errors[k]
    if not is_lone:
        return 0, 0, 0.0, 0.0
    is_reached, first_error, second_error = measure_solution(numbers, layout, head, q[0, :nq], rows[0])
    return is_reached, int(counts[0, 0]), first_error, second_error


@kernel
def solve_targets4(numbers, layout, rows, bases, q, first, last, work):
    """Solve with four targets or attempts side by side."""
    return solve_targets(LANES4, numbers, layout, rows, bases, q, first, last, work)


@kernel
def solve_targets8(numbers, layout, rows, bases, q, first, last, work):
    """Solve with eight targets or attempts side by side."""
    return solve_targets(LANES8, numbers, layout, rows, bases, q, first, last, work)
