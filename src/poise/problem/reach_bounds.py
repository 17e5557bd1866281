"""Bounds on the reach of goals from bone lengths.

With non-uniform scale each length is known only to the plan's relative `length_error`, which widens the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poise.kernels.layout import FRAME_OFFSET, FRAME_RATIO, FRAME_ROTATION
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.problem import dof_layout
from poise.problem.frame_packing import EXPORTER_LENGTH_ERROR

_Z_AXIS = np.array([0.0, 0.0, 1.0])
_ROUNDING_RATIO = 1e-12  # relative rounding error of a sum of lengths


class TermReach(NamedTuple):
    """Shortest and longest distance of a term from its path's first node.

    origin  (3,) of that node; (k, 3) in the plan of many starts
    """

    min_distance: float
    max_distance: float
    origin: Floats


@dataclass(frozen=True, eq=False)
class ReachBounds:
    """Bounds on the reach of terms from bone lengths.

    Lengths are in kernel units and the base frame. For the fields see `Plan`.
    """

    layout: dof_layout.Layout
    frames: Floats
    effectors: Floats
    length_error: float

    def compute_reach(self, term_index: int) -> TermReach:
        """Compute the reach of a term from its path's first node."""
        path = self.layout.term_paths[term_index]
        if not path:
            node, point = self.layout.terms[term_index].node_index, self.effectors[term_index, :3]
            return TermReach(0.0, self._compute_slack(node, _compute_norm(point)), self._transform_to_base(node, point))
        spans, slack = self._compute_spans(term_index), self._compute_slack(path[0])
        max_reach = sum(spans)
        only_rotates = {self.layout.nodes[node].kind for node in path} <= {dof_layout.HINGE, dof_layout.BALL}
        min_reach = max(2 * max(spans) - max_reach, 0.0) if only_rotates else 0.0
        min_reach *= 1 - self._rounding_margin
        if self.length_error > EXPORTER_LENGTH_ERROR and only_rotates:  # each length has its own error
            min_reach = max(2 * max(spans) - (1 + self.length_error) * max_reach - slack, 0.0)
        origin, parent = self.frames[0, path[0], :3], self.layout.nodes[path[0]].parent
        if parent >= 0:
            origin = self._transform_to_base(parent, origin)
        elif len(self.frames) > 1:
            origin = self.frames[:, path[0], :3]
        return TermReach(min_reach, max_reach * (1 + self._rounding_margin) + slack, origin)

    def compute_max_reach(self, term_index: int) -> float:
        """Return the total bone length up to a term."""
        if not self.layout.term_paths[term_index]:
            return 0.0
        margin = 0.0 if self.length_error > EXPORTER_LENGTH_ERROR else self._rounding_margin
        return sum(self._compute_spans(term_index)) * (1 + margin)

    def bound_distance(self, i: int, j: int) -> tuple[float, float]:
        """Bound the distance between the points of terms i and j.

        Both terms are positions, of a plan without length error. Points of one rigid body have a single distance.
        """
        first_path, second_path = self._list_moving_ancestors(i), self._list_moving_ancestors(j)
        is_shared = [a[0] == b[0] for a, b in zip(first_path, second_path, strict=False)]
        shared_index = is_shared.index(False) - 1 if False in is_shared else len(is_shared) - 1
        separate_nodes = [*first_path[shared_index + 1 :], *second_path[shared_index + 1 :]]
        spans = [
            _compute_norm(first_path[shared_index][1] - second_path[shared_index][1]),
            *[self._compute_span(node, end) for node, end in separate_nodes],
        ]
        only_rotates = {self.layout.nodes[node].kind for node, _ in separate_nodes} <= {
            dof_layout.HINGE,
            dof_layout.BALL,
        }
        max_distance = sum(spans)
        min_distance = max(2 * max(spans) - max_distance, 0.0) if only_rotates else 0.0
        return min_distance * (1 - self._rounding_margin), max_distance * (1 + self._rounding_margin)

    def _list_moving_ancestors(self, term_index: int) -> list[tuple[int, Floats]]:
        """List the moving nodes above a term, from the base (-1).

        Each is paired with the origin (3,) of the next one in its own moved frame.
        """
        node, point = self._find_moving_ancestor(
            self.layout.terms[term_index].node_index, self.effectors[term_index, :3]
        )
        ends = [(node, point)]
        while node >= 0:
            node, point = self._find_moving_ancestor(self.layout.nodes[node].parent, self.frames[0, node, :3])
            ends.append((node, point))
        return ends[::-1]

    def _find_moving_ancestor(self, node: int, point: Floats) -> tuple[int, Floats]:
        """Find the nearest moving node at or above a node.

        Also return the point (3,), given in the first node's frame, in the moved frame of the second.
        """
        while node >= 0 and self.layout.nodes[node].kind == dof_layout.FIXED:
            frame = self.frames[0, node]
            point, node = _transform_point(frame, point), self.layout.nodes[node].parent
        return node, point

    @property
    def _rounding_margin(self) -> float:
        return max(EXPORTER_LENGTH_ERROR, self.length_error) if self.length_error else _ROUNDING_RATIO

    def _compute_spans(self, term_index: int) -> list[float]:
        """Compute the maximal span of each node on a term's path.

        It is the distance between the node's origin and the next one's.
        """
        path = self.layout.term_paths[term_index]
        ends = [self.frames[0, node, :3] for node in path[1:]] + [self.effectors[term_index, :3]]
        return [self._compute_span(node, end) for node, end in zip(path, ends, strict=True)]

    def _compute_span(self, node: int, end: Floats) -> float:
        kind, dof_index = self.layout.nodes[node].kind, self.layout.nodes[node].dof_start
        if kind == dof_layout.MOVE:
            return np.inf
        if kind != dof_layout.SLIDE:
            return _compute_norm(end)
        ratio, offset = self.frames[0, node, FRAME_RATIO : FRAME_RATIO + 2].tolist()
        slide_positions = [ratio * value + offset for value in self.layout.dofs[dof_index, :2].tolist()]
        if not np.isfinite(slide_positions).all():
            return np.inf
        return max(_compute_norm(end + _Z_AXIS * value) for value in slide_positions)

    def _transform_to_base(self, node: int, point: Floats) -> Floats:
        """Transform a point (3,) of a fixed node into the base frame."""
        while node >= 0:
            frame = self.frames[0, node]
            point, node = _transform_point(frame, point), self.layout.nodes[node].parent
        return point

    def _compute_slack(self, node: int, extra_length: float = 0.0) -> float:
        """Bound the position error of a fixed node."""
        if self.length_error <= EXPORTER_LENGTH_ERROR:
            return 0.0
        path_length = extra_length
        while node >= 0:
            path_length, node = path_length + _compute_norm(self.frames[0, node, :3]), self.layout.nodes[node].parent
        return self.length_error * path_length


def _transform_point(frame: Floats, point: Floats) -> Floats:
    """Transform a point (3,) out of a node's frame."""
    offset, rotation = frame[FRAME_OFFSET:FRAME_ROTATION], frame[FRAME_ROTATION:FRAME_RATIO]
    return offset + rotations.rotate(rotation, point)


def _compute_norm(vector: Floats) -> float:
    return float(np.sqrt((vector**2).sum()))
