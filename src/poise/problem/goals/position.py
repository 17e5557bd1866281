"""Goal to bring a joint to a world point."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from poise.formatting import format_fields
from poise.maths.arrays import Floats
from poise.problem.goal_interface import ORIGIN, PointTarget, checked_offset, checked_pull, checked_weight, set_fields
from poise.problem.goal_ranges import Within, set_relation


@dataclass(frozen=True, eq=False)
class Position(PointTarget):
    """The joint's origin, or another point of it, is at a target.

    Parameters
    ----------
    joint
        Name of the joint.
    target
        (..., 3) [file units, world], or (..., 2) for planar chains (z is then 0); leading axes are a batch of targets.
        No coordinate is beyond 1e100.
    root
        The first joint that may move; by default the first of the limb (see Skeleton.chain).
    weight
        A factor > 0 of the residual, where several goals compete.
    offset
        The point, in the frame of `joint`, such as a heel or the tip of a tool, in the units in which the joint's
        children are placed. Where it is not zero, `joint` itself turns too.
    optional
        Whether the goal comes after the others, without any cost to them, and does not count for `reached`.
    relative_to
        A joint in whose moving frame the target is, in place of the world. The joints between the two move, up to their
        common ancestor; `root` limits those on the side of `joint`.
    follow
        Whether the joints on the side of `relative_to` keep still.
    within
        A set about the target, in place of the target alone; see Within.
    pull
        How far the goal may take the hips and other limbs along: 0 moves its own limb alone (see Skeleton.chain), 1 all
        joints of its chain. In between, joints go that share of the way, and the target may be missed.

    Notes
    -----
    Error: the distance [file units] from the point to `target`.
    """

    __repr__ = format_fields

    measures = ("position",)
    accepts_planar = True

    joint: str
    target: Floats
    root: str | None = None
    weight: float = 1.0
    offset: tuple[float, float, float] = ORIGIN
    optional: bool = False
    relative_to: str | None = None
    follow: bool = False
    within: Within | None = None
    pull: float = 1.0

    def __init__(
        self,
        joint: str,
        target: ArrayLike,
        *,
        root: str | None = None,
        weight: float = 1.0,
        offset: ArrayLike = ORIGIN,
        optional: bool = False,
        relative_to: str | None = None,
        follow: bool = False,
        within: Within | None = None,
        pull: float = 1.0,
    ) -> None:
        weight = checked_weight(weight, joint=joint)
        offset = ORIGIN if offset is ORIGIN else checked_offset(offset, joint)
        set_fields(self, joint=joint, root=root, weight=weight, offset=offset, optional=optional)
        if type(pull) is not float or pull != 1.0:
            set_fields(self, pull=checked_pull(pull, joint))
        if relative_to is not None or follow is not False or within is not None:
            set_relation(self, relative_to, follow=follow, within=within)
        self._store_target(target)
