"""Compare methods on the same targets: poise.compare()."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np

from poise.comparison.comparison import Comparison
from poise.comparison.effort import Effort, checked_effort, checked_seed
from poise.comparison.findings.convergence import convergence
from poise.comparison.findings.measured import Measured
from poise.comparison.findings.ranked import ranked
from poise.comparison.trials.growth import growth
from poise.comparison.trials.method import Method, Own, Ready
from poise.comparison.trials.runs import Tell, run, usable_methods
from poise.comparison.trials.targets import sets_of
from poise.comparison.trials.task import OneGoal, TargetSet, Task
from poise.comparison.trials.turns import TOLD, Competitor, batches, in_turns
from poise.errors import InputError, UnsupportedError
from poise.maths.arguments import function, several, text
from poise.maths.arguments import names as names_of
from poise.maths.arrays import short
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.same import check_same
from poise.problem.goals import Goal, Orientation, Place, Position
from poise.problem.problem import Problem
from poise.solvers import Solver, named, names
from poise.solvers.base.contract import check_solver
from poise.solving.checks import check_arguments
from poise.solving.solve import checked_goals
from poise.timing.clock import count_seconds

Targets = Literal["reachable", "path", "given"]
_LONGEST = 200  # iterations, length of a convergence curve


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
    progress: Callable[[str, float], None] | None = None,
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
        Amount of measurement: "quick" only checks that everything runs, "full" takes minutes.
    seed
        Seed of the targets; the same seed gives the same ones.
    name
        Name of the rig, for titles.
    progress
        A function called with the current step and the finished share.

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
    from poise.machine.bench import machine  # noqa: PLC0415  (keeps the import of poise fast)

    began = time.perf_counter()
    check_arguments(start, "auto", tolerance, angle_tolerance)
    text(name, "the name of the rig")
    if progress is not None:
        function(progress, "progress")
    chosen, methods = checked_effort(effort), [*_own(solvers), *_peers(peers)]
    task = _task(start, goal, targets, clip, (tolerance, angle_tolerance), chosen, checked_seed(seed), name)
    usable, refused = usable_methods(methods, task)
    tell = _Telling(progress, _steps(chosen, len(usable), task))
    try:
        found = _measured(task, usable, chosen, tell)
    finally:
        for _, ready in usable:
            ready.close()
    grown = growth([method for method, _ in usable], chosen.joints, chosen.seconds / 4, tell)
    found = sorted(ranked([dataclasses.replace(one, growth=tuple(grown[one.name])) for one in found]), key=_place)
    left_out = [_of(method, task, refused[method.name]) for method in methods if method.name in refused]
    settings = {"effort": dataclasses.asdict(chosen), "seed": seed}
    return Comparison(task, (*found, *left_out), machine(), settings, count_seconds(began))


def _own(chosen: Any) -> list[Method]:
    """Build the methods of Poise's solvers. Two values of one solver differ by the options in their names."""
    given = names() if isinstance(chosen, str) and chosen == "all" else chosen
    made = [
        named(one) if isinstance(one, str) else one
        for one in several(given, 'solvers, or "all",', "['ccd', poise.CCD(iterations=50)]")
    ]
    found: list[Method] = []
    for solver in made:
        check_solver(solver)
        method = Own(solver)
        if sum(other.name == solver.name for other in made) > 1 and method.options:
            options = ", ".join(f"{key}={value}" for key, value in method.options.items())
            method = Own(solver, f"{solver.name}({options})")
        if any(method.name == other.name for other in found):
            raise InputError(f"{method.name!r} is given twice: the methods of a comparison need different names")
        found.append(method)
    return found


def _peers(chosen: Any) -> list[Method]:
    if not isinstance(chosen, str):
        chosen = names_of(chosen, 'peers, or "all",', "['ikpy', 'pinocchio']")
        if not chosen:
            return []
    from poise.comparison.peers.method import peer_methods  # noqa: PLC0415  (needed for peers only)

    return peer_methods(chosen)


def _task(
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
    wanted = _single(checked_goals(goal))
    if start.shape:
        raise InputError("compare() starts from a single pose, not from a batch")
    if clip is not None and not isinstance(clip, Clip):
        raise InputError(f"clip is a poise.Clip such as rig.clips[0], not {short(clip)}")
    if clip is not None:
        check_same(start.skeleton, clip.skeleton, f"clip {clip.name!r}")
    q, moved_inside = start.skeleton.legal(start.q)
    start = start.with_q(q)
    problem = Problem(start, (wanted,))
    if not problem.joints:
        raise InputError(f"there is nothing to compare: no joint can move for {wanted.joint!r}")
    if 0 in tolerances:
        raise InputError("a comparison needs tolerances above 0: its levels are multiples of them")
    sets = sets_of(problem, wanted, effort.sizes, seed, clip)
    if not (targets is None or isinstance(targets, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"targets is 'reachable', 'path' or 'given', not {short(targets)}")
    main = targets or ("given" if wanted.shape else "reachable")
    if main == "given":
        del sets["reachable"]
        sets = {main: _given(wanted, start, seed)} | sets
    elif main not in ("reachable", "path"):
        raise InputError(f"targets is 'reachable', 'path' or 'given', not {short(targets)}")
    return Task(name, start, wanted, problem.tolerance(*tolerances), {main: sets.pop(main), **sets}, moved_inside)


def _given(goal: OneGoal, start: Pose, seed: int) -> TargetSet:
    """Build the set of supplied targets in random order.

    The part used for a slow method is then as hard as the whole.
    """
    rows = goal.rows().reshape(-1, goal.width)
    if not len(rows):
        raise InputError("there is no target to compare methods on")
    mixed = rows[np.random.default_rng(seed).permutation(len(rows))]
    return TargetSet("given", "the given targets, in random order", mixed, follows=False, start=start.q)


def _single(goals: tuple[Goal, ...]) -> OneGoal:
    if len(goals) != 1 or not isinstance(goals[0], Position | Orientation | Place):
        kinds = ", ".join(type(goal).__name__ for goal in goals)
        raise UnsupportedError(f"methods are compared for one Position, Orientation or Place goal, not for {kinds}")
    return goals[0]


class _Telling:
    """Reporter of the current step and the finished share."""

    def __init__(self, progress: Callable[[str, float], None] | None, steps: int) -> None:
        self.progress, self.steps, self.done = progress, steps, 0

    def __call__(self, what: str) -> None:
        """Count one more finished step."""
        self.done += 1
        if self.progress is not None:
            self.progress(what, min(self.done / self.steps, 1.0))


def _steps(effort: Effort, methods: int, task: Task) -> int:
    return methods * (len(task.sets) + 1) + effort.rounds // TOLD + len(effort.batches) + len(effort.joints)


def _measured(task: Task, usable: list[tuple[Method, Ready]], effort: Effort, tell: Tell) -> list[Measured]:
    """Measure everything but scaling and ranks."""
    found: list[Measured] = []
    for method, ready in usable:
        runs = {}
        for one in task.sets.values():
            runs[one.name] = run(ready, task, one, effort.seconds)
            tell(f"{method.name}, {one.name}")
        curves = convergence(ready, task, task.main.rows[: effort.traced], _LONGEST, effort.seconds)
        tell(f"{method.name}, iterations")
        found.append(dataclasses.replace(_of(method, task), runs=runs, convergence=curves))
    asked = [_asked(ready, one, task) for (_, ready), one in zip(usable, found, strict=True)]
    calls = in_turns([one.first(effort.timed) for one in asked], effort.rounds, effort.seconds, tell)
    many = batches(asked, task, effort.batches, effort.rounds, effort.seconds / 2, tell)
    return [
        dataclasses.replace(one, calls=times, batches=batch.times, batch_trouble=batch.trouble)
        for one, times, batch in zip(found, calls, many, strict=True)
    ]


def _asked(ready: Ready, one: Measured, task: Task) -> Competitor:
    """Build the timed method. It has the targets of its own run and the start of each."""
    run = one.main
    assert run is not None
    begins = list(run.begins) if task.main.follows else [None] * len(run)
    return Competitor(ready, task.main.rows[: len(run)], begins, one.solved())


def _place(one: Measured) -> tuple[int, float]:
    """Compute the sort key: rank, then time of a call."""
    return (one.ranks.overall if one.ranks else 0, float(np.median(one.call_times)) if one.call_times.size else np.inf)


def _of(method: Method, task: Task, refused: str | None = None) -> Measured:
    return Measured(method.name, method.family, method.text, method.options, method.does, task, refused)
