"""World maps of a body's joints: trunk, limbs and those above.

Stages read no fingers, hair or props, which are two thirds of most characters' joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.kernels.thresholds import SIMILARITY_TOLERANCE
from poise.maths.arrays import Floats, Ints, prepare_for_kernel
from poise.model.anatomy.rest_geometry import find_confident_joints
from poise.model.kinematics import (
    KinematicsTable,
    build_table,
    compute_rotations,
    compute_table_maps,
    flatten_local_offsets,
    pack_local_offsets,
)
from poise.model.pose import Pose
from poise.model.roles.bone_names import FINGER_BONES
from poise.model.roles.role_search import find_joint_roles
from poise.model.skeleton import Skeleton
from poise.runtime.result_cache import get_or_compute


class _BodyTable(NamedTuple):
    """Joints of a body, and those above; see BodyMaps."""

    table: KinematicsTable
    rows: Ints
    numbers: dict[int, int]


class BodyMaps(NamedTuple):
    """World maps (k, r, 3, 4) of some of a skeleton's joints.

    rows     (r,) their rows, in order
    numbers  the number of each row among them
    """

    maps: Floats
    rows: Ints
    numbers: dict[int, int]

    def select(self, rows: Sequence[int]) -> Floats:
        """Return the maps (k, r, 3, 4) of some rows."""
        return self.maps[:, [self.numbers[row] for row in rows]]


class _AllRows(NamedTuple):
    """Rows of a whole skeleton; see BodyMaps."""

    rows: Ints
    numbers: dict[int, int]


def find_maps(pose: Pose, row: int) -> Floats:
    """Find the maps (k, 3, 4) of a joint in poses."""
    body = find_body(pose, (row,))
    return body.maps[:, body.numbers[row]]


def find_points(pose: Pose, row: int) -> Floats:
    """Find the positions (k, 3) of a joint in poses."""
    return find_maps(pose, row)[..., 3]


def list_points(pose: Pose, rows: Sequence[int]) -> Floats:
    """List the positions (k, r, 3) of joints in poses."""
    return find_body(pose, rows).select(rows)[..., 3]


def find_turns(pose: Pose, row: int) -> Floats:
    """Find the rotations (k, 4) of a joint in poses."""
    return list_turns(pose, (row,))[:, 0]


def list_turns(pose: Pose, rows: Sequence[int]) -> Floats:
    """List the rotations (k, r, 4) of joints in poses; see `Transforms.rotations`."""
    maps = find_body(pose, rows).select(rows)
    count = len(maps)
    return compute_rotations(maps.reshape(-1, 12), SIMILARITY_TOLERANCE, pose_count=count).reshape(count, -1, 4)


def find_body(pose: Pose, rows: Sequence[int]) -> BodyMaps:
    """Find the maps of a body with some rows. They are of all joints where a row is no part of it."""
    body = get_or_compute(pose, "body maps", None, lambda: _compute_maps(pose))
    return body if all([row in body.numbers for row in rows]) else _read_world(pose)  # noqa: C419  (faster)


def flatten_maps(body: BodyMaps) -> Floats:
    """Return maps as rows (k, 12 n)."""
    return prepare_for_kernel(body.maps.reshape(len(body.maps), -1))


def _read_world(pose: Pose) -> BodyMaps:
    skeleton = pose.skeleton
    rows, numbers = get_or_compute(skeleton, "all rows", None, lambda: _number_rows(list(range(len(skeleton)))))
    return BodyMaps(pose.world.affine.reshape(-1, len(skeleton), 3, 4), rows, numbers)


def _number_rows(rows: list[int]) -> _AllRows:
    return _AllRows(np.array(rows), {row: number for number, row in enumerate(rows)})


def _compute_maps(pose: Pose) -> BodyMaps:
    if len(pose.flat_q) == 1:
        return _read_world(pose)
    skeleton, is_moved = pose.skeleton, pose.translations is not None
    body = get_or_compute(skeleton, "body table", is_moved, lambda: _build_table(skeleton, has_translations=is_moved))
    if body is None:
        return _read_world(pose)
    table, offsets = body.table, flatten_local_offsets(pose.translations, pose.scales)
    packed = pack_local_offsets(table, offsets)
    maps = compute_table_maps(table, len(body.rows), prepare_for_kernel(pose.flat_q), packed)
    return BodyMaps(maps.reshape(len(maps), -1, 3, 4), body.rows, body.numbers)


def _build_table(skeleton: Skeleton, *, has_translations: bool) -> _BodyTable | None:
    """Build the table of all joints with a role but fingers. None where none is known."""
    joints = find_confident_joints(find_joint_roles(skeleton))
    tips = [skeleton.index(joints[role]) for role in joints if not role.endswith(FINGER_BONES)]
    rows = sorted({row for tip in tips for row in skeleton.list_path(tip)})
    if not rows:
        return None
    table = build_table(skeleton, rows, has_translations=has_translations)
    return _BodyTable(table, *_number_rows(rows))
