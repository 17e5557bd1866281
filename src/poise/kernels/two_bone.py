# pyright: standard
"""Closed-form IK of two-bone limbs with a ball as first joint.

Lengths are in file units. The section on bend, aim and swivel below defines the limb
frame, "posed" and the bend b.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
from poise.kernels.goal_errors import PathArrays, measure_solutions
from poise.kernels.lanes import (
    LANES4,
    LANES8,
    broadcast,
    count_lanes,
    get_lane,
    mask_to_bits,
    maximum,
    minimum,
    select,
    set_lane,
    sqrt,
    view_lanes,
)
from poise.kernels.layout import (
    LIMB_FIRST_COLUMN,
    LIMB_MIDDLE_COLUMN,
    LIMB_MIDDLE_HAS_ANGLE,
    LIMB_TIP_COLUMN,
    OUTCOME_HAS_MOVED,
    OUTCOME_IS_MET,
    POSED_LIMB_ROW,
    SWIVEL_AXIS,
    SWIVEL_SHORTEST,
)
from poise.kernels.limits import TWO_PI, clamp_angle
from poise.kernels.vec_quat import (
    Quat,
    Vec,
    add,
    conjugate,
    cross,
    dot,
    multiply,
    read_quat_at,
    read_vec_at,
    rotate,
    scale,
    sub,
    write_quat_at,
    write_vec_at,
)


class LimbRow(NamedTuple):
    """A posed limb in the limb frame; file units and radians.

    A row has the fields in this order. Unless noted, the first joint is as posed.
    """

    hip: Vec  # world position of the first joint
    limb_from_world: Quat  # from the world to the limb frame
    thigh: Vec  # from the first to the middle joint
    tip: Vec  # the posed tip
    # The circle of the tip, circle_centre + cos b circle_cos + sin b circle_sin, b the bend from the longest limb:
    circle_centre: Vec  # its centre
    circle_cos: Vec  # from the centre to the tip position farthest from the first joint
    circle_sin: Vec  # axis x circle_cos, of the same length
    bend_axis: Vec  # unit rotation axis of the middle joint
    bend_direction: Vec  # wanted; its part perpendicular to the chord counts (bend "thigh", "both"); zero: none
    shortest2: float  # squared distance of the tip from the first joint at b = pi, ignoring limits
    longest2: float  # the same squared distance at b = 0
    sine2_gain: float  # 1 / (longest2 - shortest2), squared sine of b / 2 per squared distance; 0: no effect of bending
    reach: float  # largest distance within the middle joint's range
    straight_angle: float  # angle of the middle joint at b = 0, as in its limit: b is its angle minus this
    posed_angle: float  # middle joint's angle in the start pose
    min_angle: float  # middle joint's range
    max_angle: float
    bend_sign: float  # 1 or -1: preferred sign of b
    # Squared sines of b / 2 on that side: between them b is certainly in its range. Others are checked one by one.
    min_sine2: float
    max_sine2: float
    has_free_axis: float  # 1: straight limb without a hinge, bends about any perpendicular axis; else 0
    straight_cos_sin: Vec  # cosine and sine of half `straight_angle`, 0
    middle_axis: Vec  # middle joint's axis in its own frame
    straight_motion: Quat  # motion before the rotation about the axis: of a non-hinge the posed motion, made straight
    first_motion: Quat  # posed motion of the first joint
    middle_motion: Quat  # posed motion of the middle joint
    limb_from_middle: Quat  # rotation of the middle joint's frame in the limb frame
    limb_from_tip: Quat  # rotation of the tip joint's frame in the limb frame
    tip_offset_inverse: Quat  # inverse of the fixed rotation after the tip's motion; multiplies a wanted world rotation
    tip_motion: Quat  # posed motion of the tip's joint
    tip_rotation: Quat  # posed world rotation of the tip


class LimbSettings(NamedTuple):
    """Settings of one call."""

    tolerance: float  # distance, file units
    half_tolerance_sine: float  # sine of half the rotation tolerance
    soft_share: float  # share of the reach over which the distance is softened
    swivel: Quat  # half-angle cosine and sine of the offset; y above 0: move even a start at its target
    blend_weight: float  # 0 keeps the start, 1 applies the solution
    bend_rule: float  # SWIVEL_SHORTEST, SWIVEL_THIGH or SWIVEL_AXIS: the rule for the swivel about the chord


class LimbProblems(NamedTuple):
    """Arrays of a batch of k problems, and their results.

    See the section on bend, aim and swivel below.

    targets (k, 3 | 7), poles (0|1|k, 3), q_columns (5,), start_q (1|k, nq), q (k, nq), outcome (k, 2)
    """

    targets: Any
    poles: Any
    q_columns: Any
    start_q: Any
    q: Any
    outcome: Any


@inline
def read_limb(r):
    """Read a row as a LimbRow."""
    return LimbRow(
        read_vec_at(r, 0), read_quat_at(r, 3), read_vec_at(r, 7), read_vec_at(r, 10), read_vec_at(r, 13),
        read_vec_at(r, 16), read_vec_at(r, 19),
        read_vec_at(r, 22), read_vec_at(r, 25), r[28], r[29], r[30], r[31], r[32], r[33], r[34], r[35], r[36], r[37],
        r[38],
        r[39], read_vec_at(r, 40), read_vec_at(r, 43), read_quat_at(r, 46), read_quat_at(r, 50), read_quat_at(r, 54),
        read_quat_at(r, 58),
        read_quat_at(r, 62), read_quat_at(r, 66), read_quat_at(r, 70), read_quat_at(r, 74),
    )  # fmt: skip


@inline
def write_limb(r, limb):
    """Write a LimbRow as a row."""
    write_vec_at(r, 0, limb.hip)
    write_quat_at(r, 3, limb.limb_from_world)
    write_vec_at(r, 7, limb.thigh)
    write_vec_at(r, 10, limb.tip)
    write_vec_at(r, 13, limb.circle_centre)
    write_vec_at(r, 16, limb.circle_cos)
    write_vec_at(r, 19, limb.circle_sin)
    write_vec_at(r, 22, limb.bend_axis)
    write_vec_at(r, 25, limb.bend_direction)
    r[28], r[29], r[30], r[31] = limb.shortest2, limb.longest2, limb.sine2_gain, limb.reach
    r[32], r[33], r[34], r[35], r[36] = (
        limb.straight_angle,
        limb.posed_angle,
        limb.min_angle,
        limb.max_angle,
        limb.bend_sign,
    )
    r[37], r[38], r[39] = limb.min_sine2, limb.max_sine2, limb.has_free_axis
    write_vec_at(r, 40, limb.straight_cos_sin)
    write_vec_at(r, 43, limb.middle_axis)
    write_quat_at(r, 46, limb.straight_motion)
    write_quat_at(r, 50, limb.first_motion)
    write_quat_at(r, 54, limb.middle_motion)
    write_quat_at(r, 58, limb.limb_from_middle)
    write_quat_at(r, 62, limb.limb_from_tip)
    write_quat_at(r, 66, limb.tip_offset_inverse)
    write_quat_at(r, 70, limb.tip_motion)
    write_quat_at(r, 74, limb.tip_rotation)


@inline
def read_settings(settings_row):
    """Read a row as LimbSettings."""
    return LimbSettings(
        settings_row[0],
        settings_row[1],
        settings_row[2],
        Quat(settings_row[3], settings_row[4], settings_row[5], 0.0),
        settings_row[6],
        settings_row[7],
    )


# --- Branch-free rotations between directions, without angles, in SIMD lanes -----------------------------------------


# Squared length of the sum of opposite vectors, relative to one of them; below it the sum is rounding.
OPPOSITE_SUM2 = 1e-30


@inline
def perpendicular_part(v, a):
    """Return the part of v perpendicular to a unit vector."""
    return sub(v, scale(a, dot(v, a)))


@inline
def split_length(v):
    """Return v / |v| and |v|; zero stays zero."""
    length = sqrt(dot(v, v))
    return scale(v, 1.0 / select(length > 0.0, length, length + 1.0)), length


@inline
def select_vec(condition, a, b):
    """Return the vector a where the condition holds, else b."""
    return Vec(select(condition, a.x, b.x), select(condition, a.y, b.y), select(condition, a.z, b.z))


@inline
def select_quat(condition, a, b):
    """Return the rotation a where the condition holds, else b."""
    return Quat(
        select(condition, a.w, b.w),
        select(condition, a.x, b.x),
        select(condition, a.y, b.y),
        select(condition, a.z, b.z),
    )


@inline
def normalise_quat(q):
    """Return q / |q|, or the identity for zero length."""
    square = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z
    zero = square * 0.0
    is_nonzero = square > 0.0
    k = 1.0 / sqrt(select(is_nonzero, square, zero + 1.0))
    return Quat(select(is_nonzero, q.w * k, zero + 1.0), q.x * k, q.y * k, q.z * k)


@inline
def pick_perpendicular(a):
    """Return a unit vector perpendicular to a vector.

    It is the cross product with the axis of its smallest component.
    """
    x, y, z = maximum(a.x, -a.x), maximum(a.y, -a.y), maximum(a.z, -a.z)
    zero = a.x * 0.0
    p = select_vec(y <= z, Vec(-a.z, zero, a.x), Vec(a.y, -a.x, zero))
    p = select_vec((x <= y) & (x <= z), Vec(zero, a.z, -a.y), p)
    return split_length(p)[0]


@inline
def shortest_arc(v, length, a):
    """Compute the shortest rotation of v onto a unit vector.

    It is (m.m / 2, v x m) with m = v + length a, |v| = length.

    The quaternion has any length but zero; the squared length is the second result. It is half a turn about any axis
    perpendicular to v where they are opposite, and the identity where v is zero.
    """
    # Not normalised: this saves a square root per rotation, and their product is normalised once.
    m = add(v, scale(a, length))
    mm, square = dot(m, m), length * length
    axis, w, squared_length = cross(v, m), 0.5 * mm, square * mm
    is_opposite = mm < OPPOSITE_SUM2 * square
    zero = mm * 0.0
    # A target straight behind the limb. The other lanes keep their values.
    if mask_to_bits(is_opposite):
        axis, w, squared_length = (
            select_vec(is_opposite, pick_perpendicular(v), axis),
            select(is_opposite, zero, w),
            select(is_opposite, zero + 1.0, squared_length),
        )
    is_nonzero = length > 0.0
    return Quat(select(is_nonzero, w, zero + 1.0), axis.x, axis.y, axis.z), select(
        is_nonzero, squared_length, zero + 1.0
    )


@inline
def rotate_scaled(q, v):
    """Return q v q* for a quaternion of any length. The length of v grows by the squared length of q."""
    u = Vec(q.x, q.y, q.z)
    u_scale, v_scale = 2.0 * dot(u, v), q.w * q.w - dot(u, u)
    return add(add(scale(v, v_scale), scale(u, u_scale)), scale(cross(u, v), 2.0 * q.w))


@inline
def rotation_about_axis(p, n, a):
    """Compute the rotation about unit vector `a` from p to n.

    p and n are perpendicular to a; the quaternion has any length and is the identity where p or n is zero.
    """
    lengths, cosine, sine = sqrt(dot(p, p) * dot(n, n)), dot(p, n), dot(a, cross(p, n))
    # Two forms of the same half angle. Each adds numbers of equal sign where it is used, so no digits cancel.
    is_obtuse = cosine < 0.0
    w, s = select(is_obtuse, sine, lengths + cosine), select(is_obtuse, lengths - cosine, sine)
    w = select(lengths > 0.0, w, w * 0.0 + 1.0)
    return Quat(w, s * a.x, s * a.y, s * a.z)


@inline
def nlerp(a, b, weight):
    """Interpolate from rotation a (weight 0) to b (1).

    It is the weighted sum along the shorter arc, normalised (nlerp).
    """
    if weight == 1.0:
        return b
    cosine = a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z
    k = select(cosine < 0.0, cosine * 0.0 - weight, cosine * 0.0 + weight)
    l = 1.0 - weight
    return normalise_quat(Quat(l * a.w + k * b.w, l * a.x + k * b.x, l * a.y + k * b.y, l * a.z + k * b.z))


# --- Bend, aim and swivel of a limb ----------------------------------------------------------------------------------
#
# Bend by the law of cosines, aim, swivel.
#
# limbs    (1|k, POSED_LIMB_ROW)   target-independent numbers, see LimbRow; one row for all problems, or one each
# targets  (k, 3 | 7)    world position of the tip, and its rotation if wanted
# poles    (0|1|k, 3)    world points; the middle joint points at them
# q_columns (5,)         columns in q of first joint, middle joint and tip (tip: -1, not changed); then whether the
# first and the middle joint have an angle there, or a quaternion
# settings_row (LIMB_SETTINGS,)   see LimbSettings
# start_q  (1|k, nq)     poses to start from
# q        (k, nq)       out: the poses
# path_table, path_spans, measures, used_columns, world_targets (k, W), error_parts (k, c, 2): see
# kernels/goal_errors.py; without measures nothing is measured
# outcome  (k, 2)        out: whether anything moved, and whether the target is met
# work     (LIMB_WORKSPACE_SIZE * w,), or (u + 7) w for u used columns where that is more: scratch for w lanes, aligned
# to 64 bytes
#
# The limb frame has its origin at the first joint and the axes of this joint's frame before its motion. "Posed" refers
# to the start pose. Let b be the angle of the middle joint from that of the longest limb. With the first joint as
# posed, the tip is at circle_centre + cos b circle_cos + sin b circle_sin: a circle about the middle joint's axis. Its
# squared distance from the first joint is longest2 - (longest2 - shortest2) sin^2(b / 2). So two square roots give
# cosine and sine of half the bend for a distance, without any angle. Each SIMD lane has one problem; an angle is
# computed only near a limit, one lane at a time.


MIN_SIDE_SINE2 = 1e-12  # squared sine of the angle to the chord; below it a direction does not define the swivel
STRAIGHT_SINE2 = 1e-6  # squared sine of the angle between thigh and chord; below it only the axis defines the bend side
TIE_TOLERANCE = 1e-9  # difference of cosines, or of distances in reaches; below it the preferred side wins


# Positions in the scratch memory; a row comes first.
TARGET_OFFSET, POLE_OFFSET, OUTPUT_OFFSET = POSED_LIMB_ROW, POSED_LIMB_ROW + 7, POSED_LIMB_ROW + 10


# --- the bend ----------------------------------------------------------------------------------------------------


@inline
def soften_distance(distance, reach, soft_share):
    """Reduce a distance so it never gets to the reach.

    A distance d up to a = reach - s is kept; above, it becomes a + s (1 - exp(-(d - a) / s)).

    s is `soft_share` of the reach. Value and slope are continuous at a; the function never overshoots and is monotonic.
    """
    margin = soft_share * reach
    excess = distance - (reach - margin)
    if excess <= 0.0 or margin <= 0.0:
        return distance
    return reach - margin + margin * -math.expm1(-excess / margin)


@inline
def soften_distances(lane_kind, distance, limb, soft_share):
    """Soften the distance of every lane."""
    for l in range(count_lanes(lane_kind)):
        distance = set_lane(distance, l, soften_distance(get_lane(distance, l), get_lane(limb.reach, l), soft_share))
    return distance


@inline
def solve_bend(lane_kind, limb, distance, blend_weight, needs_angle):
    """Find the legal bend for a tip distance from the first joint.

    Where there is none, take the nearest possible distance.

    Return cosine and sine of half the bend from straight, both again interpolated by `blend_weight` from the start,
    and the middle joint's angle then if `needs_angle` asks for its arc tangent.
    """
    squared_distance = distance * distance
    ones, zeros = squared_distance * 0.0 + 1.0, squared_distance * 0.0
    # With a bone of zero length or an axis along a bone every bend is equal: the limb stays straight.
    has_lever = limb.sine2_gain > 0.0
    sine2 = minimum(maximum((limb.longest2 - squared_distance) * limb.sine2_gain, zeros), ones)
    cosine2 = select(
        has_lever, minimum(maximum((squared_distance - limb.shortest2) * limb.sine2_gain, zeros), ones), ones
    )
    sine2 = select(has_lever, sine2, zeros)
    cosine, sine, middle_angle = sqrt(cosine2), limb.bend_sign * sqrt(sine2), limb.straight_angle
    blended_cosine, blended_sine = cosine, sine
    # Nearly always all bends are legal, and no lane needs an arc tangent.
    is_legal = (limb.min_sine2 <= sine2) & (sine2 <= limb.max_sine2)
    w = count_lanes(lane_kind)
    legal_bits = mask_to_bits(is_legal)
    # Limits branch, so lanes are handled one by one; all of them where q has an angle.
    if legal_bits != (1 << w) - 1 or needs_angle:
        for l in range(w):
            if needs_angle or (legal_bits >> l) & 1 == 0:
                straight_angle, posed_angle = get_lane(limb.straight_angle, l), get_lane(limb.posed_angle, l)
                bend = 2.0 * math.atan2(get_lane(sine, l), get_lane(cosine, l))
                legal_angle = find_legal_angle(
                    straight_angle, posed_angle, get_lane(limb.min_angle, l), get_lane(limb.max_angle, l), bend
                )
                cosine = set_lane(cosine, l, math.cos(0.5 * (legal_angle - straight_angle)))
                sine = set_lane(sine, l, math.sin(0.5 * (legal_angle - straight_angle)))
                legal_angle = posed_angle + blend_weight * (legal_angle - posed_angle)
                blended_cosine = set_lane(blended_cosine, l, math.cos(0.5 * (legal_angle - straight_angle)))
                blended_sine = set_lane(blended_sine, l, math.sin(0.5 * (legal_angle - straight_angle)))
                middle_angle = set_lane(middle_angle, l, legal_angle)
    return cosine, sine, blended_cosine, blended_sine, middle_angle


@device_function
def find_legal_angle(straight_angle, posed_angle, min_angle, max_angle, bend):
    """Return the better legal angle of bending to either side.

    It is exact: the squared distance is linear in the cosine of the bend.
    """
    angle = clamp_angle(wrap_angle_near(straight_angle + bend, posed_angle), min_angle, max_angle)
    opposite_angle = clamp_angle(wrap_angle_near(straight_angle - bend, posed_angle), min_angle, max_angle)
    target_cosine = math.cos(bend)
    # The distance is monotonic in the cosine of the bend: compare cosines.
    error, opposite_error = (
        abs(math.cos(angle - straight_angle) - target_cosine),
        abs(math.cos(opposite_angle - straight_angle) - target_cosine),
    )
    # The other side must be better by more than rounding, or the knee would flip.
    return opposite_angle if opposite_error < error - TIE_TOLERANCE else angle


@inline
def wrap_angle_near(angle, posed_angle):
    """Return the equivalent angle within half a turn of `posed_angle`."""
    return angle - TWO_PI * math.floor((angle - posed_angle) / TWO_PI + 0.5)


@inline
def compute_middle_motion(limb, cosine, sine, local_axis):
    """Compute the middle joint's motion: its bend after its earlier motion."""
    # Sum of two half angles by the addition theorems: the joint's angle counts from its own zero, not from straight.
    c = limb.straight_cos_sin.x * cosine - limb.straight_cos_sin.y * sine
    s = limb.straight_cos_sin.y * cosine + limb.straight_cos_sin.x * sine
    return multiply(Quat(c, s * local_axis.x, s * local_axis.y, s * local_axis.z), limb.straight_motion)


# --- the swivel --------------------------------------------------------------------------------------------------


@inline
def compute_swivel(limb, arc, squared_length, chord, a, sine, bend_rule, pole, has_pole):
    """Compute the swivel about unit chord `a` for the wanted middle position. The quaternion has any length.

    `arc` aims the limb and scales vectors by `squared_length`. One projection finds the point of the middle joint's
    circle nearest to the wanted direction. A pole has priority over the mode; a direction along the chord is undefined,
    and the swivel is zero then.
    """
    # The middle joint moves on a circle about the chord; p is its point on it after the shortest arc.
    p = perpendicular_part(rotate_scaled(arc, limb.thigh), a)
    is_straight = dot(p, p) <= STRAIGHT_SINE2 * squared_length * squared_length * dot(limb.thigh, limb.thigh)
    if mask_to_bits(is_straight):  # bend direction of a straight limb
        straight_bend = scale(cross(chord, limb.bend_axis), select(sine < 0.0, sine * 0.0 - 1.0, sine * 0.0 + 1.0))
        p = select_vec(is_straight, perpendicular_part(rotate_scaled(arc, straight_bend), a), p)
    current_side, target_side = p, limb.bend_direction
    if bend_rule == SWIVEL_AXIS:
        current_side, target_side = perpendicular_part(rotate_scaled(arc, limb.bend_axis), a), limb.bend_axis
    # The point of the circle farthest along a vector lies in the direction of its part perpendicular to the chord.
    n = perpendicular_part(target_side, a)
    n = scale(n, select(dot(n, n) > MIN_SIDE_SINE2 * dot(target_side, target_side), sine * 0.0 + 1.0, sine * 0.0))
    if has_pole:
        pole_direction = perpendicular_part(pole, a)
        # A pole on the line of the chord defines no side: the mode's rule stays.
        defines_side = dot(pole_direction, pole_direction) > MIN_SIDE_SINE2 * limb.longest2
        current_side, n = select_vec(defines_side, p, current_side), select_vec(defines_side, pole_direction, n)
    return rotation_about_axis(current_side, n, a)


@inline
def remove_twist(rotation, thigh):
    """Remove the twist about the thigh from its rotation. Return both parts."""
    axis, _ = split_length(thigh)
    # The twist of a straight limb shows only at its knee, which may bend about any axis: the axis takes the twist.
    axial_part = rotation.x * axis.x + rotation.y * axis.y + rotation.z * axis.z
    has_twist = rotation.w * rotation.w + axial_part * axial_part > MIN_SIDE_SINE2
    zero = axial_part * 0.0
    axial_part = select(has_twist, axial_part, zero)
    twist = normalise_quat(
        Quat(select(has_twist, rotation.w, zero + 1.0), axial_part * axis.x, axial_part * axis.y, axial_part * axis.z)
    )
    return multiply(rotation, conjugate(twist)), twist


@inline
def compute_tip_motion(limb, target_rotation, limb_rotation, middle_motion):
    """Compute the tip's motion for a wanted world rotation.

    The limb has its rotation and the middle joint its motion by then.
    """
    knee_rotation = multiply(
        multiply(limb.limb_from_middle, multiply(middle_motion, conjugate(limb.middle_motion))),
        conjugate(limb.limb_from_middle),
    )
    # Undo the rotation above the tip in the tip's frame, then apply the wanted rotation.
    tip_from_limb = multiply(conjugate(limb.limb_from_tip), conjugate(multiply(limb_rotation, knee_rotation)))
    return normalise_quat(
        multiply(tip_from_limb, multiply(multiply(limb.limb_from_world, target_rotation), limb.tip_offset_inverse))
    )


# --- Solve limbs in lanes ----------------------------------------------------------------------------------------


@inline
def solve_limb(lane_kind, limb, settings, limb_target, pole, has_pole, needs_angle):
    """Solve the limb for a target in its frame.

    Return its rotation, the middle joint's motion and angle, and the tip's remaining distance from it.
    """
    a, distance = split_length(limb_target)
    target_distance = distance
    if settings.soft_share > 0.0:
        target_distance = soften_distances(lane_kind, distance, limb, settings.soft_share)
    cosine, sine, blended_cosine, blended_sine, middle_angle = solve_bend(
        lane_kind, limb, target_distance, settings.blend_weight, needs_angle
    )
    # cos b and sin b by the double angle formulas from those of b / 2.
    chord = add(limb.circle_centre, scale(limb.circle_cos, cosine * cosine - sine * sine))
    chord = add(chord, scale(limb.circle_sin, 2.0 * cosine * sine))
    length = sqrt(dot(chord, chord))
    # Aim by the shortest arc, the smallest rotation onto the target direction.
    arc, squared_length = shortest_arc(chord, length, a)
    rotation = arc
    if has_pole or settings.bend_rule != SWIVEL_SHORTEST:
        rotation = multiply(
            compute_swivel(limb, arc, squared_length, chord, a, sine, settings.bend_rule, pole, has_pole), arc
        )
    # The swivel offset comes last, about the chord to the target, so it does not move the tip.
    if settings.swivel.x != 0.0:
        s = settings.swivel.x
        rotation = multiply(Quat(distance * 0.0 + settings.swivel.w, s * a.x, s * a.y, s * a.z), rotation)
    rotation = normalise_quat(rotation)
    local_axis = limb.middle_axis
    has_free_axis = limb.has_free_axis > 0.0
    # Rare, and equal for all lanes of most calls: skipped unless some lane is straight.
    if mask_to_bits(has_free_axis):
        untwisted_rotation, twist = remove_twist(rotation, limb.thigh)
        rotation = select_quat(has_free_axis, untwisted_rotation, rotation)
        local_axis = select_vec(
            has_free_axis, rotate(conjugate(limb.limb_from_middle), rotate(twist, limb.bend_axis)), local_axis
        )
    distance_error = length - distance
    return (
        rotation,
        compute_middle_motion(limb, blended_cosine, blended_sine, local_axis),
        middle_angle,
        maximum(distance_error, -distance_error),
    )


@inline
def spill_quat(output, offset, q):
    """Store a quaternion to memory, all lanes. Single lanes are read from memory faster than from a register."""
    output[offset], output[offset + 1], output[offset + 2], output[offset + 3] = q.w, q.x, q.y, q.z


@inline
def unspill_quat(row, column, flat_output, offset, l, w):
    """Copy lane l of a stored quaternion to a row."""
    for j in range(4):
        row[column + j] = flat_output[(offset + j) * w + l]


@inline
def copy_row(row, source_row):
    """Copy a row, four numbers at a time."""
    aligned_length = source_row.shape[0] // 4 * 4
    for j in range(0, aligned_length, 4):
        row[j], row[j + 1], row[j + 2], row[j + 3] = (
            source_row[j],
            source_row[j + 1],
            source_row[j + 2],
            source_row[j + 3],
        )
    for j in range(aligned_length, source_row.shape[0]):
        row[j] = source_row[j]


@inline
def gather_rows(work, offset, source_rows, block, w):
    """Interleave w rows from value `offset` of the work array on. The last row fills lanes beyond the last problem."""
    for l in range(w):
        i = min(block * w + l, source_rows.shape[0] - 1)
        for j in range(source_rows.shape[1]):
            work[(offset + j) * w + l] = source_rows[i, j]


@inline
def solve_block(lane_kind, limb, problems, settings, work, block, count):
    """Solve the first `count` problems of one block."""
    q_columns, start_q, outcome = problems.q_columns, problems.start_q, problems.outcome
    has_pole = problems.poles.shape[0] > 0
    first_column, middle_column, tip_column, has_angle, w = (
        q_columns[LIMB_FIRST_COLUMN],
        q_columns[LIMB_MIDDLE_COLUMN],
        q_columns[LIMB_TIP_COLUMN],
        q_columns[LIMB_MIDDLE_HAS_ANGLE] > 0,
        count_lanes(lane_kind),
    )
    target, pole = view_lanes(lane_kind, work, TARGET_OFFSET * w, 7), view_lanes(lane_kind, work, POLE_OFFSET * w, 3)
    output, flat_output = view_lanes(lane_kind, work, OUTPUT_OFFSET * w, 13), work[OUTPUT_OFFSET * w :]
    # The target in the limb frame. From here on only the tip's rotation is in world coordinates.
    limb_target = rotate(limb.limb_from_world, sub(read_vec_at(target, 0), limb.hip))
    tip_offset = sub(limb_target, limb.tip)
    is_met = dot(tip_offset, tip_offset) <= settings.tolerance * settings.tolerance
    target_rotation = limb.tip_rotation
    if tip_column >= 0 and problems.targets.shape[1] > 3:
        target_rotation = read_quat_at(target, 3)
        rotation_error = multiply(conjugate(limb.tip_rotation), target_rotation)
        is_met = is_met & (
            rotation_error.x * rotation_error.x
            + rotation_error.y * rotation_error.y
            + rotation_error.z * rotation_error.z
            <= settings.half_tolerance_sine * settings.half_tolerance_sine
        )
    # A start at its target is returned bit for bit, unless a pole or a swivel may still move it.
    met_bits = mask_to_bits(is_met) if settings.swivel.y <= 0.0 else 0
    pole_offset = read_vec_at(pole, 0)
    if has_pole:
        pole_offset = rotate(limb.limb_from_world, sub(pole_offset, limb.hip))
    needs_angle = has_angle or settings.blend_weight != 1.0
    limb_rotation, middle_motion, middle_angle, distance_error = solve_limb(
        lane_kind, limb, settings, limb_target, pole_offset, has_pole, needs_angle
    )
    first_motion = nlerp(limb.first_motion, multiply(limb_rotation, limb.first_motion), settings.blend_weight)
    tip_motion = limb.tip_rotation
    if tip_column >= 0:
        tip_motion = nlerp(
            limb.tip_motion,
            compute_tip_motion(limb, target_rotation, limb_rotation, middle_motion),
            settings.blend_weight,
        )
    spill_quat(output, 0, first_motion)
    spill_quat(output, 4, middle_motion)
    spill_quat(output, 8, tip_motion)
    output[12] = middle_angle
    # With a weight below 1 the limb stops early: the target does not count as met.
    arrived_bits = mask_to_bits(distance_error <= settings.tolerance) if settings.blend_weight == 1.0 else 0
    for l in range(count):
        result_q = problems.q[block * w + l]
        start = start_q[min(block * w + l, start_q.shape[0] - 1)]
        copy_row(result_q, start)
        is_unchanged = (met_bits >> l) & 1 == 1
        outcome[block * w + l, OUTCOME_HAS_MOVED], outcome[block * w + l, OUTCOME_IS_MET] = (
            not is_unchanged,
            is_unchanged or (arrived_bits >> l) & 1 == 1,
        )
        if not is_unchanged:
            unspill_quat(result_q, first_column, flat_output, 0, l, w)
            if has_angle:
                result_q[middle_column] = flat_output[12 * w + l]
            else:
                unspill_quat(result_q, middle_column, flat_output, 4, l, w)
            if tip_column >= 0:
                unspill_quat(result_q, tip_column, flat_output, 8, l, w)


@inline
def solve_all(lane_kind, limbs, problems, settings_row, work):
    """Solve all problems, block by block."""
    targets, poles = problems.targets, problems.poles
    settings, w, problem_count = read_settings(settings_row), count_lanes(lane_kind), targets.shape[0]
    if problem_count == 0:
        return
    lane_rows, pole = view_lanes(lane_kind, work, 0, POSED_LIMB_ROW), view_lanes(lane_kind, work, POLE_OFFSET * w, 3)
    gather_rows(work, 0, limbs, 0, w)
    # One limb for all targets is read once and stays in registers.
    limb = read_limb(lane_rows)
    pole[0], pole[1], pole[2] = broadcast(lane_kind, 0.0), broadcast(lane_kind, 0.0), broadcast(lane_kind, 0.0)
    for block in range((problem_count + w - 1) // w):
        gather_rows(work, TARGET_OFFSET, targets, block, w)
        if limbs.shape[0] > 1:
            gather_rows(work, 0, limbs, block, w)
            limb = read_limb(lane_rows)
        if poles.shape[0] > 0:
            gather_rows(work, POLE_OFFSET, poles, block, w)
        count = min(w, problem_count - block * w)
        solve_block(lane_kind, limb, problems, settings, work, block, count)


@kernel("F2 F2 F2 I1 F1 F2 F2 I2 F2 I1 F2 wF2 wB2 wF3 aF1 ->")
def solve4(
    limbs, targets, poles, q_columns, settings_row, start_q, path_table, path_spans, measures, used_columns,
    world_targets, q, outcome, error_parts, work,
):  # fmt: skip
    """Solve the problems in four lanes, and measure. Fill `q`, `outcome` and `error_parts`."""
    problems = LimbProblems(targets, poles, q_columns, start_q, q, outcome)
    solve_all(LANES4, limbs, problems, settings_row, work)
    paths = PathArrays(path_table, path_spans, measures, used_columns)
    measure_solutions(LANES4, paths, q, world_targets, work, error_parts)


@kernel("F2 F2 F2 I1 F1 F2 F2 I2 F2 I1 F2 wF2 wB2 wF3 aF1 ->")
def solve8(
    limbs, targets, poles, q_columns, settings_row, start_q, path_table, path_spans, measures, used_columns,
    world_targets, q, outcome, error_parts, work,
):  # fmt: skip
    """Solve the problems in eight lanes, and measure. Fill `q`, `outcome` and `error_parts`."""
    problems = LimbProblems(targets, poles, q_columns, start_q, q, outcome)
    solve_all(LANES8, limbs, problems, settings_row, work)
    paths = PathArrays(path_table, path_spans, measures, used_columns)
    measure_solutions(LANES8, paths, q, world_targets, work, error_parts)
