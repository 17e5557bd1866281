"""Joint limits as values. One meaning for every solver: the kernel in `kernels/limits.py` applies them.

A limit is relative to the rest rotation of a ball joint; for a hinge or a slide it bounds q itself, so
its zero is the zero pose of the file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self, TypeAlias

from numpy.typing import ArrayLike

from poise.arrays import finite, real
from poise.errors import InputError

_UNIT = 1e-15  # a squared length this near to one is one to rounding


@dataclass(frozen=True)
class Range:
    """low <= q <= high: an angle [rad] of a hinge, a distance [file units] of a slide.

    A range may straddle +-pi and may be wider than a turn: angles are not wrapped. An infinite end is
    no limit on that side. With `axis` (x, y, z in the joint's rest frame) it turns a ball joint into a
    hinge about that axis; its angle is measured from rest and found modulo a turn.

    `source` says where the limit came from ("argument", "sidecar", "extras", "file"); it is not compared.
    """

    low: float
    high: float
    axis: tuple[float, float, float] | None = None
    source: str = "argument"

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", real(self.low, "the low end of a range"))
        object.__setattr__(self, "high", real(self.high, "the high end of a range"))
        if math.isnan(self.low) or math.isnan(self.high) or self.low > self.high:
            message = f"an empty range: low {self.low:g} is not at or below high {self.high:g}"
            raise InputError(message)
        if self.low == math.inf or self.high == -math.inf:
            message = f"a range needs a finite value in it; this one is {self.low:g} to {self.high:g}"
            raise InputError(message)
        if self.axis is not None:
            object.__setattr__(self, "axis", unit_axis(self.axis))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Range):
            return NotImplemented
        return (self.low, self.high, self.axis) == (other.low, other.high, other.axis)

    def __hash__(self) -> int:
        return hash((self.low, self.high, self.axis))

    @classmethod
    def degrees(cls, low: float, high: float, axis: ArrayLike | None = None, source: str = "argument") -> Self:
        """Make a range of an angle from degrees."""
        low, high = real(low, "the low end of a range"), real(high, "the high end of a range")
        return cls(math.radians(low), math.radians(high), None if axis is None else unit_axis(axis), source)

    @property
    def bounded(self) -> bool:
        """Whether at least one side is finite."""
        return math.isfinite(self.low) or math.isfinite(self.high)

    def nearest(self, value: float) -> float:
        """Return the legal value nearest to `value`; for an angle this does not look at other turns."""
        return min(max(value, self.low), self.high)


Limit: TypeAlias = Range


def unit_axis(axis: ArrayLike) -> tuple[float, float, float]:
    """Scale an axis to length one; zero length or anything but three finite numbers is an InputError."""
    x, y, z = _three(axis)
    if abs(x * x + y * y + z * z - 1.0) < _UNIT:
        return (x, y, z)  # unchanged, so that an axis survives saving and loading bit for bit
    largest = max(abs(x), abs(y), abs(z))
    if largest == 0.0:
        message = "an axis of zero length has no direction"
        raise InputError(message)
    x, y, z = x / largest, y / largest, z / largest
    length = math.sqrt(x * x + y * y + z * z)
    return (x / length, y / length, z / length)


def _three(axis: ArrayLike) -> list[float]:
    values = finite(axis, "an axis", last=3)
    if values.shape != (3,):
        message = f"an axis is three numbers; got an array of shape {values.shape}"
        raise InputError(message)
    return values.tolist()
