"""Joint tree as kinematics and the role search see it: the base of `Skeleton`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from poise.maths.arrays import Floats, Ints, freeze_array
from poise.model.joints import Coupling, Kind, compute_offsets


class JointTree:
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
        return compute_offsets([Kind(k).nq for k in self.kinds], self.couplings)

    @cached_property
    def turn_columns(self) -> Ints:
        """(b, 4) quaternion columns of ball and free joints in q."""
        balls = np.flatnonzero(self.kinds >= Kind.BALL)
        columns = find_rotation_starts(self.kinds, self.q_start)[balls, None] + np.arange(4)
        columns.setflags(write=False)
        return columns

    @cached_property
    def coupling_rows(self) -> Floats:
        """(n, 2) ratio and offset of each joint's value. They are 1 and 0 without a coupling."""
        rows = np.array([(c.ratio, c.offset) if c else (1.0, 0.0) for c in self.couplings]).reshape(-1, 2)
        freeze_array(rows)
        return rows

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Rows of the children of each joint."""
        lists: list[list[int]] = [[] for _ in self.names]
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                lists[parent].append(i)
        return tuple(map(tuple, lists))


def find_rotation_starts(kinds: Ints, starts: Ints) -> Ints:
    """Find where each joint's rotation starts, from where its numbers start.

    A free joint has its translation first, in q and among the degrees of freedom.
    """
    return starts + np.where(kinds == Kind.FREE, 3, 0)
