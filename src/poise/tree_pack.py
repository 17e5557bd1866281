"""Packing a tree: walk down the skeleton, fold what does not move, take scale out.

What no pose changes stands in tree_layout.py; scale is taken out as for chains (geometry.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from poise import rotations
from poise.arrays import Floats
from poise.geometry import Transform, compose, constant_parts, similar, span_size
from poise.goals import AnyGoal, Direction, Near
from poise.limits import hinge_axis
from poise.pose import Pose
from poise.skeleton import Kind, Skeleton
from poise.tree import Tree
from poise.tree_layout import DIRECTION, DOFS, FIXED, HINGE, MOVE, SLIDE, Layout, Node, tree_layout

_UP = np.array([0.0, 0.0, 1.0])
_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def trees_together(start: Pose, goals: Sequence[AnyGoal], *, free_root: bool = False) -> bool:
    """Whether one packed tree serves every pose of a batch: nothing in its geometry differs between them."""
    if start.translations is not None or start.scales is not None:
        return False
    layout = tree_layout(start.skeleton, goals, free_root=free_root)
    return layout.constant and not _remembered(Pose(start.skeleton, start.skeleton.rest_q), layout).sheared


def pack_tree(start: Pose, goals: Sequence[AnyGoal], *, free_root: bool = False) -> Tree:
    """Pack the tree of goals from a legal start pose: a single one, or a batch axis of poses that pack together."""
    layout = tree_layout(start.skeleton, goals, free_root=free_root)
    packed = _remembered(start, layout)
    weights = [goals[term.goal].weight for term in layout.terms]
    aims = np.zeros((len(layout.terms), 9))
    for i, (term, place) in enumerate(zip(layout.terms, packed.places, strict=True)):
        aims[i, :3], aims[i, 3:7], aims[i, 7] = place.offset[0], place.rotation[0], weights[i]
        if term.kind == DIRECTION:
            goal = goals[term.goal]
            assert isinstance(goal, Direction)
            aims[i, :3] = rotations.rotate(place.rotation[0], np.array(goal.axis))
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


def _prefer(tree: Tree, goals: Sequence[AnyGoal]) -> None:
    """Fill in what the Near goals prefer; where several speak of a joint, the last one counts."""
    for goal in goals:
        if not isinstance(goal, Near):
            continue
        u = tree.u_of(goal.pose.flat_q)[0]
        names = goal.joints if goal.joints is not None else tree.skeleton.names
        rows = {tree.skeleton.index(name) for name in names}
        for node in tree.layout.nodes:
            if node.row in rows:
                numbers = 4 if node.kind not in (HINGE, SLIDE, MOVE, FIXED) else DOFS[node.kind]
                tree.near_u[node.at : node.at + numbers] = u[node.at : node.at + numbers]
                tree.near_on[node.dof : node.dof + DOFS[node.kind]] = goal.weight


@dataclass(frozen=True, eq=False)
class _Packed:
    frames: Floats
    places: list[Transform]
    size: float
    bases: Floats
    scale: Floats
    sheared: bool


def _remembered(start: Pose, layout: Layout) -> _Packed:
    """What is packed, remembered per skeleton where it is the same in every pose, but for the base."""
    if not layout.constant or start.translations is not None or start.scales is not None:
        return _packed(start, layout)
    known: dict[int, _Packed] = start.skeleton.__dict__.setdefault("_packed_trees", {})
    key = id(layout)  # layouts live as long as their skeleton
    if key not in known:
        known[key] = _packed(Pose(start.skeleton, start.skeleton.rest_q), layout)
    return replace(known[key], bases=_bases(start, layout))


def _bases(start: Pose, layout: Layout) -> Floats:
    if layout.base < 0:
        return np.eye(3, 4)[None]
    return start.world.affine.reshape(-1, len(start.skeleton), 3, 4)[:, layout.base]


def _packed(start: Pose, layout: Layout) -> _Packed:
    """Walk down the skeleton, carrying each row's place in the moved frame of the node above it."""
    skeleton = start.skeleton
    walk = _Walk(start, layout)
    for row in walk.rows:
        walk.visit(row)
    places = [walk.place(term.row) for term in layout.terms]
    size = span_size([f.offset for f in walk.frames] + [p.offset for p in places])
    bases = _bases(start, layout)
    scale, _, base_sheared = similar(bases[..., :3], skeleton, layout.base)
    count = max((len(f.offset) for f in walk.frames), default=1)
    frames = np.zeros((count, len(layout.nodes), 9))
    for i, (node, frame) in enumerate(zip(layout.nodes, walk.frames, strict=True)):
        frames[:, i, :3], frames[:, i, 3:7] = frame.offset / size, frame.rotation
        ratio, offset = _gear(skeleton, node)
        gain = frame.factor / size if node.kind in (SLIDE, MOVE) else np.ones(1)
        frames[:, i, 7], frames[:, i, 8] = ratio * gain, offset * gain
    places = [Transform(p.offset / size, p.rotation, p.factor) for p in places]
    return _Packed(frames, places, size, bases, scale, walk.sheared or base_sheared)


def _gear(skeleton: Skeleton, node: Node) -> tuple[float, float]:
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
        for row in [node.row for node in layout.nodes] + [term.row for term in layout.terms]:
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

    def place(self, row: int) -> Transform:
        """Where a row is in the moved frame of the node that carries it."""
        carried, factor = self.carried[row]
        scale, rotation, off = similar(carried[..., :3], self.skeleton, row)
        self.sheared |= off
        return Transform(carried[..., 3] * factor[:, None], rotations.from_matrix(rotation), factor * scale)
