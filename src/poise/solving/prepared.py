"""A problem that is packed once, for targets that come one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from poise import kernels, solvers
from poise.errors import InputError
from poise.kernels.codes import REACH_HEAD, REACH_WORK
from poise.maths.arrays import Floats, Ints, finite
from poise.maths.lanes import aligned, lane_width
from poise.model.pose import Pose
from poise.model.skeleton import Kind
from poise.problem.arm import Arm, arm_of
from poise.problem.goals import Goal
from poise.problem.layout import NUMBERS
from poise.problem.measure import Paths, paths_of
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.engine import arm_settings
from poise.solvers.base.request import Prefer, Request
from poise.solvers.base.status import Status
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solving.judge import allowed, judge
from poise.solving.result import Answer, Result, facts
from poise.solving.run import request_of, run

_ARRAY, _FLOAT = np.ndarray, np.dtype(np.float64)
_SHAPES = {3: frozenset({(3,)}), 4: frozenset({(4,), (3, 3)}), 7: frozenset({(7,), (4, 4), (3, 4)})}
_later = Result.later


@dataclass(frozen=True)
class How:
    """How each target is solved; see solve()."""

    prefer: Prefer = "first"
    seeds: int | None = None
    threads: int | None = None

    def request(
        self,
        shape: tuple[int, ...],
        *,
        threads: int | None,
        trace: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Request:
        """The request for a batch of this shape."""
        return request_of(shape, prefer=self.prefer, seeds=self.seeds, threads=threads, trace=trace, progress=progress)


def _shape(goals: tuple[Goal, ...]) -> tuple[int, ...]:
    return np.broadcast_shapes(*(goal.shape for goal in goals))


class Prepared:
    """A packed problem, made by `prepare`: call it with a target.

    Notes
    -----
    The target of a single goal is what the goal itself takes: a point (..., 3), a quaternion (..., 4) or matrix (...,
    3, 3); for a Place a matrix (..., 4, 4) or (..., 3, 4), numbers (..., 7) or a tuple (position, rotation). Leading
    axes are a batch. For several goals: a sequence with one target for each goal that has one.
    """

    def __init__(
        self,
        problem: Problem,
        solver: solvers.Solver,
        tolerance: Tolerance,
        how: How,
        moved_inside: tuple[str, ...],
    ) -> None:
        self.problem = problem
        self.solver = solver
        self.tolerance = tolerance
        self.how = how
        self.moved_inside = moved_inside
        self._q = np.array(problem.start.q)
        self._shape = self._q.shape
        self._quick = _quick_of(problem, solver, tolerance) if how.prefer == "first" else None
        if self._quick is None:  # what cannot be done is said here, before any target
            nothing = np.zeros((0, sum(NUMBERS[measure.kind] for measure in problem.measures)))
            solvers.check(solver, problem, Request(how.prefer, how.seeds))
            solver.run(problem, nothing, tolerance, Request(how.prefer, how.seeds))

    @property
    def quick(self) -> bool:
        """Whether a single target, from any start, takes the short way through kernels/arm/reach.py."""
        return self._quick is not None and self._quick.anywhere

    def __call__(self, target: Any, start: ArrayLike | None = None) -> Result:
        """Solve for a target, from the pose that was prepared or from the configuration `start` (nq,)."""
        quick = self._quick
        if quick is not None and type(target) is _ARRAY and target.dtype is _FLOAT:
            began = perf_counter()
            solve, numbers, layout, shapes, anywhere = quick
            shape = target.shape
            if shape in shapes and (start is None or anywhere):
                if start is None:
                    q = self._q.copy()
                elif type(start) is _ARRAY and start.dtype is _FLOAT and start.shape == self._shape:
                    q = start.copy()
                else:
                    q = self._checked(start)
                flat = target.ravel().copy()  # the caller may write into theirs before the rest is asked for
                found = solve(numbers, layout, flat, q)
                if found[0] >= 0:  # else there is something to say about the target, or the start is not legal
                    later = (self if start is None else self._elsewhere, flat, shape, found)
                    own = {"q": q, "reached": found[0] == 1, "seconds": perf_counter() - began, "_later": later}
                    return _later(own)
        return self._slowly(target, start)

    def _checked(self, start: ArrayLike) -> Floats:
        """The configuration to start from, a copy."""
        q = np.array(start if type(start) is _ARRAY else finite(start, "the start"), dtype=_FLOAT)
        if q.shape != self._shape:
            raise InputError(
                f"the start of a prepared problem is one configuration of {len(self._q)} numbers, not {q.shape}"
            )
        return q

    @cached_property
    def _elsewhere(self) -> Prepared:
        """The same, for a start that did not have to be moved inside."""
        other = copy(self)
        other.moved_inside = ()
        return other

    def facts(self, q: Floats, flat: Floats, shape: tuple[int, ...], found: tuple[Any, ...]) -> dict[str, Any]:
        """What a Result of a single target holds besides, found when somebody asks."""
        target, (_, count, *errors) = flat.reshape(shape), found
        problem, measures = self.problem, len(self.problem.measures)
        targets = problem.goals[0].parse(target).reshape(1, -1)
        verdict = judge(problem, q[None], targets, self.tolerance)._replace(errors=np.array([errors[:measures]]))
        counts = np.array([count]), np.array([count * len(problem.joints)])
        answer = Answer(q[None], verdict.codes == Status.reached, *counts)
        goals = (problem.goals[0].with_target(target),)
        return facts(
            problem, goals, targets, answer, verdict, self.tolerance,
            solver=self.solver.name, shape=(), moved_inside=self.moved_inside,
        )  # fmt: skip

    def _slowly(self, target: Any, start: ArrayLike | None) -> Result:
        """The general way: any goals, any batch."""
        began = perf_counter()
        goals = with_targets(self.problem.goals, target)
        if start is None:
            return self.reach(goals, threads=self.how.threads, began=began)
        skeleton = self.problem.skeleton
        q, moved_inside = skeleton.legal(Pose(skeleton, self._checked(start)).q)
        return self._from(q, moved_inside).reach(goals, threads=self.how.threads, began=began)

    def _from(self, q: Floats, moved_inside: tuple[str, ...]) -> Prepared:
        """The same from another start. What cannot be done was said already: only the fast way is made anew."""
        problem = self.problem.starting_at(q)
        if self._quick is not None:
            return Prepared(problem, self.solver, self.tolerance, self.how, moved_inside)
        other = copy(self)
        other.problem, other.moved_inside = problem, moved_inside
        return other

    def reach(
        self,
        goals: tuple[Goal, ...],
        *,
        threads: int | None = None,
        trace: bool = False,
        progress: Callable[[int], None] | None = None,
        began: float | None = None,
    ) -> Result:
        """Solve for goals that differ from the prepared ones in their targets only."""
        began = perf_counter() if began is None else began
        shape = _shape(goals)
        if self._quick is not None and not shape and not trace:
            result = self(np.array(goals[0].rows()))
            if progress is not None:
                progress(1)
            return result
        request = self.how.request(shape, threads=threads, trace=trace, progress=progress)
        return run(self.problem, goals, self.solver, self.tolerance, request, shape, self.moved_inside, began)

    def stream(
        self, targets: Any, *, chunk: int = 65_536, progress: Callable[[int], None] | None = None
    ) -> Iterator[Result]:
        """Solve any number of targets of a single goal, `chunk` at a time, so that memory stays flat.

        Parameters
        ----------
        targets
            Rows as the goal takes them: an array (also a memory-mapped one), or an iterable of such arrays.
        chunk
            How many targets are solved at a time.
        progress
            A function that is called with the number of targets done since the last call.

        Yields
        ------
        Result
            One for each chunk, in order. Together they are the result of one call with all targets.
        """
        if chunk < 1:
            raise InputError(f"chunk must be at least 1, not {chunk}")
        for part in _chunks(targets, chunk):
            result = self._slowly(np.asarray(part), None)
            if not result.shape:
                raise InputError("stream() takes arrays of targets, one axis more than a single target has")
            if progress is not None:
                progress(len(part))
            yield result


def _chunks(targets: Any, chunk: int) -> Iterator[Any]:
    if hasattr(targets, "shape"):
        if len(targets.shape) < 2:  # noqa: PLR2004  (else slices of one target would be taken for targets)
            raise InputError(
                f"stream() takes arrays of targets, one axis more than a single target has; not {targets.shape}"
            )
        for first in range(0, len(targets), chunk):
            yield targets[first : first + chunk]
        return
    if not isinstance(targets, Iterable):
        raise InputError("stream() takes an array of targets or an iterable of arrays")
    for part in targets:
        yield from _chunks(np.asarray(part), chunk)


def with_targets(goals: tuple[Goal, ...], target: Any) -> tuple[Goal, ...]:
    """The goals with new targets: one for a single goal, else a sequence with one for each goal that has one."""
    aimed = [goal for goal in goals if goal.width]
    if len(aimed) == 1:
        return tuple(goal.with_target(target) if goal.width else goal for goal in goals)
    if not isinstance(target, list | tuple) or len(target) != len(aimed):
        names = ", ".join(repr(goal.joint) for goal in aimed)  # pyright: ignore[reportAttributeAccessIssue]
        raise InputError(f"give a list of {len(aimed)} targets, one for each of: {names}")
    given = iter(target)
    return tuple(goal.with_target(next(given)) if goal.width else goal for goal in goals)


class _Quick(NamedTuple):
    """The arguments of kernels/arm/reach.py that stay the same, and what they are good for.

    shapes    of a single target
    anywhere  whether they serve every start: no joint that keeps still stands on the way
    """

    solve: Callable[[Floats, Ints, Floats, Floats], tuple[int, int, float, float]]
    numbers: Floats
    layout: Ints
    shapes: frozenset[tuple[int, ...]]
    anywhere: bool


def _quick_of(problem: Problem, solver: solvers.Solver, tolerance: Tolerance) -> _Quick | None:
    """The fast way for a serial arm on a skeleton of hinges and slides, or None."""
    if not isinstance(solver, LevenbergMarquardt) or not problem.joints or problem.sheared:
        return None
    skeleton, tree = problem.skeleton, problem.tree
    arm, paths = arm_of(tree), paths_of(problem.start, problem.goals)
    if arm is None or paths is None or (skeleton.kinds >= Kind.BALL).any() or len(problem.goals) != 1:
        return None
    if (len(paths.used) + 7) * lane_width() > REACH_WORK or not problem.goals[0].width:
        return None
    ranges, q = skeleton.value_ranges, problem.start.q
    if not ((ranges[:, 0] <= q) & (q <= ranges[:, 1])).all() or not solver.iterations:
        return None  # the kernel takes no start that is outside by a rounding, and always iterates
    settings = arm_settings(arm, float(tree.unit[0]), tolerance, solver.options)
    parts = [
        arm.links, arm.seeds, arm.poses, settings, _base(problem), arm.gains, skeleton.value_ranges, paths.table,
        paths.asks, allowed(problem, tolerance),
    ]  # fmt: skip
    layout = _layout(problem, arm, paths)
    numbers = aligned(sum(-(-part.size // 8) * 8 for part in parts))
    at = 0
    for i, part in enumerate(parts):
        layout[6 + i] = at
        numbers[at : at + part.size] = part.ravel()
        at += -(-part.size // 8) * 8
    solve = kernels.arm.reach.reach8 if lane_width() == 8 else kernels.arm.reach.reach4  # noqa: PLR2004
    anywhere = set(paths.used.tolist()) <= {node.q_start for node in tree.layout.nodes}
    return _Quick(solve, numbers, layout, _SHAPES[problem.goals[0].width], anywhere)


def _base(problem: Problem) -> Floats:
    """Position and rotation of the base, and kernel units in one file unit."""
    tree = problem.tree
    turn = tree.turn_to_kernel
    back = np.array([1.0, 0.0, 0.0, 0.0]) if turn is None else turn[0] * np.array([1.0, -1.0, -1.0, -1.0])
    return np.concatenate([tree.bases[0, :, 3], back, 1.0 / (tree.scale * tree.size)])


def _layout(problem: Problem, arm: Arm, paths: Paths) -> Ints:
    """The head of the layout, and behind it the whole numbers."""
    columns = np.array([node.q_start for node in problem.tree.layout.nodes], dtype=np.int64)
    lists = [columns, paths.spans.ravel(), paths.used]
    layout = np.zeros(REACH_HEAD + sum(len(numbers) for numbers in lists), dtype=np.int64)
    layout[:6] = arm.size, len(arm.seeds), len(paths.table), len(paths.spans), len(paths.used), problem.skeleton.nq
    layout[19] = problem.goals[0].width
    at = REACH_HEAD
    for i, whole in enumerate(lists):
        layout[16 + i] = at
        layout[at : at + len(whole)] = whole
        at += len(whole)
    return layout
