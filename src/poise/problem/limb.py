"""Two-bone limbs: two bending joints, everything else rigid. Which joints these are, or why there are none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.errors import UnsupportedError, listed
from poise.maths.arrays import Floats
from poise.maths.remember import remember
from poise.model.limits import Range, hinge_axis
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Place, Pole, Position
from poise.problem.goals.pole import LimbRows
from poise.problem.problem import Problem
from poise.problem.sides import limb_of_pole, turns_alone


class Limb(NamedTuple):
    """Skeleton rows of a limb's first joint, middle joint and tip.

    planar       whether both bending joints are hinges
    rotates_tip  whether the tip's own joint rotates as well
    """

    first: int
    middle: int
    tip: int
    planar: bool
    turns: bool


def limb_of(problem: Problem, middle: str | None, *, keep_tip: bool) -> Limb:
    """Return the limb of a Position or Place goal. Raises UnsupportedError, with a reason, for other chains.

    Limbs and refusals are remembered with the skeleton. They depend on the kinds of goals, not on poses or targets.
    """
    key = (problem.kinds, problem.free_root, middle, keep_tip)
    found = remember(problem.skeleton, "limb", key, lambda: _found(problem, middle, keep_tip=keep_tip))
    if isinstance(found, str):
        raise UnsupportedError(found)
    return found


def _found(problem: Problem, middle: str | None, *, keep_tip: bool) -> Limb | str:
    try:
        return _new_limb(problem, middle, keep_tip=keep_tip)
    except UnsupportedError as refusal:
        return str(refusal)


def _new_limb(problem: Problem, middle: str | None, *, keep_tip: bool) -> Limb:
    (goal, pole), skeleton = goals_of(problem), problem.skeleton
    if any(goal.offset):
        raise UnsupportedError(f"two_bone brings the origin of a joint to its target; {goal.joint!r} has an offset")
    tip = skeleton.index(goal.joint)
    way = () if turns_alone(skeleton, goal) else skeleton.chain(goal.root, goal.joint)
    rows = [skeleton.index(name) for name in way]
    movers = [row for row in rows if skeleton.kinds[row] != Kind.FIXED and skeleton.coupling_rows[row, 0] != 0.0]
    side = None if pole is None else limb_of_pole(skeleton, pole, problem.goals)
    if middle is not None and side is not None and side.first in movers:
        movers = movers[movers.index(side.first) :]  # skip joints above the pole's line, such as a collar bone
    first, mid = _two_of(skeleton, goal.joint, movers, middle)
    _refuse_coupled(problem, (first, mid))
    limb = Limb(first, mid, tip, is_hinge(skeleton, first), keep_tip or isinstance(goal, Place))
    _refuse_kinds(skeleton, limb)
    if side is not None:
        _refuse_other(skeleton, side, limb)
    return limb


def goals_of(problem: Problem) -> tuple[Position | Place, Pole | None]:
    """Return the goals of the tip and of the middle joint. Raises UnsupportedError for other combinations."""
    tips = [goal for goal in problem.goals if isinstance(goal, Position | Place)]
    poles = [goal for goal in problem.goals if isinstance(goal, Pole)]
    if len(tips) != 1 or len(poles) > 1:
        given = listed(type(goal).__name__ for goal in problem.goals)
        raise UnsupportedError(f"two_bone solves one Position or Place, alone or with one Pole; got {given}")
    return tips[0], poles[0] if poles else None


def _two_of(skeleton: Skeleton, tip: str, movers: list[int], middle: str | None) -> tuple[int, int]:
    names = [skeleton.names[row] for row in movers]
    if middle is None:
        if len(movers) != 2:  # noqa: PLR2004
            moving = f"{len(movers)}: {listed(names)}" if movers else "none"
            message = (
                f"two_bone bends two joints; the chain to {tip!r} has {moving}; "
                "name the upper one as the goal's root and the other one as mid="
            )
            raise UnsupportedError(message)
        return movers[0], movers[1]
    mid = skeleton.index(middle)
    if mid not in movers[1:]:
        below = f"below its first one are: {listed(names[1:])}" if len(names) > 1 else "it has no two joints that move"
        raise UnsupportedError(f"two_bone cannot bend {middle!r} in the chain to {tip!r}; {below}")
    return movers[0], mid


def _refuse_coupled(problem: Problem, rows: tuple[int, int]) -> None:
    skeleton, together = problem.skeleton, problem.coupled
    if together is not None:
        raise UnsupportedError(f"two_bone moves no joints that are coupled; {together[0]!r} and {together[1]!r} are")
    follower = next((row for row in rows if skeleton.couplings[row] is not None), None)
    if follower is not None:
        raise UnsupportedError(f"two_bone moves no joint that follows another; {skeleton.names[follower]!r} does")


def _refuse_kinds(skeleton: Skeleton, limb: Limb) -> None:
    first, middle, tip = [skeleton.names[row] for row in limb[:3]]
    kinds, limits = skeleton.kinds, skeleton.limits
    if limb.planar and not is_hinge(skeleton, limb.middle):
        raise UnsupportedError(f"two_bone needs a hinge at {middle!r}, because {first!r} above it is one")
    if (kinds[limb.first], kinds[limb.middle]).count(Kind.SLIDE):
        raise UnsupportedError(f"two_bone turns joints; {first!r} or {middle!r} slides")
    if limb.turns and (kinds[limb.tip] != Kind.BALL or limits[limb.tip] is not None):
        raise UnsupportedError(f"two_bone turns the tip only where it is a ball joint without limits; {tip!r} is not")
    if limb.turns and limb.planar:
        raise UnsupportedError(f"two_bone turns no tip below hinges; {first!r} is one")


def _refuse_other(skeleton: Skeleton, theirs: LimbRows, limb: Limb) -> None:
    ours = limb.first, limb.middle, limb.tip
    if tuple(theirs) != ours:
        a, b = (" - ".join(skeleton.names[row] for row in rows) for rows in (theirs, ours))
        raise UnsupportedError(f"two_bone bends the limb {b}; the Pole is for {a}; its root=, joint and tip= say so")


def is_hinge(skeleton: Skeleton, row: int) -> bool:
    """Return whether a joint rotates about one axis only.

    That is a hinge, or a ball joint with a Range about an axis.
    """
    limit = skeleton.limits[row]
    return skeleton.kinds[row] == Kind.HINGE or hinge_axis(limit) is not None


def axis_of(skeleton: Skeleton, row: int) -> Floats:
    """Return the axis of a hinge in its own frame."""
    axis = hinge_axis(skeleton.limits[row])
    return np.array(skeleton.axes[row] if axis is None else axis)


def range_of(skeleton: Skeleton, row: int) -> tuple[float, float]:
    """Return the range of a hinge angle, infinite without limits."""
    limit = skeleton.limits[row]
    if isinstance(limit, Range) and limit.axis is not None:
        return limit.low, limit.high
    if skeleton.kinds[row] == Kind.HINGE:
        low, high = skeleton.value_ranges[skeleton.q_start[row]]
        return float(low), float(high)
    return -np.inf, np.inf


def column_of(skeleton: Skeleton, row: int) -> int:
    """Return the first column in q of a joint's rotation."""
    return int(skeleton.q_start[row]) + (3 if skeleton.kinds[row] == Kind.FREE else 0)
