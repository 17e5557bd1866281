"""Whether two poses stand on one skeleton."""

from __future__ import annotations

import numpy as np

from poise.errors import InputError
from poise.model.joints import Kind
from poise.model.skeleton import Skeleton


def check_same(own: Skeleton, other: Skeleton, what: str) -> None:
    """InputError where a pose stands on a skeleton of other joints, so that its numbers mean something else.

    Joints are compared by name, kind and parent; limits and proportions may differ.

    Parameters
    ----------
    own
        The skeleton that is meant.
    other
        That of the pose.
    what
        What the pose is, for the message.
    """
    if other is own or not (told := _difference(own, other)):
        return
    message = f"{what} is a pose of another skeleton: {told}"
    raise InputError(message)


def _difference(own: Skeleton, other: Skeleton) -> str:
    """The first difference in words; empty where there is none."""
    if len(own) != len(other):
        return f"it has {len(other)} joints, not {len(own)}"
    for ours, theirs in zip(own.names, other.names, strict=True):
        if ours != theirs:
            return f"it has a joint {theirs!r} where this one has {ours!r}"
    for row in np.flatnonzero(own.kinds != other.kinds):
        theirs, ours = (Kind(skeleton.kinds[row]).name.lower() for skeleton in (other, own))
        return f"its {own.names[row]!r} is a {theirs} joint, not a {ours} one"
    for row in np.flatnonzero(own.parents != other.parents):
        theirs, ours = ("nothing" if s.parents[row] < 0 else repr(s.names[s.parents[row]]) for s in (other, own))
        return f"its {own.names[row]!r} hangs on {theirs}, not on {ours}"
    if not np.array_equal(own.q_start, other.q_start):
        return "its coupled joints are others"
    return ""
