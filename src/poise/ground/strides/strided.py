"""Change the stride lengths of a clip on its own floor.

Body and feet go less far, or farther; then the clip is planted like any other. The timing stays. The body goes a smooth
share of its way; a foot that stands is moved as the body is when it is over it, and stands as still as before; in the
air it goes from the one to the other. Legs are bent to that.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, BALL, END, FOOT, HIP, KNEE, Motion, motion_of
from poise.ground.legs.feet import Feet
from poise.ground.legs.legs import Turned, bend_axes, bend_legs, knees_of, longest_reach
from poise.ground.legs.swing import between_of, way_come
from poise.ground.legs.write_back import write_poses, written_exactly
from poise.ground.stages import ClipAnalysis
from poise.ground.strides.footfalls import BodyWay, Footfalls
from poise.ground.strides.search import APART
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import find_last_true, find_next_true, take_frames
from poise.model.clip import Clip

_ROLL = 0.08  # the share of a swing in which a foot leaves its old stride, and in which it comes to the new one
_EARLY, _CALM = 0.85, 0.5  # the share of a swing up in which that is done, and the part of that in which it slows down
_FULLY = 0.1  # [m] of difference in height from which a foot goes up, or down, in that way


class Course(NamedTuple):
    """The new way of the body in the frames of a `BodyWay`.

    moved   (F + 2 pad, 3) by how much it is displaced [m]
    shares  (F + 2 pad,) the share of its animated way that it goes there
    """

    moved: Floats
    shares: Floats


def apply_strides(
    clip: Clip, analysis: ClipAnalysis, way: BodyWay, falls: Footfalls, course: Course, footing: Footing, skew: float
) -> tuple[Clip, ClipAnalysis]:
    """Return the clip with the new strides, and its analysis.

    The clip has its root motion over the ground.

    skew  from 0 to 1: how much earlier a foot that goes up leaves its old stride, and how much later one that goes down
    """
    inside = slice(way.pad, len(way.arcs) - way.pad)
    own = Course(course.moved[inside], course.shares[inside])
    at = way.at(falls.middle, course.moved)
    ways = moved_feet(analysis.fine, falls, at, footing.heights(falls.ball + at), own, skew)[:: analysis.finer]
    offsets = own.moved[:: analysis.finer]
    body = analysis.motion.translate(offsets)
    feet = _as_animated(body, analysis.motion.places[:, :, ANKLE] + ways)
    turned = _bend_legs(body, analysis.soles, feet)
    kept, middle = analysis.repeats.take_middle, analysis.repeats.middle
    body_kept, all_moved = kept(body), (analysis.offsets + offsets)[middle]
    still = np.zeros_like(all_moved)
    poses = written_exactly(
        body_kept, analysis.soles, kept(feet), kept(turned),
        lambda legs: write_poses(clip.poses, body_kept, legs, all_moved, still), still,
    )  # fmt: skip
    made = Clip(clip.times, poses, clip.name)
    motion = _with(_apply_turns(body, turned), motion_of(made, body.figure), middle)
    return made, analysis._replace(
        motion=motion, fine=motion.finer(analysis.finer), offsets=np.zeros_like(analysis.offsets)
    )


def course_of(way: BodyWay, falls: Footfalls, shares: Floats, anchor: int) -> Course:
    """How the body goes: it is not displaced in the frame `anchor`.

    shares  (K,) of its way that it goes between the anchor and the footfalls on either side, in turn
    """
    knots = np.sort(np.append(falls.middle, anchor))
    share = _smooth_shares(way.arcs, np.interp(knots, np.arange(len(way.arcs)) - way.pad, way.arcs), shares)
    steps = 0.5 * (share[1:] + share[:-1] - 2.0)[:, None] * np.diff(way.places, axis=0)
    moved = np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    return Course(moved - moved[way.pad + anchor], share)


def _smooth_shares(arcs: Floats, knots: Floats, shares: Floats) -> Floats:
    """Interpolate shares (K,) smoothly along the path (F,).

    The means of the smooth shares between knots (K + 1,) are the shares. It is the derivative of a cubic spline of the
    new way over the old one, whose slopes at the knots are those of Fritsch and Butland (1984): it always grows, and
    where the shares are the same, so are the slopes.
    """
    new = np.concatenate([[0.0], np.cumsum(shares * np.diff(knots))])
    chosen = [0]
    for k in range(1, len(knots)):
        if knots[k] - knots[chosen[-1]] > APART:
            chosen.append(k)
    if len(chosen) < 2:  # noqa: PLR2004
        return np.ones_like(arcs)
    knots, wide = knots[chosen], np.diff(knots[chosen])
    mean = np.diff(new[chosen]) / wide
    first, second = 2.0 * wide[1:] + wide[:-1], wide[1:] + 2.0 * wide[:-1]
    inner = (first + second) / (first / mean[:-1] + second / mean[1:])
    slopes = np.concatenate([mean[:1], inner, mean[-1:]])
    part = np.clip(np.searchsorted(knots, arcs, side="right") - 1, 0, len(mean) - 1)
    u = np.clip((arcs - knots[part]) / wide[part], 0.0, 1.0)
    ends = slopes[part] * (1.0 - u) * (1.0 - 3.0 * u) + slopes[part + 1] * u * (3.0 * u - 2.0)
    return 6.0 * u * (1.0 - u) * mean[part] + ends


def moved_feet(motion: Motion, falls: Footfalls, at: Floats, heights: Floats, course: Course, skew: float) -> Floats:
    """Compute the displacements (F, L, 3) of feet [m].

    A foot in contact has that of `at` (K, 3); in the air it goes from the one to the other. The way through the air is
    the animated one, longer or shorter.

    heights  (K,) of the ground under footfalls [m]
    skew     as for `apply_strides`
    """
    moved = np.broadcast_to(course.moved[:, None], (len(motion), len(motion.figure.legs), 3)).copy()
    standing, ground = np.zeros(moved.shape[:2], dtype=np.bool_), np.zeros(moved.shape[:2])
    for leg, start, end, offset, height in zip(falls.leg, falls.start, falls.end, at, heights, strict=True):
        moved[start:end, leg], standing[start:end, leg], ground[start:end, leg] = offset, True, height
    between = between_of(motion.times, standing)
    ends = _with_ends(motion, standing, moved, course.shares)
    start, end = take_frames(ends, between.before), take_frames(ends, between.after)
    whole = np.where(between.last > between.first, between.last - between.first, 1.0)
    come = (way_come(motion, np.zeros_like(moved), between) - between.first) / whole
    climb = take_frames(ground, between.after) - take_frames(ground, between.before)
    swung = start + (end - start) * _warp_progress(np.clip(come, 0.0, 1.0), climb, skew)[..., None]
    return np.where(standing[..., None], moved, swung)


def _with_ends(motion: Motion, standing: Bools, moved: Floats, shares: Floats) -> Floats:
    """Set the displacements (F, L, 3) of feet cut off in swing.

    These are feet in the air in the first or the last frame, and it is set for that frame. The way from there to the
    stance, or back to it, is made shorter by the share that the body has.
    """
    moved, ankles = moved.copy(), motion.places[:, :, ANKLE] * [1.0, 1.0, 0.0]
    for end, stance in ((0, find_next_true(standing)[0]), (-1, find_last_true(standing)[-1])):
        for leg in np.flatnonzero(~standing[end] & standing.any(axis=0)):
            way = ankles[end, leg] - ankles[stance[leg], leg]
            moved[end, leg] = moved[stance[leg], leg] + (shares[end] - 1.0) * way
    return moved


def _warp_progress(share: Floats, climb: Floats, skew: float) -> Floats:
    """Map progress (F, L) in a swing to progress of the displacement.

    `climb` [m] is how much higher the ground is at the swing's end. Level, it changes steadily but for smooth
    beginnings and ends. Up, it changes early: a foot that goes less far rises first and then goes forward, past the
    riser in front of it. Down, it changes late: it gets past the edge first.
    """
    early, late = _advance_early(share), 1.0 - _advance_early(1.0 - share)
    way = skew * np.clip(climb / _FULLY, -1.0, 1.0)
    steady = _ramps(share, _ROLL, _ROLL)
    return steady + np.where(way > 0.0, early - steady, late - steady) * np.abs(way)


def _advance_early(share: Floats) -> Floats:
    """Map progress for a foot on its way up. Its displacement ends before the swing does."""
    return _ramps(np.minimum(share / _EARLY, 1.0), _ROLL, _CALM)


def _ramps(u: Floats, first: float, last: float) -> Floats:
    """Compute a ramp from 0 to 1 with smooth ends.

    Its steady speed is reached within the share `first` and left from 1 - `last` on.
    """
    begun, ended = np.minimum(u / first, 1.0), np.minimum((1.0 - u) / last, 1.0)
    height = 1.0 / (1.0 - 0.5 * (first + last))
    rising = first * begun**3 * (1.0 - 0.5 * begun)
    falling = last * (0.5 - ended**3 * (1.0 - 0.5 * ended))
    return height * (rising + np.clip(u - first, 0.0, 1.0 - first - last) + falling)


def _as_animated(body: Motion, ankles: Floats) -> Feet:
    """Feet at ankles (F, L, 3), turned as in the clip."""
    turns = body.turns[:, :, FOOT]
    level = np.broadcast_to(rotations.IDENTITY, turns.shape)
    zeros = np.zeros(turns.shape[:2])
    return Feet(turns, ankles, level, zeros, ankles, np.zeros_like(ankles), zeros > 0.0)


def _bend_legs(body: Motion, soles: Soles, feet: Feet) -> Turned:
    """Bend legs to bring the ankles to their targets. The lengths of legs limit this."""
    most, level = longest_reach(body), np.zeros(len(body))
    return bend_legs(body, bend_axes(body, soles), feet, level, body.places[:, :, HIP], most, 0.0)


def _apply_turns(body: Motion, turned: Turned) -> Motion:
    """Return the motion of a body with bent legs."""
    places = body.places.copy()
    places[:, :, KNEE] = knees_of(body, turned)
    places[:, :, [ANKLE, BALL, END]] += (turned.ankles - body.places[:, :, ANKLE])[:, :, None]
    return dataclasses.replace(body, places=places, turns=rotations.multiply(turned.turns, body.turns))


def _with(motion: Motion, once: Motion, middle: slice) -> Motion:
    """The motion with a clip, as it was written, in its middle."""
    places, turns = motion.places.copy(), motion.turns.copy()
    places[middle], turns[middle] = once.places, once.turns
    return dataclasses.replace(motion, places=places, turns=turns)
