"""Pack a kinematic tree: fold fixed joints and remove scale.

`dof_layout.py` decides on the moving joints; `plan.py` stores the packed arrays for all poses they serve.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.kinematics import NOTHING, Given, world_maps
from poise.model.limits import hinge_axis
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.geometry import Transform, compose, constant_parts, similar, span_size
from poise.problem.goals import AnyGoal, LookAt
from poise.problem.layout import (
    AIM,
    DIRECTION,
    FIXED,
    HINGE,
    MOVE,
    POLE,
    POSITION,
    ROTATION,
    SLIDE,
    Layout,
    Node,
    Term,
)

_UP = np.array([0.0, 0.0, 1.0])
_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
_ORIGIN = (0.0, 0.0, 0.0)


def offset_of(goal: AnyGoal) -> tuple[float, float, float]:
    """Return the goal's point in the frame of its joint."""
    return getattr(goal, "offset", _ORIGIN)


def weight_of(goal: AnyGoal, kind: int) -> float:
    """Return the weight of one residual of a goal. A goal may weight its rotation differently from its position."""
    return goal.weight * (getattr(goal, "rotation_weight", 1.0) if kind == ROTATION else 1.0)


def axis_in(skeleton: Skeleton, goal: AnyGoal) -> tuple[float, float, float]:
    """Return the axis of a direction or aim in joint coordinates."""
    if isinstance(goal, LookAt):
        return goal.sight(skeleton).axis
    return goal.axis  # pyright: ignore[reportAttributeAccessIssue]  (see JointGoal in problem/goal_base.py)


def _aim(skeleton: Skeleton, term: Term, places: Sequence[Transform], goal: AnyGoal, *, mirrored: bool) -> Floats:
    """Pack a row of the aims without the tolerance. See kernels/tree/arrays.py."""
    row, place = np.zeros(15), places[0]
    row[:3], row[3:7], row[7] = place.offset[0], place.rotation[0], weight_of(goal, term.kind)
    if term.kind == DIRECTION:
        row[:3] = rotations.rotate(place.rotation[0], np.array(axis_in(skeleton, goal)))
    elif term.kind == AIM:
        sign = -1.0 if mirrored else 1.0  # kernels mirror points, not rotations
        row[3:6] = sign * rotations.rotate(place.rotation[0], np.array(axis_in(skeleton, goal)))
        row[6] = float(isinstance(goal, LookAt))
    elif term.kind == POLE:
        row[9:12], row[12:15] = places[1].offset[0], places[2].offset[0]
    return row


@dataclass(frozen=True, eq=False)
class Geometry:
    """Rigid frames of a tree. n nodes, t terms.

    frames        (1, n, 9) and aims (t, 15), without the tolerances: see kernels/tree/arrays.py
    size          file units in one kernel unit: a power of two
    scale         scale factor of the base row
    length_error  largest relative length error of the kernels' tree, caused by non-uniform scale; else 0
    """

    frames: Floats
    aims: Floats
    size: float
    scale: float
    stretch: float


def geometry_of(start: Pose, layout: Layout, goals: Sequence[AnyGoal]) -> Geometry:
    """Compute the rigid frames of a tree for one pose.

    The walk down the skeleton carries each row's transform in the moved frame of the node above it.
    """
    skeleton = start.skeleton
    walk = _Walk(start, layout)
    for row in layout.below:
        walk.visit(row)
    places = [
        [walk.place(term, term.row, offset_of(goals[term.goal])), *(walk.place(term, r) for r in reversed(term.limb))]
        for term in layout.terms
    ]
    spans = [*_spans(layout, walk.frames), *(p.offset for each in places for p in each)]
    size = span_size(spans, _travels(skeleton, layout, walk.frames), skeleton.A[skeleton.parents >= 0, :3])
    scale, stretch = _base_scale(start, layout)
    frames = np.zeros((1, len(layout.nodes), 9))
    for i, (node, frame) in enumerate(zip(layout.nodes, walk.frames, strict=True)):
        frames[:, i, :3], frames[:, i, 3:7] = frame.offset / size, frame.rotation
        ratio, offset = gear_of(skeleton, node)
        gain = frame.factor / size if node.kind in (SLIDE, MOVE) else np.ones(1)
        frames[:, i, 7], frames[:, i, 8] = ratio * gain, offset * gain
    aims = np.zeros((len(layout.terms), 15))
    for i, (term, each) in enumerate(zip(layout.terms, places, strict=True)):
        scaled = [Transform(p.offset / size, p.rotation, p.factor) for p in each]
        aims[i] = _aim(skeleton, term, scaled, goals[term.goal], mirrored=scale < 0.0)
    return Geometry(frames, aims, size, scale, (1.0 + stretch) * (1.0 + walk.stretch) - 1.0)


def _spans(layout: Layout, frames: Sequence[Transform]) -> list[Floats]:
    """List the offsets between moving joints.

    The distance of the first ones from the base is no measure of the limb.
    """
    return [frame.offset for node, frame in zip(layout.nodes, frames, strict=True) if node.parent >= 0]


def _travels(skeleton: Skeleton, layout: Layout, frames: Sequence[Transform]) -> Iterator[Floats]:
    """List the end positions of slides. They are the only lengths of a gantry."""
    for node, frame in zip(layout.nodes, frames, strict=True):
        if node.kind == SLIDE:
            ratio, offset = gear_of(skeleton, node)
            values = (ratio * layout.dofs[node.dof, :2] + offset) * frame.factor
            yield values[np.isfinite(values)]


def _base_scale(start: Pose, layout: Layout) -> tuple[float, float]:
    """Compute the base row's scale factor and relative length error.

    They are computed from the pose's own scales in the rest pose, so rotations above the base do not affect them.
    """
    skeleton = start.skeleton
    if layout.base < 0:
        return 1.0, 0.0
    if start.scales is None and (skeleton.B[skeleton.way(layout.base), :, :3] == np.eye(3)).all():
        return 1.0, 0.0  # exact, and without a kernel
    given = NOTHING if start.scales is None else Given(None, start.scales[None])
    linear = world_maps(skeleton, layout.base, np.array(skeleton.rest_q[None]), given)[:, 0, :, :3]
    scale, _, _ = similar(linear, skeleton, layout.base)
    return float(scale[0]), _stretch_above(start, layout.base)


def _stretch_above(start: Pose, base: int) -> float:
    """Bound the relative length error caused by joints above a row.

    Non-uniform scales may cancel in the rest pose, but not after rotation of a joint between them. Scales without such
    a joint between them count as one.
    """
    skeleton, rows = start.skeleton, start.skeleton.way(base)
    turns, scales = rotations.as_matrix(skeleton.A[rows, 3:]), start.b_affine[0, rows, :, :3]
    stretch, carried = 1.0, np.eye(3)
    for row, turn, scale in zip(rows, turns, scales, strict=True):
        if skeleton.kinds[row] not in (Kind.FIXED, Kind.SLIDE):
            stretch, carried = stretch * (1.0 + similar(carried[None], skeleton, base)[2]), np.eye(3)
        carried = carried @ turn @ scale
    return stretch * (1.0 + similar(carried[None], skeleton, base)[2]) - 1.0


def gear_of(skeleton: Skeleton, node: Node) -> tuple[float, float]:
    """Return ratio and offset of a coupled joint's value."""
    if skeleton.kinds[node.row] in (Kind.HINGE, Kind.SLIDE):
        ratio, offset = skeleton.coupling_rows[node.row].tolist()
        return ratio, offset
    return 1.0, 0.0


class _Walk:
    """Walk down a tree with accumulated transforms.

    It carries affine maps since the last node above, and the scale and length error before that node.
    """

    def __init__(self, start: Pose, layout: Layout) -> None:
        skeleton = start.skeleton
        self.skeleton = skeleton
        self.of_row: dict[int, list[int]] = {}
        for i, node in enumerate(layout.nodes):
            self.of_row.setdefault(node.row, []).append(i)
        self.nodes = layout.nodes
        moving = {node.row for node in layout.nodes if node.kind != FIXED}
        translating = {node.row for node in layout.nodes if node.kind == MOVE}
        self.before, self.after = constant_parts(start, moving, translating)
        self.carried: dict[int, tuple[Floats, Floats, float]] = {layout.base: (np.eye(3, 4)[None], np.ones(1), 0.0)}
        self.frames: list[Transform] = []
        self.stretch = 0.0  # largest of any row

    def visit(self, row: int) -> None:
        """Accumulate the map of a row. At a node its frame is stored and the accumulation restarts."""
        carried, factor, stretch = self.carried[int(self.skeleton.parents[row])]
        carried = compose(carried, self.before[:, row])
        for i in self.of_row.get(row, ()):
            node = self.nodes[i]
            scale, rotation, more = similar(carried[..., :3], self.skeleton, row)
            stretch = (1.0 + stretch) * (1.0 + more) - 1.0
            self.stretch = max(self.stretch, stretch)
            align = self._alignment(node)
            turn = rotations.multiply(rotations.from_matrix(rotation), align)
            offset = carried[..., 3] * factor[:, None]
            factor = factor * scale
            self.frames.append(Transform(offset, turn, factor))
            back = rotations.as_matrix(rotations.inverse(align))
            carried = np.concatenate([back, np.zeros((3, 1))], axis=1)[None]
        self.carried[row] = compose(carried, self.after[:, row]), factor, stretch

    def _alignment(self, node: Node) -> Floats:
        """Return the rotation from z to a hinge or slide axis. Other nodes get the identity."""
        if node.kind not in (HINGE, SLIDE):
            return _IDENTITY
        axis = hinge_axis(self.skeleton.limits[node.row])
        return rotations.rotation_between(_UP, self.skeleton.axes[node.row] if axis is None else axis)

    def place(self, term: Term, row: int, point: tuple[float, float, float] = _ORIGIN) -> Transform:
        """Compute a point's transform in its node's moved frame. The rotation is set only where the term needs it.

        Scale does not affect a point's position; only rotations can be sheared.
        """
        carried, factor, stretch = self.carried[row]
        offset = (carried[..., :3] @ np.array(point) + carried[..., 3]) * factor[:, None]
        if term.kind in (POSITION, POLE):
            return Transform(offset, _IDENTITY[None], factor)
        scale, rotation, more = similar(carried[..., :3], self.skeleton, row)
        self.stretch = max(self.stretch, (1.0 + stretch) * (1.0 + more) - 1.0)
        return Transform(offset, rotations.from_matrix(rotation), factor * scale)
