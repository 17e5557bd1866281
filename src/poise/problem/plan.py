"""Pose-independent part of a problem, packed for the kernels. It is remembered with the skeleton.

`problem.py` converts start poses and targets into the plan's frames and units. The arrays are documented in
kernels/tree/arrays.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from poise import kernels
from poise.kernels.codes import LIMIT, LIMIT_SOFT, LONG_WAY, NO_LIMIT
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, for_kernel
from poise.maths.remember import own_fields, remember
from poise.model.limits import Range, is_soft
from poise.model.limits.base.rows import nearest_turns, turn_row
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import AnyGoal, Near
from poise.problem.layout import (
    BALL,
    DOFS,
    FIXED,
    HINGE,
    MOVE,
    NUMBERS,
    POLE,
    POSITION,
    ROTATION,
    SIZES,
    SLIDE,
    Layout,
    Measure,
    Node,
    columns,
    layout_of,
)
from poise.problem.lengths import Lengths
from poise.problem.packing import geometry_of

_PLAIN = {POSITION, ROTATION, POLE}  # kinds of terms of the kernels without limits
_OWN = (
    "joint",
    "root",
    "axis",
    "offset",
    "looks",
    "stands",
    "tip",
    "rotation_weight",
    "optional",
)  # fields of a goal in the key of its plan


def plan_of(
    start: Pose, goals: Sequence[AnyGoal], kinds: tuple[object, ...], *, free_root: bool, still: Floats | None = None
) -> Plan:
    """Return the plan for goals of these kinds.

    It serves all poses whose fixed joints have the same values as in `start`.

    `start` is a single pose, or a batch with a shared plan; `plan_inputs` are the result of `collect_plan_inputs`, if
    already computed. Raises UnsupportedError for zero scale above a rotating joint, and for a missing free root.
    """
    skeleton = start.skeleton
    layout = remembered_layout(skeleton, kinds, goals, free_root=free_root)
    still = still_part(start, layout) if still is None else still
    key = (kinds, free_root, None if still is None else still[0].tobytes())
    return remember(skeleton, "plans", key, lambda: _packed(start[0] if start.shape else start, goals, layout))


def kinds_of(goals: Sequence[AnyGoal]) -> tuple[object, ...]:
    """Return the key of goals without targets or preferred poses."""
    kinds: list[object] = []
    for goal in goals:
        if isinstance(goal, Near):
            kinds.append("Near")
        else:
            kinds += (type(goal), goal.measures, goal.weight)
            for name in _OWN:  # runs in every solve; a comprehension is slower
                kinds.append(getattr(goal, name, None))
    return tuple(kinds)


def remembered_layout(
    skeleton: Skeleton, kinds: tuple[object, ...], goals: Sequence[AnyGoal], *, free_root: bool
) -> Layout:
    """Return the remembered layout of goals of these kinds."""
    return remember(skeleton, "layouts", (kinds, free_root), lambda: layout_of(skeleton, goals, free_root=free_root))


def still_part(start: Pose, layout: Layout) -> Floats | None:
    """Collect the start values (k, s) behind a plan.

    Starts with equal rows share a plan. None where there are none.
    """
    parts: list[Floats] = []
    if len(layout.still):
        parts.append(start.flat_q[:, layout.still])
    k, n = len(start.flat_q), len(start.skeleton)
    if start.translations is not None:
        offsets = start.translations.reshape(-1, n, 3).take(layout.offset, axis=1)
        parts.append(offsets.reshape(k, 3 * len(layout.offset)))
    if start.scales is not None:
        rows = [*start.skeleton.way(layout.base), *layout.below]
        parts.append(start.scales.reshape(-1, n, 3).take(rows, axis=1).reshape(k, 3 * len(rows)))
    return np.concatenate(parts, axis=1) if parts else None


def groups_of(still: Floats | None) -> list[Ints] | None:
    """Group the rows of a start batch by shared plan. None where all rows share one."""
    if still is None or not len(still) or (still == still[0]).all():
        return None
    _, group = np.unique(still, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group.ravel()[order])) + 1)


def _packed(start: Pose, goals: Sequence[AnyGoal], layout: Layout) -> Plan:
    skeleton = start.skeleton
    found = geometry_of(start, layout, goals)
    return Plan(skeleton, layout, layout.measures, found.frames, found.aims, found.size, found.scale, found.stretch)


class Doors(NamedTuple):
    """Index map between q and u for kernels/tree/doors.py."""

    same: Ints
    bent: Ints
    limits: Floats
    moves: Ints
    gains: Floats


@dataclass(frozen=True, eq=False)
class Plan:
    """Moving joints of a set of goals, packed for the kernels. n nodes, t terms.

    measures      measured quantities: the columns of the errors
    frames        (1, n, 9)  see kernels/tree/arrays.py
    aims          (t, 15)    see kernels/tree/arrays.py; without the tolerances
    size          file units in one kernel unit: a power of two
    scale         scale factor of the base row
    length_error  largest relative length error of the kernels' tree, caused by non-uniform scale; else 0
    """

    skeleton: Skeleton
    layout: Layout
    measures: tuple[Measure, ...]
    frames: Floats
    aims: Floats
    size: float
    scale: float
    stretch: float

    def __getstate__(self) -> dict[str, Any]:
        return own_fields(self)

    @property
    def sheared(self) -> bool:
        """Whether scale is non-uniform, so answers need correction."""
        return self.stretch > 0.0

    @cached_property
    def unit(self) -> float:
        """World units in one kernel unit."""
        return abs(self.scale) * self.size

    @cached_property
    def scales(self) -> Floats:
        """(12,) divisors to remove scale from an affine map."""
        return np.where(np.arange(12) % 4 == 3, 1.0, self.scale)  # noqa: PLR2004  (the last of four is translation)

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Names of the moving joints."""
        return tuple([self.skeleton.names[row] for row in self.layout.joints])

    @cached_property
    def nodes(self) -> Ints:
        """(n, 4) parent, kind, first index in u and in the dofs."""
        rows = [(node.parent, node.kind, node.at, node.dof) for node in self.layout.nodes]
        return np.array(rows, dtype=np.int64).reshape(-1, 4)

    @cached_property
    def limits(self) -> Floats:
        """(n, LIMIT) limits of balls and soft limits of all joints.

        Other rows are zero. See kernels/limits/rotations.py. The soft range of a coupled joint is converted to its
        leader's values.
        """
        rows = np.zeros((len(self.layout.nodes), LIMIT))
        for row, node in zip(rows, self.layout.nodes, strict=True):
            limit = self.skeleton.limits[node.row]
            if node.kind not in (FIXED, MOVE) and (node.kind == BALL or is_soft(limit)):
                row[:] = turn_row(limit)
                ratio, offset = self.skeleton.coupling_rows[node.row]
                if self.skeleton.kinds[node.row] in (Kind.HINGE, Kind.SLIDE):
                    row[5:7] = np.sort((row[5:7] - offset) / ratio)
        return rows

    @cached_property
    def binding(self) -> Floats | None:
        """Limits for the kernels, or None for a plain tree.

        A plain tree has no limits, and no goal with a direction or an aim. Its kernels have no code for these.
        """
        is_plain = not self.limits.any() and {term.kind for term in self.layout.terms} <= _PLAIN
        return None if is_plain else self.limits

    @cached_property
    def soft(self) -> bool:
        """Whether some joint has a soft limit."""
        return bool(self.limits[:, LIMIT_SOFT].any())

    @cached_property
    def terms(self) -> Ints:
        """(t, 10) integer description of each term for the kernels.

        Columns: kind, node, first residual row, first target number, start and end of its path; then for the first and
        middle joint of a pole's limb their nodes, and their path ends.
        """
        rows: list[tuple[int, ...]] = []
        number = way = 0
        for i, (term, path) in enumerate(zip(self.layout.terms, self.layout.paths, strict=True)):
            limb = [(node, way + _count(self.layout.nodes, node)) for node in term.limb_nodes] or [(0, 0), (0, 0)]
            (first, first_end), (middle, middle_end) = limb
            ways = way, way + len(path), first, middle, first_end, middle_end
            rows.append((term.kind, term.node, 3 * i, number, *ways))
            number, way = number + NUMBERS[term.kind], way + len(path)
        return np.array(rows, dtype=np.int64).reshape(-1, 10)

    @cached_property
    def paths(self) -> Ints:
        """Moving nodes on the path to each term, concatenated."""
        return np.array([node for path in self.layout.paths for node in path], dtype=np.int64)

    @cached_property
    def row_ranges(self) -> Ints:
        """(nd, 2) first and last residual row of each dof."""
        count = len(self.layout.dofs)
        first, last = np.full(count, 3 * len(self.layout.terms)), np.zeros(count, dtype=np.int64)
        for i, path in enumerate(self.layout.paths):
            for node in (self.layout.nodes[j] for j in path):
                dofs = slice(node.dof, node.dof + DOFS[node.kind])
                first[dofs] = np.minimum(first[dofs], 3 * i)
                last[dofs] = np.maximum(last[dofs], 3 * i + 3)
        return np.stack([np.minimum(first, last), last], axis=1).astype(np.int64)

    @cached_property
    def turning(self) -> Ints:
        """(n,) 1 for nodes with free whole turns.

        These are hinges, except leaders of couplings and their followers.
        """
        skeleton, nodes = self.skeleton, self.layout.nodes
        led = {coupling.leader for coupling in skeleton.couplings if coupling}
        free = [n.kind == HINGE and n.row not in led and not skeleton.couplings[n.row] for n in nodes]
        return np.array(free, dtype=np.int64)

    # --- reach ---------------------------------------------------------------------------------------------------

    @cached_property
    def lengths(self) -> Lengths:
        """Bounds on reach from bone lengths."""
        return Lengths(self.layout, self.frames, self.aims, self.stretch)

    @cached_property
    def reaches(self) -> tuple[tuple[float, float, Floats], ...]:
        """Shortest distance, longest distance and origin of each term.

        Distances are measured from the first node of the term's path, whose origin (3,) is given, in kernel units and
        the base frame. They are bounds from bone lengths with a rounding margin: points outside are out of reach.
        """
        return tuple([self.lengths.reach(i) for i in range(len(self.layout.terms))])

    @cached_property
    def length(self) -> float:
        """Longest reach of all positions [file units]. It is 0 where no reach is finite."""
        terms = [i for i, term in enumerate(self.layout.terms) if term.kind == POSITION]
        longest = max((self.lengths.longest(i) * self.unit for i in terms), default=0.0)
        return longest if longest < np.inf else 0.0

    # --- q and u -------------------------------------------------------------------------------------------------

    @cached_property
    def doors(self) -> Doors:
        """Index map between q and u."""
        s, nodes = self.skeleton, self.layout.nodes
        balls = [n for n in nodes if n.kind == HINGE and s.kinds[n.row] >= Kind.BALL]
        moves = [(n, self.frames[0, i, 7]) for i, n in enumerate(nodes) if n.kind == MOVE]
        return Doors(
            same=np.stack(columns(nodes, s), axis=1),
            bent=np.array([(n.q_start, n.at) for n in balls], dtype=np.int64).reshape(-1, 2),
            limits=np.array([self._hinge_limits(n) for n in balls]).reshape(-1, 7),
            moves=np.array([(n.q_start, n.at) for n, _ in moves], dtype=np.int64).reshape(-1, 2),
            gains=np.array([gain for _, gain in moves], dtype=np.float64),
        )

    def _hinge_limits(self, node: Node) -> list[float]:
        """Pack axis and ranges of a ball limited to a hinge.

        The soft range is 1 to 0 where there is none.
        """
        limit, (low, high) = self.skeleton.limits[node.row], self.layout.dofs[node.dof, :2].tolist()
        assert isinstance(limit, Range)
        assert limit.axis is not None
        return [*limit.axis, low, high, *((limit.low, limit.high) if limit.soft else (1.0, 0.0))]

    def u_of(self, q: Floats) -> Floats:
        """Convert q (k, nq) into u (k, nu)."""
        u = np.zeros((len(q), self.layout.nu))
        kernels.tree.doors.starts(for_kernel(q), *self.doors, u)
        return u

    def q_of(self, u: Floats, moved: Bools, starts: Floats, *, turned: bool = True) -> Floats:
        """Convert u (k, nu) into q (k, nq). Rows with `moved` (k,) False keep `starts` (1|k, nq) bit for bit.

        With `unwrap`, hinges are moved by whole turns as near to the start as their ranges allow.
        """
        q, turns = np.empty((len(u), self.skeleton.nq)), self.turns if turned else self.turns[:0]
        kernels.tree.doors.answers(for_kernel(u), moved, for_kernel(starts), *self.doors, turns, q)
        return q

    def turned(self, q: Floats, starts: Floats) -> Floats:
        """Move hinges of q (k, nq) by whole turns towards the starts. The starts are (1|k, nq); ranges are kept."""
        q = np.array(q, order="C")
        kernels.tree.doors.turned(q, for_kernel(starts), self.turns)
        return q

    @cached_property
    def turns(self) -> Floats:
        """(h, 3) hinges with free whole turns. Columns: column of q, lowest and highest value."""
        found = zip(self.layout.nodes, self.turning, strict=True)
        rows = [n.row for n, turning in found if turning and self.skeleton.kinds[n.row] == Kind.HINGE]
        columns_ = self.skeleton.q_start[rows]
        return np.concatenate([columns_[:, None].astype(np.float64), self.skeleton.value_ranges[columns_]], axis=1)

    @cached_property
    def door_terms(self) -> Ints:
        """(t, 3) kind and first target columns of each term.

        The second column counts in world targets, the third in kernel targets.
        """
        columns_ = [
            (term.kind, term.column, number) for term, number in zip(self.layout.terms, self.terms[:, 3], strict=True)
        ]
        return np.array(columns_, dtype=np.int64).reshape(-1, 3)

    @cached_property
    def width(self) -> int:
        """Length of a kernel target row."""
        return sum(NUMBERS[term.kind] for term in self.layout.terms)

    # --- configurations ------------------------------------------------------------------------------------------

    def differences(self, u: Floats, v: Floats) -> Floats:
        """Compute the distance of each joint between u and v.

        The shape is (..., joints): angles [rad], slides in file units, translations in kernel units.
        """
        parts: list[Floats] = []
        for node in dict.fromkeys(n._replace(row=0, parent=0) for n in self.layout.nodes if n.kind != FIXED):
            a, b = u[..., node.at : node.at + SIZES[node.kind]], v[..., node.at : node.at + SIZES[node.kind]]
            if node.kind == BALL:
                left = rotations.multiply(*np.broadcast_arrays(a, rotations.inverse(b)))
                parts.append(2 * np.arctan2(np.sqrt((left[..., 1:] ** 2).sum(axis=-1)), np.abs(left[..., 0])))
            else:
                parts.append(np.sqrt(((a - b) ** 2).sum(axis=-1)))
        return np.stack(np.broadcast_arrays(*parts), axis=-1)

    def turned_near(self, u: Floats, v: Floats) -> Floats:
        """Move hinges of u (k, nu) by whole turns towards v.

        `v` is (1|k, nu). Coupled hinges stay: a whole turn of a leader is no whole turn of its followers.
        """
        nodes = [node for node, turning in zip(self.layout.nodes, self.turning, strict=True) if turning]
        rows = [(node.at, *self.layout.dofs[node.dof, :2]) for node in nodes]
        u = np.array(u, order="C")
        kernels.tree.doors.turned(u, for_kernel(v), np.array(rows, dtype=np.float64).reshape(-1, 3))
        return u

    def scattered(self, starts: Floats, seed: Floats, share: float) -> Floats:
        """Compute random starts (k, nu) from numbers in 0..1 (nd,).

        It is the NumPy version of the random starts in kernels/tree/many.py.
        """
        u, spread = starts.copy(), LONG_WAY / max([LONG_WAY, *map(len, self.layout.paths)])
        for node in self.layout.nodes:
            low, high = self.layout.dofs[node.dof, :2] if node.kind in (HINGE, SLIDE) else (0.0, 0.0)
            if node.kind in (HINGE, SLIDE) and np.isfinite(high - low):
                u[:, node.at] = low + seed[node.dof] * (high - low)
            elif node.kind == HINGE:
                turned = starts[:, node.at] + (2 * seed[node.dof] - 1) * np.pi
                u[:, node.at] = np.clip(turned, low, high)
            if node.kind == HINGE and spread < 1.0:
                u[:, node.at] = starts[:, node.at] + spread * (u[:, node.at] - starts[:, node.at])
            elif node.kind == BALL:
                turn = 2 * seed[node.dof : node.dof + 3] - 1
                angle = np.linalg.norm(turn)
                where = slice(node.at, node.at + 4)
                turned = rotations.about(turn / max(angle, 1e-12), spread * share * angle)
                u[:, where] = rotations.multiply(np.broadcast_to(turned, (len(u), 4)), starts[:, where])
        for node, limit in zip(self.layout.nodes, self.limits, strict=True):
            if limit[0] != NO_LIMIT and limit[LIMIT_SOFT] == 0.0:
                where = slice(node.at, node.at + 4)
                u[:, where] = nearest_turns(limit, u[:, where])
        return u


def _count(nodes: Sequence[Node], node: int) -> int:
    """Count the moving nodes from the base to `node`, inclusive."""
    count = 0
    while node >= 0:
        count += nodes[node].kind != FIXED
        node = nodes[node].parent
    return count
