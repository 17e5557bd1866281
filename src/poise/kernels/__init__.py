# pyright: standard
"""Scalar kernels: plain functions on numbers, compiled by Numba when a kernel module is first used.

`poise.kernels.forward` and the others are imported on first access, so that `import poise` and commands
that never solve do not pay for Numba.
"""

from __future__ import annotations

import importlib
from types import ModuleType

_MODULES = (
    "arcs",
    "ccd",
    "ccd_goals",
    "chain",
    "chain_finish",
    "eigen",
    "escape",
    "fabrik",
    "fabrik_limited",
    "fabrik_tree",
    "forward",
    "grounder",
    "grounder_walk",
    "legs",
    "jacobian",
    "limits",
    "linear",
    "paths",
    "reach",
    "serial",
    "serial_many",
    "serial_one",
    "springs",
    "tree",
    "tree_arrays",
    "tree_many",
    "tree_steps",
    "turn_limits",
    "turns",
    "two_bone",
    "two_bone_planar",
    "violation",
)


def __getattr__(name: str) -> ModuleType:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
