"""Limit of a ball joint's swing and twist."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_text
from poise.errors import InputError
from poise.formatting import format_fields
from poise.maths.arrays import abbreviate, check_real
from poise.model.limit_checks import AxisTuple, checked_soft, convert_to_radians, is_collection, unit_axis
from poise.model.limits.range import check_ends

# [-] length of the perpendicular part below which two unit axes count as parallel (rounding)
_PARALLEL_TOLERANCE = 1e-9

HalfAngle: TypeAlias = float | tuple[float, float]
Swing: TypeAlias = HalfAngle | tuple[HalfAngle, HalfAngle]


@dataclass(frozen=True)
class SwingTwist:
    """Swing cone and twist range of a ball joint [rad]. Swing moves the bone, twist rotates the bone about itself.

    Parameters
    ----------
    axis
        The twist axis (x, y, z) in the joint's rest frame, usually along the bone.
    swing
        One half-angle of a round cone; or two of an elliptic one, about the first and the second swing axis. Each may
        be a pair (low, high) for two different sides, -pi <= low <= 0 <= high <= pi. pi everywhere: no limit.
    twist
        (low, high), measured as in a Range: it may straddle +-pi. By default the twist is free.
    across
        The first swing axis; its part along `axis` is removed. By default the coordinate axis that follows (x y z x)
        the one that `axis` is most along. The second swing axis is axis x across: for an axis along x, y or z the swing
        axes are y z, z x or x y.
    source
        Origin of the limit, as for Range.
    soft
        Weight of a soft limit, 0 of a hard one. It weighs the angle [rad] to the nearest legal rotation.

    Notes
    -----
    The rotation from rest is a twist about `axis`, then a swing about an axis across it. The swing is a rotation vector
    `s = (s_1, s_2)` along the two swing axes and must lie in an elliptic cone, `(s_1 / a)^2 + (s_2 / b)^2 <= 1`, where
    each side may have a half-angle of its own.

    A rotation outside is moved to the nearest legal swing (nearest as rotation vectors) and the nearest legal twist. At
    a swing of 180 degrees the twist is not defined and counts as 0; a rotation moved there ends 0.3 degrees before it.

    References
    ----------
    Baerlocher and Boulic, in Deformable Avatars, 2001.
    """

    __repr__ = format_fields

    axis: tuple[float, float, float]
    swing: Swing = math.pi
    twist: tuple[float, float] = (-math.inf, math.inf)
    across: tuple[float, float, float] | None = None
    source: str = field(default="argument", compare=False)
    soft: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))
        object.__setattr__(self, "swing", _check_sides(self.swing))
        object.__setattr__(self, "twist", check_ends(self.twist, "twist"))
        check_text(self.source, "the source of a limit")
        object.__setattr__(self, "soft", checked_soft(self.soft))
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
        """Make a limit from angles in degrees. `soft` still weighs squared radians."""
        across = None if across is None else unit_axis(across)
        return cls(
            unit_axis(axis),
            convert_to_radians(swing, "swing"),
            convert_to_radians(twist, "twist"),
            across,
            source,
            soft,
        )

    @property
    def sides(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """(low, high) of the swing about the two swing axes."""
        return self.swing  # pyright: ignore[reportReturnType]  (set by the check)

    @property
    def swing_axes(self) -> tuple[AxisTuple, AxisTuple]:
        """The two swing axes. They have unit length and are perpendicular to the twist axis and to each other."""
        twist_axis, across = self.axis, self.across
        if across is None:
            main_axis = max(range(3), key=lambda i: abs(twist_axis[i]))
            across = tuple(float(i == (main_axis + 1) % 3) for i in range(3))
        projection = sum(a * b for a, b in zip(twist_axis, across, strict=True))
        x, y, z = (b - projection * a for a, b in zip(twist_axis, across, strict=True))
        if math.sqrt(x * x + y * y + z * z) < _PARALLEL_TOLERANCE:
            message = f"across {self.across} is along the twist axis {twist_axis}; give an axis that points across it"
            raise InputError(message)
        x, y, z = unit_axis((x, y, z))
        return (x, y, z), (
            twist_axis[1] * z - twist_axis[2] * y,
            twist_axis[2] * x - twist_axis[0] * z,
            twist_axis[0] * y - twist_axis[1] * x,
        )

    @property
    def bounded(self) -> bool:
        """Whether it forbids any rotation."""
        low, high = self.twist
        return high - low < 2 * math.pi or any(abs(end) < math.pi for side in self.sides for end in side)


def _check_sides(swing: Any) -> tuple[tuple[float, float], tuple[float, float]]:
    """Check the swing and return two pairs (low, high). The input is one half-angle, two, or two pairs."""
    half_angles = swing if is_collection(swing) else (swing, swing)
    if len(half_angles) != 2:  # noqa: PLR2004
        message = f"the swing is one half-angle, or two, each a number or a pair (low, high); got {abbreviate(swing)}"
        raise InputError(message)
    first, second = (_check_side(half_angle) for half_angle in half_angles)
    return first, second


def _check_side(half_angle: Any) -> tuple[float, float]:
    if is_collection(half_angle):
        low, high = check_ends(half_angle, "swing about an axis")
    else:
        high = check_real(half_angle, "a half-angle of the swing")
        low = -high
    if not -math.pi <= low <= 0.0 <= high <= math.pi:
        message = (
            f"a swing goes from at least -180 to at most 180 degrees, with 0 in it; got {low:g} to {high:g} rad; write "
            "SwingTwist.degrees(...) for angles in degrees"
        )
        raise InputError(message)
    return (low, high)
