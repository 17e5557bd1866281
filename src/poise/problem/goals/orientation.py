"""Goal to rotate a joint to a world rotation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from numpy.typing import ArrayLike

from poise.formatting import format_fields
from poise.maths.arrays import Floats, freeze_array
from poise.problem.goal_interface import GoalValue, checked_pull, checked_weight, set_fields
from poise.problem.goal_ranges import Within, set_relation
from poise.problem.target_parsing import parse_quaternions
from poise.runtime.immutable_values import FrozenValue
from poise.runtime.result_cache import copy_own_fields


@dataclass(frozen=True, eq=False)
class Orientation(GoalValue, FrozenValue):
    """The world rotation of the joint equals a target rotation.

    Parameters
    ----------
    joint
        Name of the joint.
    rotation
        (..., 4) quaternions w x y z of any length but zero, stored with length one; or (..., 3, 3) rotation matrices
        (orthogonal within 1e-6, not mirrored), stored as quaternions. Leading axes are a batch.
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
    within
        A set about the target, in place of the target alone; see Within.
    pull
        How far the goal may take the hips and other limbs along: 0 moves its own limb alone (see Skeleton.chain), 1 all
        joints of its chain. In between, joints go that share of the way, and the target may be missed.

    Notes
    -----
    Error: the angle [rad], 0 to pi, of the remaining rotation. q and -q are the same target.
    """

    __repr__ = format_fields

    measures = ("rotation",)
    width = 4

    joint: str
    rotation: Floats
    root: str | None = None
    weight: float = 1.0
    optional: bool = False
    relative_to: str | None = None
    follow: bool = False
    within: Within | None = None
    pull: float = 1.0

    def __init__(
        self,
        joint: str,
        rotation: ArrayLike,
        *,
        root: str | None = None,
        weight: float = 1.0,
        optional: bool = False,
        relative_to: str | None = None,
        follow: bool = False,
        within: Within | None = None,
        pull: float = 1.0,
    ) -> None:
        set_fields(self, joint=joint, root=root, weight=checked_weight(weight, joint=joint), optional=optional)
        if type(pull) is not float or pull != 1.0:
            set_fields(self, pull=checked_pull(pull, joint))
        if relative_to is not None or follow is not False or within is not None:
            set_relation(self, relative_to, follow=follow, within=within)
        rows = self.parse(rotation)
        freeze_array(rows)
        set_fields(self, rotation=rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch axes of the rotation; () for a single one."""
        return self.rotation.shape[:-1]

    def rows(self) -> Floats:
        """Return the rotations (..., 4) as quaternions w x y z, read-only."""
        return self.rotation

    def parse(self, value: ArrayLike) -> Floats:
        """Parse other rotations into quaternions (..., 4).

        They are (..., 4) or (..., 3, 3); InputError as in the constructor.
        """
        return parse_quaternions(value, f"the rotation of {self.joint!r}")

    def with_target(self, value: ArrayLike) -> Self:
        """Return this goal with other rotations."""
        new_goal = copy_own_fields(self)
        rows = new_goal.parse(value)
        freeze_array(rows)
        set_fields(new_goal, rotation=rows)
        return new_goal
