"""Track moving targets, with damping and speed limits.

The motion towards a new configuration does not depend on the frame rate.

Each joint's distance d to its goal decreases at the rate min(speed, d ln 2 / half-life). The closed-form solution is a
straight line down to the distance at which both rates are equal, then an exponential, so that two steps of half the
time equal one step of the whole time. kernels/speed_limited_motion.py computes the steps.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np

from poise import kernels, solvers
from poise.call_clock import count_seconds
from poise.calls.argument_checks import check_bool, check_count, check_type
from poise.errors import InputError
from poise.kernels.layout import (
    BALL,
    HINGE,
    HINGED_BALL,
    MOVE,
    SLIDE,
    SPEED_LIMIT_KIND,
    SPEED_LIMIT_Q_START,
    SPEED_LIMIT_ROW,
)
from poise.maths.arrays import Floats, abbreviate, broadcast_shapes, check_real, prepare_for_kernel
from poise.model.clip import Clip, check_rate
from poise.model.pose import Pose, check_same_skeleton
from poise.model.skeleton import Kind, Skeleton
from poise.problem.feasibility import has_closed_loops
from poise.problem.goal_errors import compute_single_errors
from poise.problem.goals import Goal, Goals
from poise.problem.pose_preference import find_preferred_shape
from poise.problem.problem import Problem
from poise.runtime.result_cache import get_or_compute
from poise.solvers.base.interface import Request, get_final_solver, replace_final_solver
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solvers.natural.floor import FloorTerrain
from poise.solving.arguments import check_arguments, find_plain_shape, parse_targets, read_plain_row
from poise.solving.diagnosis import can_start, clamp_to_limits
from poise.solving.result import Result
from poise.solving.single_target import SingleTargetSolve
from poise.solving.solve import check_goals, choose_solver, prepare
from poise.solving.solve_settings import SolveSettings

_Q_WIDTH_BY_KIND = {HINGE: 1, SLIDE: 1, MOVE: 3, BALL: 4, HINGED_BALL: 4}  # columns of q for each part of a joint
_SPEED_COLUMN = 2  # column of the speed in rows of kernels/speed_limited_motion.py
_NO_RANGE, _NO_AXIS = (-np.inf, np.inf), (0.0, 0.0, 0.0)


class SpeedLimitedMotion:
    """Damped, speed-limited motion between two configurations.

    half_life   [s] in which the remaining distance halves; 0: at once
    speed       [rad/s] of rotating joints, [file units/s] of sliding or moving ones: a number, or by joint name; None
                is no limit
    is_instant  whether every goal is reached at once
    """

    def __init__(self, skeleton: Skeleton, half_life: Any, speed: Any) -> None:
        self.skeleton = skeleton
        self.half_life: float = check_real(half_life, "damping")
        if not 0 <= self.half_life < np.inf:
            raise InputError(f"damping is a half-life of 0 or more seconds, not {half_life!r}")
        speeds = _parse_speeds(skeleton, speed)
        self.is_instant: bool = not self.half_life and bool(np.isinf(speeds).all())
        self._rows = np.array(list(_build_rows(skeleton, speeds)), dtype=np.float64).reshape(-1, SPEED_LIMIT_ROW)

    @property
    def bound_names(self) -> tuple[str, ...]:
        """Names of the arguments limiting the motion."""
        return ("speed",) * bool(np.isfinite(self._rows[:, _SPEED_COLUMN]).any()) + ("damping",) * bool(self.half_life)

    def drop_bound(self, name: str) -> SpeedLimitedMotion:
        """Copy it without one of its `bound_names`."""
        rows, motion_copy = self._rows.copy(), copy(self)
        if name == "speed":
            rows[:, _SPEED_COLUMN] = np.inf
        half_life = 0.0 if name == "damping" else self.half_life
        is_instant = not half_life and bool(np.isinf(rows[:, _SPEED_COLUMN]).all())
        vars(motion_copy).update(_rows=rows, half_life=half_life, is_instant=is_instant)
        return motion_copy

    def __call__(self, q: Floats, goal: Floats, seconds: float) -> Floats:
        """Return the legal configuration (nq,) after `seconds` of motion. It lies between q and `goal`, both legal."""
        return clamp_to_limits(self.skeleton, self._advance(self._rows, q, goal, seconds))

    def return_from_outside(self, q: Floats, goal: Floats, seconds: float) -> Floats:
        """Move from an illegal q to a legal `goal`.

        Joints outside their limits return within their own bounds, so that the result (nq,) may still be outside.
        """
        legal_q, rows = self.skeleton.legal(q)[0], self._rows.copy()
        row_columns = [_find_columns(row) for row in rows]
        outside_parts = [
            i for i, part_columns in enumerate(row_columns) if (q[part_columns] != legal_q[part_columns]).any()
        ]
        for i in outside_parts:
            if rows[i, SPEED_LIMIT_KIND] == HINGED_BALL:  # an angle along its range would start inside
                rows[i, SPEED_LIMIT_KIND] = BALL
        advanced_q = self._advance(rows, q, goal, seconds)
        returned_q = clamp_to_limits(self.skeleton, advanced_q).copy()
        for i in outside_parts:
            returned_q[row_columns[i]] = advanced_q[row_columns[i]]
        return returned_q

    def _advance(self, rows: Floats, q: Floats, goal: Floats, seconds: float) -> Floats:
        advanced_q = np.empty(len(goal))
        kernels.speed_limited_motion.step_towards(
            rows, prepare_for_kernel(q), prepare_for_kernel(goal), float(seconds), self.half_life, advanced_q
        )
        return advanced_q


def _find_columns(row: Floats) -> slice:
    """Find the columns of q for a row of `_build_rows`."""
    start_column = int(row[SPEED_LIMIT_Q_START])
    return slice(start_column, start_column + _Q_WIDTH_BY_KIND[int(row[SPEED_LIMIT_KIND])])


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """Motion of one Tracker frame. The status and the message of its pose are derived from it.

    previous_q, solved_q  (nq,) the pose shown in the previous frame, and the latest one of the solver
    motion                how the shown pose moves from one to the other in `seconds`
    spent_budget          name of the budget used up before the goals were met, or ""
    starts_outside_limits whether the previous pose was outside its limits
    """

    previous_q: Floats
    solved_q: Floats
    motion: SpeedLimitedMotion
    seconds: float
    spent_budget: str = ""
    starts_outside_limits: bool = False

    def list_restraints(self, shown_q: Floats) -> tuple[str, ...]:
        """Name the bounds between the shown pose (nq,) and the goals."""
        budget_names = (self.spent_budget,) * bool(self.spent_budget)
        if np.array_equal(shown_q, self.solved_q):
            return budget_names
        bound_names = self.motion.bound_names
        q_without_bound = {name: self._compute_shown(self.motion.drop_bound(name)) for name in bound_names}
        binding_names = tuple(name for name, q in q_without_bound.items() if not np.array_equal(q, shown_q))
        return (*(binding_names or bound_names), *budget_names)

    def _compute_shown(self, motion: SpeedLimitedMotion) -> Floats:
        """Compute the pose (nq,) of this frame with another motion."""
        if self.starts_outside_limits:
            return motion.return_from_outside(self.previous_q, self.solved_q, self.seconds)
        return motion(self.previous_q, self.solved_q, self.seconds)


def _build_rows(skeleton: Skeleton, speeds: Floats) -> Iterator[tuple[float, ...]]:
    """Make a row for each independently moving joint part. Columns are SPEED_LIMIT_ of kernels/layout.py."""
    leaders = {coupling.leader for coupling in skeleton.couplings if coupling}
    hinges, ranges = skeleton.ball_hinges, skeleton.value_ranges
    hinge_ranges = dict(zip(hinges.joint_rows, zip(hinges.low, hinges.high, *hinges.axes.T, strict=True), strict=True))
    for joint_index, kind in enumerate(skeleton.kinds.tolist()):
        column, speed = int(skeleton.q_start[joint_index]), float(speeds[joint_index])
        if kind == Kind.FIXED or skeleton.couplings[joint_index] is not None:
            continue
        if kind in (Kind.HINGE, Kind.SLIDE):
            # A full turn of a leader moves its followers, so only joints without followers wrap.
            wraps = kind == Kind.HINGE and joint_index not in leaders
            yield (HINGE if wraps else SLIDE, column, speed, *ranges[column], *_NO_AXIS)
            continue
        if kind == Kind.FREE:
            yield (MOVE, column, speed, *_NO_RANGE, *_NO_AXIS)
        rotation_column = column + (3 if kind == Kind.FREE else 0)
        yield (
            (HINGED_BALL, rotation_column, speed, *hinge_ranges[joint_index])
            if joint_index in hinge_ranges
            else (BALL, rotation_column, speed, *_NO_RANGE, *_NO_AXIS)
        )


def _parse_speeds(skeleton: Skeleton, speed: Any) -> Floats:
    """Parse the speed limit of each joint (n,)."""
    if not isinstance(speed, Mapping):
        return np.full(len(skeleton), np.inf if speed is None else _parse_speed(speed, "speed"))
    speeds = np.full(len(skeleton), np.inf)
    for name, value in speed.items():
        speeds[skeleton.index(name)] = _parse_speed(value, f"the speed of {name!r}")
    return speeds


def _parse_speed(value: Any, label: str) -> float:
    number = check_real(value, label)
    if not number > 0:
        raise InputError(f"{label} must be above 0, not {value!r}")
    return number


# --- Follow moving targets frame by frame, without jumps -------------------------------------------------------------


_SETTINGS = SolveSettings()
_TRACKING_DAMPING = 3.0  # damping: bounds a step in a singular direction (full stretch) to 1 / (2 sqrt(3)) rad
_DEFAULT_MAX_ITERATIONS = 100  # iterations in a frame without a budget
_SLICE_ITERATIONS = 4  # iterations between two checks of the time budget
_MAX_ERROR_RATIO = 0.99  # ratio: a frame ends once a slice reduces the error by less
_NO_TARGET_BYTES = b""


class Tracker:
    """Follow moving targets, one call per frame. Each call takes a target and the time since the last frame.

    Parameters
    ----------
    start
        The first pose, a single one; it may be outside its limits, see the notes.
    goals
        As for `solve`; their targets are only examples.
    solver
        A solver given by name is tuned to stay near the last pose: no restarts, and more damping for
        levenberg_marquardt, so that knees and elbows do not flip. A value, such as poise.CCD(restarts=2), is used as
        it is.
    tolerance, angle_tolerance, free_root, natural, floor
        As for `solve`.
    iterations
        Maximum in one frame; the next frame continues from there. None: 100 for a solver given by name.
    microseconds
        Time for one frame instead: the solver runs a few iterations at a time until the time is used up (at least
        once). Results then depend on the machine: the one exception to "same call, same bits".
    restart
        Whether to begin at the first pose again, instead of the last, when the target has moved.
    damping
        [s] Half-life of the distance to the solved pose.
    speed
        Largest speed of a joint, turning [rad/s] or moving [file units/s]: a number for all, or by joint name.

    Notes
    -----
    Budgets count iterations; a closed form such as two_bone has none and is not limited by them. Natural poses count as
    one more iteration. With a pull below 1 all frames begin at the first pose, and each solve of a frame may take the
    iterations of the budget. With ccd on an arm of hinges an unreachable target may still flip a joint, because the
    best angle of a joint can lie at the other end of its range.

    Damping and speeds do not depend on the frame rate: while the target rests, two frames of dt / 2 give the same pose
    as one of dt. The shown pose keeps the limits, and the errors in the Result are those of the shown pose. Its status
    is `on_the_way` while speed, damping or a budget keep it from a pose that meets the goals.

    A start outside its limits is shown unchanged, and its joints move back inside at their speed and damping, or at
    once without either. Until then each Result names these joints in `moved_inside`, and `violation` is the amount by
    which the shown pose is still outside. Such a pose is never `reached`, but `on_the_way`. The solver starts from the
    nearest legal pose.

    Examples
    --------
    >>> follow = poise.Tracker(rig.rest, poise.Position("hand.L", [0, 0, 0]), speed=3.0)
    >>> result = follow(target, dt=1 / 60)
    """

    def __init__(
        self,
        start: Pose,
        goals: Goals,
        *,
        solver: str | solvers.Solver = "auto",
        tolerance: float | None = None,
        angle_tolerance: float | None = None,
        free_root: bool = False,
        natural: bool | None = None,
        floor: float | Literal["auto"] | FloorTerrain | None = None,
        iterations: int | None = None,
        microseconds: float | None = None,
        restart: bool = False,
        damping: float = 0.0,
        speed: float | Mapping[str, float] | None = None,
    ) -> None:
        check_arguments(start, solver, tolerance, angle_tolerance, free_root, natural)
        checked_goals, free_root = check_goals(goals), check_bool(free_root, "free_root")
        if find_preferred_shape(checked_goals):
            raise InputError(
                "a tracker solves one frame at a time: give Near a single pose, such as poses[0], not a batch of shape "
                f"{find_preferred_shape(checked_goals)}"
            )
        self.solver = choose_tracking_solver(
            solver, start, checked_goals, free_root=free_root, natural=natural, floor=floor
        )
        self._prepared = prepare(
            start,
            checked_goals,
            solver=self.solver,
            tolerance=tolerance,
            angle_tolerance=angle_tolerance,
            free_root=free_root,
        )
        self._motion = SpeedLimitedMotion(self.skeleton, damping, speed)
        self._first_q = np.array(start.on(self.skeleton).q)
        self.restart: bool = check_bool(restart, "restart")
        self.microseconds: float | None = _check_microseconds(microseconds, iterations)
        self.budget: int = _DEFAULT_MAX_ITERATIONS if iterations is None else check_count(iterations, "iterations")
        has_budget = iterations is not None or microseconds is not None
        self._budget_name = "iterations" if iterations is not None else "microseconds" if self.microseconds else ""
        self._uses_slices = "iterations" in _list_options(get_final_solver(self.solver)) and (
            has_budget or isinstance(solver, str)
        )
        self._uses_fast_path = self._prepared.has_fast_path and not has_budget
        self._plain_shape = find_plain_shape(self._prepared.problem)
        self.reset()

    @property
    def skeleton(self) -> Any:
        """The moved skeleton."""
        return self._prepared.problem.skeleton

    @property
    def pose(self) -> Pose:
        """The pose shown now."""
        return self._prepared.problem.start.with_q(self._shown_q)

    @property
    def solved(self) -> Pose:
        """The latest solver pose. The shown pose moves towards it."""
        return self._prepared.problem.start.with_q(self._solved_q)

    @property
    def iterations(self) -> int:
        """Iterations since the target moved last."""
        return self._earlier_iterations + (0 if self._last_result is None else int(self._last_result.iterations))

    def __repr__(self) -> str:
        budget = f"{self.budget} iterations"
        if self.microseconds is not None:
            budget = f"{self.microseconds:g} us, results depend on the machine"
        return f"Tracker({self.solver.name}, at most {budget} a frame)"

    def reset(self, pose: Pose | None = None) -> None:
        """Restart from the first pose or another pose.

        The pose may be outside its limits. A Pin then holds its joint at its position in that pose, or in the nearest
        legal one.
        """
        start = self._prepared.problem.start
        if pose is not None:
            check_type(pose, Pose, "what reset() takes")
            if pose.shape:
                raise InputError(f"reset() takes a single pose of the tracker's skeleton, not a batch {pose.shape}")
            check_same_skeleton(start.skeleton, pose.skeleton, "the argument of reset()")
            pose = pose.on(start.skeleton)
        q = self._first_q if pose is None else np.array(pose.q)
        self._first_legal_q, self._joints_outside = start.skeleton.legal(q)
        self._solved_q, self._shown_q = self._first_legal_q, q
        # a Pin holds its joint at its position in this problem
        self._start_problem = self._prepared.problem.with_start(start.with_q(self._first_legal_q))
        # what natural poses leave alone keeps its direction from there, whatever frames came before
        self._frame_problem = self._prepared.problem.with_origin(self._start_problem.start)
        self._last_result: Result | None = None
        self._spent_budget = ""  # the name of the budget used up by the last frame
        self._target_bytes, self._earlier_iterations = _NO_TARGET_BYTES, 0

    def __call__(self, target: Any, dt: float = 1 / 60) -> Result:
        """Follow the target for one frame of dt seconds. `target` takes the same forms as for a prepared problem.

        The Result is that of the shown pose. `seconds` and `iterations` are those of the frame.
        """
        start_time = perf_counter()
        seconds = dt if type(dt) is float else check_real(dt, "dt")
        if not 0 <= seconds < math.inf:
            raise InputError(f"dt is the time since the last frame, 0 or more seconds, not {abbreviate(dt)}")
        targets = self._parse_target(target)
        self._set_target(targets.tobytes())
        self._spent_budget = ""
        fast_result = (
            self._prepared.solve_row_fast(targets, self._solved_q, start_time) if self._uses_fast_path else None
        )
        result = self._solve(targets) if fast_result is None else fast_result
        self._last_result, self._solved_q = result, result.q
        if self._joints_outside:
            return self._step_from_outside(result, targets, seconds, start_time)
        if self._motion.is_instant:
            self._shown_q = self._solved_q
            return result
        frame_motion = FrameMotion(self._shown_q, self._solved_q, self._motion, seconds, self._spent_budget)
        self._shown_q = self._motion(self._shown_q, self._solved_q, seconds)
        return self._measure_result(result, self._shown_q, targets, start_time, pace=frame_motion)

    def _step_from_outside(self, result: Result, targets: Floats, seconds: float, start_time: float) -> Result:
        """Make a frame from a pose outside its limits. The Result names those joints."""
        outside_names, is_instant = self._joints_outside, self._motion.is_instant
        frame_motion = FrameMotion(
            self._shown_q, self._solved_q, self._motion, seconds, self._spent_budget, starts_outside_limits=True
        )
        self._shown_q = (
            self._solved_q if is_instant else self._motion.return_from_outside(self._shown_q, self._solved_q, seconds)
        )
        self._joints_outside = self.skeleton.legal(self._shown_q)[1]
        return self._measure_result(
            result, self._shown_q, targets, start_time, moved_inside=outside_names, pace=frame_motion
        )

    def clip(self, targets: Any, fps: float = 60.0, name: str = "") -> Clip:
        """Follow a path of targets and return a Clip. It holds the poses that were shown.

        Parameters
        ----------
        targets
            Targets with one more leading axis, an entry for each frame.
        fps
            Frames per second of the path, and of the clip.
        name
            Name of the clip.
        """
        frame_rate = check_rate(fps)
        rows = parse_targets(self._prepared.problem.goals, targets)
        frame_shape = broadcast_shapes("targets", *(row.shape[:-1] for row in rows))
        if len(frame_shape) != 1:
            raise InputError(f"clip() takes targets with one leading axis, a target for each frame, not {frame_shape}")
        rows = [np.broadcast_to(row, (*frame_shape, row.shape[-1])) for row in rows]
        shown_q: list[Floats] = [np.zeros((0, self.skeleton.nq))]
        for i in range(frame_shape[0]):
            self([row[i] for row in rows] if len(rows) > 1 else rows[0][i].copy(), 1 / frame_rate)
            shown_q.append(self._shown_q[None])
        return Clip.at_rate(self._prepared.problem.make_pose(np.concatenate(shown_q)), fps, name)

    def _parse_target(self, target: Any) -> Floats:
        """Parse the target into a row (1, W)."""
        row = read_plain_row(self._plain_shape, target)
        if row is not None:
            return row
        rows = parse_targets(self._start_problem.goals, target)  # raises the error of an invalid target
        if any(row.ndim > 1 for row in rows):
            raise InputError("a tracker takes one target at a time; clip() takes one for each frame")
        return self._start_problem.build_target_rows(rows, ())

    def _set_target(self, target_bytes: bytes) -> None:
        """Set the target and reset the counters if it changed."""
        if target_bytes == self._target_bytes:
            self._earlier_iterations = self.iterations
            return
        self._target_bytes, self._earlier_iterations, self._last_result = target_bytes, 0, None
        if self.restart:
            self._solved_q = self._first_legal_q

    def _solve(self, targets: Floats) -> Result:
        """Solve in steps within the budget.

        It continues from the last pose while the budget lasts and the error decreases.
        """
        start_time = perf_counter()
        best_result = self._run_solver(targets, self._solved_q, self.budget)
        if best_result.reached:
            return best_result
        used_iterations, joint_updates = int(best_result.iterations), int(best_result.joint_updates)
        # with pulls every run begins at the first pose, so a second one gets no further
        continues = self._uses_slices and not self._prepared.problem.has_pulls
        while not best_result.reached and continues and not self._is_spent(used_iterations, start_time):
            next_result = self._run_solver(targets, best_result.q, self.budget - used_iterations)
            used_iterations, joint_updates = (
                used_iterations + int(next_result.iterations),
                joint_updates + int(next_result.joint_updates),
            )
            is_converging = self._compute_error(next_result) < self._compute_error(best_result) * _MAX_ERROR_RATIO
            best_result = (
                next_result if self._compute_error(next_result) < self._compute_error(best_result) else best_result
            )
            if not is_converging:
                break
        else:
            self._spent_budget = "" if best_result.reached else self._budget_name
        changes: dict[str, Any] = {"iterations": np.array(used_iterations), "joint_updates": np.array(joint_updates)}
        if self._spent_budget:
            changes["pace"] = FrameMotion(best_result.q, best_result.q, self._motion, 0.0, self._spent_budget)
        return best_result.with_pose(
            best_result.q, best_result.errors, start_time, reached=bool(best_result.reached), **changes
        )

    def _run_solver(self, targets: Floats, q: Floats, iterations: int) -> Result:
        """Run the solver once from q."""
        problem = _move_start(self._frame_problem, q)
        if self.microseconds is not None and not problem.has_pulls:
            iterations = _SLICE_ITERATIONS
        single = get_or_compute(
            self, "singles", iterations if self._uses_slices else None, lambda: self._bind_solver(problem, iterations)
        )
        return single.solve(problem, targets.copy(), (), perf_counter())

    def _bind_solver(self, problem: Problem, iterations: int) -> SingleTargetSolve:
        """Bind the solver and its iterations to the kind of problem."""
        solver = self.solver
        if self._uses_slices:
            final_solver: Any = get_final_solver(solver)
            if final_solver.iterations is not None:  # None: the solver has no limit of its own
                iterations = min(iterations, final_solver.iterations)
            solver = replace_final_solver(solver, dataclasses.replace(final_solver, iterations=iterations))
        return SingleTargetSolve(problem, solver, self._prepared.tolerance, _SETTINGS, Request())

    def _is_spent(self, used_iterations: int, start_time: float) -> bool:
        if self.microseconds is not None:
            return count_seconds(start_time) * 1e6 >= self.microseconds
        return used_iterations >= self.budget

    def _compute_error(self, result: Result) -> float:
        """Compute the error of all goals, in tolerances."""
        max_errors = self._prepared.problem.compute_max_errors(self._prepared.tolerance)
        return float(np.sqrt(((result.errors / np.where(max_errors > 0, max_errors, 1.0)) ** 2).sum()))

    def _measure_result(self, result: Result, q: Floats, targets: Floats, start_time: float, **changes: Any) -> Result:
        """Make the Result of another pose for the same target. It is measured like every other."""
        problem, tolerance = self._prepared.problem, self._prepared.tolerance
        error_paths = problem.error_paths
        if error_paths is None:
            errors = problem.compute_errors(q[None], targets)[0]
            is_reached = bool(problem.is_met(errors, tolerance))
        else:
            errors, is_reached = compute_single_errors(error_paths, problem.compute_max_errors(tolerance), q, targets)
        if problem.skeleton.loops:
            is_reached = is_reached and bool(has_closed_loops(problem, q[None])[0])
        is_reached = is_reached and not self._joints_outside
        return result.with_pose(q, errors, start_time, reached=is_reached, **changes)


def choose_tracking_solver(
    solver: str | solvers.Solver, start: Pose, goals: tuple[Goal, ...], *, free_root: bool = False,
    natural: bool | None = None, floor: Any = None,
) -> solvers.Solver:  # fmt: skip
    """Choose the solver of a tracker. A solver given by name is tuned to stay near its start pose."""
    chosen_solver: Any = choose_solver(solver, start, goals, free_root=free_root, natural=natural, floor=floor)
    if not isinstance(solver, str):
        return chosen_solver
    from_first = any(getattr(goal, "pull", 1.0) < 1.0 for goal in goals)
    return replace_final_solver(chosen_solver, _tune(get_final_solver(chosen_solver), from_first=from_first))


def _move_start(problem: Problem, q: Floats) -> Problem:
    """Move a problem to a legal start q (nq,)."""
    if can_start(problem.skeleton, np.array(q)):
        return problem.with_q(q)
    return problem.with_start(problem.start.with_q(q))


def _tune(solver: Any, *, from_first: bool) -> Any:
    """Tune one of Poise's own solvers to stay near its start.

    from_first  whether all frames begin at the first pose, and not at the last, where more damping would hold them back
    """
    if isinstance(solver, LevenbergMarquardt) and not from_first:
        return dataclasses.replace(solver, restarts=0, damping=_TRACKING_DAMPING)
    return dataclasses.replace(solver, restarts=0) if "restarts" in _list_options(solver) else solver


def _list_options(solver: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(solver)} if dataclasses.is_dataclass(solver) else set()


def _check_microseconds(value: Any, iterations: Any) -> float | None:
    """Check a time budget. Only one kind of budget may be given."""
    if value is None:
        return None
    if iterations is not None:
        raise InputError("give a budget in iterations or in microseconds, not both")
    number = check_real(value, "microseconds")
    if not 0 < number < math.inf:
        raise InputError(f"microseconds must be a finite time above 0, not {abbreviate(value)}")
    return number
