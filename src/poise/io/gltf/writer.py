"""glTF writer: rigs, clips and poses, into old or new documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from poise.errors import UnsupportedError
from poise.io.gltf.container import Container, GltfDocument, Json, clean_text, pack_document
from poise.io.gltf.draft import (
    MAX_KEY,
    DocumentState,
    Draft,
    build_document_state,
    convert_parts,
    has_same_scale,
    match_rows,
    split_matrix,
    store_rest,
    write_limits,
    write_pose,
)
from poise.io.gltf.extras import (
    build_asset_extras,
    build_axis_matrix,
    build_axis_root,
    compute_metre_scale,
    format_kind,
    to_xyzw,
)
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.version import __version__
from poise.model.clip import Clip, KeyedClip
from poise.model.numpy_kinematics import LocalTransforms, compose_world_transforms
from poise.model.pose import Pose, compute_local_transforms, compute_rest_local_transforms
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Kind, Skeleton

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
    matching = match_rows(clip.skeleton, state.pose.skeleton)
    rows = matching.tolist()
    is_alike = has_same_scale(clip.skeleton, state.pose.skeleton, matching)
    channels = (
        _iterate_track_keys(clip)
        if isinstance(clip, KeyedClip) and is_alike
        else _iterate_frame_keys(clip, matching, state)
    )
    samplers: list[Json] = []
    targets: list[Json] = []
    times: dict[int, tuple[int, Bools]] = {}
    for keys in channels:
        row = rows[keys.row]
        if row < 0:
            continue
        split_matrix(draft, state, row)
        if id(keys.times) not in times:
            times[id(keys.times)] = _add_times(draft, keys.times, clip.name)
        accessor, kept = times[id(keys.times)]
        if keys.interpolation == "CUBICSPLINE" and np.count_nonzero(kept) == 1:  # a spline has two keys or more
            keys = keys._replace(interpolation="LINEAR", values=keys.values[:, 1])  # noqa: PLW2901
        values = keys.values[kept].reshape(-1, keys.values.shape[-1])
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
    if times[-1] > MAX_KEY:
        raise UnsupportedError(f"clip {name!r} ends at {times[-1]:g} s; a glTF animation ends by {MAX_KEY:g} s")
    rounded = times.astype(np.float32)
    kept = np.append(np.diff(rounded) > 0, True)
    return draft.add_accessor(rounded[kept, None].astype(np.float64), "keys", bounds=True), kept


def _iterate_track_keys(clip: KeyedClip) -> Iterator[_ChannelKeys]:
    for track in clip.tracks:
        values = track.values[..., _XYZW] if track.path == "rotation" else track.values
        yield _ChannelKeys(track.joint, track.path, track.interpolation, track.times, values)


def _iterate_frame_keys(clip: Clip, rows: Ints, state: DocumentState) -> Iterator[_ChannelKeys]:
    """Iterate the channels with a change in some frame."""
    if not len(clip):
        return
    frames, rest = convert_parts(state.pose.skeleton, clip.poses, rows), compute_rest_local_transforms(state.pose)
    is_static = True
    for k, row in enumerate(rows.tolist()):
        if row < 0:
            continue
        for path in LocalTransforms._fields:
            values: Floats = getattr(frames, path)[:, k]
            same = [getattr(parts, path)[row] for parts in (rest, state.local_transforms)]
            if any((values != value).any() for value in same):
                is_static = False
                yield _build_channel(k, path, clip, values)
    if is_static and len(rows):  # one channel keeps the clip and its duration
        first = next(k for k, row in enumerate(rows) if row >= 0)
        yield _build_channel(first, "rotation", clip, frames.rotation[:, first])


def _build_channel(k: int, path: str, clip: Clip, values: Floats) -> _ChannelKeys:
    return _ChannelKeys(k, path, "LINEAR", clip.times, values[:, _XYZW] if path == "rotation" else values)


def _make_unique(name: str, taken: set[object]) -> str:
    new, count = name, 0
    while new in taken:
        count += 1
        new = f"{name}_{count}"
    return new


def _is_same_motion(a: Clip, b: Clip) -> bool:
    """Return whether two clips are the same motion. Names and limits do not matter."""
    if isinstance(a, KeyedClip) or isinstance(b, KeyedClip):
        return isinstance(a, KeyedClip) and isinstance(b, KeyedClip) and _has_same_tracks(a, b)
    p, q = a.poses, b.poses
    return all(
        x is y or (x is not None and y is not None and np.array_equal(x, y))
        for x, y in ((a.times, b.times), (p.q, q.q), (p.translations, q.translations), (p.scales, q.scales))
    )


def _has_same_tracks(a: KeyedClip, b: KeyedClip) -> bool:
    """Return whether the keys are equal. Those of a copied clip are other arrays."""
    if a.tracks is b.tracks or len(a.tracks) != len(b.tracks):
        return a.tracks is b.tracks
    pairs = zip(a.tracks, b.tracks, strict=True)
    return all(x[:3] == y[:3] and all(map(np.array_equal, x[3:], y[3:])) for x, y in pairs)


def write_clips(draft: Draft, clips: tuple[Clip, ...], old_clips: tuple[Clip, ...], state: DocumentState) -> None:
    """Update the document's animations to those of a rig.

    Missing ones are dropped, changed names written, new ones appended.
    """
    names = [clip.name for clip in old_clips]
    kept: dict[int, str] = {}
    new: list[Clip] = []
    for clip in clips:
        same = [i for i, other in enumerate(old_clips) if i not in kept and _is_same_motion(other, clip)]
        if same:
            kept[next((i for i in same if names[i] == clip.name), same[0])] = clip.name
        else:
            new.append(clip)
    if len(kept) < len(old_clips):
        animations = draft.edit_list("animations")
        animations[:] = [animation for i, animation in enumerate(animations) if i in kept]
        if not animations and not new:
            del draft.json["animations"]
    for place, i in enumerate(sorted(kept)):
        if kept[i] != names[i]:
            draft.edit_list("animations")[place] = draft.edit_list("animations")[place] | {"name": kept[i]}
    for clip in new:
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
    s = pose.skeleton
    _check_affine(s)
    document: Json = {"asset": _build_asset(s)}
    draft = Draft(Container("gltf", document))
    parts, rest = compute_local_transforms(pose), compute_rest_local_transforms(pose)
    if len(s):
        draft.edit_list("nodes").extend(_build_node(pose, row, parts, rest) for row in range(len(s)))
        roots = np.flatnonzero(s.parents < 0).tolist()
        document = draft.json
        added = build_axis_root(s.up, compute_metre_scale(s), roots)
        draft.edit_list("nodes").extend([added] if added else [])
        document["scenes"], document["scene"] = [{"nodes": [len(s)] if added else roots}], 0
        if len(roots) == 1:  # the joints of a skin must have a common root
            document["skins"] = [{"joints": list(range(len(s))), "skeleton": roots[0]}]
            _add_bind_matrices(draft, s, rest)
    return draft, build_document_state(_strip_limits(pose), _compute_default_rest(s), list(range(len(s))))


def _build_asset(s: Skeleton) -> Json:
    asset: Json = {"version": "2.0", "generator": f"poise {__version__}"}
    extras = build_asset_extras(s)
    return asset | {"extras": {"poise": extras}} if extras else asset


def _check_affine(s: Skeleton) -> None:
    diagonal = np.zeros_like(s.B)
    diagonal[:, [0, 1, 2], [0, 1, 2]] = s.B[:, [0, 1, 2], [0, 1, 2]]
    other = np.flatnonzero((diagonal != s.B).any(axis=(1, 2)))
    if len(other):
        raise UnsupportedError(
            f"joint {s.names[int(other[0])]!r} has more than a scale after its motion; glTF cannot hold it"
        )


def _build_node(pose: Pose, row: int, parts: LocalTransforms, rest: LocalTransforms) -> Json:
    s, kind = pose.skeleton, Kind(int(pose.skeleton.kinds[row]))
    node: Json = {"name": s.names[row]}
    if s.children[row]:
        node["children"] = list(s.children[row])
    for key, default in (("translation", [0, 0, 0]), ("rotation", [1, 0, 0, 0]), ("scale", [1, 1, 1])):
        values: Floats = getattr(parts, key)[row]
        if (values != default).any():
            node[key] = to_xyzw(values) if key == "rotation" else values.tolist()
    extras: Json = {"kind": format_kind(kind)}
    if s.euler and s.euler[row]:
        extras["order"] = s.euler[row]
    if kind in (Kind.HINGE, Kind.SLIDE):
        extras["axis"] = s.axes[row].tolist()
        extras |= _build_value(pose, row)
    differs = [key for key in LocalTransforms._fields if (getattr(parts, key)[row] != getattr(rest, key)[row]).any()]
    if differs:
        store_rest(extras, rest, row, scale="scale" in differs)
    node["extras"] = {"poise": extras}
    return node


def _build_value(pose: Pose, row: int) -> Json:
    s = pose.skeleton
    coupling = s.couplings[row]
    if coupling is None:
        return {"value": float(pose.q[s.q_start[row]])}
    return {"coupling": {"node": int(coupling.leader), "ratio": coupling.ratio, "offset": coupling.offset}}


def _add_bind_matrices(draft: Draft, s: Skeleton, rest: LocalTransforms) -> None:
    """Add bind matrices at rest. There are none where a scale of zero has no inverse."""
    linear = np.zeros((len(s), 3, 3))
    linear[:, [0, 1, 2], [0, 1, 2]] = rest.scale
    bind = build_axis_matrix(s.up, compute_metre_scale(s)) @ compose_world_transforms(
        s.parents.tolist(), rest.translation, rest.rotation, linear
    )
    if (np.linalg.det(bind) == 0).any():
        return
    inverse: Floats = np.linalg.inv(bind).astype(np.float64)
    inverse[:, 3] = [0, 0, 0, 1]
    accessor = draft.add_accessor(inverse.transpose(0, 2, 1).reshape(-1, 16), "bind")
    draft.json["skins"][0]["inverseBindMatrices"] = accessor


def _compute_default_rest(s: Skeleton) -> Floats:
    """Compute the rest of a reader without `rest.q`. It is zero, and free joints are at their rest."""
    q = s.zero_q()
    for row in np.flatnonzero(s.kinds == Kind.FREE).tolist():
        start = int(s.q_start[row])
        q[start : start + 7] = s.rest_q[start : start + 7]
    return q


def _strip_limits(pose: Pose) -> Pose:
    """Strip the limits of a pose's skeleton. All of them are then written as new."""
    s = pose.skeleton
    return type(pose)(s.with_limits(dict.fromkeys(s.names)), pose.q, pose.translations, pose.scales)


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
    owner = content.skeleton if content.skeleton.source is document else source_skeleton
    write_limits(draft, owner, state)
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
