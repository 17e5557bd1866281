"""Compare methods on the same targets: poise.compare()."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from poise.call_clock import count_seconds
from poise.calls import late_binding
from poise.calls.argument_checks import check_entries, check_text
from poise.calls.argument_checks import check_names as names_of
from poise.calls.progress import Advance, check_progress, report_progress
from poise.comparison.method import Method, PoiseMethod, PreparedMethod
from poise.comparison.metrics import MethodMetrics, measure_convergence, rank_methods
from poise.comparison.results import ComparisonData, format_table, format_verdict
from poise.comparison.runs import (
    ROUNDS_PER_REPORT,
    Effort,
    ProgressReport,
    TimedMethod,
    check_seed,
    format_effort,
    measure_scaling,
    parse_effort,
    prepare_methods,
    run_method,
    time_batches,
    time_calls,
)
from poise.comparison.task import OneGoal, SetSizes, TargetSet, Task, build_target_sets
from poise.errors import InputError, UnsupportedError
from poise.io.files import encode_text, write_atomically
from poise.maths.arrays import abbreviate
from poise.model.clip import Clip
from poise.model.pose import Pose, check_same_skeleton
from poise.problem.goals import Goal, Orientation, Place, Position
from poise.problem.problem import Problem
from poise.solvers import Solver, make_solver, names
from poise.solvers.base.interface import check_solver
from poise.solving.arguments import check_arguments
from poise.solving.solve import check_goals

# --- The Comparison returned by compare() ----------------------------------------------------------------------------
#
# It prints as a table and saves reports.


SUFFIXES = (".html", ".json", ".png", ".svg", ".pdf")  # suffixes of reports


class Comparison(ComparisonData):
    """Comparison of methods on the same targets.

    Parameters
    ----------
    task
        The task of all methods.
    methods
        In order of rank, methods unable to do the task last.
    machine
        Processor and software versions.
    settings
        Effort and seed.
    seconds
        Duration of the comparison [s].
    """

    @property
    def verdict(self) -> str:
        """The main findings in a few sentences."""
        return format_verdict(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a report, JSON or figures.

        The suffix decides: a report (.html), everything as JSON (.json), or pictures (.png, .svg, .pdf; extra `plot`).

        Parameters
        ----------
        path
            The file. The page is self-contained and printable; a picture shows the figures of the page side by side.

        Raises
        ------
        InputError
            For another suffix.
        FileError
            If the file cannot be written.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix == ".json":
            write_atomically(path, json.dumps(self.document(), indent=1, allow_nan=False).encode())
        elif suffix == ".html":
            from poise.comparison.report.page import format_page  # noqa: PLC0415

            write_atomically(path, encode_text(format_page(self)))
        else:
            from poise.comparison.report.matplotlib_figure import write_figure  # noqa: PLC0415

            write_figure(path, self)

    def __str__(self) -> str:
        return format_table(self)

    def __repr__(self) -> str:
        return f"Comparison({self.task.title}: {', '.join(method.name for method in self.methods)})"

    _repr_html_ = late_binding.represent_as_html


# --- Comparison ------------------------------------------------------------------------------------------------------


Targets = Literal["reachable", "path", "given"]
_MAX_CURVE_ITERATIONS = 200  # iterations, length of a convergence curve


def compare(
    start: Pose,
    goal: Goal,
    *,
    solvers: Iterable[str | Solver] | Literal["all"] = "all",
    peers: Iterable[str] | Literal["all"] = (),
    targets: Targets | None = None,
    clip: Clip | None = None,
    tolerance: float | None = None,
    angle_tolerance: float | None = None,
    effort: Literal["quick", "normal", "full"] | Effort = "normal",
    seed: int = 0,
    name: str = "",
    progress: bool | Callable[[int, int, str], None] | None = None,
) -> Comparison:
    """Measure and time several methods on the same targets.

    Parameters
    ----------
    start
        A single pose.
    goal
        Position, Orientation or Place of a joint. Its own target counts only with targets="given".
    solvers
        Names, and values such as poise.CCD(iterations=50); "all": every solver of Poise.
    peers
        Names of other libraries: three, ikpy, roboticstoolbox, optik, pinocchio, mink and pybullet; or "all". A library
        that is not installed is listed with its installation hint.
    targets
        The targets used for ranking. "reachable": joint positions in random legal poses. "path": a smooth path, each
        target solved from the previous answer. "given": the targets of the goal, one or many. Default: "given" if the
        goal has many, else "reachable".
    clip
        A clip with the frames of the path; without one a random smooth path is used.
    tolerance, angle_tolerance
        As for `solve`; the three levels of the table are 100, 10 and 1 times these.
    effort
        Amount of measurement. "quick": a smoke test without reliable figures. "full": more targets, chains of up to 200
        joints, for minutes. An Effort has other numbers.
    seed
        Seed of the targets; the same seed gives the same ones.
    name
        Name of the rig, for titles.
    progress
        As for `solve`. A function is called with the number of steps done, the number of all steps and the name of
        the last step.

    Returns
    -------
    Comparison
        The methods in order of rank. A method that cannot do the task is listed with the reason.

    Raises
    ------
    InputError, UnknownNameError
        For unusable arguments.
    UnsupportedError
        For other goals.

    Notes
    -----
    Every answer is measured by forward kinematics; claims of a method about its own answer are shown next to it. Times
    are medians over interleaved rounds of all methods after a warm-up, through the call of a user. Methods share a rank
    where their 95 % intervals overlap.
    """
    from poise.benchmark import read_machine_info  # noqa: PLC0415  (keeps the import of poise fast)

    start_time = time.perf_counter()
    check_arguments(start, "auto", tolerance, angle_tolerance)
    check_text(name, "the name of the rig")
    checked_progress = check_progress(progress, "share")
    chosen_effort, methods = parse_effort(effort), [*_build_poise_methods(solvers), *_choose_peers(peers)]
    task = _build_task(start, goal, targets, clip, (tolerance, angle_tolerance), chosen_effort, check_seed(seed), name)
    prepared_methods, refusals = prepare_methods(methods, task)
    step_count = _count_steps(chosen_effort, len(prepared_methods), task)
    with report_progress(checked_progress, "comparing", step_count) as advance:
        report_step = _make_step_report(advance)
        try:
            metrics = _measure_methods(task, prepared_methods, chosen_effort, report_step)
        finally:
            for _, prepared in prepared_methods:
                prepared.close()
        compared_methods = [method for method, _ in prepared_methods]
        scaling = measure_scaling(compared_methods, chosen_effort.joints, chosen_effort.seconds / 4, report_step)
    metrics = sorted(
        rank_methods(
            [
                dataclasses.replace(method_metrics, growth=tuple(scaling[method_metrics.name]))
                for method_metrics in metrics
            ]
        ),
        key=_compute_sort_key,
    )
    refused_metrics = [
        make_metrics(method, task, refusals[method.name]) for method in methods if method.name in refusals
    ]
    settings = {"effort": format_effort(chosen_effort), "seed": seed}
    return Comparison(task, (*metrics, *refused_metrics), read_machine_info(), settings, count_seconds(start_time))


def _build_poise_methods(requested: Any) -> list[Method]:
    """Build the methods of Poise's solvers. Two values of one solver differ by the options in their names."""
    entries = names() if isinstance(requested, str) and requested == "all" else requested
    all_solvers = [
        make_solver(entry) if isinstance(entry, str) else entry
        for entry in check_entries(entries, 'solvers, or "all",', "['ccd', poise.CCD(iterations=50)]")
    ]
    methods: list[Method] = []
    for solver in all_solvers:
        check_solver(solver)
        method = PoiseMethod(solver)
        if sum(other.name == solver.name for other in all_solvers) > 1 and method.options:
            options = ", ".join(f"{key}={value}" for key, value in method.options.items())
            method = PoiseMethod(solver, f"{solver.name}({options})")
        if any(method.name == other.name for other in methods):
            raise InputError(f"{method.name!r} is given twice: the methods of a comparison need different names")
        methods.append(method)
    return methods


def _choose_peers(requested: Any) -> list[Method]:
    if not isinstance(requested, str):
        requested = names_of(requested, 'peers, or "all",', "['ikpy', 'pinocchio']")
        if not requested:
            return []
    from poise.comparison.peers.library_method import build_peer_methods  # noqa: PLC0415  (needed for peers only)

    return build_peer_methods(requested)


def _build_task(
    start: Pose,
    goal: Goal,
    targets: Targets | None,
    clip: Clip | None,
    tolerances: tuple[float | None, float | None],
    effort: Effort,
    seed: int,
    name: str,
) -> Task:
    """Build the task, the ranking set first. The start is clamped to its limits."""
    single_goal = check_single_goal(check_goals(goal))
    if start.shape:
        raise InputError("compare() starts from a single pose, not from a batch")
    if clip is not None and not isinstance(clip, Clip):
        raise InputError(f"clip is a poise.Clip such as rig.clips[0], not {abbreviate(clip)}")
    if clip is not None:
        check_same_skeleton(start.skeleton, clip.skeleton, f"clip {clip.name!r}")
    q, moved_inside = start.skeleton.legal(start.q)
    start = start.with_q(q)
    problem = Problem(start, (single_goal,))
    if not problem.joints:
        raise InputError(f"there is nothing to compare: no joint can move for {single_goal.joint!r}")
    if 0 in tolerances:
        raise InputError("a comparison needs tolerances above 0: its levels are multiples of them")
    target_sets = build_target_sets(
        problem, single_goal, SetSizes(effort.reachable, effort.path, effort.extreme), seed, clip
    )
    if not (targets is None or isinstance(targets, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"targets is 'reachable', 'path' or 'given', not {abbreviate(targets)}")
    main_name = targets or ("given" if single_goal.shape else "reachable")
    if main_name == "given":
        del target_sets["reachable"]
        target_sets = {main_name: _build_given_set(single_goal, start, seed)} | target_sets
    elif main_name not in ("reachable", "path"):
        raise InputError(f"targets is 'reachable', 'path' or 'given', not {abbreviate(targets)}")
    return Task(
        name,
        start,
        single_goal,
        problem.complete_tolerance(*tolerances),
        {main_name: target_sets.pop(main_name), **target_sets},
        moved_inside,
    )


def _build_given_set(goal: OneGoal, start: Pose, seed: int) -> TargetSet:
    """Build the set of supplied targets in random order.

    The part used for a slow method is then as hard as the whole.
    """
    rows = goal.rows().reshape(-1, goal.width)
    if not len(rows):
        raise InputError("there is no target to compare methods on")
    shuffled_rows = rows[np.random.default_rng(seed).permutation(len(rows))]
    return TargetSet(
        "given", "the given targets, in random order", shuffled_rows, starts_from_previous=False, start=start.q
    )


def check_single_goal(goals: tuple[Goal, ...]) -> OneGoal:
    """Return the only goal. Raise UnsupportedError for several, or for goals that are not compared."""
    if len(goals) != 1 or not isinstance(goals[0], Position | Orientation | Place):
        kinds = ", ".join(type(goal).__name__ for goal in goals)
        raise UnsupportedError(f"methods are compared for one Position, Orientation or Place goal, not for {kinds}")
    return goals[0]


def _make_step_report(advance: Advance) -> ProgressReport:
    """Make the report of a finished step."""
    return lambda label: advance(1, label)


def _count_steps(effort: Effort, method_count: int, task: Task) -> int:
    return (
        method_count * (len(task.sets) + 1)
        + effort.rounds // ROUNDS_PER_REPORT
        + len(effort.batches)
        + len(effort.joints)
    )


def _measure_methods(
    task: Task, prepared_methods: list[tuple[Method, PreparedMethod]], effort: Effort, report_step: ProgressReport
) -> list[MethodMetrics]:
    """Measure everything but scaling and ranks."""
    metrics: list[MethodMetrics] = []
    for method, prepared in prepared_methods:
        runs = {}
        for target_set in task.sets.values():
            runs[target_set.name] = run_method(prepared, task, target_set, effort.seconds)
            report_step(f"{method.name}, {target_set.name}")
        curves = measure_convergence(
            prepared, task, task.main.rows[: effort.traced], _MAX_CURVE_ITERATIONS, effort.seconds
        )
        report_step(f"{method.name}, iterations")
        metrics.append(dataclasses.replace(make_metrics(method, task), runs=runs, convergence=curves))
    timed_methods = [
        _build_timed_method(prepared, method_metrics, task)
        for (_, prepared), method_metrics in zip(prepared_methods, metrics, strict=True)
    ]
    calls = time_calls(
        [timed.take_first(effort.timed) for timed in timed_methods],
        effort.rounds,
        effort.seconds,
        report_step,
    )
    batches = time_batches(timed_methods, task, effort.batches, effort.rounds, effort.seconds / 2, report_step)
    return [
        dataclasses.replace(method_metrics, calls=times, batches=batch.times, batch_trouble=batch.error_message)
        for method_metrics, times, batch in zip(metrics, calls, batches, strict=True)
    ]


def _build_timed_method(prepared: PreparedMethod, metrics: MethodMetrics, task: Task) -> TimedMethod:
    """Build the timed method. It has the targets of its own run and the start of each."""
    run = metrics.main
    assert run is not None
    start_q = list(run.start_q) if task.main.starts_from_previous else [None] * len(run)
    return TimedMethod(prepared, task.main.rows[: len(run)], start_q, metrics.compute_solved_share())


def _compute_sort_key(metrics: MethodMetrics) -> tuple[int, float]:
    """Compute the sort key: rank, then time of a call."""
    return (
        metrics.ranks.overall if metrics.ranks else 0,
        float(np.median(metrics.call_times)) if metrics.call_times.size else np.inf,
    )


def make_metrics(method: Method, task: Task, refusal: str | None = None) -> MethodMetrics:
    """Make the metrics of a method without any run."""
    return MethodMetrics(
        method.name, method.family, method.description, method.options, method.abilities, task, refusal
    )
