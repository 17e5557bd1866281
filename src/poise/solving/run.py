"""Run the solver for target rows and build the Result.

It covers batches, single targets and a fast path for single targets of serial arms.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from poise import solvers
from poise.errors import InputError
from poise.maths.arrays import Floats
from poise.maths.options import truth
from poise.maths.remember import freeze_arrays
from poise.problem.goals import Goal
from poise.problem.loops import leave_loops_closed
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.contract import Prefer, Request
from poise.solvers.natural.natural import Natural
from poise.solving.checks import check_request
from poise.solving.evidence import restraints_of
from poise.solving.result import Result
from poise.solving.solved import solved

_WORTH_THREADS = 4096  # targets: smaller batches finish before threads have started


@dataclass(frozen=True)
class Settings:
    """Solve settings shared by solve() and prepare(). They do not depend on the solver."""

    prefer: Prefer = "first"
    seeds: int | None = None
    threads: int | None = None
    trace: bool = False
    progress: Callable[[int], None] | None = None

    def __post_init__(self) -> None:
        check_request(prefer=self.prefer, seeds=self.seeds, threads=self.threads, progress=self.progress)
        object.__setattr__(self, "trace", truth("trace", self.trace))
        for name in ("seeds", "threads"):  # as plain numbers: arrays without axes have no hash
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else int(value))

    def request(self, count: int) -> Request:
        """Make the request for `count` targets.

        Chooses the number of threads; InputError for options of single targets only.
        """
        if self.trace and count != 1:
            raise InputError(f"trace=True keeps the iterations of one target; there are {count}")
        if self.prefer == "all" and count != 1:
            raise InputError(f'prefer="all" lists the solutions of one target; there are {count}')
        threads = self.threads
        if threads is None:
            threads = (os.cpu_count() or 1) if count >= _WORTH_THREADS else 1
        return Request(self.prefer, self.seeds, threads, self.trace, self.progress)


def run(
    problem: Problem,
    targets: Floats,
    solver: solvers.Solver,
    tolerance: Tolerance,
    request: Request,
    shape: tuple[int, ...],
    moved_inside: tuple[str, ...],
    began: float,
    goals: tuple[Goal, ...] | None = None,
) -> Result:
    """Solve a problem for targets (k, W) and measure the answer.

    `goals` hold the targets, if the caller supplied goals.
    """
    found = solved(problem, targets, solver, tolerance, request)
    answer, reached = found.answer, problem.met(found.errors, tolerance)
    if problem.skeleton.loops:
        reached &= leave_loops_closed(problem, answer.q, tolerance)
    reached = reached.reshape(shape)
    freeze_arrays((answer.trace,))
    told = {
        "problem": problem,
        "targets": targets,
        "q": answer.q.reshape(*shape, answer.q.shape[-1]),
        "errors": found.errors.reshape(*shape, found.errors.shape[-1]),
        "reached": reached if shape else bool(reached),
        "iterations": answer.iterations.reshape(shape),
        "joint_updates": answer.joint_updates.reshape(shape),
        "solver": solver.name,
        "natural": isinstance(solver, Natural),
        "moved_inside": moved_inside,
        "trace": answer.trace,
        "solutions_q": answer.solutions,
        "tolerances": tolerance,
        "restrained": solver if restraints_of(solver) else None,
    }
    return Result(told if goals is None else told | {"goals": goals}, began)
