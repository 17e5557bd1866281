"""Argument checks: library values, texts, names, functions.

`maths/arrays.py` checks numbers and arrays of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from poise.errors import InputError
from poise.maths.arrays import short

Wanted = TypeVar("Wanted")

# Description of a value in a message, with an example, by class name.
_SUCH = {
    "Clip": "a Clip, such as rig.clips[0]",
    "Contacts": "a poise.Contacts, such as planted.contacts",
    "Pose": "a Pose, such as rig.rest",
    "Rig": "a Rig, such as poise.load('figure.glb')",
    "Skeleton": "a Skeleton, such as rig.skeleton",
    "Terrain": "a poise.Terrain, such as Terrain.flat()",
    "Track": "a poise.Track",
}


def require(value: Any, kind: type[Wanted], what: str) -> Wanted:
    """Return a value of a class; raise InputError for any other.

    Parameters
    ----------
    value
        The value.
    kind
        The class.
    label
        Name of the value in the message.

    Raises
    ------
    InputError
        For a value of another class. The message names a source of the right class.
    """
    if isinstance(value, kind):
        return value
    raise make_kind_error(value, (kind,), what)


def make_kind_error(value: Any, kinds: tuple[type, ...], what: str) -> InputError:
    """Make the InputError for a value of none of these classes."""
    wanted = " or ".join(_SUCH.get(kind.__name__, _article(kind.__name__)) for kind in kinds)
    return InputError(f"{what} must be {wanted}, not {named(value)}")


def named(value: Any) -> str:
    """Describe a value in a message. Library values by their class, others as `abbreviate` writes them."""
    kind: type = type(value)
    return _article(kind.__name__) if kind.__module__.partition(".")[0] == "poise" else short(value)


def text(value: Any, what: str) -> str:
    """Check a text.

    InputError for other values and for half a character: no file can hold that.
    """
    if not isinstance(value, str):
        message = f"{what} must be a text, not {named(value)}"
        raise InputError(message)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        message = f"{what} holds half a character: {short(value)}"
        raise InputError(message) from error
    return value


def several(value: Any, what: str, such: str, entries: str = "values") -> list[Any]:
    """Return the entries of a collection.

    Parameters
    ----------
    value
        A list, a tuple, an array or any other iterable but a text.
    label
        Name of the collection in the message.
    example
        An example for the message: "['hips', 'spine']".
    entries
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
    message = f"{what} are several {entries}, such as {such}, not {named(value)}"
    raise InputError(message)


def names(value: Any, what: str, such: str = "['hips', 'spine']") -> tuple[str, ...]:
    """Check several names; return a tuple. InputError for a single text and for entries of other kinds."""
    found = several(value, what, such, "names")
    for one in found:
        if not isinstance(one, str):
            message = f"{what} are names, such as {such}; one of them is {named(one)}"
            raise InputError(message)
    return tuple(map(str, found))  # converts NumPy's strings


def function(value: Any, what: str) -> Callable[..., Any]:
    """Check a function or any other callable. InputError for other values."""
    if not callable(value):
        message = f"{what} must be a function, not {named(value)}"
        raise InputError(message)
    return value


def _article(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"
