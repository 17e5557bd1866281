"""What lengths alone allow: how far each target is from the joint that its chain hangs on, and how far it reaches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats, Ints
from poise.problem.layout import POSITION
from poise.problem.problem import Problem, Tolerance


class Reach(NamedTuple):
    """Of one position: its term in the plan; shortest, longest and wanted (k,) distance from its first joint."""

    term: int
    shortest: float
    longest: float
    wanted: Floats


def reaches(problem: Problem, targets: Floats) -> list[Reach]:
    """What lengths alone allow, for every position that is aimed at."""
    plan, aims = problem.plan, problem.kernel_targets(targets)
    found: list[Reach] = []
    for i, term in enumerate(plan.layout.terms):
        if term.kind == POSITION:
            shortest, longest, origin = plan.reaches[i]
            column = int(plan.terms[i, 3])
            away = aims[:, column : column + 3] - origin
            found.append(Reach(i, shortest, longest, np.sqrt((away**2).sum(axis=-1))))
    return found


def beyond_reach(problem: Problem, targets: Floats, tolerance: Tolerance) -> Ints:
    """For each row of targets 0, or which position (counted from 1 in order of the terms) no pose can reach."""
    slack = tolerance.distance / problem.plan.unit
    found = np.zeros(len(targets), dtype=np.int64)
    for n, reach in enumerate(reaches(problem, targets), start=1):
        off = (reach.wanted > reach.longest + slack) | (reach.wanted < reach.shortest - slack)
        found = np.where(off & (found == 0), n, found)
    return found
