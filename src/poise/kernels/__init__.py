# pyright: standard
"""Numba kernels: functions on numbers, compiled on first use.

Modules are imported on first access, so that `import poise` and commands without a solve do not load Numba. Python
packs arrays as `layout` describes them. `kinematics` computes world maps and Jacobians; `goal_errors` and `limits`
measure configurations; `kernel_coordinates` converts starts, targets and solutions. `tree_lm`, `arm_lm`,
`jacobian_methods`, `ccd_position`, `ccd_goals`, `fabrik`, `fabrik_tree`, `two_bone` and `planar_two_bone` solve.

Kernels are functions on values and NamedTuples (`Vec`, `Quat`) without NumPy calls and exceptions. `jit` compiles them;
`compilation` caches machine code on disk, with a stamp over all kernel files, because Numba alone would run stale code
after a change of a callee in another file. A value is a float64 or a SIMD register of `lanes`: 8 numbers with AVX-512,
else 4 (POISE_LANES overrides); the kind of value is a kernel's first argument, so one source serves both. Without
Numba's compiler (`NUMBA_DISABLE_JIT=1`) lanes are NumPy arrays. Compiled code may fuse multiply and add and change the
order of sums: last bits differ between processors and lane widths, but not between calls on one machine.
"""

from __future__ import annotations

from poise.kernels.lazy_import import make_lazy_getattr

__getattr__ = make_lazy_getattr(
    __name__,
    "arm_lm",
    "arm_race",
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
    "kernel_coordinates",
    "kinematics",
    "lane_workspace",
    "lanes",
    "limb_packing",
    "limits",
    "planar_two_bone",
    "posture",
    "problem_arrays",
    "rotation_fit",
    "rotation_matrices",
    "speed_limited_motion",
    "springs",
    "symmetric_matrices",
    "tree_lm",
    "tree_residual",
    "two_bone",
    "unit_rows",
    "vec_quat",
)
