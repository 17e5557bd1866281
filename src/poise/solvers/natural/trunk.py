"""Collar bones: carry shoulders towards targets of hands."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, prepare_for_kernel
from poise.model.anatomy.rest_geometry import BodyFrame
from poise.model.anatomy.standing_pose import compute_standing_rotations, compute_standing_transforms, find_standing_q
from poise.model.skeleton import Kind, Skeleton
from poise.problem.two_bone_limb import find_rotation_column, is_hinge, read_hinge_axis, read_hinge_range

_RESTING_SHARE = 0.8499  # of the arm's length, just below the 0.85 at which the kernel turns collar bones
_RESTING_FOLD = 1.0001  # of the difference of an arm's bones, just above the distance to which it folds
_MAX_FRAME_ERROR = 1e-9  # largest deviation of a joint's own frame from one without rotation


class Collar(NamedTuple):
    """A collar bone above a hand.

    rows           rows of the skeleton from the collar bone to the hand
    map_indices    (5,) numbers of the maps of carrier, collar bone and the arm's joints, from the carrier on
    q_columns      (2,) first columns of the rotations of collar bone and first joint; -1 for a first joint with limits
    numbers        (COLLAR_NUMBER_COUNT,) input of kernels/posture_trunk.py
    rest_rotation  of the collar bone, in q
    """

    rows: tuple[int, ...]
    map_indices: Ints
    q_columns: Ints
    numbers: Floats
    rest_rotation: list[float]


def find_collar(skeleton: Skeleton, figure: BodyFrame, rows: tuple[int, int, int, int, int]) -> Collar | None:
    """Find how the collar bone of an arm turns. None where it is no ball or free joint, or its frame is rotated.

    rows  carrier, collar bone, first joint, middle joint and hand
    """
    carrier, collar, first, middle, hand = rows
    path = skeleton.list_path(hand)
    if collar not in path or carrier not in path or skeleton.kinds[collar] < Kind.BALL:
        return None
    if any(not _is_unrotated(skeleton, row) for row in (collar, first)):
        return None
    posture_trunk = kernels.posture_trunk
    to_carrier = np.linalg.inv(compute_standing_transforms(skeleton)[carrier, :3, :3])
    start = find_rotation_column(skeleton, collar)
    numbers = np.concatenate([
        to_carrier @ figure.up, to_carrier @ figure.forward, find_standing_q(skeleton)[start : start + 4],
        _find_reach_shares(skeleton, first, middle, hand),
    ])  # fmt: skip
    for column in (posture_trunk.COLLAR_UP, posture_trunk.COLLAR_FORWARD):
        numbers[column : column + 3] /= np.linalg.norm(numbers[column : column + 3])
    first_column = find_rotation_column(skeleton, first) if _may_turn_back(skeleton, first) else -1
    way = path[path.index(carrier) :]
    map_indices, q_columns = np.array([way.index(row) for row in rows]), np.array([start, first_column])
    rest_rotation = numbers[posture_trunk.COLLAR_REST : posture_trunk.COLLAR_REACH].tolist()
    return Collar(tuple(path[path.index(collar) :]), map_indices, q_columns, numbers, rest_rotation)


def _is_unrotated(skeleton: Skeleton, row: int) -> bool:
    """Whether nothing rotates a joint's frame after its own rotation."""
    after = skeleton.B[row, :3, :3]
    return bool(
        np.allclose(after, np.diag(np.diag(after)), rtol=0, atol=_MAX_FRAME_ERROR) and (np.diag(after) > 0).all()
    )


def _find_reach_shares(skeleton: Skeleton, first: int, middle: int, hand: int) -> tuple[float, float]:
    """Find an arm's longest and shortest reach within elbow limits.

    They are shares of its length; 1 and 0 without limits, where the bones say how far it folds.
    """
    if skeleton.limits[middle] is None or not is_hinge(skeleton, middle):
        return 1.0, 0.0
    shoulder, elbow, wrist = (compute_standing_transforms(skeleton)[row, :3, 3] for row in (first, middle, hand))
    upper, lower = elbow - shoulder, wrist - elbow
    low, high = read_hinge_range(skeleton, middle)
    axis = compute_standing_rotations(skeleton)[middle] @ read_hinge_axis(skeleton, middle)
    bend = math.atan2(float(axis @ np.cross(upper, lower)), float(upper @ lower))  # where the axis is across the arm
    turns = [turn * math.pi - bend for turn in range(-3, 4)]  # straight and folded in turn
    angles = np.array([min(max(turn, low), high) for turn in turns])
    turned = rotations.rotate(rotations.about(axis, angles), lower)
    reaches = np.linalg.norm(upper + turned, axis=-1) / (np.linalg.norm(upper) + np.linalg.norm(lower))
    return float(reaches.max()), float(reaches.min())


def _may_turn_back(skeleton: Skeleton, row: int) -> bool:
    return bool(skeleton.kinds[row] >= Kind.BALL and skeleton.limits[row] is None)


def may_turn(collar: Collar | None, skeleton: Skeleton, moving: Collection[str], held: Collection[int]) -> bool:
    """Return whether a collar bone turns freely for the goals."""
    if collar is None:
        return False
    row = collar.rows[0]
    return skeleton.names[row] in moving and row not in held and skeleton.limits[row] is None


class CarriedShoulders(NamedTuple):
    """Poses with collar bones turned towards the targets of the hands.

    q           (k, nq)
    targets     (k, 3|7) pulled inside the reach of the arm where they are too far
    is_carried  (k,) whether the collar bone was turned; None where it was in no pose
    is_short    (k,) whether the arm is still too short
    """

    q: Floats
    targets: Floats
    is_carried: Bools | None
    is_short: Bools


def carry_shoulders(collar: Collar, maps: Floats, start_q: Floats, targets: Floats) -> CarriedShoulders:
    """Turn the collar bone towards far targets (k, 3|7).

    maps  (1|k, 12 n) world transforms of the start poses, from the carrier to the hand
    """
    count, targets = len(targets), targets.copy()
    q, is_carried, is_short = np.empty((count, start_q.shape[1])), np.empty(count, bool), np.empty(count, bool)
    carried_count = kernels.posture_trunk.carry_shoulders(
        maps, collar.map_indices, collar.q_columns, collar.numbers, prepare_for_kernel(start_q), targets, q, is_carried,
        is_short,
    )  # fmt: skip
    return CarriedShoulders(q, targets, is_carried if carried_count else None, is_short)


class RestingReach(NamedTuple):
    """A shell of targets with a resting collar bone.

    The arm folds to its inner radius, and stretches to its outer one.
    """

    x: float
    y: float
    z: float
    squared_fold: float
    squared_radius: float

    def has_inside(self, targets: Floats) -> bool:
        """Whether the only one of targets (k, 3|7) is inside."""
        if len(targets) != 1:
            return False
        x, y, z = targets[0, :3].tolist()  # Python floats: arrays would take a tenth of a solve
        dx, dy, dz = x - self.x, y - self.y, z - self.z
        return self.squared_fold < dx * dx + dy * dy + dz * dz < self.squared_radius


def find_resting_reach(
    collar: Collar, maps: Floats, start_q: Floats, lengths: tuple[float, float]
) -> RestingReach | None:
    """Find the resting shell of a single pose (1, nq). None where it is turned already.

    lengths  of upper arm and forearm
    """
    column = int(collar.q_columns[0])
    if len(start_q) != 1 or start_q[0, column : column + 4].tolist() != collar.rest_rotation:
        return None
    row, i = maps[0], 12 * int(collar.map_indices[2])
    upper, lower = lengths
    numbers, columns = collar.numbers, kernels.posture_trunk
    fold = _RESTING_FOLD * max(abs(upper - lower), (upper + lower) * float(numbers[columns.COLLAR_FOLD]))
    radius = (upper + lower) * float(numbers[columns.COLLAR_REACH]) * _RESTING_SHARE
    return RestingReach(float(row[i + 3]), float(row[i + 7]), float(row[i + 11]), fold * fold, radius * radius)
