# pyright: standard
"""Lazy import of submodules.

Loading all kernels takes a tenth of a second, and a quarter more where Numba compiles them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType

from poise.call_clock import pause_clock


def make_lazy_getattr(package: str, *module_names: str) -> Callable[[str], ModuleType]:
    """Make the `__getattr__` of a package with lazy submodules."""

    def import_submodule(name: str) -> ModuleType:
        if name in module_names:
            with pause_clock():
                return importlib.import_module(f"{package}.{name}")
        message = f"module {package!r} has no attribute {name!r}"
        raise AttributeError(message)

    return import_submodule
