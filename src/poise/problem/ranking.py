"""Problems with optional goals, rewritten for required goals only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from poise.maths.arrays import Ints
from poise.problem.goals import is_optional
from poise.problem.layout import NUMBERS
from poise.problem.problem import Problem
from poise.problem.sides import with_own_roots


class Required(NamedTuple):
    """Problem of the required goals. `target_columns` and `error_columns` are its columns among those of all goals."""

    problem: Problem
    targets: Ints
    errors: Ints


def required_of(problem: Problem) -> Required | None:
    """Return the required part of a problem. None where every measured goal is optional."""
    errors = np.flatnonzero(~problem.spared)
    if not len(errors):
        return None
    numbers = [np.arange(m.column, m.column + NUMBERS[m.kind]) for m in problem.measures]
    goals = with_own_roots(problem.skeleton, problem.goals)  # limbs stay the same without the optional goals
    kept = Problem(problem.start, tuple([goal for goal in goals if not is_optional(goal)]), problem.free_root)
    return Required(kept, np.concatenate([numbers[i] for i in errors]), errors)


def counting_all(problem: Problem, share: float = 1.0) -> Problem:
    """Return the problem with every goal required. Weights of optional goals are multiplied by `share`."""
    goals: list[Any] = list(problem.goals)
    for i, goal in enumerate(goals):
        if is_optional(goal):
            goals[i] = replace(goal, optional=False, weight=goal.weight * share)
    return Problem(problem.start, tuple(goals), problem.free_root)
