"""Contact intervals of planted feet for the timeline."""

from __future__ import annotations

from typing import Any

from poise.ground.plant import Planted
from poise.model.clip import Clip


def list_contacts(clip: Clip | None) -> list[dict[str, Any]]:
    """List the stance intervals of each planted foot.

    The form is [{"foot": "left", "intervals": [[0.1, 0.7], ...]}, ...].
    """
    if not isinstance(clip, Planted):
        return []
    return [
        {
            "foot": foot,
            "intervals": _merge_intervals(
                [interval for intervals in part_intervals.values() for interval in intervals]
            ),
        }
        for foot, part_intervals in clip.contacts.intervals().items()
    ]


def _merge_intervals(intervals: list[Any]) -> list[list[float]]:
    """Merge overlapping intervals."""
    merged: list[list[float]] = []
    for start, end in sorted(map(tuple, intervals)):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], float(end))
        else:
            merged.append([float(start), float(end)])
    return merged
