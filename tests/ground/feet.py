"""Feet for the tests of ground/: two legs that stand, what their soles are, and what is asked of them."""

from __future__ import annotations

import dataclasses

import numpy as np

from poise import Terrain
from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, FOOT
from poise.ground.legs.feet import Feet
from poise.ground.legs.legs import Turned
from poise.maths import rotations
from tests.ground.motions import moved, path, two_legs

SOLES = Soles(*(np.array([point] * 2) for point in ([0.0, 0.05, -0.1], [0.0, -0.15, -0.1], [0.0, -0.05, -0.03])))
"""Heel, ball and tip of the feet of `two_legs`: on the floor while they stand."""


def standing(frames=1, *, toes=True, offset=(0.0, 0.0, 0.0), fps=60.0):
    """Both legs, standing all the time."""
    here = path(frames) + np.array(offset)
    return dataclasses.replace(moved(here, here, fps), figure=two_legs(toes=toes))


def feet_of(motion, soles=SOLES, free=False):
    """What is asked of feet that stay as they are animated."""
    turns, ankles = motion.turns[:, :, FOOT].copy(), motion.places[:, :, ANKLE].copy()
    tilt = np.broadcast_to(rotations.IDENTITY, turns.shape).copy()
    pivots = ankles + rotations.rotate(turns, np.broadcast_to(soles.ball, ankles.shape))
    across = rotations.rotate(turns, np.broadcast_to([1.0, 0.0, 0.0], ankles.shape))
    return Feet(turns, ankles, tilt, np.zeros(turns.shape[:2]), pivots, across, np.full(turns.shape[:2], free))


def unturned(motion):
    """Legs as animated."""
    shape = motion.turns.shape[:2]
    turns = np.broadcast_to(rotations.IDENTITY, motion.turns.shape).copy()
    return Turned(np.zeros(len(motion)), turns, motion.places[:, :, ANKLE].copy(), np.zeros(shape), np.ones(shape))


def footing_of(height):
    """The ground of a function (x, y) under the two legs."""
    return Footing(Terrain.function(height, up="z"), two_legs())
