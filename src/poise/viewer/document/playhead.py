"""Playhead: the played clip and its current time."""

from __future__ import annotations

from dataclasses import dataclass

from poise.errors import InputError
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton

MIN_SPEED, MAX_SPEED = 0.01, 10.0


@dataclass
class Playhead:
    """A looping clip at a time [s]."""

    clip: Clip | None = None
    time: float = 0.0
    is_playing: bool = False
    speed: float = 1.0

    def advance(self, time_step: float) -> None:
        """Advance the clip by a time step."""
        if not self.is_playing or self.clip is None:
            return
        duration = self.clip.duration
        self.time = (self.time + time_step * self.speed) % duration if duration > 0.0 else 0.0

    def set_clip(self, clip: Clip | None) -> None:
        """Set the clip. It starts at zero, except for the same clip on other terrain."""
        is_same_clip = clip is not None and self.clip is not None and clip.name == self.clip.name
        self.clip = clip
        self.is_playing = self.is_playing and clip is not None
        self.time = min(self.time, clip.duration) if is_same_clip and clip is not None else 0.0

    def seek(self, time: float) -> None:
        """Go to a time inside the clip. Raise InputError without a clip."""
        if self.clip is None:
            raise InputError("there is no clip to play: choose one first")
        self.time = min(max(time, 0.0), self.clip.duration)

    def compute_pose(self, skeleton: Skeleton) -> Pose | None:
        """Compute the clip's pose on a related skeleton.

        The skeleton may have other limits or a free root. None without a clip.
        """
        if self.clip is None or not len(self.clip):
            return None
        return self.clip.at(self.time).on(skeleton)
