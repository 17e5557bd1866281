# pyright: standard
"""Numba kernels, one module per problem. They are plain functions on numbers, compiled on first use.

Modules are imported on first access, so that `import poise` and commands without a solve do not load Numba. Python
packs arrays as `layout` describes them; `kinematics` computes world maps and Jacobians, `goal_errors` and `limits`
measure configurations, `arm_lm`, `ccd_position`, `ccd_goals`, `fabrik`, `tree` and `limb` solve. `jit` compiles.
"""

from __future__ import annotations

from poise.kernels.lazy_import import make_lazy_getattr

__getattr__ = make_lazy_getattr(
    __name__,
    "approach",
    "arm_lm",
    "arm_targets",
    "ccd_goals",
    "ccd_position",
    "chain_kinematics",
    "chain_polish",
    "chain_restarts",
    "fabrik",
    "fabrik_tree",
    "goal_errors",
    "goal_jacobians",
    "ground",
    "jacobian_methods",
    "kinematics",
    "lanes",
    "limb_packing",
    "limits",
    "matrices",
    "plan_coordinates",
    "planar_two_bone",
    "posture",
    "springs",
    "tree_lm",
    "tree_residual",
    "two_bone",
    "vec_quat",
)
