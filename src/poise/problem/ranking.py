"""Problems some goals of which are optional, as problems all goals of which count."""

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
    """The problem of the goals that count, the columns of its targets among those of all goals, and of its errors."""

    problem: Problem
    targets: Ints
    errors: Ints


def required_of(problem: Problem) -> Required | None:
    """What has to be met; None where every goal that measures something is optional."""
    errors = np.flatnonzero(~problem.spared)
    if not len(errors):
        return None
    numbers = [np.arange(m.column, m.column + NUMBERS[m.kind]) for m in problem.measures]
    goals = with_own_roots(problem.skeleton, problem.goals)  # whatever becomes of the goal at a pole's tip
    kept = Problem(problem.start, tuple([goal for goal in goals if not is_optional(goal)]), problem.free_root)
    return Required(kept, np.concatenate([numbers[i] for i in errors]), errors)


def counting_all(problem: Problem, share: float = 1.0) -> Problem:
    """The problem with every goal counting, of those that are optional the weight times `share`."""
    goals: list[Any] = list(problem.goals)
    for i, goal in enumerate(goals):
        if is_optional(goal):
            goals[i] = replace(goal, optional=False, weight=goal.weight * share)
    return Problem(problem.start, tuple(goals), problem.free_root)
