"""Input and output of a solver besides the problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Literal, NamedTuple

import numpy as np

from poise.errors import InputError
from poise.maths.arrays import Bools, Floats, Ints, abbreviate
from poise.maths.formatting import format_fields


class Status(IntEnum):
    """Outcome of a solve. The numbers are stable; `Result.message` explains the outcome with values.

    Attributes
    ----------
    reached
        0: every goal is met within the tolerance.
    out_of_reach
        1: the target is farther away than the chain is long, or nearer than it can fold.
    limited
        2: a pose without joint limits meets the goals, and no pose within them was found; no joint alone can come
        nearer without leaving its range.
    stalled
        3: the iterations ran out, or stopped improving, before the goal was met.
    nothing_to_move
        4: the goal is not met and no joint of the chain can move.
    over_constrained
        5: the goals constrain more degrees of freedom than the joints have, and no joint alone can come nearer to all
        of them together: perhaps no pose meets them.
    on_the_way
        6: the pose is still moving to the solution: a Tracker is limited by its speed, its damping or its budget; the
        viewer makes one iteration at a time.
    held_back
        7: an option of the solver prevents reaching a target; the same method reaches it without this option.
    contradictory
        8: the goals contradict each other: lengths and angles prove it, or each goal can be met alone but no pose was
        found for all of them, even without limits.
    open_loop
        9: the goals are met, but the pose opens a closed loop of the file.
    """

    reached = 0
    out_of_reach = 1
    limited = 2
    stalled = 3
    nothing_to_move = 4
    over_constrained = 5
    on_the_way = 6
    held_back = 7
    contradictory = 8
    open_loop = 9

    # Aliases in capitals, as usual for constants.
    REACHED = 0
    OUT_OF_REACH = 1
    LIMITED = 2
    STALLED = 3
    NOTHING_TO_MOVE = 4
    OVER_CONSTRAINED = 5
    ON_THE_WAY = 6
    HELD_BACK = 7
    CONTRADICTORY = 8
    OPEN_LOOP = 9

    @property
    def sentence(self) -> str:
        """Meaning of the status, as a sentence."""
        return _MESSAGES[self]

    def __str__(self) -> str:
        return self.name


_MESSAGES = {
    Status.reached: "every goal is met within the tolerance",
    Status.out_of_reach: "the target is farther away than the chain is long, or nearer than it can fold",
    Status.limited: "a pose without joint limits meets the goals, and none within them was found",
    Status.stalled: "the iterations ran out, or stopped improving, before the goal was met",
    Status.nothing_to_move: "the goal is not met and no joint of the chain can move",
    Status.over_constrained: "the goals ask for more than the joints have: perhaps no pose meets all of them",
    Status.on_the_way: "the pose is still moving to the solution, or needs more iterations",
    Status.held_back: "an option of the solver prevents reaching the target",
    Status.contradictory: "the goals contradict each other",
    Status.open_loop: "the goals are met, but a closed loop of the file is open",
}


class Statuses(np.ndarray[Any, np.dtype[np.int64]]):
    """Status codes (int64) of a batch, printed as names. A single item is a Status."""

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        return value if isinstance(value, np.ndarray) else Status(int(value))

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return computed values as plain arrays or numbers. An example is `status == Status.reached`."""
        del context
        plain = np.asarray(array)
        return plain[()] if return_scalar or not plain.ndim else plain

    def __str__(self) -> str:
        words: Any = {"int": _format_code}
        return np.array2string(np.asarray(self), formatter=words, threshold=6, edgeitems=3, max_line_width=120)

    def __repr__(self) -> str:
        return f"Statuses({' '.join(str(self).split())})" if self.size else "Statuses([])"


def _format_code(code: int) -> str:
    return Status(int(code)).name


def view_as_statuses(codes: np.ndarray[Any, np.dtype[np.int64]]) -> Statuses:
    """View codes as statuses, without copying. The view is read-only if the codes are."""
    return codes.view(Statuses)


# --- Input and output of a solver besides the problem ----------------------------------------------------------------


Prefer = Literal["first", "closest", "all"]
BUILTIN_PREFIX = "poise.solvers."  # module prefix of built-in solver classes


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
        return format_fields(self)


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


def is_builtin(solver: object) -> bool:
    """Return whether a solver is built in. Equal built-in solvers do the same and may replace each other."""
    inner = getattr(solver, "inner", None)  # of a solver around another one
    return type(solver).__module__.startswith(BUILTIN_PREFIX) and (inner is None or is_builtin(inner))


def get_finisher(solver: Any) -> Any:
    """Return the solver's finisher, or the solver itself.

    A finisher starts from the poses of the solver in front of it.
    """
    return getattr(solver, "finisher", solver)


def replace_finisher(solver: Any, finisher: Any) -> Any:
    """Replace the finisher of a solver. A solver without a finisher is replaced itself."""
    return replace(solver, finisher=finisher) if hasattr(solver, "finisher") else finisher


def check_solver(solver: Any) -> None:
    """Check for a solver name or value, not a class."""
    if isinstance(solver, type):
        raise InputError(f"give a solver value, such as poise.{solver.__name__}(), not the class itself")
    if not isinstance(solver, str) and not all(hasattr(solver, what) for what in ("name", "handles", "run")):
        raise InputError(
            f"solver must be a name, such as 'ccd', or a value, such as poise.CCD(), not {abbreviate(solver)}"
        )
