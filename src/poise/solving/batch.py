"""Solve batches of targets in parts or groups, and measure the errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from poise import solvers
from poise.call_clock import get_pauses, share_pauses
from poise.maths.arrays import Floats
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base import interface
from poise.solvers.base.answer_refinement import correct_shear
from poise.solvers.base.thread_parts import MIN_THREADED_WORK_S
from poise.solving.optional_goals import solve_prioritized
from poise.solving.pulls import solve_with_pulls

_MAX_PART_TARGETS, _MIN_PART_TARGETS = 4096, 1024  # targets solved and measured together, maximum and minimum
_TIMED_TARGETS = 256  # targets of a timed first part; with fewer, the cost of its call exceeds that of the targets


class MeasuredAnswer(NamedTuple):
    """Answer of a solver and its errors (k, c). The errors are measured by forward kinematics."""

    answer: interface.Answer
    errors: Floats


def solve_and_measure(
    problem: Problem, targets: Floats, solver: solvers.Solver, tolerance: Tolerance, request: interface.Request
) -> MeasuredAnswer:
    """Solve and measure. Large batches run in parts; starts with different plans run group by group."""
    progress = None if request.progress is None else _ProgressCounter(request.progress)
    request = request if progress is None else replace(request, progress=progress)
    # Solvers that search many starts for a target pack each start's plan once.
    groups = problem.group_starts(by_inputs=request.prefer != "first")
    if groups is not None:
        measured = _solve_in_groups(groups, problem, targets, solver, tolerance, request)
    elif problem.is_batched or len(targets) <= _MAX_PART_TARGETS or request.prefer != "first":
        measured = _solve_part(problem, targets, solver, tolerance, request)
    else:
        measured = _solve_in_parts(problem, targets, solver, tolerance, request)
    if progress is not None and progress.reported_count < len(targets):
        progress(len(targets) - progress.reported_count)  # not every solver reports its progress
    return measured


def _solve_part(
    problem: Problem, targets: Floats, solver: solvers.Solver, tolerance: Tolerance, request: interface.Request
) -> MeasuredAnswer:
    if problem.has_pulls:
        answer = solve_with_pulls(problem, targets, solver, tolerance, request, solve_and_measure)
        return MeasuredAnswer(answer, problem.compute_errors(answer.q, targets))
    if problem.has_optional_goals:
        answer = solve_prioritized(problem, targets, solver, tolerance, request, solve_and_measure)
        return MeasuredAnswer(answer, problem.compute_errors(answer.q, targets))
    answer = interface.run_solver(solver, problem, targets, tolerance, request)
    if problem.plan.is_sheared:
        answer = correct_shear(problem, solver, targets, tolerance, replace(request, progress=None), answer)
    return MeasuredAnswer(answer, problem.compute_errors(answer.q, targets))


class _ProgressCounter:
    """Counter and forwarder of finished targets."""

    def __init__(self, report: Callable[[int], None]) -> None:
        self.report = report
        self.reported_count = 0

    def __call__(self, target_count: int) -> None:
        """Add to the finished targets."""
        self.reported_count += target_count
        self.report(target_count)


def _solve_in_parts(
    problem: Problem, targets: Floats, solver: solvers.Solver, tolerance: Tolerance, request: interface.Request
) -> MeasuredAnswer:
    """Solve in parts small enough for the processor cache.

    Threads share the parts if quicker. A first part is timed for that.
    """
    target_count, threads, progress = len(targets), request.threads, request.progress
    part_request = replace(request, threads=1, progress=None)

    def solve_slice(part_slice: slice) -> MeasuredAnswer:
        return _solve_part(problem, targets[part_slice], solver, tolerance, part_request)

    def iterate_answers() -> Iterator[tuple[slice, MeasuredAnswer]]:
        first_target, target_work_s = 0, 0.0
        if threads > 1:
            first_target, began = min(_TIMED_TARGETS, target_count), time.perf_counter()
            first_answer = solve_slice(slice(0, first_target))
            target_work_s = (time.perf_counter() - began) / first_target
            yield slice(0, first_target), first_answer
        is_threaded = target_work_s * (target_count - first_target) >= MIN_THREADED_WORK_S
        part_slices = _split_targets(first_target, target_count, threads if is_threaded else 1)
        if not is_threaded:
            yield from ((part_slice, solve_slice(part_slice)) for part_slice in part_slices)
            return
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  (not needed for a single solve)

        with ThreadPoolExecutor(threads, initializer=share_pauses, initargs=(get_pauses(),)) as pool:
            yield from zip(part_slices, pool.map(solve_slice, part_slices), strict=True)

    def report_parts() -> Iterator[tuple[slice, MeasuredAnswer]]:
        for part_slice, part_answer in iterate_answers():
            yield part_slice, part_answer
            if progress is not None:
                progress(part_slice.stop - part_slice.start)

    return _join_parts(report_parts(), target_count)


def _split_targets(first: int, end: int, threads: int) -> list[slice]:
    """Split the targets first..end into parts. Each of several threads has two or more."""
    part_size = _MAX_PART_TARGETS
    if threads > 1:
        part_size = max(_MIN_PART_TARGETS, min(_MAX_PART_TARGETS, -(-(end - first) // (2 * threads))))
    return [slice(start, min(start + part_size, end)) for start in range(first, end, part_size)]


def _solve_in_groups(
    groups: Iterable[np.ndarray],
    problem: Problem,
    targets: Floats,
    solver: solvers.Solver,
    tolerance: Tolerance,
    request: interface.Request,
) -> MeasuredAnswer:
    """Solve by groups of starts with a shared plan."""

    def iterate_groups() -> Iterator[tuple[np.ndarray, MeasuredAnswer]]:
        for rows in groups:
            yield rows, _solve_part(problem.select_rows(rows), targets[rows], solver, tolerance, request)

    return _join_parts(iterate_groups(), len(targets))


def _join_parts(parts: Iterable[tuple[slice | np.ndarray, MeasuredAnswer]], target_count: int) -> MeasuredAnswer:
    """Join the parts to one answer for all `target_count` targets. Each part is freed once it is copied."""
    joined_arrays: dict[str, np.ndarray] = {}
    trace = solutions = None
    for rows, (answer, errors) in parts:
        columns = {name: getattr(answer, name) for name in ("q", "met", "iterations", "joint_updates")}
        for name, values in (columns | {"errors": errors}).items():
            if name not in joined_arrays:
                joined_arrays[name] = np.zeros((target_count, *values.shape[1:]), dtype=values.dtype)
            joined_arrays[name][rows] = values
        trace, solutions = trace or answer.trace, answer.solutions
    errors = joined_arrays.pop("errors")
    return MeasuredAnswer(interface.Answer(**joined_arrays, trace=trace, solutions=solutions), errors)
