"""Frames of clips: their step, nearest true ones, and fades."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.smoothing import smoothstep
from poise.maths.vectors import median

Rows = TypeVar("Rows", bound=NDArray[Any])


def measure_step(times: Floats) -> float:
    """Measure the median time between frames [s]; 0 for a single frame."""
    return float(median(np.diff(times))) if len(times) > 1 else 0.0


def count_frames(times: Floats, seconds: float) -> int:
    """Count the frames of a time, by the median step.

    0 where no time passes.
    """
    step = measure_step(times)
    return round(seconds / step) if step > 0.0 else 0


def count_frames_to(mask: Bools) -> Floats:
    """Count the frames (F,) to the nearest true one.

    Infinite where there is none.
    """
    numbers = np.arange(len(mask), dtype=np.float64)
    return np.minimum(*measure_time_from(numbers, mask[:, None]))[:, 0]


def find_last_true(mask: Bools) -> Ints:
    """Find the last true frame up to each frame. The mask is (F, ...); -1 before the first."""
    frames = np.arange(len(mask)).reshape(-1, *(1,) * (mask.ndim - 1))
    return np.maximum.accumulate(np.where(mask, frames, -1), axis=0)


def find_next_true(mask: Bools) -> Ints:
    """Find the next true frame from each frame on. The mask is (F, ...); F after the last."""
    frames = np.arange(len(mask)).reshape(-1, *(1,) * (mask.ndim - 1))
    return np.minimum.accumulate(np.where(mask, frames, len(mask))[::-1], axis=0)[::-1]


def find_following(is_marked: Bools) -> Ints:
    """Find the next unmarked frame of each frame, or the last one.

    The mask is (F,), with an unmarked frame.
    """
    following = find_next_true(~is_marked)
    return np.where(following < len(is_marked), following, find_last_true(~is_marked))


def take_frames(values: Rows, frames: Ints) -> Rows:
    """Take values of each leg at its frames. Values are (F, L, ...), frames (F, L)."""
    return cast("Rows", values[frames, np.arange(values.shape[1])])


def measure_time_from(times: Floats, mask: Bools) -> tuple[Floats, Floats]:
    """Measure times to the nearest true frames.

    Return the seconds since and until the mask is true, (F, L); infinite if never.
    """
    last_frames, next_frames = find_last_true(mask), find_next_true(mask)
    seconds_since = np.where(last_frames >= 0, times[:, None] - times[last_frames], np.inf)
    seconds_until = np.where(
        next_frames < len(times), times[np.minimum(next_frames, len(times) - 1)] - times[:, None], np.inf
    )
    return seconds_since, seconds_until


def compute_fade(times: Floats, is_marked: Bools, fade_seconds: float) -> Floats:
    """Compute weights fading from marked frames.

    (F, ...): 0 in marked frames, 1 from `fade_seconds` before and after on, smoothly between.
    """
    return smoothstep(np.minimum(*measure_time_from(times, is_marked)) / fade_seconds)
