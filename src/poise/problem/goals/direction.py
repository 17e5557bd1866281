"""The goal that a joint points somewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from numpy.typing import ArrayLike

from poise.maths.arrays import Floats, frozen
from poise.maths.remember import FrozenValue
from poise.model.limits import unit_axis
from poise.problem.goals.base.goal import checked_weight, set_fields
from poise.problem.goals.base.targets import directions


@dataclass(frozen=True, eq=False)
class Direction(FrozenValue):
    """The joint's own axis points along a world direction; the turn about the axis is free.

    Parameters
    ----------
    joint
        Name of the joint.
    direction
        (..., 3) in world axes, of any length but zero, stored with length one; leading axes are a batch.
    axis
        (x, y, z) in the frame of `joint`, of any length but zero; stored with length one.
    root
        The first joint that may move; by default the first of the limb (see Skeleton.chain).
    weight
        A factor > 0 of the residual, where several goals compete.

    Notes
    -----
    Error: the angle [rad], 0 to pi, between the axis in the world and `direction`.
    """

    measures = ("direction",)
    width = 3

    joint: str
    direction: Floats
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    root: str | None = None
    weight: float = 1.0

    def __init__(
        self,
        joint: str,
        direction: ArrayLike,
        *,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        root: str | None = None,
        weight: float = 1.0,
    ) -> None:
        set_fields(self, joint=joint, axis=unit_axis(axis), root=root, weight=checked_weight(weight, repr(joint)))
        rows = self.parse(direction)
        frozen(rows)
        set_fields(self, direction=rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch axes of the direction; () for a single one."""
        return self.direction.shape[:-1]

    def rows(self) -> Floats:
        """Return the unit vectors (..., 3), read-only."""
        return self.direction

    def parse(self, value: ArrayLike) -> Floats:
        """Turn other vectors (..., 3) into rows (..., 3) of length one; InputError as in the constructor."""
        return directions(value, f"the direction of {self.joint!r}")

    def with_target(self, value: ArrayLike) -> Self:
        """Return the same goal for other directions."""
        return type(self)(self.joint, value, axis=self.axis, root=self.root, weight=self.weight)
