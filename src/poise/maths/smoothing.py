"""Smooth curves over time: ramps, averages and upper envelopes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import as_strided

from poise.maths.arrays import Floats

_MAX_WINDOWS = 64  # whose weights are kept: there is one for each rate and smoothing time


def smoothstep(u: Floats) -> Floats:
    """Return the smooth step 3 u^2 - 2 u^3, clamped to 0..1."""
    u = np.clip(u, 0.0, 1.0)
    return u * u * (3.0 - 2.0 * u)


def average_hann(values: Floats, half_width: int) -> Floats:
    """Average values (F, ...) with a Hann window.

    It covers `half_width` frames to each side; ends are held, and constant values stay constant.
    """
    if half_width < 1:
        return values
    return _stack_windows(values, half_width) @ _make_hann_window(half_width)


@lru_cache(maxsize=_MAX_WINDOWS)
def _make_hann_window(half_width: int) -> Floats:
    """Make the weights (2 half + 1,) of a Hann window. Their sum is 1."""
    window = np.hanning(2 * half_width + 3)[1:-1]
    window /= window.sum()
    window.setflags(write=False)
    return window


def interpolate_frames(values: Floats, count: int, frames: int) -> Floats:
    """Interpolate values (f, ...) smoothly, `count` frames for each. Returns (frames, ...), the last one held.

    Cubic splines after Catmull and Rom go through the values.
    """
    at = np.arange(frames)
    lower, last = np.minimum(at // count, len(values) - 1), len(values) - 1
    share = (np.minimum(at, last * count) / count - lower).reshape(-1, *[1] * (values.ndim - 1))
    a, b, c, d = (values[np.clip(lower + i, 0, last)] for i in (-1, 0, 1, 2))
    curve = 2.0 * a - 5.0 * b + 4.0 * c - d + share * (3.0 * (b - c) + d - a)
    return b + 0.5 * share * (c - a + share * curve)


def compute_upper_envelope(values: Floats, half_width: int) -> Floats:
    """Compute a smooth upper envelope (F, ...). It averages the maximum of a window over the same window."""
    if half_width < 1:
        return values
    return average_hann(compute_window_max(values, half_width), half_width)


def compute_window_max(values: Floats, half_width: int) -> Floats:
    """Compute the maximum in a window. Values are (F, ...), the window has `half_width` frames to each side.

    Windows are doubled: the maximum of a window is that of its halves; two overlapping windows give the odd width.
    """
    window_max, window_size, width = _pad_ends(values, half_width), 1, 2 * half_width + 1
    while 2 * window_size <= width:
        window_max, window_size = np.maximum(window_max[:-window_size], window_max[window_size:]), 2 * window_size
    remaining_width = width - window_size
    return np.maximum(window_max[: len(window_max) - remaining_width], window_max[remaining_width:])


def _stack_windows(values: Floats, half_width: int) -> Floats:
    """Stack the window around each frame.

    The result is (F, ..., 2 half + 1); the first and last values are held beyond the ends.
    """
    padded, width = _pad_ends(values, half_width), 2 * half_width + 1
    shape, strides = (len(padded) - width + 1, *padded.shape[1:], width), (*padded.strides, padded.strides[0])
    return as_strided(padded, shape, strides)  # `sliding_window_view` takes three times as long


def _pad_ends(values: Floats, half_width: int) -> Floats:
    """Pad values by repeating the first and last. The result is (F + 2 half, ...)."""
    return np.concatenate([np.repeat(values[:1], half_width, 0), values, np.repeat(values[-1:], half_width, 0)])
