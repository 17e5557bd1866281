# pyright: standard
"""Named records of the limb kernels' rows: a posed limb, call settings.

Lengths are in file units. The solver's docstring defines the limb frame, "posed" and the bend b.
"""

from __future__ import annotations

from typing import NamedTuple

from poise.kernels.compiled import inline
from poise.kernels.values.linear import Quat, Vec, put_quat_in, put_vec_in, quat_in, vec_in


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
    mode: float  # BEND_LEAST, BEND_THIGH or BEND_AXIS: the rule for the swivel about the chord


@inline
def limb_in(r):
    """Read a row as a LimbRow."""
    return LimbRow(
        vec_in(r, 0), quat_in(r, 3), vec_in(r, 7), vec_in(r, 10), vec_in(r, 13), vec_in(r, 16), vec_in(r, 19),
        vec_in(r, 22), vec_in(r, 25), r[28], r[29], r[30], r[31], r[32], r[33], r[34], r[35], r[36], r[37], r[38],
        r[39], vec_in(r, 40), vec_in(r, 43), quat_in(r, 46), quat_in(r, 50), quat_in(r, 54), quat_in(r, 58),
        quat_in(r, 62), quat_in(r, 66), quat_in(r, 70), quat_in(r, 74),
    )  # fmt: skip


@inline
def put_limb(r, limb):
    """Write a LimbRow as a row."""
    put_vec_in(r, 0, limb.hip)
    put_quat_in(r, 3, limb.turn)
    put_vec_in(r, 7, limb.thigh)
    put_vec_in(r, 10, limb.tip)
    put_vec_in(r, 13, limb.still)
    put_vec_in(r, 16, limb.across)
    put_vec_in(r, 19, limb.around)
    put_vec_in(r, 22, limb.axis)
    put_vec_in(r, 25, limb.wanted)
    r[28], r[29], r[30], r[31] = limb.shortest2, limb.longest2, limb.gain, limb.reach
    r[32], r[33], r[34], r[35], r[36] = limb.straight, limb.posed, limb.low, limb.high, limb.side
    r[37], r[38], r[39] = limb.least, limb.most, limb.twists
    put_vec_in(r, 40, limb.half)
    put_vec_in(r, 43, limb.knee)
    put_quat_in(r, 46, limb.after)
    put_quat_in(r, 50, limb.first)
    put_quat_in(r, 54, limb.middle)
    put_quat_in(r, 58, limb.to_middle)
    put_quat_in(r, 62, limb.to_tip)
    put_quat_in(r, 66, limb.of_tip)
    put_quat_in(r, 70, limb.tip_motion)
    put_quat_in(r, 74, limb.last)


@inline
def settings_of(row):
    """Read a row as LimbSettings."""
    return LimbSettings(row[0], row[1], row[2], Quat(row[3], row[4], row[5], 0.0), row[6], row[7])
