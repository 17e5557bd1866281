# pyright: standard
"""Legs: a hip and an ankle are given, thigh and shin follow, and the knee keeps the side that it was animated on."""

from __future__ import annotations

import math

from poise.kernels.compiled import inline, kernel
from poise.kernels.linear import (
    Quat,
    Vec,
    add,
    cross,
    dot,
    multiply,
    norm,
    normalise,
    put_quat,
    put_vec,
    quat_at,
    rotate,
    rotation_between,
    scale,
    sub,
    vec_at,
)

STRAIGHT = 0.03  # a knee nearer to the line of its leg than this share of the thigh has no direction of its own
FORWARD = 0.06  # how strongly, in shares of the thigh, the bend axis then says where forward is


@inline
def turn_between(a, b, c, d):
    """The rotation that takes the unit vectors a, b to c, d; both pairs are perpendicular."""
    first = rotation_between(a, c)
    b = rotate(first, b)
    s = dot(c, cross(b, d))
    half = 0.5 * math.atan2(s, dot(b, d))
    k = math.sin(half)
    return normalise(multiply(Quat(math.cos(half), k * c.x, k * c.y, k * c.z), first))


@inline
def unit_across(v, a):
    """The part of v across the unit vector a, made one long, and how long it was."""
    part = sub(v, scale(a, dot(v, a)))
    length = norm(part)
    return scale(part, 1.0 / max(length, 1e-300)), length


@inline
def knee_side(offset, chord, axis, thigh):
    """Where the knee points, across the chord: as posed; near a straight leg more and more to the front.

    `offset` is the knee's way from the chord. A knee behind the chord comes to the front: it bends the legal way only.
    """
    front, _ = unit_across(cross(chord, axis), chord)
    lack = max(0.0, 1.0 - norm(offset) / (STRAIGHT * thigh))
    side = add(offset, scale(front, FORWARD * thigh * lack * lack))
    back = min(0.0, dot(side, front))
    side = sub(side, scale(front, back))
    length = norm(side)
    if length > 1e-9 * thigh:
        return scale(side, 1.0 / length)
    return front


@inline
def bend(hip, knee, ankle, axis, new_hip, target, most):
    """Turns of thigh and shin (world, before the animated ones) that bring the ankle to a target, and where it comes.

    The knee's angle follows from the cosine law. Its side is turned with the chord by the shortest arc, so that the
    swivel stays the animated one (notes: the artist's pose). `axis` is the bend axis: shin over thigh about it is
    legal. `most` is the longest chord; a target beyond stays on its line. The same hip and target: no turn.
    """
    v, u = sub(knee, hip), sub(ankle, knee)
    l1, l2 = norm(v), norm(u)
    v, u = scale(v, 1.0 / max(l1, 1e-300)), scale(u, 1.0 / max(l2, 1e-300))
    old, new = sub(ankle, hip), sub(target, new_hip)
    before, after = norm(old), norm(new)
    a0 = scale(old, 1.0 / max(before, 1e-300))
    a1 = scale(new, 1.0 / after) if after > 1e-9 * (l1 + l2) else a0
    offset = sub(sub(knee, hip), scale(a0, dot(sub(knee, hip), a0)))
    n0 = knee_side(offset, a0, axis, l1)
    n1, _ = unit_across(rotate(rotation_between(a0, a1), n0), a1)
    reach = min(max(after, abs(l1 - l2) * (1.0 + 1e-9) + 1e-12), most)
    cosine = (l1 * l1 + reach * reach - l2 * l2) / max(2.0 * l1 * reach, 1e-300)
    cosine = min(1.0, max(-1.0, cosine))
    sine = math.sqrt(1.0 - cosine * cosine)
    v1 = add(scale(a1, cosine), scale(n1, sine))
    u1 = scale(sub(scale(a1, reach), scale(v1, l1)), 1.0 / max(l2, 1e-300))
    m0, m1 = cross(n0, a0), cross(n1, a1)
    thigh = turn_between(v, unit_across(m0, v)[0], v1, unit_across(m1, v1)[0])
    shin = turn_between(u, unit_across(m0, u)[0], u1, unit_across(m1, u1)[0])
    return thigh, shin, add(new_hip, scale(a1, reach))


@kernel
def bend_all(places, axes, hips, targets, most, thighs, shins, reached):
    """Bend every leg of every frame.

    places (k, 5, 3) as animated; axes (k, 3) bend axes in the world; hips, targets (k, 3) new; most (k,) longest chords;
    out: thighs, shins (k, 4) turns to put before the animated rotations, reached (k, 3).
    """
    for i in range(places.shape[0]):
        here = places[i]
        thigh, shin, end = bend(
            vec_at(here, 0), vec_at(here, 1), vec_at(here, 2), vec_at(axes, i), vec_at(hips, i), vec_at(targets, i), most[i]
        )
        put_quat(thighs, i, thigh)
        put_quat(shins, i, shin)
        put_vec(reached, i, end)


@kernel
def passed_down(over, under, rests, turns):
    """What a joint must turn by itself, in place of `turns` (k, 4), when parts of the body turn in the world.

    over (k, 4): the turn of the part that the joint hangs in; under (k, 4): that of its own part; rests (k, 4): the world
    rotation of the frame in which the joint turns, as animated. With E = over^-1 under: rest^-1 E rest turns.
    """
    for i in range(turns.shape[0]):
        o, rest = quat_at(over, i), quat_at(rests, i)
        e = multiply(Quat(o.w, -o.x, -o.y, -o.z), quat_at(under, i))
        v = rotate(Quat(rest.w, -rest.x, -rest.y, -rest.z), Vec(e.x, e.y, e.z))
        put_quat(turns, i, normalise(multiply(Quat(e.w, v.x, v.y, v.z), quat_at(turns, i))))
