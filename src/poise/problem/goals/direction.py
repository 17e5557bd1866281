"""Goal to point a joint's axis along a world direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from poise.calls.old_names import make_alias
from poise.errors import InputError, quote_value
from poise.formatting import format_fields
from poise.maths import rotations
from poise.maths.arrays import Floats, abbreviate, freeze_array
from poise.model.limits import unit_axis
from poise.model.pose import Pose
from poise.problem.goal_interface import GoalValue, checked_weight, set_fields
from poise.problem.goal_ranges import set_relation
from poise.problem.target_parsing import directions
from poise.runtime.immutable_values import FrozenValue
from poise.runtime.result_cache import copy_own_fields


@dataclass(frozen=True, eq=False)
class Direction(GoalValue, FrozenValue):
    """The joint's own axis points along a world direction. The rotation about the axis is free.

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
    optional
        Whether the goal comes after the others, without any cost to them, and does not count for `reached`.
    relative_to
        A joint in whose moving frame the target is, in place of the world. The joints between the two move, up to their
        common ancestor; `root` limits those on the side of `joint`.
    follow
        Whether the joints on the side of `relative_to` keep still.

    Notes
    -----
    Error: the angle [rad], 0 to pi, between the axis in the world and `direction`.
    """

    __repr__ = format_fields

    measures = ("direction",)
    width = 3

    joint: str
    direction: Floats
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    root: str | None = None
    weight: float = 1.0
    optional: bool = False
    relative_to: str | None = None
    follow: bool = False

    def __init__(
        self,
        joint: str,
        direction: ArrayLike,
        *,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        root: str | None = None,
        weight: float = 1.0,
        optional: bool = False,
        relative_to: str | None = None,
        follow: bool = False,
    ) -> None:
        set_fields(
            self,
            joint=joint,
            axis=unit_axis(axis),
            root=root,
            weight=checked_weight(weight, joint=joint),
            optional=optional,
        )
        if relative_to is not None or follow is not False:
            set_relation(self, relative_to, follow=follow)
        rows = self.parse(direction)
        freeze_array(rows)
        set_fields(self, direction=rows)

    @classmethod
    def from_pose(
        cls,
        joint: str,
        direction: ArrayLike,
        pose: Pose,
        *,
        root: str | None = None,
        weight: float = 1.0,
        optional: bool = False,
    ) -> Self:
        """Make the goal to keep a direction of a pose.

        Parameters
        ----------
        joint
            Name of the joint.
        direction
            (3,) in world axes, of any length but zero, such as the world's up.
        pose
            A single pose, such as the rest pose. The goal's `axis` is the joint's axis along `direction` in this pose.
        root, weight, optional
            As in the constructor.

        Raises
        ------
        InputError
            For a batch of poses or of directions, and for a direction of length zero.
        UnknownNameError
            For a joint that does not exist.
        """
        if not isinstance(pose, Pose):
            raise InputError(f"from_pose() needs a Pose, such as rig.rest, not {abbreviate(pose)}")
        if pose.shape:
            raise InputError(f"from_pose() takes a single pose, not a batch of shape {pose.shape}")
        world_direction = directions(direction, f"the direction of {quote_value(joint)}")
        if world_direction.ndim != 1:
            raise InputError(f"from_pose() takes one direction (3,), not an array of shape {world_direction.shape}")
        axis = rotations.rotate(rotations.inverse(pose.world[joint].rotations), world_direction)
        return cls(joint, world_direction, axis=axis, root=root, weight=weight, optional=optional)

    kept: ClassVar[Any] = make_alias("Direction.kept", from_pose)

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch axes of the direction; () for a single one."""
        return self.direction.shape[:-1]

    def rows(self) -> Floats:
        """Return the unit vectors (..., 3), read-only."""
        return self.direction

    def parse(self, value: ArrayLike) -> Floats:
        """Parse other vectors (..., 3) into unit vectors (..., 3). Raises InputError as the constructor does."""
        return directions(value, f"the direction of {self.joint!r}")

    def with_target(self, value: ArrayLike) -> Self:
        """Return this goal with other directions."""
        new_goal = copy_own_fields(self)
        rows = new_goal.parse(value)
        freeze_array(rows)
        set_fields(new_goal, direction=rows)
        return new_goal
