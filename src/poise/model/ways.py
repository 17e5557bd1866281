"""Topology of a joint tree: names, default chain and free root.

Joints are found by role or glob, the chain of a tip and the root from the tree, and the root is freed and bound again.
"""

from __future__ import annotations

from collections.abc import Sequence

from poise.maths.arrays import Ints
from poise.model.joints import Kind

# moving joints in a line; a branch with fewer is a twist or helper bone
LIMB = 2

FLAT = "flat skeleton: no joint is another's parent; its joints move separately and form no chain or limb"


def is_flat(kinds: Ints, parents: Sequence[int] | Ints) -> bool:
    """Return whether no moving joint hangs below another.

    At least two joints must move; fixed joints between them do not count.
    """
    moves = kinds != Kind.FIXED
    above: list[bool] = []  # a joint or one of its ancestors moves
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

    Robot (`is_robot`): all joints from the base to the tip, forks included. Character: from below the first joint that
    also carries other limbs; fixed joints next to the tip, such as tool frames, are skipped first. A floating base
    is left out of both. For a tip that is a free root carrying several limbs, with no limb beside it, the chain is
    empty.

    kinds, parents  (n,) of the joints, parents first
    limbs           (n,) number of limbs starting at the children of each
    depth           (n,) largest number of moving joints on a path down from a joint, itself included
    """
    robot = not (kinds == Kind.BALL).any() and is_robot(kinds, parents)
    rows: list[int] = []
    passed: list[int] | None = None  # the rows below the first fork, while nothing moves
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
