"""Jumps: the change of step of single frames, which filtered accelerations cannot see.

The step of a point is its way from one frame to the next; its change d2 = |p+ - 2 p + p-| is what an eye sees as a pop.
It is not filtered, and counts in the clip's own frames [mm per frame^2]; above 120 frames a second every (f / 120)th
frame is looked at. What an edit may add to the source's own grows with the square of the time between frames.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.ground.figure.motion import ANKLE, END, HIP, KNEE, Motion, step_of
from poise.ground.figure.speeds import lowest_near, shots_of
from poise.ground.report.measures import spans
from poise.maths.arrays import Floats, Ints

FINEST = 120.0  # [frames/s] above it frames are passed over
NEAR = 0.1  # [s] before and after: the largest of the source there is what a frame is compared with
ROOM, ROOM_ON_STEPS = 5.0, 8.0  # [mm per frame^2 at 120 frames/s] that may be added to it; the second on uneven ground
_MOST = 6.0  # times that this grows at most where frames are slower
_MM = 1000.0
_PARTS = ((HIP, "hip"), (KNEE, "knee"), (ANKLE, "ankle"), (END, "toe"))


@dataclass(frozen=True, eq=False)
class Jumps:
    """Changes of step of J joints in F frames, of the source and of what was made of it.

    Parameters
    ----------
    joints
        Names: "left hip", "left knee", "left ankle", "left toe", ..., and "head" where it is known.
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
    motions: tuple[Motion, Motion], heads: tuple[Floats, Floats] | None = None, *, room: float = ROOM
) -> Jumps:
    """Compare the steps of a result with those of its source.

    heads  places (F, 3) [m] of the head in both
    room   [mm per frame^2 at 120 frames/s] that the result may have beyond the source
    """
    times, shots = motions[0].times, shots_of(motions[0])
    legs = [leg.name for leg in motions[0].figure.legs]
    names = [f"{leg} {part}" for leg in legs for _, part in _PARTS]
    places = [motion.places[:, :, [part for part, _ in _PARTS]].reshape(len(times), -1, 3) for motion in motions]
    if heads is not None:
        names.append("head")
        places = [np.concatenate([place, head[:, None]], axis=1) for place, head in zip(places, heads, strict=True)]
    before, after = (changes_of_step(times, place, shots.first) for place in places)
    rate = min(1.0 / step_of(times), FINEST) if step_of(times) > 0 else FINEST
    bound = -lowest_near(times, -before, shots, NEAR) + room * min((FINEST / rate) ** 2, _MOST)
    return Jumps(tuple(names), before, after, bound)


def changes_of_step(times: Floats, places: Floats, shots: Ints | None = None) -> Floats:
    """|p+ - 2 p + p-| (F, J) [mm] of points (F, J, 3) [m]; 0 at the ends, beside gaps, and from shot (F,) to shot."""
    stride = max(1, round(1.0 / (FINEST * step_of(times)))) if step_of(times) > 0 else 1
    found = np.zeros(places.shape[:2])
    if len(times) <= 2 * stride:
        return found
    across = spans(times) == 0.0
    if shots is not None:
        across |= np.diff(shots) != 0
    broken = np.concatenate([[0], np.cumsum(across)])
    second = places[2 * stride :] - 2.0 * places[stride:-stride] + places[: -2 * stride]
    whole = broken[2 * stride :] == broken[: -2 * stride]
    found[stride:-stride] = _MM * np.linalg.norm(second, axis=-1) * whole[:, None]
    return found
