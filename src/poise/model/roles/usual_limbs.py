"""Default limbs of a rig. The viewer offers them, and comparisons use them where no limb is named."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from poise.model.rig import Rig
from poise.model.roles import humanoid
from poise.model.skeleton import Kind, Skeleton

# number of default chains without a sidecar or roles
_ROBOT_TIPS, _OTHER_TIPS = 2, 4
# largest number of moving joints in such a chain; ropes and tails keep the last ones
_LONGEST = 12
# degrees of freedom that let an arm reach any placement
_SIX = 6
_LIMBS = (
    ("left hand", "leftUpperArm", "leftHand", "leftLowerArm"),
    ("right hand", "rightUpperArm", "rightHand", "rightLowerArm"),
    ("left foot", "leftUpperLeg", "leftFoot", "leftLowerLeg"),
    ("right foot", "rightUpperLeg", "rightFoot", "rightLowerLeg"),
)  # fmt: skip


class UsualLimb(NamedTuple):
    """Default limb: name, root, tip and goal kind. A root of None is the default root of the chain."""

    name: str
    root: str | None
    tip: str
    kind: Literal["position", "place"] = "position"


def usual_limbs(rig: Rig) -> tuple[UsualLimb, ...]:
    """Find the default limbs of a rig.

    They are the chains of the sidecar, else arms and legs, else the longest moving chains.
    """
    if rig.skeleton.chains:
        named = rig.skeleton.chains.items()
        return tuple(UsualLimb(name, root, tip, usual_kind(rig.skeleton, root, tip)) for name, (root, tip) in named)
    limbs = _limbs(rig) if len(rig.skeleton) else []
    if limbs:
        return tuple(UsualLimb(name, _root(rig.skeleton, root), tip) for name, root, tip in limbs)
    return _longest(rig.skeleton)


def _limbs(rig: Rig) -> list[tuple[str, str, str]]:
    """Find arms and legs as name, first joint and tip. An animal on four legs or more has its legs only."""
    found = humanoid(rig)
    roles = found.joints
    if found.kind in ("quadruped", "multi-legged"):
        return [(f"{leg.name} foot", leg.upper, leg.foot) for leg in found.legs]
    limbs = [(name, roles.get(first), [roles.get(last) for last in tips]) for name, first, *tips in _LIMBS]
    return [
        (name, root, tip)
        for name, root, tips in limbs
        if root is not None and (tip := _below(rig.skeleton, root, tips)) is not None
    ]


def _below(skeleton: Skeleton, root: str, tips: list[str | None]) -> str | None:
    """Find the first tip below the root, or None. Hands and feet of control rigs may hang elsewhere."""
    return next((tip for tip in tips if tip is not None and root in skeleton.ancestors(tip)), None)


def _root(skeleton: Skeleton, first: str) -> str | None:
    """Choose a limb's root: the joint itself, or None for robots.

    Their shoulders and hips are several hinges in a row.
    """
    return first if skeleton[first].kind == Kind.BALL else None


def usual_kind(skeleton: Skeleton, root: str | None, tip: str) -> Literal["position", "place"]:
    """Choose the goal kind of a tip. It is a placement for a robot arm with enough freedom, else a position."""
    moving = [skeleton[name].kind for name in skeleton.chain(root, tip) if skeleton[name].kind != Kind.FIXED]
    robot = any(kind in (Kind.HINGE, Kind.SLIDE) for kind in moving)
    return "place" if robot and len(moving) >= _SIX else "position"


def _longest(skeleton: Skeleton) -> tuple[UsualLimb, ...]:
    robot = bool(np.isin(skeleton.kinds, (Kind.HINGE, Kind.SLIDE)).any())
    found: dict[str, tuple[str, ...]] = {}
    for row, name in enumerate(skeleton.names):
        if not skeleton.children[row]:
            moving = [joint for joint in skeleton.chain(None, name) if skeleton[joint].kind != Kind.FIXED]
            if moving and moving[0] not in found:
                found[moving[0]] = (name, *moving[-_LONGEST:])
    most = _ROBOT_TIPS if robot else _OTHER_TIPS
    longest = sorted(found.values(), key=len, reverse=True)[:most]
    return tuple(UsualLimb(tip, moving[0], tip, usual_kind(skeleton, moving[0], tip)) for tip, *moving in longest)
