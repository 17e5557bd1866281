"""Anatomical joint axes of a character, such as the knee's flexion axis.

`axes_of(skeleton)` gives a `JointAxes` for each joint that surely has a role, and for every joint of spine and neck.
All of it comes from where joints are at rest, not from how their frames are turned: bones may be rolled in any way.

    axes_of(skeleton)                       in the world at rest
    one.seen_from(own_frame(s, one.row))    in the joint's own rest frame, in which limits and q are given
    one.seen_from(parent_frame(s, one.row)) in the frame of what carries the limb: the pelvis of a thigh, the thigh of a
                                            shin. A pose turns these along: world = parent's rotation @ axis

The anatomical zero pose is that of goniometry: standing, legs straight down, arms hanging, palms to the thighs, head
up. A rest pose is seldom that. Thighs and upper arms are measured from straight down, as the trunk stands; knees and
elbows from the line of the bone above; feet from a sole square to the shin. Trunk, neck, head, collar bones, hands and
toes have curves of their own in every rig, so that their rest is their zero.

    knee = axes_of(skeleton)[poise.humanoid(rig).joints["leftLowerLeg"]]
    backward = np.cross(knee.bend, knee.bone)  # where the foot goes when the knee bends, in the world at rest
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

_RISES = 0.3  # cosine: a bone of the trunk that rises less is none


def sure_joints(roles: Roles) -> dict[str, str]:
    """Map confident roles to joint names. Confident means a confidence of 0.8 or more.

    A foot that hangs apart from its leg, as bones for IK do, stands under "leftFoot apart": the shin ends there.
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
        Roles to joint names, both thighs and both upper arms among them; by default those that are sure.

    Raises
    ------
    InputError
        Where thighs or upper arms are not known, and where the rest pose is no pose of a figure.
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
    """Compute a joint's rest frame in the world, a rotation (3, 3). Limits and q are given in this frame."""
    return rest_turns(skeleton)[row]


def parent_frame(skeleton: Skeleton, row: int) -> Floats:
    """Compute the rest frame of a joint's parent, a rotation (3, 3). For a root it is the identity."""
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
        if bone is None or float(bone @ figure.up) < _RISES:  # below a head hang hair, eyes, a jaw or nothing
            bone = figure.up
        name = skeleton.names[row]
        place = JointName(name, row, roles.get(name, ""), "spine" if number < len(spine) else "neck", 1.0)
        found.append(joint_axes(place, figure, bone, bone, figure.forward, figure.left, "the figure's front"))
    return found
