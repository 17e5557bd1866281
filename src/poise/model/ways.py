"""Topology of a joint tree: names, default chain and free root.

Joints are found by role or glob, the chain of a tip and the root from the tree, and the root is freed and bound again.
"""

from __future__ import annotations

from collections.abc import Sequence

from poise.maths.arrays import Ints
from poise.model.joints import Kind

LIMB = 2  # joints in a line that move: a branch with fewer is a twist or helper bone, not a limb

FLAT = "flat skeleton: no joint is another's parent; its joints move one by one, and no chain or limb can be told"


def is_flat(kinds: Ints, parents: Sequence[int] | Ints) -> bool:
    """Return whether no moving joint hangs below another.

    At least two joints move; fixed joints between them do not count.
    """
    moves = kinds != Kind.FIXED
    above: list[bool] = []  # whether a joint or one above it moves
    for row, parent in enumerate(parents):
        hangs = parent >= 0 and above[parent]
        if hangs and moves[row]:
            return False
        above.append(hangs or bool(moves[row]))
    return int(moves.sum()) > 1


def is_robot(kinds: Ints, parents: Ints) -> bool:
    """Return whether all joints are hinges and slides. The free joint of a floating base is allowed."""
    turning = kinds >= Kind.BALL
    free = turning & (kinds == Kind.FREE)
    return bool((turning == free).all()) and all(is_base(kinds, parents, row) for row in free.nonzero()[0].tolist())


def is_base(kinds: Ints, parents: Ints, row: int) -> bool:
    """Return whether a joint is free with no moving ancestor."""
    if kinds[row] != Kind.FREE:
        return False
    while (row := int(parents[row])) >= 0:
        if kinds[row] != Kind.FIXED:
            return False
    return True


def usual_way(kinds: Ints, parents: Ints, limbs: Ints, depth: Ints, tip: int) -> list[int]:
    """Find the default chain from its root to the tip's parent.

    Of a robot (`is_robot`): all from the base to the tip, whatever forks lie between. Of a figure: up to, not
    including, the first joint that leads on to other limbs too; fixed joints next to the tip, such as the frames of
    tools, are passed first. A free joint above which nothing moves is left out of both, and what carries a free joint
    that is a figure's root, on to which limbs lead and beside which none hangs, does not move for that root.

    kinds, parents  (n,) of the joints, parents first
    limbs           (n,) how many limbs begin at the children of each
    depth           (n,) the largest number of joints that move on one line from a joint down, itself included
    """
    robot = not (kinds == Kind.BALL).any() and is_robot(kinds, parents)
    rows: list[int] = []
    passed: list[int] | None = None  # the rows below the first fork, where nothing moves
    row, below, moved = int(parents[tip]), tip, False
    while row >= 0 and not (kinds[row] == Kind.FREE and is_base(kinds, parents, row)):
        moved = moved or kinds[row] != Kind.FIXED
        forks = limbs[row] > (depth[below] >= LIMB)
        if forks and moved and not robot:
            break
        passed = rows.copy() if forks and passed is None else passed
        rows.append(row)
        row, below = int(parents[row]), row
    if row < 0 and kinds[tip] == Kind.FREE and limbs[tip] > 1:
        return []
    return (rows if moved or passed is None else passed)[::-1]
