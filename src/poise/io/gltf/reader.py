"""glTF reader: nodes, skins, animations and humanoid map to a Rig."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from poise.errors import FileError, PoiseError
from poise.io.gltf.accessors import Accessors, normalise_quaternions
from poise.io.gltf.asset_extras import (
    apply_asset_extras,
    build_conversion_matrix,
    read_asset_extras,
    strip_conversion_node,
)
from poise.io.gltf.container import Buffers, Container, unpack_document
from poise.io.gltf.json_checks import (
    BrokenError,
    Json,
    NoteCollector,
    check_index,
    clean_text,
    read_object,
    read_objects,
    read_strings,
)
from poise.io.gltf.node_extras import read_node_extras
from poise.io.gltf.skeleton_reader import NodeTree, build_skeleton, compute_joint_values, read_nodes
from poise.io.gltf.source_document import GltfDocument
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.channels import Channel
from poise.model.clip import Clip, KeyedClip
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
    layout = accessors.find_accessor(accessor)
    if layout.component_count != 16 or layout.element_count < len(joints):  # noqa: PLR2004
        raise BrokenError(place, f"needs {len(joints)} bind matrices; accessors[{accessor}] has {layout.element_count}")
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
    parsed_skins: list[ParsedSkin], nodes: NodeTree, accessors: Accessors, rest_world: Floats, notes: NoteCollector
) -> tuple[Skin, ...]:
    """Build the skins. `rest_world` (n, 4, 4) are the world transforms of the rows at rest."""
    decoded = accessors.decode(skin.accessor for skin in parsed_skins if skin.accessor is not None)
    skins: list[Skin] = []
    for skin in parsed_skins:
        rows = [nodes.rows[joint] for joint in skin.joints]
        names = tuple(nodes.names[row] for row in rows)
        if skin.accessor is None:
            bind_matrices = np.tile(np.eye(4), (len(rows), 1, 1))
        else:
            inverse_bind = decoded[skin.accessor][: len(rows)].reshape(-1, 4, 4).transpose(0, 2, 1)
            bind_matrices, is_singular = _invert_affine(inverse_bind, rest_world[rows])
            for k in np.flatnonzero(is_singular):
                notes.add("bind matrices cannot be inverted; the rest transform was used", names[k])
        bind_matrices.setflags(write=False)
        skins.append(Skin(skin.name, names, bind_matrices))
    return tuple(skins)


def _invert_affine(matrices: Floats, fallback: Floats) -> tuple[Floats, np.ndarray]:
    """Invert affine matrices (k, 4, 4). Singular ones are replaced by `fallback`; return also their mask."""
    linear = matrices[:, :3, :3]
    lengths = np.sqrt((linear * linear).sum(axis=1)).prod(axis=1)
    is_singular = np.abs(np.linalg.det(linear)) <= _MIN_DETERMINANT * lengths
    is_singular |= (matrices[:, 3] != [0, 0, 0, 1]).any(axis=1)
    invertible = np.where(is_singular[:, None, None], np.eye(4), matrices)
    return np.where(is_singular[:, None, None], fallback, np.linalg.inv(invertible)), is_singular


def read_humanoid(document: Json, nodes: NodeTree, notes: NoteCollector) -> tuple[dict[str, str], str | None]:
    """Read the VRM humanoid map and the facing direction.

    The map leads from VRM 1.0 bone names to joint names, of VRM 0.x, 1.0 or an animation; the direction is "-z" or
    "+z".

    Entries without a node are noted.
    """
    extensions = read_object(document, "extensions")
    joint_by_bone: dict[str, str] = {}
    vrm0_bones, vrm1_bones = _read_vrm0_bones(extensions), _read_vrm1_bones(extensions)
    for bone, node in [*vrm0_bones, *vrm1_bones]:
        if isinstance(bone, str) and type(node) is int and 0 <= node < len(nodes.rows):
            joint_by_bone[clean_text(bone)] = nodes.names[nodes.rows[node]]
        else:
            notes.add("VRM human bones lead to no node and were ignored", clean_text(bone) or "(unnamed)")
    return joint_by_bone, "+z" if vrm1_bones else "-z" if vrm0_bones else None


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
    bone_maps = [
        _find_object(_find_object(_find_object(extensions, extension_name), "humanoid"), "humanBones")
        for extension_name in ("VRMC_vrm", VRM_ANIMATION)
    ]
    return [(name, _find_object(bones, name).get("node")) for bones in bone_maps for name in bones]


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
    time_accessor: int
    value_accessor: int


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
    animations: list[ParsedAnimation] = []
    for i, animation in enumerate(read_objects(document, "animations")):
        place = f"animations[{i}]"
        channels = _parse_channels(animation, place, node_count, accessors, notes)
        animations.append(ParsedAnimation(notes.read_name(animation, f"animation_{i}"), channels))
    return animations


def find_rotating_nodes(animations: list[ParsedAnimation]) -> set[int]:
    """Find the nodes with animated rotation."""
    return {channel.node for animation in animations for channel in animation.channels if channel.path == "rotation"}


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
        channel_place = f"{place}.channels[{k}]"
        if not isinstance(path, str) or path not in _PATH_COMPONENTS:
            notes.add(
                "animation channels move something other than translation, rotation, scale; ignored", channel_place
            )
            continue
        node = check_index(target["node"], node_count, channel_place, "node")
        sampler_index = check_index(channel.get("sampler"), len(samplers), channel_place, "sampler")
        if (node, path) in channels:
            notes.add("animation channels move what another one moves already; ignored", channel_place)
            continue
        channels[node, path] = _parse_sampler(
            samplers[sampler_index], f"{place}.samplers[{sampler_index}]", node, path, accessors
        )
    return list(channels.values())


def _parse_sampler(sampler: Json, place: str, node: int, path: str, accessors: Accessors) -> _AnimationChannel:
    interpolation = sampler.get("interpolation", "LINEAR")
    if interpolation not in _INTERPOLATIONS:
        raise BrokenError(place, "its interpolation must be LINEAR, STEP or CUBICSPLINE")
    accessor_count = len(accessors)
    time_accessor = check_index(sampler.get("input"), accessor_count, place, "accessor")
    value_accessor = check_index(sampler.get("output"), accessor_count, place, "accessor")
    time_layout, value_layout = accessors.find_accessor(time_accessor), accessors.find_accessor(value_accessor)
    if time_layout.component_count != 1 or not time_layout.element_count:
        raise BrokenError(place, f"its times, accessors[{time_accessor}], must be one or more single numbers")
    expected_count = time_layout.element_count * (3 if interpolation == "CUBICSPLINE" else 1)
    if value_layout.component_count != _PATH_COMPONENTS[path] or value_layout.element_count != expected_count:
        raise BrokenError(
            place,
            f"{time_layout.element_count:,} times need {expected_count:,} values of {_PATH_COMPONENTS[path]} numbers; "
            f"accessors[{value_accessor}] has {value_layout.element_count:,} of {value_layout.component_count}",
        )
    return _AnimationChannel(node, path, interpolation, time_accessor, value_accessor)


# --- decoding ------------------------------------------------------------------------------------


def decode_tracks(
    animations: list[ParsedAnimation], nodes: NodeTree, accessors: Accessors, notes: NoteCollector
) -> list[tuple[Channel, ...]]:
    """Decode every key of every clip."""
    channels = [channel for animation in animations for channel in animation.channels]
    decoded = accessors.decode(i for channel in channels for i in (channel.time_accessor, channel.value_accessor))
    times = {
        i: _check_times(decoded[i][:, 0], i, notes)
        for i in dict.fromkeys(channel.time_accessor for channel in channels)
    }
    rotation_keys = _decode_rotations(channels, decoded)
    rows = nodes.rows
    return [
        tuple(
            Channel(
                rows[c.node],
                c.path,
                c.interpolation,
                times[c.time_accessor],
                rotation_keys[c.value_accessor, c.interpolation == "CUBICSPLINE"]
                if c.path == "rotation"
                else _shape_keys(c, decoded),
            )
            for c in animation.channels
        )
        for animation in animations
    ]


def _shape_keys(channel: _AnimationChannel, decoded: dict[int, Floats]) -> Floats:
    values = decoded[channel.value_accessor]
    return values.reshape(-1, 3, 3) if channel.interpolation == "CUBICSPLINE" else values


def _check_times(times: Floats, accessor: int, notes: NoteCollector) -> Floats:
    steps = np.diff(times)
    if (steps < 0).any():
        raise BrokenError(f"accessors[{accessor}]", "holds times of an animation that go back")
    if (steps == 0).any():
        notes.add("animations have several keys at one time", f"accessors[{accessor}]")
    if times[0] < 0:
        notes.add("animations have keys before time 0", f"accessors[{accessor}]")
    return times


def _decode_rotations(channels: list[_AnimationChannel], decoded: dict[int, Floats]) -> dict[tuple[int, bool], Floats]:
    """Decode the rotations w x y z of all channels together. Of splines the values are normalized, not the tangents."""
    rotation_outputs = dict.fromkeys(
        (c.value_accessor, c.interpolation == "CUBICSPLINE") for c in channels if c.path == "rotation"
    )
    keys_by_output: dict[tuple[int, bool], Floats] = {}
    for wants_spline in (False, True):
        outputs = [output for output, is_spline in rotation_outputs if is_spline == wants_spline]
        if not outputs:
            continue
        values = np.concatenate([decoded[output] for output in outputs])[:, _WXYZ]
        ends = np.cumsum([len(decoded[output]) for output in outputs])
        keys = values[1::3] if wants_spline else values
        _reject_zero_rotations(keys, outputs, ends // 3 if wants_spline else ends)
        keys[:] = normalise_quaternions(keys)
        values.setflags(write=False)
        start = 0
        for output, end in zip(outputs, ends.tolist(), strict=True):
            output_values = values[start:end]
            keys_by_output[output, wants_spline] = output_values.reshape(-1, 3, 4) if wants_spline else output_values
            start = end
    return keys_by_output


def _reject_zero_rotations(keys: Floats, outputs: list[int], ends: np.ndarray) -> None:
    zero_rows = np.flatnonzero(~keys.any(axis=1))
    if len(zero_rows):
        output = outputs[int(np.searchsorted(ends, zero_rows[0], side="right"))]
        raise BrokenError(f"accessors[{output}]", "holds a rotation of zero length, which is no rotation")


def build_clip(skeleton: Skeleton, tracks: tuple[Channel, ...], name: str) -> Clip:
    """Build a clip from tracks. Hinges and slides have one number in q, so their clips are sampled at the keys."""
    scalar_rows = set(np.flatnonzero((skeleton.kinds == Kind.HINGE) | (skeleton.kinds == Kind.SLIDE)).tolist())
    sampled_tracks = [track for track in tracks if track.joint in scalar_rows and track.path != "scale"]
    if not sampled_tracks:
        return KeyedClip.make_unchecked(skeleton, tracks, name)
    times = np.unique(np.concatenate([track.times for track in tracks]))
    other_tracks = tuple(
        track for track in tracks if not any(track is sampled_track for sampled_track in sampled_tracks)
    )
    poses = KeyedClip.make_unchecked(skeleton, other_tracks, name).at(times)
    q = poses.q.copy()
    for row in sorted({track.joint for track in sampled_tracks}):
        if skeleton.couplings[row] is None:
            q[:, skeleton.q_start[row]] = _compute_joint_track(skeleton, row, sampled_tracks, times)
    return Clip(
        times, Pose(skeleton, q, _restore_slide_translations(skeleton, q, poses.translations), poses.scales), name
    )


def _compute_joint_track(skeleton: Skeleton, row: int, tracks: list[Channel], times: Floats) -> Floats:
    """Compute the values of a hinge or slide at `times`. A hinge has no jumps of a full turn."""
    local_rotations = np.tile(rotations.IDENTITY, (len(times), 1))
    translations = np.tile(skeleton.A[row, :3], (len(times), 1))
    for track in tracks:
        if track.joint == row and track.path == "rotation":
            rest_inverse = np.broadcast_to(rotations.inverse(skeleton.A[row, 3:]), (len(times), 4))
            local_rotations = rotations.multiply(rest_inverse, track.at(times))
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
    restored_translations = translations.copy()
    for row in np.flatnonzero(skeleton.kinds == Kind.SLIDE).tolist():
        ratio, offset = skeleton.coupling_rows[row]
        distance = ratio * q[:, skeleton.q_start[row], None] + offset
        slide_direction = rotations.rotate(skeleton.A[row, 3:], skeleton.axes[row])
        restored_translations[:, row] = skeleton.A[row, :3] + distance * slide_direction
    return restored_translations


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
    node_objects, asset_extras = strip_conversion_node(document, read_asset_extras(document, notes), notes)
    nodes = read_nodes(node_objects, notes)
    buffers = Buffers(read_objects(document, "buffers"), container, path.parent)
    accessors = Accessors(document, buffers, required)
    accessors.check_all()
    check_meshes(document, accessors)
    skins = parse_skins(document, len(nodes.node_objects), accessors, notes)
    animations = parse_animations(document, len(nodes.node_objects), accessors, notes)
    node_extras = read_node_extras(nodes.node_objects, dict(zip(nodes.indices, nodes.names, strict=True)), notes)
    joint_nodes = {joint for skin in skins for joint in skin.joints}
    read_skeleton = build_skeleton(nodes, joint_nodes, find_rotating_nodes(animations), node_extras, notes)
    tracks = decode_tracks(animations, nodes, accessors, notes)
    built_clips = tuple(
        build_clip(read_skeleton.skeleton, keys, clip.name) for keys, clip in zip(tracks, animations, strict=True)
    )
    source = GltfDocument(path.absolute(), container, read_skeleton.pose, read_skeleton.rest_q, built_clips)
    roles, faces = read_humanoid(document, nodes, notes)
    skeleton = dataclasses.replace(
        apply_asset_extras(read_skeleton.skeleton, asset_extras, notes), source=source, roles=roles, faces=faces
    )
    rest_world = build_conversion_matrix(asset_extras.up, asset_extras.scale) @ _compute_rest_world(skeleton, nodes)
    return Rig(
        skeleton,
        dataclasses.replace(read_skeleton.pose, skeleton=skeleton),
        tuple(clip.on(skeleton) for clip in built_clips),
        _undo_conversion_node(
            build_skins(skins, nodes, accessors, rest_world, notes), asset_extras.up, asset_extras.scale
        ),
        roles,
        notes.format_sentences(),
        path,
    )


def _check_extensions(required: list[str], notes: NoteCollector) -> None:
    for name in required:
        if not name.startswith(_SUPPORTED_EXTENSIONS):
            supported_text = ", ".join(
                f"{extension}*" if extension.endswith("_") else extension for extension in _SUPPORTED_EXTENSIONS
            )
            raise BrokenError(
                "extensionsRequired", f"{name[:80]!a} is not understood; understood are: {supported_text}"
            )
    if _DRACO_EXTENSION in required:
        notes.add(f"meshes are compressed ({_DRACO_EXTENSION}) and not read; the skeleton is")


def _check_scene(document: Json, notes: NoteCollector) -> None:
    scene, count = document.get("scene"), len(read_objects(document, "scenes"))
    if scene is not None and not (type(scene) is int and 0 <= scene < count):
        notes.add(f"the scene to show does not exist (there are {count}); all nodes were read, as always")


def _undo_conversion_node(skins: tuple[Skin, ...], up: str | None, scale: float) -> tuple[Skin, ...]:
    """Undo rotation and scale of the conversion node in bind matrices.

    The result is in the frame and unit of the skeleton.
    """
    if up in ("y", None) and scale == 1.0:
        return skins
    binds = [np.linalg.inv(build_conversion_matrix(up, scale)) @ skin.bind for skin in skins]
    for bind in binds:
        bind.setflags(write=False)
    return tuple(dataclasses.replace(skin, bind=bind) for skin, bind in zip(skins, binds, strict=True))


def _compute_rest_world(skeleton: Skeleton, nodes: NodeTree) -> Floats:
    """Compute the world transforms at rest from A and B. A tree whose numbers overflow is refused."""
    world_from_joint = compose_world_transforms(
        nodes.parents, skeleton.A[:, :3], skeleton.A[:, 3:], skeleton.B[:, :, :3]
    )
    overflow_rows = np.flatnonzero(~np.isfinite(world_from_joint).all(axis=(1, 2)))
    if len(overflow_rows):
        raise BrokenError(
            f"nodes[{nodes.indices[int(overflow_rows[0])]}]", "its position in the world is too large for a number"
        )
    return world_from_joint
