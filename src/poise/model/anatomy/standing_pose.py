"""Standing poses show the directions of bodies.

That of most skeletons is the rest pose. Some files have all bones of a limb along one axis at rest, as motion-capture
suites write BVH, and only the frames of the motion make a body of them. Their hips still say what is up, by
the spine, and what is left, by the thighs; their chest says it by the neck and the collar bones. The joints between are
turned until both agree, and the limbs point as in a T pose.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from poise.errors import InputError
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import normalise, remove_component
from poise.model.anatomy.rest_geometry import (
    BodyFrame,
    build_unrotated_q,
    compute_body_frame,
    compute_rest_rotations,
    compute_rest_transforms,
    find_body_frame,
    find_confident_joints,
    find_trunk_rows,
)
from poise.model.joint_tree import find_rotation_starts
from poise.model.numpy_kinematics import compute_world_transforms
from poise.model.roles.bone_names import SIDES
from poise.model.roles.role_search import find_joint_roles
from poise.model.skeleton import Kind, Skeleton
from poise.runtime.result_cache import get_or_compute

_MIN_LENGTH_SHARE = 1e-3  # of the skeleton's size: nearer joints show no direction
_MAX_COSINE = 0.5  # up and left of hips or chest are at least 60 degrees apart
_FOOT_SLOPE_RAD = np.radians(30.0)  # of the bone from ankle to toes below level, on a flat foot
_ARM, _LEG = ("Shoulder", "UpperArm", "LowerArm", "Hand"), ("UpperLeg", "LowerLeg", "Foot", "Toes")


class StandingPose(NamedTuple):
    """Pose and directions of a standing body.

    transforms  (n, 4, 4) of the joints in the world
    rotations   (n, 3, 3) of the joints in the world
    body        its directions
    q           (nq,) the pose; None where it is the rest pose with unturned joints
    """

    transforms: Floats
    rotations: Floats
    body: BodyFrame
    q: Floats | None


def find_standing_pose(skeleton: Skeleton) -> StandingPose:
    """Find the standing pose of a character, once.

    Raises
    ------
    InputError
        Where neither the rest pose nor hips and chest show a body.
    """
    return get_or_compute(skeleton, "standing pose", None, lambda: _find_standing_pose(skeleton))


def compute_standing_transforms(skeleton: Skeleton) -> Floats:
    """Compute the world transforms (n, 4, 4) of the standing pose.

    Where there is none, they are those at rest.
    """
    posed = _find_built_pose(skeleton)
    return compute_rest_transforms(skeleton) if posed is None else posed.transforms


def compute_standing_rotations(skeleton: Skeleton) -> Floats:
    """Compute the world rotations (n, 3, 3) of the standing pose.

    Where there is none, they are those at rest.
    """
    posed = _find_built_pose(skeleton)
    return compute_rest_rotations(skeleton) if posed is None else posed.rotations


def find_standing_frame(skeleton: Skeleton) -> BodyFrame:
    """Find the directions of a standing body; see `find_standing_pose`."""
    return find_standing_pose(skeleton).body


def find_standing_q(skeleton: Skeleton) -> Floats:
    """Find the configuration (nq,) of the standing pose.

    It is that at rest where the rest pose stands, and where there is no standing pose.
    """
    posed = _find_built_pose(skeleton)
    return skeleton.rest_q if posed is None or posed.q is None else posed.q


def _find_built_pose(skeleton: Skeleton) -> StandingPose | None:
    """Find a standing pose other than the rest pose."""

    def find() -> StandingPose | None:
        try:
            posed = find_standing_pose(skeleton)
        except InputError:
            return None
        return None if posed.q is None else posed

    return get_or_compute(skeleton, "built pose", None, find)


def _find_standing_pose(skeleton: Skeleton) -> StandingPose:
    try:
        body = find_body_frame(skeleton)
    except InputError:
        q = _build_t_pose(skeleton)
        if q is None:
            raise
        transforms = compute_world_transforms(skeleton, q)
        joints = find_confident_joints(find_joint_roles(skeleton))
        turns = rotations.rotation_part(transforms[:, :3, :3])
        return StandingPose(transforms, turns, compute_body_frame(skeleton, joints, transforms[:, :3, 3]), q)
    return StandingPose(compute_rest_transforms(skeleton), compute_rest_rotations(skeleton), body, None)


class _TurnedPose:
    """Pose with joints turned one after the other, parents first."""

    def __init__(self, skeleton: Skeleton) -> None:
        self.skeleton = skeleton
        self.q = build_unrotated_q(skeleton)
        self.columns = find_rotation_starts(skeleton.kinds, skeleton.q_start)
        self.transforms = compute_world_transforms(skeleton, self.q)

    def turn(self, row: int, turn: Floats) -> None:
        """Turn a joint in the world by a rotation (4,). Only balls turn."""
        skeleton, parent = self.skeleton, int(self.skeleton.parents[row])
        if skeleton.kinds[row] != Kind.BALL or parent < 0:
            return
        above = rotations.from_matrix(rotations.rotation_part(self.transforms[parent, :3, :3]))
        frame = rotations.multiply(above, skeleton.A[row, 3:])
        own = slice(int(self.columns[row]), int(self.columns[row]) + Kind.BALL.nq)
        local = rotations.multiply(rotations.multiply(rotations.inverse(frame), turn), frame)
        self.q[own] = rotations.multiply(local, self.q[own])
        self.transforms = compute_world_transforms(skeleton, self.q)

    def point(self, row: int, end: int, way: Floats) -> None:
        """Point the bone between two joints a way (3,)."""
        bone = self.transforms[end, :3, 3] - self.transforms[row, :3, 3]
        if np.linalg.norm(bone) > 0.0:
            self.turn(row, rotations.rotation_between(bone, way))


def _build_t_pose(skeleton: Skeleton) -> Floats | None:
    """Build a T pose (nq,) from the frames of hips and chest.

    None where these show no body.
    """
    joints = find_confident_joints(find_joint_roles(skeleton))
    if any(f"{side}{part}" not in joints for side in SIDES for part in (*_ARM[1:], *_LEG[:3])):
        return None
    spine, neck = find_trunk_rows(skeleton, joints)
    if not spine or not neck:
        return None
    pelvis, chest = int(skeleton.parents[spine[0]]), spine[-1]
    hips = _find_axes(skeleton, pelvis, spine[0], [skeleton.index(joints[f"{side}UpperLeg"]) for side in SIDES])
    arms = [skeleton.index(joints[f"{side}UpperArm"]) for side in SIDES]
    collars = [next((row for row in skeleton.list_path(arm) if skeleton.parents[row] == chest), arm) for arm in arms]
    shoulders = _find_axes(skeleton, chest, neck[0], collars)
    if hips is None or shoulders is None:
        return None
    posed, (left, up) = _TurnedPose(skeleton), hips[:2]
    posed.turn(spine[0], rotations.from_matrix(hips.T @ shoulders))
    posed.point(neck[0], neck[-1], up)
    ahead = np.cos(_FOOT_SLOPE_RAD) * hips[2] - np.sin(_FOOT_SLOPE_RAD) * up
    for side, outward in zip(SIDES, (left, -left), strict=True):
        _point_limb(posed, joints, [side + part for part in _ARM], [outward] * len(_ARM))
        _point_limb(posed, joints, [side + part for part in _LEG], [-up, -up, ahead])
    return posed.q


def _point_limb(posed: _TurnedPose, joints: Mapping[str, str], parts: list[str], ways: list[Floats]) -> None:
    rows = [posed.skeleton.index(joints[part]) for part in parts if part in joints]
    for row, end, way in zip(rows, rows[1:], ways, strict=False):
        posed.point(row, end, way)


def _find_axes(skeleton: Skeleton, carrier: int, above: int, sides: list[int]) -> Floats | None:
    """Find the axes (3, 3) of hips or a chest at rest.

    Rows are left, up and forward. None where joints show none.

    carrier  the joint that carries both sides
    above    the joint above it
    sides    the left joint and the right one
    """
    points = compute_rest_transforms(skeleton)[:, :3, 3]
    least = _MIN_LENGTH_SHARE * float(np.ptp(points, axis=0).max())
    across, rise = points[sides[0]] - points[sides[1]], points[above] - points[carrier]
    if not min(float(np.linalg.norm(across)), float(np.linalg.norm(rise))) > least:
        return None
    up = normalise(rise)
    if abs(float(normalise(across) @ up)) > _MAX_COSINE:
        return None
    left = normalise(remove_component(across, up))
    return np.stack([left, up, np.cross(left, up)])
