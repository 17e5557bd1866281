"""Notes on a robot's sole.

Stances may slide, float or reach over an edge, swings go through the ground.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from poise.formatting import format_size
from poise.ground.contact.contacts import find_runs
from poise.ground.robot.tree import RobotTree, mark_limits, read_configurations
from poise.maths.arrays import Bools, Floats

# [m/s], [m]: less is held
_HELD_SPEED, _HELD_HEIGHT = 0.005, 0.002
# [m] corners of swinging soles may be so deep, as the bound of reports says
_MAX_SWING_DEPTH = 0.005
# of how far an end of the sole floats: nearer to the height of the ground under the other end it is over an edge
_EDGE_SHARE = 0.5
# corners of heel and ball
ENDS = {"heel": slice(0, 2), "ball": slice(2, 4)}


class SoleTrack(NamedTuple):
    """A sole over a clip, z up. All in seconds and metres.

    leg         its name
    times       (F,) of the frames
    corners     (F, 4, 3) those of the heel first
    heights     (F, 4) of these over where they stand
    ground      (F, 4) heights of the ground under them
    middle      (F,) height of the ground under the middle of the sole
    heel, ball  (F,) what stands
    """

    leg: str
    times: Floats
    corners: Floats
    heights: Floats
    ground: Floats
    middle: Floats
    heel: Bools
    ball: Bools

    @property
    def stands(self) -> Bools:
        """Whether (F,) any of it stands."""
        return self.heel | self.ball

    def take(self, run: slice) -> SoleTrack:
        """Take a run of frames."""
        return SoleTrack(
            self.leg, self.times[run], self.corners[run], self.heights[run], self.ground[run],
            self.middle[run], self.heel[run], self.ball[run],
        )  # fmt: skip


def describe_stances_of(track: SoleTrack, at_limits: Mapping[str, Bools]) -> list[str]:
    """Describe stances without a hold, a sentence each. `at_limits` (F,) by joint of the leg."""
    notes: list[str] = []
    for _, start, stop in zip(*find_runs(track.stands[:, None]), strict=True):
        run = slice(int(start), int(stop) + 1)
        stance = track.take(run)
        faults = [*_describe_speed(stance), *_describe_height(stance)]
        if faults:
            when = f"from {stance.times[0]:.2f} to {stance.times[-1]:.2f} s"
            notes.append(f"the {track.leg} foot {' and '.join(faults)} {when}{_name_limits(at_limits, run)}")
    return notes


def describe_swings_of(track: SoleTrack) -> list[str]:
    """Describe the deepest swing of a sole through the ground."""
    depths = np.where(track.stands, 0.0, (track.ground - track.corners[..., 2]).max(axis=1))
    if depths.max() <= _MAX_SWING_DEPTH:
        return []
    when, deep = track.times[depths.argmax()], format_size(1000.0 * depths.max(), 2)
    return [f"the {track.leg} foot swings through the ground: {deep} mm at {when:.2f} s"]


def find_limits(tree: RobotTree, q: Floats) -> dict[str, Bools]:
    """Find when (F,) joints are at an end of their range. Joints that never are have no entry."""
    is_at_limit = mark_limits(tree, read_configurations(tree, q)[2])
    names = [tree.skeleton.names[unknown.row] for unknown in tree.unknowns]
    return {name: is_at for name, is_at in zip(names, is_at_limit.T, strict=True) if is_at.any()}


def _describe_speed(stance: SoleTrack) -> list[str]:
    """Describe the speed of standing ends, if they slide. The lower corner of each counts."""
    fastest = max(float(measure_slides(stance, end).max(initial=0.0)) for end in ENDS)
    return [f"slides by up to {format_size(100.0 * fastest, 2)} cm/s"] if fastest > _HELD_SPEED else []


def measure_slides(track: SoleTrack, end: str) -> Floats:
    """Measure the level speeds (F - 1,) of a standing end [m/s].

    Its lower corner counts. Frames in which the lower corner changes count as 0.
    """
    stands, lowest = {"heel": track.heel, "ball": track.ball}[end], track.heights[:, ENDS[end]].argmin(axis=1)
    steps_s = np.diff(track.times)
    both = stands[1:] & stands[:-1] & (lowest[1:] == lowest[:-1]) & (steps_s > 0.0)
    ways = np.diff(track.corners[:, ENDS[end]], axis=0)[np.arange(len(steps_s)), lowest[:-1], :2]
    return np.where(both, np.linalg.norm(ways, axis=1) / np.where(both, steps_s, 1.0), 0.0)


def _describe_height(stance: SoleTrack) -> list[str]:
    """Describe standing ends off the ground, and those over an edge."""
    off, over = 0.0, dict[str, float]()
    for end, stands in (("heel", stance.heel), ("ball", stance.ball)):
        heights, is_over = np.abs(measure_lowest(stance, end)), find_overhangs(stance, end)
        off = max(off, float(heights[stands & ~is_over].max(initial=0.0)))
        over[end] = float(heights[stands & is_over].max(initial=0.0))
    faults = [f"is up to {format_size(1000.0 * off, 2)} mm off the ground"] if off > _HELD_HEIGHT else []
    return faults + [
        f"reaches over an edge with its {end}, {format_size(1000.0 * height, 2)} mm above the ground,"
        for end, height in over.items()
        if height > _HELD_HEIGHT
    ]


def find_overhangs(track: SoleTrack, end: str) -> Bools:
    """Find frames (F,) with an end of the sole over an edge.

    It is as high as the ground under the other end, and the ground between the two is no slope.
    """
    other = "ball" if end == "heel" else "heel"
    heights, own, beyond = measure_lowest(track, end), track.ground[:, ENDS[end]], track.ground[:, ENDS[other]]
    beside = track.corners[:, ENDS[end], 2].min(axis=1) - beyond.max(axis=1)
    own, beyond = own.mean(axis=1), beyond.mean(axis=1)
    is_step = np.abs(track.middle - 0.5 * (own + beyond)) > 0.5 * _EDGE_SHARE * np.abs(own - beyond)
    return (heights > _HELD_HEIGHT) & (np.abs(beside) < _EDGE_SHARE * heights) & is_step


def measure_lowest(track: SoleTrack, end: str) -> Floats:
    """Measure the height (F,) of an end of the sole. The lower corner counts."""
    return track.heights[:, ENDS[end]].min(axis=1)


def _name_limits(at_limits: Mapping[str, Bools], run: slice) -> str:
    """Name the joints at a limit in a stance."""
    names = [name for name, is_at in at_limits.items() if is_at[run].any()]
    return f": at a limit {'is' if len(names) == 1 else 'are'} {', '.join(names)}" if names else ""
