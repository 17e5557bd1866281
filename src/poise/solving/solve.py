"""solve(): choose a solver, pack the problem, run, judge."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from poise import solvers
from poise.errors import InputError, UnsupportedError
from poise.model.pose import Pose
from poise.problem.goals import GOALS, NAMES, Goal, Near, Place, Pole, Position
from poise.problem.problem import Problem, solved_together
from poise.solvers.base.request import Prefer, Request
from poise.solvers.base.status import Status
from poise.solving.checks import check_arguments
from poise.solving.judge import Verdict
from poise.solving.prepared import How, Prepared
from poise.solving.progress import bar
from poise.solving.result import Answer, Result, facts
from poise.solving.run import run

_KINDS = frozenset(GOALS)


def solve(
    start: Pose,
    goals: Goal | Sequence[Goal],
    *,
    solver: str | solvers.Solver = "auto",
    tolerance: float | None = None,
    angle_tolerance: float | None = None,
    free_root: bool = False,
    prefer: Prefer = "first",
    seeds: int | None = None,
    threads: int | None = None,
    trace: bool = False,
    progress: bool | Callable[[int], None] | None = None,
) -> Result:
    """Find a pose that meets the goals, limits kept, beginning at a start pose.

    Parameters
    ----------
    start
        A pose, or a batch of poses (leading axes), one for each target.
    goals
        One goal or several: Position, Orientation, Place, Direction, Aim, LookAt, Pole, Pin, Near. Leading axes of
        their targets are a batch.
    solver
        A name such as "ccd" (`poise solvers` lists them), or a value such as poise.CCD(iterations=50). "auto": two_bone
        for a limb of two bones (with prefer="first" and the root not free), else levenberg_marquardt; Result.solver
        says which.
    tolerance
        Largest distance that counts as reached [file units]. Default: 1e-6 for a robot; 1e-4 of the chain's length at
        rest for a skeleton with ball or free joints (a character), or of the figure's size where the chain has no
        length.
    angle_tolerance
        Largest angle that counts as reached [rad]. Default: 1e-4 for a character, 1e-6 for a robot.
    free_root
        Whether the free root joint above the chain may move as well, turn and translate.
    prefer
        "first": the first pose found. "closest": of the poses found from `seeds` starts the one nearest to the start,
        by the sum of squared joint differences. "all": all distinct poses, in Result.solutions (one target only).
    seeds
        How many starts to try for "closest" (default 64) and "all" (default 512).
    threads
        How many threads may run at once; by default all processors for long batches. Results do not depend on it.
    trace
        Whether the error and q after every iteration are kept (one target only).
    progress
        True shows a bar on the terminal. A function is called with the number of targets done since the last call.

    Returns
    -------
    Result
        The pose, its errors measured by forward kinematics, and how the solve ended. A target that is not reached is a
        Status, not an exception.

    Raises
    ------
    UnknownNameError
        For a joint or a solver that does not exist.
    InputError
        For values that cannot be used.
    UnsupportedError
        For what the solver cannot do.

    Notes
    -----
    A start outside its limits is first moved inside; `Result.moved_inside` names the joints. A start that meets its
    goals comes back unchanged, bit for bit.
    """
    began = time.perf_counter()
    check_arguments(start, solver, tolerance, angle_tolerance)
    wanted = checked_goals(goals)
    shape = _batch(start, wanted)
    if progress is True:
        with bar(int(np.prod(shape))) as report:
            return solve(
                start, wanted, solver=solver, tolerance=tolerance, angle_tolerance=angle_tolerance,
                free_root=free_root, prefer=prefer, seeds=seeds, threads=threads, trace=trace, progress=report,
            )  # fmt: skip
    progress = progress or None
    how = How(prefer, seeds, threads)
    request = how.request(shape, threads=threads, trace=trace, progress=progress)
    chosen = chosen_solver(solver, start, wanted, prefer, free_root=free_root)
    tolerances = (tolerance, angle_tolerance)
    if not start.shape:
        prepared = _remembered(start, wanted, chosen, tolerances, How(prefer, seeds), free_root=free_root)
        return prepared.reach(wanted, threads=threads, trace=trace, progress=progress, began=began)
    start, wanted, moved_inside = _flattened(start, wanted, shape)
    if not solved_together(start, wanted, free_root=free_root):
        return _one_by_one(start, wanted, chosen, tolerances, request, free_root, shape, moved_inside, began)
    problem = Problem(start, wanted, free_root)
    return run(problem, wanted, chosen, problem.tolerance(*tolerances), request, shape, moved_inside, began)


def prepare(
    start: Pose,
    goals: Goal | Sequence[Goal],
    *,
    solver: str | solvers.Solver = "auto",
    tolerance: float | None = None,
    angle_tolerance: float | None = None,
    free_root: bool = False,
    prefer: Prefer = "first",
    seeds: int | None = None,
    threads: int | None = None,
) -> Prepared:
    """Pack a problem once, and return a function from a target to its Result.

    Parameters
    ----------
    start, goals, solver, tolerance, angle_tolerance, free_root, prefer, seeds, threads
        As for `solve`; the targets of the goals are only examples.

    Returns
    -------
    Prepared
        Each call of it begins at the same start pose, or at one that is given, and gives the same Result as `solve`
        with that target.
    """
    check_arguments(start, solver, tolerance, angle_tolerance)
    wanted = checked_goals(goals)
    if start.shape:
        raise InputError("prepare() takes a single start pose; give solve() a batch")
    chosen = chosen_solver(solver, start, wanted, prefer, free_root=free_root)
    how = How(prefer, seeds, threads)
    how.request((), threads=threads)
    return prepared_problem(start, wanted, chosen, (tolerance, angle_tolerance), how, free_root=free_root)


def checked_goals(goals: Any) -> tuple[Goal, ...]:
    """One or several goals as a tuple; InputError where they are something else or none."""
    every = tuple(goals) if isinstance(goals, Iterable) else (goals,)
    if not every or not all(type(goal) in _KINDS or isinstance(goal, GOALS) for goal in every):
        raise InputError(f"goals are values such as poise.Position(...), one or several of: {', '.join(NAMES)}")
    return every


def chosen_solver(
    solver: str | solvers.Solver,
    start: Pose,
    goals: tuple[Goal, ...],
    prefer: Prefer = "first",
    *,
    free_root: bool = False,
) -> solvers.Solver:
    """The solver that is meant; "auto" is two_bone where the problem is a limb of two bones, else the engine."""
    if not isinstance(solver, str):
        return solver
    if solver != "auto":
        return solvers.named(solver)
    limb = prefer == "first" and not free_root and _bends_two(start, goals)
    return solvers.named("two_bone" if limb else "levenberg_marquardt")


def _bends_two(start: Pose, goals: tuple[Goal, ...]) -> bool:
    """Whether two_bone takes the problem; remembered per skeleton for poses that give nothing but q."""
    if [type(goal) for goal in goals if not isinstance(goal, Pole)] not in ([Position], [Place]):
        return False
    if start.translations is not None or start.scales is not None:
        return _takes("two_bone", start, goals)
    known: dict[object, bool] = start.skeleton.__dict__.setdefault("_limbs_of_two", {})
    key = tuple(_kind_of(goal) for goal in goals)
    if key not in known:
        known[key] = _takes("two_bone", start, goals)
    return known[key]


def _takes(name: str, start: Pose, goals: tuple[Goal, ...]) -> bool:
    """Whether a solver would solve for these goals, found by asking it to solve for no targets."""
    solver, problem = solvers.named(name), Problem(start, goals)
    nothing = np.zeros((0, sum(goal.width for goal in goals)))
    try:
        solvers.check(solver, problem, Request())
        solver.run(problem, nothing, problem.tolerance(None, None), Request())
    except UnsupportedError:
        return False
    return True


def _batch(start: Pose, goals: Sequence[Goal]) -> tuple[int, ...]:
    """The batch axes of the start and the targets together."""
    shapes = [goal.shape for goal in goals]
    try:
        return np.broadcast_shapes(start.shape, *shapes)
    except ValueError as error:
        what = shapes[0] if len(shapes) == 1 else shapes
        raise InputError(f"a batch of {start.shape} start poses does not go with targets of shape {what}") from error


def _flattened(
    start: Pose, goals: tuple[Goal, ...], shape: tuple[int, ...]
) -> tuple[Pose, tuple[Goal, ...], tuple[str, ...]]:
    """Move a batch of starts inside its limits, and give starts and goals the same single batch axis."""
    if not np.prod(shape):
        start = Pose(start.skeleton, start.skeleton.rest_q)  # an empty batch: nothing will be solved from it
        return start, goals, ()
    q, moved_inside = start.skeleton.legal(start.q)
    start = start.with_q(q)
    rows = [_flat(value, shape) for value in (start.q[..., None, :], start.translations, start.scales)]
    assert rows[0] is not None
    start = Pose(start.skeleton, rows[0][:, 0], rows[1], rows[2])
    return start, tuple(_broadcast(goal, shape) for goal in goals), moved_inside


def _remembered(
    start: Pose,
    goals: tuple[Goal, ...],
    solver: solvers.Solver,
    tolerances: tuple[float | None, float | None],
    how: How,
    *,
    free_root: bool,
) -> Prepared:
    """The prepared problem of a pose: packing costs more than solving, and people solve from one pose repeatedly."""
    key = (*(_kind_of(goal) for goal in goals), solver, tolerances, how, free_root)
    last: tuple[object, Prepared] | None = start.__dict__.get("_prepared")
    if last is not None and last[0] == key:
        return last[1]
    prepared = prepared_problem(start, goals, solver, tolerances, how, free_root=free_root)
    start.__dict__["_prepared"] = (key, prepared)  # a Pose is frozen, so that this stays true
    return prepared


def _kind_of(goal: Goal) -> tuple[object, ...]:
    """What of a goal is not its target."""
    if isinstance(goal, Near):
        return (goal,)
    more = (getattr(goal, name, None) for name in ("axis", "offset", "over", "tip"))
    return (type(goal), goal.measures, goal.joint, goal.root, goal.weight, *more)


def prepared_problem(
    start: Pose,
    goals: tuple[Goal, ...],
    solver: solvers.Solver,
    tolerances: tuple[float | None, float | None],
    how: How,
    *,
    free_root: bool,
) -> Prepared:
    """Move a single start inside its limits and pack the problem."""
    q, moved_inside = start.skeleton.legal(start.q)
    problem = Problem(start.with_q(q), goals, free_root)
    return Prepared(problem, solver, problem.tolerance(*tolerances), how, moved_inside)


def _broadcast(goal: Goal, shape: tuple[int, ...]) -> Goal:
    if not goal.width or goal.shape == shape:
        return goal
    return goal.with_target(np.broadcast_to(goal.rows(), (*shape, goal.width)))


def _flat(value: Any, shape: tuple[int, ...]) -> Any:
    if value is None:
        return None
    return np.broadcast_to(value, (*shape, *value.shape[-2:])).reshape(math.prod(shape), *value.shape[-2:])


def _one_by_one(
    start: Pose,
    goals: tuple[Goal, ...],
    solver: solvers.Solver,
    tolerances: tuple[float | None, float | None],
    request: Request,
    free_root: bool,
    shape: tuple[int, ...],
    moved_inside: tuple[str, ...],
    began: float,
) -> Result:
    """Solve each pose of a batch from a packing of its own: their lengths or scales differ."""
    flat = [goal.with_target(goal.rows().reshape(-1, goal.width)) if goal.width else goal for goal in goals]
    parts: list[Result] = []
    silent = replace(request, progress=None)
    for i in range(len(start)):
        single = tuple(goal.with_target(goal.rows()[i]) if goal.width else goal for goal in flat)
        problem = Problem(start[i], single, free_root)
        parts.append(run(problem, single, solver, problem.tolerance(*tolerances), silent, (), (), time.perf_counter()))
        if request.progress is not None:
            request.progress(1)
    whole = Problem(start, goals, free_root)
    q, codes = np.stack([part.q for part in parts]), np.stack([part.codes for part in parts])
    iterations, updates = (
        np.stack([part.iterations for part in parts]),
        np.stack([part.joint_updates for part in parts]),
    )
    answer = Answer(q, codes == Status.reached, iterations, updates, parts[0].trace, parts[0].solutions_q)
    verdict = Verdict(np.stack([part.errors for part in parts]), codes, max(part.violation for part in parts))
    found = facts(
        whole, goals, np.concatenate([part.targets for part in parts]), answer, verdict, whole.tolerance(*tolerances),
        solver=solver.name, shape=shape, moved_inside=moved_inside, parts=tuple(parts),
    )  # fmt: skip
    return Result(time.perf_counter() - began, **found)
