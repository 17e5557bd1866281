"""One solver per file; the folder is the registry, the file name is the solver's name.

A solver file has a frozen class `Solver` with the options as fields, its `name`, what it `handles`, and
`run(problem, targets, tolerance, request)`. It is imported when it is asked for.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from poise.errors import UnknownNameError, UnsupportedError

if TYPE_CHECKING:
    from poise.maths.arrays import Floats
    from poise.problem.problem import Problem, Tolerance
    from poise.solvers.base.capabilities import Capabilities
    from poise.solvers.base.request import Request
    from poise.solving.result import Answer


class Solver(Protocol):
    """One algorithm with its options, a frozen value."""

    @property
    def name(self) -> str:
        """The name of its file."""
        ...

    @property
    def handles(self) -> Capabilities:
        """What it can do; `run` is never given anything else."""
        ...

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Solve for the targets (k, W), rows as in problem.py; k may be 0: then it only says what it cannot do.

        UnsupportedError for what `handles` cannot say and it cannot do.
        """
        ...


@cache
def names() -> tuple[str, ...]:
    """Names of the solvers that exist."""
    return tuple(module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg)


def named(name: str, **options: Any) -> Solver:
    """Make a solver by name; an unknown name is an UnknownNameError that lists what exists."""
    if name not in names():
        raise UnknownNameError("solver", name, names())
    solver: Solver = importlib.import_module(f"{__name__}.{name}").Solver(**options)
    return solver


def check(solver: Solver, problem: Problem, request: Request) -> None:
    """Raise UnsupportedError, with the reason, for a problem that the solver does not handle."""
    known: dict[object, str | None] = problem.__dict__.setdefault("_refusals", {})  # calls are made in microseconds
    handles = solver.handles
    key = (solver.name, handles, request.prefer)
    if key not in known:
        known[key] = handles.refusal(solver.name, problem, request)
    refusal = known[key]
    if refusal is not None:
        raise UnsupportedError(refusal)
