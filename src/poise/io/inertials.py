"""Inertial of a robot's link: its mass and centre of mass."""

from __future__ import annotations

from typing import NamedTuple


class Inertial(NamedTuple):
    """Mass [kg] of a link and its centre of mass [m], in the frame of the link."""

    mass: float
    centre: tuple[float, float, float]
