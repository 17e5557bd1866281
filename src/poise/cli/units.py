"""Units of the numbers in JSON documents."""

from __future__ import annotations

from typing import Any

# Units of the report of planted feet, by JSON key.
FOOT_UNITS = {
    "skate": "cm/s", "skates": "cm/s", "slip": "mm", "lift": "mm", "penetration": "mm", "sunk": "mm s",
    "floating": "mm", "floating_mean": "mm", "backward": "deg", "deepest": "mm", "sideways": "mm", "vertical": "mm",
    "largest_move": "mm", "largest_turn": "deg", "acceleration": "m/s^2", "jerk": "m/s^3", "jumps": "mm/frame^2",
    "velocity": "m/s", "metre": "file units",
}  # fmt: skip
# Units of the table of a batch, by column.
FOOT_ROW_UNITS = {"skate_before": "cm/s", "skate_after": "cm/s", "sunk_after": "mm s", "floating_after": "mm"}


def build_units(metres_per_unit: float | None, **measure_units: str) -> dict[str, Any]:
    """Build the "units" object of a JSON document.

    Parameters
    ----------
    metres_per_unit
        Metres of one unit of length; None if unknown, or for several files.
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
