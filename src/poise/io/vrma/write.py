"""VRM animation writer: into a source animation, or from any humanoid.

A source animation keeps its expressions and gaze; any other motion is retargeted from the T pose.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np

from poise.errors import InputError, UnsupportedError, listed
from poise.io.gltf.container import Container, GltfDocument, pack
from poise.io.gltf.json import Json, mapping
from poise.io.gltf.read.skins import VRM_ANIMATION
from poise.io.gltf.write.animate import add_clip, without_frames
from poise.io.gltf.write.draft import Draft
from poise.io.gltf.write.edit import shown_by
from poise.io.gltf.write.write import bytes_of
from poise.io.vrma.motion import written
from poise.io.vrma.tpose import TPose, t_pose
from poise.maths.arrays import Floats
from poise.model.clip import Clip, KeyedClip
from poise.model.local import local_parts, rest_parts
from poise.model.pose import Pose
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Skeleton
from poise.model.tracks import Track

_SAME = 1e-6  # [file units] maximum change of a track equal to the document's
_PATHS: Any = ("translation", "rotation", "scale")


def is_animation(skeleton: Skeleton) -> bool:
    """Return whether a skeleton's source is a VRM animation."""
    source = skeleton.source
    return isinstance(source, GltfDocument) and VRM_ANIMATION in mapping(source.container.json, "extensions")


def vrma_bytes(thing: Saveable, path: Path, like: Skeleton) -> tuple[bytes, list[str]]:
    """Encode a VRM animation of a rig, clip or pose.

    Return its bytes and messages about losses; a pose becomes one frame.
    """
    clips = _clips(thing)
    if any(map(without_frames, clips)):
        raise UnsupportedError("a clip without frames cannot stand in a VRM animation, which needs at least one key")
    if is_animation(like):
        return _kept(thing, clips, path, like), []
    pose = t_pose(clips[0].skeleton)
    made = [written(clip, pose) for clip in clips]
    told = [lost for _, lost in made if lost]
    if pose.is_guess:
        size = f"so its joints span {pose.height:.3g} m"
        told.append(f"the unit of this character is unknown; it was taken as {pose.metres:.4g} m, {size}")
    return _new([clip for clip, _ in made], pose, path), told


def _clips(thing: Saveable) -> tuple[Clip, ...]:
    if isinstance(thing, Clip):
        return (thing,)
    if isinstance(thing, Rig) and thing.clips:
        return thing.clips
    pose = thing.pose if isinstance(thing, Rig) else thing
    if pose.shape:
        raise UnsupportedError(f"a batch of poses of shape {pose.shape} has no times; save a Clip instead")
    parts = [None if given is None else given[None] for given in (pose.translations, pose.scales)]
    return (Clip(np.zeros(1), Pose(pose.skeleton, pose.q[None], *parts), "pose"),)


# --- new -----------------------------------------------------------------------------------------


def _new(clips: list[Clip], pose: TPose, path: Path) -> bytes:
    skeleton = clips[0].skeleton
    bones = {role: {"node": i} for i, role in enumerate(pose.roles)}
    said: Json = {"specVersion": "1.0", "humanoid": {"humanBones": bones}}
    document: Json = {
        "asset": {"version": "2.0", "generator": "poise"},
        "extensionsUsed": [VRM_ANIMATION],
        "extensions": {VRM_ANIMATION: said},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
    }
    draft = Draft(Container("gltf", document))
    for i, name in enumerate(skeleton.names):
        node: Json = {"name": name, "translation": skeleton.A[i, :3].tolist()}
        draft.items("nodes").append(node | ({"children": list(skeleton.children[i])} if skeleton.children[i] else {}))
    shown = shown_by(Pose(skeleton, skeleton.rest_q), skeleton.rest_q, list(range(len(skeleton))))
    for clip in clips:
        add_clip(draft, clip, shown)
    return pack(draft.finish(path))


# --- kept ----------------------------------------------------------------------------------------


def _kept(thing: Saveable, clips: tuple[Clip, ...], path: Path, like: Skeleton) -> bytes:
    """Update the document's motion. Its nodes stay, because they are the T pose."""
    document = cast("GltfDocument", like.source)
    if isinstance(thing, Rig) and thing.clips and not _same_pose(thing.pose, document.pose):
        raise UnsupportedError(
            "the nodes of a VRM animation are its T pose, which stays; save the rig's pose alone, as one frame"
        )
    skeleton = thing.skeleton
    clips = tuple(_with_own_tracks(clip, document) for clip in clips)
    try:
        shown = document.pose.on(skeleton)
    except InputError as error:
        raise UnsupportedError(f"the joints are not those of the VRM animation to be kept: {error}") from error
    data = bytes_of(Rig(skeleton, shown, clips), path, like)
    _check_tracks(clips, document)
    return data


def _same_pose(a: Pose, b: Pose) -> bool:
    one, other = local_parts(a), local_parts(b)
    return all(x.shape == y.shape and np.allclose(x, y, rtol=0.0, atol=1e-9) for x, y in zip(one, other, strict=True))


def _nodes_of(document: GltfDocument, *, human: bool) -> set[int]:
    """Find the rows of human bones, or of expressions and gaze."""
    said = mapping(mapping(document.container.json, "extensions"), VRM_ANIMATION)
    if human:
        given = list(mapping(mapping(said, "humanoid"), "humanBones").items())
    else:
        faces = mapping(said, "expressions")
        given = [*mapping(faces, "preset").items(), *mapping(faces, "custom").items(), ("", said.get("lookAt"))]
    rows = {source: row for row, source in enumerate(document.pose.skeleton.source_ids)}
    nodes = [cast("Json", one).get("node") for name, one in given if isinstance(one, dict) and name != "hips"]
    return {rows[node] for node in nodes if type(node) is int and node in rows}


def _with_own_tracks(clip: Clip, document: GltfDocument) -> Clip:
    """Restore the document's keys for unchanged expressions and gaze."""
    if isinstance(clip, KeyedClip) or len(document.clips) != 1 or clip.skeleton.names != document.pose.skeleton.names:
        return clip
    own, aside = document.clips[0], _nodes_of(document, human=False)
    tracks = [track for track in own.tracks if track.joint in aside] if isinstance(own, KeyedClip) else []
    parts = local_parts(clip.poses)
    same = [
        np.abs(np.abs(getattr(parts, track.path)[:, track.joint]) - np.abs(track.at(clip.times))).max() <= _SAME
        for track in tracks
    ]
    if not tracks or not all(same) or clip.duration != own.duration:
        return clip
    kept = {track.joint for track in tracks}
    return KeyedClip(clip.skeleton, (*_sampled(clip, kept), *tracks), clip.name)


def _sampled(clip: Clip, without: set[int]) -> Iterator[Track]:
    """Iterate tracks for parts away from the rest pose."""
    parts, rest = local_parts(clip.poses), rest_parts(clip.poses[0])
    for row in (row for row in range(len(clip.skeleton)) if row not in without):
        for path in _PATHS:
            values: Floats = getattr(parts, path)[:, row]
            if (values != getattr(rest, path)[row]).any():
                yield Track(row, path, "LINEAR", clip.times, values)


def _check_tracks(clips: tuple[Clip, ...], document: GltfDocument) -> None:
    """Refuse motion outside the format. Human bones only rotate, and the hips also move."""
    human, names = _nodes_of(document, human=True), document.pose.skeleton.names
    slack = 1e-6 * max(float(np.abs(document.pose.skeleton.A[:, :3]).max(initial=0.0)), 1e-9)
    moved: set[str] = set()
    for clip in clips:
        if any(clip is own for own in document.clips):
            continue
        parts, rest = local_parts(clip.poses), rest_parts(document.pose)
        for path, least in (("translation", slack), ("scale", 1e-6)):
            off = np.abs(getattr(parts, path) - getattr(rest, path)).max(axis=(0, 2), initial=0.0)
            moved |= {names[row] for row in human if off[row] > least}
    if moved:
        said = (
            f"a VRM animation rotates bones and moves the hips only; these slide or are scaled: {listed(sorted(moved))}"
        )
        raise UnsupportedError(said)
