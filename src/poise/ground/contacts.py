"""Contacts: when heel and ball of each foot stand on the ground."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from poise.arrays import Bools, Floats, Ints
from poise.ground.motion import Motion
from poise.ground.soles import BALL_POINT, HEEL_POINT, Soles, find_soles
from poise.ground.speeds import Shots, lowest_near, shots_of, velocities

_PER_SPEED = 0.005  # [s] what a threshold of height grows by with the speed of the ground


@dataclass(frozen=True)
class Thresholds:
    """When a point of a sole stands: in metres of a figure that is 1.7 m tall, and in seconds.

    on_speed            [m/s] speed below which a contact starts: the point has come to rest
    off_speed, rise     [m/s] horizontal and upward speed above which it ends
    on_height           [m] height over the foot's own floor below which a contact starts
    heel_off, ball_off  [m] height above which it ends: the ball rolls up over the toes before it leaves
    floor               [s] the floor is the lowest that the foot is within this time, before and after
    window              [s] over which speeds are taken
    gap, apart          [s], [m] a shorter gap is closed if the point is back that near to where it stood
    shortest            [s] shorter contacts are dropped
    step, around        [m], [s] a foot that far above the lowest one within that time must be
    still, still_speed  [s], [m/s] still for so long, to stand on a step and not to hover
    """

    on_speed: float = 0.4
    off_speed: float = 0.5
    rise: float = 0.8
    on_height: float = 0.02
    heel_off: float = 0.018
    ball_off: float = 0.032
    floor: float = 0.4
    window: float = 0.04
    gap: float = 0.1
    apart: float = 0.03
    shortest: float = 0.03
    step: float = 0.06
    around: float = 1.0
    still: float = 0.4
    still_speed: float = 0.15

    def loosened(self, speed: float) -> Thresholds:
        """For a clip in place whose ground passes at `speed` [m/s]: drawn feet keep to it only by and large."""
        return dataclasses.replace(
            self,
            on_speed=max(self.on_speed, speed),
            off_speed=max(self.off_speed, 1.5 * speed),
            rise=max(self.rise, 0.5 * speed),
            on_height=self.on_height + _PER_SPEED * speed,
            heel_off=self.heel_off + _PER_SPEED * speed,
            ball_off=self.ball_off + _PER_SPEED * speed,
        )


@dataclass(frozen=True, eq=False)
class Contacts:
    """When heel and ball of each of L feet stand on the ground.

    legs   names of the legs
    times  (F,) [s]
    heel   (F, L) whether the heel stands
    ball   (F, L) whether the ball of the foot stands
    """

    legs: tuple[str, ...]
    times: Floats
    heel: Bools
    ball: Bools

    @property
    def any(self) -> Bools:
        """(F, L) whether the foot stands, on heel or ball."""
        return self.heel | self.ball


def stances(
    motion: Motion, ground: Floats | None = None, thresholds: Thresholds | None = None
) -> tuple[Soles, Contacts]:
    """Find soles and contacts of a motion that travels: rough ones first, then both again from each other.

    ground  (2,) [m/s] how the ground passed under a clip in place before it travelled (`in_place`), which loosens the
            thresholds; None if the motion travelled of itself
    """
    rule = thresholds or Thresholds()
    rule = rule if ground is None else rule.loosened(float(np.hypot(*ground)))
    contacts = find_contacts(motion, find_soles(motion, slow=ground is None), rule)
    soles = find_soles(motion, contacts)
    return soles, find_contacts(motion, soles, rule)


def find_contacts(motion: Motion, soles: Soles, thresholds: Thresholds | None = None) -> Contacts:
    """Find when heel and ball of each foot stand.

    A contact starts when a point of the sole is slow and low, and lasts until it is fast or high: two thresholds each,
    so that it does not flicker. Height counts from the foot's own floor, the lowest that it is within 0.4 s, so
    that floors may drift, rise and fall. Short gaps and short contacts go. Speeds and times are in seconds: the frame
    rate does not matter as long as steps are shorter than contacts.

    A foot that is more than 6 cm above the lowest one within 1 s stands there (a step, a rung) only if it is still for
    0.4 s: at the top of a leap it is not. What nothing tells: a foot held still in the air for longer seems to stand.

    No contact goes over a cut: a frame in which the figure stands elsewhere (a reference pose) is a shot of its own,
    in which nothing stands. In a clip of one frame, or one without time, what is low stands.
    """
    rule = thresholds or Thresholds()
    shots = shots_of(motion)
    points = soles.points(motion)[:, :, [HEEL_POINT, BALL_POINT]]
    moves = velocities(motion.times, points, shots, rule.window)
    sliding = np.sqrt((moves[..., :2] ** 2).sum(axis=-1))
    speed = np.hypot(sliding, moves[..., 2])
    height = points[..., 2] - _floors(motion, points[..., 2], shots, rule)
    off_height = np.array([rule.heel_off, rule.ball_off])
    stands = _hysteresis(
        (speed < rule.on_speed) & (height < rule.on_height),
        (sliding < rule.off_speed) & (moves[..., 2] < rule.rise) & (height < off_height),
        shots,
    )
    stands = _tidied(stands, points, motion.times, shots, rule)
    stands &= ~_hovers(stands, points[..., 2], speed, motion.times, shots, rule)[..., None]
    legs = tuple(leg.name for leg in motion.figure.legs)
    return Contacts(legs, motion.times, stands[..., 0], stands[..., 1])


def _floors(motion: Motion, heights: Floats, shots: Shots, rule: Thresholds) -> Floats:
    """The floor under each point (F, L, 2) [m]: the lowest near in time, of a heel and a ball about the same."""
    if len(motion) == 1:
        return np.full_like(heights, heights.min())
    own = lowest_near(motion.times, heights, shots, rule.floor)
    return np.minimum(own, own.min(axis=2, keepdims=True) + rule.on_height)


def _hysteresis(starts: Bools, lasts: Bools, shots: Shots) -> Bools:
    """Frames from one that starts as long as it lasts: each frame is what the last decided one before it is."""
    frames = np.arange(len(starts))
    opening = (frames == shots.first)[:, None, None]
    decided = starts | ~lasts | opening
    last = np.maximum.accumulate(np.where(decided, frames[:, None, None], 0), axis=0)
    return np.take_along_axis(starts & lasts, last, axis=0)


def _tidied(stands: Bools, points: Floats, times: Floats, shots: Shots, rule: Thresholds) -> Bools:
    """Without short gaps and short contacts, and with none over a cut."""
    frames = len(stands)
    if frames == 1:
        return stands
    stands[shots.first == shots.last] = False
    cut = np.flatnonzero(shots.first == np.arange(frames))[1:]
    stands[cut] &= ~stands[cut - 1]
    column, start, stop = _runs(stands.reshape(frames, -1))
    place = points.reshape(frames, -1, 3)[..., :2]
    moved = np.linalg.norm(place[start[1:], column[1:]] - place[stop[:-1], column[:-1]], axis=1)
    first = np.ones(len(start), dtype=np.bool_)
    closed = (column[1:] == column[:-1]) & (shots.first[start[1:]] == shots.first[stop[:-1]])
    closed &= (times[start[1:]] - times[stop[:-1]] < rule.gap) & (moved < rule.apart)
    first[1:] = ~closed
    column, start, stop = column[first], start[first], stop[np.roll(first, -1)]
    step = np.median(np.diff(times))
    whole = (start > shots.first[start]) & (stop < shots.last[stop])
    kept = ~whole | (times[stop] - times[start] + step >= rule.shortest)
    return _filled(column[kept], start[kept], stop[kept], stands.shape)


def _hovers(stands: Bools, heights: Floats, speed: Floats, times: Floats, shots: Shots, rule: Thresholds) -> Bools:
    """Frames (F, L) in which a foot is slow in the air: well above the lowest foot, and not long or not still."""
    if len(stands) == 1:
        return np.zeros(stands.shape[:2], dtype=np.bool_)
    lowest = lowest_near(times, heights.min(axis=(1, 2)), shots, rule.around)
    raised = heights.min(axis=2) - lowest[:, None] - rule.step
    column, start, stop = _runs(stands.any(axis=2))
    passed = np.concatenate([np.zeros((1, stands.shape[1])), speed.min(axis=2).cumsum(axis=0)])
    mean = (passed[stop + 1, column] - passed[start, column]) / (stop + 1 - start)
    still = (times[stop] - times[start] >= rule.still) & (mean < rule.still_speed)
    hovers = (raised[start, column] > 0.0) & (raised[stop, column] > 0.0) & ~still
    return _filled(column[hovers], start[hovers], stop[hovers], stands.shape[:2])


def _runs(stands: Bools) -> tuple[Ints, Ints, Ints]:
    """Column, first and last frame of each stretch of a mask (F, n), column by column."""
    rows = np.zeros((stands.shape[1], len(stands) + 2), dtype=np.int8)
    rows[:, 1:-1] = stands.T
    change = np.diff(rows, axis=1)
    column, start = np.nonzero(change > 0)
    return column, start, np.nonzero(change < 0)[1] - 1


def _filled(column: Ints, start: Ints, stop: Ints, shape: tuple[int, ...]) -> Bools:
    """The mask of these stretches: the inverse of `_runs`."""
    change = np.zeros((shape[0] + 1, int(np.prod(shape[1:]))), dtype=np.int8)
    np.add.at(change, (start, column), 1)
    np.add.at(change, (stop + 1, column), -1)
    return change.cumsum(axis=0)[:-1].astype(np.bool_).reshape(shape)
