"""Rig message: joints, bones and one GLB for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from poise.ground.figure.figure import up_of_legs
from poise.io.gltf.source_document import GltfDocument
from poise.io.urdf_xml import UrdfDocument
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.rotations import rotation_part
from poise.model.kinematics import compute_rotations
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles.bone_names import BONES
from poise.model.skeleton import Kind, Skeleton
from poise.runtime.result_cache import get_or_compute
from poise.viewer.body_parts import find_parts
from poise.viewer.glb_assets import build_glb_asset, build_robot_asset

# --- Bone joints of a rig, and the direction of each bone ------------------------------------------------------------


_STUB_RATIO = 0.35  # length of a leaf as a fraction of the bone into it
_MIN_LEVEL_TOES = 0.1  # of a foot's bone: with a smaller level part it does not show where toes point
_MAX_STUB_RATIO = 0.06  # largest length of a leaf, as a fraction of the character's size
_ZERO_LENGTH_RATIO = 1e-6  # shorter bones count as zero, as a fraction of the character's size
_NON_BONE_KEYS = ("mesh", "camera", "skin")
_CHAIN_ROLES = ("spine", "chest", "upperChest", "neck", "head", "LowerArm", "Hand", "LowerLeg", "Foot", "Toes")


def find_bone_joints(rig: Rig) -> Bools:
    """Find the bone joints (n,) of a rig. Nodes with meshes and nodes above the skeleton are none."""
    skeleton = rig.skeleton
    document = skeleton.source
    if not isinstance(document, GltfDocument):
        return np.ones(len(skeleton), dtype=np.bool_)
    nodes = document.container.json.get("nodes", [])
    skinned_joints = {skeleton.index(name) for skin in rig.skins for name in skin.joints}
    is_bone = np.zeros(len(skeleton), dtype=np.bool_)
    for joint_index, parent in enumerate(skeleton.parents.tolist()):
        node_id = skeleton.source_ids[joint_index]  # None: of a rig that is shown beside the one with meshes
        is_solid = node_id is not None and any(key in nodes[int(str(node_id))] for key in _NON_BONE_KEYS)
        is_below_bone = parent >= 0 and bool(is_bone[parent])
        is_moving = skeleton.kinds[joint_index] != Kind.FIXED
        is_bone[joint_index] = joint_index in skinned_joints or (
            not is_solid and (is_below_bone or (is_moving and (node_id is None or not skinned_joints)))
        )
    return is_bone if is_bone.any() else np.ones(len(skeleton), dtype=np.bool_)


def measure_skeleton_size(skeleton: Skeleton, is_bone: Bools) -> float:
    """Measure the extent of the bones at rest [file units]. It is 1 for a single point."""
    return measure_extent(Pose(skeleton, skeleton.rest_q).world.positions[is_bone])


def measure_extent(points: Floats) -> float:
    """Measure the largest extent of points (k, 3). It is 1 for at most one point."""
    extent = float(np.ptp(points, axis=0).max()) if len(points) else 0.0
    return extent if extent > 0.0 else 1.0


def compute_bone_vectors(
    skeleton: Skeleton, is_bone: Bools, role_by_joint: dict[str, str], character_size: float, up: str
) -> Floats:
    """Compute the bone vector (n, 3) of each joint.

    It leads to the next joint of the chain, in the joint's own frame after its rotation.

    A leaf leads to the point of its loop, or continues the bone into it for a short length; toes do so on the level,
    for on the way of the foot they would stick out of the shoe.
    """
    world = Pose(skeleton, skeleton.rest_q).world
    positions, world_rotations = world.positions, world.rotations
    loop_points = _find_loop_points(skeleton)
    bones = np.zeros((len(skeleton), 3))
    for joint_index in range(len(skeleton)):
        child = _find_next_joint(
            skeleton, joint_index, is_bone, role_by_joint, positions, _ZERO_LENGTH_RATIO * character_size
        )
        bones[joint_index] = (
            positions[child] - positions[joint_index]
            if child >= 0
            else world.affine[joint_index, :, :3] @ loop_points[joint_index]
            if joint_index in loop_points
            else _build_stub(skeleton, joint_index, role_by_joint, positions, character_size, up)
        )
    return rotations.rotate(rotations.inverse(world_rotations), bones)


def _find_loop_points(skeleton: Skeleton) -> dict[int, Floats]:
    """Find points of closed loops beside the origin of their joint.

    There is one a joint, in its frame.
    """
    points: dict[int, Floats] = {}
    for loop in skeleton.loops:
        for joint, point in zip(loop.joints, (loop.point_a, loop.point_b), strict=True):
            if any(point):
                points.setdefault(skeleton.index(joint), np.array(point))
    return points


def _find_next_joint(
    skeleton: Skeleton,
    joint_index: int,
    is_bone: Bools,
    role_by_joint: dict[str, str],
    positions: Floats,
    min_length: float,
) -> int:
    """Find the next joint of a chain, or -1 for a leaf."""
    children = [child for child in skeleton.children[joint_index] if is_bone[child] or not is_bone[joint_index]]
    distant_children = [
        child for child in children if np.linalg.norm(positions[child] - positions[joint_index]) > min_length
    ]
    for child in distant_children:
        if role_by_joint.get(skeleton.names[child], "").removeprefix("left").removeprefix("right") in _CHAIN_ROLES:
            return child
    inner_children = [
        child for child in distant_children if any(is_bone[grandchild] for grandchild in skeleton.children[child])
    ]
    candidates = inner_children or distant_children
    if len(candidates) < 2:  # noqa: PLR2004
        return candidates[0] if candidates else -1
    incoming_bone = _find_incoming_bone(skeleton, joint_index, positions, min_length)
    if incoming_bone is None:  # a root: the child with the longest chain below it
        return max(candidates, key=lambda child: int(skeleton.moving_depth[child]))
    return max(candidates, key=lambda child: _compute_cosine(positions[child] - positions[joint_index], incoming_bone))


def _find_incoming_bone(skeleton: Skeleton, joint_index: int, positions: Floats, min_length: float) -> Floats | None:
    """Find the bone vector into a joint. It starts at the nearest ancestor with another position."""
    ancestor = int(skeleton.parents[joint_index])
    while ancestor >= 0:
        bone = positions[joint_index] - positions[ancestor]
        if np.linalg.norm(bone) > min_length:
            return bone
        ancestor = int(skeleton.parents[ancestor])
    return None


def _build_stub(
    skeleton: Skeleton,
    joint_index: int,
    role_by_joint: dict[str, str],
    positions: Floats,
    character_size: float,
    up: str,
) -> Floats:
    incoming_bone = _find_incoming_bone(skeleton, joint_index, positions, _ZERO_LENGTH_RATIO * character_size)
    if incoming_bone is None:
        return 0.5 * _MAX_STUB_RATIO * character_size * np.eye(3)["xyz".index(up)]
    length = float(np.linalg.norm(incoming_bone))
    if role_by_joint.get(skeleton.names[joint_index], "").endswith("Toes"):
        level = incoming_bone * (1.0 - np.eye(3)["xyz".index(up)])
        incoming_bone = level * (length / max(float(np.linalg.norm(level)), _MIN_LEVEL_TOES * length))
    return incoming_bone * min(_STUB_RATIO, _MAX_STUB_RATIO * character_size / length)


def _compute_cosine(a: Floats, b: Floats) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


# --- Pose arrays for the page: position and rotation, or affine maps -------------------------------------------------


Singles: TypeAlias = NDArray[np.float32]

ROTATION_WIDTH, AFFINE_WIDTH = 7, 12  # numbers a joint: x y z w x y z, or the rows of a 3 x 4 map
_SIMILARITY_TOLERANCE = 1e-3  # relative deviation from a rotation times a factor; exported scales are noisy
_SCALE_TOLERANCE = 1e-5  # relative difference up to which a pose's scales count as the skeleton's own


class DrawTransforms(NamedTuple):
    """Constant linear maps behind each joint's rotation.

    linear       (n, 3, 3) the world's linear part at rest is rotation @ linear
    inverse      (n, 3, 3) their inverses; None if all are identities
    is_constant  whether that holds in every pose: no joint rotates below a non-uniform scale
    """

    linear: Floats
    inverse: Floats | None
    is_constant: bool


def find_draw_transforms(skeleton: Skeleton) -> DrawTransforms:
    """Find the constant linear maps of a skeleton, cached."""
    return get_or_compute(skeleton, "drawn", None, lambda: _compute_draw_transforms(skeleton))


def _compute_draw_transforms(skeleton: Skeleton) -> DrawTransforms:
    world_linear = Pose(skeleton, skeleton.rest_q).world.affine[..., :3]
    world_rotations = rotation_part(world_linear)
    linear = np.swapaxes(world_rotations, -1, -2) @ world_linear
    is_identity = np.abs(linear - np.eye(3)).max(axis=(1, 2), initial=0.0) <= _SCALE_TOLERANCE
    linear[is_identity] = np.eye(3)
    is_singular = np.abs(np.linalg.det(linear)) <= 1e-12 * np.abs(linear).max(axis=(1, 2), initial=0.0) ** 3
    if is_identity.all():
        return DrawTransforms(linear, None, is_constant=True)
    inverse = np.linalg.inv(np.where(is_singular[:, None, None], np.eye(3), linear))
    return DrawTransforms(
        linear,
        inverse,
        is_constant=not is_singular.any() and not _has_rotation_below(skeleton, ~_find_similarities(skeleton)),
    )


def _find_similarities(skeleton: Skeleton) -> Bools:
    """Find the joints (n,) with a similarity behind their motion. A similarity is a rotation times a factor."""
    linear = skeleton.B[:, :, :3]
    gram = np.swapaxes(linear, 1, 2) @ linear
    scale2 = np.trace(gram, axis1=1, axis2=2)[:, None, None] / 3.0
    return (np.abs(gram - scale2 * np.eye(3)) <= _SIMILARITY_TOLERANCE * scale2).all(axis=(1, 2))


def _has_rotation_below(skeleton: Skeleton, is_marked: Bools) -> bool:
    """Return whether a rotating joint has a marked ancestor."""
    is_below = np.zeros(len(skeleton), dtype=np.bool_)
    for joint_index, parent in enumerate(skeleton.parents.tolist()):
        is_below[joint_index] = parent >= 0 and (is_below[parent] or is_marked[parent])
    return bool((is_below & ~np.isin(skeleton.kinds, (Kind.FIXED, Kind.SLIDE))).any())


def find_row_width(pose: Pose) -> int:
    """Find the numbers per joint: 7 or 12.

    It is 12 where a scale shears a rotating part or the pose has its own scales.
    """
    if not find_draw_transforms(pose.skeleton).is_constant:
        return AFFINE_WIDTH
    if pose.scales is None:
        return ROTATION_WIDTH
    rest_linear = pose.skeleton.B[:, :, :3]
    pose_linear = pose.scales[..., None] * np.eye(3)
    max_scale = np.abs(rest_linear).max(axis=(1, 2), initial=0.0)[:, None, None]
    return ROTATION_WIDTH if (np.abs(pose_linear - rest_linear) <= _SCALE_TOLERANCE * max_scale).all() else AFFINE_WIDTH


def pack_frame_rows(pose: Pose, width: int | None = None) -> Singles:
    """Pack world transforms (..., joints, width) as float32. They are in file units; `width` is 7 or 12.

    7 numbers are x y z and w x y z: the world's linear part is that rotation times `linear` of the rig message.
    """
    affine = pose.world.affine
    if (find_row_width(pose) if width is None else width) == AFFINE_WIDTH:
        return affine.reshape(*affine.shape[:-2], AFFINE_WIDTH).astype(np.float32)
    inverse = find_draw_transforms(pose.skeleton).inverse
    transforms = np.array(affine.reshape(-1, *affine.shape[-3:]))
    if inverse is not None:
        transforms[..., :3] = transforms[..., :3] @ inverse
    world_rotations = compute_rotations(
        transforms.reshape(-1, AFFINE_WIDTH), _SIMILARITY_TOLERANCE, pose_count=len(transforms)
    )
    rows = np.concatenate([transforms[..., 3].reshape(-1, 3), world_rotations], axis=1, dtype=np.float32)
    return rows.reshape(*affine.shape[:-2], ROTATION_WIDTH)


# --- Rig message -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RigMessage:
    """Messages about a rig, sent to the page once.

    message  the message "model"; the sender may replace its `id` and `name`
    asset    its GLB, or None: bones are drawn
    notes    one sentence for each part that cannot be shown
    """

    message: dict[str, Any]
    asset: bytes | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _RigMeshes:
    """GLB of a rig, its node per joint, and missing shapes. Joints whose shapes are `is_lost` are drawn as capsules."""

    glb: bytes | None = None
    node_indices: tuple[int | None, ...] | None = None
    is_lost: tuple[bool, ...] = ()
    has_skin: bool = False
    notes: tuple[str, ...] = ()


def build_rig_message(
    rig: Rig, positions: Sequence[Sequence[float]] = ((0.0, 0.0, 0.0),), package_folders: Sequence[Path] = ()
) -> RigMessage:
    """Build the messages about a rig.

    `positions` shift the copies of a crowd, `package_folders` are folders with its meshes.
    """
    skeleton = rig.skeleton
    roles = rig.roles
    role_by_joint = {joint: role for role, joint in roles.joints.items() if role in BONES}
    up = find_up_axis(rig)
    is_shown = find_bone_joints(rig)
    character_size = measure_skeleton_size(skeleton, is_shown)
    meshes = _build_meshes(rig, package_folders)
    message: dict[str, Any] = {
        "kind": "model",
        "id": 0,
        "name": rig.path.name if rig.path is not None else "rig",
        "format": _find_format(skeleton),
        "metres_per_unit": skeleton.metres_per_unit,
        "up": up,
        "size": character_size,
        "places": [[float(x) for x in position] for position in positions],
        "joints": _describe_joints(rig, role_by_joint, is_shown, meshes.is_lost, character_size, up),
        "nodes": list(meshes.node_indices) if meshes.glb is not None and meshes.node_indices is not None else None,
        "loops": _describe_loops(skeleton),
        "asset": meshes.glb is not None,
        "skin": meshes.has_skin,
    }
    return RigMessage(message, meshes.glb, meshes.notes)


def _describe_loops(skeleton: Skeleton) -> list[dict[str, Any]]:
    """Describe the closed loops: rows and points of both joints."""
    return [
        {
            "name": loop.name,
            "rows": [skeleton.index(joint) for joint in loop.joints],
            "points": [list(loop.point_a), list(loop.point_b)],
        }
        for loop in skeleton.loops
    ]


def _describe_joints(
    rig: Rig,
    role_by_joint: dict[str, str],
    is_shown: Bools,
    is_lost: Sequence[bool],
    character_size: float,
    up: str,
) -> list[dict[str, Any]]:
    skeleton = rig.skeleton
    parts = [skeleton.index(part) for part in find_parts(rig)]
    bones = compute_bone_vectors(skeleton, is_shown, role_by_joint, character_size, up)
    linear = find_draw_transforms(skeleton).linear
    is_identity = (linear == np.eye(3)).all(axis=(1, 2))
    is_single_dof = (skeleton.kinds == Kind.HINGE) | (skeleton.kinds == Kind.SLIDE)
    return [
        {
            "name": name,
            "parent": int(skeleton.parents[i]),
            "kind": Kind(int(skeleton.kinds[i])).name.lower(),
            "axis": skeleton.axes[i].tolist() if is_single_dof[i] else None,
            "role": role_by_joint.get(name),
            "part": parts[i],
            "A": skeleton.A[i].tolist(),
            "linear": None if is_identity[i] else linear[i].ravel().tolist(),
            "bone": bones[i].tolist(),
            "thick": bool(is_lost) and is_lost[i],
            "shown": bool(is_shown[i]),
        }
        for i, name in enumerate(skeleton.names)
    ]


def find_up_axis(rig: Rig) -> str:
    """Find the up axis of a rig.

    The file's own axis counts first, then the direction from the feet to the hips, then y.
    """
    roles = None if rig.skeleton.up else rig.roles
    legs = () if roles is None else (*roles.legs, *roles.apart)
    return rig.skeleton.up or (up_of_legs(rig.pose, legs) if legs else "y")


def _find_format(skeleton: Skeleton) -> str:
    """Return the short name of the rig's source format."""
    document = skeleton.source
    if isinstance(document, GltfDocument):
        return document.path.suffix.lower().lstrip(".") or "glb"
    format_by_class = {"BvhDocument": "bvh", "UrdfDocument": "urdf"}
    return format_by_class.get(type(document).__name__, "skeleton")


def _build_meshes(rig: Rig, package_folders: Sequence[Path]) -> _RigMeshes:
    skeleton = rig.skeleton
    document = skeleton.source
    if isinstance(document, GltfDocument):
        node_indices = tuple(None if node is None else int(str(node)) for node in skeleton.source_ids)
        asset = build_glb_asset(document, {node for node in node_indices if node is not None})
        return _RigMeshes(asset.glb, node_indices, (), asset.has_skin, asset.notes)
    if isinstance(document, UrdfDocument) and rig.path is not None:
        robot = build_robot_asset(skeleton, rig.path, package_folders)
        return _RigMeshes(robot.glb, robot.node_indices, robot.is_lost, notes=robot.notes)
    return _RigMeshes(is_lost=(isinstance(document, UrdfDocument),) * len(skeleton))
