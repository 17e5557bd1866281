# pyright: standard
"""Numba kernels, one module per problem. They are plain functions on numbers, compiled on first use.

Modules are imported on first access, so that `import poise` and commands without a solve do not load Numba. Python
packs arrays as `layout` describes them; `kinematics` computes world maps and Jacobians, `goal_errors` and `limits`
measure configurations, `arm_lm`, `ccd_position`, `ccd_goals`, `fabrik`, `tree` and `limb` solve. `jit` compiles.
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
