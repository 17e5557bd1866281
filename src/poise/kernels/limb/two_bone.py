# pyright: standard
"""Closed-form IK of two-bone limbs. Bend by the law of cosines, aim, swivel.

    limbs    (1|k, LIMB_ROW)   target-independent numbers, see LimbRow; one row for all problems, or one each
    targets  (k, 3 | 7)    world position of the tip, and its rotation if wanted
    poles    (0|1|k, 3)    world points; the middle joint points at them
    columns  (5,)          columns in q of first joint, middle joint and tip (tip: -1, not changed); then whether the
                           first and the middle joint have an angle there, or a quaternion
    settings (LIMB_SETTINGS,)   see LimbSettings
    starts   (1|k, nq)     poses to start from
    q        (k, nq)       out: the poses
    outcome  (k, 2)        out: whether anything moved, and whether the target should be met
    work     (LIMB_WORK * w,)   scratch for w lanes, aligned to 64 bytes

The limb frame has its origin at the first joint and the axes of this joint's frame before its motion. "Posed" refers to
the start pose. Let b be the angle of the middle joint from that of the longest limb. With the first joint as posed, the
tip is at still + cos b across + sin b around: a circle about the middle joint's axis. Its squared distance from the
first joint is longest2 - (longest2 - shortest2) sin^2(b / 2). So two square roots give cosine and sine of half the bend
for a distance, without any angle. Each SIMD lane has one problem; an angle is computed only near a limit, one lane at a
time.
"""

from __future__ import annotations

import math

from poise.kernels.codes import BEND_AXIS, BEND_LEAST, LIMB_ROW
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.limb.arcs import (
    across_part,
    arc_between,
    blended,
    chosen,
    chosen_turn,
    spin_between,
    turned_by,
    unit,
    unit_turn,
)
from poise.kernels.limb.rows import limb_in, settings_of
from poise.kernels.limits.angles import TURN, best_angle
from poise.kernels.values.lanes import (
    LANES4,
    LANES8,
    bits,
    fill,
    lane,
    maximum,
    minimum,
    part_of,
    select,
    sqrt,
    width,
    with_lane,
)
from poise.kernels.values.linear import (
    Quat,
    add,
    conjugate,
    cross,
    dot,
    multiply,
    quat_in,
    rotate,
    scale,
    sub,
    vec_in,
)

NO_SIDE = 1e-12  # squared sine of the angle to the chord; below it a direction does not define the swivel
STRAIGHT = 1e-6  # squared sine of the bend; below it only the axis defines the bend side
TIE = 1e-9  # difference of cosines, or of distances in reaches; below it the preferred side wins


# Positions in the scratch memory; a row comes first.
TARGET, POLE, OUT = LIMB_ROW, LIMB_ROW + 7, LIMB_ROW + 10


# --- the bend ----------------------------------------------------------------------------------------------------


@inline
def softened(distance, reach, share):
    """Reduce a distance so it never gets to the reach.

    d stays below a = reach - s, above it is a + s (1 - exp(-(d - a) / s)).

    s is `share` of the reach. Value and slope are continuous at a; the function never overshoots and is monotonic.
    """
    room = share * reach
    over = distance - (reach - room)
    if over <= 0.0 or room <= 0.0:
        return distance
    return reach - room + room * -math.expm1(-over / room)


@inline
def softened_all(kind, distance, limb, share):
    """Soften the distance of every lane."""
    for l in range(width(kind)):
        distance = with_lane(distance, l, softened(lane(distance, l), lane(limb.reach, l), share))
    return distance


@inline
def bend_for(kind, limb, distance, weight, angles):
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
    w = width(kind)
    known = bits(legal)
    # Limits branch, so lanes are handled one by one; all of them where q has an angle.
    if known != (1 << w) - 1 or angles:
        for l in range(w):
            if angles or (known >> l) & 1 == 0:
                straight, posed = lane(limb.straight, l), lane(limb.posed, l)
                bend = 2.0 * math.atan2(lane(sine, l), lane(cosine, l))
                x = legal_angle(straight, posed, lane(limb.low, l), lane(limb.high, l), bend)
                cosine = with_lane(cosine, l, math.cos(0.5 * (x - straight)))
                sine = with_lane(sine, l, math.sin(0.5 * (x - straight)))
                x = posed + weight * (x - posed)
                part_cosine = with_lane(part_cosine, l, math.cos(0.5 * (x - straight)))
                part_sine = with_lane(part_sine, l, math.sin(0.5 * (x - straight)))
                angle = with_lane(angle, l, x)
    return cosine, sine, part_cosine, part_sine, angle


@part
def legal_angle(straight, posed, low, high, bend):
    """Return the better legal angle of bending to either side.

    It is exact, because the distance is a cosine of the bend.
    """
    angle = best_angle(turn_near(straight + bend, posed), low, high)
    other = best_angle(turn_near(straight - bend, posed), low, high)
    wanted = math.cos(bend)
    # The distance is monotonic in the cosine of the bend: compare cosines.
    missed, also = abs(math.cos(angle - straight) - wanted), abs(math.cos(other - straight) - wanted)
    # The other side must be better by more than rounding, or the knee would flip.
    return other if also < missed - TIE else angle


@inline
def turn_near(angle, posed):
    """Return the equivalent angle within half a turn of `posed`."""
    return angle - TURN * math.floor((angle - posed) / TURN + 0.5)


@inline
def motion_of_middle(limb, cosine, sine, axis):
    """Compute the middle joint's motion: its bend after its earlier motion."""
    # Sum of two half angles by the addition theorems: the joint's angle counts from its own zero, not from straight.
    c = limb.half.x * cosine - limb.half.y * sine
    s = limb.half.y * cosine + limb.half.x * sine
    return multiply(Quat(c, s * axis.x, s * axis.y, s * axis.z), limb.after)


# --- the swivel --------------------------------------------------------------------------------------------------


@inline
def about_chord(limb, arc, stretch, chord, a, sine, mode, pole, poled):
    """Compute the swivel about unit chord `a` for the wanted middle position. The quaternion has any length.

    `arc` aims the limb and scales vectors by `stretch`. One projection finds the point of the middle joint's circle
    nearest to the wanted direction. A pole has priority over the mode; a direction along the chord is undefined, and
    the swivel is zero then.
    """
    # The middle joint moves on a circle about the chord; p is its point on it after the shortest arc.
    p = across_part(turned_by(arc, limb.thigh), a)
    is_straight = dot(p, p) <= STRAIGHT * stretch * stretch * dot(limb.thigh, limb.thigh)
    if bits(is_straight):  # bend direction of a straight limb
        side = scale(cross(chord, limb.axis), select(sine < 0.0, sine * 0.0 - 1.0, sine * 0.0 + 1.0))
        p = chosen(is_straight, across_part(turned_by(arc, side), a), p)
    source, wanted = p, limb.wanted
    if mode == BEND_AXIS:
        source, wanted = across_part(turned_by(arc, limb.axis), a), limb.axis
    # The point of the circle farthest along a vector lies in the direction of its part perpendicular to the chord.
    n = across_part(wanted, a)
    n = scale(n, select(dot(n, n) > NO_SIDE * dot(wanted, wanted), sine * 0.0 + 1.0, sine * 0.0))
    if poled:
        off = across_part(pole, a)
        # A pole on the line of the chord defines no side: the mode's rule stays.
        sideways = dot(off, off) > NO_SIDE * limb.longest2
        source, n = chosen(sideways, p, source), chosen(sideways, off, n)
    return spin_between(source, n, a)


@inline
def untwisted(turn, thigh):
    """Remove the twist about the thigh from its rotation. Return both parts."""
    axis, _ = unit(thigh)
    # The twist of a straight limb shows only at its knee, which may bend about any axis: the axis takes the twist.
    along = turn.x * axis.x + turn.y * axis.y + turn.z * axis.z
    known = turn.w * turn.w + along * along > NO_SIDE
    none = along * 0.0
    along = select(known, along, none)
    twist = unit_turn(Quat(select(known, turn.w, none + 1.0), along * axis.x, along * axis.y, along * axis.z))
    return multiply(turn, conjugate(twist)), twist


@inline
def turned_tip(limb, wanted, turn, middle):
    """Compute the tip's motion for a wanted world rotation.

    The limb has its rotation and the middle joint its motion by then.
    """
    knee = multiply(multiply(limb.to_middle, multiply(middle, conjugate(limb.middle))), conjugate(limb.to_middle))
    # Undo the rotation above the tip in the tip's frame, then apply the wanted rotation.
    undone = multiply(conjugate(limb.to_tip), conjugate(multiply(turn, knee)))
    return unit_turn(multiply(undone, multiply(multiply(limb.turn, wanted), limb.of_tip)))


# --- the whole ---------------------------------------------------------------------------------------------------


@inline
def aimed(kind, limb, options, r, pole, poled, angles):
    """Solve the limb for target r in its frame.

    Return its rotation, the middle joint's motion and angle, and the tip's remaining distance from r.
    """
    a, distance = unit(r)
    wanted = distance
    if options.soft > 0.0:
        wanted = softened_all(kind, distance, limb, options.soft)
    cosine, sine, part_cosine, part_sine, angle = bend_for(kind, limb, wanted, options.weight, angles)
    # cos b and sin b by the double angle formulas from those of b / 2.
    chord = add(limb.still, scale(limb.across, cosine * cosine - sine * sine))
    chord = add(chord, scale(limb.around, 2.0 * cosine * sine))
    length = sqrt(dot(chord, chord))
    # Aim by the shortest arc, the smallest rotation onto the target direction.
    arc, stretch = arc_between(chord, length, a)
    turn = arc
    if poled or options.mode != BEND_LEAST:
        turn = multiply(about_chord(limb, arc, stretch, chord, a, sine, options.mode, pole, poled), arc)
    # The swivel offset comes last, about the chord to the target, so it does not move the tip.
    if options.swivel.x != 0.0:
        s = options.swivel.x
        turn = multiply(Quat(distance * 0.0 + options.swivel.w, s * a.x, s * a.y, s * a.z), turn)
    turn = unit_turn(turn)
    axis = limb.knee
    loose = limb.twists > 0.0
    # Rare, and equal for all lanes of most calls: skipped unless some lane is straight.
    if bits(loose):
        plain, twist = untwisted(turn, limb.thigh)
        turn = chosen_turn(loose, plain, turn)
        axis = chosen(loose, rotate(conjugate(limb.to_middle), rotate(twist, limb.axis)), axis)
    missed = length - distance
    return turn, motion_of_middle(limb, part_cosine, part_sine, axis), angle, maximum(missed, -missed)


@inline
def put_aside(out, at, q):
    """Store a quaternion to memory, all lanes. Single lanes are read from memory faster than from a register."""
    out[at], out[at + 1], out[at + 2], out[at + 3] = q.w, q.x, q.y, q.z


@inline
def put_lane(row, column, numbers, at, l, w):
    """Copy lane l of a stored quaternion to a row."""
    for j in range(4):
        row[column + j] = numbers[(at + j) * w + l]


@inline
def copy(row, start):
    """Copy a row, four numbers at a time."""
    whole = start.shape[0] // 4 * 4
    for j in range(0, whole, 4):
        row[j], row[j + 1], row[j + 2], row[j + 3] = start[j], start[j + 1], start[j + 2], start[j + 3]
    for j in range(whole, start.shape[0]):
        row[j] = start[j]


@inline
def gather(work, at, rows, block, w):
    """Interleave w rows from value `at` of the work array on. The last row fills the lanes beyond the last problem."""
    for l in range(w):
        i = min(block * w + l, rows.shape[0] - 1)
        for j in range(rows.shape[1]):
            work[(at + j) * w + l] = rows[i, j]


@inline
def solve_block(kind, limb, work, block, count, targets, poles, columns, options, starts, q, found):
    """Solve the problems of one block."""
    first, mid, tip, angles, w = columns[0], columns[1], columns[2], columns[4] > 0, width(kind)
    target, pole = part_of(kind, work, TARGET * w, 7), part_of(kind, work, POLE * w, 3)
    out, numbers = part_of(kind, work, OUT * w, 13), work[OUT * w :]
    # The target in the limb frame. From here on only the tip's rotation is in world coordinates.
    r = rotate(limb.turn, sub(vec_in(target, 0), limb.hip))
    off = sub(r, limb.tip)
    kept = dot(off, off) <= options.tolerance * options.tolerance
    wanted = limb.last
    if tip >= 0 and targets.shape[1] > 3:
        wanted = quat_in(target, 3)
        left = multiply(conjugate(limb.last), wanted)
        kept = kept & (left.x * left.x + left.y * left.y + left.z * left.z <= options.sine * options.sine)
    # A start at its target is returned bit for bit, unless a pole or a swivel may still move it.
    keeping = bits(kept) if options.swivel.y <= 0.0 else 0
    to_pole = vec_in(pole, 0)
    if poles.shape[0] > 0:
        to_pole = rotate(limb.turn, sub(to_pole, limb.hip))
    by_angle = angles or options.weight != 1.0
    turn, middle, angle, missed = aimed(kind, limb, options, r, to_pole, poles.shape[0] > 0, by_angle)
    upper = blended(limb.first, multiply(turn, limb.first), options.weight)
    lower = limb.last
    if tip >= 0:
        lower = blended(limb.tip_motion, turned_tip(limb, wanted, turn, middle), options.weight)
    put_aside(out, 0, upper)
    put_aside(out, 4, middle)
    put_aside(out, 8, lower)
    out[12] = angle
    # With a weight below 1 the limb stops early: the target does not count as met.
    met = bits(missed <= options.tolerance) if options.weight == 1.0 else 0
    for l in range(count):
        row = q[block * w + l]
        start = starts[min(block * w + l, starts.shape[0] - 1)]
        copy(row, start)
        keep = (keeping >> l) & 1 == 1
        found[block * w + l, 0], found[block * w + l, 1] = not keep, keep or (met >> l) & 1 == 1
        if not keep:
            put_lane(row, first, numbers, 0, l, w)
            if angles:
                row[mid] = numbers[12 * w + l]
            else:
                put_lane(row, mid, numbers, 4, l, w)
            if tip >= 0:
                put_lane(row, tip, numbers, 8, l, w)


@inline
def solve_all(kind, limbs, targets, poles, columns, settings, starts, q, found, work):
    """Solve all problems, block by block."""
    options, w, k = settings_of(settings), width(kind), targets.shape[0]
    if k == 0:
        return
    rows, pole = part_of(kind, work, 0, LIMB_ROW), part_of(kind, work, POLE * w, 3)
    gather(work, 0, limbs, 0, w)
    # One limb for all targets is read once and stays in registers.
    limb = limb_in(rows)
    pole[0], pole[1], pole[2] = fill(kind, 0.0), fill(kind, 0.0), fill(kind, 0.0)
    for block in range((k + w - 1) // w):
        gather(work, TARGET, targets, block, w)
        if limbs.shape[0] > 1:
            gather(work, 0, limbs, block, w)
            limb = limb_in(rows)
        if poles.shape[0] > 0:
            gather(work, POLE, poles, block, w)
        count = min(w, k - block * w)
        solve_block(kind, limb, work, block, count, targets, poles, columns, options, starts, q, found)


@kernel
def solve4(limbs, targets, poles, columns, settings, starts, q, found, work):
    """Solve the problems in four lanes. Fill `q` and `outcome`."""
    solve_all(LANES4, limbs, targets, poles, columns, settings, starts, q, found, work)


@kernel
def solve8(limbs, targets, poles, columns, settings, starts, q, found, work):
    """Solve the problems in eight lanes. Fill `q` and `outcome`."""
    solve_all(LANES8, limbs, targets, poles, columns, settings, starts, q, found, work)
