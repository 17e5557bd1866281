"""Choose a solver, pack the problem, run it and evaluate the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple, Never

import numpy as np

from poise import solvers
from poise.errors import InputError
from poise.maths.options import one_of
from poise.maths.remember import remember
from poise.model.pose import Pose
from poise.problem.goals import GOALS, NAMES, Goal, Near
from poise.problem.plan import kinds_of
from poise.problem.preference import preferred_shape, spread
from poise.problem.problem import Problem
from poise.solvers.base.contract import Prefer, Request, is_own
from poise.solvers.natural.auto import chosen, whole
from poise.solvers.natural.natural import Natural
from poise.solving.checks import check_arguments, check_plane, unknown_argument, written_goal
from poise.solving.judge import can_start, legal_start
from poise.solving.prepared import Prepared
from poise.solving.ranked import check_order
from poise.solving.result import Result
from poise.solving.run import Settings, run
from poise.solving.single import Single

_KINDS = frozenset(GOALS)
_USUAL = Settings()


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
    natural: bool | None = None,
    **unknown: Never,
) -> Result:
    """Find a pose meeting the goals, starting from a given pose. Limits are kept.

    Parameters
    ----------
    start
        A pose, or a batch of poses (leading axes), one for each target.
    goals
        One goal or several: Position, Orientation, Place, Direction, Aim, LookAt, Pole, Pin, Near. Leading axes of
        their targets are a batch.
    solver
        A name such as "ccd" (`poise solvers` lists them), or a value such as poise.CCD(iterations=50). "auto": two_bone
        for a limb of two bones (with prefer="first" and a fixed root), else levenberg_marquardt; characters start from
        a natural pose if `natural` allows it. Result.solver names the solver used.
    tolerance
        Largest distance of a reached goal [file units]. Default: 1e-6 for a robot (hinges and slides, its base
        free or not); 1e-4 of the chain's length at rest for other skeletons (characters), or of the figure's size where
        the chain has no length.
    angle_tolerance
        Largest angle of a reached goal [rad]. Default: 1e-4 for a character, 1e-6 for a robot.
    free_root
        Whether the root may also rotate and translate: the free joint above the chain, or the hips of a character and
        the base of a robot if the file has no free joint. The pose then belongs to `skeleton.with_free_root()` and is
        saved in a form that the file can hold.
    prefer
        "first": the first pose found. "closest": the pose nearest to the start among those found from `seeds` starts,
        by the sum of squared joint differences. "all": all distinct poses, in Result.solutions (one target only).
    seeds
        Number of starts for "closest" (default 64) and "all" (default 512).
    threads
        Maximum number of threads; by default all processors for long batches. Results do not depend on it.
    trace
        Whether the error and q after every iteration are kept (one target only).
    progress
        True shows a bar on the terminal. A function is called with the number of targets done since the last call.
    natural
        Whether a character with known arms and legs gets human-like poses: knees bend forward and elbows back and
        outward, the collar bone moves when the arm alone is too short, the trunk follows the head. None: if the solver
        is "auto", prefer "first" and the skeleton such a character. With a free root, joints between it and the goals
        also move. The option chooses among poses that meet the goals and never prevents one. `Result.natural` tells
        whether it was used.
    **unknown
        No further keywords: options of a solver belong to the solver, such as solver=poise.CCD(iterations=50).

    Returns
    -------
    Result
        The pose, its errors measured by forward kinematics, and the status. A missed target gives a Status, not an
        exception.

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
    A start outside its limits is clamped first; `Result.moved_inside` names the joints. A start that meets its goals is
    returned unchanged, bit for bit.
    """
    began = perf_counter()
    if unknown:
        raise unknown_argument(solve, unknown)
    check_arguments(start, solver, tolerance, angle_tolerance, free_root, natural)
    if type(prefer) is not str:
        one_of("prefer", prefer, ("first", "closest", "all"))
    wanted = checked_goals(goals)
    if free_root:
        start, wanted = _freed(start, wanted, solver, prefer, natural=natural)
    shape = _batch(start, wanted)
    show = progress is True
    told = None if show or progress is False else progress
    plain = prefer == "first" and trace is False and seeds is threads is told is None
    settings = _USUAL if plain else Settings(prefer, seeds, threads, trace, told)
    how = _How(solver, tolerance, angle_tolerance, settings, free_root, natural)
    if not shape and not show:
        found = _alone(start, wanted, how, began)
        if found is not None:
            return found
    if not show:
        return _solve(start, wanted, shape, how, began)
    with _bar(math.prod(shape)) as report:
        settings = replace(settings, progress=report)
        return _solve(start, wanted, shape, how._replace(settings=settings), began)


class _How(NamedTuple):
    """Options of solve() and prepare() besides start and goals."""

    solver: str | solvers.Solver
    tolerance: float | None
    angle_tolerance: float | None
    settings: Settings
    free_root: bool
    natural: bool | None


def _alone(start: Pose, goals: tuple[Goal, ...], how: _How, began: float) -> Result | None:
    """Solve one target with a cached packing of its goal kinds. Returns None where the general path is needed.

    The packing is cached by the name or value of the solver, which is enough only for solvers of Poise.
    """
    if start.translations is not None or start.scales is not None:
        return None
    if how.settings.progress is not None or not (type(how.solver) is str or is_own(how.solver)):
        return None
    kinds = kinds_of(goals)
    single = remember(start.skeleton, "singles", (kinds, how), lambda: _single(start, goals, kinds, how))
    if not single.short or not can_start(start.skeleton, np.array(start.q)):
        return None
    problem = single.problem
    if problem.start is not start or problem.goals is not goals:
        problem = problem.moved(start, goals) if single.anywhere else Problem(start, goals, how.free_root, kinds)
    if len(goals) == 1 and goals[0].width:
        targets = np.array(goals[0].rows()).reshape(1, -1)  # kernels are compiled for writable arrays
    else:
        targets = problem.target_rows([goal.rows() for goal in goals if goal.width], ())
    return single.solve(problem, targets, (), began, goals)


def _single(start: Pose, goals: tuple[Goal, ...], kinds: tuple[object, ...], how: _How) -> Single:
    """Build the solve for one target. Raises UnsupportedError where the solver cannot do it."""
    check_plane(start, goals)
    return _bound(Problem(legal_start(start)[0], goals, how.free_root, kinds), how)


def _bound(problem: Problem, how: _How) -> Single:
    request = how.settings.request(1)
    solver = _checked(how, problem, request)
    tolerance = problem.tolerance(how.tolerance, how.angle_tolerance)
    return Single(problem, solver, tolerance, how.settings, request)


def _solve(start: Pose, goals: tuple[Goal, ...], shape: tuple[int, ...], how: _How, began: float) -> Result:
    """Solve with checked arguments."""
    if not math.prod(shape):
        start = _stand_in(start)  # an empty batch: it is never solved
    check_plane(start, goals)
    start, moved_inside = legal_start(start)
    problem = Problem(_flattened(start, shape), spread(goals, shape), how.free_root)
    rows = [goal.rows() for goal in goals if goal.width]
    if not shape:
        single = _bound(problem, how)
        return single.solve(problem, problem.target_rows(rows, shape), moved_inside, began, goals)
    request = how.settings.request(math.prod(shape))
    solver = _checked(how, problem, request)
    tolerance = problem.tolerance(how.tolerance, how.angle_tolerance)
    targets = problem.target_rows(rows, shape)
    return run(problem, targets, solver, tolerance, request, shape, moved_inside, began, goals)


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
    natural: bool | None = None,
    **unknown: Never,
) -> Prepared:
    """Pack a problem once and return a function of its targets. The function returns a Result.

    Parameters
    ----------
    start, goals, solver, tolerance, angle_tolerance, free_root, prefer, seeds, threads, natural
        As for `solve`; the targets of the goals are only examples.
    **unknown
        No further keywords, as for `solve`.

    Returns
    -------
    Prepared
        Each call starts from the same pose, or from one given in the call, and returns the same Result as `solve` with
        that target.
    """
    if unknown:
        raise unknown_argument(prepare, unknown)
    check_arguments(start, solver, tolerance, angle_tolerance, free_root, natural)
    if type(prefer) is not str:
        one_of("prefer", prefer, ("first", "closest", "all"))
    wanted = checked_goals(goals)
    if start.shape:
        raise InputError("prepare() takes a single start pose; give solve() a batch")
    if free_root:
        start, wanted = _freed(start, wanted, solver, prefer, natural=natural)
    check_plane(start, wanted)
    how = _How(solver, tolerance, angle_tolerance, Settings(prefer, seeds, threads), free_root, natural)
    start, moved_inside = legal_start(start)
    problem = Problem(start, wanted, free_root)
    return Prepared(problem, _bound(problem, how), moved_inside).refuse()


def checked_goals(goals: Any) -> tuple[Goal, ...]:
    """Return one or several goals as a tuple. Raises InputError for anything else and for no goal."""
    if type(goals) in _KINDS:
        return (goals,)
    try:
        every: tuple[Any, ...] = (goals,) if isinstance(goals, str) else tuple(goals)
    except TypeError:
        every = (goals,)
    if not every or not all(type(goal) in _KINDS or isinstance(goal, GOALS) for goal in every):
        written = written_goal(every)
        such = f"write {written}; they" if written else "they"
        raise InputError(
            f"goals are values such as poise.Position(...): {such} are one or several of {', '.join(NAMES)}"
        )
    return every


def rooted(start: Pose) -> Pose:
    """Put the start on a skeleton with a free root."""
    return start.on(start.skeleton.with_free_root())


def chosen_solver(
    solver: str | solvers.Solver,
    start: Pose,
    goals: tuple[Goal, ...],
    prefer: Prefer = "first",
    *,
    free_root: bool = False,
    natural: bool | None = None,
) -> solvers.Solver:
    """Choose the solver; see solvers/natural/auto.py for "auto"."""
    if not isinstance(solver, str) and not natural:
        return solver
    start, goals = _freed(start, goals, solver, prefer, natural=natural) if free_root else (start, goals)
    return chosen(solver, Problem(start, goals, free_root), prefer, natural)


def _checked(how: _How, problem: Problem, request: Request) -> solvers.Solver:
    """Choose the solver and check it. Raises UnsupportedError where it cannot do the problem."""
    if problem.ranked:
        check_order(request)
    found = chosen(how.solver, problem, request.prefer, how.natural)
    if how.solver != "auto" or found.name != "two_bone":  # "auto" has checked two_bone already
        solvers.check(found, problem, request)
    return found


def _freed(
    start: Pose, goals: tuple[Goal, ...], solver: str | solvers.Solver, prefer: Prefer, *, natural: bool | None
) -> tuple[Pose, tuple[Goal, ...]]:
    """Put the start on a skeleton with a free root.

    Also returns the goals, with the further joints that move for them.
    """
    start = rooted(start)
    moves = natural is not False and prefer == "first" and (solver == "auto" or isinstance(solver, Natural))
    return start, whole(start, goals) if moves else goals


def _batch(start: Pose, goals: Sequence[Goal]) -> tuple[int, ...]:
    """Find the batch axes of the start and the targets."""
    if len(goals) == 1 and start.q.ndim == 1:
        return goals[0].shape
    preferred, shapes = preferred_shape(goals), [goal.shape for goal in goals if not isinstance(goal, Near)]
    try:
        return np.broadcast_shapes(start.shape, preferred, *shapes)
    except ValueError as error:
        what = shapes[0] if len(shapes) == 1 else shapes
        near = f" and a batch of {preferred} poses that Near prefers" if preferred else ""
        message = f"a batch of {start.shape} start poses{near} does not go with targets of shape {what}"
        raise InputError(message) from error


def _stand_in(start: Pose) -> Pose:
    """Make a single placeholder pose for an empty batch.

    It is one of the starts or, without any, the rest pose with translations and scales like theirs.
    """
    if math.prod(start.shape):
        return start[(0,) * len(start.shape)] if start.shape else start
    s = start.skeleton
    translations = None if start.translations is None else s.A[:, :3]
    scales = None if start.scales is None else np.diagonal(s.B[:, :, :3], axis1=1, axis2=2)
    return Pose(s, s.rest_q, translations, scales)


def _flattened(start: Pose, shape: tuple[int, ...]) -> Pose:
    """Flatten a batch of starts to one axis. There is one for each target; a single start is unchanged."""
    if not start.shape:
        return start
    rows = [_flat(value, shape) for value in (start.q[..., None, :], start.translations, start.scales)]
    assert rows[0] is not None
    return Pose.unchecked(start.skeleton, rows[0][:, 0], rows[1], rows[2])


def _flat(value: Any, shape: tuple[int, ...]) -> Any:
    if value is None:
        return None
    return np.broadcast_to(value, (*shape, *value.shape[-2:])).reshape(math.prod(shape), *value.shape[-2:])


@contextmanager
def _bar(total: int) -> Generator[Callable[[int], None]]:
    """Show a progress bar on a terminal's standard error. Call the yielded function with the number of targets done."""
    from rich.console import Console  # noqa: PLC0415  (needed for the bar only)
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    console = Console(stderr=True)
    columns = (TextColumn("solving"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task("solving", total=total)
        yield lambda done: shown.advance(task, done)
