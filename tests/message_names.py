"""Names in messages of Poise: each of them exists.

Every PoiseError and PoiseWarning made by a test is recorded, and the names of its text are looked up after the test.
Quoted text is the user's and is left out.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import warnings
from functools import cache
from typing import Any

import poise
from poise import errors, extend

_DOTTED = re.compile(r"(?<![\w/.\-'\"\\])([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)+)")
_CODE = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"[A-Za-z_]\w*")
# class of a value by the name that it has in messages
_CLASSES = {
    "rig": "Rig", "skeleton": "Skeleton", "clip": "Clip", "pose": "Pose", "result": "Result", "planted": "Planted",
    "view": "View", "grounder": "Grounder", "tracker": "Tracker",
}  # fmt: skip
_SUFFIXES = {
    "asf", "amc", "bvh", "c3d", "csv", "fbx", "glb", "gltf", "html", "json", "npy", "npz", "pdf", "pkl", "png", "srdf",
    "svg", "toml", "trc", "urdf", "usd", "usda", "usdc", "usdz", "vrm", "vrma", "xacro", "xml",
}  # fmt: skip

messages: set[str] = set()


class _RecordedError(Exception):
    """Base class that records the text of each error."""

    __slots__ = ()  # the layout of Exception: its subclass can change bases

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        messages.update(text for text in args[:1] if isinstance(text, str))


class _RecordedWarning(UserWarning):
    """Base class that records the text of each warning, shown or not."""

    __slots__ = ()

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        messages.update(text for text in args[:1] if isinstance(text, str))


# no parameters for readers of signatures, as the built-in base classes have
_NO_PARAMETERS = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)])
for _base in (_RecordedError, _RecordedWarning):
    _base.__init__.__signature__ = _NO_PARAMETERS


def record_messages() -> None:
    """Record the text of each error and warning from now on. The recorded texts are in `messages`.

    The base classes are replaced: the public classes keep their members and signatures, which tests compare.
    """
    errors.PoiseError.__bases__ = (_RecordedError,)
    errors.PoiseWarning.__bases__ = (_RecordedWarning,)


def take_unknown_names() -> list[str]:
    """Take the recorded messages, and return those with a name that does not exist."""
    taken = [f"{name}: {text[:300]}" for text in sorted(messages) for name in find_unknown_names(text)]
    messages.clear()
    return taken


def find_unknown_names(text: str) -> list[str]:
    """Find the names in a message that Poise does not have."""
    dotted = [(match[1], match[2][1:]) for match in _DOTTED.finditer(_CODE.sub("", text))]
    unknown = [f"{first}.{rest}" for first, rest in dotted if not _is_known(first, rest)]
    return unknown + [f"`{code}`" for code in _CODE.findall(text) if not _is_known_code(code)]


@cache
def _is_known(first: str, rest: str) -> bool:
    """Look up a dotted name. One that begins with no word of Poise counts as known."""
    path = rest.split(".")
    if first == "poise":
        return _has(poise, path)
    if first in _CLASSES:
        return path[-1] in _SUFFIXES or _has(getattr(poise, _CLASSES[first]), path)
    if first in poise.__all__ or first in extend.__all__:
        return _has(getattr(poise, first, None) or getattr(extend, first), path)
    return True


def _has(owner: Any, path: list[str]) -> bool:
    """Follow names from an owner. Values of an instance end the search, and old names do not count."""
    for name in path:
        if inspect.ismodule(owner):
            owner = _import(owner, name)
        elif isinstance(owner, type):
            fields = [field.name for field in dataclasses.fields(owner)] if dataclasses.is_dataclass(owner) else []
            is_annotated = any(name in vars(each).get("__annotations__", {}) for each in owner.__mro__)
            member = inspect.getattr_static(owner, name, None)
            if member is None and (name in fields or is_annotated):
                return True
            owner = member
        else:
            return True
        function = owner.fget if isinstance(owner, property) else getattr(owner, "__func__", owner)
        if owner is None or getattr(function, "is_alias", False):
            return False
    return True


def _import(module: Any, name: str) -> Any:
    """Return a member of a module, or None. A submodule is imported; an old name warns and is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return getattr(module, name)
        except AttributeError:
            pass
        except DeprecationWarning:
            return None
    try:
        return importlib.import_module(f"{module.__name__}.{name}")
    except ImportError:
        return None


@cache
def _is_known_code(code: str) -> bool:
    """Look up code in backticks: a command, a dotted name, or the name of a parameter or field."""
    from poise.cli import COMMANDS

    words = code.split()
    if words[0] == "poise":
        return len(words) > 1 and words[1] in COMMANDS
    name = code.partition("(")[0].partition("=")[0].partition("[")[0]
    if _DOTTED.fullmatch(name):
        first, _, rest = name.partition(".")
        return _is_known(first, rest)
    return not _NAME.fullmatch(name) or name in _list_names()


@cache
def _list_names() -> frozenset[str]:
    """List public names, their parameters and their fields."""
    found: set[str] = {*poise.__all__, *extend.__all__}
    for value in [getattr(poise, name) for name in poise.__all__] + [getattr(extend, name) for name in extend.__all__]:
        found.update(name for name in dir(value) if not name.startswith("_"))
        members = [value, *(vars(value).values() if isinstance(value, type) else ())]
        for member in members:
            function = getattr(member, "__func__", member)
            if callable(function):
                found.update(_list_parameters(function))
        if dataclasses.is_dataclass(value):
            found.update(field.name for field in dataclasses.fields(value))
    return frozenset(found)


def _list_parameters(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []
