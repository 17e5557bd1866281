"""Input and output of a solver besides the problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from poise.errors import InputError
from poise.maths.arrays import Bools, Floats, Ints, short
from poise.maths.in_words import in_words

Prefer = Literal["first", "closest", "all"]
OWN = "poise.solvers."  # module prefix of built-in solver classes


@dataclass(frozen=True)
class Request:
    """Settings of a solve, for any solver. A solver refuses settings that it does not support.

    Parameters
    ----------
    prefer
        "first": the first pose found that meets the goals. "closest": of all poses found, the one nearest to the start.
        "all": every distinct pose.
    seeds
        Number of starts for "closest" and "all". None: the solver's own choice.
    threads
        Largest number of threads.
    trace
        Whether the iterations of a single target are recorded.
    progress
        A function called with the number of targets done since the last call.
    """

    prefer: Prefer = "first"
    seeds: int | None = None
    threads: int = 1
    trace: bool = False
    progress: Callable[[int], None] | None = None


class Trace(NamedTuple):
    """Errors and configurations at the start and after each iteration. Restarts have rows as well.

    Parameters
    ----------
    errors
        (rows,) [file units] for a single Position. Otherwise the root of the weighted sum of squared errors, lengths in
        units of the rig's size.
    q
        (rows, nq) configurations.

    Notes
    -----
    Rows of restarts follow each other, so errors can rise; the answer is the row with the least error. For rigs with
    non-uniform scale the errors are those of the solver's own model, and its answer is corrected afterwards.
    """

    errors: Floats
    q: Floats

    def __repr__(self) -> str:
        return in_words(self)


class Answer(NamedTuple):
    """Answer of a solver. The caller computes errors, limit violation and status from `q` by forward kinematics.

    Parameters
    ----------
    q
        (k, nq) the best configuration for each target; the start's own, bit for bit, where nothing had to move.
    met
        (k,) whether the solver reports its targets as met. The caller measures again and uses its own result.
    iterations
        (k,) number of iterations.
    joint_updates
        (k,) number of updates of single joints.
    trace
        The iterations, if requested.
    solutions
        (s, nq) distinct solutions of the single target, for prefer="all".
    """

    q: Floats
    met: Bools
    iterations: Ints
    joint_updates: Ints
    trace: Trace | None = None
    solutions: Floats | None = None


def is_own(solver: object) -> bool:
    """Return whether a solver is built in. Equal built-in solvers do the same and may replace each other."""
    inner = getattr(solver, "inner", None)  # of a solver around another one
    return type(solver).__module__.startswith(OWN) and (inner is None or is_own(inner))


def engine_of(solver: Any) -> Any:
    """Return the solver's finisher, or the solver itself.

    A finisher starts from the poses of the solver in front of it.
    """
    return getattr(solver, "finisher", solver)


def with_engine(solver: Any, engine: Any) -> Any:
    """Replace the finisher of a solver. A solver without a finisher is replaced itself."""
    return replace(solver, finisher=engine) if hasattr(solver, "finisher") else engine


def check_solver(solver: Any) -> None:
    """Check for a solver name or value, not a class."""
    if isinstance(solver, type):
        raise InputError(f"give a solver value, such as poise.{solver.__name__}(), not the class itself")
    if not isinstance(solver, str) and not all(hasattr(solver, what) for what in ("name", "handles", "run")):
        raise InputError(f"solver must be a name, such as 'ccd', or a value, such as poise.CCD(), not {short(solver)}")
