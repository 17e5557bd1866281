"""Keyed clips of sampled FBX takes.

FBX interpolates angles along curves, so motion between two frames is not linear. The worker also measures the slopes at
both ends of every frame and the midpoint. A cubic is used where it is nearer to the midpoint than a straight line; at a
jump within a frame its slopes are meaningless and the line is nearer. A cubic only approximates a curve of angles and
misses keys between two frames: docs/formats/fbx.md has the measured errors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from poise.errors import FileError
from poise.io.child.ask import ChildAnswer, nonsense
from poise.io.fbx.skeleton import WXYZ
from poise.io.numbers import LARGEST
from poise.maths.arrays import Bools, Floats, frozen
from poise.model.clip import Clip, KeyedClip
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.model.tracks import Track

_NEAR = 1e-4  # distance [frames] of the slope samples from a frame, as in the worker
_STRAIGHT = 1e-7  # share of the largest value; a midpoint error below it is linear; keys are 32-bit floats
_STILL = 1e-12  # share of the largest value; a track with smaller differences from rest does not move
_TURNS = 1e-6  # quaternion difference from rest; below it a rotation is rounding and makes no joint
_PARTS = {"translation": [0, 1, 2], "rotation": WXYZ, "scale": [7, 8, 9]}


class Take(NamedTuple):
    """A take: start time, rows, times, samples and intermediate samples.

    Times begin at 0, samples are (r, frames, 10), those between frames (3, r, frames - 1, 10).
    """

    name: str
    begin: float
    rows: list[int]
    times: Floats
    keys: Floats
    between: Floats | None

    def turning(self, rest: Floats) -> set[int]:
        """Find the rows rotated away from rest (n, 10)."""
        turned, at_rest = self.keys[:, :, 3:7], rest[self.rows, None, 3:7]
        apart = np.minimum(np.abs(turned - at_rest), np.abs(turned + at_rest)).max(axis=(1, 2), initial=0.0)
        return {row for row, turn in zip(self.rows, apart, strict=True) if turn > _TURNS}


def takes_of(reply: ChildAnswer, count: int) -> list[Take]:
    """Parse the takes of a reply about `count` nodes."""
    try:
        return [_take(reply, told, count) for told in reply.header["takes"]]
    except (TypeError, KeyError, ValueError, IndexError) as error:
        raise nonsense(reply.path) from error


def _take(reply: ChildAnswer, told: dict[str, Any], count: int) -> Take:
    rows = [range(count)[row] for row in told["rows"]]
    frames = reply.blocks[told["times"]].size
    times = reply.block(told["times"], (frames,))
    keys = reply.block(told["keys"], (len(rows), frames, 10))
    between = None
    if "between" in told:
        shape = (len(rows), max(frames - 1, 0), 10)
        between = np.stack([reply.block(block, shape) for block in told["between"]])
    if not frames or (np.diff(times) <= 0).any():
        raise FileError(reply.path, f"take {told['name']!r} has times that do not increase")
    if np.abs(keys).max(initial=0.0) > LARGEST:
        raise FileError(reply.path, f"take {told['name']!r} has numbers too large")
    begin = float(told["begin"])
    times = times - begin
    frozen(times)
    return Take(str(told["name"]), begin, rows, times, keys, between)


def build_clip(skeleton: Skeleton, rest: Floats, take: Take, name: str) -> Clip:
    """Build a clip with a key per frame of a take. If nothing moves it is the rest pose at these times."""
    tracks = [
        track
        for k, row in enumerate(take.rows)
        for path, columns in _PARTS.items()
        if path != "rotation" or skeleton.kinds[row] == Kind.BALL
        if (track := _track(take, k, row, path, columns, rest[row])) is not None
    ]
    if tracks:
        return KeyedClip(skeleton, tuple(tracks), name)
    q = np.broadcast_to(skeleton.rest_q, (len(take.times), skeleton.nq))
    return Clip(take.times, Pose(skeleton, q), name)


def _track(take: Take, k: int, row: int, path: Any, columns: list[int], rest: Floats) -> Track | None:
    """Build the track of one channel, or None at constant rest."""
    keys = take.keys[k][:, columns]
    size = float(np.abs(keys).max())
    if np.abs(keys - rest[columns]).max() <= _STILL * size:
        return None
    if path == "rotation":
        keys = _aligned(keys)
    if take.between is None or len(keys) < 2:  # noqa: PLR2004  (one key has no interval)
        return _linear(row, path, take.times, keys)
    after, before, middle = take.between[:, k][..., columns]
    step = np.diff(take.times)[:, None]
    if path == "rotation":
        after, before, middle = (_nearest(part, keys[:-1]) for part in (after, before, middle))
    first, last = (
        (after - keys[:-1]) / (_NEAR * step),
        (keys[1:] - _nearest_to(before, keys[1:], path)) / (_NEAR * step),
    )
    straight = _is_straight(keys, first, last, middle, step, path)
    line = np.diff(keys, axis=0) / step
    if _misses(0.5 * (keys[:-1] + keys[1:]), middle, path).max() <= _STRAIGHT * size:
        return _linear(row, path, take.times, keys)
    first, last = np.where(straight, line, first), np.where(straight, line, last)
    values = np.stack([np.concatenate([last[:1] * 0.0, last]), keys, np.concatenate([first, first[:1] * 0.0])], axis=1)
    frozen(values)
    return Track(row, path, "CUBICSPLINE", take.times, values)


def _linear(row: int, path: Any, times: Floats, keys: Floats) -> Track:
    frozen(keys)
    return Track(row, path, "LINEAR", times, keys)


def _is_straight(keys: Floats, first: Floats, last: Floats, middle: Floats, step: Floats, path: str) -> Bools:
    """Return whether a line fits the midpoints as well as the cubic. The result is (frames - 1, 1)."""
    half = 0.5 * (keys[:-1] + keys[1:])
    by_line = _misses(half, middle, path)
    by_cubic = _misses(half + step / 8.0 * (first - last), middle, path)
    return (by_line <= by_cubic)[:, None]


def _misses(points: Floats, middle: Floats, path: str) -> Floats:
    """Measure the distance (k,) of points from the midpoints. Rotations are scaled to unit length."""
    if path == "rotation":
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        points = points / np.where(lengths > 0.0, lengths, 1.0)
    return np.abs(points - middle).max(axis=1)


def _aligned(keys: Floats) -> Floats:
    """Make signs of quaternions (k, 4) continuous, at unit length."""
    keys = keys / np.linalg.norm(keys, axis=1, keepdims=True)
    flips = np.cumprod(np.where((keys[:-1] * keys[1:]).sum(axis=1) < 0.0, -1.0, 1.0))
    return keys * np.concatenate([[1.0], flips])[:, None]


def _nearest(part: Floats, keys: Floats) -> Floats:
    """Flip quaternions to the hemisphere of others."""
    return np.where((part * keys).sum(axis=1, keepdims=True) < 0.0, -part, part)


def _nearest_to(part: Floats, keys: Floats, path: str) -> Floats:
    return _nearest(part, keys) if path == "rotation" else part
