"""Solve problems with a Balance goal.

A solver meets the other goals first; then Levenberg-Marquardt refines all of them together.

Terms of the kernels depend on one joint each, the centre of mass depends on all. So the requested solver finds a pose
for the other goals, and Levenberg-Marquardt in NumPy, with residuals from forward kinematics, refines it in a few least
steps until the centre of mass and the goals are met.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from poise.maths.arrays import Floats
from poise.problem.goals import Balance, is_of_joint
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.answers import answered_in_groups, before_and_after, merged
from poise.solvers.base.contract import Answer, Request
from poise.solvers.base.descent import descended


def balanced(solver: Any, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
    """Solve for targets (k, W) with a Balance goal. `solver` solves for the other goals."""
    answer = _unbalanced(solver, problem, targets, tolerance, replace(request, trace=False))
    falls = np.flatnonzero(~problem.met(problem.errors(answer.q, targets), tolerance))
    if len(falls):
        found = descended(problem.part(falls), answer.q[falls], targets[falls], tolerance, attempts=0)
        answer = merged(answer, falls, found)
    met = problem.met(problem.errors(answer.q, targets), tolerance)
    trace = before_and_after(problem, answer.q, targets) if request.trace else None
    return answer._replace(met=met, trace=trace)


def without_balance(problem: Problem) -> Problem:
    """Return the problem without Balance goals."""
    return Problem(problem.start, tuple(g for g in problem.goals if not isinstance(g, Balance)), problem.free_root)


def _unbalanced(solver: Any, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
    """Solve for the goals other than Balance.

    The start is kept where it meets all goals, and where there are no others.
    """
    k, starts = len(targets), problem.start_rows
    q, none = np.array(np.broadcast_to(starts, (k, starts.shape[1]))), np.zeros(k, dtype=np.int64)
    met = problem.met(problem.errors(q, targets), tolerance)
    answer, rest, left = Answer(q, met, none, none), without_balance(problem), np.flatnonzero(~met)
    if not len(left) or not any(map(is_of_joint, rest.goals)):
        return answer
    return merged(answer, left, answered_in_groups(solver, rest.part(left), targets[left], tolerance, request))
