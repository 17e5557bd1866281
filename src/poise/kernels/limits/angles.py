# pyright: standard
"""Limits of one angle or length. The single implementation for hinges and slides, shared by every solver."""

from __future__ import annotations

import math

from poise.kernels.compiled import inline
from poise.kernels.values.linear import Quat

TURN = 2.0 * math.pi


@inline
def clamp(value, low, high):
    """Clamp a value to low..high (slides)."""
    return min(max(value, low), high)


@inline
def best_angle(angle, low, high):
    """Return the angle x in low..high with the greatest cos(x - angle).

    It is `angle` modulo a turn if that is in the range, else the end nearer on the circle. Every objective of one hinge
    angle here is a cosine, so this is its exact minimiser inside the range; plain clamping may pick the wrong end. Of
    several equivalent angles in the range, it is the one nearest to `angle`.
    """
    if angle < low:
        # As few whole turns as possible: the nearest equivalent in the range.
        turned = angle + TURN * math.ceil((low - angle) / TURN)
    elif angle > high:
        turned = angle - TURN * math.ceil((angle - high) / TURN)
    else:
        return angle
    if low <= turned <= high:
        return turned
    # On the circle, an angle just beyond the high end of a wide range may be nearer to the low end.
    return low if math.cos(low - angle) >= math.cos(high - angle) else high


@inline
def nearest_turn(angle, start, low, high):
    """Return the equivalent angle in low..high nearest to `start`.

    Equivalent: `angle`, which is in the range, plus whole turns.
    """
    if abs(angle - start) <= math.pi:
        return angle
    turned = angle + TURN * math.floor((start - angle) / TURN + 0.5)
    if turned > high:
        turned -= TURN * math.ceil((turned - high) / TURN)
    elif turned < low:
        turned += TURN * math.ceil((low - turned) / TURN)
    return turned if low <= turned <= high else angle


@inline
def twist_angle(q, axis):
    """Return the angle of q about a unit axis.

    It is in -2 pi..2 pi; the twist is the rotation about the axis nearest to q (modulo a turn).
    """
    return 2.0 * math.atan2(q.x * axis.x + q.y * axis.y + q.z * axis.z, q.w)


@inline
def capped(q, largest):
    """Limit the angle of rotation q to `max_angle`, about the same axis."""
    sine = math.sqrt(q.x * q.x + q.y * q.y + q.z * q.z)
    half = 0.5 * largest
    if math.atan2(sine, abs(q.w)) <= half:
        return q
    k = math.sin(half) / sine
    k = -k if q.w < 0.0 else k
    return Quat(math.cos(half), k * q.x, k * q.y, k * q.z)
