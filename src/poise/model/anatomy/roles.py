"""Roles of a character's joints, with human joint limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from poise.calls.old_names import make_alias
from poise.errors import InputError, join_names
from poise.formatting import format_fields
from poise.model.anatomy.joint_limits import JointLimit, compute_joint_limits
from poise.model.anatomy.rest_geometry import find_confident_joints, find_joint_axes
from poise.model.anatomy.roll_bones import find_roll_bones
from poise.model.clip import Clip
from poise.model.limits import Limit
from poise.model.roles.bone_names import REQUIRED_BONES
from poise.model.roles.role_search import MIN_CONFIDENCE, JointRoles
from poise.model.skeleton import Kind, Skeleton

_REQUIRED_ROLES = tuple(
    role for role in REQUIRED_BONES if role.endswith(("UpperLeg", "LowerLeg", "UpperArm", "LowerArm"))
)


@dataclass(frozen=True)
class Roles(JointRoles):
    """Roles of a character's joints, with human joint limits.

    `rig.roles` has those of a rig; `find_roles` finds those of a skeleton.

    Parameters
    ----------
    joints
        Roles (VRM 1.0 bone names: "hips", "leftUpperLeg") to joint names. Limbs are chains: thigh above shin above
        foot, upper arm above lower arm above hand.
    confidence
        Confidence of each role, 0 to 1: 1 where the sidecar or the file declares it, 0.9 for names of a known
        convention, 0.8 for clear names, less for names with unknown words and for roles from structure only.
    reasons
        A short clause for each role.
    legs
        The legs reaching the ground, each of them a chain.
    kind
        "humanoid" (two legs and two arms), "quadruped", "multi-legged" (six legs or more) or "other".
    missing
        The roles not found, of the 15 of every humanoid.
    left_out
        Rejected roles with the reason: 'Foot.L' is not below 'Shin.L', ...
    apart
        Legs with a detached foot elsewhere in the tree (IK bones). They are no chains and have no role for that foot;
        planting moves the foot and bends the leg to it.
    skeleton
        The skeleton of these joints. Not compared.
    clips
        The clips of the rig; they show the plane of bending of elbows and knees. Not compared.
    """

    __repr__ = format_fields

    skeleton: Skeleton = field(repr=False, compare=False, kw_only=True)
    clips: tuple[Clip, ...] = field(default=(), repr=False, compare=False, kw_only=True)

    def limits(self) -> dict[str, Limit]:
        """Build joint limits from published human ranges of motion.

        The result maps joint names to limits, as `Skeleton.with_limits` takes them.

        Returns
        -------
        dict
            A SwingTwist for each ball joint of arms, legs, spine, neck and head known with a confidence of 0.8 or
            more, joints without a role between hips and head included. Fingers, eyes, jaw and hips have none. A roll
            bone in the line of an arm or a leg has a Range about its line.

        Raises
        ------
        InputError
            Where thighs, shins, upper arms and forearms are not all known with confidence, for joints that are hinges
            (robots: their file gives the limits), and for a rest pose without recognizable body directions.

        Notes
        -----
        Ranges are those of the American Academy of Orthopaedic Surgeons (Joint Motion: Method of Measuring and
        Recording, 1965), which Norkin and White (Measurement of Joint Motion) give as reference values: hip 120
        flexion, 30 extension; knee 135; elbow 150; shoulder 180; and so on. Floyd (Manual of Structural Kinesiology),
        Kapandji (The Physiology of the Joints) and Levangie and Norkin (Joint Structure and Function) supply
        the rest. `docs/concepts/anatomical-limits.md` has all of them in one table.

        Ranges count from the anatomical zero pose (standing, arms hanging), found from joint positions at rest; a limit
        counts from rest, so the difference is subtracted. The rest pose is always legal. Knees and elbows are balls in
        most rigs: the limit bends them in one plane, shown by the rest pose or by the clips of the rig, with 5 degrees
        of play to both sides; elbows without a known plane have 25. Of n joints of the spine, or of neck and head, each
        may use 1.5 / n of the whole range. A joint more than 15 degrees outside in most frames of the rig's clips gets
        no limit: then the rest pose does not show the rotation of its bone. Of more than 20,000 frames of all clips
        that many are used, evenly spaced.
        """
        return {
            joint_limit.joint: joint_limit.limit
            for joint_limit in self.explain_limits()
            if joint_limit.limit is not None
        }

    def explain_limits(self) -> tuple[JointLimit, ...]:
        """Explain `limits()` joint by joint.

        Each entry has the role, the limit or None, and the reason with degrees and sources. It raises the same errors.
        """
        joints = find_confident_joints(self)
        missing = [role for role in _REQUIRED_ROLES if role not in joints]
        if missing:
            raise InputError(f"anatomical limits need known arms and legs: {self._describe_missing(missing)}")
        kinds = {Kind(int(self.skeleton.kinds[self.skeleton.index(joints[role])])) for role in _REQUIRED_ROLES}
        if not kinds & {Kind.BALL, Kind.FREE}:
            message = "anatomical limits need ball joints; this skeleton has hinges, as robots have"
            raise InputError(f"{message} them, and its file gives their ranges")
        axes = find_joint_axes(self.skeleton, joints).values()
        return compute_joint_limits(self.skeleton, axes, self.clips, find_roll_bones(self.skeleton))

    explained: ClassVar[Any] = make_alias("Roles.explained", explain_limits)

    def _describe_missing(self, missing: list[str]) -> str:
        """List the missing roles and the uncertain joints."""
        uncertain_roles = [role for role in missing if role in self.joints]
        clauses = (
            [f"{join_names(role for role in missing if role not in uncertain_roles)} not found"]
            if set(missing) - set(uncertain_roles)
            else []
        )
        if uncertain_roles:
            clauses.append(
                f"{join_names(uncertain_roles)} known with a confidence below {MIN_CONFIDENCE:g} only; "
                "declare them in the sidecar"
            )
        return ", ".join(clauses)
