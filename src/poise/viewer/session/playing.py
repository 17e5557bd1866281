"""Playhead of a clip, and contact intervals for the timeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from poise.errors import InputError
from poise.ground.plant import Planted
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton

SLOWEST, FASTEST = 0.01, 10.0


@dataclass
class Playhead:
    """A looping clip at a time [s]."""

    clip: Clip | None = None
    time: float = 0.0
    playing: bool = False
    speed: float = 1.0

    def advance(self, seconds: float) -> None:
        """Advance the clip by a time step."""
        if not self.playing or self.clip is None:
            return
        length = self.clip.duration
        self.time = (self.time + seconds * self.speed) % length if length > 0.0 else 0.0

    def put(self, clip: Clip | None) -> None:
        """Set the clip. It starts at zero, except for the same clip on other terrain."""
        same = clip is not None and self.clip is not None and clip.name == self.clip.name
        self.clip = clip
        self.playing = self.playing and clip is not None
        self.time = min(self.time, clip.duration) if same and clip is not None else 0.0

    def seek(self, seconds: float) -> None:
        """Go to a time inside the clip. Raise InputError without a clip."""
        if self.clip is None:
            raise InputError("there is no clip to play: choose one first")
        self.time = min(max(seconds, 0.0), self.clip.duration)

    def pose(self, skeleton: Skeleton) -> Pose | None:
        """Compute the clip's pose on a related skeleton.

        The skeleton may have other limits or a free root. None without a clip.
        """
        if self.clip is None or not len(self.clip):
            return None
        return self.clip.at(self.time).on(skeleton)


def contacts_of(clip: Clip | None) -> list[dict[str, Any]]:
    """List the stance intervals of each planted foot.

    The form is [{"foot": "left", "intervals": [[0.1, 0.7], ...]}, ...].
    """
    if not isinstance(clip, Planted):
        return []
    return [
        {"foot": foot, "intervals": _joined([pair for part in parts.values() for pair in part])}
        for foot, parts in clip.contacts.intervals().items()
    ]


def _joined(intervals: list[Any]) -> list[list[float]]:
    """Merge overlapping intervals."""
    found: list[list[float]] = []
    for start, end in sorted(map(tuple, intervals)):
        if found and start <= found[-1][1]:
            found[-1][1] = max(found[-1][1], float(end))
        else:
            found.append([float(start), float(end)])
    return found
