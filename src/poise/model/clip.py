"""Clips: poses over time, sampled or keyed, and their regular frame grid.

A Clip has a pose at each of its times; a KeyedClip keeps the file's own keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poise.calls import late_binding
from poise.calls.argument_checks import check_text, check_type
from poise.calls.old_names import make_alias
from poise.errors import InputError, UnsupportedError
from poise.formatting import format_count, format_size
from poise.maths.arrays import Floats, check_finite, check_real, freeze_array
from poise.model.channels import Channel, bracket_times, check_tracks
from poise.model.pose import Pose, check_same_skeleton
from poise.model.skeleton import Skeleton
from poise.model.track_sampling import TrackTable, sample_tracks
from poise.runtime.immutable_values import FrozenValue

# --- Clips -----------------------------------------------------------------------------------------------------------


# fraction of the largest time: rounding of the difference of two 32-bit times
_FLOAT32_ROUNDING_RATIO = 1.2e-7
# frame rates of NTSC film and television are lower by this factor
_NTSC_FACTOR = 1.001
# fraction of the measured rate: largest deviation of the true rate
_RATE_TOLERANCE_RATIO = 0.01
# [1/s] shorter steps are no frames
_MAX_RATE_HZ = 1e6
# decimals of rates written by hand: 23.976
_RATE_DECIMALS = 3
# fraction of a frame: coarser rounding does not show the rate
_MAX_ROUNDING_FRAMES = 0.1
# frames of a resampled clip: 38 days at 30 frames per second
_MAX_FRAMES = 1e8


@dataclass(frozen=True, eq=False)
class Clip(FrozenValue):
    """Poses at given times.

    Parameters
    ----------
    times
        (frames,) [s], not decreasing.
    poses
        A Pose with one batch axis: a pose for each time.
    name
        Name of the clip.

    Notes
    -----
    Between times, values are interpolated linearly and rotations along the shorter arc; outside, the nearest end holds.
    """

    times: Floats
    poses: Pose
    name: str = ""

    def __post_init__(self) -> None:
        times = check_finite(self.times, "times").copy()
        check_type(self.poses, Pose, "the poses of a clip")
        check_text(self.name, "the name of a clip")
        if times.ndim != 1 or self.poses.shape != times.shape:
            message = f"{times.shape} times do not match poses with batch axes {self.poses.shape}"
            raise InputError(message)
        if (np.diff(times) < 0).any():
            message = "the times of a clip must not decrease"
            raise InputError(message)
        freeze_array(times)
        object.__setattr__(self, "times", times)

    @staticmethod
    def at_rate(poses: Pose, fps: float, name: str = "") -> Clip:
        """Make a Clip of poses at a constant rate [frames/s].

        The first pose is at time 0.
        """
        count = len(check_type(poses, Pose, "the poses of a clip"))
        return Clip(np.arange(count) / check_rate(fps), poses, name)

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton of the poses."""
        return self.poses.skeleton

    @property
    def duration(self) -> float:
        """The last time [s]; 0 for an empty clip."""
        return float(self.times[-1]) if len(self.times) else 0.0

    @property
    def fps(self) -> float:
        """Frames per second; 0 with fewer than two frames. It is the inverse of the median time step.

        Files store times in 32 bits: late in a clip a step of 1/120 s becomes 1/120.03 s. Where all times lie on frames
        of a steady rate within that rounding, the result is that rate: a whole one, 1000/1001 of one (29.97), one of
        three decimals, or the mean.
        """
        steps = np.diff(self.times)
        steps = steps[steps > 0]
        return _find_steady_rate(self.times, float(1.0 / np.median(steps))) if len(steps) else 0.0

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, {format_count(len(self), 'frame')}, {format_size(self.duration)} s)"
        )

    _repr_html_ = late_binding.represent_as_html

    def at(self, seconds: ArrayLike) -> Pose:
        """Return the pose at a time [s], or a batch."""
        t = check_finite(seconds, "seconds")
        if not len(self.times):
            message = f"clip {self.name!r} has no frames"
            raise InputError(message)
        lower, fraction = bracket_times(self.times, t)
        if not fraction.any():
            return self.poses[lower]
        return self.poses[lower].blend(self.poses[np.minimum(lower + 1, len(self.times) - 1)], fraction)

    def on(self, skeleton: Skeleton) -> Clip:
        """Return the same motion on a compatible skeleton.

        Limits and proportions may differ; InputError for other joints.
        """
        check_same_skeleton(skeleton, self.skeleton, f"clip {self.name!r}")
        return Clip(self.times, self.poses.on(skeleton), self.name)

    def resample(self, fps: float) -> Clip:
        """Resample the clip at a constant rate [frames/s].

        Both ends of its time are kept as near as the rate allows.
        """
        frame_count = self.duration * check_rate(fps)
        if frame_count > _MAX_FRAMES:
            message = f"{self.duration:g} s at {fps:g} frames per second are {frame_count:.3g} frames: too many"
            raise InputError(message)
        frame_count = round(frame_count) + 1
        return Clip.at_rate(self.at(np.arange(frame_count) / fps), fps, self.name)

    resampled: ClassVar[Any] = make_alias("Clip.resampled", resample)


def _find_steady_rate(times: Floats, rate: float) -> float:
    """Find the steady rate [1/s] of a clip.

    It lies near the measured rate; without a steady rate the measured one is returned. Whole rates and 1000/1001 of
    them come first, then rates of three decimals (59.94), then the mean rate.
    """
    if rate > _MAX_RATE_HZ:
        return rate
    elapsed_times = times - times[0]
    frame_numbers = np.cumsum(np.round(np.diff(times) * rate))
    time_slack = _FLOAT32_ROUNDING_RATIO * float(np.abs(times).max())
    mean_rate = float(frame_numbers[-1] / elapsed_times[-1])
    for candidate_rate in (*find_standard_rates(mean_rate), round(mean_rate, _RATE_DECIMALS), mean_rate):
        if (
            candidate_rate > 0.0
            and abs(candidate_rate - rate) <= _RATE_TOLERANCE_RATIO * rate
            and time_slack * candidate_rate <= _MAX_ROUNDING_FRAMES
        ):
            time_error = np.abs(elapsed_times - np.round(elapsed_times * candidate_rate) / candidate_rate)
            if float(time_error.max()) <= time_slack:
                return candidate_rate
    return rate


def find_standard_rates(rate: float) -> list[float]:
    """Find the standard rates next to a rate [1/s].

    They are the nearest whole rate and 1000/1001 of a whole one (29.97), the nearer first; within
    rounding the whole one is first.
    """
    rates = float(round(rate)), round(rate * _NTSC_FACTOR) / _NTSC_FACTOR
    return sorted(rates, key=lambda standard_rate: round(abs(standard_rate / rate - 1.0), 9))


def check_rate(fps: Any) -> float:
    """Check a frame rate and return it as a positive number. Raise InputError for anything else."""
    rate = check_real(fps, "frames per second")
    if not 0 < rate < np.inf:
        message = f"frames per second must be above zero and finite, not {fps}"
        raise InputError(message)
    return rate


class KeyedClip(Clip):
    """Clip with the keys of its file, channel by channel. It is sampled on demand.

    Parameters
    ----------
    skeleton
        The skeleton of the tracks.
    tracks
        The channels. Rotations need a joint with a quaternion in q: a ball or a free joint.
    name
        Name of the clip.

    Raises
    ------
    InputError
        For a row outside the skeleton, and for rotations of a hinge, a slide or a fixed joint.

    Notes
    -----
    `times` are all key times of all tracks; `poses` are sampled there on first use. `at` samples the tracks directly,
    so steps and splines are exact.
    """

    def __init__(self, skeleton: Skeleton, tracks: Iterable[Channel], name: str = "") -> None:
        skeleton = check_type(skeleton, Skeleton, "the skeleton of a KeyedClip")
        checked_tracks = check_tracks(skeleton, tracks)
        for field, value in (
            ("_skeleton", skeleton),
            ("tracks", checked_tracks),
            ("name", check_text(name, "the name of a clip")),
        ):
            object.__setattr__(self, field, value)  # the clip is frozen

    tracks: tuple[Channel, ...]
    _skeleton: Skeleton

    @classmethod
    def make_unchecked(cls, skeleton: Skeleton, tracks: tuple[Channel, ...], name: str) -> KeyedClip:
        """Make a clip of valid tracks without checking them.

        A file may have thousands of tracks.
        """
        clip = cls.__new__(cls)
        for field, value in (("_skeleton", skeleton), ("tracks", tracks), ("name", name)):
            object.__setattr__(clip, field, value)
        return clip

    unchecked: ClassVar[Any] = make_alias("KeyedClip.unchecked", make_unchecked)

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton of the tracks."""
        return self._skeleton

    @cached_property
    def times(self) -> Floats:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All key times of all tracks (frames,) [s]."""
        key_times = [track.times for track in self.tracks]
        times = np.unique(np.concatenate(key_times)) if key_times else np.zeros(0)
        freeze_array(times)
        return times

    @cached_property
    def poses(self) -> Pose:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A pose at each of the times."""
        return self._sample(TrackTable(self.tracks), self.times)  # sampled once: the table is not kept

    @property
    def duration(self) -> float:
        """The largest key time [s]."""
        return max((float(track.times[-1]) for track in self.tracks), default=0.0)

    def on(self, skeleton: Skeleton) -> Clip:
        """Return the same motion on a compatible skeleton.

        Limits and proportions may differ; InputError for other joints.
        """
        check_same_skeleton(skeleton, self.skeleton, f"clip {self.name!r}")
        return KeyedClip.make_unchecked(skeleton, self.tracks, self.name)

    def at(self, seconds: ArrayLike) -> Pose:
        """Return the pose at a time [s], or a batch."""
        return self._sample(self._table, check_finite(seconds, "seconds"))

    @cached_property
    def _table(self) -> TrackTable:
        """The keys of all tracks. They take the memory of the tracks once more."""
        return TrackTable(self.tracks)

    def _sample(self, table: TrackTable, t: Floats) -> Pose:
        return Pose.make_unchecked(self.skeleton, *sample_tracks(self.skeleton, table, t))


# --- Regular frame grid of a clip with irregular keys ----------------------------------------------------------------
#
# Its step is the largest common divisor of all key times.
#
# Formats with a constant frame time, such as BVH, begin at 0, so the first key's time counts as well. Keys at 1/24,
# 3/24, 5/24 s are frames 1, 3, 5 at 24 frames/s, not 0, 1, 2 at 12.


# fraction of a step: a time this near to a frame is on it
_FRAME_TOLERANCE_STEPS = 0.01
# fraction of a step: largest deviation of a time while the step is still being fitted
_FIT_TOLERANCE_STEPS = 0.2
# [1/s] largest rate chosen to hit irregular keys; a clip's own rate may be higher
_MAX_GRID_RATE_HZ = 240.0
# [s] and fraction of the time: rounding of times in files (32 bits); nearer keys count as one
_TIME_NOISE_S, _FLOAT32_KEY_ROUNDING = 1e-5, 2.4e-7
# steps covered by the first fit, and growth factor of the horizon per pass
_FIRST_FIT_STEPS, _FIT_GROWTH_FACTOR = 16, 4
_DEFAULT_RATE_HZ = 30.0
_MAX_GRID_FRAMES = 10_000_000
# fraction of the largest coordinate: a smaller motion is rounding
_MIN_MOTION_FRACTION = 1e-9
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
    start_time = min(float(clip.times[0]), 0.0)
    key_times = _drop_repeated_times(clip.times - start_time)
    step = _round_step(find_common_step(key_times), key_times) if fps is None else 1.0 / check_rate(fps)
    if step is None:
        step = 1.0 / (clip.fps or _DEFAULT_RATE_HZ)
    frame_count = float(key_times[-1]) / step
    if frame_count > _MAX_GRID_FRAMES:
        description = f"a steady {1 / step:g} frames per second over {float(key_times[-1]):g} s"
        raise UnsupportedError(f"{description} are too many; call resample(fps) first")
    times: Floats = start_time + step * np.arange(round(frame_count) + 1, dtype=np.float64)
    frame_numbers = np.round(key_times / step).astype(int)
    is_hit = np.abs(key_times - step * frame_numbers) <= _compute_tolerance(key_times, step)
    times[frame_numbers[is_hit]] = start_time + key_times[is_hit]
    return FrameGrid(times, step, start_time, bool(is_hit.all()))


def _round_step(step: float | None, key_times: Floats) -> float | None:
    """Round a step to the step of a standard rate. This happens only within the rounding of times in files."""
    if step is None or step >= 1.0:
        return step
    standard_step = 1.0 / find_standard_rates(1.0 / step)[0]
    return (
        standard_step
        if abs(standard_step - step) * float(key_times[-1]) <= _compute_tolerance(key_times, 0.0) * step / standard_step
        else step
    )


def find_common_step(key_times: Floats) -> float | None:
    """Find the largest common step [s] of key times (k,).

    Times increase and are not below 0; None where no sensible step exists. The shortest gap, or that from 0 to the
    first key, is a whole number of steps: these numbers are tried in turn.
    """
    gaps = np.diff(key_times, prepend=0.0)
    gaps = gaps[gaps > _compute_tolerance(key_times, 0.0)]
    if not len(gaps):
        return None
    min_gap = float(gaps.min())
    for step_count in range(1, max(int(min_gap * _MAX_GRID_RATE_HZ * (1.0 + _FRAME_TOLERANCE_STEPS)), 1) + 1):
        step = _fit_step(key_times, min_gap / step_count)
        if step is not None:
            return step
    return None


def _compute_tolerance(key_times: Floats, step: float) -> float:
    """Compute the time tolerance [s] for a frame. Files round times."""
    return max(_FRAME_TOLERANCE_STEPS * step, _TIME_NOISE_S, _FLOAT32_KEY_ROUNDING * float(key_times[-1]))


def _fit_step(key_times: Floats, step: float) -> float | None:
    """Fit a step to all keys, starting here, or return None. Each pass covers a longer horizon and is more precise."""
    elapsed_times = key_times - key_times[0]
    horizon = _FIRST_FIT_STEPS * step
    while True:
        refined_step = _refine_step(elapsed_times[: np.searchsorted(elapsed_times, horizon, side="right")], step)
        if refined_step is None:
            return None
        step = refined_step
        if horizon > elapsed_times[-1]:
            break
        horizon *= _FIT_GROWTH_FACTOR
    step = _refine_step(key_times, step) or step
    time_error = np.abs(key_times - step * np.round(key_times / step))
    return (
        step
        if float(time_error.max()) <= min(_compute_tolerance(key_times, step), _FIT_TOLERANCE_STEPS * step)
        else None
    )


def _refine_step(times: Floats, step: float) -> float | None:
    """Fit the step by least squares. None where times are far from its multiples."""
    step_numbers = np.round(times / step)
    if not step_numbers.any():
        return step
    if float(np.abs(times - step * step_numbers).max()) > _FIT_TOLERANCE_STEPS * step:
        return None
    return float(times @ step_numbers) / float(step_numbers @ step_numbers)


def _drop_repeated_times(times: Floats) -> Floats:
    """Drop times repeated within rounding. Of such keys the last one counts."""
    return times[np.append(np.diff(times) > _compute_tolerance(times, 0.0), True)]


def measure_key_error(clip: Clip, resampled: Clip, names: Iterable[str] | None = None) -> tuple[float, float]:
    """Measure the position error of a resampled clip. Also return the character's size.

    The error is the largest distance of common joints, of `names` if given, at the clip's own keys. The size is the
    largest extent in a frame of joints that move or carry moving ones [file units]: distant cameras and lights do not
    count. Without moving joints all count. Between frames values are interpolated linearly, as in readers.
    """
    counted_names = clip.skeleton.names if names is None else names
    names = [name for name in counted_names if name in resampled.skeleton.names]
    source_rows, resampled_rows = (
        [skeleton.index(name) for name in names] for skeleton in (clip.skeleton, resampled.skeleton)
    )
    max_error = moving_extent = total_extent = 0.0
    for frame_slice in _split_frames(len(clip)):
        source_positions = clip.poses[frame_slice].world.positions
        resampled_positions = resampled.at(clip.times[frame_slice]).world.positions
        max_error = max(
            max_error,
            float(
                np.linalg.norm(source_positions[:, source_rows] - resampled_positions[:, resampled_rows], axis=-1).max(
                    initial=0.0
                )
            ),
        )
        moving_extent = max(
            moving_extent, _measure_extent(source_positions[:, _find_moving_joints(clip.skeleton, source_positions)])
        )
        total_extent = max(total_extent, _measure_extent(source_positions))
    return max_error, moving_extent or total_extent


def _find_moving_joints(skeleton: Skeleton, positions: Floats) -> NDArray[np.bool_]:
    """Find the joints (n,) with motion over frames (frames, n, 3). Ancestors of such joints count as well."""
    min_motion = _MIN_MOTION_FRACTION * float(np.abs(positions).max(initial=0.0))
    is_moving, parents = (np.ptp(positions, axis=0) > min_motion).any(axis=-1), skeleton.parents
    for row in range(len(parents) - 1, -1, -1):  # parents come before their children
        if is_moving[row] and parents[row] >= 0:
            is_moving[parents[row]] = True
    return is_moving


def _measure_extent(positions: Floats) -> float:
    """Measure the largest bounding-box diagonal over frames (frames, n, 3)."""
    if not positions.size:
        return 0.0
    return float(np.linalg.norm(np.ptp(positions, axis=1), axis=-1).max())


def _split_frames(frame_count: int) -> Iterator[slice]:
    """Split a frame count into slices of limited size."""
    return (slice(start_frame, start_frame + _CHUNK_FRAMES) for start_frame in range(0, frame_count, _CHUNK_FRAMES))
