"""Degrees of freedom and measures of a set of goals.

It builds the nodes, terms and measures of a kinematic tree. A Pole shares the chain of the goal at its tip and adds no
joint to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from poise.errors import InputError, UnsupportedError
from poise.kernels.layout import (
    AIM,
    BALL,
    DIRECTION,
    DOF_WEIGHT,
    FIXED,
    HINGE,
    JOINT_BOX,
    MOVE,
    NO_SET,
    POLE,
    POSITION,
    ROTATION,
    SLIDE,
)
from poise.maths.arrays import Floats, Ints
from poise.model.anatomy.roll_bones import find_bending_roll_bones
from poise.model.joint_tree import is_floating_base
from poise.model.joints import Q_OFFSET_RANGES
from poise.model.limits import Range, find_hinge_axis
from poise.model.skeleton import Kind, Skeleton, find_free_root
from poise.problem.goal_ranges import get_set_kind
from poise.problem.goals import AnyGoal, Balance, Goal, JointGoal, LookAt, Pole, is_joint_goal
from poise.problem.goals.pole import LimbRows
from poise.problem.loop_ties import LoopTie, find_ties
from poise.runtime.result_cache import get_or_compute


def find_pole_limb(skeleton: Skeleton, pole: Pole, goals: Iterable[AnyGoal]) -> LimbRows:
    """Find the rows of a pole's limb among all goals. InputError where its joint is not inside the limb."""
    return pole.limb(skeleton, find_shared_chain(skeleton, pole, goals))


def find_pole_rows(skeleton: Skeleton, pole: Pole, goals: Iterable[AnyGoal]) -> list[int]:
    """List rows of a limb moved by a pole alone. Empty where the pole shares the chain of another goal."""
    chain = find_shared_chain(skeleton, pole, goals)
    if chain and pole.root is None:
        return []
    limb, path = pole.limb(skeleton, chain), skeleton.list_path(pole.tip_row(skeleton))
    return path[path.index(limb.first) : -1]


def find_shared_chain(skeleton: Skeleton, pole: Pole, goals: Iterable[AnyGoal]) -> Sequence[int]:
    """List rows above a pole's tip moved by its goals, parents first.

    The list is empty without a goal at or below the tip. A goal below the tip, or a goal of only the tip's rotation,
    counts if the pole's joint moves for it: a hand rotating alone moves no elbow.
    """
    middle, tip = skeleton.index(pole.joint), pole.tip_row(skeleton)
    path, shared_rows = skeleton.list_path(tip), set[int]()
    for goal in goals:
        if isinstance(goal, Pole | LookAt) or not is_joint_goal(goal):
            continue
        row = skeleton.index(goal.joint)
        if tip not in skeleton.list_path(row):
            continue
        chain = find_chain_rows(skeleton, goal)
        if middle in chain[1:] or (row == tip and "position" in goal.measures):
            shared_rows.update(chain)
    return [row for row in path if row in shared_rows]


def has_own_root(skeleton: Skeleton, goal: JointGoal) -> bool:
    """Return whether a goal's root is its own joint. Then nothing above moves, and its turning counts."""
    return goal.root is not None and skeleton.index(goal.root) == skeleton.index(goal.joint)


def find_chain_rows(skeleton: Skeleton, goal: JointGoal) -> tuple[int, ...]:
    """List moving rows above the joint of a goal, parents first."""
    return () if has_own_root(skeleton, goal) else _list_chain_rows(skeleton, goal.root, goal.joint)


def _list_chain_rows(skeleton: Skeleton, root: str | None, tip: str) -> tuple[int, ...]:
    """List the rows of a chain; see `Skeleton.chain`."""

    def find_rows() -> tuple[int, ...]:
        return tuple(map(skeleton.index, skeleton.chain(root, tip)))

    return get_or_compute(skeleton, "chain rows", (root, tip), find_rows)


def name_pole_roots(skeleton: Skeleton, goals: Sequence[Goal]) -> list[Goal]:
    """Return the goals with the root of every Pole named. So each is the same without the others."""
    return [_name_root(skeleton, goal, goals) if isinstance(goal, Pole) else goal for goal in goals]


def _name_root(skeleton: Skeleton, pole: Pole, goals: Sequence[Goal]) -> Pole:
    return replace(pole, root=skeleton.names[find_pole_limb(skeleton, pole, goals).first])


# --- Find moving joints and order the goal terms ---------------------------------------------------------------------
#
# This part of the packing is the same for all poses.
#
# node   one motion: a hinge, slide, ball or translation, or a fixed frame of a goal
# u      configuration in kernel coordinates: the values of the moving joints
# dof    one degree of freedom of a step: a hinge or slide has 1, a ball or translation 3
# term   one measured quantity of a goal, with three rows of the residual


NO_COLUMN = -1  # of a term that holds a loop: its target is constant
BALANCE = -1  # kind of a measure without a term in the kernels
MEASURE_KINDS = {
    "position": POSITION, "rotation": ROTATION, "direction": DIRECTION, "aim": AIM, "pole": POLE, "balance": BALANCE,
}  # fmt: skip
MEASURE_NAMES = {kind: name for name, kind in MEASURE_KINDS.items()}
LENGTH_KINDS = (POSITION, BALANCE)  # kinds measured in file units; others are in radians
TARGET_SIZES = {POSITION: 3, ROTATION: 4, DIRECTION: 3, AIM: 3, POLE: 3, BALANCE: 0}  # numbers of a target, by kind
TARGET_DOFS = {
    POSITION: 3,
    ROTATION: 3,
    DIRECTION: 2,
    AIM: 2,
    POLE: 1,
}  # degrees of freedom constrained by a target, by kind
U_SIZES = {FIXED: 0, HINGE: 1, SLIDE: 1, BALL: 4, MOVE: 3}  # numbers in u, by kind of node
DOF_COUNTS = {FIXED: 0, HINGE: 1, SLIDE: 1, BALL: 3, MOVE: 3}
_FREE = int(Kind.FREE)  # as a plain number, for loops; other kinds of joints have the numbers of their motions
_FIXED_MOTION = (FIXED,)


class Node(NamedTuple):
    """One motion of the tree.

    `row` is its skeleton row, `parent` its parent node; `u_start`, `dof_start` and `q_start` are its first index in u,
    the dofs and q.
    """

    row: int
    kind: int
    parent: int
    u_start: int
    dof_start: int
    q_start: int


class Measure(NamedTuple):
    """One measured quantity of a goal.

    Fields: kind (see MEASURE_KINDS), goal number, row of its joint, first column of a target.

    For a pole `row` is its tip, and `limb_rows` has the rows of the first joint and the middle joint. For a balance
    `row` is the first supporting joint, and `limb_rows` has the others. `reference_row` is that of the joint in
    whose frame the target is; -1 is the world.
    """

    kind: int
    goal_index: int
    row: int
    target_column: int
    limb_rows: tuple[int, ...] = ()
    reference_row: int = -1


class Term(NamedTuple):
    """One measure as packed for the kernels.

    It belongs to goal number `goal_index` and the joint in `row`, which node `node_index` moves; `target_column`
    is its first number in a target row.

    `limb_rows` and `limb_nodes` are the rows and nodes of a pole's two other joints. `reference_row` and
    `reference_node` are those of the joint in whose frame the target is; -1 is the world. `set_kind` is the kind of set
    about the target, see kernels/layout.py.
    """

    kind: int
    goal_index: int
    row: int
    node_index: int
    target_column: int
    limb_rows: tuple[int, ...] = ()
    limb_nodes: tuple[int, ...] = ()
    reference_row: int = -1
    reference_node: int = -1
    set_kind: int = NO_SET

    @property
    def is_plain(self) -> bool:
        """Whether the target is a single one in the world."""
        return self.reference_row < 0 and self.set_kind == NO_SET

    @property
    def is_tie(self) -> bool:
        """Whether the term holds a closed loop, and is no goal."""
        return self.target_column == NO_COLUMN


class Layout(NamedTuple):
    """Kinematic tree of a set of goals, with their measures.

    base_row         row above all nodes, -1 for the world
    terms            in depth-first order of their nodes, so each dof affects one range of residual rows
    term_paths       nodes acting on each term for its goal
    reference_paths  nodes acting on the target of each term: those of its reference
    rows_below_base  rows between the base and the moving or measured joints
    offset_rows      those of them with translations outside q
    fixed_columns    columns of q with constant values that enter the frames between nodes; empty where these frames
                     are the same in every pose
    ties             closed loops held by all poses, as goals
    """

    nodes: tuple[Node, ...]
    measures: tuple[Measure, ...]
    terms: tuple[Term, ...]
    base_row: int
    nu: int
    dofs: Floats
    term_paths: tuple[tuple[int, ...], ...]
    reference_paths: tuple[tuple[int, ...], ...]
    rows_below_base: tuple[int, ...]
    offset_rows: Ints
    fixed_columns: Ints
    ties: tuple[LoopTie, ...] = ()

    def list_goals(self, goals: Sequence[AnyGoal]) -> Sequence[AnyGoal]:
        """Return the goals of the problem, then those of its loops."""
        return (*goals, *[tie.goal for tie in self.ties]) if self.ties else goals

    def find_tie(self, term: Term) -> LoopTie | None:
        """Return the tie of a term, or None."""
        if not term.is_tie:
            return None
        first_index = min([each.goal_index for each in self.terms if each.is_tie])
        return self.ties[term.goal_index - first_index]

    @property
    def moving_rows(self) -> tuple[int, ...]:
        """Rows of the moving joints."""
        return tuple(dict.fromkeys([node.row for node in self.nodes if node.kind != FIXED]))

    @property
    def target_dofs(self) -> int:
        """Number of degrees of freedom constrained by the goals."""
        return sum([TARGET_DOFS[term.kind] for term in self.terms])


def is_moved_by_own_joint(skeleton: Skeleton, goal: JointGoal, tip: int) -> bool:
    """Return whether moving row `tip` itself changes the goal's measures.

    Rotating a joint moves its own origin only if a constant offset follows the rotation; a slide always moves it.
    """
    has_joint_box = getattr(goal, "within", None) is not None and get_set_kind(goal, "position") == JOINT_BOX
    if goal.measures == ("position",) and not has_joint_box:
        offsets = [*skeleton.B[tip, :, 3].tolist(), *getattr(goal, "offset", ())]
        return any(offsets) or skeleton.kinds[tip].item() == Kind.SLIDE
    return goal.measures != ("pole",)


def build_layout(skeleton: Skeleton, goals: Sequence[AnyGoal], *, free_root: bool) -> Layout:
    """Build the layout of these goals. UnsupportedError for a free root where there is none."""
    joint_goals = [goal for goal in goals if is_joint_goal(goal)]
    measures = list_measures(skeleton, goals)
    tip_rows = [_find_tip_row(skeleton, goal) for goal in joint_goals]
    free_rows = _find_free_rows(skeleton, tip_rows) if free_root else set[int]()
    moving_rows = _find_moving_rows(skeleton, goals, joint_goals, tip_rows, free_rows)
    ties: tuple[LoopTie, ...] = ()
    all_measures = measures
    if skeleton.loops:
        ties, moving_rows = _add_ring_rows(skeleton, moving_rows)
        goals = (*goals, *[tie.goal for tie in ties])
        all_measures = (*measures, *_list_tie_measures(skeleton, ties, len(goals) - len(ties)))
    measured_rows, has_references = list(tip_rows), False
    for measure in all_measures:  # runs in every first solve; comprehensions are slower
        if measure.kind != BALANCE:
            measured_rows += (measure.row, *measure.limb_rows)
        if measure.reference_row >= 0:
            measured_rows.append(measure.reference_row)
            has_references = True
    if has_references:
        check_references(skeleton, measures)
    nodes, nodes_by_row = _build_nodes(skeleton, moving_rows, measured_rows, free_rows)
    terms = [
        Term(
            m.kind,
            m.goal_index,
            m.row,
            nodes_by_row[m.row],
            m.target_column,
            m.limb_rows,
            tuple(map(nodes_by_row.__getitem__, m.limb_rows)),
            m.reference_row,
            nodes_by_row.get(m.reference_row, -1),
            get_set_kind(goals[m.goal_index], MEASURE_NAMES[m.kind]),
        )
        for m in all_measures
        if m.kind != BALANCE
    ]
    if len(terms) > 1:
        depth_first_ranks = _order_depth_first(nodes)
        terms.sort(key=lambda term: depth_first_ranks[term.node_index])
    base_row, kinds = _find_base_row(skeleton, nodes), skeleton.joint_lists.kinds
    paths = [_find_term_paths(skeleton, nodes, term, goals[term.goal_index]) for term in terms]
    own_paths, reference_paths = zip(*paths, strict=True) if paths else ((), ())
    rows_below_base = _find_rows_below(skeleton, nodes, terms, base_row)
    return Layout(
        nodes=nodes,
        measures=measures,
        terms=tuple(terms),
        base_row=base_row,
        nu=max([node.u_start + U_SIZES[node.kind] for node in nodes], default=0),
        dofs=_weight_dofs(skeleton, nodes, goals),
        term_paths=own_paths,
        reference_paths=reference_paths,
        rows_below_base=rows_below_base,
        offset_rows=np.array([row for row in rows_below_base if kinds[row] != _FREE], dtype=np.int64),
        fixed_columns=_find_fixed_columns(skeleton, nodes, terms, rows_below_base),
        ties=ties,
    )


def _add_ring_rows(skeleton: Skeleton, moving_rows: set[int]) -> tuple[tuple[LoopTie, ...], set[int]]:
    """Find the ties of moving joints, and the joints of their loops."""
    ties, moving_rows = find_ties(skeleton, moving_rows)
    tip_rows = [skeleton.index(tie.goal.joint) for tie in ties]
    moving_rows = moving_rows | _find_coupled_rows(skeleton, moving_rows, tip_rows)
    return ties, {row for row in moving_rows if skeleton.joint_lists.ratios[row] != 0.0}


def _list_tie_measures(skeleton: Skeleton, ties: Sequence[LoopTie], first_index: int) -> list[Measure]:
    """List the measures of loops. Their numbers follow those of the goals, and their targets are constant."""
    measures = list_measures(skeleton, [tie.goal for tie in ties])
    return [m._replace(goal_index=first_index + m.goal_index, target_column=NO_COLUMN) for m in measures]


# --- moving joints ----------------------------------------------------------------------------------------------


def _find_moving_rows(
    skeleton: Skeleton,
    goals: Sequence[AnyGoal],
    joint_goals: Sequence[JointGoal],
    tip_rows: Sequence[int],
    free_rows: set[int],
) -> set[int]:
    """Find the rows moved by any goal.

    They are each goal's chain, its own joint where that has an effect, coupled joints, and the free roots. What stands
    above a free root moves only for goals that name it. Roll bones that could bend stand still, but for a goal that
    nothing else moves for.

    `joint_goals` are the goals of single joints, `tip_rows` their rows, `free_rows` the free roots.
    """
    moving_rows: set[int] = set()
    still_rows = find_bending_roll_bones(skeleton)
    _, kinds, _, ratios = skeleton.joint_lists
    for goal in goals:
        if isinstance(goal, Balance):
            moving_rows.update(goal.moving(skeleton))
    for goal, tip_row in zip(joint_goals, tip_rows, strict=True):
        if isinstance(goal, LookAt):
            moving_rows.update(goal.shares(skeleton))
            goal.warn_unseen(skeleton)
            continue
        rows: set[int] = set()
        if isinstance(goal, Pole):
            rows.update(find_pole_rows(skeleton, goal, goals))
        elif getattr(goal, "relative_to", None) is not None:
            rows.update(_find_relative_rows(skeleton, goal, tip_row))
        else:
            has_effect = is_moved_by_own_joint(skeleton, goal, tip_row)
            if has_effect:
                rows.add(tip_row)
            if not (has_effect and has_own_root(skeleton, goal)):
                chain_rows = _list_chain_rows(skeleton, goal.root, skeleton.names[tip_row])
                rows.update(chain_rows if goal.root is not None else _drop_rows_above(skeleton, chain_rows, free_rows))
        moving_rows.update(rows - still_rows or rows)
    if not joint_goals and not any(isinstance(goal, Balance) for goal in goals):
        moving_rows = {row for row in range(len(kinds)) if not carries_a_body(skeleton, row)}
    moving_rows |= free_rows
    moving_rows = {row for row in moving_rows if kinds[row] != FIXED and ratios[row] != 0.0}
    return moving_rows | _find_coupled_rows(skeleton, moving_rows, tip_rows)


def _find_relative_rows(skeleton: Skeleton, goal: JointGoal, tip_row: int) -> set[int]:
    """Find the rows moved by a relative goal.

    They lie between the two joints, below their common ancestor.
    """
    reference_row = skeleton.index(getattr(goal, "relative_to", ""))
    own_path, reference_path = skeleton.list_path(tip_row), skeleton.list_path(reference_row)
    own_rows, reference_rows = set(own_path) - set(reference_path), set(reference_path) - set(own_path)
    if goal.root is not None:
        chain_rows = {tip_row, *map(skeleton.index, skeleton.chain(goal.root, skeleton.names[tip_row]))}
        own_rows &= {tip_row} if has_own_root(skeleton, goal) else chain_rows
    if not is_moved_by_own_joint(skeleton, goal, tip_row):
        own_rows.discard(tip_row)
    moving_rows = own_rows if getattr(goal, "follow", False) else own_rows | reference_rows
    return {row for row in moving_rows if not carries_a_body(skeleton, row)}


def check_references(skeleton: Skeleton, measures: Iterable[Measure]) -> None:
    """Refuse goals relative to each other in a circle. InputError names the joints of one."""
    followed: dict[int, set[int]] = {}
    for measure in measures:
        if measure.reference_row >= 0:
            followed.setdefault(measure.row, set()).add(measure.reference_row)
    for first in followed:
        trail: list[tuple[int, ...]] = [(first,)]
        visited: set[int] = set()
        while trail:
            way = trail.pop()
            for target in followed.get(way[-1], ()):
                if target == first:
                    names = " to ".join(repr(skeleton.names[each]) for each in (*way, first))
                    raise InputError(f"goals are relative to each other in a circle: {names}; leave one of them out")
                if target not in visited:
                    visited.add(target)
                    trail.append((*way, target))


def _find_free_rows(skeleton: Skeleton, tip_rows: Iterable[int]) -> set[int]:
    """Find the free roots of the goals' joints. Without such joints it is the free root of the skeleton."""
    roots = {find_free_root(skeleton, row) for row in (tip_rows or (None,))}
    free_rows = {row for row in roots if row is not None}
    if not free_rows:
        suffix = f" above {skeleton.names[next(iter(tip_rows))]!r}" if tip_rows else ""
        message = f"free_root=True needs a free joint{suffix}; there is none"
        raise UnsupportedError(message)
    return free_rows


def carries_a_body(skeleton: Skeleton, row: int) -> bool:
    """Return whether a free joint carries a whole body.

    It is the free root, a joint above that, or a floating base.
    """
    kinds = skeleton.joint_lists.kinds
    if kinds[row] != _FREE:
        return False
    root = find_free_root(skeleton)
    return is_floating_base(kinds, skeleton.joint_lists.parents, row) or (
        root is not None and row in skeleton.list_path(root)
    )


def _drop_rows_above(skeleton: Skeleton, rows: Iterable[int], free_rows: set[int]) -> set[int]:
    """Drop the rows above a free root."""
    rows_above = {row for free_row in free_rows for row in skeleton.list_path(free_row)} - free_rows
    return set(rows) - rows_above


def _find_coupled_rows(skeleton: Skeleton, moving_rows: set[int], tip_rows: Iterable[int]) -> set[int]:
    """Find joints on a goal's path coupled to moving ones."""
    if not any(skeleton.couplings):
        return set()
    _, kinds, q_starts, ratios = skeleton.joint_lists
    columns = {q_starts[row] for row in moving_rows if kinds[row] in (HINGE, SLIDE)}
    path_rows = {row for tip in tip_rows for row in skeleton.list_path(tip)}
    return {r for r in path_rows if kinds[r] in (HINGE, SLIDE) and ratios[r] != 0.0 and q_starts[r] in columns}


# --- nodes and terms ---------------------------------------------------------------------------------------------


def _build_nodes(
    skeleton: Skeleton, moving_rows: set[int], measured_rows: Sequence[int], free_rows: set[int]
) -> tuple[tuple[Node, ...], dict[int, int]]:
    """Build the nodes, parents first. Also return the node that carries each row on the way to a goal."""
    fixed_tip_rows = {tip for tip in measured_rows if not moving_rows.intersection(skeleton.list_path(tip))}
    rows_with_ancestors = _add_ancestors(skeleton, [*measured_rows, *moving_rows])
    nodes: list[Node] = []
    nodes_by_row: dict[int, int] = {}
    starts_by_column: dict[int, tuple[int, int]] = {}
    u_start = dof_start = 0
    parents, kinds, q_starts, _ = skeleton.joint_lists
    for row in sorted(rows_with_ancestors):
        parent = nodes_by_row.get(parents[row], -1)
        motion_kinds = (
            _list_motion_kinds(skeleton, row, translates=row in free_rows)
            if row in moving_rows
            else _FIXED_MOTION
            if row in fixed_tip_rows
            else ()
        )
        for kind in motion_kinds:
            q_column = q_starts[row] + (3 if kinds[row] == _FREE and kind != MOVE else 0)
            can_share = kind in (HINGE, SLIDE) and kinds[row] in (HINGE, SLIDE)
            if can_share and q_column in starts_by_column:
                nodes.append(Node(row, kind, parent, *starts_by_column[q_column], q_column))
            else:
                nodes.append(Node(row, kind, parent, u_start, dof_start, q_column))
                if can_share:
                    starts_by_column[q_column] = (u_start, dof_start)
                u_start, dof_start = u_start + U_SIZES[kind], dof_start + DOF_COUNTS[kind]
            parent = len(nodes) - 1
        nodes_by_row[row] = parent
    return tuple(nodes), nodes_by_row


def _add_ancestors(skeleton: Skeleton, rows: Iterable[int], base_row: int = -1) -> set[int]:
    """Return these rows and all ancestors below the base."""
    ancestors: set[int] = set()
    parents = skeleton.joint_lists.parents
    for row in rows:
        ancestor = row
        while ancestor not in (base_row, -1) and ancestor not in ancestors:
            ancestors.add(ancestor)
            ancestor = parents[ancestor]
    return ancestors


def _list_motion_kinds(skeleton: Skeleton, row: int, *, translates: bool) -> tuple[int, ...]:
    """List the motions of a moving row, in order."""
    kind = skeleton.joint_lists.kinds[row]
    if kind < BALL:
        return (kind,)
    limit = skeleton.limits[row]
    rotation_kind = BALL if limit is None or find_hinge_axis(limit) is None else HINGE
    return (MOVE, rotation_kind) if translates else (rotation_kind,)


def list_measures(skeleton: Skeleton, goals: Sequence[AnyGoal]) -> tuple[Measure, ...]:
    """List the measures of these goals, in order."""
    measures: list[Measure] = []
    target_column = 0
    for i, goal in enumerate(goals):
        for measure_name in goal.measures:
            kind = MEASURE_KINDS[measure_name]
            if isinstance(goal, Balance):
                row, *limb_rows = [row for row, _ in goal.support(skeleton)]
            elif isinstance(goal, Pole):
                *limb_rows, row = find_pole_limb(skeleton, goal, goals)
            else:
                row, limb_rows = _find_tip_row(skeleton, goal), ()
            reference = getattr(goal, "relative_to", None)
            reference_row = -1 if reference is None else skeleton.index(reference)
            measures.append(Measure(kind, i, row, target_column, tuple(limb_rows), reference_row))
            target_column += TARGET_SIZES[kind]
    return tuple(measures)


def _find_tip_row(skeleton: Skeleton, goal: AnyGoal) -> int:
    """Return the row at the end of a goal's chain."""
    if isinstance(goal, Pole):
        return goal.tip_row(skeleton)
    return skeleton.index(goal.joint)  # pyright: ignore[reportAttributeAccessIssue]  (others speak of no joint)


def _order_depth_first(nodes: Sequence[Node]) -> list[int]:
    """Return the depth-first rank of each node."""
    children: list[list[int]] = [[] for _ in nodes]
    stack = [i for i, node in enumerate(nodes) if node.parent < 0][::-1]
    for i, node in enumerate(nodes):
        if node.parent >= 0:
            children[node.parent].append(i)
    ranks = [0] * len(nodes)
    next_rank = 0
    while stack:
        i = stack.pop()
        ranks[i] = next_rank
        next_rank += 1
        stack.extend(reversed(children[i]))
    return ranks


def _find_node_path(nodes: Sequence[Node], node: int) -> tuple[int, ...]:
    """List the moving nodes from the base to `node`, inclusive."""
    path: list[int] = []
    while node >= 0:
        if nodes[node].kind != FIXED:
            path.append(node)
        node = nodes[node].parent
    return tuple(reversed(path))


def _find_term_paths(
    skeleton: Skeleton, nodes: Sequence[Node], term: Term, goal: AnyGoal
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """List the nodes acting on a term and on its target.

    Those are all on their paths, without the nodes above both; for a LookAt only the joints of its `over`.
    """
    path = _find_node_path(nodes, term.node_index)
    if isinstance(goal, LookAt):
        return _select_sharing_nodes(skeleton, nodes, path, goal), ()
    if term.reference_node < 0:
        return path, ()
    reference_path = _find_node_path(nodes, term.reference_node)
    shared_nodes = set(path) & set(reference_path)
    path = tuple([node for node in path if node not in shared_nodes])
    return path, tuple([node for node in reference_path if node not in shared_nodes])


def _select_sharing_nodes(
    skeleton: Skeleton, nodes: Sequence[Node], path: tuple[int, ...], goal: LookAt
) -> tuple[int, ...]:
    """Select the nodes sharing the rotation of a LookAt."""
    shares = goal.shares(skeleton)
    return tuple([node for node in path if nodes[node].row in shares and nodes[node].kind != MOVE])


def _weight_dofs(skeleton: Skeleton, nodes: Sequence[Node], goals: Sequence[AnyGoal]) -> Floats:
    """Scale the weights of dofs by the shares of a LookAt.

    Shares are relative to the largest; the last LookAt counts.
    """
    dof_rows = _build_dof_rows(skeleton, nodes)
    for goal in goals:
        if isinstance(goal, LookAt):
            shares = goal.shares(skeleton)
            for node in nodes:
                if node.row in shares and node.kind != MOVE:
                    dofs = slice(node.dof_start, node.dof_start + DOF_COUNTS[node.kind])
                    dof_rows[dofs, DOF_WEIGHT] = shares[node.row] / max(shares.values())
    return dof_rows


def _build_dof_rows(skeleton: Skeleton, nodes: Sequence[Node]) -> Floats:
    """Build the dof array (nd, 4)."""
    dof_count = max([node.dof_start + DOF_COUNTS[node.kind] for node in nodes], default=0)
    dof_rows = np.tile([-np.inf, np.inf, -1.0, 1.0], (dof_count, 1))
    for node in nodes:
        limit = skeleton.limits[node.row]
        if node.kind == HINGE and isinstance(limit, Range) and limit.axis is not None:
            bounds = (-np.inf, np.inf) if limit.soft else (limit.low, limit.high)
            dof_rows[node.dof_start, :DOF_WEIGHT] = *bounds, node.u_start
        elif node.kind in (HINGE, SLIDE):
            dof_rows[node.dof_start, :DOF_WEIGHT] = *skeleton.value_ranges[node.q_start], node.u_start
    return dof_rows


def _find_base_row(skeleton: Skeleton, nodes: Sequence[Node]) -> int:
    """Find the lowest row above every node."""
    parents = skeleton.joint_lists.parents
    parent_paths = [skeleton.list_path(parents[node.row]) for node in nodes if node.parent < 0]
    base_row = -1
    for rows in zip(*parent_paths, strict=False):
        if len(set(rows)) > 1:
            break
        base_row = rows[0]
    return base_row


def _find_rows_below(
    skeleton: Skeleton, nodes: Sequence[Node], terms: Sequence[Term], base_row: int
) -> tuple[int, ...]:
    """List the rows between the base and the goals, parents first."""
    rows = [node.row for node in nodes]
    for term in terms:
        rows += (term.row, *term.limb_rows)
        rows += [term.reference_row] if term.reference_row >= 0 else []
    return tuple(sorted(_add_ancestors(skeleton, rows, base_row)))


def _find_fixed_columns(
    skeleton: Skeleton, nodes: Sequence[Node], terms: Sequence[Term], rows_below_base: Sequence[int]
) -> Ints:
    """Find the columns of q with constant values for these goals.

    They belong to joints that do not move, and stand in the frames between the nodes.
    """
    moving_rows = {node.row for node in nodes if node.kind != FIXED}
    translating_rows = {node.row for node in nodes if node.kind == MOVE}
    parents, kinds, q_starts, _ = skeleton.joint_lists
    # A LookAt may leave its own joint fixed.
    turning_rows = {term.row for term in terms if term.kind not in (POSITION, POLE) or not term.is_plain}
    turning_rows.update([term.reference_row for term in terms])
    turning_rows.update(map(parents.__getitem__, rows_below_base))
    fixed_columns: set[int] = set()
    for row in rows_below_base:
        first_column, kind = q_starts[row], kinds[row]
        if row in moving_rows:
            if kind == _FREE and row not in translating_rows:
                fixed_columns.update(
                    range(first_column, first_column + 3)
                )  # it rotates only; its translation is part of the frames
        elif kind == BALL and row not in turning_rows and not skeleton.B[row, :, 3].any():
            continue  # only its position is measured, and its own rotation does not change that
        else:
            fixed_columns.update([first_column + i for i in Q_OFFSET_RANGES[kind]])
    return np.array(sorted(fixed_columns), dtype=np.int64)


def find_coupled_pair(skeleton: Skeleton, nodes: Sequence[Node]) -> tuple[str, str] | None:
    """Return two coupled joints among the nodes, or None. Methods that move one joint at a time cannot serve both."""
    if not any(skeleton.couplings):
        return None
    row_by_column: dict[int, int] = {}
    for node in nodes:
        if node.kind in (HINGE, SLIDE) and row_by_column.setdefault(node.u_start, node.row) != node.row:
            return skeleton.names[row_by_column[node.u_start]], skeleton.names[node.row]
    return None


def find_shared_columns(nodes: Iterable[Node], skeleton: Skeleton) -> tuple[Ints, Ints]:
    """Return the columns of q and u with equal values.

    Excluded are translations and balls that a limit makes hinges.
    """
    kinds = skeleton.joint_lists.kinds
    column_pairs: list[tuple[int, int]] = []
    for node in nodes:
        if node.kind == BALL or (node.kind in (HINGE, SLIDE) and kinds[node.row] < BALL):
            column_pairs += [(node.q_start + i, node.u_start + i) for i in range(U_SIZES[node.kind])]
    table = np.array(list(dict.fromkeys(column_pairs)), dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
