# pyright: standard
"""Planar two-bone limb: two parallel hinges with ranges, solved exactly.

    limbs    (1|k, PLANE_ROW)  see PlaneRow; one row for all problems, or one each
    targets  (k, 3)        world
    columns, settings, starts, q, outcome: see kernels/limb/two_bone.py

The target is met where the law of cosines gives legal angles. Otherwise the smallest distance over the rectangle of
legal angles has the limb aimed at the target with its middle joint at its optimum or at an end of its range, or lies on
an edge of the first joint's range, where the error is one cosine of the other angle. All of these candidates are tried.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.kernels.compiled import inline, kernel, part
from poise.kernels.limb.rows import settings_of
from poise.kernels.limb.two_bone import TIE, softened
from poise.kernels.limits.angles import TURN, best_angle
from poise.kernels.values.linear import Vec, about, add, dot, norm, put_vec_in, sub, vec_in


class PlaneRow(NamedTuple):
    """A posed limb in its plane; file units and radians. x and y lie along `u` and `v`, z along the first joint's axis.

    A row holds the fields in this order.
    """

    hip: Vec  # world position of the first joint
    u: Vec  # unit vectors in the world; u and v lie in the plane
    v: Vec
    w: Vec  # the third: the first joint's axis
    thigh: Vec  # from the first to the middle joint, in u, v, w
    shin: Vec  # from there to the tip
    longest2: float  # largest squared in-plane distance of the tip from the first joint, ignoring limits
    shortest2: float  # smallest such squared distance, ignoring limits
    gain: float  # 1 / (longest2 - shortest2); 0 where bending does not change the distance
    reach: float  # largest distance within the middle joint's range
    sense: float  # 1 or -1: the middle joint's axis is parallel or opposite to the first one's
    side: float  # 1 or -1: bend direction from straight
    straight: float  # middle joint's angle of the longest limb
    first: Vec  # angle in the start pose, lowest, highest
    middle: Vec
    first_axis: Vec  # in the joint's frame before its motion
    middle_axis: Vec


@inline
def plane_at(rows, i):
    """Read row i as a PlaneRow."""
    r = rows[i]
    return PlaneRow(
        vec_in(r, 0), vec_in(r, 3), vec_in(r, 6), vec_in(r, 9), vec_in(r, 12), vec_in(r, 15), r[18], r[19], r[20],
        r[21], r[22], r[23], r[24], vec_in(r, 25), vec_in(r, 28), vec_in(r, 31), vec_in(r, 34),
    )  # fmt: skip


@inline
def put_plane(r, limb):
    """Write a PlaneRow as a row."""
    put_vec_in(r, 0, limb.hip)
    put_vec_in(r, 3, limb.u)
    put_vec_in(r, 6, limb.v)
    put_vec_in(r, 9, limb.w)
    put_vec_in(r, 12, limb.thigh)
    put_vec_in(r, 15, limb.shin)
    r[18], r[19], r[20], r[21] = limb.longest2, limb.shortest2, limb.gain, limb.reach
    r[22], r[23], r[24] = limb.sense, limb.side, limb.straight
    put_vec_in(r, 25, limb.first)
    put_vec_in(r, 28, limb.middle)
    put_vec_in(r, 31, limb.first_axis)
    put_vec_in(r, 34, limb.middle_axis)


@inline
def turned(v, angle):
    """Rotate a vector about z."""
    c, s = math.cos(angle), math.sin(angle)
    return Vec(c * v.x - s * v.y, s * v.x + c * v.y, v.z)


@inline
def angle_between(a, b):
    """Return the angle about z from a to b."""
    return math.atan2(a.x * b.y - a.y * b.x, a.x * b.x + a.y * b.y)


@inline
def legal(angle, joint):
    """Return the legal joint angle nearest to this one. Of equivalent angles use the one nearest to the posed angle."""
    return best_angle(angle - TURN * math.floor((angle - joint.x) / TURN + 0.5), joint.y, joint.z)


@inline
def chord_at(limb, middle):
    """Return first joint to tip with the first joint as posed."""
    return add(limb.thigh, turned(limb.shin, limb.sense * (middle - limb.middle.x)))


@inline
def missed(limb, first, middle, r):
    """Measure the in-plane distance from the tip to r for two angles."""
    off = sub(r, turned(chord_at(limb, middle), first - limb.first.x))
    return math.sqrt(off.x * off.x + off.y * off.y)


@inline
def aiming(limb, bend, r):
    """Bend the middle joint by `bend` and aim the tip at r."""
    middle = legal(limb.straight + bend, limb.middle)
    return legal(limb.first.x + angle_between(chord_at(limb, middle), r), limb.first), middle


@inline
def reaching(limb, first, r):
    """Fix the first joint and find the best middle angle."""
    wanted = sub(turned(r, limb.first.x - first), limb.thigh)
    return first, legal(limb.middle.x + limb.sense * angle_between(limb.shin, wanted), limb.middle)


@part
def best_angles(limb, r):
    """Find the legal angles of both joints nearest to r. The preferred side wins ties."""
    bend = 0.0
    if limb.gain > 0.0:
        d2 = r.x * r.x + r.y * r.y
        sine2 = min(max((limb.longest2 - d2) * limb.gain, 0.0), 1.0)
        cosine2 = min(max((d2 - limb.shortest2) * limb.gain, 0.0), 1.0)
        bend = 2.0 * limb.side * math.atan2(math.sqrt(sine2), math.sqrt(cosine2))
    tie = TIE * limb.reach
    first, middle = aiming(limb, bend, r)
    left = missed(limb, first, middle, r)
    # If the bend to the preferred side is illegal, try the other side and both ends of the first range. The best of all
    # is exact, because the distance is one cosine on each piece.
    for way in range(3):
        if left <= tie:
            break
        if way == 0:
            a, b = aiming(limb, -bend, r)
        else:
            end = limb.first.y if way == 1 else limb.first.z
            if not abs(end) < math.inf:
                continue
            a, b = reaching(limb, end, r)
        error = missed(limb, a, b, r)
        # The gain must exceed rounding, or targets on a symmetry line would flip the limb from frame to frame.
        if error < left - tie:
            first, middle, left = a, b, error
    return first, middle


@inline
def put_angle(row, column, is_angle, axis, angle):
    """Write an angle, or the quaternion of a limited ball joint."""
    if is_angle:
        row[column] = angle
    else:
        turn = about(axis, angle)
        row[column], row[column + 1], row[column + 2], row[column + 3] = turn.w, turn.x, turn.y, turn.z


@inline
def solve_one(limbs, targets, columns, settings, starts, q, found, i):
    """Solve problem i."""
    options = settings_of(settings)
    limb = plane_at(limbs, min(i, limbs.shape[0] - 1))
    start = starts[min(i, starts.shape[0] - 1)]
    for j in range(start.shape[0]):
        q[i, j] = start[j]
    away = sub(vec_in(targets[i], 0), limb.hip)
    r = Vec(dot(away, limb.u), dot(away, limb.v), dot(away, limb.w))
    off = norm(sub(r, add(limb.thigh, limb.shin)))
    found[i, 0], found[i, 1] = not off <= options.tolerance, True
    if not found[i, 0]:
        return
    distance = math.sqrt(r.x * r.x + r.y * r.y)
    near = softened(distance, limb.reach, options.soft)
    aim = r if near == distance else Vec(r.x * near / distance, r.y * near / distance, r.z)
    first, middle = best_angles(limb, aim)
    left = missed(limb, first, middle, r)
    # Parallel hinges never leave their plane: no angle changes the out-of-plane distance.
    rise = limb.thigh.z + limb.shin.z - r.z
    found[i, 1] = left * left + rise * rise <= options.tolerance * options.tolerance and options.weight == 1.0
    first = limb.first.x + options.weight * (first - limb.first.x)
    middle = limb.middle.x + options.weight * (middle - limb.middle.x)
    put_angle(q[i], columns[0], columns[3] > 0, limb.first_axis, first)
    put_angle(q[i], columns[1], columns[4] > 0, limb.middle_axis, middle)


@kernel
def solve(limbs, targets, columns, settings, starts, q, found):
    """Solve all problems. Fill `q` and `outcome`."""
    for i in range(targets.shape[0]):
        solve_one(limbs, targets, columns, settings, starts, q, found, i)
