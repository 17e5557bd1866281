"""Pack the goals of one joint as a serial chain. CCD, FABRIK and the diagnostics go through it joint by joint.

The moving nodes of such a plan form a serial chain.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from poise import kernels
from poise.errors import UnsupportedError
from poise.kernels.codes import CHAIN_AIM, CHAIN_AXIS, CHAIN_POINT, CHAIN_TURN
from poise.maths.arrays import Bools, Floats, Ints, for_kernel
from poise.maths.remember import own_fields, remember
from poise.problem.layout import FIXED, HINGE, POSITION, ROTATION, SLIDE, Node
from poise.problem.packing import gear_of
from poise.problem.plan import Plan
from poise.problem.problem import Problem, Tolerance

_WHAT = ("position", "rotation", "direction")  # names for messages, by kind of term
_COLUMN = (CHAIN_POINT, CHAIN_TURN, CHAIN_AXIS)  # first column in a kernel target, by kind of term
_UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Chain:
    """Moving joints of a single-joint goal set, packed for the kernels. m links.

    kinds, axes, ranges, frames  see kernels/chain/links.py
    limits   (m, LIMIT) hard limits of balls; see kernels/limits/rotations.py
    rows     (m,) row of the skeleton of each link
    tips     (1, 10) effector point, rotation and axis in the last link's moved frame; see kernels/chain/aims.py
    weights  (3,) squared weights of position, rotation and direction; 0 for a quantity without a goal
    reach    (1, 2) shortest and longest distance of the tip from the first link's frame
    links    (m, 6) conversion of the plan's u to link motions; see kernels/tree/doors.py
    terms    (t, 3) target columns of the measures; see kernels/tree/doors.py
    """

    plan: Plan
    links: Floats
    terms: Ints
    rows: tuple[int, ...]
    kinds: Ints
    axes: Floats
    ranges: Floats
    limits: Floats
    frames: Floats
    tips: Floats
    weights: Floats
    reach: Floats

    def __getstate__(self) -> dict[str, Any]:
        return own_fields(self)

    @cached_property
    def points(self) -> Floats:
        """(1, 3) effector point in the last link's moved frame."""
        return self.tips[:, :3].copy()

    @cached_property
    def lone(self) -> bool:
        """Whether a position is the only thing measured."""
        return not self.weights[1:].any()

    @property
    def unit(self) -> float:
        """World units in one kernel unit."""
        return self.plan.unit

    def targets(self, problem: Problem, rows: Floats) -> Floats:
        """Convert world targets (k, W) into kernel targets (k, 10)."""
        out = _aims(len(rows))
        problem.put_targets(rows, self.terms, out)
        return out

    def starts(self, problem: Problem) -> Floats:
        """Compute the link motions (1|k, m, 4) of the start poses."""
        return self._motions(problem.starts)

    def motions_of(self, q: Floats) -> Floats:
        """Compute the link motions (k, m, 4) of q (k, nq)."""
        return self._motions(self.plan.u_of(q))

    def _motions(self, u: Floats) -> Floats:
        x = np.zeros((len(u), len(self.kinds), 4))
        kernels.tree.doors.motions(u, self.links, x)
        return x

    def q_of(self, problem: Problem, x: Floats, moved: Bools, *, traced: bool = False) -> Floats:
        """Convert link motions x (k, m, 4) into q (k, nq).

        Rows with `moved` (k,) False keep the start's q bit for bit.
        """
        u = np.zeros((len(x), self.plan.layout.nu))
        kernels.tree.doors.numbers(for_kernel(x), self.links, u)
        return problem.q_of(u, moved, traced=traced)

    def allowed(self, tolerance: Tolerance) -> tuple[float, float]:
        """Convert the tolerance into kernel units. Returns a distance and 2 sin(angle / 2)."""
        return tolerance.distance / self.unit, 2.0 * math.sin(0.5 * min(tolerance.angle, math.pi))


def chain_of(problem: Problem, solver: str = "") -> Chain:
    """Return the packed chain of a problem.

    Raises UnsupportedError for two goals of one kind and for coupled joints.
    """
    plan = problem.plan
    refusal = remember(plan, "no chain", solver, lambda: _refusal(problem, solver))
    if refusal is not None:
        raise UnsupportedError(refusal)
    return remember(plan, "chain", None, lambda: _packed(plan))


def _refusal(problem: Problem, solver: str) -> str | None:
    twice = [kind for kind, count in Counter(m.kind for m in problem.measures).items() if count > 1]
    if twice:
        return f"{solver} solves one {_WHAT[twice[0]]} of a joint; {len(problem.goals)} goals ask for it"
    if problem.coupled is not None:
        a, b = problem.coupled
        return f"{solver} moves one joint at a time; {a!r} and {b!r} are coupled and both on the way to the tip"
    return None


def _packed(plan: Plan) -> Chain:
    moving = [(i, node) for i, node in enumerate(plan.layout.nodes) if node.kind != FIXED]
    numbers = [number for number, _ in moving]
    tips, weights = _aims(1), np.zeros(3)
    reach = np.array([[0.0, np.inf]])
    for i, term in enumerate(plan.layout.terms):
        weights[term.kind] = plan.aims[i, 7] ** 2
        aim = plan.aims[i, 3:7] if term.kind == ROTATION else plan.aims[i, :3]
        tips[0, _COLUMN[term.kind] : _COLUMN[term.kind] + len(aim)] = aim
        if term.kind == POSITION:
            reach[0] = plan.reaches[i][:2]
    return Chain(
        plan=plan,
        links=np.array([_link(plan, node) for _, node in moving]).reshape(-1, 6),
        terms=np.array([(term.kind, term.column, _COLUMN[term.kind]) for term in plan.layout.terms], dtype=np.int64),
        rows=tuple(node.row for _, node in moving),
        kinds=np.array([node.kind for _, node in moving], dtype=np.int64),
        axes=np.array([_axis(plan, i, node) for i, node in moving]).reshape(-1, 3),
        ranges=np.array([_range(plan, node) for _, node in moving]).reshape(-1, 2),
        limits=plan.limits[numbers],
        frames=np.ascontiguousarray(plan.frames[:, numbers, :7]),
        tips=tips,
        weights=weights,
        reach=reach,
    )


def _axis(plan: Plan, number: int, node: Node) -> Floats:
    """Return the axis of a node.

    Frames of a plan have z along the axis; a slide's axis has the length of one unit of its value.
    """
    if node.kind != SLIDE:
        return _UP
    return _UP * (plan.frames[0, number, 7] / gear_of(plan.skeleton, node)[0])


def _range(plan: Plan, node: Node) -> tuple[float, float]:
    if node.kind not in (HINGE, SLIDE):
        return (-np.inf, np.inf)
    ratio, offset = gear_of(plan.skeleton, node)
    low, high = sorted(ratio * plan.layout.dofs[node.dof, :2] + offset)
    return (low, high)


def _link(plan: Plan, node: Node) -> list[float]:
    """Pack kind, start in u, coupling ratio and offset, and range."""
    low, high = plan.layout.dofs[node.dof, :2].tolist()
    return [node.kind, node.at, *gear_of(plan.skeleton, node), low, high]


def _aims(count: int) -> Floats:
    """Return rows (k, 10) with a zero point and identity rotation."""
    out = np.zeros((count, CHAIN_AIM))
    out[:, 3] = out[:, 9] = 1.0
    return out
