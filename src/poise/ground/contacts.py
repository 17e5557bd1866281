"""Contacts: when heel and ball of each foot stand on the ground."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poise.arrays import Floats


@dataclass(frozen=True, eq=False)
class Contacts:
    """When heel and ball of each of L feet stand on the ground.

    legs   names of the legs
    times  (F,) [s]
    heel   (F, L) whether the heel stands
    ball   (F, L) whether the ball of the foot stands
    """

    legs: tuple[str, ...]
    times: Floats
    heel: NDArray[np.bool_]
    ball: NDArray[np.bool_]

    @property
    def any(self) -> NDArray[np.bool_]:
        """(F, L) whether the foot stands, on heel or ball."""
        return self.heel | self.ball
