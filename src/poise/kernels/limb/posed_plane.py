# pyright: standard
"""Packing of posed limbs with two parallel hinges into PlaneRow numbers."""

from __future__ import annotations

from poise.kernels.codes import POSED_BRANCH
from poise.kernels.compiled import inline, kernel
from poise.kernels.limb.frames import (
    FIRST,
    MIDDLE,
    angle_of,
    arc_of,
    axis_of,
    frame_of,
    put_turns,
    range_of,
    reach_of,
    side_of,
    tip_at,
)
from poise.kernels.limb.planar import PlaneRow, put_plane
from poise.kernels.values.linear import Vec, cross, dot, perpendicular, rotate, scale, sub

PARALLEL = 1e-9  # largest angle [rad] between parallel axes


@inline
def posed_plane(plan, maps, q, given, turns, i):
    """Pack the limb in pose i as a PlaneRow. Also return whether its axes are parallel."""
    first, middle = frame_of(plan, FIRST, maps, q, given, turns, i), frame_of(plan, MIDDLE, maps, q, given, turns, i)
    first_axis, middle_axis = axis_of(plan, FIRST), axis_of(plan, MIDDLE)
    w, other = rotate(first.turn, first_axis), rotate(middle.turn, middle_axis)
    off = cross(w, other)
    parallel = max(abs(off.x), abs(off.y), abs(off.z)) <= PARALLEL
    u = scale(perpendicular(w), -1.0)
    v = cross(w, u)
    to_middle, to_tip = sub(middle.position, first.position), sub(tip_at(plan, maps, i), middle.position)
    thigh = Vec(dot(u, to_middle), dot(v, to_middle), dot(w, to_middle))
    shin = Vec(dot(u, to_tip), dot(v, to_tip), dot(w, to_tip))
    sense = 1.0 if dot(w, other) > 0.0 else -1.0
    arc = arc_of(Vec(thigh.x, thigh.y, 0.0), Vec(shin.x, shin.y, 0.0), Vec(0.0, 0.0, sense))
    low, high = range_of(plan, FIRST)
    middle_low, middle_high = range_of(plan, MIDDLE)
    angle, bent = angle_of(plan, FIRST, q, i), angle_of(plan, MIDDLE, q, i)
    straight = bent + arc.offset
    side = side_of(arc.offset, straight, middle_low, middle_high, plan[POSED_BRANCH])
    return PlaneRow(
        first.position, u, v, w, thigh, shin, arc.longest2, arc.shortest2, arc.gain,
        reach_of(arc, straight, middle_low, middle_high), sense, side, straight, Vec(angle, low, high),
        Vec(bent, middle_low, middle_high), first_axis, middle_axis,
    ), parallel  # fmt: skip


@kernel
def planes(plan, maps, q, given, known, turns, rows):
    """Fill rows (k, PLANE_ROW), and `rotations` unless already known.

    Returns the number of maps other than a rotation times a factor (see `pack_limbs`) and the number of non-planar
    limbs.
    """
    askew, slanted = 0 if known else put_turns(plan, maps, turns), 0
    for i in range(rows.shape[0]):
        row, parallel = posed_plane(plan, maps, q, given, turns, i)
        put_plane(rows[i], row)
        slanted += 0 if parallel else 1
    return askew, slanted
