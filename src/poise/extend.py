"""Building blocks for custom solvers, goals, limits and file formats. Nothing in Poise imports this module.

**A solver** is any value with the three members of `Solver`: a `name`, what it `handles` (`Capabilities`), and `run`,
which takes a `Problem`, targets as rows of numbers, a `Tolerance` and a `Request`, and returns an `Answer`, with a
`Trace` if one was requested. Pass it as `solver=` to `poise.solve`, `prepare`, `bake`, `Tracker` or `Anneal`, or to
`poise.compare`. It is evaluated like every other solver: the `Status` of a solve is computed independently of it.

**A goal** is a subclass of one of `poise`'s with the same error measure (`measures`, see `JointGoal`) and parameters
for your rig: a `Position` at the end of a finger, a `Direction` along a tool. Solvers of the base class solve it too.
`points`, `directions`, `checked_offset` and `checked_weight` check arguments, `set_fields` stores them.

**A limit** is a subclass of one of `poise`'s (`Limit`) with a constructor of its own; solvers treat it as its base
class. `unit_axis` and `checked_soft` check arguments.

**A format** is a pair of functions as in `Format`: `read` makes a `poise.Rig` from a file, with `Skeleton.build`,
`Kind` and `read_bytes`; `write` writes a `Saveable` to one, with `write_atomically`. An invalid file raises
`FileError`. Call them yourself: `poise.load` knows only the formats in its own folder.

`Floats`, `Ints` and `Bools` are NumPy arrays; `finite` converts input to the first, and `real`, `count` and `one_of`
check options. Each raises `poise.InputError` with the allowed values.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_choice, check_count
from poise.errors import FileError
from poise.io.files import read_bytes, write_atomically
from poise.io.registry import Format
from poise.maths.arrays import Bools, Floats, Ints, check_finite, check_real
from poise.model.limit_checks import checked_soft
from poise.model.limits import Limit, unit_axis
from poise.model.rig import Saveable
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goal_interface import checked_offset, checked_weight, set_fields
from poise.problem.goals import Goal, JointGoal
from poise.problem.problem import Problem, Tolerance
from poise.problem.target_parsing import directions, points
from poise.solvers import Solver
from poise.solvers.base.interface import Answer, Capabilities, Request, Status, Trace

__all__ = [
    "Answer",
    "Bools",
    "Capabilities",
    "FileError",
    "Floats",
    "Format",
    "Goal",
    "Ints",
    "JointGoal",
    "Kind",
    "Limit",
    "Problem",
    "Request",
    "Saveable",
    "Skeleton",
    "Solver",
    "Status",
    "Tolerance",
    "Trace",
    "checked_offset",
    "checked_soft",
    "checked_weight",
    "count",
    "directions",
    "finite",
    "one_of",
    "points",
    "read_bytes",
    "real",
    "set_fields",
    "unit_axis",
    "write_atomically",
]


def finite(values: ArrayLike, what: str, *, last: int | None = None, truths: bool = False) -> Floats:
    """Return an array of float64.

    Parameters
    ----------
    values
        Finite numbers, in any form accepted by NumPy.
    what
        Name of the values in the message.
    last
        Required length of the last axis, if any.
    truths
        Whether truth values count as 0 and 1.

    Raises
    ------
    InputError
        For anything else.
    """
    return check_finite(values, what, last_axis_length=last, accepts_bools=truths)


def real(value: Any, what: str) -> float:
    """Return one number as a float. Infinity and NaN are allowed.

    Parameters
    ----------
    value
        The number.
    what
        Name of the number in the message.

    Raises
    ------
    InputError
        For other values, and for numbers too large for a float.
    """
    return check_real(value, what)


def count(option: str, value: Any) -> int:
    """Return a whole number from 0 to 1,000,000.

    Parameters
    ----------
    option
        Name of the option, for the message.
    value
        The number.

    Raises
    ------
    InputError
        For anything else.
    """
    return check_count(value, option)


def one_of(option: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Check an option against a list of words.

    Parameters
    ----------
    option
        Name of the option, for the message.
    value
        The word.
    allowed
        The words.

    Raises
    ------
    InputError
        For anything else.
    """
    check_choice(value, option, allowed)
