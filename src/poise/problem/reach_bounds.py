"""Bounds on the reach of goals from bone lengths.

With non-uniform scale each length is known only to the plan's relative `length_error`, which widens the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from poise.kernels.layout import FRAME_RATIO, FRAME_ROTATION
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.problem import dof_layout
from poise.problem.frame_packing import EXPORTER_LENGTH_ERROR

_Z_AXIS = np.array([0.0, 0.0, 1.0])
_ROUNDING_RATIO = 1e-12  # relative rounding error of a sum of lengths


class TermReach(NamedTuple):
    """Shortest and longest distance of a term from its path's first node.

    In the plan of many starts the distances are arrays (k,), or numbers where all bones are equal.

    origin  (3,) of that node; (k, 3) in the plan of many starts
    """

    min_distance: Any
    max_distance: Any
    origin: Floats


@dataclass(frozen=True, eq=False)
class ReachBounds:
    """Bounds on the reach of terms from bone lengths.

    Lengths are in kernel units and the base frame. For the fields see `Plan`. Inside, a length is an array (1|k,), a
    point an array (1|k, 3).
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
            slack = self._compute_slack(node, _compute_norms(point))
            return TermReach(0.0, _join_equal(slack), self._select_origin(self._transform_to_base(node, point)))
        spans, slack = self._compute_spans(term_index), self._compute_slack(path[0])
        max_reach, max_span = _sum_in_order(spans), spans.max(axis=1)
        only_rotates = {self.layout.nodes[node].kind for node in path} <= {dof_layout.HINGE, dof_layout.BALL}
        min_reach = np.maximum(2 * max_span - max_reach, 0.0) if only_rotates else np.zeros(1)
        min_reach = min_reach * (1 - self._rounding_margin)
        if self.length_error > EXPORTER_LENGTH_ERROR and only_rotates:  # each length has its own error
            min_reach = np.maximum(2 * max_span - (1 + self.length_error) * max_reach - slack, 0.0)
        origin, parent = self.frames[:, path[0], :3], self.layout.nodes[path[0]].parent
        if parent >= 0:
            origin = self._transform_to_base(parent, origin)
        longest = max_reach * (1 + self._rounding_margin) + slack
        return TermReach(_join_equal(min_reach), _join_equal(longest), self._select_origin(origin))

    def compute_max_reach(self, term_index: int) -> Any:
        """Return the total bone length up to a term.

        It is an array (k,) where the bones of starts differ.
        """
        if not self.layout.term_paths[term_index]:
            return 0.0
        margin = 0.0 if self.length_error > EXPORTER_LENGTH_ERROR else self._rounding_margin
        return _join_equal(_sum_in_order(self._compute_spans(term_index)) * (1 + margin))

    def bound_distance(self, i: int, j: int) -> tuple[Any, Any]:
        """Bound the distance between the points of terms i and j.

        Both terms are positions, of a plan without length error. Points of one rigid body have a single distance. The
        bounds are arrays (k,) where the bones of starts differ.
        """
        first_path, second_path = self._list_moving_ancestors(i), self._list_moving_ancestors(j)
        is_shared = [a[0] == b[0] for a, b in zip(first_path, second_path, strict=False)]
        shared_index = is_shared.index(False) - 1 if False in is_shared else len(is_shared) - 1
        separate_nodes = [*first_path[shared_index + 1 :], *second_path[shared_index + 1 :]]
        lengths = [
            _compute_norms(first_path[shared_index][1] - second_path[shared_index][1]),
            *[self._compute_span(node, end) for node, end in separate_nodes],
        ]
        spans = np.stack(np.broadcast_arrays(*lengths), axis=1)
        only_rotates = {self.layout.nodes[node].kind for node, _ in separate_nodes} <= {
            dof_layout.HINGE,
            dof_layout.BALL,
        }
        max_distance = _sum_in_order(spans)
        min_distance = np.maximum(2 * spans.max(axis=1) - max_distance, 0.0) if only_rotates else np.zeros(1)
        return (
            _join_equal(min_distance * (1 - self._rounding_margin)),
            _join_equal(max_distance * (1 + self._rounding_margin)),
        )

    def _list_moving_ancestors(self, term_index: int) -> list[tuple[int, Floats]]:
        """List the moving nodes above a term, from the base (-1).

        Each is paired with the origin of the next one in its own moved frame.
        """
        node, point = self._find_moving_ancestor(
            self.layout.terms[term_index].node_index, self.effectors[term_index, None, :3]
        )
        ends = [(node, point)]
        while node >= 0:
            node, point = self._find_moving_ancestor(self.layout.nodes[node].parent, self.frames[:, node, :3])
            ends.append((node, point))
        return ends[::-1]

    def _find_moving_ancestor(self, node: int, point: Floats) -> tuple[int, Floats]:
        """Find the nearest moving node at or above a node.

        Also return the point, given in the first node's frame, in the moved frame of the second.
        """
        while node >= 0 and self.layout.nodes[node].kind == dof_layout.FIXED:
            point, node = self._transform_point(node, point), self.layout.nodes[node].parent
        return node, point

    @property
    def _rounding_margin(self) -> float:
        return max(EXPORTER_LENGTH_ERROR, self.length_error) if self.length_error else _ROUNDING_RATIO

    @cached_property
    def _offset_lengths(self) -> Floats:
        """Lengths (1|k, n) of the offsets of all frames."""
        return _compute_norms(self.frames[:, :, :3])

    def _compute_spans(self, term_index: int) -> Floats:
        """Compute the maximal spans (1|k, p) on a term's path.

        A span is the distance between the node's origin and the next one's.
        """
        path, point = self.layout.term_paths[term_index], self.effectors[term_index, :3]
        spans = np.empty((len(self.frames), len(path)))
        spans[:, :-1], spans[:, -1] = self._offset_lengths[:, path[1:]], _compute_norms(point)
        for column, node in enumerate(path):
            if self.layout.nodes[node].kind in (dof_layout.MOVE, dof_layout.SLIDE):
                end = point[None] if column == len(path) - 1 else self.frames[:, path[column + 1], :3]
                spans[:, column] = self._compute_span(node, end)
        return spans

    def _compute_span(self, node: int, end: Floats) -> Floats:
        kind, dof_index = self.layout.nodes[node].kind, self.layout.nodes[node].dof_start
        if kind == dof_layout.MOVE:
            return np.full(1, np.inf)
        if kind != dof_layout.SLIDE:
            return _compute_norms(end)
        ratio, offset = self.frames[0, node, FRAME_RATIO : FRAME_RATIO + 2].tolist()
        low, high = [ratio * value + offset for value in self.layout.dofs[dof_index, :2].tolist()]
        if not np.isfinite([low, high]).all():
            return np.full(1, np.inf)
        return np.maximum(_compute_norms(end + _Z_AXIS * low), _compute_norms(end + _Z_AXIS * high))

    def _transform_to_base(self, node: int, point: Floats) -> Floats:
        """Transform a point of a fixed node into the base frame."""
        while node >= 0:
            point, node = self._transform_point(node, point), self.layout.nodes[node].parent
        return point

    def _transform_point(self, node: int, point: Floats) -> Floats:
        """Transform a point out of a node's frame."""
        offsets, quaternions = self.frames[:, node, :3], self.frames[:, node, FRAME_ROTATION:FRAME_RATIO]
        return offsets + rotations.rotate(quaternions, point)

    def _select_origin(self, origin: Floats) -> Floats:
        """Return an origin as (3,) where there is one start."""
        return origin.reshape(-1, 3)[0] if len(self.frames) == 1 else origin

    def _compute_slack(self, node: int, extra_length: Any = 0.0) -> Floats:
        """Bound the position error of a fixed node."""
        if self.length_error <= EXPORTER_LENGTH_ERROR:
            return np.zeros(1)
        path_length = np.zeros(1) + extra_length
        while node >= 0:
            path_length, node = path_length + self._offset_lengths[:, node], self.layout.nodes[node].parent
        return self.length_error * path_length


def _compute_norms(vectors: Floats) -> Floats:
    return np.sqrt((vectors**2).sum(axis=-1))


def _sum_in_order(spans: Floats) -> Floats:
    """Sum spans (1|k, p) in order. So a start has the bits that it has alone."""
    return np.cumsum(spans, axis=1)[:, -1]


def _join_equal(values: Floats) -> Any:
    """Return equal values as a number, others as they are."""
    return float(values.flat[0]) if (values == values.flat[0]).all() else values
