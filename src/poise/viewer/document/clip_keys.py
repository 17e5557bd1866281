"""Keys of a clip: joint offsets at times.

Offsets are interpolated between keys. Without another key within two fades they fade smoothly to zero, so a sampled
clip continues unchanged a little before and after, without a jump.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.smoothing import smoothstep
from poise.model.channels import bracket_times
from poise.model.clip import Clip, KeyedClip
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton

FADE_S = 0.25  # [s] fade of an offset to zero beyond a key without a neighbour


_SAMPLE_RATE_HZ = 60.0  # [1/s] sample rate of keyed file clips; higher gives smoother offsets between the file's keys


class Key(NamedTuple):
    """Offset of a joint at a time [s] of a clip. It is in numbers of q; rotations are applied behind the clip's own."""

    clip_name: str
    joint_name: str
    time: float
    offset: tuple[float, ...]


def list_frame_times(clip: Clip) -> Floats:
    """List the frame times [s] of an edited clip. Key times of a file get frames between them."""
    if not isinstance(clip, KeyedClip):
        return clip.times
    between_times = np.arange(round(clip.duration * _SAMPLE_RATE_HZ)) / _SAMPLE_RATE_HZ
    return np.unique(np.concatenate([clip.times, between_times]))


def build_key(clip: Clip, joint: str, requested_time: float, pose: Pose) -> Key:
    """Build the key between a clip and a joint of a pose. It stands at the frame nearest to a time."""
    times = list_frame_times(clip)
    frame_time = float(times[np.abs(times - requested_time).argmin()])
    skeleton = clip.skeleton
    clip_values = clip.at(frame_time).q[skeleton.q_slice(joint)]
    pose_values = pose.q[pose.skeleton.q_slice(joint)][-len(clip_values) :]  # a freed root has its position first
    return Key(clip.name, joint, frame_time, tuple(_compute_offset(skeleton, joint, clip_values, pose_values).tolist()))


def apply_keys(clip: Clip, keys: Sequence[Key]) -> Clip:
    """Apply the keys of a clip."""
    keys = [key for key in keys if key.clip_name == clip.name]
    if not keys:
        return clip
    times = list_frame_times(clip)
    poses = clip.poses if times is clip.times else clip.at(times)
    q = np.array(poses.q)
    for joint in dict.fromkeys(key.joint_name for key in keys):
        columns = clip.skeleton.q_slice(joint)
        offsets = _interpolate_keys(clip.skeleton, joint, [key for key in keys if key.joint_name == joint], times)
        q[:, columns] = _apply_offset(clip.skeleton, joint, q[:, columns], offsets)
    return Clip(times, poses.with_q(q), clip.name)


def _interpolate_keys(skeleton: Skeleton, joint: str, keys: Sequence[Key], times: Floats) -> Floats:
    """Interpolate the offsets of a joint's keys as (frames, numbers)."""
    zero_offset = np.zeros(len(keys[0].offset))
    if _is_rotational(skeleton, joint):
        zero_offset[-4] = 1.0
    offsets = {key.time: np.array(key.offset) for key in keys}
    fade_offsets = {time + sign * FADE_S: zero_offset for time in offsets for sign in (-1, 1)}
    timed_offsets = sorted({**fade_offsets, **offsets}.items(), key=lambda timed: timed[0])
    key_times = [time for time, _ in timed_offsets if time in offsets]
    # Between two close keys there is no fade: the offset is interpolated.
    knot_offsets = [
        (knot_time, offset)
        for knot_time, offset in timed_offsets
        if knot_time in offsets or not _is_between_close_keys(knot_time, key_times)
    ]
    knot_times, knot_values = (
        np.array([knot_time for knot_time, _ in knot_offsets]),
        np.array([offset for _, offset in knot_offsets]),
    )
    lower, weight = bracket_times(knot_times, times)
    smooth_weight = smoothstep(weight)
    lower_values, upper_values = knot_values[lower], knot_values[np.minimum(lower + 1, len(knot_times) - 1)]
    interpolated = lower_values + smooth_weight[:, None] * (upper_values - lower_values)
    if _is_rotational(skeleton, joint):
        interpolated[:, -4:] = rotations.slerp(lower_values[:, -4:], upper_values[:, -4:], smooth_weight)
    return interpolated


def _is_between_close_keys(time: float, key_times: Sequence[float]) -> bool:
    """Return whether a time lies between two neighbouring keys. These are at most two fades apart."""
    return any(a < time < b and b - a <= 2 * FADE_S for a, b in pairwise(key_times))


def _is_rotational(skeleton: Skeleton, joint: str) -> bool:
    return skeleton[joint].kind in (Kind.BALL, Kind.FREE)


def _compute_offset(skeleton: Skeleton, joint: str, clip_values: Floats, target_values: Floats) -> Floats:
    """Compute the offset from a joint's own values to a target. It is the inverse of `_apply_offset`."""
    offset = target_values - clip_values
    if _is_rotational(skeleton, joint):
        offset[-4:] = rotations.multiply(rotations.inverse(clip_values[-4:]), target_values[-4:])
    return offset


def _apply_offset(skeleton: Skeleton, joint: str, clip_values: Floats, offsets: Floats) -> Floats:
    result = clip_values + offsets
    if _is_rotational(skeleton, joint):
        result[:, -4:] = rotations.normalise(rotations.multiply(clip_values[:, -4:], offsets[:, -4:]))
    return result
