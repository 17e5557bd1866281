"""Old names of functions, properties and parameters. They work for one version and warn."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from os import PathLike
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def make_alias(old: str, new: _Function, new_name: str = "") -> _Function:
    """Make the alias of a renamed function or class method. It warns, then calls the function.

    `is_alias` marks it for listings of names. `new_name` is for a function without a name of its own, such as a call.
    """
    function: Callable[..., Any] = getattr(new, "__func__", new)

    @wraps(function)
    def alias(*args: Any, **options: Any) -> Any:
        warn_of_old_name(old, new_name or function.__name__)
        return function(*args, **options)

    alias.__name__ = old.rpartition(".")[2]
    vars(alias)["is_alias"] = True
    return classmethod(alias) if isinstance(new, classmethod) else alias  # pyright: ignore[reportReturnType]


def make_property_alias(old: str, new: str) -> property:
    """Make the alias of a renamed property or field. It warns, then reads the attribute `new`."""

    def alias(owner: Any) -> Any:
        warn_of_old_name(old, new)
        return getattr(owner, new)

    alias.__name__, alias.__doc__ = old.rpartition(".")[2], f"Old name of `{new}`."
    vars(alias)["is_alias"] = True
    return property(alias)


def accept_path_first(function: _Function) -> _Function:
    """Accept the path as first argument, as in version 0.1. It warns, then calls the function with the path last."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if args and isinstance(args[0], str | PathLike) and "path" not in options:
            message = f"{function.__name__} takes the path last; the path as first argument goes with the next version"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return function(*args[1:], **options, path=args[0])
        return function(*args, **options)

    return call  # pyright: ignore[reportReturnType]


def accept_old_keywords(**new_names: str) -> Callable[[_Function], _Function]:
    """Accept old names of renamed parameters, each with its new name. A decorator; a call with an old name warns."""

    def decorate(function: _Function) -> _Function:
        @wraps(function)
        def accept(*args: Any, **options: Any) -> Any:
            for old, new in new_names.items():
                if old in options and new not in options:
                    name = function.__qualname__.removesuffix(".__init__")
                    warn_of_old_name(f"{name}({old}=...)", f"{new}=...")
                    options[new] = options.pop(old)
            return function(*args, **options)

        return accept  # pyright: ignore[reportReturnType]

    return decorate


def warn_of_old_name(old: str, new: str, depth: int = 3) -> None:
    """Warn of the use of an old name. `depth` counts the calls between the use and the warning."""
    message = f"{old} was renamed to {new}; the old name goes with the next version"
    warnings.warn(message, DeprecationWarning, stacklevel=depth)
