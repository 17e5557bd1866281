# pyright: standard
"""Arrays of a packed tree and the memory of its lanes.

Lengths are in kernel units, coordinates in the base frame. n nodes, nu numbers, nd degrees of freedom (dofs), t terms,
m = 3 t rows, k problems; `1|k` is 1 for an array shared by all problems.

    nodes      (n, 4)     parent (-1: the base frame), kind of motion, first of its numbers in u, first of its dofs;
                          parents first. Hinges and slides with a common number and dof are coupled
    frames     (1|k, n, 9) x y z, w x y z from the parent's moved frame to this node's frame; ratio and offset:
                          the value of a hinge or slide is ratio u + offset (balls and moves do not read these two)
    dofs       (nd, 4)    lowest and highest number; its index in u, -1 in balls and moves; step weight
                          0 < s <= 1, the inverse stiffness: a dof of low weight moves less
    terms      (t, 6|10)  kind, node, first row, first number in a target, begin and end of its range in paths; in
                          depth-first order of the nodes. POLE (node: the limb's tip) has also the nodes of its first
                          and its middle joint, and the ends of their ranges in paths
    aims       (t, 9|15)  0-2: POSITION, AIM, POLE a point, DIRECTION a unit vector; 3-6: ROTATION w x y z, AIM a unit
                          vector and whether the path shares the rotation (1); all in the node's moved frame;
                          7: weight; 8: squared tolerance of a distance or of 2 sin(angle / 2); 9-14: POLE the points
                          of its middle and its first joint, in their nodes' moved frames
    paths      (p,)       for each term, the nodes moving its node, itself included, from the base on
    row_ranges (nd, 2)    begin and end of the rows affected by a dof; whole terms
    targets    (k, width) per term: POSITION, AIM, POLE x y z, ROTATION w x y z, DIRECTION a unit vector
    preferred_u (nu,)     a preferred configuration
    preference_weights (nd,)  strength of each dof's preference; 0: none
    limits     (n, LIMIT_ROW) limits of balls and soft limits of any motion, see kernels/limits.py; None for a
                          plain tree without such limits and without AIM or DIRECTION terms: Numba then leaves out
                          their code, nearly half of the kernel

HINGE rotates about the z axis of its node's frame, SLIDE moves along it. BALL rotates by its unit quaternion w x y z;
its three dofs rotate it about x, y and z of the node's frame. MOVE translates along them. FIXED has no numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from poise.kernels.jit import inline
from poise.kernels.lanes import SCALAR, count_lanes, view_lanes

LANE_STATE_ROWS = 14  # rows of `lane_state`, see kernels/arm_lm.py
# Rows of the lane state for trees, where arms have their target: share of the difference to the preferred configuration
# in a step; damping factor (0: 1); squared error of the previous iteration; squared error below which a restart
# replaces the result of the start's own basin, and that result's squared error.
PREFERENCE_SHARE, CAUTION, PREVIOUS_ERROR, RESTART_THRESHOLD, START_BASIN_ERROR = 0, 1, 2, 3, 4
MAX_LANES = 8  # most lanes of a kernel


class TreeArrays(NamedTuple):
    """Arrays shared by all problems, see the module."""

    nodes: Any
    dofs: Any
    terms: Any
    aims: Any
    paths: Any
    row_ranges: Any
    preferred_u: Any
    preference_weights: Any


class TreeProblems(NamedTuple):
    """Arrays of a batch of problems and their results.

    frames    (1|k, n, 9), targets (k, width)   see the module
    start_u   (1|k, nu)    configurations to start from
    seeds     (s, nd)      numbers in 0..1 that define the restarts, the same for all problems
    settings  (c,)         columns of layout.py: TREE_ for kernels/tree_lm.py, METHOD_ for kernels/jacobian_methods.py
    u         (k, nu)      results
    errors    (k,)         weighted squared error of each result; 1e300 where the residual was never a number
    counts    (k, 3)       iterations and attempts used; 1 where the goals were met
    """

    frames: Any
    targets: Any
    start_u: Any
    seeds: Any
    settings: Any
    u: Any
    errors: Any
    counts: Any


class TreeNode(NamedTuple):
    """A row of `nodes`: a joint of the tree."""

    parent: int  # its parent's number; -1: the base frame
    motion: int  # FIXED, HINGE, SLIDE, BALL or MOVE
    u_start: int  # first of its numbers in u
    dof_start: int  # first of its dofs


class TreeTerm(NamedTuple):
    """First six columns of a row of `terms`."""

    goal_kind: int  # POSITION, ROTATION, DIRECTION, AIM or POLE
    node: int  # the node it measures
    error_row: int  # first of its three rows in the residual
    target_start: int  # first of its numbers in a target
    path_start: int  # begin and end of its path in `paths`
    path_end: int


@inline
def read_node(nodes, i):
    """Read row i of `nodes`."""
    return TreeNode(nodes[i, 0], nodes[i, 1], nodes[i, 2], nodes[i, 3])


@inline
def read_term(terms, t):
    """Read row t of `terms`."""
    return TreeTerm(terms[t, 0], terms[t, 1], terms[t, 2], terms[t, 3], terms[t, 4], terms[t, 5])


class ScalarView(NamedTuple):
    """Work memory as single numbers: float64 (size,).

    Number i of lane l is at i width + l; the driver reads and writes single lanes here.
    """

    lane_state: Any
    frames: Any
    targets: Any
    u: Any
    tested_u: Any
    y: Any


class LaneView(NamedTuple):
    """Work memory as lanes.

    lane_state       (14,)     driver state of each lane
    frames           (n, 9), targets (width,), u (nu,): the problems
    tested_u         (nu,)     u before the step
    positions        (n, 3)    of the moved frames
    rotations        (n, 4)    of the moved frames
    axes             (3 n, 3)  three rows a node: velocity or angular velocity per unit of each of its dofs
    J                (nd, m)   rows of the residual per unit of each dof, weighted; undefined outside its row_range
    e                (m,)      weighted residual
    step_error       (m,)      e minus the effect of preference_step
    A, d             (m, m), (m,)  the system of the step, factored
    y                (m,)      its solution
    preference_step  (nd,)     step towards the preferred configuration
    """

    lane_state: Any
    frames: Any
    targets: Any
    u: Any
    tested_u: Any
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


def compute_workspace_size(n: int, nd: int, nu: int, row_count: int, target_width: int) -> int:
    """Return the work memory size for a tree.

    It counts float64 aligned to 64 bytes, enough for a kernel of any width.
    """
    return MAX_LANES * (
        LANE_STATE_ROWS + 25 * n + nd * (row_count + 1) + 2 * nu + target_width + row_count * (row_count + 4)
    )


@inline
def make_views(lane_kind, work, n, nd, nu, m, target_width):
    """Return both views of the work memory: (ScalarView, LaneView)."""
    w = count_lanes(lane_kind)
    lane_state_start = 0
    frames_start = lane_state_start + LANE_STATE_ROWS * w
    targets_start = frames_start + 9 * n * w
    u_start = targets_start + target_width * w
    tested_u_start = u_start + nu * w
    y_start = tested_u_start + nu * w
    positions_start = y_start + m * w
    rotations_start = positions_start + 3 * n * w
    axes_start = rotations_start + 4 * n * w
    J_start = axes_start + 9 * n * w
    e_start = J_start + nd * m * w
    step_error_start = e_start + m * w
    A_start = step_error_start + m * w
    d_start = A_start + m * m * w
    preference_step_start = d_start + m * w
    # Two views of the same memory: whole lanes for arithmetic, single numbers for reading and writing one lane.
    # No slices: they hold a reference, and functions without reference counts must not return one.
    scalars = ScalarView(
        view_lanes(SCALAR, work, lane_state_start, LANE_STATE_ROWS * w),
        view_lanes(SCALAR, work, frames_start, 9 * n * w),
        view_lanes(SCALAR, work, targets_start, target_width * w),
        view_lanes(SCALAR, work, u_start, nu * w),
        view_lanes(SCALAR, work, tested_u_start, nu * w),
        view_lanes(SCALAR, work, y_start, m * w),
    )
    return scalars, LaneView(
        view_lanes(lane_kind, work, lane_state_start, LANE_STATE_ROWS),
        view_lanes(lane_kind, work, frames_start, n, 9),
        view_lanes(lane_kind, work, targets_start, target_width),
        view_lanes(lane_kind, work, u_start, nu),
        view_lanes(lane_kind, work, tested_u_start, nu),
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
    )
