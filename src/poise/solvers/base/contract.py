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
    """Settings of a solve, for any solver. A solver refuses what it cannot do.

    Parameters
    ----------
    prefer
        "first": the first pose found that meets the goals. "closest": of all poses found, the one nearest to the start.
        "all": every distinct pose.
    seeds
        How many starts to try for "closest" and "all". None: the solver's own choice.
    threads
        How many threads may run at once.
    trace
        Whether the iterations of a single target are kept.
    progress
        A function that is called with the number of targets done since the last call.
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
        (rows,) [file units]. With more than one goal, or one that asks for a rotation or a direction, the root of the
        weighted sum of squares, lengths in units of the rig's size.
    q
        (rows, nq) configurations.

    Notes
    -----
    Restarts stand in it too, so that errors can rise; the answer is the row with the least error. Where the rig's scale
    is not uniform, errors are those of the chain as the solver saw it, and its answer is corrected afterwards.
    """

    errors: Floats
    q: Floats

    def __repr__(self) -> str:
        return in_words(self)


class Answer(NamedTuple):
    """Answer of a solver. Errors, limits and status are then worked out from `q` by forward kinematics.

    Parameters
    ----------
    q
        (k, nq) the best configuration for each target; the start's own, bit for bit, where nothing had to move.
    met
        (k,) whether the solver thinks that it met its targets. The caller measures again and goes by that.
    iterations
        (k,) how many it took.
    joint_updates
        (k,) how often a single joint was turned or moved.
    trace
        The iterations, if they were asked for.
    solutions
        (s, nq) distinct poses that meet the one target, for prefer="all".
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
