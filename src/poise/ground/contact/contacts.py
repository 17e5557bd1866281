"""Contacts: when heel and ball of each foot stand on the ground."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_integer, check_names, check_type, describe_value
from poise.calls.old_names import make_alias
from poise.errors import InputError, UnknownNameError
from poise.formatting import format_fields
from poise.ground.contact.soles import Soles, find_soles
from poise.ground.figure.motion import Motion, fineness, finer_times
from poise.ground.figure.speeds import Shots, lowest_near, shots_of, velocities
from poise.maths.arrays import Bools, Floats, Ints, abbreviate, check_finite, check_real
from poise.maths.frame_masks import measure_step
from poise.maths.vectors import median

Intervals: TypeAlias = Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]

POINTS = ("heel", "ball")
_NEAR = 1e-4  # [s] times in files are rounded to this
_SAME = 1e-6  # [s] times that differ by less are the same
_OWN, _MAX_OWN = 0.3, 0.8  # of the speed of the ground, and [m/s]: how fast drawn feet may slide on it
_SLIDE = 0.06  # [m] a point that goes so far faster than `on_speed` slides; captured feet creep by 5 cm, more slowly
_PER_SPEED = 0.012  # [m per m/s] what thresholds of height grow by with the speed of the ground


@dataclass(frozen=True)
class Thresholds:
    """Thresholds of contact for points of a sole.

    They are in seconds and in metres of a figure 1.7 m tall.

    Parameters
    ----------
    on_speed
        [m/s] speed below which a contact starts: the point has come to rest.
    off_speed, rise
        [m/s] horizontal and upward speed above which it ends.
    on_height
        [m] height over the foot's own floor below which a contact starts.
    heel_off, ball_off
        [m] height above which it ends: the ball rolls up over the toes before it leaves.
    floor
        [s] The floor is the lowest height at which the foot is slow within this time, before and after.
    window
        [s] over which speeds are taken.
    gap, apart
        [s], [m] A gap that is shorter is closed, if the point is back this near to where it stood.
    shortest
        [s] Shorter contacts are dropped.
    step, around
        [m], [s] A foot that is this far above its lowest height within this time must be still in order to stand.
    still, still_speed
        [s], [m/s] Still means below this speed for this long: a foot that stands on a step, and does not hover.
    level
        Whether the ground is known to have no steps, so that swinging feet, too, show how high it is.
    rest_height
        [m] height below which a point at rest stands, too: feet of people roll, those of drawn ones rest tilted. One
        that moves stands while (speed / on_speed)² + (height / rest_height)² is below 1; upward speed counts twice.
    """

    on_speed: float = 0.25
    off_speed: float = 0.35
    rise: float = 0.35
    on_height: float = 0.02
    heel_off: float = 0.018
    ball_off: float = 0.026
    floor: float = 0.4
    window: float = 0.04
    gap: float = 0.1
    apart: float = 0.03
    shortest: float = 0.03
    step: float = 0.04
    around: float = 1.0
    still: float = 0.5
    still_speed: float = 0.15
    level: bool = False
    rest_height: float = 0.03

    def loosen(self, speed: float) -> Thresholds:
        """Return the thresholds for a clip in place.

        The ground passes under it at `speed` [m/s]. Drawn feet follow such ground only roughly. The clip is made for
        level ground: a point that is low and moves with the ground stands.
        """
        return dataclasses.replace(
            self,
            on_speed=max(self.on_speed, min(_OWN * speed, _MAX_OWN)),
            off_speed=max(self.off_speed, min(1.5 * _OWN * speed, 1.5 * _MAX_OWN)),
            rise=max(self.rise, 0.5 * speed),
            on_height=self.on_height + _PER_SPEED * speed,
            heel_off=self.heel_off + _PER_SPEED * speed,
            ball_off=self.ball_off + _PER_SPEED * speed,
            level=True,
        )

    loosened: ClassVar[Any] = make_alias("Thresholds.loosened", loosen)


@dataclass(frozen=True, eq=False)
class Contacts:
    """Ground contacts of the heel and ball of L feet.

    Parameters
    ----------
    legs
        Names of the legs.
    times
        (F,) [s].
    heel
        (F, L) whether the heel stands.
    ball
        (F, L) whether the ball of the foot stands.
    fine
        The same contacts in more frames, where they are known so: in a slow clip a contact begins between two frames.
        It counts as long as heel and ball agree with it; edits of heel and ball go before.
    """

    __repr__ = format_fields

    legs: tuple[str, ...]
    times: Floats
    heel: Bools
    ball: Bools
    fine: Contacts | None = None

    def __post_init__(self) -> None:
        if type(self.legs) is not tuple:
            object.__setattr__(self, "legs", check_names(self.legs, "the legs of contacts", "['left', 'right']"))
        for name, kind in (("times", "iuf"), ("heel", "b"), ("ball", "b")):
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype.kind not in kind:
                what = "times" if name == "times" else "truth values"
                raise InputError(f"`{name}` of contacts must be an array of {what}, not {describe_value(array)}")
        if self.times.ndim != 1 or not self.heel.shape == self.ball.shape == (len(self.times), len(self.legs)):
            raise InputError(
                f"contacts of {len(self.legs)} legs at times of shape {self.times.shape} do not go with heel of shape "
                f"{self.heel.shape} and ball of shape {self.ball.shape}: each is (frames, legs)"
            )
        if self.fine is not None:
            check_type(self.fine, Contacts, "`fine` of contacts")

    @property
    def any(self) -> Bools:
        """(F, L) whether the foot stands, on heel or ball."""
        return self.heel | self.ball

    def every(self, step: int) -> Contacts:
        """Return the contacts of every so many frames. They keep these as their finer ones."""
        step = check_integer(step, "the step between frames")
        if step < 1:
            raise InputError(f"the step between frames is at least 1, not {step}")
        fine = self if step > 1 else None
        return Contacts(self.legs, self.times[::step], self.heel[::step], self.ball[::step], fine)

    def at(self, times: Floats) -> Contacts:
        """Return the contacts at finer times.

        They are the detected ones at these times, or else those of the intervals.
        """
        known, times = self._find_finest(), frame_times(times)
        return known if are_same_times(known.times, times) else _at(_intervals_of(known), self.legs, times)

    def intervals(self) -> Intervals:
        """Return the intervals of contact of each foot [s].

        From first to last frame: {leg: {"heel": [(start, end), ...], "ball": [...]}}.
        """
        return _intervals_of(self._find_finest())

    def _find_finest(self) -> Contacts:
        """Return the finest contacts of the same content. After an edit, these are the contacts themselves."""
        fine = self.fine
        if fine is None or fine.legs != self.legs:
            return self
        step = max(1, (len(fine.times) - 1) // max(1, len(self.times) - 1))
        picked = Contacts(self.legs, fine.times[::step], fine.heel[::step], fine.ball[::step])
        if not are_same_times(picked.times, self.times):
            return self
        between = _at(_intervals_of(fine), self.legs, self.times)
        alike = (np.array_equal(self.heel, c.heel) and np.array_equal(self.ball, c.ball) for c in (picked, between))
        return fine if any(alike) else self

    @classmethod
    def from_intervals(cls, intervals: Intervals, legs: Sequence[str], times: Floats) -> Contacts:
        """Build contacts from intervals.

        Frames within them are in contact; for an interval between two frames, the nearest frame.

        Parameters
        ----------
        intervals
            {leg: {"heel": [(start, end), ...], "ball": [...]}} [s]. A leg or a point that is left out never stands.
        legs
            Names of the legs.
        times
            (F,) [s] times of the frames. Where they are few, `fine` holds what the intervals say between them.

        Raises
        ------
        UnknownNameError
            For an unknown leg or point.
        InputError
            For an interval that starts after its end, lies outside the clip by more than a frame, or overlaps another.
        """
        legs, times = check_names(legs, "the legs", "['left', 'right']"), frame_times(times)
        for leg, points in table_of(intervals, "contacts").items():
            if leg not in legs:
                raise UnknownNameError("leg", str(leg), legs)
            for point in table_of(points, f"contacts of leg {leg!r}"):
                if point not in POINTS:
                    raise UnknownNameError("contact point", str(point), POINTS)
        fine = _at(intervals, legs, finer_times(times, fineness(times)), measure_step(times))
        if len(fine.times) == len(times):
            return fine
        return dataclasses.replace(_at(_intervals_of(fine), legs, times), fine=fine)


def _at(intervals: Intervals, legs: Sequence[str], times: Floats, beyond: float = 0.0) -> Contacts:
    """Convert intervals [s] to contacts at some times. An end may lie outside the times by `beyond` seconds at most."""
    heel, ball = (
        np.stack(
            [_standing(intervals.get(leg, {}).get(point, ()), times, beyond, f"{leg}.{point}") for leg in legs], axis=1
        )
        for point in POINTS
    )
    return Contacts(tuple(legs), times, heel, ball)


def are_same_times(some: Floats, others: Floats) -> bool:
    """Whether times of frames differ by no more than roundings."""
    return some.shape == others.shape and bool(np.abs(some - others).max(initial=0.0) <= _SAME)


def _intervals_of(contacts: Contacts) -> Intervals:
    """When each foot stands, by the frames of this value alone."""

    def stretches(stands: Bools) -> list[tuple[float, float]]:
        _, start, stop = find_runs(stands[:, None])
        return list(zip(contacts.times[start].tolist(), contacts.times[stop].tolist(), strict=True))

    return {
        leg: {"heel": stretches(contacts.heel[:, row]), "ball": stretches(contacts.ball[:, row])}
        for row, leg in enumerate(contacts.legs)
    }


def frame_times(times: ArrayLike) -> Floats:
    """Check the times of frames (F,) [s]. InputError for other values, times in wrong order, and no times."""
    given = check_finite(times, "the times of the frames")
    if given.ndim != 1 or not len(given) or (np.diff(given) < 0).any():
        raise InputError(
            f"the times of the frames are one or more in a row that do not decrease, not {abbreviate(times)}"
        )
    return given


def table_of(value: Any, what: str) -> dict[str, Any]:
    """Return a table as a dict. InputError for any other value."""
    if not isinstance(value, Mapping):
        raise InputError(f"{what} must be a table, not {abbreviate(value)}")
    return dict(cast("Mapping[str, Any]", value))


def _standing(intervals: Any, times: Floats, beyond: float, place: str) -> Bools:
    """Return the frames (F,) within intervals [s]. They may be outside the clip by `beyond` at most."""
    stands = np.zeros(len(times), dtype=np.bool_)
    before = -np.inf
    for start, end in sorted(_interval(each, place) for each in _check_list(intervals, place)):
        span = f"{place}: the interval {start:g} to {end:g} s"
        if start > end:
            raise InputError(f"{span} starts after its end")
        if start < times[0] - beyond - _NEAR or end > times[-1] + beyond + _NEAR:
            raise InputError(f"{span} is not in the clip, which runs from {times[0]:g} to {times[-1]:g} s")
        if start < before:
            raise InputError(f"{span} overlaps the one before it, which ends at {before:g} s")
        inside = (times >= start - _NEAR) & (times <= end + _NEAR)
        inside[np.abs(times - (start + end) / 2).argmin()] |= not inside.any()
        stands |= inside
        before = end
    return stands


def _check_list(value: Any, place: str) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(cast("Sequence[Any]", value))
    raise InputError(f"{place}: give a list of intervals [start, end] in seconds, not {abbreviate(value)}")


def _interval(value: Any, place: str) -> tuple[float, float]:
    pair = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()
    numbers = [n for n in pair if isinstance(n, int | float) and not isinstance(n, bool) and abs(n) < np.inf]
    if len(pair) != 2 or len(numbers) != 2:  # noqa: PLR2004
        raise InputError(f"{place}: an interval is two numbers [start, end] in seconds, not {abbreviate(value)}")
    return check_real(numbers[0], place), check_real(numbers[1], place)


def stances(
    motion: Motion, ground: Floats | None = None, thresholds: Thresholds | None = None, shots: Shots | None = None
) -> tuple[Soles, Contacts]:
    """Find the soles and contacts of a motion with travel.

    Parameters are those of `find_stance_soles`.
    """
    soles = find_stance_soles(motion, ground, thresholds, shots)
    return soles, find_contacts(motion, soles, loosen_for(ground, thresholds), shots)


def find_stance_soles(
    motion: Motion, ground: Floats | None = None, thresholds: Thresholds | None = None, shots: Shots | None = None
) -> Soles:
    """Find the soles of a motion with travel.

    `add_travel` gives it to a clip in place.

    ground  (2,) [m/s] velocity at which the ground passed under the clip, if it walked in place (`in_place`): the
            thresholds are looser then. None if the clip itself travels. Feet of clips in place slide too much for
            their speed to show when they stand flat: soles are first measured where the feet are lowest, and again
            where contacts are found with these soles
    shots   where the clip is cut, if that is known
    """
    shots = shots or shots_of(motion)
    if ground is None:
        return find_soles(motion, shots=shots)
    rule, lowest = loosen_for(ground, thresholds), find_soles(motion, slow=False)
    first = _detect_contacts(motion, lowest, rule, shots, tidy=False)
    return find_soles(motion, first.heel & first.ball)


def loosen_for(ground: Floats | None, thresholds: Thresholds | None = None) -> Thresholds:
    """Loosen thresholds for passing ground (2,) [m/s]. None: it does not pass."""
    rule = thresholds or Thresholds()
    return rule if ground is None else rule.loosen(float(np.hypot(*ground)))


def find_contacts(
    motion: Motion, soles: Soles, thresholds: Thresholds | None = None, shots: Shots | None = None
) -> Contacts:
    """Find when heel and ball of each foot stand.

    A contact starts when a point of the sole is slow and low, and lasts until it is fast or high: two thresholds each,
    so that it does not flicker. A point at rest may be higher, up to `rest_height`. Height counts from the foot's own
    floor, the lowest that it is slow at within 0.4 s, so that floors may drift, rise and fall. Short gaps and short
    contacts go. Speeds and times are in seconds: the frame rate does not matter as long as steps are shorter than
    contacts.

    A foot that is more than 4 cm above the lowest one within 1 s stands there (a step, a rung) only if it is still for
    0.5 s: at the top of a leap it is not. A foot that is held still in the air for longer cannot be told from one that
    stands. If the hip is less than 0.35 of a leg above the foot, the figure sits or lies: the foot does not stand. Nor
    does one whose sole faces up, such as that of a leg that kneels.

    No contact goes over a cut. A single frame in which the figure is elsewhere (a reference pose) is a shot of its own,
    in which nothing stands. A clip of one frame, or whose frames all have the same time, has no speeds: every heel and
    ball that is low counts as standing.
    """
    return _detect_contacts(motion, soles, thresholds or Thresholds(), shots or shots_of(motion))


def _detect_contacts(motion: Motion, soles: Soles, rule: Thresholds, shots: Shots, *, tidy: bool = True) -> Contacts:
    points = soles.ends(motion)
    moves = velocities(motion.times, points, shots, rule.window)
    sliding = np.hypot(moves[..., 0], moves[..., 1])
    speed = np.hypot(sliding, moves[..., 2])
    slow = speed < rule.on_speed
    height = points[..., 2] - _floors(motion, np.where(slow | rule.level, points[..., 2], np.inf), shots, rule)
    off_height = np.array([rule.heel_off, rule.ball_off])
    leaving = speed + moves[..., 2].clip(0.0)
    rests = np.hypot(leaving * rule.rest_height, height.clip(0.0) * rule.on_speed) < rule.on_speed * rule.rest_height
    stands = _hysteresis(
        rests | (slow & (height < rule.on_height)),
        rests | ((sliding < rule.off_speed) & (moves[..., 2] < rule.rise) & (height < off_height)),
        shots,
    )
    if tidy and len(motion) > 1:
        stands &= ~_find_slides(stands & (sliding > rule.on_speed), points, _SLIDE)
        stands = _tidy_contacts(stands, points, motion.times, shots, rule)
    if tidy and len(motion) > 1 and not rule.level:
        stands &= ~_hovers(stands, points[..., 2], speed, motion.times, shots, rule)[..., None]
    stands &= (motion.upright & soles.face_down(motion))[..., None]
    legs = tuple(leg.name for leg in motion.figure.legs)
    return Contacts(legs, motion.times, stands[..., 0], stands[..., 1])


def _floors(motion: Motion, slow: Floats, shots: Shots, rule: Thresholds) -> Floats:
    """Return the floor under each point (F, L, 2) [m].

    It is the point's lowest height near in time, and about the same for heel and ball.

    slow  heights of the points in frames in which they are slow, infinite in others: a swinging foot has no floor
    """
    if len(motion) == 1:
        return np.full_like(slow, slow.min())
    own = lowest_near(motion.times, slow, shots, rule.floor)
    floor = np.minimum(own, own.min(axis=2, keepdims=True) + rule.on_height)
    return np.where(np.isinf(floor), -np.inf, floor)


def _hysteresis(starts: Bools, lasts: Bools, shots: Shots) -> Bools:
    """Compute a mask with hysteresis.

    It becomes true where `starts` and `lasts` hold, and stays so for as long as `lasts` holds.
    """
    frames = np.arange(len(starts))
    opening = (frames == shots.first)[:, None, None]
    decided = starts | ~lasts | opening
    last = np.maximum.accumulate(np.where(decided, frames[:, None, None], 0), axis=0)
    return np.take_along_axis(starts & lasts, last, axis=0)


def _find_slides(fast: Bools, points: Floats, far: float) -> Bools:
    """Find the frames (F, L, 2) of long slides.

    fast  (F, L, 2) frames in which points are fast
    far   [m] from the first to the last frame of a run of these
    """
    frames = len(fast)
    column, start, stop = find_runs(fast.reshape(frames, -1))
    place = points.reshape(frames, -1, 3)[..., :2]
    slides = np.linalg.norm(place[stop, column] - place[start, column], axis=1) >= far
    return _fill_runs(column[slides], start[slides], stop[slides], fast.shape)


def _tidy_contacts(stands: Bools, points: Floats, times: Floats, shots: Shots, rule: Thresholds) -> Bools:
    """Close short gaps of contacts and drop short contacts. None goes over a cut."""
    frames = len(stands)
    stands[shots.first == shots.last] = False
    cut = np.flatnonzero(shots.first == np.arange(frames))[1:]
    stands[cut] &= ~stands[cut - 1]
    column, start, stop = find_runs(stands.reshape(frames, -1))
    place = points.reshape(frames, -1, 3)[..., :2]
    moved = np.linalg.norm(place[start[1:], column[1:]] - place[stop[:-1], column[:-1]], axis=1)
    first = np.ones(len(start), dtype=np.bool_)
    closed = (column[1:] == column[:-1]) & (shots.first[start[1:]] == shots.first[stop[:-1]])
    closed &= (times[start[1:]] - times[stop[:-1]] < rule.gap) & (moved < rule.apart)
    first[1:] = ~closed
    column, start, stop = column[first], start[first], stop[np.roll(first, -1)]
    step = median(np.diff(times))
    whole = (start > shots.first[start]) & (stop < shots.last[stop])
    kept = ~whole | (times[stop] - times[start] + step >= rule.shortest)
    return _fill_runs(column[kept], start[kept], stop[kept], stands.shape)


def _hovers(stands: Bools, heights: Floats, speed: Floats, times: Floats, shots: Shots, rule: Thresholds) -> Bools:
    """Find frames (F, L) with a hovering foot.

    It is slow, well above the lowest foot, and not still for long enough to stand.
    """
    slow = np.where(speed < rule.on_speed, heights, np.inf)  # a foot that goes through the floor is not one on it
    lowest = lowest_near(times, slow.min(axis=(1, 2)), shots, rule.around)
    raised = heights.min(axis=2) - lowest[:, None] - rule.step
    if not (stands & (raised > 0.0)[..., None]).any():
        return np.zeros(stands.shape[:2], dtype=np.bool_)
    column, start, stop = find_runs(stands[..., 0] | stands[..., 1])
    passed = np.concatenate([np.zeros((1, stands.shape[1])), speed.min(axis=2).cumsum(axis=0)])
    mean = (passed[stop + 1, column] - passed[start, column]) / (stop + 1 - start)
    still = (times[stop] - times[start] >= rule.still) & (mean < rule.still_speed)
    hovers = (raised[start, column] > 0.0) & (raised[stop, column] > 0.0) & ~still
    return _fill_runs(column[hovers], start[hovers], stop[hovers], stands.shape[:2])


def find_runs(stands: Bools) -> tuple[Ints, Ints, Ints]:
    """Find column, first and last frame of each run. The runs of a mask (F, n) come column by column."""
    rows = np.zeros((stands.shape[1], len(stands) + 2), dtype=np.int8)
    rows[:, 1:-1] = stands.T
    change = np.diff(rows, axis=1)
    column, start = np.nonzero(change > 0)
    return column, start, np.nonzero(change < 0)[1] - 1


def _fill_runs(column: Ints, start: Ints, stop: Ints, shape: tuple[int, ...]) -> Bools:
    """Build the mask (F, n) of runs, as the inverse of `find_runs`."""
    change = np.zeros((shape[0] + 1, int(np.prod(shape[1:]))), dtype=np.int8)
    np.add.at(change, (start, column), 1)
    np.add.at(change, (stop + 1, column), -1)
    return change.cumsum(axis=0)[:-1].astype(np.bool_).reshape(shape)
