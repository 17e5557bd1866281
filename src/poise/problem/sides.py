"""Limbs of Pole goals, found among the other goals.

A Pole shares the chain of the goal at its tip and adds no joint to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from poise.model.skeleton import Skeleton
from poise.problem.goals import AnyGoal, Goal, JointGoal, LookAt, Pole, is_of_joint
from poise.problem.goals.pole import LimbRows


def limb_of_pole(skeleton: Skeleton, pole: Pole, goals: Iterable[AnyGoal]) -> LimbRows:
    """Find the rows of a pole's limb among all goals. InputError where its joint is not inside the limb."""
    return pole.limb(skeleton, shared_chain(skeleton, pole, goals))


def moved_by_pole(skeleton: Skeleton, pole: Pole, goals: Iterable[AnyGoal]) -> list[int]:
    """List rows of a limb moved by a pole alone. None where the pole shares the chain of another goal."""
    chain = shared_chain(skeleton, pole, goals)
    if chain and pole.root is None:
        return []
    limb, way = pole.limb(skeleton, chain), skeleton.way(pole.tip_row(skeleton))
    return way[way.index(limb.first) : -1]


def shared_chain(skeleton: Skeleton, pole: Pole, goals: Iterable[AnyGoal]) -> Sequence[int]:
    """List rows above a pole's tip moved by its goals, parents first.

    The list is empty without a goal at or below the tip. A goal below the tip, or a goal of only the tip's rotation,
    counts if the pole's joint moves for it: a hand rotating alone moves no elbow.
    """
    middle, tip = skeleton.index(pole.joint), pole.tip_row(skeleton)
    way, shared = skeleton.way(tip), set[int]()
    for goal in goals:
        if isinstance(goal, Pole | LookAt) or not is_of_joint(goal):
            continue
        row = skeleton.index(goal.joint)
        if tip not in skeleton.way(row):
            continue
        chain = chain_rows(skeleton, goal)
        if middle in chain[1:] or (row == tip and "position" in goal.measures):
            shared.update(chain)
    return [row for row in way if row in shared]


def turns_alone(skeleton: Skeleton, goal: JointGoal) -> bool:
    """Return whether a goal's root is its own joint. Then nothing above moves, and its turning counts."""
    return goal.root is not None and skeleton.index(goal.root) == skeleton.index(goal.joint)


def chain_rows(skeleton: Skeleton, goal: JointGoal) -> list[int]:
    """List moving rows above the joint of a goal, parents first."""
    if turns_alone(skeleton, goal):
        return []
    return [skeleton.index(name) for name in skeleton.chain(goal.root, goal.joint)]


def with_own_roots(skeleton: Skeleton, goals: Sequence[Goal]) -> list[Goal]:
    """Return the goals with the root of every Pole named. So each is the same without the others."""
    return [_rooted(skeleton, goal, goals) if isinstance(goal, Pole) else goal for goal in goals]


def _rooted(skeleton: Skeleton, pole: Pole, goals: Sequence[Goal]) -> Pole:
    return replace(pole, root=skeleton.names[limb_of_pole(skeleton, pole, goals).first])
