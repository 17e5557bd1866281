"""Keep: where feet that are put on the ground make a leg jump, it is nearer to its source, by as much as is needed.

A joint pops where the step of a hip, knee, ankle or toe changes by more than the source's near in time and the room of
an edit. There the leg goes over to its source in a quarter of a second, by a quarter more each time until nothing pops;
where no more of a leg helps, the pelvis goes, too; where that makes another leg pop, or leaves its foot too far away,
that leg goes as well.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from poise.ground.contact.cyclic import Repeats
from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, BALL, END, FOOT, HIP, KNEE, TOES, Motion
from poise.ground.figure.speeds import shots_of
from poise.ground.figure.steps import bounds_of_step, changes_of_step
from poise.ground.legs.calm import LESS, knees_of
from poise.ground.legs.clear import TOES_BEND
from poise.ground.legs.feet import Feet
from poise.ground.legs.legs import Turned, bend_axes, bend_legs
from poise.ground.legs.pelvis import base_heights, chord_limits
from poise.ground.legs.swing import sole_points
from poise.ground.legs.toes import raise_toes
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.smooth import above, far_from
from poise.maths.vectors import raised

_OF_ROOM = 0.98  # of the room of an edit is used: a file may round what is written
_SHORT = 0.01  # [m] farther from its foot's place may a leg that stands end
_JOIN = 0.125  # [s] before and after such a frame in which the source is kept, and again in which it is joined
_MORE = 0.25  # of the source more is kept each time that a frame is worse
_SMOOTH = 0.1  # [s] before and after: how smoothly feet of the source are lifted out of the ground
_DEEPER = 0.002  # [m] deeper in the ground than before does a foot not go for it
_AROUND = 0.15  # [s] before and after such a frame in which a leg is left as it is
_AGAIN = 3  # times that such frames are looked for
_FREE = 0.2  # [s] from a stance on in which a foot may go over to it
_IDLE = 3  # rounds after which nothing has become better: more will not help
_PLACES = [HIP, KNEE, ANKLE, END]


class Locked(NamedTuple):
    """A figure whose feet are locked: where they should be, what was done for it, and when (F, L) they stand.

    room  [mm per frame^2 at 120 frames/s] that a joint may have beyond its source
    """

    motion: Motion
    soles: Soles
    feet: Feet
    turned: Turned
    standing: Bools
    footing: Footing
    stretch: float
    room: float


class Loose(NamedTuple):
    """The figure whose feet are as animated: as they are, or raised and tilted with the ground that is under them.

    up      (F,) how far the pelvis goes up [m]
    ankles  (F, L, 3)
    turns   (F, L, 4) rotations to be put before the animated ones of foot and toes
    free    (F, L + 1) how far each leg, and the pelvis, may go over to it, from 0 to 1
    """

    up: Floats
    ankles: Floats
    turns: Floats
    free: Floats


def as_animated(motion: Motion) -> Loose:
    """The source itself."""
    shape = motion.turns[:, :, FOOT].shape
    still = np.broadcast_to(rotations.IDENTITY, shape)
    return Loose(np.zeros(len(motion)), motion.places[:, :, ANKLE], still, np.ones((shape[0], shape[1] + 1)))


def over_ground(motion: Motion, feet: Feet, standing: Bools) -> Loose:
    """The source over other ground; feet that stand stay where they are."""
    free = np.concatenate([far_from(motion.times, standing, _FREE), np.zeros((len(motion), 1))], axis=1)
    return Loose(base_heights(motion, feet.rise), motion.places[:, :, ANKLE] + raised(feet.rise), feet.tilt, free)


def kept_where_worse(locked: Locked, loose: Loose, repeats: Repeats) -> tuple[Turned, Bools, Floats]:
    """The figure with legs as they are loose where locking is worse, and where (F, L) that is, joins included.

    Last is by how much changes of step are still too large [mm], in the frames of the clip. What of a loose foot is in
    the ground is lifted out of it all the same. All repeats of a loop are the same.
    """
    for _ in range(_AGAIN):
        best, where, left = _calmest(locked, loose, repeats)
        if not where.any():
            return best, where, left
        deeper = _sunk(locked, best) > _sunk(locked, locked.turned) + _DEEPER
        if not deeper.any():
            return best, where, left
        free = np.minimum(loose.free[:, :-1], far_from(locked.motion.times, deeper, _AROUND))
        loose = loose._replace(free=np.concatenate([free, loose.free[:, -1:]], axis=1))
    return _calmest(locked, loose._replace(free=np.zeros_like(loose.free)), repeats)


def _calmest(locked: Locked, loose: Loose, repeats: Repeats) -> tuple[Turned, Bools, Floats]:
    """The same, whatever comes of the ground."""
    motion, legs, middle = locked.motion, locked.standing.shape[1], repeats.middle
    once = Motion(motion.figure, motion.times[middle], motion.places[middle], motion.turns[middle])
    bound = _bounds(once, _OF_ROOM * locked.room)[repeats.rows]
    kept = share = np.zeros((len(motion), legs + 1))  # the last for the pelvis
    result = best = locked.turned
    left, where = _over(motion, result, bound), np.zeros_like(locked.standing)
    over, idle = left, 0
    while idle < _IDLE:
        worse = _worse(locked, result, kept, over > 0.0)[middle]
        if not (worse & (kept[middle] < 1.0)).any():
            break
        kept = np.minimum(kept + _MORE * repeats.spread(worse), 1.0)
        share = above(kept, motion.frames(_JOIN)) * loose.free
        result = _blended(locked, loose, share)
        over = _over(motion, result, bound)
        idle += 1
        if over[middle].sum() < left[middle].sum() - LESS:
            best, left, where, idle = result, over, share[:, :legs] > 0.0, 0
    return best, where, left[middle].max(axis=-1)


def _over(motion: Motion, result: Turned, bound: Floats) -> Floats:
    """By how much (F, L, 4) the changes of step of hips, knees, ankles and toes are too large [mm]; 0 where not."""
    places = places_of(motion, result)
    changes = changes_of_step(motion.times, places.reshape(len(motion), -1, 3), shots_of(motion).first)
    return np.maximum(changes - bound, 0.0).reshape(places.shape[:3])


def _worse(locked: Locked, result: Turned, kept: Floats, pops: Bools) -> Bools:
    """Where (F, L + 1) a joint of a leg pops or its foot is not reached; and where that is left, the pelvis."""
    short = (result.missing > locked.turned.missing + _SHORT) & locked.standing
    legs = pops[..., 1:].any(axis=-1) | short
    pelvis = pops[..., 0] | (legs & (kept[:, :-1] >= 1.0))
    return np.concatenate([legs, pelvis.any(axis=1, keepdims=True)], axis=1)


def _bounds(motion: Motion, room: float) -> Floats:
    """How large changes of step (F, 4 L) may be [mm]."""
    shots, places = shots_of(motion), motion.places[:, :, _PLACES].reshape(len(motion), -1, 3)
    return bounds_of_step(motion.times, changes_of_step(motion.times, places, shots.first), shots, room)


def places_of(motion: Motion, turned: Turned) -> Floats:
    """Where hips, knees, ankles and the ends of toes (F, L, 4, 3) come."""
    places = motion.places
    hips = places[:, :, HIP] + raised(turned.up)[:, None]
    foot, toes = (
        rotations.rotate(turned.turns[:, :, turn], places[:, :, b] - places[:, :, a])
        for a, b, turn in ((ANKLE, BALL, FOOT), (BALL, END, TOES))
    )
    return np.stack([hips, knees_of(motion, turned), turned.ankles, turned.ankles + foot + toes], axis=2)


def _chords(motion: Motion, turned: Turned) -> Floats:
    """How far (F, L) ankles are from hips [m], for legs that are no longer than animated."""
    ways = turned.ankles - motion.places[:, :, HIP] - raised(turned.up)[:, None]
    return np.linalg.norm(ways, axis=-1) / turned.lengths


def _sunk(locked: Locked, result: Turned) -> Floats:
    """How deep (F, L) soles are in the ground."""
    motion = locked.motion
    feet, toes = (rotations.multiply(result.turns[:, :, part], motion.turns[:, :, part]) for part in (FOOT, TOES))
    arms = [
        rotations.rotate(feet, np.broadcast_to(p, result.ankles.shape)) for p in (locked.soles.heel, locked.soles.ball)
    ]
    ways = rotations.rotate(result.turns[:, :, FOOT], motion.places[:, :, BALL] - motion.places[:, :, ANKLE])
    arms.append(ways + rotations.rotate(toes, np.broadcast_to(locked.soles.tip, result.ankles.shape)))
    points = result.ankles + np.stack(arms)
    return np.maximum(locked.footing.heights(points) - points[..., 2], 0.0).max(axis=0)


def _depths(motion: Motion, soles: Soles, ankles: Floats, turns: Floats, footing: Footing) -> Floats:
    """How deep (F, L) feet are in the ground, but for toes that bend out of it."""
    level = np.broadcast_to(rotations.IDENTITY, turns.shape)
    points = np.stack(sole_points(motion, ankles, turns, level, soles))
    depths = footing.heights(points) - points[..., 2]
    depths[2] -= TOES_BEND * motion.bends
    return np.maximum(depths.max(axis=0), 0.0)


def _blended(locked: Locked, loose: Loose, share: Floats) -> Turned:
    """Feet and pelvis between those that are locked and, by a share (F, L + 1), loose ones; legs bent anew."""
    motion, soles, feet, turned = locked[:4]
    kept, half = share[:, :-1], motion.frames(_SMOOTH)
    foot, toes = (
        rotations.slerp(whole, loose.turns, kept) for whole in np.moveaxis(turned.turns[:, :, [FOOT, TOES]], 2, 0)
    )
    ankles = turned.ankles + kept[..., None] * (loose.ankles - turned.ankles)
    depths = _depths(motion, soles, ankles, rotations.multiply(foot, motion.turns[:, :, FOOT]), locked.footing)
    ankles += raised(above(depths * (kept > 0.0), half) * np.minimum(kept / _MORE, 1.0))
    up = turned.up + share[:, -1] * (loose.up - turned.up)
    hips = motion.places[:, :, HIP] + raised(up)[:, None]
    longest = np.maximum(chord_limits(motion, locked.standing)[1], _chords(motion, turned))
    moved = dataclasses.replace(feet, ankles=ankles)
    bent = bend_legs(motion, bend_axes(motion, soles), moved, up, hips, longest, locked.stretch)
    turns = np.concatenate([bent.turns[:, :, :FOOT], np.stack([foot, toes], axis=2)], axis=2)
    return raise_toes(motion, soles, feet, dataclasses.replace(bent, turns=turns), locked.footing)
