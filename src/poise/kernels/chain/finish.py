# pyright: standard
"""Gauss-Newton polish of all goals. Damped steps of all joints at once end a slow coordinate descent.

dx = W J^T (J W J^T + l I)^-1 e with up to nine rows: point, rotation and direction (chain_kinematics.py). W holds the
joint weights. Values pushed against a limit by the gradient are left out; the result is clamped to the limits.
Levenberg, Q. Appl. Math. 2, 1944; in its dual form Nakamura and Hanafusa, J. Dyn. Sys. 108, 1986.
"""

from __future__ import annotations

import math

from poise.kernels.chain.aims import placed, rotation_left, squared_error
from poise.kernels.chain.links import copy
from poise.kernels.codes import BALL, HINGE, MOVE, SLIDE
from poise.kernels.compiled import inline
from poise.kernels.limits.angles import clamp
from poise.kernels.limits.rotations import nearest_turn
from poise.kernels.values.linear import (
    Quat,
    Vec,
    conjugate,
    cross,
    dot,
    multiply,
    norm,
    normalise,
    put_quat,
    quat_at,
    rotate,
    rotation_between,
    scale,
    sub,
    vec_at,
)
from poise.kernels.values.small_solve import factor, substitute

LEAST_DAMPING = 1e-13  # regularises the system where no joint changes a residual row
LONGEST = 1.0  # [rad, chain sizes] maximum joint motion of one step


@inline
def put_rows(row, first, weight, v):
    """Write three weighted numbers."""
    row[first], row[first + 1], row[first + 2] = weight * v.x, weight * v.y, weight * v.z


@inline
def twice_vector(left):
    """Compute 2 sin(angle / 2) along a rotation's axis."""
    return Vec(2.0 * left.x, 2.0 * left.y, 2.0 * left.z)


@inline
def put_residual(now, wanted, weights, e):
    """Write the weighted residual rows; return their number."""
    rows = 0
    if weights.point > 0.0:
        put_rows(e, rows, math.sqrt(weights.point), sub(wanted.point, now.point))
        rows += 3
    if weights.turn > 0.0:
        put_rows(e, rows, math.sqrt(weights.turn), twice_vector(rotation_left(now.turn, wanted.turn)))
        rows += 3
    if weights.axis > 0.0:
        put_rows(e, rows, math.sqrt(weights.axis), twice_vector(rotation_between(now.axis, wanted.axis)))
        rows += 3
    return rows


@inline
def put_column(column, turns, way, lever, now, weights):
    """Write the residual's derivative by one degree of freedom. It rotates about `axis` or moves along it."""
    rows = 0
    if weights.point > 0.0:
        put_rows(column, rows, math.sqrt(weights.point), cross(way, lever) if turns else way)
        rows += 3
    if weights.turn > 0.0:
        put_rows(column, rows, math.sqrt(weights.turn) if turns else 0.0, way)
        rows += 3
    if weights.axis > 0.0:
        across = sub(way, scale(now.axis, dot(now.axis, way)))
        put_rows(column, rows, math.sqrt(weights.axis) if turns else 0.0, across)


@inline
def unit(j):
    """Return the j-th axis of a frame."""
    return Vec(1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)


@inline
def dofs(kind):
    """Return the number of columns of a link."""
    return 3 if kind == BALL or kind == MOVE else 1


@inline
def way_of(kind, axis, rotation, j):
    """Return the base-frame axis of column j. The link rotates about it or moves along it; balls use the base axes."""
    if kind == BALL:
        return unit(j)
    if kind == MOVE:
        return rotate(rotation, unit(j))
    if kind == SLIDE:
        length = norm(axis)
        axis = scale(axis, 1.0 / length if length > 0.0 else 0.0)
    return rotate(rotation, axis)


@inline
def is_stuck(kind, value, low, high, push):
    """Return whether the gradient pushes a value out of its range."""
    return (kind == HINGE or kind == SLIDE) and ((value <= low and push < 0.0) or (value >= high and push > 0.0))


@inline
def build(links, now, weights, rows, x, room):
    """Build the columns and J W J^T, lower triangle."""
    normal, columns, e = room.normal, room.columns, room.vectors[0]
    for r in range(rows):
        for s in range(r + 1):
            normal[r, s] = 0.0
    for i in range(links.kinds.shape[0]):
        kind, rotation = links.kinds[i], quat_at(room.rotations, i)
        lever = sub(now.point, vec_at(room.origins, i))
        turns = kind == BALL or kind == HINGE
        for j in range(dofs(kind)):
            column, ease = columns[3 * i + j], links.ease[i]
            put_column(column, turns, way_of(kind, vec_at(links.axes, i), rotation, j), lever, now, weights)
            push = 0.0
            for r in range(rows):
                push += column[r] * e[r]
            if is_stuck(kind, x[i, 0], links.ranges[i, 0], links.ranges[i, 1], push):
                ease = 0.0
            for r in range(rows):
                # W in one of the two factors only; a blocked joint has weight 0 and an empty column, so that it does
                # not move.
                eased = ease * column[r]
                for s in range(r + 1):
                    normal[r, s] += eased * column[s]
                column[r] = column[r] if ease > 0.0 else 0.0


@inline
def moved(links, i, j, room, rows):
    """Compute the step of column j of link i."""
    y, column, far = room.vectors[3], room.columns[3 * i + j], 0.0
    for r in range(rows):
        far += column[r] * y[r]
    return links.ease[i] * far


@inline
def apply(links, room, rows, cap, x, to):
    """Apply the step, with limits. It is shortened as a whole so that nothing moves farther than `max_step`."""
    largest = 0.0
    for i in range(links.kinds.shape[0]):
        step = Vec(0.0, 0.0, 0.0)
        if dofs(links.kinds[i]) > 1:
            step = Vec(moved(links, i, 0, room, rows), moved(links, i, 1, room, rows), moved(links, i, 2, room, rows))
        else:
            step = Vec(moved(links, i, 0, room, rows), 0.0, 0.0)
        largest = max(largest, norm(step))
        room.steps[i, 0], room.steps[i, 1], room.steps[i, 2] = step.x, step.y, step.z
    # Scaled as a whole: limiting each joint separately would change the direction of the step.
    share = 1.0 if largest <= cap else cap / largest
    for i in range(links.kinds.shape[0]):
        kind, step = links.kinds[i], scale(vec_at(room.steps, i), share)
        put_quat(to, i, quat_at(x, i))
        if kind == BALL:
            step = rotate(conjugate(quat_at(room.rotations, i)), scale(step, 0.5))
            # A rotation by 2 atan(|step|): at most half a turn, and equal to the exponential map to second order.
            turned = normalise(multiply(Quat(1.0, step.x, step.y, step.z), quat_at(x, i)))
            put_quat(to, i, nearest_turn(links.limits[i], turned))
        elif kind == MOVE:
            to[i, 0], to[i, 1], to[i, 2] = x[i, 0] + step.x, x[i, 1] + step.y, x[i, 2] + step.z
        else:
            length = norm(vec_at(links.axes, i)) if kind == SLIDE else 1.0
            if length > 0.0:
                to[i, 0] = clamp(x[i, 0] + step.x / length, links.ranges[i, 0], links.ranges[i, 1])


@inline
def finish_step(links, tip, target, weights, max_turn, damping, x, trial, room):
    """Take one damped step if it lowers the error; return the error."""
    now = placed(links, tip, x, room.origins, room.rotations)
    error = squared_error(now, target, weights)
    rows = put_residual(now, target, weights, room.vectors[0])
    build(links, now, weights, rows, x, room)
    for r in range(rows):
        # Damping in proportion to the squared error: none at the goal, where Gauss-Newton converges quadratically.
        room.normal[r, r] += damping * error + LEAST_DAMPING
    factor(room.normal, room.vectors[1], rows)
    substitute(room.normal, room.vectors[1], room.vectors[0], room.vectors[3], rows)
    apply(links, room, rows, min(max_turn, LONGEST), x, trial)
    farther = squared_error(placed(links, tip, trial, room.origins, room.rotations), target, weights)
    if farther < error:
        copy(trial, x)
        return math.sqrt(farther)
    return math.sqrt(error)
