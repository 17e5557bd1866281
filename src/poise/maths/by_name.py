"""Keyword options with helpful errors.

A call that Python cannot match to a signature gets a sentence with the right call.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Iterable
from typing import Any, TypeVar

from poise.errors import InputError, UnknownNameError
from poise.maths.arrays import short

Class = TypeVar("Class", bound=type)

# Names of options in other libraries, lower case without separators, and their names here.
ELSEWHERE = {
    "maxiterations": "iterations", "maxiter": "iterations", "maxiters": "iterations", "iters": "iterations",
    "steps": "iterations", "maxsteps": "iterations", "sweeps": "iterations", "iteration": "iterations",
    "lambda": "damping", "lam": "damping", "lambd": "damping", "tol": "tolerance", "eps": "tolerance",
    "restart": "restarts", "attempts": "restarts", "maxangle": "max_turn", "poletarget": "pole",
}  # fmt: skip
_OF_SOLVE = ("tolerance", "angle_tolerance", "free_root", "prefer", "seeds", "threads", "trace", "progress", "natural")


def options_by_name(of: Class) -> Class:
    """Raise InputError for wrong calls of a class.

    The message shows the right call, where Python would raise TypeError.

    A class decorator. It costs one more call per solver made, and nothing in solving.
    """
    plain: Any = of.__init__

    @functools.wraps(plain)
    def init(self: Any, *given: Any, **options: Any) -> None:
        names = list(inspect.signature(plain).parameters)[1:] if given or options else ()
        if given:
            raise InputError(_by_position(type(self), given, names))
        for name in options:
            if name not in names:
                raise _no_option(type(self).__name__, name, names)
        plain(self, **options)

    of.__init__ = init
    return of


def _by_position(of: type, given: tuple[Any, ...], names: Iterable[str]) -> str:
    """Format the message for CCD(50).

    It proposes the first option that takes such a value, iterations before others.
    """
    likely = next(
        (name for name in sorted(names, key=lambda name: name != "iterations") if _takes(of, name, given[0])), ""
    )
    call = f"poise.{of.__name__}({likely}={_written(given[0])})" if likely else f"one of: {', '.join(names)}"
    return f"{of.__name__} takes its options by name: write {call}"


def _written(value: Any) -> str:
    """Format a value as typed; another solver by its name."""
    return f"poise.{type(value).__name__}(...)" if dataclasses.is_dataclass(value) else short(value)


def _takes(of: type, name: str, value: Any) -> bool:
    try:
        of(**{name: value})
    except (TypeError, ValueError, InputError, UnknownNameError):
        return False
    return True


def _no_option(kind: str, name: str, names: Iterable[str]) -> UnknownNameError | InputError:
    if name in _OF_SOLVE:
        return InputError(f"{name} is not an option of {kind}, but of solve(): write solve(start, goals, {name}=...)")
    return UnknownNameError(f"option of {kind}", name, names, plural="options", means=ELSEWHERE)


def no_such_argument(function: str, unknown: Iterable[str], names: Iterable[str], options: Iterable[str]) -> Exception:
    """Make the error for an unknown keyword of a function. It belongs to a solver, or is unknown.

    `names` are the arguments of the function, `options` those of solvers.
    """
    name = next(iter(unknown))
    meant = ELSEWHERE.get("".join(letter for letter in name.casefold() if letter.isalnum()), name)
    if meant in options and meant not in names:
        return InputError(
            f"{name} is an option of a solver, not of {function}(): write "
            f"{function}(..., solver=poise.{_example(meant)}({meant}=...))"
        )
    return UnknownNameError(f"argument of {function}()", name, names, plural="arguments", means=ELSEWHERE)


def _example(option: str) -> str:
    """Return a solver with the option."""
    if option in {"pole", "soft", "keep_tip", "swivel"}:
        return "TwoBone"
    return "LevenbergMarquardt" if option == "damping" else "CCD"
