"""Old names of renamed functions. They work for one version and warn."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def make_alias(old: str, new: _Function) -> _Function:
    """Make the alias of a renamed function or class method. It warns, then calls the function.

    `is_alias` marks it for listings of names.
    """
    function: Callable[..., Any] = getattr(new, "__func__", new)

    @wraps(function)
    def alias(*args: Any, **options: Any) -> Any:
        message = f"{old} was renamed to {function.__name__}; the old name goes with the next version"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return function(*args, **options)

    alias.__name__ = old.rpartition(".")[2]
    vars(alias)["is_alias"] = True
    return classmethod(alias) if isinstance(new, classmethod) else alias  # pyright: ignore[reportReturnType]
