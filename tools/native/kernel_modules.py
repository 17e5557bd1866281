"""All kernels of Poise, imported."""

from __future__ import annotations

import importlib
import pkgutil

from poise import kernels
from poise.kernels.entries import ENTRIES, Entry

_JIT_PACKAGE = "poise.kernels.jit"


def import_kernels() -> dict[str, Entry]:
    """Import all kernel modules and return their entries by name."""
    for package in (kernels, kernels.ground):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if module.name != _JIT_PACKAGE:
                importlib.import_module(module.name)
    return ENTRIES
