"""Degrees of freedom and measures of a set of goals. This part of the packing is the same for all poses.

node   one motion: a hinge, slide, ball or translation, or a fixed frame of a goal
u      configuration in kernel coordinates: the values of the moving joints
dof    one degree of freedom of a step: a hinge or slide has 1, a ball or translation 3
term   one measured quantity of a goal, with three rows of the residual
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from poise.errors import UnsupportedError
from poise.kernels.codes import AIM, BALL, DIRECTION, FIXED, HINGE, MOVE, POLE, POSITION, ROTATION, SLIDE
from poise.maths.arrays import Floats, Ints
from poise.model.limits import Range, hinge_axis
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import AnyGoal, Balance, JointGoal, LookAt, Pole, is_of_joint
from poise.problem.sides import limb_of_pole, moved_by_pole, turns_alone

BALANCE = -1  # kind of a measure without a term in the kernels
TERMS = {
    "position": POSITION, "rotation": ROTATION, "direction": DIRECTION, "aim": AIM, "pole": POLE, "balance": BALANCE,
}  # fmt: skip
LENGTHS = (POSITION, BALANCE)  # kinds measured in file units; others are in radians
NUMBERS = {POSITION: 3, ROTATION: 4, DIRECTION: 3, AIM: 3, POLE: 3, BALANCE: 0}  # numbers of a target, by kind
FIXES = {POSITION: 3, ROTATION: 3, DIRECTION: 2, AIM: 2, POLE: 1}  # degrees of freedom constrained by a target, by kind
SIZES = {FIXED: 0, HINGE: 1, SLIDE: 1, BALL: 4, MOVE: 3}  # numbers in u, by kind of node
DOFS = {FIXED: 0, HINGE: 1, SLIDE: 1, BALL: 3, MOVE: 3}


class Node(NamedTuple):
    """One motion of the tree.

    `row` is its skeleton row, `parent` its parent node; `u_start`, `dof_start` and `q_start` are its first index in u,
    the dofs and q.
    """

    row: int
    kind: int
    parent: int
    at: int
    dof: int
    q_start: int


class Measure(NamedTuple):
    """One measured quantity of a goal.

    Fields: kind (see MEASURE_KINDS), goal number, row of its joint, first column of a target.

    For a pole `row` is its tip, and `limb` has the rows of the first joint and the middle joint. For a balance `row` is
    the first supporting joint, and `limb` has the others.
    """

    kind: int
    goal: int
    row: int
    column: int
    limb: tuple[int, ...] = ()


class Term(NamedTuple):
    """One measure as packed for the kernels.

    It belongs to goal number `goal` and the joint in `row`, which node `node` moves; `column` is its first number in a
    target row.

    `limb` and `limb_nodes` are the rows and nodes of a pole's two other joints.
    """

    kind: int
    goal: int
    row: int
    node: int
    column: int
    limb: tuple[int, ...] = ()
    limb_nodes: tuple[int, ...] = ()


class Layout(NamedTuple):
    """Kinematic tree of a set of goals, with their measures.

    base             row above all nodes, -1 for the world
    terms            in depth-first order of their nodes, so each dof affects one range of residual rows
    paths            nodes acting on each term for its goal
    rows_below_base  rows between the base and the moving or measured joints
    offset_rows      those of them with translations outside q
    fixed_columns    columns of q with constant values that enter the frames between nodes; empty where these frames
                     are the same in every pose
    """

    nodes: tuple[Node, ...]
    measures: tuple[Measure, ...]
    terms: tuple[Term, ...]
    base: int
    nu: int
    dofs: Floats
    paths: tuple[tuple[int, ...], ...]
    below: tuple[int, ...]
    offset: Ints
    still: Ints

    @property
    def joints(self) -> tuple[int, ...]:
        """Rows of the moving joints."""
        return tuple(dict.fromkeys([node.row for node in self.nodes if node.kind != FIXED]))

    @property
    def asked(self) -> int:
        """Number of degrees of freedom constrained by the goals."""
        return sum([FIXES[term.kind] for term in self.terms])


def moves_itself(skeleton: Skeleton, goal: JointGoal, tip: int) -> bool:
    """Return whether moving row `tip` itself changes the goal's measures.

    Rotating a joint moves its own origin only if a constant offset follows the rotation; a slide always moves it.
    """
    if goal.measures == ("position",):
        behind = [*skeleton.B[tip, :, 3].tolist(), *getattr(goal, "offset", ())]
        return any(behind) or skeleton.kinds[tip].item() == Kind.SLIDE
    return goal.measures != ("pole",)


def layout_of(skeleton: Skeleton, goals: Sequence[AnyGoal], *, free_root: bool) -> Layout:
    """Build the layout of these goals. UnsupportedError for a free root where there is none."""
    aimed = [goal for goal in goals if is_of_joint(goal)]
    measures = measures_of(skeleton, goals)
    tips = [_tip(skeleton, goal) for goal in aimed]
    moving = _moving_rows(skeleton, goals, aimed, tips, free_root=free_root)
    stands = tips + [row for measure in measures for row in measure.limb if measure.kind != BALANCE]
    nodes, of_row = _nodes(skeleton, moving, stands, free_root=free_root)
    terms = [
        Term(m.kind, m.goal, m.row, of_row[m.row], m.column, m.limb, tuple(map(of_row.__getitem__, m.limb)))
        for m in measures
        if m.kind != BALANCE
    ]
    if len(terms) > 1:
        order = _depth_first(nodes)
        terms.sort(key=lambda term: order[term.node])
    base = _base(skeleton, nodes)
    below = _rows_below(skeleton, nodes, terms, base)
    return Layout(
        nodes=nodes,
        measures=measures,
        terms=tuple(terms),
        base=base,
        nu=max([node.at + SIZES[node.kind] for node in nodes], default=0),
        dofs=_eased(skeleton, nodes, goals),
        paths=tuple([_path_of(skeleton, nodes, term, goals[term.goal]) for term in terms]),
        below=below,
        offset=np.array([row for row in below if skeleton.kinds[row] != Kind.FREE], dtype=np.int64),
        still=_still_columns(skeleton, nodes, terms, below),
    )


# --- moving joints ----------------------------------------------------------------------------------------------


def _moving_rows(
    skeleton: Skeleton, goals: Sequence[AnyGoal], aimed: Sequence[JointGoal], tips: Sequence[int], *, free_root: bool
) -> set[int]:
    """Find the rows moved by any goal.

    They are each goal's chain, its own joint where that has an effect, and coupled joints.

    `joint_goals` are the goals of single joints, `tips` their rows.
    """
    rows: set[int] = set()
    for goal in goals:
        if isinstance(goal, Balance):
            rows.update(goal.moving(skeleton))
    for goal, tip in zip(aimed, tips, strict=True):
        if isinstance(goal, LookAt):
            rows.update(goal.shares(skeleton))
            goal.warn_unseen(skeleton)
            continue
        if isinstance(goal, Pole):
            rows.update(moved_by_pole(skeleton, goal, goals))
            continue
        counts = moves_itself(skeleton, goal, tip)
        if counts:
            rows.add(tip)
        if not (counts and turns_alone(skeleton, goal)):
            rows.update([skeleton.index(name) for name in skeleton.chain(goal.root, skeleton.names[tip])])
    if not aimed and not any(isinstance(goal, Balance) for goal in goals):
        rows = {i for i in range(len(skeleton)) if skeleton.kinds[i] != Kind.FREE}
    rows |= _free_rows(skeleton, tips) if free_root else set()
    ratios = skeleton.coupling_rows[:, 0]
    rows = {row for row in rows if skeleton.kinds[row] != Kind.FIXED and ratios[row] != 0.0}
    return rows | _coupled(skeleton, rows, tips)


def _free_rows(skeleton: Skeleton, tips: Iterable[int]) -> set[int]:
    """Find the free joints at or above the goals' joints. Without such joints all free joints are returned."""
    found = {row for tip in tips for row in skeleton.way(tip) if skeleton.kinds[row] == Kind.FREE}
    if not tips:
        found = set(np.flatnonzero(skeleton.kinds == Kind.FREE).tolist())
    if not found:
        above = f" above {skeleton.names[next(iter(tips))]!r}" if tips else ""
        message = f"free_root=True needs a free joint{above}; there is none"
        raise UnsupportedError(message)
    return found


def _coupled(skeleton: Skeleton, rows: set[int], tips: Iterable[int]) -> set[int]:
    """Find joints on a goal's path coupled to moving ones."""
    if not any(skeleton.couplings):
        return set()
    starts = {int(skeleton.q_start[row]) for row in rows if skeleton.kinds[row] in (Kind.HINGE, Kind.SLIDE)}
    ways = {row for tip in tips for row in skeleton.way(tip)}
    ratios = skeleton.coupling_rows[:, 0]
    kinds = (Kind.HINGE, Kind.SLIDE)
    return {r for r in ways if skeleton.kinds[r] in kinds and ratios[r] != 0.0 and int(skeleton.q_start[r]) in starts}


# --- nodes and terms ---------------------------------------------------------------------------------------------


def _nodes(
    skeleton: Skeleton, moving: set[int], tips: Sequence[int], *, free_root: bool
) -> tuple[tuple[Node, ...], dict[int, int]]:
    """Build the nodes, parents first. Also return the node that carries each row on the way to a goal."""
    grounded = {tip for tip in tips if not moving.intersection(skeleton.way(tip))}
    wanted = _with_ancestors(skeleton, [*tips, *moving])
    nodes: list[Node] = []
    of_row: dict[int, int] = {}
    shared: dict[int, tuple[int, int]] = {}
    at = dof = 0
    for row in sorted(wanted):
        parent = of_row.get(int(skeleton.parents[row]), -1)
        for kind in _kinds(skeleton, row, moving=row in moving, grounded=row in grounded, free_root=free_root):
            start = int(skeleton.q_start[row]) + (3 if skeleton.kinds[row] == Kind.FREE and kind != MOVE else 0)
            couples = kind in (HINGE, SLIDE) and skeleton.kinds[row] in (Kind.HINGE, Kind.SLIDE)
            if couples and start in shared:
                nodes.append(Node(row, kind, parent, *shared[start], start))
            else:
                nodes.append(Node(row, kind, parent, at, dof, start))
                if couples:
                    shared[start] = (at, dof)
                at, dof = at + SIZES[kind], dof + DOFS[kind]
            parent = len(nodes) - 1
        of_row[row] = parent
    return tuple(nodes), of_row


def _with_ancestors(skeleton: Skeleton, rows: Iterable[int], base: int = -1) -> set[int]:
    """Return these rows and all ancestors below the base."""
    found: set[int] = set()
    for row in rows:
        up = row
        while up not in (base, -1) and up not in found:
            found.add(up)
            up = int(skeleton.parents[up])
    return found


def _kinds(skeleton: Skeleton, row: int, *, moving: bool, grounded: bool, free_root: bool) -> tuple[int, ...]:
    """List the motions of a row, in order."""
    if not moving:
        return (FIXED,) if grounded else ()
    kind, turn = skeleton.kinds[row], BALL if hinge_axis(skeleton.limits[row]) is None else HINGE
    if kind == Kind.FREE:
        return (MOVE, turn) if free_root else (turn,)
    return {Kind.HINGE: (HINGE,), Kind.SLIDE: (SLIDE,), Kind.BALL: (turn,)}[Kind(kind)]


def measures_of(skeleton: Skeleton, goals: Sequence[AnyGoal]) -> tuple[Measure, ...]:
    """List the measures of these goals, in order."""
    found: list[Measure] = []
    column = 0
    for i, goal in enumerate(goals):
        for measure in goal.measures:
            kind = TERMS[measure]
            if isinstance(goal, Balance):
                row, *limb = [row for row, _ in goal.support(skeleton)]
            elif isinstance(goal, Pole):
                *limb, row = limb_of_pole(skeleton, goal, goals)
            else:
                row, limb = _tip(skeleton, goal), ()
            found.append(Measure(kind, i, row, column, tuple(limb)))
            column += NUMBERS[kind]
    return tuple(found)


def _tip(skeleton: Skeleton, goal: AnyGoal) -> int:
    """Return the row at the end of a goal's chain."""
    if isinstance(goal, Pole):
        return goal.tip_row(skeleton)
    return skeleton.index(goal.joint)  # pyright: ignore[reportAttributeAccessIssue]  (others speak of no joint)


def _depth_first(nodes: Sequence[Node]) -> list[int]:
    """Return the depth-first rank of each node."""
    children: list[list[int]] = [[] for _ in nodes]
    stack = [i for i, node in enumerate(nodes) if node.parent < 0][::-1]
    for i, node in enumerate(nodes):
        if node.parent >= 0:
            children[node.parent].append(i)
    order = [0] * len(nodes)
    count = 0
    while stack:
        i = stack.pop()
        order[i] = count
        count += 1
        stack.extend(reversed(children[i]))
    return order


def _path(nodes: Sequence[Node], node: int) -> tuple[int, ...]:
    """List the moving nodes from the base to `node`, inclusive."""
    path: list[int] = []
    while node >= 0:
        if nodes[node].kind != FIXED:
            path.append(node)
        node = nodes[node].parent
    return tuple(reversed(path))


def _path_of(skeleton: Skeleton, nodes: Sequence[Node], term: Term, goal: AnyGoal) -> tuple[int, ...]:
    """List the nodes acting on a term for its goal.

    Those are all on the path; for a LookAt only the joints of its `over`.
    """
    path = _path(nodes, term.node)
    if not isinstance(goal, LookAt):
        return path
    shares = goal.shares(skeleton)
    return tuple([node for node in path if nodes[node].row in shares and nodes[node].kind != MOVE])


def _eased(skeleton: Skeleton, nodes: Sequence[Node], goals: Sequence[AnyGoal]) -> Floats:
    """Scale the mobility of dofs by the shares of a LookAt.

    Shares are relative to the largest; the last LookAt counts.
    """
    dofs = _dofs(skeleton, nodes)
    for goal in goals:
        if isinstance(goal, LookAt):
            shares = goal.shares(skeleton)
            for node in nodes:
                if node.row in shares and node.kind != MOVE:
                    dofs[node.dof : node.dof + DOFS[node.kind], 3] = shares[node.row] / max(shares.values())
    return dofs


def _dofs(skeleton: Skeleton, nodes: Sequence[Node]) -> Floats:
    """Build the dof array (nd, 4)."""
    count = max([node.dof + DOFS[node.kind] for node in nodes], default=0)
    rows = np.tile([-np.inf, np.inf, -1.0, 1.0], (count, 1))
    for node in nodes:
        limit = skeleton.limits[node.row]
        if node.kind == HINGE and isinstance(limit, Range) and limit.axis is not None:
            ends = (-np.inf, np.inf) if limit.soft else (limit.low, limit.high)
            rows[node.dof, :3] = *ends, node.at
        elif node.kind in (HINGE, SLIDE):
            rows[node.dof, :3] = *skeleton.value_ranges[node.q_start], node.at
    return rows


def _base(skeleton: Skeleton, nodes: Sequence[Node]) -> int:
    """Find the lowest row above every node."""
    ways = [skeleton.way(int(skeleton.parents[node.row])) for node in nodes if node.parent < 0]
    base = -1
    for rows in zip(*ways, strict=False):
        if len(set(rows)) > 1:
            break
        base = rows[0]
    return base


def _rows_below(skeleton: Skeleton, nodes: Sequence[Node], terms: Sequence[Term], base: int) -> tuple[int, ...]:
    """List the rows between the base and the goals, parents first."""
    rows = [node.row for node in nodes] + [row for term in terms for row in (term.row, *term.limb)]
    return tuple(sorted(_with_ancestors(skeleton, rows, base)))


def _still_columns(skeleton: Skeleton, nodes: Sequence[Node], terms: Sequence[Term], below: Sequence[int]) -> Ints:
    """Find the columns of q with constant values for these goals.

    They belong to joints that do not move, and stand in the frames between the nodes.
    """
    moving = {node.row for node in nodes if node.kind != FIXED}
    translating = {node.row for node in nodes if node.kind == MOVE}
    above = {int(skeleton.parents[row]) for row in below}
    turned = {term.row for term in terms if term.kind not in (POSITION, POLE)}  # a LookAt may leave its own joint fixed
    found: set[int] = set()
    for row in below:
        first, kind = int(skeleton.q_start[row]), Kind(skeleton.kinds[row])
        if row in moving:
            if kind == Kind.FREE and row not in translating:
                found.update(range(first, first + 3))  # it rotates only; its translation is part of the frames
        elif kind == Kind.BALL and row not in above | turned and not skeleton.B[row, :, 3].any():
            continue  # only its position is measured, and its own rotation does not change that
        elif kind != Kind.FIXED:
            found.update(range(first, first + kind.nq))
    return np.array(sorted(found), dtype=np.int64)


def coupled_pair(skeleton: Skeleton, nodes: Sequence[Node]) -> tuple[str, str] | None:
    """Return two coupled joints among the nodes, or None. Methods that move one joint at a time cannot serve both."""
    owner: dict[int, int] = {}
    for node in nodes:
        if node.kind in (HINGE, SLIDE) and owner.setdefault(node.at, node.row) != node.row:
            return skeleton.names[owner[node.at]], skeleton.names[node.row]
    return None


def columns(nodes: Iterable[Node], skeleton: Skeleton) -> tuple[Ints, Ints]:
    """Return the columns of q and u with equal values.

    Excluded are translations and balls that a limit makes hinges.
    """
    pairs: list[tuple[int, int]] = []
    for node in nodes:
        is_ball = skeleton.kinds[node.row] >= Kind.BALL
        if node.kind == BALL or (node.kind in (HINGE, SLIDE) and not is_ball):
            pairs.extend((node.q_start + i, node.at + i) for i in range(SIZES[node.kind]))
    table = np.array(list(dict.fromkeys(pairs)), dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
