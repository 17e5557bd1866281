"""Strided: a clip whose body and feet go less far, or farther, on its own floor; then it is planted as if it came so.

The timing stays. The body goes a smooth share of its way; a foot that stands is moved as the body is when it is over
it, and stands as still as before; in the air it goes from the one to the other. Legs are bent to that.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from poise.ground.contact.soles import Soles
from poise.ground.exact import written_exactly
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, BALL, END, FOOT, HIP, KNEE, Motion, motion_of
from poise.ground.legs.feet import Feet
from poise.ground.legs.legs import Turned, bend_axes, bend_legs, knees_of
from poise.ground.legs.pelvis import longest_reach
from poise.ground.legs.swing import between_of, way_come
from poise.ground.legs.write_back import write_poses
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


def strided(
    clip: Clip, seen: ClipAnalysis, way: BodyWay, falls: Footfalls, course: Course, footing: Footing, skew: float
) -> tuple[Clip, ClipAnalysis]:
    """The clip, carried over the ground with the new strides, and what was seen of it.

    skew  from 0 to 1: how much earlier a foot that goes up leaves its old stride, and how much later one that goes down
    """
    inside = slice(way.pad, len(way.arcs) - way.pad)
    own = Course(course.moved[inside], course.shares[inside])
    at = way.at(falls.middle, course.moved)
    ways = moved_feet(seen.fine, falls, at, footing.heights(falls.ball + at), own, skew)[:: seen.finer]
    offsets = own.moved[:: seen.finer]
    body = seen.motion.translate(offsets)
    feet = _as_animated(body, seen.motion.places[:, :, ANKLE] + ways)
    turned = _bent(body, seen.soles, feet)
    kept, middle = seen.repeats.take_middle, seen.repeats.middle
    body_kept, all_moved = kept(body), (seen.offsets + offsets)[middle]
    still = np.zeros_like(all_moved)
    poses = written_exactly(
        body_kept, seen.soles, kept(feet), kept(turned),
        lambda legs: write_poses(clip.poses, body_kept, legs, all_moved, still), still,
    )  # fmt: skip
    made = Clip(clip.times, poses, clip.name)
    motion = _with(_turned(body, turned), motion_of(made, body.figure), middle)
    return made, seen._replace(motion=motion, fine=motion.finer(seen.finer), offsets=np.zeros_like(seen.offsets))


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
    """A smooth share at each of the ways gone (F,), whose means between knots (K + 1,) are the shares (K,).

    It is the derivative of a cubic spline of the new way over the old one, whose slopes at the knots are those of
    Fritsch and Butland (1984): it always grows, and where the shares are the same, so are the slopes.
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
    """How far (F, L, 3) feet are displaced [m]: standing, as `at` (K, 3) says; in the air from the one to the other.

    The way through the air is the animated one, longer or shorter.

    heights  (K,) of the ground under footfalls [m]
    skew     as for `strided`
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
    swung = start + (end - start) * _changed(np.clip(come, 0.0, 1.0), climb, skew)[..., None]
    return np.where(standing[..., None], moved, swung)


def _with_ends(motion: Motion, standing: Bools, moved: Floats, shares: Floats) -> Floats:
    """The same displacements (F, L, 3); of feet that are in the air in the first or the last frame, for that frame.

    The way from there to the stance, or back to it, is made shorter by the share that the body has.
    """
    moved, ankles = moved.copy(), motion.places[:, :, ANKLE] * [1.0, 1.0, 0.0]
    for end, stance in ((0, find_next_true(standing)[0]), (-1, find_last_true(standing)[-1])):
        for leg in np.flatnonzero(~standing[end] & standing.any(axis=0)):
            way = ankles[end, leg] - ankles[stance[leg], leg]
            moved[end, leg] = moved[stance[leg], leg] + (shares[end] - 1.0) * way
    return moved


def _changed(share: Floats, climb: Floats, skew: float) -> Floats:
    """The share of the change of offset for that of the way (F, L), on the way to ground that is higher by `climb` [m].

    Level, it changes steadily but for smooth beginnings and ends. Up, it changes early: a foot that goes less far rises
    first and then goes forward, past the riser in front of it. Down, it changes late: it gets past the edge first.
    """
    early, late = _gone(share), 1.0 - _gone(1.0 - share)
    way = skew * np.clip(climb / _FULLY, -1.0, 1.0)
    steady = _ramps(share, _ROLL, _ROLL)
    return steady + np.where(way > 0.0, early - steady, late - steady) * np.abs(way)


def _gone(share: Floats) -> Floats:
    """The same for a foot that goes up: it is done before the way is."""
    return _ramps(np.minimum(share / _EARLY, 1.0), _ROLL, _CALM)


def _ramps(u: Floats, first: float, last: float) -> Floats:
    """From 0 to 1 at a steady speed, which is reached within the share `first` and left from 1 - `last` on."""
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


def _bent(body: Motion, soles: Soles, feet: Feet) -> Turned:
    """Legs that bring the ankles there, as far as they reach."""
    most, level = longest_reach(body), np.zeros(len(body))
    return bend_legs(body, bend_axes(body, soles), feet, level, body.places[:, :, HIP], most, 0.0)


def _turned(body: Motion, turned: Turned) -> Motion:
    """The motion of a body whose legs were bent."""
    places = body.places.copy()
    places[:, :, KNEE] = knees_of(body, turned)
    places[:, :, [ANKLE, BALL, END]] += (turned.ankles - body.places[:, :, ANKLE])[:, :, None]
    return dataclasses.replace(body, places=places, turns=rotations.multiply(turned.turns, body.turns))


def _with(motion: Motion, once: Motion, middle: slice) -> Motion:
    """The motion with a clip, as it was written, in its middle."""
    places, turns = motion.places.copy(), motion.turns.copy()
    places[middle], turns[middle] = once.places, once.turns
    return dataclasses.replace(motion, places=places, turns=turns)
