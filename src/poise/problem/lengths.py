"""Bounds on the reach of each goal, from bone lengths only.

With non-uniform scale each length is known only to the plan's relative `length_error`, which widens the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.problem.geometry import SIMILAR
from poise.problem.layout import BALL, FIXED, HINGE, MOVE, SLIDE, Layout

_UP = np.array([0.0, 0.0, 1.0])
_ROUNDING = 1e-12  # relative rounding error of a sum of lengths


@dataclass(frozen=True, eq=False)
class Lengths:
    """Bone lengths of a plan, in kernel units and the base frame. For the fields see `Plan`."""

    layout: Layout
    frames: Floats
    aims: Floats
    stretch: float

    def reach(self, i: int) -> tuple[float, float, Floats]:
        """Compute the reach of term i from its path's first node.

        Returns the shortest and longest distance and the origin (3,) of that node.
        """
        path = self.layout.paths[i]
        if not path:
            node, point = self.layout.terms[i].node, self.aims[i, :3]
            return 0.0, self._slack(node, _length(point)), self._standing(node, point)
        spans, slack = self._spans(i), self._slack(path[0])
        longest = sum(spans)
        turning = {self.layout.nodes[node].kind for node in path} <= {HINGE, BALL}
        shortest = max(2 * max(spans) - longest, 0.0) if turning else 0.0
        shortest *= 1 - self._margin
        if self.stretch > SIMILAR and turning:  # each length has its own error
            shortest = max(2 * max(spans) - (1 + self.stretch) * longest - slack, 0.0)
        first, above = self.frames[0, path[0], :3], self.layout.nodes[path[0]].parent
        first = first if above < 0 else self._standing(above, first)
        return shortest, longest * (1 + self._margin) + slack, first

    def longest(self, i: int) -> float:
        """Return the total bone length up to term i."""
        if not self.layout.paths[i]:
            return 0.0
        margin = 0.0 if self.stretch > SIMILAR else self._margin
        return sum(self._spans(i)) * (1 + margin)

    def between(self, i: int, j: int) -> tuple[float, float]:
        """Bound the distance between the points of terms i and j.

        Both terms are positions, of a plan without length error. Points of one rigid body have a single distance.
        """
        first, second = self._ends(i), self._ends(j)
        shared = [a[0] == b[0] for a, b in zip(first, second, strict=False)]
        last = shared.index(False) - 1 if False in shared else len(shared) - 1
        apart = [*first[last + 1 :], *second[last + 1 :]]
        spans = [_length(first[last][1] - second[last][1]), *[self._span(node, end) for node, end in apart]]
        turning = {self.layout.nodes[node].kind for node, _ in apart} <= {HINGE, BALL}
        longest = sum(spans)
        shortest = max(2 * max(spans) - longest, 0.0) if turning else 0.0
        return shortest * (1 - self._margin), longest * (1 + self._margin)

    def _ends(self, i: int) -> list[tuple[int, Floats]]:
        """List the moving nodes above term i, from the base (-1).

        Each is paired with the origin (3,) of the next one in its own moved frame.
        """
        node, point = self._carrier(self.layout.terms[i].node, self.aims[i, :3])
        ends = [(node, point)]
        while node >= 0:
            node, point = self._carrier(self.layout.nodes[node].parent, self.frames[0, node, :3])
            ends.append((node, point))
        return ends[::-1]

    def _carrier(self, node: int, point: Floats) -> tuple[int, Floats]:
        """Find the nearest moving node at or above a node.

        Also return the point (3,), given in the first node's frame, in the moved frame of the second.
        """
        while node >= 0 and self.layout.nodes[node].kind == FIXED:
            frame = self.frames[0, node]
            point, node = frame[:3] + rotations.rotate(frame[3:7], point), self.layout.nodes[node].parent
        return node, point

    @property
    def _margin(self) -> float:
        return max(SIMILAR, self.stretch) if self.stretch else _ROUNDING

    def _spans(self, i: int) -> list[float]:
        """Compute the maximal span of each node on a term's path.

        It is the distance between the node's origin and the next one's.
        """
        path = self.layout.paths[i]
        ends = [self.frames[0, node, :3] for node in path[1:]] + [self.aims[i, :3]]
        return [self._span(node, end) for node, end in zip(path, ends, strict=True)]

    def _span(self, node: int, end: Floats) -> float:
        kind, dof = self.layout.nodes[node].kind, self.layout.nodes[node].dof
        if kind == MOVE:
            return np.inf
        if kind != SLIDE:
            return _length(end)
        ratio, offset = self.frames[0, node, 7:9].tolist()
        values = [ratio * value + offset for value in self.layout.dofs[dof, :2].tolist()]
        if not np.isfinite(values).all():
            return np.inf
        return max(_length(end + _UP * value) for value in values)

    def _standing(self, node: int, point: Floats) -> Floats:
        """Transform a point (3,) of a fixed node into the base frame."""
        while node >= 0:
            frame = self.frames[0, node]
            point, node = frame[:3] + rotations.rotate(frame[3:7], point), self.layout.nodes[node].parent
        return point

    def _slack(self, node: int, further: float = 0.0) -> float:
        """Bound the position error of a fixed node."""
        if self.stretch <= SIMILAR:
            return 0.0
        away = further
        while node >= 0:
            away, node = away + _length(self.frames[0, node, :3]), self.layout.nodes[node].parent
        return self.stretch * away


def _length(v: Floats) -> float:
    return float(np.sqrt((v**2).sum()))
