"""Interpolate foot offsets in swings, from stance to stance."""

from __future__ import annotations

from dataclasses import dataclass

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
    leaving = _take_speeds(motion.times, offsets, standing, between.before, -1)
    arriving = _take_speeds(motion.times, offsets, standing, between.after, 1)
    whole = np.minimum(COAST_S, between.since + between.until)
    result += _coasting(leaving, between.since, whole)
    result -= _coasting(arriving, between.until, whole)
    return np.where(standing[..., None], offsets, result)


def fade_offsets(
    times: Floats, offsets: Floats, mask: Bools, seconds: float, shots: Shots | None = None, *, are_turns: bool = False
) -> Floats:
    """Fade offsets (F, L, 3) outside a mask, within each shot.

    They begin to fade at the speed they had, and are kept where the mask is true. Over a gap that is shorter than
    `seconds` they go from the ones before it to those after it. In a gap up to twice as long both fades are added: the
    offsets come the nearer to 0 the longer it is. Rotation vectors (`are_turns`) go on by the shorter arc there.
    """
    result = np.where(mask[..., None], offsets, 0.0)
    first, last = (shots.first[:, None], shots.last[:, None]) if shots else (0, len(times) - 1)
    before, after = find_last_true(mask), find_next_true(mask)
    since, until = measure_time_from(times, mask)
    since, until = np.where(before >= first, since, np.inf), np.where(after <= last, until, np.inf)
    before, after = np.maximum(before, first), np.minimum(after, last)
    start, end = take_frames(offsets, before), take_frames(offsets, after)
    if are_turns:
        end = np.where((since + until < 2.0 * seconds)[..., None], _nearest_turns(end, start), end)
    whole = np.minimum(seconds, since + until)
    for frames, held, time, step in ((before, start, since, -1), (after, end, until, 1)):
        near = ~mask & (time < whole)
        time_in = np.where(near, time, 0.0)
        left = 1.0 - smoothstep(time_in / np.maximum(whole, 1e-9))
        speeds = _take_speeds(times, offsets, mask, frames, step, held if are_turns else None)
        fading = held * left[..., None] - step * _coasting(speeds, time_in, whole)
        result += np.where(near[..., None], fading, 0.0)
    return result


def _take_speeds(
    times: Floats, offsets: Floats, mask: Bools, frames: Ints, step: int, turns: Floats | None = None
) -> Floats:
    """Compute the velocities of offsets (F, L, 3) at a mask's ends.

    The ends are `frames` (F, L), the next frame of the mask is a `step` from there: -1 or 1. They are 0 if it is not in
    the mask. Rotation vectors at the ends are given as `turns`, which may be longer than pi.
    """
    beside = np.clip(frames + step, 0, len(times) - 1)
    both = take_frames(mask, frames) & take_frames(mask, beside) & (beside != frames)
    at, other = take_frames(offsets, frames), take_frames(offsets, beside)
    if turns is not None:
        at, other = turns, _nearest_turns(other, turns)
    seconds = np.maximum(step * (times[beside] - times[frames]), 1e-9)
    return np.where(both[..., None], step * (other - at) / seconds[..., None], 0.0)


def _nearest_turns(vectors: Floats, to: Floats) -> Floats:
    """Return rotation vectors (..., 3) for the same rotations, nearest to others."""
    back = vectors - 2.0 * np.pi * normalise(vectors)
    nearer = length(back - to) < length(vectors - to)
    return np.where(nearer[..., None], back, vectors)


def _coasting(speeds: Floats, time: Floats, whole: Floats) -> Floats:
    """Compute the remaining displacement (F, L, 3) of a fading velocity.

    A speed v carries after a time t by v t (1 - t / T)^2, and 0 from T on.
    """
    fade = np.clip(1.0 - time / np.maximum(whole, 1e-9), 0.0, 1.0)
    return speeds * (time * fade**2)[..., None]


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
