"""What a program has put on the page to be used by hand, and points that it marks in the scene."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Value: TypeAlias = float | int | str


@dataclass(frozen=True)
class Control:
    """A slider from `low` to `high`, a button with how often it was pressed, or a text."""

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
