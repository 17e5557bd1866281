"""Joint limits as values. One meaning for every solver: `kernels/limits.py` and `kernels/turn_limits.py` apply them.

A limit is relative to the rest rotation of a ball joint, whose quaternion in q is the identity there; for a hinge or a
slide it bounds q itself, so its zero is the zero pose of the file.

A limit is hard (`soft=0`): no result is ever outside. With `soft` > 0 it is a wish instead: it costs soft * excess^2,
comes after all goals, and is reported as `Result.cost`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from poise.arrays import finite, real
from poise.errors import InputError
from poise.euler import ORDERS

_UNIT = 1e-15  # a squared length this near to one is one to rounding
_PARALLEL = 1e-9  # what is left of a unit axis [-] when it is along another one, to rounding

Axis: TypeAlias = tuple[float, float, float]
Side: TypeAlias = float | tuple[float, float]
Swing: TypeAlias = Side | tuple[Side, Side]


@dataclass(frozen=True)
class Range:
    """low <= q <= high: an angle [rad] of a hinge, a distance [file units] of a slide.

    A range may straddle +-pi and may be wider than a turn: angles are not wrapped. An infinite end is
    no limit on that side. With `axis` (x, y, z in the joint's rest frame) it turns a ball joint into a
    hinge about that axis; its angle is measured from rest and found modulo a turn.

    `soft` is the weight of a soft limit, 0 of a hard one; the excess that it weighs is in radians or file units. The
    axis is kept in any case. `source` says where the limit came from ("argument", "sidecar", "extras", "file"); it is
    not compared.
    """

    low: float
    high: float
    axis: tuple[float, float, float] | None = None
    source: str = field(default="argument", compare=False)
    soft: float = 0.0

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
        object.__setattr__(self, "soft", _weight(self.soft))

    @classmethod
    def degrees(
        cls, low: float, high: float, axis: ArrayLike | None = None, source: str = "argument", soft: float = 0.0
    ) -> Self:
        """Make a range of an angle from degrees; `soft` weighs squared radians all the same."""
        low, high = real(low, "the low end of a range"), real(high, "the high end of a range")
        return cls(math.radians(low), math.radians(high), None if axis is None else unit_axis(axis), source, soft)

    @property
    def bounded(self) -> bool:
        """Whether at least one side is finite."""
        return math.isfinite(self.low) or math.isfinite(self.high)

    def nearest(self, value: float) -> float:
        """Return the legal value nearest to `value`; for an angle this does not look at other turns."""
        return min(max(value, self.low), self.high)


@dataclass(frozen=True)
class SwingTwist:
    """How far a ball joint may swing its bone, and how far it may turn it about itself [rad].

    The rotation from rest is a twist about `axis` (x, y, z in the joint's rest frame; usually along the bone), then a
    swing about an axis across it. The swing is a rotation vector s = (s_1, s_2) along the two swing axes and must lie
    in an elliptic cone, (s_1 / a)^2 + (s_2 / b)^2 <= 1; each side may have its own half-angle.

    axis    the twist axis
    swing   one half-angle of a round cone; or two of an elliptic one, about the first and the second swing axis; each
            may be a pair (low, high) for two different sides, -pi <= low <= 0 <= high <= pi. pi everywhere: no limit
    twist   (low, high), measured as Range does: it may straddle +-pi; without it the twist is free
    across  the first swing axis; what of it is along `axis` is taken away. By default the coordinate axis that follows
            (x y z x) the one that `axis` is most along. The second is axis x across: for an axis along x, y or z the
            swing axes are y z, z x or x y
    source, soft  as for Range; the excess that `soft` weighs is the angle [rad] to the nearest legal rotation

    A rotation outside is moved to the nearest legal swing (nearest as rotation vectors) and the nearest legal twist. At
    a swing of half a turn the twist is not defined and 0 counts; what is moved there ends 0.3 degrees before
    it. (Baerlocher and Boulic, in Deformable Avatars, 2001)
    """

    axis: tuple[float, float, float]
    swing: Swing = math.pi
    twist: tuple[float, float] = (-math.inf, math.inf)
    across: tuple[float, float, float] | None = None
    source: str = field(default="argument", compare=False)
    soft: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))
        object.__setattr__(self, "swing", _sides(self.swing))
        object.__setattr__(self, "twist", _pair(self.twist, "twist"))
        object.__setattr__(self, "soft", _weight(self.soft))
        if self.across is not None:
            object.__setattr__(self, "across", unit_axis(self.across))
        _ = self.swing_axes  # an `across` along the axis is refused here

    @classmethod
    def degrees(
        cls,
        axis: ArrayLike,
        swing: Swing = 180.0,
        twist: tuple[float, float] = (-math.inf, math.inf),
        across: ArrayLike | None = None,
        source: str = "argument",
        soft: float = 0.0,
    ) -> Self:
        """Make a limit from degrees; `soft` weighs squared radians all the same."""
        across = None if across is None else unit_axis(across)
        return cls(unit_axis(axis), _radians(swing, "swing"), _radians(twist, "twist"), across, source, soft)

    @property
    def sides(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """(low, high) of the swing about the first and about the second swing axis."""
        return self.swing  # pyright: ignore[reportReturnType]  (made so when it was checked)

    @property
    def swing_axes(self) -> tuple[Axis, Axis]:
        """The first and the second swing axis: unit length, perpendicular to the twist axis and to each other."""
        t, across = self.axis, self.across
        if across is None:
            most = max(range(3), key=lambda i: abs(t[i]))
            across = tuple(float(i == (most + 1) % 3) for i in range(3))
        along = sum(a * b for a, b in zip(t, across, strict=True))
        x, y, z = (b - along * a for a, b in zip(t, across, strict=True))
        if math.sqrt(x * x + y * y + z * z) < _PARALLEL:
            message = f"across {self.across} is along the twist axis {t}; give an axis that points across it"
            raise InputError(message)
        x, y, z = unit_axis((x, y, z))
        return (x, y, z), (t[1] * z - t[2] * y, t[2] * x - t[0] * z, t[0] * y - t[1] * x)

    @property
    def bounded(self) -> bool:
        """Whether it forbids any rotation."""
        low, high = self.twist
        return high - low < 2 * math.pi or any(abs(end) < math.pi for side in self.sides for end in side)


@dataclass(frozen=True)
class EulerBox:
    """Ranges of the three angles [rad] of a ball joint, each about its own axis, as artists type them.

    order    "XYZ", "XZY", "YXZ", "YZX", "ZXY" or "ZYX", read like the product of matrices: in "ZXY" the rotation from
             rest is Rz(z) Rx(x) Ry(y), first a turn about z, then about the turned x, then about the twice turned y
    x, y, z  (low, high) of the angle about that axis, measured as Range does; one that is left out is free
    source, soft  as for Range; the excess that `soft` weighs is the angle [rad] to the nearest legal rotation

    Every rotation has two triples of angles, (a, b, c) and (a + pi, pi - b, c + pi) in the order's sequence. It is
    legal if one of them is in the box, so that the middle angle may go past +-90 degrees. A rotation outside is moved
    to the nearest one inside, beginning with the triple whose angles, each moved into its range, come nearer.

    With the middle angle at +-90 degrees (gimbal lock) the outer two turn about the same axis: only their sum or
    difference counts, and every pair in the box with that sum is the same rotation. Close to it a small turn is a large
    change of the outer angles, so that what is moved inside may jump. Choose the order so that the
    middle angle stays away from there, or SwingTwist.
    """

    order: str
    x: tuple[float, float] = field(default=(-math.inf, math.inf), kw_only=True)
    y: tuple[float, float] = field(default=(-math.inf, math.inf), kw_only=True)
    z: tuple[float, float] = field(default=(-math.inf, math.inf), kw_only=True)
    source: str = field(default="argument", compare=False, kw_only=True)
    soft: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            message = f"unknown rotation order {self.order!r}; a box has three different axes: {', '.join(ORDERS)}"
            raise InputError(message)
        for letter in "xyz":
            object.__setattr__(self, letter, _pair(getattr(self, letter), f"{letter} angle"))
        object.__setattr__(self, "soft", _weight(self.soft))

    @classmethod
    def degrees(
        cls,
        order: str,
        *,
        x: tuple[float, float] = (-math.inf, math.inf),
        y: tuple[float, float] = (-math.inf, math.inf),
        z: tuple[float, float] = (-math.inf, math.inf),
        source: str = "argument",
        soft: float = 0.0,
    ) -> Self:
        """Make a limit from degrees; `soft` weighs squared radians all the same."""
        ranges: Any = {name: _radians(pair, f"{name} angle") for name, pair in (("x", x), ("y", y), ("z", z))}
        return cls(order, **ranges, source=source, soft=soft)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """(low, high) of the three angles in the sequence of the order."""
        return tuple({"X": self.x, "Y": self.y, "Z": self.z}[letter] for letter in self.order)

    @property
    def bounded(self) -> bool:
        """Whether any angle has an end."""
        return any(math.isfinite(end) for pair in self.ranges for end in pair)


Limit: TypeAlias = Range | SwingTwist | EulerBox


def hinge_axis(limit: Limit | None) -> Axis | None:
    """The axis of a limit that makes a ball joint a hinge; None for every other limit."""
    return limit.axis if isinstance(limit, Range) else None


def is_soft(limit: Limit | None) -> bool:
    """Whether a limit is a wish, not a bound."""
    return limit is not None and limit.soft > 0.0


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


def _weight(soft: float) -> float:
    soft = real(soft, "the weight of a soft limit")
    if not (math.isfinite(soft) and soft >= 0.0):
        message = f"soft must be 0 (a hard limit) or a positive weight; got {soft:g}"
        raise InputError(message)
    return soft


def _radians(degrees: Any, what: str) -> Any:
    """Numbers, nested in any way, from degrees to radians."""
    if isinstance(degrees, Sequence | np.ndarray) and not isinstance(degrees, str):
        return tuple(_radians(each, what) for each in degrees)
    return math.radians(real(degrees, f"the {what}"))


def _pair(pair: Any, what: str) -> tuple[float, float]:
    """(low, high) of what a range may be: no NaN, not empty, with a finite value in it."""
    if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:  # noqa: PLR2004
        message = f"the {what} is a pair (low, high); got {pair!r}"
        raise InputError(message)
    checked = Range(pair[0], pair[1])
    return (checked.low, checked.high)


def _sides(swing: Any) -> tuple[tuple[float, float], tuple[float, float]]:
    """The swing as two pairs (low, high), from one half-angle, two, or two pairs."""
    both = swing if isinstance(swing, Sequence | np.ndarray) and not isinstance(swing, str) else (swing, swing)
    if len(both) != 2:  # noqa: PLR2004
        message = f"the swing is one half-angle, or two, each a number or a pair (low, high); got {swing!r}"
        raise InputError(message)
    first, second = (_side(each) for each in both)
    return first, second


def _side(side: Any) -> tuple[float, float]:
    if isinstance(side, Sequence | np.ndarray) and not isinstance(side, str):
        low, high = _pair(side, "swing about an axis")
    else:
        high = real(side, "a half-angle of the swing")
        low = -high
    if not -math.pi <= low <= 0.0 <= high <= math.pi:
        message = f"a swing goes from at least -180 to at most 180 degrees, with 0 in it; got {low:g} to {high:g} rad"
        raise InputError(message)
    return (low, high)
