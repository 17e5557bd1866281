"""Joint tree, the base of `Skeleton`: lookup, default chain, free roots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import NamedTuple

import numpy as np

from poise.errors import InputError, UnknownNameError
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints, freeze_array
from poise.model.joints import Q_OFFSET_RANGES, Coupling, Kind, compute_offsets
from poise.runtime.immutable_values import FrozenValue


class JointLists(NamedTuple):
    """Numbers of the joints by row, as Python values. They must not be changed.

    A loop reads them in a twentieth of the time of arrays, and compares them with a Kind in a hundredth.

    parents, kinds  of the joints
    q_starts        offset of each joint's numbers in q
    ratios          of coupled joints; 1 for others
    """

    parents: list[int]
    kinds: list[int]
    q_starts: list[int]
    ratios: list[float]


class JointTree(FrozenValue):
    """Joint tree in arrays, parents before children. `Skeleton` documents the fields."""

    names: tuple[str, ...]
    parents: Ints
    kinds: Ints
    axes: Floats
    A: Floats
    B: Floats
    rest_q: Floats
    couplings: tuple[Coupling | None, ...]
    roles: Mapping[str, str]
    faces: str | None
    up: str | None

    def index(self, joint: str) -> int:
        """Find the row of a joint by name, alias or role."""
        raise NotImplementedError

    def __contains__(self, joint: object) -> bool:
        raise NotImplementedError

    @cached_property
    def q_start(self) -> Ints:
        """(n,) offset of each joint's numbers in q. A coupled joint has its leader's."""
        return compute_offsets([len(Q_OFFSET_RANGES[kind]) for kind in self.kinds.tolist()], self.couplings)

    @cached_property
    def quaternion_columns(self) -> Ints:
        """(b, 4) quaternion columns of ball and free joints in q."""
        ball_rows = np.flatnonzero(self.kinds >= Kind.BALL)
        columns = find_rotation_starts(self.kinds, self.q_start)[ball_rows, None] + np.arange(4)
        columns.setflags(write=False)
        return columns

    @cached_property
    def quaternion_span(self) -> tuple[int, int] | None:
        """First and end column of the quaternions in q. None where there are none, or other columns between them."""
        columns = self.quaternion_columns
        if not len(columns) or int(columns[-1, -1]) - int(columns[0, 0]) + 1 != columns.size:
            return None
        return int(columns[0, 0]), int(columns[-1, -1]) + 1

    @cached_property
    def joint_lists(self) -> JointLists:
        """Parents, kinds and first columns of the joints, as lists for loops."""
        ratios = self.coupling_rows[:, 0].tolist()
        return JointLists(self.parents.tolist(), self.kinds.tolist(), self.q_start.tolist(), ratios)

    @cached_property
    def coupling_rows(self) -> Floats:
        """(n, 2) ratio and offset of each joint's value. They are 1 and 0 without a coupling."""
        rows = np.array([(c.ratio, c.offset) if c else (1.0, 0.0) for c in self.couplings]).reshape(-1, 2)
        freeze_array(rows)
        return rows

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Rows of the children of each joint."""
        child_rows: list[list[int]] = [[] for _ in self.names]
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                child_rows[parent].append(i)
        return tuple(map(tuple, child_rows))


def find_rotation_starts(kinds: Ints, q_starts: Ints) -> Ints:
    """Find where each joint's rotation starts, from where its numbers start.

    A free joint has its translation first, in q and among the degrees of freedom.
    """
    return q_starts + np.where(kinds == Kind.FREE, 3, 0)


# --- Topology of a joint tree: names, default chain and free root ----------------------------------------------------
#
# Joints are found by role or glob, the chain of a tip and the root from the tree, and the root is freed and bound
# again.


# moving joints in a line; a branch with fewer is a twist or helper bone
MIN_LIMB_JOINTS = 2

FLAT_MESSAGE = "flat skeleton: no joint is another's parent; its joints move separately and form no chain or limb"


def list_below(parents: Sequence[int] | Ints, row: int) -> list[int]:
    """List a joint's row and all rows below it. Parents come first, as in the tree."""
    found = [row]
    for child in range(row + 1, len(parents)):
        if int(parents[child]) in found:
            found.append(child)
    return found


def is_flat(kinds: Ints, parents: Sequence[int] | Ints) -> bool:
    """Return whether no moving joint is below another.

    At least two joints must move; fixed joints between them do not count.
    """
    is_moving = kinds != Kind.FIXED
    has_moving_above: list[bool] = []  # a joint or one of its ancestors moves
    for row, parent in enumerate(parents):
        is_below_moving = parent >= 0 and has_moving_above[parent]
        if is_below_moving and is_moving[row]:
            return False
        has_moving_above.append(is_below_moving or bool(is_moving[row]))
    return int(is_moving.sum()) > 1


def is_robot(kinds: Ints, parents: Ints) -> bool:
    """Return whether all joints are hinges and slides. The free joint of a floating base is allowed."""
    is_rotating = kinds >= Kind.BALL
    is_free = is_rotating & (kinds == Kind.FREE)
    return bool((is_rotating == is_free).all()) and all(
        is_floating_base(kinds, parents, row) for row in is_free.nonzero()[0].tolist()
    )


def is_floating_base(kinds: Sequence[int] | Ints, parents: Sequence[int] | Ints, row: int) -> bool:
    """Return whether a joint is free with no moving ancestor."""
    if kinds[row] != Kind.FREE:
        return False
    while (row := int(parents[row])) >= 0:
        if kinds[row] != Kind.FIXED:
            return False
    return True


def find_default_chain(tree: JointTree, limb_counts: Ints, moving_depth: Ints, tip: int) -> list[int]:
    """Find the default chain from its root to the tip's parent.

    Robot (`is_robot`): all joints from the base to the tip, forks included. Character: from below the first joint that
    also carries other limbs; fixed joints next to the tip, such as tool frames, are skipped first. A floating base
    is left out of both. For a tip that is a free root carrying several limbs, with no limb beside it, the chain is
    empty.

    limb_counts   (n,) number of limbs starting at the children of each
    moving_depth  (n,) largest number of moving joints on a path down from a joint, itself included
    """
    parents, kinds = tree.joint_lists[:2]
    has_robot_joints = Kind.BALL not in kinds and is_robot(tree.kinds, tree.parents)
    rows: list[int] = []
    rows_before_fork: list[int] | None = None  # the rows below the first fork, while nothing moves
    row, child_row, has_moving_joint = parents[tip], tip, False
    while row >= 0 and not (kinds[row] == Kind.FREE and is_floating_base(kinds, parents, row)):
        has_moving_joint = has_moving_joint or kinds[row] != Kind.FIXED
        is_fork = limb_counts[row] > (moving_depth[child_row] >= MIN_LIMB_JOINTS)
        if is_fork and has_moving_joint and not has_robot_joints:
            break
        rows_before_fork = rows.copy() if is_fork and rows_before_fork is None else rows_before_fork
        rows.append(row)
        row, child_row = parents[row], row
    if row < 0 and kinds[tip] == Kind.FREE and limb_counts[tip] > 1:
        return []
    return (rows if has_moving_joint or rows_before_fork is None else rows_before_fork)[::-1]


# --- Joint lookup by glob pattern ------------------------------------------------------------------------------------


def match_names(pattern: str, names: Iterable[str], aliases: Iterable[str]) -> list[int]:
    """Find the rows of names matching a glob. Raise UnknownNameError where there are none."""
    names = list(names)
    rows = [row for row, name in enumerate(names) if isinstance(pattern, str) and fnmatchcase(name, pattern)]
    if not rows:
        raise UnknownNameError("joint", pattern, [*names, *aliases])
    return rows


# --- Free roots: adding and removing them ----------------------------------------------------------------------------
#
# The freed row keeps its frame A: the free joint's seven numbers are relative to rest, so rest and limits do not
# change.
#
# ball    w x y z             becomes  x y z  w x y z
# fixed   nothing, a base     becomes  x y z  w x y z


# [-] quaternion components below this count as an unrotated base (rounding)
_BASE_ROTATION_TOLERANCE = 1e-12


class FreeRoot(NamedTuple):
    """Row of a freed joint, and its former kind."""

    row: int
    former_kind: int


def find_default_root(kinds: Ints, parents: Ints, children: Sequence[Sequence[int]], moving_depth: Ints) -> int:
    """Find the root row from the tree alone.

    It is a robot's base, or a character's topmost joint with several limbs below it, else its topmost moving joint. Of
    several trees the one with the longest chain counts. -1 for a skeleton without joints.

    kinds, parents  (n,) of the joints, parents first
    children        rows of the children of each
    moving_depth    (n,) largest number of moving joints on a path down from a joint, itself included
    """
    if not len(kinds):
        return -1
    row = first_row = int(np.argmax(np.where(parents < 0, moving_depth, -1)))
    if not (kinds >= Kind.BALL).any():
        return row
    while (
        kinds[row] == Kind.FIXED
        or len([child for child in children[row] if moving_depth[child] >= MIN_LIMB_JOINTS]) == 1
    ):
        row = max(children[row], key=lambda child: moving_depth[child])  # moving joints are below: there are children
    is_fork = len([child for child in children[row] if moving_depth[child] >= MIN_LIMB_JOINTS]) > 1
    return row if is_fork else _find_first_moving(kinds, children, moving_depth, first_row)


def _find_first_moving(kinds: Ints, children: Sequence[Sequence[int]], moving_depth: Ints, row: int) -> int:
    while kinds[row] == Kind.FIXED and children[row]:
        row = max(children[row], key=lambda child: moving_depth[child])
    return row


def insert_root_q(q: Floats, start: int, kind: int) -> Floats:
    """Insert a free joint's rest numbers into q (..., nq). They go where the row's own numbers begin."""
    inserted_values = [0.0, 0.0, 0.0] if kind == Kind.BALL else [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    count = len(inserted_values)
    found = np.empty((*q.shape[:-1], q.shape[-1] + count))  # np.insert takes five times as long
    found[..., :start], found[..., start : start + count] = q[..., :start], inserted_values
    found[..., start + count :] = q[..., start:]
    return found


def remove_root_q(q: Floats, start: int, kind: int, name: str) -> tuple[Floats, Floats]:
    """Remove the free root's numbers from q (..., nq). Also return the removed translations (..., 3) in the frame of A.

    InputError for a moved base: without the free joint its motion cannot be stored.
    """
    translations = q[..., start : start + 3]
    if kind == Kind.BALL:
        return np.delete(q, range(start, start + 3), axis=-1), translations
    if translations.any() or (np.abs(q[..., start + 4 : start + 7]) > _BASE_ROTATION_TOLERANCE).any():
        message = (
            f"the base {name!r} has moved, which the robot cannot store without a free root; "
            "save joint values (.json, .csv) or a .glb"
        )
        raise InputError(message)
    return np.delete(q, range(start, start + 7), axis=-1), translations


def compute_root_translation(A: Floats, motion: Floats) -> Floats:  # noqa: N803
    """Compute the parent-relative translations (..., 3) of a moved root.

    A (7,) is its frame, `motion` its translation in that frame.
    """
    return A[:3] + rotations.rotate(A[3:], motion)


def compute_root_motion(A: Floats, translation: Floats) -> Floats:  # noqa: N803  (the letter of the formula)
    """Compute the root motion (..., 3) for a translation.

    It is the inverse of `compute_root_translation`, in the frame A (7,).
    """
    return rotations.rotate(rotations.inverse(A[3:]), translation - A[:3])
