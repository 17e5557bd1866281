"""Anatomical joint axes of a character. An example is the knee's flexion axis.

`find_joint_axes(skeleton)` returns a `JointAxes` for each joint with a confident role and for all joints of spine and
neck. It depends on joint positions at rest only, not on joint frames: bones may be rolled in any way.

    find_joint_axes(skeleton)                         in the world at rest
    one.express_in(compute_joint_frame(s, one.row))   in the joint's own rest frame, the frame of limits and q
    one.express_in(compute_parent_frame(s, one.row))  in the parent's frame: the pelvis of a thigh, the thigh of a shin;
                                                      in a pose, world = parent's rotation @ axis

The anatomical zero pose is that of goniometry: standing, legs straight down, arms hanging, palms to the thighs, head
up. Few rest poses are like it. Thighs and upper arms are measured from straight down, in the trunk's direction; knees
and elbows from the line of the bone above; feet from a sole perpendicular to the shin. Trunk, neck, head, clavicles,
hands and toes have different curves in every rig, so their zero is their rest.

    knee = find_joint_axes(skeleton)[poise.humanoid(rig).joints["leftLowerLeg"]]
    backward = np.cross(knee.bend, knee.bone)  # motion of the foot when the knee bends, in the world at rest
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from poise.maths.arrays import Floats
from poise.maths.remember import remember
from poise.model.anatomy.bones import APART, trunk_bone, trunk_rows
from poise.model.anatomy.joint_axes import JointAxes, JointName, joint_axes
from poise.model.anatomy.limbs import BodySide, arm, leg
from poise.model.anatomy.stance import Stance, rest_turns, stance_of
from poise.model.roles.lookup import SURE, roles_of
from poise.model.roles.roles import Roles
from poise.model.roles.vrm import SIDES
from poise.model.skeleton import Skeleton

# cosine: a trunk bone that rises less is replaced by the up direction
_RISES = 0.3


def sure_joints(roles: Roles) -> dict[str, str]:
    """Map confident roles to joint names. Confident means a confidence of 0.8 or more.

    A foot detached from its leg (an IK bone) has the key "leftFoot apart": the shin ends there.
    """
    sure = {role: joint for role, joint in roles.joints.items() if roles.confidence[role] >= SURE}
    return sure | {f"{leg.side}{APART}": leg.foot for leg in roles.apart}


def axes_of(skeleton: Skeleton, joints: Mapping[str, str] | None = None) -> dict[str, JointAxes]:
    """Find the anatomical axes of joints, by joint name. The result is cached per skeleton.

    Parameters
    ----------
    skeleton
        Its joints.
    joints
        Roles to joint names, both thighs and both upper arms among them; by default the confident ones.

    Raises
    ------
    InputError
        For unknown thighs or upper arms, and for a rest pose without recognizable body directions.
    """
    known = sure_joints(roles_of(skeleton)) if joints is None else dict(joints)
    return remember(skeleton, "anatomical axes", tuple(known.items()), lambda: _axes(skeleton, known))


def stance(skeleton: Skeleton, joints: Mapping[str, str] | None = None) -> Stance:
    """Find the body frame of a character at rest.

    The result is cached; `joints` and errors are those of `find_joint_axes`.
    """
    known = sure_joints(roles_of(skeleton)) if joints is None else dict(joints)
    return remember(skeleton, "stance", tuple(known.items()), lambda: stance_of(skeleton, known))


def own_frame(skeleton: Skeleton, row: int) -> Floats:
    """Compute a joint's rest frame (3, 3) in the world. Limits and q are given in this frame."""
    return rest_turns(skeleton)[row]


def parent_frame(skeleton: Skeleton, row: int) -> Floats:
    """Compute the rest frame (3, 3) of a joint's parent. For a root it is the identity."""
    parent = int(skeleton.parents[row])
    return np.eye(3) if parent < 0 else rest_turns(skeleton)[parent]


def _axes(skeleton: Skeleton, joints: Mapping[str, str]) -> dict[str, JointAxes]:
    figure = stance(skeleton, joints)
    limbs = [BodySide(skeleton, joints, figure, side) for side in SIDES]
    found = [*_trunk(skeleton, joints, figure), *(one for limb in limbs for make in (arm, leg) for one in make(limb))]
    return {one.joint: one for one in found}


def _trunk(skeleton: Skeleton, joints: Mapping[str, str], figure: Stance) -> list[JointAxes]:
    """Compute the axes of all spine and neck joints. Joints without a role are included."""
    roles = {joint: role for role, joint in joints.items()}
    spine, neck = trunk_rows(skeleton, joints)
    rows = [*spine, *neck]
    found: list[JointAxes] = []
    for number, row in enumerate(rows):
        bone = trunk_bone(figure.points, rows, number)
        if bone is None or float(bone @ figure.up) < _RISES:  # below a head are hair, eyes, a jaw or nothing
            bone = figure.up
        name = skeleton.names[row]
        place = JointName(name, row, roles.get(name, ""), "spine" if number < len(spine) else "neck", 1.0)
        found.append(joint_axes(place, figure, bone, bone, figure.forward, figure.left, "the figure's front"))
    return found
