# pyright: standard
"""Limits of whole rotations. The single implementation for ball joints, shared by every solver.

A limit is a row of LIMIT_ROW numbers, packed by model/limits/base/rows.py (the columns LIMIT_ of layout.py):

    0      kind: NO_LIMIT, SWING_TWIST, EULER_BOX; or RANGE, a soft limit of one value, not of a rotation
    1-4    w x y z from the limit's own frame to the joint's rest frame
    5-10   bounds [rad], three pairs of lowest and highest:
           SWING_TWIST  swing about x, swing about y (-pi..0 and 0..pi), twist about z
           EULER_BOX    angles a b c of Rx(a) Ry(b) Rz(c)
    11     0 for a hard limit; else the weight of a soft one
    12-13  SWING_TWIST: tangents of half the ends of the twist, slightly inside; 1, -1 for ends beyond half a turn

Swing and twist: q = swing . twist, twist about z and swing about an axis in the xy plane. The swing is bounded as a
rotation vector s: (s_x / a)^2 + (s_y / b)^2 <= 1 with a and b of the quarter containing s (Baerlocher and Boulic, in
Deformable Avatars, 2001). This is valid up to half a turn, where s and -s are the same rotation.
"""

from __future__ import annotations

import math

from poise.kernels.codes import (
    BOX_SWEEPS,
    ELLIPSE_STEPS,
    EULER_BOX,
    LIMIT_BOUNDS,
    LIMIT_FRAME,
    LIMIT_KIND,
    LIMIT_SOFT,
    LIMIT_TANGENTS,
    SLACK,
    SWING_TWIST,
    WIDEST_SWING,
)
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.limits.angles import TURN, best_angle
from poise.kernels.values.linear import Quat, Vec, about, conjugate, multiply, put_quat_in, quat_in, rotate

AT_EDGE = 1e-6  # [rad, fraction of the ellipse] closer to a bound counts as being at it


@inline
def binds(limit):
    """Return whether a limit is hard and bounds a rotation."""
    return limit[LIMIT_SOFT] == 0.0 and (limit[LIMIT_KIND] == SWING_TWIST or limit[LIMIT_KIND] == EULER_BOX)


@inline
def is_free(limit, q):
    """Return whether a rotation is clearly inside its limit. A quick test; most rotations pass it."""
    if limit[LIMIT_KIND] != SWING_TWIST:
        return False
    # Only swing and twist have a test without arc functions.
    return _clearly_inside(limit, q.w, rotate(conjugate(quat_in(limit, LIMIT_FRAME)), Vec(q.x, q.y, q.z)))


@part
def nearest_turn(limit, q):
    """Clamp a unit quaternion to its limit. A legal one is returned bit for bit, else the nearest legal rotation.

    The sign of the result is that of q: the nearer one of the two equivalent quaternions.
    """
    kind = limit[LIMIT_KIND]
    if kind != SWING_TWIST and kind != EULER_BOX:
        return q
    frame = quat_in(limit, LIMIT_FRAME)
    v = rotate(conjugate(frame), Vec(q.x, q.y, q.z))
    if kind == SWING_TWIST:
        if _clearly_inside(limit, q.w, v):
            return q
        is_legal, turn = _swing_twist(limit, Quat(q.w, v.x, v.y, v.z))
    else:
        is_legal, turn = _euler_box(limit, Quat(q.w, v.x, v.y, v.z))
    if is_legal:
        return q
    v = rotate(frame, Vec(turn.x, turn.y, turn.z))
    # The same sign as q, so that callers may take differences and means of the two.
    sign = -1.0 if q.w * turn.w + q.x * v.x + q.y * v.y + q.z * v.z < 0.0 else 1.0
    return Quat(sign * turn.w, sign * v.x, sign * v.y, sign * v.z)


@inline
def turn_excess(q, legal):
    """Return the angle [rad] between two unit quaternions. They have one sign; exactly 0 for equal ones."""
    w, x, y, z = q.w - legal.w, q.x - legal.x, q.y - legal.y, q.z - legal.z
    return 4.0 * math.asin(min(0.5 * math.sqrt(w * w + x * x + y * y + z * z), 1.0))


@kernel
def largest_excess(columns, limits, q):
    """Find the largest rotation excess [rad] of ball joints. Configurations are q (k, nq).

    Row b of limits (b, LIMIT_ROW) bounds the quaternion starting at column columns[b].
    """
    most = 0.0
    for k in range(q.shape[0]):
        for b in range(columns.shape[0]):
            turn = quat_in(q[k], columns[b])
            most = max(most, turn_excess(turn, nearest_turn(limits[b], turn)))
    return most


@kernel
def put_inside(columns, limits, q):
    """Clamp the balls of configurations q (k, n) to their limits.

    columns and limits: as for `find_max_rotation_excess`.
    """
    for k in range(q.shape[0]):
        for b in range(columns.shape[0]):
            put_quat_in(q[k], columns[b], nearest_turn(limits[b], quat_in(q[k], columns[b])))


# --- swing and twist ---------------------------------------------------------------------------------------------


@inline
def _clearly_inside(limit, w, v):
    """Return whether a swing and twist is clearly legal.

    It is at no end. The test needs no function of an angle, and most rotations pass.

    The twist is compared with the tangents of half its ends. The swing uses an angle up to 0.8 % too large, for up to a
    quarter turn: atan t <= t (15 + 4 t^2) / (15 + 9 t^2), from its continued fraction.
    """
    low, high = limit[LIMIT_TANGENTS], limit[LIMIT_TANGENTS + 1]
    side = -1.0 if w < 0.0 else 1.0
    # tan(twist / 2) is z / w: ends are compared as low w <= z <= high w, without dividing.
    if not low * side * w <= side * v.z <= high * side * w:
        return False
    nn = w * w + v.z * v.z
    x, y, tt = w * v.x - v.z * v.y, w * v.y + v.z * v.x, (v.x * v.x + v.y * v.y) / nn
    a = limit[LIMIT_BOUNDS + 1] if x >= 0.0 else limit[LIMIT_BOUNDS]
    b = limit[LIMIT_BOUNDS + 3] if y >= 0.0 else limit[LIMIT_BOUNDS + 2]
    # 2 atan(t) / t with t = tan of half the swing; at most 0.8 % too large, which is conservative.
    k = 2.0 * (15.0 + 4.0 * tt) / ((15.0 + 9.0 * tt) * nn)
    return tt <= 1.0 and (k * x / a) * (k * x / a) + (k * y / b) * (k * y / b) < 1.0 - 2.0 * AT_EDGE


@part
def _swing_twist(limit, q):
    """Clamp a rotation to a swing and twist limit.

    Returns whether q, in the limit's frame, is legal, and the clamped rotation: swing and twist are each moved to the
    nearest legal value.

    At a swing of half a turn the twist is undefined (zero is used); near it, the twist has a smaller weight.
    """
    n, r = math.sqrt(q.w * q.w + q.z * q.z), math.sqrt(q.x * q.x + q.y * q.y)
    twist = 2.0 * math.atan2(q.z, q.w)
    kept = best_angle(twist, limit[LIMIT_BOUNDS + 4], limit[LIMIT_BOUNDS + 5])
    x, y = q.x, q.y
    # The swing is q times the inverse twist. At a swing of half a turn (n = 0) the twist is undefined and left out.
    if n > 0.0:
        x, y = (q.w * q.x - q.z * q.y) / n, (q.w * q.y + q.z * q.x) / n
    k = 2.0 * math.atan2(r, n) / r if r > 0.0 else 0.0
    x, y = k * x, k * y
    to_x, to_y, off = _nearest_swing(limit, x, y)
    if off == 0.0 and kept == twist:
        return True, q
    # Near a swing of half a turn the twist hardly changes the rotation: its excess is weighted by that change.
    is_legal = off <= SLACK and n * 2.0 * abs(math.sin(0.5 * (kept - twist))) <= SLACK
    angle = math.sqrt(to_x * to_x + to_y * to_y)
    # A clamped rotation must stay legal when measured again, which is certain only away from half a turn.
    half = 0.5 * min(angle, WIDEST_SWING)
    cosine = math.cos(half)
    k = math.sin(half) / angle if angle > 0.0 else 0.0
    x, y, c, s = k * to_x, k * to_y, math.cos(0.5 * kept), math.sin(0.5 * kept)
    return is_legal, Quat(cosine * c, x * c + y * s, y * c - x * s, cosine * s)


@inline
def _nearest_swing(limit, x, y):
    """Find the legal swing nearest to (x, y).

    Also returns its distance, and considers the same rotation the other way round.
    """
    to_x, to_y = _nearest_in_ellipse(limit, x, y)
    off = math.sqrt((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y))
    angle = math.sqrt(x * x + y * y)
    widest = max(
        max(-limit[LIMIT_BOUNDS], limit[LIMIT_BOUNDS + 1]), max(-limit[LIMIT_BOUNDS + 2], limit[LIMIT_BOUNDS + 3])
    )
    # The opposite direction can only be nearer for wide limits.
    if TURN - angle - widest < off:
        k = 1.0 - TURN / angle
        x, y = k * x, k * y
        back_x, back_y = _nearest_in_ellipse(limit, x, y)
        back_off = math.sqrt((back_x - x) * (back_x - x) + (back_y - y) * (back_y - y))
        if back_off < off:
            to_x, to_y, off = back_x, back_y, back_off
    return to_x, to_y, off


@part
def _nearest_in_ellipse(limit, x, y):
    """Find the nearest point of four quarter ellipses. A point (x, y) inside is returned itself.

    On a quarter with semi-axes a and b it is (a^2 x / (t + a^2), b^2 y / (t + b^2)) with t > 0 such that it lies on
    the ellipse (Eberly, Distance from a point to an ellipse, 2013). The residual is a decreasing convex function of t:
    Newton's method increases t monotonically from any point before the root and cannot overshoot. It starts where one
    of the two coordinates alone would be on the ellipse, with a residual between 0 and 1.
    """
    a = limit[LIMIT_BOUNDS + 1] if x >= 0.0 else -limit[LIMIT_BOUNDS]
    b = limit[LIMIT_BOUNDS + 3] if y >= 0.0 else -limit[LIMIT_BOUNDS + 2]
    if a <= SLACK or b <= SLACK:  # a line, or a point
        a, b = (0.0 if a <= SLACK else a), (0.0 if b <= SLACK else b)
        return min(max(x, -a), a), min(max(y, -b), b)
    if (x / a) * (x / a) + (y / b) * (y / b) <= 1.0:
        return x, y
    aa, bb = a * a, b * b
    # Start where x alone or y alone would be on the ellipse: at or before the root.
    t = max(0.0, max(a * abs(x) - aa, b * abs(y) - bb))
    for _ in range(ELLIPSE_STEPS):
        g, h = a * x / (t + aa), b * y / (t + bb)
        left = g * g + h * h - 1.0
        step = 0.5 * left / (g * g / (t + aa) + h * h / (t + bb))
        if step <= 1e-16 * t:
            break
        t += step
    return aa * x / (t + aa), bb * y / (t + bb)


# --- three angles ------------------------------------------------------------------------------------------------


@part
def _euler_box(limit, q):
    """Clamp a rotation to a box of Euler angles.

    Returns whether q, in the limit's frame, is legal, and the nearest rotation with legal angles.

    A rotation has two triples of angles, (a, b, c) and (a + pi, pi - b, c + pi), modulo turns. The triple inside the
    box is used, else the one with the nearer rotation. Clamping each angle does not give the nearest rotation, because
    the axes of a and c are not perpendicular: each angle in turn takes its best value for the other two. This also
    distributes a and c at gimbal lock (b at a quarter turn), where only their sum or difference is defined.
    """
    a, b, c = angles_of(q)
    is_inside = (
        limit[LIMIT_BOUNDS] <= a <= limit[LIMIT_BOUNDS + 1] and limit[LIMIT_BOUNDS + 2] <= b <= limit[LIMIT_BOUNDS + 3]
    )
    if is_inside and limit[LIMIT_BOUNDS + 4] <= c <= limit[LIMIT_BOUNDS + 5]:
        return True, q
    # Ranges of b may exceed a quarter turn, where only the second triple is inside.
    angles = _boxed(limit, Vec(a, b, c))
    other = _boxed(limit, Vec(a + math.pi, math.pi - b, c + math.pi))
    if _chord(q, _turned(other)) < _chord(q, _turned(angles)):
        angles = other
    for _ in range(BOX_SWEEPS):
        # Iterate, because the best value of each angle depends on the other two.
        before = angles
        angles = _swept(limit, q, angles)
        if max(max(abs(angles.x - before.x), abs(angles.y - before.y)), abs(angles.z - before.z)) <= SLACK:
            break
    turn = _turned(angles)
    return 2.0 * _chord(q, turn) <= SLACK, turn


@inline
def angles_of(q):
    """Compute angles a b c of q = Rx(a) Ry(b) Rz(c).

    b is within a quarter turn; see `from_quaternion` in maths/euler.py.
    """
    long = math.sqrt((q.w + q.y) * (q.w + q.y) + (q.x + q.z) * (q.x + q.z))
    short = math.sqrt((q.w - q.y) * (q.w - q.y) + (q.x - q.z) * (q.x - q.z))
    half_sum, half_difference = math.atan2(q.x + q.z, q.w + q.y), math.atan2(q.x - q.z, q.w - q.y)
    b = 2.0 * math.atan2(long, short) - 0.5 * math.pi
    return half_sum + half_difference, b, half_sum - half_difference


@inline
def _boxed(limit, angles):
    """Clamp each angle to its range, on the circle."""
    return Vec(
        best_angle(angles.x, limit[LIMIT_BOUNDS], limit[LIMIT_BOUNDS + 1]),
        best_angle(angles.y, limit[LIMIT_BOUNDS + 2], limit[LIMIT_BOUNDS + 3]),
        best_angle(angles.z, limit[LIMIT_BOUNDS + 4], limit[LIMIT_BOUNDS + 5]),
    )


@part
def _swept(limit, q, angles):
    """Optimise each angle in turn inside its range. The result is the rotation nearest to q."""
    y, z = about(Vec(0.0, 1.0, 0.0), angles.y), about(Vec(0.0, 0.0, 1.0), angles.z)
    left = multiply(q, conjugate(multiply(y, z)))
    a = best_angle(2.0 * math.atan2(left.x, left.w), limit[LIMIT_BOUNDS], limit[LIMIT_BOUNDS + 1])
    x = about(Vec(1.0, 0.0, 0.0), a)
    left = multiply(conjugate(multiply(x, y)), q)
    c = best_angle(2.0 * math.atan2(left.z, left.w), limit[LIMIT_BOUNDS + 4], limit[LIMIT_BOUNDS + 5])
    left = multiply(conjugate(x), multiply(q, conjugate(about(Vec(0.0, 0.0, 1.0), c))))
    b = best_angle(2.0 * math.atan2(left.y, left.w), limit[LIMIT_BOUNDS + 2], limit[LIMIT_BOUNDS + 3])
    return Vec(a, b, c)


@part
def _turned(angles):
    """Return Rx(a) Ry(b) Rz(c)."""
    ca, cb, cc = math.cos(0.5 * angles.x), math.cos(0.5 * angles.y), math.cos(0.5 * angles.z)
    sa, sb, sc = math.sin(0.5 * angles.x), math.sin(0.5 * angles.y), math.sin(0.5 * angles.z)
    return Quat(
        ca * cb * cc - sa * sb * sc,
        sa * cb * cc + ca * sb * sc,
        ca * sb * cc - sa * cb * sc,
        ca * cb * sc + sa * sb * cc,
    )


@inline
def _chord(p, q):
    """Return the distance of two rotations. It is 2 sin(angle / 4), of unit quaternions."""
    minus = (p.w - q.w) * (p.w - q.w) + (p.x - q.x) * (p.x - q.x) + (p.y - q.y) * (p.y - q.y)
    plus = (p.w + q.w) * (p.w + q.w) + (p.x + q.x) * (p.x + q.x) + (p.y + q.y) * (p.y + q.y)
    minus, plus = minus + (p.z - q.z) * (p.z - q.z), plus + (p.z + q.z) * (p.z + q.z)
    return math.sqrt(min(minus, plus))
