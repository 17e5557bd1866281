"""Acceleration spikes of single frames, and hitches of knees.

Filtered accelerations hide changes of step of single frames.

The step of a point is its way from one frame to the next; its change d2 = |p+ - 2 p + p-| is what an eye sees as a pop.
It is not filtered, and counts in the clip's own frames [mm per frame^2]; above 120 frames a second every (f / 120)th
frame is looked at. What a result may have beyond the source's largest within 0.1 s is the same at every frame rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poise.ground.contact.contacts import Contacts
from poise.ground.figure.motion import ANKLE, END, HIP, KNEE, Motion
from poise.ground.figure.speeds import shots_of
from poise.ground.figure.steps import NEAR, changes_of_step, largest_near, runs, spans
from poise.ground.terrain.shapes import Plane
from poise.ground.terrain.terrain import Terrain
from poise.maths.arrays import Bools, Floats

_POP, _ALONE = 20.0, 4.0  # [mm per frame^2] of a pop of the source, and how many times what is around it
_BESIDE, _AROUND = 3, 0.2  # [frames], [s] of a pop, from where to where what is around it is looked at
_HALTED, _MOVING = 0.5, 0.25  # of the source's step, where that is faster than so many [m/s]
_PARTS = ((HIP, "hip"), (KNEE, "knee"), (ANKLE, "ankle"), (END, "toe"))


def is_even(terrain: Terrain) -> bool:
    """Whether the ground is a plane: bounds are wider on other ground."""
    return isinstance(terrain.surface, Plane)


@dataclass(frozen=True, eq=False)
class Jumps:
    """Changes of step of J joints, of source and result. In F frames.

    Parameters
    ----------
    joints
        Names: "left hip", "left knee", "left ankle", "left toe", ..., "head" where it is known,
        hands where they are known, elbows of a figure that has more than its feet on the ground.
    before, after
        (F, J) [mm per frame^2] of the source and of the result.
    allowed
        (F, J) the largest of the source within 0.1 s.
    room
        What a result may have beyond that.
    pops
        (F, J) where a hip, a knee or the head of the source itself pops: far more than what is around it.
    """

    joints: tuple[str, ...]
    before: Floats
    after: Floats
    allowed: Floats
    room: float
    pops: Bools

    @property
    def bound(self) -> Floats:
        """(F, J) what changes of step may be."""
        return self.allowed + self.room

    @property
    def excess(self) -> dict[str, float]:
        """Largest excess over the source's largest step change, by joint.

        The source's within 0.1 s counts; 0 where the result has less.
        """
        most = np.maximum((self.after - self.allowed).max(axis=0, initial=0.0), 0.0)
        return dict(zip(self.joints, most.tolist(), strict=True))

    @property
    def worst(self) -> tuple[int, int]:
        """Frame and joint of the largest excess over the bound. Where none is above its bound, of the least margin."""
        frame, joint = np.unravel_index(int((self.after - self.bound).argmax()), self.after.shape)
        return int(frame), int(joint)

    @property
    def largest(self) -> Floats:
        """(2, J) the largest of the source and of the result."""
        return np.stack([self.before.max(axis=0, initial=0.0), self.after.max(axis=0, initial=0.0)])


def jumps_of(
    motions: tuple[Motion, Motion], others: Mapping[str, tuple[Floats, Floats]] | None = None, *, room: float = 0.0
) -> Jumps:
    """Compare the steps of a result with those of its source.

    others  names and places (F, 3) [m] in both of joints that are no legs'
    room    [mm per frame^2] that the result may have beyond the source's largest within 0.1 s
    """
    times, shots, others = motions[0].times, shots_of(motions[0]), others or {}
    legs = [leg.name for leg in motions[0].figure.legs]
    names = [f"{leg} {part}" for leg in legs for _, part in _PARTS]
    places = [
        np.concatenate(
            [
                motion.places[:, :, [part for part, _ in _PARTS]].reshape(len(times), -1, 3),
                *(both[which][:, None] for both in others.values()),
            ],
            axis=1,
        )
        for which, motion in enumerate(motions)
    ]
    before, after = (changes_of_step(times, place, shots.first) for place in places)
    allowed = largest_near(times, before, shots)
    names = (*names, *others)
    smooth = np.array([name.endswith(("hip", "knee", "head")) for name in names])  # feet and hands may hit something
    pops = _pops(before, motions[0].frames(_AROUND)) & smooth
    return Jumps(names, before, after, allowed, room, pops)


def _pops(before: Floats, around: int) -> Bools:
    """Find source spikes (F, J): large and isolated changes of step."""
    calm = np.zeros(before.shape)
    for shift in range(_BESIDE, min(max(around, 2 * _BESIDE), len(before) - 1) + 1):
        calm[shift:] = np.maximum(calm[shift:], before[:-shift])
        calm[:-shift] = np.maximum(calm[:-shift], before[shift:])
    return (before > _POP) & (before > _ALONE * calm)


class Hitch(NamedTuple):
    """A halted knee near a toe-off or landing of a moving source."""

    leg: str
    kind: str  # "toe-off" or "landing"
    frame: int


class Hitches(NamedTuple):
    """Counts of toe-offs and landings, and the knee hitches at them."""

    toe_offs: int
    landings: int
    found: tuple[Hitch, ...]


def hitches_of(motions: tuple[Motion, Motion], contacts: Contacts) -> Hitches:
    """Find hitches of knees near toe-offs and landings. A hitch is a step of less than half of the source's.

    Within 0.1 s before a toe-off and after a landing, in steps in which the source's knee is faster than 0.25 m/s.
    """
    times, near = motions[0].times, max(1, motions[0].frames(NEAR))
    before, after = (np.linalg.norm(np.diff(motion.places[:, :, KNEE], axis=0), axis=-1) for motion in motions)
    halted = (before > _MOVING * spans(times)[:, None]) & (after < _HALTED * before)
    count, found = {"toe-off": 0, "landing": 0}, list[Hitch]()
    for leg, name in enumerate(contacts.legs):
        for rows in runs(contacts.any[:, leg], times):
            first, last = max(0, int(rows[-1]) - near), int(rows[-1]) + 1
            near_ends = ("landing", rows[0], slice(rows[0], rows[0] + near)), ("toe-off", rows[-1], slice(first, last))
            for kind, frame, steps in near_ends:
                if 0 < frame < len(times) - 1:
                    count[kind] += 1
                    if halted[steps, leg].any():
                        found.append(Hitch(name, kind, int(frame)))
    return Hitches(count["toe-off"], count["landing"], tuple(found))
