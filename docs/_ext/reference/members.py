"""The attributes and methods of a class, and the types and defaults of what is called."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ForwardRef, NamedTuple

from poise.solvers.base import parameters

_ARRAYS = {"Floats": "array", "Ints": "array of whole numbers", "Bools": "array of truths", "ArrayLike": "array-like"}


class Member(NamedTuple):
    """A member: its name, how it is called (None: an attribute), its docstring, and what its docstring's names are."""

    name: str
    call: str | None
    doc: str
    facts: dict[str, str]


def members(of: type) -> Iterator[Member]:
    """The public members that have a docstring, attributes first, each in the order of the source."""
    found = [member for name, value in _own(of).items() if (member := _member(of, name, value)) is not None]
    yield from (member for member in found if member.call is None)
    yield from (member for member in found if member.call is not None)


def _own(of: type) -> dict[str, Any]:
    """Public names of a class and of those of ours that it derives from."""
    found: dict[str, Any] = {}
    for kind in reversed(of.__mro__):
        if kind.__module__.startswith("poise."):
            found |= {name: value for name, value in vars(kind).items() if not name.startswith("_")}
    return found


def _member(of: type, name: str, value: Any) -> Member | None:
    if isinstance(value, (property, cached_property)):
        return Member(name, None, inspect.getdoc(value) or "", {})
    function = getattr(value, "__func__", value)  # of class methods and static methods
    if not inspect.isfunction(function):
        return None
    prefix = f"{of.__name__}." if isinstance(value, (classmethod, staticmethod)) else "."
    bound = isinstance(value, staticmethod) or len(inspect.signature(function).parameters) == 0
    return Member(name, prefix + call(name, function, skip=not bound), inspect.getdoc(value) or "", facts(function))


def values(of: type) -> list[tuple[str, str]]:
    """Name and sentence of the values of an enumeration; nothing for other classes."""
    if not issubclass(of, enum.Enum):
        return []
    return [(each.name, str(getattr(each, "sentence", "")) or repr(each.value)) for each in of]


def call(name: str, function: Any, *, skip: bool = False) -> str:
    """How something is called: names and defaults, without types."""
    given = list(inspect.signature(function).parameters.values())[int(skip) :]
    written, starred = [], False
    for parameter in given:
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            written.append("*")
        starred = starred or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        mark = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f"={shown(parameter.default)}"
        written.append(mark + parameter.name + default)
    indent = min(len(name) + 1, 16)
    return _filled(f"{name}(", written, " " * indent)


def _filled(head: str, written: list[str], indent: str) -> str:
    """Arguments on lines of at most 80 letters, those after the first indented."""
    lines = [head]
    for i, argument in enumerate(written):
        piece = argument + (")" if i == len(written) - 1 else ", ")
        if len(lines[-1]) + len(piece.rstrip()) > 80 and lines[-1].strip():
            lines[-1] = lines[-1].rstrip()
            lines.append(indent)
        lines[-1] += piece
    return "\n".join(lines) + ("" if written else ")")


def shown(value: Any) -> str:
    """A default as it is typed: six digits are enough for an angle."""
    if isinstance(value, float) and not isinstance(value, bool):
        return f"{float(value):.6g}" if not float(value).is_integer() or abs(value) > 1e6 else str(float(value))
    if isinstance(value, tuple):
        inner = ", ".join(shown(part) for part in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, str):
        return f'"{value}"'
    text = repr(value)
    return "..." if text.startswith("<") or len(text) > 40 else text


def facts(of: Any) -> dict[str, str]:
    """Type and default of what a function, or the constructor of a class, takes; of a class's fields the type."""
    found: dict[str, str] = {}
    if inspect.isclass(of):
        found = {name: _plain(hint) for kind in reversed(of.__mro__) for name, hint in _annotations(kind).items()}
    try:
        given = inspect.signature(of).parameters
    except ValueError:
        return found
    for name, parameter in given.items():
        hint = "" if parameter.annotation is parameter.empty else _plain(parameter.annotation)
        default = "" if parameter.default is parameter.empty else f"default {_code(shown(parameter.default))}"
        found[name] = ", ".join(part for part in (hint or found.get(name, ""), default) if part)
    return found


def solver_facts(of: type) -> dict[str, str]:
    """The options of a solver: type in words and default, as the command line has them."""
    return {
        option.name: ("a name or a solver" if "Solver" in str(option.hint) else parameters.described(option.hint))
        + ("" if option.required else f", default {_code(shown(option.default))}")
        for option in parameters.parameters(of)
    }


def _annotations(kind: type) -> dict[str, Any]:
    return vars(kind).get("__annotations__", {}) if kind.__module__.startswith("poise.") else {}


def _code(text: str) -> str:
    return f"<code>{_html(text)}</code>"


def _plain(hint: Any) -> str:
    """A type in short: no module, no quotes, arrays by their plain name."""
    if isinstance(hint, ForwardRef):
        hint = hint.__forward_arg__
    text = hint if isinstance(hint, str) else getattr(hint, "__name__", None) or str(hint)
    text = text.removeprefix("ForwardRef('").removesuffix("')")
    text = re.sub(r"Literal\[([^\]]*)\]", lambda found: found[1].replace(", ", " | "), text)
    text = re.sub(r"\b(?:\w+\.)+(?=[A-Z])", "", text)
    for name, plain in _ARRAYS.items():
        text = re.sub(rf"\b{name}\b", plain, text)
    return _html(text)


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
