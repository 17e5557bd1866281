"""Solve a problem for its targets and measure the answers.

It runs all targets at once, in parts, or by groups of starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from poise import solvers
from poise.maths.arrays import Floats
from poise.problem.plan import groups_of
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.answers import answered
from poise.solvers.base.contract import Answer, Request
from poise.solvers.base.corrected import corrected
from poise.solving.ranked import ranked
from poise.timing.clock import get_pauses, share_pauses

_CHUNK, _LEAST = 4096, 1024  # targets solved and measured together, maximum and minimum


class Judged(NamedTuple):
    """Answer of a solver and its errors (k, c). The errors are measured by forward kinematics."""

    answer: Answer
    errors: Floats


def solved(problem: Problem, targets: Floats, solver: solvers.Solver, tolerance: Tolerance, request: Request) -> Judged:
    """Solve and measure. Large batches run in parts; starts with different plans run group by group."""
    progress = None if request.progress is None else _Progress(request.progress)
    request = request if progress is None else replace(request, progress=progress)
    groups = groups_of(problem.still) if problem.start.shape else None
    if groups is not None:
        found = _in_groups(groups, problem, targets, solver, tolerance, request)
    elif problem.batched or len(targets) <= _CHUNK or request.prefer != "first":
        found = _together(problem, targets, solver, tolerance, request)
    else:
        found = _in_parts(problem, targets, solver, tolerance, request)
    if progress is not None and progress.told < len(targets):
        progress(len(targets) - progress.told)  # not every solver reports its progress
    return found


def _together(
    problem: Problem, targets: Floats, solver: solvers.Solver, tolerance: Tolerance, request: Request
) -> Judged:
    if problem.ranked:
        answer = ranked(problem, targets, solver, tolerance, request, solved)
        return Judged(answer, problem.errors(answer.q, targets))
    answer = answered(solver, problem, targets, tolerance, request)
    if problem.plan.sheared:
        answer = corrected(problem, solver, targets, tolerance, replace(request, progress=None), answer)
    return Judged(answer, problem.errors(answer.q, targets))


class _Progress:
    """Counter and forwarder of finished targets."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self.tell = tell
        self.told = 0

    def __call__(self, count: int) -> None:
        """Add to the finished targets."""
        self.told += count
        self.tell(count)


def _in_parts(
    problem: Problem, targets: Floats, solver: solvers.Solver, tolerance: Tolerance, request: Request
) -> Judged:
    """Solve in parts small enough for the processor cache. Threads share the parts."""
    count, threads, progress = len(targets), request.threads, request.progress
    size = _CHUNK if threads == 1 else max(_LEAST, min(_CHUNK, -(-count // (2 * threads))))  # two parts or more each
    rows = [slice(first, min(first + size, count)) for first in range(0, count, size)]
    alone = replace(request, threads=1, progress=None)

    def part(each: slice) -> Judged:
        return _together(problem, targets[each], solver, tolerance, alone)

    def found() -> Iterator[tuple[slice, Judged]]:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  (not needed for a single solve)

        with ThreadPoolExecutor(threads, initializer=share_pauses, initargs=(get_pauses(),)) as pool:
            for done, one in zip(rows, pool.map(part, rows) if threads > 1 else map(part, rows), strict=True):
                yield done, one
                if progress is not None:
                    progress(done.stop - done.start)

    return _joined(found(), count)


def _in_groups(
    groups: Iterable[np.ndarray],
    problem: Problem,
    targets: Floats,
    solver: solvers.Solver,
    tolerance: Tolerance,
    request: Request,
) -> Judged:
    """Solve by groups of starts with a shared plan."""

    def found() -> Iterator[tuple[np.ndarray, Judged]]:
        for rows in groups:
            yield rows, _together(problem.part(rows), targets[rows], solver, tolerance, request)

    return _joined(found(), len(targets))


def _joined(parts: Iterable[tuple[slice | np.ndarray, Judged]], count: int) -> Judged:
    """Join the parts to one answer for all `count` targets. Each part is freed once it is copied."""
    whole: dict[str, np.ndarray] = {}
    trace = solutions = None
    for rows, (answer, errors) in parts:
        columns = {name: getattr(answer, name) for name in ("q", "met", "iterations", "joint_updates")}
        for name, found in (columns | {"errors": errors}).items():
            if name not in whole:
                whole[name] = np.zeros((count, *found.shape[1:]), dtype=found.dtype)
            whole[name][rows] = found
        trace, solutions = trace or answer.trace, answer.solutions
    errors = whole.pop("errors")
    return Judged(Answer(**whole, trace=trace, solutions=solutions), errors)
