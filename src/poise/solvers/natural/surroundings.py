"""Surroundings: obstacles of limbs, the body and the floor.

The body is a set of capsules about head, neck, trunk and thighs. Their radii are shares of the height of people: halves
of breadth of head and neck, half of the depth of the chest, and of thigh and forearm the radius of a circle with their
girth (NASA, Man-Systems Integration Standards, volume 1, section 3). A limb takes up its own radius, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats, Ints, prepare_for_kernel
from poise.model.anatomy.rest_geometry import BodyFrame, find_confident_joints
from poise.model.anatomy.standing_pose import compute_standing_transforms, find_standing_frame
from poise.model.joint_tree import list_below
from poise.model.kinematics import (
    KinematicsTable,
    build_table,
    compute_table_maps,
    flatten_local_offsets,
    pack_local_offsets,
)
from poise.model.pose import Pose
from poise.model.roles.bone_names import SIDES
from poise.model.roles.role_search import find_joint_roles
from poise.model.skeleton import Skeleton
from poise.runtime.result_cache import get_or_compute
from poise.solvers.natural.floor import Floor

# Shares of the height of a figure.
_RADII = {"head": 0.051, "neck": 0.037, "trunk": 0.073, "thigh": 0.057, "arm": 0.022, "leg": 0.02}
# Thighs make way for arms by a share of both radii, elbows for the rest: a share of the arm, as hands may touch them.
_WAY_SHARE, _ARM_SHARE = 0.5, 0.75
_CROWN = 0.07  # from the joint of the head to the middle of the skull's upper end
_HEAD_AT = 0.88  # joint of the head over the floor


class Surroundings(NamedTuple):
    """What a limb keeps clear of.

    capsules  (1|k, c, 7) both ends of an axis, and a radius
    ground    the floor below; None where there is none
    """

    capsules: Floats
    ground: Floor | None

    def select(self, rows: Ints) -> Surroundings:
        """Select some of the poses."""
        return self if len(self.capsules) == 1 else Surroundings(self.capsules[rows], self.ground)

    @property
    def floors(self) -> Floats:
        """Planes (1, 4) for kernels. On uneven ground they are not known before a limb is bent."""
        return (
            _NO_FLOOR if self.ground is None or self.ground.terrain is not None else self.ground.find_planes(_NO_POINTS)
        )


class BodyVolume(NamedTuple):
    """Capsules about the parts of a skeleton's body.

    table  the joints that they hang on, and those above
    ends   (2, 2, c) rows of the table: each end of an axis is midway between two joints
    crown  (3,) from the joint of the head, in its frame; the first capsule ends there
    radii  (c,)
    """

    table: KinematicsTable
    ends: Ints
    crown: Floats
    radii: Floats


_NO_CAPSULES, _NO_FLOOR = np.zeros((1, 0, 7)), np.array([[0.0, 0.0, 0.0, -np.inf]])
_NO_POINTS = np.zeros((0, 0, 3))
NOTHING_AROUND = Surroundings(_NO_CAPSULES, None)


class Obstacles(NamedTuple):
    """Obstacles of a figure's limbs.

    floor     below knees, elbows, feet and hands; None where there is none
    has_body  whether forearms keep clear of head, neck, trunk and thighs. An elbow may then leap where both ways round
              are equally far
    """

    floor: Floor | None = None
    has_body: bool = True

    def surround(self, kind: str, pose: Pose) -> Surroundings:
        """Find a limb's obstacles in poses. Arms keep clear of body and floor, legs of the floor."""
        return self.surround_by(place_capsules(pose) if self.has_body and kind == "arm" else _NO_CAPSULES)

    def surround_legs(self, skeleton: Skeleton, shoulders: Floats, hands: Floats) -> Surroundings:
        """Find the obstacles of legs: the floor, and arms.

        Arms go from shoulders (k, a, 3) to hands; thighs make way for them.
        """
        if not self.has_body:
            return self.surround_by(_NO_CAPSULES)
        radius = (_WAY_SHARE * (_RADII["arm"] + _RADII["thigh"]) - _RADII["leg"]) * measure_height(skeleton)
        wrists = shoulders + _ARM_SHARE * (hands - shoulders)
        return self.surround_by(np.concatenate([shoulders, wrists, np.full((*hands.shape[:2], 1), radius)], axis=2))

    def surround_by(self, capsules: Floats) -> Surroundings:
        """Return the floor with capsules (1|k, c, 7)."""
        return Surroundings(capsules, self.floor)


BODY_ALONE = Obstacles()


def measure_height(skeleton: Skeleton) -> float:
    """Measure a figure's height at rest. It is 0 without known feet and head."""
    return get_or_compute(skeleton, "figure height", None, lambda: _measure_height(skeleton))


def measure_radius(skeleton: Skeleton, kind: str) -> float:
    """Measure the radius of a part of a figure. "arm" is a forearm, "leg" a shin."""
    return _RADII[kind] * measure_height(skeleton)


def express_in_frame(frame: Floats, ways: Floats) -> Floats:
    """Express world vectors (..., 3) in a rest frame (4, 4). The frame's scale does not count.

    A mirrored frame counts as its rotation, by which poses turn the vectors again.
    """
    scale = np.cbrt(np.linalg.det(frame[:3, :3]))  # negative where it mirrors, as in rotations of poses
    return np.ascontiguousarray(np.linalg.solve(frame[:3, :3] / scale, ways.T).T, dtype=np.float64)


def _measure_height(skeleton: Skeleton) -> float:
    joints = find_confident_joints(find_joint_roles(skeleton))
    feet = [skeleton.index(joints[f"{side}Foot"]) for side in SIDES if f"{side}Foot" in joints]
    if not feet or "head" not in joints:
        return 0.0
    below = [row for foot in feet for row in list_below(skeleton.parents, foot)]
    points = compute_standing_transforms(skeleton)[:, :3, 3]
    heights = points @ find_standing_frame(skeleton).up
    return max(float(heights[skeleton.index(joints["head"])] - heights[below].min()) / _HEAD_AT, 0.0)


def place_capsules(pose: Pose) -> Floats:
    """Place the capsules (1|k, c, 7) of the body in poses."""
    skeleton = pose.skeleton
    is_moved = pose.translations is not None
    volume = get_or_compute(
        skeleton, "body volume", is_moved, lambda: _build_body_volume(skeleton, has_translations=is_moved)
    )
    if volume is None:
        return _NO_CAPSULES
    table, (first, last) = volume.table, volume.ends
    offsets = pack_local_offsets(table, flatten_local_offsets(pose.translations, pose.scales))
    maps = compute_table_maps(table, len(table.joint_rows), prepare_for_kernel(pose.flat_q), offsets)
    maps = maps.reshape(len(maps), -1, 3, 4)
    points, found = maps[..., 3], np.empty((len(maps), len(volume.radii), 7))
    for columns, ends in ((slice(0, 3), first), (slice(3, 6), last)):
        found[..., columns] = 0.5 * (points[:, ends[0]] + points[:, ends[1]])
    x, y, z = volume.crown
    head = maps[:, last[0, 0]]
    found[:, 0, 3:6] += x * head[..., 0] + y * head[..., 1] + z * head[..., 2]
    found[..., 6] = volume.radii
    return found


def _build_body_volume(skeleton: Skeleton, *, has_translations: bool) -> BodyVolume | None:
    joints = find_confident_joints(find_joint_roles(skeleton))
    height = measure_height(skeleton)
    both = [f"{side}{part}" for part in ("UpperArm", "UpperLeg", "LowerLeg") for side in SIDES]
    if not height > 0.0 or any(role not in joints for role in (*both, "head")):
        return None
    row = _find_rows(skeleton, joints)
    head, hips = (row["head"],) * 2, (row["leftUpperLeg"], row["rightUpperLeg"])
    neck = (row["neck"],) * 2 if "neck" in row else (row["leftUpperArm"], row["rightUpperArm"])
    spine = [hips, *((row[role],) * 2 for role in ("spine", "chest", "upperChest") if role in row), neck]
    thighs = [((row[f"{side}UpperLeg"],) * 2, (row[f"{side}LowerLeg"],) * 2) for side in SIDES]
    axes = [("head", head, head), ("neck", neck, head)]
    axes += [("trunk", first, last) for first, last in pairwise(spine)]
    axes += [("thigh", first, last) for first, last in thighs]
    ends = np.array([[first for _, first, _ in axes], [last for _, _, last in axes]]).transpose(0, 2, 1)
    rows = sorted({row for end in set(ends.ravel().tolist()) for row in skeleton.list_path(end)})
    table = build_table(skeleton, rows, has_translations=has_translations)
    radii = np.array([_RADII[part] for part, _, _ in axes]) * height
    figure: BodyFrame = find_standing_frame(skeleton)
    head = compute_standing_transforms(skeleton)[row["head"], :3, :3]
    crown = np.asarray(np.linalg.solve(head, _CROWN * height * figure.up), dtype=np.float64)
    return BodyVolume(table, np.searchsorted(rows, ends), crown, radii)


def _find_rows(skeleton: Skeleton, joints: Mapping[str, str]) -> dict[str, int]:
    return {role: skeleton.index(joint) for role, joint in joints.items()}
