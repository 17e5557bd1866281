# pyright: standard
"""Closed-form IK of two-bone limbs.

Lengths are in file units. The section on bend, aim and swivel below defines the limb
frame, "posed" and the bend b.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels.jit import device_function, inline, kernel
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
from poise.kernels.layout import BEND_AXIS, BEND_MIN, LIMB_ROW
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
    axis: Vec  # unit rotation axis of the middle joint
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
    half_straight: Vec  # cosine and sine of half `straight_angle`, 0
    knee_axis: Vec  # middle joint's axis in its own frame
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
    half_angle_sine: float  # sine of half the rotation tolerance
    soft_share: float  # share of the reach over which the distance is softened
    swivel: Quat  # half-angle cosine and sine of the offset; y above 0: move even a start at its target
    weight: float
    bend_rule: float  # BEND_MIN, BEND_THIGH or BEND_AXIS: the rule for the swivel about the chord


class LimbProblems(NamedTuple):
    """Arrays of a batch of k problems, and their results.

    See the section on bend, aim and swivel below.

    targets (k, 3 | 7), poles (0|1|k, 3), columns (5,), starts (1|k, nq), q (k, nq), outcome (k, 2)
    """

    targets: Any
    poles: Any
    columns: Any
    starts: Any
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
    write_vec_at(r, 22, limb.axis)
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
    write_vec_at(r, 40, limb.half_straight)
    write_vec_at(r, 43, limb.knee_axis)
    write_quat_at(r, 46, limb.straight_motion)
    write_quat_at(r, 50, limb.first_motion)
    write_quat_at(r, 54, limb.middle_motion)
    write_quat_at(r, 58, limb.limb_from_middle)
    write_quat_at(r, 62, limb.limb_from_tip)
    write_quat_at(r, 66, limb.tip_offset_inverse)
    write_quat_at(r, 70, limb.tip_motion)
    write_quat_at(r, 74, limb.tip_rotation)


@inline
def read_settings(row):
    """Read a row as LimbSettings."""
    return LimbSettings(row[0], row[1], row[2], Quat(row[3], row[4], row[5], 0.0), row[6], row[7])


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
# limbs    (1|k, LIMB_ROW)   target-independent numbers, see LimbRow; one row for all problems, or one each
# targets  (k, 3 | 7)    world position of the tip, and its rotation if wanted
# poles    (0|1|k, 3)    world points; the middle joint points at them
# columns  (5,)          columns in q of first joint, middle joint and tip (tip: -1, not changed); then whether the
# first and the middle joint have an angle there, or a quaternion
# settings (LIMB_SETTINGS,)   see LimbSettings
# starts   (1|k, nq)     poses to start from
# q        (k, nq)       out: the poses
# outcome  (k, 2)        out: whether anything moved, and whether the target is met
# work     (LIMB_WORK * w,)   scratch for w lanes, aligned to 64 bytes
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
TARGET_OFFSET, POLE_OFFSET, OUTPUT_OFFSET = LIMB_ROW, LIMB_ROW + 7, LIMB_ROW + 10


# --- the bend ----------------------------------------------------------------------------------------------------


@inline
def soften_distance(distance, reach, share):
    """Reduce a distance so it never gets to the reach.

    A distance d up to a = reach - s is kept; above, it becomes a + s (1 - exp(-(d - a) / s)).

    s is `share` of the reach. Value and slope are continuous at a; the function never overshoots and is monotonic.
    """
    margin = share * reach
    excess = distance - (reach - margin)
    if excess <= 0.0 or margin <= 0.0:
        return distance
    return reach - margin + margin * -math.expm1(-excess / margin)


@inline
def soften_distances(lane_kind, distance, limb, share):
    """Soften the distance of every lane."""
    for l in range(count_lanes(lane_kind)):
        distance = set_lane(distance, l, soften_distance(get_lane(distance, l), get_lane(limb.reach, l), share))
    return distance


@inline
def solve_bend(lane_kind, limb, distance, weight, needs_angle):
    """Find the legal bend for a tip distance from the first joint.

    Where there is none, take the nearest possible distance.

    Return cosine and sine of half the bend from straight, both again interpolated by `weight` from the start, and the
    middle joint's angle then if `needs_angle` asks for its arc tangent.
    """
    square = distance * distance
    one, zero = square * 0.0 + 1.0, square * 0.0
    # With a bone of zero length or an axis along a bone every bend is equal: the limb stays straight.
    has_lever = limb.sine2_gain > 0.0
    sine2 = minimum(maximum((limb.longest2 - square) * limb.sine2_gain, zero), one)
    cosine2 = select(has_lever, minimum(maximum((square - limb.shortest2) * limb.sine2_gain, zero), one), one)
    sine2 = select(has_lever, sine2, zero)
    cosine, sine, angle = sqrt(cosine2), limb.bend_sign * sqrt(sine2), limb.straight_angle
    blended_cosine, blended_sine = cosine, sine
    # Nearly always all bends are legal, and no lane needs an arc tangent.
    is_legal = (limb.min_sine2 <= sine2) & (sine2 <= limb.max_sine2)
    w = count_lanes(lane_kind)
    legal_bits = mask_to_bits(is_legal)
    # Limits branch, so lanes are handled one by one; all of them where q has an angle.
    if legal_bits != (1 << w) - 1 or needs_angle:
        for l in range(w):
            if needs_angle or (legal_bits >> l) & 1 == 0:
                straight, posed = get_lane(limb.straight_angle, l), get_lane(limb.posed_angle, l)
                bend = 2.0 * math.atan2(get_lane(sine, l), get_lane(cosine, l))
                legal_angle = find_legal_angle(
                    straight, posed, get_lane(limb.min_angle, l), get_lane(limb.max_angle, l), bend
                )
                cosine = set_lane(cosine, l, math.cos(0.5 * (legal_angle - straight)))
                sine = set_lane(sine, l, math.sin(0.5 * (legal_angle - straight)))
                legal_angle = posed + weight * (legal_angle - posed)
                blended_cosine = set_lane(blended_cosine, l, math.cos(0.5 * (legal_angle - straight)))
                blended_sine = set_lane(blended_sine, l, math.sin(0.5 * (legal_angle - straight)))
                angle = set_lane(angle, l, legal_angle)
    return cosine, sine, blended_cosine, blended_sine, angle


@device_function
def find_legal_angle(straight_angle, posed_angle, min_angle, max_angle, bend):
    """Return the better legal angle of bending to either side.

    It is exact: the squared distance is linear in the cosine of the bend.
    """
    angle = clamp_angle(wrap_angle_near(straight_angle + bend, posed_angle), min_angle, max_angle)
    other_angle = clamp_angle(wrap_angle_near(straight_angle - bend, posed_angle), min_angle, max_angle)
    wanted_cosine = math.cos(bend)
    # The distance is monotonic in the cosine of the bend: compare cosines.
    error, other_error = (
        abs(math.cos(angle - straight_angle) - wanted_cosine),
        abs(math.cos(other_angle - straight_angle) - wanted_cosine),
    )
    # The other side must be better by more than rounding, or the knee would flip.
    return other_angle if other_error < error - TIE_TOLERANCE else angle


@inline
def wrap_angle_near(angle, posed_angle):
    """Return the equivalent angle within half a turn of `posed_angle`."""
    return angle - TWO_PI * math.floor((angle - posed_angle) / TWO_PI + 0.5)


@inline
def compute_middle_motion(limb, cosine, sine, axis):
    """Compute the middle joint's motion: its bend after its earlier motion."""
    # Sum of two half angles by the addition theorems: the joint's angle counts from its own zero, not from straight.
    c = limb.half_straight.x * cosine - limb.half_straight.y * sine
    s = limb.half_straight.y * cosine + limb.half_straight.x * sine
    return multiply(Quat(c, s * axis.x, s * axis.y, s * axis.z), limb.straight_motion)


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
        side = scale(cross(chord, limb.axis), select(sine < 0.0, sine * 0.0 - 1.0, sine * 0.0 + 1.0))
        p = select_vec(is_straight, perpendicular_part(rotate_scaled(arc, side), a), p)
    source, bend_side = p, limb.bend_direction
    if bend_rule == BEND_AXIS:
        source, bend_side = perpendicular_part(rotate_scaled(arc, limb.axis), a), limb.axis
    # The point of the circle farthest along a vector lies in the direction of its part perpendicular to the chord.
    n = perpendicular_part(bend_side, a)
    n = scale(n, select(dot(n, n) > MIN_SIDE_SINE2 * dot(bend_side, bend_side), sine * 0.0 + 1.0, sine * 0.0))
    if has_pole:
        pole_direction = perpendicular_part(pole, a)
        # A pole on the line of the chord defines no side: the mode's rule stays.
        is_sideways = dot(pole_direction, pole_direction) > MIN_SIDE_SINE2 * limb.longest2
        source, n = select_vec(is_sideways, p, source), select_vec(is_sideways, pole_direction, n)
    return rotation_about_axis(source, n, a)


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
def compute_tip_motion(limb, wanted_rotation, limb_rotation, middle_motion):
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
        multiply(tip_from_limb, multiply(multiply(limb.limb_from_world, wanted_rotation), limb.tip_offset_inverse))
    )


# --- Solve limbs in lanes ----------------------------------------------------------------------------------------


@inline
def solve_limb(lane_kind, limb, options, r, pole, has_pole, needs_angle):
    """Solve the limb for target r in its frame.

    Return its rotation, the middle joint's motion and angle, and the tip's remaining distance from r.
    """
    a, distance = split_length(r)
    wanted_distance = distance
    if options.soft_share > 0.0:
        wanted_distance = soften_distances(lane_kind, distance, limb, options.soft_share)
    cosine, sine, blended_cosine, blended_sine, angle = solve_bend(
        lane_kind, limb, wanted_distance, options.weight, needs_angle
    )
    # cos b and sin b by the double angle formulas from those of b / 2.
    chord = add(limb.circle_centre, scale(limb.circle_cos, cosine * cosine - sine * sine))
    chord = add(chord, scale(limb.circle_sin, 2.0 * cosine * sine))
    length = sqrt(dot(chord, chord))
    # Aim by the shortest arc, the smallest rotation onto the target direction.
    arc, squared_length = shortest_arc(chord, length, a)
    rotation = arc
    if has_pole or options.bend_rule != BEND_MIN:
        rotation = multiply(
            compute_swivel(limb, arc, squared_length, chord, a, sine, options.bend_rule, pole, has_pole), arc
        )
    # The swivel offset comes last, about the chord to the target, so it does not move the tip.
    if options.swivel.x != 0.0:
        s = options.swivel.x
        rotation = multiply(Quat(distance * 0.0 + options.swivel.w, s * a.x, s * a.y, s * a.z), rotation)
    rotation = normalise_quat(rotation)
    axis = limb.knee_axis
    has_free_axis = limb.has_free_axis > 0.0
    # Rare, and equal for all lanes of most calls: skipped unless some lane is straight.
    if mask_to_bits(has_free_axis):
        untwisted_rotation, twist = remove_twist(rotation, limb.thigh)
        rotation = select_quat(has_free_axis, untwisted_rotation, rotation)
        axis = select_vec(has_free_axis, rotate(conjugate(limb.limb_from_middle), rotate(twist, limb.axis)), axis)
    distance_error = length - distance
    return (
        rotation,
        compute_middle_motion(limb, blended_cosine, blended_sine, axis),
        angle,
        maximum(distance_error, -distance_error),
    )


@inline
def spill_quat(out, offset, q):
    """Store a quaternion to memory, all lanes. Single lanes are read from memory faster than from a register."""
    out[offset], out[offset + 1], out[offset + 2], out[offset + 3] = q.w, q.x, q.y, q.z


@inline
def unspill_quat(row, column, numbers, offset, l, w):
    """Copy lane l of a stored quaternion to a row."""
    for j in range(4):
        row[column + j] = numbers[(offset + j) * w + l]


@inline
def copy_row(row, start):
    """Copy a row, four numbers at a time."""
    aligned_length = start.shape[0] // 4 * 4
    for j in range(0, aligned_length, 4):
        row[j], row[j + 1], row[j + 2], row[j + 3] = start[j], start[j + 1], start[j + 2], start[j + 3]
    for j in range(aligned_length, start.shape[0]):
        row[j] = start[j]


@inline
def gather_rows(work, offset, rows, block, w):
    """Interleave w rows from value `offset` of the work array on. The last row fills lanes beyond the last problem."""
    for l in range(w):
        i = min(block * w + l, rows.shape[0] - 1)
        for j in range(rows.shape[1]):
            work[(offset + j) * w + l] = rows[i, j]


@inline
def solve_block(lane_kind, limb, problems, options, work, block, count):
    """Solve the first `count` problems of one block."""
    columns, starts, outcome = problems.columns, problems.starts, problems.outcome
    has_pole = problems.poles.shape[0] > 0
    first_column, middle_column, tip_column, has_angle, w = (
        columns[0],
        columns[1],
        columns[2],
        columns[4] > 0,
        count_lanes(lane_kind),
    )
    target, pole = view_lanes(lane_kind, work, TARGET_OFFSET * w, 7), view_lanes(lane_kind, work, POLE_OFFSET * w, 3)
    out, numbers = view_lanes(lane_kind, work, OUTPUT_OFFSET * w, 13), work[OUTPUT_OFFSET * w :]
    # The target in the limb frame. From here on only the tip's rotation is in world coordinates.
    r = rotate(limb.limb_from_world, sub(read_vec_at(target, 0), limb.hip))
    tip_offset = sub(r, limb.tip)
    is_met = dot(tip_offset, tip_offset) <= options.tolerance * options.tolerance
    wanted_rotation = limb.tip_rotation
    if tip_column >= 0 and problems.targets.shape[1] > 3:
        wanted_rotation = read_quat_at(target, 3)
        rotation_error = multiply(conjugate(limb.tip_rotation), wanted_rotation)
        is_met = is_met & (
            rotation_error.x * rotation_error.x
            + rotation_error.y * rotation_error.y
            + rotation_error.z * rotation_error.z
            <= options.half_angle_sine * options.half_angle_sine
        )
    # A start at its target is returned bit for bit, unless a pole or a swivel may still move it.
    met_bits = mask_to_bits(is_met) if options.swivel.y <= 0.0 else 0
    to_pole = read_vec_at(pole, 0)
    if has_pole:
        to_pole = rotate(limb.limb_from_world, sub(to_pole, limb.hip))
    needs_angle = has_angle or options.weight != 1.0
    rotation, middle_motion, angle, error = solve_limb(lane_kind, limb, options, r, to_pole, has_pole, needs_angle)
    first_motion = nlerp(limb.first_motion, multiply(rotation, limb.first_motion), options.weight)
    tip_motion = limb.tip_rotation
    if tip_column >= 0:
        tip_motion = nlerp(
            limb.tip_motion, compute_tip_motion(limb, wanted_rotation, rotation, middle_motion), options.weight
        )
    spill_quat(out, 0, first_motion)
    spill_quat(out, 4, middle_motion)
    spill_quat(out, 8, tip_motion)
    out[12] = angle
    # With a weight below 1 the limb stops early: the target does not count as met.
    arrived_bits = mask_to_bits(error <= options.tolerance) if options.weight == 1.0 else 0
    for l in range(count):
        row = problems.q[block * w + l]
        start = starts[min(block * w + l, starts.shape[0] - 1)]
        copy_row(row, start)
        is_kept = (met_bits >> l) & 1 == 1
        outcome[block * w + l, 0], outcome[block * w + l, 1] = not is_kept, is_kept or (arrived_bits >> l) & 1 == 1
        if not is_kept:
            unspill_quat(row, first_column, numbers, 0, l, w)
            if has_angle:
                row[middle_column] = numbers[12 * w + l]
            else:
                unspill_quat(row, middle_column, numbers, 4, l, w)
            if tip_column >= 0:
                unspill_quat(row, tip_column, numbers, 8, l, w)


@inline
def solve_all(lane_kind, limbs, problems, settings, work):
    """Solve all problems, block by block."""
    targets, poles = problems.targets, problems.poles
    options, w, k = read_settings(settings), count_lanes(lane_kind), targets.shape[0]
    if k == 0:
        return
    rows, pole = view_lanes(lane_kind, work, 0, LIMB_ROW), view_lanes(lane_kind, work, POLE_OFFSET * w, 3)
    gather_rows(work, 0, limbs, 0, w)
    # One limb for all targets is read once and stays in registers.
    limb = read_limb(rows)
    pole[0], pole[1], pole[2] = broadcast(lane_kind, 0.0), broadcast(lane_kind, 0.0), broadcast(lane_kind, 0.0)
    for block in range((k + w - 1) // w):
        gather_rows(work, TARGET_OFFSET, targets, block, w)
        if limbs.shape[0] > 1:
            gather_rows(work, 0, limbs, block, w)
            limb = read_limb(rows)
        if poles.shape[0] > 0:
            gather_rows(work, POLE_OFFSET, poles, block, w)
        count = min(w, k - block * w)
        solve_block(lane_kind, limb, problems, options, work, block, count)


@kernel
def solve4(limbs, targets, poles, columns, settings, starts, q, outcome, work):
    """Solve the problems in four lanes. Fill `q` and `outcome`."""
    problems = LimbProblems(targets, poles, columns, starts, q, outcome)
    solve_all(LANES4, limbs, problems, settings, work)


@kernel
def solve8(limbs, targets, poles, columns, settings, starts, q, outcome, work):
    """Solve the problems in eight lanes. Fill `q` and `outcome`."""
    problems = LimbProblems(targets, poles, columns, starts, q, outcome)
    solve_all(LANES8, limbs, problems, settings, work)
