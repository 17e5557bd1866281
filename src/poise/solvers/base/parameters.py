"""Parameters of a class, from its signature and docstring.

The command line and the viewer read options through this module.

So each option is defined once: as a field of a solver or goal, described in the class docstring.
"""

from __future__ import annotations

import inspect
import math
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple

from numpy.typing import ArrayLike

from poise.errors import InputError, UnknownNameError

_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_REQUIRED = inspect.Parameter.empty


class Parameter(NamedTuple):
    """Constructor parameter: name, type, default, and description. The default is None with `required`."""

    name: str
    hint: Any
    default: Any
    required: bool
    text: str

    def read(self, text: str) -> Any:
        """Parse a text into a value of the parameter. Raises InputError with the allowed values."""
        value = _read(self.hint, text.strip())
        if value is _UNREADABLE:
            raise InputError(f"{self.name} is {described(self.hint)}, not {text!r}")
        return value


def parameters(of: type) -> tuple[Parameter, ...]:
    """List the constructor parameters of a class, in order."""
    hints = typing.get_type_hints(of.__init__)
    said = _sentences(of)
    return tuple(
        Parameter(
            name,
            hints.get(name, str),
            None if given.default is _REQUIRED else given.default,
            given.default is _REQUIRED,
            said.get(name, ""),
        )
        for name, given in inspect.signature(of).parameters.items()
    )


def summary(of: type) -> str:
    """Return the first line of a class's docstring."""
    return (inspect.getdoc(of) or "").partition("\n")[0]


def _sentences(of: type) -> dict[str, str]:
    """Return each parameter's description from the docstring.

    One entry of the Parameters section may describe several, `low, high`.
    """
    import docstring_parser  # noqa: PLC0415 (not needed for solving)

    found = docstring_parser.parse(inspect.getdoc(of) or "", docstring_parser.DocstringStyle.NUMPYDOC)
    texts = ((given.arg_name, " ".join((given.description or "").split())) for given in found.params)
    return {name: text for names, text in texts for name in names.split(", ")}


def read_options(of: type, given: Iterable[str], what: str) -> dict[str, Any]:
    """Parse texts `name=value` into arguments for a class. UnknownNameError lists the existing ones."""
    known = {parameter.name: parameter for parameter in parameters(of)}
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise InputError(f"an option of {what} is written name=value, not {text!r}")
        if name not in known:
            raise UnknownNameError(f"option of {what}", name, tuple(known), plural=f"options of {what}")
        if name in found:
            raise InputError(f"the option {name} of {what} is given twice")
        found[name] = known[name].read(value)
    return found


def described(hint: Any) -> str:
    """Describe a type in words."""
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a name", NoneType: "none"}
    if hint in names:
        return names[hint]
    if hint == ArrayLike:
        return "numbers with commas between"
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return " or ".join(map(str, inner))
    if origin in (typing.Union, UnionType):
        return " or ".join(dict.fromkeys(described(part) for part in _parts(inner)))
    if _is_mapping(origin):
        return "joint=number with commas between"
    return "names with commas between"


# --- reading -----------------------------------------------------------------------------------------------------


class _Unreadable:
    """Marker for a text without a value of some type."""


_UNREADABLE = _Unreadable()


def _read(hint: Any, text: str) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint == ArrayLike:
        return _numbers(text)
    if origin in (typing.Union, UnionType):
        found = (_read(part, text) for part in sorted(_parts(inner), key=_plain))
        return next((value for value in found if value is not _UNREADABLE), _UNREADABLE)
    if origin is Literal:
        return next((value for value in inner if str(value) == text), _UNREADABLE)
    if _is_mapping(origin):
        return _mapping(text)
    if origin in (tuple, list) or (isinstance(origin, type) and issubclass(origin, Iterable)):
        return _numbers(text) if inner[:1] == (float,) else tuple(name.strip() for name in text.split(","))
    readers: dict[Any, Callable[[str], Any]] = {NoneType: _none, bool: _truth, int: _whole, float: _number, str: str}
    return readers.get(hint, lambda _: _UNREADABLE)(text)


def _parts(inner: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the types of a union. ArrayLike stays one type, although Python flattens it into the union."""
    of_arrays = typing.get_args(ArrayLike)
    if not set(of_arrays) <= set(inner):
        return inner
    return (*(part for part in inner if part not in of_arrays), ArrayLike)


def _plain(hint: Any) -> int:
    """Return the rank of a type when parsing unions. Names come last, because any text is one."""
    origin = typing.get_origin(hint)
    order = [NoneType, bool, int, float]
    if hint in order:
        return order.index(hint)
    return 7 if hint is str else 4 if _is_mapping(origin) else 5 if origin is Literal else 6


def _is_mapping(origin: Any) -> bool:
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _none(text: str) -> Any:
    return None if text.lower() == "none" else _UNREADABLE


def _truth(text: str) -> Any:
    return _TRUTH.get(text.lower(), _UNREADABLE)


def _whole(text: str) -> Any:
    return int(text) if re.fullmatch(r"[+-]?\d{1,18}", text, re.ASCII) else _UNREADABLE


def _number(text: str) -> Any:
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan  # float() accepts 1_0
    except ValueError:
        return _UNREADABLE
    return _UNREADABLE if math.isnan(value) else value


def _numbers(text: str) -> Any:
    values = tuple(_number(part) for part in text.replace(",", " ").split())
    return _UNREADABLE if not values or _UNREADABLE in values else values


def _mapping(text: str) -> Any:
    found: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = part.rpartition("=")
        number = _number(value)
        if not equals or number is _UNREADABLE:
            return _UNREADABLE
        found[name.strip()] = number
    return found
