"""Jumps: the change of step of single frames, which filtered accelerations cannot see.

The step of a point is its way from one frame to the next; its change d2 = |p+ - 2 p + p-| is what an eye sees as a pop.
It is not filtered, and counts in the clip's own frames [mm per frame^2]; above 120 frames a second every (f / 120)th
frame is looked at. What an edit may add to the source's own grows with the square of the time between frames.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from poise.ground.figure.motion import ANKLE, END, HIP, KNEE, Motion
from poise.ground.figure.speeds import shots_of
from poise.ground.figure.steps import bounds_of_step, changes_of_step
from poise.ground.terrain.shapes import Plane
from poise.ground.terrain.terrain import Terrain
from poise.maths.arrays import Floats

ROOM, ROOM_ON_STEPS = 5.0, 8.0  # [mm per frame^2 at 120 frames/s] that may be added to it; the second on uneven ground
_PARTS = ((HIP, "hip"), (KNEE, "knee"), (ANKLE, "ankle"), (END, "toe"))


def is_even(terrain: Terrain) -> bool:
    """Whether the ground is a plane: bounds are wider on other ground."""
    return isinstance(terrain.surface, Plane)


def room_on(terrain: Terrain) -> float:
    """What may be added to changes of step on this ground [mm per frame^2 at 120 frames/s]."""
    return ROOM if is_even(terrain) else ROOM_ON_STEPS


@dataclass(frozen=True, eq=False)
class Jumps:
    """Changes of step of J joints in F frames, of the source and of what was made of it.

    Parameters
    ----------
    joints
        Names: "left hip", "left knee", "left ankle", "left toe", ..., "head" where it is known,
        and hands and elbows of a figure that has more than its feet on the ground.
    before, after
        (F, J) [mm per frame^2] of the source and of the result.
    bound
        (F, J) the largest of the source within 0.1 s, and the room that an edit has.
    """

    joints: tuple[str, ...]
    before: Floats
    after: Floats
    bound: Floats

    @property
    def worst(self) -> tuple[int, int]:
        """The frame and the joint where the result is farthest above its bound, or least below it."""
        frame, joint = np.unravel_index(int((self.after - self.bound).argmax()), self.after.shape)
        return int(frame), int(joint)

    @property
    def largest(self) -> Floats:
        """(2, J) the largest of the source and of the result."""
        return np.stack([self.before.max(axis=0, initial=0.0), self.after.max(axis=0, initial=0.0)])


def jumps_of(
    motions: tuple[Motion, Motion], others: Mapping[str, tuple[Floats, Floats]] | None = None, *, room: float = ROOM
) -> Jumps:
    """Compare the steps of a result with those of its source.

    others  names and places (F, 3) [m] in both of joints that are no legs'
    room    [mm per frame^2 at 120 frames/s] that the result may have beyond the source
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
    return Jumps((*names, *others), before, after, bounds_of_step(times, before, shots, room))
