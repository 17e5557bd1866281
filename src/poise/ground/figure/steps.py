"""Steps: the way of a point from one frame to the next, and how it changes, which an eye sees as a pop.

The change of step is d2 = |p+ - 2 p + p-|. It is not filtered, and counts in the clip's own frames [mm per frame^2];
above 120 frames a second every (f / 120)th frame is looked at. What an edit may add to the source's own grows with the
square of the time between frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from poise import kernels
from poise.ground.figure.motion import ANKLE, END, HIP, KNEE, Motion, step_of
from poise.ground.figure.speeds import Shots, lowest_near, shots_of
from poise.maths.arrays import Bools, Floats, Ints

_GAP = 10.0  # a step this many times as long as the median is a gap
_FINEST = 120.0  # [frames/s] above it frames are passed over
_NEAR = 0.1  # [s] before and after: the largest of the source there is what a frame is compared with
_MOST = 6.0  # times that the room of an edit grows at most where frames are slower
_MM = 1000.0
STEPPING = [HIP, KNEE, ANKLE, END]  # the places of a leg whose steps are looked at


def spans(times: Floats) -> Floats:
    """The time (F - 1,) between frames [s]; 0 across gaps."""
    steps = np.diff(times)
    return np.where(steps <= _GAP * np.median(steps[steps > 0]), steps, 0.0) if (steps > 0).any() else steps


def runs(held: Bools, times: Floats) -> list[Ints]:
    """The frames of each contact: neighbours that are held (F,), with no gap between them."""
    frames = np.flatnonzero(held)
    apart = (np.diff(frames) > 1) | (spans(times)[frames[1:] - 1] == 0)
    return np.split(frames, np.flatnonzero(apart) + 1) if len(frames) else []


def changes_of_step(times: Floats, places: Floats, shots: Ints | None = None) -> Floats:
    """|p+ - 2 p + p-| (F, J) [mm] of points (F, J, 3) [m]; 0 at the ends, beside gaps, and from shot (F,) to shot."""
    stride, found = stride_of(times), np.zeros(places.shape[:2])
    if len(times) <= 2 * stride:
        return found
    kernels.ground.legs.changes_of_step(np.ascontiguousarray(places), _parts(times, shots), stride, found)
    return _MM * found


def stride_of(times: Floats) -> int:
    """Over how many frames each way changes of step are looked at."""
    return max(1, round(1.0 / (_FINEST * step_of(times)))) if step_of(times) > 0 else 1


def _parts(times: Floats, shots: Ints | None) -> Ints:
    """Numbers (F,) that differ on the two sides of gaps, and of cuts between shots (F,)."""
    across = spans(times) == 0.0
    if shots is not None:
        across |= np.diff(shots) != 0
    return np.concatenate([[0], np.cumsum(across)])


def bounds_of_step(times: Floats, before: Floats, shots: Shots, room: float) -> Floats:
    """How large changes of step (F, J) [mm] may be: the source's largest within 0.1 s, and the room of an edit.

    room  [mm per frame^2 at 120 frames/s]
    """
    return -lowest_near(times, -before, shots, _NEAR) + _grown(times, room)


def _grown(times: Floats, room: float) -> float:
    """The room of an edit in frames of these times [mm per frame^2]."""
    rate = min(1.0 / step_of(times), _FINEST) if step_of(times) > 0 else _FINEST
    return room * min((_FINEST / rate) ** 2, _MOST)


@dataclass(frozen=True, eq=False)
class Steps:
    """The changes of step that the legs of a motion have themselves, which those of an edit are held against.

    first    (F,) the first frame of the shot that a frame belongs to
    largest  (F, L, 4) [mm] of hips, knees, ankles and ends of toes, the largest within 0.1 s
    """

    times: Floats
    first: Ints
    largest: Floats

    def bounds(self, room: float) -> Floats:
        """How large changes of step (F, L, 4) [mm] may be with the room of an edit [mm per frame^2 at 120 frames/s]."""
        return self.largest + _grown(self.times, room)

    @property
    def known(self) -> Bools:
        """(F,) where frames have neighbours on both sides: not at the ends, beside gaps, and from shot to shot."""
        parts, found = _parts(self.times, self.first), np.zeros(len(self.times), dtype=np.bool_)
        found[1:-1] = parts[2:] == parts[:-2]
        return found

    def changes(self, places: Floats) -> Floats:
        """The changes of step (F, ...) [mm] of points (F, ..., 3) [m]."""
        points = places.reshape(len(places), -1, 3)
        return changes_of_step(self.times, points, self.first).reshape(places.shape[:-1])


_KNOWN: WeakKeyDictionary[Motion, Steps] = WeakKeyDictionary()


def steps_of(motion: Motion) -> Steps:
    """What the changes of step of a motion's legs are; it is worked out once for each motion."""
    if motion not in _KNOWN:
        shots = shots_of(motion)
        places = motion.places[:, :, STEPPING].reshape(len(motion), -1, 3)
        before = changes_of_step(motion.times, places, shots.first)
        largest = -lowest_near(motion.times, -before, shots, _NEAR)
        _KNOWN[motion] = Steps(motion.times, shots.first, largest.reshape(len(motion), -1, len(STEPPING)))
    return _KNOWN[motion]
