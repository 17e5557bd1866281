"""Release: stances that a leg is too short to hold end early, or begin late, rather than fold up the other legs.

A foot that stands far behind or below pulls the pelvis down to it. Where the pelvis would come so low that another leg
folds up, whose knee then moves many times as fast as hip and ankle, the foot is let go before that.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from poise.ground.contact.contacts import Contacts
from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import HIP, Motion
from poise.ground.legs.feet import Feet
from poise.ground.legs.fold import rooms_below
from poise.ground.legs.heels import heel_room, lifted
from poise.ground.legs.pelvis import EASY, base_heights, chord_limits, leg_lengths, lowest_within_sink, sinks_for
from poise.ground.legs.reach import kept_on
from poise.maths.arrays import Bools, Floats
from poise.maths.vectors import make_vertical

_NEAREST = 0.25  # of a leg's length is what a pelvis that sinks leaves to another leg, from its hip to its ankle
_LEAST = 1.5  # times what that leg can fold to, if that is more: there its knee moves as fast as its ankle
_LONGEST = 0.25  # [s] at each end of a stance: a foot that is let go sooner would hang in the air
_LEFT = 0.1  # of a stance is left, in its middle


def overstretched(motion: Motion, soles: Soles, feet: Feet, standing: Bools, footing: Footing) -> Bools:
    """Whether (F, L) a foot stands where the pelvis must sink for it by more than the other legs have room for."""
    base = base_heights(motion, feet.rise)
    least, length = _least_chords(motion)
    sinks = sinks_for(motion, feet.ankles, base, EASY * length)
    if sinks[standing].max(initial=0.0) <= max(_rooms(motion, feet.ankles, base, least).min(initial=np.inf), 0.0):
        return np.zeros_like(standing)  # in no frame by more than in any other there is room for: most clips end here
    easy, _ = chord_limits(motion, standing, kept_on(feet, footing))
    sinks = sinks_for(motion, lifted(feet, heel_room(motion, feet)).ankles, base, easy)
    let_down = feet.ankles - make_vertical(rooms_below(motion, soles, feet, standing, footing))
    rooms = lowest_within_sink(motion, _rooms(motion, let_down, base, least))
    legs = range(rooms.shape[1])
    others = np.stack([np.delete(rooms, leg, axis=1).min(axis=1, initial=np.inf) for leg in legs], axis=1)
    return standing & (sinks > np.maximum(others, 0.0))


def _least_chords(motion: Motion) -> tuple[Floats, Floats]:
    """How near (F, L) a pelvis that sinks may bring each hip to its ankle [m]; and the lengths of the legs."""
    thigh, shin, posed = leg_lengths(motion)
    length = thigh + shin
    return np.minimum(np.maximum(_NEAREST * length, _LEAST * np.abs(thigh - shin)), posed), length


def _rooms(motion: Motion, ankles: Floats, base: Floats, least: Floats) -> Floats:
    """How far (F, L) the pelvis may sink below its base (F,) before a hip is nearer to its ankle than `least`."""
    away = motion.places[:, :, HIP] - ankles
    high = least**2 - (away[..., :2] ** 2).sum(axis=-1)
    return np.where(high > 0.0, base[:, None] + away[..., 2] - np.sqrt(np.maximum(high, 0.0)), np.inf)


def released(contacts: Contacts, over: Bools) -> Contacts:
    """Contacts (F, L) whose stances end before, or begin after, the frames near their ends in which a leg cannot hold.

    Not at the ends of the clip: how the stance goes on there is not known.
    """
    heel, ball = contacts.heel.copy(), contacts.ball.copy()
    times, stands = contacts.times, contacts.any
    for leg in np.flatnonzero(over.any(axis=0)):
        turns = np.flatnonzero(np.diff(stands[:, leg], prepend=False, append=False))
        for start, end in turns.reshape(-1, 2):
            bad = start + np.flatnonzero(over[start:end, leg])
            spared = 0.5 * (1.0 - _LEFT) * (end - start)
            early = bad[(bad < start + spared) & (times[bad] - times[start] <= _LONGEST) & (start > 0)]
            late = bad[(bad >= end - spared) & (times[end - 1] - times[bad] <= _LONGEST) & (end < len(times))]
            first, last = max(early, default=start - 1) + 1, min(late, default=end)
            for stand in (heel, ball):
                stand[start:first, leg] = stand[last:end, leg] = False
    return dataclasses.replace(contacts, heel=heel, ball=ball)
