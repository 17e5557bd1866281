"""Lift swing feet over the ground, without jumps at edges.

A foot that rises smoothly cannot be over a riser at once when it leaves the ground in front of it, nor come down at
once behind the edge of the tread above. There it is held back, or goes ahead, until it is high enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import Motion
from poise.ground.figure.speeds import lone_frames
from poise.ground.legs.swing import Between, sole_points
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.frame_masks import compute_fade, count_frames, find_following, take_frames
from poise.maths.smoothing import compute_upper_envelope, smoothstep
from poise.maths.vectors import normalise, project_horizontal

TOES_BEND = 0.03  # [m] by which toes bend out of the ground before the foot is lifted for them
CLEAR_S = 0.1  # [s] before and after: how early feet and knees are lifted out of the ground
WHOLE_S = 0.2  # [s] before and after: how smoothly a whole figure goes up
_HIGHEST = 0.18  # [m] that a foot may rise by within 0.1 s of a stance: with about 100 m/s^2
_LEAST = 0.25  # of that is possible at once
_ASIDE = np.array([0.01, 0.02, 0.03, 0.045, 0.06, 0.08, 0.1, 0.12])  # [m] that a foot is held back, or goes ahead, by
_SMOOTH = 0.18  # [s] before and after: how smoothly, so that it has most of the swing to catch up
_SHARE = 0.43  # near to a stance a foot is moved for by so much more at most

GroundHeights = Callable[[Floats], Floats]  # heights (...) of the ground under points (..., 3)


class SwingingSoles(NamedTuple):
    """Soles of all feet over a clip. Lengths are in metres of a figure.

    times      (F,) of the frames
    points     (k, F, L, 3) of soles; they are to pass over the ground
    allowed    (k, F, L) depths that they may have
    ahead      (F, L, 3) level directions of the feet
    standing   (F, L) which feet stand
    following  (F,) frames in whose stead others lift a foot: a frame alone lifts none around it
    """

    times: Floats
    points: Floats
    allowed: Floats
    ahead: Floats
    standing: Bools
    following: Ints

    def find_lift(self, way: Floats | float, heights: GroundHeights) -> Floats:
        """Compute the lift (F, L) for soles.

        They are moved by `way` (F, L, 3).
        """
        return np.where(self.standing, 0.0, _find_lift(self.points + way, self.allowed, heights))


def clear_ground(
    motion: Motion,
    ankles: Floats,
    turns: Floats,
    tilt: Floats,
    soles: Soles,
    between: Between,
    standing: Bools,
    footing: Footing,
) -> Floats:
    """Move ankles (F, L, 3) of swing feet over the ground.

    Heel, ball and tip must pass over it. The toes bend up by themselves for what their tips lack at most.
    """
    near = np.minimum(between.since, between.until)
    points = np.stack(sole_points(motion, ankles, turns, tilt, soles))
    allowed = np.zeros(points.shape[:3])
    allowed[2] = motion.bends * (
        TOES_BEND + (1.0 - smoothstep(near / CLEAR_S)) * _tips_at_ends(points[2], between, footing)
    )
    ahead = rotations.rotate(turns, soles.ball - soles.heel)
    following = find_following(lone_frames(motion))
    swing = SwingingSoles(motion.times, points, allowed, normalise(project_horizontal(ahead)), standing, following)
    way = find_way_over(swing, footing.heights)
    return ankles if way is None else ankles + way


def find_way_over(swing: SwingingSoles, heights: GroundHeights) -> Floats | None:
    """Find displacements (F, L, 3) of swinging feet over the ground. None where none is needed.

    The lift is smooth and begins early, but never while the foot stands.
    """
    needed = swing.find_lift(0.0, heights)
    if not needed.any():
        return None
    free = compute_fade(swing.times, swing.standing, CLEAR_S)
    able = _HIGHEST * np.maximum(free, _LEAST)
    steep, way = (needed > able) & (free < 1.0), np.zeros((*needed.shape, 3))
    if steep.any():
        way = _asides(swing, able, steep, free, heights)
        needed = swing.find_lift(way, heights)
    wanted = np.minimum(needed / np.maximum(free, _LEAST), np.maximum(needed, _HIGHEST))
    lift = compute_upper_envelope(wanted[swing.following], count_frames(swing.times, CLEAR_S)) * free
    way[..., 2] += np.maximum(lift, needed)
    return way


def lift_whole(motion: Motion, ankles: Floats, turns: Floats, tilt: Floats, soles: Soles, footing: Footing) -> Floats:
    """Compute the lift (F,) of a character without stances.

    It goes up as a whole until its feet are out of the ground. A leap or a dash may be drawn far below its floor, for a
    game to put it where it belongs; feet that were lifted out of the ground alone would fold up its legs.
    """
    points = np.stack(sole_points(motion, ankles, turns, tilt, soles))
    needed = (footing.heights(points) - points[..., 2]).max(axis=(0, 2)).clip(0.0)
    return compute_upper_envelope(needed[find_following(lone_frames(motion))], motion.frames(WHOLE_S))


def _tips_at_ends(tips: Floats, between: Between, footing: Footing) -> Floats:
    """Measure the depth (F, L) of toes at the ends of stances.

    The toes (F, L, 3) are in the ground where the foot still stands, or stands again.
    """
    depths = np.maximum(footing.heights(tips) - tips[..., 2], 0.0)
    return np.where(
        between.since <= between.until, take_frames(depths, between.before), take_frames(depths, between.after)
    )


def _find_lift(points: Floats, allowed: Floats, heights: GroundHeights) -> Floats:
    """Compute the lift (...) for points (k, ..., 3). They may be in the ground by `allowed` (k, ...)."""
    return np.maximum(heights(points) - points[..., 2] - allowed, 0.0).max(axis=0)


def _asides(swing: SwingingSoles, able: Floats, steep: Bools, free: Floats, heights: GroundHeights) -> Floats:
    """Compute level displacements (F, L, 3) where a lift is too slow.

    There feet are held back, or go ahead, smoothly.
    """
    frame, leg = np.nonzero(steep)
    tries = np.concatenate([[0.0], np.stack([-_ASIDE, _ASIDE], axis=1).ravel()])
    best = _least_aside(
        tries, swing.points[:, frame, leg], swing.ahead[frame, leg], swing.allowed[:, frame, leg], able[frame, leg],
        heights,
    )  # fmt: skip
    ways = np.zeros((2, *steep.shape))
    ways[:, frame, leg] = np.maximum(-best, 0.0), np.maximum(best, 0.0)
    ways /= np.maximum(free, _SHARE)
    half = count_frames(swing.times, _SMOOTH)
    along = (compute_upper_envelope(ways[1], half) - compute_upper_envelope(ways[0], half)) * free
    return along[..., None] * swing.ahead


def _least_aside(
    tries: Floats, points: Floats, ahead: Floats, allowed: Floats, able: Floats, heights: GroundHeights
) -> Floats:
    """Find the first of `tries` (k,) with a slow enough lift.

    There is one for each foot (n,); without a slow one, it is that of the least lift.
    """
    spots = points + tries[:, None, None, None] * ahead
    over = (heights(spots) - spots[..., 2] - allowed).max(axis=1) - able
    first: Ints = np.where((over <= 0.0).any(axis=0), (over <= 0.0).argmax(axis=0), over.argmin(axis=0))
    return tries[first]
