"""Transfer of rotations from source to target segments.

X = M W F is the rotation of a segment in axes ahead, left and up: M turns the file's axes, W is the world rotation of
the segment's joint, F the segment's axes in the joint. X is the same for both characters, so the target's joint turns
by W' = M'^-1 M W F F'^-1. Rest rotations do not enter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.model.numpy_kinematics import split_local_transforms
from poise.model.skeleton import Kind, Skeleton
from poise.retargeting.body import Body, JointChain, Segment, split_role
from poise.retargeting.match import Match
from poise.runtime.result_cache import get_or_compute

_TRUNK_PARTS = ("hips", "spine", "chest", "upperChest", "neck", "head")
_FREE, _TURNING_KINDS = int(Kind.FREE), (Kind.BALL, Kind.FREE)
_BONE = np.array([1.0, 0.0, 0.0])  # the first axis of a limb's segment
_UP = np.array([0.0, 0.0, 1.0])


class RotationPlan(NamedTuple):
    """Joints of the target and the rotations they get.

    rows, source_rows  (k,) joints of the target, and those of the source that they follow
    left, right        (4,) and (k, 4) rotations: the target's is left * source * right
    blends             joints of trunk and neck between two joints of the source
    copied             joints without a role that turn as in the source: both are the same character
    """

    rows: Ints
    source_rows: Ints
    left: Floats
    right: Floats
    blends: tuple[BlendedJoint, ...]
    copied: Ints


class BlendedJoint(NamedTuple):
    """A joint of trunk or neck between two source joints.

    fraction  0 at `lower`, 1 at `upper`
    """

    row: int
    lower: int
    upper: int
    fraction: float
    lower_right: Floats
    upper_right: Floats


def plan_rotations(source: Body, target: Body, match: Match) -> RotationPlan:
    """Plan the rotations of the target's joints."""
    left = rotations.multiply(rotations.inverse(target.world_turn), source.world_turn)
    segments = [
        (source.segments[joint.role], target.segments[joint.role], joint.turn)
        for joint in match.joints
        if joint.is_used and joint.role not in _TRUNK_PARTS and _can_turn(target.skeleton, target.rows[joint.role])
    ]
    rows = _pair_segments(segments)
    blends: list[BlendedJoint] = []
    turns = {target.rows[joint.role]: joint.turn for joint in match.joints if joint.is_used}
    skipped = {target.skeleton.index(joint.target) for joint in match.joints if joint.target and joint.skip}
    for chain, source_chain in ((target.spine, source.spine), (target.neck, source.neck)):
        places = _find_places(chain, source_chain, (target, source), match) if chain.rows and source_chain.rows else []
        for row, place in zip(chain.rows, places, strict=False):
            if row in rows or row in skipped or not _can_turn(target.skeleton, row):
                continue
            turn = rotations.about(_UP, np.radians(turns.get(row, 0.0)))
            lower, upper = int(np.floor(place)), int(np.ceil(place))
            rights = [
                _join_frames(_get_frame(source, source_chain.rows[end]), turn, _get_frame(target, row))
                for end in (lower, upper)
            ]
            if lower == upper:
                rows[row] = source_chain.rows[lower], rights[0]
            else:
                ends = source_chain.rows[lower], source_chain.rows[upper]
                blends.append(BlendedJoint(row, *ends, place - lower, *rights))
    copied = _list_copied_joints(source, target, {*rows, *(blend.row for blend in blends), *skipped})
    order = np.array(sorted(rows), dtype=np.int64)
    return RotationPlan(
        order,
        np.array([rows[row][0] for row in order.tolist()], dtype=np.int64),
        left,
        np.array([rows[row][1] for row in order.tolist()]).reshape(-1, 4),  # none where a match skips all
        tuple(blends),
        copied,
    )


def _pair_segments(segments: Sequence[tuple[Segment, Segment, float]]) -> dict[int, tuple[int, Floats]]:
    """Pair the joints of segments of both characters. Twist bones are paired where both have one.

    segments  of source and target, and the turn about the bone [degrees]
    """
    ends: list[tuple[int, int, Floats, Floats, float]] = []  # rows of target and source, their frames, turn
    for source, target, turn in segments:
        if source.row != source.carrier and target.row != target.carrier:
            ends.append((target.row, source.row, source.row_frame, target.row_frame, turn))
            ends.append((target.carrier, source.carrier, source.carrier_frame, target.carrier_frame, turn))
        else:
            ends.append((target.row, source.carrier, source.carrier_frame, target.row_frame, turn))
    if not ends:
        return {}
    rows, source_rows, source_frames, target_frames, turns = zip(*ends, strict=True)
    rights = _join_frames(np.array(source_frames), rotations.about(_BONE, np.radians(turns)), np.array(target_frames))
    return dict(zip(rows, zip(source_rows, rights, strict=True), strict=True))


def _join_frames(source_frame: Floats, turn: Floats, target_frame: Floats) -> Floats:
    """Compute F F'^-1, with a turn about the bone between them."""
    return rotations.multiply(rotations.multiply(source_frame, turn), rotations.inverse(target_frame))


def _can_turn(skeleton: Skeleton, row: int) -> bool:
    """Return whether a joint turns freely."""
    return skeleton.joint_lists.kinds[row] in _TURNING_KINDS


def _find_places(chain: JointChain, source_chain: JointChain, bodies: tuple[Body, Body], match: Match) -> list[float]:
    """Find the places of a chain's joints in the source's chain.

    1.5 is halfway between its joints 1 and 2.

    Chains of as many joints are paired joint by joint. In others the ends are paired, and joints of the same role if
    both rest poses show how these stand; the joints between them go by their lengths.
    """
    last = len(source_chain.rows) - 1
    if len(chain.rows) == len(source_chain.rows):
        return [float(index) for index in range(last + 1)]
    pairs = {0: 0} if len(chain.rows) == 1 else {0: 0, len(chain.rows) - 1: last}
    roles = [joint.role for joint in match.joints if joint.is_used and joint.role in _TRUNK_PARTS]
    for own, other in ([body.rows[role] for body in bodies] for role in roles):
        if own in chain.rows[1:-1] and other in source_chain.rows[1:-1] and all(b.reference.is_rest for b in bodies):
            pairs[chain.rows.index(own)] = source_chain.rows.index(other)
    known = sorted(pairs)
    places = np.interp(
        chain.fractions, chain.fractions[known], [source_chain.fractions[pairs[index]] for index in known]
    )
    between = np.interp(places, source_chain.fractions, np.arange(last + 1.0))
    return [float(pairs[index]) if index in pairs else place for index, place in enumerate(between.tolist())]


def _get_frame(body: Body, row: int) -> Floats:
    """Get the body axes of a trunk joint."""
    return body.segments[f"joint {row}"].row_frame


def _list_copied_joints(source: Body, target: Body, used: set[int]) -> Ints:
    """List the joints without a partner to copy. Only the same character has any."""
    if not is_same_tree(source.skeleton, target.skeleton):
        return np.zeros(0, dtype=np.int64)
    turning = np.isin(target.skeleton.kinds, (Kind.BALL, Kind.FREE))
    return np.array([row for row in np.flatnonzero(turning).tolist() if row not in used], dtype=np.int64)


def is_same_tree(source: Skeleton, target: Skeleton) -> bool:
    """Return whether two skeletons have equal joints at rest."""
    return source is target or (
        source.names == target.names
        and np.array_equal(source.parents, target.parents)
        and np.array_equal(source.kinds, target.kinds)
        and np.array_equal(source.A, target.A)
        and np.array_equal(source.B, target.B)
    )


def find_quaternion_start(skeleton: Skeleton, row: int) -> int:
    """Find the first column of a joint's quaternion in q."""
    lists = skeleton.joint_lists
    return lists.q_starts[row] + (3 if lists.kinds[row] == _FREE else 0)


class LocalTurns(NamedTuple):
    """Rotations between a joint and its parent.

    at_rest  (n, 4) of the joints at rest
    behind   (n, 4) of what is fixed behind their motion
    """

    at_rest: Floats
    behind: Floats


def find_local_turns(skeleton: Skeleton) -> LocalTurns:
    """Find the rotations between joints and their parents, cached."""

    def compute() -> LocalTurns:
        behind = rotations.from_matrix(rotations.rotation_part(skeleton.B[:, :, :3]))
        return LocalTurns(split_local_transforms(skeleton, skeleton.rest_q).rotation, behind)

    return get_or_compute(skeleton, "local turns", None, compute)


def is_limb(role: str) -> bool:
    """Return whether a role is part of an arm or leg."""
    return split_role(role)[1] in ("UpperArm", "LowerArm", "UpperLeg", "LowerLeg")
