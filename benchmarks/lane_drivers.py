"""Loops over blocks of lanes, compiled as Poise's kernels are: what a yardstick is compared with.

Arrays are flat: number j of lane l in block b stands at (b * numbers + j) * width + l.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from poise.kernels.arm.serial import LARGEST, damped_step, forward, put_error, square
from poise.kernels.compiled import _ARITHMETIC
from poise.kernels.tree.arrays import TreeArrays, carve, work_size
from poise.kernels.tree.many import fill_frames
from poise.kernels.tree.tree import forward as tree_forward
from poise.kernels.values.axes import rotation_error
from poise.kernels.values.lane_types import NumberKind
from poise.kernels.values.lanes import part_of, room, room2, width
from poise.kernels.values.linear import Quat, Vec, sub
from poise.maths.lanes import aligned

Floats = NDArray[np.float64]
Call = Callable[[], Any]
FACTOR, FLOOR = 0.04, 1e-8  # damping = FACTOR |e|^2 + FLOOR


@cache
def drivers(kind: NumberKind) -> tuple[Any, Any, Any]:
    """Return the loops over blocks of lanes: FK of a chain, an iteration, FK of a tree. Compiled as kernels are."""

    def fk(links, x, out):  # noqa: ANN001, ANN202 - a kernel
        m, w = links.shape[0] - 1, width(kind)
        axes, origins = room2(kind, 1, 3), room2(kind, 1, 3)
        for b in range(x.shape[0] // (m * w)):
            tip, turn = forward(kind, links, part_of(kind, x, b * m * w, m), False, axes, origins)
            place = part_of(kind, out, b * 7 * w, 7)
            place[0], place[1], place[2] = tip.x, tip.y, tip.z
            place[3], place[4], place[5], place[6] = turn.w, turn.x, turn.y, turn.z

    def lm(links, targets, x, weights, out):  # noqa: ANN001, ANN202 - a kernel
        m, w = links.shape[0] - 1, width(kind)
        axes, origins, J = room2(kind, LARGEST, 3), room2(kind, LARGEST, 3), room2(kind, LARGEST, 6)  # noqa: N806
        A, d, y, e = room2(kind, 6, 6), room(kind, 6), room(kind, 6), room(kind, 6)  # noqa: N806
        for b in range(x.shape[0] // (m * w)):
            v, given = part_of(kind, out, b * m * w, m), part_of(kind, x, b * m * w, m)
            for i in range(m):
                v[i] = given[i]
            t = part_of(kind, targets, b * 7 * w, 7)
            tip, rotation = forward(kind, links, v, True, axes, origins)
            off, turn = sub(Vec(t[0], t[1], t[2]), tip), rotation_error(Quat(t[3], t[4], t[5], t[6]), rotation)
            put_error(e, off, turn, weights)
            damping = (square(off) + square(turn)) * FACTOR + FLOOR
            damped_step(links, v, axes, origins, tip, e, weights, damping, J, A, d, y)

    def tree_fk(tree, frames, work, rows, width_of_targets, x, out):  # noqa: ANN001, ANN202 - a kernel
        n, nu, w = tree.nodes.shape[0], tree.near_u.shape[0], width(kind)
        flat, lanes = carve(kind, work, n, tree.dofs.shape[0], nu, rows, width_of_targets)
        for l in range(w):
            fill_frames(flat, w, l, frames[0])
        for b in range(x.shape[0] // (nu * w)):
            given, place = part_of(kind, x, b * nu * w, nu), part_of(kind, out, b * 7 * w, 7)
            for i in range(nu):
                lanes.u[i] = given[i]
            tree_forward(tree, lanes)
            for j in range(3):
                place[j] = lanes.positions[n - 1, j]
            for j in range(4):
                place[3 + j] = lanes.rotations[n - 1, j]

    return tuple(njit(nogil=True, **_ARITHMETIC)(driver) for driver in (fk, lm, tree_fk))


def side_by_side(values: Floats, w: int) -> Floats:
    """Values (n, k) as the blocks that kernels read: number by number, w problems in each."""
    flat = aligned(values.size)
    flat[:] = values.reshape(-1, w, values.shape[1]).transpose(0, 2, 1).ravel()
    return flat


def one_by_one(flat: Floats, k: int, w: int) -> Floats:
    """Undo `side_by_side`: (n, k)."""
    return flat.reshape(-1, k, w).transpose(0, 2, 1).reshape(-1, k)


def tree_call(problem: Any, u: Floats, kind: NumberKind) -> tuple[Call, Floats]:
    """Return a call that places all nodes for configurations u (n, nu), and where it writes the last node's place."""
    tree = problem.plan
    rows, wide, w = 3 * len(tree.terms), 7 * len(tree.terms), kind.width
    work = aligned(work_size(len(tree.nodes), len(tree.layout.dofs), tree.layout.nu, rows, wide))
    arrays = TreeArrays(
        tree.nodes,
        tree.layout.dofs,
        tree.terms,
        tree.aims,
        tree.paths,
        tree.row_ranges,
        problem.preference.u[0],
        problem.preference.on,
    )
    x, out, run = side_by_side(u, w), aligned(7 * len(u)), drivers(kind)[2]
    return lambda: run(arrays, tree.frames, work, rows, wide, x, out), out
