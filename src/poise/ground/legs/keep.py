"""Keep: where locked feet would be worse than those of the source, a leg is as in the source, for as long as needed.

Worse is what pops: a hip, knee, ankle or toe whose step changes by more than the source's near in time and the room of
an edit; or a foot that its leg does not reach. The leg goes over to its source in a quarter of a second, and the pelvis
with it, a little more each time until nothing is worse; where that makes another leg pop, that leg does, too.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from poise.ground.contact.cyclic import Repeats
from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, BALL, END, FOOT, HIP, KNEE, SHIN, THIGH, TOES, Motion
from poise.ground.figure.speeds import shots_of
from poise.ground.figure.steps import bounds_of_step, changes_of_step
from poise.ground.legs.feet import Feet
from poise.ground.legs.legs import Turned, bend_axes, bend_legs
from poise.ground.legs.pelvis import chord_limits
from poise.ground.legs.swing import sole_points
from poise.ground.legs.toes import raise_toes
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.smooth import above
from poise.maths.vectors import raised

_ROOM = 5.0  # [mm per frame^2 at 120 frames/s] that a joint may have beyond its source
_SHORT = 0.01  # [m] from its foot's place a leg that stands may end
_JOIN = 0.125  # [s] before and after such a frame in which the source is kept, and again in which it is joined
_MORE = 0.125  # of the source more is kept each time that a frame is worse
_TOES = 0.03  # [m] by which toes bend out of the ground before the foot is lifted for them
_SMOOTH = 0.1  # [s] before and after: how smoothly feet of the source are lifted out of the ground
_ROUNDS = 30  # each marks what the one before has made worse
_PLACES = [HIP, KNEE, ANKLE, END]


class Locked(NamedTuple):
    """A figure whose feet are locked: where they should be, what was done for it, and when (F, L) they stand."""

    motion: Motion
    soles: Soles
    feet: Feet
    turned: Turned
    standing: Bools
    footing: Footing
    stretch: float


def kept_where_worse(locked: Locked, repeats: Repeats) -> tuple[Turned, Bools]:
    """The figure with legs as in its source where locking is worse, and where (F, L) that is, joins included.

    What of a foot is in the ground in the source is lifted out of it all the same. All repeats of a loop are the same.
    """
    motion, legs, middle = locked.motion, locked.standing.shape[1], repeats.middle
    kept = share = np.zeros((len(motion), legs + 1))  # the last for the pelvis
    result = locked.turned
    bound = _bounds(Motion(motion.figure, motion.times[middle], motion.places[middle], motion.turns[middle]))
    for _ in range(_ROUNDS):
        worse = _worse(motion, result, locked.standing, share, bound[repeats.rows])[middle]
        if repeats.around:
            worse[[0, -1]] = worse[0] | worse[-1]
        if not (worse & (share[middle] < 1.0)).any():
            break
        kept = np.minimum(kept + _MORE * worse[repeats.rows], 1.0)
        share = above(kept, motion.frames(_JOIN))
        result = _blended(locked, share)
    return result, share[:, :legs] > 0.0


def _worse(motion: Motion, result: Turned, standing: Bools, share: Floats, bound: Floats) -> Bools:
    """Where (F, L + 1) a joint of a leg pops or its foot is not reached; and where that is left, the pelvis."""
    places = places_of(motion, result).reshape(len(motion), -1, 3)
    pops = (changes_of_step(motion.times, places, shots_of(motion).first) > bound).reshape(*standing.shape, -1)
    legs = pops[..., 1:].any(axis=-1) | ((result.missing > _SHORT) & standing)
    pelvis = pops[..., 0] | (legs & (share[:, :-1] >= 1.0))
    return np.concatenate([legs, pelvis.any(axis=1, keepdims=True)], axis=1)


def _bounds(motion: Motion) -> Floats:
    """How large changes of step (F, 4 L) may be [mm]."""
    shots, places = shots_of(motion), motion.places[:, :, _PLACES].reshape(len(motion), -1, 3)
    return bounds_of_step(motion.times, changes_of_step(motion.times, places, shots.first), shots, _ROOM)


def places_of(motion: Motion, turned: Turned) -> Floats:
    """Where hips, knees, ankles and the ends of toes (F, L, 4, 3) come."""
    places = motion.places
    hips = places[:, :, HIP] + raised(turned.up)[:, None]
    bones = [(HIP, KNEE, THIGH), (KNEE, ANKLE, SHIN), (ANKLE, BALL, FOOT), (BALL, END, TOES)]
    ways = [rotations.rotate(turned.turns[:, :, turn], places[:, :, b] - places[:, :, a]) for a, b, turn in bones]
    knees = hips + ways[0] * turned.lengths[..., None]
    return np.stack([hips, knees, turned.ankles, turned.ankles + ways[2] + ways[3]], axis=2)


def _chords(motion: Motion, turned: Turned) -> Floats:
    """How far (F, L) ankles are from hips [m], for legs that are no longer than animated."""
    ways = turned.ankles - motion.places[:, :, HIP] - raised(turned.up)[:, None]
    return np.linalg.norm(ways, axis=-1) / turned.lengths


def _depths(motion: Motion, soles: Soles, ankles: Floats, turns: Floats, footing: Footing) -> Floats:
    """How deep (F, L) feet are in the ground, but for toes that bend out of it."""
    level = np.broadcast_to(rotations.IDENTITY, turns.shape)
    points = np.stack(sole_points(motion, ankles, turns, level, soles))
    depths = footing.heights(points) - points[..., 2]
    depths[2] -= _TOES * motion.bends
    return np.maximum(depths.max(axis=0), 0.0)


def _blended(locked: Locked, share: Floats) -> Turned:
    """Feet and pelvis between those that are locked and, by a share (F, L + 1), those of the source; legs bent anew."""
    motion, soles, feet, turned = locked[:4]
    kept, half = share[:, :-1], motion.frames(_SMOOTH)
    foot, toes = (
        rotations.slerp(whole, np.broadcast_to(rotations.IDENTITY, whole.shape), kept)
        for whole in np.moveaxis(turned.turns[:, :, [FOOT, TOES]], 2, 0)
    )
    ankles = turned.ankles + kept[..., None] * (motion.places[:, :, ANKLE] - turned.ankles)
    depths = _depths(motion, soles, ankles, rotations.multiply(foot, motion.turns[:, :, FOOT]), locked.footing)
    ankles += raised(above(depths * (kept > 0.0), half) * np.minimum(kept / _MORE, 1.0))
    up = turned.up * (1.0 - share[:, -1])
    hips = motion.places[:, :, HIP] + raised(up)[:, None]
    longest = np.maximum(chord_limits(motion, locked.standing)[1], _chords(motion, turned))
    moved = dataclasses.replace(feet, ankles=ankles)
    bent = bend_legs(motion, bend_axes(motion, soles), moved, up, hips, longest, locked.stretch)
    turns = np.concatenate([bent.turns[:, :, :FOOT], np.stack([foot, toes], axis=2)], axis=2)
    return raise_toes(motion, soles, feet, dataclasses.replace(bent, turns=turns), locked.footing)
