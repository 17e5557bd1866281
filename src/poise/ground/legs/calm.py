"""Calm: knees that would pop are kept bent a little more, before and after, so that they come to it smoothly.

A leg that gets nearly straight within a frame throws its knee forward or back. What the knee's distance from the chord
(hip to ankle) has beyond the animated one is made smooth near such frames, by the least curve above it; the chord that
belongs to that distance is the longest that the leg then may have. For a foot that stands the pelvis sinks a little.
"""

from __future__ import annotations

import numpy as np

from poise.ground.figure.motion import HIP, KNEE, Motion
from poise.ground.figure.steps import STEPPING, steps_of
from poise.ground.legs.legs import Turned, places_of
from poise.ground.legs.pelvis import leg_lengths
from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import measure_time_from
from poise.maths.smoothing import compute_upper_envelope, smoothstep
from poise.maths.vectors import make_vertical

ROOM = 4.8  # [mm per frame^2 at 120 frames/s] that a knee may have beyond its source: less than is told of
LESS = 0.1  # [mm per frame^2] in all by which something is calmer, at least: roundings decide nothing
_NEAR, _FADE = 0.1, 0.1  # [s] from such a frame in which that is done fully, and in which it ends
_SINK, _LIFT = 0.005, 0.03  # [m] by which a leg is made shorter at most, while its foot stands and in the air
_STRAIGHT = 0.8  # of a leg's length: a shorter chord moves about as much as the knee


def pops(motion: Motion, turned: Turned) -> Floats:
    """How much larger (F, L) the changes of step of knees are than they may be [mm per frame^2], else 0."""
    steps = steps_of(motion)
    return np.maximum(steps.changes(places_of(motion, turned)) - steps.bounds(ROOM), 0.0)[:, :, STEPPING.index(KNEE)]


def calm_chords(motion: Motion, turned: Turned, standing: Bools, popping: Bools, seconds: float) -> Floats:
    """The longest chords (F, L) with which knees that pop (F, L) bend smoothly; infinite for all others.

    seconds  before and after, in which a knee comes to its bend; a frame at least
    """
    thigh, shin, posed = leg_lengths(motion)
    chord = np.linalg.norm(turned.ankles - motion.places[:, :, HIP] - make_vertical(turned.up)[:, None], axis=-1)
    height, animated = _heights(thigh, shin, chord), _heights(thigh, shin, posed)
    calm = animated + compute_upper_envelope(height - animated, max(motion.frames(seconds), 1))
    away = np.minimum(*measure_time_from(motion.times, popping))
    share = smoothstep((_NEAR + _FADE - away) / _FADE) * (chord > _STRAIGHT * (thigh + shin))
    wanted = height + share * np.maximum(calm - height, 0.0)
    longest = _along(thigh, wanted) + _along(shin, wanted)
    return np.where(share > 0.0, np.maximum(longest, chord - np.where(standing, _SINK, _LIFT)), np.inf)


def _heights(thigh: Floats, shin: Floats, chord: Floats) -> Floats:
    """How far knees are from chords, by the law of cosines."""
    along = (thigh**2 + chord**2 - shin**2) / np.maximum(2.0 * chord, 1e-300)
    return np.sqrt(np.maximum(thigh**2 - along**2, 0.0))


def _along(bone: Floats, height: Floats) -> Floats:
    return np.sqrt(np.maximum(bone**2 - height**2, 0.0))
