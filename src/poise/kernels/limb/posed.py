# pyright: standard
"""Packing of posed limbs with a ball joint into LimbRow numbers."""

from __future__ import annotations

import math

from poise.kernels.codes import POSED_BRANCH, POSED_HINGE, POSED_SHIN, POSED_THIGH, POSED_TURNS
from poise.kernels.compiled import inline, kernel, part
from poise.kernels.limb.frames import (
    FIRST,
    MIDDLE,
    POSED_TIP,
    TIP,
    angle_of,
    arc_of,
    axis_of,
    direction,
    frame_of,
    put_turns,
    range_of,
    reach_of,
    side_of,
    tip_at,
)
from poise.kernels.limb.rows import LimbRow, put_limb
from poise.kernels.limits.angles import TURN
from poise.kernels.values.lanes import nearest
from poise.kernels.values.linear import (
    Quat,
    Vec,
    add,
    conjugate,
    cross,
    dot,
    multiply,
    norm,
    perpendicular,
    quat_in,
    rotate,
    rotation_between,
    scale,
    sub,
)

STRAIGHT = 1e-3  # bend [rad] below which the limb does not define its bend axis
MARGIN = 1e-9  # squared sine; bends this close to the end of a range are left to the limit kernel


@part
def bending_plane(thigh, shin):
    """Find the bend axis of a free middle joint. Also return 1 where any axis across the limb would do, else 0.

    A bent limb defines its axis. A limb straight within 1e-3 rad does not: it is made exactly straight first. The last
    two results are its shin then, and the rotation used.
    """
    normal, sizes, none = cross(thigh, shin), norm(thigh) * norm(shin), Quat(1.0, 0.0, 0.0, 0.0)
    if norm(normal) > STRAIGHT * sizes:
        return direction(normal), 0.0, shin, none
    along = direction(shin)
    if sizes > 0.0:
        along = scale(direction(thigh), -1.0 if dot(thigh, shin) < 0.0 else 1.0)
    spare = along if norm(along) > 0.0 else Vec(0.0, 0.0, 1.0)
    axis = perpendicular(spare)
    if not sizes > 0.0:
        return axis, 1.0, shin, none
    straightened = scale(along, norm(shin))
    return axis, 1.0, straightened, rotation_between(shin, straightened)


@part
def surely_legal(straight, low, high):
    """Return the certainly legal bends as squared half-angle sines.

    They are of the bends b from 0 to pi with straight + b inside the range.
    """
    size = high - low
    if not size < TURN:
        return 0.0, 1.0
    least = low - straight
    least -= TURN * nearest(least / TURN)
    a, b = max(least, 0.0), min(least + size, math.pi)
    sine, cosine = math.sin(0.5 * a), math.sin(0.5 * b)
    at_least = sine * sine + (MARGIN if a > 0.0 else 0.0)
    at_most = (cosine * cosine if b > 0.0 else -1.0) - (MARGIN if b < math.pi else 0.0)
    return at_least, at_most


@inline
def tip_of(plan, maps, q, given, turns, i, into):
    """Compute the last four fields of a LimbRow."""
    if plan[POSED_TURNS] == 0.0:
        none = Quat(1.0, 0.0, 0.0, 0.0)
        return none, none, none, none
    tip, world = frame_of(plan, TIP, maps, q, given, turns, i), quat_in(turns[i], 4 * POSED_TIP)
    return multiply(into, tip.turn), multiply(conjugate(world), multiply(tip.turn, tip.motion)), tip.motion, world


@inline
def posed_limb(plan, maps, q, given, turns, i):
    """Pack the limb in pose i as a LimbRow."""
    first, middle = frame_of(plan, FIRST, maps, q, given, turns, i), frame_of(plan, MIDDLE, maps, q, given, turns, i)
    into = conjugate(first.turn)
    thigh = rotate(into, sub(middle.position, first.position))
    shin = rotate(into, sub(tip_at(plan, maps, i), middle.position))
    tip, to_middle = add(thigh, shin), multiply(into, middle.turn)
    low, high = range_of(plan, MIDDLE)
    if plan[POSED_HINGE] > 0.0:
        knee, posed, twists, branch = axis_of(plan, MIDDLE), angle_of(plan, MIDDLE, q, i), 0.0, plan[POSED_BRANCH]
        axis, after = rotate(to_middle, knee), Quat(1.0, 0.0, 0.0, 0.0)
    else:
        axis, twists, shin, turn = bending_plane(thigh, shin)
        back = conjugate(to_middle)
        knee, posed, branch = rotate(back, axis), 0.0, 0.0
        after = multiply(back, multiply(turn, multiply(to_middle, middle.motion)))
    arc = arc_of(thigh, shin, axis)
    straight = posed + arc.offset
    side = side_of(arc.offset, straight, low, high, branch)
    least, most = surely_legal(side * straight, min(side * low, side * high), max(side * low, side * high))
    to_tip, of_tip, tip_motion, last = tip_of(plan, maps, q, given, turns, i, into)
    wanted = sub(scale(direction(thigh), plan[POSED_THIGH]), scale(direction(shin), plan[POSED_SHIN]))
    return LimbRow(
        first.position, into, thigh, tip, arc.still, arc.across, arc.around, axis, wanted, arc.shortest2, arc.longest2,
        arc.gain, reach_of(arc, straight, low, high), straight, posed, low, high, side, least, most, twists,
        Vec(math.cos(0.5 * straight), math.sin(0.5 * straight), 0.0), knee, after, first.motion, middle.motion,
        to_middle, to_tip, of_tip, tip_motion, last,
    )  # fmt: skip


@kernel
def limbs(plan, maps, q, given, known, turns, rows):
    """Fill rows (k, LIMB_ROW), and `rotations` unless `has_rotations`.

    Returns the number of maps other than a rotation times a factor. Rows of poses with such a map are invalid; the
    caller sets their rotations and fills the rows again. The second result is 0, the number of non-planar limbs in
    `pack_planar_limbs`.
    """
    askew = 0 if known else put_turns(plan, maps, turns)
    for i in range(rows.shape[0]):
        put_limb(rows[i], posed_limb(plan, maps, q, given, turns, i))
    return askew, 0
