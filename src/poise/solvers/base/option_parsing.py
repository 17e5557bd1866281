"""Parameters of solvers and goals: listing, description and parsing from text.

The command line and the viewer read options through this module. Each option is thus defined once: as a field of a
solver or goal, described in the class docstring.
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

_TRUTH_VALUES = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NO_DEFAULT = inspect.Parameter.empty


class Parameter(NamedTuple):
    """Constructor parameter: name, type, default, and description. The default is None with `is_required`."""

    name: str
    type_hint: Any
    default: Any
    is_required: bool
    description: str

    def read(self, text: str) -> Any:
        """Parse a text into a value of the parameter. Raises InputError with the allowed values."""
        value = _parse_value(self.type_hint, text.strip())
        if value is _UNREADABLE:
            raise InputError(f"{self.name} is {describe_type(self.type_hint)}, not {text!r}")
        return value


def list_parameters(cls: type) -> tuple[Parameter, ...]:
    """List the constructor parameters of a class, in order."""
    hints = typing.get_type_hints(cls.__init__)
    descriptions = _read_descriptions(cls)
    return tuple(
        Parameter(
            name,
            hints.get(name, str),
            None if parameter.default is _NO_DEFAULT else parameter.default,
            parameter.default is _NO_DEFAULT,
            descriptions.get(name, ""),
        )
        for name, parameter in inspect.signature(cls).parameters.items()
    )


def read_summary(cls: type) -> str:
    """Return the first line of a class's docstring."""
    return (inspect.getdoc(cls) or "").partition("\n")[0]


def _read_descriptions(cls: type) -> dict[str, str]:
    """Return each parameter's description from the docstring.

    One entry of the Parameters section may describe several, `low, high`.
    """
    import docstring_parser  # noqa: PLC0415 (not needed for solving)

    parsed = docstring_parser.parse(inspect.getdoc(cls) or "", docstring_parser.DocstringStyle.NUMPYDOC)
    texts = ((parameter.arg_name, " ".join((parameter.description or "").split())) for parameter in parsed.params)
    return {name: text for names, text in texts for name in names.split(", ")}


def parse_options(cls: type, assignments: Iterable[str], label: str) -> dict[str, Any]:
    """Parse texts `name=value` into arguments for a class. UnknownNameError lists the existing ones."""
    parameters_by_name = {parameter.name: parameter for parameter in list_parameters(cls)}
    arguments: dict[str, Any] = {}
    for assignment in assignments:
        name, separator, value_text = assignment.partition("=")
        name = name.strip().replace("-", "_")
        if not separator:
            raise InputError(f"an option of {label} is written name=value, not {assignment!r}")
        if name not in parameters_by_name:
            raise UnknownNameError(f"option of {label}", name, tuple(parameters_by_name), plural=f"options of {label}")
        if name in arguments:
            raise InputError(f"the option {name} of {label} is given twice")
        arguments[name] = parameters_by_name[name].read(value_text)
    return arguments


def describe_type(hint: Any) -> str:
    """Describe a type in words."""
    type_descriptions = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "a name",
        NoneType: "none",
    }
    if hint in type_descriptions:
        return type_descriptions[hint]
    if hint == ArrayLike:
        return "numbers with commas between"
    origin, type_arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return " or ".join(map(str, type_arguments))
    if origin in (typing.Union, UnionType):
        return " or ".join(dict.fromkeys(describe_type(member_type) for member_type in _split_union(type_arguments)))
    if _is_mapping(origin):
        return "joint=number with commas between"
    return "names with commas between"


# --- reading -----------------------------------------------------------------------------------------------------


class _Unreadable:
    """Marker for a text without a value of some type."""


_UNREADABLE = _Unreadable()


def _parse_value(hint: Any, text: str) -> Any:
    origin, type_arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint == ArrayLike:
        return _parse_numbers(text)
    if origin in (typing.Union, UnionType):
        values = (
            _parse_value(member_type, text) for member_type in sorted(_split_union(type_arguments), key=_rank_type)
        )
        return next((value for value in values if value is not _UNREADABLE), _UNREADABLE)
    if origin is Literal:
        return next((value for value in type_arguments if str(value) == text), _UNREADABLE)
    if _is_mapping(origin):
        return _parse_mapping(text)
    if origin in (tuple, list) or (isinstance(origin, type) and issubclass(origin, Iterable)):
        return (
            _parse_numbers(text) if type_arguments[:1] == (float,) else tuple(name.strip() for name in text.split(","))
        )
    parsers: dict[Any, Callable[[str], Any]] = {
        NoneType: _parse_none,
        bool: _parse_truth,
        int: _parse_integer,
        float: _parse_number,
        str: str,
    }
    return parsers.get(hint, lambda _: _UNREADABLE)(text)


def _split_union(types: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the types of a union. ArrayLike stays one type, although Python flattens it into the union.

    From NumPy 2.5 on it is an alias, which Python does not flatten.
    """
    array_types = typing.get_args(ArrayLike)
    if not array_types or not set(array_types) <= set(types):
        return types
    return (*(member_type for member_type in types if member_type not in array_types), ArrayLike)


def _rank_type(hint: Any) -> int:
    """Return the rank of a type when parsing unions. Names come last, because any text is one."""
    origin = typing.get_origin(hint)
    ranked_types = [NoneType, bool, int, float]
    if hint in ranked_types:
        return ranked_types.index(hint)
    return 7 if hint is str else 4 if _is_mapping(origin) else 5 if origin is Literal else 6


def _is_mapping(origin: Any) -> bool:
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _parse_none(text: str) -> Any:
    return None if text.lower() == "none" else _UNREADABLE


def _parse_truth(text: str) -> Any:
    return _TRUTH_VALUES.get(text.lower(), _UNREADABLE)


def _parse_integer(text: str) -> Any:
    return int(text) if re.fullmatch(r"[+-]?\d{1,18}", text, re.ASCII) else _UNREADABLE


def _parse_number(text: str) -> Any:
    try:
        number = float(text) if text.isascii() and "_" not in text else math.nan  # float() accepts 1_0
    except ValueError:
        return _UNREADABLE
    return _UNREADABLE if math.isnan(number) else number


def _parse_numbers(text: str) -> Any:
    numbers = tuple(_parse_number(word) for word in text.replace(",", " ").split())
    return _UNREADABLE if not numbers or _UNREADABLE in numbers else numbers


def _parse_mapping(text: str) -> Any:
    numbers_by_name: dict[str, float] = {}
    for pair_text in text.split(","):
        name, separator, number_text = pair_text.rpartition("=")
        number = _parse_number(number_text)
        if not separator or number is _UNREADABLE:
            return _UNREADABLE
        numbers_by_name[name.strip()] = number
    return numbers_by_name
