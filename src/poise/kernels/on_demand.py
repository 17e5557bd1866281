# pyright: standard
"""Modules that are imported when somebody asks for them: Numba, which all kernels need, takes a quarter of a second."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType

from poise.timing.clock import pause_clock


def imported_when_asked(package: str, *names: str) -> Callable[[str], ModuleType]:
    """Make the `__getattr__` of a package that imports these modules or rooms of it on first access."""

    def find(name: str) -> ModuleType:
        if name in names:
            with pause_clock():
                return importlib.import_module(f"{package}.{name}")
        message = f"module {package!r} has no attribute {name!r}"
        raise AttributeError(message)

    return find
