"""Estimate the root velocity of clips in place from their feet."""

from __future__ import annotations

import numpy as np

from poise.ground.contact.soles import WINDOW, find_soles
from poise.ground.figure.motion import ANKLE, HIP, Motion, rows_of
from poise.ground.figure.speeds import lone_frames, shots_of, velocities
from poise.maths.arrays import Floats

_LOW = 0.025  # [m] a point that is higher than this above the foot's lowest hardly counts
_CALM = 0.5  # [m/s] nor one that rises or falls faster than this
_STANDING = 0.2  # [m/s] slower feet stand, or shuffle
_SPREAD = 0.6  # how far low feet may stray from the common velocity, over its size
_TRIMMED = 4.0  # velocities that stray by more than this many times the median stray do not count in the mean
_DRIFT = 0.3  # hips and feet of a clip in place drift at most at this share of the common velocity
_ASTRAY = 0.15  # and its hips at most at this share of the fastest of the feet
_FAST = 0.95  # the share of frames that are slower: a cut is no speed
_CYCLE = 0.35  # [s] shorter clips hold no step of each foot
_SWING = 0.15  # the share of the time in which a foot goes forward, at least


def in_place(motion: Motion) -> Floats | None:
    """Estimate the ground velocity (2,) [m/s] under a walk in place.

    Returns None for any other clip. The figure would travel at the opposite velocity. In every frame each foot says
    one: that of its heel or ball, whichever is lower, weighted by how low it is and how level it moves. Hand-made feet
    now rush and now drag, so that the common velocity is the mean of those that differ from the median by less than
    four times the median difference. A clip walks in place if this common velocity is above 0.2 m/s, low feet differ
    from it by less than 0.6 of its size, all feet agree on its direction, and hips and feet stay where they are on the
    whole while each foot also goes forward at times.

    None for clips that stand, travel, dance or fall, and for clips under 0.35 s. Also for a walk that both travels and
    slides, and for one that turns: along a curve there is no single velocity. Reference poses take no part.
    """
    lone = lone_frames(motion)
    if lone.any():
        motion = rows_of(motion, ~lone)
    if not _may_loop(motion):
        return None
    moves, weights = _low_feet(motion)
    ground = _median(moves.reshape(-1, 2), weights.ravel())
    speed = float(np.hypot(*ground))
    if not speed > _STANDING:
        return None
    strays = np.linalg.norm(moves - ground, axis=-1)
    stray = _median(strays.reshape(-1, 1), weights.ravel())[0]
    feet = np.stack([_median(moves[:, leg], weights[:, leg]) for leg in range(moves.shape[1])])
    if stray > _SPREAD * speed or (feet @ ground < 0.0).any() or not _loops(motion, ground):
        return None
    near = weights * (strays <= _TRIMMED * stray + 1e-3 * speed)
    return np.einsum("fl,flk->k", near, moves) / near.sum()


def add_travel(motion: Motion, velocity: Floats, start: int = 0) -> tuple[Motion, Floats]:
    """Add root motion to a clip in place.

    The ground passes under it at `velocity` (2,) [m/s]; its feet stand then. Returns the motion and the offsets (F, 3)
    [m] that were added to it, zero in the frame `start`.
    """
    offsets = np.zeros((len(motion), 3))
    offsets[:, :2] = -(motion.times - motion.times[start])[:, None] * velocity
    return motion.translate(offsets), offsets


def _low_feet(motion: Motion) -> tuple[Floats, Floats]:
    """Return level velocities (F, L, 2) and weights (F, L) of feet. They are those of the lower of heel and ball."""
    points = find_soles(motion, slow=False).ends(motion)
    moves = velocities(motion.times, points, shots_of(motion), WINDOW)
    lower = points[..., 2].argmin(axis=2)[:, :, None, None]
    low = np.take_along_axis(points, lower, axis=2)[:, :, 0, 2]
    move = np.take_along_axis(moves, lower, axis=2)[:, :, 0]
    height = (low - low.min(axis=0)) / _LOW
    weights = np.gradient(motion.times)[:, None] / (1.0 + height**4) / (1.0 + (move[..., 2] / _CALM) ** 2)
    return move[..., :2], weights


def _median(rows: Floats, weights: Floats) -> Floats:
    """Weighted median of each column of rows (n, k)."""
    order = rows.argsort(axis=0, kind="stable")
    total = weights[order].cumsum(axis=0)
    middle = (total < total[-1] / 2).sum(axis=0)
    return np.take_along_axis(np.take_along_axis(rows, order, axis=0), middle[None], axis=0)[0]


def _may_loop(motion: Motion) -> bool:
    """Return whether feet are fast and hips hardly travel. This quick test spares most clips the longer ones."""
    span = motion.times[-1] - motion.times[0] if len(motion) else 0.0
    steps = np.diff(motion.times)
    if span < _CYCLE or not motion.step > 0:
        return False
    moved = np.diff(motion.places[:, :, ANKLE, :2], axis=0)
    speeds = np.sqrt(np.einsum("...i,...i->...", moved, moved).max(axis=1)) / np.maximum(steps, motion.step / 2)
    rank = int(_FAST * len(speeds))
    fastest = np.partition(speeds, rank)[rank]
    away = np.linalg.norm((motion.places[-1] - motion.places[0])[:, HIP, :2].mean(axis=0))
    return bool(fastest > _STANDING and away < _ASTRAY * fastest * span)


def _loops(motion: Motion, ground: Floats) -> bool:
    """Return whether hips and feet end about at their starts. Each foot must also go forward for part of the time."""
    speed, span = float(np.hypot(*ground)), motion.times[-1] - motion.times[0]
    away = (motion.places[-1] - motion.places[0])[:, [HIP, ANKLE], :2].mean(axis=0)
    if not np.linalg.norm(away, axis=1).max() < _DRIFT * speed * span:
        return False
    steps = np.diff(motion.times)
    along = np.diff(motion.places[:, :, ANKLE, :2], axis=0) @ ground / speed
    forward = along < -_DRIFT * speed * steps[:, None]
    return bool((steps @ forward > _SWING * span).all())
