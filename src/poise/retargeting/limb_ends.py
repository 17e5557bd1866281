"""Move hands and feet. Arms and legs bend as two bones, in their own plane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.maths.vectors import cross, dot, length, normalise
from poise.model.pose import Pose, Transforms
from poise.model.pose_draft import PoseDraft
from poise.model.roles.bone_names import SIDES
from poise.model.skeleton import Kind, Skeleton
from poise.retargeting.body import Body, Segment
from poise.retargeting.transfer import find_local_turns, find_quaternion_start

# parts of a limb's role, from the trunk
ARM, LEG = ("UpperArm", "LowerArm", "Hand"), ("UpperLeg", "LowerLeg", "Foot")

# of the bones' lengths: a limb is neither folded nor stretched more; legs, unless they were straighter before
_MIN_FOLD, _MAX_STRETCH, _MAX_LEG_STRETCH = 1.001, 0.9999, 0.985
# sine of the bend below which the hinge axis shows the plane of the limb
_MIN_BEND_SINE = 1e-3


class ChosenFrames(NamedTuple):
    """Joints in chosen frames, in the world.

    positions  (k, 3) by row
    rotations  (k, 4) by row
    """

    positions: Mapping[int, Floats]
    rotations: Mapping[int, Floats]


def choose_frames(world: Transforms, frames: Ints, rows: Iterable[int]) -> ChosenFrames:
    """Choose frames (k,) of some joints."""
    chosen = sorted(set(rows))
    affine = world.affine[frames[:, None], chosen]
    turns = Transforms(world.skeleton, affine).rotations
    return ChosenFrames(
        {row: affine[:, column, :, 3] for column, row in enumerate(chosen)},
        {row: turns[:, column] for column, row in enumerate(chosen)},
    )


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
    draft = PoseDraft(poses)
    columns = [column for column in range(len(SIDES)) if moves[:, column].any()]
    rows = [tuple(body.rows[f"{SIDES[column]}{part}"] for part in parts) for column in columns]
    segments = [body.segments[f"{SIDES[column]}{parts[0]}"] for column in columns]
    joints = [row for own in rows for row in own]
    parents = [int(poses.skeleton.parents[row]) for row in joints]
    known = (*joints, *(row for row in parents if row >= 0), *(segment.row for segment in segments))
    chosen = choose_frames(poses.world, frames, known)
    limbs = [_find_limb(chosen, segment, own) for segment, own in zip(segments, rows, strict=True)]
    limb = LimbPoints(*(np.concatenate(points) for points in zip(*limbs, strict=True)))  # of both sides at once
    goal = limb.end + np.concatenate([moves[frames, column] for column in columns])
    stretch = _MAX_LEG_STRETCH if parts == LEG else _MAX_STRETCH
    upper, lower = (
        np.split(turns, len(columns)) for turns in compute_limb_rotations(limb, _shorten(limb, goal, stretch))
    )
    moved = draft.q[frames]
    for own, *turns in zip(rows, upper, lower, strict=True):
        _turn_limb(poses.skeleton, chosen, moved, own, *turns)
    draft.q[frames] = moved
    return draft.finish()


def _find_limb(chosen: ChosenFrames, segment: Segment, rows: tuple[int, ...]) -> LimbPoints:
    axes = rotations.multiply(chosen.rotations[segment.row], segment.row_frame)
    axis = rotations.rotate(axes, np.array([0.0, 1.0, 0.0]))
    first, middle, end = (chosen.positions[row] for row in rows)
    return LimbPoints(first, middle, end, axis)


def _shorten(limb: LimbPoints, goal: Floats, stretch: float) -> Floats:
    """Move goals (F, 3) nearer. The limb is not stretched more, unless it was."""
    reach, way = length(limb.end - limb.first), goal - limb.first
    bones = length(limb.middle - limb.first) + length(limb.end - limb.middle)
    longest = np.maximum(stretch * bones, np.minimum(reach, _MAX_STRETCH * bones))
    return limb.first + way * np.minimum(longest / np.maximum(length(way), 1e-300), 1.0)[:, None]


def _turn_limb(
    skeleton: Skeleton, chosen: ChosenFrames, q: Floats, rows: tuple[int, ...], upper: Floats, lower: Floats
) -> None:
    """Turn both bones of a limb by rotations (F, 4). Its end keeps its own; q (F, nq) changes.

    A foot beside its leg is left as it is.
    """
    still = np.broadcast_to(rotations.IDENTITY, upper.shape)
    for row, above, own in zip(rows, (still, upper, lower), (upper, lower, still), strict=True):
        is_added = skeleton.kinds[row] == Kind.FIXED  # the end of a forearm without a hand
        if not is_added and (row != rows[-1] or rows[1] in skeleton.list_path(row)):
            _turn_joint(skeleton, chosen, q, row, above, own)


def _turn_joint(skeleton: Skeleton, chosen: ChosenFrames, q: Floats, row: int, above: Floats, own: Floats) -> None:
    """Turn a joint in the world.

    own, above  rotations (F, 4) by which it and its parent turn
    """
    parent = int(skeleton.parents[row])
    base = rotations.multiply(above, chosen.rotations[parent]) if parent >= 0 else above
    behind = find_local_turns(skeleton).behind[row]
    wanted = rotations.multiply(rotations.multiply(own, chosen.rotations[row]), rotations.inverse(behind))
    start = find_quaternion_start(skeleton, row)
    q[:, start : start + 4] = rotations.multiply(
        rotations.inverse(rotations.multiply(base, skeleton.A[row, 3:])), wanted
    )


def compute_limb_rotations(limb: LimbPoints, goal: Floats) -> tuple[Floats, Floats]:
    """Compute rotations (F, 4) of both bones of a limb.

    In the world it turns by the shortest rotation to the goal (F, 3), then it bends in its own plane.
    """
    first, second, reach = limb.middle - limb.first, limb.end - limb.middle, limb.end - limb.first
    a, b = length(first), length(second)
    way = goal - limb.first
    direction = normalise(way)
    swing = rotations.rotation_between(reach, way)
    chord = np.clip(length(way), _MIN_FOLD * np.abs(a - b) + 1e-9 * a, _MAX_STRETCH * (a + b))
    swung, swung_second = rotations.rotate(swing, first), rotations.rotate(swing, second)
    aside = swung - direction * dot(swung, direction)[:, None]
    straight = length(aside) < _MIN_BEND_SINE * a
    by_hinge = -cross(rotations.rotate(swing, limb.axis), direction)
    aside = normalise(np.where(straight[:, None], by_hinge, aside))
    cosine = np.clip((a * a + chord * chord - b * b) / (2.0 * a * chord), -1.0, 1.0)
    upper_bone = a[:, None] * (cosine[:, None] * direction + np.sqrt(1.0 - cosine * cosine)[:, None] * aside)
    lower_bone = direction * chord[:, None] - upper_bone
    upper = rotations.multiply(rotations.rotation_between(swung, upper_bone), swing)
    lower = rotations.multiply(rotations.rotation_between(swung_second, lower_bone), swing)
    return upper, lower
