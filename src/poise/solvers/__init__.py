"""Registry of solvers, one per file. The file name is the solver's name.

A solver file has a frozen class `Solver` with the options as fields, its `name`, what it `handles`, and
`run(problem, targets, tolerance, request)`. It is imported on first use.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from poise.calls.old_names import make_alias
from poise.errors import UnknownNameError, UnsupportedError
from poise.runtime.result_cache import get_or_compute

if TYPE_CHECKING:
    from poise.maths.arrays import Floats
    from poise.problem.problem import Problem, Tolerance
    from poise.solvers.base.interface import Answer, Capabilities, Request


__all__ = ["Solver", "check", "make_solver", "names"]


class Solver(Protocol):
    """One algorithm with its options. It is a frozen value, and can be given as `solver=`.

    A file of `poise/solvers/` holds a class with these three members and calls it `Solver`; the name of the file is the
    name of the solver.
    """

    @property
    def name(self) -> str:
        """Name of the solver and of its file."""
        ...

    @property
    def handles(self) -> Capabilities:
        """Capabilities of the solver. `run` is never called for anything else."""
        ...

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Solve the problem for a number of targets.

        Parameters
        ----------
        problem
            Packed goals, with one start pose or a start pose for each target.
        targets
            (k, W) one row for each target: the numbers of all goals side by side, world axes, file units, rotations as
            quaternions w x y z. With k = 0 nothing is solved, but unsupported problems are still refused.
        tolerance
            Largest distance [file units] and angle [rad] of a reached goal.
        request
            Preferred solution, number of threads, and whether iterations are recorded.

        Returns
        -------
        Answer
            A pose for each target. The caller measures its errors by forward kinematics.

        Raises
        ------
        UnsupportedError
            For unsupported problems that `handles` does not describe.
        """
        ...


# Names of the solvers in papers, engines and other libraries.
_SYNONYMS = {
    "dls": "damped_least_squares", "damped": "damped_least_squares", "dampedpseudoinverse": "damped_least_squares",
    "lm": "levenberg_marquardt", "newton": "levenberg_marquardt", "gaussnewton": "levenberg_marquardt",
    "jt": "jacobian_transpose", "transpose": "jacobian_transpose", "jacobian": "pseudo_inverse",
    "pinv": "pseudo_inverse", "jacobianinverse": "pseudo_inverse", "sdls": "selectively_damped",
    "analytic": "two_bone", "analytical": "two_bone", "limb": "two_bone", "closedform": "two_bone",
    "cyclic": "ccd", "cycliccoordinatedescent": "ccd", "gradient": "autodiff", "jax": "autodiff", "lbfgs": "autodiff",
    "annealing": "anneal", "default": "auto",
}  # fmt: skip


@cache
def names() -> tuple[str, ...]:
    """Return the names of all solvers.

    Returns
    -------
    tuple of str
        The names of the files in `poise/solvers/`, in alphabetical order.
    """
    return tuple(module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg)


def make_solver(name: str, **options: Any) -> Solver:
    """Make a solver from its name.

    Parameters
    ----------
    name
        Name of the solver, such as "ccd".
    **options
        Options of the solver; those that are left out keep their defaults.

    Returns
    -------
    Solver
        A frozen value.

    Raises
    ------
    UnknownNameError
        No solver has this name. The message lists those that exist.
    """
    if not isinstance(name, str) or name not in names():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnknownNameError("solver", name, names(), means=_SYNONYMS)
    return importlib.import_module(f"{__name__}.{name}").Solver(**options) if options else _build_default(name)


named: Callable[..., Any] = make_alias("poise.solvers.named", make_solver)


@cache
def _build_default(name: str) -> Solver:
    """Return the solver with its default options."""
    return importlib.import_module(f"{__name__}.{name}").Solver()


def check(solver: Solver, problem: Problem, request: Request) -> None:
    """Raise UnsupportedError for a problem outside the solver's capabilities. The message has the reason."""
    handles = solver.handles
    name = solver.name
    cache_key = (name, handles, request.prefer)
    refusal = get_or_compute(problem.plan.tree, "refusals", cache_key, lambda: handles.refusal(name, problem, request))
    if refusal is not None:
        raise UnsupportedError(refusal)
