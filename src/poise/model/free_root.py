"""Free roots: adding and removing them.

The freed row keeps its frame A: the free joint's seven numbers are relative to rest, so rest and limits do not change.

    ball    w x y z             becomes  x y z  w x y z
    fixed   nothing, a base     becomes  x y z  w x y z
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from poise.errors import InputError, UnknownNameError
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.model.joints import Kind
from poise.model.other_names import row_of_role
from poise.model.ways import LIMB

# [-] quaternion components below this count as an unrotated base (rounding)
_MOVED = 1e-12


class Freed(NamedTuple):
    """Row of a freed joint, and its former kind."""

    row: int
    kind: int


def freed(skeleton: Any, joint: str | None) -> Any:
    """Return the skeleton with a free root, or another free joint. See `Skeleton.with_free_root`."""
    if joint is None and (skeleton.kinds == Kind.FREE).any():
        return skeleton
    row = _root(skeleton) if joint is None else skeleton.index(joint)
    if row < 0:
        raise InputError("a skeleton without joints has no root that could be freed")
    kind = int(skeleton.kinds[row])
    if kind == Kind.FREE:
        return skeleton
    if kind not in (Kind.BALL, Kind.FIXED):
        message = f"{skeleton.names[row]!r} is a {Kind(kind).name.lower()}; a free root needs a ball or a base"
        raise InputError(message)
    rest = freed_q(skeleton.rest_q, int(skeleton.q_start[row]), kind)
    return dataclasses.replace(
        skeleton, kinds=_with_kind(skeleton.kinds, row, Kind.FREE), rest_q=rest, freed=Freed(row, kind)
    )


def bound(skeleton: Any) -> Any:
    """Undo `add_free_root`."""
    row, kind = skeleton.freed
    rest, _ = bound_q(skeleton.rest_q, int(skeleton.q_start[row]), kind, skeleton.names[row])
    return dataclasses.replace(skeleton, kinds=_with_kind(skeleton.kinds, row, kind), rest_q=rest, freed=None)


def _with_kind(kinds: Ints, row: int, kind: int) -> Ints:
    kinds = kinds.copy()
    kinds[row] = kind
    return kinds


def _root(skeleton: Any) -> int:
    """Find the row of the root. It is a robot's base, a character's hips by role, else the default of its tree."""
    if (skeleton.kinds == Kind.BALL).any():
        with suppress(UnknownNameError):
            row = row_of_role(skeleton, "hips", ())
            if skeleton.kinds[row] in (Kind.BALL, Kind.FIXED):
                return row
    return usual_root(skeleton.kinds, skeleton.parents, skeleton.children, skeleton.moving_depth)


def usual_root(kinds: Ints, parents: Ints, children: Sequence[Sequence[int]], depth: Ints) -> int:
    """Find the root row from the tree alone.

    It is a robot's base, or a character's topmost joint with several limbs below it, else its topmost moving joint. Of
    several trees the one with the longest chain counts. -1 for a skeleton without joints.

    kinds, parents  (n,) of the joints, parents first
    children        rows of the children of each
    depth           (n,) largest number of moving joints on a path down from a joint, itself included
    """
    if not len(kinds):
        return -1
    row = first = int(np.argmax(np.where(parents < 0, depth, -1)))
    if not (kinds >= Kind.BALL).any():
        return row
    while kinds[row] == Kind.FIXED or len([c for c in children[row] if depth[c] >= LIMB]) == 1:
        row = max(children[row], key=lambda child: depth[child])  # moving joints are below: there are children
    forks = len([child for child in children[row] if depth[child] >= LIMB]) > 1
    return row if forks else _first_moving(kinds, children, depth, first)


def _first_moving(kinds: Ints, children: Sequence[Sequence[int]], depth: Ints, row: int) -> int:
    while kinds[row] == Kind.FIXED and children[row]:
        row = max(children[row], key=lambda child: depth[child])
    return row


def freed_q(q: Floats, start: int, kind: int) -> Floats:
    """Insert a free joint's rest numbers into q (..., nq). They go where the row's own numbers begin."""
    new = [0.0, 0.0, 0.0] if kind == Kind.BALL else [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    return np.insert(q, [start] * len(new), new, axis=-1)


def bound_q(q: Floats, start: int, kind: int, name: str) -> tuple[Floats, Floats]:
    """Remove the free root's numbers from q (..., nq). Also return the removed translations (..., 3) in the frame of A.

    InputError for a moved base: without the free joint its motion cannot be stored.
    """
    moved = q[..., start : start + 3]
    if kind == Kind.BALL:
        return np.delete(q, range(start, start + 3), axis=-1), moved
    if moved.any() or (np.abs(q[..., start + 4 : start + 7]) > _MOVED).any():
        message = (
            f"the base {name!r} has moved, which the robot cannot store without a free root; "
            "save joint values (.json, .csv) or a .glb"
        )
        raise InputError(message)
    return np.delete(q, range(start, start + 7), axis=-1), moved


def place(A: Floats, moved: Floats) -> Floats:  # noqa: N803  (the letter of the formula)
    """Compute the parent-relative translations (..., 3) of a moved root.

    A (7,) is its frame, `motion` its translation in that frame.
    """
    return A[:3] + rotations.rotate(A[3:], moved)


def moved_to(A: Floats, translation: Floats) -> Floats:  # noqa: N803
    """Compute the root motion (..., 3) for a translation.

    It is the inverse of `compute_root_translation`, in the frame A (7,).
    """
    return rotations.rotate(rotations.inverse(A[3:]), translation - A[:3])
