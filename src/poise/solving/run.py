"""One packed problem: run the solver, correct for scale that is not quite uniform, judge."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from poise import solvers
from poise.errors import InputError
from poise.maths.arrays import Bools, Floats
from poise.problem.goals import Goal
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.request import Prefer, Request
from poise.solving.checks import check_request
from poise.solving.judge import Verdict, judge, met
from poise.solving.result import Answer, Result, facts

_CORRECTIONS = 4  # each takes the error left down by the amount of shear, 1e-3 at most
_CHUNK, _LEAST = 4096, 1024  # most and least targets that are solved and judged together
_COLUMNS = ("q", "met", "iterations", "joint_updates")
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
    check_request(prefer=prefer, seeds=seeds, threads=threads, progress=progress)
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
    solvers.check(solver, problem, request)
    targets = problem.targets(goals, int(np.prod(shape)))
    progress = None if request.progress is None else _Progress(request.progress)
    request = replace(request, progress=progress)

    def part(rows: slice) -> tuple[Answer, Verdict]:
        answer = solver.run(problem, targets[rows], tolerance, request)
        _check_shape(answer, solver.name, (len(targets[rows]), problem.skeleton.nq))
        if problem.sheared:
            silent = replace(request, progress=None)
            answer = _corrected(problem, solver, targets[rows], tolerance, silent, answer)
        return answer, judge(problem, answer.q, targets[rows], tolerance)

    if problem.start.shape or len(targets) <= _CHUNK or request.prefer != "first":
        answer, verdict = part(slice(None))
    else:
        threads, request = request.threads, replace(request, threads=1, progress=None)
        answer, verdict = _joined(_in_parts(part, len(targets), threads, progress), len(targets))
    if progress is not None and progress.told < len(targets):
        progress(len(targets) - progress.told)  # not every solver counts
    found = facts(
        problem, goals, targets, answer, verdict, tolerance, solver=solver.name, shape=shape, moved_inside=moved_inside
    )
    return Result(time.perf_counter() - began, **found)


def _check_shape(answer: Answer, name: str, shape: tuple[int, int]) -> None:
    """Solvers that people write themselves make this mistake, and the kernels would read beyond the end."""
    if answer.q.shape != shape:
        raise InputError(f"the solver {name} answered with q of shape {answer.q.shape}; it has to be {shape}")


class _Progress:
    """Passes on how many targets were done, and counts them."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self.tell = tell
        self.told = 0

    def __call__(self, count: int) -> None:
        """So many more are done."""
        self.told += count
        self.tell(count)


def _in_parts(
    part: Callable[[slice], tuple[Answer, Verdict]],
    count: int,
    threads: int,
    progress: Callable[[int], None] | None,
) -> Iterator[tuple[Answer, Verdict]]:
    """Solve and judge a long batch part by part: what belongs together is still in the cache, and threads share it."""
    size = _CHUNK if threads == 1 else max(_LEAST, min(_CHUNK, -(-count // (2 * threads))))  # two parts or more each
    rows = [slice(first, min(first + size, count)) for first in range(0, count, size)]
    with ThreadPoolExecutor(threads) as pool:
        for done, found in zip(rows, pool.map(part, rows) if threads > 1 else map(part, rows), strict=True):
            yield found
            if progress is not None:
                progress(done.stop - done.start)


def _joined(parts: Iterable[tuple[Answer, Verdict]], count: int) -> tuple[Answer, Verdict]:
    """One answer and verdict for all `count` targets; each part is copied and let go, its memory is the next one's."""
    whole: dict[str, np.ndarray] = {}
    worst, first = 0.0, 0
    for answer, verdict in parts:
        found = {name: getattr(answer, name) for name in _COLUMNS} | {"errors": verdict.errors, "codes": verdict.codes}
        for name, rows in found.items():
            if name not in whole:
                whole[name] = np.empty((count, *rows.shape[1:]), dtype=rows.dtype)
            whole[name][first : first + len(rows)] = rows
        worst, first = max(worst, verdict.violation), first + len(answer.q)
    return Answer(whole["q"], whole["met"], whole["iterations"], whole["joint_updates"]), Verdict(
        whole["errors"], whole["codes"], worst
    )


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
        answer = _merged(answer, missed, solver.run(problem.part(missed), aims[missed], tolerance, request))
    return answer


def _merged(answer: Answer, rows: Bools, again: Answer) -> Answer:
    """The answer with some rows solved again; both count."""
    q, is_met = answer.q.copy(), answer.met.copy()
    iterations, joint_updates = answer.iterations.copy(), answer.joint_updates.copy()
    q[rows], is_met[rows] = again.q, again.met
    iterations[rows] += again.iterations
    joint_updates[rows] += again.joint_updates
    return Answer(q, is_met, iterations, joint_updates, again.trace, again.solutions)
