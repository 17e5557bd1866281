"""T pose of a humanoid: bone positions and rotations from rest.

A VRM animation has its rest in a T pose, in metres, +Y up, facing +Z, and rotates its bones from there. The rest pose
of another file may have its arms down or its legs apart. With K the rotation (in the world) of a bone from that rest to
the T pose, W(t) its world rotation and G the rotation to VRM's axes, the animation rotates the bone by

    G . W(t) . W(rest)^-1 . K^-1 . G^-1        in the world, where the T pose is the identity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.errors import InputError, UnsupportedError, join_names
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.anatomy.joint_axes import find_body_frame
from poise.model.anatomy.rest_geometry import BodyFrame
from poise.model.rig_roles import search_roles
from poise.model.roles.bone_names import BONES, FINGER_BONES, REQUIRED_BONES, SIDES
from poise.model.skeleton import Skeleton

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
    joints = {role: joint for role, joint in search_roles(skeleton).joints.items() if role not in _EYE_ROLES}
    missing = [role for role in REQUIRED_BONES if role not in joints]
    if missing:
        raise UnsupportedError(
            f"a VRM animation moves the bones of a person, and these roles have no joint: {join_names(missing)}; "
            f"a sidecar can name them"
        )
    rows = sorted({skeleton.index(joint) for joint in joints.values()})
    roles = {skeleton.index(joints[role]): role for role in BONES if role in joints}
    parents = [
        next((rows.index(ancestor) for ancestor in skeleton.way(row)[-2::-1] if ancestor in roles), -1) for row in rows
    ]
    if parents.count(-1) > 1 or roles[rows[0]] != "hips":
        stray = join_names(roles[row] for row, parent in zip(rows, parents, strict=True) if parent < 0)
        raise UnsupportedError(f"in a VRM animation every bone is below the hips; these are not: {stray}")
    try:
        rest_stance = find_body_frame(skeleton, joints)
    except InputError as error:
        raise UnsupportedError(f"no T pose can be found for this character: {error}") from error
    return _build_t_pose(skeleton, rows, [roles[row] for row in rows], parents, rest_stance)


def find_vrm_frame(skeleton: Skeleton) -> tuple[float, Floats, bool]:
    """Find the unit, axes and unit certainty of a VRM animation.

    Return metres per unit, the rotation (3, 3) to VRM's axes, and whether the unit is a guess.

    UnsupportedError as in `find_t_pose`.
    """
    pose = find_t_pose(skeleton)
    return pose.metres_per_unit, pose.vrm_from_world, pose.is_guess


def _build_t_pose(
    skeleton: Skeleton, rows: list[int], roles: list[str], parents: list[int], rest_stance: BodyFrame
) -> TPose:
    vrm_from_world, points = _find_axes(rest_stance), rest_stance.points[rows]
    t_from_rest = _compute_t_rotations(skeleton, rows, roles, parents, rest_stance, vrm_from_world)
    positions = points @ vrm_from_world.T
    for i, parent in enumerate(parents):
        if parent >= 0:
            positions[i] = positions[parent] + vrm_from_world @ rotations.rotate(
                t_from_rest[parent], points[i] - points[parent]
            )
    low, size = float(positions[:, 1].min()), float(np.ptp(positions[:, 1]))
    if not _MIN_FLOOR_SHARE * size <= low <= _MAX_FLOOR_SHARE * size:  # such as a BVH file with the hips at zero
        positions -= [positions[0, 0], low, positions[0, 2]]
    metres = skeleton.metres_per_unit
    unit = _guess_unit(size) if metres is None else metres
    return TPose(rows, roles, parents, positions * unit, t_from_rest, vrm_from_world, unit, metres is None)


def _guess_unit(size: float) -> float:
    """Guess the metres per unit from a character's height in units."""
    return min(_UNITS_M, key=lambda unit: abs(np.log(unit * size / _USUAL_HEIGHT_M)))


def _find_axes(rest_stance: BodyFrame) -> Floats:
    """Find the rotation (3, 3) to left, up and forward.

    It starts from the world. It is snapped to the axes if the character is nearly aligned with them.
    """
    vrm_from_world = np.stack([rest_stance.left, rest_stance.up, rest_stance.forward])
    nearest = np.zeros((3, 3))
    nearest[np.arange(3), np.abs(vrm_from_world).argmax(axis=1)] = 1.0
    nearest *= np.sign(vrm_from_world)
    is_aligned = bool(((nearest * vrm_from_world).sum(axis=1) > _MIN_AXIS_COSINE).all())
    return nearest if is_aligned and abs(float(np.linalg.det(nearest)) - 1.0) < 1e-9 else vrm_from_world  # noqa: PLR2004


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
    out, down = np.array([sign, 0.0, 0.0]), np.array([0.0, -1.0, 0.0])
    bones: list[tuple[int, int, Floats]] = []
    for (upper, middle, end), direction in (
        (("UpperArm", "LowerArm", "Hand"), out),
        (("UpperLeg", "LowerLeg", "Foot"), down),
    ):
        for start_role, end_role in ((upper, middle), (middle, end)):
            bones.append((index_by_role[side + start_role], rows[index_by_role[side + end_role]], direction))
    hand = index_by_role[f"{side}Hand"]
    fingers = (f"{side}{finger}Proximal" for finger in ("Middle", "Index", "Ring", "Little"))
    end = next((rows[index_by_role[finger]] for finger in fingers if finger in index_by_role), None)
    return [*bones, (hand, _find_hand_end(skeleton, rows[hand]) if end is None else end, out)]


def _find_hand_end(skeleton: Skeleton, row: int) -> int:
    """Find the farthest child joint of a hand. Without children it is the hand itself."""
    lengths = {child: float(np.linalg.norm(skeleton.A[child, :3])) for child in skeleton.children[row]}
    return max(lengths, key=lambda child: lengths[child], default=row)
