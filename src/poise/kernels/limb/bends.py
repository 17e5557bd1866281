# pyright: standard
"""Natural bend direction of knees and elbows: one pole per limb target.

The body defines the bend direction of a limb in its usual direction `along`: towards `bend`. The smallest rotation from
`along` to the actual limb direction carries the bend direction along. A leg swung forward then lifts its knee, a leg
lifted sideways keeps it in front; a raised arm moves its elbow from behind to below and outward. The rotation is
undefined opposite to `along`, a direction no limb points to. Near it the elbow would come above both
shoulder and hand; it is rotated about the line between them until it is not.

Two more terms count. A limb bent at the start with a nearby target keeps its bend direction, transported in the same
way. A tip with a wanted rotation minimises its own joint rotation: that rotation is applied to `straight`, the
direction of the bone above at rest, and `ahead`, the bend direction there.
"""

from __future__ import annotations

import math

from poise.kernels.codes import (
    SIDE_AHEAD,
    SIDE_AHEAD_GAIN,
    SIDE_ALONG,
    SIDE_BEND,
    SIDE_BUILT_IN,
    SIDE_LENGTH,
    SIDE_STRAIGHT,
    SIDE_STRAIGHT_GAIN,
    SIDE_UP,
    SIDE_UPPER,
)
from poise.kernels.compiled import kernel, part
from poise.kernels.values.linear import (
    Quat,
    Vec,
    about,
    add,
    cross,
    dot,
    multiply,
    norm,
    quat_in,
    rotate,
    scale,
    sub,
    vec_in,
)

CLEAR = 1e-9  # share of the limb's length; shorter vectors have no direction
OPPOSITE = 1e-6  # 1 + cosine of the angle; below it the smallest rotation is undefined
# Share of the limb's length from the middle joint to the chord, at a bend of 2 and 6 degrees: the current bend side
# counts 0 below the first and fully above the second.
LEAST_BULGE, SURE_BULGE = 0.009, 0.026
NO_HIGHER = 0.01  # share of the elbow's vertical range; the elbow stays so far below the higher of shoulder and hand
# Cosines of the rotation of the limb's chord: up to 10 degrees the current bend side counts fully, beyond 30 not at
# all.
NEAR, FAR = math.cos(math.radians(10.0)), math.cos(math.radians(30.0))

# Most sweeps over all legs; a leg is in reach if its excess is below this share of its reach.
SWEEPS, ENOUGH = 60, 1e-4
STEPS = 32  # steps tried from standing to the deepest crouch
# Trunk lean of the deepest crouch [rad]; hip movement back per movement down.
DEEPEST, BACK = math.radians(100.0), 0.4
# Cosines of the angle between down and shoulder to target: a crouch starts at the first and is complete at the second.
HIGH, LOW = -0.5, 0.7
# Share of an arm's reach; a high target gets a crouch only if it is farther away than this extra reach.
STRETCH = 0.05


@part
def along_map(maps, at, v):
    """Return a direction of map number `at` as a world unit vector."""
    i = 12 * at
    found = Vec(
        maps[i] * v.x + maps[i + 1] * v.y + maps[i + 2] * v.z,
        maps[i + 4] * v.x + maps[i + 5] * v.y + maps[i + 6] * v.z,
        maps[i + 8] * v.x + maps[i + 9] * v.y + maps[i + 10] * v.z,
    )
    size = norm(found)
    return scale(found, 1.0 / size) if size > 0.0 else found


@part
def origin(maps, at):
    """Return the position of map number `at`."""
    return Vec(maps[12 * at + 3], maps[12 * at + 7], maps[12 * at + 11])


@part
def square(v, axis):
    """Return the part of v perpendicular to a unit vector."""
    return sub(v, scale(axis, dot(v, axis)))


@part
def carried(a, b, v):
    """Rotate v by the smallest rotation from unit vector a to b. Return v itself where a and b are opposite."""
    grow = 1.0 + dot(a, b)
    if grow < OPPOSITE:
        return v
    axis = cross(a, b)
    once = cross(axis, v)
    return add(v, add(once, scale(cross(axis, once), 1.0 / grow)))


@part
def share(value, none, all_of_it):
    """Blend smoothly from 0 at `zero_at` to 1 at `one_at`. The slope is zero at both ends."""
    t = min(max((value - none) / (all_of_it - none), 0.0), 1.0)
    return t * t * (3.0 - 2.0 * t)


@part
def kept_side(maps, places, chord, length, built_in):
    """Return the current bend side and its weight. The side is at the new chord, the weight 0 to 1.

    built_in  the middle joint's distance from the chord in the rig's own rest pose; it is no choice of a side
    """
    first = origin(maps, places[1])
    before = sub(origin(maps, places[3]), first)
    size = norm(before)
    if not size > CLEAR * length:
        return Vec(0.0, 0.0, 0.0), 0.0
    before = scale(before, 1.0 / size)
    bulge = square(sub(origin(maps, places[2]), first), before)
    off = norm(bulge)
    counts = share((off - built_in) / length, LEAST_BULGE, SURE_BULGE) * share(dot(before, chord), FAR, NEAR)
    if not counts > 0.0:
        return Vec(0.0, 0.0, 0.0), 0.0
    return carried(before, chord, scale(bulge, 1.0 / off)), counts


@part
def lowered(side, chord, size, up, body):
    """Rotate the bend side about the chord to lower the middle joint.

    A limb bent that way then has its middle joint no higher than both its ends.

    chord, size  unit vector from the limb's first joint to its tip, and their distance
    up           unit vector; zero and an extended limb leave the side unchanged

    Where every side is too high, return the lowest one.
    """
    length, upper = body[SIDE_LENGTH], body[SIDE_UPPER]
    ahead = 0.5 * (size + (2.0 * upper - length) * length / size)  # upper^2 - lower^2 = (upper - lower) * length
    radius2, rise = upper * upper - ahead * ahead, dot(up, chord)
    across = square(up, chord)
    level = norm(across)
    if not (radius2 > 0.0 and level > CLEAR):
        return side
    most = (max(size * rise, 0.0) - ahead * rise) / (math.sqrt(radius2) * level) - NO_HIGHER
    across = scale(across, 1.0 / level)
    around = cross(chord, across)
    high, aside = dot(side, across), dot(side, around)
    whole = math.sqrt(high * high + aside * aside)
    if high <= most * whole:
        return side
    most = max(most, -1.0)
    rest = math.copysign(math.sqrt(max(1.0 - most * most, 0.0)), aside)
    return add(scale(across, most * whole), scale(around, rest * whole))


@part
def wished_side(maps, places, body, target, chord, size):
    """Return the bend side preferred by the body and the tip's rotation. Its length is arbitrary."""
    side = carried(
        along_map(maps, places[0], vec_in(body, SIDE_ALONG)), chord, along_map(maps, places[0], vec_in(body, SIDE_BEND))
    )
    side = lowered(square(side, chord), chord, size, along_map(maps, places[0], vec_in(body, SIDE_UP)), body)
    if target.shape[0] > 3:
        turn = quat_in(target, 3)
        straight, ahead = rotate(turn, vec_in(body, SIDE_STRAIGHT)), rotate(turn, vec_in(body, SIDE_AHEAD))
        side = add(side, scale(square(straight, chord), body[SIDE_STRAIGHT_GAIN]))
        side = add(side, scale(square(ahead, chord), body[SIDE_AHEAD_GAIN]))
    return side


@kernel
def poles(maps, places, body, targets, out):
    """Fill out (k, 3) with pole points for the middle joints.

    maps     (1|k, 12 n)  world transforms of joints in the start poses
    joints   (4,)         numbers of the maps of body, first joint, middle joint and tip
    body     (SIDE_ROW,)  the columns SIDE_ of codes.py
    targets  (k, 3|7)     of the tip: x y z, w x y z
    """
    length = body[SIDE_LENGTH]
    for k in range(targets.shape[0]):
        row = maps[k if maps.shape[0] > 1 else 0]
        first = origin(row, places[1])
        way = sub(vec_in(targets[k], 0), first)
        size = norm(way)
        # A target at the limb's first joint has no chord direction: keep the current one.
        if not size > CLEAR * length:
            way = sub(origin(row, places[3]), first)
            size = max(norm(way), CLEAR * length)
        chord = scale(way, 1.0 / size)
        side = wished_side(row, places, body, targets[k], chord, size)
        size = norm(side)
        side = scale(side, 1.0 / size) if size > 0.0 else side
        kept, counts = kept_side(row, places, chord, length, body[SIDE_BUILT_IN])
        side = add(scale(side, 1.0 - counts), scale(kept, counts))
        size = norm(side)
        side = scale(side, length / size) if size > 0.0 else side
        at = add(add(first, scale(way, 0.5)), side)
        out[k, 0], out[k, 1], out[k, 2] = at.x, at.y, at.z


@kernel
def lower_poles(maps, places, body, out, raised):
    """Mark `raised` (k,) limbs with their middle joint above both ends.

    Limbs not marked on entry stay so; out (k, 3) gets the poles of the marked ones.

    maps     (k, 12 n)    world transforms of joints in the poses
    joints   (4,)         numbers of the maps of body, first joint, middle joint and tip
    body     (SIDE_ROW,)  the columns SIDE_ of codes.py

    The poles lower the middle joints by the smallest rotation. Returns the number of marked limbs.
    """
    length, count = body[SIDE_LENGTH], 0
    for k in range(maps.shape[0]):
        row = maps[k]
        first, middle = origin(row, places[1]), origin(row, places[2])
        way = sub(origin(row, places[3]), first)
        size = norm(way)
        chord = scale(way, 1.0 / size) if size > CLEAR * length else way
        side = square(sub(middle, first), chord)
        off = norm(side)
        raised[k] = raised[k] and size > CLEAR * length and off > CLEAR * length
        if raised[k]:
            side = scale(side, 1.0 / off)
            lower = lowered(side, chord, size, along_map(row, places[0], vec_in(body, SIDE_UP)), body)
            raised[k] = norm(sub(lower, side)) > 0.0
            at = add(add(first, scale(way, 0.5)), scale(lower, length))
            out[k, 0], out[k, 1], out[k, 2] = at.x, at.y, at.z
        count += 1 if raised[k] else 0
    return count


@part
def moved_near(firsts, targets, reaches, is_leg):
    """Find a small root shift to bring all legs within reach.

    Alternating projections onto the balls around the targets (von Neumann; Gubin, Polyak and Raik, 1967) converge to a
    point inside all of them, or between them where there is none.
    """
    moved = Vec(0.0, 0.0, 0.0)
    for _ in range(SWEEPS):
        most = 0.0
        for j in range(targets.shape[0]):
            way = sub(sub(vec_in(targets[j], 0), vec_in(firsts[j], 0)), moved)
            size = norm(way)
            if is_leg[j] and size > reaches[j]:
                moved = add(moved, scale(way, 1.0 - reaches[j] / size))
                most = max(most, size / reaches[j] - 1.0)
        if most < ENOUGH:
            break
    return moved


@part
def leaned(arm, target, reach, deepest):
    """Find the smallest rotation to bring `arm` within reach of a target.

    The rotation is about the origin; also return whether it suffices.
    """
    r, d, none = norm(arm), norm(target), Quat(1.0, 0.0, 0.0, 0.0)
    if norm(sub(target, arm)) <= reach:
        return none, True
    axis = cross(arm, target)
    size = norm(axis)
    if not size > CLEAR * r * d:
        return none, False
    apart = math.acos(min(max(dot(arm, target) / (r * d), -1.0), 1.0))
    cosine = (d * d + r * r - reach * reach) / (2.0 * d * r)
    needed = apart - math.acos(min(max(cosine, -1.0), 1.0))
    done = cosine <= 1.0 and needed <= deepest
    return about(scale(axis, 1.0 / size), min(max(needed, 0.0), deepest)), done


@part
def crouch_of(firsts, targets, is_leg, folded):
    """Find the path of the root to the deepest crouch.

    It is a vector down to the feet, as long as the leg nearest to its foot allows.
    """
    middle, count, least = Vec(0.0, 0.0, 0.0), 0.0, math.inf
    for j in range(targets.shape[0]):
        if is_leg[j]:
            way = sub(vec_in(targets[j], 0), vec_in(firsts[j], 0))
            middle, count = add(middle, way), count + 1.0
            least = min(least, norm(way) - folded[j])
    size = norm(middle)
    if not (count > 0.0 and size > 0.0 and least > 0.0):
        return Vec(0.0, 0.0, 0.0)
    return scale(middle, least / size)


@part
def crouched_for(firsts, targets, is_leg, reaches, down):
    """Return the share of a crouch (0..1) useful for short arms. It grows with lower and more distant targets."""
    size, most = norm(down), 0.0
    if not size > 0.0:
        return 1.0
    for j in range(targets.shape[0]):
        way = sub(vec_in(targets[j], 0), vec_in(firsts[j], 0))
        far = norm(way)
        if not is_leg[j] and far > reaches[j]:
            short = share(far, reaches[j], reaches[j] * (1.0 + STRETCH))
            most = max(most, short * share(dot(way, down) / (size * far), HIGH, LOW))
    return most


@kernel
def carried_by(roots, firsts, targets, is_leg, folded, reaches, out):
    """Place roots (k, 7) for all limbs to reach their targets.

    roots    (k, 3)     positions of the root
    firsts   (k, l, 3)  positions of the limbs' first joints
    targets  (k, l, 3)  positions of their tips' targets
    is_leg   (l,)       whether a limb is a leg
    folded   (l,)       smallest distance of a leg's first joint from its foot
    reaches  (l,)       reach of each limb

    out is position x y z and rotation w x y z. First the root moves until the legs reach their feet. Then, where an arm
    is too short, the character crouches and leans step by step: the knees bend, the hips move back, the trunk rotates
    about them, each by the same share of its maximum. The smallest share with all arms in reach is taken. High targets
    cause no crouch, which would move the shoulder away from them.
    """
    for k in range(targets.shape[0]):
        root, turn = vec_in(roots[k], 0), Quat(1.0, 0.0, 0.0, 0.0)
        moved = moved_near(firsts[k], targets[k], reaches, is_leg)
        root = add(root, moved)
        for j in range(targets.shape[1]):
            at = add(vec_in(firsts[k, j], 0), moved)
            firsts[k, j, 0], firsts[k, j, 1], firsts[k, j, 2] = at.x, at.y, at.z
        down = crouch_of(firsts[k], targets[k], is_leg, folded)
        low = crouched_for(firsts[k], targets[k], is_leg, reaches, down)
        at, down, farther = root, scale(down, low), 1.0 + STRETCH * (1.0 - low)
        depth = norm(down)
        for step in range(STEPS + 1):
            part_of, done = step / STEPS, True
            turn, at = Quat(1.0, 0.0, 0.0, 0.0), add(root, scale(down, part_of))
            for j in range(targets.shape[1]):
                if not is_leg[j]:
                    wanted = sub(vec_in(targets[k, j], 0), at)
                    if depth > 0.0:
                        ahead = square(wanted, scale(down, 1.0 / depth))
                        size = norm(ahead)
                        back = scale(ahead, -BACK * part_of * depth / size) if size > 0.0 else ahead
                        at, wanted = add(at, back), sub(wanted, back)
                    arm = rotate(turn, sub(vec_in(firsts[k, j], 0), root))
                    lean, reached = leaned(arm, wanted, reaches[j] * farther, DEEPEST * part_of)
                    turn, done = multiply(lean, turn), done and reached
            if done:
                break
        out[k, 0], out[k, 1], out[k, 2] = at.x, at.y, at.z
        out[k, 3], out[k, 4], out[k, 5], out[k, 6] = turn.w, turn.x, turn.y, turn.z
