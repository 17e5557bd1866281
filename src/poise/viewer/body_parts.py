"""Parts of a figure, for dragging them."""

from __future__ import annotations

from poise.model.joint_tree import list_below
from poise.model.rig import Rig
from poise.model.roles.bone_names import FINGER_BONES, SIDES
from poise.runtime.result_cache import get_or_compute
from poise.solvers.natural.auto import is_figure

FOOT_ROLES = tuple(f"{side}Foot" for side in SIDES)
# parts that go along with the one above them: who pulls at a finger means the hand
_CARRIED_ROLES = (*(f"{side}{bone}" for side in SIDES for bone in ("Toes", "Eye", *FINGER_BONES)), "jaw")


def has_whole_body(rig: Rig) -> bool:
    """Return whether a rig is a figure on two feet. Its arms and legs are surely known."""

    def find() -> bool:
        roles = rig.roles
        has_parts = all(role in roles.joints for role in ("hips", *FOOT_ROLES))
        return roles.kind == "humanoid" and has_parts and is_figure(rig.skeleton)

    return len(rig.skeleton) > 0 and get_or_compute(rig, "whole body", None, find)


def find_feet(rig: Rig) -> tuple[str, ...]:
    """Find the joints of both feet."""
    joints = rig.roles.joints
    return tuple(joints[foot] for foot in FOOT_ROLES if foot in joints)


def find_parts(rig: Rig) -> tuple[str, ...]:
    """Find the part of each joint: what moves when somebody pulls there.

    For a figure it is the nearest joint above that leads on to other parts or ends a limb: a finger belongs to its
    hand, hair to the head, a bone above the hips to the hips. It is the joint itself for all other rigs.
    """
    return get_or_compute(rig, "parts", None, lambda: _compute_parts(rig))


def _compute_parts(rig: Rig) -> tuple[str, ...]:
    skeleton, names = rig.skeleton, rig.skeleton.names
    if not has_whole_body(rig):
        return names
    joints = rig.roles.joints
    hips = skeleton.index(joints["hips"])
    ends = {skeleton.index(joint) for role, joint in joints.items() if role not in _CARRIED_ROLES}
    is_part = [any(row in ends for row in list_below(skeleton.parents, joint)) for joint in range(len(names))]
    parts: list[str] = []
    for joint in range(len(names)):
        path = skeleton.list_path(joint)
        owner = next((row for row in reversed(path) if is_part[row]), hips)
        parts.append(names[owner if hips in skeleton.list_path(owner) else hips])
    return tuple(parts)


def is_of_limb(rig: Rig, joint: str) -> bool:
    """Return whether a joint is of an arm or a leg."""
    if not has_whole_body(rig):
        return False
    joints, path = rig.roles.joints, (*rig.skeleton.ancestors(joint), joint)
    return any(joints.get(f"{side}{bone}") in path for side in SIDES for bone in ("LowerArm", "UpperLeg"))
