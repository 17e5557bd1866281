"""Units of the numbers in JSON documents."""

from __future__ import annotations

from typing import Any


def build_units(metres_per_unit: float | None, **measure_units: str) -> dict[str, Any]:
    """Build the "units" object of a JSON document.

    Parameters
    ----------
    metres_per_unit
        Metres of one unit of length; None if unknown.
    measure_units
        Unit of each number with a unit of its own, by its key.
    """
    return {
        "length": "file unit",
        "metres_per_unit": metres_per_unit,
        "angle": "rad",
        "rotation": "quaternion w, x, y, z",
        "time": "s",
        **measure_units,
    }
