# pyright: standard
"""Numba kernels, one module per problem. They are plain functions on numbers, compiled on first use.

`poise.kernels.forward` and the others are imported on first access, so that `import poise` and commands that never
solve do not pay for Numba.
"""

from __future__ import annotations

from poise.kernels.on_demand import imported_when_asked

__getattr__ = imported_when_asked(
    __name__,
    "arm",
    "chain",
    "forward",
    "ground",
    "jacobian",
    "limb",
    "limits",
    "pace",
    "paths",
    "tree",
    "values",
)
