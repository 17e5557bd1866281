"""Smooth curves in time: ramps between values, and curves that stay above given values."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from poise.maths.arrays import Bools, Floats, Ints

Rows = TypeVar("Rows", bound=NDArray[Any])


def eased(u: Floats) -> Floats:
    """Smooth step from 0 to 1: 3 u^2 - 2 u^3, held outside."""
    u = np.clip(u, 0.0, 1.0)
    return u * u * (3.0 - 2.0 * u)


def averaged(values: Floats, half: int) -> Floats:
    """Weighted mean (F, ...) over `half` frames to each side (a Hann window; ends held). Constant stays constant."""
    if half < 1:
        return values
    window = np.hanning(2 * half + 3)[1:-1]
    window /= window.sum()
    return _windows(values, half) @ window


def above(values: Floats, half: int) -> Floats:
    """A smooth curve (F, ...) that is nowhere below the values: their largest over a window, averaged over the same."""
    if half < 1:
        return values
    return averaged(largest_near(values, half), half)


def largest_near(values: Floats, half: int) -> Floats:
    """The largest value (F, ...) over `half` frames to each side.

    The largest of twice as many frames is that of two halves; two windows that overlap give the last, odd one.
    """
    largest, size, width = _held(values, half), 1, 2 * half + 1
    while 2 * size <= width:
        largest, size = np.maximum(largest[:-size], largest[size:]), 2 * size
    more = width - size
    return np.maximum(largest[: len(largest) - more], largest[more:])


def _windows(values: Floats, half: int) -> Floats:
    """The values (F, ..., 2 half + 1) around each frame; the first and the last are held beyond the ends."""
    return sliding_window_view(_held(values, half), 2 * half + 1, axis=0)


def _held(values: Floats, half: int) -> Floats:
    """The values (F + 2 half, ...), the first and the last repeated so often."""
    return np.concatenate([np.repeat(values[:1], half, 0), values, np.repeat(values[-1:], half, 0)])


def last_of(mask: Bools) -> Ints:
    """For each frame (F, ...) the last frame up to it where the mask holds, -1 before the first."""
    frames = np.arange(len(mask)).reshape(-1, *(1,) * (mask.ndim - 1))
    return np.maximum.accumulate(np.where(mask, frames, -1), axis=0)


def next_of(mask: Bools) -> Ints:
    """For each frame (F, ...) the first frame from it on where the mask holds, F after the last."""
    frames = np.arange(len(mask)).reshape(-1, *(1,) * (mask.ndim - 1))
    return np.minimum.accumulate(np.where(mask, frames, len(mask))[::-1], axis=0)[::-1]


def rows_at(values: Rows, frames: Ints) -> Rows:
    """Values (F, L, ...) of each leg at frames (F, L)."""
    return cast("Rows", values[frames, np.arange(values.shape[1])])


def time_from(times: Floats, mask: Bools) -> tuple[Floats, Floats]:
    """Time (F, L) since the mask held last and until it holds next [s]; infinite if never."""
    before, after = last_of(mask), next_of(mask)
    since = np.where(before >= 0, times[:, None] - times[before], np.inf)
    until = np.where(after < len(times), times[np.minimum(after, len(times) - 1)] - times[:, None], np.inf)
    return since, until


def far_from(times: Floats, marked: Bools, seconds: float) -> Floats:
    """0 in marked frames (F, ...), 1 from so many seconds before and after them on, smoothly between."""
    return eased(np.minimum(*time_from(times, marked)) / seconds)


def near_to(times: Floats, marked: Bools, seconds: float) -> Bools:
    """(F,) the frames that are up to so many seconds from marked ones (F,)."""
    return np.minimum(*time_from(times, marked[:, None]))[:, 0] <= seconds
