# pyright: standard
"""Any tree and goals: the general engine and the Jacobian methods."""

from __future__ import annotations

from poise.kernels.on_demand import imported_when_asked

__getattr__ = imported_when_asked(
    __name__,
    "arrays",
    "doors",
    "fabrik_tree",
    "many",
    "steps",
    "tree",
)
