"""Limit of a ball joint's three Euler angles."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Self

from poise.calls.argument_checks import check_text
from poise.errors import InputError
from poise.formatting import format_fields
from poise.maths.arrays import abbreviate
from poise.maths.euler import ORDERS
from poise.model.limit_checks import checked_soft, convert_to_radians
from poise.model.limits.range import check_ends


@dataclass(frozen=True)
class EulerBox:
    """Ranges of the three Euler angles [rad] of a ball joint.

    Parameters
    ----------
    order
        "XYZ", "XZY", "YXZ", "YZX", "ZXY" or "ZYX", read like the product of matrices: in "ZXY" the rotation from rest
        is Rz(z) Rx(x) Ry(y), first a turn about z, then about the turned x, then about the twice turned y.
    x, y, z
        (low, high) of the angle about that axis, measured as in a Range; an omitted axis is free.
    source
        Origin of the limit, as for Range.
    soft
        Weight of a soft limit, 0 of a hard one. It weighs the angle [rad] to the nearest legal rotation.

    Notes
    -----
    Every rotation has two triples of angles, (a, b, c) and (a + pi, pi - b, c + pi) in the order's sequence. It is
    legal if one of them is in the box, so the middle angle may exceed +-90 degrees. A rotation outside is moved
    to the nearest one inside, starting from the triple that is nearer after clamping each angle.

    With the middle angle at +-90 degrees (gimbal lock) the outer two turn about the same axis: only their sum or
    difference counts, and every pair in the box with that sum is the same rotation. Close to it a small rotation is a
    large change of the outer angles, so a clamped rotation may jump. Choose an order with a middle angle away from
    there, or use SwingTwist.
    """

    __repr__ = format_fields

    order: str
    x: tuple[float, float] = field(default=(-math.inf, math.inf), kw_only=True)
    y: tuple[float, float] = field(default=(-math.inf, math.inf), kw_only=True)
    z: tuple[float, float] = field(default=(-math.inf, math.inf), kw_only=True)
    source: str = field(default="argument", compare=False, kw_only=True)
    soft: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.order, str) or self.order not in ORDERS:  # pyright: ignore[reportUnnecessaryIsInstance]
            message = (
                f"unknown rotation order {abbreviate(self.order)}; a box has three different axes: {', '.join(ORDERS)}"
            )
            raise InputError(message)
        for letter in "xyz":
            object.__setattr__(self, letter, check_ends(getattr(self, letter), f"{letter} angle"))
        check_text(self.source, "the source of a limit")
        object.__setattr__(self, "soft", checked_soft(self.soft))

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
        """Make a limit from angles in degrees. `soft` still weighs squared radians."""
        ranges: Any = {name: convert_to_radians(pair, f"{name} angle") for name, pair in (("x", x), ("y", y), ("z", z))}
        return cls(order, **ranges, source=source, soft=soft)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """(low, high) of the three angles, in the order's sequence."""
        return tuple({"X": self.x, "Y": self.y, "Z": self.z}[letter] for letter in self.order)

    @property
    def bounded(self) -> bool:
        """Whether any angle has a finite end."""
        return any(math.isfinite(end) for pair in self.ranges for end in pair)
