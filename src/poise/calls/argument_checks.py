"""Checks of arguments and options, with helpful errors.

`maths/arrays.py` checks numbers and arrays of numbers.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import numpy as np

from poise.errors import InputError, UnknownNameError
from poise.maths.arrays import abbreviate, check_real

Checked = TypeVar("Checked")

# Description of a value in a message, with an example, by class name.
_TYPE_PHRASES = {
    "Clip": "a Clip, such as rig.clips[0]",
    "Contacts": "a poise.Contacts, such as planted.contacts",
    "Pose": "a Pose, such as rig.rest",
    "Rig": "a Rig, such as poise.load('figure.glb')",
    "Skeleton": "a Skeleton, such as rig.skeleton",
    "Terrain": "a poise.Terrain, such as Terrain.flat()",
    "Channel": "a poise.Channel",
}


def check_type(value: Any, expected_type: type[Checked], label: str) -> Checked:
    """Return a value of a class; raise InputError for any other.

    Parameters
    ----------
    value
        The value.
    expected_type
        The class.
    label
        Name of the value in the message.

    Raises
    ------
    InputError
        For a value of another class. The message names a source of the right class.
    """
    if isinstance(value, expected_type):
        return value
    raise make_type_error(value, (expected_type,), label)


def make_type_error(value: Any, expected_types: tuple[type, ...], label: str) -> InputError:
    """Make the InputError for a value of none of these classes."""
    expected = " or ".join(
        _TYPE_PHRASES.get(expected_type.__name__, _add_article(expected_type.__name__))
        for expected_type in expected_types
    )
    return InputError(f"{label} must be {expected}, not {describe_value(value)}")


def describe_value(value: Any) -> str:
    """Describe a value in a message. Library values by their class, others as `abbreviate` writes them."""
    value_type: type = type(value)
    return (
        _add_article(value_type.__name__) if value_type.__module__.partition(".")[0] == "poise" else abbreviate(value)
    )


def check_text(value: Any, label: str) -> str:
    """Check a text.

    InputError for other values and for half a character: no file can hold that.
    """
    if not isinstance(value, str):
        message = f"{label} must be a text, not {describe_value(value)}"
        raise InputError(message)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        message = f"{label} holds half a character: {abbreviate(value)}"
        raise InputError(message) from error
    return value


def check_entries(value: Any, label: str, example: str, entry_noun: str = "values") -> list[Any]:
    """Return the entries of a collection.

    Parameters
    ----------
    value
        A list, a tuple, an array or any other iterable but a text.
    label
        Name of the collection in the message.
    example
        An example for the message: "['hips', 'spine']".
    entry_noun
        Name of the entries in the message.

    Raises
    ------
    InputError
        For a text, and for a value without entries.
    """
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        try:
            return list(cast("Iterable[Any]", value))
        except TypeError:  # an array without axes
            pass
    message = f"{label} are several {entry_noun}, such as {example}, not {describe_value(value)}"
    raise InputError(message)


def check_names(value: Any, label: str, example: str = "['hips', 'spine']") -> tuple[str, ...]:
    """Check several names; return a tuple. InputError for a single text and for entries of other kinds."""
    entries = check_entries(value, label, example, "names")
    for entry in entries:
        if not isinstance(entry, str):
            message = f"{label} are names, such as {example}; one of them is {describe_value(entry)}"
            raise InputError(message)
    return tuple(map(str, entries))  # converts NumPy's strings


def check_function(value: Any, label: str) -> Callable[..., Any]:
    """Check a function or any other callable. InputError for other values."""
    if not callable(value):
        message = f"{label} must be a function, not {describe_value(value)}"
        raise InputError(message)
    return value


def _add_article(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"


# --- Checks of solver options ----------------------------------------------------------------------------------------


_MAX_OPTION_COUNT = 1_000_000  # iterations or restarts; larger numbers are typing errors


def check_count(value: Any, label: str) -> int:
    """Return a whole number from 0 to 1,000,000.

    Parameters
    ----------
    value
        The number.
    label
        Name of the option in the message.

    Raises
    ------
    InputError
        For anything else.
    """
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number <= _MAX_OPTION_COUNT:
        raise InputError(f"{label} must be a whole number from 0 to {_MAX_OPTION_COUNT}, not {abbreviate(value)}")
    return number


def check_integer(value: Any, label: str) -> int:
    """Return a whole number of any sign.

    Parameters
    ----------
    value
        The number, also one of NumPy's.
    label
        Name of the number in the message.

    Raises
    ------
    InputError
        For anything else; truth values are no numbers.
    """
    try:
        if not isinstance(value, bool | np.bool_):
            return operator.index(value)
    except TypeError:
        pass
    raise InputError(f"{label} must be a whole number, not {abbreviate(value)}")


def check_positive(value: Any, label: str) -> float:
    """Return a number above 0, infinity included.

    Parameters
    ----------
    value
        The number.
    label
        Name of the option in the message.

    Raises
    ------
    InputError
        For anything else.
    """
    number = check_real(value, label)
    if not number > 0:
        raise InputError(f"{label} must be a number above 0, not {abbreviate(value)}")
    return number


def check_choice(value: Any, label: str, allowed: tuple[str, ...]) -> None:
    """Check an option against a list of words.

    Parameters
    ----------
    value
        The word.
    label
        Name of the option in the message.
    allowed
        The words.

    Raises
    ------
    InputError
        For anything else.
    """
    if not isinstance(value, str) or value not in allowed:
        raise InputError(f"{label} must be {' or '.join(map(repr, allowed))}, not {abbreviate(value)}")


def check_bool(value: Any, label: str) -> bool:
    """Check a boolean option and return it.

    Parameters
    ----------
    value
        The truth value, also one of NumPy's.
    label
        Name of the option in the message.

    Raises
    ------
    InputError
        For anything else: numbers and texts are ambiguous.
    """
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{label} must be True or False, not {abbreviate(value)}")
    return bool(value)


# --- Keyword options with helpful errors -----------------------------------------------------------------------------
#
# A call that Python cannot match to a signature gets a sentence with the right call.


OptionClass = TypeVar("OptionClass", bound=type)

# Names of options in other libraries, lower case without separators, and their names here.
OPTION_SYNONYMS = {
    "maxiterations": "iterations", "maxiter": "iterations", "maxiters": "iterations", "iters": "iterations",
    "steps": "iterations", "maxsteps": "iterations", "sweeps": "iterations", "iteration": "iterations",
    "lambda": "damping", "lam": "damping", "lambd": "damping", "tol": "tolerance", "eps": "tolerance",
    "restart": "restarts", "attempts": "restarts", "maxangle": "max_turn", "poletarget": "pole",
}  # fmt: skip
_SOLVE_ARGUMENTS = (
    "tolerance",
    "angle_tolerance",
    "free_root",
    "prefer",
    "seeds",
    "threads",
    "trace",
    "progress",
    "natural",
)


def require_keywords(option_class: OptionClass) -> OptionClass:
    """Raise InputError for wrong calls of a class.

    The message shows the right call, where Python would raise TypeError.

    A class decorator. It costs one more call per solver made, and nothing in solving.
    """
    original_init: Any = option_class.__init__

    @functools.wraps(original_init)
    def init(self: Any, *positional: Any, **options: Any) -> None:
        option_names = list(inspect.signature(original_init).parameters)[1:] if positional or options else ()
        if positional:
            raise InputError(_format_position_error(type(self), positional, option_names))
        for name in options:
            if name not in option_names:
                raise _make_option_error(type(self).__name__, name, option_names)
        original_init(self, **options)

    option_class.__init__ = init
    return option_class


def _format_position_error(option_class: type, positional: tuple[Any, ...], option_names: Iterable[str]) -> str:
    """Format the message for CCD(50).

    It proposes the first option that takes such a value, iterations before others.
    """
    likely_option = next(
        (
            name
            for name in sorted(option_names, key=lambda name: name != "iterations")
            if _accepts_option(option_class, name, positional[0])
        ),
        "",
    )
    example_call = (
        f"poise.{option_class.__name__}({likely_option}={_format_value(positional[0])})"
        if likely_option
        else f"one of: {', '.join(option_names)}"
    )
    return f"{option_class.__name__} takes its options by name: write {example_call}"


def _format_value(value: Any) -> str:
    """Format a value as typed; another solver by its name."""
    return f"poise.{type(value).__name__}(...)" if dataclasses.is_dataclass(value) else abbreviate(value)


def _accepts_option(option_class: type, name: str, value: Any) -> bool:
    try:
        option_class(**{name: value})
    except (TypeError, ValueError, InputError, UnknownNameError):
        return False
    return True


def _make_option_error(class_name: str, name: str, option_names: Iterable[str]) -> UnknownNameError | InputError:
    if name in _SOLVE_ARGUMENTS:
        return InputError(
            f"{name} is not an option of {class_name}, but of solve(): write solve(start, goals, {name}=...)"
        )
    return UnknownNameError(f"option of {class_name}", name, option_names, plural="options", means=OPTION_SYNONYMS)


def make_argument_error(
    function_name: str, unknown_names: Iterable[str], argument_names: Iterable[str], solver_options: Iterable[str]
) -> Exception:
    """Make the error for an unknown keyword of a function. It belongs to a solver, or is unknown.

    `argument_names` are the arguments of the function, `solver_options` those of solvers.
    """
    name = next(iter(unknown_names))
    equivalent = OPTION_SYNONYMS.get("".join(letter for letter in name.casefold() if letter.isalnum()), name)
    if equivalent in solver_options and equivalent not in argument_names:
        return InputError(
            f"{name} is an option of a solver, not of {function_name}(): write "
            f"{function_name}(..., solver=poise.{_find_example_solver(equivalent)}({equivalent}=...))"
        )
    return UnknownNameError(
        f"argument of {function_name}()", name, argument_names, plural="arguments", means=OPTION_SYNONYMS
    )


def _find_example_solver(option: str) -> str:
    """Return a solver with the option."""
    if option in {"pole", "soft", "keep_tip", "swivel"}:
        return "TwoBone"
    return "LevenbergMarquardt" if option == "damping" else "CCD"
