"""glTF writer: rigs, clips and poses, into old or new documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from poise.errors import UnsupportedError
from poise.io.gltf.asset_extras import (
    build_asset_extras,
    build_conversion_matrix,
    build_conversion_node,
    compute_metre_scale,
)
from poise.io.gltf.container import Container, pack_document
from poise.io.gltf.document_draft import (
    MAX_KEY_VALUE,
    DocumentState,
    Draft,
    build_document_state,
    convert_local_transforms,
    has_same_scale,
    match_rows,
    split_matrix,
    store_rest,
    write_limits,
    write_pose,
)
from poise.io.gltf.json_checks import Json, clean_text
from poise.io.gltf.node_extras import format_kind, to_xyzw
from poise.io.gltf.source_document import GltfDocument
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.clip import Clip, KeyedClip
from poise.model.numpy_kinematics import LocalTransforms, compose_world_transforms
from poise.model.pose import Pose, compute_local_transforms, compute_rest_local_transforms
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Kind, Skeleton
from poise.runtime.version import __version__

# --- Clips to animations with 32-bit keys ----------------------------------------------------------------------------


_XYZW = [1, 2, 3, 0]


class _ChannelKeys(NamedTuple):
    """Keys of one channel, values in glTF's order of components."""

    row: int
    path: str
    interpolation: str
    times: Floats
    values: Floats


def add_clip(draft: Draft, clip: Clip, state: DocumentState) -> None:
    """Append an animation. A KeyedClip gets its own keys, any other a key per frame where a joint moves."""
    document_rows = match_rows(clip.skeleton, state.pose.skeleton)
    row_list = document_rows.tolist()
    is_same_scale = has_same_scale(clip.skeleton, state.pose.skeleton, document_rows)
    channels = (
        _iterate_track_keys(clip)
        if isinstance(clip, KeyedClip) and is_same_scale
        else _iterate_frame_keys(clip, document_rows, state)
    )
    samplers: list[Json] = []
    targets: list[Json] = []
    accessor_by_times: dict[int, tuple[int, Bools]] = {}
    for keys in channels:
        row = row_list[keys.row]
        if row < 0:
            continue
        split_matrix(draft, state, row)
        if id(keys.times) not in accessor_by_times:
            accessor_by_times[id(keys.times)] = _add_times(draft, keys.times, clip.name)
        accessor, is_kept = accessor_by_times[id(keys.times)]
        if keys.interpolation == "CUBICSPLINE" and np.count_nonzero(is_kept) == 1:  # a spline has two keys or more
            keys = keys._replace(interpolation="LINEAR", values=keys.values[:, 1])  # noqa: PLW2901
        values = keys.values[is_kept].reshape(-1, keys.values.shape[-1])
        sampler = {"input": accessor, "interpolation": keys.interpolation, "output": draft.add_accessor(values, "keys")}
        targets.append({"sampler": len(samplers), "target": {"node": state.nodes[row], "path": keys.path}})
        samplers.append(sampler)
    if samplers:
        name = _make_unique(clip.name or "clip", {clean_text(a.get("name")) for a in draft.edit_list("animations")})
        draft.edit_list("animations").append({"name": name, "samplers": samplers, "channels": targets})


def _add_times(draft: Draft, times: Floats, name: str) -> tuple[int, Bools]:
    """Append key times. Of several equal in 32 bits the last is kept; return also the mask of those kept."""
    if times[0] < 0:
        raise UnsupportedError(f"clip {name!r} starts at {times[0]:g} s; the times of a glTF animation start at 0")
    if times[-1] > MAX_KEY_VALUE:
        raise UnsupportedError(f"clip {name!r} ends at {times[-1]:g} s; a glTF animation ends by {MAX_KEY_VALUE:g} s")
    rounded_times = times.astype(np.float32)
    is_kept = np.append(np.diff(rounded_times) > 0, True)
    return draft.add_accessor(rounded_times[is_kept, None].astype(np.float64), "keys", has_bounds=True), is_kept


def _iterate_track_keys(clip: KeyedClip) -> Iterator[_ChannelKeys]:
    for track in clip.tracks:
        values = track.values[..., _XYZW] if track.path == "rotation" else track.values
        yield _ChannelKeys(track.joint, track.path, track.interpolation, track.times, values)


def _iterate_frame_keys(clip: Clip, rows: Ints, state: DocumentState) -> Iterator[_ChannelKeys]:
    """Iterate the channels with a change in some frame."""
    if not len(clip):
        return
    frame_transforms, rest_transforms = (
        convert_local_transforms(state.pose.skeleton, clip.poses, rows),
        compute_rest_local_transforms(state.pose),
    )
    is_static = True
    for k, row in enumerate(rows.tolist()):
        if row < 0:
            continue
        for path in LocalTransforms._fields:
            values: Floats = getattr(frame_transforms, path)[:, k]
            reference_values = [
                getattr(transforms, path)[row] for transforms in (rest_transforms, state.local_transforms)
            ]
            if any((values != value).any() for value in reference_values):
                is_static = False
                yield _build_channel(k, path, clip, values)
    if is_static and len(rows):  # one channel keeps the clip and its duration
        first_joint = next(k for k, row in enumerate(rows) if row >= 0)
        yield _build_channel(first_joint, "rotation", clip, frame_transforms.rotation[:, first_joint])


def _build_channel(k: int, path: str, clip: Clip, values: Floats) -> _ChannelKeys:
    return _ChannelKeys(k, path, "LINEAR", clip.times, values[:, _XYZW] if path == "rotation" else values)


def _make_unique(name: str, used_names: set[object]) -> str:
    unique_name, count = name, 0
    while unique_name in used_names:
        count += 1
        unique_name = f"{name}_{count}"
    return unique_name


def _is_same_motion(clip: Clip, other_clip: Clip) -> bool:
    """Return whether two clips are the same motion. Names and limits do not matter."""
    if isinstance(clip, KeyedClip) or isinstance(other_clip, KeyedClip):
        return isinstance(clip, KeyedClip) and isinstance(other_clip, KeyedClip) and _has_same_tracks(clip, other_clip)
    poses, other_poses = clip.poses, other_clip.poses
    return all(
        x is y or (x is not None and y is not None and np.array_equal(x, y))
        for x, y in (
            (clip.times, other_clip.times),
            (poses.q, other_poses.q),
            (poses.translations, other_poses.translations),
            (poses.scales, other_poses.scales),
        )
    )


def _has_same_tracks(clip: KeyedClip, other_clip: KeyedClip) -> bool:
    """Return whether the keys are equal. Those of a copied clip are other arrays."""
    if clip.tracks is other_clip.tracks or len(clip.tracks) != len(other_clip.tracks):
        return clip.tracks is other_clip.tracks
    pairs = zip(clip.tracks, other_clip.tracks, strict=True)
    return all(x[:3] == y[:3] and all(map(np.array_equal, x[3:], y[3:])) for x, y in pairs)


def write_clips(draft: Draft, clips: tuple[Clip, ...], old_clips: tuple[Clip, ...], state: DocumentState) -> None:
    """Update the document's animations to those of a rig.

    Missing ones are dropped, changed names written, new ones appended.
    """
    old_names = [clip.name for clip in old_clips]
    kept_names: dict[int, str] = {}
    new_clips: list[Clip] = []
    for clip in clips:
        same_indices = [
            i for i, old_clip in enumerate(old_clips) if i not in kept_names and _is_same_motion(old_clip, clip)
        ]
        if same_indices:
            kept_names[next((i for i in same_indices if old_names[i] == clip.name), same_indices[0])] = clip.name
        else:
            new_clips.append(clip)
    if len(kept_names) < len(old_clips):
        animations = draft.edit_list("animations")
        animations[:] = [animation for i, animation in enumerate(animations) if i in kept_names]
        if not animations and not new_clips:
            del draft.json["animations"]
    for position, i in enumerate(sorted(kept_names)):
        if kept_names[i] != old_names[i]:
            draft.edit_list("animations")[position] = draft.edit_list("animations")[position] | {"name": kept_names[i]}
    for clip in new_clips:
        add_clip(draft, clip, state)


def is_empty_clip(clip: Clip) -> bool:
    """Return whether a clip has no frames or tracks."""
    return not clip.tracks if isinstance(clip, KeyedClip) else not len(clip)


# --- New document for a skeleton: nodes, one skin, one scene ---------------------------------------------------------


def build_document(pose: Pose) -> tuple[Draft, DocumentState]:
    """Build a document from a pose. Its extras hold everything to read the same joints back.

    Joints keep their rows as node numbers. Where the up axis is not y, or the unit is known and not the metre, one more
    root turns that axis to +Y and scales to glTF's metres.
    """
    if pose.shape:
        raise UnsupportedError(f"a glTF file shows one pose, not a batch of shape {pose.shape}; save a Clip instead")
    skeleton = pose.skeleton
    _check_affine(skeleton)
    document: Json = {"asset": _build_asset(skeleton)}
    draft = Draft(Container("gltf", document))
    transforms, rest_transforms = compute_local_transforms(pose), compute_rest_local_transforms(pose)
    if len(skeleton):
        draft.edit_list("nodes").extend(
            _build_node(pose, row, transforms, rest_transforms) for row in range(len(skeleton))
        )
        roots = np.flatnonzero(skeleton.parents < 0).tolist()
        document = draft.json
        conversion_node = build_conversion_node(skeleton.up, compute_metre_scale(skeleton), roots)
        draft.edit_list("nodes").extend([conversion_node] if conversion_node else [])
        document["scenes"], document["scene"] = [{"nodes": [len(skeleton)] if conversion_node else roots}], 0
        if len(roots) == 1:  # the joints of a skin must have a common root
            document["skins"] = [{"joints": list(range(len(skeleton))), "skeleton": roots[0]}]
            _add_bind_matrices(draft, skeleton, rest_transforms)
    return draft, build_document_state(_strip_limits(pose), _compute_default_rest(skeleton), list(range(len(skeleton))))


def _build_asset(skeleton: Skeleton) -> Json:
    asset: Json = {"version": "2.0", "generator": f"poise {__version__}"}
    extras = build_asset_extras(skeleton)
    return asset | {"extras": {"poise": extras}} if extras else asset


def _check_affine(skeleton: Skeleton) -> None:
    diagonal = np.zeros_like(skeleton.B)
    diagonal[:, [0, 1, 2], [0, 1, 2]] = skeleton.B[:, [0, 1, 2], [0, 1, 2]]
    rejected_rows = np.flatnonzero((diagonal != skeleton.B).any(axis=(1, 2)))
    if len(rejected_rows):
        raise UnsupportedError(
            f"joint {skeleton.names[int(rejected_rows[0])]!r} has more than a scale after its motion; glTF cannot "
            "hold it"
        )


def _build_node(pose: Pose, row: int, transforms: LocalTransforms, rest_transforms: LocalTransforms) -> Json:
    skeleton, kind = pose.skeleton, Kind(int(pose.skeleton.kinds[row]))
    node: Json = {"name": skeleton.names[row]}
    if skeleton.children[row]:
        node["children"] = list(skeleton.children[row])
    for key, default in (("translation", [0, 0, 0]), ("rotation", [1, 0, 0, 0]), ("scale", [1, 1, 1])):
        values: Floats = getattr(transforms, key)[row]
        if (values != default).any():
            node[key] = to_xyzw(values) if key == "rotation" else values.tolist()
    extras: Json = {"kind": format_kind(kind)}
    if skeleton.euler and skeleton.euler[row]:
        extras["order"] = skeleton.euler[row]
    if kind in (Kind.HINGE, Kind.SLIDE):
        extras["axis"] = skeleton.axes[row].tolist()
        extras |= _build_value(pose, row)
    changed_keys = [
        key
        for key in LocalTransforms._fields
        if (getattr(transforms, key)[row] != getattr(rest_transforms, key)[row]).any()
    ]
    if changed_keys:
        store_rest(extras, rest_transforms, row, has_scale="scale" in changed_keys)
    node["extras"] = {"poise": extras}
    return node


def _build_value(pose: Pose, row: int) -> Json:
    skeleton = pose.skeleton
    coupling = skeleton.couplings[row]
    if coupling is None:
        return {"value": float(pose.q[skeleton.q_start[row]])}
    return {"coupling": {"node": int(coupling.leader), "ratio": coupling.ratio, "offset": coupling.offset}}


def _add_bind_matrices(draft: Draft, skeleton: Skeleton, rest_transforms: LocalTransforms) -> None:
    """Add bind matrices at rest. There are none where a scale of zero has no inverse."""
    linear = np.zeros((len(skeleton), 3, 3))
    linear[:, [0, 1, 2], [0, 1, 2]] = rest_transforms.scale
    bind_matrices = build_conversion_matrix(skeleton.up, compute_metre_scale(skeleton)) @ compose_world_transforms(
        skeleton.parents.tolist(), rest_transforms.translation, rest_transforms.rotation, linear
    )
    if (np.linalg.det(bind_matrices) == 0).any():
        return
    inverse_matrices: Floats = np.linalg.inv(bind_matrices).astype(np.float64)
    inverse_matrices[:, 3] = [0, 0, 0, 1]
    accessor = draft.add_accessor(inverse_matrices.transpose(0, 2, 1).reshape(-1, 16), "bind")
    draft.json["skins"][0]["inverseBindMatrices"] = accessor


def _compute_default_rest(skeleton: Skeleton) -> Floats:
    """Compute the rest of a reader without `rest.q`. It is zero, and free joints are at their rest."""
    q = skeleton.zero_q()
    for row in np.flatnonzero(skeleton.kinds == Kind.FREE).tolist():
        start = int(skeleton.q_start[row])
        q[start : start + 7] = skeleton.rest_q[start : start + 7]
    return q


def _strip_limits(pose: Pose) -> Pose:
    """Strip the limits of a pose's skeleton. All of them are then written as new."""
    skeleton = pose.skeleton
    return type(pose)(skeleton.with_limits(dict.fromkeys(skeleton.names)), pose.q, pose.translations, pose.scales)


# --- Writing of rigs and clips ---------------------------------------------------------------------------------------


def encode_gltf(content: Saveable, path: Path, source_skeleton: Skeleton) -> bytes:
    """Encode a glTF file of a rig, a clip or a pose.

    If `source_skeleton` was read from a glTF document, that document is kept: a pose changes the nodes that differ, a
    clip is appended as an animation, a rig does both; the old BIN stays an unchanged prefix. Otherwise a bare skeleton
    is written. `Draft.finish` describes the handling of buffers and images in other files.

    Raises UnsupportedError for content that glTF cannot hold (a batch of poses, a posed node with shear, times below
    zero), FileError for missing buffers.
    """
    if isinstance(content, Clip) and is_empty_clip(content):
        raise UnsupportedError(f"clip {content.name!r} has no frames; a glTF animation needs at least one key")
    document = source_skeleton.source if isinstance(source_skeleton.source, GltfDocument) else None
    draft = _build_draft(content) if document is None else _edit_document(content, source_skeleton, document)
    return pack_document(draft.finish(path))


def _edit_document(content: Saveable, source_skeleton: Skeleton, document: GltfDocument) -> Draft:
    draft = Draft(document.container, document.path.parent)
    state = build_document_state(
        document.pose, document.rest_q, [int(str(node)) for node in source_skeleton.source_ids]
    )
    limit_skeleton = content.skeleton if content.skeleton.source is document else source_skeleton
    write_limits(draft, limit_skeleton, state)
    if isinstance(content, Clip):
        add_clip(draft, content, state)
        return draft
    pose = content.pose if isinstance(content, Rig) else content
    write_pose(draft, pose, state)
    if isinstance(content, Rig):
        write_clips(draft, content.clips, document.clips, state)
    return draft


def _build_draft(content: Saveable) -> Draft:
    if isinstance(content, Rig):
        pose, clips = content.pose, content.clips
    elif isinstance(content, Clip):
        pose, clips = Pose(content.skeleton, content.skeleton.rest_q), (content,)
    else:
        pose, clips = content, ()
    draft, state = build_document(pose)
    write_limits(draft, pose.skeleton, state)
    for clip in clips:
        if not is_empty_clip(clip):
            add_clip(draft, clip, state)
    return draft
