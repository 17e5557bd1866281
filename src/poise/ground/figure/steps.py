"""Frame acceleration: second differences of points, and runs of contact frames.

A large one is seen as a pop, an acceleration spike. The change of step is d2 = |p+ - 2 p + p-|. It is not filtered, and
counts in the clip's own frames [mm per frame^2]; above 120 frames a second every (f / 120)th frame is looked at.
"""

from __future__ import annotations

import numpy as np

from poise import kernels
from poise.ground.figure.motion import Motion
from poise.ground.figure.speeds import Shots, lowest_near, shots_of
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.frame_masks import measure_step
from poise.maths.vectors import median

_GAP = 10.0  # a step this many times as long as the median is a gap
_FINEST = 120.0  # [frames/s] above it frames are passed over
NEAR = 0.1  # [s] before and after: the largest of the source there is what a frame is compared with
MM = 1000.0  # [mm/m]


def spans(times: Floats) -> Floats:
    """The time (F - 1,) between frames [s]; 0 across gaps."""
    steps = np.diff(times)
    return np.where(steps <= _GAP * median(steps[steps > 0]), steps, 0.0) if (steps > 0).any() else steps


def runs(held: Bools, times: Floats) -> list[Ints]:
    """Return the frames of each contact run. Neighbours in contact `held` (F,) form a run, with no gap between them."""
    frames = np.flatnonzero(held)
    apart = (np.diff(frames) > 1) | (spans(times)[frames[1:] - 1] == 0)
    return np.split(frames, np.flatnonzero(apart) + 1) if len(frames) else []


def changes_of_step(times: Floats, places: Floats, shots: Ints | None = None) -> Floats:
    """Compute second differences |p+ - 2 p + p-| (F, J) [mm].

    The points (F, J, 3) are in [m]. The result is 0 at the ends, beside gaps, and from shot (F,) to shot.
    """
    stride, found = stride_of(times), np.zeros(places.shape[:2])
    if len(times) <= 2 * stride:
        return found
    kernels.ground.legs.measure_step_changes(np.ascontiguousarray(places), _parts(times, shots), stride, found)
    return MM * found


def stride_of(times: Floats) -> int:
    """Over how many frames each way changes of step are looked at."""
    return max(1, round(1.0 / (_FINEST * measure_step(times)))) if measure_step(times) > 0 else 1


def _parts(times: Floats, shots: Ints | None) -> Ints:
    """Number the parts (F,) of a clip between gaps and cuts. `shots` (F,) gives the cuts."""
    across = spans(times) == 0.0
    if shots is not None:
        across |= np.diff(shots) != 0
    return np.concatenate([[0], np.cumsum(across)])


def largest_near(times: Floats, changes: Floats, shots: Shots) -> Floats:
    """Find the largest second differences (F, J) around each frame.

    They are taken within 0.1 s, in the frame's own shot.
    """
    return -lowest_near(times, -changes, shots, NEAR)


def has_neighbours(motion: Motion) -> Bools:
    """Return whether (F,) frames have neighbours on both sides.

    There are none at the ends, beside gaps, and from shot to shot.
    """
    parts, found = _parts(motion.times, shots_of(motion).first), np.zeros(len(motion), dtype=np.bool_)
    found[1:-1] = parts[2:] == parts[:-2]
    return found
