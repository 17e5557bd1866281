# pyright: standard
"""Solve world targets of a serial arm. Targets are converted to the base frame, solved, and converted back to q.

One kernel solves one target or many, with the same bits. A call into compiled code costs about 30 ns per array and half
a microsecond for a tuple of eight, while solving takes two microseconds. Constant data are therefore in two arrays:
`numbers`, and `layout` with their offsets (the columns REACH_ of layout.py). The others are:

    rows    (k, W)       world targets, W = 3, 4 or 7 numbers: x y z, w x y z
    bases   (1|k, 12)    world transforms of the arm's base, without scale
    q       (k + t, nq + 4)  starts, then solutions, each followed by REACH_RESULT numbers. The last t rows are for a
                         trace, see arm_lm.py
    work    flat         REACH_WORK_PER_TARGET and two per link, for each target from `first` to `last`; a single target
                         needs none
"""

from __future__ import annotations

import math

from poise.kernels.arm.many import solve_range
from poise.kernels.codes import (
    ARM_LINK,
    ARM_SETTINGS,
    ASK_KIND,
    ASK_ROW,
    OUTSIDE,
    PATH_ROW,
    POSITION,
    REACH_AT_ALLOWED,
    REACH_AT_ASKS,
    REACH_AT_GAINS,
    REACH_AT_LINKS,
    REACH_AT_POSES,
    REACH_AT_RANGES,
    REACH_AT_SEEDS,
    REACH_AT_SETTINGS,
    REACH_AT_TABLE,
    REACH_AT_UNIT,
    REACH_COLUMNS,
    REACH_LINKS,
    REACH_LONE,
    REACH_MEASURES,
    REACH_NQ,
    REACH_ROWS,
    REACH_SEEDS,
    REACH_SPANS,
    REACH_TURNS,
    REACH_USED,
    REACH_USES,
    REACH_WIDTH,
    REACH_WORK,
    ROUNDING,
    UNREADABLE,
)
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.limits.angles import nearest_turn
from poise.kernels.paths import measure_all
from poise.kernels.values.lanes import LANES4, LANES8, SCALAR, part_of, room
from poise.kernels.values.linear import Quat, Vec, multiply, rotate, sub
from poise.kernels.values.turns import scale_to_unit, turn_into

_FAR = 1e100  # file units; keeps squares finite


@part
def is_plain(row, width):
    """Return whether a target is valid. It must be finite; its rotation is scaled to unit length."""
    for i in range(width):
        # Not `>`: a NaN is never less or equal, and is rejected.
        if not abs(row[i]) <= _FAR:
            return False
    return width == 3 or scale_to_unit(row, width - 4, 4)


@part
def is_legal(q, ranges):
    """Return whether q is inside all ranges; NaN is not."""
    for i in range(q.shape[0]):
        # NaN is outside.
        if not ranges[2 * i] <= q[i] <= ranges[2 * i + 1]:
            return False
    return True


@part
def into_base(row, width, base, unit, target):
    """Convert a world target to the base frame and kernel units (7,). `unit` is world units per kernel unit."""
    turn, p, q = turn_into(base), Vec(0.0, 0.0, 0.0), Quat(1.0, 0.0, 0.0, 0.0)
    if width != 4:
        p = rotate(turn, sub(Vec(row[0], row[1], row[2]), Vec(base[3], base[7], base[11])))
    if width != 3:
        at = width - 4
        q = multiply(turn, Quat(row[at], row[at + 1], row[at + 2], row[at + 3]))
    target[0], target[1], target[2] = p.x / unit, p.y / unit, p.z / unit
    target[3], target[4], target[5], target[6] = q.w, q.x, q.y, q.z


@part
def put_answer(x, columns, turns, gains, ranges, q):
    """Write the solution into q. A hinge takes as few turns from the start as its range allows."""
    for i in range(columns.shape[0]):
        j = columns[i]
        low, high = ranges[2 * j], ranges[2 * j + 1]
        # Dividing by the gain may exceed a range by rounding.
        value = min(max(x[i] / gains[i], low), high)
        q[j] = nearest_turn(value, q[j], low, high) if turns[i] > 0 else value


@inline
def measured(numbers, layout, q, row):
    """Measure whether q meets the target (1 or 0).

    Also returns the two errors, measured along the skeleton's own path.
    """
    count, width = layout[REACH_MEASURES], layout[REACH_WIDTH]
    work, out = room(SCALAR, REACH_WORK), room(SCALAR, 4)
    rows = part_of(SCALAR, numbers, layout[REACH_AT_TABLE], layout[REACH_ROWS], PATH_ROW)
    asks = part_of(SCALAR, numbers, layout[REACH_AT_ASKS], count, ASK_ROW)
    spans = layout[layout[REACH_SPANS] : layout[REACH_SPANS] + 2 * count].reshape(count, 2)
    used = layout[layout[REACH_USES] : layout[REACH_USES] + layout[REACH_USED]]
    one_q, one_target = part_of(SCALAR, q, 0, 1, layout[REACH_NQ]), part_of(SCALAR, row, 0, 1, width)
    left = part_of(SCALAR, out, 0, 1, 2, 2)
    measure_all(SCALAR, rows, spans, asks, one_q, used, one_target, work, left)
    reached, first, second = 1, 0.0, 0.0
    for c in range(count):
        error = left[0, c, 0] if asks[c, ASK_KIND] == POSITION else 2.0 * math.atan2(left[0, c, 0], left[0, c, 1])
        # Not `>`: a NaN is not met.
        if not error <= numbers[layout[REACH_AT_ALLOWED] + c] * (1.0 + ROUNDING):
            reached = 0
        if c == 0:
            first = error
        else:
            second = error
    return reached, first, second


@inline
def reach(kind, numbers, layout, rows, bases, q, first, last, work):
    """Solve targets first..last. With measuring paths in the layout, there is one target and it is validated first.

    Returns for the first target: whether it is reached, or a negative status; its iterations; two errors.
    """
    m, nq, n, width = layout[REACH_LINKS], layout[REACH_NQ], last - first, layout[REACH_WIDTH]
    alone = layout[REACH_ROWS] > 0
    ranges = numbers[layout[REACH_AT_RANGES] : layout[REACH_AT_RANGES] + 2 * nq]
    if alone and not is_plain(rows[0], width):
        return UNREADABLE, 0, 0.0, 0.0
    if alone and not is_legal(q[0, :nq], ranges):
        return OUTSIDE, 0, 0.0, 0.0
    own = room(SCALAR, REACH_LONE) if n == 1 else work
    targets = part_of(SCALAR, own, 0, n, 7)
    x, starts = part_of(SCALAR, own, 7 * n, n, m), part_of(SCALAR, own, (7 + m) * n, n, m)
    errors, counts = part_of(SCALAR, own, (7 + 2 * m) * n, n), part_of(SCALAR, own, (8 + 2 * m) * n, n, 3)
    columns = layout[layout[REACH_COLUMNS] : layout[REACH_COLUMNS] + m]
    gains, unit = numbers[layout[REACH_AT_GAINS] : layout[REACH_AT_GAINS] + m], numbers[layout[REACH_AT_UNIT]]
    for k in range(n):
        base = bases[min(first + k, bases.shape[0] - 1)]
        into_base(rows[first + k], width, base, unit, targets[k])
        counts[k, 0], counts[k, 1], counts[k, 2] = 0.0, 0.0, 0.0
        for i in range(m):
            starts[k, i] = q[first + k, columns[i]] * gains[i]
    links = part_of(SCALAR, numbers, layout[REACH_AT_LINKS], m + 1, ARM_LINK)
    seeds = part_of(SCALAR, numbers, layout[REACH_AT_SEEDS], layout[REACH_SEEDS], m)
    poses = numbers[layout[REACH_AT_POSES] : layout[REACH_AT_POSES] + 7 * layout[REACH_SEEDS]]
    settings = numbers[layout[REACH_AT_SETTINGS] : layout[REACH_AT_SETTINGS] + ARM_SETTINGS]
    trace = q[rows.shape[0] :, : m + 1]
    solve_range(kind, links, seeds, poses, targets, starts, settings, 0, n, x, errors, counts, trace)
    turns = layout[layout[REACH_TURNS] : layout[REACH_TURNS] + m]
    for k in range(n):
        answer = q[first + k]
        # No iteration: the start meets the target, and q stays unchanged bit for bit.
        if counts[k, 0] > 0.0:
            put_answer(x[k], columns, turns, gains, ranges, answer)
        answer[nq], answer[nq + 1], answer[nq + 2] = counts[k, 0], counts[k, 1], counts[k, 2]
        answer[nq + 3] = errors[k]
    if not alone:
        return 0, 0, 0.0, 0.0
    reached, one, other = measured(numbers, layout, q[0, :nq], rows[0])
    return reached, int(counts[0, 0]), one, other


@kernel
def reach4(numbers, layout, rows, bases, q, first, last, work):
    """Solve with four targets or attempts side by side."""
    return reach(LANES4, numbers, layout, rows, bases, q, first, last, work)


@kernel
def reach8(numbers, layout, rows, bases, q, first, last, work):
    """Solve with eight targets or attempts side by side."""
    return reach(LANES8, numbers, layout, rows, bases, q, first, last, work)
