"""Base class of goals with a world point as target."""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from poise.maths.arrays import Floats
from poise.maths.remember import FrozenValue
from poise.problem.goals.base.targets import points

_PLANE = 2


class PointTarget(FrozenValue):
    """Target of one point (..., 3) [file units, world]. Leading axes are a batch.

    aimed   name of the target in error messages
    planar  whether points (..., 2) are accepted; z is then 0
    flat    whether this target was given as points (..., 2)
    """

    width = 3
    aimed = "target"
    planar = False
    flat = False

    joint: str
    target: Floats

    def _keep_target(self, value: ArrayLike) -> None:
        """Store checked points, read-only. This is the constructor's last step."""
        rows = self.parse(value)
        if self.planar:
            object.__setattr__(self, "flat", np.shape(value)[-1:] == (_PLANE,))
        rows.setflags(write=False)
        object.__setattr__(self, "target", rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch axes of the target; () for a single one."""
        return self.target.shape[:-1]

    def rows(self) -> Floats:
        """Return the points (..., 3), read-only."""
        return self.target

    def parse(self, value: ArrayLike) -> Floats:
        """Parse other points into rows (..., 3). Raises InputError as the constructor does."""
        return points(value, f"the {self.aimed} of {self.joint!r}", planar=self.planar)

    def with_target(self, value: ArrayLike) -> Self:
        """Return this goal with other points."""
        other = copy(self)
        other._keep_target(value)  # noqa: SLF001  (of the same class)
        return other
