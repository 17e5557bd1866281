"""Legs: thighs and shins that bring the ankles to their feet; heels that lift where a leg is too short; toes last."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise import kernels, rotations
from poise.arrays import Floats
from poise.ground.feet import Feet
from poise.ground.footing import Footing
from poise.ground.motion import ANKLE, BALL, FOOT, HIP, KNEE, THIGH, TOES, Motion
from poise.ground.plants import UP
from poise.ground.smooth import eased, last_of
from poise.ground.soles import Soles

_HEEL_UP = np.radians(35.0)  # a heel is lifted so far at most, beyond its animated lift
_HEEL_TIME = 0.15  # [s] in which that becomes possible once the heel has left the ground, and ends after the ball has
_TOES_UP = np.radians(90.0)  # toes are bent upwards so far at most
_TRIES = 13  # angles of toes, and distances, that are tried
_BACK = 0.06  # [m] a swinging foot is moved back from a riser so far at most
_IN = 0.001  # [m] a sole may be so deep in the ground


@dataclass(frozen=True, eq=False)
class Turned:
    """World rotations to be put before the animated ones of thigh, shin, foot and toes, and where the ankles come.

    turns   (F, L, 4, 4)
    ankles  (F, L, 3) [m]
    """

    turns: Floats
    ankles: Floats


def bend_axes(motion: Motion) -> Floats:
    """(F, L, 3) the axis about which each knee bends: one for the whole clip, in the thigh's frame.

    The mean of thigh x shin, which weighs every frame by the sine of its bend; where a knee never bends, the axis that
    lets it bend towards the toes.
    """
    places = motion.places
    thigh, shin = places[:, :, KNEE] - places[:, :, HIP], places[:, :, ANKLE] - places[:, :, KNEE]
    normal = np.cross(_unit(thigh), _unit(shin))
    inverse = rotations.inverse(motion.turns[:, :, THIGH])
    mean = rotations.rotate(inverse, normal).mean(axis=0)
    weak = np.linalg.norm(mean, axis=-1) < np.radians(1.0)
    if weak.any():
        front = places[:, :, BALL] - places[:, :, ANKLE]
        mean = np.where(weak[:, None], rotations.rotate(inverse, np.cross(front, _unit(thigh))).mean(axis=0), mean)
    return rotations.rotate(motion.turns[:, :, THIGH], np.broadcast_to(_unit(mean), thigh.shape))


def heel_room(motion: Motion, feet: Feet) -> Floats:
    """By which angle (F, L) [rad] each heel may be lifted: once only the ball stands, and a little after."""
    times = motion.times[:, None]
    before, freed = last_of(feet.free), last_of(~feet.free)
    since = np.where(before >= 0, times - motion.times[before], np.inf)
    start = _at_before(freed, before)
    opened = np.where(before >= 0, motion.times[before] - motion.times[np.maximum(start, 0)], 0.0)
    return _HEEL_UP * eased(opened / _HEEL_TIME) * eased(1.0 - since / _HEEL_TIME)


def _at_before(freed: np.ndarray, before: np.ndarray) -> np.ndarray:
    return freed[np.maximum(before, 0), np.arange(freed.shape[1])]


def lifted(feet: Feet, angles: Floats) -> Feet:
    """Lift heels by angles (F, L) [rad]: turn each foot about its ball."""
    turn = rotations.about(_across(feet), angles)
    ankles = feet.pivots + rotations.rotate(turn, feet.ankles - feet.pivots)
    return dataclasses.replace(feet, turns=rotations.multiply(turn, feet.turns), ankles=ankles)


def soft_chords(motion: Motion, feet: Feet, hips: Floats, longest: Floats) -> Floats:
    """How far (F, L) each ankle may be from its hip: as far as asked up to the animated distance d, then less and less.

    d + r (1 - exp(-(D - d) / r)) for a distance D beyond it, with r = longest - d: C1, monotone, never above `longest`.
    """
    asked = np.linalg.norm(feet.ankles - hips, axis=-1)
    posed = np.linalg.norm(motion.places[:, :, ANKLE] - motion.places[:, :, HIP], axis=-1)
    room = np.maximum(longest - posed, 1e-9 * longest)
    return np.where(asked <= posed, longest, posed + room * -np.expm1(-np.maximum(asked - posed, 0.0) / room))


def needed_lift(feet: Feet, hips: Floats, longest: Floats, room: Floats) -> Floats:
    """The least angles (F, L) [rad] by which heels must be lifted for the legs to reach: none where they do.

    With w from the ball to the hip and r to the ankle, |w - R(angle) r| = longest is A cos + B sin = C.
    """
    w, r, p = hips - feet.pivots, feet.ankles - feet.pivots, _across(feet)
    along = _dot(w, p) * _dot(r, p)
    wanted = 0.5 * (_dot(w, w) + _dot(r, r) - longest**2) - along
    angle = _first_angle(_dot(w, r) - along, _dot(w, np.cross(p, r)), wanted)
    return np.clip(angle, 0.0, room)


def _first_angle(a: Floats, b: Floats, c: Floats) -> Floats:
    """The least angle from 0 up at which a cos + b sin reaches c; where it never does, the one at its largest."""
    size = np.hypot(a, b)
    angle = np.arctan2(b, a) - np.arccos(np.clip(c / np.maximum(size, 1e-300), -1.0, 1.0))
    return np.where(a >= c, 0.0, angle)


def bend_legs(motion: Motion, axes: Floats, feet: Feet, hips: Floats, longest: Floats) -> Turned:
    """Bend every leg so that its ankle is at its foot's, or as near as it reaches."""
    shape = motion.places.shape[:2]
    count = shape[0] * shape[1]
    thighs, shins, reached = np.empty((count, 4)), np.empty((count, 4)), np.empty((count, 3))
    flat = [np.ascontiguousarray(values).reshape(count, *values.shape[2:]) for values in (motion.places, axes, hips)]
    kernels.legs.bend_all(*flat, feet.ankles.reshape(count, 3).copy(), longest.ravel(), thighs, shins, reached)
    foot = rotations.multiply(feet.turns, rotations.inverse(motion.turns[:, :, FOOT]))
    turns = np.stack([thighs.reshape(*shape, 4), shins.reshape(*shape, 4), foot, feet.tilt], axis=2)
    return Turned(turns, reached.reshape(*shape, 3))


def raise_toes(motion: Motion, soles: Soles, turned: Turned, footing: Footing) -> Turned:
    """Bend toes upwards where their tips would be in the ground."""
    has = np.array([leg.toes is not None for leg in motion.figure.legs])
    ball = turned.ankles + rotations.rotate(
        turned.turns[:, :, FOOT], motion.places[:, :, BALL] - motion.places[:, :, ANKLE]
    )
    toes = turned.turns[:, :, TOES]
    tip = rotations.rotate(rotations.multiply(toes, motion.turns[:, :, TOES]), np.broadcast_to(soles.tip, ball.shape))
    across = _unit(np.cross(tip * [1.0, 1.0, 0.0], UP))  # turning about it raises the tip
    angle = np.zeros(ball.shape[:2])
    low = has & (footing.heights(ball + tip) > (ball + tip)[..., 2])
    if not low.any():
        return turned
    angle[low] = _toe_angles(ball[low], tip[low], across[low], footing)
    turns = turned.turns.copy()
    turns[:, :, TOES] = rotations.multiply(rotations.about(across, angle), toes)
    return Turned(turns, turned.ankles)


def step_back(motion: Motion, soles: Soles, feet: Feet, turned: Turned, standing: NDArray[np.bool_], footing: Footing) -> Feet:
    """Move swinging feet that still are in the ground back along themselves, else up, until they are out of it.

    What is left then is the riser of a step just in front of a foot that leaves the ground.
    """
    foot = turned.turns[:, :, FOOT]
    joint = turned.ankles + rotations.rotate(foot, motion.places[:, :, BALL] - motion.places[:, :, ANKLE])
    toes = rotations.multiply(turned.turns[:, :, TOES], motion.turns[:, :, TOES])
    places = np.stack(
        [turned.ankles + rotations.rotate(feet.turns, np.broadcast_to(p, joint.shape)) for p in (soles.heel, soles.ball)]
        + [joint + rotations.rotate(toes, np.broadcast_to(soles.tip, joint.shape))], axis=2
    )
    depth = (footing.heights(places) - places[..., 2]).max(axis=-1)
    frame, leg = np.nonzero((depth > _IN) & ~standing)
    if not len(frame):
        return feet
    back = np.cross(_across(feet)[frame, leg], UP)
    tried = np.linspace(0.0, _BACK, _TRIES)[:, None, None] * back
    spots = places[frame, leg] + tried[:, :, None]
    depths = (footing.heights(spots) - spots[..., 2]).max(axis=-1)
    out = depths <= 0.0
    first = np.where(out.any(axis=0), out.argmax(axis=0), 0)
    ankles = feet.ankles.copy()
    ankles[frame, leg] += tried[first, np.arange(len(frame))]
    ankles[frame, leg, 2] += np.maximum(depths[first, np.arange(len(frame))], 0.0)
    return dataclasses.replace(feet, ankles=ankles)


def _toe_angles(ball: Floats, tip: Floats, across: Floats, footing: Footing) -> Floats:
    """The least angles (k,) [rad] at which tips are out of the ground; where none is, the one at which they are least in.

    The ground under a tip changes as it rises, at an edge by a step: angles are tried one after the other, and the
    first that will do is made smaller by halving.
    """

    def depth(angles: Floats) -> Floats:
        places = ball + rotations.rotate(rotations.about(across, angles), np.broadcast_to(tip, (*angles.shape, 3)))
        return footing.heights(places) - places[..., 2]

    tries = np.linspace(0.0, _TOES_UP, _TRIES)
    depths = depth(np.broadcast_to(tries[:, None], (_TRIES, len(ball))))
    out = depths <= 0.0
    first = np.where(out.any(axis=0), out.argmax(axis=0), depths.argmin(axis=0))
    high = tries[first]
    low = np.where(out.any(axis=0), tries[np.maximum(first - 1, 0)], high)
    for _ in range(6):
        middle = 0.5 * (low + high)
        fine = depth(middle) <= 0.0
        low, high = np.where(fine, low, middle), np.where(fine, middle, high)
    return high


def _across(feet: Feet) -> Floats:
    """The level axis (F, L, 3) across each foot: turning about it lifts the heel over the ball."""
    return _unit(np.cross(UP, (feet.pivots - feet.ankles) * [1.0, 1.0, 0.0]))


def _dot(a: Floats, b: Floats) -> Floats:
    return (a * b).sum(axis=-1)


def _unit(v: Floats) -> Floats:
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-300)
