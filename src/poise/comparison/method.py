"""Methods of a comparison and their capabilities.

Capabilities are named as in tables; a solver declares its own, an adapter knows those of its library.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from poise import solvers
from poise.comparison.task import Task
from poise.maths.arrays import Bools, Floats
from poise.model.limits import LIMIT_CLASSES, LIMIT_NAMES
from poise.problem.goals import GOAL_NAMES
from poise.solvers.base.interface import ALL_JOINTS, ALL_PREFERENCES, Capabilities, Request
from poise.solvers.base.option_parsing import list_parameters, read_summary
from poise.solving.solve import prepare, solve


def list_ability_groups() -> list[tuple[str, list[str]]]:
    """List the capabilities in groups."""
    joints = [f"{kind.name.lower()}s" for kind in ALL_JOINTS]
    return [
        ("goals", list(GOAL_NAMES)),
        ("several", ["several goals", "at several joints"]),
        ("joints", [*joints, "coupled", "free root"]),
        ("limits", [*LIMIT_NAMES, "soft"]),
        ("prefer", [repr(preference) for preference in ALL_PREFERENCES]),
    ]


def list_abilities(capabilities: Capabilities) -> dict[str, bool]:
    """List the capabilities of a solver."""
    abilities = {name: name in capabilities.goals for name in GOAL_NAMES}
    abilities |= {f"{kind.name.lower()}s": kind in capabilities.joints for kind in ALL_JOINTS}
    abilities |= {kind.__name__: capabilities.keeps(kind) for kind in LIMIT_CLASSES}
    abilities |= {repr(preference): preference in capabilities.prefer for preference in ALL_PREFERENCES}
    return abilities | {
        "several goals": capabilities.several,
        "at several joints": capabilities.several and not capabilities.one_joint,
        "coupled": capabilities.coupled,
        "free root": capabilities.free_root,
        "soft": capabilities.soft,
    }


# --- Protocol of a compared method, and Poise's own solvers ----------------------------------------------------------
#
# `solve` is exactly the call of a user, and only it is timed; `pack_target` converts a target to its arguments, and
# `read_output` makes a MethodOutput of its output. Other libraries (peers/) follow the same protocol.


class MethodOutput(NamedTuple):
    """Output of a method for one target.

    Holds q (nq,), whether the method claims to have met the target, and its iterations.

    None stands for a missing report. `seconds` is set only if the method has a clock of its own.
    """

    q: Floats
    claims_reached: bool | None = None
    iterations: int | None = None
    seconds: float | None = None


class PreparedMethod(Protocol):
    """Method prepared for a task."""

    def pack_target(self, target: Floats, q: Floats | None) -> tuple[Any, ...]:
        """Convert a target (W,) and a start to arguments of `solve`.

        The start is q (nq,), or None for the task's start.
        """
        ...

    def solve(self, *arguments: Any) -> Any:
        """Solve for one target. This call is timed."""
        ...

    def read_output(self, raw: Any) -> MethodOutput:
        """Read the output of `solve`."""
        ...

    def solve_many(self, rows: Floats) -> Floats | None:
        """Solve for targets (k, W) in one call. Returns q (k, nq), or None for a method without such a call."""
        ...

    def read_claims(self, rows: Floats, start_q: Floats) -> Bools | None:
        """Return claims (k,) to have met targets (k, W).

        Starts are `start_q` (k, nq). Only used where answers carry no claim.
        """
        ...

    def trace_path(self, target: Floats) -> Floats | None:
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
    def description(self) -> str:
        """One-line description."""
        ...

    @property
    def options(self) -> dict[str, str]:
        """Options with a value other than the default."""
        ...

    @property
    def abilities(self) -> dict[str, bool]:
        """Capabilities by name, as in `list_ability_groups`. Unknown ones are left out."""
        ...

    def prepare(self, task: Task) -> PreparedMethod:
        """Prepare the method for a task. Raises UnsupportedError with the reason where it cannot do the task."""
        ...


class PoiseMethod:
    """Method of a comparison: a solver of Poise, through prepare() and solve().

    This is the call of a user, evaluation included.
    """

    family = "poise"

    def __init__(self, solver: solvers.Solver, name: str = "") -> None:
        """Describe the method by its solver. Any value with the form of a solver is possible."""
        self.solver = solver
        self.name: str = name or solver.name
        self.description: str = read_summary(type(solver))
        self.abilities: dict[str, bool] = list_abilities(solver.handles)

    @property
    def options(self) -> dict[str, str]:
        """Fields with a value other than the class default."""
        defaults = {parameter.name: parameter.default for parameter in list_parameters(type(self.solver))}
        values = {name: getattr(self.solver, name, default) for name, default in defaults.items()}
        return {name: str(value) for name, value in values.items() if value != defaults[name]}

    def prepare(self, task: Task) -> PreparedMethod:
        """Prepare the problem."""
        return _PreparedPoiseMethod(self.solver, task)


class _PreparedPoiseMethod:
    def __init__(self, solver: solvers.Solver, task: Task) -> None:
        self.solver, self.task = solver, task
        self.options: dict[str, Any] = {
            "solver": solver, "tolerance": task.tolerance.distance, "angle_tolerance": task.tolerance.angle,
        }  # fmt: skip
        self.prepared = prepare(task.start, task.goal, **self.options)

    def pack_target(self, target: Floats, q: Floats | None) -> tuple[Any, ...]:
        return target, q

    def solve(self, *arguments: Any) -> Any:
        return self.prepared(*arguments)

    def read_output(self, raw: Any) -> MethodOutput:
        return MethodOutput(np.array(raw.q), iterations=int(raw.iterations))

    def solve_many(self, rows: Floats) -> Floats | None:
        return solve(self.task.start, self.task.goal.with_target(rows), threads=1, **self.options).q

    def read_claims(self, rows: Floats, start_q: Floats) -> Bools | None:
        """Return the solver's own claims. solve() does not pass them on, because it measures the errors itself."""
        problem, tolerance = self.task.problem, self.task.tolerance
        if (start_q == self.task.start.q).all():
            return np.asarray(self.solver.run(problem, rows, tolerance, Request()).met, dtype=bool)
        runs = [
            self.solver.run(problem.with_start(problem.start.with_q(row_start)), row[None], tolerance, Request())
            for row, row_start in zip(rows, start_q, strict=True)
        ]
        return np.array([bool(run.met[0]) for run in runs])

    def trace_path(self, target: Floats) -> Floats | None:
        trace = solve(self.task.start, self.task.goal.with_target(target), trace=True, **self.options).trace
        return None if trace is None else trace.q

    def close(self) -> None:
        """Do nothing: there are no resources."""
