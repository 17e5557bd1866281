"""Limits and ranges as JSON."""

from __future__ import annotations

import math
from typing import Any

from poise.io.gltf.node_extras import format_limit
from poise.model.limits import Limit, Range
from poise.problem.goal_ranges import Within


def build_limit_json(limit: Limit) -> dict[str, Any]:
    """Build the JSON of a limit.

    A range has its two ends, other limits are as in glTF extras; radians, an open end is null.
    """
    if not isinstance(limit, Range):
        return {"kind": type(limit).__name__} | format_limit(limit)
    soft_entry = {"soft": limit.soft} if limit.soft else {}
    return {"low": convert_open_end(limit.low), "high": convert_open_end(limit.high), "axis": limit.axis} | soft_entry


def build_within_json(within: Within) -> dict[str, Any]:
    """Build the JSON of a goal's range. An open end is null."""
    intervals = {
        axis: [convert_open_end(end) for end in interval]
        for axis, interval in zip("xyz", within.intervals, strict=True)
    }
    turn = None if within.turn is None else build_limit_json(within.turn)
    return {**intervals, "turn": turn, "axes": within.axes}


def convert_open_end(end: float) -> float | None:
    """Convert an end of a range. An open one is None."""
    return end if math.isfinite(end) else None
