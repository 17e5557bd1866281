"""Roll of hands, shared by wrist, forearm and upper arm.

The formulas are in kernels/posture_roll.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.kernels import layout
from poise.maths import rotations
from poise.maths.arrays import Floats, prepare_for_kernel
from poise.maths.vectors import normalise
from poise.model.anatomy.roll_bones import RollBone, find_roll_bones
from poise.model.anatomy.standing_pose import compute_standing_transforms
from poise.model.limits import find_hinge_axis
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Near, is_joint_goal
from poise.problem.problem import Problem
from poise.solvers.natural.limbs import RoleLimb

_MAX_SHEAR = 1e-5  # of a joint's frame: files in single precision are within 2e-6, and further directions would be lost
_WRIST_SHARE = 0.5  # of the whole roll, at most


class RollPlan(NamedTuple):
    """Numbers of an arm for kernels/posture_roll.py.

    rows     (n,) rows of the joints on the way from the upper arm to the hand
    joints   (n, ROLL_JOINT_ROW)
    arm      (ROLL_ARM_ROW,)
    leaves   (l, ROLL_LEAF_ROW)
    offsets  (1, 3 n) translations of the joints, where a pose has none of its own
    """

    rows: tuple[int, ...]
    joints: Floats
    arm: Floats
    leaves: Floats
    offsets: Floats


class PosedRoll(NamedTuple):
    """An arm in its start poses: arguments of kernels/posture_roll.py in order."""

    joints: Floats
    arm: Floats
    leaves: Floats
    offsets: Floats
    start_q: Floats


def pose_rolls(plans: Iterable[RollPlan | None], start: Pose) -> tuple[PosedRoll, ...]:
    """Pose the arms of roll plans. There are none where no plan is."""
    arms = [plan for plan in plans if plan is not None]
    if not arms:
        return ()
    start_q = prepare_for_kernel(start.flat_q)
    return tuple(
        [PosedRoll(arm.joints, arm.arm, arm.leaves, _find_offsets(arm, start.translations), start_q) for arm in arms]
    )


def share_rolls(rolls: Iterable[PosedRoll], q: Floats) -> None:
    """Share the roll of hands in answers q (k, nq), in place."""
    share = kernels.posture_roll.share_roll
    for roll in rolls:
        share(*roll, q)


def _find_offsets(plan: RollPlan, translations: Floats | None) -> Floats:
    if translations is None:
        return plan.offsets
    own = translations.reshape(-1, *translations.shape[-2:])[:, list(plan.rows)]
    return prepare_for_kernel(own.reshape(len(own), -1))


def build_roll_plan(problem: Problem, limb: RoleLimb, *, has_pole: bool) -> RollPlan | None:
    """Build the plan of an arm with a Place goal. None where its joints forbid to roll.

    The hand must be a ball without limits, the forearm such a ball or one that a `Range` makes a hinge, and no `Near`
    may say how they turn. An upper arm with a limit takes no roll, and neither does a roll bone with one. An arm with a
    Pole does not swivel.
    """
    skeleton, held = problem.skeleton, _find_held_rows(problem)
    path = skeleton.list_path(limb.tip)
    rows = path[path.index(limb.first) :]
    elbow = rows.index(limb.middle)
    free = {row for row in rows if _is_free_ball(skeleton, row) and row not in held}
    bones = find_roll_bones(skeleton)
    known = {limb.first, limb.middle, limb.tip, *[bone.row for bone in bones]}
    has_others = any(row not in known and skeleton.kinds[row] != Kind.FIXED for row in rows)
    is_hinge = find_hinge_axis(skeleton.limits[limb.middle]) is not None and skeleton.kinds[limb.middle] == Kind.BALL
    if has_others or limb.tip not in free or not (limb.middle in free or (is_hinge and limb.middle not in held)):
        return None
    joints = np.zeros((len(rows), layout.ROLL_JOINT_ROW))
    if not all(_pack_joint(joint, skeleton, row) for joint, row in zip(joints, rows, strict=True)):
        return None
    in_line = [bone for bone in bones if bone.row in free]
    _share_bones(joints, rows, limb.first, in_line)
    last_fraction = _share_bones(joints, rows, limb.middle, in_line)
    wrist_share = min(1.0 - last_fraction, _WRIST_SHARE)
    arm = _pack_arm(skeleton, limb, rows, elbow, wrist_share)
    arm[layout.ROLL_ARM_HAS_UPPER] = limb.first in free and not is_hinge
    arm[layout.ROLL_ARM_ELBOW_ROLLS] = not is_hinge
    arm[layout.ROLL_ARM_SWIVELS] = is_hinge and not last_fraction > 0.0
    if arm[layout.ROLL_ARM_SWIVELS] and (has_pole or limb.first not in free):
        return None
    taken = held | _find_goal_rows(problem)
    leaves = [
        _pack_leaf(skeleton, bone, limb)
        for bone in bones
        if bone.is_leaf and bone.upper in (limb.first, limb.middle)
        if _is_free_ball(skeleton, bone.row) and bone.row not in taken
    ]
    table = np.array(leaves).reshape(-1, layout.ROLL_LEAF_ROW)
    return RollPlan(tuple(rows), joints, arm, table, skeleton.A[rows, :3].reshape(1, -1).copy())


def _find_held_rows(problem: Problem) -> set[int]:
    goals = [goal for goal in problem.goals if isinstance(goal, Near)]
    return {row for goal in goals for row in goal.weights(problem.skeleton)}


def _find_goal_rows(problem: Problem) -> set[int]:
    return {problem.skeleton.index(goal.joint) for goal in problem.goals if is_joint_goal(goal)}


def _is_free_ball(skeleton: Skeleton, row: int) -> bool:
    return bool(skeleton.kinds[row] == Kind.BALL) and skeleton.limits[row] is None


def _pack_joint(joint: Floats, skeleton: Skeleton, row: int) -> bool:
    """Pack the frames of a joint. Return False where they are not rotations."""
    column = skeleton.joint_lists.q_starts[row] if skeleton.kinds[row] == Kind.BALL else -1
    after = skeleton.B[row, :, :3]
    if np.abs(after @ after.T - np.eye(3)).max() > _MAX_SHEAR:
        return False
    joint[layout.ROLL_JOINT_Q] = column
    joint[layout.ROLL_JOINT_BEFORE : layout.ROLL_JOINT_BEFORE + 4] = skeleton.A[row, 3:]
    joint[layout.ROLL_JOINT_OFFSET : layout.ROLL_JOINT_OFFSET + 3] = skeleton.B[row, :, 3]
    joint[layout.ROLL_JOINT_AFTER : layout.ROLL_JOINT_AFTER + 4] = rotations.from_matrix(after)
    return True


def _share_bones(joints: Floats, rows: list[int], upper: int, bones: list[RollBone]) -> float:
    """Write the shares of a bone's roll bones, linear along it. Return where the last one stands, 0 for none."""
    bones = [bone for bone in bones if bone.upper == upper and not bone.is_leaf]
    last = max([bone.fraction for bone in bones], default=0.0)
    if not last > 0.0:
        return 0.0
    begun = 0.0
    for bone in sorted(bones, key=lambda bone: rows.index(bone.row)):
        joints[rows.index(bone.row), layout.ROLL_JOINT_SHARE] = max(bone.fraction - begun, 0.0) / last
        begun = max(bone.fraction, begun)
    return last


def _pack_arm(skeleton: Skeleton, limb: RoleLimb, rows: list[int], elbow: int, wrist_share: float) -> Floats:
    arm = np.zeros(layout.ROLL_ARM_ROW)
    arm[layout.ROLL_ARM_ELBOW], arm[layout.ROLL_ARM_WRIST_SHARE] = elbow, wrist_share
    upper, forearm = (_find_line(skeleton, limb.middle, *pair) for pair in (limb[2:4], limb[3:5]))
    arm[layout.ROLL_ARM_UPPER_LINE : layout.ROLL_ARM_UPPER_LINE + 3] = upper
    arm[layout.ROLL_ARM_BEND : layout.ROLL_ARM_BEND + 4] = rotations.rotation_between(upper, forearm)
    arm[layout.ROLL_ARM_LINE : layout.ROLL_ARM_LINE + 3] = _find_line(skeleton, limb.tip, rows[-2], limb.tip)
    return arm


def _find_line(skeleton: Skeleton, row: int, start: int, end: int) -> Floats:
    """Find the unit vector (3,) between two joints at rest."""
    maps = compute_standing_transforms(skeleton)[[row, start, end]]
    after = np.tile(np.eye(4), (3, 1, 1))
    after[:, :3] = skeleton.B[[row, start, end]]
    frames = maps @ np.linalg.inv(after)
    linear, line = frames[0, :3, :3], frames[2, :3, 3] - frames[1, :3, 3]
    sign = np.copysign(1.0, np.linalg.det(linear))  # the nearest rotation drops a mirror, and the line keeps it
    return normalise(sign * (rotations.rotation_part(linear).T @ line))


def _pack_leaf(skeleton: Skeleton, bone: RollBone, limb: RoleLimb) -> Floats:
    leaf = np.zeros(layout.ROLL_LEAF_ROW)
    is_forearm = bone.upper == limb.middle
    leaf[layout.ROLL_LEAF_Q] = skeleton.joint_lists.q_starts[bone.row]
    leaf[layout.ROLL_LEAF_LINE : layout.ROLL_LEAF_LINE + 3] = _find_line(skeleton, bone.row, bone.upper, bone.end)
    leaf[layout.ROLL_LEAF_WRIST_SHARE] = bone.fraction if is_forearm else 0.0
    leaf[layout.ROLL_LEAF_UPPER_SHARE] = 0.0 if is_forearm else bone.fraction - 1.0
    return leaf
