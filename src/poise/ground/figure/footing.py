"""The terrain in metres of the character, z up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from poise.ground.figure.figure import Figure
from poise.ground.terrain.terrain import Terrain
from poise.maths.arrays import Floats


@dataclass(frozen=True, eq=False)
class Footing:
    """A terrain under a figure. Points and answers are in metres of the figure, z up."""

    terrain: Terrain
    figure: Figure

    def __post_init__(self) -> None:
        given, metre = self.terrain, self.figure.metre
        if given.unit == 1.0 and given.scale == metre and given.storey is not None:
            # It was brought to the lengths of this figure's clips: back, so that no bit is lost on the way.
            plain = replace(given, unit=None, scale=1.0, lift=given.lift / metre, storey=given.storey / metre)
            object.__setattr__(self, "terrain", plain)

    def heights(self, points: Floats) -> Floats:
        """Return heights (...) of the ground under or over points (..., 3)."""
        scale = self._scale
        return self._ground.heights(points * scale) / scale

    def sample(self, points: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Sample the ground at points (..., 3).

        Returns heights (...), upper unit normals (..., 3), and whether there is ground (...).
        """
        ground = self._ground.sample(points * self._scale)
        return ground.heights / self._scale, ground.normals, ground.inside

    @property
    def _scale(self) -> float:
        """Units of the terrain per metre of the figure."""
        unit = self.terrain.unit
        return 1.0 if unit is None else self.figure.metre / unit

    @cached_property
    def _ground(self) -> Terrain:
        """The terrain, z up."""
        return self.terrain.with_up("z")
