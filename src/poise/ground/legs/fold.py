"""Fold: swinging feet that are carried so high that their legs would fold up are let down again.

An animated foot that is lifted high goes higher still where the ground under it rises, and the pelvis follows later:
the ankle would come nearer to the hip than the leg can fold, and the knee would swing from one side to the other.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, HIP, Motion
from poise.ground.legs.feet import Feet
from poise.ground.legs.pelvis import leg_lengths
from poise.ground.legs.swing import sole_points
from poise.maths.arrays import Bools, Floats
from poise.maths.smooth import above, eased, far_from
from poise.maths.vectors import raised

_KEPT = 0.85  # of the animated distance from hip to ankle that is kept
_LEAST = 1.15  # times what a leg can fold to: nearer, a knee turns too quickly
_EARLY = 0.1  # [s] before and after: how smoothly a foot is let down
_ABOVE = 0.2  # of a leg: from such a height below the hip on is a foot let down less, and not at all above the hip
_FREE = 0.1  # [s] from a stance in which that becomes possible
_OVER = 0.02  # [m] a foot that was let down still passes over the ground


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
    wanted *= eased(below / (_ABOVE * (thigh + shin)))
    if not wanted.any():
        return feet
    rooms = rooms_below(motion, soles, feet, standing, footing)
    free = far_from(motion.times, standing, _FREE)
    down = np.minimum(above(wanted, motion.frames(_EARLY)) * free, rooms)
    return dataclasses.replace(feet, ankles=feet.ankles - raised(down), pivots=feet.pivots - raised(down))


def rooms_below(motion: Motion, soles: Soles, feet: Feet, standing: Bools, footing: Footing) -> Floats:
    """How far (F, L) feet in the air may be let down: smooth in time, and none while they stand.

    It is how far heel, ball and tip are above the ground, at least, less what must stay free.
    """
    points = sole_points(motion, feet.ankles, feet.turns, feet.tilt, soles)
    rooms = np.minimum.reduce([point[..., 2] - footing.heights(point) for point in points]) - _OVER
    free = far_from(motion.times, standing, _FREE)
    return np.maximum(-above(-rooms, motion.frames(_EARLY)), 0.0) * free
