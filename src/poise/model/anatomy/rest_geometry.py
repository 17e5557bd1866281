"""Rest geometry of a body: axes, positions, bone directions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from poise.errors import InputError, join_names
from poise.maths.arrays import Floats
from poise.maths.caching import get_or_compute
from poise.maths.geometry import normalise
from poise.maths.rotations import rotation_part
from poise.model.numpy_kinematics import compute_world_transforms
from poise.model.roles.bone_names import SIDES
from poise.model.skeleton import Kind, Skeleton

# cosine: within 30 degrees of the file's up the trunk counts as upright, and the file's up is used
_UPRIGHT_COSINE = float(np.cos(np.radians(30.0)))
# cosine between thighs and up: above it the rest pose is rejected; sitting characters have level thighs
_MAX_THIGH_RISE = 0.7
# minimum length of the part of the left vector perpendicular to up, of 2 at most
_MIN_SIDE_FRACTION = 0.3


class BodyFrame(NamedTuple):
    """Body frame of a character at rest. All directions are unit vectors (3,) in the world.

    up       direction of the trunk; the file's up axis where the trunk is within 30 degrees of it
    forward  facing direction: left, rotated by a quarter turn about up
    left     from the right hip and shoulder to the left ones, perpendicular to up
    points   (n, 3) positions of the joints
    """

    up: Floats
    forward: Floats
    left: Floats
    points: Floats


def compute_body_frame(skeleton: Skeleton, joints: Mapping[str, str]) -> BodyFrame:
    """Compute the body frame with every ball joint at identity. Limits and rest_q do not affect it.

    Parameters
    ----------
    skeleton
        Its joints.
    joints
        Roles to joint names; both thighs and both upper arms are required, with correct sides.

    Raises
    ------
    InputError
        For a rest pose without recognizable left or up, as in BVH files with all bones along one axis.
    """
    missing = [role for part in _PAIRED_PARTS for role in (f"{side}{part}" for side in SIDES) if role not in joints]
    if missing:
        raise InputError(f"no confident joints for a body: {join_names(missing)} missing")
    points = compute_rest_transforms(skeleton)[:, :3, 3]
    hips, shoulders = (np.array([points[skeleton.index(joints[s + part])] for s in SIDES]) for part in _PAIRED_PARTS)
    trunk = normalise(shoulders.mean(axis=0) - hips.mean(axis=0))
    up = _find_up(skeleton, trunk)
    across = normalise(hips[0] - hips[1]) + normalise(shoulders[0] - shoulders[1])
    left = across - up * float(across @ up)
    knees = [points[skeleton.index(joints[f"{s}LowerLeg"])] for s in SIDES if f"{s}LowerLeg" in joints]
    legs = normalise(np.mean(knees, axis=0) - hips.mean(axis=0)) if knees else -up
    if (
        not np.isfinite(points).all()
        or float(np.linalg.norm(left)) < _MIN_SIDE_FRACTION
        or float(legs @ up) > _MAX_THIGH_RISE
    ):
        message = (
            "the rest pose shows no body directions: trunk and legs, or left and right, point the same way, "
            "as in files with all bones along one axis"
        )
        raise InputError(message)
    left = normalise(left)
    return BodyFrame(up, np.cross(left, up), left, points)


_PAIRED_PARTS = ("UpperLeg", "UpperArm")


def compute_rest_transforms(skeleton: Skeleton) -> Floats:
    """Compute the world transforms (n, 4, 4) with unrotated ball joints.

    Limits and the numbers in q are relative to these.
    """
    return get_or_compute(
        skeleton, "unturned maps", None, lambda: compute_world_transforms(skeleton, _build_unrotated_q(skeleton))
    )


def compute_rest_rotations(skeleton: Skeleton) -> Floats:
    """Compute the rotations (n, 3, 3) of `compute_rest_transforms`."""
    return get_or_compute(
        skeleton, "unturned frames", None, lambda: rotation_part(compute_rest_transforms(skeleton)[:, :3, :3])
    )


def _build_unrotated_q(skeleton: Skeleton) -> Floats:
    """Return rest_q with every ball joint at identity. This removes the effect of limits on the rest pose."""
    q = skeleton.rest_q.copy()
    for row in np.flatnonzero(skeleton.kinds == Kind.BALL).tolist():
        start = int(skeleton.q_start[row])
        q[start : start + 4] = 1.0, 0.0, 0.0, 0.0
    return q


def _find_up(skeleton: Skeleton, trunk: Floats) -> Floats:
    """Find the up direction of a body.

    It is the file's up, else the nearest file axis, if the trunk is upright along it; else the trunk itself.
    """
    if skeleton.up is not None:
        axis = np.eye(3)["xyz".index(skeleton.up)]
    else:
        main_axis = int(np.argmax(np.abs(trunk)))
        axis = np.eye(3)[main_axis] * np.sign(trunk[main_axis])
    return axis if float(axis @ trunk) > _UPRIGHT_COSINE else trunk


# --- Bone directions at rest, and the joints of the trunk ------------------------------------------------------------


_NEXT_PART = {
    "UpperLeg": "LowerLeg", "LowerLeg": "Foot", "Foot": "Toes", "Shoulder": "UpperArm", "UpperArm": "LowerArm",
    "LowerArm": "Hand", "Hand": "MiddleProximal",
}  # fmt: skip
# suffix after a side: a foot detached from its leg's chain; it shows the end of the shin
DETACHED_FOOT = "Foot apart"
# fraction of the character's size: nearer joints count as one position
_SAME_POSITION_FRACTION = 1e-3


def find_trunk_rows(skeleton: Skeleton, joints: Mapping[str, str]) -> tuple[list[int], list[int]]:
    """Find the rows of the spine and of the neck.

    The spine runs from above the joint that carries the legs to the joint that carries the arms, the neck from there to
    the head, included. Both are empty for an unknown head or for arms outside this path.
    """
    if "head" not in joints:
        return [], []
    head = skeleton.way(skeleton.index(joints["head"]))
    legs = _find_common_ancestor(skeleton, [head[-1], *(skeleton.index(joints[f"{side}UpperLeg"]) for side in SIDES)])
    arms = _find_common_ancestor(skeleton, [skeleton.index(joints[f"{side}UpperArm"]) for side in SIDES])
    if arms not in head or legs not in head:
        return [], []
    return head[head.index(legs) + 1 : head.index(arms) + 1], head[max(head.index(arms), head.index(legs)) + 1 :]


def _find_common_ancestor(skeleton: Skeleton, rows: Iterable[int]) -> int:
    """Find the lowest common ancestor of rows, or -1."""
    paths = [skeleton.way(row) for row in rows]
    shared = [row for row in paths[0] if all(row in path for path in paths)]
    return shared[-1] if shared else -1


def find_limb_bone(
    skeleton: Skeleton, joints: Mapping[str, str], points: Floats, side: str, part: str
) -> Floats | None:
    """Find the unit vector (3,) along a limb joint's bone.

    It points to the next joint with a role, else to the end of the bone.
    """
    row = skeleton.index(joints[f"{side}{part}"])
    ends = [_NEXT_PART[part]] if part in _NEXT_PART else []
    ends += [DETACHED_FOOT] if part == "LowerLeg" else []
    rows = [skeleton.index(joints[f"{side}{end}"]) for end in ends if f"{side}{end}" in joints]
    bones = (_compute_direction(points, row, after) for after in rows)
    bone = next((bone for bone in bones if bone is not None), None)
    return _find_longest_bone(skeleton, points, row) if bone is None else bone


def find_trunk_bone(points: Floats, rows: list[int], number: int) -> Floats | None:
    """Find the unit vector (3,) along a trunk joint's bone.

    It points to the next joint at another position; None for the last joint.
    """
    directions = (_compute_direction(points, rows[number], row) for row in rows[number + 1 :])
    return next((direction for direction in directions if direction is not None), None)


def _find_longest_bone(skeleton: Skeleton, points: Floats, row: int) -> Floats | None:
    """Find the direction of a joint's longest child bone, or None."""
    children = skeleton.children[row]
    if not children:
        return None
    return _compute_direction(
        points, row, max(children, key=lambda child: float(np.linalg.norm(points[child] - points[row])))
    )


def _compute_direction(points: Floats, start: int, end: int) -> Floats | None:
    """Compute the unit vector between two joints. None where both are at the same position."""
    offset = points[end] - points[start]
    size = float(np.ptp(points, axis=0).max())
    return normalise(offset) if float(np.linalg.norm(offset)) > _SAME_POSITION_FRACTION * size else None
