"""Short text for limits, for `poise info` and `poise limits`."""

from __future__ import annotations

import math

from poise.maths.in_words import write_number
from poise.model.limits import EulerBox, Limit, Range, SwingTwist
from poise.model.skeleton import Kind


def axis_words(axis: tuple[float, float, float]) -> str:
    """Format an axis: x, -y, or three numbers."""
    for name, unit in (("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1))):
        if axis == unit:
            return name
        if axis == tuple(-value for value in unit):
            return f"-{name}"
    return "(" + " ".join(write_number(value, 3) for value in axis) + ")"


def limit_words(limit: Limit, kind: Kind) -> str:
    """Format a limit in a few words."""
    if isinstance(limit, EulerBox):
        return f"{limit.order} " + " ".join(f"{c} {_degrees(getattr(limit, c.lower()))}" for c in limit.order)
    if isinstance(limit, SwingTwist):
        first, second = (_degrees(side) for side in limit.sides)
        return f"swing {first} x {second} about {axis_words(limit.axis)}, twist {_degrees(limit.twist)}"
    return _range(limit, kind)


def _degrees(pair: tuple[float, float]) -> str:
    low, high = (math.degrees(end) for end in pair)
    if low == -high and 0.0 < high < math.inf:
        return f"+-{write_number(high)} deg"
    return _from_to(low, high, " deg")


def _from_to(low: float, high: float, unit: str) -> str:
    """Format a range with its unit. An unbounded range is `free`."""
    if math.isinf(low) and math.isinf(high):
        return "free"
    if math.isinf(low) or math.isinf(high):
        return f"{f'up to {write_number(high)}' if math.isinf(low) else f'from {write_number(low)}'}{unit}"
    return f"{write_number(low)}{unit}" if low == high else f"{write_number(low)}..{write_number(high)}{unit}"


def _range(limit: Range, kind: Kind) -> str:
    axis = f"hinge about {axis_words(limit.axis)} " if limit.axis else ""
    if kind == Kind.SLIDE:
        return f"{axis}{_from_to(limit.low, limit.high, '')}"
    return f"{axis}{_from_to(math.degrees(limit.low), math.degrees(limit.high), ' deg')}"
