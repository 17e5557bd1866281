"""Starts of figures that may move as a whole."""

from __future__ import annotations

from poise.maths.remember import remember
from poise.model.pose import Pose
from poise.model.roles import humanoid
from poise.model.skeleton import Kind, Skeleton

_SURE = 0.8  # confidence from which a role counts


def with_free_root(start: Pose) -> Pose:
    """The start on `free_root_of` its skeleton."""
    return start.on(free_root_of(start.skeleton))


def free_root_of(skeleton: Skeleton) -> Skeleton:
    """The same joints with a free root: the hips by role, else what `Skeleton.with_free_root` chooses.

    A skeleton that has a free joint already, its own or from `with_free_root`, stays as it is.
    """
    if (skeleton.kinds == Kind.FREE).any():
        return skeleton
    return remember(skeleton, "hips free", None, lambda: skeleton.with_free_root(_hips(skeleton)))


def _hips(skeleton: Skeleton) -> str | None:
    """The hips of a figure, where they are known for sure and can be freed."""
    if not (skeleton.kinds == Kind.BALL).any():
        return None  # a robot moves with its base
    roles = humanoid(skeleton)
    hips = roles.joints.get("hips")
    if hips is None or roles.confidence["hips"] < _SURE or skeleton[hips].kind not in (Kind.BALL, Kind.FIXED):
        return None
    return hips
