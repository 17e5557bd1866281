"""Gaze: neck, spine and pelvis of a looking figure.

The engine shares a rotation by fixed weights, so a head that looks behind turns by a quarter and the chest stays.
People turn about the long axis of the trunk first and nod then; the neck begins, the spine follows, the pelvis last. So
the heading is taken by twists, what is left by the smallest rotation.

kernels/posture_gaze.py shares each turn by the ranges of the joints. These are those of model/anatomy/joint_limits.py
(AAOS): neck and head together 60 degrees, spine 45, pelvis 45 as hips turn; for the smallest rotation neck and head 45,
spine 25. Joints of one group turn alike.

Answers are continuous in the target but straight behind, where the side changes. Targets and gazes along the axis of
the trunk have no heading; near them less of it is twisted.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.maths.arrays import Floats, Ints, prepare_for_kernel
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


class TrunkGroups(NamedTuple):
    """Groups of balls in a trunk: neck with head, and spine. Rows from the lowest on."""

    neck: tuple[int, ...]
    spine: tuple[int, ...]
    head: int


class GazeChain(NamedTuple):
    """Rows of the joints of a gaze.

    rows                       of all that turns; pelvis and spine are left out where they do not
    pelvis_count, spine_count  how many of them are these; the others are the neck
    carrier                    the row that carries the neck
    parents, frames            see kernels/posture_gaze.py
    q_columns                  see there
    numbers, ranges            see there
    resets                     rows that begin where they were before all solves
    """

    rows: Ints
    pelvis_count: int
    spine_count: int
    carrier: int
    parents: Ints
    frames: Floats
    q_columns: Ints
    numbers: Floats
    ranges: Floats
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
    pelvises = () if pelvis is None else (pelvis,)
    turning = np.array([*pelvises, *spine, *groups.neck])
    carrier = int(skeleton.parents[groups.neck[0]])
    up = find_standing_frame(skeleton).up
    ends = skeleton.q_start[turning] + [Kind(kind).nq for kind in skeleton.kinds[turning].tolist()]
    return GazeChain(
        turning, len(pelvises), len(spine), carrier, skeleton.parents[turning], skeleton.A[turning, 3:],
        ends - Kind.BALL.nq,
        np.concatenate([
            goal.sight(skeleton).axis, goal.offset, up @ compute_standing_rotations(skeleton)[carrier], up,
        ]),
        _find_ranges(turns_spine=len(spine) > 0, turns_pelvis=pelvis is not None), resets,
    )  # fmt: skip


def turn_gaze(chain: GazeChain, problem: Problem, pose: Pose, targets: Floats) -> Floats:
    """Turn poses to look at targets (k, 3); return (k, nq)."""
    skeleton, count = problem.skeleton, len(targets)
    q = np.array(np.broadcast_to(pose.flat_q, (count, skeleton.nq)), order="C")
    origin = problem.start if problem.origin is None else problem.origin
    for row in chain.resets:
        columns = slice(int(skeleton.q_start[row]), int(skeleton.q_start[row]) + Kind.BALL.nq)
        q[:, columns] = origin.flat_q[:, columns]
    maps = problem.make_pose_unchecked(q.copy()).world.affine.reshape(count, -1)
    kernels.posture_gaze.turn_gazes(
        prepare_for_kernel(maps), chain.rows, chain.parents, chain.frames, chain.q_columns, chain.carrier,
        chain.pelvis_count, chain.spine_count, chain.numbers, chain.ranges, prepare_for_kernel(targets), q,
        np.empty((len(chain.rows), kernels.posture_gaze.TURNED_COLUMNS)),
    )  # fmt: skip
    return skeleton.bounds.clamp_by_kernel(q) if any(limit is not None for limit in skeleton.limits) else q


@lru_cache
def _find_ranges(*, turns_spine: bool, turns_pelvis: bool) -> Floats:
    """Return ranges (GAZE_RANGE_COUNT,) of neck, spine and pelvis [rad]."""
    neck, spine, hips = (MOTION_RANGES[part] for part in ("neck", "spine", "UpperLeg"))
    turns = np.array([1.0, turns_spine, turns_pelvis])
    twists = [min(motion.degrees for motion in part.twist) for part in (neck, spine, hips)]
    nods = [min(motion.degrees for motion in (*part.flexion, *part.abduction)) for part in (neck, spine)]
    ranges = np.radians([*(twists * turns), *([*nods, 0.0] * turns)])
    ranges.setflags(write=False)
    return ranges
