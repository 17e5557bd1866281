"""Optional goals: met as far as that costs the other goals nothing.

All goals together are tried first. Where not all can be met, the optional ones lose weight step by step, each step from
the pose of the one before: that leads to the poses that meet the others, and among them to one that is nearest to
meeting the optional ones as well. At the end the others alone are met from there, with the smallest steps that do it.
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
from poise.solvers.base.contract import Answer, Request, engine_of
from poise.solvers.levenberg_marquardt import LevenbergMarquardt

_SHARES = (0.3, 0.1, 0.03, 0.01, 0.003)  # of their weight that optional goals keep, one after the other

Solve = Callable[[Problem, Floats, Any, Tolerance, Request], Any]  # run.solved, which imports this


def ranked(
    problem: Problem, targets: Floats, solver: Any, tolerance: Tolerance, request: Request, solve: Solve
) -> Answer:
    """Solve for targets (k, W) of goals some of which are optional; `solve` does so where all goals count."""
    if request.prefer != "first":
        raise UnsupportedError(f'optional goals go with prefer="first" only, not with prefer={request.prefer!r}')
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
    """The same from poses q (k, nq) that do not meet all goals."""
    needed = required_of(problem)
    assert needed is not None
    first, wanted = needed.problem, targets[:, needed.targets]

    def slid(rows: Ints, q: Floats, shares: tuple[float, ...]) -> Answer:
        """From q (r, nq) to the least error of all goals, the optional ones losing weight, then to the others' own."""
        steady, part = _steady(solver), problem.part(rows)
        for share in shares:
            lighter = counting_all(part, share)
            q = solve(lighter.at(lighter.posed(q)), targets[rows], steady, tolerance, request).answer.q
        alone = first.part(rows)
        return solve(alone.at(alone.posed(q)), wanted[rows], steady, tolerance, request).answer

    answer = slid(np.arange(len(q)), q, _SHARES)
    left = np.flatnonzero(~first.met(first.errors(answer.q, wanted), tolerance))
    if not len(left):
        return answer
    # What is optional has led astray: the others alone, from the start, and from there on with as little of it.
    again = solve(first.part(left), wanted[left], solver, tolerance, request).answer
    on = slid(left, again.q, _SHARES[-1:])
    kept = first.met(first.errors(on.q, wanted[left]), tolerance)
    again = merged(again, kept, rows_of(on, kept))
    gains = _left(first, again.q, wanted[left], tolerance) < _left(first, answer.q[left], wanted[left], tolerance)
    return merged(answer, left[gains], rows_of(again, gains))


def _steady(solver: Any) -> LevenbergMarquardt:
    """The engine, which goes on from a pose and stays near it."""
    engine = engine_of(solver)
    return replace(engine if isinstance(engine, LevenbergMarquardt) else LevenbergMarquardt(), restarts=0, settle=True)


def _left(problem: Problem, q: Floats, targets: Floats, tolerance: Tolerance) -> Floats:
    """What poses q (k, nq) leave of all goals, in tolerances, squared (k,)."""
    allowed = problem.allowed(tolerance)
    return ((problem.errors(q, targets) / np.where(allowed > 0.0, allowed, 1.0)) ** 2).sum(axis=1)
