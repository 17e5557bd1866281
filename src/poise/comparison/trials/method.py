"""A method that is compared: what the runs may ask of one, and our own solvers in that form.

`solve` is the call that people make and nothing else, so that its time is theirs; `told` puts a target into the form
that it takes, `read` makes an Answered of what it gave: neither is timed. Peers (peers/, peer.py) have this form, too.
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
    """What a method gave for one target: q (nq,), whether it says that it met the target, how many iterations.

    None where it does not say. `seconds` only where the method has a clock of its own.
    """

    q: Floats
    claimed: bool | None = None
    iterations: int | None = None
    seconds: float | None = None


class Ready(Protocol):
    """A method that is set up for a task."""

    def told(self, target: Floats, q: Floats | None) -> tuple[Any, ...]:
        """A target (W,) and where to start, q (nq,) or None for the task's start, in the form that `solve` takes."""
        ...

    def solve(self, *told: Any) -> Any:
        """Solve for one target: the call that is timed."""
        ...

    def read(self, raw: Any) -> Answered:
        """What `solve` gave."""
        ...

    def solve_many(self, rows: Floats) -> Floats | None:
        """Solve for targets (k, W) in one call: q (k, nq); None where there is no such call."""
        ...

    def claims(self, rows: Floats, begins: Floats) -> Bools | None:
        """Which targets (k, W) the method says that it meets from `begins` (k, nq), where answers do not say so."""
        ...

    def path_of(self, target: Floats) -> Floats | None:
        """Configurations (i, nq) at the start and after each iteration for one target; None where nobody can see."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


class Method(Protocol):
    """A method that is compared."""

    @property
    def name(self) -> str:
        """How it is called in tables; unique among those compared."""
        ...

    @property
    def family(self) -> str:
        """Whose it is: "poise", or "peer" for a library beside it."""
        ...

    @property
    def text(self) -> str:
        """What it is, in a line."""
        ...

    @property
    def options(self) -> dict[str, str]:
        """What differs from its defaults."""
        ...

    @property
    def does(self) -> dict[str, bool]:
        """What it can do and what not, by the names of abilities.py; what nobody says is not in it."""
        ...

    def ready(self, task: Task) -> Ready:
        """Set it up; UnsupportedError with a sentence where it cannot do the task."""
        ...


class Own:
    """One of our solvers, through prepare() and solve(): what a user calls, judging included."""

    family = "poise"

    def __init__(self, solver: solvers.Solver, name: str = "") -> None:
        """Any value with the form of a solver."""
        self.solver = solver
        self.name = name or solver.name
        self.text = summary(type(solver))
        self.does = declared(solver.handles)

    @property
    def options(self) -> dict[str, str]:
        """Fields that differ from what the class gives them."""
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
        """What the solver itself says: solve() does not pass it on, because it is not believed."""
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
        """Nothing is held."""
