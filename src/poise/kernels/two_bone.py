# pyright: standard
"""Closed-form IK of two-bone limbs.

Lengths are in file units. The solver's docstring defines the limb frame, "posed" and the bend b.
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
    turn: Quat  # from the world to the limb frame
    thigh: Vec  # from the first to the middle joint
    tip: Vec  # the posed tip
    # The circle of the tip, still + cos b across + sin b around, b the bend from where the limb is longest:
    still: Vec  # its centre
    across: Vec  # from the centre to the tip position farthest from the first joint
    around: Vec  # axis x across, of the same length
    axis: Vec  # unit rotation axis of the middle joint
    wanted: Vec  # its part perpendicular to the chord is the bend direction (bend "thigh", "both"); zero: none
    shortest2: float  # squared distance of the tip from the first joint at b = pi, ignoring limits
    longest2: float  # the same squared distance at b = 0
    gain: float  # 1 / (longest2 - shortest2): squared sine of b / 2 per squared distance; 0 where bending changes none
    reach: float  # largest distance within the middle joint's range
    straight: float  # angle of the middle joint at b = 0, as in its limit: b is its angle minus this
    posed: float  # middle joint's angle in the start pose
    low: float  # middle joint's range
    high: float
    side: float  # 1 or -1: preferred sign of b
    # Squared sines of b / 2 on that side: between them b is certainly in its range. Others are checked one by one.
    least: float
    most: float
    twists: float  # 1: straight limb without a hinge, bends about any perpendicular axis; else 0
    half: Vec  # cosine and sine of half `straight`, 0
    knee: Vec  # middle joint's axis in its own frame
    after: Quat  # motion before the rotation about the axis: posed motion of a non-hinge, made exactly straight
    first: Quat  # posed motion of the first joint
    middle: Quat  # posed motion of the middle joint
    to_middle: Quat  # rotation of the middle joint's frame in the limb frame
    to_tip: Quat  # rotation of the tip joint's frame in the limb frame
    of_tip: Quat  # inverse of the fixed rotation after the tip's motion; multiplies a wanted world rotation
    tip_motion: Quat  # posed motion of the tip's joint
    last: Quat  # posed world rotation of the tip


class LimbSettings(NamedTuple):
    """Settings of one call."""

    tolerance: float  # distance, file units
    sine: float  # of half the rotation tolerance
    soft: float  # share of the reach over which the distance is softened
    swivel: Quat  # half-angle cosine and sine of the offset; y above 0: move even a start at its target
    weight: float
    mode: float  # BEND_MIN, BEND_THIGH or BEND_AXIS: the rule for the swivel about the chord


class LimbProblems(NamedTuple):
    """Arrays of a batch of k problems, and their results.

    See "Closed-form IK of two-bone limbs" below.

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
    write_quat_at(r, 3, limb.turn)
    write_vec_at(r, 7, limb.thigh)
    write_vec_at(r, 10, limb.tip)
    write_vec_at(r, 13, limb.still)
    write_vec_at(r, 16, limb.across)
    write_vec_at(r, 19, limb.around)
    write_vec_at(r, 22, limb.axis)
    write_vec_at(r, 25, limb.wanted)
    r[28], r[29], r[30], r[31] = limb.shortest2, limb.longest2, limb.gain, limb.reach
    r[32], r[33], r[34], r[35], r[36] = limb.straight, limb.posed, limb.low, limb.high, limb.side
    r[37], r[38], r[39] = limb.least, limb.most, limb.twists
    write_vec_at(r, 40, limb.half)
    write_vec_at(r, 43, limb.knee)
    write_quat_at(r, 46, limb.after)
    write_quat_at(r, 50, limb.first)
    write_quat_at(r, 54, limb.middle)
    write_quat_at(r, 58, limb.to_middle)
    write_quat_at(r, 62, limb.to_tip)
    write_quat_at(r, 66, limb.of_tip)
    write_quat_at(r, 70, limb.tip_motion)
    write_quat_at(r, 74, limb.last)


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
    none = square * 0.0
    some = square > 0.0
    k = 1.0 / sqrt(select(some, square, none + 1.0))
    return Quat(select(some, q.w * k, none + 1.0), q.x * k, q.y * k, q.z * k)


@inline
def pick_perpendicular(a):
    """Return a unit vector perpendicular to a vector.

    It is the cross product with the axis of its smallest component.
    """
    x, y, z = maximum(a.x, -a.x), maximum(a.y, -a.y), maximum(a.z, -a.z)
    none = a.x * 0.0
    p = select_vec(y <= z, Vec(-a.z, none, a.x), Vec(a.y, -a.x, none))
    p = select_vec((x <= y) & (x <= z), Vec(none, a.z, -a.y), p)
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
    u, w, stretch = cross(v, m), 0.5 * mm, square * mm
    opposite = mm < OPPOSITE_SUM2 * square
    none = mm * 0.0
    # A target straight behind the limb. The other lanes keep their values.
    if mask_to_bits(opposite):
        u, w, stretch = (
            select_vec(opposite, pick_perpendicular(v), u),
            select(opposite, none, w),
            select(opposite, none + 1.0, stretch),
        )
    some = length > 0.0
    return Quat(select(some, w, none + 1.0), u.x, u.y, u.z), select(some, stretch, none + 1.0)


@inline
def rotate_scaled(q, v):
    """Return q v q* for a quaternion of any length. The length of v grows by the squared length of q."""
    u = Vec(q.x, q.y, q.z)
    along, still = 2.0 * dot(u, v), q.w * q.w - dot(u, u)
    return add(add(scale(v, still), scale(u, along)), scale(cross(u, v), 2.0 * q.w))


@inline
def rotation_about_axis(p, n, a):
    """Compute the rotation about unit vector `a` from p to n.

    p and n are perpendicular to a; the quaternion has any length and is the identity where p or n is zero.
    """
    lengths, cosine, sine = sqrt(dot(p, p) * dot(n, n)), dot(p, n), dot(a, cross(p, n))
    # Two forms of the same half angle. Each adds numbers of equal sign where it is used, so no digits cancel.
    wide = cosine < 0.0
    w, s = select(wide, sine, lengths + cosine), select(wide, lengths - cosine, sine)
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
# outcome  (k, 2)        out: whether anything moved, and whether the target should be met
# work     (LIMB_WORK * w,)   scratch for w lanes, aligned to 64 bytes
#
# The limb frame has its origin at the first joint and the axes of this joint's frame before its motion. "Posed" refers
# to the start pose. Let b be the angle of the middle joint from that of the longest limb. With the first joint as
# posed, the tip is at still + cos b across + sin b around: a circle about the middle joint's axis. Its squared distance
# from the first joint is longest2 - (longest2 - shortest2) sin^2(b / 2). So two square roots give cosine and sine of
# half the bend for a distance, without any angle. Each SIMD lane has one problem; an angle is computed only near a
# limit, one lane at a time.


NO_SIDE_SINE2 = 1e-12  # squared sine of the angle to the chord; below it a direction does not define the swivel
STRAIGHT_SINE2 = 1e-6  # squared sine of the bend; below it only the axis defines the bend side
TIE_TOLERANCE = 1e-9  # difference of cosines, or of distances in reaches; below it the preferred side wins


# Positions in the scratch memory; a row comes first.
TARGET_OFFSET, POLE_OFFSET, OUTPUT_OFFSET = LIMB_ROW, LIMB_ROW + 7, LIMB_ROW + 10


# --- the bend ----------------------------------------------------------------------------------------------------


@inline
def soften_distance(distance, reach, share):
    """Reduce a distance so it never gets to the reach.

    d stays below a = reach - s, above it is a + s (1 - exp(-(d - a) / s)).

    s is `share` of the reach. Value and slope are continuous at a; the function never overshoots and is monotonic.
    """
    margin = share * reach
    over = distance - (reach - margin)
    if over <= 0.0 or margin <= 0.0:
        return distance
    return reach - margin + margin * -math.expm1(-over / margin)


@inline
def soften_distances(kind, distance, limb, share):
    """Soften the distance of every lane."""
    for l in range(count_lanes(kind)):
        distance = set_lane(distance, l, soften_distance(get_lane(distance, l), get_lane(limb.reach, l), share))
    return distance


@inline
def solve_bend(kind, limb, distance, weight, angles):
    """Find the legal bend for a tip distance from the first joint.

    Where there is none, take the nearest possible distance.

    Return cosine and sine of half the bend from straight, both again interpolated by `weight` from the start, and the
    middle joint's angle then if `angles` asks for its arc tangent.
    """
    square = distance * distance
    one, none = square * 0.0 + 1.0, square * 0.0
    # With a bone of zero length or an axis along a bone every bend is equal: the limb stays straight.
    lever = limb.gain > 0.0
    sine2 = minimum(maximum((limb.longest2 - square) * limb.gain, none), one)
    cosine2 = select(lever, minimum(maximum((square - limb.shortest2) * limb.gain, none), one), one)
    sine2 = select(lever, sine2, none)
    cosine, sine, angle = sqrt(cosine2), limb.side * sqrt(sine2), limb.straight
    part_cosine, part_sine = cosine, sine
    # Nearly always all bends are legal, and no lane needs an arc tangent.
    legal = (limb.least <= sine2) & (sine2 <= limb.most)
    w = count_lanes(kind)
    known = mask_to_bits(legal)
    # Limits branch, so lanes are handled one by one; all of them where q has an angle.
    if known != (1 << w) - 1 or angles:
        for l in range(w):
            if angles or (known >> l) & 1 == 0:
                straight, posed = get_lane(limb.straight, l), get_lane(limb.posed, l)
                bend = 2.0 * math.atan2(get_lane(sine, l), get_lane(cosine, l))
                x = find_legal_angle(straight, posed, get_lane(limb.low, l), get_lane(limb.high, l), bend)
                cosine = set_lane(cosine, l, math.cos(0.5 * (x - straight)))
                sine = set_lane(sine, l, math.sin(0.5 * (x - straight)))
                x = posed + weight * (x - posed)
                part_cosine = set_lane(part_cosine, l, math.cos(0.5 * (x - straight)))
                part_sine = set_lane(part_sine, l, math.sin(0.5 * (x - straight)))
                angle = set_lane(angle, l, x)
    return cosine, sine, part_cosine, part_sine, angle


@device_function
def find_legal_angle(straight, posed, low, high, bend):
    """Return the better legal angle of bending to either side.

    It is exact, because the distance is a cosine of the bend.
    """
    angle = clamp_angle(wrap_angle_near(straight + bend, posed), low, high)
    other = clamp_angle(wrap_angle_near(straight - bend, posed), low, high)
    wanted_cosine = math.cos(bend)
    # The distance is monotonic in the cosine of the bend: compare cosines.
    error, other_error = (
        abs(math.cos(angle - straight) - wanted_cosine),
        abs(math.cos(other - straight) - wanted_cosine),
    )
    # The other side must be better by more than rounding, or the knee would flip.
    return other if other_error < error - TIE_TOLERANCE else angle


@inline
def wrap_angle_near(angle, posed):
    """Return the equivalent angle within half a turn of `posed`."""
    return angle - TWO_PI * math.floor((angle - posed) / TWO_PI + 0.5)


@inline
def compute_middle_motion(limb, cosine, sine, axis):
    """Compute the middle joint's motion: its bend after its earlier motion."""
    # Sum of two half angles by the addition theorems: the joint's angle counts from its own zero, not from straight.
    c = limb.half.x * cosine - limb.half.y * sine
    s = limb.half.y * cosine + limb.half.x * sine
    return multiply(Quat(c, s * axis.x, s * axis.y, s * axis.z), limb.after)


# --- the swivel --------------------------------------------------------------------------------------------------


@inline
def compute_swivel(limb, arc, stretch, chord, a, sine, mode, pole, poled):
    """Compute the swivel about unit chord `a` for the wanted middle position. The quaternion has any length.

    `arc` aims the limb and scales vectors by `stretch`. One projection finds the point of the middle joint's circle
    nearest to the wanted direction. A pole has priority over the mode; a direction along the chord is undefined, and
    the swivel is zero then.
    """
    # The middle joint moves on a circle about the chord; p is its point on it after the shortest arc.
    p = perpendicular_part(rotate_scaled(arc, limb.thigh), a)
    is_straight = dot(p, p) <= STRAIGHT_SINE2 * stretch * stretch * dot(limb.thigh, limb.thigh)
    if mask_to_bits(is_straight):  # bend direction of a straight limb
        side = scale(cross(chord, limb.axis), select(sine < 0.0, sine * 0.0 - 1.0, sine * 0.0 + 1.0))
        p = select_vec(is_straight, perpendicular_part(rotate_scaled(arc, side), a), p)
    source, bend_side = p, limb.wanted
    if mode == BEND_AXIS:
        source, bend_side = perpendicular_part(rotate_scaled(arc, limb.axis), a), limb.axis
    # The point of the circle farthest along a vector lies in the direction of its part perpendicular to the chord.
    n = perpendicular_part(bend_side, a)
    n = scale(n, select(dot(n, n) > NO_SIDE_SINE2 * dot(bend_side, bend_side), sine * 0.0 + 1.0, sine * 0.0))
    if poled:
        off = perpendicular_part(pole, a)
        # A pole on the line of the chord defines no side: the mode's rule stays.
        sideways = dot(off, off) > NO_SIDE_SINE2 * limb.longest2
        source, n = select_vec(sideways, p, source), select_vec(sideways, off, n)
    return rotation_about_axis(source, n, a)


@inline
def remove_twist(rotation, thigh):
    """Remove the twist about the thigh from its rotation. Return both parts."""
    axis, _ = split_length(thigh)
    # The twist of a straight limb shows only at its knee, which may bend about any axis: the axis takes the twist.
    along = rotation.x * axis.x + rotation.y * axis.y + rotation.z * axis.z
    known = rotation.w * rotation.w + along * along > NO_SIDE_SINE2
    none = along * 0.0
    along = select(known, along, none)
    twist = normalise_quat(Quat(select(known, rotation.w, none + 1.0), along * axis.x, along * axis.y, along * axis.z))
    return multiply(rotation, conjugate(twist)), twist


@inline
def compute_tip_motion(limb, wanted_rotation, limb_rotation, middle):
    """Compute the tip's motion for a wanted world rotation.

    The limb has its rotation and the middle joint its motion by then.
    """
    knee = multiply(multiply(limb.to_middle, multiply(middle, conjugate(limb.middle))), conjugate(limb.to_middle))
    # Undo the rotation above the tip in the tip's frame, then apply the wanted rotation.
    undone = multiply(conjugate(limb.to_tip), conjugate(multiply(limb_rotation, knee)))
    return normalise_quat(multiply(undone, multiply(multiply(limb.turn, wanted_rotation), limb.of_tip)))


# --- Solve limbs in lanes ----------------------------------------------------------------------------------------


@inline
def solve_limb(kind, limb, options, r, pole, poled, angles):
    """Solve the limb for target r in its frame.

    Return its rotation, the middle joint's motion and angle, and the tip's remaining distance from r.
    """
    a, distance = split_length(r)
    wanted_distance = distance
    if options.soft > 0.0:
        wanted_distance = soften_distances(kind, distance, limb, options.soft)
    cosine, sine, part_cosine, part_sine, angle = solve_bend(kind, limb, wanted_distance, options.weight, angles)
    # cos b and sin b by the double angle formulas from those of b / 2.
    chord = add(limb.still, scale(limb.across, cosine * cosine - sine * sine))
    chord = add(chord, scale(limb.around, 2.0 * cosine * sine))
    length = sqrt(dot(chord, chord))
    # Aim by the shortest arc, the smallest rotation onto the target direction.
    arc, stretch = shortest_arc(chord, length, a)
    rotation = arc
    if poled or options.mode != BEND_MIN:
        rotation = multiply(compute_swivel(limb, arc, stretch, chord, a, sine, options.mode, pole, poled), arc)
    # The swivel offset comes last, about the chord to the target, so it does not move the tip.
    if options.swivel.x != 0.0:
        s = options.swivel.x
        rotation = multiply(Quat(distance * 0.0 + options.swivel.w, s * a.x, s * a.y, s * a.z), rotation)
    rotation = normalise_quat(rotation)
    axis = limb.knee
    loose = limb.twists > 0.0
    # Rare, and equal for all lanes of most calls: skipped unless some lane is straight.
    if mask_to_bits(loose):
        untwisted_rotation, twist = remove_twist(rotation, limb.thigh)
        rotation = select_quat(loose, untwisted_rotation, rotation)
        axis = select_vec(loose, rotate(conjugate(limb.to_middle), rotate(twist, limb.axis)), axis)
    missed = length - distance
    return rotation, compute_middle_motion(limb, part_cosine, part_sine, axis), angle, maximum(missed, -missed)


@inline
def spill_quat(out, at, q):
    """Store a quaternion to memory, all lanes. Single lanes are read from memory faster than from a register."""
    out[at], out[at + 1], out[at + 2], out[at + 3] = q.w, q.x, q.y, q.z


@inline
def unspill_quat(row, column, numbers, at, l, w):
    """Copy lane l of a stored quaternion to a row."""
    for j in range(4):
        row[column + j] = numbers[(at + j) * w + l]


@inline
def copy_row(row, start):
    """Copy a row, four numbers at a time."""
    whole = start.shape[0] // 4 * 4
    for j in range(0, whole, 4):
        row[j], row[j + 1], row[j + 2], row[j + 3] = start[j], start[j + 1], start[j + 2], start[j + 3]
    for j in range(whole, start.shape[0]):
        row[j] = start[j]


@inline
def gather_rows(work, at, rows, block, w):
    """Interleave w rows from value `at` of the work array on. The last row fills the lanes beyond the last problem."""
    for l in range(w):
        i = min(block * w + l, rows.shape[0] - 1)
        for j in range(rows.shape[1]):
            work[(at + j) * w + l] = rows[i, j]


@inline
def solve_block(kind, limb, problems, options, work, block, count):
    """Solve the first `count` problems of one block."""
    columns, starts, outcome = problems.columns, problems.starts, problems.outcome
    has_pole = problems.poles.shape[0] > 0
    first, mid, tip, angles, w = columns[0], columns[1], columns[2], columns[4] > 0, count_lanes(kind)
    target, pole = view_lanes(kind, work, TARGET_OFFSET * w, 7), view_lanes(kind, work, POLE_OFFSET * w, 3)
    out, numbers = view_lanes(kind, work, OUTPUT_OFFSET * w, 13), work[OUTPUT_OFFSET * w :]
    # The target in the limb frame. From here on only the tip's rotation is in world coordinates.
    r = rotate(limb.turn, sub(read_vec_at(target, 0), limb.hip))
    off = sub(r, limb.tip)
    is_met = dot(off, off) <= options.tolerance * options.tolerance
    wanted_rotation = limb.last
    if tip >= 0 and problems.targets.shape[1] > 3:
        wanted_rotation = read_quat_at(target, 3)
        remaining = multiply(conjugate(limb.last), wanted_rotation)
        is_met = is_met & (
            remaining.x * remaining.x + remaining.y * remaining.y + remaining.z * remaining.z
            <= options.sine * options.sine
        )
    # A start at its target is returned bit for bit, unless a pole or a swivel may still move it.
    met_bits = mask_to_bits(is_met) if options.swivel.y <= 0.0 else 0
    to_pole = read_vec_at(pole, 0)
    if has_pole:
        to_pole = rotate(limb.turn, sub(to_pole, limb.hip))
    by_angle = angles or options.weight != 1.0
    rotation, middle, angle, error = solve_limb(kind, limb, options, r, to_pole, has_pole, by_angle)
    upper = nlerp(limb.first, multiply(rotation, limb.first), options.weight)
    lower = limb.last
    if tip >= 0:
        lower = nlerp(limb.tip_motion, compute_tip_motion(limb, wanted_rotation, rotation, middle), options.weight)
    spill_quat(out, 0, upper)
    spill_quat(out, 4, middle)
    spill_quat(out, 8, lower)
    out[12] = angle
    # With a weight below 1 the limb stops early: the target does not count as met.
    met = mask_to_bits(error <= options.tolerance) if options.weight == 1.0 else 0
    for l in range(count):
        row = problems.q[block * w + l]
        start = starts[min(block * w + l, starts.shape[0] - 1)]
        copy_row(row, start)
        keep = (met_bits >> l) & 1 == 1
        outcome[block * w + l, 0], outcome[block * w + l, 1] = not keep, keep or (met >> l) & 1 == 1
        if not keep:
            unspill_quat(row, first, numbers, 0, l, w)
            if angles:
                row[mid] = numbers[12 * w + l]
            else:
                unspill_quat(row, mid, numbers, 4, l, w)
            if tip >= 0:
                unspill_quat(row, tip, numbers, 8, l, w)


@inline
def solve_all(kind, limbs, problems, settings, work):
    """Solve all problems, block by block."""
    targets, poles = problems.targets, problems.poles
    options, w, k = read_settings(settings), count_lanes(kind), targets.shape[0]
    if k == 0:
        return
    rows, pole = view_lanes(kind, work, 0, LIMB_ROW), view_lanes(kind, work, POLE_OFFSET * w, 3)
    gather_rows(work, 0, limbs, 0, w)
    # One limb for all targets is read once and stays in registers.
    limb = read_limb(rows)
    pole[0], pole[1], pole[2] = broadcast(kind, 0.0), broadcast(kind, 0.0), broadcast(kind, 0.0)
    for block in range((k + w - 1) // w):
        gather_rows(work, TARGET_OFFSET, targets, block, w)
        if limbs.shape[0] > 1:
            gather_rows(work, 0, limbs, block, w)
            limb = read_limb(rows)
        if poles.shape[0] > 0:
            gather_rows(work, POLE_OFFSET, poles, block, w)
        count = min(w, k - block * w)
        solve_block(kind, limb, problems, options, work, block, count)


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
