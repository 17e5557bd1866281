"""Contacts and bad frames of planted feet for the timeline."""

from __future__ import annotations

from typing import Any

from poise.ground.plant import Planted
from poise.model.clip import Clip
from poise.runtime.result_cache import get_or_compute

_MOST_STRETCHES = 300  # marks on the timeline


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


def list_bad_stretches(clip: Clip | None) -> list[dict[str, Any]] | None:
    """List the bad stretches of a planted clip.

    The form is [{"from": 0.1, "to": 0.2, "frame": 3, "text": "the left knee ..."}, ...] in seconds; None without feet.
    """
    if not isinstance(clip, Planted):
        return None
    return get_or_compute(clip, "bad stretches of the page", None, lambda: _describe_stretches(clip))


def _describe_stretches(clip: Planted) -> list[dict[str, Any]]:
    times = clip.contacts.times
    return [
        {"from": float(times[worse.first]), "to": float(times[worse.last]), "frame": worse.first, "text": str(worse)}
        for worse in clip.report.stretches[:_MOST_STRETCHES]
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
