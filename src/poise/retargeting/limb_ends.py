"""Move hands and feet. Arms and legs bend as two bones, in their own plane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.maths.vectors import cross, dot, normalise
from poise.model.pose import Pose, Transforms
from poise.model.roles.bone_names import SIDES
from poise.model.skeleton import Kind, Skeleton
from poise.retargeting.body import Body
from poise.retargeting.transfer import find_local_turns, find_quaternion_start

# parts of a limb's role, from the trunk
ARM, LEG = ("UpperArm", "LowerArm", "Hand"), ("UpperLeg", "LowerLeg", "Foot")

# of the bones' lengths: a limb is neither folded nor stretched more; legs, unless they were straighter before
_MIN_FOLD, _MAX_STRETCH, _MAX_LEG_STRETCH = 1.001, 0.9999, 0.985
# sine of the bend below which the hinge axis shows the plane of the limb
_MIN_BEND_SINE = 1e-3


class ChosenFrames(NamedTuple):
    """Chosen frames (k,) of world transforms."""

    world: Transforms
    frames: Ints

    def get_positions(self, row: int) -> Floats:
        """Get the positions (k, 3) of a joint."""
        return self.world.affine[self.frames, row, :, 3]

    def compute_rotations(self, row: int) -> Floats:
        """Compute the world rotations (k, 4) of a joint."""
        return Transforms(self.world.skeleton, self.world.affine[self.frames, row]).rotations


class LimbPoints(NamedTuple):
    """Joints and hinge axis (F, 3) of a limb, from the trunk."""

    first: Floats
    middle: Floats
    end: Floats
    axis: Floats


def move_limb_ends(poses: Pose, body: Body, parts: tuple[str, str, str], moves: Floats) -> Pose:
    """Move both hands or both feet.

    parts  ARM or LEG
    moves  (F, 2, 3) of left and right in the file's axes

    Limbs bend in their own plane; hands and feet keep their rotation in the world. A frame without moves stays bit for
    bit. An arm that cannot reach so far is straight; a leg keeps its bend.
    """
    frames = np.flatnonzero(moves.any(axis=(1, 2)))
    if not len(frames):
        return poses
    chosen, q = ChosenFrames(poses.world, frames), np.array(poses.q)
    columns = [column for column in range(len(SIDES)) if moves[:, column].any()]
    rows = [tuple(body.rows[f"{SIDES[column]}{part}"] for part in parts) for column in columns]
    limbs = [
        _find_limb(chosen, body, f"{SIDES[column]}{parts[0]}", own) for column, own in zip(columns, rows, strict=True)
    ]
    limb = LimbPoints(*(np.concatenate(points) for points in zip(*limbs, strict=True)))  # of both sides at once
    goal = limb.end + np.concatenate([moves[frames, column] for column in columns])
    stretch = _MAX_LEG_STRETCH if parts == LEG else _MAX_STRETCH
    upper, lower = (
        np.split(turns, len(columns)) for turns in compute_limb_rotations(limb, _shorten(limb, goal, stretch))
    )
    moved = q[frames]
    for own, *turns in zip(rows, upper, lower, strict=True):
        _turn_limb(chosen, moved, own, *turns)
    q[frames] = moved
    return Pose(poses.skeleton, q, poses.translations, poses.scales)


def _find_limb(chosen: ChosenFrames, body: Body, role: str, rows: tuple[int, ...]) -> LimbPoints:
    segment = body.segments[role]
    axes = rotations.multiply(chosen.compute_rotations(segment.row), segment.row_frame)
    axis = rotations.rotate(axes, np.array([0.0, 1.0, 0.0]))
    first, middle, end = (chosen.get_positions(row) for row in rows)
    return LimbPoints(first, middle, end, axis)


def _shorten(limb: LimbPoints, goal: Floats, stretch: float) -> Floats:
    """Move goals (F, 3) nearer. The limb is not stretched more, unless it was."""
    reach, way = np.linalg.norm(limb.end - limb.first, axis=-1), goal - limb.first
    bones = np.linalg.norm(limb.middle - limb.first, axis=-1) + np.linalg.norm(limb.end - limb.middle, axis=-1)
    longest = np.maximum(stretch * bones, np.minimum(reach, _MAX_STRETCH * bones))
    length = np.linalg.norm(way, axis=-1)
    return limb.first + way * np.minimum(longest / np.maximum(length, 1e-300), 1.0)[:, None]


def _turn_limb(chosen: ChosenFrames, q: Floats, rows: tuple[int, ...], upper: Floats, lower: Floats) -> None:
    """Turn both bones of a limb by rotations (F, 4). Its end keeps its own; q (F, nq) changes.

    A foot beside its leg is left as it is.
    """
    still, skeleton = np.broadcast_to(rotations.IDENTITY, upper.shape), chosen.world.skeleton
    for row, above, own in zip(rows, (still, upper, lower), (upper, lower, still), strict=True):
        is_added = skeleton.kinds[row] == Kind.FIXED  # the end of a forearm without a hand
        if not is_added and (row != rows[-1] or rows[1] in skeleton.list_path(row)):
            _turn_joint(skeleton, chosen, q, row, above, own)


def _turn_joint(skeleton: Skeleton, chosen: ChosenFrames, q: Floats, row: int, above: Floats, own: Floats) -> None:
    """Turn a joint in the world.

    own, above  rotations (F, 4) by which it and its parent turn
    """
    parent = int(skeleton.parents[row])
    base = rotations.multiply(above, chosen.compute_rotations(parent)) if parent >= 0 else above
    behind = find_local_turns(skeleton).behind[row]
    wanted = rotations.multiply(rotations.multiply(own, chosen.compute_rotations(row)), rotations.inverse(behind))
    start = find_quaternion_start(skeleton, row)
    q[:, start : start + 4] = rotations.multiply(
        rotations.inverse(rotations.multiply(base, skeleton.A[row, 3:])), wanted
    )


def compute_limb_rotations(limb: LimbPoints, goal: Floats) -> tuple[Floats, Floats]:
    """Compute rotations (F, 4) of both bones of a limb.

    In the world it turns by the shortest rotation to the goal (F, 3), then it bends in its own plane.
    """
    first, second, reach = limb.middle - limb.first, limb.end - limb.middle, limb.end - limb.first
    a, b = np.linalg.norm(first, axis=-1), np.linalg.norm(second, axis=-1)
    way = goal - limb.first
    direction = normalise(way)
    swing = rotations.rotation_between(reach, way)
    length = np.clip(np.linalg.norm(way, axis=-1), _MIN_FOLD * np.abs(a - b) + 1e-9 * a, _MAX_STRETCH * (a + b))
    swung, swung_second = rotations.rotate(swing, first), rotations.rotate(swing, second)
    aside = swung - direction * dot(swung, direction)[:, None]
    straight = np.linalg.norm(aside, axis=-1) < _MIN_BEND_SINE * a
    by_hinge = -cross(rotations.rotate(swing, limb.axis), direction)
    aside = normalise(np.where(straight[:, None], by_hinge, aside))
    cosine = np.clip((a * a + length * length - b * b) / (2.0 * a * length), -1.0, 1.0)
    upper_bone = a[:, None] * (cosine[:, None] * direction + np.sqrt(1.0 - cosine * cosine)[:, None] * aside)
    lower_bone = direction * length[:, None] - upper_bone
    upper = rotations.multiply(rotations.rotation_between(swung, upper_bone), swing)
    lower = rotations.multiply(rotations.rotation_between(swung_second, lower_bone), swing)
    return upper, lower
