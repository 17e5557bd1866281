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
from poise.model.clip import Clip, checked_rate, usual_rates
from poise.model.skeleton import Skeleton

# fraction of a step: a time this near to a frame is on it
_NEAR = 0.01
# fraction of a step: largest deviation of a time while the step is still being fitted
_LOOSE = 0.2
# [1/s] largest rate chosen to hit irregular keys; a clip's own rate may be higher
_FASTEST = 240.0
# [s] and fraction of the time: rounding of times in files (32 bits); nearer keys count as one
_NOISE, _ROUNDING = 1e-5, 2.4e-7
# steps covered by the first fit, and growth factor of the horizon per pass
_FIRST, _GROWTH = 16, 4
_DEFAULT_RATE = 30.0
_MOST_FRAMES = 10_000_000
# fraction of the largest coordinate: a smaller motion is rounding
_STILL = 1e-9
# frames in memory at once
_CHUNK = 1000


class Grid(NamedTuple):
    """Regular sample times of a clip.

    times          (frames,) [s] of the clip; at a key it is the key's exact time, so STEP keys are hit
    step           [s] between frames
    start_time     [s] clip time of the first frame: 0, or the first key's where that is below 0
    hits_all_keys  whether every key is on a frame
    """

    times: Floats
    step: float
    begins: float
    exact: bool


def grid_of(clip: Clip, fps: float | None = None) -> Grid:
    """Find the frame grid of a clip. The clip has at least one frame.

    Its rate is `fps` [1/s], else one that hits every key, if there is one.
    """
    begins = min(float(clip.times[0]), 0.0)
    keys = _apart(clip.times - begins)
    step = _round(common_step(keys), keys) if fps is None else 1.0 / checked_rate(fps)
    if step is None:
        step = 1.0 / (clip.fps or _DEFAULT_RATE)
    frames = float(keys[-1]) / step
    if frames > _MOST_FRAMES:
        said = f"a steady {1 / step:g} frames per second over {float(keys[-1]):g} s"
        raise UnsupportedError(f"{said} are too many; call resampled(fps) first")
    times: Floats = begins + step * np.arange(round(frames) + 1, dtype=np.float64)
    counts = np.round(keys / step).astype(int)
    hit = np.abs(keys - step * counts) <= _slack(keys, step)
    times[counts[hit]] = begins + keys[hit]
    return Grid(times, step, begins, bool(hit.all()))


def _round(step: float | None, keys: Floats) -> float | None:
    """Round a step to the step of a standard rate. This happens only within the rounding of times in files."""
    if step is None or step >= 1.0:
        return step
    nearest = 1.0 / usual_rates(1.0 / step)[0]
    return nearest if abs(nearest - step) * float(keys[-1]) <= _slack(keys, 0.0) * step / nearest else step


def common_step(keys: Floats) -> float | None:
    """Find the largest common step [s] of key times (k,).

    Times increase and are not below 0; None where no sensible step exists. The shortest gap, or that from 0 to the
    first key, is a whole number of steps: these numbers are tried in turn.
    """
    gaps = np.diff(keys, prepend=0.0)
    gaps = gaps[gaps > _slack(keys, 0.0)]
    if not len(gaps):
        return None
    shortest = float(gaps.min())
    for parts in range(1, max(int(shortest * _FASTEST * (1.0 + _NEAR)), 1) + 1):
        step = _fitted(keys, shortest / parts)
        if step is not None:
            return step
    return None


def _slack(keys: Floats, step: float) -> float:
    """Compute the time tolerance [s] for a frame. Files round times."""
    return max(_NEAR * step, _NOISE, _ROUNDING * float(keys[-1]))


def _fitted(keys: Floats, step: float) -> float | None:
    """Fit a step to all keys, starting here, or return None. Each pass covers a longer horizon and is more precise."""
    begun = keys - keys[0]
    horizon = _FIRST * step
    while True:
        refined = _refined(begun[: np.searchsorted(begun, horizon, side="right")], step)
        if refined is None:
            return None
        step = refined
        if horizon > begun[-1]:
            break
        horizon *= _GROWTH
    step = _refined(keys, step) or step
    off = np.abs(keys - step * np.round(keys / step))
    return step if float(off.max()) <= min(_slack(keys, step), _LOOSE * step) else None


def _refined(times: Floats, step: float) -> float | None:
    """Fit the step by least squares. None where times are far from its multiples."""
    counts = np.round(times / step)
    if not counts.any():
        return step
    if float(np.abs(times - step * counts).max()) > _LOOSE * step:
        return None
    return float(times @ counts) / float(counts @ counts)


def _apart(times: Floats) -> Floats:
    """Drop times repeated within rounding. Of such keys the last one counts."""
    return times[np.append(np.diff(times) > _slack(times, 0.0), True)]


def off_at_keys(clip: Clip, made: Clip, names: Iterable[str] | None = None) -> tuple[float, float]:
    """Measure the position error of a resampled clip. Also return the character's size.

    The error is the largest distance of common joints, of `names` if given, at the clip's own keys. The size is the
    largest extent in a frame of joints that move or carry moving ones [file units]: distant cameras and lights do not
    count. Without moving joints all count. Between frames values are interpolated linearly, as in readers.
    """
    counted = clip.skeleton.names if names is None else names
    names = [name for name in counted if name in made.skeleton.names]
    ours, theirs = ([skeleton.index(name) for name in names] for skeleton in (clip.skeleton, made.skeleton))
    far = size = whole = 0.0
    for part in _parts(len(clip)):
        here = clip.poses[part].world.positions
        there = made.at(clip.times[part]).world.positions
        far = max(far, float(np.linalg.norm(here[:, ours] - there[:, theirs], axis=-1).max(initial=0.0)))
        size = max(size, _extent(here[:, _moving(clip.skeleton, here)]))
        whole = max(whole, _extent(here))
    return far, size or whole


def _moving(skeleton: Skeleton, places: Floats) -> NDArray[np.bool_]:
    """Find the joints (n,) with motion over frames (frames, n, 3). Ancestors of such joints count as well."""
    still = _STILL * float(np.abs(places).max(initial=0.0))
    moving, parents = (np.ptp(places, axis=0) > still).any(axis=-1), skeleton.parents
    for row in range(len(parents) - 1, -1, -1):  # parents come before their children
        if moving[row] and parents[row] >= 0:
            moving[parents[row]] = True
    return moving


def _extent(places: Floats) -> float:
    """Measure the largest bounding-box diagonal over frames (frames, n, 3)."""
    if not places.size:
        return 0.0
    return float(np.linalg.norm(np.ptp(places, axis=1), axis=-1).max())


def _parts(count: int) -> Iterator[slice]:
    """Split a frame count into slices of limited size."""
    return (slice(at, at + _CHUNK) for at in range(0, count, _CHUNK))
