"""Level directions of slopes and stairs, from angles and back."""

from __future__ import annotations

import math

import numpy as np

from poise.ground.terrain.arguments import finite_number
from poise.ground.terrain.shapes import Plane, Stairs
from poise.ground.terrain.terrain import Terrain
from poise.maths.arrays import Floats

_DIGITS = 15  # so that quarter turns are exact


def turned_by(degrees: float, up: str) -> Floats:
    """Return the direction (3,) at an angle to the default direction. `up` is the up axis of its frame.

    Positive angles turn to the left, seen from above: 90 is +x, whichever axis is up.
    """
    angle = math.radians(finite_number(degrees, "the angle of a direction"))
    return _in_frame(round(math.sin(angle), _DIGITS), -round(math.cos(angle), _DIGITS), up)


def angle_of(direction: Floats, up: str) -> float:
    """Return the angle [degrees] of a direction (3,) with a level part. `turned_by` gives that part back."""
    x, y = (direction[0], -direction[2]) if up == "y" else direction[:2]
    return math.degrees(math.atan2(x, -y))


def uphill(terrain: Terrain, up: str) -> Floats | None:
    """Return the unit level direction (3,) of climbing slopes or stairs. `up` is the up axis of its frame.

    None for any other ground. Stairs and slopes that fall along their direction climb against it.
    """
    match terrain.surface:
        case Plane(_, x, y) if x or y:
            length = math.hypot(x, y)
            return _in_frame(x / length, y / length, up)
        case Stairs(rise, _, x, y) if rise:
            way = math.copysign(1.0, rise)
            return _in_frame(way * x, way * y, up)
        case _:
            return None


def _in_frame(x: float, y: float, up: str) -> Floats:
    """Return a plan direction (x, y) of surfaces in a frame. No zero has a sign."""
    return np.array([x, 0.0, -y] if up == "y" else [x, y, 0.0]) + 0.0
