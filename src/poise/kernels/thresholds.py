"""Numerical thresholds and iteration limits, shared by Python and the kernels.

This module imports no Numba, so that packing does not wait for it.
"""

from __future__ import annotations

import math

# --- lengths and tolerances -------------------------------------------------------------------------------------------

STRAIGHT_RATIO = 1e-6  # fraction of a limb's length: shorter lines and pole offsets have no direction
SAME_POINT_RATIO = 1e-24  # fraction of the squared lengths of two points: closer ones are the same point
MIN_DIVISOR = 1e-150  # smallest divisor of a length; its square is still a number
SIMILARITY_TOLERANCE = 1e-12  # relative deviation from a scaled rotation; beyond it the nearest rotation is computed
UNIT_SLACK = 1e-12  # largest deviation of a squared length from 1 that is rounding; such vectors are kept bit for bit
OPPOSITE_SQUARED_LENGTH = 1e-30  # |a + b|^2 of opposite unit vectors; any perpendicular axis is used
MIN_LEVERAGE = 1e-14  # fraction of the squared size of a chain or tree: below, a hinge cannot reduce the error
TOLERANCE_SLACK = 1e-9  # fraction of a tolerance: errors that exceed it by less count as reached

# --- clamping of ball joints: model/limit_bounds.py, kernels/limits.py ------------------------------------------------

ANGLE_SLACK_RAD = 1e-12  # [rad] rotations closer than this to a legal one are kept, so that clamping is idempotent
MAX_SWING_RAD = math.pi - 5e-3  # [rad] of clamped rotations: nearer to half a turn the twist is undefined
MAX_ELLIPSE_STEPS = 20  # Newton iterations to the nearest point of an ellipse; usually 4 to 7
MAX_BOX_SWEEPS = 8  # rounds over the angles of a box; usually 1 to 4

# --- long chains: problem/plan.py, kernels/tree_lm.py -----------------------------------------------------------------

LONG_PATH_JOINTS = 16.0  # joints of a path; longer paths get smaller steps and more damping, in proportion
