"""Protocol of a compared method, and Poise's own solvers.

`solve` is exactly the call of a user, and only it is timed; `pack_target` converts a target to its arguments, and
`read` makes a MethodOutput of its output. Other libraries (peers/) follow the same protocol.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from poise import solvers
from poise.comparison.trials.abilities import declared
from poise.comparison.trials.task import Task
from poise.maths.arrays import Bools, Floats
from poise.solvers.base.contract import Request
from poise.solvers.base.parameters import parameters, summary
from poise.solving.solve import prepare, solve


class Answered(NamedTuple):
    """Output of a method for one target.

    Holds q (nq,), whether the method claims to have met the target, and its iterations.

    None stands for a missing report. `seconds` is set only if the method has a clock of its own.
    """

    q: Floats
    claimed: bool | None = None
    iterations: int | None = None
    seconds: float | None = None


class Ready(Protocol):
    """Method prepared for a task."""

    def told(self, target: Floats, q: Floats | None) -> tuple[Any, ...]:
        """Convert a target (W,) and a start to arguments of `solve`.

        The start is q (nq,), or None for the task's start.
        """
        ...

    def solve(self, *told: Any) -> Any:
        """Solve for one target. This call is timed."""
        ...

    def read(self, raw: Any) -> Answered:
        """Read the output of `solve`."""
        ...

    def solve_many(self, rows: Floats) -> Floats | None:
        """Solve for targets (k, W) in one call. Returns q (k, nq), or None for a method without such a call."""
        ...

    def claims(self, rows: Floats, begins: Floats) -> Bools | None:
        """Return claims (k,) to have met targets (k, W).

        Starts are `begins` (k, nq). Only used where answers carry no claim.
        """
        ...

    def path_of(self, target: Floats) -> Floats | None:
        """Return the configurations (i, nq) of one solve.

        They are the start and those after each iteration; None where the method does not show them.
        """
        ...

    def close(self) -> None:
        """Release held resources."""
        ...


class Method(Protocol):
    """Compared method."""

    @property
    def name(self) -> str:
        """Name in tables, unique in a comparison."""
        ...

    @property
    def family(self) -> str:
        """Origin: "poise", or "peer" for another library."""
        ...

    @property
    def text(self) -> str:
        """One-line description."""
        ...

    @property
    def options(self) -> dict[str, str]:
        """Options with a value other than the default."""
        ...

    @property
    def does(self) -> dict[str, bool]:
        """Capabilities by name, as in `list_ability_groups`. Unknown ones are left out."""
        ...

    def ready(self, task: Task) -> Ready:
        """Prepare the method for a task. Raises UnsupportedError with the reason where it cannot do the task."""
        ...


class Own:
    """Solver of Poise, through prepare() and solve(). This is the call of a user, evaluation included."""

    family = "poise"

    def __init__(self, solver: solvers.Solver, name: str = "") -> None:
        """Take any value with the form of a solver."""
        self.solver = solver
        self.name = name or solver.name
        self.text = summary(type(solver))
        self.does = declared(solver.handles)

    @property
    def options(self) -> dict[str, str]:
        """Fields with a value other than the class default."""
        known = {parameter.name: parameter.default for parameter in parameters(type(self.solver))}
        given = {name: getattr(self.solver, name, default) for name, default in known.items()}
        return {name: str(value) for name, value in given.items() if value != known[name]}

    def ready(self, task: Task) -> Ready:
        """Prepare the problem."""
        return _OwnReady(self.solver, task)


class _OwnReady:
    def __init__(self, solver: solvers.Solver, task: Task) -> None:
        self.solver, self.task = solver, task
        self.how: dict[str, Any] = {
            "solver": solver, "tolerance": task.tolerance.distance, "angle_tolerance": task.tolerance.angle,
        }  # fmt: skip
        self.reach = prepare(task.start, task.goal, **self.how)

    def told(self, target: Floats, q: Floats | None) -> tuple[Any, ...]:
        return target, q

    def solve(self, *told: Any) -> Any:
        return self.reach(*told)

    def read(self, raw: Any) -> Answered:
        return Answered(np.array(raw.q), iterations=int(raw.iterations))

    def solve_many(self, rows: Floats) -> Floats | None:
        return solve(self.task.start, self.task.goal.with_target(rows), threads=1, **self.how).q

    def claims(self, rows: Floats, begins: Floats) -> Bools | None:
        """Return the solver's own claims. solve() does not pass them on, because it measures the errors itself."""
        problem, tolerance = self.task.problem, self.task.tolerance
        if (begins == self.task.start.q).all():
            return np.asarray(self.solver.run(problem, rows, tolerance, Request()).met, dtype=bool)
        runs = [
            self.solver.run(problem.at(problem.start.with_q(begin)), row[None], tolerance, Request())
            for row, begin in zip(rows, begins, strict=True)
        ]
        return np.array([bool(run.met[0]) for run in runs])

    def path_of(self, target: Floats) -> Floats | None:
        trace = solve(self.task.start, self.task.goal.with_target(target), trace=True, **self.how).trace
        return None if trace is None else trace.q

    def close(self) -> None:
        """Do nothing: there are no resources."""
