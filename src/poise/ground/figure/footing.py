"""The terrain in metres of the character, z up."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from poise.ground.figure.figure import Figure
from poise.ground.terrain.terrain import Terrain
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import find_z_up_rotation


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
        return self.sample(points)[0]

    def sample(self, points: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Sample the ground at points (..., 3).

        Returns heights (...), upper unit normals (..., 3), and whether there is ground (...).
        """
        scale, turn = self._scale, self._turn
        there = rotations.rotate(rotations.inverse(turn), points) * scale
        ground = self.terrain.sample(there)
        return ground.heights / scale, rotations.rotate(turn, ground.normals), ground.inside

    @property
    def _scale(self) -> float:
        """Units of the terrain per metre of the figure."""
        unit = self.terrain.unit
        return 1.0 if unit is None else self.figure.metre / unit

    @property
    def _turn(self) -> Floats:
        return find_z_up_rotation(self.terrain.up)
