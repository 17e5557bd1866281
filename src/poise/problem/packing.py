"""Packing a tree: walk down the skeleton, fold what does not move, take scale out.

What no pose changes stands in tree_layout.py; scale is taken out as for chains (geometry.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.limits import hinge_axis
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.geometry import Transform, compose, constant_parts, similar, span_size
from poise.problem.goals import AnyGoal, LookAt, Near
from poise.problem.layout import (
    AIM,
    DIRECTION,
    DOFS,
    FIXED,
    HINGE,
    MOVE,
    POLE,
    POSITION,
    SLIDE,
    Layout,
    Node,
    Term,
    tree_layout,
)
from poise.problem.packed import Tree

_UP = np.array([0.0, 0.0, 1.0])
_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
_ORIGIN = (0.0, 0.0, 0.0)
_STRONGEST = 2.0  # preference: a step goes half the way times this, and more than all of it would distort the weights


def trees_together(start: Pose, goals: Sequence[AnyGoal], *, free_root: bool = False) -> bool:
    """Whether one packed tree serves every pose of a batch: nothing in its geometry differs between them."""
    if start.translations is not None or start.scales is not None:
        return False
    layout = tree_layout(start.skeleton, goals, free_root=free_root)
    return layout.constant and not _remembered(Pose(start.skeleton, start.skeleton.rest_q), layout).sheared


def pack_tree(start: Pose, goals: Sequence[AnyGoal], *, free_root: bool = False) -> Tree:
    """Pack the tree of goals from a legal start pose: a single one, or a batch axis of poses that pack together."""
    layout = tree_layout(start.skeleton, goals, free_root=free_root)
    packed = _remembered(start, layout, [offset_of(goals[term.goal]) for term in layout.terms])
    aims = np.zeros((len(layout.terms), 15))
    for i, (term, places) in enumerate(zip(layout.terms, packed.places, strict=True)):
        aims[i] = _aim(term, places, goals[term.goal], packed)
    tree = Tree(
        skeleton=start.skeleton,
        start=start,
        layout=layout,
        frames=packed.frames,
        aims=aims,
        size=packed.size,
        bases=packed.bases,
        scale=packed.scale,
        sheared=packed.sheared,
        near_u=np.zeros(layout.nu),
        near_on=np.zeros(len(layout.dofs)),
    )
    _prefer(tree, goals)
    return tree


def offset_of(goal: AnyGoal) -> tuple[float, float, float]:
    """The point that a goal speaks of, in the frame of its joint."""
    return getattr(goal, "offset", _ORIGIN)


def axis_in(goal: AnyGoal) -> tuple[float, float, float]:
    """The axis that a goal that measures a direction or an aim has in the frame of its joint."""
    return goal.axis  # pyright: ignore[reportAttributeAccessIssue]  (what such a goal offers besides; see problem/goals/goal.py)


def _aim(term: Term, places: Sequence[Transform], goal: AnyGoal, packed: _Packed) -> Floats:
    """A row of the aims, see kernels/tree/arrays.py, without the tolerance."""
    row, place = np.zeros(15), places[0]
    row[:3], row[3:7], row[7] = place.offset[0], place.rotation[0], goal.weight
    if term.kind == DIRECTION:
        row[:3] = rotations.rotate(place.rotation[0], np.array(axis_in(goal)))
    elif term.kind == AIM:
        mirrored = 1.0 if packed.scale[0] > 0 else -1.0  # the kernels' points are mirrored then, their turns are not
        row[3:6] = mirrored * rotations.rotate(place.rotation[0], np.array(axis_in(goal)))
        row[6] = float(isinstance(goal, LookAt))
    elif term.kind == POLE:
        row[9:12], row[12:15] = places[1].offset[0], places[2].offset[0]
    return row


def _prefer(tree: Tree, goals: Sequence[AnyGoal]) -> None:
    """Fill in what the Near goals prefer; where several speak of a joint, the last one counts."""
    for goal in goals:
        if not isinstance(goal, Near):
            continue
        q, weights = goal.pose.flat_q, goal.weights(tree.skeleton)
        u = tree.u_of(np.broadcast_to(q, (len(tree.frames), q.shape[1])))[0]  # frames may differ from start to start
        for node in tree.layout.nodes:
            if node.row in weights:
                numbers = 4 if node.kind not in (HINGE, SLIDE, MOVE, FIXED) else DOFS[node.kind]
                tree.near_u[node.at : node.at + numbers] = u[node.at : node.at + numbers]
                tree.near_on[node.dof : node.dof + DOFS[node.kind]] = weights[node.row]
    largest = tree.near_on.max(initial=0.0)
    if largest > _STRONGEST:
        tree.near_on[:] *= _STRONGEST / largest


@dataclass(frozen=True, eq=False)
class _Packed:
    """What no target changes; `places` are those of each term's joint, and of the two others of a pole."""

    frames: Floats
    places: list[list[Transform]]
    size: float
    bases: Floats
    scale: Floats
    sheared: bool


def _remembered(start: Pose, layout: Layout, offsets: Sequence[tuple[float, float, float]] = ()) -> _Packed:
    """What is packed, remembered per skeleton where it is the same in every pose and for every goal, but for the base.

    `offsets` are those of the terms' goals; none stands for zeros.
    """
    if not layout.constant or start.translations is not None or start.scales is not None or np.any(offsets):
        return _packed(start, layout, offsets)
    known: dict[int, _Packed] = start.skeleton.__dict__.setdefault("_packed_trees", {})
    key = id(layout)  # layouts live as long as their skeleton
    if key not in known:
        known[key] = _packed(Pose(start.skeleton, start.skeleton.rest_q), layout)
    return replace(known[key], bases=_bases(start, layout))


def _bases(start: Pose, layout: Layout) -> Floats:
    if layout.base < 0:
        return np.eye(3, 4)[None]
    return start.world.affine.reshape(-1, len(start.skeleton), 3, 4)[:, layout.base]


def _packed(start: Pose, layout: Layout, offsets: Sequence[tuple[float, float, float]] = ()) -> _Packed:
    """Walk down the skeleton, carrying each row's place in the moved frame of the node above it."""
    skeleton = start.skeleton
    walk = _Walk(start, layout)
    for row in walk.rows:
        walk.visit(row)
    points = offsets or [_ORIGIN] * len(layout.terms)
    places = [
        [walk.place(term, term.row, point), *(walk.place(term, row) for row in reversed(term.limb))]
        for term, point in zip(layout.terms, points, strict=True)
    ]
    size = span_size([f.offset for f in walk.frames] + [p.offset for each in places for p in each])
    bases = _bases(start, layout)
    scale, _, base_sheared = similar(bases[..., :3], skeleton, layout.base)
    count = max((len(f.offset) for f in walk.frames), default=1)
    frames = np.zeros((count, len(layout.nodes), 9))
    for i, (node, frame) in enumerate(zip(layout.nodes, walk.frames, strict=True)):
        frames[:, i, :3], frames[:, i, 3:7] = frame.offset / size, frame.rotation
        ratio, offset = gear_of(skeleton, node)
        gain = frame.factor / size if node.kind in (SLIDE, MOVE) else np.ones(1)
        frames[:, i, 7], frames[:, i, 8] = ratio * gain, offset * gain
    places = [[Transform(p.offset / size, p.rotation, p.factor) for p in each] for each in places]
    return _Packed(frames, places, size, bases, scale, walk.sheared or base_sheared)


def gear_of(skeleton: Skeleton, node: Node) -> tuple[float, float]:
    """What a coupling makes of a number in u: ratio and offset."""
    if skeleton.kinds[node.row] in (Kind.HINGE, Kind.SLIDE):
        ratio, offset = skeleton.coupling_rows[node.row].tolist()
        return ratio, offset
    return 1.0, 0.0


class _Walk:
    """Carries transforms down from the base: affine maps since the last node above, and the scale before it."""

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
        self.rows = self._rows_below(layout, skeleton)
        self.carried: dict[int, tuple[Floats, Floats]] = {layout.base: (np.eye(3, 4)[None], np.ones(1))}
        self.frames: list[Transform] = []
        self.sheared = False

    @staticmethod
    def _rows_below(layout: Layout, skeleton: Skeleton) -> list[int]:
        rows: set[int] = set()
        measured = [row for term in layout.terms for row in (term.row, *term.limb)]
        for row in [node.row for node in layout.nodes] + measured:
            up = row
            while up not in (layout.base, -1) and up not in rows:
                rows.add(up)
                up = int(skeleton.parents[up])
        return sorted(rows)

    def visit(self, row: int) -> None:
        """Carry the map over a row; where nodes stand in it, note their frames and begin anew."""
        carried, factor = self.carried[int(self.skeleton.parents[row])]
        carried = compose(carried, self.before[:, row])
        for i in self.of_row.get(row, ()):
            node = self.nodes[i]
            scale, rotation, off = similar(carried[..., :3], self.skeleton, row)
            self.sheared |= off
            align = self._alignment(node)
            turn = rotations.multiply(rotations.from_matrix(rotation), align)
            offset = carried[..., 3] * factor[:, None]
            factor = factor * scale
            self.frames.append(Transform(offset, turn, factor))
            back = rotations.as_matrix(rotations.inverse(align))
            carried = np.concatenate([back, np.zeros((3, 1))], axis=1)[None]
        self.carried[row] = compose(carried, self.after[:, row]), factor

    def _alignment(self, node: Node) -> Floats:
        """The rotation that takes z to the axis of a hinge or slide; none for others."""
        if node.kind not in (HINGE, SLIDE):
            return _IDENTITY
        axis = hinge_axis(self.skeleton.limits[node.row])
        return rotations.rotation_between(_UP, self.skeleton.axes[node.row] if axis is None else axis)

    def place(self, term: Term, row: int, point: tuple[float, float, float] = _ORIGIN) -> Transform:
        """Where a point of a row is in the moved frame of the node that carries it; its rotation where that counts.

        A point is where it is, however the row is scaled; only what turns must not be sheared.
        """
        carried, factor = self.carried[row]
        offset = (carried[..., :3] @ np.array(point) + carried[..., 3]) * factor[:, None]
        if term.kind in (POSITION, POLE):
            return Transform(offset, _IDENTITY[None], factor)
        scale, rotation, off = similar(carried[..., :3], self.skeleton, row)
        self.sheared |= off
        return Transform(offset, rotations.from_matrix(rotation), factor * scale)
