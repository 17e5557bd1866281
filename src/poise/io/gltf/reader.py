"""glTF reader: nodes, skins, animations and humanoid map to a Rig."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from poise.errors import FileError, PoiseError
from poise.io.gltf import extras
from poise.io.gltf.accessors import Accessors, normalize_quaternions
from poise.io.gltf.container import (
    BrokenError,
    Buffers,
    Container,
    GltfDocument,
    Json,
    NoteCollector,
    check_index,
    clean_text,
    read_object,
    read_objects,
    read_strings,
    unpack_document,
)
from poise.io.gltf.skeleton_reader import NodeTree, build_skeleton, compute_joint_values, read_nodes
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.clip import Clip, KeyedClip, Track
from poise.model.limits import Range
from poise.model.numpy_kinematics import compose_world_transforms
from poise.model.pose import Pose
from poise.model.rig import Rig, Skin
from poise.model.skeleton import Kind, Skeleton

# --- Skins and the humanoid map of VRM -------------------------------------------------------------------------------


VRM_ANIMATION = "VRMC_vrm_animation"
_MIN_DETERMINANT = 1e-12  # minimum determinant relative to the product of the columns' lengths


class ParsedSkin(NamedTuple):
    """Skin with checked node indices. `accessor` is None where the bind matrices are identities."""

    name: str
    joints: list[int]
    accessor: int | None


def parse_skins(document: Json, node_count: int, accessors: Accessors, notes: NoteCollector) -> list[ParsedSkin]:
    """Parse the skins and check their joints and bind matrices."""
    return [
        _parse_skin(skin, notes.read_name(skin, f"skin_{i}"), f"skins[{i}]", node_count, accessors)
        for i, skin in enumerate(read_objects(document, "skins"))
    ]


def _parse_skin(skin: Json, name: str, place: str, node_count: int, accessors: Accessors) -> ParsedSkin:
    joint_list: Any = skin.get("joints")
    if not isinstance(joint_list, list) or not joint_list:
        raise BrokenError(place, "its joints must be a list of at least one node")
    joints = [check_index(joint, node_count, place, "joint") for joint in cast("list[Any]", joint_list)]
    if len(set(joints)) < len(joints):
        duplicate = next(joint for joint in joints if joints.count(joint) > 1)
        raise BrokenError(place, f"lists node {duplicate} more than once; the joints of a skin are unique")
    if "inverseBindMatrices" not in skin:
        return ParsedSkin(name, joints, None)
    accessor = check_index(skin["inverseBindMatrices"], len(accessors), place, "accessor")
    layout = accessors.read_layout(accessor)
    if layout.components != 16 or layout.elements < len(joints):  # noqa: PLR2004
        raise BrokenError(place, f"needs {len(joints)} bind matrices; accessors[{accessor}] has {layout.elements}")
    return ParsedSkin(name, joints, accessor)


def check_meshes(document: Json, accessors: Accessors) -> None:
    """Check the accessors of meshes. Their numbers are not read."""
    for m, mesh in enumerate(read_objects(document, "meshes")):
        for p, primitive in enumerate(read_objects(mesh, "primitives", f"meshes[{m}]")):
            place = f"meshes[{m}].primitives[{p}]"
            for name, accessor in read_object(primitive, "attributes", place).items():
                check_index(accessor, len(accessors), place, f"accessor of {name[:40]!a}")
            if "indices" in primitive:
                check_index(primitive["indices"], len(accessors), place, "accessor of the indices")


def build_skins(
    raw: list[ParsedSkin], nodes: NodeTree, accessors: Accessors, rest: Floats, notes: NoteCollector
) -> tuple[Skin, ...]:
    """Build the skins. `rest` (n, 4, 4) are the world transforms of the rows at rest."""
    values = accessors.decode(skin.accessor for skin in raw if skin.accessor is not None)
    result: list[Skin] = []
    for skin in raw:
        rows = [nodes.rows[joint] for joint in skin.joints]
        names = tuple(nodes.names[row] for row in rows)
        if skin.accessor is None:
            bind = np.tile(np.eye(4), (len(rows), 1, 1))
        else:
            inverse = values[skin.accessor][: len(rows)].reshape(-1, 4, 4).transpose(0, 2, 1)
            bind, singular = _invert_affine(inverse, rest[rows])
            for k in np.flatnonzero(singular):
                notes.add("bind matrices cannot be inverted; the rest transform was used", names[k])
        bind.setflags(write=False)
        result.append(Skin(skin.name, names, bind))
    return tuple(result)


def _invert_affine(matrices: Floats, fallback: Floats) -> tuple[Floats, np.ndarray]:
    """Invert affine matrices (k, 4, 4). Singular ones are replaced by `fallback`; return also their mask."""
    linear = matrices[:, :3, :3]
    lengths = np.sqrt((linear * linear).sum(axis=1)).prod(axis=1)
    singular = np.abs(np.linalg.det(linear)) <= _MIN_DETERMINANT * lengths
    singular |= (matrices[:, 3] != [0, 0, 0, 1]).any(axis=1)
    safe = np.where(singular[:, None, None], np.eye(4), matrices)
    return np.where(singular[:, None, None], fallback, np.linalg.inv(safe)), singular


def read_humanoid(document: Json, nodes: NodeTree, notes: NoteCollector) -> tuple[dict[str, str], str | None]:
    """Read the VRM humanoid map and the facing direction.

    The map leads from VRM 1.0 bone names to joint names, of VRM 0.x, 1.0 or an animation; the direction is "-z" or
    "+z".

    Entries without a node are noted.
    """
    extensions = read_object(document, "extensions")
    result: dict[str, str] = {}
    old, new = _read_vrm0_bones(extensions), _read_vrm1_bones(extensions)
    for bone, node in [*old, *new]:
        if isinstance(bone, str) and type(node) is int and 0 <= node < len(nodes.rows):
            result[clean_text(bone)] = nodes.names[nodes.rows[node]]
        else:
            notes.add("VRM human bones lead to no node and were ignored", clean_text(bone) or "(unnamed)")
    return result, "+z" if new else "-z" if old else None


def _read_vrm0_bones(extensions: Json) -> list[tuple[Any, Any]]:
    bones = _find_object(_find_object(extensions, "VRM"), "humanoid").get("humanBones")
    entries = (
        [cast("Json", b) for b in cast("list[Any]", bones) if isinstance(b, dict)] if isinstance(bones, list) else []
    )
    return [(_rename_vrm0_bone(entry.get("bone")), entry.get("node")) for entry in entries]


def _rename_vrm0_bone(bone: Any) -> Any:
    """Rename a VRM 0.x bone to its 1.0 name. Only the first two of the thumb differ."""
    if not isinstance(bone, str):
        return bone
    return bone.replace("ThumbProximal", "ThumbMetacarpal").replace("ThumbIntermediate", "ThumbProximal")


def _read_vrm1_bones(extensions: Json) -> list[tuple[Any, Any]]:
    """Read the bones of a VRM 1.0 model or animation."""
    maps = [
        _find_object(_find_object(_find_object(extensions, of), "humanoid"), "humanBones")
        for of in ("VRMC_vrm", VRM_ANIMATION)
    ]
    return [(name, _find_object(bones, name).get("node")) for bones in maps for name in bones]


def _find_object(parent: Json, key: str) -> Json:
    value = parent.get(key)
    return cast("Json", value) if isinstance(value, dict) else {}


# --- Animations to clips: samplers are checked, then all keys decoded together ---------------------------------------


_PATH_COMPONENTS = {"translation": 3, "rotation": 4, "scale": 3}
_INTERPOLATIONS = ("LINEAR", "STEP", "CUBICSPLINE")
_WXYZ = [3, 0, 1, 2]


class _AnimationChannel(NamedTuple):
    node: int
    path: Any  # a key of _PATH_COMPONENTS
    interpolation: Any  # one of _INTERPOLATIONS
    input: int
    output: int


class ParsedAnimation(NamedTuple):
    """Animation with checked indices, counts and types."""

    name: str
    channels: list[_AnimationChannel]


def parse_animations(
    document: Json, node_count: int, accessors: Accessors, notes: NoteCollector
) -> list[ParsedAnimation]:
    """Parse and check the animations.

    Checks cover channels that move nodes, their samplers and the accessors' counts.
    """
    result: list[ParsedAnimation] = []
    for i, animation in enumerate(read_objects(document, "animations")):
        place = f"animations[{i}]"
        channels = _parse_channels(animation, place, node_count, accessors, notes)
        result.append(ParsedAnimation(notes.read_name(animation, f"animation_{i}"), channels))
    return result


def find_rotating_nodes(clips: list[ParsedAnimation]) -> set[int]:
    """Find the nodes with animated rotation."""
    return {channel.node for clip in clips for channel in clip.channels if channel.path == "rotation"}


def _parse_channels(
    animation: Json, place: str, node_count: int, accessors: Accessors, notes: NoteCollector
) -> list[_AnimationChannel]:
    samplers = read_objects(animation, "samplers", place)
    channels: dict[tuple[int, str], _AnimationChannel] = {}
    for k, channel in enumerate(read_objects(animation, "channels", place)):
        target = read_object(channel, "target", f"{place}.channels[{k}]")
        path: Any = target.get("path")
        if path == "weights" or "node" not in target:
            continue
        where = f"{place}.channels[{k}]"
        if not isinstance(path, str) or path not in _PATH_COMPONENTS:
            notes.add("animation channels move something other than translation, rotation, scale; ignored", where)
            continue
        node = check_index(target["node"], node_count, where, "node")
        s = check_index(channel.get("sampler"), len(samplers), where, "sampler")
        if (node, path) in channels:
            notes.add("animation channels move what another one moves already; ignored", where)
            continue
        channels[node, path] = _parse_sampler(samplers[s], f"{place}.samplers[{s}]", node, path, accessors)
    return list(channels.values())


def _parse_sampler(sampler: Json, place: str, node: int, path: str, accessors: Accessors) -> _AnimationChannel:
    interpolation = sampler.get("interpolation", "LINEAR")
    if interpolation not in _INTERPOLATIONS:
        raise BrokenError(place, "its interpolation must be LINEAR, STEP or CUBICSPLINE")
    count = len(accessors)
    times = check_index(sampler.get("input"), count, place, "accessor")
    values = check_index(sampler.get("output"), count, place, "accessor")
    keys, output = accessors.read_layout(times), accessors.read_layout(values)
    if keys.components != 1 or not keys.elements:
        raise BrokenError(place, f"its times, accessors[{times}], must be one or more single numbers")
    expected = keys.elements * (3 if interpolation == "CUBICSPLINE" else 1)
    if output.components != _PATH_COMPONENTS[path] or output.elements != expected:
        raise BrokenError(
            place,
            f"{keys.elements:,} times need {expected:,} values of {_PATH_COMPONENTS[path]} numbers; "
            f"accessors[{values}] has {output.elements:,} of {output.components}",
        )
    return _AnimationChannel(node, path, interpolation, times, values)


# --- decoding ------------------------------------------------------------------------------------


def decode_tracks(
    clips: list[ParsedAnimation], nodes: NodeTree, accessors: Accessors, notes: NoteCollector
) -> list[tuple[Track, ...]]:
    """Decode every key of every clip."""
    channels = [channel for clip in clips for channel in clip.channels]
    decoded = accessors.decode(i for channel in channels for i in (channel.input, channel.output))
    times = {i: _check_times(decoded[i][:, 0], i, notes) for i in dict.fromkeys(channel.input for channel in channels)}
    rotation_keys = _decode_rotations(channels, decoded)
    rows = nodes.rows
    return [
        tuple(
            Track(
                rows[c.node],
                c.path,
                c.interpolation,
                times[c.input],
                rotation_keys[c.output, c.interpolation == "CUBICSPLINE"]
                if c.path == "rotation"
                else _shape_keys(c, decoded),
            )
            for c in clip.channels
        )
        for clip in clips
    ]


def _shape_keys(channel: _AnimationChannel, decoded: dict[int, Floats]) -> Floats:
    values = decoded[channel.output]
    return values.reshape(-1, 3, 3) if channel.interpolation == "CUBICSPLINE" else values


def _check_times(times: Floats, i: int, notes: NoteCollector) -> Floats:
    steps = np.diff(times)
    if (steps < 0).any():
        raise BrokenError(f"accessors[{i}]", "holds times of an animation that go back")
    if (steps == 0).any():
        notes.add("animations have several keys at one time", f"accessors[{i}]")
    if times[0] < 0:
        notes.add("animations have keys before time 0", f"accessors[{i}]")
    return times


def _decode_rotations(channels: list[_AnimationChannel], decoded: dict[int, Floats]) -> dict[tuple[int, bool], Floats]:
    """Decode the rotations w x y z of all channels together. Of splines the values are normalized, not the tangents."""
    output_kinds = dict.fromkeys((c.output, c.interpolation == "CUBICSPLINE") for c in channels if c.path == "rotation")
    result: dict[tuple[int, bool], Floats] = {}
    for spline in (False, True):
        outputs = [output for output, is_spline in output_kinds if is_spline == spline]
        if not outputs:
            continue
        values = np.concatenate([decoded[output] for output in outputs])[:, _WXYZ]
        ends = np.cumsum([len(decoded[output]) for output in outputs])
        keys = values[1::3] if spline else values
        _reject_zero(keys, outputs, ends // 3 if spline else ends)
        keys[:] = normalize_quaternions(keys)
        values.setflags(write=False)
        start = 0
        for output, end in zip(outputs, ends.tolist(), strict=True):
            part = values[start:end]
            result[output, spline] = part.reshape(-1, 3, 4) if spline else part
            start = end
    return result


def _reject_zero(keys: Floats, outputs: list[int], ends: np.ndarray) -> None:
    zero = np.flatnonzero(~keys.any(axis=1))
    if len(zero):
        output = outputs[int(np.searchsorted(ends, zero[0], side="right"))]
        raise BrokenError(f"accessors[{output}]", "holds a rotation of zero length, which is no rotation")


def build_clip(skeleton: Skeleton, tracks: tuple[Track, ...], name: str) -> Clip:
    """Build a clip from tracks. Hinges and slides have one number in q, so their clips are sampled at the keys."""
    single = set(np.flatnonzero((skeleton.kinds == Kind.HINGE) | (skeleton.kinds == Kind.SLIDE)).tolist())
    sampled = [track for track in tracks if track.joint in single and track.path != "scale"]
    if not sampled:
        return KeyedClip.make_unchecked(skeleton, tracks, name)
    times = np.unique(np.concatenate([track.times for track in tracks]))
    other_tracks = tuple(track for track in tracks if not any(track is other for other in sampled))
    poses = KeyedClip.make_unchecked(skeleton, other_tracks, name).at(times)
    q = poses.q.copy()
    for row in sorted({track.joint for track in sampled}):
        if skeleton.couplings[row] is None:
            q[:, skeleton.q_start[row]] = _compute_joint_track(skeleton, row, sampled, times)
    return Clip(
        times, Pose(skeleton, q, _restore_slide_translations(skeleton, q, poses.translations), poses.scales), name
    )


def _compute_joint_track(skeleton: Skeleton, row: int, tracks: list[Track], times: Floats) -> Floats:
    """Compute the values of a hinge or slide at `times`. A hinge has no jumps of a full turn."""
    local_rotations = np.tile(rotations.IDENTITY, (len(times), 1))
    translations = np.tile(skeleton.A[row, :3], (len(times), 1))
    for track in tracks:
        if track.joint == row and track.path == "rotation":
            rest = np.broadcast_to(rotations.inverse(skeleton.A[row, 3:]), (len(times), 4))
            local_rotations = rotations.multiply(rest, track.at(times))
        elif track.joint == row:
            translations = track.at(times)
    values = compute_joint_values(skeleton, row, local_rotations, translations)
    if skeleton.kinds[row] == Kind.SLIDE:
        return values
    values, limit = np.unwrap(values), skeleton.limits[row]
    if isinstance(limit, Range) and not limit.low <= values[0] <= limit.high:
        values += 2 * np.pi * np.round((limit.nearest(float(values[0])) - values[0]) / (2 * np.pi))
    return values


def _restore_slide_translations(skeleton: Skeleton, q: Floats, translations: Floats | None) -> Floats | None:
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


# --- Reading of rigs -------------------------------------------------------------------------------------------------


_DRACO_EXTENSION = "KHR_draco_mesh_compression"
_SUPPORTED_EXTENSIONS = (
    "KHR_texture_", "EXT_texture_", "KHR_materials_", "KHR_lights_punctual", "KHR_mesh_quantization",
    "EXT_mesh_gpu_instancing", "EXT_meshopt_compression", "KHR_meshopt_compression", "VRM", "VRMC_", _DRACO_EXTENSION,
)  # fmt: skip


def read_gltf_rig(path: Path, data: bytes) -> Rig:
    """Read the bytes of a file into a rig. Only FileError leaves this function."""
    try:
        return _build_rig(path, unpack_document(data, path.suffix.lower()))
    except BrokenError as error:
        raise FileError(path, error.reason, place=error.place) from error
    except FileError:
        raise
    except PoiseError as error:
        raise FileError(path, str(error)) from error


def _build_rig(path: Path, container: Container) -> Rig:
    document, notes = container.json, NoteCollector(*container.notes)
    required = read_strings(document, "extensionsRequired")
    _check_extensions(required, notes)
    _check_scene(document, notes)
    node_objects, asset_extras = extras.strip_axis_root(document, extras.read_asset_extras(document, notes), notes)
    nodes = read_nodes(node_objects, notes)
    buffers = Buffers(read_objects(document, "buffers"), container, path.parent)
    accessors = Accessors(document, buffers, required)
    accessors.check_all()
    check_meshes(document, accessors)
    skins = parse_skins(document, len(nodes.json), accessors, notes)
    clips = parse_animations(document, len(nodes.json), accessors, notes)
    node_extras = extras.read_node_extras(nodes.json, dict(zip(nodes.indices, nodes.names, strict=True)), notes)
    joints = {joint for skin in skins for joint in skin.joints}
    read_skeleton = build_skeleton(nodes, joints, find_rotating_nodes(clips), node_extras, notes)
    tracks = decode_tracks(clips, nodes, accessors, notes)
    built = tuple(build_clip(read_skeleton.skeleton, keys, clip.name) for keys, clip in zip(tracks, clips, strict=True))
    source = GltfDocument(path.absolute(), container, read_skeleton.pose, read_skeleton.rest_q, built)
    roles, faces = read_humanoid(document, nodes, notes)
    skeleton = dataclasses.replace(
        extras.apply_asset_extras(read_skeleton.skeleton, asset_extras, notes), source=source, roles=roles, faces=faces
    )
    rest = extras.build_axis_matrix(asset_extras.up, asset_extras.scale) @ _compute_rest_world(skeleton, nodes)
    return Rig(
        skeleton,
        dataclasses.replace(read_skeleton.pose, skeleton=skeleton),
        tuple(clip.on(skeleton) for clip in built),
        _undo_axis_root(build_skins(skins, nodes, accessors, rest, notes), asset_extras.up, asset_extras.scale),
        roles,
        notes.format_sentences(),
        path,
    )


def _check_extensions(required: list[str], notes: NoteCollector) -> None:
    for name in required:
        if not name.startswith(_SUPPORTED_EXTENSIONS):
            known = ", ".join(f"{known}*" if known.endswith("_") else known for known in _SUPPORTED_EXTENSIONS)
            raise BrokenError("extensionsRequired", f"{name[:80]!a} is not understood; understood are: {known}")
    if _DRACO_EXTENSION in required:
        notes.add(f"meshes are compressed ({_DRACO_EXTENSION}) and not read; the skeleton is")


def _check_scene(document: Json, notes: NoteCollector) -> None:
    scene, count = document.get("scene"), len(read_objects(document, "scenes"))
    if scene is not None and not (type(scene) is int and 0 <= scene < count):
        notes.add(f"the scene to show does not exist (there are {count}); all nodes were read, as always")


def _undo_axis_root(skins: tuple[Skin, ...], up: str | None, scale: float) -> tuple[Skin, ...]:
    """Undo rotation and scale of the axis root in bind matrices.

    The result is in the frame and unit of the skeleton.
    """
    if up in ("y", None) and scale == 1.0:
        return skins
    binds = [np.linalg.inv(extras.build_axis_matrix(up, scale)) @ skin.bind for skin in skins]
    for bind in binds:
        bind.setflags(write=False)
    return tuple(dataclasses.replace(skin, bind=bind) for skin, bind in zip(skins, binds, strict=True))


def _compute_rest_world(skeleton: Skeleton, nodes: NodeTree) -> Floats:
    """Compute the world transforms at rest from A and B. A tree whose numbers overflow is refused."""
    rest = compose_world_transforms(nodes.parents, skeleton.A[:, :3], skeleton.A[:, 3:], skeleton.B[:, :, :3])
    bad = np.flatnonzero(~np.isfinite(rest).all(axis=(1, 2)))
    if len(bad):
        raise BrokenError(f"nodes[{nodes.indices[int(bad[0])]}]", "its position in the world is too large for a number")
    return rest
