"""Roles and default limbs of a rig. The search uses declared roles, skins and clips of its file."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from poise.errors import InputError
from poise.model.anatomy.roles import Roles
from poise.model.clip import Clip
from poise.model.rig import Rig
from poise.model.roles.bone_names import BONES
from poise.model.roles.character_tree import SIDECAR_REASON, CharacterTree, Role
from poise.model.roles.role_search import JointRoles, compute_scaled_positions, find_joint_roles, search_tree
from poise.model.skeleton import Kind, Skeleton


def find_roles(rig: Rig | Skeleton) -> Roles:
    """Find the roles of a character's joints.

    Parameters
    ----------
    rig
        A skeleton without a rig; or a rig, which gives the same as `rig.roles`.

    Returns
    -------
    Roles
        Roles from these sources, the most reliable first: the sidecar, the file's own VRM map, names, structure and
        position at rest. Its `limits()` are those of people.
    """
    if isinstance(rig, Skeleton):
        return _add_skeleton(find_joint_roles(rig), rig, ())
    if not isinstance(rig, Rig):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"find_roles() takes a Rig or a Skeleton, not a {type(rig).__name__}")
    index, sidecar = rig.skeleton.index, rig.sidecar_roles
    declared_roles = {
        role: Role(index(joint), 1.0, SIDECAR_REASON if role in sidecar else "the file's VRM map")
        for role, joint in rig.humanoid.items()
        if role in BONES
    }
    return _add_skeleton(search_tree(_build_character_tree(rig), declared_roles), rig.skeleton, rig.clips)


def _add_skeleton(roles: JointRoles, skeleton: Skeleton, clips: tuple[Clip, ...]) -> Roles:
    fields: dict[str, Any] = {field.name: getattr(roles, field.name) for field in dataclasses.fields(roles)}
    for name, value in fields.items():  # a caller may change its mappings; those of the cache stay
        if isinstance(value, dict):
            fields[name] = dict(cast("dict[str, str | float]", value))
    return Roles(**fields, skeleton=skeleton, clips=clips)


def _build_character_tree(rig: Rig) -> CharacterTree:
    skeleton = rig.skeleton
    skinned_rows = frozenset(skeleton.index(joint) for skin in rig.skins for joint in skin.joints)
    first_pose = next((clip.poses[0] for clip in rig.clips if len(clip)), None) if skeleton.up is None else None
    moved_positions = (
        None
        if first_pose is None
        else compute_scaled_positions(first_pose.skeleton, first_pose.q, first_pose.translations)
    )
    return CharacterTree(skeleton, compute_scaled_positions(skeleton, rig.rest.q), moved_positions, skinned_rows)


# --- Default limbs of a rig ------------------------------------------------------------------------------------------
#
# The viewer offers them, and comparisons use them where no limb is named.


# number of default chains without a sidecar or roles
_MAX_ROBOT_CHAINS, _MAX_OTHER_CHAINS = 2, 4
# largest number of moving joints in such a chain; ropes and tails keep the last ones
_MAX_CHAIN_JOINTS = 12
# degrees of freedom that let an arm reach any placement
_MIN_PLACEMENT_DOFS = 6
_ROLE_LIMBS = (
    ("left hand", "leftUpperArm", "leftHand", "leftLowerArm"),
    ("right hand", "rightUpperArm", "rightHand", "rightLowerArm"),
    ("left foot", "leftUpperLeg", "leftFoot", "leftLowerLeg"),
    ("right foot", "rightUpperLeg", "rightFoot", "rightLowerLeg"),
)  # fmt: skip


class DefaultLimb(NamedTuple):
    """Default limb: name, root, tip and goal kind. A root of None is the default root of the chain."""

    name: str
    root: str | None
    tip: str
    goal_kind: Literal["position", "place"] = "position"


def find_default_limbs(rig: Rig) -> tuple[DefaultLimb, ...]:
    """Find the default limbs of a rig.

    They are the chains of the sidecar, else arms and legs, else the longest moving chains.
    """
    if rig.skeleton.chains:
        named_chains = rig.skeleton.chains.items()
        return tuple(
            DefaultLimb(name, root, tip, choose_goal_kind(rig.skeleton, root, tip))
            for name, (root, tip) in named_chains
        )
    limbs = _find_role_limbs(rig) if len(rig.skeleton) else []
    if limbs:
        return tuple(DefaultLimb(name, _choose_root(rig.skeleton, root), tip) for name, root, tip in limbs)
    return _find_longest_chains(rig.skeleton)


def _find_role_limbs(rig: Rig) -> list[tuple[str, str, str]]:
    """Find arms and legs as name, first joint and tip. An animal on four legs or more has its legs only."""
    roles_found = find_roles(rig)
    roles = roles_found.joints
    if roles_found.kind in ("quadruped", "multi-legged"):
        return [(f"{leg.name} foot", leg.upper, leg.foot) for leg in roles_found.legs]
    limbs = [(name, roles.get(first), [roles.get(last) for last in tips]) for name, first, *tips in _ROLE_LIMBS]
    return [
        (name, root, tip)
        for name, root, tips in limbs
        if root is not None and (tip := _find_tip_below(rig.skeleton, root, tips)) is not None
    ]


def _find_tip_below(skeleton: Skeleton, root: str, tips: list[str | None]) -> str | None:
    """Find the first tip below the root, or None. Hands and feet of control rigs may hang elsewhere."""
    return next((tip for tip in tips if tip is not None and root in skeleton.ancestors(tip)), None)


def _choose_root(skeleton: Skeleton, first_joint: str) -> str | None:
    """Choose a limb's root: the joint itself, or None for robots.

    Their shoulders and hips are several hinges in a row.
    """
    return first_joint if skeleton[first_joint].kind == Kind.BALL else None


def choose_goal_kind(skeleton: Skeleton, root: str | None, tip: str) -> Literal["position", "place"]:
    """Choose the goal kind of a tip. It is a placement for a robot arm with enough freedom, else a position."""
    moving_kinds = [skeleton[name].kind for name in skeleton.chain(root, tip) if skeleton[name].kind != Kind.FIXED]
    is_robot = any(kind in (Kind.HINGE, Kind.SLIDE) for kind in moving_kinds)
    return "place" if is_robot and len(moving_kinds) >= _MIN_PLACEMENT_DOFS else "position"


def _find_longest_chains(skeleton: Skeleton) -> tuple[DefaultLimb, ...]:
    is_robot = bool(np.isin(skeleton.kinds, (Kind.HINGE, Kind.SLIDE)).any())
    chains_by_root: dict[str, tuple[str, ...]] = {}
    for row, name in enumerate(skeleton.names):
        if not skeleton.children[row]:
            moving_joints = [joint for joint in skeleton.chain(None, name) if skeleton[joint].kind != Kind.FIXED]
            if moving_joints and moving_joints[0] not in chains_by_root:
                chains_by_root[moving_joints[0]] = (name, *moving_joints[-_MAX_CHAIN_JOINTS:])
    max_chains = _MAX_ROBOT_CHAINS if is_robot else _MAX_OTHER_CHAINS
    longest_chains = sorted(chains_by_root.values(), key=len, reverse=True)[:max_chains]
    return tuple(
        DefaultLimb(tip, moving_joints[0], tip, choose_goal_kind(skeleton, moving_joints[0], tip))
        for tip, *moving_joints in longest_chains
    )
