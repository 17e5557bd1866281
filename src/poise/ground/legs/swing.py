"""Interpolate foot offsets in swings, from stance to stance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poise.ground.contact.soles import Soles
from poise.ground.figure.motion import ANKLE, BALL, FOOT, TOES, Motion
from poise.ground.figure.speeds import Shots
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.frame_masks import find_last_true, find_next_true, measure_time_from, take_frames
from poise.maths.smoothing import smoothstep
from poise.maths.vectors import length, normalise

COAST_S = 0.2  # [s] in which the speed of an ankle over the animated one, and a correction of its foot, die away
_CUT_OFF = 0.3  # [s] a swing that the clip cuts off is taken to last so long at least
_FAR = 0.1  # [m] a foot that goes less far steps on the spot


@dataclass(frozen=True, eq=False)
class Between:
    """Contact frames around each of F frames of L legs.

    It also has the position of the frame between them. Where there is none, the first or the last frame of the clip.
    """

    before: Ints
    after: Ints
    share: Floats  # 0 at `before`, 1 at `after`
    since: Floats  # [s]
    until: Floats  # [s]
    first: Floats  # the shares of the first and the last frame of a swing: 0 and 1 unless the clip cuts it off
    last: Floats


def between_of(times: Floats, standing: Bools) -> Between:
    """Find the contact frames around each frame.

    A foot stands where `standing` (F, L) says. A swing that the clip cuts off goes on beyond its end, so that it lasts
    0.3 s at least: else a foot that has just left the ground, or is about to come down, would have to be as animated
    within a frame or two.
    """
    last = len(times) - 1
    before, after = find_last_true(standing), find_next_true(standing)
    begins, ends = before < 0, after > last
    before, after = np.maximum(before, 0), np.minimum(after, last)
    since, until = times[:, None] - times[before], times[after] - times[:, None]
    more = np.maximum(_CUT_OFF - since - until, 0.0)
    since, until = since + more * begins, until + more * ends
    whole = np.where(since + until > 0, since + until, 1.0)
    return Between(before, after, since / whole, since, until, more * begins / whole, 1.0 - more * ends / whole)


def interpolate_swings(motion: Motion, offsets: Floats, between: Between, standing: Bools) -> Floats:
    """Interpolate offsets (F, L, 3) in swings.

    They go smoothly from stance to stance, leaving and arriving at the speed they have there. A foot that must go
    higher or lower does so with the level way that it has come: along the slope, and over stairs.

    A speed v at the end of a stance goes on as v t (1 - t / T)^2, T = 0.2 s or the whole swing.
    """
    start, end = take_frames(offsets, between.before), take_frames(offsets, between.after)
    result = start + (end - start) * smoothstep(between.share)[..., None]
    result[..., 2] = start[..., 2] + (end - start)[..., 2] * smoothstep(way_come(motion, result, between))
    leaving = _find_ends(motion.times, standing, between.before, -1)
    arriving = _find_ends(motion.times, standing, between.after, 1)
    whole = np.minimum(COAST_S, between.since + between.until)
    speeds = leaving.compute_speeds(start, take_frames(offsets, leaving.beside))
    result += speeds * _coast(between.since, whole)[..., None]
    speeds = arriving.compute_speeds(end, take_frames(offsets, arriving.beside))
    result -= speeds * _coast(between.until, whole)[..., None]
    return np.where(standing[..., None], offsets, result)


def fade_offsets(
    times: Floats, offsets: Floats, mask: Bools, seconds: float, shots: Shots | None = None, *, are_turns: bool = False
) -> Floats:
    """Fade offsets (F, L, 3) outside a mask. See `Fade`."""
    return plan_fade(times, mask, seconds, shots).apply(offsets, are_turns=are_turns)


class _Ends(NamedTuple):
    """Ends of a mask (F, L), and its frames next to them.

    frames, beside  the ends, and the frames next to them
    both            whether both are of the mask
    seconds         from the one to the other [s]
    step            -1 or 1: the direction to the next frame
    """

    frames: Ints
    beside: Ints
    both: Bools
    seconds: Floats
    step: int

    def compute_speeds(self, at: Floats, other: Floats) -> Floats:
        """Compute the velocities of offsets (F, L, 3) at the ends. `other` are those in the next frames."""
        speeds = self.step * (other - at) / self.seconds[..., None]
        return np.where(self.both[..., None], speeds, 0.0)


class _Fading(NamedTuple):
    """Fade of offsets from the ends of a mask on (F, L).

    near      frames in which it acts
    left      the share of the offset that is left
    coasting  [s] for which the speed at the end has gone on
    """

    ends: _Ends
    near: Bools
    left: Floats
    coasting: Floats


class Fade(NamedTuple):
    """Fade of offsets (F, L, 3) outside a mask, within each shot. One serves any offsets.

    Offsets begin to fade at the speed they had, and are kept where the mask is true. Over a gap that is shorter than
    some seconds they go from the ones before it to those after it. In a gap up to twice as long both fades are added:
    the offsets come the nearer to 0 the longer it is.

    mask         (F, L)
    sides        from the end before, and to the one after
    is_short     (F, L) whether both fades are added
    """

    mask: Bools
    sides: tuple[_Fading, _Fading]
    is_short: Bools

    def apply(self, offsets: Floats, *, are_turns: bool = False) -> Floats:
        """Fade offsets. Rotation vectors (`are_turns`) go on by the shorter arc in short gaps."""
        result = np.where(self.mask[..., None], offsets, 0.0)
        start, end = (take_frames(offsets, side.ends.frames) for side in self.sides)
        if are_turns:
            end = np.where(self.is_short[..., None], _nearest_turns(end, start), end)
        for (ends, near, left, coasting), held in zip(self.sides, (start, end), strict=True):
            other = take_frames(offsets, ends.beside)
            speeds = ends.compute_speeds(held, _nearest_turns(other, held) if are_turns else other)
            fading = held * left[..., None] - ends.step * (speeds * coasting[..., None])
            result += np.where(near[..., None], fading, 0.0)
        return result


def plan_fade(times: Floats, mask: Bools, seconds: float, shots: Shots | None = None) -> Fade:
    """Plan how offsets fade outside a mask (F, L), within `seconds`."""
    first, last = (shots.first[:, None], shots.last[:, None]) if shots else (0, len(times) - 1)
    before, after = find_last_true(mask), find_next_true(mask)
    since, until = measure_time_from(times, mask)
    since, until = np.where(before >= first, since, np.inf), np.where(after <= last, until, np.inf)
    before, after = np.maximum(before, first), np.minimum(after, last)
    whole = np.minimum(seconds, since + until)
    sides: list[_Fading] = []
    for frames, time, step in ((before, since, -1), (after, until, 1)):
        near = ~mask & (time < whole)
        time_in = np.where(near, time, 0.0)
        left = 1.0 - smoothstep(time_in / np.maximum(whole, 1e-9))
        sides.append(_Fading(_find_ends(times, mask, frames, step), near, left, _coast(time_in, whole)))
    return Fade(mask, (sides[0], sides[1]), since + until < 2.0 * seconds)


def _find_ends(times: Floats, mask: Bools, frames: Ints, step: int) -> _Ends:
    """Find the frames of a mask next to its ends (F, L).

    step  to the frame inside the mask: -1 where it ends, 1 where it begins
    """
    beside = np.clip(frames + step, 0, len(times) - 1)
    both = take_frames(mask, frames) & take_frames(mask, beside) & (beside != frames)
    return _Ends(frames, beside, both, np.maximum(step * (times[beside] - times[frames]), 1e-9), step)


def _nearest_turns(vectors: Floats, to: Floats) -> Floats:
    """Return rotation vectors (..., 3) for the same rotations, nearest to others."""
    back = vectors - 2.0 * np.pi * normalise(vectors)
    nearer = length(back - to) < length(vectors - to)
    return np.where(nearer[..., None], back, vectors)


def _coast(time: Floats, whole: Floats) -> Floats:
    """Compute how long (F, L) a fading velocity carries on.

    A speed v carries after a time t by v t (1 - t / T)^2, and 0 from T on.
    """
    fade = np.clip(1.0 - time / np.maximum(whole, 1e-9), 0.0, 1.0)
    return time * fade**2


def way_come(motion: Motion, offsets: Floats, between: Between) -> Floats:
    """Compute the progress (F, L) of feet between stances.

    It is the share of the level path; if that path is short, of the time.
    """
    ankles = motion.places[:, :, ANKLE, :2] + offsets[..., :2]
    start = take_frames(ankles, between.before)
    way = take_frames(ankles, between.after) - start
    square = (way * way).sum(axis=-1)
    far = square > _FAR**2
    share = ((ankles - start) * way).sum(axis=-1) / np.where(far, square, 1.0)
    share = between.first + (between.last - between.first) * np.clip(share, 0.0, 1.0)
    return np.where(far, share, between.share)


def toe_joints(motion: Motion, turns: Floats) -> Floats:
    """Return vectors (F, L, 3) from ankles to toe joints. The feet have these rotations."""
    foot = rotations.multiply(turns, rotations.inverse(motion.turns[:, :, FOOT]))
    return rotations.rotate(foot, motion.places[:, :, BALL] - motion.places[:, :, ANKLE])


def sole_points(motion: Motion, ankles: Floats, turns: Floats, tilt: Floats, soles: Soles) -> list[Floats]:
    """Return heel, ball and tip (F, L, 3) of feet. Toes are as animated, tilted with the ground."""
    arms = [rotations.rotate(turns, point) for point in (soles.heel, soles.ball)]
    toes = np.where(motion.bends[:, None], rotations.multiply(tilt, motion.turns[:, :, TOES]), turns)
    tip = rotations.rotate(toes, soles.tip)
    arms.append(toe_joints(motion, turns) + tip)
    return [ankles + arm for arm in arms]
