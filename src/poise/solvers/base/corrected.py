"""Answers corrected where scale is not uniform, whatever the solver.

Solvers see a tree of rigid parts and uniform scale. Where scale shears, that tree is a little off, and so are their
answers. They are asked again for aims that make up for what forward kinematics says they missed by, which is quick;
what that does not mend is brought there by steps on the affine maps themselves (descent.py).
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

_AGAIN = 4  # most aims; each takes the error down by the share of itself that a length is off
ROUNDED = 1e-4  # that share; below it, what other aims do not mend is left alone: an exporter's rounding
_ATTEMPTS = 40  # most other poses to start from


def corrected(
    problem: Problem, solver: Any, targets: Floats, tolerance: Tolerance, request: Request, answer: Answer
) -> Answer:
    """Bring what a solver answered to the targets (k, W) that forward kinematics measures, or as near as it gets."""
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
    restarts = getattr(engine_of(solver), "restarts", 0)  # a solver that starts nowhere else is not helped by doing so
    attempts = _ATTEMPTS if restarts is None else min(restarts, _ATTEMPTS)
    found = descended(problem.part(missed), answer.q[missed], targets[missed], tolerance, attempts=attempts)
    return merged(answer, missed, found._replace(trace=answer.trace))


def _aimed(
    problem: Problem, solver: Any, targets: Floats, tolerance: Tolerance, request: Request, answer: Answer
) -> Answer:
    """Solve again for aims that make up for what was missed, while the solver thinks that it meets them."""
    aims = targets.copy()
    for _ in range(_AGAIN):
        missed = answer.met & ~problem.met(problem.errors(answer.q, targets), tolerance)
        if not missed.any():
            break
        aims[missed] = problem.corrected(aims, targets, answer.q)[missed]
        answer = merged(answer, missed, answered(solver, problem.part(missed), aims[missed], tolerance, request))
    return answer


def _left_alone(problem: Problem, targets: Floats, tolerance: Tolerance, answer: Answer) -> Answer:
    """What meets its targets from the start stays there, bit for bit: in the solver's tree it may miss them."""
    starts = np.array(np.broadcast_to(problem.start.flat_q, answer.q.shape))
    stays = problem.met(problem.errors(starts, targets), tolerance)
    if problem.prefers or not stays.any():
        return answer
    q, met = np.where(stays[:, None], starts, answer.q), answer.met | stays
    return Answer(q, met, answer.iterations * ~stays, answer.joint_updates * ~stays, answer.trace)


def _bent(
    problem: Problem, solver: Any, targets: Floats, tolerance: Tolerance, request: Request, answer: Answer, rows: Ints
) -> Answer:
    """Begin where the solver is for targets a little nearer: from a limb that is stretched out no step bends it."""
    part = problem.part(rows)
    again = answered(solver, part, pulled(part, targets[rows]), tolerance, request)
    met = again.met
    found = Answer(again.q[met], met[met], again.iterations[met], again.joint_updates[met], answer.trace)
    return merged(answer, rows[met], found)


def _every(problem: Problem, targets: Floats, tolerance: Tolerance, answer: Answer) -> Answer:
    """Every solution of one target brought to it, those that do not get there left out."""
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
