"""Run solvers, and check and merge their answers. Custom solvers may return wrong shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from poise.errors import InputError
from poise.maths.arrays import Bools, Floats, Ints, finite
from poise.problem.plan import groups_of
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.contract import Answer, Request, Trace, is_own

_COLUMNS = {"met": np.bool_, "iterations": np.int64, "joint_updates": np.int64}  # types of an Answer's arrays besides q


def answered(solver: Any, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
    """Run a solver for targets (k, W) and check its answer."""
    answer, shape = solver.run(problem, targets, tolerance, request), (len(targets), problem.skeleton.nq)
    if not is_own(solver):
        return own_answer(answer, solver.name, shape)
    check_answer(answer, solver.name, shape)
    return answer


def answered_in_groups(
    solver: Any, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request
) -> Answer:
    """Solve each target from its own start, grouped by plan."""
    groups = groups_of(problem.still)
    if groups is None:
        return answered(solver, problem, targets, tolerance, request)
    every = [answered(solver, problem.part(rows), targets[rows], tolerance, request) for rows in groups]
    back = np.argsort(np.concatenate(groups))
    return Answer(
        q=np.concatenate([answer.q for answer in every])[back],
        met=np.concatenate([answer.met for answer in every])[back],
        iterations=np.concatenate([answer.iterations for answer in every])[back],
        joint_updates=np.concatenate([answer.joint_updates for answer in every])[back],
        trace=every[0].trace,
    )


def rows_of(answer: Answer, rows: Bools | Ints) -> Answer:
    """Return the answer for some of the targets."""
    return Answer(answer.q[rows], answer.met[rows], answer.iterations[rows], answer.joint_updates[rows])


def merged(answer: Answer, rows: Bools | Ints, again: Answer) -> Answer:
    """Merge a new answer of some rows. Iterations of both count."""
    q, is_met = answer.q.copy(), answer.met.copy()
    iterations, joint_updates = answer.iterations.copy(), answer.joint_updates.copy()
    q[rows], is_met[rows] = again.q, again.met
    iterations[rows] += again.iterations
    joint_updates[rows] += again.joint_updates
    return Answer(q, is_met, iterations, joint_updates, again.trace, again.solutions)


def before_and_after(problem: Problem, q: Floats, targets: Floats) -> Trace:
    """Build a trace of start and answer, with their errors. It serves methods with several kinds of iterations."""
    rows = np.concatenate([problem.start_rows[:1], q[:1]])
    errors = problem.errors(rows, np.repeat(targets[:1], 2, axis=0))
    return Trace(np.sqrt((errors**2).sum(axis=1)), rows)


def check_answer(answer: Answer, name: str, shape: tuple[int, int]) -> None:
    """Check shape and values of an answer. Kernels would read out of bounds otherwise."""
    if answer.q.shape != shape:
        raise InputError(f"the solver {name} answered with q of shape {answer.q.shape}; it has to be {shape}")
    finite(answer.q, "q")


def own_answer(answer: Answer, name: str, shape: tuple[int, int]) -> Answer:
    """Check a custom solver's answer and convert its arrays."""
    q = np.asarray(answer.q)
    check_answer(answer._replace(q=q), name, shape)
    counts = {
        what: _column(getattr(answer, what), f"{what} of the solver {name}", shape[0], kind)
        for what, kind in _COLUMNS.items()
    }
    return answer._replace(q=np.array(q, dtype=np.float64, order="C"), **counts)


def _column(values: Any, what: str, count: int, kind: type) -> np.ndarray:
    """Convert values to an array (count,) of a type."""
    found = finite(values, what, truths=True)
    if found.shape != (count,):
        raise InputError(f"{what} has the shape {found.shape}; it has to be {(count,)}")
    return found.astype(kind)
