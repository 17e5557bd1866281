"""Find heels with an earlier end of contact, for short legs."""

from __future__ import annotations

import numpy as np

from poise.ground.contact.contacts import Contacts
from poise.ground.figure.motion import HIP, Motion
from poise.ground.legs.feet import Feet
from poise.ground.legs.pelvis import base_heights, longest_reach
from poise.maths.arrays import Bools
from poise.maths.frame_masks import find_last_true, measure_time_from
from poise.maths.vectors import make_vertical

_MAX_LEAD_S = 0.15  # [s] at most: a heel's rise is slow, and its end is known to about 0.1 s


def find_early_heels(motion: Motion, contacts: Contacts, feet: Feet) -> Bools:
    """Find frames (F, L) of early heel lift.

    The heels have left the ground though they were found to stand. They are at the end of a heel's contact, while the
    ball goes on standing, from where the leg would be too short for a pelvis that keeps its height. A heel that rises
    brings the ankle nearer to the hip; else the pelvis would sink.
    """
    up = make_vertical(base_heights(motion, feet.rise))[:, None]
    reach = np.linalg.norm(feet.ankles - motion.places[:, :, HIP] - up, axis=-1)
    _, until_end = measure_time_from(motion.times, ~contacts.heel)
    ending = contacts.heel & contacts.ball & (until_end <= _MAX_LEAD_S)
    short = ending & (reach > longest_reach(motion))
    begun = find_last_true(short) > find_last_true(~ending)
    return ending & begun
