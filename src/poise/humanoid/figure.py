"""A skeleton as the search for roles sees it: who is above whom, where, and what the names say."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from poise.arrays import Floats
from poise.humanoid.words import Word, cut, read
from poise.skeleton import Kind, Skeleton

_SHARED = 0.4  # a word in this share of all names says nothing: an actor's name, "Bip01", "Skeleton"


class Found(NamedTuple):
    """A joint found for a role: its row, how sure that is, and why."""

    row: int
    confidence: float
    reason: str


@dataclass(frozen=True, eq=False)
class Figure:
    """A skeleton in one pose.

    positions  (n, 3) of the joints, in file units
    skinned    rows of the joints that deform a mesh; empty where the file has none
    """

    skeleton: Skeleton
    positions: Floats
    skinned: frozenset[int] = frozenset()

    @cached_property
    def parents(self) -> list[int]:
        """The row above each row, -1 above a root."""
        return self.skeleton.parents.tolist()

    @cached_property
    def depth(self) -> list[int]:
        """How many joints are above each one."""
        depth: list[int] = []
        for parent in self.parents:
            depth.append(depth[parent] + 1 if parent >= 0 else 0)
        return depth

    @cached_property
    def hinged(self) -> list[bool]:
        """Which joints are hinges."""
        return (self.skeleton.kinds == Kind.HINGE).tolist()

    @cached_property
    def usable(self) -> list[bool]:
        """Which joints may have a role: those that move; of robots also those that are fixed.

        Fixed nodes of a character are meshes, props and the ends of bones.
        """
        kinds = self.skeleton.kinds
        robot = not (kinds == Kind.BALL).any()
        return [robot or moves for moves in (kinds != Kind.FIXED).tolist()]

    @cached_property
    def words(self) -> list[Word]:
        """What each name says, words that most names share left out."""
        names = self.skeleton.names
        axes = any({"pitch", "yaw"} & set(cut(name)) for name in names)
        words = [read(name, roll_is_axis=axes) for name in names]
        counts = Counter(word for one in words for word in set(one.unknown))
        shared = {word for word, count in counts.items() if count > _SHARED * len(names)}
        return [one._replace(unknown=tuple(w for w in one.unknown if w not in shared)) for one in words]

    def named(self, part: str, side: str = "") -> list[int]:
        """Rows that a name gives this part and side; loose matches only where there are no strict ones."""
        rows = [
            row
            for row, word in enumerate(self.words)
            if word.part == part and word.side == side and not word.helper and self.usable[row]
        ]
        strict = [row for row in rows if not self.words[row].unknown]
        return strict or rows

    def is_above(self, upper: int, lower: int) -> bool:
        """Whether `upper` is `lower` or one of its ancestors."""
        while lower > upper:  # parents come before children
            lower = self.parents[lower]
        return lower == upper

    def common(self, rows: list[int]) -> int:
        """The lowest joint above all of these, or -1."""
        joint = rows[0] if rows else -1
        while joint >= 0 and not all(self.is_above(joint, row) for row in rows):
            joint = self.parents[joint]
        return joint

    def path(self, top: int, bottom: int) -> list[int]:
        """Rows from `top` down to `bottom`, both included; [] where `top` is not above it."""
        rows: list[int] = []
        while bottom > top:
            rows.append(bottom)
            bottom = self.parents[bottom]
        return [top, *reversed(rows)] if bottom == top else []

    def distance(self, a: int, b: int) -> float:
        """How far apart two joints are [file units]."""
        return float(np.linalg.norm(self.positions[a] - self.positions[b]))
