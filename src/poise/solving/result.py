"""The Result of a solve."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError
from functools import cached_property
from os import PathLike
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from poise import solvers
from poise.call_clock import Pauses, count_seconds
from poise.calls import late_binding
from poise.calls.old_names import make_alias
from poise.errors import InputError, NotReachedError
from poise.formatting import format_number, format_time
from poise.maths.arrays import Bools, Floats, Ints, abbreviate, check_finite, check_real
from poise.model.limits import is_soft
from poise.model.loops import OpenLoop
from poise.model.numpy_kinematics import normalise_rotations
from poise.model.pose import Pose, blend_q
from poise.problem.dof_layout import LENGTH_KINDS, MEASURE_KINDS, TARGET_SIZES
from poise.problem.feasibility import has_closed_loops, judge_gaps
from poise.problem.goals import Goal
from poise.problem.problem import Problem, Tolerance, find_required_goals
from poise.runtime.immutable_values import FrozenValue, freeze_arrays
from poise.runtime.result_cache import quick_property
from poise.solvers.base.interface import Status as Status
from poise.solvers.base.interface import Statuses, Trace, view_as_statuses
from poise.solving.diagnosis import compute_max_violation, find_restraints, find_status
from poise.solving.messages import SolveOutcome, format_joints_outside, format_length, format_open_loops, format_outcome

# Types of the values with one item per problem: (bool, float, Status) for a single problem, arrays for a batch. A
# target does not tell a type checker its shape: the Result of `solve` has the types Any there, and both uses pass.
if TYPE_CHECKING:
    from typing_extensions import TypeVar

    _Reached = TypeVar("_Reached", bound=bool | Bools, default=Any)
    _Number = TypeVar("_Number", bound=float | Floats, default=Any)
    _Outcome = TypeVar("_Outcome", bound=Status | Statuses, default=Any)
else:  # Python 3.11 has no defaults of type variables
    from typing import TypeVar

    _Reached, _Number, _Outcome = TypeVar("_Reached"), TypeVar("_Number"), TypeVar("_Outcome")

_ARRAY_TYPE = np.ndarray
_new_object, _set_attribute = object.__new__, object.__setattr__  # a Result is frozen and written through these


class _NoSolutionsError(InputError, AttributeError):
    """Error of `Result.solutions` without prefer="all". `hasattr` and `inspect.getmembers` know only AttributeError."""


class _SingleResultError(InputError, TypeError):
    """Error for a single result used as a batch. Python expects a TypeError there."""


class _NoSuchResultError(InputError, IndexError):
    """Error for an index outside a batch. Python's loops end with an IndexError."""


class Result(FrozenValue, Generic[_Reached, _Number, _Outcome]):
    """Result of a solve; leading axes are a batch. Its arrays are read-only: copy what you want to change.

    For type checkers it is generic; annotate with `SingleResult` or `BatchResult` to check the use of either.

    `result[i]` is the result of one problem of a batch, `result[2:5]` or `result[~result.reached]` that of several, and
    a loop over a batch gives its results one by one. `seconds` is then their share of the time; `moved_inside` still
    names the joints of the whole batch. A single result has no items.

    Attributes
    ----------
    q
        (..., nq) the best configuration found; that of the start if it already met the goals.
    errors
        (..., c) remaining errors by forward kinematics: a column for each measure of each goal, in the order of the
        goals. Position: a distance [file units]. Orientation, Direction, Aim, LookAt and Pole: an angle [rad]. Place:
        both.
    reached
        Whether every goal is met; an array (...) for a batch.
    iterations
        Iterations of the solver; an array (...) for a batch.
    codes
        (...) the Status as a number.
    violation
        The largest amount by which any limit is exceeded [rad, file units]; at most 1e-9.
    seconds
        Wall time of the call, without loading or compiling kernels [s].
    solver
        Name of the solver.
    natural
        Whether a natural pose was the initial guess; see `solve`.
    moved_inside
        Names of the joints with a start outside their limits; they were clamped first.
    trace
        Error and q after each iteration, with trace=True; else None.
    tolerances
        The largest distance and angle of a reached goal.
    problem
        The start and the goals.
    targets
        (k, W) the targets as rows: the numbers of all goals side by side.
    solutions_q
        (s, nq) the distinct solutions, nearest to the start first, for prefer="all"; else None.
    """

    problem: Problem
    goals: tuple[Goal, ...]
    targets: Floats
    q: Floats
    errors: Floats
    codes: Ints
    reached: _Reached
    violation: float
    iterations: Ints
    joint_updates: Ints
    seconds: float
    solver: str
    natural: bool
    moved_inside: tuple[str, ...]
    trace: Trace | None
    solutions_q: Floats | None
    tolerances: Tolerance
    restrained: solvers.Solver | None  # the solver, if one of its options may block reachable targets
    pace: Any = None  # motion of a Tracker frame

    def __init__(self, fields: dict[str, Any], start_time: float) -> None:
        # Internal. fields["lazy_source"], if present, is (compute, *arguments): computing all fields takes longer than
        # a small solve, so compute(*arguments) returns the missing ones on first access. `start_time` is the time of
        # the call; the clock is read last, because making a Result takes a tenth of a small solve.
        for value in fields.values():
            if type(value) is _ARRAY_TYPE:
                value.setflags(write=False)
        _set_attribute(self, "__dict__", fields)
        is_unpaused = start_time >= Pauses.last_end  # no pause since: saves a call, noticeable in a small solve
        fields["seconds"] = perf_counter() - start_time if is_unpaused else count_seconds(start_time)

    @staticmethod
    def from_frozen(fields: dict[str, Any], start_time: float) -> Result:
        """Make a Result from read-only arrays.

        It takes half the time of the constructor, a noticeable part of a small solve.
        """
        result = _new_object(Result)
        _set_attribute(result, "__dict__", fields)
        is_unpaused = start_time >= Pauses.last_end  # no pause since: saves a call, noticeable in a small solve
        fields["seconds"] = perf_counter() - start_time if is_unpaused else count_seconds(start_time)
        return result

    if not TYPE_CHECKING:  # with __getattr__ visible, a type checker would accept any name

        def __getattr__(self, name: str) -> Any:
            """Compute a lazy field on first access and keep it."""
            attributes = self.__dict__
            lazy_source = attributes.get("lazy_source")
            if lazy_source is not None and name in _RESULT_FIELDS:
                compute, *arguments = lazy_source
                for field_name, value in compute(*arguments).items():
                    if type(value) is _ARRAY_TYPE:
                        value.setflags(write=False)
                    elif isinstance(value, tuple) and value:  # a Trace
                        freeze_arrays(value)
                    attributes.setdefault(field_name, value)
                attributes.pop("lazy_source", None)
                return getattr(self, name)
            if name in attributes:
                return attributes[name]  # another thread has computed it meanwhile
            if name == "solutions":
                raise _NoSolutionsError('a result has solutions only with prefer="all"')
            if name not in _LAZY_FIELDS:
                message = f"{type(self).__name__!r} has no attribute {name!r}"
                raise AttributeError(message)
            freeze_arrays([computed := _LAZY_FIELDS[name](self)])
            attributes[name] = computed
            return computed

    def with_pose(
        self, q: Floats, errors: Floats, start_time: float, *, reached: bool | Bools, **changes: Any
    ) -> Result:
        """Copy the Result with other poses and errors. Poses are q (..., nq), errors (..., c)."""
        attributes = self.__dict__
        retained_fields = {
            name: attributes[name] for name in (*_RESULT_FIELDS, "lazy_source", "goals") if name in attributes
        }
        return Result(retained_fields | changes | {"q": q, "errors": errors, "reached": reached}, start_time)

    def __getstate__(self) -> dict[str, Any]:
        if "lazy_source" in self.__dict__:
            self.targets  # noqa: B018  (computes the lazy fields: their source is not pickled)
        return super().__getstate__()

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to {name!r}: a Result is read-only")

    @property
    def tolerance(self) -> float:
        """The largest distance of a reached goal [file units]."""
        return self.tolerances.distance

    @property
    def angle_tolerance(self) -> float:
        """The largest angle of a reached goal [rad]."""
        return self.tolerances.angle

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch axes; () for a single problem."""
        return self.q.shape[:-1]

    @quick_property
    def pose(self) -> Pose:
        """The best pose. It equals the start where the start already meets the goals."""
        start = self.problem.start
        # the solver's numbers are finite; a copy, because quaternions are normalised in place
        q = normalise_rotations(start.skeleton, self.q.copy())
        if start.translations is None and start.scales is None:
            return Pose.make_unchecked(start.skeleton, q, None, None)
        flat_pose = self.problem.make_pose_unchecked(_flatten_q(self))
        local_arrays = [
            None if v is None else v.reshape(*self.shape, *v.shape[-2:])
            for v in (flat_pose.translations, flat_pose.scales)
        ]
        return Pose.make_unchecked(start.skeleton, q, *local_arrays)

    def blend(self, weight: ArrayLike) -> Pose:
        """Blend the start towards the pose found.

        Parameters
        ----------
        weight
            0 to 1; an array goes with the batch axes of the result. 0 is the start (moved inside its limits where it
            was outside), 1 the pose found, both bit for bit.

        Returns
        -------
        Pose
            Numbers are interpolated linearly, rotations by slerp. A blend of two legal poses may be illegal; it is then
            moved to the nearest legal pose.

        Raises
        ------
        InputError
            For a weight outside 0 to 1.
        """
        weights = check_finite(weight, "weight")
        if weights.min(initial=0.0) < 0.0 or weights.max(initial=1.0) > 1.0:
            raise InputError(f"the weight of a blend is 0 (the start) to 1 (the pose found), not {abbreviate(weight)}")
        try:
            shape = np.broadcast_shapes(self.shape, weights.shape)
        except ValueError as error:
            message = f"weights of shape {weights.shape} do not go with a result of shape {self.shape}"
            raise InputError(message) from error
        skeleton, start_pose = self.problem.skeleton, self.problem.start
        start_q = start_pose.q.reshape(*self.shape, skeleton.nq) if start_pose.shape else start_pose.q
        start_q, weights = np.broadcast_to(start_q, (*shape, skeleton.nq)), np.broadcast_to(weights, shape)
        legal_q = skeleton.legal(blend_q(skeleton, start_q, np.broadcast_to(self.q, start_q.shape), weights))[0]
        q = np.where(weights[..., None] == 0.0, start_q, np.where(weights[..., None] == 1.0, self.q, legal_q))
        local_arrays = [None if v is None else np.broadcast_to(v, (*shape, *v.shape[-2:])) for v in self._local_offsets]
        return Pose(skeleton, q, *local_arrays)

    blended: ClassVar[Any] = make_alias("Result.blended", blend)

    @property
    def _local_offsets(self) -> tuple[Floats | None, Floats | None]:
        return self.pose.translations, self.pose.scales

    @cached_property
    def solutions(self) -> Pose:
        """The distinct solutions of prefer="all" as a batch of poses. The one nearest to the start comes first."""
        if self.solutions_q is None:
            raise AttributeError  # Python asks __getattr__ then, which has the message
        return self.problem.make_pose(self.solutions_q)

    @property
    def position_errors(self) -> Floats:
        """(..., goals) distance to each goal [file units]. NaN for goals without a position."""
        return self._collect_by_goal(is_position=True)

    @property
    def angle_errors(self) -> Floats:
        """(..., goals) angle to each goal [rad]. NaN for goals of a position only."""
        return self._collect_by_goal(is_position=False)

    def _collect_by_goal(self, *, is_position: bool) -> Floats:
        errors_by_goal = np.full((*self.shape, len(self.problem.goals)), np.nan)
        for column, measure in enumerate(self.problem.measures):
            if (measure.kind in LENGTH_KINDS) == is_position:
                errors_by_goal[..., measure.goal_index] = self.errors[..., column]
        return errors_by_goal

    @cached_property
    def cost(self) -> _Number:
        """Cost of soft limits: sum of soft * excess^2 [rad^2, file units^2]. An array (...) for a batch."""
        cost = self.problem.skeleton.bounds.compute_soft_cost(self.q)
        return cost if self.shape else float(cost)  # pyright: ignore[reportReturnType]  (by the shape)

    @property
    def status(self) -> _Outcome:
        """The Status; an array for a batch. The array prints as words."""
        if self.reached is True:  # of a single problem: nothing to explain
            return Status.reached  # pyright: ignore[reportReturnType]  (of a single problem)
        if self.codes.ndim:
            return view_as_statuses(self.codes)  # pyright: ignore[reportReturnType]  (of a batch)
        return Status(int(self.codes))  # pyright: ignore[reportReturnType]  (of a single problem)

    @property
    def error(self) -> _Number:
        """The largest remaining distance [file units]. It is the largest angle [rad] where no goal has a position.

        A number, or an array (...) for a batch; 0 where no goal has a target.
        """
        is_position = np.array([measure.kind in LENGTH_KINDS for measure in self.problem.measures], dtype=np.bool_)
        residuals = self.errors[..., is_position] if is_position.any() else self.errors
        max_residual = residuals.max(axis=-1, initial=0.0)
        return max_residual if self.shape else float(max_residual)  # pyright: ignore[reportReturnType]  (by the shape)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the movable joints."""
        return self.problem.joints

    def __bool__(self) -> bool:
        if self.shape:
            raise InputError("a batch of results is neither true nor false; use result.reached.all() or .any()")
        return bool(self.reached)

    def __len__(self) -> int:
        if not self.shape:
            raise _SingleResultError("a single result has no length; a batch of results has")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Result:
        if not self.shape:
            raise _SingleResultError("a single result cannot be indexed; a batch of results can")
        try:
            rows: Ints = np.asarray(self._number_problems()[index])
        except (IndexError, TypeError, ValueError) as error:
            message = f"a batch of results of shape {self.shape} has none at {abbreviate(index)}"
            raise _NoSuchResultError(message) from error
        return self._select_rows(rows)

    def __iter__(self) -> Iterator[Result]:
        if not self.shape:
            raise _SingleResultError("a single result cannot be iterated; a batch of results can")
        return (self._select_rows(np.asarray(rows)) for rows in self._number_problems())

    def _number_problems(self) -> Ints:
        """Number the problems of the batch, in its shape."""
        return np.arange(math.prod(self.shape)).reshape(self.shape)

    def _select_rows(self, rows: Ints) -> Result:
        """Select problems of the batch by their flat indices. The new batch has the shape of `rows`."""
        batch_size, error_count, target_width = math.prod(self.shape), self.errors.shape[-1], self.targets.shape[-1]
        is_whole = batch_size == rows.size == 1
        reached = np.reshape(self.reached, batch_size)[rows]
        fields: dict[str, Any] = {
            "problem": self.problem.select_rows(rows.ravel() if rows.shape else int(rows)),
            "targets": np.broadcast_to(self.targets, (batch_size, target_width))[rows.ravel()],
            "q": _flatten_q(self)[rows],
            "errors": self.errors.reshape(batch_size, error_count)[rows],
            "reached": reached if rows.shape else bool(reached),
            "iterations": np.asarray(self.iterations.reshape(batch_size)[rows]),
            "joint_updates": np.asarray(self.joint_updates.reshape(batch_size)[rows]),
            "trace": self.trace if is_whole else None,
            "solutions_q": self.solutions_q if is_whole else None,
        }
        codes = self.__dict__.get("codes")
        if codes is not None:
            fields["codes"] = np.asarray(codes.reshape(batch_size)[rows])
        shared_names = ("solver", "natural", "moved_inside", "tolerances", "restrained")
        result = Result(fields | {name: getattr(self, name) for name in shared_names}, perf_counter())
        result.__dict__["seconds"] = self.seconds * rows.size / batch_size
        return result

    def __repr__(self) -> str:
        return f"Result({self})"

    _repr_html_ = late_binding.represent_as_html

    def plot(self, path: str | PathLike[str] = "solve.png", *, title: str = "") -> None:
        """Draw the pose before and after, with limits.

        Also draws the path of the tip and, with trace=True, the error; see poise.plot.

        Parameters
        ----------
        path
            The file, with suffix .png, .svg or .pdf.
        title
            A title above.

        Raises
        ------
        UnsupportedError
            Without Matplotlib, the extra `plot`.
        InputError
            For a batch.
        """
        late_binding.draw_result(path, self, title=title)

    def require(self) -> Self:
        """Return the result if every goal is met. Otherwise raise NotReachedError for the first missed target."""
        missed_rows = np.flatnonzero(~np.ravel(self.reached))
        if len(missed_rows):
            label = f"target {missed_rows[0]}: " if self.shape else ""
            raise NotReachedError(label + self.message(int(missed_rows[0])))
        return self

    def message(self, i: int = 0) -> str:
        """Describe the outcome of the solve in one sentence.

        The sentence contains the errors and the reason for a missed goal.

        Parameters
        ----------
        i
            Index of a problem in the batch.
        """
        i = self._check_index(i, "message()")
        if self.q.ndim == 1:
            q, errors, target, iteration_count = self.q.reshape(1, -1), self.errors, self.targets, int(self.iterations)
            problem = self.problem
        else:
            q = _flatten_q(self)[i : i + 1]
            errors = self.errors.reshape(math.prod(self.shape), len(self.problem.measures))[i]
            target = self.targets[min(i, len(self.targets) - 1)][None]
            iteration_count = int(self.iterations.ravel()[i])
            problem = self.problem.select_rows(slice(i, i + 1))
        status = self._find_status(i)
        shown_q, is_missed = q, status != Status.reached
        frame_motion = self.pace
        restraints: tuple[str, ...] = ()
        if status == Status.held_back:
            restraints = find_restraints(self.restrained, problem, target, self.tolerances)[0]
        elif frame_motion is not None and is_missed:
            q, restraints = frame_motion.solved_q[None], frame_motion.list_restraints(self.q)
        loop_text = format_open_loops(problem, shown_q) if problem.skeleton.loops else ""
        outside_text = (
            format_joints_outside(problem.skeleton, shown_q[0])
            if frame_motion is not None and frame_motion.starts_outside_limits
            else ""
        )
        pose_message = f"{outside_text}; {loop_text}" if outside_text and loop_text else outside_text or loop_text
        return format_outcome(
            SolveOutcome(problem, q, target, errors, status, iteration_count, self.tolerances, restraints, pose_message)
        )

    def _find_status(self, i: int) -> Status:
        """Find the status of one problem, without the others'."""
        if self.reached is True:
            return Status.reached
        known_codes = self.__dict__.get("codes")
        code = _compute_codes_of_rows(self, np.array([i]))[0] if known_codes is None else known_codes.ravel()[i]
        return Status(int(code))

    def _check_index(self, i: Any, caller: str) -> int:
        """Check the index of a problem in the batch."""
        batch_size = math.prod(self.shape)
        if type(i) is int and 0 <= i < batch_size:
            return i
        if isinstance(i, bool) or not isinstance(i, int | np.integer) or not 0 <= i < batch_size:
            raise InputError(f"{caller} takes the number of a problem, 0 to {batch_size - 1}, not {abbreviate(i)}")
        return int(i)

    def open_loops(self, i: int = 0) -> tuple[OpenLoop, ...]:
        """List the closed loops left open by a pose.

        A loop is open by a gap of more than 1e-9 file units or rad, whatever the tolerance of the goals. A gap of the
        file itself at rest is added if it is only rounding (1e-4 of the rig size, 1e-4 rad).

        Parameters
        ----------
        i
            Index of a problem in the batch.

        Returns
        -------
        tuple of OpenLoop
            The name, the two joints, and the distance [file units] and angle [rad] of each gap.
        """
        i = self._check_index(i, "open_loops()")
        judged = judge_gaps(self.problem.select_rows(slice(i, i + 1)), _flatten_q(self)[i : i + 1])
        loops, (distances, angles) = self.problem.skeleton.loops, judged.gaps
        return tuple([
            OpenLoop(loops[j].name, loops[j].joints, float(distances[0, j]), float(angles[0, j]))
            for j in np.flatnonzero(judged.is_open[0]).tolist()
        ])  # fmt: skip

    def __str__(self) -> str:
        if self.shape:
            target_count, reached_count = math.prod(self.shape), int(np.sum(self.reached))
            time_text = format_time(self.seconds / max(target_count, 1))
            return (
                f"{reached_count} of {target_count} reached, {time_text} each "
                f"({self._solver_label}){self._format_soft_cost()}"
            )
        return f"{self.message()}, {format_time(self.seconds)} ({self._solver_label}){self._format_soft_cost()}"

    @property
    def _solver_label(self) -> str:
        return f"natural, {self.solver}" if self.natural else self.solver

    def _format_soft_cost(self) -> str:
        """Format the cost of soft limits. "" without soft limits."""
        if not any(is_soft(limit) for limit in self.problem.skeleton.limits):
            return ""
        mean = " on average" if self.shape else ""
        cost = float(np.mean(self.cost)) if math.prod(self.shape) else 0.0
        return f"; soft limits cost {format_number(cost, 3)}{mean}"

    def length(self, value: float) -> str:
        """Format a length. It is written in mm or m where the unit is known, else as a bare number in file units."""
        return format_length(self.problem.skeleton, check_real(value, "a length"))


SingleResult: TypeAlias = Result[bool, float, Status]
"""Type of the result of a single problem, for annotations."""
BatchResult: TypeAlias = Result[Bools, Floats, Statuses]
"""Type of the result of a batch, for annotations."""


def _compute_codes(result: Result) -> Ints:
    """Compute the status codes (...) of all targets."""
    return _compute_codes_of_rows(result, np.arange(math.prod(result.shape))).reshape(result.shape)


def _compute_codes_of_rows(result: Result, rows: Ints) -> Ints:
    """Compute the status codes of some targets. Searches for reasons run for these only."""
    codes = np.full(math.prod(result.shape), int(Status.reached))
    missed_rows = rows[~np.ravel(result.reached)[rows]]
    frame_motion = result.pace
    q = _flatten_q(result) if frame_motion is None else frame_motion.solved_q[None]
    full_problem = result.problem
    if full_problem.skeleton.loops and len(missed_rows):
        is_met = full_problem.is_met(result.errors.reshape(len(codes), -1)[missed_rows], result.tolerances)
        is_met &= ~has_closed_loops(full_problem.select_rows(missed_rows), _flatten_q(result)[missed_rows])
        codes[missed_rows[is_met]], missed_rows = Status.loops_open, missed_rows[~is_met]
    if frame_motion is not None and len(missed_rows):
        errors = np.stack(
            [result.errors, full_problem.compute_errors(q, result.targets)[0]]
        )  # of the shown and the solved pose
        if full_problem.is_met(errors, result.tolerances).any():
            codes[missed_rows], missed_rows = Status.on_the_way, missed_rows[:0]
    missed_rows = missed_rows[~_find_held_back(result, missed_rows, codes)]
    problem, targets = full_problem, result.targets
    required_goals = find_required_goals(problem) if problem.has_optional_goals else None
    if required_goals is not None:
        problem, targets = required_goals.problem, targets[:, required_goals.target_columns]
    for group_rows in _group_by_plan(problem, missed_rows):
        group_targets = targets if len(targets) == 1 else targets[group_rows]
        solve_iterations = np.ravel(result.iterations)[group_rows]
        codes[group_rows] = find_status(
            problem.select_rows(group_rows), q[group_rows], group_targets, result.tolerances, solve_iterations
        )
    if frame_motion is not None and codes[0] == Status.stalled and frame_motion.list_restraints(result.q):
        codes[0] = Status.on_the_way
    return codes[rows]


def _find_held_back(result: Result, missed_rows: Ints, codes: Ints) -> Bools:
    """Find missed targets within reach of the solver without its restraints. It writes their codes."""
    if result.restrained is None:
        return np.zeros(len(missed_rows), dtype=np.bool_)
    for group_rows in _group_by_plan(result.problem, missed_rows):
        group_targets = result.targets if len(result.targets) == 1 else result.targets[group_rows]
        restraints_by_row = find_restraints(
            result.restrained, result.problem.select_rows(group_rows), group_targets, result.tolerances
        )
        codes[group_rows[[bool(names) for names in restraints_by_row]]] = Status.held_back
    return codes[missed_rows] == Status.held_back


def _group_by_plan(problem: Problem, rows: Ints) -> list[Ints]:
    """Group batch rows by shared plan. A single start gives one group."""
    if not len(rows):
        return []
    groups = problem.select_rows(rows).group_starts(by_inputs=True)
    return [rows] if groups is None else [rows[group] for group in groups]


def _flatten_q(result: Result) -> Floats:
    """Flatten q to (k, nq). nq may be 0."""
    return result.q.reshape(math.prod(result.shape), result.q.shape[-1])


def _rebuild_goals(result: Result) -> tuple[Goal, ...]:
    """Rebuild the goals with their requested targets."""
    goals: list[Goal] = []
    column = 0
    for goal in result.problem.goals:
        target_width = sum(
            TARGET_SIZES[MEASURE_KINDS[measure]] for measure in goal.measures
        )  # a Pin has numbers but no target
        goal_rows = result.targets[:, column : column + target_width]
        goals.append(goal.with_target(goal_rows.reshape(*result.shape, target_width)) if goal.width else goal)
        column += target_width
    return tuple(goals)


_RESULT_FIELDS = frozenset({
    "problem", "targets", "errors", "iterations", "joint_updates", "solver", "natural", "moved_inside", "trace",
    "solutions_q", "tolerances", "restrained",
})  # fmt: skip
_LAZY_FIELDS: dict[str, Callable[[Result], Any]] = {
    "codes": _compute_codes,
    "violation": lambda result: compute_max_violation(result.problem.skeleton, _flatten_q(result)),
    "goals": _rebuild_goals,
}
