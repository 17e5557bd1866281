"""One packed problem: run the solver, correct for scale that is not quite uniform, judge."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np

from poise import solvers
from poise.arrays import Bools, Floats
from poise.checks import check_request
from poise.errors import InputError
from poise.goals import Goal
from poise.judge import judge, met
from poise.problem import Problem, Tolerance
from poise.result import Answer, Result
from poise.solvers import Prefer, Request

_CORRECTIONS = 4  # each takes the error left down by the amount of shear, 1e-3 at most
_WORTH_THREADS = 4096  # targets: fewer are done before threads have started


def request_of(
    shape: tuple[int, ...],
    *,
    prefer: Prefer,
    seeds: int | None,
    threads: int | None,
    trace: bool,
    progress: Callable[[int], None] | None,
) -> Request:
    """Check how a batch of this shape is to be solved, and choose the threads; InputError for what cannot be."""
    check_request(prefer=prefer, seeds=seeds, threads=threads, trace=trace, progress=progress)
    count = int(np.prod(shape))
    if trace and count != 1:
        raise InputError(f"trace=True keeps the iterations of one target; there are {count}")
    if prefer == "all" and count != 1:
        raise InputError(f'prefer="all" lists the solutions of one target; there are {count}')
    if threads is None:
        threads = (os.cpu_count() or 1) if count >= _WORTH_THREADS else 1
    return Request(prefer, seeds, threads, trace, progress)


def run(
    problem: Problem,
    goals: tuple[Goal, ...],
    solver: solvers.Solver,
    tolerance: Tolerance,
    request: Request,
    shape: tuple[int, ...],
    moved_inside: tuple[str, ...],
    began: float,
) -> Result:
    """Solve a packed problem and judge the answer."""
    targets = problem.targets(goals, int(np.prod(shape)))
    answer = solver.run(problem, targets, tolerance, request)
    if problem.sheared:
        answer = _corrected(problem, solver, targets, tolerance, request, answer)
    verdict = judge(problem, answer.q, targets, tolerance)
    return Result(
        problem, goals, targets, answer, verdict, tolerance, seconds=time.perf_counter() - began, solver=solver.name,
        shape=shape, moved_inside=moved_inside,
    )  # fmt: skip


def _corrected(
    problem: Problem, solver: solvers.Solver, targets: Floats, tolerance: Tolerance, request: Request, answer: Answer
) -> Answer:
    """Solve again for aims that make up for scale that is not quite uniform, while that is what is missing."""
    aims = targets.copy()
    for _ in range(_CORRECTIONS):
        missed = answer.met & ~met(problem, problem.errors(answer.q, targets), tolerance)
        if not missed.any():
            break
        aims[missed] = problem.corrected(aims, targets, answer.q)[missed]
        answer = _merged(answer, missed, solver.run(problem, aims[missed], tolerance, request))
    return answer


def _merged(answer: Answer, rows: Bools, again: Answer) -> Answer:
    """The answer with some rows solved again; both count."""
    q, is_met = answer.q.copy(), answer.met.copy()
    iterations, joint_updates = answer.iterations.copy(), answer.joint_updates.copy()
    q[rows], is_met[rows] = again.q, again.met
    iterations[rows] += again.iterations
    joint_updates[rows] += again.joint_updates
    return Answer(q, is_met, iterations, joint_updates, again.trace, again.solutions)
