"""Handles, controls and point marks of a program, as document values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from poise.viewer.document.chains import Quaternion, Vector

ControlValue: TypeAlias = float | int | str


@dataclass(frozen=True)
class Control:
    """A slider, a button or a text.

    A slider goes from `low` to `high`; the value of a button is its number of presses.
    """

    kind: Literal["slider", "button", "text"]
    name: str
    value: ControlValue
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, eq=False)
class PointCloud:
    """Points (n, 3) [file units, world] in one colour; `size_px` in pixels."""

    name: str
    points: tuple[tuple[float, float, float], ...]
    colour: str
    size_px: float


@dataclass(frozen=True)
class HandleState:
    """Position and rotation of a handle of a program (`poise.view`)."""

    name: str
    position: Vector
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)
