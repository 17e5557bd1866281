"""Checks of solver options."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from poise.errors import InputError
from poise.maths.arrays import short

_MOST = 1_000_000  # iterations or restarts; larger numbers are typing errors


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
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number <= _MOST:
        raise InputError(f"{option} must be a whole number from 0 to {_MOST}, not {short(value)}")
    return number


def whole_number(value: Any, what: str) -> int:
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
    raise InputError(f"{what} must be a whole number, not {short(value)}")


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
    if not isinstance(value, str) or value not in allowed:
        raise InputError(f"{option} must be {' or '.join(map(repr, allowed))}, not {short(value)}")


def truth(option: str, value: Any) -> bool:
    """Check a boolean option and return it.

    Parameters
    ----------
    option
        Name of the option, for the message.
    value
        The truth value, also one of NumPy's.

    Raises
    ------
    InputError
        For anything else: numbers and texts are ambiguous.
    """
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{option} must be True or False, not {short(value)}")
    return bool(value)
