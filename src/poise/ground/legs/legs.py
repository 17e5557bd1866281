"""Solve legs for ankle targets: pelvis heights, reach, and heels beyond it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from poise import kernels
from poise.ground.contact.contacts import Contacts
from poise.ground.contact.soles import Soles
from poise.ground.figure.motion import ANKLE, BALL, FOOT, HIP, KNEE, THIGH, Motion
from poise.ground.legs.feet import Feet
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import find_last_true, find_next_true, measure_time_from, take_frames
from poise.maths.smoothing import average_hann
from poise.maths.vectors import cross, dot, length, make_vertical, normalise

SMOOTH_S = 0.15  # [s] to each side: over how long the height of the ground is averaged
_MAX_REACH = 0.985  # of a leg's length: there a knee moves 6 times as fast as hip and ankle
STRAIGHT = 0.9999  # of a leg's length, at most
_STRAIGHT = np.radians(1.0)  # a knee that bends less on the mean has no bend axis of its own
_MAX_LEAN_RAD = np.radians(35.0)  # of a shin over its flat foot: 40.6 +- 5.2 deg in lunges (Calatayud et al., 2015)
_MORE_LEAN = 0.12  # [sine] than animated: a heel that counts as standing may be up by 7 degrees in the source
_MAX_LEAD_S = 0.15  # [s] at most: a heel's rise is slow, and its end is known to about 0.1 s


@dataclass(frozen=True, eq=False)
class Turned:
    """What is done to a figure.

    up       (F,) how far the pelvis goes up [m]
    turns    (F, L, 4, 4) world rotations to be put before the animated ones of thigh, shin, foot and toes
    ankles   (F, L, 3) where the ankles come [m]
    missing  (F, L) how far that is from where they should be [m]
    lengths  (F, L) the legs' lengths, 1 as animated
    """

    up: Floats
    turns: Floats
    ankles: Floats
    missing: Floats
    lengths: Floats


def leg_lengths(motion: Motion) -> tuple[Floats, Floats, Floats]:
    """Return lengths (F, L) [m]: thighs, shins, hips to ankles. The last are the animated distances."""
    places = motion.places
    thigh = length(places[:, :, KNEE] - places[:, :, HIP])
    shin = length(places[:, :, ANKLE] - places[:, :, KNEE])
    posed = length(places[:, :, ANKLE] - places[:, :, HIP])
    return thigh, shin, posed


def base_heights(motion: Motion, rise: Floats) -> Floats:
    """Return the height (F,) of the pelvis over the source [m]. It follows from the ground alone."""
    return average_hann(rise.mean(axis=1), motion.frames(SMOOTH_S))


def longest_reach(motion: Motion) -> Floats:
    """Return the longest distances (F, L) from hips to ankles [m].

    They are those animated where these are longer than usual.
    """
    thigh, shin, posed = leg_lengths(motion)
    whole = thigh + shin
    return np.maximum(_MAX_REACH * whole, np.minimum(posed, STRAIGHT * whole))


def bend_axes(motion: Motion, soles: Soles) -> Floats:
    """Return the bend axis (F, L, 3) of each knee.

    It is constant over the clip in the thigh's frame. The mean of thigh x shin, which weighs every frame by the sine of
    its bend; where a knee never bends, the axis that lets it bend towards the toes, or where the sole points if the
    foot has none.
    """
    places = motion.places
    thigh, shin = places[:, :, KNEE] - places[:, :, HIP], places[:, :, ANKLE] - places[:, :, KNEE]
    normal = cross(normalise(thigh), normalise(shin))
    inverse = rotations.inverse(motion.turns[:, :, THIGH])
    mean = rotations.rotate(inverse, normal).mean(axis=0)
    weak = length(mean) < _STRAIGHT
    if weak.any():
        sole = rotations.rotate(motion.turns[:, :, FOOT], soles.ball - soles.heel)
        front = np.where(motion.bends[:, None], places[:, :, BALL] - places[:, :, ANKLE], sole)
        mean = np.where(weak[:, None], rotations.rotate(inverse, cross(front, normalise(thigh))).mean(axis=0), mean)
    return rotations.rotate(motion.turns[:, :, THIGH], normalise(mean))


def bend_legs(
    motion: Motion, axes: Floats, feet: Feet, up: Floats, hips: Floats, most: Floats, stretch: float
) -> Turned:
    """Bend every leg to its ankle target. Ankles come as near as possible; legs become longer by `stretch` at most."""
    lengths = np.clip(length(feet.ankles - hips) / most, 1.0, 1.0 + stretch)
    shape, count = most.shape, most.size
    rows = [np.array(v, order="C").reshape(count, *v.shape[2:]) for v in (motion.places, axes, hips, feet.ankles)]
    thighs, shins, reached = np.empty((count, 4)), np.empty((count, 4)), np.empty((count, 3))
    kernels.ground.legs.bend_all(*rows, most.ravel(), lengths.ravel(), thighs, shins, reached)
    foot = rotations.multiply(feet.turns, rotations.inverse(motion.turns[:, :, FOOT]))
    toes = np.where(motion.bends[:, None], feet.tilt, foot)
    turns = np.stack([thighs.reshape(*shape, 4), shins.reshape(*shape, 4), foot, toes], axis=2)
    ankles = reached.reshape(*shape, 3)
    return Turned(up, turns, ankles, length(ankles - feet.ankles), lengths)


def knees_of(motion: Motion, turned: Turned) -> Floats:
    """Where the knees (F, L, 3) come."""
    hips = motion.places[:, :, HIP]
    thighs = rotations.rotate(turned.turns[:, :, THIGH], motion.places[:, :, KNEE] - hips)
    return hips + make_vertical(turned.up)[:, None] + turned.lengths[..., None] * thighs


def rebend_legs(
    motion: Motion, soles: Soles, feet: Feet, turned: Turned, ankles: Floats, up: Floats, stretch: float = 0.0
) -> Turned:
    """Bend legs to other ankles (F, L, 3). The pelvis is at `up` (F,); feet and toes keep their rotations."""
    hips = motion.places[:, :, HIP] + make_vertical(up)[:, None]
    thigh, shin, _ = leg_lengths(motion)
    there = dataclasses.replace(feet, ankles=ankles)
    bent = bend_legs(motion, bend_axes(motion, soles), there, up, hips, thigh + shin, stretch)
    return dataclasses.replace(bent, turns=np.concatenate([bent.turns[:, :, :FOOT], turned.turns[:, :, FOOT:]], axis=2))


def measure_leans(shins: Floats, turns: Floats, soles: Soles) -> Floats:
    """Measure the lean (F, L) of shins over soles.

    It is the sine of the angle by which a shin leans ahead.

    shins  (F, L, 3) from ankle to knee
    turns  (F, L, 4) of feet
    """
    ahead = normalise(rotations.rotate(turns, soles.ball - soles.heel))
    return dot(normalise(shins), ahead)


def find_largest_leans(motion: Motion, soles: Soles) -> Floats:
    """Find the largest lean (L,) of shins, as a sine.

    They are those of people, or a little more than those animated.
    """
    shins = motion.places[:, :, KNEE] - motion.places[:, :, ANKLE]
    animated = measure_leans(shins, motion.turns[:, :, FOOT], soles).max(axis=0)
    return np.maximum(np.sin(_MAX_LEAN_RAD), animated + _MORE_LEAN)


def find_early_heels(motion: Motion, soles: Soles, contacts: Contacts, feet: Feet) -> Bools:
    """Find frames (F, L) of early heel lift.

    The heels have left the ground though they were found to stand. They are at the end of a heel's contact, if the
    ball stands as long, from where the leg would be too short for a pelvis that keeps its height. A heel that rises
    brings the ankle nearer to the hip; else the pelvis would sink. Heels that have stood for as long leave, too, from
    where the shin would lean farther ahead over the foot than ankles bend.
    """
    up = base_heights(motion, feet.rise)
    hips = motion.places[:, :, HIP] + make_vertical(up)[:, None]
    since_start, until_end = measure_time_from(motion.times, ~contacts.heel)
    rolls = take_frames(contacts.ball, find_next_true(~contacts.heel) - 1)  # up to the heel's last frame
    ending = contacts.heel & contacts.ball & rolls & (until_end <= _MAX_LEAD_S)
    bent = bend_legs(motion, bend_axes(motion, soles), feet, up, hips, longest_reach(motion), 0.0)
    leans = measure_leans(knees_of(motion, bent) - bent.ankles, feet.turns, soles) > find_largest_leans(motion, soles)
    leans &= np.minimum(since_start, (motion.times - motion.times[0])[:, None]) >= _MAX_LEAD_S
    short = length(feet.ankles - hips) > longest_reach(motion)
    begun = find_last_true(ending & (short | leans)) > find_last_true(~ending)
    return ending & begun
