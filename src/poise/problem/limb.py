"""A limb: two joints of a chain that bend, everything else rigid. Which joints, and the posed limb as numbers."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from poise.errors import UnsupportedError, listed
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.limits import Range, hinge_axis
from poise.model.limits.base.rows import nearest_angle
from poise.model.pose import rotation_part
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Place, Pole, Position
from poise.problem.problem import Problem

Branch = Literal["nearest", "positive", "negative"]

_NO_LEVER = 1e-12  # of the squared length: bending does not move the tip
_BENT = 1e-9  # [rad]


class Limb(NamedTuple):
    """Rows of the skeleton: the joint that the limb hangs on, the one in its middle, its tip; which of them turn.

    planar  whether both are hinges
    turns   whether the tip's own joint is turned, too
    """

    first: int
    middle: int
    tip: int
    planar: bool
    turns: bool


class LimbFrames(NamedTuple):
    """World position (k, 3) of a joint, the rotation (k, 4) of the frame that it turns in, and its motion (k, 4)."""

    position: Floats
    turn: Floats
    motion: Floats


def limb_of(problem: Problem, middle: str | None, *, keep_tip: bool) -> Limb:
    """Find the limb of a Position or Place goal; UnsupportedError with a sentence where its chain is none."""
    (goal, pole), skeleton = goals_of(problem), problem.skeleton
    if any(goal.offset):
        raise UnsupportedError(f"two_bone brings the origin of a joint to its target; {goal.joint!r} has an offset")
    tip = skeleton.index(goal.joint)
    rows = [skeleton.index(name) for name in skeleton.chain(goal.root, goal.joint)]
    movers = [row for row in rows if skeleton.kinds[row] != Kind.FIXED and skeleton.coupling_rows[row, 0] != 0.0]
    first, mid = _two_of(skeleton, goal.joint, movers, middle)
    _refuse_coupled(problem, (first, mid))
    limb = Limb(first, mid, tip, is_hinge(skeleton, first), keep_tip or isinstance(goal, Place))
    _refuse_kinds(skeleton, limb)
    if pole is not None:
        _refuse_other(skeleton, pole, limb)
    return limb


def goals_of(problem: Problem) -> tuple[Position | Place, Pole | None]:
    """The goal of the tip and that of the middle joint; UnsupportedError for any other combination."""
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
    skeleton, together = problem.skeleton, problem.plan.coupled
    if together is not None:
        raise UnsupportedError(f"two_bone moves no joints that are coupled; {together[0]!r} and {together[1]!r} are")
    follower = next((row for row in rows if skeleton.couplings[row] is not None), None)
    if follower is not None:
        raise UnsupportedError(f"two_bone moves no joint that follows another; {skeleton.names[follower]!r} does")


def _refuse_kinds(skeleton: Skeleton, limb: Limb) -> None:
    first, middle, tip = (skeleton.names[row] for row in limb[:3])
    kinds, limits = skeleton.kinds, skeleton.limits
    if limb.planar and not is_hinge(skeleton, limb.middle):
        raise UnsupportedError(f"two_bone needs a hinge at {middle!r}, because {first!r} above it is one")
    if (kinds[limb.first], kinds[limb.middle]).count(Kind.SLIDE):
        raise UnsupportedError(f"two_bone turns joints; {first!r} or {middle!r} slides")
    if limb.turns and (kinds[limb.tip] != Kind.BALL or limits[limb.tip] is not None):
        raise UnsupportedError(f"two_bone turns the tip only where it is a ball joint without limits; {tip!r} is not")
    if limb.turns and limb.planar:
        raise UnsupportedError(f"two_bone turns no tip below hinges; {first!r} is one")


def _refuse_other(skeleton: Skeleton, pole: Pole, limb: Limb) -> None:
    theirs, ours = pole.limb(skeleton), (limb.first, limb.middle, limb.tip)
    if tuple(theirs) != ours:
        a, b = (" - ".join(skeleton.names[row] for row in rows) for rows in (theirs, ours))
        raise UnsupportedError(f"two_bone bends the limb {b}; the Pole is for {a}; its root=, joint and tip= say so")


def is_hinge(skeleton: Skeleton, row: int) -> bool:
    """Whether a joint turns about one axis only: a hinge, or a ball that a range makes one."""
    limit = skeleton.limits[row]
    return skeleton.kinds[row] == Kind.HINGE or hinge_axis(limit) is not None


def axis_of(skeleton: Skeleton, row: int) -> Floats:
    """The axis of a hinge, in the frame that it turns in."""
    axis = hinge_axis(skeleton.limits[row])
    return np.array(skeleton.axes[row] if axis is None else axis)


def range_of(skeleton: Skeleton, row: int) -> tuple[float, float]:
    """The lowest and highest angle of a hinge; infinite where there is none."""
    limit = skeleton.limits[row]
    if isinstance(limit, Range) and limit.axis is not None:
        return limit.low, limit.high
    if skeleton.kinds[row] == Kind.HINGE:
        low, high = skeleton.value_ranges[skeleton.q_start[row]]
        return float(low), float(high)
    return -np.inf, np.inf


def column_of(skeleton: Skeleton, row: int) -> int:
    """Where the numbers of its turn stand in q."""
    return int(skeleton.q_start[row]) + (3 if skeleton.kinds[row] == Kind.FREE else 0)


def angles_of(problem: Problem, row: int) -> Floats:
    """The angles (k,) of a hinge in the start poses, inside its range."""
    skeleton, at = problem.skeleton, column_of(problem.skeleton, row)
    q = problem.start.flat_q
    if skeleton.kinds[row] == Kind.HINGE:
        return q[:, at]
    low, high = range_of(skeleton, row)
    angle = rotations.twist_angle(q[:, at : at + 4], axis_of(skeleton, row))
    return nearest_angle(angle, low, high)


def frames_of(problem: Problem, row: int) -> LimbFrames:
    """Where a joint is in the start poses, and what it turns in."""
    skeleton, start = problem.skeleton, problem.start
    n, parent = len(skeleton), int(skeleton.parents[row])
    above = np.broadcast_to(np.eye(3, 4), (len(start.flat_q), 3, 4))
    if parent >= 0:
        above = start.world.affine.reshape(-1, n, 3, 4)[:, parent]
    offset = start.local_positions.reshape(-1, n, 3)[:, row]
    position = (above[..., :3] @ offset[..., None])[..., 0] + above[..., 3]
    turn = rotations.multiply(rotations.from_matrix(rotation_part(above[..., :3])), skeleton.A[row, 3:][None])
    at = column_of(skeleton, row)
    motion = start.flat_q[:, at : at + 4]
    if skeleton.kinds[row] == Kind.HINGE:
        motion = rotations.about(skeleton.axes[row], start.flat_q[:, at])
    if skeleton.kinds[row] == Kind.FIXED:
        motion = np.broadcast_to(rotations.IDENTITY, (len(position), 4))
    return LimbFrames(position, turn, motion)


def length(v: Floats) -> Floats:
    """Lengths (k, 1) of vectors (k, 3)."""
    return np.sqrt((v**2).sum(axis=-1, keepdims=True))


def unit(v: Floats) -> Floats:
    """Vectors (k, 3) of length one; zero where there is no length."""
    size = length(v)
    return np.divide(v, size, out=np.zeros_like(v), where=size > 0)


# --- the bend ----------------------------------------------------------------------------------------------------


def arc_of(thigh: Floats, shin: Floats, axis: Floats) -> tuple[list[Floats], tuple[Floats, Floats, Floats, Floats]]:
    """Where the tip goes when the middle joint turns: still, across, around (k, 3); see kernels/limb/two_bone.py.

    And its shortest and longest squared distance, one over their difference, and the angle to the longest (k,).
    """
    along = axis * (shin * axis).sum(axis=-1, keepdims=True)
    radius, ahead = shin - along, np.cross(axis, shin)
    cosine, sine = (thigh * radius).sum(axis=-1), (thigh * ahead).sum(axis=-1)
    levered = np.hypot(cosine, sine) > _NO_LEVER * ((thigh**2).sum(axis=-1) + (shin**2).sum(axis=-1))
    offset = np.where(levered, np.arctan2(sine, cosine), 0.0)
    c, s = np.cos(offset)[:, None], np.sin(offset)[:, None]
    still: Floats = thigh + along
    across: Floats = c * radius + s * ahead
    longest2, shortest2 = ((still + across) ** 2).sum(axis=-1), ((still - across) ** 2).sum(axis=-1)
    gain = np.divide(1.0, longest2 - shortest2, out=np.zeros_like(offset), where=levered)
    around: Floats = np.cross(axis, across)
    return [still, across, around], (shortest2, longest2, gain, offset)


def distance_at(arc: list[Floats], bend: Floats) -> Floats:
    """How far the tip is (k,) where the middle joint is bent by this from where the limb is longest."""
    still, across, around = arc
    return length(still + np.cos(bend)[:, None] * across + np.sin(bend)[:, None] * around)[:, 0]


def side_of(offset: Floats, straight: Floats, limits: tuple[float, float], branch: Branch) -> Floats:
    """1 or -1 (k,): to which side of straight the middle joint is to bend; a straight one to where it has more room."""
    if branch != "nearest":
        return np.full(len(offset), 1.0 if branch == "positive" else -1.0)
    roomier = limits[1] - straight >= straight - limits[0]
    return np.where(np.abs(offset) < _BENT, np.where(roomier, 1.0, -1.0), np.where(offset < 0, 1.0, -1.0))
