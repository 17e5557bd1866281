"""Roles as names of joints: what `Skeleton.index` asks where no joint and no alias has a name."""

from __future__ import annotations

from poise.maths.remember import remember
from poise.model.roles.roles import Roles, humanoid
from poise.model.roles.vrm import BONES
from poise.model.skeleton import Skeleton

SURE = 0.8  # the least confidence of a role that is a name: clear words, a known convention, the file, the sidecar

_KNOWN = frozenset(BONES)


def roles_of(skeleton: Skeleton) -> Roles:
    """The roles of a skeleton's joints, found once."""
    return remember(skeleton, "roles", None, lambda: humanoid(skeleton))


def row_of_role(skeleton: Skeleton, name: object) -> int | None:
    """The row of the joint that surely has this role; None where there is none, or where the name is no role."""
    if not isinstance(name, str) or name not in _KNOWN:
        return None
    roles = roles_of(skeleton)
    return skeleton.index(roles.joints[name]) if roles.confidence.get(name, 0.0) >= SURE else None


def sure_roles(skeleton: Skeleton) -> list[str]:
    """The roles that are names of joints here."""
    roles = roles_of(skeleton)
    return [role for role in roles.joints if roles.confidence[role] >= SURE]
