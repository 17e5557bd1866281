"""Timeline of a clip: keys with joint offsets, and the playhead.

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
from poise.model.clip import Clip, KeyedClip
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.model.tracks import bracket

FADE = 0.25  # [s] fade of an offset to zero beyond a key without a neighbour
_RATE = 60.0  # [1/s] sample rate of keyed file clips; higher gives smoother offsets between the file's keys


class Key(NamedTuple):
    """Offset of a joint at a time [s] of a clip. It is in numbers of q; rotations are applied behind the clip's own."""

    clip: str
    joint: str
    time: float
    added: tuple[float, ...]


def frame_times(clip: Clip) -> Floats:
    """List the frame times [s] of an edited clip. Key times of a file get frames between them."""
    if not isinstance(clip, KeyedClip):
        return clip.times
    between = np.arange(round(clip.duration * _RATE)) / _RATE
    return np.unique(np.concatenate([clip.times, between]))


def key_at(clip: Clip, joint: str, seconds: float, pose: Pose) -> Key:
    """Build the key between a clip and a joint of a pose. It stands at the frame nearest to a time."""
    times = frame_times(clip)
    time = float(times[np.abs(times - seconds).argmin()])
    skeleton = clip.skeleton
    own = clip.at(time).q[skeleton.q_slice(joint)]
    wanted = pose.q[pose.skeleton.q_slice(joint)][-len(own) :]  # a freed root has its position first
    return Key(clip.name, joint, time, tuple(_between(skeleton, joint, own, wanted).tolist()))


def edited(clip: Clip, keys: Sequence[Key]) -> Clip:
    """Apply the keys of a clip."""
    keys = [key for key in keys if key.clip == clip.name]
    if not keys:
        return clip
    times = frame_times(clip)
    poses = clip.poses if times is clip.times else clip.at(times)
    q = np.array(poses.q)
    for joint in dict.fromkeys(key.joint for key in keys):
        columns = clip.skeleton.q_slice(joint)
        added = _added(clip.skeleton, joint, [key for key in keys if key.joint == joint], times)
        q[:, columns] = _on_top(clip.skeleton, joint, q[:, columns], added)
    return Clip(times, poses.with_q(q), clip.name)


def _added(skeleton: Skeleton, joint: str, keys: Sequence[Key], times: Floats) -> Floats:
    """Interpolate the offsets of a joint's keys as (frames, numbers)."""
    nothing = np.zeros(len(keys[0].added))
    if _turns(skeleton, joint):
        nothing[-4] = 1.0
    at = {key.time: np.array(key.added) for key in keys}
    faded = {time + side * FADE: nothing for time in at for side in (-1, 1)}
    rows = sorted({**faded, **at}.items(), key=lambda row: row[0])
    real = [time for time, _ in rows if time in at]
    # Between two close keys there is no fade: the offset is interpolated.
    kept = [(t, row) for t, row in rows if t in at or not _is_between_near(t, real)]
    knots, values = np.array([t for t, _ in kept]), np.array([row for _, row in kept])
    lower, weight = bracket(knots, times)
    smooth = weight * weight * (3.0 - 2.0 * weight)
    before, after = values[lower], values[np.minimum(lower + 1, len(knots) - 1)]
    mixed = before + smooth[:, None] * (after - before)
    if _turns(skeleton, joint):
        mixed[:, -4:] = rotations.slerp(before[:, -4:], after[:, -4:], smooth)
    return mixed


def _is_between_near(time: float, real: Sequence[float]) -> bool:
    """Return whether a time lies between two neighbouring keys. These are at most two fades apart."""
    return any(a < time < b and b - a <= 2 * FADE for a, b in pairwise(real))


def _turns(skeleton: Skeleton, joint: str) -> bool:
    return skeleton[joint].kind in (Kind.BALL, Kind.FREE)


def _between(skeleton: Skeleton, joint: str, own: Floats, wanted: Floats) -> Floats:
    """Compute the offset from a joint's own values to a target. It is the inverse of `_apply_offset`."""
    added = wanted - own
    if _turns(skeleton, joint):
        added[-4:] = rotations.multiply(rotations.inverse(own[-4:]), wanted[-4:])
    return added


def _on_top(skeleton: Skeleton, joint: str, own: Floats, added: Floats) -> Floats:
    result = own + added
    if _turns(skeleton, joint):
        result[:, -4:] = rotations.normalised(rotations.multiply(own[:, -4:], added[:, -4:]))
    return result
