"""Units of the numbers in JSON documents."""

from __future__ import annotations

from typing import Any

# Units of the report of planted feet, by JSON key, and by measure of "worse".
FOOT_UNITS = {
    "skate": "cm/s", "skates": "cm/s", "slip": "mm", "lift": "mm", "penetration": "mm", "sunk": "mm s",
    "floating": "mm", "floating_mean": "mm", "backward": "deg", "deepest": "mm", "sideways": "mm", "vertical": "mm",
    "largest_move": "mm", "largest_turn": "deg", "acceleration": "m/s^2", "jerk": "m/s^3", "jumps": "mm/frame^2",
    "reach": "mm", "knee": "deg", "d2": "mm/frame^2", "knee_bend": "deg", "toe_bend": "deg", "pelvis": "mm",
    "pelvis_median": "mm", "bend": "deg", "toe": "deg",
}  # fmt: skip
# Units of the table of a batch, by column.
FOOT_ROW_UNITS = {
    "skate_before": FOOT_UNITS["skate"],
    "skate_after": FOOT_UNITS["skate"],
    "sunk_after": FOOT_UNITS["sunk"],
    "floating_after": FOOT_UNITS["floating"],
    "arms": "deg",
    "legs": "deg",
    "skate": FOOT_UNITS["skate"],
}


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
