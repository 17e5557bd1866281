"""Ground in closed form: planes and endless stairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from poise.ground.terrain.surface import Normal, Sample, Strike
from poise.maths.arrays import Bools, Floats

_STILL = 1e-200  # treads per unit of distance: slower than this, a ray stays over its tread


@dataclass(frozen=True)
class Plane:
    """h = height + slope_x x + slope_y y, everywhere."""

    height: float
    slope_x: float = 0.0
    slope_y: float = 0.0

    @cached_property
    def normal(self) -> Normal:
        """The unit normal, the same everywhere."""
        length = math.hypot(self.slope_x, self.slope_y, 1.0)
        return -self.slope_x / length, -self.slope_y / length, 1.0 / length

    def heights(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Heights at x, y."""
        if self.slope_x == 0.0 == self.slope_y:
            return np.full(len(x), self.height)
        return x * self.slope_x + y * self.slope_y + self.height

    def sample(self, x: Floats, y: Floats, z: Floats) -> Sample:
        """Heights and the normal; all is inside."""
        return Sample(self.heights(x, y, z), self.normal, inside=True)

    def hit(self, origins: Floats, directions: Floats) -> Strike:
        """Find hits of rays on the plane.

        Distance = height over the plane / speed towards it; a ray along the plane misses it.
        """
        x, y, z = origins.T
        dx, dy, dz = directions.T
        over = z - self.heights(x, y, z)
        approach = dx * self.slope_x + dy * self.slope_y - dz
        meets = (over * approach > 0.0) | (over == 0.0)
        distances = np.divide(over, approach, out=np.zeros_like(over), where=approach != 0.0)
        return Strike(np.where(meets, distances, np.inf), self.normal)


@dataclass(frozen=True)
class Stairs:
    """Endless stairs of level treads. A tread is `going` long and `rise` higher than the one before.

    The first riser stands at the distance `start` along the unit plan direction (along_x, along_y); the tread
    before it has height 0. An edge belongs to the tread behind it.
    """

    rise: float
    going: float
    along_x: float
    along_y: float
    start: float

    def heights(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Heights at x, y: rise (floor((distance - start) / going) + 1)."""
        return (np.floor(self._treads(x, y)) + 1.0) * self.rise

    def _treads(self, x: Floats, y: Floats) -> Floats:
        """Distance from the first riser, in treads."""
        return (x * self.along_x + y * self.along_y - self.start) / self.going

    def sample(self, x: Floats, y: Floats, z: Floats) -> Sample:
        """Heights; the normal of a tread is up."""
        return Sample(self.heights(x, y, z), (0.0, 0.0, 1.0), inside=True)

    def hit(self, origins: Floats, directions: Floats) -> Strike:
        """First hits on treads and risers, in closed form, see `_Climb`."""
        x, y, z = origins.T
        dx, dy, dz = directions.T
        place, speed = self._treads(x, y), (dx * self.along_x + dy * self.along_y) / self.going
        # from below, the mirror image is seen from above: heights and rises change sign
        side = np.where(z - self.heights(x, y, z) >= 0.0, 1.0, -1.0)
        distances, on_riser = _first_hit(place, speed, side * z, side * dz, side * self.rise)
        level = np.where(on_riser, 0.0, 1.0)
        outwards = np.where(on_riser, -math.copysign(1.0, self.rise), 0.0)
        return Strike(distances, (outwards * self.along_x, outwards * self.along_y, level))


def _first_hit(place: Floats, speed: Floats, z: Floats, climb: Floats, rise: Floats) -> tuple[Floats, Bools]:
    """Find first hits of rays from above. Returns distances, and whether the hit is on a riser.

    `place` + t `speed` counts treads, `z` + t `climb` is the height, tread k lies at (k + 1) `rise`. Over the end of
    the j-th tread on its way the ray is e_j = e_0 + j c high, so the first tread that stops it follows by a division:
    e_j <= step where the next tread is higher by `step`, e_j <= 0 where it is lower.
    """
    tread = np.floor(place)
    over = z - (tread + 1.0) * rise
    moves = np.abs(speed) > _STILL
    per_tread = 1.0 / np.where(moves, np.abs(speed), 1.0)
    to_end = np.where(speed > 0.0, tread + 1.0 - place, place - tread) * per_tread
    step = np.where(speed > 0.0, rise, -rise)
    first, change, stops = over + climb * to_end, climb * per_tread - step, np.maximum(step, 0.0)
    gains = change < 0.0
    count = np.where((first <= stops) | ~moves, 0.0, np.ceil((first - stops) / np.where(gains, -change, 1.0)))
    at_end = to_end + count * per_tread
    end = over + climb * at_end - count * step
    falls = climb < 0.0
    down = (over - count * step) / np.where(falls, -climb, 1.0)
    on_riser = moves & (step > 0.0) & (end >= 0.0) & (over > 0.0)
    along = np.where(on_riser, at_end, np.minimum(np.maximum(down, at_end - per_tread), at_end))
    distances = np.where(moves, along, down)
    meets = np.where(moves, gains | (first <= stops), falls)
    return np.where(over == 0.0, 0.0, np.where(meets, np.maximum(distances, 0.0), np.inf)), on_riser
