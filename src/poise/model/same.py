"""Compatibility of poses and skeletons."""

from __future__ import annotations

import numpy as np

from poise.errors import InputError
from poise.maths.arguments import require
from poise.maths.arrays import Floats
from poise.model.free_root import bound_q, freed_q, moved_to, place
from poise.model.joints import Kind
from poise.model.skeleton import Skeleton


def check_same(own: Skeleton, other: Skeleton, what: str) -> None:
    """Raise InputError for a pose of a skeleton with other joints.

    Joints are compared by name, kind and parent; limits and proportions may differ, and one of the two may have the
    free root of `Skeleton.with_free_root`.

    Parameters
    ----------
    own
        The expected skeleton.
    other
        The skeleton of the pose.
    label
        Name of the pose, for the message.
    """
    require(own, Skeleton, "the expected skeleton")
    if other is own or not (told := _difference(own.bound, other.bound)):
        return
    message = f"{what} is a pose of another skeleton: {told}"
    raise InputError(message)


def carried_over(
    own: Skeleton, other: Skeleton, q: Floats, translations: Floats | None
) -> tuple[Floats, Floats | None]:
    """Convert q and translations between twin skeletons. They are (..., nq) and (..., n, 3).

    The pose is on `own`; `other` differs in its free root only. Freeing a ball moves its translation into q, binding it
    moves it back.
    """
    if own.freed == other.freed:
        return q, translations
    if own.freed is not None:
        q, translations = _bound(own, q, translations)
    return (q, translations) if other.freed is None else (_freed(other, q, translations), translations)


def _bound(own: Skeleton, q: Floats, translations: Floats | None) -> tuple[Floats, Floats | None]:
    assert own.freed is not None
    row, kind = own.freed
    q, moved = bound_q(q, int(own.q_start[row]), kind, own.names[row])
    if kind != Kind.BALL or (translations is None and not moved.any()):
        return q, translations
    given = own.A[:, :3] if translations is None else translations
    given = np.broadcast_to(given, (*q.shape[:-1], len(own), 3)).copy()
    given[..., row, :] = place(own.A[row], moved)
    return q, given


def _freed(other: Skeleton, q: Floats, translations: Floats | None) -> Floats:
    assert other.freed is not None
    row, kind = other.freed
    start = int(other.q_start[row])
    q = freed_q(q, start, kind)
    if translations is not None:
        q[..., start : start + 3] = moved_to(other.A[row], translations[..., row, :])
    return q


def _difference(own: Skeleton, other: Skeleton) -> str:
    """Describe the first difference; empty where there is none."""
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
        return "its coupled joints differ"
    return ""
