"""Packing for the engine: the joints that move for the goals as a tree of rigid frames in units of its own size.

tree_pack.py makes it. The arrays are those that kernels/tree/arrays.py documents row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from poise.kernels.codes import LIMIT, LIMIT_SOFT, NO_LIMIT
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.limits import Range, hinge_axis, is_soft
from poise.model.limits.base.rows import nearest_angle, nearest_turns, turn_row
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.geometry import SIMILAR
from poise.problem.layout import (
    AIM,
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
    Node,
    columns,
)

_UP = np.array([0.0, 0.0, 1.0])
_ROUNDING = 1e-12  # of a reach that is a sum of lengths
_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class Tree:
    """The joints that move for a set of goals, packed for the kernels. n nodes, t terms; k = 1 or one per start.

    frames   (1|k, n, 9)  see kernels/tree/arrays.py
    aims     (t, 15)      the same, without the tolerances
    starts   (1|k, nu)    u of the start pose
    size     file units in one kernel unit: a power of two
    bases    (1|k, 3, 4)  world transform of the row that the tree hangs in
    scale    (1|k,)       the factor of that row
    sheared  whether any scale is not quite uniform: the kernels' tree is then a little off
    """

    skeleton: Skeleton
    start: Pose
    layout: Layout
    frames: Floats
    aims: Floats
    size: float
    bases: Floats
    scale: Floats
    sheared: bool
    near_u: Floats
    near_on: Floats

    @property
    def unit(self) -> Floats:
        """(1|k,) world units in one kernel unit."""
        return np.abs(self.scale) * self.size

    def serves(self, q: Floats) -> bool:
        """Whether the tree packed from a single start is that of q (nq,) too: only joints that turn or slide differ."""
        still = np.ones(self.skeleton.nq, dtype=np.bool_)
        for node in self.layout.nodes:
            if node.kind == MOVE:
                return False
            if node.kind != FIXED:
                still[self.skeleton.q_slice(self.skeleton.names[node.row])] = False
        return np.array_equal(q[still], self.start.q[still])

    def starting_from(self, start: Pose) -> Tree:
        """The tree of another start that it serves; what was worked out from nothing but the packing is kept."""
        other = copy(self)
        other.__dict__["start"] = start
        other.__dict__.pop("starts", None)
        return other

    @cached_property
    def nodes(self) -> Ints:
        """(n, 4) parent, kind, where it begins in u and in the dofs."""
        rows = [(node.parent, node.kind, node.at, node.dof) for node in self.layout.nodes]
        return np.array(rows, dtype=np.int64).reshape(-1, 4)

    @cached_property
    def limits(self) -> Floats:
        """(n, LIMIT) limits of balls and soft ones of any joint, see kernels/limits/rotations.py; zeros elsewhere.

        The soft range of a coupled joint is one of its leader's number.
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

    @property
    def prefers(self) -> bool:
        """Whether some configurations are nicer than others: those near a pose, or inside soft limits."""
        return bool(self.near_on.any() or self.limits[:, LIMIT_SOFT].any())

    @cached_property
    def terms(self) -> Ints:
        """(t, 10) kind, node, first row, first number of a target, first and last of its path, and of a pole's limb.

        Of its first joint and the one that bends: the nodes, and the last nodes of the path that move them.
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
        """The moving nodes on the way to each term, one after the other."""
        return np.array([node for path in self.layout.paths for node in path], dtype=np.int64)

    @cached_property
    def row_ranges(self) -> Ints:
        """(nd, 2) first and last row of the residual that each dof moves."""
        count = len(self.layout.dofs)
        first, last = np.full(count, 3 * len(self.layout.terms)), np.zeros(count, dtype=np.int64)
        for i, path in enumerate(self.layout.paths):
            for node in (self.layout.nodes[j] for j in path):
                dofs = slice(node.dof, node.dof + DOFS[node.kind])
                first[dofs] = np.minimum(first[dofs], 3 * i)
                last[dofs] = np.maximum(last[dofs], 3 * i + 3)
        return np.stack([np.minimum(first, last), last], axis=1).astype(np.int64)

    @cached_property
    def turn_to_kernel(self) -> Floats | None:
        """(1|k, 4) from world to base, None where that is the identity."""
        turn = rotations.inverse(rotations.from_matrix(self.bases[..., :3] / self.scale[:, None, None]))
        return None if (np.abs(turn) == _IDENTITY).all() else turn

    def kernel_targets(self, rows: Floats) -> Floats:
        """World targets (k, W) of all goals as the kernels want them: base frame, kernel units, ordered as terms."""
        out = np.empty((len(rows), sum(NUMBERS[term.kind] for term in self.layout.terms)))
        turn = self.turn_to_kernel
        for term, number in zip(self.layout.terms, self.terms[:, 3], strict=True):
            given = rows[:, term.column : term.column + NUMBERS[term.kind]]
            if term.kind in (POSITION, AIM, POLE):
                given = (given - self.bases[..., 3]) / (self.scale * self.size)[:, None]
            if turn is not None:
                given = rotations.multiply(turn, given) if term.kind == ROTATION else rotations.rotate(turn, given)
            out[:, number : number + NUMBERS[term.kind]] = given
        return out

    # --- lengths -------------------------------------------------------------------------------------------------

    def reach(self, i: int) -> tuple[Floats, Floats, Floats]:
        """Shortest and longest distance (1|k,) of term i from its path's first node, and that node's origin (1|k, 3).

        By lengths alone, a hair wider than they say; kernel units, base frame.
        """
        path = self.layout.paths[i]
        if not path:
            nowhere = np.zeros(len(self.frames))
            return nowhere, nowhere, np.broadcast_to(self.aims[i, :3], (len(self.frames), 3))
        ends = [self.frames[:, node, :3] for node in path[1:]] + [self.aims[None, i, :3]]
        spans = [self._span(node, end) for node, end in zip(path, ends, strict=True)]
        longest = np.sum(np.broadcast_arrays(*spans), axis=0)
        turning = all(self.layout.nodes[node].kind in (HINGE, BALL) for node in path)
        widest = np.max(np.broadcast_arrays(*spans), axis=0)
        shortest = np.maximum(2 * widest - longest, 0.0) if turning else np.zeros(len(longest))
        margin = SIMILAR if self.sheared else _ROUNDING
        return shortest * (1 - margin), longest * (1 + margin), self.frames[:, path[0], :3]

    def _span(self, node: int, end: Floats) -> Floats:
        """The most (1|k,) that a node can put between its origin and the next one's."""
        kind, dof = self.layout.nodes[node].kind, self.layout.nodes[node].dof
        if kind == MOVE:
            return np.full(len(self.frames), np.inf)
        if kind != SLIDE:
            return np.sqrt((end**2).sum(axis=-1))
        ratio, offset = self.frames[:, node, 7], self.frames[:, node, 8]
        values = [ratio * value + offset for value in self.layout.dofs[dof, :2]]
        if not np.isfinite(values).all():
            return np.full(len(self.frames), np.inf)
        return np.max([np.sqrt(((end + _UP * v[:, None]) ** 2).sum(axis=-1)) for v in values], axis=0)

    @cached_property
    def lengths(self) -> Floats:
        """The longest reach of each position that is aimed at [file units]."""
        terms = [i for i, term in enumerate(self.layout.terms) if term.kind == POSITION]
        return np.array([float((self.reach(i)[1] * self.unit).max()) for i in terms])

    # --- q and u -------------------------------------------------------------------------------------------------

    @cached_property
    def _same(self) -> tuple[Ints, Ints]:
        return columns(self.layout.nodes, self.skeleton)

    @cached_property
    def _bent(self) -> tuple[Node, ...]:
        """Balls that a limit makes hinges: their u is an angle."""
        kinds = self.skeleton.kinds
        return tuple(n for n in self.layout.nodes if n.kind == HINGE and kinds[n.row] >= Kind.BALL)

    @cached_property
    def _moves(self) -> tuple[tuple[Node, Floats], ...]:
        """Moves, each with kernel units (1|k,) in one of its file units."""
        return tuple((n, self.frames[:, i, 7]) for i, n in enumerate(self.layout.nodes) if n.kind == MOVE)

    @cached_property
    def starts(self) -> Floats:
        """(k, nu) u of the start pose."""
        return self.u_of(self.start.flat_q)

    def u_of(self, q: Floats) -> Floats:
        """Configurations q (k, nq) as the kernels see them (k, nu)."""
        u = np.zeros((len(q), self.layout.nu))
        from_q, to_u = self._same
        u[:, to_u] = q[:, from_q]
        for node in self._bent:
            axis, low, high = hinge_axis(self.skeleton.limits[node.row]), *self.layout.dofs[node.dof, :2]
            angle = rotations.twist_angle(q[:, node.q_start : node.q_start + 4], np.array(axis))
            limit = self.skeleton.limits[node.row]
            if isinstance(limit, Range) and limit.soft:  # the turn that is inside, or nearest to it
                angle += 2 * np.pi * np.round((nearest_angle(angle, limit.low, limit.high) - angle) / (2 * np.pi))
            u[:, node.at] = nearest_angle(angle, low, high)
        for node, gain in self._moves:
            u[:, node.at : node.at + 3] = q[:, node.q_start : node.q_start + 3] * gain[:, None]
        return u

    def q_of(self, u: Floats, moved: Bools, starts: Floats | None = None) -> Floats:
        """q (k, nq) with u (k, nu) put in where `moved` (k,); else the start's (or `starts`), bit for bit."""
        given = self.start.flat_q if starts is None else starts
        q = np.broadcast_to(given, (len(u), self.skeleton.nq)).copy()
        everywhere = bool(moved.all())
        to_q, from_u = self._same
        q[:, to_q] = u[:, from_u] if everywhere else np.where(moved[:, None], u[:, from_u], q[:, to_q])
        for node in self._bent:
            turn = rotations.about(np.array(hinge_axis(self.skeleton.limits[node.row])), u[:, node.at])
            where = slice(node.q_start, node.q_start + 4)
            q[:, where] = np.where(moved[:, None], turn, q[:, where])
        for node, gain in self._moves:
            where = slice(node.q_start, node.q_start + 3)
            at = u[:, node.at : node.at + 3] / gain[:, None]
            q[:, where] = np.where(moved[:, None], at, q[:, where])
        return q

    # --- configurations ------------------------------------------------------------------------------------------

    def differences(self, u: Floats, v: Floats) -> Floats:
        """How far each moving joint is apart (..., joints): angles [rad], slides in file, moves in kernel units."""
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
        """u with whole turns added to its hinges, where the limits allow, so that they come nearest to v.

        Those of couplings stay: a whole turn of a leader is none of its followers.
        """
        u = u.copy()
        coupled = {coupling.leader for coupling in self.skeleton.couplings if coupling}
        for node in self.layout.nodes:
            if node.kind != HINGE or node.row in coupled or self.skeleton.couplings[node.row]:
                continue
            low, high = self.layout.dofs[node.dof, :2]
            turn = 2 * np.pi
            best = u[..., node.at] + turn * np.round((v[..., node.at] - u[..., node.at]) / turn)
            best = np.where(best > high, best - turn * np.ceil((best - high) / turn), best)
            best = np.where(best < low, best + turn * np.ceil((low - best) / turn), best)
            u[..., node.at] = np.where((best >= low) & (best <= high), best, u[..., node.at])
        return u

    def scattered(self, starts: Floats, seed: Floats, share: float) -> Floats:
        """Other starts (k, nu) for numbers in 0..1 (nd,): over arrays, as `scatter` in kernels/tree/many.py."""
        u = starts.copy()
        for node in self.layout.nodes:
            low, high = self.layout.dofs[node.dof, :2] if node.kind in (HINGE, SLIDE) else (0.0, 0.0)
            if node.kind in (HINGE, SLIDE) and np.isfinite(high - low):
                u[:, node.at] = low + seed[node.dof] * (high - low)
            elif node.kind == HINGE:
                turned = starts[:, node.at] + (2 * seed[node.dof] - 1) * np.pi
                u[:, node.at] = np.clip(turned, low, high)
            elif node.kind == BALL:
                turn = 2 * seed[node.dof : node.dof + 3] - 1
                angle = np.linalg.norm(turn)
                where = slice(node.at, node.at + 4)
                turned = rotations.about(turn / max(angle, 1e-12), share * angle)
                u[:, where] = rotations.multiply(np.broadcast_to(turned, (len(u), 4)), starts[:, where])
        for node, limit in zip(self.layout.nodes, self.limits, strict=True):
            if limit[0] != NO_LIMIT and limit[LIMIT_SOFT] == 0.0:
                where = slice(node.at, node.at + 4)
                u[:, where] = nearest_turns(limit, u[:, where])
        return u


def _count(nodes: Sequence[Node], node: int) -> int:
    """How many moving nodes lead from the base to `node`, itself included."""
    count = 0
    while node >= 0:
        count += nodes[node].kind != FIXED
        node = nodes[node].parent
    return count
