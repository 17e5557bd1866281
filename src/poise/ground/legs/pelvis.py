"""Pelvis: how much higher or lower the whole figure is put, so that its legs reach their feet."""

from __future__ import annotations

import numpy as np

from poise.ground.figure.motion import ANKLE, HIP, KNEE, Motion
from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import compute_fade
from poise.maths.smoothing import average_hann, compute_upper_envelope, compute_window_max, smoothstep

_SMOOTH = 0.15  # [s] to each side: over how long the height of the ground is averaged
_SINK = 0.2  # [s] before and after: how early the pelvis sinks for a leg that would be too short
EASY, EASY_IN_AIR = 0.975, 0.9  # shares of a leg's length from where its chord is made shorter, standing and in the air
_MOST, _MOST_IN_AIR = 0.998, 0.985  # and how far it comes at most: a knee that is nearly straight moves in jerks
_REST = 0.25  # or by so much of what a leg that is animated straighter still has
_TILTED, _UNEVEN = np.radians(5.0), 0.05  # [m] ground so steep or uneven leaves no leg as straight as animated
_IN_AIR = 0.15  # [s] before and after a stance in which the one becomes the other


def leg_lengths(motion: Motion) -> tuple[Floats, Floats, Floats]:
    """Lengths [m] of thighs and shins, and the animated distances from hip to ankle, (F, L) each."""
    places = motion.places
    thigh = np.linalg.norm(places[:, :, KNEE] - places[:, :, HIP], axis=-1)
    shin = np.linalg.norm(places[:, :, ANKLE] - places[:, :, KNEE], axis=-1)
    posed = np.linalg.norm(places[:, :, ANKLE] - places[:, :, HIP], axis=-1)
    return thigh, shin, posed


def kept_share(tilt: float, uneven: float) -> float:
    """The share of its animated straightness that a leg keeps on ground of a tilt [rad] and differences in height [m].

    On its own ground all: a figure whose feet stand already is to keep its legs, straight ones too.
    """
    return 1.0 - float(smoothstep(np.array(max(tilt / _TILTED, uneven / _UNEVEN))))


def chord_limits(motion: Motion, standing: Bools, kept: float = 1.0) -> tuple[Floats, Floats]:
    """From where (F, L) a distance from hip to ankle is made smaller [m], and how far it comes at most.

    Near to full extension a knee moves many times as fast as hip and ankle do: for two equal bones of together L with
    the chord c, its height over the chord is sqrt(L^2 - c^2) / 2. A leg in the air gives way early, since nothing holds
    its foot. A leg that is animated straighter may stay so by the share `kept`.
    """
    thigh, shin, posed = leg_lengths(motion)
    length = thigh + shin
    air = compute_fade(motion.times, standing, _IN_AIR)
    begin = (EASY + (EASY_IN_AIR - EASY) * air) * length
    begin = begin + kept * np.maximum(posed - begin, 0.0)
    most = (_MOST + (_MOST_IN_AIR - _MOST) * air) * length
    return begin, np.maximum(most, begin + _REST * np.maximum(length - begin, 0.0))


def pelvis_heights(motion: Motion, ankles: Floats, rise: Floats, easy: Floats, standing: Bools) -> Floats:
    """How much higher (F,) the pelvis goes than animated [m].

    It follows the ground under the feet, averaged over time. For each leg the pelvis must stay below the height at
    which the ankle is `easy` away: with d the hip's horizontal distance from it, z + sqrt(easy^2 - d^2). Where it
    would not, it sinks by what is missing, smoothly, early, and never less than needed.
    """
    base = base_heights(motion, rise)
    missing = np.where(standing, sinks_for(motion, ankles, base, easy), 0.0).max(axis=1, initial=0.0)
    return base - compute_upper_envelope(missing, motion.frames(_SINK))


def base_heights(motion: Motion, rise: Floats) -> Floats:
    """How much higher (F,) the pelvis would go with the ground alone [m]."""
    return average_hann(rise.mean(axis=1), motion.frames(_SMOOTH))


def sinks_for(motion: Motion, ankles: Floats, base: Floats, easy: Floats) -> Floats:
    """How far (F, L) the pelvis must be below its base (F,) for each ankle to be within `easy`; below 0: not at all."""
    away = motion.places[:, :, HIP] - ankles
    across = (away[..., :2] ** 2).sum(axis=-1)
    high = np.sqrt(np.maximum(easy**2 - across, (0.5 * easy) ** 2))
    return base[:, None] - (high - away[..., 2])


def lowest_within_sink(motion: Motion, rooms: Floats) -> Floats:
    """The least of values (F, L) over the frames in which the pelvis sinks, too, where it sinks in one."""
    return -compute_window_max(-rooms, 2 * motion.frames(_SINK))
