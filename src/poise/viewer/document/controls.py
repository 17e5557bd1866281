"""Controls and point marks of a program as document values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Value: TypeAlias = float | int | str


@dataclass(frozen=True)
class Control:
    """A slider, a button or a text.

    A slider goes from `low` to `high`; the value of a button is its number of presses.
    """

    kind: Literal["slider", "button", "text"]
    name: str
    value: Value
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points (n, 3) [file units, world] in one colour; `size` in pixels."""

    name: str
    points: tuple[tuple[float, float, float], ...]
    colour: str
    size: float
