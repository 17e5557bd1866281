"""Loops over blocks of lanes, compiled as Poise's kernels are: what a baseline is compared with.

Arrays are flat: number j of lane l in block b stands at (b * numbers + j) * width + l.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from poise.kernels.arm_lm import MAX_ARM_FRAMES, ArmWorkspace, apply_damped_step, compute_tip, squared_norm, write_error
from poise.kernels.jit.compiler import ARITHMETIC_FLAGS
from poise.kernels.lane_workspace import compute_workspace_size, make_views
from poise.kernels.lanes import LaneKind, count_lanes, stack_array, stack_matrix, view_lanes
from poise.kernels.problem_arrays import TreeArrays
from poise.kernels.tree_lm import write_frames
from poise.kernels.tree_residual import forward_kinematics as tree_forward
from poise.kernels.vec_quat import Quat, Vec, rotation_error, sub
from poise.maths.arrays import allocate_aligned

Floats = NDArray[np.float64]
Call = Callable[[], Any]
FACTOR, FLOOR = 0.04, 1e-8  # damping = FACTOR |e|^2 + FLOOR


@cache
def drivers(kind: LaneKind) -> tuple[Any, Any, Any]:
    """Return the loops over blocks of lanes: FK of a chain, an iteration, FK of a tree. Compiled as kernels are."""

    def fk(links, x, out):  # noqa: ANN001, ANN202 - a kernel
        m, w = links.shape[0] - 1, count_lanes(kind)
        axes, origins = stack_matrix(kind, 1, 3), stack_matrix(kind, 1, 3)
        for b in range(x.shape[0] // (m * w)):
            tip, turn = compute_tip(kind, links, view_lanes(kind, x, b * m * w, m), False, axes, origins)
            place = view_lanes(kind, out, b * 7 * w, 7)
            place[0], place[1], place[2] = tip.x, tip.y, tip.z
            place[3], place[4], place[5], place[6] = turn.w, turn.x, turn.y, turn.z

    def lm(links, targets, x, weights, out):  # noqa: ANN001, ANN202 - a kernel
        m, w = links.shape[0] - 1, count_lanes(kind)
        workspace = ArmWorkspace(
            stack_matrix(kind, MAX_ARM_FRAMES, 3),
            stack_matrix(kind, MAX_ARM_FRAMES, 3),
            stack_array(kind, 6),
            stack_matrix(kind, MAX_ARM_FRAMES, 6),
            stack_matrix(kind, 6, 6),
            stack_array(kind, 6),
            stack_array(kind, 6),
        )
        for b in range(x.shape[0] // (m * w)):
            v, given = view_lanes(kind, out, b * m * w, m), view_lanes(kind, x, b * m * w, m)
            for i in range(m):
                v[i] = given[i]
            t = view_lanes(kind, targets, b * 7 * w, 7)
            tip, rotation = compute_tip(kind, links, v, True, workspace.axes, workspace.origins)
            off, turn = sub(Vec(t[0], t[1], t[2]), tip), rotation_error(Quat(t[3], t[4], t[5], t[6]), rotation)
            write_error(workspace.e, off, turn, weights)
            damping = (squared_norm(off) + squared_norm(turn)) * FACTOR + FLOOR
            apply_damped_step(links, v, tip, weights, damping, workspace)

    def tree_fk(tree, frames, work, rows, width_of_targets, x, out):  # noqa: ANN001, ANN202 - a kernel
        n, nu, w = tree.nodes.shape[0], tree.preferred_u.shape[0], count_lanes(kind)
        flat, lanes = make_views(kind, work, n, tree.dofs.shape[0], nu, rows, width_of_targets)
        for l in range(w):
            write_frames(flat, w, l, frames[0])
        for b in range(x.shape[0] // (nu * w)):
            given, place = view_lanes(kind, x, b * nu * w, nu), view_lanes(kind, out, b * 7 * w, 7)
            for i in range(nu):
                lanes.u[i] = given[i]
            tree_forward(tree, lanes)
            for j in range(3):
                place[j] = lanes.positions[n - 1, j]
            for j in range(4):
                place[3 + j] = lanes.rotations[n - 1, j]

    return tuple(njit(nogil=True, **ARITHMETIC_FLAGS)(driver) for driver in (fk, lm, tree_fk))


def side_by_side(values: Floats, w: int) -> Floats:
    """Values (n, k) as the blocks that kernels read: number by number, w problems in each."""
    flat = allocate_aligned(values.size)
    flat[:] = values.reshape(-1, w, values.shape[1]).transpose(0, 2, 1).ravel()
    return flat


def one_by_one(flat: Floats, k: int, w: int) -> Floats:
    """Undo `side_by_side`: (n, k)."""
    return flat.reshape(-1, k, w).transpose(0, 2, 1).reshape(-1, k)


def tree_call(problem: Any, u: Floats, kind: LaneKind) -> tuple[Call, Floats]:
    """Return a call that places all nodes for configurations u (n, nu), and where it writes the last node's place."""
    tree = problem.plan
    rows, wide, w = 3 * len(tree.term_table), 7 * len(tree.term_table), kind.width
    work = allocate_aligned(
        compute_workspace_size(len(tree.node_table), len(tree.layout.dofs), tree.layout.nu, rows, wide)
    )
    arrays = TreeArrays(
        tree.node_table,
        tree.layout.dofs,
        tree.term_table,
        tree.effectors,
        tree.path_nodes,
        tree.row_ranges,
        problem.preference.u[0],
        problem.preference.weights,
    )
    x, out, run = side_by_side(u, w), allocate_aligned(7 * len(u)), drivers(kind)[2]
    return lambda: run(arrays, tree.frames, work, rows, wide, x, out), out
