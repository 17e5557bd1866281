"""Solve problems: solve(), prepare() and Prepared.

A Prepared holds a problem packed once and takes one target after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from poise import solvers
from poise.errors import InputError
from poise.maths.arguments import function
from poise.maths.arrays import Floats, finite
from poise.maths.options import whole_number
from poise.model.pose import Pose
from poise.problem.goals import is_of_joint
from poise.problem.layout import NUMBERS
from poise.problem.preference import preferred_shape
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.contract import Request
from poise.solving.judge import can_start, legal_start
from poise.solving.quick import reach, room_for
from poise.solving.result import Result
from poise.solving.run import Settings, run
from poise.solving.single import Single
from poise.solving.targets import of_matrix, parsed, plain_of, plain_row

_ARRAY, _FLOAT = np.ndarray, np.dtype(np.float64)
_NONE = (-1,)


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

    def __init__(self, problem: Problem, single: Single, moved_inside: tuple[str, ...]) -> None:
        self.problem = problem
        self.single = single
        self.moved_inside = moved_inside
        self._room = room_for(problem.start.q)
        self._quick = single.quick(problem)
        self._told = single.reached, problem, moved_inside
        self._plain = plain_of(problem)
        self._shape = self._plain.widths if len(self._plain.widths) == 1 == len(problem.goals) else _NONE

    def __reduce__(self) -> tuple[Any, ...]:
        return Prepared, (self.problem, self.single, self.moved_inside)

    def __repr__(self) -> str:
        joints = ", ".join(repr(goal.joint) for goal in self.problem.goals if is_of_joint(goal))
        return f"Prepared({self.solver.name}, targets of {joints or 'no joint'})"

    @property
    def solver(self) -> solvers.Solver:
        """The solver of the problem."""
        return self.single.solver

    @property
    def tolerance(self) -> Tolerance:
        """The largest errors of a met goal."""
        return self.single.tolerance

    @property
    def settings(self) -> Settings:
        """The solve settings."""
        return self.single.settings

    def refuse(self) -> Self:
        """Raise for an unsupported problem before any target. It solves for an empty batch and returns itself."""
        problem, settings = self.problem, self.settings
        if self._quick is None:
            nothing = np.zeros((0, sum(NUMBERS[measure.kind] for measure in problem.measures)))
            solvers.check(self.solver, problem, Request(settings.prefer, settings.seeds))
            self.solver.run(problem, nothing, self.tolerance, Request())
        return self

    @property
    def quick(self) -> bool:
        """Whether single targets from any start take the fast path. The path is kernels/arm/reach.py."""
        return self._quick is not None and self._quick.anywhere

    def __call__(self, target: Any, start: ArrayLike | None = None) -> Result:
        """Solve for a target. The start is the prepared pose or the configuration `start` (nq,)."""
        began = perf_counter()
        quick = self._quick
        if (
            quick is not None
            and type(target) is _ARRAY
            and target.dtype is _FLOAT
            and (start is None or quick.anywhere)
        ):
            # A copy: the caller may write to the array before the lazy fields are computed.
            row = target[None].copy() if target.shape == self._shape else of_matrix(target, *self._shape)
            if row is not None:
                room, told = (self._room.copy(), self._told) if start is None else self._from(start)
                found = reach(quick, self.problem, row, room, told, began)
                if found is not None:
                    return found
        problem, moved_inside = (self.problem, self.moved_inside) if start is None else self._at(start)
        row = plain_row(self._plain, target)
        if row is not None:
            return self.single.solve(problem, row, moved_inside, began)
        rows = parsed(self.problem.goals, target)
        shape = _shape_of(problem, rows)
        problem = problem.spread(shape)
        targets = problem.target_rows(rows, shape)
        if not shape:
            return self.single.solve(problem, targets, moved_inside, began)
        request = self.settings.request(len(targets))
        return run(problem, targets, self.solver, self.tolerance, request, shape, moved_inside, began)

    def short(self, row: Floats, q: Floats, began: float) -> Result | None:
        """Solve a target row (1, W) by the fast path.

        It starts from q (nq,). Returns None where the fast path does not apply.
        """
        if self._quick is None or not self._quick.anywhere:
            return None
        return reach(self._quick, self.problem, row, *self._from(q), began)

    def _from(self, start: ArrayLike) -> tuple[Floats, tuple[Any, ...]]:
        """Pack a caller's start for the fast path. Also returns the source of the remaining Result fields."""
        q = self._checked(start)
        return room_for(q), (self._reached_from, q)

    def _reached_from(self, q: Floats, targets: Floats, found: tuple[Any, ...]) -> dict[str, Any]:
        """Build the Result fields of a legal start."""
        return self.single.reached(self.problem.at(self.problem.start.with_q(q)), (), targets, found)

    def _checked(self, start: ArrayLike) -> Floats:
        """Check a start configuration and return a copy."""
        q = np.array(
            start if type(start) is _ARRAY and start.dtype is _FLOAT else finite(start, "the start"), dtype=_FLOAT
        )
        if q.shape != self.single.shape[1:]:
            raise InputError(
                f"the start of a prepared problem is one configuration of {self.single.shape[1]} numbers, not {q.shape}"
            )
        return q

    def _at(self, start: ArrayLike) -> tuple[Problem, tuple[str, ...]]:
        """Move the problem to another start, clamped to its limits. Also returns the names of the clamped joints."""
        q = self._checked(start)
        if self.single.anywhere and can_start(self.problem.skeleton, q):
            return self.problem.moved(Pose.unchecked(self.problem.skeleton, q, None, None)), ()
        pose, moved_inside = legal_start(self.problem.start.with_q(q))
        return self.problem.at(pose), moved_inside

    def stream(
        self, targets: Any, *, chunk: int = 65_536, progress: Callable[[int], None] | None = None
    ) -> Iterator[Result]:
        """Solve any number of targets in chunks. The goal must be a single one; memory use stays constant.

        Parameters
        ----------
        targets
            Rows as the goal takes them: an array (also a memory-mapped one), or an iterable of such arrays.
        chunk
            Number of targets solved at a time.
        progress
            A function called with the number of targets done since the last call.

        Yields
        ------
        Result
            One for each chunk, in order. Together they are the result of one call with all targets.
        """
        chunk = whole_number(chunk, "chunk")
        if chunk < 1:
            raise InputError(f"chunk must be at least 1, not {chunk}")
        if progress is not None:
            function(progress, "progress")
        for part in _chunks(targets, chunk):
            result = self(np.asarray(part))
            if not result.shape:
                raise InputError("stream() takes arrays of targets, one axis more than a single target has")
            if progress is not None:
                progress(len(part))
            yield result


def _shape_of(problem: Problem, rows: list[Floats]) -> tuple[int, ...]:
    """Find the batch axes of targets and preferred poses. Near supplies the preferred poses."""
    shapes, preferred = [row.shape[:-1] for row in rows], preferred_shape(problem.goals)
    try:
        return np.broadcast_shapes(preferred, *shapes)
    except ValueError as error:
        what = shapes[0] if len(shapes) == 1 else shapes
        near = f", nor with a batch of {preferred} poses that Near prefers" if preferred else ""
        raise InputError(f"targets of shape {what} do not go together{near}") from error


def _chunks(targets: Any, chunk: int) -> Iterator[Any]:
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
    for part in targets:
        yield from _chunks(np.asarray(part), chunk)
