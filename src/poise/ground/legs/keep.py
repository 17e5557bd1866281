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
from poise.ground.figure.motion import ANKLE, FOOT, HIP, TOES, Motion, rows_of, with_rows
from poise.ground.figure.steps import steps_of
from poise.ground.legs.calm import LESS
from poise.ground.legs.clear import TOES_BEND
from poise.ground.legs.feet import Feet
from poise.ground.legs.legs import Turned, bend_axes, bend_legs, places_of
from poise.ground.legs.pelvis import base_heights, chord_limits
from poise.ground.legs.swing import sole_points
from poise.ground.legs.toes import raise_toes, turned_soles
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import compute_fade
from poise.maths.smoothing import compute_upper_envelope
from poise.maths.vectors import make_vertical

OF_ROOM = 0.98  # of the room of an edit is used: a file may round what is written
_SHORT = 0.01  # [m] farther from its foot's place may a leg that stands end
_JOIN = 0.125  # [s] before and after such a frame in which the source is kept, and again in which it is joined
_MORE = 0.25  # of the source more is kept each time that a frame is worse
_SMOOTH = 0.1  # [s] before and after: how smoothly feet of the source are lifted out of the ground
_DEEPER = 0.002  # [m] deeper in the ground than before does a foot not go for it
_AROUND = 0.15  # [s] before and after such a frame in which a leg is left as it is
_AGAIN = 3  # times that such frames are looked for
_FREE = 0.2  # [s] from a stance on in which a foot may go over to it
_IDLE = 3  # rounds after which nothing has become better: more will not help


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

    def bounds(self, repeats: Repeats, share: float = OF_ROOM) -> Floats:
        """How large changes of step (F, L, 4) [mm] may be with a share of the room, in all repeats the same."""
        motion = self.motion
        once = motion.part(np.arange(len(motion))[repeats.middle]) if repeats.around else motion
        return steps_of(once).bounds(share * self.room)[repeats.rows]

    def part(self, frames: Bools) -> Locked:
        """Some frames (F,) of it."""
        feet, turned = rows_of(self.feet, frames), rows_of(self.turned, frames)
        return self._replace(motion=self.motion.part(frames), feet=feet, turned=turned, standing=self.standing[frames])


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

    def part(self, frames: Bools) -> Loose:
        """Some frames (F,) of it."""
        return Loose(*(rows[frames] for rows in self))


def as_animated(motion: Motion) -> Loose:
    """The source itself."""
    shape = motion.turns[:, :, FOOT].shape
    still = np.broadcast_to(rotations.IDENTITY, shape)
    return Loose(np.zeros(len(motion)), motion.places[:, :, ANKLE], still, np.ones((shape[0], shape[1] + 1)))


def over_ground(motion: Motion, feet: Feet, standing: Bools) -> Loose:
    """The source over other ground; feet that stand stay where they are."""
    free = np.concatenate([compute_fade(motion.times, standing, _FREE), np.zeros((len(motion), 1))], axis=1)
    return Loose(
        base_heights(motion, feet.rise), motion.places[:, :, ANKLE] + make_vertical(feet.rise), feet.tilt, free
    )


def kept_where_worse(locked: Locked, loose: Loose, repeats: Repeats) -> tuple[Turned, Bools, Floats]:
    """The figure with legs as they are loose where locking is worse, and where (F, L) that is, joins included.

    Last is by how much changes of step are still too large [mm], in the frames of the clip. What of a loose foot is in
    the ground is lifted out of it all the same. All repeats of a loop are the same.
    """
    for _ in range(_AGAIN):
        best, where, left = _calmest(locked, loose, repeats)
        if not where.any():
            return best, where, left
        deeper = sunk(locked, best) > sunk(locked, locked.turned) + _DEEPER
        if not deeper.any():
            return best, where, left
        free = np.minimum(loose.free[:, :-1], compute_fade(locked.motion.times, deeper, _AROUND))
        loose = loose._replace(free=np.concatenate([free, loose.free[:, -1:]], axis=1))
    return _calmest(locked, loose._replace(free=np.zeros_like(loose.free)), repeats)


def _calmest(locked: Locked, loose: Loose, repeats: Repeats) -> tuple[Turned, Bools, Floats]:
    """The same, whatever comes of the ground."""
    motion, legs, middle = locked.motion, locked.standing.shape[1], repeats.middle
    bound = locked.bounds(repeats)
    kept = share = np.zeros((len(motion), legs + 1))  # the last for the pelvis
    result = best = locked.turned
    limits = None
    left, where = over_bounds(motion, result, bound), np.zeros_like(locked.standing)
    over, idle = left, 0
    while idle < _IDLE:
        worse = _worse(locked, result, kept, over > 0.0)[middle]
        if not (worse & (kept[middle] < 1.0)).any():
            break
        limits = limits or (bend_axes(motion, locked.soles), chord_limits(motion, locked.standing)[1])
        kept = np.minimum(kept + _MORE * repeats.spread(worse), 1.0)
        share = compute_upper_envelope(kept, motion.frames(_JOIN)) * loose.free
        result = _blended(locked, loose, share, limits)
        over = over_bounds(motion, result, bound)
        idle += 1
        if over[middle].sum() < left[middle].sum() - LESS:
            best, left, where, idle = result, over, share[:, :legs] > 0.0, 0
    return best, where, left[middle].max(axis=-1)


def over_bounds(motion: Motion, result: Turned, bound: Floats) -> Floats:
    """By how much (F, L, 4) the changes of step of hips, knees, ankles and toes are too large [mm]; 0 where not."""
    return np.maximum(steps_of(motion).changes(places_of(motion, result)) - bound, 0.0)


def _worse(locked: Locked, result: Turned, kept: Floats, pops: Bools) -> Bools:
    """Where (F, L + 1) a joint of a leg pops or its foot is not reached; and where that is left, the pelvis."""
    short = (result.missing > locked.turned.missing + _SHORT) & locked.standing
    legs = pops[..., 1:].any(axis=-1) | short
    pelvis = pops[..., 0] | (legs & (kept[:, :-1] >= 1.0))
    return np.concatenate([legs, pelvis.any(axis=1, keepdims=True)], axis=1)


def chords_of(motion: Motion, turned: Turned) -> Floats:
    """How far (F, L) ankles are from hips [m], for legs that are no longer than animated."""
    ways = turned.ankles - motion.places[:, :, HIP] - make_vertical(turned.up)[:, None]
    return np.linalg.norm(ways, axis=-1) / turned.lengths


def soles_of(locked: Locked, result: Turned) -> Floats:
    """Where heel, ball and tip (3, F, L, 3) come."""
    feet = rotations.multiply(result.turns[:, :, FOOT], locked.motion.turns[:, :, FOOT])
    return turned_soles(locked.motion, locked.soles, result, feet)


def sunk(locked: Locked, result: Turned) -> Floats:
    """How deep (F, L) soles are in the ground."""
    points = soles_of(locked, result)
    return np.maximum(locked.footing.heights(points) - points[..., 2], 0.0).max(axis=0)


def _depths(motion: Motion, soles: Soles, ankles: Floats, turns: Floats, footing: Footing) -> Floats:
    """How deep (F, L) feet are in the ground, but for toes that bend out of it."""
    level = np.broadcast_to(rotations.IDENTITY, turns.shape)
    points = np.stack(sole_points(motion, ankles, turns, level, soles))
    depths = footing.heights(points) - points[..., 2]
    depths[2] -= TOES_BEND * motion.bends
    return np.maximum(depths.max(axis=0), 0.0)


def _blended(locked: Locked, loose: Loose, share: Floats, limits: tuple[Floats, Floats]) -> Turned:
    """Feet and pelvis between those that are locked and, by a share (F, L + 1), loose ones; legs bent anew.

    limits  (F, L, 3) axes about which knees bend, and (F, L) how long chords are at most
    """
    joins = share.max(axis=1) > 0.0
    part, over, kept, up = locked.part(joins), loose.part(joins), share[joins, :-1], share[joins, -1]
    motion, turned, (axes, most) = part.motion, part.turned, (rows[joins] for rows in limits)
    foot, toes = (
        rotations.slerp(whole, over.turns, kept) for whole in np.moveaxis(turned.turns[:, :, [FOOT, TOES]], 2, 0)
    )
    ankles = turned.ankles + kept[..., None] * (over.ankles - turned.ankles)
    depths = np.zeros(locked.standing.shape)
    depths[joins] = _depths(
        motion, part.soles, ankles, rotations.multiply(foot, motion.turns[:, :, FOOT]), part.footing
    )
    lift = compute_upper_envelope(depths * (share[:, :-1] > 0.0), locked.motion.frames(_SMOOTH))[joins]
    ankles += make_vertical(lift * np.minimum(kept / _MORE, 1.0))
    up = turned.up + up * (over.up - turned.up)
    hips = motion.places[:, :, HIP] + make_vertical(up)[:, None]
    longest = np.maximum(most, chords_of(motion, turned))
    bent = bend_legs(motion, axes, dataclasses.replace(part.feet, ankles=ankles), up, hips, longest, part.stretch)
    turns = np.concatenate([bent.turns[:, :, :FOOT], np.stack([foot, toes], axis=2)], axis=2)
    whole = with_rows(locked.turned, joins, dataclasses.replace(bent, turns=turns), joins)
    where = np.broadcast_to(joins[:, None], locked.standing.shape)
    return raise_toes(locked.motion, locked.soles, locked.feet, whole, locked.footing, where)
