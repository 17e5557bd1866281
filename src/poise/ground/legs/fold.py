"""Fold: swinging feet that are carried too high are let down again: under their hips, and so that no leg folds up.

An animated foot that is lifted high goes higher still where the ground under it rises, and the pelvis follows later;
where the ground falls, the pelvis sinks and the foot follows later. The leg would be thrown up, the knee to the chest
or the heel to the back; and the ankle could come nearer to the hip than the leg can fold, with a knee that swings from
one side to the other.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, HIP, Motion
from poise.ground.legs.body import lean_of
from poise.ground.legs.feet import Feet
from poise.ground.legs.pelvis import leg_lengths
from poise.ground.legs.swing import sole_points
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import compute_fade, measure_time_from
from poise.maths.smoothing import average_hann, compute_upper_envelope, smoothstep
from poise.maths.vectors import make_vertical

_KEPT = 0.85  # of the animated distance from hip to ankle that is kept
_LEAST = 1.15  # times what a leg can fold to: nearer, a knee turns too quickly
_EARLY = 0.1  # [s] before and after: how smoothly a foot is let down
_ABOVE = 0.2  # of a leg: from such a height below the hip on is a foot let down less, and not at all above the hip
_FREE = 0.1  # [s] from a stance in which that becomes possible
_OVER = 0.02  # [m] a foot that was let down still passes over the ground
_HIGHER = 0.1  # of a leg: so much higher under its hip than animated a foot in the air is left alone
_SOFT = 0.15  # of a leg: over so much more, and over so much room, it begins to be let down
_EVENLY = 0.07  # [s] before and after: over how long that is averaged
_KICKS = (0.1, 0.3)  # of a leg: a foot that is animated so high above its hip is let down less, and not at all
_TREND, _TREADS = 0.1, 0.05  # [s] before and after: how the lowest way over the ground is averaged, and over its treads
_FASTEST = 50.0  # [m/s^2] by which a foot that stood may be let down, and one that is to stand lifted again
_LONGEST = 1.0  # [s] of a swing in which that matters
_SHARP = 5.0  # how near the smooth least of two curves comes to the lower one: the power of its mean
_NOTICED = 1e-6  # [m]


def let_down(
    motion: Motion, soles: Soles, feet: Feet, hips: Floats, standing: Bools, footing: Footing, kept: float
) -> Feet:
    """Let feet in the air down towards where they are animated under their hips, as far as the ground allows.

    How much higher a foot is than there, how much room there is below it, and a t^2 / 2 from the nearest stances: it
    goes down by the smooth least of the three. `kept` is `kept_share` of the ground: where that is even, feet stay.
    """
    wanted = (1.0 - kept) * average_hann(_too_high(motion, feet, hips), motion.frames(_EVENLY))
    wanted[standing] = 0.0
    if wanted.max(initial=0.0) < _NOTICED:
        return feet
    points = np.stack(sole_points(motion, feet.ankles, feet.turns, feet.tilt, soles))
    deep = (footing.heights(points) - points[..., 2]).max(axis=0) + _OVER
    lowest = feet.ankles[..., 2] + deep
    trend = average_hann(
        lowest, motion.frames(_TREND)
    )  # else a foot that goes down stairs fast would stay above them all
    lowest = trend + compute_upper_envelope(lowest - trend, motion.frames(_TREADS))
    rooms = _softened(feet.ankles[..., 2] - lowest, _SOFT * _legs(motion))
    down = _smooth_least(_smooth_least(wanted, rooms), _ways_from_stances(motion, standing))
    return dataclasses.replace(feet, ankles=feet.ankles - make_vertical(down), pivots=feet.pivots - make_vertical(down))


def _too_high(motion: Motion, feet: Feet, hips: Floats) -> Floats:
    """How much higher (F, L) feet are, seen from their hips, than animated; of a figure that leans: before it leans."""
    away, legs, lean = motion.places[:, :, HIP] - motion.places[:, :, ANKLE], _legs(motion), lean_of(motion, feet)
    if lean is not None:
        away = rotations.rotate(rotations.inverse(lean.turn)[:, None], away)
    higher = feet.ankles[..., 2] - hips[..., 2] + away[..., 2]
    first, last = _KICKS
    return _softened(higher - _HIGHER * legs, _SOFT * legs) * smoothstep((away[..., 2] / legs + last) / (last - first))


def _legs(motion: Motion) -> Floats:
    """The lengths (F, L) of the legs."""
    thigh, shin, _ = leg_lengths(motion)
    return thigh + shin


def _ways_from_stances(motion: Motion, standing: Bools) -> Floats:
    """How far (F, L) a foot may be let down a time t after a stance, or before the next: a t^2 / 2.

    Between two stances, t1 from the one and t2 from the other, 1 / t = 1 / t1 + 1 / t2: smooth in between.
    """
    since, until = (np.minimum(time, _LONGEST) for time in measure_time_from(motion.times, standing))
    both = since + until
    return 0.5 * _FASTEST * (since * until / np.where(both > 0.0, both, 1.0)) ** 2


def _softened(values: Floats, over: Floats) -> Floats:
    """0 for values below 0, v^2 / (2 s) up to s = `over`, v - s / 2 from there on: max(v, 0) without its corner."""
    inner = np.clip(values, 0.0, over)
    return inner * inner / (2.0 * over) + np.maximum(values - over, 0.0)


def _smooth_least(one: Floats, other: Floats) -> Floats:
    """The lesser of two curves from 0 up, without corners: (a^-p + b^-p)^(-1 / p), never above either."""
    least, most = np.minimum(one, other), np.maximum(one, other)
    return least / (1.0 + (least / np.where(most > 0.0, most, 1.0)) ** _SHARP) ** (1.0 / _SHARP)


def unfolded(motion: Motion, soles: Soles, feet: Feet, hips: Floats, standing: Bools, footing: Footing) -> Feet:
    """Let feet in the air down until no leg is folded much further than it is animated.

    With D the least distance from hip to ankle and d their level distance, the ankle must be sqrt(D^2 - d^2) below. A
    foot that is animated above its hip, as of one who kicks or stands on the hands, has nothing to be let down to.
    """
    thigh, shin, posed = leg_lengths(motion)
    least = np.minimum(np.maximum(_KEPT * posed, _LEAST * np.abs(thigh - shin)), posed)
    away = feet.ankles - hips
    level = (away[..., :2] ** 2).sum(axis=-1)
    wanted = np.maximum(away[..., 2] + np.sqrt(np.maximum(least**2 - level, 0.0)), 0.0)
    wanted[standing | (least**2 <= level)] = 0.0
    below = motion.places[:, :, HIP, 2] - motion.places[:, :, ANKLE, 2]
    wanted *= smoothstep(below / (_ABOVE * (thigh + shin)))
    if not wanted.any():
        return feet
    rooms = rooms_below(motion, soles, feet, standing, footing)
    free = compute_fade(motion.times, standing, _FREE)
    down = np.minimum(compute_upper_envelope(wanted, motion.frames(_EARLY)) * free, rooms)
    return dataclasses.replace(feet, ankles=feet.ankles - make_vertical(down), pivots=feet.pivots - make_vertical(down))


def rooms_below(motion: Motion, soles: Soles, feet: Feet, standing: Bools, footing: Footing) -> Floats:
    """How far (F, L) feet in the air may be let down: smooth in time, and none while they stand.

    It is how far heel, ball and tip are above the ground, at least, less what must stay free.
    """
    points = sole_points(motion, feet.ankles, feet.turns, feet.tilt, soles)
    rooms = np.minimum.reduce([point[..., 2] - footing.heights(point) for point in points]) - _OVER
    free = compute_fade(motion.times, standing, _FREE)
    return np.maximum(-compute_upper_envelope(-rooms, motion.frames(_EARLY)), 0.0) * free
