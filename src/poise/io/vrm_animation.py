"""VRM animation writer: into a source animation, or from any humanoid.

A source animation keeps its expressions and gaze; any other motion is retargeted from the T pose.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np

from poise.errors import InputError, UnsupportedError, join_names
from poise.io.gltf.container import Container, GltfDocument, pack_document
from poise.io.gltf.draft import Draft, build_document_state
from poise.io.gltf.json_checks import Json, read_object
from poise.io.gltf.reader import VRM_ANIMATION
from poise.io.gltf.writer import add_clip, encode_gltf, is_empty_clip
from poise.io.vrm_t_pose import TPose, find_t_pose
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.anatomy.rest_geometry import compute_rest_rotations
from poise.model.clip import Clip, KeyedClip, Track
from poise.model.pose import Pose, compute_local_transforms, compute_rest_local_transforms
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Kind, Skeleton

# --- Retargeting of a clip to rotations from the T pose --------------------------------------------------------------
#
# Losses in the VRM animation are described.


_MAX_STRETCH = 0.1  # maximum change of a bone's length, relative to the T pose
_MIN_BONE_SHARE = (
    0.01  # relative to the height; smaller length changes are allowed: joints between bones may have no role
)
_MAX_STILL_ROTATION = 1e-6  # tolerance of quaternion components for a joint at rest
_MAX_SILENT_ERROR = 2e-3  # relative to the height; larger position errors are reported


def retarget_clip(clip: Clip, pose: TPose) -> tuple[Clip, str]:
    """Retarget a clip to a skeleton of human bones in T pose. Joints keep their names; the T pose is the rest.

    UnsupportedError for bones that stretch. The returned sentence describes other losses; it is empty if there are
    none.
    """
    names = [clip.skeleton.names[row] for row in pose.rows]
    skeleton = _build_skeleton(names, pose)
    points, world_rotations = _compute_world(clip.poses, pose.rows)
    points = points @ pose.vrm_from_world.T * pose.metres_per_unit
    _check_stretch(points, names, pose)
    rest_correction = rotations.inverse(
        rotations.multiply(pose.t_from_rest, rotations.from_matrix(compute_rest_rotations(clip.skeleton))[pose.rows])
    )
    vrm_rotations = _change_axes(rotations.multiply(world_rotations, rest_correction), pose.vrm_from_world)
    parents = np.array(pose.parents)
    local = rotations.unit(
        rotations.multiply(rotations.inverse(vrm_rotations[:, np.maximum(parents, 0)]), vrm_rotations)
    )
    local[:, parents < 0] = vrm_rotations[:, parents < 0]
    translations = np.broadcast_to(skeleton.A[:, :3], points.shape).copy()
    translations[:, 0] = points[:, 0]
    poses = Pose(skeleton, _remove_sign_flips(local).reshape(len(clip), -1), translations)
    errors = _measure_errors(points, vrm_rotations, pose)
    return Clip(clip.times, poses, clip.name), _describe_losses(clip.poses, errors, names, pose)


def _build_skeleton(names: list[str], pose: TPose) -> Skeleton:
    offsets = [
        position - (pose.positions[parent] if parent >= 0 else 0.0)
        for position, parent in zip(pose.positions, pose.parents, strict=True)
    ]
    return Skeleton.build(
        names,
        pose.parents,
        [Kind.BALL] * len(names),
        offsets=offsets,
        metres_per_unit=1.0,
        up="y",
        roles=dict(zip(pose.roles, names, strict=True)),
        faces="+z",
    )


def _compute_world(poses: Pose, rows: list[int]) -> tuple[Floats, Floats]:
    """Compute world positions and rotations of rows. They are (frames, b, 3) and (frames, b, 4)."""
    skeleton, parts = poses.skeleton, compute_local_transforms(poses)
    maps: dict[int, Floats] = {}
    for row, parent in enumerate(skeleton.parents.tolist()):
        local_matrices = np.zeros((len(poses), 4, 4))
        linear = parts.scale[:, row, None, :] * np.eye(3) if poses.scales is not None else skeleton.B[row, :, :3]
        local_matrices[:, :3, :3] = rotations.as_matrix(parts.rotation[:, row]) @ linear
        local_matrices[:, :3, 3], local_matrices[:, 3, 3] = parts.translation[:, row], 1.0
        maps[row] = maps[parent] @ local_matrices if parent >= 0 else local_matrices
    matrices = np.stack([maps[row] for row in rows], axis=1)
    return matrices[..., :3, 3], rotations.from_matrix(rotations.rotation_part(matrices[..., :3, :3]))


def _change_axes(quaternions: Floats, axes: Floats) -> Floats:
    """Express rotations (..., 4) in other axes. w stays, and x y z are rotated."""
    return np.concatenate([quaternions[..., :1], quaternions[..., 1:] @ axes.T], axis=-1)


def _remove_sign_flips(quaternions: Floats) -> Floats:
    """Remove sign flips of quaternions (frames, b, 4). Each gets the sign that is nearer to the one before."""
    flips = (quaternions[1:] * quaternions[:-1]).sum(axis=-1) < 0.0
    signs = np.concatenate([np.ones((min(len(quaternions), 1), quaternions.shape[1])), np.where(flips, -1.0, 1.0)])
    return quaternions * np.cumprod(signs, axis=0)[..., None]


def _check_stretch(points: Floats, names: list[str], pose: TPose) -> None:
    with_parent = [i for i, parent in enumerate(pose.parents) if parent >= 0]
    parents = [pose.parents[i] for i in with_parent]
    lengths = np.linalg.norm(points[:, with_parent] - points[:, parents], axis=-1)
    t_lengths = np.linalg.norm(pose.positions[with_parent] - pose.positions[parents], axis=-1)
    errors = np.abs(lengths - t_lengths).max(axis=0, initial=0.0)
    bad = np.flatnonzero((errors > _MAX_STRETCH * t_lengths) & (errors > _MIN_BONE_SHARE * pose.height))
    if len(bad):
        stretched = join_names(names[with_parent[i]] for i in bad)
        raise UnsupportedError(
            f"a VRM animation rotates bones and moves the hips only; these stretch or slide: {stretched}"
        )


def _measure_errors(points: Floats, vrm_rotations: Floats, pose: TPose) -> Floats:
    """Measure the largest position error (b,) [m] of each bone. Joints between bones may have moved."""
    chain = points.copy()
    for i, parent in enumerate(pose.parents):
        if parent >= 0:
            offset = pose.positions[i] - pose.positions[parent]
            chain[:, i] = chain[:, parent] + rotations.rotate(vrm_rotations[:, parent], offset)
    return np.linalg.norm(chain - points, axis=-1).max(axis=0, initial=0.0)


def _describe_losses(poses: Pose, errors: Floats, names: list[str], pose: TPose) -> str:
    """Describe lost joint motion and the resulting position errors.

    Joints other than human bones lose their motion.
    """
    local_rotations, skeleton = compute_local_transforms(poses).rotation, poses.skeleton
    moving = set(
        np.flatnonzero((np.abs(local_rotations - local_rotations[:1]) > _MAX_STILL_ROTATION).any(axis=(0, 2))).tolist()
    )
    lost = [name for row, name in enumerate(skeleton.names) if row in moving and row not in pose.rows]
    messages = [f"moving joints other than human bones are not in a VRM animation: {join_names(lost)}"] if lost else []
    if errors.max() > _MAX_SILENT_ERROR * pose.height:
        worst = int(errors.argmax())
        messages.append(f"{names[worst]!r} is displaced by up to {100 * errors[worst]:.2g} cm")
    return "; ".join(messages)


# ---------------------------------------------------------------------------------------------------------------------


_MAX_TRACK_CHANGE = 1e-6  # [file units] maximum change of a track equal to the document's
_TRACK_PATHS: Any = ("translation", "rotation", "scale")


def is_vrm_animation(skeleton: Skeleton) -> bool:
    """Return whether a skeleton's source is a VRM animation."""
    source = skeleton.source
    return isinstance(source, GltfDocument) and VRM_ANIMATION in read_object(source.container.json, "extensions")


def encode_vrma(thing: Saveable, path: Path, like: Skeleton) -> tuple[bytes, list[str]]:
    """Encode a VRM animation of a rig, clip or pose.

    Return its bytes and messages about losses; a pose becomes one frame.
    """
    clips = _list_clips(thing)
    if any(map(is_empty_clip, clips)):
        raise UnsupportedError("a clip without frames cannot stand in a VRM animation, which needs at least one key")
    if is_vrm_animation(like):
        return _update_document(thing, clips, path, like), []
    pose = find_t_pose(clips[0].skeleton)
    retargeted = [retarget_clip(clip, pose) for clip in clips]
    messages = [lost for _, lost in retargeted if lost]
    if pose.is_guess:
        size = f"so its joints span {pose.height:.3g} m"
        messages.append(f"the unit of this character is unknown; it was taken as {pose.metres_per_unit:.4g} m, {size}")
    return _build_new_document([clip for clip, _ in retargeted], pose, path), messages


def _list_clips(thing: Saveable) -> tuple[Clip, ...]:
    if isinstance(thing, Clip):
        return (thing,)
    if isinstance(thing, Rig) and thing.clips:
        return thing.clips
    pose = thing.pose if isinstance(thing, Rig) else thing
    if pose.shape:
        raise UnsupportedError(f"a batch of poses of shape {pose.shape} has no times; save a Clip instead")
    parts = [None if values is None else values[None] for values in (pose.translations, pose.scales)]
    return (Clip(np.zeros(1), Pose(pose.skeleton, pose.q[None], *parts), "pose"),)


# --- new -----------------------------------------------------------------------------------------


def _build_new_document(clips: list[Clip], pose: TPose, path: Path) -> bytes:
    skeleton = clips[0].skeleton
    bones = {role: {"node": i} for i, role in enumerate(pose.roles)}
    extension: Json = {"specVersion": "1.0", "humanoid": {"humanBones": bones}}
    document: Json = {
        "asset": {"version": "2.0", "generator": "poise"},
        "extensionsUsed": [VRM_ANIMATION],
        "extensions": {VRM_ANIMATION: extension},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
    }
    draft = Draft(Container("gltf", document))
    for i, name in enumerate(skeleton.names):
        node: Json = {"name": name, "translation": skeleton.A[i, :3].tolist()}
        draft.edit_list("nodes").append(
            node | ({"children": list(skeleton.children[i])} if skeleton.children[i] else {})
        )
    state = build_document_state(Pose(skeleton, skeleton.rest_q), skeleton.rest_q, list(range(len(skeleton))))
    for clip in clips:
        add_clip(draft, clip, state)
    return pack_document(draft.finish(path))


# --- kept ----------------------------------------------------------------------------------------


def _update_document(thing: Saveable, clips: tuple[Clip, ...], path: Path, like: Skeleton) -> bytes:
    """Update the document's motion. Its nodes stay, because they are the T pose."""
    document = cast("GltfDocument", like.source)
    if isinstance(thing, Rig) and thing.clips and not _is_same_pose(thing.pose, document.pose):
        raise UnsupportedError(
            "the nodes of a VRM animation are its T pose, which stays; save the rig's pose alone, as one frame"
        )
    skeleton = thing.skeleton
    clips = tuple(_restore_own_tracks(clip, document) for clip in clips)
    try:
        pose = document.pose.on(skeleton)
    except InputError as error:
        raise UnsupportedError(f"the joints are not those of the VRM animation to be kept: {error}") from error
    data = encode_gltf(Rig(skeleton, pose, clips), path, like)
    _check_tracks(clips, document)
    return data


def _is_same_pose(a: Pose, b: Pose) -> bool:
    one, other = compute_local_transforms(a), compute_local_transforms(b)
    return all(x.shape == y.shape and np.allclose(x, y, rtol=0.0, atol=1e-9) for x, y in zip(one, other, strict=True))


def _find_nodes(document: GltfDocument, *, human: bool) -> set[int]:
    """Find the rows of human bones, or of expressions and gaze."""
    extension = read_object(read_object(document.container.json, "extensions"), VRM_ANIMATION)
    if human:
        entries = list(read_object(read_object(extension, "humanoid"), "humanBones").items())
    else:
        expressions = read_object(extension, "expressions")
        entries = [
            *read_object(expressions, "preset").items(),
            *read_object(expressions, "custom").items(),
            ("", extension.get("lookAt")),
        ]
    rows = {source: row for row, source in enumerate(document.pose.skeleton.source_ids)}
    nodes = [cast("Json", one).get("node") for name, one in entries if isinstance(one, dict) and name != "hips"]
    return {rows[node] for node in nodes if type(node) is int and node in rows}


def _restore_own_tracks(clip: Clip, document: GltfDocument) -> Clip:
    """Restore the document's keys for unchanged expressions and gaze."""
    if isinstance(clip, KeyedClip) or len(document.clips) != 1 or clip.skeleton.names != document.pose.skeleton.names:
        return clip
    source_clip, expression_rows = document.clips[0], _find_nodes(document, human=False)
    tracks = (
        [track for track in source_clip.tracks if track.joint in expression_rows]
        if isinstance(source_clip, KeyedClip)
        else []
    )
    parts = compute_local_transforms(clip.poses)
    same = [
        np.abs(np.abs(getattr(parts, track.path)[:, track.joint]) - np.abs(track.at(clip.times))).max()
        <= _MAX_TRACK_CHANGE
        for track in tracks
    ]
    if not tracks or not all(same) or clip.duration != source_clip.duration:
        return clip
    kept_rows = {track.joint for track in tracks}
    return KeyedClip(clip.skeleton, (*_iterate_tracks(clip, kept_rows), *tracks), clip.name)


def _iterate_tracks(clip: Clip, without: set[int]) -> Iterator[Track]:
    """Iterate tracks for parts away from the rest pose."""
    parts, rest = compute_local_transforms(clip.poses), compute_rest_local_transforms(clip.poses[0])
    for row in (row for row in range(len(clip.skeleton)) if row not in without):
        for path in _TRACK_PATHS:
            values: Floats = getattr(parts, path)[:, row]
            if (values != getattr(rest, path)[row]).any():
                yield Track(row, path, "LINEAR", clip.times, values)


def _check_tracks(clips: tuple[Clip, ...], document: GltfDocument) -> None:
    """Refuse motion outside the format. Human bones only rotate, and the hips also move."""
    human, names = _find_nodes(document, human=True), document.pose.skeleton.names
    slack = 1e-6 * max(float(np.abs(document.pose.skeleton.A[:, :3]).max(initial=0.0)), 1e-9)
    offenders: set[str] = set()
    for clip in clips:
        if any(clip is own for own in document.clips):
            continue
        parts, rest = compute_local_transforms(clip.poses), compute_rest_local_transforms(document.pose)
        for path, tolerance in (("translation", slack), ("scale", 1e-6)):
            errors = np.abs(getattr(parts, path) - getattr(rest, path)).max(axis=(0, 2), initial=0.0)
            offenders |= {names[row] for row in human if errors[row] > tolerance}
    if offenders:
        message = (
            "a VRM animation rotates bones and moves the hips only; these slide or are scaled: "
            f"{join_names(sorted(offenders))}"
        )
        raise UnsupportedError(message)
