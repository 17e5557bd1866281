# pyright: standard
"""Gauss-Newton polish of position goals.

Damped steps of all joints at once, where sweeps from joint to joint converge slowly.

Sweeps come near a target in a few iterations, but their final convergence is slow. The step is
x += J^T (J J^T + l I)^-1 e with l = caution |e|^2 (Levenberg-Marquardt in its dual form; Chan and Lawrence, ICRA 1988,
for the damping). With a position goal the system is 3 x 3 for any chain length, and a ball joint needs no columns: its
three together give J J^T = h.h I - h h^T, h from the joint to the tip. A step that does not lower the error is
rejected; more caution makes a shorter one, nearer to steepest descent.
"""

from __future__ import annotations

from typing import NamedTuple

from poise.kernels.chain.links import copy, record, store_frames, tip_position
from poise.kernels.codes import BALL, HINGE, MOVE, SLIDE
from poise.kernels.compiled import inline, part
from poise.kernels.limits.angles import clamp
from poise.kernels.limits.rotations import nearest_turn
from poise.kernels.values.linear import (
    Quat,
    Vec,
    add,
    conjugate,
    cross,
    dot,
    multiply,
    norm,
    normalise,
    put_quat,
    put_vec,
    quat_at,
    rotate,
    scale,
    sub,
    vec_at,
)

CAUTION = 0.04  # minimum and initial l / |e|^2
LESS, MORE = 0.1, 10.0  # factors of the caution after a successful step and a failed one
MOST = 1e9  # caution of steps too short for progress: the polish ends
FLOOR = 1e-14  # fraction of the trace: regularises the system where no joint moves the tip in some direction
NO_WALL = 1e-12  # [rad] a limit correcting a ball by less is not counted as a wall
PASSES = 2  # passes of a step: one meets walls, one follows them
STEADY = 1e-2  # fraction of the error: three consecutive smaller decreases end the polish


class Symmetric(NamedTuple):
    """Symmetric 3 x 3 matrix."""

    xx: float
    yy: float
    zz: float
    xy: float
    xz: float
    yz: float


@inline
def with_column(a, c):
    """Return A + c c^T."""
    return Symmetric(
        a.xx + c.x * c.x, a.yy + c.y * c.y, a.zz + c.z * c.z, a.xy + c.x * c.y, a.xz + c.x * c.z, a.yz + c.y * c.z
    )


@inline
def with_ball(a, h):
    """Return A + h.h I - h h^T. The sum adds the three columns of a ball joint at -h from the tip."""
    xx, yy, zz = h.x * h.x, h.y * h.y, h.z * h.z
    return Symmetric(
        a.xx + yy + zz, a.yy + xx + zz, a.zz + xx + yy, a.xy - h.x * h.y, a.xz - h.x * h.z, a.yz - h.y * h.z
    )


@inline
def without_column(a, c):
    """Return A - c c^T."""
    return Symmetric(
        a.xx - c.x * c.x, a.yy - c.y * c.y, a.zz - c.z * c.z, a.xy - c.x * c.y, a.xz - c.x * c.z, a.yz - c.y * c.z
    )


@inline
def solved(a, damping, e):
    """Solve (A + damping I) x = e by L D L^T."""
    # Unrolled: for three unknowns a loop over small arrays costs more than the arithmetic.
    d0 = a.xx + damping
    l10, l20 = a.xy / d0, a.xz / d0
    d1 = a.yy + damping - l10 * a.xy
    rest = a.yz - l20 * a.xy
    l21 = rest / d1
    d2 = a.zz + damping - l20 * a.xz - l21 * rest
    y1 = e.y - l10 * e.x
    z = (e.z - l20 * e.x - l21 * y1) / d2
    y = y1 / d1 - l21 * z
    return Vec(e.x / d0 - l10 * y - l20 * z, y, z)


@inline
def column_of(kind, axis, h, rotation):
    """Compute the Jacobian column of a hinge or slide.

    It is the tip's motion in the base frame, per radian of a hinge, or per length of a slide whatever its unit.
    """
    axis = rotate(rotation, axis)
    return cross(axis, h) if kind == HINGE else scale(axis, 1.0 / norm(axis))


@inline
def is_held(ranges, x, i, push):
    """Return whether a limit blocks hinge or slide i. It stands at an end of its range and is pushed out of it."""
    return (x[i, 0] <= ranges[i, 0] and push < 0.0) or (x[i, 0] >= ranges[i, 1] and push > 0.0)


@inline
def system_of(kinds, axes, ranges, x, tip_at, e, origins, rotations, walls):
    """Build J J^T without blocked columns. Rotations of a ball about its wall's normal are removed."""
    a = Symmetric(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for i in range(kinds.shape[0]):
        h = sub(tip_at, vec_at(origins, i))
        if kinds[i] == BALL:
            wall = rotate(quat_at(rotations, i), vec_at(walls, i))
            # Rotations about the normal of a wall are blocked: that direction is removed from the three.
            a = without_column(with_ball(a, h), cross(wall, h))
        elif kinds[i] == MOVE:
            a = Symmetric(a.xx + 1.0, a.yy + 1.0, a.zz + 1.0, a.xy, a.xz, a.yz)
        else:
            column = column_of(kinds[i], vec_at(axes, i), h, quat_at(rotations, i))
            # Blocked values are left out, so that the others make the whole step, see `apply_damped_step` in
            # kernels/arm_lm.py.
            if not is_held(ranges, x, i, dot(column, e)):
                a = with_column(a, column)
    return a


@inline
def small_turn(v):
    """Make the rotation about v by 2 atan(|v| / 2). Nearly |v|, and never more than half a turn."""
    return normalise(Quat(1.0, 0.5 * v.x, 0.5 * v.y, 0.5 * v.z))


@inline
def put_ball(limit, x, i, step, walls, trial):
    """Step ball i, clamped to its limit. Returns whether it met a new wall.

    A wall is the limit linearised near a ball: its normal, in the link's frame, is the blocked direction of the step.
    """
    wall = vec_at(walls, i)
    step = sub(step, scale(wall, dot(wall, step)))
    q = quat_at(x, i)
    wanted = normalise(multiply(small_turn(step), q))
    # The step already runs along known walls; it is still clamped, because limits are curved.
    turned = nearest_turn(limit, wanted)
    put_quat(trial, i, turned)
    if dot(wall, wall) > 0.0 or (turned.w == wanted.w and turned.x == wanted.x and turned.y == wanted.y):
        return False
    left = multiply(wanted, conjugate(turned))
    normal = Vec(left.x, left.y, left.z)
    if not norm(normal) > NO_WALL:
        return False
    put_vec(walls, i, scale(normal, 1.0 / norm(normal)))
    return True


@inline
def put_step(kinds, axes, ranges, limits, x, tip_at, e, y, origins, rotations, walls, trial):
    """Write the motions after the step J^T y. Returns whether it met new walls."""
    met = False
    for i in range(kinds.shape[0]):
        h, rotation = sub(tip_at, vec_at(origins, i)), quat_at(rotations, i)
        if kinds[i] == BALL:
            step = rotate(conjugate(rotation), cross(h, y))
            met = put_ball(limits[i], x, i, step, walls, trial) or met
        elif kinds[i] == MOVE:
            put_vec(trial, i, add(vec_at(x, i), rotate(conjugate(rotation), y)))
        else:
            column = column_of(kinds[i], vec_at(axes, i), h, rotation)
            held = is_held(ranges, x, i, dot(column, e))
            step = 0.0 if held else dot(column, y)
            if kinds[i] == SLIDE:
                step /= norm(vec_at(axes, i))
            trial[i, 0] = clamp(x[i, 0] + step, ranges[i, 0], ranges[i, 1])
    return met


@inline
def take_step(kinds, axes, ranges, limits, x, tip_at, e, caution, origins, rotations, walls, trial):
    """Write the motions after a damped step. Where balls meet walls, the step is repeated along them."""
    for i in range(kinds.shape[0]):
        put_vec(walls, i, Vec(0.0, 0.0, 0.0))
    for _ in range(PASSES):
        a = system_of(kinds, axes, ranges, x, tip_at, e, origins, rotations, walls)
        damping = caution * dot(e, e) + FLOOR * (a.xx + a.yy + a.zz)
        # No joint moves the tip, or the error is NaN.
        if not damping > 0.0:
            return False
        y = solved(a, damping, e)
        if not put_step(kinds, axes, ranges, limits, x, tip_at, e, y, origins, rotations, walls, trial):
            break
    return True


@part
def finish(
    kinds, axes, ranges, limits, frames, tip, target, tolerance, most, x, count, trial, origins, rotations, walls,
    trace_x, trace_error,
):  # fmt: skip
    """Polish until the tip is within tolerance.

    Ends also after `max_iterations` iterations, or when steps reduce the error little.

    x becomes the best motions; returns their error. count: iterations and single joint updates, increased, also by
    rejected steps. Each joint must start inside its limits, and stays there.
    """
    tip_at = store_frames(kinds, axes, frames, tip, x, origins, rotations)
    e = sub(target, tip_at)
    error, caution, steady = norm(e), CAUTION, 0
    while count[0] < most and error > tolerance and steady < 3 and caution < MOST:
        if not take_step(kinds, axes, ranges, limits, x, tip_at, e, caution, origins, rotations, walls, trial):
            break
        after = norm(sub(target, tip_position(kinds, axes, frames, tip, trial)))
        count[0] += 1
        count[1] += kinds.shape[0]
        if after < error:
            steady = steady + 1 if error - after <= STEADY * error else 0
            # Reduce the damping by factors of ten, not at once: after one failed step the next ones may fail.
            error, caution = after, max(CAUTION, LESS * caution)
            copy(trial, x)
            tip_at = store_frames(kinds, axes, frames, tip, x, origins, rotations)
            e = sub(target, tip_at)
        else:
            caution *= MORE
        record(trace_x, trace_error, count[0], x, error)
    return error
