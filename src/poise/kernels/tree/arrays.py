# pyright: standard
"""Arrays of a packed tree and work memory of its kernels.

Lengths are in kernel units, coordinates in the base frame. n nodes, nu numbers, nd degrees of freedom (dofs), t terms,
m = 3 t rows, k problems; `1|k` is 1 for an array shared by all problems.

    nodes      (n, 4)     parent (-1: the base frame), kind of motion, first of its numbers in u, first of its dofs;
                          parents first. Hinges and slides with a common number and dof are coupled
    frames     (1|k, n, 9) x y z, w x y z from the parent's moved frame to this node's frame; ratio and offset:
                          the value of a hinge or slide is ratio u + offset (balls and moves do not read these two)
    dofs       (nd, 4)    lowest and highest number; its index in u, -1 in balls and moves; ease 0 < s <= 1, the
                          inverse stiffness: a dof of low ease moves less
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
    near_u     (nu,)      a preferred configuration
    near_on    (nd,)      strength of each dof's preference; 0: none
    limits     (n, LIMIT) limits of balls and soft limits of any motion, see kernels/limits/rotations.py; None for a
                          plain tree without such limits and without AIM or DIRECTION terms: Numba then leaves out
                          their code, nearly half of the kernel

HINGE rotates about the z axis of its node's frame, SLIDE moves along it. BALL rotates by its unit quaternion w x y z;
its three dofs rotate it about x, y and z of the node's frame. MOVE translates along them. FIXED has no numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from poise.kernels.compiled import inline
from poise.kernels.values.lanes import SCALAR, part_of, width

BOOK = 14  # rows of the lanes' book, see kernels/arm/many.py
# Rows of the book for trees, where arms have their target: share of the difference to the preferred configuration in a
# step; damping factor (0: 1); squared error of the previous iteration; squared error below which a restart replaces the
# result of the start's own basin, and that result's squared error.
PULLING, CAUTION, LAST, OWN, LEFT = 0, 1, 2, 3, 4
WIDEST = 8  # most lanes of a kernel


class TreeArrays(NamedTuple):
    """Arrays shared by all problems."""

    nodes: Any
    dofs: Any
    terms: Any
    aims: Any
    paths: Any
    row_ranges: Any
    near_u: Any
    near_on: Any


class Flat(NamedTuple):
    """Work memory as single numbers: float64 (size,).

    Number i of lane l is at i width + l; the driver reads and writes single lanes here.
    """

    book: Any
    frames: Any
    targets: Any
    u: Any
    tested: Any
    y: Any


class Lanewise(NamedTuple):
    """Work memory as lanes.

    book      (14,)     driver state of each lane
    frames    (n, 9), targets (width,), u (nu,): the problems
    tested    (nu,)     u before the step
    positions (n, 3)    of the moved frames
    rotations (n, 4)    of the moved frames
    axes      (3 n, 3)  three rows a node: velocity or angular velocity per unit of each of its dofs
    J         (nd, m)   rows of the residual per unit of each dof, weighted; undefined outside its row_range
    e         (m,)      weighted residual
    rest      (m,)      e minus the effect of the pull towards the preferred configuration
    A, d      (m, m), (m,)  the system of the step, factored
    y         (m,)      its solution
    pull      (nd,)     step towards the preferred configuration
    """

    book: Any
    frames: Any
    targets: Any
    u: Any
    tested: Any
    positions: Any
    rotations: Any
    axes: Any
    J: Any
    e: Any
    rest: Any
    A: Any
    d: Any
    y: Any
    pull: Any


def work_size(n: int, nd: int, nu: int, rows: int, width_of_targets: int) -> int:
    """Return the work memory size for a tree.

    It counts float64 aligned to 64 bytes, enough for a kernel of any width.
    """
    return WIDEST * (BOOK + 25 * n + nd * (rows + 1) + 2 * nu + width_of_targets + rows * (rows + 4))


@inline
def carve(kind, work, n, nd, nu, m, targets):
    """Return both views of the work memory: (ScalarView, LaneView)."""
    w = width(kind)
    book = 0
    frames = book + BOOK * w
    wanted = frames + 9 * n * w
    u = wanted + targets * w
    tested = u + nu * w
    y = tested + nu * w
    positions = y + m * w
    rotations = positions + 3 * n * w
    axes = rotations + 4 * n * w
    J = axes + 9 * n * w
    e = J + nd * m * w
    rest = e + m * w
    A = rest + m * w
    d = A + m * m * w
    pull = d + m * w
    # Two views of the same memory: whole lanes for arithmetic, single numbers for reading and writing one lane.
    # No slices: they hold a reference, and functions without reference counts must not return one.
    flat = Flat(
        part_of(SCALAR, work, book, BOOK * w),
        part_of(SCALAR, work, frames, 9 * n * w),
        part_of(SCALAR, work, wanted, targets * w),
        part_of(SCALAR, work, u, nu * w),
        part_of(SCALAR, work, tested, nu * w),
        part_of(SCALAR, work, y, m * w),
    )
    return flat, Lanewise(
        part_of(kind, work, book, BOOK),
        part_of(kind, work, frames, n, 9),
        part_of(kind, work, wanted, targets),
        part_of(kind, work, u, nu),
        part_of(kind, work, tested, nu),
        part_of(kind, work, positions, n, 3),
        part_of(kind, work, rotations, n, 4),
        part_of(kind, work, axes, 3 * n, 3),
        part_of(kind, work, J, nd, m),
        part_of(kind, work, e, m),
        part_of(kind, work, rest, m),
        part_of(kind, work, A, m, m),
        part_of(kind, work, d, m),
        part_of(kind, work, y, m),
        part_of(kind, work, pull, nd),
    )
