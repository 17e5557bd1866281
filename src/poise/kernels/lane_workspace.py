# pyright: standard
"""Workspace of the tree solvers, with one problem in each SIMD lane.

A lane is one number of a SIMD register: a kernel solves as many problems side by side as a register has numbers. The
workspace is one array, read as whole registers (`LaneView`) and as single numbers (`ScalarView`). n nodes, nu numbers,
nd degrees of freedom and m rows are those of kernels/problem_arrays.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from poise.kernels.device_functions import inline
from poise.kernels.lanes import SCALAR, count_lanes, view_lanes
from poise.kernels.layout import FRAME_ROW

LANE_STATE_ROWS = 14  # rows of `lane_state`, see kernels/arm_lm.py
# Rows of the lane state for trees, where arms have their target: share of the difference to the preferred configuration
# in a step; factor of the damping (0: 1); squared error of the previous iteration; squared error below which a restart
# replaces the result from the start itself, and that result's squared error.
PREFERENCE_SHARE, DAMPING_MULTIPLIER, PREVIOUS_ERROR, RESTART_THRESHOLD, START_RESULT_ERROR = 0, 1, 2, 3, 4
MAX_LANES = 8  # most lanes of a kernel
AXES_NUMBERS = 9  # three axes of a node
NODE_NUMBERS = FRAME_ROW + 3 + 4 + AXES_NUMBERS  # frame, position, rotation and axes of a node


class ScalarView(NamedTuple):
    """Work memory as single numbers: float64 (size,).

    Number i of lane l is at i width + l; the driver reads and writes single lanes here.
    """

    lane_state: Any
    frames: Any
    targets: Any
    u: Any
    previous_u: Any
    y: Any


class LaneView(NamedTuple):
    """Work memory as lanes.

    lane_state       (14,)     driver state of each lane
    frames           (n, 9), targets (width,), u (nu,): the problems
    previous_u       (nu,)     u before the step
    positions        (n, 3)    of the moved frames
    rotations        (n, 4)    of the moved frames
    axes             (3 n, 3)  three rows a node: velocity or angular velocity per unit of each of its dofs
    J                (nd, m)   rows of the residual per unit of each dof, weighted; undefined outside its row_range
    e                (m,)      weighted residual
    step_error       (m,)      e minus the effect of preference_step
    A, d             (m, m), (m,)  the system of the step, factored
    y                (m,)      its solution
    preference_step  (nd,)     step towards the preferred configuration
    moved_targets    (width,)  targets moved with their references and to the nearest points of their ranges
    """

    lane_state: Any
    frames: Any
    targets: Any
    u: Any
    previous_u: Any
    positions: Any
    rotations: Any
    axes: Any
    J: Any
    e: Any
    step_error: Any
    A: Any
    d: Any
    y: Any
    preference_step: Any
    moved_targets: Any


def compute_workspace_size(n: int, nd: int, nu: int, row_count: int, target_width: int) -> int:
    """Return the work memory size for a tree.

    It counts float64 aligned to 64 bytes, enough for a kernel of any width.
    """
    problem_size = 2 * nu + 2 * target_width
    system_size = nd * (row_count + 1) + row_count * (row_count + 4)
    return MAX_LANES * (LANE_STATE_ROWS + NODE_NUMBERS * n + problem_size + system_size)


@inline
def make_views(lane_kind, work, n, nd, nu, m, target_width):
    """Return both views of the work memory: (ScalarView, LaneView)."""
    w = count_lanes(lane_kind)
    lane_state_start = 0
    frames_start = lane_state_start + LANE_STATE_ROWS * w
    targets_start = frames_start + FRAME_ROW * n * w
    u_start = targets_start + target_width * w
    previous_u_start = u_start + nu * w
    y_start = previous_u_start + nu * w
    positions_start = y_start + m * w
    rotations_start = positions_start + 3 * n * w
    axes_start = rotations_start + 4 * n * w
    J_start = axes_start + AXES_NUMBERS * n * w
    e_start = J_start + nd * m * w
    step_error_start = e_start + m * w
    A_start = step_error_start + m * w
    d_start = A_start + m * m * w
    preference_step_start = d_start + m * w
    moved_targets_start = preference_step_start + nd * w
    # Two views of the same memory: whole lanes for arithmetic, single numbers for reading and writing one lane.
    # No slices: they hold a reference, and functions without reference counts must not return one.
    scalars = ScalarView(
        view_lanes(SCALAR, work, lane_state_start, LANE_STATE_ROWS * w),
        view_lanes(SCALAR, work, frames_start, FRAME_ROW * n * w),
        view_lanes(SCALAR, work, targets_start, target_width * w),
        view_lanes(SCALAR, work, u_start, nu * w),
        view_lanes(SCALAR, work, previous_u_start, nu * w),
        view_lanes(SCALAR, work, y_start, m * w),
    )
    return scalars, LaneView(
        view_lanes(lane_kind, work, lane_state_start, LANE_STATE_ROWS),
        view_lanes(lane_kind, work, frames_start, n, FRAME_ROW),
        view_lanes(lane_kind, work, targets_start, target_width),
        view_lanes(lane_kind, work, u_start, nu),
        view_lanes(lane_kind, work, previous_u_start, nu),
        view_lanes(lane_kind, work, positions_start, n, 3),
        view_lanes(lane_kind, work, rotations_start, n, 4),
        view_lanes(lane_kind, work, axes_start, 3 * n, 3),
        view_lanes(lane_kind, work, J_start, nd, m),
        view_lanes(lane_kind, work, e_start, m),
        view_lanes(lane_kind, work, step_error_start, m),
        view_lanes(lane_kind, work, A_start, m, m),
        view_lanes(lane_kind, work, d_start, m),
        view_lanes(lane_kind, work, y_start, m),
        view_lanes(lane_kind, work, preference_step_start, nd),
        view_lanes(lane_kind, work, moved_targets_start, target_width),
    )
