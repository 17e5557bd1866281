"""Solve problems: solve(), prepare() and Prepared.

A Prepared holds a problem packed once and takes one target after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Literal, NamedTuple, Never, Self

import numpy as np
from numpy.typing import ArrayLike

from poise import solvers
from poise.calls.argument_checks import check_choice, check_integer
from poise.calls.progress import report_progress
from poise.errors import InputError
from poise.maths.arrays import Floats, check_finite
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.dof_layout import TARGET_SIZES
from poise.problem.goals import GOAL_CLASSES, GOAL_NAMES, Goal, Goals, Near, is_joint_goal
from poise.problem.plan import GoalKey, build_goal_key
from poise.problem.pose_preference import broadcast_goals, find_preferred_shape
from poise.problem.problem import Problem, Tolerance
from poise.runtime.result_cache import get_or_compute
from poise.solvers.base.interface import Prefer, Request, is_builtin
from poise.solvers.natural.auto import name_turning_joints, select_solver
from poise.solvers.natural.floor import Floor, FloorTerrain, make_floor
from poise.solvers.natural.natural import Natural
from poise.solving import arguments
from poise.solving.arm_fast_path import MAX_FAST_TARGETS, make_kernel_buffer, solve_on_fast_path
from poise.solving.batch_result import solve_batch
from poise.solving.diagnosis import can_start, clamp_start
from poise.solving.optional_goals import check_priority_request
from poise.solving.result import Result
from poise.solving.single_target import SingleTargetSolve
from poise.solving.solve_settings import SolveSettings

_ARRAY_TYPE, _FLOAT_DTYPE = np.ndarray, np.dtype(np.float64)
_NO_SHAPE = (-1,)


class Prepared:
    """Packed problem of `prepare`, callable with a target.

    Notes
    -----
    The target of a single goal has the form that the goal itself accepts: a point (..., 3), a quaternion (..., 4) or
    matrix (..., 3, 3); for a Place a matrix (..., 4, 4) or (..., 3, 4), numbers (..., 7) or a tuple (position,
    rotation). Leading axes are a batch. For several goals: a sequence with one target for each goal with a target, an
    array whose first axis is that of the goals, or a dict by joint. A goal of the same kind, or a list of such goals,
    is also accepted, as in solve().
    """

    def __init__(self, problem: Problem, single: SingleTargetSolve, moved_inside: tuple[str, ...]) -> None:
        self.problem = problem
        self.single = single
        self.moved_inside = moved_inside
        self._buffer = make_kernel_buffer(problem.start.q)
        self._fast_path = single.find_fast_path(problem)
        self._lazy_fields = single.build_lazy_arm_fields, problem, moved_inside
        self._known_fields = {"problem": problem}
        self._plain_shape = arguments.find_plain_shape(problem)
        self._target_shape = self._plain_shape.widths if len(self._plain_shape.widths) == 1 else _NO_SHAPE

    def __reduce__(self) -> tuple[Any, ...]:
        return Prepared, (self.problem, self.single, self.moved_inside)

    def __repr__(self) -> str:
        joints = ", ".join(repr(goal.joint) for goal in self.problem.goals if is_joint_goal(goal))
        return f"Prepared({self.solver.name}, targets of {joints or 'no joint'})"

    @property
    def skeleton(self) -> Skeleton:
        """The moved skeleton."""
        return self.problem.skeleton

    @property
    def solver(self) -> solvers.Solver:
        """The solver of the problem."""
        return self.single.solver

    @property
    def tolerance(self) -> Tolerance:
        """The largest errors of a met goal."""
        return self.single.tolerance

    @property
    def settings(self) -> SolveSettings:
        """The solve settings."""
        return self.single.settings

    def refuse(self) -> Self:
        """Raise for an unsupported problem before any target. It solves for an empty batch and returns itself."""
        problem, settings = self.problem, self.settings
        if self._fast_path is None:
            empty_targets = np.zeros((0, sum(TARGET_SIZES[measure.kind] for measure in problem.measures)))
            solvers.check(self.solver, problem, Request(settings.prefer, settings.seeds))
            self.solver.run(problem, empty_targets, self.tolerance, Request())
        return self

    @property
    def has_fast_path(self) -> bool:
        """Whether single targets from any start take the fast path. The path is kernels/arm_targets.py."""
        return self._fast_path is not None and self._fast_path.can_change_start

    def __call__(self, target: Any, start: ArrayLike | None = None) -> Result:
        """Solve for a target. The start is the prepared pose or the configuration `start` (nq,)."""
        start_time = perf_counter()
        fast_path = self._fast_path
        if (
            fast_path is not None
            and type(target) is _ARRAY_TYPE
            and target.dtype is _FLOAT_DTYPE
            and (start is None or fast_path.can_change_start)
        ):
            # A copy: the caller may write to the array before the lazy fields are computed.
            row = (
                target[None].copy()
                if target.shape == self._target_shape
                else arguments.read_matrix(target, *self._target_shape)
            )
            if row is not None:
                if start is None:
                    buffer, lazy_fields, known_fields = self._buffer.copy(), self._lazy_fields, self._known_fields
                else:
                    (buffer, lazy_fields), known_fields = self._pack_start(start), {}
                result = solve_on_fast_path(fast_path, self.problem, row, buffer, lazy_fields, start_time, known_fields)
                if result is not None:
                    return result
            elif target.shape[1:] == self._target_shape and start is None and not self.moved_inside:
                result = self.single.solve_few(self.problem, target.copy(), target.shape[:1], start_time)
                if result is not None:
                    return result
        problem, clamped_joints = (self.problem, self.moved_inside) if start is None else self._move_start(start)
        row = arguments.read_plain_row(self._plain_shape, target)
        if row is not None:
            return self.single.solve(problem, row, clamped_joints, start_time)
        goal_rows = arguments.parse_targets(self.problem.goals, target)
        shape = _find_target_shape(problem, goal_rows)
        problem = problem.broadcast(shape)
        targets = problem.build_target_rows(goal_rows, shape)
        if not shape:
            return self.single.solve(problem, targets, clamped_joints, start_time)
        if self.single.can_skip_batch_steps:
            result = self.single.solve_few(problem, targets, shape, start_time, None, clamped_joints)
            if result is not None:
                return result
        request = self.settings.make_request(len(targets))
        return solve_batch(problem, targets, self.solver, self.tolerance, request, shape, clamped_joints, start_time)

    def solve_row_fast(self, row: Floats, q: Floats, start_time: float) -> Result | None:
        """Solve a target row (1, W) by the fast path.

        It starts from q (nq,). Returns None where the fast path does not apply.
        """
        if self._fast_path is None or not self._fast_path.can_change_start:
            return None
        return solve_on_fast_path(self._fast_path, self.problem, row, *self._pack_start(q), start_time)

    def _pack_start(self, start: ArrayLike) -> tuple[Floats, tuple[Any, ...]]:
        """Pack a caller's start for the fast path. Also returns the source of the remaining Result fields."""
        q = self._check_start(start)
        return make_kernel_buffer(q), (self._build_fields_from_start, q)

    def _build_fields_from_start(
        self, start_q: Floats, targets: Floats, output: tuple[Any, ...], q: Floats
    ) -> dict[str, Any]:
        """Build the Result fields of a legal start."""
        problem = self.problem.with_start(self.problem.start.with_q(start_q))
        return self.single.build_lazy_arm_fields(problem, (), targets, output, q)

    def _check_start(self, start: ArrayLike) -> Floats:
        """Check a start configuration and return a copy."""
        q = np.array(
            start if type(start) is _ARRAY_TYPE and start.dtype is _FLOAT_DTYPE else check_finite(start, "the start"),
            dtype=_FLOAT_DTYPE,
        )
        if q.shape != self.single.q_shape[1:]:
            raise InputError(
                f"the start of a prepared problem is one configuration of {self.single.q_shape[1]} numbers, not "
                f"{q.shape}"
            )
        return q

    def _move_start(self, start: ArrayLike) -> tuple[Problem, tuple[str, ...]]:
        """Move the problem to another start, clamped to its limits. Also returns the names of the clamped joints."""
        q = self._check_start(start)
        if self.single.can_change_start and can_start(self.problem.skeleton, q):
            return self.problem.with_start_unchecked(Pose.make_unchecked(self.problem.skeleton, q, None, None)), ()
        pose, clamped_joints = clamp_start(self.problem.start.with_q(q))
        return self.problem.with_start(pose), clamped_joints

    def stream(
        self, targets: Any, *, chunk: int = 65_536, progress: bool | Callable[[int, int, str], None] | None = None
    ) -> Iterator[Result]:
        """Solve any number of targets in chunks. The goal must be a single one; memory use stays constant.

        Parameters
        ----------
        targets
            Rows as the goal takes them: an array (also a memory-mapped one), or an iterable of such arrays.
        chunk
            Number of targets solved at a time.
        progress
            As for `solve`. The total of an iterable is the number of targets done.

        Yields
        ------
        Result
            One for each chunk, in order. Together they are the result of one call with all targets.
        """
        chunk = check_integer(chunk, "chunk")
        if chunk < 1:
            raise InputError(f"chunk must be at least 1, not {chunk}")
        total = len(targets) if isinstance(getattr(targets, "shape", None), tuple) and targets.shape else None
        with report_progress(progress, "solving", total, old_form="increment", shows_rate=True) as advance:
            for target_chunk in _split_chunks(targets, chunk):
                result = self(np.asarray(target_chunk))
                if not result.shape:
                    raise InputError("stream() takes arrays of targets, one axis more than a single target has")
                advance(len(target_chunk))
                yield result


def _find_target_shape(problem: Problem, goal_rows: list[Floats]) -> tuple[int, ...]:
    """Find the batch axes of targets and preferred poses. Near supplies the preferred poses."""
    shapes, preferred_shape = [row.shape[:-1] for row in goal_rows], find_preferred_shape(problem.goals)
    try:
        return np.broadcast_shapes(preferred_shape, *shapes)
    except ValueError as error:
        shown_shapes = shapes[0] if len(shapes) == 1 else shapes
        preference = f", nor with a batch of {preferred_shape} poses that Near prefers" if preferred_shape else ""
        raise InputError(f"targets of shape {shown_shapes} do not go together{preference}") from error


def _split_chunks(targets: Any, chunk: int) -> Iterator[Any]:
    if isinstance(getattr(targets, "shape", None), tuple):
        if len(targets.shape) < 2:  # noqa: PLR2004  (otherwise slices of one target would count as targets)
            raise InputError(
                f"stream() takes arrays of targets, one axis more than a single target has; not {targets.shape}"
            )
        for first in range(0, len(targets), chunk):
            yield targets[first : first + chunk]
        return
    if not isinstance(targets, Iterable):
        raise InputError("stream() takes an array of targets or an iterable of arrays")
    for target_array in targets:
        yield from _split_chunks(np.asarray(target_array), chunk)


# --- Choose a solver, pack the problem, run it and evaluate the result -----------------------------------------------


_GOAL_TYPES = frozenset(GOAL_CLASSES)
_DEFAULT_SETTINGS = SolveSettings()


def solve(
    start: Pose,
    goals: Goals,
    *,
    solver: str | solvers.Solver = "auto",
    tolerance: float | None = None,
    angle_tolerance: float | None = None,
    free_root: bool = False,
    prefer: Prefer = "first",
    seeds: int | None = None,
    threads: int | None = None,
    trace: bool = False,
    progress: bool | Callable[[int, int, str], None] | None = None,
    natural: bool | None = None,
    floor: float | Literal["auto"] | FloorTerrain | None = None,
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
        Whether the root may also rotate and translate: a character's hips if they are a free joint, else the first free
        joint above the chain. If the file has none, the hips of a character or the base of a robot are made free: the
        pose then belongs to `skeleton.with_free_root()` and is saved in a form that the file can hold. Joints above the
        root, such as a root bone on the ground, move only for goals that name them.
    prefer
        "first": the first pose found. "closest": the pose nearest to the start among those found from `seeds` starts,
        by the sum of squared joint differences. "all": all distinct poses, in Result.solutions (one target only).
    seeds
        Number of starts for "closest" (default 64) and "all" (default 512).
    threads
        Maximum number of threads; by default all processors. A batch of less than 2 ms takes one. Results do not
        depend on it.
    trace
        Whether the error and q after every iteration are kept (one target only).
    progress
        True shows a bar on the terminal. A function is called with the number of targets done, the total number and
        the name of the stage. None and False show nothing.
    natural
        Whether a character with known arms and legs gets human-like poses: knees bend forward and elbows back and
        outward, collar bones join at the edge of reach, the trunk follows the head, limbs without goals keep their
        direction in the world. None: if the solver is "auto", prefer "first" and the skeleton such a character. With a
        free root, joints between it and the goals also move. Only the range of collar bones can keep a hand from its
        target (`held_back`). `Result.natural` tells whether it was used.
    floor
        Height of a level floor along the figure's up axis [file units], or a Terrain, for natural poses: knees, elbows,
        and feet and hands without a wanted rotation stay above it. "auto": the lowest joint of the feet that are
        pinned. Lengths of a Terrain's shapes are metres of the figure, as for planted feet.
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
    start_time = perf_counter()
    if unknown:
        raise arguments.make_unknown_argument_error(solve, unknown)
    arguments.check_arguments(start, solver, tolerance, angle_tolerance, free_root, natural)
    if type(prefer) is not str:
        check_choice(prefer, "prefer", ("first", "closest", "all"))
    checked_goals = check_goals(goals)
    start, checked_goals = _complete_start_and_goals(start, checked_goals, solver, prefer, free_root, natural)
    shape = _find_batch_shape(start, checked_goals)
    has_default_settings = prefer == "first" and trace is False and seeds is threads is None
    settings = _DEFAULT_SETTINGS if has_default_settings else SolveSettings(prefer, seeds, threads, trace)
    ground = None if floor is None else make_floor(floor, start, checked_goals)
    options = _SolveOptions(solver, tolerance, angle_tolerance, settings, free_root, natural, ground)
    is_silent = progress is None or progress is False
    if not shape and is_silent:
        result = _solve_single(start, checked_goals, options, start_time)
        if result is not None:
            return result
    if is_silent and 0 < math.prod(shape) <= MAX_FAST_TARGETS and not start.shape:
        result = _solve_few(start, checked_goals, shape, options, start_time)
        if result is not None:
            return result
    if is_silent:
        return _solve_general(start, checked_goals, shape, options, start_time)
    with report_progress(progress, "solving", math.prod(shape), old_form="increment", shows_rate=True) as advance:
        settings = replace(settings, progress=advance)
        return _solve_general(start, checked_goals, shape, options._replace(settings=settings), start_time)


_MAX_SINGLES = 64  # solves for one target remembered with a skeleton; one of an arm has 0.2 MB


class _SolveOptions(NamedTuple):
    """Options of solve() and prepare() besides start and goals."""

    solver: str | solvers.Solver
    tolerance: float | None
    angle_tolerance: float | None
    settings: SolveSettings
    free_root: bool
    natural: bool | None
    floor: Floor | None = None


class _CachedSolve(NamedTuple):
    """Cached solve for kinds of goals, with the present problem."""

    single: SingleTargetSolve
    problem: Problem


def _find_cached_solve(start: Pose, goals: tuple[Goal, ...], options: _SolveOptions) -> _CachedSolve | None:
    """Find or build the cached solve for kinds of goals. Returns None where the general path is needed.

    It is cached by the name or value of the solver, which is enough only for solvers of Poise.
    """
    if start.translations is not None or start.scales is not None:
        return None
    solver, tolerance, angle_tolerance, settings, free_root, natural, floor = options
    if settings.progress is not None or not (type(solver) is str or is_builtin(solver)):
        return None
    goal_key = build_goal_key(goals)
    # Hashing settings takes longer than looking up the rest.
    shown_settings = None if settings is _DEFAULT_SETTINGS else settings
    key = goal_key, solver, tolerance, angle_tolerance, shown_settings, free_root, natural, floor
    single = get_or_compute(
        start.skeleton, "singles", key, lambda: _build_single(start, goals, goal_key, options), _MAX_SINGLES
    )
    problem = single.problem
    can_solve = single.can_skip_batch_steps and (
        get_or_compute(problem, "can start", None, lambda: can_start(start.skeleton, np.array(start.q)))
        if problem.start is start  # checked once
        else can_start(start.skeleton, np.array(start.q))
    )
    if not can_solve:
        return None
    if problem.start is not start or not (single.serves_all_goals or problem.goals is goals):
        problem = (
            problem.with_start_unchecked(start, goals)
            if single.can_change_start
            else Problem(start, goals, free_root, goal_key)
        )
    return _CachedSolve(single, problem)


def _solve_few(
    start: Pose, goals: tuple[Goal, ...], shape: tuple[int, ...], options: _SolveOptions, start_time: float
) -> Result | None:
    """Solve a few targets from one start. Returns None where the general path is needed.

    It serves arms, and chains and limbs with a named solver.
    """
    target_goals = goals if len(goals) == 1 else arguments.list_target_goals(goals)
    if len(target_goals) != 1 or not target_goals[0].width or options.settings.trace or find_preferred_shape(goals):
        return None
    if options.solver == "auto" and max(start.skeleton.joint_lists.kinds, default=0) >= Kind.BALL:
        return None
    cached = _find_cached_solve(start, goals, options)
    if cached is None:
        return None
    targets = cached.problem.build_target_rows([target_goals[0].rows()], shape)
    return cached.single.solve_few(cached.problem, targets, shape, start_time, goals)


def _solve_single(start: Pose, goals: tuple[Goal, ...], options: _SolveOptions, start_time: float) -> Result | None:
    """Solve one target. Returns None where the general path is needed."""
    cached = _find_cached_solve(start, goals, options)
    if cached is None:
        return None
    single, problem = cached
    target_goals = goals if len(goals) == 1 else arguments.list_target_goals(goals)
    if len(target_goals) == 1 and target_goals[0].width:
        targets = np.array(target_goals[0].rows()).reshape(1, -1)  # kernels are compiled for writable arrays
    else:
        targets = problem.build_target_rows([goal.rows() for goal in goals if goal.width], ())
    return single.solve(problem, targets, (), start_time, goals)


def _build_single(start: Pose, goals: tuple[Goal, ...], goal_key: GoalKey, options: _SolveOptions) -> SingleTargetSolve:
    """Build the solve for one target. Raises UnsupportedError where the solver cannot do it."""
    arguments.check_planar_targets(start, goals)
    return _bind_solver(Problem(clamp_start(start).pose, goals, options.free_root, goal_key), options)


def _bind_solver(problem: Problem, options: _SolveOptions) -> SingleTargetSolve:
    request = options.settings.make_request(1)
    solver = _choose_checked_solver(options, problem, request)
    tolerance = problem.complete_tolerance(options.tolerance, options.angle_tolerance)
    return SingleTargetSolve(problem, solver, tolerance, options.settings, request)


def _solve_general(
    start: Pose, goals: tuple[Goal, ...], shape: tuple[int, ...], options: _SolveOptions, start_time: float
) -> Result:
    """Solve with checked arguments."""
    if not math.prod(shape):
        start = _make_placeholder_start(start)  # an empty batch: it is never solved
    arguments.check_planar_targets(start, goals)
    start, clamped_joints = clamp_start(start)
    problem = Problem(_flatten_start(start, shape), broadcast_goals(goals, shape), options.free_root)
    goal_rows = [goal.rows() for goal in goals if goal.width]
    if not shape:
        single = _bind_solver(problem, options)
        return single.solve(problem, problem.build_target_rows(goal_rows, shape), clamped_joints, start_time, goals)
    request = options.settings.make_request(math.prod(shape))
    solver = _choose_checked_solver(options, problem, request)
    tolerance = problem.complete_tolerance(options.tolerance, options.angle_tolerance)
    targets = problem.build_target_rows(goal_rows, shape)
    return solve_batch(problem, targets, solver, tolerance, request, shape, clamped_joints, start_time, goals)


def prepare(
    start: Pose,
    goals: Goals,
    *,
    solver: str | solvers.Solver = "auto",
    tolerance: float | None = None,
    angle_tolerance: float | None = None,
    free_root: bool = False,
    prefer: Prefer = "first",
    seeds: int | None = None,
    threads: int | None = None,
    natural: bool | None = None,
    floor: float | Literal["auto"] | FloorTerrain | None = None,
    **unknown: Never,
) -> Prepared:
    """Pack a problem once and return a function of its targets. The function returns a Result.

    Parameters
    ----------
    start, goals, solver, tolerance, angle_tolerance, free_root, prefer, seeds, threads, natural, floor
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
        raise arguments.make_unknown_argument_error(prepare, unknown)
    arguments.check_arguments(start, solver, tolerance, angle_tolerance, free_root, natural)
    if type(prefer) is not str:
        check_choice(prefer, "prefer", ("first", "closest", "all"))
    checked_goals = check_goals(goals)
    if start.shape:
        raise InputError("prepare() takes a single start pose; give solve() a batch")
    start, checked_goals = _complete_start_and_goals(start, checked_goals, solver, prefer, free_root, natural)
    arguments.check_planar_targets(start, checked_goals)
    options = _SolveOptions(
        solver,
        tolerance,
        angle_tolerance,
        SolveSettings(prefer, seeds, threads),
        free_root,
        natural,
        make_floor(floor, start, checked_goals),
    )
    start, clamped_joints = clamp_start(start)
    problem = Problem(start, checked_goals, free_root)
    return Prepared(problem, _bind_solver(problem, options), clamped_joints).refuse()


def check_goals(goals: Any) -> tuple[Goal, ...]:
    """Return one or several goals as a tuple. Raises InputError for anything else and for no goal."""
    if type(goals) in _GOAL_TYPES:
        return (goals,)
    try:
        goal_tuple: tuple[Any, ...] = (goals,) if isinstance(goals, str) else tuple(goals)
    except TypeError:
        goal_tuple = (goals,)
    if not goal_tuple or not all(type(goal) in _GOAL_TYPES or isinstance(goal, GOAL_CLASSES) for goal in goal_tuple):
        example_code = arguments.format_goal_code(goal_tuple)
        advice = f"write {example_code}; they" if example_code else "they"
        raise InputError(
            f"goals are values such as poise.Position(...): {advice} are one or several of {', '.join(GOAL_NAMES)}"
        )
    return goal_tuple


def free_start_root(start: Pose) -> Pose:
    """Put the start on a skeleton with a free root. It is kept with the start, and so is what is computed of it."""
    skeleton = start.skeleton.with_free_root()
    if skeleton is start.skeleton:
        return start
    return get_or_compute(start, "with a free root", None, lambda: start.on(skeleton))


def choose_solver(
    solver: str | solvers.Solver,
    start: Pose,
    goals: tuple[Goal, ...],
    prefer: Prefer = "first",
    *,
    free_root: bool = False,
    natural: bool | None = None,
    floor: Any = None,
) -> solvers.Solver:
    """Choose the solver; see solvers/natural/auto.py for "auto"."""
    if not isinstance(solver, str) and not natural:
        return solver
    start, goals = _complete_start_and_goals(start, goals, solver, prefer, free_root, natural)
    return select_solver(solver, Problem(start, goals, free_root), prefer, natural, make_floor(floor, start, goals))


def _choose_checked_solver(options: _SolveOptions, problem: Problem, request: Request) -> solvers.Solver:
    """Choose the solver and check it. Raises UnsupportedError where it cannot do the problem."""
    if problem.has_optional_goals:
        check_priority_request(request, "optional goals")
    if problem.has_pulls:
        check_priority_request(request, "pulls below 1")
    solver = select_solver(options.solver, problem, request.prefer, options.natural, options.floor)
    if options.solver != "auto" or solver.name != "two_bone":  # "auto" has checked two_bone already
        solvers.check(solver, problem, request)
    return solver


def _complete_start_and_goals(
    start: Pose,
    goals: tuple[Goal, ...],
    solver: str | solvers.Solver,
    prefer: Prefer,
    free_root: bool,
    natural: bool | None,
) -> tuple[Pose, tuple[Goal, ...]]:
    """Put the start on a skeleton with a free root, if wanted.

    Also returns the goals, with the further joints that move for them in natural poses.
    """
    if free_root:
        start = free_start_root(start)
    is_natural = natural is not False and prefer == "first" and (solver == "auto" or isinstance(solver, Natural))
    return start, name_turning_joints(start, goals, free_root=free_root) if is_natural else goals


def _find_batch_shape(start: Pose, goals: Sequence[Goal]) -> tuple[int, ...]:
    """Find the batch axes of the start and the targets."""
    if len(goals) == 1 and start.q.ndim == 1:
        return goals[0].shape
    preferred_shape, shapes = find_preferred_shape(goals), [goal.shape for goal in goals if not isinstance(goal, Near)]
    if start.q.ndim == 1 and not preferred_shape and not any(shapes):
        return ()
    try:
        return np.broadcast_shapes(start.shape, preferred_shape, *shapes)
    except ValueError as error:
        shown_shapes = shapes[0] if len(shapes) == 1 else shapes
        preference = f" and a batch of {preferred_shape} poses that Near prefers" if preferred_shape else ""
        message = f"a batch of {start.shape} start poses{preference} does not go with targets of shape {shown_shapes}"
        raise InputError(message) from error


def _make_placeholder_start(start: Pose) -> Pose:
    """Make a single placeholder pose for an empty batch.

    It is one of the starts or, without any, the rest pose with translations and scales like theirs.
    """
    if math.prod(start.shape):
        return start[(0,) * len(start.shape)] if start.shape else start
    skeleton = start.skeleton
    translations = None if start.translations is None else skeleton.A[:, :3]
    scales = None if start.scales is None else np.diagonal(skeleton.B[:, :, :3], axis1=1, axis2=2)
    return Pose(skeleton, skeleton.rest_q, translations, scales)


def _flatten_start(start: Pose, shape: tuple[int, ...]) -> Pose:
    """Flatten a batch of starts to one axis. There is one for each target; a single start is unchanged."""
    if not start.shape:
        return start
    flat_arrays = [_flatten_array(value, shape) for value in (start.q[..., None, :], start.translations, start.scales)]
    assert flat_arrays[0] is not None
    return Pose.make_unchecked(start.skeleton, flat_arrays[0][:, 0], flat_arrays[1], flat_arrays[2])


def _flatten_array(array: Any, shape: tuple[int, ...]) -> Any:
    if array is None:
        return None
    return np.broadcast_to(array, (*shape, *array.shape[-2:])).reshape(math.prod(shape), *array.shape[-2:])
