"""The playhead: which time of a clip is shown, and its contacts for the timeline."""

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
    """A clip, planted or not, at a time [s]; it starts again at its end."""

    clip: Clip | None = None
    time: float = 0.0
    playing: bool = False
    speed: float = 1.0

    def advance(self, seconds: float) -> None:
        """Let so much time pass."""
        if not self.playing or self.clip is None:
            return
        length = self.clip.duration
        self.time = (self.time + seconds * self.speed) % length if length > 0.0 else 0.0

    def put(self, clip: Clip | None) -> None:
        """Play another clip, from its start; the same clip on other ground goes on where it was."""
        same = clip is not None and self.clip is not None and clip.name == self.clip.name
        self.clip = clip
        self.playing = self.playing and clip is not None
        self.time = min(self.time, clip.duration) if same and clip is not None else 0.0

    def seek(self, seconds: float) -> None:
        """Go to a time inside the clip; InputError without a clip."""
        if self.clip is None:
            raise InputError("there is no clip to play: choose one first")
        self.time = min(max(seconds, 0.0), self.clip.duration)

    def pose(self, skeleton: Skeleton) -> Pose | None:
        """The pose of the clip at this time, on a skeleton with other limits or a free root; None without a clip."""
        if self.clip is None or not len(self.clip):
            return None
        return self.clip.at(self.time).on(skeleton)


def contacts_of(clip: Clip | None) -> list[dict[str, Any]]:
    """When each foot of a planted clip stands: [{"foot": "left", "intervals": [[0.1, 0.7], ...]}, ...]."""
    if not isinstance(clip, Planted):
        return []
    return [
        {"foot": foot, "intervals": _joined([pair for part in parts.values() for pair in part])}
        for foot, parts in clip.contacts.intervals().items()
    ]


def _joined(intervals: list[Any]) -> list[list[float]]:
    """Intervals that overlap as one."""
    found: list[list[float]] = []
    for start, end in sorted(map(tuple, intervals)):
        if found and start <= found[-1][1]:
            found[-1][1] = max(found[-1][1], float(end))
        else:
            found.append([float(start), float(end)])
    return found
