# pyright: standard
"""Kernels for any tree and any goals.

Input: a packed tree, starts and targets in kernel units (`plan_coordinates` converts). Output: configurations u, errors
and counts. `residual` has forward kinematics, residual and step, `goal_jacobians` the rows of each goal, `batch_lm` the
Levenberg-Marquardt driver, `jacobian_methods` that of the other methods, `fabrik_tree` FABRIK for several effectors.
"""

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
