"""Lift swing feet over the ground, without jumps at edges.

A foot that rises smoothly cannot be over a riser at once when it leaves the ground in front of it, nor come down at
once behind the edge of the tread above. There it is held back, or goes ahead, until it is high enough.
"""

from __future__ import annotations

import numpy as np

from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import Motion
from poise.ground.figure.speeds import lone_frames
from poise.ground.legs.swing import Between, sole_points
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.frame_masks import compute_fade, find_following, take_frames
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

    Heel, ball and tip must pass over it. The lift is smooth and begins early, but never while the foot stands. The toes
    bend up by themselves for what their tips lack at most. A frame alone lifts none around it.
    """
    near = np.minimum(between.since, between.until)
    points = np.stack(sole_points(motion, ankles, turns, tilt, soles))
    allowed = np.zeros(points.shape[:3])
    allowed[2] = motion.bends * (
        TOES_BEND + (1.0 - smoothstep(near / CLEAR_S)) * _tips_at_ends(points[2], between, footing)
    )
    needed = np.where(standing, 0.0, _lacking(points, allowed, footing))
    if not needed.any():
        return ankles
    free = compute_fade(motion.times, standing, CLEAR_S)
    able = _HIGHEST * np.maximum(free, _LEAST)
    steep = (needed > able) & (free < 1.0)
    ankles = ankles.copy()
    if steep.any():
        way = _asides(motion, points, allowed, able, steep, turns, soles, footing, free)
        ankles += way
        needed = np.where(standing, 0.0, _lacking(points + way, allowed, footing))
    wanted = np.minimum(needed / np.maximum(free, _LEAST), np.maximum(needed, _HIGHEST))
    lift = compute_upper_envelope(wanted[find_following(lone_frames(motion))], motion.frames(CLEAR_S)) * free
    ankles[..., 2] += np.maximum(lift, needed)
    return ankles


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


def _lacking(points: Floats, allowed: Floats, footing: Footing) -> Floats:
    """Compute the lift (...) for heel, ball and tip (3, ..., 3). They may be in the ground by `allowed` (3, ...)."""
    return np.maximum(footing.heights(points) - points[..., 2] - allowed, 0.0).max(axis=0)


def _asides(
    motion: Motion,
    points: Floats,
    allowed: Floats,
    able: Floats,
    steep: Bools,
    turns: Floats,
    soles: Soles,
    footing: Footing,
    free: Floats,
) -> Floats:
    """Compute level displacements (F, L, 3) where a lift is too slow.

    There feet are held back, or go ahead, smoothly.
    """
    ahead = normalise(
        project_horizontal(rotations.rotate(turns, np.broadcast_to(soles.ball - soles.heel, (*able.shape, 3))))
    )
    frame, leg = np.nonzero(steep)
    tries = np.concatenate([[0.0], np.stack([-_ASIDE, _ASIDE], axis=1).ravel()])
    best = _least_aside(
        tries, points[:, frame, leg], ahead[frame, leg], allowed[:, frame, leg], able[frame, leg], footing
    )
    ways = np.zeros((2, *steep.shape))
    ways[:, frame, leg] = np.maximum(-best, 0.0), np.maximum(best, 0.0)
    ways /= np.maximum(free, _SHARE)
    half = motion.frames(_SMOOTH)
    along = (compute_upper_envelope(ways[1], half) - compute_upper_envelope(ways[0], half)) * free
    return along[..., None] * ahead


def _least_aside(
    tries: Floats, points: Floats, ahead: Floats, allowed: Floats, able: Floats, footing: Footing
) -> Floats:
    """Find the first of `tries` (k,) with a slow enough lift.

    There is one for each foot (n,); without a slow one, it is that of the least lift.
    """
    spots = points + tries[:, None, None, None] * ahead
    over = (footing.heights(spots) - spots[..., 2] - allowed).max(axis=1) - able
    first: Ints = np.where((over <= 0.0).any(axis=0), (over <= 0.0).argmax(axis=0), over.argmin(axis=0))
    return tries[first]
