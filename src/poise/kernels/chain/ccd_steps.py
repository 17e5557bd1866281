# pyright: standard
"""CCD step of one joint for a position goal.

It rotates or slides the joint so that the tip comes nearest to the target.
"""

from __future__ import annotations

import math

from poise.kernels.chain.links import put_turn
from poise.kernels.codes import BALL, EXACT, HINGE, LIMIT_KIND, NO_LEVERAGE, NO_LIMIT, SLIDE
from poise.kernels.compiled import inline, part
from poise.kernels.limits.angles import TURN, best_angle, capped, clamp, twist_angle
from poise.kernels.limits.rotations import nearest_turn
from poise.kernels.values.linear import (
    Quat,
    about,
    add,
    conjugate,
    cross,
    dot,
    have_directions,
    multiply,
    normalise,
    put_quat,
    put_vec,
    quat_at,
    rotate,
    rotation_between,
    scale,
    spin,
    sub,
)

HALVINGS = 3  # maximum halvings of a ball's step at its limit


@inline
def hinge_exact(axis, value, low, high, max_turn, h, d):
    """Compute the best hinge angle inside its range. It brings the tip h nearest to the target d.

    Rotating h about a by phi gives |d - h|^2 = const - 2 [k1 (1 - cos phi) + k2 cos phi + k3 sin phi] with
        k1 = (d.a)(h.a), k2 = d.h, k3 = a.(h x d): one cosine with its minimum at phi = atan2(k3, k2 - k1).
    """
    k21 = dot(d, h) - dot(d, axis) * dot(h, axis)
    k3 = dot(axis, cross(h, d))
    # Tip or target on the axis: all angles are equal, and an arc tangent of rounding errors would spin the hinge.
    if k3 * k3 + k21 * k21 <= NO_LEVERAGE * NO_LEVERAGE:
        return value
    # max_turn narrows the range, which is exact: the best point of a cosine in a range is its minimum or the nearer
    # end.
    return best_angle(value + math.atan2(k3, k21), max(low, value - max_turn), min(high, value + max_turn))


@inline
def hinge_project(axis, value, low, high, max_turn, h, d):
    """Compute a hinge angle by projecting a free rotation.

    Rotates freely, rotates back so that the axis returns, reads the angle and clamps it.

    The result is the twist of the free rotation about the axis, a smaller angle than the best one
    (`compute_best_hinge_angle`).
    """
    free = capped(rotation_between(h, d), max_turn)
    turned = multiply(free, about(axis, value))
    back = rotation_between(rotate(turned, axis), axis)
    angle = twist_angle(multiply(back, turned), axis)
    turns = math.floor((angle - value) / TURN + 0.5)
    return best_angle(angle - turns * TURN, low, high)


@inline
def half(q):
    """Halve a rotation."""
    sign = -1.0 if q.w < 0.0 else 1.0
    return normalise(Quat(1.0 + sign * q.w, sign * q.x, sign * q.y, sign * q.z))


@part
def step_limited_ball(limit, x, i, max_turn, point, d):
    """Step a ball with a limit. A step whose clamped rotation would raise the error is halved, or not taken."""
    q = quat_at(x, i)
    h = rotate(q, point)
    turn, off = capped(rotation_between(h, d), max_turn), sub(h, d)
    most = dot(off, off)
    for _ in range(HALVINGS + 1):
        legal = nearest_turn(limit, normalise(multiply(turn, q)))
        h = rotate(legal, point)
        off = sub(h, d)
        # The legal rotation nearest to the best one may raise the error: such a step is rejected.
        if dot(off, off) <= most:
            put_quat(x, i, legal)
            return h, rotate(conjugate(legal), d)
        turn = half(turn)
    return rotate(q, point), rotate(conjugate(q), d)


@inline
def step_ball(x, i, max_turn, point, d):
    """Step a ball joint without a limit."""
    q = quat_at(x, i)
    h = rotate(q, point)
    turn = rotation_between(h, d)
    if max_turn < math.pi:
        turn = capped(turn, max_turn)
    q = multiply(turn, q)
    put_quat(x, i, q)
    pp, dd = dot(point, point), dot(d, d)
    if max_turn < math.pi or not have_directions(pp, dd):
        return rotate(turn, h), rotate(conjugate(q), d)
    # Joint, tip and target are now collinear: their lengths give the positions, without waiting for the rotation.
    return scale(d, math.sqrt(pp) / math.sqrt(dd)), scale(point, math.sqrt(dd) / math.sqrt(pp))


@inline
def step_hinge(axis, low, high, hinge, max_turn, x, turns, i, point, d):
    """Step a hinge."""
    value = x[i, 0]
    h = spin(axis, turns[i, 0], turns[i, 1], point)
    if hinge == EXACT:
        best = hinge_exact(axis, value, low, high, max_turn, h, d)
    else:
        best = hinge_project(axis, value, low, high, max_turn, h, d)
    # Many hinges stay at an end of their range, with known cosine and sine.
    if best != value:
        x[i, 0] = best
        put_turn(turns, i, best)
    return spin(axis, turns[i, 0], turns[i, 1], point), spin(axis, turns[i, 0], -turns[i, 1], d)


@inline
def step(kind, axis, low, high, limit, hinge, max_turn, x, turns, i, point, d):
    """Step joint i to bring the point nearest to d. `point` is in its moved frame, d in its frame.

    Returns both after the step: the point in the joint's frame, d in the moved frame.
    """
    if kind == BALL:
        if limit[LIMIT_KIND] == NO_LIMIT:
            return step_ball(x, i, max_turn, point, d)
        return step_limited_ball(limit, x, i, max_turn, point, d)
    if kind == HINGE:
        return step_hinge(axis, low, high, hinge, max_turn, x, turns, i, point, d)
    if kind == SLIDE:
        length = dot(axis, axis)
        if length > 0.0:
            h = add(point, scale(axis, x[i, 0]))
            x[i, 0] = clamp(x[i, 0] + dot(axis, sub(d, h)) / length, low, high)
        shift = scale(axis, x[i, 0])
    else:
        shift = sub(d, point)
        put_vec(x, i, shift)
    return add(point, shift), sub(d, shift)
