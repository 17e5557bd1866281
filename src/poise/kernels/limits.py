# pyright: standard
"""Joint limits: nearest legal values, excess, and blocked directions.

Every solver uses these rules. A hinge gets the legal angle nearest on the circle, a slide the end of its range, a ball
the nearest legal rotation; legal ones are not changed by a bit.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
from poise.kernels.layout import (
    EULER_BOX,
    LIMIT_FRAME,
    LIMIT_HIGH_TANGENT,
    LIMIT_KIND,
    LIMIT_LOW_TANGENT,
    LIMIT_SOFT_WEIGHT,
    LIMIT_X_HIGH,
    LIMIT_X_LOW,
    LIMIT_Y_HIGH,
    LIMIT_Y_LOW,
    LIMIT_Z_HIGH,
    LIMIT_Z_LOW,
    SWING_TWIST,
)
from poise.kernels.thresholds import ANGLE_SLACK_RAD, MAX_BOX_SWEEPS, MAX_ELLIPSE_STEPS, MAX_SWING_RAD
from poise.kernels.vec_quat import (
    Quat,
    Vec,
    conjugate,
    dot,
    from_axis_angle,
    multiply,
    norm,
    read_quat_at,
    read_vec_at,
    rotate,
    scale,
    sub,
    write_quat_at,
)

TWO_PI = 2.0 * math.pi


@inline
def clamp(value, low, high):
    """Clamp a value to low..high (slides)."""
    return min(max(value, low), high)


@inline
def measure_circular_distance(angle, end):
    """Measure the distance [rad] of two angles on the circle."""
    difference = angle - end
    return abs(difference - TWO_PI * math.floor(difference / TWO_PI + 0.5))


@inline
def find_nearest_end(angle, low, high):
    """Return the end of a range nearer on the circle.

    An angle just beyond the high end of a wide range may be nearer to the low end.
    """
    return low if measure_circular_distance(angle, low) <= measure_circular_distance(angle, high) else high


@inline
def clamp_angle(angle, low, high):
    """Return the angle x in low..high with the greatest cos(x - angle).

    It is `angle` modulo a turn if that is in the range, else the end nearer on the circle. Every objective of one hinge
    angle here is a cosine, so this is its exact minimiser inside the range; plain clamping may pick the wrong end. Of
    several equivalent angles in the range, it is the one nearest to `angle`.
    """
    if angle < low:
        # As few whole turns as possible: the nearest equivalent in the range.
        equivalent = angle + TWO_PI * math.ceil((low - angle) / TWO_PI)
        return equivalent if equivalent <= high else find_nearest_end(equivalent, low, high)
    if angle > high:
        equivalent = angle - TWO_PI * math.ceil((angle - high) / TWO_PI)
        return equivalent if equivalent >= low else find_nearest_end(equivalent, low, high)
    return angle


@inline
def find_nearest_equivalent(angle, start_angle, low, high):
    """Return the equivalent angle in low..high nearest to `start_angle`.

    Equivalent: `angle`, which is in the range, plus whole turns.
    """
    if abs(angle - start_angle) <= math.pi:
        return angle
    equivalent = angle + TWO_PI * math.floor((start_angle - angle) / TWO_PI + 0.5)
    if equivalent > high:
        equivalent -= TWO_PI * math.ceil((equivalent - high) / TWO_PI)
    elif equivalent < low:
        equivalent += TWO_PI * math.ceil((low - equivalent) / TWO_PI)
    return equivalent if low <= equivalent <= high else angle


@inline
def twist_angle(q, axis):
    """Return the angle of q about a unit axis.

    It is in -2 pi..2 pi; the twist is the rotation about the axis nearest to q (modulo a turn).
    """
    return 2.0 * math.atan2(q.x * axis.x + q.y * axis.y + q.z * axis.z, q.w)


@inline
def cap_rotation(q, max_angle):
    """Limit the angle of rotation q to `max_angle`, about the same axis."""
    sine = math.sqrt(q.x * q.x + q.y * q.y + q.z * q.z)
    half_angle = 0.5 * max_angle
    if math.atan2(sine, abs(q.w)) <= half_angle:
        return q
    k = math.sin(half_angle) / sine
    k = -k if q.w < 0.0 else k
    return Quat(math.cos(half_angle), k * q.x, k * q.y, k * q.z)


# --- Limits of whole rotations ---------------------------------------------------------------------------------------
#
# The single implementation for ball joints, shared by every solver.
#
# A limit is a row of LIMIT_ROW numbers, packed by model/limit_bounds.py (the columns LIMIT_ of layout.py):
#
# 0      kind: NO_LIMIT, SWING_TWIST, EULER_BOX; or RANGE, a soft limit of one value, not of a rotation
# 1-4    w x y z from the limit's own frame to the joint's rest frame
# 5-10   bounds [rad], three pairs of lowest and highest;
#        SWING_TWIST: swing about x, swing about y (-pi..0 and 0..pi), twist about z
#        EULER_BOX: angles a b c of Rx(a) Ry(b) Rz(c)
# 11     0 for a hard limit; else the weight of a soft one
# 12-13  SWING_TWIST: tangents of half the ends of the twist, slightly inside; 1, -1 for ends beyond half a turn
#
# Swing and twist: q = swing . twist, twist about z and swing about an axis in the xy plane. The swing is bounded as a
# rotation vector s: (s_x / a)^2 + (s_y / b)^2 <= 1 with a and b of the quarter containing s (Baerlocher and Boulic, in
# Deformable Avatars, 2001). This is valid up to half a turn, where s and -s are the same rotation.


EDGE_TOLERANCE = 1e-6  # [rad, fraction of the ellipse] closer to a bound counts as being at it
ESTIMATE_MARGIN_RAD = 0.006  # [rad] more than the error of an estimated angle, 0.005, and the tolerance at a bound


@inline
def has_hard_limit(limit):
    """Return whether a limit is hard and bounds a rotation."""
    return limit[LIMIT_SOFT_WEIGHT] == 0.0 and (limit[LIMIT_KIND] == SWING_TWIST or limit[LIMIT_KIND] == EULER_BOX)


@inline
def is_clearly_inside(limit, q):
    """Return whether a rotation is clearly inside its limit. A quick test; most rotations pass it."""
    if limit[LIMIT_KIND] != SWING_TWIST and limit[LIMIT_KIND] != EULER_BOX:
        return False
    vector_part = rotate(conjugate(read_quat_at(limit, LIMIT_FRAME)), Vec(q.x, q.y, q.z))
    if limit[LIMIT_KIND] == SWING_TWIST:
        return _is_inside_swing_twist(limit, q.w, vector_part)
    return _is_inside_euler_box(limit, Quat(q.w, vector_part.x, vector_part.y, vector_part.z))


@device_function
def clamp_rotation(limit, q):
    """Clamp a unit quaternion to its limit. A legal one is returned bit for bit, else the nearest legal rotation.

    The sign of the result is that of q: the nearer one of the two equivalent quaternions.
    """
    limit_kind = limit[LIMIT_KIND]
    if limit_kind != SWING_TWIST and limit_kind != EULER_BOX:
        return q
    frame = read_quat_at(limit, LIMIT_FRAME)
    vector_part = rotate(conjugate(frame), Vec(q.x, q.y, q.z))
    if limit_kind == SWING_TWIST:
        if _is_inside_swing_twist(limit, q.w, vector_part):
            return q
        is_legal, clamped = _clamp_swing_twist(limit, Quat(q.w, vector_part.x, vector_part.y, vector_part.z))
    else:
        if _is_inside_euler_box(limit, Quat(q.w, vector_part.x, vector_part.y, vector_part.z)):
            return q
        is_legal, clamped = _clamp_euler_box(limit, Quat(q.w, vector_part.x, vector_part.y, vector_part.z))
    if is_legal:
        return q
    vector_part = rotate(frame, Vec(clamped.x, clamped.y, clamped.z))
    # The same sign as q, so that callers may take differences and means of the two.
    result_sign = (
        -1.0 if q.w * clamped.w + q.x * vector_part.x + q.y * vector_part.y + q.z * vector_part.z < 0.0 else 1.0
    )
    return Quat(
        result_sign * clamped.w, result_sign * vector_part.x, result_sign * vector_part.y, result_sign * vector_part.z
    )


@inline
def measure_rotation_excess(q, legal_rotation):
    """Return the angle [rad] between two unit quaternions. They have one sign; exactly 0 for equal ones."""
    w, x, y, z = q.w - legal_rotation.w, q.x - legal_rotation.x, q.y - legal_rotation.y, q.z - legal_rotation.z
    return 4.0 * math.asin(min(0.5 * math.sqrt(w * w + x * x + y * y + z * z), 1.0))


@kernel("I1 F2 F2 -> f")
def find_max_rotation_excess(quaternion_columns, limits, q):
    """Find the largest rotation excess [rad] of ball joints. Configurations are q (k, nq).

    Row b of limits (b, LIMIT_ROW) bounds the quaternion starting at column quaternion_columns[b].
    """
    max_excess = 0.0
    for k in range(q.shape[0]):
        for b in range(quaternion_columns.shape[0]):
            rotation = read_quat_at(q[k], quaternion_columns[b])
            max_excess = max(max_excess, measure_rotation_excess(rotation, clamp_rotation(limits[b], rotation)))
    return max_excess


@kernel("I1 F2 wF2 ->")
def clamp_rotations(quaternion_columns, limits, q):
    """Clamp the balls of configurations q (k, n) to their limits.

    quaternion_columns and limits: as for `find_max_rotation_excess`.
    """
    for k in range(q.shape[0]):
        for b in range(quaternion_columns.shape[0]):
            write_quat_at(
                q[k], quaternion_columns[b], clamp_rotation(limits[b], read_quat_at(q[k], quaternion_columns[b]))
            )


# --- swing and twist ---------------------------------------------------------------------------------------------


@inline
def _is_inside_swing_twist(limit, w, v):
    """Return whether a swing and twist is clearly legal.

    It is at no end. The test needs no function of an angle, and most rotations pass.

    The twist is compared with the tangents of half its ends. The swing uses an angle up to 0.8 % too large, for up to a
    quarter turn: atan t <= t (15 + 4 t^2) / (15 + 9 t^2), from its continued fraction.
    """
    low_tangent, high_tangent = limit[LIMIT_LOW_TANGENT], limit[LIMIT_HIGH_TANGENT]
    w_sign = -1.0 if w < 0.0 else 1.0
    # tan(twist / 2) is z / w: ends are compared as low w <= z <= high w, without dividing.
    if not low_tangent * w_sign * w <= w_sign * v.z <= high_tangent * w_sign * w:
        return False
    twist_length2 = w * w + v.z * v.z
    x, y, half_swing_tangent2 = w * v.x - v.z * v.y, w * v.y + v.z * v.x, (v.x * v.x + v.y * v.y) / twist_length2
    a = limit[LIMIT_X_HIGH] if x >= 0.0 else limit[LIMIT_X_LOW]
    b = limit[LIMIT_Y_HIGH] if y >= 0.0 else limit[LIMIT_Y_LOW]
    # 2 atan(t) / t with t = tan of half the swing; at most 0.8 % too large, which is conservative.
    k = 2.0 * (15.0 + 4.0 * half_swing_tangent2) / ((15.0 + 9.0 * half_swing_tangent2) * twist_length2)
    return (
        half_swing_tangent2 <= 1.0
        and (k * x / a) * (k * x / a) + (k * y / b) * (k * y / b) < 1.0 - 2.0 * EDGE_TOLERANCE
    )


@device_function
def _clamp_swing_twist(limit, q):
    """Clamp a rotation to a swing and twist limit.

    Returns whether q, in the limit's frame, is legal, and the clamped rotation: swing and twist are each moved to the
    nearest legal value.

    At a swing of half a turn the twist is undefined (zero is used); near it, the twist has a smaller weight.
    """
    # Cosine n and sine r of half the swing.
    n, r = math.sqrt(q.w * q.w + q.z * q.z), math.sqrt(q.x * q.x + q.y * q.y)
    twist = 2.0 * math.atan2(q.z, q.w)
    clamped_twist = clamp_angle(twist, limit[LIMIT_Z_LOW], limit[LIMIT_Z_HIGH])
    x, y = q.x, q.y
    # The swing is q times the inverse twist. At a swing of half a turn (n = 0) the twist is undefined and left out.
    if n > 0.0:
        x, y = (q.w * q.x - q.z * q.y) / n, (q.w * q.y + q.z * q.x) / n
    angle_per_sine = 2.0 * math.atan2(r, n) / r if r > 0.0 else 0.0
    x, y = angle_per_sine * x, angle_per_sine * y
    clamped_x, clamped_y, distance = _find_nearest_swing(limit, x, y)
    if distance == 0.0 and clamped_twist == twist:
        return True, q
    # Near a swing of half a turn the twist hardly changes the rotation: its excess is weighted by that change.
    is_legal = distance <= ANGLE_SLACK_RAD and n * 2.0 * abs(math.sin(0.5 * (clamped_twist - twist))) <= ANGLE_SLACK_RAD
    angle = math.sqrt(clamped_x * clamped_x + clamped_y * clamped_y)
    # A clamped rotation must stay legal when measured again, which is certain only away from half a turn.
    half_swing = 0.5 * min(angle, MAX_SWING_RAD)
    cosine = math.cos(half_swing)
    sine_per_angle = math.sin(half_swing) / angle if angle > 0.0 else 0.0
    x, y = sine_per_angle * clamped_x, sine_per_angle * clamped_y
    c, s = math.cos(0.5 * clamped_twist), math.sin(0.5 * clamped_twist)
    return is_legal, Quat(cosine * c, x * c + y * s, y * c - x * s, cosine * s)


@inline
def _find_nearest_swing(limit, x, y):
    """Find the legal swing nearest to (x, y).

    Also returns its distance, and considers the same rotation the other way round.
    """
    nearest_x, nearest_y = _find_nearest_in_ellipse(limit, x, y)
    distance = math.sqrt((nearest_x - x) * (nearest_x - x) + (nearest_y - y) * (nearest_y - y))
    angle = math.sqrt(x * x + y * y)
    max_swing = max(max(-limit[LIMIT_X_LOW], limit[LIMIT_X_HIGH]), max(-limit[LIMIT_Y_LOW], limit[LIMIT_Y_HIGH]))
    # The opposite direction can only be nearer for wide limits.
    if TWO_PI - angle - max_swing < distance:
        k = 1.0 - TWO_PI / angle
        x, y = k * x, k * y
        opposite_x, opposite_y = _find_nearest_in_ellipse(limit, x, y)
        opposite_distance = math.sqrt((opposite_x - x) * (opposite_x - x) + (opposite_y - y) * (opposite_y - y))
        if opposite_distance < distance:
            nearest_x, nearest_y, distance = opposite_x, opposite_y, opposite_distance
    return nearest_x, nearest_y, distance


@device_function
def _find_nearest_in_ellipse(limit, x, y):
    """Find the nearest point of four quarter ellipses. A point (x, y) inside is returned itself.

    On a quarter with semi-axes a and b it is (a^2 x / (t + a^2), b^2 y / (t + b^2)) with t > 0 such that it lies on
    the ellipse (Eberly, Distance from a point to an ellipse, 2013). The residual is a decreasing convex function of t:
    Newton's method increases t monotonically from any point before the root and cannot overshoot. It starts where one
    of the two coordinates alone would be on the ellipse, with a residual between 0 and 1.
    """
    a = limit[LIMIT_X_HIGH] if x >= 0.0 else -limit[LIMIT_X_LOW]
    b = limit[LIMIT_Y_HIGH] if y >= 0.0 else -limit[LIMIT_Y_LOW]
    if a <= ANGLE_SLACK_RAD or b <= ANGLE_SLACK_RAD:  # a line, or a point
        a, b = (0.0 if a <= ANGLE_SLACK_RAD else a), (0.0 if b <= ANGLE_SLACK_RAD else b)
        return min(max(x, -a), a), min(max(y, -b), b)
    if (x / a) * (x / a) + (y / b) * (y / b) <= 1.0:
        return x, y
    aa, bb = a * a, b * b
    # Start where x alone or y alone would be on the ellipse: at or before the root.
    t = max(0.0, max(a * abs(x) - aa, b * abs(y) - bb))
    for _ in range(MAX_ELLIPSE_STEPS):
        g, h = a * x / (t + aa), b * y / (t + bb)
        residual = g * g + h * h - 1.0
        step = 0.5 * residual / (g * g / (t + aa) + h * h / (t + bb))
        if step <= 1e-16 * t:
            break
        t += step
    return aa * x / (t + aa), bb * y / (t + bb)


# --- three angles ------------------------------------------------------------------------------------------------


@device_function
def _is_inside_euler_box(limit, q):
    """Return whether a rotation is clearly inside a box of Euler angles.

    It is at no end. The test needs no function of an angle, and most rotations pass.

    Angles are estimated from the rotation matrix of Rx(a) Ry(b) Rz(c), whose third column has the sine of b and, times
    the cosine of b, sine and cosine of a; its first row has those of c. Near gimbal lock (b at a quarter turn) a and c
    are rounding, and nothing is said.
    """
    ww, xx, yy, zz = q.w * q.w, q.x * q.x, q.y * q.y, q.z * q.z
    sine_b = 2.0 * (q.w * q.y + q.x * q.z)
    sine_a, cosine_a = 2.0 * (q.w * q.x - q.y * q.z), ww - xx - yy + zz
    cosine_b = math.sqrt(sine_a * sine_a + cosine_a * cosine_a)
    if not cosine_b > ESTIMATE_MARGIN_RAD * abs(sine_b):
        return False
    b = _estimate_angle(sine_b, cosine_b)
    if not limit[LIMIT_Y_LOW] + ESTIMATE_MARGIN_RAD <= b <= limit[LIMIT_Y_HIGH] - ESTIMATE_MARGIN_RAD:
        return False
    a = _estimate_angle(sine_a, cosine_a)
    if not limit[LIMIT_X_LOW] + ESTIMATE_MARGIN_RAD <= a <= limit[LIMIT_X_HIGH] - ESTIMATE_MARGIN_RAD:
        return False
    c = _estimate_angle(2.0 * (q.w * q.z - q.x * q.y), ww + xx - yy - zz)
    return limit[LIMIT_Z_LOW] + ESTIMATE_MARGIN_RAD <= c <= limit[LIMIT_Z_HIGH] - ESTIMATE_MARGIN_RAD


@inline
def _estimate_angle(sine, cosine):
    """Estimate an angle from multiples of its sine and cosine. The error is below 0.005 rad.

    atan t ~ t / (1 + 0.28125 t^2) for t up to 1 (Lyons, Understanding Digital Signal Processing, 2010).
    """
    across, along = abs(sine), abs(cosine)
    t = min(across, along) / max(across, along)
    angle = t / (1.0 + 0.28125 * t * t)
    angle = 0.5 * math.pi - angle if across > along else angle
    angle = math.pi - angle if cosine < 0.0 else angle
    return -angle if sine < 0.0 else angle


@device_function
def _clamp_euler_box(limit, q):
    """Clamp a rotation to a box of Euler angles.

    Returns whether q, in the limit's frame, is legal, and the nearest rotation with legal angles.

    A rotation has two triples of angles, (a, b, c) and (a + pi, pi - b, c + pi), modulo turns. The triple inside the
    box is used, else the one with the nearer rotation. Clamping each angle does not give the nearest rotation, because
    the axes of a and c are not perpendicular: each angle in turn takes its best value for the other two. This also
    distributes a and c at gimbal lock (b at a quarter turn), where only their sum or difference is defined.
    """
    a, b, c = compute_euler_angles(q)
    is_inside = limit[LIMIT_X_LOW] <= a <= limit[LIMIT_X_HIGH] and limit[LIMIT_Y_LOW] <= b <= limit[LIMIT_Y_HIGH]
    if is_inside and limit[LIMIT_Z_LOW] <= c <= limit[LIMIT_Z_HIGH]:
        return True, q
    # Ranges of b may exceed a quarter turn, where only the second triple is inside.
    angles = _clamp_angles(limit, Vec(a, b, c))
    second_angles = _clamp_angles(limit, Vec(a + math.pi, math.pi - b, c + math.pi))
    if _chord(q, _euler_to_quaternion(second_angles)) < _chord(q, _euler_to_quaternion(angles)):
        angles = second_angles
    for _ in range(MAX_BOX_SWEEPS):
        # Iterate, because the best value of each angle depends on the other two.
        last_angles = angles
        angles = _refine_angles(limit, q, angles)
        if (
            max(max(abs(angles.x - last_angles.x), abs(angles.y - last_angles.y)), abs(angles.z - last_angles.z))
            <= ANGLE_SLACK_RAD
        ):
            break
    clamped = _euler_to_quaternion(angles)
    return 2.0 * _chord(q, clamped) <= ANGLE_SLACK_RAD, clamped


@inline
def compute_euler_angles(q):
    """Compute angles a b c of q = Rx(a) Ry(b) Rz(c).

    b is within a quarter turn; see `from_quaternion` in maths/euler.py.
    """
    sine_length = math.sqrt((q.w + q.y) * (q.w + q.y) + (q.x + q.z) * (q.x + q.z))
    cosine_length = math.sqrt((q.w - q.y) * (q.w - q.y) + (q.x - q.z) * (q.x - q.z))
    half_sum, half_difference = math.atan2(q.x + q.z, q.w + q.y), math.atan2(q.x - q.z, q.w - q.y)
    b = 2.0 * math.atan2(sine_length, cosine_length) - 0.5 * math.pi
    return half_sum + half_difference, b, half_sum - half_difference


@inline
def _clamp_angles(limit, angles):
    """Clamp each angle to its range, on the circle."""
    return Vec(
        clamp_angle(angles.x, limit[LIMIT_X_LOW], limit[LIMIT_X_HIGH]),
        clamp_angle(angles.y, limit[LIMIT_Y_LOW], limit[LIMIT_Y_HIGH]),
        clamp_angle(angles.z, limit[LIMIT_Z_LOW], limit[LIMIT_Z_HIGH]),
    )


@device_function
def _refine_angles(limit, q, angles):
    """Optimise each angle in turn inside its range. The result is the rotation nearest to q."""
    y, z = from_axis_angle(Vec(0.0, 1.0, 0.0), angles.y), from_axis_angle(Vec(0.0, 0.0, 1.0), angles.z)
    remaining_rotation = multiply(q, conjugate(multiply(y, z)))
    a = clamp_angle(
        2.0 * math.atan2(remaining_rotation.x, remaining_rotation.w), limit[LIMIT_X_LOW], limit[LIMIT_X_HIGH]
    )
    x = from_axis_angle(Vec(1.0, 0.0, 0.0), a)
    remaining_rotation = multiply(conjugate(multiply(x, y)), q)
    c = clamp_angle(
        2.0 * math.atan2(remaining_rotation.z, remaining_rotation.w), limit[LIMIT_Z_LOW], limit[LIMIT_Z_HIGH]
    )
    remaining_rotation = multiply(conjugate(x), multiply(q, conjugate(from_axis_angle(Vec(0.0, 0.0, 1.0), c))))
    b = clamp_angle(
        2.0 * math.atan2(remaining_rotation.y, remaining_rotation.w), limit[LIMIT_Y_LOW], limit[LIMIT_Y_HIGH]
    )
    return Vec(a, b, c)


@device_function
def _euler_to_quaternion(angles):
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
    difference2 = (p.w - q.w) * (p.w - q.w) + (p.x - q.x) * (p.x - q.x) + (p.y - q.y) * (p.y - q.y)
    sum2 = (p.w + q.w) * (p.w + q.w) + (p.x + q.x) * (p.x + q.x) + (p.y + q.y) * (p.y + q.y)
    difference2, sum2 = difference2 + (p.z - q.z) * (p.z - q.z), sum2 + (p.z + q.z) * (p.z + q.z)
    return math.sqrt(min(difference2, sum2))


# --- Blocked directions of a ball joint at its limit -----------------------------------------------------------------
#
# They are gradients of its bounds; steps are projected to run along the bounds.


@device_function
def find_blocked_directions(limit, q, push):
    """Find the blocked directions of a pushed ball.

    Returns up to three perpendicular unit vectors at rotation q; zeros where there are fewer. They are angular
    velocities in the joint's rest frame and span the gradients of the active bounds that the push would violate: a step
    without its part along them stays legal to first order.
    """
    frame, zero = read_quat_at(limit, LIMIT_FRAME), Vec(0.0, 0.0, 0.0)
    vector_part = rotate(conjugate(frame), Vec(q.x, q.y, q.z))
    if limit[LIMIT_KIND] == SWING_TWIST:
        limit_rotation = Quat(q.w, vector_part.x, vector_part.y, vector_part.z)
        gradient_a, gradient_b, gradient_c = (
            _compute_swing_gradient(limit, limit_rotation),
            _compute_twist_gradient(limit, limit_rotation),
            zero,
        )
    else:
        gradient_a, gradient_b, gradient_c = _compute_box_gradients(
            limit, Quat(q.w, vector_part.x, vector_part.y, vector_part.z)
        )
    local_push = rotate(conjugate(frame), push)
    # Gradients of bounds violated by the push, orthogonalised by Gram-Schmidt.
    first_normal = (
        gradient_a
        if dot(gradient_a, local_push) > 0.0
        else (
            gradient_b
            if dot(gradient_b, local_push) > 0.0
            else (gradient_c if dot(gradient_c, local_push) > 0.0 else zero)
        )
    )
    first_normal = _normalise_or_zero(first_normal)
    # Along the first bound the push may still violate a second one, and along both a third.
    local_push = sub(local_push, scale(first_normal, dot(first_normal, local_push)))
    gradient_b, gradient_c = _project_out(gradient_b, first_normal), _project_out(gradient_c, first_normal)
    second_normal = (
        gradient_b
        if dot(gradient_b, local_push) > 0.0
        else (gradient_c if dot(gradient_c, local_push) > 0.0 else _project_out(gradient_a, first_normal))
    )
    second_normal = _normalise_or_zero(second_normal) if dot(second_normal, local_push) > 0.0 else zero
    local_push = sub(local_push, scale(second_normal, dot(second_normal, local_push)))
    gradient_c = _project_out(gradient_c, second_normal)
    third_normal = _normalise_or_zero(gradient_c) if dot(gradient_c, local_push) > 0.0 else zero
    return rotate(frame, first_normal), rotate(frame, second_normal), rotate(frame, third_normal)


@inline
def _normalise_or_zero(v):
    """Scale v to length one; zero stays zero."""
    length = norm(v)
    return scale(v, 1.0 / length) if length > 0.0 else v


@inline
def _project_out(v, unit_vector):
    """Project v perpendicular to a unit vector. Results of rounding size become zero."""
    remainder = sub(v, scale(unit_vector, dot(unit_vector, v)))
    return remainder if dot(remainder, remainder) > 1e-12 * dot(v, v) else Vec(0.0, 0.0, 0.0)


@inline
def _compute_twist_gradient(limit, q):
    """Compute the gradient of the twist out of its range. Zero where it is at no end.

    With q to exp(w / 2) q, the twist 2 atan2(q_z, q_w) changes by (B w_x - A w_y) / n^2 + w_z, where
    A = q_w q_x - q_z q_y, B = q_w q_y + q_z q_x and n^2 = q_w^2 + q_z^2.
    """
    twist_length2 = q.w * q.w + q.z * q.z
    # Zero unless the twist is at an end.
    end_sign = _find_end_sign(2.0 * math.atan2(q.z, q.w), limit[LIMIT_Z_LOW], limit[LIMIT_Z_HIGH])
    if twist_length2 == 0.0 or end_sign == 0.0:
        return Vec(0.0, 0.0, 0.0)
    return Vec(
        end_sign * (q.w * q.y + q.z * q.x) / twist_length2,
        -end_sign * (q.w * q.x - q.z * q.y) / twist_length2,
        end_sign,
    )


@device_function
def _compute_swing_gradient(limit, q):
    """Compute the gradient of the swing out of its cone. Zero where it is not at the edge.

    With u along the swing axis, t across it and m the gradient (s_x / a^2, s_y / b^2): the swing angle changes by
    w . u, its axis turns by w_z + cot(angle) w . t.
    """
    # Cosine n and sine r of half the swing.
    n, r = math.sqrt(q.w * q.w + q.z * q.z), math.sqrt(q.x * q.x + q.y * q.y)
    zero = Vec(0.0, 0.0, 0.0)
    if r == 0.0 or n == 0.0:
        return zero
    ux, uy = (q.w * q.x - q.z * q.y) / (n * r), (q.w * q.y + q.z * q.x) / (n * r)
    angle = 2.0 * math.atan2(r, n)
    x, y = angle * ux, angle * uy
    # Limits without swing to one side have a semi-axis of zero there, replaced by a small divisor.
    a = max(limit[LIMIT_X_HIGH] if x >= 0.0 else -limit[LIMIT_X_LOW], EDGE_TOLERANCE)
    b = max(limit[LIMIT_Y_HIGH] if y >= 0.0 else -limit[LIMIT_Y_LOW], EDGE_TOLERANCE)
    if (x / a) * (x / a) + (y / b) * (y / b) < 1.0 - EDGE_TOLERANCE:
        return zero
    mx, my = x / (a * a), y / (b * b)
    radial, tangential = mx * ux + my * uy, angle * (my * ux - mx * uy)
    axial = tangential * (n * n - r * r) / (2.0 * n * r)
    return Vec(radial * ux - axial * uy, radial * uy + axial * ux, tangential)


@device_function
def _compute_box_gradients(limit, q):
    """Compute the gradients of three angles out of their ranges. Zero for an angle at no end.

    The angles change with the angular velocities about x, Rx y and Rx Ry z; the gradients are the reciprocal vectors.
    """
    a, b, c = compute_euler_angles(q)
    # Use the triple inside the box; its ends are the active bounds.
    if _measure_box_excess(limit, a, b, c) > 2.0 * EDGE_TOLERANCE:
        a, b, c = a + math.pi, math.pi - b, c + math.pi
    triple_sign = -1.0 if math.cos(b) < 0.0 else 1.0
    sa, ca, sb, cb = math.sin(a), math.cos(a), math.sin(b), math.cos(b)
    a_gradient_size = triple_sign * _find_end_sign(a, limit[LIMIT_X_LOW], limit[LIMIT_X_HIGH])
    b_gradient_size = _find_end_sign(b, limit[LIMIT_Y_LOW], limit[LIMIT_Y_HIGH])
    c_gradient_size = triple_sign * _find_end_sign(c, limit[LIMIT_Z_LOW], limit[LIMIT_Z_HIGH])
    return (
        scale(Vec(cb, sa * sb, -ca * sb), a_gradient_size),
        scale(Vec(0.0, ca, sa), b_gradient_size),
        scale(Vec(0.0, -sa, ca), c_gradient_size),
    )


@inline
def _measure_box_excess(limit, a, b, c):
    """Measure the largest distance [rad] of three angles from their ranges."""
    a = measure_circular_distance(clamp_angle(a, limit[LIMIT_X_LOW], limit[LIMIT_X_HIGH]), a)
    b = measure_circular_distance(clamp_angle(b, limit[LIMIT_Y_LOW], limit[LIMIT_Y_HIGH]), b)
    return max(max(a, b), measure_circular_distance(clamp_angle(c, limit[LIMIT_Z_LOW], limit[LIMIT_Z_HIGH]), c))


@inline
def _find_end_sign(angle, low, high):
    """Return the side of a range end. -1 at the low end, 1 at the high one, else 0."""
    if high - low >= TWO_PI:
        return 0.0
    if measure_circular_distance(angle, high) < 2.0 * EDGE_TOLERANCE:
        return 1.0
    return -1.0 if measure_circular_distance(angle, low) < 2.0 * EDGE_TOLERANCE else 0.0


# --- Excess of configurations beyond their ranges --------------------------------------------------------------------
#
# Ranges bound values of q, and ball joints reduced to hinges.
#
# Every solution is checked with it. The tests hold a reference implementation over arrays.


@kernel("I1 F2 I2 F2 F1 F1 F2 -> f")
def find_max_range_excess(bounded_columns, ranges, hinge_columns, hinge_axes, hinge_low, hinge_high, q):
    """Find the largest range excess of configurations. In [rad] or file units, over q (k, nq); NaN propagates.

    bounded_columns        (c,)    columns of q bounded by the rows of `ranges` (nq, 2)
    hinge_columns          (h, 4)  columns of the hinges' quaternions
    hinge_axes             (h, 3)  axes of the hinges
    hinge_low, hinge_high  (h,)    ranges of their angles
    """
    max_excess = 0.0
    for i in range(q.shape[0]):
        for j in bounded_columns:
            max_excess = nan_max(max_excess, nan_max(ranges[j, 0] - q[i, j], q[i, j] - ranges[j, 1]))
        for h in range(hinge_columns.shape[0]):
            rotation = read_quat_at(q[i], hinge_columns[h, 0])
            max_excess = nan_max(
                max_excess, measure_hinge_excess(rotation, read_vec_at(hinge_axes[h], 0), hinge_low[h], hinge_high[h])
            )
    return max_excess


@kernel("I1 I1 F2 I2 F2 F1 F1 F1 f f -> b")
def is_valid_start(
    quaternion_columns,
    bounded_columns,
    ranges,
    hinge_columns,
    hinge_axes,
    hinge_low,
    hinge_high,
    q,
    unit_tolerance,
    max_excess,
):
    """Return whether a configuration is a valid start.

    q (nq,) must be finite and legal, with rotations of unit length.

    quaternion_columns (b,)  first column of each quaternion
    unit_tolerance           of their squared lengths
    max_excess               of values beyond their ranges; the others as in `find_max_range_excess`
    """
    for j in range(q.shape[0]):
        if not math.isfinite(q[j]):
            return False
    for j in quaternion_columns:
        rotation = read_quat_at(q, j)
        squared_length = (
            rotation.w * rotation.w + rotation.x * rotation.x + rotation.y * rotation.y + rotation.z * rotation.z
        )
        if not abs(squared_length - 1.0) <= unit_tolerance:
            return False
    for j in bounded_columns:
        if nan_max(ranges[j, 0] - q[j], q[j] - ranges[j, 1]) > max_excess:
            return False
    for h in range(hinge_columns.shape[0]):
        if (
            not measure_hinge_excess(
                read_quat_at(q, hinge_columns[h, 0]), read_vec_at(hinge_axes[h], 0), hinge_low[h], hinge_high[h]
            )
            <= max_excess
        ):
            return False
    return True


@inline
def measure_hinge_excess(rotation, axis, low, high):
    """Measure the excess of a hinged ball.

    It is twice the largest component difference from the nearest rotation about the axis by an angle in low..high. For
    small differences it does not exceed the angle [rad] between the two.
    """
    q = Quat(-rotation.w, -rotation.x, -rotation.y, -rotation.z) if rotation.w < 0.0 else rotation
    angle = twist_angle(q, axis)
    axial_part = q.x * axis.x + q.y * axis.y + q.z * axis.z
    twist_length = math.sqrt(q.w * q.w + axial_part * axial_part)
    if low <= angle <= high and twist_length > 0.0:  # the usual case: cosine and sine of half the angle are known
        axial_sine = axial_part / twist_length
        return 2.0 * find_max_difference(
            q, Quat(q.w / twist_length, axial_sine * axis.x, axial_sine * axis.y, axial_sine * axis.z)
        )
    # Of the two signs of the nearest legal quaternion, differences are measured to the nearer one.
    nearest = from_axis_angle(axis, clamp_angle(angle, low, high))
    if q.w * nearest.w + q.x * nearest.x + q.y * nearest.y + q.z * nearest.z < 0.0:
        nearest = Quat(-nearest.w, -nearest.x, -nearest.y, -nearest.z)
    return 2.0 * find_max_difference(q, nearest)


@inline
def find_max_difference(a, b):
    """Return the largest difference in a component."""
    return nan_max(nan_max(abs(a.w - b.w), abs(a.x - b.x)), nan_max(abs(a.y - b.y), abs(a.z - b.z)))


@inline
def nan_max(a, b):
    """Return the larger number; NaN where one of them is."""
    return b if b > a or b != b else a
