"""Solve problems with optional goals. They are met as far as possible without making the required goals worse.

All goals together are tried first. If they cannot all be met, the weights of the optional ones are reduced in steps,
each from the pose of the previous step. This leads to poses that meet the required goals, and among them to one closest
to the optional ones. A last solve meets the required goals alone with the smallest change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from poise.errors import UnsupportedError
from poise.maths.arrays import Floats, Ints
from poise.problem.problem import Problem, Tolerance
from poise.problem.ranking import counting_all, required_of
from poise.solvers.base.answers import before_and_after, merged, rows_of
from poise.solvers.base.contract import Answer, Request
from poise.solving.settled import settled

# weights of optional goals, as shares of their own, one solve after the other
_SHARES = (0.3, 0.1, 0.03, 0.01, 0.003)
_AS_GOOD = 1.0  # tolerances: allowed increase of a missed required error in favour of optional goals

Solve = Callable[[Problem, Floats, Any, Tolerance, Request], Any]  # the type of solve_and_measure


def ranked(
    problem: Problem, targets: Floats, solver: Any, tolerance: Tolerance, request: Request, solve: Solve
) -> Answer:
    """Solve for targets (k, W) of required and optional goals.

    `solve` is the solve function for problems in which all goals count.
    """
    check_order(request)
    silent, every = replace(request, trace=False, progress=None), counting_all(problem)
    answer = solve(every, targets, solver, tolerance, silent).answer
    missed = np.flatnonzero(~every.met(every.errors(answer.q, targets), tolerance))
    if len(missed) and not problem.spared.all():
        part = problem.part(missed)
        found = _in_order(part, targets[missed], solver, tolerance, silent, solve, answer.q[missed])
        answer = merged(answer, missed, found)
    return answer._replace(trace=before_and_after(problem, answer.q, targets)) if request.trace else answer


def _in_order(
    problem: Problem, targets: Floats, solver: Any, tolerance: Tolerance, request: Request, solve: Solve, q: Floats
) -> Answer:
    """Solve again from poses q (k, nq) with missed goals."""
    needed = required_of(problem)
    assert needed is not None
    first, wanted = needed.problem, targets[:, needed.targets]

    def slid(rows: Ints, q: Floats, shares: tuple[float, ...]) -> Answer:
        """Minimise the errors with decreasing weights of optional goals.

        Starts at q (r, nq) and ends with the required goals alone.
        """
        part, alone = problem.part(rows), first.part(rows)
        steps = [(counting_all(part, share), targets[rows], settled(solver)) for share in shares]
        steps.append((alone, wanted[rows], settled(solver, pulled=False)))
        iterations = updates = np.zeros(len(rows), dtype=np.int64)
        for step, aims, engine in steps:
            found = solve(step.at(step.posed(q)), aims, engine, tolerance, request).answer
            q, iterations, updates = found.q, iterations + found.iterations, updates + found.joint_updates
        return Answer(q, alone.met(alone.errors(q, wanted[rows]), tolerance), iterations, updates)

    answer = slid(np.arange(len(q)), q, _SHARES)
    left = np.flatnonzero(~answer.met)
    if not len(left):
        return answer
    # Optional goals may lead to a bad basin: retry the required goals alone, then add optional ones with little weight.
    part, aims = first.part(left), wanted[left]
    again = solve(part, aims, solver, tolerance, request).answer
    on = slid(left, again.q, _SHARES[-1:])
    missed = [_missed_by(part, each, aims, tolerance) for each in (answer.q[left], again.q, on.q)]
    kept = on.met | (~again.met & (missed[2] < missed[1] + _AS_GOOD))
    again = merged(again, kept, rows_of(on, kept))
    gains = again.met | (np.where(kept, missed[2], missed[1]) + _AS_GOOD < missed[0])
    return merged(answer, left[gains], rows_of(again, gains))


def check_order(request: Request) -> None:
    """Raise UnsupportedError unless prefer="first". Other values are not supported with optional goals."""
    if request.prefer != "first":
        raise UnsupportedError(f'optional goals go with prefer="first" only, not with prefer={request.prefer!r}')


def _missed_by(problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance) -> Floats:
    """Compute the errors (k,) of poses q (k, nq), in tolerances."""
    allowed = problem.allowed(tolerance)
    return np.sqrt(((problem.errors(q, targets) / np.where(allowed > 0.0, allowed, 1.0)) ** 2).sum(axis=1))
