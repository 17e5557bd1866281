"""Timeline of a clip: keys with joint offsets, and the playhead.

Offsets are interpolated between keys. Without another key within two fades they fade smoothly to zero, so a sampled
clip continues unchanged a little before and after, without a jump.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from poise.errors import InputError
from poise.ground.plant import Planted
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.clip import Clip, KeyedClip, bracket_times
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton

FADE_S = 0.25  # [s] fade of an offset to zero beyond a key without a neighbour
_SAMPLE_RATE_HZ = 60.0  # [1/s] sample rate of keyed file clips; higher gives smoother offsets between the file's keys


class Key(NamedTuple):
    """Offset of a joint at a time [s] of a clip. It is in numbers of q; rotations are applied behind the clip's own."""

    clip: str
    joint: str
    time: float
    added: tuple[float, ...]


def list_frame_times(clip: Clip) -> Floats:
    """List the frame times [s] of an edited clip. Key times of a file get frames between them."""
    if not isinstance(clip, KeyedClip):
        return clip.times
    between = np.arange(round(clip.duration * _SAMPLE_RATE_HZ)) / _SAMPLE_RATE_HZ
    return np.unique(np.concatenate([clip.times, between]))


def build_key(clip: Clip, joint: str, seconds: float, pose: Pose) -> Key:
    """Build the key between a clip and a joint of a pose. It stands at the frame nearest to a time."""
    times = list_frame_times(clip)
    time = float(times[np.abs(times - seconds).argmin()])
    skeleton = clip.skeleton
    own = clip.at(time).q[skeleton.q_slice(joint)]
    target = pose.q[pose.skeleton.q_slice(joint)][-len(own) :]  # a freed root has its position first
    return Key(clip.name, joint, time, tuple(_compute_offset(skeleton, joint, own, target).tolist()))


def apply_keys(clip: Clip, keys: Sequence[Key]) -> Clip:
    """Apply the keys of a clip."""
    keys = [key for key in keys if key.clip == clip.name]
    if not keys:
        return clip
    times = list_frame_times(clip)
    poses = clip.poses if times is clip.times else clip.at(times)
    q = np.array(poses.q)
    for joint in dict.fromkeys(key.joint for key in keys):
        columns = clip.skeleton.q_slice(joint)
        added = _interpolate_keys(clip.skeleton, joint, [key for key in keys if key.joint == joint], times)
        q[:, columns] = _apply_offset(clip.skeleton, joint, q[:, columns], added)
    return Clip(times, poses.with_q(q), clip.name)


def _interpolate_keys(skeleton: Skeleton, joint: str, keys: Sequence[Key], times: Floats) -> Floats:
    """Interpolate the offsets of a joint's keys as (frames, numbers)."""
    zero_offset = np.zeros(len(keys[0].added))
    if _is_rotational(skeleton, joint):
        zero_offset[-4] = 1.0
    offsets = {key.time: np.array(key.added) for key in keys}
    fade_offsets = {time + side * FADE_S: zero_offset for time in offsets for side in (-1, 1)}
    rows = sorted({**fade_offsets, **offsets}.items(), key=lambda row: row[0])
    key_times = [time for time, _ in rows if time in offsets]
    # Between two close keys there is no fade: the offset is interpolated.
    knot_rows = [(t, row) for t, row in rows if t in offsets or not _is_between_near(t, key_times)]
    knots, values = np.array([t for t, _ in knot_rows]), np.array([row for _, row in knot_rows])
    lower, weight = bracket_times(knots, times)
    smooth = weight * weight * (3.0 - 2.0 * weight)
    lower_values, upper_values = values[lower], values[np.minimum(lower + 1, len(knots) - 1)]
    mixed = lower_values + smooth[:, None] * (upper_values - lower_values)
    if _is_rotational(skeleton, joint):
        mixed[:, -4:] = rotations.slerp(lower_values[:, -4:], upper_values[:, -4:], smooth)
    return mixed


def _is_between_near(time: float, key_times: Sequence[float]) -> bool:
    """Return whether a time lies between two neighbouring keys. These are at most two fades apart."""
    return any(a < time < b and b - a <= 2 * FADE_S for a, b in pairwise(key_times))


def _is_rotational(skeleton: Skeleton, joint: str) -> bool:
    return skeleton[joint].kind in (Kind.BALL, Kind.FREE)


def _compute_offset(skeleton: Skeleton, joint: str, own: Floats, target: Floats) -> Floats:
    """Compute the offset from a joint's own values to a target. It is the inverse of `_apply_offset`."""
    added = target - own
    if _is_rotational(skeleton, joint):
        added[-4:] = rotations.multiply(rotations.inverse(own[-4:]), target[-4:])
    return added


def _apply_offset(skeleton: Skeleton, joint: str, own: Floats, added: Floats) -> Floats:
    result = own + added
    if _is_rotational(skeleton, joint):
        result[:, -4:] = rotations.normalised(rotations.multiply(own[:, -4:], added[:, -4:]))
    return result


# --- Playhead of a clip, and contact intervals for the timeline ------------------------------------------------------


MIN_SPEED, MAX_SPEED = 0.01, 10.0


@dataclass
class Playhead:
    """A looping clip at a time [s]."""

    clip: Clip | None = None
    time: float = 0.0
    playing: bool = False
    speed: float = 1.0

    def advance(self, seconds: float) -> None:
        """Advance the clip by a time step."""
        if not self.playing or self.clip is None:
            return
        length = self.clip.duration
        self.time = (self.time + seconds * self.speed) % length if length > 0.0 else 0.0

    def set_clip(self, clip: Clip | None) -> None:
        """Set the clip. It starts at zero, except for the same clip on other terrain."""
        same = clip is not None and self.clip is not None and clip.name == self.clip.name
        self.clip = clip
        self.playing = self.playing and clip is not None
        self.time = min(self.time, clip.duration) if same and clip is not None else 0.0

    def seek(self, seconds: float) -> None:
        """Go to a time inside the clip. Raise InputError without a clip."""
        if self.clip is None:
            raise InputError("there is no clip to play: choose one first")
        self.time = min(max(seconds, 0.0), self.clip.duration)

    def compute_pose(self, skeleton: Skeleton) -> Pose | None:
        """Compute the clip's pose on a related skeleton.

        The skeleton may have other limits or a free root. None without a clip.
        """
        if self.clip is None or not len(self.clip):
            return None
        return self.clip.at(self.time).on(skeleton)


def list_contacts(clip: Clip | None) -> list[dict[str, Any]]:
    """List the stance intervals of each planted foot.

    The form is [{"foot": "left", "intervals": [[0.1, 0.7], ...]}, ...].
    """
    if not isinstance(clip, Planted):
        return []
    return [
        {"foot": foot, "intervals": _merge_intervals([pair for part in parts.values() for pair in part])}
        for foot, parts in clip.contacts.intervals().items()
    ]


def _merge_intervals(intervals: list[Any]) -> list[list[float]]:
    """Merge overlapping intervals."""
    merged: list[list[float]] = []
    for start, end in sorted(map(tuple, intervals)):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], float(end))
        else:
            merged.append([float(start), float(end)])
    return merged
