# pyright: standard
"""Two bones in closed form: bend the middle joint by the law of cosines, aim the limb, turn it about its chord.

    limbs    (1|k, LIMB)   what no target changes, see Limb: one row for all problems, or one each
    targets  (k, 3 | 7)    world point of the tip, and its rotation where the tip's own joint is to have one
    poles    (0|1|k, 3)    world points that the middle joint points at
    columns  (5,)          where first joint, middle joint and tip stand in q (tip: -1, it is left alone), and whether
                           the first and the middle joint have an angle there, or a quaternion
    settings (SETTINGS,)   see Settings
    starts   (1|k, nq)
    q        (k, nq)       out: the poses
    found    (k, 2)        out: whether anything moved, and whether the target should be met

The limb frame stands where the first joint's motion begins: its origin is the first joint, its axes are those that
this joint turns in. A middle joint that has turned by b from where the limb is longest puts the posed limb's tip at
still + cos b across + sin b around. The squared distance of that is a cosine of b, and the cosine and sine of half of b
are two square roots away. No angle is computed unless a limit is near.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.kernels.compiled import inline, kernel, part
from poise.kernels.limits import TURN, best_angle
from poise.kernels.linear import (
    Quat,
    Vec,
    add,
    conjugate,
    cross,
    dot,
    multiply,
    norm,
    normalise,
    quat_in,
    rotate,
    rotation_between,
    scale,
    sub,
    vec_in,
)

NO_SIDE = 1e-12  # a direction this near (squared sine) to the chord says nothing about the turn about it
STRAIGHT = 1e-6  # a limb this near (squared sine) to straight shows only by its axis to which side it bends
TIE = 1e-9  # both ways to bend are as good
LIMB, SETTINGS = 78, 7


class Limb(NamedTuple):
    """A posed limb; vectors in the limb frame, lengths in file units. A row holds the fields in this order."""

    hip: Vec  # world position of the first joint
    turn: Quat  # from the world to the limb frame
    thigh: Vec  # first to middle joint
    tip: Vec  # the posed tip
    still: Vec
    across: Vec
    around: Vec
    axis: Vec  # that the middle joint turns about
    wanted: Vec  # where the thigh is to point, as far as the target lets it; zero: the axis keeps its direction
    shortest2: float  # squared distances of the tip
    longest2: float
    gain: float  # 1 / (longest2 - shortest2); 0 where bending does not change the distance
    reach: float  # the longest distance that the middle joint's range allows
    straight: float  # angle of the middle joint where the limb is longest, as its limit counts
    posed: float  # its angle in the start pose
    low: float
    high: float
    side: float  # 1 or -1: which way to bend from straight
    least: float  # squared sines of half a bend to that side that are legal: what lies between is, the rest is tried
    most: float
    twists: float  # 1: the posed limb is straight and no hinge; it bends about any axis across it. Else 0
    half: Vec  # cosine and sine of half `straight`
    knee: Vec  # the middle joint's axis in the frame that it turns in
    after: Quat  # what the middle joint turned by before, where it is no hinge
    first: Quat  # posed motions
    middle: Quat
    to_middle: Quat  # from the limb frame to the frames that the middle joint and the tip's joint turn in, while posed
    to_tip: Quat
    of_tip: Quat  # the tip's world rotation and this, and it is turned as its motion has turned it
    tip_motion: Quat
    last: Quat  # posed world rotation of the tip


class Settings(NamedTuple):
    """Of one call."""

    tolerance: float  # distance, file units
    sine: float  # of half the angle that counts as reached
    soft: float  # share of the reach over which the limb is slowed
    swivel: Quat  # half the offset: cosine, sine; y above 0: do not stop at a start that meets the target
    weight: float


class Bend(NamedTuple):
    """Cosine and sine of half the bend from straight, and the middle joint's angle, as far as it is known."""

    cosine: float
    sine: float
    angle: float


@inline
def put_quat_in(row, column, q):
    """Store a quaternion in four numbers of a row."""
    row[column] = q.w
    row[column + 1] = q.x
    row[column + 2] = q.y
    row[column + 3] = q.z


@inline
def limb_at(rows, i):
    """Row i as a Limb."""
    r = rows[i]
    return Limb(
        vec_in(r, 0), quat_in(r, 3), vec_in(r, 7), vec_in(r, 10), vec_in(r, 13), vec_in(r, 16), vec_in(r, 19),
        vec_in(r, 22), vec_in(r, 25), r[28], r[29], r[30], r[31], r[32], r[33], r[34], r[35], r[36], r[37], r[38],
        r[39], vec_in(r, 40), vec_in(r, 43), quat_in(r, 46), quat_in(r, 50), quat_in(r, 54), quat_in(r, 58),
        quat_in(r, 62), quat_in(r, 66), quat_in(r, 70), quat_in(r, 74),
    )  # fmt: skip


@inline
def settings_of(row):
    """The row as Settings."""
    return Settings(row[0], row[1], row[2], Quat(row[3], row[4], row[5], 0.0), row[6])


@inline
def softened(distance, reach, share):
    """A distance that never gets to the reach: d below a = reach - s, else a + s (1 - exp(-(d - a) / s)).

    s is `share` of the reach. Value and slope agree at a, it never overshoots and only grows.
    """
    room = share * reach
    over = distance - (reach - room)
    if over <= 0.0 or room <= 0.0:
        return distance
    return reach - room + room * -math.expm1(-over / room)


@inline
def bend_for(limb, distance2, angles):
    """The legal bend that brings the tip to this squared distance from the first joint, or as near as it can."""
    if limb.gain == 0.0:
        return Bend(1.0, 0.0, limb.straight)
    sine2 = min(max((limb.longest2 - distance2) * limb.gain, 0.0), 1.0)
    cosine2 = min(max((distance2 - limb.shortest2) * limb.gain, 0.0), 1.0)
    if limb.least <= sine2 <= limb.most and not angles:
        return Bend(math.sqrt(cosine2), limb.side * math.sqrt(sine2), limb.straight)
    return limited_bend(limb, 2.0 * math.atan2(math.sqrt(sine2), math.sqrt(cosine2)))


@part
def limited_bend(limb, bend):
    """The better one of bending by this to either side, its range kept: exact, because the distance is a cosine."""
    angle, other = legal_angle(limb, limb.side * bend), legal_angle(limb, -limb.side * bend)
    wanted = math.cos(bend)
    missed, also = abs(math.cos(angle - limb.straight) - wanted), abs(math.cos(other - limb.straight) - wanted)
    if also < missed - TIE:
        angle = other
    half = 0.5 * (angle - limb.straight)
    return Bend(math.cos(half), math.sin(half), angle)


@inline
def legal_angle(limb, bend):
    """The legal angle of the middle joint best for this bend, of several turns the one nearest to its posed angle."""
    angle = limb.straight + bend
    return best_angle(angle - TURN * math.floor((angle - limb.posed) / TURN + 0.5), limb.low, limb.high)


@inline
def across_part(v, a):
    """The part of v across a unit vector."""
    return sub(v, scale(a, dot(v, a)))


@inline
def bends_to(limb, arc, chord, sine):
    """The side to which the aimed limb's middle joint stands from its chord; for a straight one, would stand."""
    side = cross(chord, limb.axis)
    return rotate(arc, scale(side, -1.0 if sine < 0.0 else 1.0))


@inline
def about_chord(limb, arc, chord, a, sine, poles, i):
    """The turn about the unit chord `a` that brings the aimed limb's middle joint to the side it is wanted on.

    The nearest to a wanted direction of all places on the circle that the middle joint can turn on is found by one
    projection. A pole comes first, then `limb.wanted`, then that the middle joint's axis keeps its direction.
    """
    wanted = limb.wanted
    n = across_part(wanted, a)
    if poles.shape[0] > 0:
        pole = rotate(limb.turn, sub(vec_in(poles[min(i, poles.shape[0] - 1)], 0), limb.hip))
        off = across_part(pole, a)
        if dot(off, off) > NO_SIDE * dot(pole, pole):
            wanted, n = pole, off
    if dot(n, n) > NO_SIDE * dot(wanted, wanted):
        p = across_part(rotate(arc, limb.thigh), a)
        if dot(p, p) <= STRAIGHT * dot(limb.thigh, limb.thigh):
            p = across_part(bends_to(limb, arc, chord, sine), a)
    else:
        p, n = across_part(rotate(arc, limb.axis), a), across_part(limb.axis, a)
    return spin_between(p, n, a)


@inline
def spin_between(p, n, a):
    """The turn about the unit vector `a` from p to n, both across it; the identity where one has no length."""
    lengths, cosine, sine = math.sqrt(dot(p, p) * dot(n, n)), dot(p, n), dot(a, cross(p, n))
    if not lengths > 0.0:
        return Quat(1.0, 0.0, 0.0, 0.0)
    w, s = (lengths + cosine, sine) if cosine >= 0.0 else (sine, lengths - cosine)
    return normalise(Quat(w, s * a.x, s * a.y, s * a.z))


@inline
def motion_of_middle(limb, bend, axis):
    """The middle joint's motion: about its axis by its angle, after what it was turned by before."""
    c = limb.half.x * bend.cosine - limb.half.y * bend.sine
    s = limb.half.y * bend.cosine + limb.half.x * bend.sine
    return multiply(Quat(c, s * axis.x, s * axis.y, s * axis.z), limb.after)


@part
def untwisted(turn, thigh):
    """The turn of the thigh without its twist about itself, and that twist."""
    length = norm(thigh)
    if not length > 0.0:
        return turn, Quat(1.0, 0.0, 0.0, 0.0)
    axis = scale(thigh, 1.0 / length)
    along = turn.x * axis.x + turn.y * axis.y + turn.z * axis.z
    if turn.w * turn.w + along * along < NO_SIDE:
        return turn, Quat(1.0, 0.0, 0.0, 0.0)
    twist = normalise(Quat(turn.w, along * axis.x, along * axis.y, along * axis.z))
    return multiply(turn, conjugate(twist)), twist


@inline
def blended(a, b, weight):
    """From rotation a (weight 0) to b (1): their weighted sum on the shorter way, normalised."""
    if weight == 1.0:
        return b
    k = -weight if a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z < 0.0 else weight
    l = 1.0 - weight
    return normalise(Quat(l * a.w + k * b.w, l * a.x + k * b.x, l * a.y + k * b.y, l * a.z + k * b.z))


@inline
def turned_tip(limb, wanted, turn, middle):
    """The tip's own motion that gives it a world rotation, where the limb has turned and its middle joint moved."""
    knee = multiply(multiply(limb.to_middle, multiply(middle, conjugate(limb.middle))), conjugate(limb.to_middle))
    undone = multiply(conjugate(limb.to_tip), conjugate(multiply(turn, knee)))
    return normalise(multiply(undone, multiply(multiply(limb.turn, wanted), limb.of_tip)))


@inline
def is_met(limb, settings, r, target, tip):
    """Whether the start pose is within the tolerances."""
    off = sub(r, limb.tip)
    if not dot(off, off) <= settings.tolerance * settings.tolerance:
        return False
    if tip < 0 or target.shape[0] <= 3:
        return True
    left = multiply(conjugate(limb.last), quat_in(target, 3))
    return left.x * left.x + left.y * left.y + left.z * left.z <= settings.sine * settings.sine


@inline
def aimed(limb, settings, r, poles, i, angles):
    """The turn of the limb (in its frame), the middle joint's motion and angle, and how far from r the tip is left."""
    distance = norm(r)
    wanted = softened(distance, limb.reach, settings.soft)
    bend = bend_for(limb, wanted * wanted, angles)
    cosine = bend.cosine * bend.cosine - bend.sine * bend.sine
    chord = add(limb.still, scale(limb.across, cosine))
    chord = add(chord, scale(limb.around, 2.0 * bend.cosine * bend.sine))
    turn, axis = rotation_between(chord, r), limb.knee
    if distance > 0.0:
        a = scale(r, 1.0 / distance)
        turn = multiply(about_chord(limb, turn, chord, a, bend.sine, poles, i), turn)
        turn = multiply(Quat(settings.swivel.w, settings.swivel.x * a.x, settings.swivel.x * a.y, settings.swivel.x * a.z), turn)
    turn = normalise(turn)
    if limb.twists > 0.0:
        turn, twist = untwisted(turn, limb.thigh)
        axis = rotate(conjugate(limb.to_middle), rotate(twist, limb.axis))
    if settings.weight != 1.0:
        angle = limb.posed + settings.weight * (bend.angle - limb.posed)
        half = 0.5 * (angle - limb.straight)
        bend = Bend(math.cos(half), math.sin(half), angle)
    return turn, motion_of_middle(limb, bend, axis), bend.angle, abs(norm(chord) - distance)


@kernel
def solve(limbs, targets, poles, columns, settings, starts, q, found):
    """Fill `q` and `found`."""
    options = settings_of(settings)
    first, mid, tip, angles = columns[0], columns[1], columns[2], columns[4] > 0
    for i in range(targets.shape[0]):
        limb = limb_at(limbs, min(i, limbs.shape[0] - 1))
        start = starts[min(i, starts.shape[0] - 1)]
        for j in range(start.shape[0]):
            q[i, j] = start[j]
        r = rotate(limb.turn, sub(vec_in(targets[i], 0), limb.hip))
        if options.swivel.y <= 0.0 and is_met(limb, options, r, targets[i], tip):
            found[i, 0], found[i, 1] = False, True
            continue
        turn, middle, angle, missed = aimed(limb, options, r, poles, i, angles or options.weight != 1.0)
        put_quat_in(q[i], first, blended(limb.first, multiply(turn, limb.first), options.weight))
        if angles:
            q[i, mid] = angle
        else:
            put_quat_in(q[i], mid, middle)
        if tip >= 0:
            wanted = quat_in(targets[i], 3) if targets.shape[1] > 3 else limb.last
            put_quat_in(q[i], tip, blended(limb.tip_motion, turned_tip(limb, wanted, turn, middle), options.weight))
        found[i, 0], found[i, 1] = True, missed <= options.tolerance and options.weight == 1.0
