"""Animations to clips: samplers are checked, then all keys decoded together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from poise.io.gltf.accessors import Accessors, unit_rows
from poise.io.gltf.json import BrokenError, Json, index, mapping, objects
from poise.io.gltf.nodes import Nodes
from poise.io.gltf.notes import Notes
from poise.io.gltf.read.skeleton import hinge_values
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.clip import Clip, KeyedClip
from poise.model.limits import Range
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.model.tracks import Track

_COMPONENTS = {"translation": 3, "rotation": 4, "scale": 3}
_INTERPOLATIONS = ("LINEAR", "STEP", "CUBICSPLINE")
_WXYZ = [3, 0, 1, 2]


class _Channel(NamedTuple):
    node: int
    path: Any  # a key of _COMPONENTS
    interpolation: Any  # one of _INTERPOLATIONS
    input: int
    output: int


class RawClip(NamedTuple):
    """Animation with checked indices, counts and types."""

    name: str
    channels: list[_Channel]


def raw_clips(document: Json, node_count: int, accessors: Accessors, notes: Notes) -> list[RawClip]:
    """Parse and check the animations.

    Checks cover channels that move nodes, their samplers and the accessors' counts.
    """
    result: list[RawClip] = []
    for i, animation in enumerate(objects(document, "animations")):
        place = f"animations[{i}]"
        channels = _channels(animation, place, node_count, accessors, notes)
        result.append(RawClip(notes.name_of(animation, f"animation_{i}"), channels))
    return result


def turning_nodes(clips: list[RawClip]) -> set[int]:
    """Find the nodes with animated rotation."""
    return {channel.node for clip in clips for channel in clip.channels if channel.path == "rotation"}


def _channels(animation: Json, place: str, node_count: int, accessors: Accessors, notes: Notes) -> list[_Channel]:
    samplers = objects(animation, "samplers", place)
    found: dict[tuple[int, str], _Channel] = {}
    for k, channel in enumerate(objects(animation, "channels", place)):
        target = mapping(channel, "target", f"{place}.channels[{k}]")
        path: Any = target.get("path")
        if path == "weights" or "node" not in target:
            continue
        where = f"{place}.channels[{k}]"
        if not isinstance(path, str) or path not in _COMPONENTS:
            notes.add("animation channels move something other than translation, rotation, scale; ignored", where)
            continue
        node = index(target["node"], node_count, where, "node")
        s = index(channel.get("sampler"), len(samplers), where, "sampler")
        if (node, path) in found:
            notes.add("animation channels move what another one moves already; ignored", where)
            continue
        found[node, path] = _sampled(samplers[s], f"{place}.samplers[{s}]", node, path, accessors)
    return list(found.values())


def _sampled(sampler: Json, place: str, node: int, path: str, accessors: Accessors) -> _Channel:
    interpolation = sampler.get("interpolation", "LINEAR")
    if interpolation not in _INTERPOLATIONS:
        raise BrokenError(place, "its interpolation must be LINEAR, STEP or CUBICSPLINE")
    count = len(accessors)
    times = index(sampler.get("input"), count, place, "accessor")
    values = index(sampler.get("output"), count, place, "accessor")
    keys, output = accessors.layout(times), accessors.layout(values)
    if keys.components != 1 or not keys.elements:
        raise BrokenError(place, f"its times, accessors[{times}], must be one or more single numbers")
    expected = keys.elements * (3 if interpolation == "CUBICSPLINE" else 1)
    if output.components != _COMPONENTS[path] or output.elements != expected:
        raise BrokenError(
            place,
            f"{keys.elements:,} times need {expected:,} values of {_COMPONENTS[path]} numbers; "
            f"accessors[{values}] has {output.elements:,} of {output.components}",
        )
    return _Channel(node, path, interpolation, times, values)


# --- decoding ------------------------------------------------------------------------------------


def read_tracks(clips: list[RawClip], nodes: Nodes, accessors: Accessors, notes: Notes) -> list[tuple[Track, ...]]:
    """Decode every key of every clip."""
    channels = [channel for clip in clips for channel in clip.channels]
    decoded = accessors.floats(i for channel in channels for i in (channel.input, channel.output))
    times = {i: _times(decoded[i][:, 0], i, notes) for i in dict.fromkeys(channel.input for channel in channels)}
    turned = _rotations(channels, decoded)
    rows = nodes.rows
    return [
        tuple(
            Track(
                rows[c.node],
                c.path,
                c.interpolation,
                times[c.input],
                turned[c.output, c.interpolation == "CUBICSPLINE"] if c.path == "rotation" else _keys(c, decoded),
            )
            for c in clip.channels
        )
        for clip in clips
    ]


def _keys(channel: _Channel, decoded: dict[int, Floats]) -> Floats:
    values = decoded[channel.output]
    return values.reshape(-1, 3, 3) if channel.interpolation == "CUBICSPLINE" else values


def _times(times: Floats, i: int, notes: Notes) -> Floats:
    steps = np.diff(times)
    if (steps < 0).any():
        raise BrokenError(f"accessors[{i}]", "holds times of an animation that go back")
    if (steps == 0).any():
        notes.add("animations have several keys at one time", f"accessors[{i}]")
    if times[0] < 0:
        notes.add("animations have keys before time 0", f"accessors[{i}]")
    return times


def _rotations(channels: list[_Channel], decoded: dict[int, Floats]) -> dict[tuple[int, bool], Floats]:
    """Decode the rotations w x y z of all channels together. Of splines the values are normalized, not the tangents."""
    wanted = dict.fromkeys((c.output, c.interpolation == "CUBICSPLINE") for c in channels if c.path == "rotation")
    result: dict[tuple[int, bool], Floats] = {}
    for spline in (False, True):
        outputs = [output for output, is_spline in wanted if is_spline == spline]
        if not outputs:
            continue
        values = np.concatenate([decoded[output] for output in outputs])[:, _WXYZ]
        ends = np.cumsum([len(decoded[output]) for output in outputs])
        keys = values[1::3] if spline else values
        _refuse_zero(keys, outputs, ends // 3 if spline else ends)
        keys[:] = unit_rows(keys)
        values.setflags(write=False)
        start = 0
        for output, end in zip(outputs, ends.tolist(), strict=True):
            part = values[start:end]
            result[output, spline] = part.reshape(-1, 3, 4) if spline else part
            start = end
    return result


def _refuse_zero(keys: Floats, outputs: list[int], ends: np.ndarray) -> None:
    zero = np.flatnonzero(~keys.any(axis=1))
    if len(zero):
        output = outputs[int(np.searchsorted(ends, zero[0], side="right"))]
        raise BrokenError(f"accessors[{output}]", "holds a rotation of zero length, which is no rotation")


def build_clip(skeleton: Skeleton, tracks: tuple[Track, ...], name: str) -> Clip:
    """Build a clip from tracks. Hinges and slides have one number in q, so their clips are sampled at the keys."""
    single = set(np.flatnonzero((skeleton.kinds == Kind.HINGE) | (skeleton.kinds == Kind.SLIDE)).tolist())
    sampled = [track for track in tracks if track.joint in single and track.path != "scale"]
    if not sampled:
        return KeyedClip.unchecked(skeleton, tracks, name)
    times = np.unique(np.concatenate([track.times for track in tracks]))
    kept = tuple(track for track in tracks if not any(track is other for other in sampled))
    poses = KeyedClip.unchecked(skeleton, kept, name).at(times)
    q = poses.q.copy()
    for row in sorted({track.joint for track in sampled}):
        if skeleton.couplings[row] is None:
            q[:, skeleton.q_start[row]] = _single_values(skeleton, row, sampled, times)
    return Clip(times, Pose(skeleton, q, _unslid(skeleton, q, poses.translations), poses.scales), name)


def _single_values(skeleton: Skeleton, row: int, tracks: list[Track], times: Floats) -> Floats:
    """Compute the values of a hinge or slide at `times`. A hinge has no jumps of a full turn."""
    turned = np.tile(rotations.IDENTITY, (len(times), 1))
    moved = np.tile(skeleton.A[row, :3], (len(times), 1))
    for track in tracks:
        if track.joint == row and track.path == "rotation":
            rest = np.broadcast_to(rotations.inverse(skeleton.A[row, 3:]), (len(times), 4))
            turned = rotations.multiply(rest, track.at(times))
        elif track.joint == row:
            moved = track.at(times)
    values = hinge_values(skeleton, row, turned, moved)
    if skeleton.kinds[row] == Kind.SLIDE:
        return values
    values, limit = np.unwrap(values), skeleton.limits[row]
    if isinstance(limit, Range) and not limit.low <= values[0] <= limit.high:
        values += 2 * np.pi * np.round((limit.nearest(float(values[0])) - values[0]) / (2 * np.pi))
    return values


def _unslid(skeleton: Skeleton, q: Floats, translations: Floats | None) -> Floats | None:
    """Restore slide translations from q. Translations beside q would override them."""
    if translations is None:
        return None
    result = translations.copy()
    for row in np.flatnonzero(skeleton.kinds == Kind.SLIDE).tolist():
        ratio, offset = skeleton.coupling_rows[row]
        distance = ratio * q[:, skeleton.q_start[row], None] + offset
        along = rotations.rotate(skeleton.A[row, 3:], skeleton.axes[row])
        result[:, row] = skeleton.A[row, :3] + distance * along
    return result
