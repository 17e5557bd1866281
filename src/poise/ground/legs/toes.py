"""Toes: bent upwards out of the ground; feet whose bent toes are still in the ground are moved back."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, BALL, FOOT, TOES, Motion
from poise.ground.legs.feet import Feet
from poise.ground.legs.legs import Turned
from poise.ground.legs.risers import before_risers
from poise.ground.legs.swing import toe_joints
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import compute_fade, measure_time_from
from poise.maths.smoothing import compute_upper_envelope
from poise.maths.vectors import UP, make_vertical

_TOES_UP = np.radians(120.0)  # toes are bent upwards so far at most
_BENT = 0.06  # [s] before and after: how smoothly
_AGAIN = 0.03  # [s] the same, for toes that are bent further in front of a riser
_TRIES = 17  # angles of toes, and distances, that are tried
_FEW = 4  # angles that are enough for most toes
_BACK = 0.06  # [m] a swinging foot is moved back from a riser so far at most
_BACK_TIME = 0.12  # [s] before and after: how smoothly, but never while it stands
_FREE = 0.5  # near to a stance a foot is moved for by so much more at most
_HEEL_DOWN = np.radians(90.0)  # a heel rises less by so much at most in front of a riser
_LEFT = 0.05  # [s] after its ball has left the ground a foot is still so near to the riser
_LOWERED = 0.05  # [s] before and after: how smoothly
_TOUCH = 1e-4  # [m] a tip that is so deep in the ground only touches it
_IN = 0.001  # [m] a sole may be so deep in the ground


def heels_to_lower(motion: Motion, soles: Soles, feet: Feet, footing: Footing) -> Floats:
    """By which angles (F, L) [rad] heels must rise less, because their toes would be in the riser of a step ahead.

    A heel that rises high while the ball stands pushes the toes forward. Where even toes bent upwards do not clear the
    step, the foot is turned back about its ball, until they do or its heel is on the ground; so is one that has just
    left.
    """
    down = np.zeros(feet.free.shape)
    since, _ = measure_time_from(motion.times, feet.free)
    frame, leg = np.nonzero(since <= _LEFT)
    stuck = before_risers(feet.pivots[frame, leg], feet.across[frame, leg], footing) | ~motion.bends[leg]
    frame, leg = frame[stuck], leg[stuck]
    if not len(frame):
        return down
    pivot, axis = feet.pivots[frame, leg], feet.across[frame, leg]
    joint = feet.ankles[frame, leg] - pivot + toe_joints(motion, feet.turns)[frame, leg]
    bends = motion.bends[leg]
    toes = np.where(
        bends[:, None], rotations.multiply(feet.tilt, motion.turns[:, :, TOES])[frame, leg], feet.turns[frame, leg]
    )
    tip = rotations.rotate(toes, soles.tip[leg])
    angles, best = np.zeros(len(frame)), _Toes(pivot + joint, tip, -axis).least_depth(bends, footing)
    stuck = np.flatnonzero(best > _IN)
    for angle in np.linspace(0.0, _HEEL_DOWN, _TRIES)[1:]:
        if not len(stuck):
            break
        turn = rotations.about(axis[stuck], np.full(len(stuck), -angle))
        turned = np.where(bends[stuck, None], tip[stuck], rotations.rotate(turn, tip[stuck]))
        moved = pivot[stuck] + rotations.rotate(turn, joint[stuck])
        depth = _Toes(moved, turned, -axis[stuck]).least_depth(bends[stuck], footing)
        better = depth < best[stuck] - _IN
        angles[stuck[better]], best[stuck[better]] = angle, depth[better]
        stuck = stuck[depth > _IN]
    if not angles.any():
        return down
    down[frame, leg] = angles
    heels = feet.ankles + rotations.rotate(feet.turns, np.broadcast_to(soles.heel, feet.ankles.shape))
    length = np.maximum(soles.lengths, 1e-9)
    room = np.arcsin(np.clip((heels[..., 2] - footing.heights(heels)) / length, 0.0, 1.0))
    return np.minimum(compute_upper_envelope(down, motion.frames(_LOWERED)), room)


def raise_toes(
    motion: Motion, soles: Soles, feet: Feet, turned: Turned, footing: Footing, where: Bools | None = None
) -> Turned:
    """Bend toes upwards, about the axis across the foot, where their tips would be in the ground.

    where  (F, L) the feet that are looked at; by default all
    """
    low = np.array(np.broadcast_to(motion.bends, feet.free.shape)) if where is None else where & motion.bends
    toes = _toes_of(motion, soles, feet, turned, low)
    deep = toes.depth(np.zeros(len(toes.tip)), footing) > _TOUCH
    if not deep.any():
        return turned
    low[low] = deep
    angle = np.zeros(low.shape)
    angle[low] = toes.of(deep).least(angle[low], footing)
    angle = compute_upper_envelope(angle, motion.frames(_BENT))
    bent = angle > 0.0  # toes that begin to bend go forward first: into a riser, if there is one
    toes = _toes_of(motion, soles, feet, turned, bent)
    angle[bent] = toes.further(angle[bent], footing)
    smooth = compute_upper_envelope(angle, motion.frames(_AGAIN))
    smooth[bent] = toes.further(smooth[bent], footing)  # unless that takes them into it
    smooth[bent] = np.where(toes.depth(smooth[bent], footing) > _TOUCH, angle[bent], smooth[bent])
    bent = smooth > 0.0
    turns = turned.turns.copy()
    turns[bent, TOES] = rotations.multiply(rotations.about(-feet.across[bent], smooth[bent]), turns[bent, TOES])
    return dataclasses.replace(turned, turns=turns)


def turned_soles(motion: Motion, soles: Soles, turned: Turned, feet: Floats) -> Floats:
    """Where heel, ball and tip (3, F, L, 3) come, for feet that have these rotations (F, L, 4) in the world."""
    way = motion.places[:, :, BALL] - motion.places[:, :, ANKLE]
    joint = turned.ankles + rotations.rotate(turned.turns[:, :, FOOT], way)
    toes = rotations.multiply(turned.turns[:, :, TOES], motion.turns[:, :, TOES])
    arms = [rotations.rotate(feet, np.broadcast_to(point, joint.shape)) for point in (soles.heel, soles.ball)]
    tip = rotations.rotate(toes, np.broadcast_to(soles.tip, joint.shape))
    return np.stack([*(turned.ankles + arm for arm in arms), joint + tip])


class _Toes(NamedTuple):
    """Toes: their joints (k, 3), the vectors (k, 3) from there to their tips, and the axes about which tips rise."""

    joint: Floats
    tip: Floats
    axes: Floats

    def of(self, some: Bools) -> _Toes:
        """Some (k,) of them."""
        return _Toes(*(rows[some] for rows in self))

    def depth(self, angles: Floats, footing: Footing) -> Floats:
        """How deep (..., k) tips are in the ground when toes are bent by angles (..., k)."""
        tips = rotations.rotate(rotations.about(self.axes, angles), np.broadcast_to(self.tip, (*angles.shape, 3)))
        places = self.joint + tips
        return footing.heights(places) - places[..., 2]

    def least_depth(self, bends: Bools, footing: Footing) -> Floats:
        """How deep (k,) tips are at least, over all angles to which the toes can bend."""
        return self.depth(np.linspace(0.0, _TOES_UP, _TRIES)[:, None] * bends, footing).min(axis=0)

    def further(self, angles: Floats, footing: Footing) -> Floats:
        """The angles (k,), or larger ones where tips are still in the ground."""
        low = self.depth(angles, footing) > _TOUCH
        return _filled(angles, low, self.of(low).least(angles[low], footing)) if low.any() else angles

    def least(self, start: Floats, footing: Footing) -> Floats:
        """The angles (k,) [rad] from `start` up at which tips are first out of the ground; where none do, the best.

        The ground under a tip changes as it rises, at an edge by a step: angles are tried one after the other, and the
        first that will do is made smaller by halving.
        """
        tries = start + np.linspace(0.0, 1.0, _TRIES)[:, None] * (np.maximum(_TOES_UP, start) - start)
        depths = np.full(tries.shape, np.inf)
        depths[:_FEW] = self.depth(tries[:_FEW], footing)
        more = depths.min(axis=0) > _TOUCH
        depths[_FEW:, more] = self.of(more).depth(tries[_FEW:, more], footing)
        out = depths <= _TOUCH
        first = np.where(out.any(axis=0), out.argmax(axis=0), depths.argmin(axis=0))
        rows = np.arange(len(start))
        high = tries[first, rows]
        low = np.where(out.any(axis=0), tries[np.maximum(first - 1, 0), rows], high)
        for _ in range(9):
            middle = 0.5 * (low + high)
            fine = self.depth(middle, footing) <= _TOUCH
            low, high = np.where(fine, low, middle), np.where(fine, middle, high)
        return high


def _filled(values: Floats, some: Bools, others: Floats) -> Floats:
    """Values (k,), and others where a mask (k,) is true."""
    values = values.copy()
    values[some] = others
    return values


def _toes_of(motion: Motion, soles: Soles, feet: Feet, turned: Turned, where: Bools) -> _Toes:
    """The toes of some feet (F, L)."""
    way = motion.places[where, BALL] - motion.places[where, ANKLE]
    joint = turned.ankles[where] + rotations.rotate(turned.turns[where, FOOT], way)
    turns = rotations.multiply(turned.turns[where, TOES], motion.turns[where, TOES])
    return _Toes(joint, rotations.rotate(turns, soles.tip[np.nonzero(where)[1]]), -feet.across[where])


def step_back(motion: Motion, soles: Soles, feet: Feet, turned: Turned, standing: Bools, footing: Footing) -> Feet:
    """Move swinging feet that still are in the ground back along themselves, else up, until they are out of it.

    What is left then is the riser of a step just in front of a foot that leaves the ground.
    """
    places = turned_soles(motion, soles, turned, feet.turns)
    depth = (footing.heights(places) - places[..., 2]).max(axis=0)
    frame, leg = np.nonzero((depth > _IN) & ~standing)
    if not len(frame):
        return feet
    back = np.cross(UP, feet.across[frame, leg])
    distances = np.linspace(0.0, _BACK, _TRIES)
    spots = places[:, frame, leg] + distances[:, None, None, None] * back
    depths = (footing.heights(spots) - spots[..., 2]).max(axis=1)
    out = (depths <= _IN) & (turned.missing[frame, leg] <= _IN)  # a leg that is too short gets no further back
    first = np.where(out.any(axis=0), out.argmax(axis=0), 0)
    moved = np.zeros((2, *depth.shape))
    moved[:, frame, leg] = distances[first], np.maximum(depths[first, np.arange(len(frame))], 0.0)
    free = compute_fade(motion.times, standing, _BACK_TIME)
    moved /= np.maximum(free, _FREE)
    half = motion.frames(_BACK_TIME)
    along, up = compute_upper_envelope(moved[0], half) * free, compute_upper_envelope(moved[1], half) * free
    ways = np.cross(UP, feet.across)
    return dataclasses.replace(feet, ankles=feet.ankles + along[..., None] * ways + make_vertical(up))
