# pyright: standard
"""Legs in closed form: thigh and shin from hip and ankle.

The knee keeps its animated side.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import inline
from poise.kernels.entries import kernel
from poise.kernels.vec_quat import (
    Quat,
    Vec,
    add,
    cross,
    dot,
    multiply,
    norm,
    normalise,
    read_quat,
    read_vec,
    rotate,
    rotation_between,
    scale,
    sub,
    write_quat,
    write_vec,
)

ALONG = 0.05  # sine of the angle between an axis and a chord below which they are one line


@inline
def turn_between(a, b, c, d):
    """Return the rotation of the unit vectors a, b to c, d.

    Both pairs are perpendicular.
    """
    first = rotation_between(a, c)
    b = rotate(first, b)
    s = dot(c, cross(b, d))
    half = 0.5 * math.atan2(s, dot(b, d))
    k = math.sin(half)
    return normalise(multiply(Quat(math.cos(half), k * c.x, k * c.y, k * c.z), first))


@inline
def unit_across(v, a):
    """Return the direction of v across a, and its length.

    a is a unit vector.
    """
    part = sub(v, scale(a, dot(v, a)))
    length = norm(part)
    return scale(part, 1.0 / max(length, 1e-300)), length


@inline
def offset_knee(offset, front, height):
    """Return the vector from the chord to the knee, of length `height`.

    It is the posed one; what is missing is added to the front. `front` is the unit vector across the chord towards
    which the knee bends. So a pose that needs no change keeps its knee, and a leg that was almost straight, whose knee
    shows no side, bends as its hinge says. A knee behind the chord comes forward, because a knee bends one way only.
    """
    # Only what points backwards is taken out; to the sides the knee stays as posed.
    offset = sub(offset, scale(front, min(0.0, dot(offset, front))))
    oo, of = dot(offset, offset), dot(offset, front)
    if height * height >= oo:
        return add(offset, scale(front, math.sqrt(max(of * of + height * height - oo, 0.0)) - of))
    return scale(offset, height / math.sqrt(oo))


@inline
def bend(hip, knee, ankle, axis, new_hip, target, most, length):
    """Return turns of thigh and shin to a target, and the ankle.

    The turns are in the world, before the animated ones. The knee's distance from the chord (hip to ankle) follows from
    the cosine law. `axis` is the axis about which the shin may bend against the thigh. The knee keeps its side of the
    plane across it: the chord turns to its new place with as little turn of that axis as there may be (a shortest arc
    would swing the knee aside where a leg is raised far). `most` is the longest chord, and `length` what the leg is
    made longer by, 1 for not at all; a target beyond both stays on its line. The same hip and target: no turn.
    """
    old, new = sub(ankle, hip), sub(target, new_hip)
    v, u = scale(sub(knee, hip), length), scale(sub(ankle, knee), length)
    l1, l2, before, after = norm(v), norm(u), norm(old), norm(new)
    a0 = scale(old, 1.0 / max(before, 1e-300))
    a1 = scale(new, 1.0 / after) if after > 1e-9 * (l1 + l2) else a0
    # A triangle needs a chord between the difference and the sum of its sides; a hair more than the difference, to
    # divide by.
    reach = min(max(after, abs(l1 - l2) * (1.0 + 1e-9) + 1e-9 * l1), most * length)
    # The law of cosines: how far along the chord the foot of the knee is.
    along = (l1 * l1 + reach * reach - l2 * l2) / max(2.0 * reach, 1e-300)
    front, _ = unit_across(cross(a0, axis), a0)
    offset = offset_knee(sub(v, scale(a0, dot(v, a0))), front, math.sqrt(max(l1 * l1 - along * along, 0.0)))
    arc = turn_chord(a0, a1, axis)
    v1 = add(scale(a1, along), rotate(arc, offset))
    u1 = sub(scale(a1, reach), v1)
    axis1 = rotate(arc, axis)
    return turn_bone(v, axis, v1, axis1), turn_bone(u, axis, u1, axis1), add(new_hip, scale(a1, reach))


@inline
def turn_chord(a0, a1, axis):
    """Return the rotation of chord a0 to a1 with an axis.

    It takes the part of the axis across the one to that across the other. Where the axis lies along a chord it has no
    such part: the shortest arc then.
    """
    x0, across0 = unit_across(axis, a0)
    x1, across1 = unit_across(axis, a1)
    # Else roundings would say how far the leg turns about its own line.
    if min(across0, across1) > ALONG:
        return turn_between(a0, x0, a1, x1)
    return rotation_between(a0, a1)


@inline
def turn_bone(bone, axis, bone1, axis1):
    """Return the rotation of a bone and its axis to new ones.

    It takes the part of the axis across the bone to that across the other.
    """
    b, b1 = scale(bone, 1.0 / max(norm(bone), 1e-300)), scale(bone1, 1.0 / max(norm(bone1), 1e-300))
    return turn_between(b, unit_across(axis, b)[0], b1, unit_across(axis1, b1)[0])


@kernel("F3 F2 F2 F2 F1 F1 wF2 wF2 wF2 ->")
def bend_all(places, axes, hips, targets, most, lengths, thighs, shins, reached):
    """Bend every leg of every frame.

    places (k, 5, 3) as animated; axes (k, 3) bend axes in the world; hips, targets (k, 3) new; most (k,) longest
    chords; lengths (k,) what legs are made longer by; out: thighs, shins (k, 4) turns to put before the animated
    rotations, reached (k, 3).
    """
    for i in range(places.shape[0]):
        here = places[i]
        thigh, shin, end = bend(
            read_vec(here, 0), read_vec(here, 1), read_vec(here, 2), read_vec(axes, i),
            read_vec(hips, i), read_vec(targets, i), most[i], lengths[i],
        )  # fmt: skip
        write_quat(thighs, i, thigh)
        write_quat(shins, i, shin)
        write_vec(reached, i, end)


@kernel("F2 F2 F2 wF2 ->")
def pass_turns_down(over, under, rests, turns):
    """Compute joints' own turns from turns of parts in the world.

    turns (k, 4) of the joints, which change; over (k, 4): the turn of the part that the joint hangs in; under (k, 4):
    that of its own part; rests (k, 4): the world rotation of the frame in which the joint turns, as animated. With E =
    over^-1 under: rest^-1 E rest turns.
    """
    for i in range(turns.shape[0]):
        o, rest = read_quat(over, i), read_quat(rests, i)
        e = multiply(Quat(o.w, -o.x, -o.y, -o.z), read_quat(under, i))
        v = rotate(Quat(rest.w, -rest.x, -rest.y, -rest.z), Vec(e.x, e.y, e.z))
        write_quat(turns, i, normalise(multiply(Quat(e.w, v.x, v.y, v.z), read_quat(turns, i))))


@kernel("F3 I1 i wF2 ->")
def measure_step_changes(places, parts, stride, found):
    """Measure |p+ - 2 p + p-| of points `stride` frames apart.

    Where all three are of one part of a clip.

    places (F, J, 3); parts (F,) numbers that differ from part to part; out: found (F, J), left where it is not known.
    """
    for i in range(stride, places.shape[0] - stride):
        if parts[i + stride] == parts[i - stride]:
            for j in range(places.shape[1]):
                change = sub(read_vec(places[i + stride], j), scale(read_vec(places[i], j), 2.0))
                found[i, j] = norm(add(change, read_vec(places[i - stride], j)))
