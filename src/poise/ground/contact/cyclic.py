"""Pad looping clips in place with repeats on both sides.

Planting the padded clip makes its ends meet. A walk that is made to be repeated has no first and no last frame:
whatever is smoothed, averaged or decided over a span of time must look across the seam. So the motion is repeated, and
only the repeat in the middle is kept.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from poise.ground.contact.contacts import Contacts
from poise.ground.contact.plants import Plants, Stances
from poise.ground.figure.motion import Frames, Motion, rows_of
from poise.maths import rotations
from poise.maths.arrays import Ints

CLOSE_M = 0.001  # [m] the legs of a loop end so near to where they started
_TURNED = np.radians(0.1)  # and turned by at most so much
_REACH = 1.0  # [s] repeats on either side are so long together: the ends of a motion are felt no farther


def closes(motion: Motion) -> bool:
    """Return whether the clip ends in its first pose.

    Positions and rotations of all joints of the legs are compared.
    """
    apart = np.linalg.norm(motion.places[-1] - motion.places[0], axis=-1).max()
    between = rotations.multiply(rotations.inverse(motion.turns[0]), motion.turns[-1])
    return bool(apart <= CLOSE_M and np.linalg.norm(rotations.as_vector(between), axis=-1).max() <= _TURNED)


def repeats_of(motion: Motion) -> Repeats:
    """How often a loop is repeated."""
    length = motion.times[-1] - motion.times[0]
    return Repeats(len(motion), int(np.ceil(_REACH / length)) if length > 0 else 0)


class Repeats(NamedTuple):
    """F frames and `around` repeats of them on each side.

    Clips with different ends have none. Neighbours share a frame: (2 around + 1) (F - 1) + 1 in all. The middle
    has the frames and the times of the clip.
    """

    frames: int
    around: int = 0

    @property
    def middle(self) -> slice:
        """The frames of the clip itself."""
        start = self.around * (self.frames - 1)
        return slice(start, start + self.frames)

    @property
    def rows(self) -> Ints:
        """The frame of the clip for each frame of the padded clip."""
        own = np.arange(self.frames)
        return np.concatenate([*[own[:-1]] * self.around, own, *[own[1:]] * self.around])

    def finer(self, times: int) -> Repeats:
        """Return the repeats of upsampled motions. They have `times` frames for each of these (`Motion.finer`)."""
        return Repeats((self.frames - 1) * times + 1, self.around)

    def of_motion(self, motion: Motion) -> Motion:
        """The motion, repeated."""
        if not self.around:
            return motion
        times, length, turns = motion.times, motion.times[-1] - motion.times[0], range(1, self.around + 1)
        before = [times[:-1] - turn * length for turn in reversed(turns)]
        clock = np.concatenate([*before, times, *(times[1:] + turn * length for turn in turns)])
        return Motion(motion.figure, clock, motion.places[self.rows], motion.turns[self.rows])

    def of_contacts(self, contacts: Contacts, motion: Motion) -> Contacts:
        """Contacts of the middle, repeated for a repeated motion."""
        return Contacts(contacts.legs, motion.times, contacts.heel[self.rows], contacts.ball[self.rows])

    def take_middle(self, value: Frames) -> Frames:
        """Return the middle of a frozen value. Each of its arrays has a row for each frame."""
        return rows_of(value, self.middle) if self.around else value

    def plants(self, plants: Plants) -> Plants:
        """Return the plants of stances in the middle. They may begin or end at its seams."""
        if not self.around:
            return plants
        leg, start, end, flat = plants.stances
        first, last = self.middle.start, self.middle.stop
        here = (start < last) & (end > first)
        start, end = (np.clip(frame, first, last) - first for frame in (start, end))
        rows = {f.name: getattr(plants, f.name)[here] for f in dataclasses.fields(plants) if f.name != "stances"}
        return Plants(Stances(leg[here], start[here], end[here], flat[here]), **rows)
