"""Correct answers for non-uniform scale, for any solver.

Solvers model a tree of rigid parts with uniform scale. For shearing scale the model has a length error, and so have the
answers. First the solver runs again for targets shifted by the errors of forward kinematics, which is fast. Remaining
errors are reduced by Levenberg-Marquardt steps on the affine maps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poise.maths.arrays import Floats, Ints
from poise.problem.problem import Problem, Tolerance
from poise.problem.reach import pulled
from poise.solvers.base.answers import answered, merged
from poise.solvers.base.contract import Answer, Request, engine_of
from poise.solvers.base.descent import descended

_AGAIN = 4  # largest number of target shifts; each one multiplies the error by the relative length error
ROUNDED = 1e-4  # relative length error; answers below it are shifted, but not refined further
_ATTEMPTS = 40  # largest number of restarts


def corrected(
    problem: Problem, solver: Any, targets: Floats, tolerance: Tolerance, request: Request, answer: Answer
) -> Answer:
    """Move answers to targets (k, W) measured by forward kinematics. Unreachable targets are approached."""
    if problem.plan.stretch <= ROUNDED:
        return _aimed(problem, solver, targets, tolerance, request, answer)
    if answer.solutions is not None:
        return _every(problem, targets, tolerance, answer)
    answer = _left_alone(problem, targets, tolerance, answer)
    answer = _aimed(problem, solver, targets, tolerance, request, answer)
    missed = np.flatnonzero(~problem.met(problem.errors(answer.q, targets), tolerance))
    if not len(missed):
        return answer
    stretched = missed[~answer.met[missed]]
    if len(stretched):
        answer = _bent(problem, solver, targets, tolerance, request, answer, stretched)
    restarts = getattr(engine_of(solver), "restarts", 0)  # solvers without restarts get none here
    attempts = _ATTEMPTS if restarts is None else min(restarts, _ATTEMPTS)
    found = descended(problem.part(missed), answer.q[missed], targets[missed], tolerance, attempts=attempts)
    return merged(answer, missed, found._replace(trace=answer.trace))


def _aimed(
    problem: Problem, solver: Any, targets: Floats, tolerance: Tolerance, request: Request, answer: Answer
) -> Answer:
    """Solve again for targets shifted by the remaining errors. This is repeated while the solver reports success."""
    aims = targets.copy()
    for _ in range(_AGAIN):
        missed = answer.met & ~problem.met(problem.errors(answer.q, targets), tolerance)
        if not missed.any():
            break
        aims[missed] = problem.corrected(aims, targets, answer.q)[missed]
        answer = merged(answer, missed, answered(solver, problem.part(missed), aims[missed], tolerance, request))
    return answer


def _left_alone(problem: Problem, targets: Floats, tolerance: Tolerance, answer: Answer) -> Answer:
    """Restore starts with met targets. The solver's tree may miss the targets there."""
    starts = np.array(np.broadcast_to(problem.start.flat_q, answer.q.shape))
    stays = problem.met(problem.errors(starts, targets), tolerance)
    if problem.prefers or not stays.any():
        return answer
    q, met = np.where(stays[:, None], starts, answer.q), answer.met | stays
    return Answer(q, met, answer.iterations * ~stays, answer.joint_updates * ~stays, answer.trace)


def _bent(
    problem: Problem, solver: Any, targets: Floats, tolerance: Tolerance, request: Request, answer: Answer, rows: Ints
) -> Answer:
    """Start again from solutions for slightly nearer targets. Jacobian steps cannot bend an extended limb."""
    part = problem.part(rows)
    again = answered(solver, part, pulled(part, targets[rows]), tolerance, request)
    met = again.met
    found = Answer(again.q[met], met[met], again.iterations[met], again.joint_updates[met], answer.trace)
    return merged(answer, rows[met], found)


def _every(problem: Problem, targets: Floats, tolerance: Tolerance, answer: Answer) -> Answer:
    """Refine every solution of one target, and drop misses."""
    q = answer.q if answer.solutions is None or not len(answer.solutions) else answer.solutions
    found = descended(problem, q, np.repeat(targets, len(q), axis=0), tolerance, attempts=0)
    first = int(found.met.argmax())
    return answer._replace(
        q=found.q[first : first + 1],
        met=found.met[first : first + 1],
        iterations=answer.iterations + found.iterations.sum(),
        joint_updates=answer.joint_updates + found.joint_updates.sum(),
        solutions=found.q[found.met],
    )
