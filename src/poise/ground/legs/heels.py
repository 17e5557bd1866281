"""Heels: lifted before the pelvis sinks, where a leg is too short for a foot that stands on its ball."""

from __future__ import annotations

import dataclasses

import numpy as np

from poise.ground.figure.motion import Motion
from poise.ground.legs.feet import Feet
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.frame_masks import find_last_true
from poise.maths.smoothing import smoothstep
from poise.maths.vectors import dot

_HEEL_UP = np.radians(20.0)  # a heel is lifted so far at most, beyond its animated lift
_HEEL_TIME = 0.15  # [s] in which that becomes possible once the heel has left the ground, and ends after the ball has


def heel_room(motion: Motion, feet: Feet) -> Floats:
    """The angle (F, L) [rad] by which each heel may be lifted: while only the ball stands, and a little longer."""
    times = motion.times[:, None]
    before, freed = find_last_true(feet.free), find_last_true(~feet.free)
    since = np.where(before >= 0, times - motion.times[before], np.inf)
    start = freed[np.maximum(before, 0), np.arange(freed.shape[1])]
    opened = np.where(before >= 0, motion.times[before] - motion.times[np.maximum(start, 0)], 0.0)
    return _HEEL_UP * smoothstep(opened / _HEEL_TIME) * smoothstep(1.0 - since / _HEEL_TIME)


def lifted(feet: Feet, angles: Floats) -> Feet:
    """Lift heels by angles (F, L) [rad]: turn each foot about its ball."""
    turn = rotations.about(feet.across, angles)
    ankles = feet.pivots + rotations.rotate(turn, feet.ankles - feet.pivots)
    return dataclasses.replace(feet, turns=rotations.multiply(turn, feet.turns), ankles=ankles)


def needed_lift(feet: Feet, hips: Floats, longest: Floats, room: Floats) -> Floats:
    """The least angles (F, L) [rad] by which heels must be lifted for the legs to reach: none where they do.

    With w from the ball to the hip and r to the ankle, |w - R(angle) r| = longest is A cos + B sin = C.
    """
    w, r, p = hips - feet.pivots, feet.ankles - feet.pivots, feet.across
    along = dot(w, p) * dot(r, p)
    wanted = 0.5 * (dot(w, w) + dot(r, r) - longest**2) - along
    angle = _first_angle(dot(w, r) - along, dot(w, np.cross(p, r)), wanted)
    return np.clip(angle, 0.0, room)


def _first_angle(a: Floats, b: Floats, c: Floats) -> Floats:
    """The least angle from 0 up at which a cos + b sin reaches c; where it never does, the one at its largest."""
    size = np.hypot(a, b)
    angle = np.arctan2(b, a) - np.arccos(np.clip(c / np.maximum(size, 1e-300), -1.0, 1.0))
    return np.where(a >= c, 0.0, angle)
