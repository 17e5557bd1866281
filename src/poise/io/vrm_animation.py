"""VRM animation writer: T pose, retargeting and encoding.

A source animation keeps its expressions and gaze; any other motion is retargeted from the T pose.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from poise.errors import InputError, UnsupportedError, join_names
from poise.io.gltf.container import Container, pack_document
from poise.io.gltf.document_draft import Draft, build_document_state
from poise.io.gltf.json_checks import Json, read_object
from poise.io.gltf.reader import VRM_ANIMATION
from poise.io.gltf.source_document import GltfDocument
from poise.io.gltf.writer import add_clip, encode_gltf, is_empty_clip
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.anatomy.carrier import find_standing_turn
from poise.model.anatomy.rest_geometry import BodyFrame, compute_rest_rotations, find_body_frame
from poise.model.channels import Channel
from poise.model.clip import Clip, KeyedClip
from poise.model.pose import Pose, compute_local_transforms, compute_rest_local_transforms
from poise.model.rig import Rig, Saveable
from poise.model.rig_roles import find_roles
from poise.model.roles.bone_names import BONES, FINGER_BONES, REQUIRED_BONES, SIDES
from poise.model.skeleton import Kind, Skeleton

# --- T pose of a humanoid: bone positions and rotations from rest ----------------------------------------------------
#
# A VRM animation has its rest in a T pose, in metres, +Y up, facing +Z, and rotates its bones from there. The rest
# pose of another file may have its arms down or its legs apart. With K the rotation (in the world) of a bone from
# that rest to the T pose, W(t) its world rotation and G the rotation to VRM's axes, the animation rotates the bone by
#
# G . W(t) . W(rest)^-1 . K^-1 . G^-1        in the world, where the T pose is the identity.


_MIN_ALIGNED_COSINE = float(
    np.cos(np.radians(5.0))
)  # bones within 5 degrees of the T pose stay; files differ by that much
_MIN_AXIS_COSINE = float(np.cos(np.radians(10.0)))  # a character within 10 degrees of the axes is aligned exactly
_EYE_ROLES = ("leftEye", "rightEye")  # the format moves them by a gaze target
_UNITS_M = (1.0, 0.1, 0.01, 0.001, 0.0254, 0.0254 / 0.45)  # [m] candidates for an unknown unit; the last is CMU's
_USUAL_HEIGHT_M = 1.5  # [m] usual height from a person's lowest to highest joint
_MIN_FLOOR_SHARE, _MAX_FLOOR_SHARE = (
    -0.1,
    0.2,
)  # relative to the height; range of the lowest joint of a character on the floor


class TPose(NamedTuple):
    """Human bones of a skeleton in VRM's frame, parents first.

    rows             (b,) joints of the skeleton
    roles            VRM bone names
    parents          (b,) index of the nearest human ancestor, -1 for the hips
    positions        (b, 3) [m] positions in the T pose
    t_from_rest      (b, 4) K: rotations from rest to the T pose, in the skeleton's world
    vrm_from_world   (3, 3) G: from the skeleton's world to VRM's axes
    metres_per_unit  metres of one unit
    is_guess         whether `metres_per_unit` is a guess
    """

    rows: list[int]
    roles: list[str]
    parents: list[int]
    positions: Floats
    t_from_rest: Floats
    vrm_from_world: Floats
    metres_per_unit: float
    is_guess: bool

    @property
    def height(self) -> float:
        """Height from the lowest to the highest joint [m]."""
        return float(np.ptp(self.positions[:, 1]))


def find_t_pose(skeleton: Skeleton) -> TPose:
    """Find the T pose of a skeleton.

    UnsupportedError where a required role is unknown or the rest pose is not that of a standing humanoid.
    """
    joints = {role: joint for role, joint in find_roles(skeleton).joints.items() if role not in _EYE_ROLES}
    missing_roles = [role for role in REQUIRED_BONES if role not in joints]
    if missing_roles:
        raise UnsupportedError(
            f"a VRM animation moves the bones of a person, and these roles have no joint: {join_names(missing_roles)}; "
            f"a sidecar can name them"
        )
    rows = sorted({skeleton.index(joint) for joint in joints.values()})
    role_by_row = {skeleton.index(joints[role]): role for role in BONES if role in joints}
    parents = [
        next((rows.index(ancestor) for ancestor in skeleton.list_path(row)[-2::-1] if ancestor in role_by_row), -1)
        for row in rows
    ]
    if parents.count(-1) > 1 or role_by_row[rows[0]] != "hips":
        stray_roles = join_names(role_by_row[row] for row, parent in zip(rows, parents, strict=True) if parent < 0)
        raise UnsupportedError(f"in a VRM animation every bone is below the hips; these are not: {stray_roles}")
    try:
        rest_stance = find_body_frame(skeleton, joints)
    except InputError as error:
        raise UnsupportedError(f"no T pose can be found for this character: {error}") from error
    return _build_t_pose(skeleton, rows, [role_by_row[row] for row in rows], parents, rest_stance)


def find_vrm_frame(skeleton: Skeleton) -> tuple[float, Floats, bool]:
    """Find the unit, axes and unit certainty of a VRM animation.

    Return metres per unit, the rotation (3, 3) to VRM's axes, and whether the unit is a guess.

    UnsupportedError as in `find_t_pose`.
    """
    t_pose = find_t_pose(skeleton)
    return t_pose.metres_per_unit, t_pose.vrm_from_world, t_pose.is_guess


def _build_t_pose(
    skeleton: Skeleton, rows: list[int], roles: list[str], parents: list[int], rest_stance: BodyFrame
) -> TPose:
    vrm_from_world, rest_points = _find_axes(rest_stance), rest_stance.points[rows]
    t_from_rest = _compute_t_rotations(skeleton, rows, roles, parents, rest_stance, vrm_from_world)
    positions = rest_points @ vrm_from_world.T
    for i, parent in enumerate(parents):
        if parent >= 0:
            positions[i] = positions[parent] + vrm_from_world @ rotations.rotate(
                t_from_rest[parent], rest_points[i] - rest_points[parent]
            )
    lowest, height = float(positions[:, 1].min()), float(np.ptp(positions[:, 1]))
    if not _MIN_FLOOR_SHARE * height <= lowest <= _MAX_FLOOR_SHARE * height:  # such as a BVH file with the hips at zero
        positions -= [positions[0, 0], lowest, positions[0, 2]]
    known_unit = skeleton.metres_per_unit
    unit = _guess_unit(height) if known_unit is None else known_unit
    return TPose(rows, roles, parents, positions * unit, t_from_rest, vrm_from_world, unit, known_unit is None)


def _guess_unit(height: float) -> float:
    """Guess the metres per unit from a character's height in units."""
    return min(_UNITS_M, key=lambda unit: abs(np.log(unit * height / _USUAL_HEIGHT_M)))


def _find_axes(rest_stance: BodyFrame) -> Floats:
    """Find the rotation (3, 3) to left, up and forward.

    It starts from the world. It is snapped to the axes if the character is nearly aligned with them.
    """
    vrm_from_world = np.stack([rest_stance.left, rest_stance.up, rest_stance.forward])
    snapped_axes = np.zeros((3, 3))
    snapped_axes[np.arange(3), np.abs(vrm_from_world).argmax(axis=1)] = 1.0
    snapped_axes *= np.sign(vrm_from_world)
    is_aligned = bool(((snapped_axes * vrm_from_world).sum(axis=1) > _MIN_AXIS_COSINE).all())
    return snapped_axes if is_aligned and abs(float(np.linalg.det(snapped_axes)) - 1.0) < 1e-9 else vrm_from_world  # noqa: PLR2004


def _compute_t_rotations(
    skeleton: Skeleton,
    rows: list[int],
    roles: list[str],
    parents: list[int],
    rest_stance: BodyFrame,
    vrm_from_world: Floats,
) -> Floats:
    """Compute K of every bone. Arms get the shortest rotation to the sides, legs down; the other bones stay."""
    t_from_rest = np.tile(rotations.IDENTITY, (len(rows), 1))
    index_by_role = {role: i for i, role in enumerate(roles)}
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        for start, end_row, direction in _list_limb_bones(skeleton, rows, index_by_role, side, sign):
            bone = rest_stance.points[end_row] - rest_stance.points[rows[start]]
            t_direction = direction @ vrm_from_world  # in the skeleton's world
            if float(np.linalg.norm(bone)) > 0.0 and float(bone @ t_direction) < _MIN_ALIGNED_COSINE * float(
                np.linalg.norm(bone)
            ):
                t_from_rest[start] = rotations.rotation_between(bone, t_direction)
    for i, role in enumerate(roles):
        if any(role.endswith(finger) for finger in FINGER_BONES):
            t_from_rest[i] = t_from_rest[parents[i]]
    return t_from_rest


def _list_limb_bones(
    skeleton: Skeleton, rows: list[int], index_by_role: dict[str, int], side: str, sign: float
) -> list[tuple[int, int, Floats]]:
    """List the bones of an arm and a leg. Each has its index, the row of its end, and its direction in a T pose."""
    outward, downward = np.array([sign, 0.0, 0.0]), np.array([0.0, -1.0, 0.0])
    bones: list[tuple[int, int, Floats]] = []
    for (upper, middle, end), direction in (
        (("UpperArm", "LowerArm", "Hand"), outward),
        (("UpperLeg", "LowerLeg", "Foot"), downward),
    ):
        for start_role, end_role in ((upper, middle), (middle, end)):
            bones.append((index_by_role[side + start_role], rows[index_by_role[side + end_role]], direction))
    hand = index_by_role[f"{side}Hand"]
    fingers = (f"{side}{finger}Proximal" for finger in ("Middle", "Index", "Ring", "Little"))
    end = next((rows[index_by_role[finger]] for finger in fingers if finger in index_by_role), None)
    return [*bones, (hand, _find_hand_end(skeleton, rows[hand]) if end is None else end, outward)]


def _find_hand_end(skeleton: Skeleton, row: int) -> int:
    """Find the farthest child joint of a hand. Without children it is the hand itself."""
    lengths = {child: float(np.linalg.norm(skeleton.A[child, :3])) for child in skeleton.children[row]}
    return max(lengths, key=lambda child: lengths[child], default=row)


# --- Retargeting of a clip to rotations from the T pose --------------------------------------------------------------
#
# Losses in the VRM animation are described.


_MAX_STRETCH = 0.1  # maximum change of a bone's length, relative to the T pose
_MIN_BONE_SHARE = (
    0.01  # relative to the height; smaller length changes are allowed: joints between bones may have no role
)
_MAX_STILL_ROTATION = 1e-6  # tolerance of quaternion components for a joint at rest
_MAX_SILENT_ERROR = 2e-3  # relative to the height; larger position errors are reported


def retarget_clip(clip: Clip, t_pose: TPose) -> tuple[Clip, str]:
    """Retarget a clip to a skeleton of human bones in T pose. Joints keep their names; the T pose is the rest.

    UnsupportedError for bones that stretch. The returned sentence describes other losses; it is empty if there are
    none.
    """
    names = [clip.skeleton.names[row] for row in t_pose.rows]
    skeleton = _build_skeleton(names, t_pose)
    points, world_rotations = _compute_world(clip.poses, t_pose.rows)
    is_turned = clip.skeleton.up is None  # where the file says what is up, a figure along another axis lies
    turn = find_standing_turn(clip.poses, t_pose.rows[0], t_pose.vrm_from_world[1]) if is_turned else None
    if turn is not None:
        points, world_rotations = points @ turn.T, rotations.multiply(rotations.from_matrix(turn), world_rotations)
    points = points @ t_pose.vrm_from_world.T * t_pose.metres_per_unit
    _check_stretch(points, names, t_pose)
    rest_correction = rotations.inverse(
        rotations.multiply(
            t_pose.t_from_rest, rotations.from_matrix(compute_rest_rotations(clip.skeleton))[t_pose.rows]
        )
    )
    vrm_rotations = _change_axes(rotations.multiply(world_rotations, rest_correction), t_pose.vrm_from_world)
    parents = np.array(t_pose.parents)
    local_rotations = rotations.unit(
        rotations.multiply(rotations.inverse(vrm_rotations[:, np.maximum(parents, 0)]), vrm_rotations)
    )
    local_rotations[:, parents < 0] = vrm_rotations[:, parents < 0]
    translations = np.broadcast_to(skeleton.A[:, :3], points.shape).copy()
    translations[:, 0] = points[:, 0]
    poses = Pose(skeleton, _remove_sign_flips(local_rotations).reshape(len(clip), -1), translations)
    errors = _measure_errors(points, vrm_rotations, t_pose)
    return Clip(clip.times, poses, clip.name), _describe_losses(clip.poses, errors, names, t_pose)


def _build_skeleton(names: list[str], t_pose: TPose) -> Skeleton:
    offsets = [
        position - (t_pose.positions[parent] if parent >= 0 else 0.0)
        for position, parent in zip(t_pose.positions, t_pose.parents, strict=True)
    ]
    return Skeleton.build(
        names,
        t_pose.parents,
        [Kind.BALL] * len(names),
        offsets=offsets,
        metres_per_unit=1.0,
        up="y",
        roles=dict(zip(t_pose.roles, names, strict=True)),
        faces="+z",
    )


def _compute_world(poses: Pose, rows: list[int]) -> tuple[Floats, Floats]:
    """Compute world positions and rotations of rows. They are (frames, b, 3) and (frames, b, 4)."""
    skeleton, transforms = poses.skeleton, compute_local_transforms(poses)
    matrices_by_row: dict[int, Floats] = {}
    for row, parent in enumerate(skeleton.parents.tolist()):
        local_matrices = np.zeros((len(poses), 4, 4))
        linear = transforms.scale[:, row, None, :] * np.eye(3) if poses.scales is not None else skeleton.B[row, :, :3]
        local_matrices[:, :3, :3] = rotations.as_matrix(transforms.rotation[:, row]) @ linear
        local_matrices[:, :3, 3], local_matrices[:, 3, 3] = transforms.translation[:, row], 1.0
        matrices_by_row[row] = matrices_by_row[parent] @ local_matrices if parent >= 0 else local_matrices
    matrices = np.stack([matrices_by_row[row] for row in rows], axis=1)
    return matrices[..., :3, 3], rotations.from_matrix(rotations.rotation_part(matrices[..., :3, :3]))


def _change_axes(quaternions: Floats, axes: Floats) -> Floats:
    """Express rotations (..., 4) in other axes. w stays, and x y z are rotated."""
    return np.concatenate([quaternions[..., :1], quaternions[..., 1:] @ axes.T], axis=-1)


def _remove_sign_flips(quaternions: Floats) -> Floats:
    """Remove sign flips of quaternions (frames, b, 4). Each gets the sign that is nearer to the one before."""
    flips = (quaternions[1:] * quaternions[:-1]).sum(axis=-1) < 0.0
    signs = np.concatenate([np.ones((min(len(quaternions), 1), quaternions.shape[1])), np.where(flips, -1.0, 1.0)])
    return quaternions * np.cumprod(signs, axis=0)[..., None]


def _check_stretch(points: Floats, names: list[str], t_pose: TPose) -> None:
    child_indices = [i for i, parent in enumerate(t_pose.parents) if parent >= 0]
    parents = [t_pose.parents[i] for i in child_indices]
    lengths = np.linalg.norm(points[:, child_indices] - points[:, parents], axis=-1)
    t_lengths = np.linalg.norm(t_pose.positions[child_indices] - t_pose.positions[parents], axis=-1)
    errors = np.abs(lengths - t_lengths).max(axis=0, initial=0.0)
    stretched_bones = np.flatnonzero((errors > _MAX_STRETCH * t_lengths) & (errors > _MIN_BONE_SHARE * t_pose.height))
    if len(stretched_bones):
        stretched_names = join_names(names[child_indices[i]] for i in stretched_bones)
        raise UnsupportedError(
            f"a VRM animation rotates bones and moves the hips only; these stretch or slide: {stretched_names}"
        )


def _measure_errors(points: Floats, vrm_rotations: Floats, t_pose: TPose) -> Floats:
    """Measure the largest position error (b,) [m] of each bone. Joints between bones may have moved."""
    rigid_points = points.copy()
    for i, parent in enumerate(t_pose.parents):
        if parent >= 0:
            offset = t_pose.positions[i] - t_pose.positions[parent]
            rigid_points[:, i] = rigid_points[:, parent] + rotations.rotate(vrm_rotations[:, parent], offset)
    return np.linalg.norm(rigid_points - points, axis=-1).max(axis=0, initial=0.0)


def _describe_losses(poses: Pose, errors: Floats, names: list[str], t_pose: TPose) -> str:
    """Describe lost joint motion and the resulting position errors.

    Joints other than human bones lose their motion.
    """
    local_rotations, skeleton = compute_local_transforms(poses).rotation, poses.skeleton
    moving_rows = set(
        np.flatnonzero((np.abs(local_rotations - local_rotations[:1]) > _MAX_STILL_ROTATION).any(axis=(0, 2))).tolist()
    )
    lost_names = [name for row, name in enumerate(skeleton.names) if row in moving_rows and row not in t_pose.rows]
    messages = (
        [f"moving joints other than human bones are not in a VRM animation: {join_names(lost_names)}"]
        if lost_names
        else []
    )
    if errors.max() > _MAX_SILENT_ERROR * t_pose.height:
        worst_bone = int(errors.argmax())
        messages.append(f"{names[worst_bone]!r} is displaced by up to {100 * errors[worst_bone]:.2g} cm")
    return "; ".join(messages)


# --- Writing ---------------------------------------------------------------------------------------------------------


_MAX_TRACK_CHANGE = 1e-6  # [file units] maximum change of a track equal to the document's
_TRACK_PATHS: Any = ("translation", "rotation", "scale")


def is_vrm_animation(skeleton: Skeleton) -> bool:
    """Return whether a skeleton's source is a VRM animation."""
    source = skeleton.source
    return isinstance(source, GltfDocument) and VRM_ANIMATION in read_object(source.container.json, "extensions")


def encode_vrma(content: Saveable, path: Path, source_skeleton: Skeleton) -> tuple[bytes, list[str]]:
    """Encode a VRM animation of a rig, clip or pose.

    Return its bytes and messages about losses; a pose becomes one frame.
    """
    clips = _list_clips(content)
    if any(map(is_empty_clip, clips)):
        raise UnsupportedError("a clip without frames cannot stand in a VRM animation, which needs at least one key")
    if is_vrm_animation(source_skeleton):
        return _update_document(content, clips, path, source_skeleton), []
    t_pose = find_t_pose(clips[0].skeleton)
    retargeted_clips = [retarget_clip(clip, t_pose) for clip in clips]
    messages = [message for _, message in retargeted_clips if message]
    if t_pose.is_guess:
        size_text = f"so its joints span {t_pose.height:.3g} m"
        messages.append(
            f"the unit of this character is unknown; it was taken as {t_pose.metres_per_unit:.4g} m, {size_text}"
        )
    return _build_new_document([clip for clip, _ in retargeted_clips], t_pose, path), messages


def _list_clips(content: Saveable) -> tuple[Clip, ...]:
    if isinstance(content, Clip):
        return (content,)
    if isinstance(content, Rig) and content.clips:
        return content.clips
    pose = content.pose if isinstance(content, Rig) else content
    if pose.shape:
        raise UnsupportedError(f"a batch of poses of shape {pose.shape} has no times; save a Clip instead")
    local_arrays = [None if values is None else values[None] for values in (pose.translations, pose.scales)]
    return (Clip(np.zeros(1), Pose(pose.skeleton, pose.q[None], *local_arrays), "pose"),)


# --- new -----------------------------------------------------------------------------------------


def _build_new_document(clips: list[Clip], t_pose: TPose, path: Path) -> bytes:
    skeleton = clips[0].skeleton
    bones = {role: {"node": i} for i, role in enumerate(t_pose.roles)}
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


def _update_document(content: Saveable, clips: tuple[Clip, ...], path: Path, source_skeleton: Skeleton) -> bytes:
    """Update the document's motion. Its nodes stay, because they are the T pose."""
    document = cast("GltfDocument", source_skeleton.source)
    if isinstance(content, Rig) and content.clips and not _is_same_pose(content.pose, document.pose):
        raise UnsupportedError(
            "the nodes of a VRM animation are its T pose, which stays; save the rig's pose alone, as one frame"
        )
    skeleton = content.skeleton
    clips = tuple(_restore_own_tracks(clip, document) for clip in clips)
    try:
        pose = document.pose.on(skeleton)
    except InputError as error:
        raise UnsupportedError(f"the joints are not those of the VRM animation to be kept: {error}") from error
    data = encode_gltf(Rig(skeleton, pose, clips), path, source_skeleton)
    _check_tracks(clips, document)
    return data


def _is_same_pose(a: Pose, b: Pose) -> bool:
    transforms, other_transforms = compute_local_transforms(a), compute_local_transforms(b)
    return all(
        x.shape == y.shape and np.allclose(x, y, rtol=0.0, atol=1e-9)
        for x, y in zip(transforms, other_transforms, strict=True)
    )


def _find_role_rows(document: GltfDocument, *, is_human: bool) -> set[int]:
    """Find the rows of human bones, or of expressions and gaze."""
    extension = read_object(read_object(document.container.json, "extensions"), VRM_ANIMATION)
    if is_human:
        entries = list(read_object(read_object(extension, "humanoid"), "humanBones").items())
    else:
        expressions = read_object(extension, "expressions")
        entries = [
            *read_object(expressions, "preset").items(),
            *read_object(expressions, "custom").items(),
            ("", extension.get("lookAt")),
        ]
    rows = {source: row for row, source in enumerate(document.pose.skeleton.source_ids)}
    nodes = [cast("Json", entry).get("node") for name, entry in entries if isinstance(entry, dict) and name != "hips"]
    return {rows[node] for node in nodes if type(node) is int and node in rows}


def _restore_own_tracks(clip: Clip, document: GltfDocument) -> Clip:
    """Restore the document's keys for unchanged expressions and gaze."""
    if isinstance(clip, KeyedClip) or len(document.clips) != 1 or clip.skeleton.names != document.pose.skeleton.names:
        return clip
    source_clip, expression_rows = document.clips[0], _find_role_rows(document, is_human=False)
    tracks = (
        [track for track in source_clip.tracks if track.joint in expression_rows]
        if isinstance(source_clip, KeyedClip)
        else []
    )
    transforms = compute_local_transforms(clip.poses)
    is_same = [
        np.abs(np.abs(getattr(transforms, track.path)[:, track.joint]) - np.abs(track.at(clip.times))).max()
        <= _MAX_TRACK_CHANGE
        for track in tracks
    ]
    if not tracks or not all(is_same) or clip.duration != source_clip.duration:
        return clip
    kept_rows = {track.joint for track in tracks}
    return KeyedClip(clip.skeleton, (*_iterate_tracks(clip, kept_rows), *tracks), clip.name)


def _iterate_tracks(clip: Clip, excluded_rows: set[int]) -> Iterator[Channel]:
    """Iterate tracks for parts away from the rest pose."""
    transforms, rest_transforms = compute_local_transforms(clip.poses), compute_rest_local_transforms(clip.poses[0])
    for row in (row for row in range(len(clip.skeleton)) if row not in excluded_rows):
        for path in _TRACK_PATHS:
            values: Floats = getattr(transforms, path)[:, row]
            if (values != getattr(rest_transforms, path)[row]).any():
                yield Channel(row, path, "LINEAR", clip.times, values)


def _check_tracks(clips: tuple[Clip, ...], document: GltfDocument) -> None:
    """Refuse motion outside the format. Human bones only rotate, and the hips also move."""
    human_rows, names = _find_role_rows(document, is_human=True), document.pose.skeleton.names
    position_tolerance = 1e-6 * max(float(np.abs(document.pose.skeleton.A[:, :3]).max(initial=0.0)), 1e-9)
    offending_names: set[str] = set()
    for clip in clips:
        if any(clip is source_clip for source_clip in document.clips):
            continue
        transforms, rest_transforms = compute_local_transforms(clip.poses), compute_rest_local_transforms(document.pose)
        for path, tolerance in (("translation", position_tolerance), ("scale", 1e-6)):
            errors = np.abs(getattr(transforms, path) - getattr(rest_transforms, path)).max(axis=(0, 2), initial=0.0)
            offending_names |= {names[row] for row in human_rows if errors[row] > tolerance}
    if offending_names:
        message = (
            "a VRM animation rotates bones and moves the hips only; these slide or are scaled: "
            f"{join_names(sorted(offending_names))}"
        )
        raise UnsupportedError(message)
