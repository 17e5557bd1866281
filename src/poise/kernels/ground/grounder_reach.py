# pyright: standard
"""How far the legs of a live frame may be stretched: less than animated on ground that is tilted or uneven."""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function, inline
from poise.kernels.ground.grounder_feet import eased
from poise.kernels.ground.grounder_walk import (
    AIR,
    AIR_MOVES,
    EASY,
    HIGHER,
    IS_PLANE,
    KEPT,
    MODE,
    MOST,
    NEW,
    PLACES,
    TILT,
)
from poise.kernels.springs import step_spring
from poise.kernels.vec_quat import norm, read_vec_at, sub

_EASY, _EASY_IN_AIR, _MOST, _MOST_IN_AIR, _REST = 0.975, 0.9, 0.998, 0.985, 0.25  # as those of `chord_limits`
_TILTED, _UNEVEN = math.radians(5.0), 0.05  # as those of `kept_share` in ground/legs/pelvis.py
_AIR_RATE = 40.0  # [1/s] of the spring between standing and in the air


@device_function
def kept_share(frames, settings):
    """The share of its animated straightness that a leg keeps on the ground under the feet, see `pelvis.kept_share`."""
    if settings[IS_PLANE] > 0.0:
        return settings[KEPT]
    flattest, low, high = 1.0, math.inf, -math.inf
    for l in range(frames.shape[0]):
        flattest = min(flattest, abs(frames[l, TILT]))
        low, high = min(low, frames[l, HIGHER]), max(high, frames[l, HIGHER])
    # Tilt and height go by springs: so does the share.
    return 1.0 - eased(max(2.0 * math.acos(flattest) / _TILTED, (high - low) / _UNEVEN))


@device_function
def put_limits(s, frame, kept, dt, fresh):
    """Put from where the distance of hip and ankle is made smaller and how far it comes, see `chord_limits`.

    Returns how far it may be where the leg stands: one in the air that is short must not pull the pelvis down.
    """
    hip, knee, ankle = read_vec_at(frame, PLACES), read_vec_at(frame, PLACES + 3), read_vec_at(frame, PLACES + 6)
    length, posed = norm(sub(knee, hip)) + norm(sub(ankle, knee)), norm(sub(ankle, hip))
    goal = 0.0 if s[MODE] > 0.0 else 1.0
    if fresh:
        s[AIR], s[AIR_MOVES] = goal, 0.0
    else:
        away, s[AIR_MOVES] = step_spring(s[AIR] - goal, s[AIR_MOVES], _AIR_RATE, dt)
        s[AIR] = goal + away
    easy = (_EASY + (_EASY_IN_AIR - _EASY) * s[AIR]) * length
    easy += kept * max(posed - easy, 0.0)
    frame[EASY] = easy
    frame[MOST] = max((_MOST + (_MOST_IN_AIR - _MOST) * s[AIR]) * length, easy + _REST * max(length - easy, 0.0))
    return _EASY * length + kept * max(posed - _EASY * length, 0.0)


@inline
def soft_chord(frame, hip):
    """How far an ankle may be from its hip, see `soft_chords`."""
    easy, asked = frame[EASY], norm(sub(read_vec_at(frame, NEW), hip))
    if asked <= easy:
        return frame[MOST]
    room = max(frame[MOST] - easy, 1e-9 * easy)
    return easy + room * math.tanh((asked - easy) / room)
