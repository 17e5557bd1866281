"""Motion of an idle figure: it breathes and shifts its weight.

    start pose + sway of hips, trunk and head -> legs, and an arm that is held, solved for their old places -> q

The motion is a function of time alone. It begins at rest, so that no pose jumps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.anatomy.rest_geometry import find_body_frame
from poise.model.pose import Pose
from poise.model.roles.bone_names import SIDES
from poise.model.skeleton import find_free_root
from poise.problem.goals import Goal, Place, Position
from poise.solving.solve import Prepared, prepare
from poise.viewer.body_parts import FOOT_ROLES, has_whole_body
from poise.viewer.document.document import Document
from poise.viewer.document.pulls import find_pulled

_BEGIN_S = 2.5  # [s] until the motion has its whole size
_BREATH_S, _SHIFT_S, _LOOK_S = 3.7, 8.3, 13.1  # [s] periods; no two fit, so that the motion hardly repeats
_REST_SHARPNESS = 1.8  # of a shift: the weight rests on one leg, then on the other
_SIDE_RATIO, _AHEAD_RATIO, _DROP_RATIO = 0.035, 0.006, 0.008  # way of the hips, as fractions of a leg
_ROLL_RAD, _TURN_RAD = math.radians(2.2), math.radians(1.5)  # of the hips, towards the free leg
_CHEST_RAD, _SHOULDER_RAD, _ARM_RAD = math.radians(1.1), math.radians(1.6), math.radians(0.9)  # of a breath
_HEAD_RAD, _NOD_RAD = math.radians(5.0), math.radians(1.2)


def can_idle(document: Document) -> bool:
    """Return whether the figure of a document may move by itself.

    It stands on its feet, and no part of its trunk is held.
    """
    if not document.idles or document.scope != "body" or document.clip_name is not None or document.is_driven:
        return False
    if document.pace != "live" or document.view_count != 1 or not has_whole_body(document.rig):
        return False
    pulled = find_pulled(document)
    return find_free_root(document.solver_skeleton) is not None and (
        pulled is None or _find_arm(document, pulled.tip) is not None
    )


class IdleMotion:
    """Motion of a figure about a pose. Its feet stay, and so does a held hand."""

    def __init__(self, document: Document, pose: Pose) -> None:
        self._pose = pose
        joints = document.rig.roles.joints
        skeleton = pose.skeleton
        frame = find_body_frame(skeleton)
        root = find_free_root(skeleton)
        assert root is not None  # see can_idle
        self._root = skeleton.q_slice(skeleton.names[root]).start
        self._axes = {"up": frame.up, "left": frame.left, "ahead": frame.forward}
        self._joints = joints
        hips, foot = pose.world[joints["hips"]].positions, pose.world[joints[FOOT_ROLES[0]]].positions
        self._leg_length = float((hips - foot) @ frame.up)
        goals = _build_held_goals(document, pose)
        self._targets = [goal.rows() for goal in goals]
        self._prepared: Prepared = prepare(pose, goals, solver="levenberg_marquardt")

    def compute_q(self, time_s: float) -> Floats:
        """Compute q (nq,) at a time since the beginning."""
        size = min(time_s / _BEGIN_S, 1.0)
        size = size * size * (3.0 - 2.0 * size)
        breath = size * (1.0 - math.cos(2.0 * math.pi * time_s / _BREATH_S)) / 2.0
        swing = math.sin(2.0 * math.pi * time_s / _SHIFT_S)
        shift = size * math.tanh(_REST_SHARPNESS * swing) / math.tanh(_REST_SHARPNESS)
        look = size * math.sin(2.0 * math.pi * time_s / _LOOK_S)
        q = self._turn_joints(breath, shift, look)
        way = self._leg_length * (
            _SIDE_RATIO * shift * self._axes["left"]
            + _AHEAD_RATIO * look * self._axes["ahead"]
            - _DROP_RATIO * size * (1.0 - 0.4 * breath) * self._axes["up"]
        )
        q[self._root : self._root + 3] += way
        return self._prepared(self._targets if len(self._targets) > 1 else self._targets[0], q).q

    def _turn_joints(self, breath: float, shift: float, look: float) -> Floats:
        """Turn trunk, head and arms about the axes of the body. Return q."""
        turns = [
            ("hips", "ahead", -_ROLL_RAD * shift),
            ("hips", "up", _TURN_RAD * shift),
            ("spine", "ahead", 1.6 * _ROLL_RAD * shift),
            ("spine", "up", -_TURN_RAD * shift),
            ("chest", "left", -_CHEST_RAD * breath),
            ("neck", "left", _CHEST_RAD * breath),
            ("head", "up", _HEAD_RAD * look),
            ("head", "left", _NOD_RAD * breath),
        ]
        for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
            turns += [
                (f"{side}Shoulder", "ahead", sign * _SHOULDER_RAD * breath),
                (f"{side}UpperArm", "ahead", sign * _ARM_RAD * breath - _ROLL_RAD * shift / 2.0),
                (f"{side}LowerArm", "left", -_ARM_RAD * breath),
            ]
        q = self._pose.q.copy()
        skeleton = self._pose.skeleton
        for role, axis, angle in turns:
            if role in self._joints:
                joint = self._joints[role]
                rows = skeleton.q_slice(joint)
                turn = slice(rows.stop - 4, rows.stop)  # a free joint has its position before it
                q[turn] = rotations.multiply(q[turn], self._build_local_turn(joint, axis, angle))
        return q

    def _build_local_turn(self, joint: str, axis: str, angle: float) -> Floats:
        """Build a joint's turn about an axis of the body."""
        own_axis = rotations.rotate(rotations.inverse(self._pose.world[joint].rotations), self._axes[axis])
        return rotations.about(own_axis, angle)


def _build_held_goals(document: Document, pose: Pose) -> list[Goal]:
    """Build goals for both feet and the held hand."""
    joints = document.rig.roles.joints
    goals: list[Goal] = []
    for side, foot in zip(SIDES, FOOT_ROLES, strict=True):
        place = pose.world[joints[foot]]
        goals.append(Place(joints[foot], place.positions, place.rotations, root=joints[f"{side}UpperLeg"]))
    pulled = find_pulled(document)
    arm = None if pulled is None else _find_arm(document, pulled.tip)
    if pulled is not None and arm is not None:
        transform = pose.world[pulled.tip]
        point = transform.affine[:, :3] @ np.array(pulled.offset) + transform.affine[:, 3]
        goals.append(Position(pulled.tip, point, root=arm, offset=pulled.offset))
    return goals


def _find_arm(document: Document, joint: str) -> str | None:
    """Find the upper arm above a joint, or None."""
    joints = document.rig.roles.joints
    above = document.skeleton.ancestors(joint)
    return next((arm for side in SIDES if (arm := joints.get(f"{side}UpperArm")) in above), None)


class IdleFigure(NamedTuple):
    """Idle motion of a document and its time. `q` (nq,) is the pose shown last."""

    document: Document
    motion: IdleMotion
    q: Floats
    time_s: float = 0.0

    def advance(self, time_step: float) -> IdleFigure:
        """Move on by a time step [s]."""
        time_s = self.time_s + time_step
        return self._replace(time_s=time_s, q=self.motion.compute_q(time_s))


def resume_idle(idle: IdleFigure | None, document: Document, pose: Pose) -> IdleFigure:
    """Return the idle motion of a pose. It begins anew after any other change of the pose."""
    if idle is not None and idle.document is document and np.array_equal(idle.q, pose.q):
        return idle
    return IdleFigure(document, IdleMotion(document, pose), pose.q)
