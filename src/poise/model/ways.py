"""Which joints move for a tip where nobody names the first of them."""

from __future__ import annotations

from collections.abc import Sequence

from poise.maths.arrays import Ints
from poise.model.joints import Kind

LIMB = 2  # joints in a line that move: a branch with fewer is a twist or helper bone, not a limb


def usual_way(kinds: Ints, parents: Ints, children: Sequence[Sequence[int]], depth: Ints, tip: int) -> list[int]:
    """Rows from the first that moves down to the tip's parent, as people mean it.

    Of a robot, whose joints are hinges and slides: all from the base to the tip, whatever forks lie between. Of a
    figure: up to, not including, the first joint that leads on to other limbs too; fixed joints next to the tip, such
    as the frames of tools, are passed first. A free root is left out of both.

    kinds, parents  (n,) of the joints, parents first
    children        rows of the children of each
    depth           (n,) the largest number of joints that move on one line from a joint down, itself included
    """
    robot = bool(((kinds < Kind.BALL) | ((kinds == Kind.FREE) & (parents < 0))).all())
    rows: list[int] = []
    passed: list[int] | None = None  # the rows below the first fork, where nothing moves
    row, below, moved = int(parents[tip]), tip, False
    while row >= 0 and not (kinds[row] == Kind.FREE and parents[row] < 0):
        moved = moved or kinds[row] != Kind.FIXED
        limbs = [child for child in children[row] if child != below and depth[child] >= LIMB]
        if limbs and moved and not robot:
            break
        passed = rows.copy() if limbs and passed is None else passed
        rows.append(row)
        row, below = int(parents[row]), row
    return (rows if moved or passed is None else passed)[::-1]
