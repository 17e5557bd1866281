"""Inertial of a robot's link: its mass and centre of mass."""

from __future__ import annotations

from typing import NamedTuple


class Inertial(NamedTuple):
    """Mass [kg] and centre of mass [m] of a link."""

    mass: float
    centre: tuple[float, float, float]
