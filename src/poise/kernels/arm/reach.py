# pyright: standard
"""One call from Python for one target of a serial arm: read it, solve, put the answer into q and measure it.

A call into compiled code costs about 30 ns for every array and half a microsecond for a tuple of eight, where solving
takes two. So everything that stays the same between targets comes in two arrays: `numbers`, and `layout`, which
says where they stand (the columns REACH_ of codes.py).
"""

from __future__ import annotations

import math

from poise.kernels.arm.one import solve_target
from poise.kernels.arm.serial import LARGEST
from poise.kernels.codes import (
    ARM_SETTINGS,
    OUTSIDE,
    PATH_ROW,
    REACH_AT_ALLOWED,
    REACH_AT_ASKS,
    REACH_AT_BASE,
    REACH_AT_GAINS,
    REACH_AT_LINKS,
    REACH_AT_POSES,
    REACH_AT_RANGES,
    REACH_AT_SEEDS,
    REACH_AT_SETTINGS,
    REACH_AT_TABLE,
    REACH_COLUMNS,
    REACH_LINKS,
    REACH_MEASURES,
    REACH_NQ,
    REACH_ROWS,
    REACH_SEEDS,
    REACH_SPANS,
    REACH_USED,
    REACH_USES,
    REACH_WIDTH,
    REACH_WORK,
    ROUNDING,
    UNREADABLE,
)
from poise.kernels.compiled import inline, part, short_kernel
from poise.kernels.paths import measure_all
from poise.kernels.values.lanes import LANES4, LANES8, SCALAR, part_of, room
from poise.kernels.values.linear import Quat, Vec, conjugate, multiply, rotate, sub
from poise.kernels.values.turns import quaternion_of

_FAR = 1e100  # file units: no target is meant beyond this, and squares stay finite
_LAST_ROW = 1e-9  # what the last row of a 4 x 4 matrix may be off
_UNIT = 1e-12  # a squared length this near to one is one to rounding: dividing would change bits that the caller gave
_SMALL = 1e-200  # a squared length below is that of no rotation


@part
def put_turn(world, at, q):
    """Store a rotation scaled to unit length; False if it has none, or too small a one to be squared."""
    n = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z
    if not n > _SMALL:
        return False
    k = 1.0 if abs(n - 1.0) <= _UNIT else 1.0 / math.sqrt(n)
    world[at], world[at + 1], world[at + 2], world[at + 3] = q.w * k, q.x * k, q.y * k, q.z * k
    return True


@part
def read_target(t, width, world):
    """Turn a target into its row `world` (3, 4 or 7 numbers); False where it cannot be used.

    A place is 7 numbers x y z w x y z or a 4 x 4 or 3 x 4 matrix, a rotation 4 numbers or a 3 x 3 matrix.
    """
    n = t.shape[0]
    for i in range(n):
        # Not `>`: a NaN is never less or equal, and is refused, too.
        if not abs(t[i]) <= _FAR:
            return False
    if width == 3:
        if n == 3:
            world[0], world[1], world[2] = t[0], t[1], t[2]
        return n == 3
    at = width - 4
    if n == width:
        for i in range(at):
            world[i] = t[i]
        return put_turn(world, at, Quat(t[at], t[at + 1], t[at + 2], t[at + 3]))
    columns = 4 if at else 3
    if not (at == 3 and (n == 12 or n == 16)) and not (at == 0 and n == 9):
        return False
    if n == 16 and max(abs(t[12]), abs(t[13]), abs(t[14]), abs(t[15] - 1.0)) > _LAST_ROW:
        return False
    q, is_rotation = quaternion_of(t, columns)
    for i in range(at):
        world[i] = t[4 * i + 3]
    return is_rotation and put_turn(world, at, q)


@short_kernel
def row_of(t, width, rows):
    """Turn a target (n,) into its row, the first of `rows` (1, width); False where it cannot be used."""
    return read_target(t, width, rows[0])


@part
def into_base(world, width, base, target):
    """The target (7 numbers) in the base frame and kernel units; base: x y z, w x y z, kernel units per file unit."""
    turn = conjugate(Quat(base[3], base[4], base[5], base[6]))
    p, q = Vec(0.0, 0.0, 0.0), Quat(1.0, 0.0, 0.0, 0.0)
    if width != 4:
        p = rotate(turn, sub(Vec(world[0], world[1], world[2]), Vec(base[0], base[1], base[2])))
    if width != 3:
        at = width - 4
        q = multiply(turn, Quat(world[at], world[at + 1], world[at + 2], world[at + 3]))
    target[0], target[1], target[2] = p.x * base[7], p.y * base[7], p.z * base[7]
    target[3], target[4], target[5], target[6] = q.w, q.x, q.y, q.z


@part
def is_legal(q, ranges):
    """Whether every number of q is inside its range, and none is NaN."""
    for i in range(q.shape[0]):
        # Written so that a NaN is not legal.
        if not ranges[2 * i] <= q[i] <= ranges[2 * i + 1]:
            return False
    return True


@part
def put_answer(x, columns, gains, ranges, q):
    """Write what was found into q; dividing by a gain may leave a range by a rounding."""
    for i in range(columns.shape[0]):
        j = columns[i]
        q[j] = min(max(x[i] / gains[i], ranges[2 * j]), ranges[2 * j + 1])


@inline
def measured(numbers, layout, q, world):
    """Whether (1 or 0) q meets the target, and the two errors: by the judge's own path along the skeleton's rows."""
    count, width = layout[REACH_MEASURES], layout[REACH_WIDTH]
    work, out = room(SCALAR, REACH_WORK), room(SCALAR, 4)
    rows = part_of(SCALAR, numbers, layout[REACH_AT_TABLE], layout[REACH_ROWS], PATH_ROW)
    asks = part_of(SCALAR, numbers, layout[REACH_AT_ASKS], count, 8)
    spans = layout[layout[REACH_SPANS] : layout[REACH_SPANS] + 2 * count].reshape(count, 2)
    used = layout[layout[REACH_USES] : layout[REACH_USES] + layout[REACH_USED]]
    one_q, one_target = part_of(SCALAR, q, 0, 1, layout[REACH_NQ]), part_of(SCALAR, world, 0, 1, width)
    left = part_of(SCALAR, out, 0, 1, 2, 2)
    measure_all(SCALAR, rows, spans, asks, one_q, used, one_target, work, left)
    reached, first, second = 1, 0.0, 0.0
    for c in range(count):
        error = left[0, c, 0] if asks[c, 0] == 0.0 else 2.0 * math.atan2(left[0, c, 0], left[0, c, 1])
        if error > numbers[layout[REACH_AT_ALLOWED] + c] * (1.0 + ROUNDING):
            reached = 0
        if c == 0:
            first = error
        else:
            second = error
    return reached, first, second


@inline
def reach_target(kind, numbers, layout, t, q):
    """Solve for target t from q; q becomes the answer. Returns 1, 0 or a reason below 0, iterations, two errors."""
    m, width = layout[REACH_LINKS], layout[REACH_WIDTH]
    world, target, x, found = room(SCALAR, 7), room(SCALAR, 7), room(SCALAR, LARGEST), room(SCALAR, 3)
    ranges = numbers[layout[REACH_AT_RANGES] : layout[REACH_AT_RANGES] + 2 * layout[REACH_NQ]]
    if not read_target(t, width, world):
        return UNREADABLE, 0, 0.0, 0.0
    if not is_legal(q, ranges):
        return OUTSIDE, 0, 0.0, 0.0
    columns = layout[layout[REACH_COLUMNS] : layout[REACH_COLUMNS] + m]
    gains = numbers[layout[REACH_AT_GAINS] : layout[REACH_AT_GAINS] + m]
    into_base(world, width, numbers[layout[REACH_AT_BASE] : layout[REACH_AT_BASE] + 8], target)
    start = room(SCALAR, LARGEST)
    for i in range(m):
        start[i] = q[columns[i]] * gains[i]
    links = part_of(SCALAR, numbers, layout[REACH_AT_LINKS], m + 1, 10)
    seeds = part_of(SCALAR, numbers, layout[REACH_AT_SEEDS], layout[REACH_SEEDS], m + 7)
    poses = numbers[layout[REACH_AT_POSES] : layout[REACH_AT_POSES] + layout[REACH_SEEDS] * 7]
    settings = numbers[layout[REACH_AT_SETTINGS] : layout[REACH_AT_SETTINGS] + ARM_SETTINGS]
    solve_target(kind, links, seeds, poses, target, start, settings, x, found)
    # No iteration: the start meets the target, and q stays as it is, bit for bit.
    if found[1] > 0.0:
        put_answer(x, columns, gains, ranges, q)
    reached, first, second = measured(numbers, layout, q, world)
    return reached, int(found[1]), first, second


@short_kernel
def reach4(numbers, layout, t, q):
    """`reach_target` from four places at once."""
    return reach_target(LANES4, numbers, layout, t, q)


@short_kernel
def reach8(numbers, layout, t, q):
    """`reach_target` from eight places at once."""
    return reach_target(LANES8, numbers, layout, t, q)
