"""Velocities and lowest heights within the shots of a clip.

Time spans are in seconds, so that the frame rate does not matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.ground.figure.motion import BALL, Motion
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.vectors import length
from poise.runtime.result_cache import get_or_compute

_FASTEST = np.array([15.0, 40.0, 40.0])  # [m/s] hips, knees, ankles: a sprinter's hips reach 12, the ankles 25
_ALONE = 0.03  # [m] how far the legs move on from a reference pose in the first frame, at least
_FEW = 4  # frames that are too few to tell


class Shots(NamedTuple):
    """The shots of a clip. They are given by the first and the last frame (F,) of the shot of each frame."""

    first: Ints
    last: Ints


def shots_of(motion: Motion) -> Shots:
    """Find the cuts of a clip.

    They are steps at which legs are faster than anybody runs, and the end of a lone first frame. Many captured clips
    begin with one frame of a reference pose, often at the place where the motion starts: the first frame is alone if
    the legs move 3 cm on to the second, and twice as fast as in the next three steps.
    """
    return get_or_compute(motion, "shots", None, lambda: _find_shots(motion))


def _find_shots(motion: Motion) -> Shots:
    frames = len(motion)
    moved = length(np.diff(motion.places[:, :, :BALL], axis=0))  # (F - 1, L, 3) hip, knee, ankle
    step = np.diff(motion.times)
    cut: Bools = np.any(moved > step[:, None, None] * _FASTEST + 0.01, axis=(1, 2))  # 1 cm: times may repeat
    if frames > _FEW:
        legs = moved[:4].mean(axis=(1, 2))
        cut[0] |= bool(legs[0] > _ALONE and (legs[0] * step[1:4] > 2.0 * legs[1:4] * step[0]).all())
    cuts = np.flatnonzero(cut) + 1
    lengths = np.diff(np.concatenate([[0], cuts, [frames]]))
    first = np.repeat(np.concatenate([[0], cuts]), lengths)
    return Shots(first, first + np.repeat(lengths, lengths) - 1)


def lone_frames(motion: Motion) -> Bools:
    """Find shots of a single frame (F,). A reference pose in front of a clip is one."""
    shots = shots_of(motion)
    return (shots.first == shots.last) & (len(motion) > 1)


def velocities(times: Floats, points: Floats, shots: Shots, window: float) -> Floats:
    """Compute velocities (F, ...) of points (F, ...) over `window` seconds.

    The window is around each frame, within its shot. The difference of the points at both ends of the window, where
    they run in straight lines between frames: the same at every frame rate, and a staircase (60 frames a second written
    as 120) is smoothed. Zero where no time passes.
    """
    after = np.minimum(times + window / 2, times[shots.last])
    before = np.maximum(times - window / 2, times[shots.first])
    span = after - before
    rate = np.where(span > 0, 1.0 / np.where(span > 0, span, 1.0), 0.0)
    flat = points.reshape(len(times), -1)
    moved = _between(times, flat, after, shots) - _between(times, flat, before, shots)
    return (moved * rate[:, None]).reshape(points.shape)


def _between(times: Floats, rows: Floats, at: Floats, shots: Shots) -> Floats:
    """Interpolate rows (F, n) linearly at other times, within shots."""
    lower = np.clip(np.searchsorted(times, at, side="right") - 1, shots.first, np.maximum(shots.last - 1, shots.first))
    upper = np.minimum(lower + 1, shots.last)
    span = times[upper] - times[lower]
    share = np.where(span > 0, (at - times[lower]) / np.where(span > 0, span, 1.0), 0.0)
    below = rows[lower]
    return below + (rows[upper] - below) * share[:, None]


def lowest_near(times: Floats, values: Floats, shots: Shots, reach: float) -> Floats:
    """Find the lowest of values (F, ...) around each frame.

    It is taken within `reach` seconds, in the frame's own shot. A table of the lowest of 1, 2, 4 ... frames answers any
    stretch by two of its entries.
    """
    flat = values.reshape(len(times), -1)
    near = 1e-9 * reach  # a frame at the very edge is in, whatever the rounding
    first = np.maximum(np.searchsorted(times, times - reach - near), shots.first)
    last = np.minimum(np.searchsorted(times, times + reach + near, side="right") - 1, shots.last)
    level = np.frexp(last - first + 1)[1] - 1  # the largest power of two that fits
    lowest, table = np.empty_like(flat), flat
    for power in range(int(level.max()) + 1):
        rows = np.flatnonzero(level == power)
        lowest[rows] = np.minimum(table[first[rows]], table[last[rows] - (1 << power) + 1])
        table = np.minimum(table[: -(1 << power)], table[1 << power :])
    return lowest.reshape(values.shape)
