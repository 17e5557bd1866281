# pyright: standard
"""Arrays of a packed tree and work memory of its kernels.

Lengths are in kernel units, everything stands in the base frame. n nodes, nu numbers, nd degrees of freedom (dofs),
t terms, m = 3 t rows, k problems; `1|k` is 1 where all problems share it.

    nodes      (n, 4)     parent (-1: the base frame), kind of motion, first of its numbers in u, first of its dofs;
                          parents first. Hinges and slides that share number and dof are coupled
    frames     (1|k, n, 9) x y z, w x y z from the parent's moved frame to this node's frame; ratio and offset:
                          the value of a hinge or slide is ratio u + offset (balls and moves do not read these two)
    dofs       (nd, 4)    lowest and highest number; its index in u, -1 in balls and moves; ease 0 < s <= 1, the
                          metric of the step: a dof of low ease moves less
    terms      (t, 6|10)  kind, node, its first row, first number in a target, first of its stretch of paths and
                          the one after the last; in depth-first order of the nodes. POLE, whose node is that of the
                          limb's tip: also the nodes of its first joint and of the one that bends, and where in paths
                          the nodes end that move them
    aims       (t, 9|15)  0-2: POSITION, AIM, POLE a point, DIRECTION a unit vector; 3-6: ROTATION w x y z, AIM a unit
                          vector and whether the path shares the turn (1); all in the node's moved frame; 7: weight;
                          8: square of what counts as met, of a distance, or of 2 sin(angle / 2); 9-14: POLE the
                          points of the joint that bends and of the first, in their nodes' moved frames
    paths      (p,)       the nodes that move each term's node for its goal, itself included, from the base on
    row_ranges (nd, 2)    first row that a dof moves and the one after the last; whole terms
    targets    (k, width) per term: POSITION, AIM, POLE x y z, ROTATION w x y z, DIRECTION a unit vector
    near_u     (nu,)      a preferred configuration
    near_on    (nd,)      how strongly each dof prefers it; 0 where it does not care
    limits     (n, LIMIT) limits of balls and soft ones of any motion, see kernels/limits/rotations.py; None for a
                          plain tree, which has none of them, and no term of AIM or DIRECTION: Numba then leaves out
                          all that these would need, nearly half of the kernel

HINGE turns about the z axis of its node's frame, SLIDE moves along it. BALL turns by its unit quaternion w x y z, its
three dofs turn it further about the x y z of the node's frame. MOVE goes along them. FIXED has no numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from poise.kernels.compiled import inline
from poise.kernels.values.lanes import SCALAR, part_of, width

BOOK = 14  # rows of the lanes' book, see kernels/arm/many.py
# Rows of the book for trees alone, where arms keep their target: the share of the way to the preferred configuration
# that a step would like to go; what damping is multiplied by (0: by 1); the squared error of the iteration before; what
# another attempt must be below to take the place of the start's own, and what that one leaves.
PULLING, CAUTION, LAST, OWN, LEFT = 0, 1, 2, 3, 4
WIDEST = 8  # lanes


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

    book      (14,)     what the driver knows of each lane
    frames    (n, 9), targets (width,), u (nu,): the problems
    tested    (nu,)     u before the step
    positions (n, 3)    of the moved frames
    rotations (n, 4)    of the moved frames
    axes      (3 n, 3)  three rows a node: motion per unit of each of its dofs, a velocity or an angular velocity
    J         (nd, m)   rows of the residual per unit of each dof, weighted; undefined outside its row_range
    e         (m,)      weighted residual
    rest      (m,)      e less what the pull towards the preferred configuration does to it
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
    # Two views of the same memory: whole lanes for the arithmetic, single numbers for filling and emptying one lane.
    # not slices: they would carry a reference that functions without reference counts must not hand out
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
