"""Gaze: neck, spine and pelvis of a looking figure.

The engine shares a rotation by fixed weights, so a head that looks behind turns by a quarter and the chest stays.
People turn about the long axis of the trunk first and nod then; the neck begins, the spine follows, the pelvis last. So
the heading is taken by twists, what is left by the smallest rotation.

A number x says how far the ranges are used: the neck turns by x of its range, the spine by x^2, the pelvis of a figure
that stands on both feet by x^3, and beyond all ranges each by x. The ranges are those of model/anatomy/joint_limits.py
(AAOS): neck and head together 60 degrees, spine 45, pelvis 45 as hips turn; for the smallest rotation neck and head 45,
spine 25. Joints of one group turn alike.

Answers are continuous in the target but straight behind, where the side changes. Targets and gazes along the axis of
the trunk have no heading; near them less of it is twisted.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import cross, dot_rows
from poise.model.anatomy.joint_limits import MOTION_RANGES
from poise.model.anatomy.rest_geometry import find_confident_joints, find_trunk_rows
from poise.model.anatomy.standing_pose import compute_standing_rotations, find_standing_frame
from poise.model.limits import is_soft
from poise.model.pose import Pose
from poise.model.roles.role_search import find_joint_roles
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Goal, LookAt
from poise.problem.problem import Problem
from poise.runtime.result_cache import get_or_compute

_NOD_PASSES = 3  # the head moves as the spine turns; what the last one leaves is for the engine
_NEWTON_STEPS = 8
# Sine of the angle to the trunk's axis: the heading of steeper directions counts not at all, of more level ones fully.
_NO_HEADING_SINE, _FULL_HEADING_SINE = 0.1, 0.5


class TrunkGroups(NamedTuple):
    """Groups of balls in a trunk: neck with head, and spine. Rows from the lowest on."""

    neck: tuple[int, ...]
    spine: tuple[int, ...]
    head: int


class GazeChain(NamedTuple):
    """What turns for a LookAt.

    joint, axis, offset  the row that looks, its ray and where that begins, in its own frame
    groups               rows of neck, spine and pelvis; empty where a group does not turn
    resets               rows that begin where they were before all solves
    """

    joint: int
    axis: Floats
    offset: Floats
    groups: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    resets: tuple[int, ...]


def find_trunk_groups(skeleton: Skeleton) -> TrunkGroups | None:
    """Find what turns for the head of a figure. None where neck or spine are not known."""
    return get_or_compute(skeleton, "trunk groups", None, lambda: _find_trunk_groups(skeleton))


def _find_trunk_groups(skeleton: Skeleton) -> TrunkGroups | None:
    spine, neck = find_trunk_rows(skeleton, find_confident_joints(find_joint_roles(skeleton)))
    groups = [tuple(row for row in rows if skeleton.kinds[row] == Kind.BALL) for rows in (neck, spine)]
    return TrunkGroups(groups[0], groups[1], neck[-1]) if groups[0] and groups[1] else None


def share_gazes(skeleton: Skeleton, goals: tuple[Goal, ...]) -> tuple[Goal, ...]:
    """Let spine, neck and head turn for looking heads."""
    if not any(isinstance(goal, LookAt) and goal.over is None for goal in goals):
        return goals
    groups = find_trunk_groups(skeleton)
    if groups is None:
        return goals
    shares = _find_shares(groups)
    names = {skeleton.names[row]: share for row, share in shares.items()}

    def share(goal: Goal) -> Goal:
        if not isinstance(goal, LookAt) or goal.over is not None or skeleton.index(goal.joint) != groups.head:
            return goal
        axis = None if goal.looks[1] else goal.axis
        return LookAt(
            goal.joint, goal.target, axis=axis, over=names, offset=goal.offset, weight=goal.weight,
            optional=goal.optional,
        )  # fmt: skip

    return tuple(share(goal) for goal in goals)


def _find_shares(groups: TrunkGroups) -> dict[int, float]:
    """Find the joints' shares of the engine's turn. They are ranges in degrees."""
    neck, spine = (min(motion.degrees for motion in MOTION_RANGES[part].twist) for part in ("neck", "spine"))
    of_spine = dict.fromkeys(groups.spine, spine / len(groups.spine))
    return of_spine | dict.fromkeys(groups.neck, neck / len(groups.neck))


def build_gaze_chain(problem: Problem, goal: LookAt, *, has_other_goals: bool, pelvis: int | None) -> GazeChain | None:
    """Build the chain of a looking head. None where its goal says itself what turns.

    has_other_goals  whether hands or the trunk have goals, too
    pelvis           row of a free pelvis that stands on its feet
    """
    skeleton, groups = problem.skeleton, find_trunk_groups(problem.skeleton)
    if groups is None or skeleton.index(goal.joint) != groups.head:
        return None
    rows = (*groups.spine, *groups.neck)
    if goal.over is None or goal.shares(skeleton) != _find_shares(groups):
        return None
    if any(is_soft(skeleton.limits[row]) for row in rows):
        return None
    # What hands and trunk have turned is not to be undone, and in a row of frames not to be added to.
    spine = () if has_other_goals and problem.origin is not None else groups.spine
    resets = groups.neck if has_other_goals else rows
    axis = np.array(goal.sight(skeleton).axis)
    turning = groups.neck, spine, () if pelvis is None else (pelvis,)
    return GazeChain(groups.head, axis, np.array(goal.offset), turning, resets)


def turn_gaze(chain: GazeChain, problem: Problem, pose: Pose, targets: Floats) -> Floats:
    """Turn poses to look at targets (k, 3); return (k, nq)."""
    skeleton, count = problem.skeleton, len(targets)
    q = np.array(np.broadcast_to(pose.flat_q, (count, skeleton.nq)), order="C")
    origin = problem.start if problem.origin is None else problem.origin
    for row in chain.resets:
        columns = slice(int(skeleton.q_start[row]), int(skeleton.q_start[row]) + Kind.BALL.nq)
        q[:, columns] = origin.flat_q[:, columns]
    twists, nods = _find_ranges(*(len(rows) > 0 for rows in chain.groups))
    pose = problem.make_pose_unchecked(q.copy())
    neck, spine, pelvis = _share_angle(_measure_heading(chain, pose, targets), twists)
    if chain.groups[2]:
        vertical = np.broadcast_to(find_standing_frame(skeleton).up, (count, 3))
        _turn_joints(pose, q, (chain.groups[2], vertical * pelvis[:, None]))
        pose = problem.make_pose_unchecked(q.copy())
    axis = _find_trunk_axis(chain, pose)
    _turn_joints(pose, q, (chain.groups[1], axis * spine[:, None]), (chain.groups[0], axis * neck[:, None]))
    for _ in range(_NOD_PASSES):
        pose = problem.make_pose_unchecked(q.copy())
        gaze, wanted = _find_directions(chain, pose, targets)
        rest = rotations.as_vector(rotations.rotation_between(gaze, wanted))
        angle = _norms(rest)
        axis = rest / np.where(angle > 0.0, angle, 1.0)[:, None]
        neck, spine, _ = _share_angle(angle, nods)
        _turn_joints(pose, q, (chain.groups[1], axis * spine[:, None]), (chain.groups[0], axis * neck[:, None]))
    return skeleton.bounds.clamp_by_kernel(q) if any(limit is not None for limit in skeleton.limits) else q


@lru_cache
def _find_ranges(turns_neck: bool, turns_spine: bool, turns_pelvis: bool) -> tuple[Floats, Floats]:
    """Return ranges [rad] of neck, spine and pelvis. There is one for twists and one for all other rotations."""
    neck, spine, hips = (MOTION_RANGES[part] for part in ("neck", "spine", "UpperLeg"))
    turns = np.array([turns_neck, turns_spine, turns_pelvis])
    twists = [min(motion.degrees for motion in part.twist) for part in (neck, spine, hips)]
    nods = [min(motion.degrees for motion in (*part.flexion, *part.abduction)) for part in (neck, spine)]
    ranges = np.radians(twists) * turns, np.radians([*nods, 0.0]) * turns
    for values in ranges:
        values.setflags(write=False)
    return ranges


def _share_angle(angles: Floats, ranges: Floats) -> tuple[Floats, Floats, Floats]:
    """Share angles (k,) by the ranges of neck, spine and pelvis."""
    size, (neck, spine, pelvis) = np.abs(angles), ranges
    x = np.minimum(size / neck, 1.0)
    for _ in range(_NEWTON_STEPS):  # from above, down the sides of a convex function
        excess = x * (neck + x * (spine + x * pelvis)) - size
        if not (excess > 0.0).any():
            break
        x = x - np.maximum(excess, 0.0) / (neck + x * (2.0 * spine + 3.0 * x * pelvis))
    beyond = size / (neck + spine + pelvis)
    x, sign = np.maximum(x, beyond), np.sign(angles)
    is_inside = beyond <= 1.0
    square, cube = np.where(is_inside, x * x, x), np.where(is_inside, x * x * x, x)
    return sign * (size - spine * square - pelvis * cube), sign * spine * square, sign * pelvis * cube


def _measure_heading(chain: GazeChain, pose: Pose, targets: Floats) -> Floats:
    """Measure the angle (k,) from gaze to target about the trunk."""
    axis = _find_trunk_axis(chain, pose)
    gaze, wanted = _find_directions(chain, pose, targets)
    gaze, wanted = (way - axis * dot_rows(way, axis)[:, None] for way in (gaze, wanted))
    angle = np.arctan2(dot_rows(axis, cross(gaze, wanted)), dot_rows(gaze, wanted))
    shares = [(_norms(way) - _NO_HEADING_SINE) / (_FULL_HEADING_SINE - _NO_HEADING_SINE) for way in (gaze, wanted)]
    first, second = (np.clip(share, 0.0, 1.0) for share in shares)
    return angle * (first * first * (3.0 - 2.0 * first)) * (second * second * (3.0 - 2.0 * second))


def _find_trunk_axis(chain: GazeChain, pose: Pose) -> Floats:
    """Find the world direction (k, 3) of the trunk. It is upward at rest, and carried along with the neck."""
    skeleton = pose.skeleton
    carrier = int(skeleton.parents[chain.groups[0][0]])
    turn = pose.world.rotations.reshape(-1, len(skeleton), 4)[:, carrier]
    up = find_standing_frame(skeleton).up @ compute_standing_rotations(skeleton)[carrier]
    return rotations.rotate(turn, np.broadcast_to(up, (len(turn), 3)))


def _find_directions(chain: GazeChain, pose: Pose, targets: Floats) -> tuple[Floats, Floats]:
    """Find unit vectors (k, 3) of gaze and target."""
    maps = pose.world.affine.reshape(-1, len(pose.skeleton), 3, 4)[:, chain.joint]
    gaze, offset = (maps[..., 0] * v[0] + maps[..., 1] * v[1] + maps[..., 2] * v[2] for v in (chain.axis, chain.offset))
    ways = (gaze, targets - maps[..., 3] - offset)
    lengths = [_norms(way)[:, None] for way in ways]
    first, second = (way / np.where(size > 0.0, size, 1.0) for way, size in zip(ways, lengths, strict=True))
    return first, np.where(lengths[1] > 0.0, second, first)


def _turn_joints(pose: Pose, q: Floats, *groups: tuple[tuple[int, ...], Floats]) -> None:
    """Turn groups of joints of q (k, nq) about world axes. A group shares a rotation vector (k, 3).

    All vectors have one axis, so the order of the joints does not matter. The joints are where the pose has them.
    """
    skeleton, rows = pose.skeleton, [row for group_rows, _ in groups for row in group_rows]
    if not rows:
        return
    vectors = np.stack([shared / len(group_rows) for group_rows, shared in groups for _ in group_rows], axis=1)
    ends = skeleton.q_start[rows] + [Kind(kind).nq for kind in skeleton.kinds[rows].tolist()]
    columns = ends[:, None] + np.arange(-Kind.BALL.nq, 0)
    turns, parents = pose.world.rotations.reshape(-1, len(skeleton), 4), skeleton.parents[rows]
    frames, has_parent = np.repeat(skeleton.A[None, rows, 3:], len(q), axis=0), parents >= 0
    frames[:, has_parent] = rotations.multiply(turns[:, parents[has_parent]], frames[:, has_parent])
    local = rotations.rotate(rotations.inverse(frames), vectors)
    q[:, columns] = rotations.multiply(rotations.from_vector(local), q[:, columns])


def _norms(a: Floats) -> Floats:
    return np.sqrt(dot_rows(a, a))
