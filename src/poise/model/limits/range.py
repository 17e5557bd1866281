"""Limit of one value. It bounds a hinge, a slide, or a ball joint about one axis."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Self

from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_text
from poise.errors import InputError
from poise.maths.arrays import abbreviate, check_real
from poise.model.limit_checks import checked_soft, is_collection, unit_axis


@dataclass(frozen=True)
class Range:
    """Range low <= q <= high of one joint value. It is an angle [rad] of a hinge or a distance [file units] of a slide.

    Parameters
    ----------
    low, high
        The ends. A range may straddle +-pi and may be wider than a full turn: angles are not wrapped. An infinite end
        is no limit on that side.
    axis
        (x, y, z) in the joint's rest frame: the range then makes a ball joint a hinge about this axis. The angle is
        measured from rest, modulo a full turn.
    source
        Origin of the limit: "argument", "sidecar", "extras", "file" or "anatomy". It is not compared.
    soft
        Weight of a soft limit, 0 of a hard one. It weighs the squared excess in radians or file units. The axis of a
        soft range remains a hard limit.
    """

    low: float
    high: float
    axis: tuple[float, float, float] | None = None
    source: str = field(default="argument", compare=False)
    soft: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", check_real(self.low, "the low end of a range"))
        object.__setattr__(self, "high", check_real(self.high, "the high end of a range"))
        if math.isnan(self.low) or math.isnan(self.high) or self.low > self.high:
            raise InputError(_format_empty_range(f"{self.low:g}", f"{self.high:g}"))
        if self.low == math.inf or self.high == -math.inf:
            message = f"a range needs a finite value in it; this one is {self.low:g} to {self.high:g}"
            raise InputError(message)
        if self.axis is not None:
            object.__setattr__(self, "axis", unit_axis(self.axis))
        check_text(self.source, "the source of a limit")
        object.__setattr__(self, "soft", checked_soft(self.soft))

    @classmethod
    def degrees(
        cls, low: float, high: float, axis: ArrayLike | None = None, source: str = "argument", soft: float = 0.0
    ) -> Self:
        """Make a range of an angle from degrees. `soft` still weighs squared radians."""
        low, high = check_real(low, "the low end of a range"), check_real(high, "the high end of a range")
        if not low <= high:  # also for NaN
            raise InputError(_format_empty_range(f"{low:g} deg", f"{high:g} deg"))
        return cls(math.radians(low), math.radians(high), None if axis is None else unit_axis(axis), source, soft)

    @property
    def bounded(self) -> bool:
        """Whether at least one side is finite."""
        return math.isfinite(self.low) or math.isfinite(self.high)

    def nearest(self, value: float) -> float:
        """Return the legal value nearest to `value`. Angles are not compared modulo a full turn."""
        return min(max(check_real(value, "a value of a range"), self.low), self.high)


def _format_empty_range(low: str, high: str) -> str:
    return f"an empty range: low {low} is not at or below high {high}"


def _format_angle(angle: float) -> str:
    """Format an angle in radians and in degrees. The caller may have written either."""
    return f"{angle:g} rad ({math.degrees(angle):g} deg)"


def check_ends(pair: Any, label: str) -> tuple[float, float]:
    """Check the ends (low, high) of a range. It has no NaN, is not empty and contains a finite value."""
    if not is_collection(pair) or len(pair) != 2:  # noqa: PLR2004
        message = f"the {label} is a pair (low, high); got {abbreviate(pair)}"
        raise InputError(message)
    low, high = check_real(pair[0], "the low end of a range"), check_real(pair[1], "the high end of a range")
    if not low <= high:
        raise InputError(_format_empty_range(_format_angle(low), _format_angle(high)))
    checked = Range(low, high)
    return (checked.low, checked.high)
