# pyright: standard
"""Blocked directions of a ball joint at its limit.

They are gradients of its bounds; steps are projected to run along the bounds.
"""

from __future__ import annotations

import math

from poise.kernels.codes import LIMIT_BOUNDS, LIMIT_FRAME, LIMIT_KIND, SWING_TWIST
from poise.kernels.compiled import inline, part
from poise.kernels.limits.angles import TURN, best_angle
from poise.kernels.limits.rotations import AT_EDGE, angles_of
from poise.kernels.values.linear import Quat, Vec, conjugate, dot, norm, quat_in, rotate, scale, sub


@part
def closed_ways(limit, q, push):
    """Find the blocked directions of a pushed ball.

    Returns up to three perpendicular unit vectors at rotation q; zeros where there are fewer. They are angular
    velocities in the joint's rest frame and span the gradients of the active bounds that the push would violate: a step
    without its part along them stays legal to first order.
    """
    frame, none = quat_in(limit, LIMIT_FRAME), Vec(0.0, 0.0, 0.0)
    v = rotate(conjugate(frame), Vec(q.x, q.y, q.z))
    if limit[LIMIT_KIND] == SWING_TWIST:
        local = Quat(q.w, v.x, v.y, v.z)
        a, b, c = _swing_gradient(limit, local), _twist_gradient(limit, local), none
    else:
        a, b, c = _box_gradients(limit, Quat(q.w, v.x, v.y, v.z))
    out = rotate(conjugate(frame), push)
    # Gradients of bounds violated by the push, orthogonalised by Gram-Schmidt.
    first = a if dot(a, out) > 0.0 else (b if dot(b, out) > 0.0 else (c if dot(c, out) > 0.0 else none))
    first = _unit(first)
    # Along the first bound the push may still violate a second one, and along both a third.
    out = sub(out, scale(first, dot(first, out)))
    b, c = _across(b, first), _across(c, first)
    second = b if dot(b, out) > 0.0 else (c if dot(c, out) > 0.0 else _across(a, first))
    second = _unit(second) if dot(second, out) > 0.0 else none
    out = sub(out, scale(second, dot(second, out)))
    c = _across(c, second)
    third = _unit(c) if dot(c, out) > 0.0 else none
    return rotate(frame, first), rotate(frame, second), rotate(frame, third)


@inline
def _unit(v):
    """Scale v to length one; zero stays zero."""
    size = norm(v)
    return scale(v, 1.0 / size) if size > 0.0 else v


@inline
def _across(v, unit):
    """Project v perpendicular to a unit vector. Results of rounding size become zero."""
    rest = sub(v, scale(unit, dot(unit, v)))
    return rest if dot(rest, rest) > 1e-12 * dot(v, v) else Vec(0.0, 0.0, 0.0)


@inline
def _twist_gradient(limit, q):
    """Compute the gradient of the twist out of its range. Zero where it is at no end.

    With q to exp(w / 2) q, tau = 2 atan2(z, w) changes by (B w_x - A w_y) / n^2 + w_z, A and B as in
    `_clamp_swing_twist`.
    """
    nn = q.w * q.w + q.z * q.z
    # Zero unless the twist is at an end.
    k = _end(2.0 * math.atan2(q.z, q.w), limit[LIMIT_BOUNDS + 4], limit[LIMIT_BOUNDS + 5])
    if nn == 0.0 or k == 0.0:
        return Vec(0.0, 0.0, 0.0)
    return Vec(k * (q.w * q.y + q.z * q.x) / nn, -k * (q.w * q.x - q.z * q.y) / nn, k)


@part
def _swing_gradient(limit, q):
    """Compute the gradient of the swing out of its cone. Zero where it is not at the edge.

    With u along the swing axis, t across it and m the gradient (s_x / a^2, s_y / b^2): the swing angle changes by
    w . u, its axis turns by w_z + cot(angle) w . t.
    """
    n, r = math.sqrt(q.w * q.w + q.z * q.z), math.sqrt(q.x * q.x + q.y * q.y)
    none = Vec(0.0, 0.0, 0.0)
    if r == 0.0 or n == 0.0:
        return none
    ux, uy = (q.w * q.x - q.z * q.y) / (n * r), (q.w * q.y + q.z * q.x) / (n * r)
    angle = 2.0 * math.atan2(r, n)
    x, y = angle * ux, angle * uy
    # Limits without swing to one side have a semi-axis of zero there, replaced by a small divisor.
    a = max(limit[LIMIT_BOUNDS + 1] if x >= 0.0 else -limit[LIMIT_BOUNDS], AT_EDGE)
    b = max(limit[LIMIT_BOUNDS + 3] if y >= 0.0 else -limit[LIMIT_BOUNDS + 2], AT_EDGE)
    if (x / a) * (x / a) + (y / b) * (y / b) < 1.0 - AT_EDGE:
        return none
    mx, my = x / (a * a), y / (b * b)
    along, across = mx * ux + my * uy, angle * (my * ux - mx * uy)
    turned = across * (n * n - r * r) / (2.0 * n * r)
    return Vec(along * ux - turned * uy, along * uy + turned * ux, across)


@part
def _box_gradients(limit, q):
    """Compute the gradients of three angles out of their ranges. Zero for an angle at no end.

    The angles change with the angular velocities about x, Rx y and Rx Ry z; the gradients are the reciprocal vectors.
    """
    a, b, c = angles_of(q)
    # Use the triple inside the box; its ends are the active bounds.
    if _off_box(limit, a, b, c) > AT_EDGE:
        a, b, c = a + math.pi, math.pi - b, c + math.pi
    k = -1.0 if math.cos(b) < 0.0 else 1.0
    sa, ca, sb, cb = math.sin(a), math.cos(a), math.sin(b), math.cos(b)
    at_a = k * _end(a, limit[LIMIT_BOUNDS], limit[LIMIT_BOUNDS + 1])
    at_b = _end(b, limit[LIMIT_BOUNDS + 2], limit[LIMIT_BOUNDS + 3])
    at_c = k * _end(c, limit[LIMIT_BOUNDS + 4], limit[LIMIT_BOUNDS + 5])
    return (
        scale(Vec(cb, sa * sb, -ca * sb), at_a),
        scale(Vec(0.0, ca, sa), at_b),
        scale(Vec(0.0, -sa, ca), at_c),
    )


@inline
def _off_box(limit, a, b, c):
    """Measure the largest excess of the angles beyond their ranges."""
    a = abs(math.sin(0.5 * (best_angle(a, limit[LIMIT_BOUNDS], limit[LIMIT_BOUNDS + 1]) - a)))
    b = abs(math.sin(0.5 * (best_angle(b, limit[LIMIT_BOUNDS + 2], limit[LIMIT_BOUNDS + 3]) - b)))
    return max(max(a, b), abs(math.sin(0.5 * (best_angle(c, limit[LIMIT_BOUNDS + 4], limit[LIMIT_BOUNDS + 5]) - c))))


@inline
def _end(angle, low, high):
    """Return the side of a range end. -1 at the low end, 1 at the high one, else 0."""
    if high - low >= TURN:
        return 0.0
    if abs(math.sin(0.5 * (angle - high))) < AT_EDGE:
        return 1.0
    return -1.0 if abs(math.sin(0.5 * (angle - low))) < AT_EDGE else 0.0
