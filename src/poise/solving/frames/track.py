"""Follow moving targets frame by frame, without jumps."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from poise import solvers
from poise.errors import InputError
from poise.maths.arguments import require
from poise.maths.arrays import Floats, real, shared_shape, short
from poise.maths.options import count, truth
from poise.model.clip import Clip, checked_rate
from poise.model.pose import Pose
from poise.model.same import check_same
from poise.problem.goals import Goal
from poise.problem.loops import leave_loops_closed
from poise.problem.measuring.measure import errors_of_one
from poise.problem.preference import preferred_shape
from poise.solvers.base.contract import Request, engine_of, with_engine
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solving.checks import check_arguments
from poise.solving.frames.pace import Approach, Pace
from poise.solving.result import Result
from poise.solving.run import run
from poise.solving.solve import checked_goals, chosen_solver, prepare
from poise.solving.targets import parsed, plain_of, plain_row
from poise.timing.clock import count_seconds

_STEADY = 3.0  # damping: bounds a step in a singular direction (full stretch) to 1 / (2 sqrt(3)) rad
_ITERATIONS = 100  # iterations in a frame without a budget
_SLICE = 4  # iterations between two checks of the time budget
_GAIN = 0.99  # ratio: a frame ends once a slice reduces the error by less
_NEVER = b""


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
    tolerance, angle_tolerance, free_root, natural
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
    one more iteration. With ccd on an arm of hinges an unreachable target may still flip a joint, because the best
    angle of a joint can lie at the other end of its range.

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
        goals: Goal | Sequence[Goal],
        *,
        solver: str | solvers.Solver = "auto",
        tolerance: float | None = None,
        angle_tolerance: float | None = None,
        free_root: bool = False,
        natural: bool | None = None,
        iterations: int | None = None,
        microseconds: float | None = None,
        restart: bool = False,
        damping: float = 0.0,
        speed: float | Mapping[str, float] | None = None,
    ) -> None:
        check_arguments(start, solver, tolerance, angle_tolerance, free_root, natural)
        wanted, free_root = checked_goals(goals), truth("free_root", free_root)
        if preferred_shape(wanted):
            raise InputError(
                "a tracker solves one frame at a time: give Near a single pose, such as poses[0], not a batch of shape "
                f"{preferred_shape(wanted)}"
            )
        self.solver = steady(solver, start, wanted, free_root=free_root, natural=natural)
        self._prepared = prepare(
            start, wanted, solver=self.solver, tolerance=tolerance, angle_tolerance=angle_tolerance, free_root=free_root
        )
        self._approach = Approach(self.skeleton, damping, speed)
        self._given = np.array(start.on(self.skeleton).q)
        self.restart = truth("restart", restart)
        self.microseconds = _microseconds(microseconds, iterations)
        self.budget = _ITERATIONS if iterations is None else count("iterations", iterations)
        limited = iterations is not None or microseconds is not None
        self._budgeted = "iterations" if iterations is not None else "microseconds" if self.microseconds else ""
        self._in_slices = "iterations" in _options(engine_of(self.solver)) and (limited or isinstance(solver, str))
        self._quick = self._prepared.quick and not limited
        self._plain = plain_of(self._prepared.problem)
        self.reset()

    @property
    def skeleton(self) -> Any:
        """The moved skeleton."""
        return self._prepared.problem.skeleton

    @property
    def pose(self) -> Pose:
        """The pose shown now."""
        return self._prepared.problem.start.with_q(self._shown)

    @property
    def solved(self) -> Pose:
        """The latest solver pose. The shown pose moves towards it."""
        return self._prepared.problem.start.with_q(self._solved)

    @property
    def iterations(self) -> int:
        """Iterations since the target moved last."""
        return self._before + (0 if self._last is None else int(self._last.iterations))

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
            require(pose, Pose, "what reset() takes")
            if pose.shape:
                raise InputError(f"reset() takes a single pose of the tracker's skeleton, not a batch {pose.shape}")
            check_same(start.skeleton, pose.skeleton, "the argument of reset()")
            pose = pose.on(start.skeleton)
        given = self._given if pose is None else np.array(pose.q)
        self._first, self._outside = start.skeleton.legal(given)
        self._solved, self._shown = self._first, given
        # a Pin holds its joint at its position in this problem
        self._held = self._prepared.problem.at(start.with_q(self._first))
        self._last: Result | None = None
        self._spent = ""  # the name of the budget used up by the last frame
        self._aim, self._before = _NEVER, 0

    def __call__(self, target: Any, dt: float = 1 / 60) -> Result:
        """Follow the target for one frame of dt seconds. `target` takes the same forms as for a prepared problem.

        The Result is that of the shown pose. `seconds` and `iterations` are those of the frame.
        """
        began = perf_counter()
        seconds = dt if type(dt) is float else real(dt, "dt")
        if not 0 <= seconds < math.inf:
            raise InputError(f"dt is the time since the last frame, 0 or more seconds, not {short(dt)}")
        targets = self._read(target)
        self._turn_to(targets.tobytes())
        self._spent = ""
        found = self._prepared.short(targets, self._solved, began) if self._quick else None
        result = self._solve(targets) if found is None else found
        self._last, self._solved = result, result.q
        if self._outside:
            return self._returned(result, targets, seconds, began)
        if self._approach.instant:
            self._shown = self._solved
            return result
        pace = Pace(self._shown, self._solved, self._approach, seconds, self._spent)
        self._shown = self._approach(self._shown, self._solved, seconds)
        return self._judged(result, self._shown, targets, began, pace=pace)

    def _returned(self, result: Result, targets: Floats, seconds: float, began: float) -> Result:
        """Make a frame from a pose outside its limits. The Result names those joints."""
        names, instant = self._outside, self._approach.instant
        pace = Pace(self._shown, self._solved, self._approach, seconds, self._spent, is_outside=True)
        self._shown = self._solved if instant else self._approach.from_outside(self._shown, self._solved, seconds)
        self._outside = self.skeleton.legal(self._shown)[1]
        return self._judged(result, self._shown, targets, began, moved_inside=names, pace=pace)

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
        rate = checked_rate(fps)
        rows = parsed(self._prepared.problem.goals, targets)
        frames = shared_shape("targets", *(row.shape[:-1] for row in rows))
        if len(frames) != 1:
            raise InputError(f"clip() takes targets with one leading axis, a target for each frame, not {frames}")
        rows = [np.broadcast_to(row, (*frames, row.shape[-1])) for row in rows]
        poses: list[Floats] = [np.zeros((0, self.skeleton.nq))]
        for i in range(frames[0]):
            self([row[i] for row in rows] if len(rows) > 1 else rows[0][i].copy(), 1 / rate)
            poses.append(self._shown[None])
        return Clip.at_rate(self._prepared.problem.posed(np.concatenate(poses)), fps, name)

    def _read(self, target: Any) -> Floats:
        """Parse the target into a row (1, W)."""
        row = plain_row(self._plain, target)
        if row is not None:
            return row
        rows = parsed(self._held.goals, target)  # raises the error of an invalid target
        if any(row.ndim > 1 for row in rows):
            raise InputError("a tracker takes one target at a time; clip() takes one for each frame")
        return self._held.target_rows(rows, ())

    def _turn_to(self, aim: bytes) -> None:
        """Set the target and reset the counters if it changed."""
        if aim == self._aim:
            self._before = self.iterations
            return
        self._aim, self._before, self._last = aim, 0, None
        if self.restart:
            self._solved = self._first

    def _solve(self, targets: Floats) -> Result:
        """Solve in steps within the budget.

        It continues from the last pose while the budget lasts and the error decreases.
        """
        began = perf_counter()
        best = self._once(targets, self._solved, self.budget)
        used, updates = int(best.iterations), int(best.joint_updates)
        while not best.reached and self._in_slices and not self._is_spent(used, began):
            more = self._once(targets, best.q, self.budget - used)
            used, updates = used + int(more.iterations), updates + int(more.joint_updates)
            gains = self._left(more) < self._left(best) * _GAIN
            best = more if self._left(more) < self._left(best) else best
            if not gains:
                break
        else:
            self._spent = "" if best.reached else self._budgeted
        spent: dict[str, Any] = {"iterations": np.array(used), "joint_updates": np.array(updates)}
        if self._spent:
            spent["pace"] = Pace(best.q, best.q, self._approach, 0.0, self._spent)
        return best.shown(best.q, best.errors, began, reached=bool(best.reached), **spent)

    def _once(self, targets: Floats, q: Floats, most: int) -> Result:
        """Run the solver once from q."""
        prepared, solver = self._prepared, self.solver
        problem = prepared.problem.at(prepared.problem.start.with_q(q))
        if self._in_slices:
            own: int | None = engine_of(solver).iterations
            most = most if self.microseconds is None else _SLICE
            most = most if own is None else min(most, own)  # None: the solver has no limit of its own
            solver = with_engine(solver, dataclasses.replace(engine_of(solver), iterations=most))
        return run(problem, targets.copy(), solver, prepared.tolerance, Request(), (), (), perf_counter())

    def _is_spent(self, used: int, began: float) -> bool:
        if self.microseconds is not None:
            return count_seconds(began) * 1e6 >= self.microseconds
        return used >= self.budget

    def _left(self, result: Result) -> float:
        """Compute the error of all goals, in tolerances."""
        most = self._prepared.problem.allowed(self._prepared.tolerance)
        return float(np.sqrt(((result.errors / np.where(most > 0, most, 1.0)) ** 2).sum()))

    def _judged(self, found: Result, q: Floats, targets: Floats, began: float, **known: Any) -> Result:
        """Make the Result of another pose for the same target. It is measured like every other."""
        problem, tolerance = self._prepared.problem, self._prepared.tolerance
        paths = problem.paths
        if paths is None:
            errors = problem.errors(q[None], targets)[0]
            reached = bool(problem.met(errors, tolerance))
        else:
            errors, reached = errors_of_one(paths, problem.allowed(tolerance), q, targets)
        if problem.skeleton.loops:
            reached = reached and bool(leave_loops_closed(problem, q[None], tolerance)[0])
        reached = reached and not self._outside
        return found.shown(q, errors, began, reached=reached, **known)


def steady(
    solver: str | solvers.Solver, start: Pose, goals: tuple[Goal, ...], *, free_root: bool = False,
    natural: bool | None = None,
) -> solvers.Solver:  # fmt: skip
    """Choose the solver of a tracker. A solver given by name is tuned to stay near its start pose."""
    chosen: Any = chosen_solver(solver, start, goals, free_root=free_root, natural=natural)
    if not isinstance(solver, str):
        return chosen
    return with_engine(chosen, _calm(engine_of(chosen)))


def _calm(chosen: Any) -> Any:
    """Disable the restarts of one of Poise's own solvers."""
    if isinstance(chosen, LevenbergMarquardt):
        return dataclasses.replace(chosen, restarts=0, damping=_STEADY)
    return dataclasses.replace(chosen, restarts=0) if "restarts" in _options(chosen) else chosen


def _options(solver: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(solver)} if dataclasses.is_dataclass(solver) else set()


def _microseconds(value: Any, iterations: Any) -> float | None:
    """Check a time budget. Only one kind of budget may be given."""
    if value is None:
        return None
    if iterations is not None:
        raise InputError("give a budget in iterations or in microseconds, not both")
    number = real(value, "microseconds")
    if not 0 < number < math.inf:
        raise InputError(f"microseconds must be a finite time above 0, not {short(value)}")
    return number
