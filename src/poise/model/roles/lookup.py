"""Joint lookup by role, the last resort of `Skeleton.index`."""

from __future__ import annotations

from poise.maths.remember import remember
from poise.model.roles.roles import Roles, humanoid
from poise.model.roles.vrm import BONES
from poise.model.skeleton import Skeleton

# minimum confidence of a role usable as a joint name: clear words, a known convention, the file, the sidecar
SURE = 0.8

_KNOWN = frozenset(BONES)


def roles_of(skeleton: Skeleton) -> Roles:
    """Find the roles of a skeleton's joints, cached."""
    return remember(skeleton, "roles", None, lambda: humanoid(skeleton))


def row_of_role(skeleton: Skeleton, name: object) -> int | None:
    """Find the row of a role's joint, or None. The role must be confident; None also for a name that is no role."""
    if not isinstance(name, str) or name not in _KNOWN:
        return None
    roles = roles_of(skeleton)
    return skeleton.index(roles.joints[name]) if roles.confidence.get(name, 0.0) >= SURE else None


def sure_roles(skeleton: Skeleton) -> list[str]:
    """Find the roles usable as joint names."""
    roles = roles_of(skeleton)
    return [role for role in roles.joints if roles.confidence[role] >= SURE]
