"""Plan chains for a solver: together, in sequence, or skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from poise import solvers
from poise.errors import UnsupportedError
from poise.model import plain
from poise.model.pose import Pose
from poise.problem.goals import Goal
from poise.problem.problem import Problem
from poise.solvers.base.contract import Request
from poise.viewer.document.chains import ChainTarget


class ChainPlan(NamedTuple):
    """The order of several chains for a solver, by index.

    Parameters
    ----------
    groups
        Groups of chains solved together: all, or each alone. Omitted chains are in no group.
    left_out
        Chains rejected by the solver, each with the reason.
    roots
        The first moving joint of each chain where it is not the chain's own root.
    free_root
        Whether the root of the rig may move.
    refused
        The reason against all chains; None if the solver takes one.
    """

    groups: tuple[tuple[int, ...], ...]
    left_out: Mapping[int, str] = {}
    roots: Mapping[int, str] = {}
    free_root: bool = False
    refused: str | None = None

    def set_roots(self, chains: Sequence[ChainTarget]) -> list[ChainTarget]:
        """Return the chains with the roots of this plan."""
        return [chain.but(root=self.roots.get(i, chain.root)) for i, chain in enumerate(chains)]


def plan_chains(solver: solvers.Solver, start: Pose, chains: Sequence[ChainTarget], *, free_root: bool) -> ChainPlan:
    """Plan the order of chains for a solver. Nothing is solved for it.

    Parameters
    ----------
    solver
        The solver.
    start
        The pose before the solve.
    chains
        The enabled chains of the document.
    free_root
        Whether the root of the rig may move as well.

    Notes
    -----
    A solver of one goal at a time solves chain after chain. Shared joints of several chains, and a free root, are then
    fixed, because each chain would undo the one before. Chains nearer to the root come first.
    """
    numbers = list(range(len(chains)))
    if len(chains) > 1 and _is_one_at_a_time(solver):
        joints = {i: chain.joints(start.skeleton) for i, chain in enumerate(chains)}
        reasons = _find_refusals(
            solver, start, ChainPlan(groups=(), roots=find_own_roots(joints)).set_roots(chains), free_root=False
        )
        taken = [i for i in numbers if i not in reasons] or numbers
        roots = find_own_roots({i: joints[i] for i in taken})
        taken.sort(key=lambda i: len(start.skeleton.ancestors(roots.get(i, joints[i][0]))))
        plan = ChainPlan(tuple((i,) for i in taken), roots=roots)
    else:
        whole = _find_refusal(solver, start, chains, free_root=free_root)
        reasons = {} if whole is None else _find_refusals(solver, start, chains, free_root=free_root)
        taken = [i for i in numbers if i not in reasons] or numbers
        plan = ChainPlan((tuple(taken),), free_root=free_root)
        if whole is not None and (len(chains) == 1 or not reasons):
            return plan._replace(refused=whole)
    if len(reasons) == len(chains):
        return plan._replace(refused=next(iter(reasons.values())))
    return plan._replace(left_out=reasons)


def find_own_roots(joints: Mapping[int, Sequence[str]]) -> dict[int, str]:
    """Find roots below the joints of several chains.

    Parameters
    ----------
    joints
        The joints of each chain, from root to tip, by its number.

    Returns
    -------
        The first joint of each chain below all joints of other chains. Chains without shared joints, or without a joint
        of their own, keep their roots and are omitted.
    """
    roots: dict[int, str] = {}
    for i, mine in joints.items():
        others = {name for k, theirs in joints.items() if k != i for name in theirs[:-1]}
        shared = [place for place, name in enumerate(mine[:-1]) if name in others]
        first = shared[-1] + 1 if shared else 0
        if 0 < first < len(mine) - 1:
            roots[i] = mine[first]
    return roots


def _is_one_at_a_time(solver: solvers.Solver) -> bool:
    return solver.handles.one_joint or not solver.handles.several


def _find_refusals(
    solver: solvers.Solver, start: Pose, chains: Sequence[ChainTarget], *, free_root: bool
) -> dict[int, str]:
    """Find the refusal reason of each chain alone. Chains without one are omitted."""
    alone = {i: _find_refusal(solver, start, [chain], free_root=free_root) for i, chain in enumerate(chains)}
    return {i: reason for i, reason in alone.items() if reason is not None}


def _find_refusal(solver: solvers.Solver, start: Pose, chains: Sequence[ChainTarget], *, free_root: bool) -> str | None:
    """Find the refusal reason of all chains together, or None."""
    made: Any = solver
    goals: list[Goal] = [goal for chain in chains for goal in chain.goals(start.skeleton)]
    try:
        problem = Problem(start, tuple(goals), free_root)
        solvers.check(solver, problem, Request())
        if hasattr(made, "refuse") and not plain.waits():  # the solver checks lengths as well as goal kinds
            made.refuse(problem)
    except UnsupportedError as error:
        return str(error)
    return None
