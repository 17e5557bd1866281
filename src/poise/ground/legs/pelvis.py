"""Compute the height of the pelvis within the reach of legs."""

from __future__ import annotations

import numpy as np

from poise.ground.figure.motion import ANKLE, HIP, KNEE, Motion
from poise.maths.arrays import Floats
from poise.maths.smoothing import average_hann

SMOOTH_S = 0.15  # [s] to each side: over how long the height of the ground is averaged
_MAX_REACH = 0.985  # of a leg's length: there a knee moves 6 times as fast as hip and ankle
STRAIGHT = 0.9999  # of a leg's length, at most


def leg_lengths(motion: Motion) -> tuple[Floats, Floats, Floats]:
    """Return lengths (F, L) [m]: thighs, shins, hips to ankles. The last are the animated distances."""
    places = motion.places
    thigh = np.linalg.norm(places[:, :, KNEE] - places[:, :, HIP], axis=-1)
    shin = np.linalg.norm(places[:, :, ANKLE] - places[:, :, KNEE], axis=-1)
    posed = np.linalg.norm(places[:, :, ANKLE] - places[:, :, HIP], axis=-1)
    return thigh, shin, posed


def base_heights(motion: Motion, rise: Floats) -> Floats:
    """Return the height (F,) of the pelvis over the source [m]. It follows from the ground alone."""
    return average_hann(rise.mean(axis=1), motion.frames(SMOOTH_S))


def longest_reach(motion: Motion) -> Floats:
    """Return the longest distances (F, L) from hips to ankles [m].

    They are those animated where these are longer than usual.
    """
    thigh, shin, posed = leg_lengths(motion)
    length = thigh + shin
    return np.maximum(_MAX_REACH * length, np.minimum(posed, STRAIGHT * length))
