"""Tree of a robot: hinges and slides on a free base.

A ball becomes three hinges, in the order of its Euler limits. Couplings are nodes that share an unknown.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from poise.errors import UnsupportedError
from poise.kernels.clip_least_squares import BASE_COLUMNS, FIXED, HINGE, SLIDE
from poise.maths import euler, rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.limits import EulerBox, Range
from poise.model.skeleton import Kind, Skeleton, find_free_root
from poise.runtime.immutable_values import freeze
from poise.runtime.result_cache import get_or_compute

# of its range: nearer to an end a joint is at its limit
_LIMIT_MARGIN = 1e-6

# hinges of a ball without Euler limits: the middle angle of most joints stays away from a right angle
_BALL_ORDER = "YXZ"
_AXIS_NAMES = "xyz"
# of frames: more is a scale
_MAX_STRETCH = 1e-6


# hinges that turn a foot in any way
_FULL_FREEDOM = 6


class Unknown(NamedTuple):
    """An unknown of a frame behind the base.

    row     the joint
    place   0, or which hinge of a ball
    order   Euler order of that ball; empty for other joints
    axis    of a ball that its range makes a hinge; None for other joints
    low, high, speed
            limits of value and of its change a second; infinite where there are none. Those of followers count
    gain    the largest change of a hinge by that of the unknown; 0 where it moves none
    """

    row: int
    place: int = 0
    order: str = ""
    axis: Floats | None = None
    low: float = -np.inf
    high: float = np.inf
    speed: float = np.inf
    gain: float = 1.0


class NodeArrays(NamedTuple):
    """Nodes as arguments of the kernels, as in `clip_least_squares.Tree`."""

    parents: Ints
    offsets: Floats
    turns: Floats
    axes: Floats
    kinds: Ints
    columns: Ints
    ratios: Floats
    constants: Floats


class RobotTree(NamedTuple):
    """A robot as nodes.

    skeleton   with a free root
    root       row of the free root
    nodes      (n,) last node of each row; -1 above the root
    turns      (n, 4) rotation of each row's frame in its node
    centres    (n, 3) place of each row's frame in its node
    arrays     the nodes
    unknowns   those behind the base
    """

    skeleton: Skeleton
    root: int
    nodes: Ints
    turns: Floats
    centres: Floats
    arrays: NodeArrays
    unknowns: tuple[Unknown, ...]

    @property
    def unknown_count(self) -> int:
        """How many unknowns a frame has."""
        return BASE_COLUMNS + len(self.unknowns)

    @property
    def ranges(self) -> Floats:
        """(K - 6, 2) lowest and highest values."""
        return np.array([(unknown.low, unknown.high) for unknown in self.unknowns]).reshape(-1, 2)

    @property
    def rest_values(self) -> Floats:
        """(K - 6,) values at rest."""
        skeleton = self.skeleton
        return read_configurations(self, skeleton.rest_q[None])[2][0]

    @property
    def speeds(self) -> Floats:
        """(K - 6,) largest speeds by the file."""
        return np.array([unknown.speed for unknown in self.unknowns])

    @property
    def gains(self) -> Floats:
        """(K - 6,) changes of hinges by those of unknowns."""
        return np.array([unknown.gain for unknown in self.unknowns])

    @property
    def are_slides(self) -> Bools:
        """Whether each unknown (K - 6,) is a distance."""
        kinds = self.skeleton.kinds
        return np.array([kinds[unknown.row] == Kind.SLIDE for unknown in self.unknowns], dtype=np.bool_)

    def hold(self, rows: Collection[int]) -> RobotTree:
        """Hold joints as at rest. Their range is then one value."""
        values = np.clip(self.rest_values, *self.ranges.T).tolist()
        return self._replace(
            unknowns=tuple(
                unknown._replace(low=value, high=value) if unknown.row in rows else unknown
                for unknown, value in zip(self.unknowns, values, strict=True)
            )
        )

    def scale_arrays(self, factor: float) -> NodeArrays:
        """Scale the lengths of all nodes, and unknown distances."""
        arrays = self.arrays
        out = np.where(arrays.kinds == SLIDE, factor, 1.0)
        by_unknown = np.append(np.where(self.are_slides, factor, 1.0), 1.0)  # the last one is that of fixed nodes
        columns = np.where(arrays.columns < 0, len(self.unknowns), arrays.columns - BASE_COLUMNS)
        return arrays._replace(
            offsets=factor * arrays.offsets,
            ratios=arrays.ratios * (out / by_unknown[columns]),
            constants=out * arrays.constants,
        )


class _Nodes(NamedTuple):
    """Growing lists of nodes."""

    parents: list[int]
    offsets: list[Floats]
    turns: list[Floats]
    axes: list[Floats]
    kinds: list[int]
    columns: list[int]
    ratios: list[float]
    constants: list[float]

    def add(
        self,
        parent: int,
        offset: Floats,
        turn: Floats,
        axis: Floats,
        kind: int,
        column: int = -1,
        coupling: tuple[float, float] = (1.0, 0.0),
    ) -> int:
        """Add a node and return its number."""
        self.parents.append(parent)
        self.offsets.append(offset)
        self.turns.append(turn)
        self.axes.append(axis)
        self.kinds.append(kind)
        self.columns.append(column)
        self.ratios.append(coupling[0])
        self.constants.append(coupling[1])
        return len(self.parents) - 1

    def as_arrays(self) -> NodeArrays:
        """Return the nodes as arrays."""
        parents, kinds, columns = (
            np.array(values, dtype=np.int64) for values in (self.parents, self.kinds, self.columns)
        )
        offsets, turns, axes = (np.array(values) for values in (self.offsets, self.turns, self.axes))
        ratios, constants = (np.array(values, dtype=np.float64) for values in (self.ratios, self.constants))
        return NodeArrays(parents, offsets, turns, axes, kinds, columns, ratios, constants)


def build_tree(skeleton: Skeleton) -> RobotTree:
    """Build the tree of a robot, once. Its base is freed where the file has no free joint."""
    return get_or_compute(skeleton, "robot's tree", None, lambda: freeze(_build_tree(skeleton.with_free_root())))


def _build_tree(skeleton: Skeleton) -> RobotTree:
    root = find_free_root(skeleton)
    assert root is not None
    count = len(skeleton)
    nodes, centres = np.full(count, -1, dtype=np.int64), np.zeros((count, 3))
    turns = np.tile(rotations.IDENTITY, (count, 1))
    lists, unknowns = _Nodes([], [], [], [], [], [], [], []), list[Unknown]()
    columns: dict[int, int] = {}
    for row in range(root, count):
        parent = int(skeleton.parents[row])
        kind = Kind(int(skeleton.kinds[row]))
        turns[row], centres[row] = _split_after(skeleton, row)
        if row == root:
            nodes[row] = lists.add(0, np.zeros(3), np.eye(3), np.zeros(3), FIXED)
            continue
        if parent < 0 or nodes[parent] < 0:
            continue
        if kind == Kind.FREE:
            raise UnsupportedError(f"{skeleton.names[row]!r} is a second free joint: a robot has one base")
        offset = centres[parent] + rotations.rotate(turns[parent], skeleton.A[row, :3])
        turn = rotations.as_matrix(rotations.multiply(turns[parent], skeleton.A[row, 3:]))
        if kind == Kind.BALL:
            nodes[row] = _add_ball(skeleton, row, (int(nodes[parent]), offset, turn), lists, unknowns)
        elif kind in (Kind.HINGE, Kind.SLIDE):
            coupling = skeleton.couplings[row]
            leader = row if coupling is None else coupling.leader
            if leader not in columns:
                columns[leader] = BASE_COLUMNS + len(unknowns)
                unknowns.append(_build_unknown(skeleton, leader))
            ratio = (1.0, 0.0) if coupling is None else (coupling.ratio, coupling.offset)
            column = columns[leader] - BASE_COLUMNS
            unknowns[column] = _limit_speed(unknowns[column], skeleton, row, ratio[0])
            node_kind = HINGE if kind == Kind.HINGE else SLIDE
            nodes[row] = lists.add(
                int(nodes[parent]), offset, turn, skeleton.axes[row], node_kind, columns[leader], ratio
            )
        else:
            nodes[row] = lists.add(int(nodes[parent]), offset, turn, np.zeros(3), FIXED)
    return RobotTree(skeleton, root, nodes, turns, centres, lists.as_arrays(), tuple(unknowns))


def _split_after(skeleton: Skeleton, row: int) -> tuple[Floats, Floats]:
    """Split the constant transform behind a joint's motion into rotation and place."""
    linear = skeleton.B[row, :, :3]
    if np.abs(linear.T @ linear - np.eye(3)).max() > _MAX_STRETCH:
        raise UnsupportedError(f"{skeleton.names[row]!r} has a scale: a robot's links are rigid")
    return rotations.from_matrix(linear), skeleton.B[row, :, 3]


def _build_unknown(skeleton: Skeleton, row: int) -> Unknown:
    low, high = skeleton.value_ranges[skeleton.q_start[row]].tolist()
    return Unknown(row, low=low, high=high, speed=_find_speed(skeleton, row), gain=0.0)


def _find_speed(skeleton: Skeleton, row: int) -> float:
    motor = skeleton.motors.get(skeleton.names[row])
    return motor.velocity if motor is not None and motor.velocity else np.inf


def _limit_speed(unknown: Unknown, skeleton: Skeleton, row: int, ratio: float) -> Unknown:
    """Limit the speed of an unknown by a joint. The unknown moves it."""
    share = abs(ratio)
    speed = min(unknown.speed, _find_speed(skeleton, row) / share) if share > 0.0 else unknown.speed
    return unknown._replace(
        speed=speed, gain=max(unknown.gain, share) if skeleton.kinds[row] == Kind.HINGE else unknown.gain
    )


def _add_ball(
    skeleton: Skeleton, row: int, mount: tuple[int, Floats, Floats], lists: _Nodes, unknowns: list[Unknown]
) -> int:
    """Add the hinges of a ball. Return the last node."""
    limit, (parent, offset, turn) = skeleton.limits[row], mount
    if isinstance(limit, Range) and limit.axis is not None:
        unknowns.append(Unknown(row, axis=np.array(limit.axis), low=limit.low, high=limit.high))
        return lists.add(parent, offset, turn, np.array(limit.axis), HINGE, BASE_COLUMNS + len(unknowns) - 1)
    order = limit.order if isinstance(limit, EulerBox) else _BALL_ORDER
    for place, name in enumerate(order.lower()):
        low, high = getattr(limit, name) if isinstance(limit, EulerBox) else (-np.inf, np.inf)
        unknowns.append(Unknown(row, place, order, low=low, high=high))
        axis = np.eye(3)[_AXIS_NAMES.index(name)]
        parent = lists.add(parent, offset, turn, axis, HINGE, BASE_COLUMNS + len(unknowns) - 1)
        offset, turn = np.zeros(3), np.eye(3)
    return parent


def write_configurations(tree: RobotTree, base_places: Floats, base_turns: Floats, values: Floats) -> Floats:
    """Write configurations (F, nq).

    Base frames are (F, 3) and (F, 3, 3), values (F, K - 6).
    """
    skeleton = tree.skeleton
    q = np.tile(skeleton.rest_q, (len(values), 1))
    turn, place = compute_root_mount(tree)
    start = int(skeleton.q_start[tree.root])
    q[:, start : start + 3] = rotations.rotate(rotations.inverse(turn), base_places - place)
    q[:, start + 3 : start + 7] = rotations.multiply(rotations.inverse(turn), rotations.from_matrix(base_turns))
    for column, unknown in enumerate(tree.unknowns):
        start = int(skeleton.q_start[unknown.row])
        if unknown.axis is not None:
            q[:, start : start + 4] = rotations.about(unknown.axis, values[:, column])
        elif not unknown.order:
            q[:, start] = values[:, column]
        elif unknown.place == 0:
            q[:, start : start + 4] = euler.to_quaternion(values[:, column : column + 3], unknown.order)
    return q


def mark_limits(tree: RobotTree, values: Floats) -> Bools:
    """Mark values (F, K - 6) at an end of their range. Those of locked joints are at none."""
    low, high = tree.ranges.T
    return (low < high) & ((values <= low + _LIMIT_MARGIN) | (values >= high - _LIMIT_MARGIN))


def read_configurations(tree: RobotTree, q: Floats) -> tuple[Floats, Floats, Floats]:
    """Read base frames and values from configurations (F, nq).

    Base frames are (F, 3) and (F, 3, 3), values (F, K - 6).
    """
    skeleton = tree.skeleton
    turn, place = compute_root_mount(tree)
    start = int(skeleton.q_start[tree.root])
    places = place + rotations.rotate(turn, q[:, start : start + 3])
    turns = rotations.as_matrix(rotations.multiply(turn, q[:, start + 3 : start + 7]))
    values = np.zeros((len(q), len(tree.unknowns)))
    for column, unknown in enumerate(tree.unknowns):
        start = int(skeleton.q_start[unknown.row])
        if unknown.axis is not None:
            values[:, column] = rotations.twist_angle(q[:, start : start + 4], unknown.axis)
        elif not unknown.order:
            values[:, column] = q[:, start]
        elif unknown.place == 0:
            values[:, column : column + 3] = euler.unwrap_angles(
                euler.from_quaternion(q[:, start : start + 4], unknown.order)
            )
    return places, turns, values


def compute_root_mount(tree: RobotTree) -> tuple[Floats, Floats]:
    """Compute rotation (4,) and place (3,) above the free root."""
    turn, place = rotations.IDENTITY, np.zeros(3)
    for row in tree.skeleton.list_path(tree.root):
        place = place + rotations.rotate(turn, tree.skeleton.A[row, :3])
        turn = rotations.multiply(turn, tree.skeleton.A[row, 3:])
        if row != tree.root:
            after, centre = _split_after(tree.skeleton, row)
            place = place + rotations.rotate(turn, centre)
            turn = rotations.multiply(turn, after)
    return turn, place


def has_full_freedom(skeleton: Skeleton, rows: Collection[int]) -> bool:
    """Return whether joints can place and turn a foot in any way."""
    counts = {Kind.HINGE: 1, Kind.SLIDE: 1, Kind.BALL: 3}
    return sum(counts.get(Kind(int(skeleton.kinds[row])), 0) for row in rows) >= _FULL_FREEDOM
