"""Pelvis: how much higher or lower the whole figure is put, so that its legs reach their feet."""

from __future__ import annotations

import numpy as np

from poise.ground.figure.motion import ANKLE, HIP, KNEE, Motion
from poise.maths.arrays import Bools, Floats
from poise.maths.smooth import above, averaged

_SMOOTH = 0.15  # [s] to each side: over how long the height of the ground is averaged
_SINK = 0.2  # [s] before and after: how early the pelvis sinks for a leg that would be too short
STRETCHED = 0.998  # a leg is bent at least so much, in shares of its length, unless it is animated straighter


def leg_lengths(motion: Motion) -> tuple[Floats, Floats, Floats]:
    """Lengths [m] of thighs and shins, and the animated distances from hip to ankle, (F, L) each."""
    places = motion.places
    thigh = np.linalg.norm(places[:, :, KNEE] - places[:, :, HIP], axis=-1)
    shin = np.linalg.norm(places[:, :, ANKLE] - places[:, :, KNEE], axis=-1)
    posed = np.linalg.norm(places[:, :, ANKLE] - places[:, :, HIP], axis=-1)
    return thigh, shin, posed


def longest_chords(motion: Motion) -> Floats:
    """How far (F, L) an ankle may be from its hip [m]: `STRETCHED` of the leg, or as far as it is animated."""
    thigh, shin, posed = leg_lengths(motion)
    return np.maximum(STRETCHED * (thigh + shin), posed)


def pelvis_heights(motion: Motion, ankles: Floats, rise: Floats, longest: Floats, standing: Bools) -> Floats:
    """How much higher (F,) the pelvis goes than animated [m].

    It follows the ground under the feet, averaged over time. For each leg the pelvis must stay below the height at
    which the ankle is `longest` away: with d the hip's horizontal distance from it, z + sqrt(longest^2 - d^2). Where it
    would not, it sinks by what is missing, smoothly, early, and never less than needed.
    """
    step = motion.step if motion.step > 0 else np.inf  # no time passes: nothing is averaged
    base = averaged(rise.mean(axis=1), round(_SMOOTH / step))
    away = motion.places[:, :, HIP] - ankles
    across = (away[..., :2] ** 2).sum(axis=-1)
    high = np.sqrt(np.maximum(longest**2 - across, (0.5 * longest) ** 2))
    highest = np.where(standing, high - away[..., 2], np.inf)
    missing = np.maximum(base - highest.min(axis=1), 0.0)
    return base - above(missing, round(_SINK / step))
