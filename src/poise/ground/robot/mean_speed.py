"""Speeds of what moves frame by frame."""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.maths.arrays import Floats

_MEMORY_S = 1.0 / 240.0  # in which the weight of older steps decays by a factor of e


class MeanSpeed(NamedTuple):
    """A mean speed over the last moments.

    It is the sum of steps over the sum of their times, both with weights that decay: frames of uneven times, of which
    some are very short, have the speed of even ones.
    """

    moved: Floats | None = None
    seconds: float = 0.0

    @property
    def value(self) -> Floats | None:
        """The speed. None before the first step."""
        return None if self.moved is None else self.moved / max(self.seconds, _MEMORY_S)

    def add(self, step: Floats, dt: float) -> MeanSpeed:
        """Add a step of `dt` seconds."""
        if self.moved is None:
            return MeanSpeed(step, dt)
        share = math.exp(-dt / _MEMORY_S)
        return MeanSpeed(share * self.moved + step, share * self.seconds + dt)
