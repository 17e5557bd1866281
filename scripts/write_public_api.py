"""Write the public names with their signatures: `python scripts/write_public_api.py`.

The file `tests/packaging/public_api.txt` is compared with the package by a test. Write it anew with a change of the
public interface, and say so in CHANGELOG.md. It has the names of `poise`, its public modules, `poise.extend`,
`poise.errors` and `poise.jax`, the options of the command line, and the keys of its JSON.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import poise
from poise import cli

FILE = Path(__file__).parent.parent / "tests" / "packaging" / "public_api.txt"
MODULES = (
    "poise", "poise.errors", "poise.extend", "poise.plot", "poise.rotations", "poise.samples", "poise.solvers",
    "poise.jax",
)  # fmt: skip
_ARM, _WALK = str(poise.samples.path("arm.urdf")), str(poise.samples.path("humanoid.glb"))
_LEFT_HAND, _TOOL = ["--joint", "LeftHand"], ["--joint", "tool"]

# Calls with one JSON object each; OUT is a file in a folder of the call.
JSON_CALLS: dict[str, list[str]] = {
    "info": [_WALK],
    "info of a robot": [_ARM],
    "limits": [_ARM],
    "solve": [_WALK, *_LEFT_HAND, "--to", "0.4", "1.2", "0.35"],
    "solve of every pose": [_ARM, *_TOOL, "--to", "0.3", "0.2", "0.4", "--prefer", "all"],
    "plant": [_WALK, "--out", "OUT.glb", "--terrain", "slope:5"],
    "lock": [_WALK, "--out", "OUT.glb"],
    "convert": [_WALK, "OUT.bvh"],
    "compare": [_ARM, *_TOOL, "--effort", "quick"],
    "solvers": [],
}
_COMMANDS, _JSON = "command line", "JSON of poise "
SECTIONS = (*MODULES, _COMMANDS, *(f"{_JSON}{call}" for call in JSON_CALLS))
_RECORDS = 2  # a mapping of more keys than these with values alike is keyed by names of the file


def main() -> None:
    """Write the file."""
    FILE.write_text("\n\n".join(f"{title}\n{describe(title)}" for title in SECTIONS) + "\n", encoding="utf-8")


def describe(section: str) -> str:
    """Describe the public names of a section, a line for each."""
    if section == _COMMANDS:
        return "\n".join(describe_commands())
    if section.startswith(_JSON):
        return "\n".join(describe_json(section.removeprefix(_JSON)))
    return "\n".join(describe_module(section))


def read_sections() -> dict[str, str]:
    """Read the sections of the file."""
    sections = FILE.read_text(encoding="utf-8").strip().split("\n\n")
    return {title: text for title, _, text in (section.partition("\n") for section in sections)}


def describe_module(name: str) -> Iterator[str]:
    """Describe the public names of a module."""
    module = importlib.import_module(f"poise.io.{name[6:]}" if name == "poise.samples" else name)
    for public in sorted(_list_names(module)):
        yield from describe_value(public, getattr(module, public))


def describe_value(name: str, value: Any) -> Iterator[str]:
    """Describe a function, a class with its members, or another value."""
    if inspect.ismodule(value):
        yield f"    module {name}"
    elif inspect.isclass(value):
        yield f"    class {name}{_format_constructor(value)}"
        yield from (f"        {line}" for line in sorted(_describe_members(value)))
    elif callable(value) and not hasattr(value, "__origin__"):
        yield f"    def {name}{_format_signature(value)}"
    else:
        yield f"    type {name}"


def describe_commands() -> Iterator[str]:
    """Describe the arguments and options of every command, by the annotations of its function."""
    for name, command in cli.COMMANDS.items():
        module, function_name = command.function_path.split(".")
        function = getattr(importlib.import_module(f"poise.cli.{module}"), function_name)
        hints = get_type_hints(function, include_extras=True)
        yield f"    poise {name}"
        for parameter in inspect.signature(function).parameters.values():
            kind, *extras = get_args(hints[parameter.name]) if get_origin(hints[parameter.name]) is Annotated else [Any]
            info: Any = next((each for each in extras if hasattr(each, "param_decls")), None)
            if info is not None and not info.hidden:
                yield f"        {_format_option(parameter, kind, info)}"


def describe_json(call: str) -> list[str]:
    """Run a call with --json, and describe the keys of its object."""
    text = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        arguments = [word.replace("OUT", f"{folder}/out") for word in JSON_CALLS[call]]
        with warnings.catch_warnings(), contextlib.redirect_stdout(text), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore", poise.PoiseWarning)
            cli.app([call.partition(" ")[0], *arguments, "--json"], standalone_mode=False)
    found = sorted(set(_list_keys(json.loads(text.getvalue()), "")))
    with_values = [line.partition(": ")[0] for line in found if not line.endswith(": null")]
    return [f"    {line}" for line in found if not (line.endswith(": null") and _has_value(line[:-6], with_values))]


def _has_value(key: str, with_values: list[str]) -> bool:
    """Return whether a key, or one below it, has a value elsewhere. Null says nothing new then."""
    return any(each == key or each.startswith((f"{key}.", f"{key}[")) for each in with_values)


def _list_names(module: Any) -> list[str]:
    """List the public names of a module: `__all__`, or its own public functions and classes, or what it re-exports."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    own = module.__name__
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", "").startswith(own)
    ]


def _describe_members(kind: type) -> Iterator[str]:
    """Describe the public members of a class, those of our own base classes included."""
    seen: set[str] = set()
    for base in kind.__mro__:
        if not base.__module__.startswith("poise."):
            continue
        members = {**dict.fromkeys(inspect.get_annotations(base)), **vars(base)}
        for name, value in members.items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            yield _describe_member(base, name, value)


def _describe_member(base: type, name: str, value: Any) -> str:
    function = getattr(value, "__func__", value)
    getter = getattr(value, "fget", None) or getattr(value, "func", None)
    if getattr(function, "is_alias", False) or getattr(getter, "is_alias", False):
        return f"{name}: old name"
    if isinstance(value, Enum):
        return f"{name} = {value.value!r}"
    if getter is not None:
        return f"{name}: {_write(inspect.get_annotations(getter).get('return', 'Any'))}"
    if inspect.isroutine(function):
        kind = f"{type(value).__name__} " if isinstance(value, classmethod | staticmethod) else ""
        return f"{kind}def {name}{_format_signature(function)}"
    return f"{name}: {_write(inspect.get_annotations(base).get(name, type(value).__name__))}"


def _format_constructor(kind: type) -> str:
    """Format the arguments of a class that is called by users."""
    own = kind.__dict__.get("__init__") or kind.__dict__.get("__new__")
    if issubclass(kind, Enum) or own is None or getattr(kind, "_is_protocol", False):
        return ""
    return _format_signature(kind).partition(" -> ")[0]


class _Written(str):
    """An annotation as it is written: its repr is itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _format_signature(function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    parameters = [each.replace(annotation=_write(each.annotation)) for each in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=_write(signature.return_annotation)))


def _write(annotation: Any) -> Any:
    """Write an annotation as in the source."""
    written = getattr(annotation, "__forward_arg__", annotation)
    return _Written(written.strip('"')) if isinstance(written, str) else annotation


def _shorten(value: Any) -> str:
    return str(value).replace("typing.", "").replace("pathlib.", "")


def _format_option(parameter: inspect.Parameter, kind: Any, info: Any) -> str:
    """Format an argument or option: its spellings, its type, and its default."""
    is_option = type(info).__name__ == "OptionInfo"
    first = [info.default] if isinstance(info.default, str) else []  # Typer takes the first spelling as a default
    derived = [f"{'--' if is_option else ''}{parameter.name.replace('_', '-')}"]
    spelled = " ".join([*first, *(info.param_decls or ())] or derived)
    kinds = [each for each in get_args(kind) if each is not type(None)] if get_origin(kind) is UnionType else [kind]
    name = " | ".join(map(_name_type, kinds))
    default = parameter.default
    if default is inspect.Parameter.empty:
        return f"{spelled}: {name}, required"
    is_given = default is not None and default is not False
    return f"{spelled}: {name}" + (f" = {getattr(default, 'value', default)}" if is_given else "")


def _name_type(kind: Any) -> str:
    if inspect.isclass(kind) and issubclass(kind, Enum):
        return "|".join(str(each.value) for each in kind)
    return kind.__name__ if inspect.isclass(kind) and not get_args(kind) else _shorten(kind)


def _list_keys(value: Any, path: str) -> Iterator[str]:
    """List the paths of all keys with the types of their values."""
    if isinstance(value, dict) and value:
        alike = len(value) > _RECORDS and len({json.dumps(_find_shape(each)) for each in value.values()}) == 1
        for key, each in value.items():
            yield from _list_keys(each, f"{path}.NAME" if alike else f"{path}.{key}")
    elif isinstance(value, list) and value:
        for each in value:
            yield from _list_keys(each, f"{path}[]")
    else:
        yield f"{path.removeprefix('.')}: {_name_json_type(value)}"


def _find_shape(value: Any) -> Any:
    return sorted(value) if isinstance(value, dict) else _name_json_type(value)


def _name_json_type(value: Any) -> str:
    if value is None or isinstance(value, bool | str | dict | list):
        return {type(None): "null", bool: "bool", str: "text", dict: "object", list: "list"}[type(value)]
    return "number"


if __name__ == "__main__":
    main()
