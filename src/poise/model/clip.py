"""Clips: poses over time, sampled or keyed.

A Clip has a pose at each of its times; a KeyedClip keeps the file's own keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.maths import rotations
from poise.maths.arguments import require, text
from poise.maths.arrays import Floats, finite, frozen, real
from poise.maths.in_words import counted
from poise.maths.remember import FrozenValue
from poise.model.pose import Pose
from poise.model.same import check_same
from poise.model.skeleton import Kind, Skeleton
from poise.model.tracks import Track, bracket, check_tracks

# fraction of the largest time: rounding of the difference of two 32-bit times
_ROUNDING = 1.2e-7
# frame rates of NTSC film and television are lower by this factor
_NTSC = 1.001
# fraction of the measured rate: largest deviation of the true rate
_NEAR = 0.01
# [1/s] shorter steps are no frames
_FASTEST = 1e6
# decimals of rates written by hand: 23.976
_DECIMALS = 3
# fraction of a frame: coarser rounding does not show the rate
_CLEAR = 0.1
# frames of a resampled clip: 38 days at 30 frames per second
_MOST_FRAMES = 1e8


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
        times = finite(self.times, "times").copy()
        require(self.poses, Pose, "the poses of a clip")
        text(self.name, "the name of a clip")
        if times.ndim != 1 or self.poses.shape != times.shape:
            message = f"{times.shape} times do not match poses with batch axes {self.poses.shape}"
            raise InputError(message)
        if (np.diff(times) < 0).any():
            message = "the times of a clip must not decrease"
            raise InputError(message)
        frozen(times)
        object.__setattr__(self, "times", times)

    @staticmethod
    def at_rate(poses: Pose, fps: float, name: str = "") -> Clip:
        """Make a Clip of poses at a constant rate [frames/s].

        The first pose is at time 0.
        """
        count = len(require(poses, Pose, "the poses of a clip"))
        return Clip(np.arange(count) / checked_rate(fps), poses, name)

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
        return _true_rate(self.times, float(1.0 / np.median(steps))) if len(steps) else 0.0

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {counted(len(self), 'frame')}, {self.duration:.3g} s)"

    def at(self, seconds: ArrayLike) -> Pose:
        """Return the pose at a time [s], or a batch."""
        t = finite(seconds, "seconds")
        if not len(self.times):
            message = f"clip {self.name!r} has no frames"
            raise InputError(message)
        lower, weight = bracket(self.times, t)
        if not weight.any():
            return self.poses[lower]
        return self.poses[lower].blended(self.poses[np.minimum(lower + 1, len(self.times) - 1)], weight)

    def on(self, skeleton: Skeleton) -> Clip:
        """Return the same motion on a compatible skeleton.

        Limits and proportions may differ; InputError for other joints.
        """
        check_same(skeleton, self.skeleton, f"clip {self.name!r}")
        return Clip(self.times, self.poses.on(skeleton), self.name)

    def resampled(self, fps: float) -> Clip:
        """Resample the clip at a constant rate [frames/s].

        Both ends of its time are kept as near as the rate allows.
        """
        frames = self.duration * checked_rate(fps)
        if frames > _MOST_FRAMES:
            message = f"{self.duration:g} s at {fps:g} frames per second are {frames:.3g} frames: too many"
            raise InputError(message)
        frames = round(frames) + 1
        return Clip.at_rate(self.at(np.arange(frames) / fps), fps, self.name)


def _true_rate(times: Floats, rate: float) -> float:
    """Find the steady rate [1/s] of a clip.

    It lies near the measured rate; without a steady rate the measured one is returned. Whole rates and 1000/1001 of
    them come first, then rates of three decimals (59.94), then the mean rate.
    """
    if rate > _FASTEST:
        return rate
    begun = times - times[0]
    frames = np.cumsum(np.round(np.diff(times) * rate))
    slack = _ROUNDING * float(np.abs(times).max())
    mean = float(frames[-1] / begun[-1])
    for true in (*usual_rates(mean), round(mean, _DECIMALS), mean):
        if true > 0.0 and abs(true - rate) <= _NEAR * rate and slack * true <= _CLEAR:
            off = np.abs(begun - np.round(begun * true) / true)
            if float(off.max()) <= slack:
                return true
    return rate


def usual_rates(rate: float) -> list[float]:
    """Find the standard rates next to a rate [1/s].

    They are the nearest whole rate and 1000/1001 of a whole one (29.97), the nearer first; within
    rounding the whole one is first.
    """
    rates = float(round(rate)), round(rate * _NTSC) / _NTSC
    return sorted(rates, key=lambda one: round(abs(one / rate - 1.0), 9))


def checked_rate(fps: Any) -> float:
    """Check a frame rate and return it as a positive number. Raise InputError for anything else."""
    rate = real(fps, "frames per second")
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

    def __init__(self, skeleton: Skeleton, tracks: Iterable[Track], name: str = "") -> None:
        skeleton = require(skeleton, Skeleton, "the skeleton of a KeyedClip")
        kept = check_tracks(skeleton, tracks)
        for field, value in (("_skeleton", skeleton), ("tracks", kept), ("name", text(name, "the name of a clip"))):
            object.__setattr__(self, field, value)  # the clip is frozen

    tracks: tuple[Track, ...]
    _skeleton: Skeleton

    @classmethod
    def unchecked(cls, skeleton: Skeleton, tracks: tuple[Track, ...], name: str) -> KeyedClip:
        """Make a clip of valid tracks without checking them.

        A file may have thousands of tracks.
        """
        clip = cls.__new__(cls)
        for field, value in (("_skeleton", skeleton), ("tracks", tracks), ("name", name)):
            object.__setattr__(clip, field, value)
        return clip

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton of the tracks."""
        return self._skeleton

    @cached_property
    def times(self) -> Floats:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All key times of all tracks (frames,) [s]."""
        keys = [track.times for track in self.tracks]
        times = np.unique(np.concatenate(keys)) if keys else np.zeros(0)
        frozen(times)
        return times

    @cached_property
    def poses(self) -> Pose:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A pose at each of the times."""
        return self.at(self.times)

    @property
    def duration(self) -> float:
        """The largest key time [s]."""
        return max((float(track.times[-1]) for track in self.tracks), default=0.0)

    def on(self, skeleton: Skeleton) -> Clip:
        """Return the same motion on a compatible skeleton.

        Limits and proportions may differ; InputError for other joints.
        """
        check_same(skeleton, self.skeleton, f"clip {self.name!r}")
        return KeyedClip.unchecked(skeleton, self.tracks, self.name)

    def at(self, seconds: ArrayLike) -> Pose:
        """Return the pose at a time [s], or a batch."""
        t = finite(seconds, "seconds")
        s = self.skeleton
        q = np.broadcast_to(s.rest_q, (*t.shape, s.nq)).copy()
        translations, scales = _rest_rows(s, t.shape)
        animated = {"translation": False, "scale": False}
        for track in self.tracks:
            values = track.sampled(t)
            if track.path == "rotation":
                _put_rotation(s, q, track.joint, values)
            elif track.path == "translation":
                animated["translation"] |= _put_translation(s, q, translations, track.joint, values)
            else:
                animated["scale"] = True
                scales[..., track.joint, :] = values
        return Pose(s, q, translations if animated["translation"] else None, scales if animated["scale"] else None)


def _rest_rows(skeleton: Skeleton, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    size = (*shape, len(skeleton), 3)
    scales = np.diagonal(skeleton.B[:, :, :3], axis1=1, axis2=2)
    return np.broadcast_to(skeleton.A[:, :3], size).copy(), np.broadcast_to(scales, size).copy()


def _put_rotation(skeleton: Skeleton, q: Floats, joint: int, values: Floats) -> None:
    """Store parent-relative rotations as q, without A's rotation."""
    start = skeleton.q_start[joint] + (3 if skeleton.kinds[joint] == Kind.FREE else 0)
    rest = rotations.inverse(skeleton.A[joint, 3:])
    q[..., start : start + 4] = rotations.multiply(np.broadcast_to(rest, values.shape), values)


def _put_translation(skeleton: Skeleton, q: Floats, translations: Floats, joint: int, values: Floats) -> bool:
    """Store parent-relative translations; a free joint carries them in q. Return whether they are stored outside q."""
    if skeleton.kinds[joint] != Kind.FREE:
        translations[..., joint, :] = values
        return True
    start = skeleton.q_start[joint]
    turned = rotations.rotate(rotations.inverse(skeleton.A[joint, 3:]), values - skeleton.A[joint, :3])
    q[..., start : start + 3] = turned
    return False
