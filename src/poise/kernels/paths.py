# pyright: standard
"""How far goals are from being met: forward kinematics along the paths to their joints, several poses side by side.

    table   (r, 23)    rows of the skeleton from the root to each joint, one path after the other; see the columns
    spans   (c, 2)     first and last row of the path of each measure
    asks    (c, 5)     kind of each measure, its first column in a target, and for a direction the joint's axis
    q       (k, nq)    poses
    used    (u,)       the columns of q that the table needs; it counts in these
    targets (1|k, w)   world
    out     (k, c, 2)  position: distance, 0. Rotation: |sin|, |cos| of half the angle left. Direction: |sin|, cos of it

This walks the skeleton's own rows, not what a solver was given: it is the judge's. `places` gives the transforms.
"""

from __future__ import annotations

from poise.kernels.compiled import inline, kernel
from poise.kernels.forward import BALL, FREE, HINGE, SLIDE
from poise.kernels.lanes import LANES4, LANES8, fill, half_turn, lane, maximum, part_of, sqrt, width
from poise.kernels.linear import Quat, Vec, add, cross, dot, multiply, quat_in, rotate, scale, sub, vec_in
from poise.kernels.serial import identity

KIND, AXIS, OFFSET, TURN, START, RATIO, SHIFT, AFTER, AFTER_OFFSET, AFTER_TURN, FACTOR = (
    0,
    1,
    4,
    7,
    11,
    12,
    13,
    14,
    15,
    18,
    22,
)
TABLE = 23
POSITION, ROTATION, DIRECTION = 0, 1, 2


@inline
def place_of(kind, table, first, last, numbers):
    """World position and rotation at the end of a path, for the numbers of q that it needs."""
    zero = fill(kind, 0.0)
    position, rotation, factor = Vec(zero, zero, zero), identity(kind), 1.0
    for i in range(first, last):
        row = table[i]
        position = add(position, rotate(rotation, scale(vec_in(row, OFFSET), factor)))
        rotation = multiply(rotation, quat_in(row, TURN))
        motion, at = int(row[KIND]), int(row[START])
        if motion == HINGE:
            axis = vec_in(row, AXIS)
            s, c = half_turn(numbers[at] * row[RATIO] + row[SHIFT])
            rotation = multiply(rotation, Quat(c, s * axis.x, s * axis.y, s * axis.z))
        elif motion == SLIDE:
            value = (numbers[at] * row[RATIO] + row[SHIFT]) * factor
            position = add(position, rotate(rotation, scale(vec_in(row, AXIS), value)))
        elif motion == BALL:
            rotation = multiply(rotation, quat_in(numbers, at))
        elif motion == FREE:
            position = add(position, rotate(rotation, scale(vec_in(numbers, at), factor)))
            rotation = multiply(rotation, quat_in(numbers, at + 3))
        if row[AFTER] > 0.0:
            position = add(position, rotate(rotation, scale(vec_in(row, AFTER_OFFSET), factor)))
            rotation = multiply(rotation, quat_in(row, AFTER_TURN))
            factor = factor * row[FACTOR]
    return position, rotation


@inline
def left_of(kind, ask, target, position, rotation):
    """The two numbers of `out` for one measure."""
    if kind == POSITION:
        off = sub(vec_in(target, 0), position)
        return sqrt(dot(off, off)), dot(off, off) * 0.0
    if kind == ROTATION:
        w = quat_in(target, 0)
        x = w.x * rotation.w - w.w * rotation.x + w.z * rotation.y - w.y * rotation.z
        y = w.y * rotation.w - w.w * rotation.y + w.x * rotation.z - w.z * rotation.x
        z = w.z * rotation.w - w.w * rotation.z + w.y * rotation.x - w.x * rotation.y
        cosine = w.w * rotation.w + w.x * rotation.x + w.y * rotation.y + w.z * rotation.z
        return sqrt(x * x + y * y + z * z), maximum(cosine, -cosine)
    wanted = vec_in(target, 0)
    axis = rotate(rotation, vec_in(ask, 2))
    across = cross(axis, wanted)
    return sqrt(dot(across, across)), dot(axis, wanted)


@inline
def measure_all(kind, table, spans, asks, q, used, targets, work, out):
    """Fill `out`; `work` has room for (used + 7) values, aligned to 64 bytes."""
    w, k = width(kind), q.shape[0]
    numbers = part_of(kind, work, 0, used.shape[0])
    target = part_of(kind, work, used.shape[0] * w, 7)
    for block in range((k + w - 1) // w):
        gather(work, 0, q, block, w, used)
        for c in range(spans.shape[0]):
            position, rotation = place_of(kind, table, spans[c, 0], spans[c, 1], numbers)
            for j in range(4 if asks[c, 0] == ROTATION else 3):
                for l in range(w):
                    i = min(block * w + l, k - 1, targets.shape[0] - 1)
                    work[(used.shape[0] + j) * w + l] = targets[i, int(asks[c, 1]) + j]
            a, b = left_of(int(asks[c, 0]), asks[c], target, position, rotation)
            for l in range(min(w, k - block * w)):
                out[block * w + l, c, 0], out[block * w + l, c, 1] = lane(a, l), lane(b, l)


@inline
def gather(work, start, q, block, w, used):
    """Put the used columns of w rows of q side by side; rows beyond the last repeat it."""
    for j in range(used.shape[0]):
        for l in range(w):
            work[start + j * w + l] = q[min(block * w + l, q.shape[0] - 1), used[j]]


@kernel
def measure4(table, spans, asks, q, used, targets, work, out):
    """`measure_all`, four poses side by side."""
    measure_all(LANES4, table, spans, asks, q, used, targets, work, out)


@kernel
def measure8(table, spans, asks, q, used, targets, work, out):
    """`measure_all`, eight poses side by side."""
    measure_all(LANES8, table, spans, asks, q, used, targets, work, out)
