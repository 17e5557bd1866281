# pyright: standard
"""Goal errors by forward kinematics along joint paths. Several poses are measured side by side.

    table   (r, 23)    rows of the skeleton from the root to each joint, path by path; see the columns
    spans   (c, 2)     first and last row of the path of each measure
    measures (c, 8)    kind of each measure, its first column in a target; 2-4: direction, aim: the joint's axis;
                       pole: path lengths of the limb's first and middle joint (the path is that of its tip);
                       5-7: position, aim: the point in the joint's frame
    q       (k, nq)    poses
    used    (u,)       the columns of q used by the table, which counts in these
    targets (1|k, w)   world
    out     (k, c, 2)  position: distance, 0. Rotation: |sin|, |cos| of half the angle. Others: |sin|, cos of the
                       angle times a common factor; 0, 0 where an aim is at its target or a pole is undefined

The kernels use the skeleton's own rows, independently of the solver's packed problem.
"""

from __future__ import annotations

import math

from poise.kernels.codes import (
    AIM,
    ASK_COLUMN,
    ASK_KIND,
    ASK_POINT,
    ASK_VECTOR,
    BALL,
    FREE,
    HINGE,
    PATH_AFTER,
    PATH_AFTER_OFFSET,
    PATH_AFTER_TURN,
    PATH_AXIS,
    PATH_FACTOR,
    PATH_KIND,
    PATH_OFFSET,
    PATH_RATIO,
    PATH_SHIFT,
    PATH_START,
    PATH_TURN,
    POLE,
    POSITION,
    ROTATION,
    ROUNDING,
    SAME,
    SLIDE,
    STRAIGHT,
    TINY,
)
from poise.kernels.compiled import inline, kernel, part, short_kernel
from poise.kernels.values.axes import identity
from poise.kernels.values.lanes import (
    LANES4,
    LANES8,
    SCALAR,
    fill,
    half_turn,
    lane,
    maximum,
    minimum,
    part_of,
    select,
    sqrt,
    width,
)
from poise.kernels.values.linear import Quat, Vec, add, cross, dot, multiply, quat_in, rotate, scale, sub, vec_in


@inline
def place_of(kind, table, first, last, numbers):
    """Compute world position, rotation and scale at a path's end."""
    zero = fill(kind, 0.0)
    position, rotation, factor = Vec(zero, zero, zero), identity(kind), 1.0
    for i in range(first, last):
        row = table[i]
        position = add(position, rotate(rotation, scale(vec_in(row, PATH_OFFSET), factor)))
        rotation = multiply(rotation, quat_in(row, PATH_TURN))
        # Every path starts at the root, even where paths share rows: paths are few, and nothing need be stored.
        motion, at = int(row[PATH_KIND]), int(row[PATH_START])
        if motion == HINGE:
            axis = vec_in(row, PATH_AXIS)
            s, c = half_turn(numbers[at] * row[PATH_RATIO] + row[PATH_SHIFT])
            rotation = multiply(rotation, Quat(c, s * axis.x, s * axis.y, s * axis.z))
        elif motion == SLIDE:
            value = (numbers[at] * row[PATH_RATIO] + row[PATH_SHIFT]) * factor
            position = add(position, rotate(rotation, scale(vec_in(row, PATH_AXIS), value)))
        elif motion == BALL:
            rotation = multiply(rotation, quat_in(numbers, at))
        elif motion == FREE:
            position = add(position, rotate(rotation, scale(vec_in(numbers, at), factor)))
            rotation = multiply(rotation, quat_in(numbers, at + 3))
        # B has a uniform scale here; otherwise the caller uses the full transforms instead.
        if row[PATH_AFTER] > 0.0:
            position = add(position, rotate(rotation, scale(vec_in(row, PATH_AFTER_OFFSET), factor)))
            rotation = multiply(rotation, quat_in(row, PATH_AFTER_TURN))
            factor = factor * row[PATH_FACTOR]
    return position, rotation, factor


@inline
def left_of(kind, ask, target, position, rotation, factor):
    """Measure the error of one goal term. Returns the two numbers of `out`."""
    # Most goals measure the joint's origin, with no offset to rotate.
    if ask[ASK_POINT] != 0.0 or ask[ASK_POINT + 1] != 0.0 or ask[ASK_POINT + 2] != 0.0:
        position = add(position, rotate(rotation, scale(vec_in(ask, ASK_POINT), factor)))
    if kind == POSITION:
        off = sub(vec_in(target, 0), position)
        # Times zero gives a zero of the same type, number or lanes.
        return sqrt(dot(off, off)), dot(off, off) * 0.0
    if kind == ROTATION:
        w = quat_in(target, 0)
        x = w.x * rotation.w - w.w * rotation.x + w.z * rotation.y - w.y * rotation.z
        y = w.y * rotation.w - w.w * rotation.y + w.x * rotation.z - w.z * rotation.x
        z = w.z * rotation.w - w.w * rotation.z + w.y * rotation.x - w.x * rotation.y
        cosine = w.w * rotation.w + w.x * rotation.x + w.y * rotation.y + w.z * rotation.z
        # q and -q are the same rotation: the absolute cosine gives the smaller angle.
        return sqrt(x * x + y * y + z * z), maximum(cosine, -cosine)
    wanted = vec_in(target, 0)
    if kind == AIM:
        away = sub(wanted, position)
        there = dot(away, away) <= SAME * (dot(wanted, wanted) + dot(position, position))
        # At the target every direction is right: both numbers and the angle become zero.
        wanted = scale(away, select(there, dot(away, away) * 0.0, dot(away, away) * 0.0 + 1.0))
    axis = rotate(rotation, vec_in(ask, ASK_VECTOR))
    across = cross(axis, wanted)
    return sqrt(dot(across, across)), dot(axis, wanted)


@inline
def length(v):
    """Return |v|."""
    return sqrt(dot(v, v))


@part
def side_left(kind, table, start, end, ask, numbers, target):
    """Measure the error of a pole.

    Returns the two numbers of `out`, of the angle about the line from the limb's first joint to its tip.
    """
    first, _, _ = place_of(kind, table, start, start + int(ask[ASK_VECTOR]), numbers)
    middle, _, _ = place_of(kind, table, start, start + int(ask[ASK_VECTOR + 1]), numbers)
    tip, _, _ = place_of(kind, table, start, end, numbers)
    line, bend, away = sub(tip, first), sub(middle, first), sub(vec_in(target, 0), first)
    reach, limb = length(line), length(bend) + length(sub(tip, middle))
    n = scale(line, 1.0 / maximum(reach, TINY))
    k, p = sub(bend, scale(n, dot(n, bend))), sub(away, scale(n, dot(n, away)))
    # For a straight limb, a pole on its line or a tip at the first joint, the bend is undefined and the error zero.
    straight = minimum(minimum(length(k), length(p)), reach) <= STRAIGHT * limb
    sine, cosine = dot(n, cross(k, p)), dot(k, p)
    zero = sine * 0.0
    return select(straight, zero, maximum(sine, -sine)), select(straight, zero, cosine)


@inline
def measure_all(kind, table, spans, asks, q, used, targets, work, out):
    """Measure all errors. `work` holds (used + 7) values, aligned to 64 bytes."""
    w, k = width(kind), q.shape[0]
    numbers = part_of(kind, work, 0, used.shape[0])
    target = part_of(kind, work, used.shape[0] * w, 7)
    for block in range((k + w - 1) // w):
        gather(work, 0, q, block, w, used)
        for c in range(spans.shape[0]):
            for j in range(4 if asks[c, ASK_KIND] == ROTATION else 3):
                for l in range(w):
                    # The last block repeats its last pose, and a single target serves all.
                    i = min(block * w + l, k - 1, targets.shape[0] - 1)
                    work[(used.shape[0] + j) * w + l] = targets[i, int(asks[c, ASK_COLUMN]) + j]
            if asks[c, ASK_KIND] == POLE:
                a, b = side_left(kind, table, spans[c, 0], spans[c, 1], asks[c], numbers, target)
            else:
                position, rotation, factor = place_of(kind, table, spans[c, 0], spans[c, 1], numbers)
                a, b = left_of(int(asks[c, ASK_KIND]), asks[c], target, position, rotation, factor)
            for l in range(min(w, k - block * w)):
                out[block * w + l, c, 0], out[block * w + l, c, 1] = lane(a, l), lane(b, l)


@inline
def gather(work, start, q, block, w, used):
    """Gather the used columns of w rows of q side by side. Rows beyond the last repeat it."""
    for j in range(used.shape[0]):
        for l in range(w):
            work[start + j * w + l] = q[min(block * w + l, q.shape[0] - 1), used[j]]


@kernel
def measure4(table, spans, asks, q, used, targets, work, out):
    """Measure errors of four poses side by side."""
    measure_all(LANES4, table, spans, asks, q, used, targets, work, out)


@kernel
def measure8(table, spans, asks, q, used, targets, work, out):
    """Measure errors of eight poses side by side."""
    measure_all(LANES8, table, spans, asks, q, used, targets, work, out)


@inline
def error_of(kind, a, b):
    """Compute a distance or angle from the two numbers of `out`."""
    if kind == POSITION:
        return a
    angle = 0.0 if a == 0.0 and b == 0.0 else math.atan2(abs(a), b)  # atan2(0, -0) is half a turn
    return 2.0 * angle if kind == ROTATION else angle


@short_kernel
def measure_one(table, spans, asks, used, allowed, q, target, work, errors):
    """Measure errors (c,) of one pose q (nq,). The target is (1, w).

    `work` has room for used + 7 + 2 c numbers.
    """
    c, at = spans.shape[0], used.shape[0] + 7
    left = part_of(SCALAR, work, at, 1, c, 2)
    measure_all(SCALAR, table, spans, asks, part_of(SCALAR, q, 0, 1, q.shape[0]), used, target, work, left)
    is_met = True
    for i in range(c):
        errors[i] = error_of(int(asks[i, ASK_KIND]), left[0, i, 0], left[0, i, 1])
        # NaN counts as not met.
        if not errors[i] <= allowed[i] * (1.0 + ROUNDING):
            is_met = False
    return is_met
