"""Clips to animations with 32-bit keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from poise.errors import UnsupportedError
from poise.io.gltf.json import Json, text
from poise.io.gltf.scale import parts_in, same_scale
from poise.io.gltf.write.draft import LARGEST_KEY, Draft
from poise.io.gltf.write.edit import Shown, as_parts, matching_rows
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.clip import Clip, KeyedClip
from poise.model.local import Parts, rest_parts

_XYZW = [1, 2, 3, 0]


class _Keys(NamedTuple):
    """Keys of one channel, values in glTF's order of components."""

    row: int
    path: str
    interpolation: str
    times: Floats
    values: Floats


def add_clip(draft: Draft, clip: Clip, shown: Shown) -> None:
    """Append an animation. A KeyedClip gets its own keys, any other a key per frame where a joint moves."""
    matching = matching_rows(clip.skeleton, shown.pose.skeleton)
    rows = matching.tolist()
    is_alike = same_scale(clip.skeleton, shown.pose.skeleton, matching)
    channels = _keyed(clip) if isinstance(clip, KeyedClip) and is_alike else _sampled(clip, matching, shown)
    samplers: list[Json] = []
    targets: list[Json] = []
    times: dict[int, tuple[int, Bools]] = {}
    for keys in channels:
        row = rows[keys.row]
        if row < 0:
            continue
        as_parts(draft, shown, row)
        if id(keys.times) not in times:
            times[id(keys.times)] = _add_times(draft, keys.times, clip.name)
        accessor, kept = times[id(keys.times)]
        if keys.interpolation == "CUBICSPLINE" and np.count_nonzero(kept) == 1:  # a spline has two keys or more
            keys = keys._replace(interpolation="LINEAR", values=keys.values[:, 1])  # noqa: PLW2901
        values = keys.values[kept].reshape(-1, keys.values.shape[-1])
        sampler = {"input": accessor, "interpolation": keys.interpolation, "output": draft.add_accessor(values, "keys")}
        targets.append({"sampler": len(samplers), "target": {"node": shown.nodes[row], "path": keys.path}})
        samplers.append(sampler)
    if samplers:
        name = _unique(clip.name or "clip", {text(a.get("name")) for a in draft.items("animations")})
        draft.items("animations").append({"name": name, "samplers": samplers, "channels": targets})


def _add_times(draft: Draft, times: Floats, name: str) -> tuple[int, Bools]:
    """Append key times. Of several equal in 32 bits the last is kept; return also the mask of those kept."""
    if times[0] < 0:
        raise UnsupportedError(f"clip {name!r} starts at {times[0]:g} s; the times of a glTF animation start at 0")
    if times[-1] > LARGEST_KEY:
        raise UnsupportedError(f"clip {name!r} ends at {times[-1]:g} s; a glTF animation ends by {LARGEST_KEY:g} s")
    rounded = times.astype(np.float32)
    kept = np.append(np.diff(rounded) > 0, True)
    return draft.add_accessor(rounded[kept, None].astype(np.float64), "keys", bounds=True), kept


def _keyed(clip: KeyedClip) -> Iterator[_Keys]:
    for track in clip.tracks:
        values = track.values[..., _XYZW] if track.path == "rotation" else track.values
        yield _Keys(track.joint, track.path, track.interpolation, track.times, values)


def _sampled(clip: Clip, rows: Ints, shown: Shown) -> Iterator[_Keys]:
    """Iterate the channels with a change in some frame."""
    if not len(clip):
        return
    frames, rest = parts_in(shown.pose.skeleton, clip.poses, rows), rest_parts(shown.pose)
    still = True
    for k, row in enumerate(rows.tolist()):
        if row < 0:
            continue
        for path in Parts._fields:
            values: Floats = getattr(frames, path)[:, k]
            same = [getattr(parts, path)[row] for parts in (rest, shown.parts)]
            if any((values != value).any() for value in same):
                still = False
                yield _channel(k, path, clip, values)
    if still and len(rows):  # one channel keeps the clip and its duration
        first = next(k for k, row in enumerate(rows) if row >= 0)
        yield _channel(first, "rotation", clip, frames.rotation[:, first])


def _channel(k: int, path: str, clip: Clip, values: Floats) -> _Keys:
    return _Keys(k, path, "LINEAR", clip.times, values[:, _XYZW] if path == "rotation" else values)


def _unique(name: str, taken: set[object]) -> str:
    new, count = name, 0
    while new in taken:
        count += 1
        new = f"{name}_{count}"
    return new


def _is_same(a: Clip, b: Clip) -> bool:
    """Return whether two clips are the same motion. Names and limits do not matter."""
    if isinstance(a, KeyedClip) or isinstance(b, KeyedClip):
        return isinstance(a, KeyedClip) and isinstance(b, KeyedClip) and _same_tracks(a, b)
    p, q = a.poses, b.poses
    return all(
        x is y or (x is not None and y is not None and np.array_equal(x, y))
        for x, y in ((a.times, b.times), (p.q, q.q), (p.translations, q.translations), (p.scales, q.scales))
    )


def _same_tracks(a: KeyedClip, b: KeyedClip) -> bool:
    """Return whether the keys are equal. Those of a copied clip are other arrays."""
    if a.tracks is b.tracks or len(a.tracks) != len(b.tracks):
        return a.tracks is b.tracks
    pairs = zip(a.tracks, b.tracks, strict=True)
    return all(x[:3] == y[:3] and all(map(np.array_equal, x[3:], y[3:])) for x, y in pairs)


def write_clips(draft: Draft, clips: tuple[Clip, ...], read: tuple[Clip, ...], shown: Shown) -> None:
    """Update the document's animations to those of a rig.

    Missing ones are dropped, changed names written, new ones appended.
    """
    names = [clip.name for clip in read]
    kept: dict[int, str] = {}
    new: list[Clip] = []
    for clip in clips:
        same = [i for i, other in enumerate(read) if i not in kept and _is_same(other, clip)]
        if same:
            kept[next((i for i in same if names[i] == clip.name), same[0])] = clip.name
        else:
            new.append(clip)
    if len(kept) < len(read):
        animations = draft.items("animations")
        animations[:] = [animation for i, animation in enumerate(animations) if i in kept]
        if not animations and not new:
            del draft.json["animations"]
    for place, i in enumerate(sorted(kept)):
        if kept[i] != names[i]:
            draft.items("animations")[place] = draft.items("animations")[place] | {"name": kept[i]}
    for clip in new:
        add_clip(draft, clip, shown)


def without_frames(clip: Clip) -> bool:
    """Return whether a clip has no frames or tracks."""
    return not clip.tracks if isinstance(clip, KeyedClip) else not len(clip)
