"""The goal that a joint stays where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from poise.maths.arrays import Floats
from poise.maths.options import truth
from poise.problem.goals.base.goal import checked_weight, refuse_target, set_fields


@dataclass(frozen=True, eq=False)
class Pin:
    """The joint stays where the start pose has it in the world.

    Parameters
    ----------
    joint
        Name of the joint.
    rotation
        Whether its rotation stays too; otherwise only its position does.
    root
        The first joint that may move; by default the first of the limb (see Skeleton.chain).
    weight
        A factor > 0 of the residuals, where several goals compete.

    Notes
    -----
    It has no target: the start pose of each solve says where the joint stays. Errors: the distance [file units] from
    there and, with `rotation`, the angle [rad], 0 to pi, of the rotation that is left.
    """

    width = 0
    shape = ()

    joint: str
    rotation: bool = True
    root: str | None = None
    weight: float = 1.0

    def __init__(self, joint: str, *, rotation: bool = True, root: str | None = None, weight: float = 1.0) -> None:
        keeps = truth(f"the rotation of the Pin of {joint!r}", rotation)
        set_fields(self, joint=joint, rotation=keeps, root=root, weight=checked_weight(weight, repr(joint)))

    @property
    def measures(self) -> tuple[str, ...]:
        """What is held: the position, and the rotation where it stays too."""
        return ("position", "rotation") if self.rotation else ("position",)

    def rows(self) -> Floats:
        """Return no numbers (0,)."""
        return np.zeros(0)

    def parse(self, value: ArrayLike) -> NoReturn:
        """Raise InputError: there is no target."""
        refuse_target(f"the Pin of {self.joint!r}")

    def with_target(self, value: ArrayLike) -> NoReturn:
        """Raise InputError: there is no target."""
        refuse_target(f"the Pin of {self.joint!r}")
