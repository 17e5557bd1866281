"""Contacts and bad frames of planted feet for the timeline."""

from __future__ import annotations

from typing import Any

import numpy as np

from poise.ground.contact.contacts import Contacts
from poise.ground.plant import Planted
from poise.model.clip import Clip
from poise.retargeting.retarget import Retargeted
from poise.runtime.result_cache import get_or_compute
from poise.viewer.document.side_by_side import MotionPair

_MOST_STRETCHES = 300  # marks on the timeline


def list_contacts(clip: Clip | None) -> list[dict[str, Any]]:
    """List the stance intervals of each planted foot.

    The form is [{"foot": "left", "intervals": [[0.1, 0.7], ...]}, ...].
    """
    contacts = _find_contacts(clip)
    if contacts is None:
        return []
    return [
        {
            "foot": foot,
            "intervals": _merge_intervals(
                [interval for intervals in part_intervals.values() for interval in intervals]
            ),
        }
        for foot, part_intervals in contacts.intervals().items()
    ]


def _find_contacts(clip: Clip | None) -> Contacts | None:
    """Find the contacts of a planted clip.

    Those of a retargeted one are its source's.
    """
    if isinstance(clip, MotionPair):
        return clip.done.contacts
    return clip.contacts if isinstance(clip, Planted) else None


def list_bad_stretches(clip: Clip | None) -> list[dict[str, Any]] | None:
    """List the bad stretches of a planted or retargeted clip.

    The form is [{"from": 0.1, "to": 0.2, "frame": 3, "text": "the left knee ..."}, ...] in seconds; None without feet.
    """
    if isinstance(clip, MotionPair):
        return get_or_compute(clip, "bad stretches of the page", None, lambda: _describe_missed(clip.done))
    if not isinstance(clip, Planted):
        return None
    return get_or_compute(clip, "bad stretches of the page", None, lambda: _describe_stretches(clip))


def _describe_missed(done: Retargeted) -> list[dict[str, Any]]:
    """Describe the bad frames of a retargeted clip."""
    report, stretches = done.report, list[dict[str, Any]]()
    for role, angles in report.angles.items():
        edges = np.flatnonzero(np.diff(np.pad(angles > report.bounds[role], 1).astype(np.int8)))
        for first, end in edges.reshape(-1, 2).tolist():
            most = float(angles[first:end].max())
            words = f"{role} is {most:.1f} deg off the source's direction, more than {report.bounds[role]:g}"
            times = float(done.times[first]), float(done.times[end - 1])
            stretches.append({"from": times[0], "to": times[1], "frame": first, "text": words})
    return sorted(stretches, key=lambda stretch: stretch["from"])[:_MOST_STRETCHES]


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
