"""Goals of one joint along the chain that leads to it: the packing for solvers that go from joint to joint.

A lone Position has its own packing (chain.py). Everything else is packed as a tree (tree_pack.py) and read as a chain
here: with goals of one joint the nodes that move stand one behind the other.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from poise.errors import UnsupportedError
from poise.kernels.codes import CHAIN_AIM, CHAIN_AXIS, CHAIN_POINT, CHAIN_TURN
from poise.maths.arrays import Bools, Floats, Ints
from poise.problem import geometry
from poise.problem.goals import Position
from poise.problem.layout import BALL, FIXED, HINGE, MOVE, NUMBERS, POSITION, ROTATION, SLIDE, Node
from poise.problem.old_chain import Chain
from poise.problem.packed import Tree
from poise.problem.packing import gear_of
from poise.problem.problem import Problem, Tolerance

_KINDS = {HINGE: geometry.HINGE, SLIDE: geometry.SLIDE, BALL: geometry.BALL, MOVE: geometry.MOVE}
_WHAT = ("position", "rotation", "direction")  # by kind of term
_COLUMN = (CHAIN_POINT, CHAIN_TURN, CHAIN_AXIS)  # of a target as the kernels want it
_UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class GoalChain:
    """The joints that move for goals of one joint, packed for the kernels. m links; k = 1 or one per start pose.

    kinds, axes, ranges, frames, starts  see kernels/chain/links.py
    limits   (m, LIMIT) hard ones of balls; see kernels/limits/rotations.py
    rows     (m,) row of the skeleton of each link
    tips     (1|k, 10) what the goals aim with, in the last link's moved frame; see kernels/chain/aims.py
    weights  (3,) squared weights of position, rotation and direction; 0 where that is not asked for
    reach    (1|k, 2) shortest and longest distance of the tip from the first link's frame
    unit     (1|k,) world units in one kernel unit
    source   what it was packed from
    """

    rows: tuple[int, ...]
    kinds: Ints
    axes: Floats
    ranges: Floats
    limits: Floats
    frames: Floats
    tips: Floats
    starts: Floats
    weights: Floats
    reach: Floats
    unit: Floats
    source: Chain | Tree

    def to_kernel(self, rows: Floats) -> Floats:
        """World targets (k, W) of all goals as the kernels want them (k, 10)."""
        if isinstance(self.source, Chain):
            return _aims(self.source.to_kernel(rows))
        given, out = self.source.kernel_targets(rows), _aims(np.zeros((len(rows), 3)))
        for term, number in zip(self.source.layout.terms, self.source.terms[:, 3], strict=True):
            count, column = NUMBERS[term.kind], _COLUMN[term.kind]
            out[:, column : column + count] = given[:, number : number + count]
        return out

    def q_of(self, x: Floats, moved: Bools) -> Floats:
        """q (k, nq) with the links' motions x (k, m, 4) put in where `moved` (k,); else the start's, bit for bit."""
        if isinstance(self.source, Chain):
            return self.source.q_of(x, moved)
        tree = self.source
        u = np.zeros((len(x), tree.layout.nu))
        for i, (number, node) in enumerate(_moving(tree)):
            if node.kind == BALL:
                u[:, node.at : node.at + 4] = x[:, i]
            elif node.kind == MOVE:
                u[:, node.at : node.at + 3] = x[:, i, :3] / tree.frames[:, number, 7, None]
            else:
                ratio, offset = gear_of(tree.skeleton, node)
                u[:, node.at] = np.clip((x[:, i, 0] - offset) / ratio, *tree.layout.dofs[node.dof, :2])
        return tree.q_of(u, moved)

    def allowed(self, tolerance: Tolerance) -> tuple[float, float]:
        """The tolerance as the kernels measure: a distance, and 2 sin(angle / 2)."""
        return tolerance.distance / float(self.unit.max()), 2.0 * math.sin(0.5 * min(tolerance.angle, math.pi))


def goal_chain(problem: Problem, solver: str) -> GoalChain:
    """Pack goals of one joint; UnsupportedError where two ask for the same of it, or coupled joints are on the way."""
    if problem.chain is not None:
        return _of_chain(problem.chain)
    if len(problem.goals) == 1 and isinstance(problem.goals[0], Position):
        return _of_chain(problem.require_chain(solver))
    twice = [kind for kind, count in Counter(m.kind for m in problem.measures).items() if count > 1]
    if twice:
        raise UnsupportedError(
            f"{solver} solves one {_WHAT[twice[0]]} of a joint; {len(problem.goals)} goals ask for it"
        )
    _refuse_coupled(problem, solver)
    return _of_tree(problem)


def _refuse_coupled(problem: Problem, solver: str) -> None:
    names, owner = problem.skeleton.names, dict[int, int]()
    for _, node in _moving(problem.tree):
        if node.kind in (HINGE, SLIDE) and owner.setdefault(node.at, node.row) != node.row:
            a, b = names[owner[node.at]], names[node.row]
            raise UnsupportedError(
                f"{solver} moves one joint at a time; {a!r} and {b!r} are coupled and both on the way to the tip"
            )


def _of_chain(chain: Chain) -> GoalChain:
    return GoalChain(
        rows=tuple(link.row for link in chain.links),
        kinds=chain.kinds,
        axes=chain.axes,
        ranges=chain.ranges,
        limits=chain.limits,
        frames=chain.frames,
        tips=_aims(chain.tips),
        starts=chain.starts,
        weights=np.array([1.0, 0.0, 0.0]),
        reach=chain.reach,
        unit=chain.unit,
        source=chain,
    )


def _of_tree(problem: Problem) -> GoalChain:
    tree = problem.tree
    moving = _moving(tree)
    numbers = [number for number, _ in moving]
    tips, weights = _aims(np.zeros((1, 3))), np.zeros(3)
    reach = np.array([[0.0, np.inf]])
    for i, term in enumerate(tree.layout.terms):
        weights[term.kind] = problem.goals[term.goal].weight ** 2
        aim = tree.aims[i, 3:7] if term.kind == ROTATION else tree.aims[i, :3]
        tips[0, _COLUMN[term.kind] : _COLUMN[term.kind] + len(aim)] = aim
        if term.kind == POSITION:
            shortest, longest, _ = tree.reach(i)
            reach = np.stack(np.broadcast_arrays(shortest, longest), axis=-1)
    return GoalChain(
        rows=tuple(node.row for _, node in moving),
        kinds=np.array([_KINDS[node.kind] for _, node in moving], dtype=np.int64),
        axes=np.array([_axis(tree, i, node) for i, node in moving]).reshape(-1, 3),
        ranges=np.array([_range(tree, node) for _, node in moving]).reshape(-1, 2),
        limits=tree.limits[numbers],
        frames=np.ascontiguousarray(tree.frames[:, numbers, :7]),
        tips=tips,
        starts=_starts(tree, moving),
        weights=weights,
        reach=reach,
        unit=tree.unit,
        source=tree,
    )


def _moving(tree: Tree) -> list[tuple[int, Node]]:
    """The nodes that move, base first, each with its number."""
    return [(i, node) for i, node in enumerate(tree.layout.nodes) if node.kind != FIXED]


def _axis(tree: Tree, number: int, node: Node) -> Floats:
    """Frames of a tree have z along the axis; a slide's is as long as one unit of its value."""
    if node.kind != SLIDE:
        return _UP
    return _UP * (tree.frames[0, number, 7] / gear_of(tree.skeleton, node)[0])


def _range(tree: Tree, node: Node) -> tuple[float, float]:
    if node.kind not in (HINGE, SLIDE):
        return (-np.inf, np.inf)
    ratio, offset = gear_of(tree.skeleton, node)
    low, high = sorted(ratio * tree.layout.dofs[node.dof, :2] + offset)
    return (low, high)


def _starts(tree: Tree, moving: list[tuple[int, Node]]) -> Floats:
    u = tree.starts
    x = np.zeros((len(u), len(moving), 4))
    for i, (number, node) in enumerate(moving):
        if node.kind == BALL:
            x[:, i] = u[:, node.at : node.at + 4]
        elif node.kind == MOVE:
            x[:, i, :3] = u[:, node.at : node.at + 3] * tree.frames[:, number, 7, None]
        else:
            ratio, offset = gear_of(tree.skeleton, node)
            x[:, i, 0] = ratio * u[:, node.at] + offset
    return x


def _aims(points: Floats) -> Floats:
    """Rows (k, 10) that aim at points (k, 3); rotation and direction are along."""
    out = np.zeros((len(points), CHAIN_AIM))
    out[:, :3], out[:, 3], out[:, 9] = points, 1.0, 1.0
    return out
