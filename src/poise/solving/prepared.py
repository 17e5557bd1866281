"""A problem that is packed once, for targets that come one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import cached_property
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from poise import solvers
from poise.errors import InputError
from poise.maths.arrays import Floats, finite
from poise.problem.goals import Goal
from poise.problem.layout import NUMBERS
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.contract import Request
from poise.solving.judge import legal_start
from poise.solving.quick import quick_of, reach
from poise.solving.result import Result
from poise.solving.run import Settings, run

_ARRAY, _FLOAT = np.ndarray, np.dtype(np.float64)
_NONE: frozenset[tuple[int, ...]] = frozenset()
_SHAPES = {3: frozenset({(3,)}), 4: frozenset({(4,), (3, 3)}), 7: frozenset({(7,), (4, 4), (3, 4)})}


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
        settings: Settings,
        moved_inside: tuple[str, ...],
    ) -> None:
        self.problem = problem
        self.solver = solver
        self.tolerance = tolerance
        self.settings = settings
        self.moved_inside = moved_inside
        self._q = np.array(problem.start.q)
        aimed = [goal for goal in problem.goals if goal.width]
        self._shapes = _SHAPES.get(aimed[0].width, _NONE) if len(aimed) == 1 == len(problem.goals) else _NONE
        self._quick = quick_of(problem, solver, tolerance, settings)

    def refuse(self) -> Self:
        """Say what cannot be done, before any target, by solving for none; return the same."""
        problem, settings = self.problem, self.settings
        if self._quick is None:
            nothing = np.zeros((0, sum(NUMBERS[measure.kind] for measure in problem.measures)))
            solvers.check(self.solver, problem, Request(settings.prefer, settings.seeds))
            self.solver.run(problem, nothing, self.tolerance, Request(settings.prefer, settings.seeds))
        return self

    @property
    def quick(self) -> bool:
        """Whether a single target, from any start, takes the short way through kernels/arm/reach.py."""
        return self._quick is not None and self._quick.anywhere

    def __call__(self, target: Any, start: ArrayLike | None = None) -> Result:
        """Solve for a target, from the pose that was prepared or from the configuration `start` (nq,)."""
        began = perf_counter()
        quick = self._quick
        if type(target) is _ARRAY and target.dtype is _FLOAT and target.shape in self._shapes:
            if quick is not None and (start is None or quick.anywhere):
                q = self._q.copy() if start is None else self._checked(start)
                found = reach(quick, self if start is None else self._elsewhere, target, q, began)
                if found is not None:
                    return found
            maker = self if start is None else self._at(start)
            return maker.solve(self.problem.goals[0].parse(target).reshape(1, -1), began)
        rows = parsed(self.problem.goals, target)
        shape = np.broadcast_shapes(*(row.shape[:-1] for row in rows))
        maker = self if start is None else self._at(start)
        targets = maker.problem.target_rows(rows, shape)
        if not shape:
            return maker.solve(targets, began)
        request = self.settings.request(len(targets))
        return run(maker.problem, targets, self.solver, self.tolerance, request, shape, maker.moved_inside, began)

    def _checked(self, start: ArrayLike) -> Floats:
        """The configuration to start from, a copy."""
        q = np.array(start if type(start) is _ARRAY else finite(start, "the start"), dtype=_FLOAT)
        if q.shape != self._q.shape:
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

    def facts(self, flat: Floats, shape: tuple[int, ...], found: tuple[Any, ...]) -> dict[str, Any]:
        """What a Result of a single target holds besides, found when somebody asks."""
        _, count, *errors = found
        problem = self.problem
        return {
            "problem": problem,
            "targets": problem.goals[0].parse(flat.reshape(shape)).reshape(1, -1),
            "errors": np.array(errors[: len(problem.measures)]),
            "iterations": np.array(count),
            "joint_updates": np.array(count * len(problem.joints)),
            "solver": self.solver.name,
            "moved_inside": self.moved_inside,
            "trace": None,
            "solutions_q": None,
            "tolerances": self.tolerance,
        }

    def solve(self, targets: Floats, began: float, goals: tuple[Goal, ...] | None = None) -> Result:
        """Solve for one target (1, W), from the prepared pose."""
        if self._quick is not None:
            found = reach(self._quick, self, targets[0], np.array(self.problem.start.q), began)
            if found is not None:
                if self.settings.progress is not None:
                    self.settings.progress(1)
                return found
        request = self.settings.request(1)
        return run(self.problem, targets, self.solver, self.tolerance, request, (), self.moved_inside, began, goals)

    def _at(self, start: ArrayLike) -> Prepared:
        """The same from another start, moved inside its limits."""
        pose, moved_inside = legal_start(self.problem.start.with_q(self._checked(start)))
        problem = self.problem.at(pose)
        if self._quick is not None:
            return Prepared(problem, self.solver, self.tolerance, self.settings, moved_inside)
        other = copy(self)
        other.problem, other.moved_inside = problem, moved_inside
        return other

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
            result = self(np.asarray(part))
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


def parsed(goals: tuple[Goal, ...], target: Any) -> list[Floats]:
    """Targets as rows (..., width): one for a single goal, else a sequence with one for each goal that has one."""
    aimed = [goal for goal in goals if goal.width]
    if len(aimed) == 1:
        return [aimed[0].parse(target)]
    if not isinstance(target, list | tuple) or len(target) != len(aimed):
        names = ", ".join(repr(goal.joint) for goal in aimed)  # pyright: ignore[reportAttributeAccessIssue]
        raise InputError(f"give a list of {len(aimed)} targets, one for each of: {names}")
    return [goal.parse(one) for goal, one in zip(aimed, target, strict=True)]
