"""Reach: pelvis, heels, legs and toes, in this order, so that every foot gets to its place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.ground.contact.contacts import Contacts
from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import HIP, Motion, rows_of, with_rows
from poise.ground.legs.calm import LESS, calm_chords, pops
from poise.ground.legs.feet import Feet
from poise.ground.legs.fold import let_down, unfolded
from poise.ground.legs.heels import heel_room, lifted, needed_lift
from poise.ground.legs.legs import Turned, bend_axes, bend_legs, soft_chords
from poise.ground.legs.pelvis import chord_limits, kept_share, pelvis_heights
from poise.ground.legs.toes import heels_to_lower, raise_toes, step_back
from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import find_frames_near
from poise.maths.vectors import make_vertical

_CALMER = (0.02, 0.035, 0.05)  # [s] before and after: how smoothly knees that pop come to their bend, in turn
_FELT = 0.8  # [s] from a knee that pops up to where the figure may change when it is made calmer
_AROUND = 0.6  # [s] and how much farther what comes there depends on
_STEPS_BACK = 6  # feet are taken back so often at most: their toes bend anew each time


def reach_feet(
    motion: Motion, soles: Soles, contacts: Contacts, feet: Feet, footing: Footing, stretch: float
) -> Turned:
    """Bring the figure to its feet.

    The pelvis goes where all legs that stand reach without getting nearly straight, once their free heels are lifted;
    then heels are lifted only as far as they must be. A leg in the air may fall short of its foot, softly. Toes bend
    out of the ground last; a foot that leaves the ground in front of a riser steps back from it.
    """
    kept, axes = kept_on(feet, footing), bend_axes(motion, soles)
    easy, most = chord_limits(motion, contacts.any, kept)
    task = Reaching(motion, soles, contacts.any, feet, easy, most, axes, footing, stretch, kept)
    first = turned = _reached(task, np.inf)
    popping = pops(motion, turned)
    where = popping > 0.0
    for seconds in _CALMER:
        if not popping.any():
            break
        again = _calmer(task, first, where, seconds)
        left = pops(motion, again)
        where |= left > 0.0
        if left.sum() < popping.sum() - LESS:
            turned, popping = again, left
    return turned


class Reaching(NamedTuple):
    """What feet are to be reached by a motion; where legs stand (F, L); chords are made shorter from `easy` on.

    easy, most  (F, L) see `chord_limits`
    axes        (F, L, 3) see `bend_axes`
    kept        see `kept_share`
    """

    motion: Motion
    soles: Soles
    standing: Bools
    feet: Feet
    easy: Floats
    most: Floats
    axes: Floats
    footing: Footing
    stretch: float
    kept: float

    def part(self, frames: Bools) -> Reaching:
        """Some frames (F,) of it."""
        return self._replace(
            motion=self.motion.part(frames),
            standing=self.standing[frames],
            feet=rows_of(self.feet, frames),
            easy=self.easy[frames],
            most=self.most[frames],
            axes=self.axes[frames],
        )


def _calmer(task: Reaching, first: Turned, where: Bools, seconds: float) -> Turned:
    """The first try with knees that pop (F, L) made calmer; only frames that can feel it are worked out anew."""
    times, popping = task.motion.times, where.max(axis=1)
    felt = find_frames_near(
        times, popping, _FELT + _AROUND
    )  # what comes in between these frames is wrong near their ends
    part, before = task.part(felt), rows_of(first, felt)
    longest = calm_chords(part.motion, before, part.standing, where[felt], seconds)
    return with_rows(first, felt, _reached(part, longest), find_frames_near(times, popping, _FELT))


def _reached(task: Reaching, longest: Floats | float) -> Turned:
    """Reach the feet with chords (F, L) with which no knee pops: the pelvis sinks, and a foot in the air gives way."""
    motion, soles, standing, feet, easy, most, axes, footing, stretch, kept = task
    down = heels_to_lower(motion, soles, feet, footing)
    feet = lifted(feet, -down)
    room = np.where(down > 0.0, 0.0, heel_room(motion, feet))
    room = np.maximum(room - heels_to_lower(motion, soles, lifted(feet, room), footing), 0.0)
    up = pelvis_heights(motion, lifted(feet, room).ankles, feet.rise, np.minimum(easy, longest), standing)
    hips = motion.places[:, :, HIP] + make_vertical(up)[:, None]
    feet = let_down(motion, soles, feet, hips, standing, footing, kept)
    feet = unfolded(motion, soles, feet, hips, standing, footing)
    chords = soft_chords(feet, hips, easy, most)
    chords = np.where(standing, chords, np.minimum(chords, longest))
    feet = lifted(feet, needed_lift(feet, hips, chords, room))

    def turned_to(feet: Feet) -> Turned:
        return raise_toes(motion, soles, feet, bend_legs(motion, axes, feet, up, hips, chords, stretch), footing)

    turned = turned_to(feet)
    for _ in range(_STEPS_BACK):
        clear = step_back(motion, soles, feet, turned, standing, footing)
        if clear is feet:
            break
        feet = clear
        turned = turned_to(feet)
    return turned


def kept_on(feet: Feet, footing: Footing) -> float:
    """`kept_share` of the ground under the feet of a clip: one number, so that legs do not change their ways."""
    tilt = 2.0 * np.arccos(np.clip(np.abs(feet.tilt[..., 0]), 0.0, 1.0)).max(initial=0.0)
    return kept_share(float(tilt), float(np.ptp(footing.heights(feet.ankles))))
