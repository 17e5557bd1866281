"""Regular frame grid of a clip with irregular keys. Its step is the largest common divisor of all key times.

Formats with a constant frame time, such as BVH, begin at 0, so the first key's time counts as well. Keys at 1/24, 3/24,
5/24 s are frames 1, 3, 5 at 24 frames/s, not 0, 1, 2 at 12.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from poise.errors import UnsupportedError
from poise.maths.arrays import Floats
from poise.model.clip import Clip, check_rate, find_standard_rates
from poise.model.skeleton import Skeleton

# fraction of a step: a time this near to a frame is on it
_FRAME_TOLERANCE = 0.01
# fraction of a step: largest deviation of a time while the step is still being fitted
_FIT_TOLERANCE = 0.2
# [1/s] largest rate chosen to hit irregular keys; a clip's own rate may be higher
_MAX_RATE_HZ = 240.0
# [s] and fraction of the time: rounding of times in files (32 bits); nearer keys count as one
_TIME_NOISE_S, _FLOAT32_ROUNDING = 1e-5, 2.4e-7
# steps covered by the first fit, and growth factor of the horizon per pass
_FIRST_FIT_STEPS, _FIT_GROWTH = 16, 4
_DEFAULT_RATE_HZ = 30.0
_MAX_FRAMES = 10_000_000
# fraction of the largest coordinate: a smaller motion is rounding
_STILL_FRACTION = 1e-9
# frames in memory at once
_CHUNK_FRAMES = 1000


class FrameGrid(NamedTuple):
    """Regular sample times of a clip.

    times          (frames,) [s] of the clip; at a key it is the key's exact time, so STEP keys are hit
    step           [s] between frames
    start_time     [s] clip time of the first frame: 0, or the first key's where that is below 0
    hits_all_keys  whether every key is on a frame
    """

    times: Floats
    step: float
    start_time: float
    hits_all_keys: bool


def find_frame_grid(clip: Clip, fps: float | None = None) -> FrameGrid:
    """Find the frame grid of a clip. The clip has at least one frame.

    Its rate is `fps` [1/s], else one that hits every key, if there is one.
    """
    begins = min(float(clip.times[0]), 0.0)
    keys = _drop_repeated_times(clip.times - begins)
    step = _round_step(find_common_step(keys), keys) if fps is None else 1.0 / check_rate(fps)
    if step is None:
        step = 1.0 / (clip.fps or _DEFAULT_RATE_HZ)
    frames = float(keys[-1]) / step
    if frames > _MAX_FRAMES:
        description = f"a steady {1 / step:g} frames per second over {float(keys[-1]):g} s"
        raise UnsupportedError(f"{description} are too many; call resampled(fps) first")
    times: Floats = begins + step * np.arange(round(frames) + 1, dtype=np.float64)
    counts = np.round(keys / step).astype(int)
    hit = np.abs(keys - step * counts) <= _compute_tolerance(keys, step)
    times[counts[hit]] = begins + keys[hit]
    return FrameGrid(times, step, begins, bool(hit.all()))


def _round_step(step: float | None, keys: Floats) -> float | None:
    """Round a step to the step of a standard rate. This happens only within the rounding of times in files."""
    if step is None or step >= 1.0:
        return step
    nearest = 1.0 / find_standard_rates(1.0 / step)[0]
    return nearest if abs(nearest - step) * float(keys[-1]) <= _compute_tolerance(keys, 0.0) * step / nearest else step


def find_common_step(keys: Floats) -> float | None:
    """Find the largest common step [s] of key times (k,).

    Times increase and are not below 0; None where no sensible step exists. The shortest gap, or that from 0 to the
    first key, is a whole number of steps: these numbers are tried in turn.
    """
    gaps = np.diff(keys, prepend=0.0)
    gaps = gaps[gaps > _compute_tolerance(keys, 0.0)]
    if not len(gaps):
        return None
    shortest = float(gaps.min())
    for parts in range(1, max(int(shortest * _MAX_RATE_HZ * (1.0 + _FRAME_TOLERANCE)), 1) + 1):
        step = _fit_step(keys, shortest / parts)
        if step is not None:
            return step
    return None


def _compute_tolerance(keys: Floats, step: float) -> float:
    """Compute the time tolerance [s] for a frame. Files round times."""
    return max(_FRAME_TOLERANCE * step, _TIME_NOISE_S, _FLOAT32_ROUNDING * float(keys[-1]))


def _fit_step(keys: Floats, step: float) -> float | None:
    """Fit a step to all keys, starting here, or return None. Each pass covers a longer horizon and is more precise."""
    begun = keys - keys[0]
    horizon = _FIRST_FIT_STEPS * step
    while True:
        refined = _refine_step(begun[: np.searchsorted(begun, horizon, side="right")], step)
        if refined is None:
            return None
        step = refined
        if horizon > begun[-1]:
            break
        horizon *= _FIT_GROWTH
    step = _refine_step(keys, step) or step
    off = np.abs(keys - step * np.round(keys / step))
    return step if float(off.max()) <= min(_compute_tolerance(keys, step), _FIT_TOLERANCE * step) else None


def _refine_step(times: Floats, step: float) -> float | None:
    """Fit the step by least squares. None where times are far from its multiples."""
    counts = np.round(times / step)
    if not counts.any():
        return step
    if float(np.abs(times - step * counts).max()) > _FIT_TOLERANCE * step:
        return None
    return float(times @ counts) / float(counts @ counts)


def _drop_repeated_times(times: Floats) -> Floats:
    """Drop times repeated within rounding. Of such keys the last one counts."""
    return times[np.append(np.diff(times) > _compute_tolerance(times, 0.0), True)]


def measure_key_error(clip: Clip, resampled: Clip, names: Iterable[str] | None = None) -> tuple[float, float]:
    """Measure the position error of a resampled clip. Also return the character's size.

    The error is the largest distance of common joints, of `names` if given, at the clip's own keys. The size is the
    largest extent in a frame of joints that move or carry moving ones [file units]: distant cameras and lights do not
    count. Without moving joints all count. Between frames values are interpolated linearly, as in readers.
    """
    counted = clip.skeleton.names if names is None else names
    names = [name for name in counted if name in resampled.skeleton.names]
    ours, theirs = ([skeleton.index(name) for name in names] for skeleton in (clip.skeleton, resampled.skeleton))
    error = size = whole = 0.0
    for part in _split_frames(len(clip)):
        here = clip.poses[part].world.positions
        there = resampled.at(clip.times[part]).world.positions
        error = max(error, float(np.linalg.norm(here[:, ours] - there[:, theirs], axis=-1).max(initial=0.0)))
        size = max(size, _measure_extent(here[:, _find_moving(clip.skeleton, here)]))
        whole = max(whole, _measure_extent(here))
    return error, size or whole


def _find_moving(skeleton: Skeleton, positions: Floats) -> NDArray[np.bool_]:
    """Find the joints (n,) with motion over frames (frames, n, 3). Ancestors of such joints count as well."""
    still = _STILL_FRACTION * float(np.abs(positions).max(initial=0.0))
    moving, parents = (np.ptp(positions, axis=0) > still).any(axis=-1), skeleton.parents
    for row in range(len(parents) - 1, -1, -1):  # parents come before their children
        if moving[row] and parents[row] >= 0:
            moving[parents[row]] = True
    return moving


def _measure_extent(positions: Floats) -> float:
    """Measure the largest bounding-box diagonal over frames (frames, n, 3)."""
    if not positions.size:
        return 0.0
    return float(np.linalg.norm(np.ptp(positions, axis=1), axis=-1).max())


def _split_frames(count: int) -> Iterator[slice]:
    """Split a frame count into slices of limited size."""
    return (slice(at, at + _CHUNK_FRAMES) for at in range(0, count, _CHUNK_FRAMES))
