"""Kernels: functions on numbers, run as machine code.

Modules are imported on first access, so that `import poise` and commands without a solve load none. Python packs
arrays as `layout` describes them. `kinematics` computes world maps and Jacobians; `goal_errors`, `world_errors` and
`limits` measure configurations; `kernel_coordinates` converts starts, targets and solutions. `tree_lm`, `arm_lm`,
`jacobian_methods`, `ccd_position`, `ccd_goals`, `fabrik`, `fabrik_tree`, `two_bone` and `planar_two_bone` solve.

Kernels are functions on values and NamedTuples (`Vec`, `Quat`) without NumPy calls, allocations and exceptions. Their
source is run in one of three ways (`entries`): as code of the library that `scripts/kernels` builds (`native`),
compiled by Numba (`jit`), or as it is. Stamps of single kernels (`stamps`) tell whether the library's code belongs to
the source. A value is a float64 or a SIMD register of `lanes`: 8 numbers on processors of level v4, else 4 (`levels`);
the kind of value is a device function's first argument, so one source serves both. Uncompiled, lanes are NumPy arrays.
Compiled code may fuse multiply and add and change the order of sums: last bits differ between levels and lane widths,
but not between calls on one machine.
"""

from __future__ import annotations

from poise.kernels.lazy_import import make_lazy_getattr

__getattr__ = make_lazy_getattr(
    __name__,
    "arm_lm",
    "arm_race",
    "arm_targets",
    "band_matrix",
    "ccd_goals",
    "ccd_position",
    "chain_kinematics",
    "chain_polish",
    "chain_restarts",
    "chain_targets",
    "clip_least_squares",
    "clip_motion",
    "fabrik",
    "fabrik_tree",
    "frame_least_squares",
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
    "mean_speeds",
    "planar_two_bone",
    "posture",
    "posture_bow",
    "posture_clearance",
    "posture_free",
    "posture_gaze",
    "posture_roll",
    "posture_root",
    "posture_trunk",
    "posture_weight",
    "problem_arrays",
    "robot_feet",
    "rotation_fit",
    "rotation_matrices",
    "source_reader",
    "speed_limited_motion",
    "springs",
    "symmetric_matrices",
    "tree_lm",
    "trajectory",
    "tree_residual",
    "tree_targets",
    "two_bone",
    "unit_rows",
    "vec_quat",
    "vector_rows",
    "world_errors",
)
