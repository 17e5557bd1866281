"""Reach: pelvis, heels, legs and toes, in this order, so that every foot gets to its place."""

from __future__ import annotations

import numpy as np

from poise.ground.contact.contacts import Contacts
from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import HIP, Motion
from poise.ground.legs.calm import LESS, calm_chords, pops
from poise.ground.legs.feet import Feet
from poise.ground.legs.fold import unfolded
from poise.ground.legs.heels import heel_room, lifted, needed_lift
from poise.ground.legs.legs import Turned, bend_axes, bend_legs, soft_chords
from poise.ground.legs.pelvis import chord_limits, kept_share, pelvis_heights
from poise.ground.legs.toes import heels_to_lower, raise_toes, step_back
from poise.maths.arrays import Floats
from poise.maths.vectors import raised

_CALMER = (0.02, 0.035, 0.05)  # [s] before and after: how smoothly knees that pop come to their bend, in turn
_STEPS_BACK = 6  # feet are taken back so often at most: their toes bend anew each time


def reach_feet(
    motion: Motion, soles: Soles, contacts: Contacts, feet: Feet, footing: Footing, stretch: float
) -> Turned:
    """Bring the figure to its feet.

    The pelvis goes where all legs that stand reach without getting nearly straight, once their free heels are lifted;
    then heels are lifted only as far as they must be. A leg in the air may fall short of its foot, softly. Toes bend
    out of the ground last; a foot that leaves the ground in front of a riser steps back from it.
    """
    easy, most = chord_limits(motion, contacts.any, kept_on(feet, footing))
    first = turned = _reached(motion, soles, contacts, feet, footing, stretch, (easy, most), np.inf)
    popping = pops(motion, turned)
    where = popping > 0.0
    for seconds in _CALMER:
        if not popping.any():
            break
        longest = calm_chords(motion, first, contacts.any, where, seconds)
        again = _reached(motion, soles, contacts, feet, footing, stretch, (easy, most), longest)
        left = pops(motion, again)
        where |= left > 0.0
        if left.sum() < popping.sum() - LESS:
            turned, popping = again, left
    return turned


def _reached(
    motion: Motion,
    soles: Soles,
    contacts: Contacts,
    feet: Feet,
    footing: Footing,
    stretch: float,
    limits: tuple[Floats, Floats],
    longest: Floats | float,
) -> Turned:
    """The same with chords of legs that are made shorter from `easy` on and are `most` at most, (F, L) each.

    longest  (F, L) chords with which no knee pops: the pelvis sinks for these, and a foot in the air gives way
    """
    easy, most = limits
    down = heels_to_lower(motion, soles, feet, footing)
    feet = lifted(feet, -down)
    room = np.where(down > 0.0, 0.0, heel_room(motion, feet))
    room = np.maximum(room - heels_to_lower(motion, soles, lifted(feet, room), footing), 0.0)
    up = pelvis_heights(motion, lifted(feet, room).ankles, feet.rise, np.minimum(easy, longest), contacts.any)
    hips = motion.places[:, :, HIP] + raised(up)[:, None]
    feet = unfolded(motion, soles, feet, hips, contacts.any, footing)
    chords = soft_chords(feet, hips, easy, most)
    chords = np.where(contacts.any, chords, np.minimum(chords, longest))
    feet = lifted(feet, needed_lift(feet, hips, chords, room))
    axes = bend_axes(motion, soles)

    def turned_to(feet: Feet) -> Turned:
        return raise_toes(motion, soles, feet, bend_legs(motion, axes, feet, up, hips, chords, stretch), footing)

    turned = turned_to(feet)
    for _ in range(_STEPS_BACK):
        clear = step_back(motion, soles, feet, turned, contacts.any, footing)
        if clear is feet:
            break
        feet = clear
        turned = turned_to(feet)
    return turned


def kept_on(feet: Feet, footing: Footing) -> float:
    """`kept_share` of the ground under the feet of a clip: one number, so that legs do not change their ways."""
    tilt = 2.0 * np.arccos(np.clip(np.abs(feet.tilt[..., 0]), 0.0, 1.0)).max(initial=0.0)
    return kept_share(float(tilt), float(np.ptp(footing.heights(feet.ankles))))
