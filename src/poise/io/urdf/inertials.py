"""Inertial of a URDF link: mass and centre of mass."""

from __future__ import annotations

from poise.io.numbers import number
from poise.io.urdf.document import Attributes


def inertial_of(given: dict[str, Attributes]) -> tuple[float, tuple[float, float, float]] | None:
    """Read the mass [kg] and its centre in the link's frame [m].

    They come from the elements of an <inertial>; None if unreadable.
    """
    try:
        mass = number(given.get("mass", {}).get("value", "").strip())
        x, y, z = (number(word) for word in given.get("origin", {}).get("xyz", "0 0 0").split())
    except ValueError:
        return None
    return (mass, (x, y, z)) if mass >= 0.0 else None
