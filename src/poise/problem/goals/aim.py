"""Goal to point a joint's ray at a world point."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from poise.formatting import format_fields
from poise.maths.arrays import Floats
from poise.model.limits import unit_axis
from poise.problem.goal_interface import ORIGIN, PointTarget, checked_offset, checked_weight, set_fields
from poise.problem.goal_ranges import set_relation


@dataclass(frozen=True, eq=False)
class Aim(PointTarget):
    """A ray fixed to the joint passes through a world point.

    The ray starts at a point of the joint and follows the joint's own axis.

    Parameters
    ----------
    joint
        Name of the joint.
    target
        (..., 3) [file units, world]; leading axes are a batch.
    axis
        (x, y, z) in the frame of `joint`, of any length but zero; stored with length one.
    offset
        Where the ray begins: a point in the frame of `joint`, in the units in which its children are placed.
    root
        The first joint that may move; by default the first of the limb (see Skeleton.chain).
    weight
        A factor > 0 of the residual, where several goals compete.
    optional
        Whether the goal comes after the others, without any cost to them, and does not count for `reached`.
    relative_to
        A joint in whose moving frame the target is, in place of the world. The joints between the two move, up to their
        common ancestor; `root` limits those on the side of `joint`.
    follow
        Whether the joints on the side of `relative_to` keep still.

    Notes
    -----
    Error: the angle [rad], 0 to pi, between the axis in the world and the direction from the ray's origin to the
    target. For a target at the ray's origin (to 1e-12 of their coordinates) the error is 0.

    The joint alone cannot aim at a target nearer to the joint's origin than the ray's line passes it; then the joints
    above it must move.
    """

    __repr__ = format_fields

    measures = ("aim",)

    joint: str
    target: Floats
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    offset: tuple[float, float, float] = ORIGIN
    root: str | None = None
    weight: float = 1.0
    optional: bool = False
    relative_to: str | None = None
    follow: bool = False

    def __init__(
        self,
        joint: str,
        target: ArrayLike,
        *,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        offset: ArrayLike = ORIGIN,
        root: str | None = None,
        weight: float = 1.0,
        optional: bool = False,
        relative_to: str | None = None,
        follow: bool = False,
    ) -> None:
        set_fields(self, joint=joint, axis=unit_axis(axis), offset=checked_offset(offset, joint))
        set_fields(self, root=root, weight=checked_weight(weight, joint=joint), optional=optional)
        if relative_to is not None or follow is not False:
            set_relation(self, relative_to, follow=follow)
        self._store_target(target)
