"""Goal to hold a joint at its start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_bool
from poise.errors import InputError, quote_value
from poise.formatting import format_fields
from poise.maths.arrays import Floats
from poise.problem.goal_interface import GoalValue, checked_pull, checked_weight, refuse_target, set_fields


@dataclass(frozen=True, eq=False)
class Pin(GoalValue):
    """The joint keeps its world position and rotation of the start pose.

    Parameters
    ----------
    joint
        Name of the joint.
    rotation
        Whether its rotation stays.
    position
        Whether its position stays; False holds the rotation alone.
    root
        The first joint that may move; by default the first of the limb (see Skeleton.chain).
    weight
        A factor > 0 of the residuals, where several goals compete.
    optional
        Whether the goal comes after the others, without any cost to them, and does not count for `reached`.
    pull
        How far the goal may take the hips and other limbs along: 0 moves its own limb alone (see Skeleton.chain), 1 all
        joints of its chain. In between, joints go that share of the way, and the joint may leave its place.

    Notes
    -----
    It has no target: the start pose of each solve defines the held transform. Errors: the distance [file units] from
    the held position, and the angle [rad], 0 to pi, from the held rotation.
    """

    __repr__ = format_fields

    width = 0
    shape = ()

    joint: str
    rotation: bool = True
    position: bool = True
    root: str | None = None
    weight: float = 1.0
    optional: bool = False
    pull: float = 1.0

    def __init__(
        self,
        joint: str,
        *,
        rotation: bool = True,
        position: bool = True,
        root: str | None = None,
        weight: float = 1.0,
        optional: bool = False,
        pull: float = 1.0,
    ) -> None:
        holds_rotation = check_bool(rotation, f"the rotation of the Pin of {quote_value(joint)}")
        holds_position = check_bool(position, f"the position of the Pin of {quote_value(joint)}")
        if not (holds_rotation or holds_position):
            raise InputError(f"the Pin of {quote_value(joint)} holds nothing: rotation and position are both False")
        set_fields(
            self,
            joint=joint,
            rotation=holds_rotation,
            position=holds_position,
            root=root,
            weight=checked_weight(weight, joint=joint),
            optional=optional,
            pull=checked_pull(pull, joint),
        )

    @property
    def measures(self) -> tuple[str, ...]:
        """Held quantities: position, rotation or both."""
        return ("position",) * self.position + ("rotation",) * self.rotation

    def rows(self) -> Floats:
        """Return no numbers (0,)."""
        return np.zeros(0)

    def parse(self, value: ArrayLike) -> NoReturn:
        """Raise InputError: there is no target."""
        refuse_target(f"the Pin of {self.joint!r}")

    def with_target(self, value: ArrayLike) -> NoReturn:
        """Raise InputError: there is no target."""
        refuse_target(f"the Pin of {self.joint!r}")
