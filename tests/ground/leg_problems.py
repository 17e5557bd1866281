"""Leg problems for the tests of ground/: two legs that stand, swing or hang over some ground."""

from __future__ import annotations

import dataclasses

import numpy as np

from poise.ground.contact.contacts import Contacts
from poise.ground.figure.motion import ANKLE, HIP, KNEE
from poise.ground.trajectory.settling import make_problem, settle_legs
from tests.ground.feet import SOLES, feet_of, standing


def list_contacts(motion, *, heel=True, ball=True):
    """List contacts of heels and balls; each a flag, or flags (F, L)."""
    shape = motion.places.shape[:2]
    heels, balls = (np.array(np.broadcast_to(flags, shape)) for flags in (heel, ball))
    return Contacts(("left", "right"), motion.times, heels, balls)


def crouching(frames=12, *, fps=60.0, lower=0.05, toes=True):
    """Make two legs that stand with their hips lower than straight legs allow [m]."""
    motion = standing(frames, fps=fps, toes=toes)
    places = motion.places.copy()
    places[:, :, HIP, 2] -= lower
    places[:, :, KNEE, 2] -= lower / 2
    places[:, :, KNEE, 1] -= np.sqrt(0.4**2 - (0.4 - lower / 2) ** 2)
    return dataclasses.replace(motion, places=places)


def place(motion, offsets):
    """Place feet that are away by offsets (F, L, 3) from where they are animated."""
    feet = feet_of(motion)
    return dataclasses.replace(feet, ankles=feet.ankles + offsets, pivots=feet.pivots + offsets)


def pose(motion, footing, *, feet=None, contacts=None, still=False, stretch=0.0):
    """Make the problem of a motion."""
    return make_problem(*_list_arguments(motion, footing, feet, contacts, still, stretch))


def settle(motion, footing, *, feet=None, contacts=None, still=False, stretch=0.0):
    """Settle the legs of a motion."""
    return settle_legs(*_list_arguments(motion, footing, feet, contacts, still, stretch))


def _list_arguments(motion, footing, feet, contacts, still, stretch):
    feet = feet_of(motion) if feet is None else feet
    contacts = list_contacts(motion) if contacts is None else contacts
    return motion, SOLES, contacts, feet, np.array(np.broadcast_to(still, len(motion))), footing, stretch


def measure_chords(motion, turned):
    """Measure the distances (F, L) from hips to ankles [m]."""
    hips = motion.places[:, :, HIP] + turned.up[:, None, None] * [0.0, 0.0, 1.0]
    return np.linalg.norm(turned.ankles - hips, axis=-1)


def measure_ankle_moves(motion, turned):
    """Measure how far ankles (F, L, 3) went from where they are animated [m]."""
    return turned.ankles - motion.places[:, :, ANKLE]
