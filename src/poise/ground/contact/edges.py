"""Place soles at the edges of steps.

A sole has a best position along itself. A foot that is too long for a tread stands with its ball on it, its toes free
of the riser in front, and its heel over the edge behind; going down, with its heel on the tread and its ball, or its
toes, over the edge in front.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.ground.figure.footing import Footing
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.vectors import dot, length, normalise, project_horizontal

OVER = 0.03  # [m] ground that rises by more under one sole has an edge; a heel or ball so high above it hangs
_SHARP = 1.5  # and one that a foot does not lie across on its slant rises by more than this over the way there
_MARGIN = 0.015  # [m] an edge is at least so far from heel and tip
_STEP = 0.01  # [m] places tried along the foot, to get off an edge
_BACK, _FRONT, _AHEAD = 16, 12, 7  # points looked at from heel to ball, from there to the tip, and in front of it
_INTO = 10.0  # a part of the sole that is in a riser is so much worse than one that hangs over an edge
_NO_BALL = 0.3  # [m] of the sole: that the ball hangs is as bad as that so much does
_ROOM = 0.05  # [m] in front of the tip that a riser better is away: a heel that rises pushes the toes forward
_NEAR = 1.5  # a riser that is nearer is so much worse than that as much of the heel hangs
_FAR = 0.2  # to stand so much farther away is as bad as that so much of the heel hangs
_BEFORE = 0.1  # what hangs in front of a heel that stands is so much better than a heel that hangs


class Alone(NamedTuple):
    """Whether only one end of soles (...) is to stand."""

    ball: Bools
    heel: Bools

    def of(self, some: Bools | Ints) -> Alone:
        """Some of them."""
        return Alone(self.ball[some], self.heel[some])


class Under(NamedTuple):
    """The ground under soles (...).

    off    (...) [m] how much of each is not on the ground, in risers more; 0 for one that is on it from heel to tip
    near   (...) [m] by how much a riser is nearer to its tip than would be good
    edged  (...) whether there is an edge between heel and ball
    """

    off: Floats
    near: Floats
    edged: Bools


def ground_under(heel: Floats, ball: Floats, tip: Floats, alone: Alone, footing: Footing) -> Under:
    """Sample the ground under soles (..., 3).

    A sole lies on the line from the ground at the heel to that at the ball, but level over an edge.
    """
    points = _points(heel, ball, tip)
    heights, way = footing.heights(points), ball - heel
    square = np.maximum(dot(way, way), 1e-18)[..., None]  # a hock is one point
    share = dot(points - heel[..., None, :], way[..., None, :]) / square
    first, last = heights[..., 1:2], heights[..., _BACK : _BACK + 1]
    off = heights - (first + share * (last - first))
    between = slice(1, _BACK + 1)
    steps = np.abs(np.diff(heights[..., between], axis=-1)).max(axis=-1)
    sharp = steps > _SHARP * np.sqrt(square[..., 0]) / (_BACK - 1)
    edged = sharp & (np.abs(off[..., between]).max(axis=-1) > OVER)
    by_heel = (alone.heel | ((first > last)[..., 0] & ~alone.ball))[..., None]
    off = np.where(edged[..., None], heights - np.where(by_heel, first, last), off)
    near = (off[..., -_AHEAD:] > OVER).sum(axis=-1) * ((_ROOM - _MARGIN) / _AHEAD)
    forward = edged & by_heel[..., 0]
    lost = np.where(forward & ~alone.heel, _NO_BALL, 0.0)
    hanging = np.where(forward, _BEFORE, 1.0)[..., None]
    return Under(_not_on(off[..., :-_AHEAD], points[..., :-_AHEAD, :], hanging) + lost, near, edged)


def _points(heel: Floats, ball: Floats, tip: Floats) -> Floats:
    """Return sample points (..., n, 3) of soles, and around them.

    They run from behind the heel to in front of the tip.
    """
    unit = normalise(project_horizontal(tip - heel))
    end = tip + _MARGIN * unit
    ahead = _line(end, tip + _ROOM * unit, _AHEAD + 1)[..., 1:, :]
    behind = (heel - _MARGIN * unit)[..., None, :]
    return np.concatenate([behind, _line(heel, ball, _BACK), _line(ball, end, _FRONT)[..., 1:, :], ahead], axis=-2)


def _not_on(off: Floats, points: Floats, hanging: Floats) -> Floats:
    """Measure the length (...) [m] of soles off the ground.

    The ground is higher than their points (..., n, 3) by `off`.

    hanging  (..., 1) how bad it is that parts hang
    """
    steps = length(np.diff(points, axis=-2))
    parts = np.concatenate([steps[..., :1], steps], axis=-1)
    worse = np.where(off > OVER, _INTO, np.where(off < -OVER, hanging, 0.0))
    return (worse * parts).sum(axis=-1)


def over_edges(heel: Floats, ball: Floats, footing: Footing) -> Bools:
    """(...) whether there is an edge between heels and balls (..., 3)."""
    neither = np.zeros(heel.shape[:-1], dtype=np.bool_)
    return ground_under(heel, ball, ball, Alone(neither, neither), footing).edged


def hanging(ends: Floats, ground: Floats, footing: Footing) -> Bools:
    """Return whether (F, L, 2) heels and balls overhang an edge.

    An overhanging end of soles (F, L, 2, 3) is level with the tread of the other end.

    ground  (F, L, 2) heights of the ground below heels and balls
    """
    hangs = (ends[..., 2] - ground > OVER) & (np.abs(ends[..., 2] - ground[..., ::-1]) < OVER)
    frame, leg = np.nonzero(hangs.any(axis=2))
    if len(frame):
        hangs[frame, leg] &= over_edges(ends[frame, leg, 0], ends[frame, leg, 1], footing)[:, None]
    return hangs


def off_edges(heel: Floats, ball: Floats, tip: Floats, alone: Alone, footing: Footing, farthest: float) -> Floats:
    """Find the least shift (P,) of soles off edges.

    They move along themselves, with clearance in front of their toes. It is the least that will do; 0 if it stands so.
    If no place within reach is free of edges, it is the one where least of the sole is not on the ground: toes that are
    in a riser count ten times as much as a heel that hangs over the edge behind, and a riser that is less than 5 cm
    away from them one and a half times as much.
    """
    tries = np.arange(_STEP, farthest + 0.5 * _STEP, _STEP)
    shifts = np.concatenate([[0.0], np.stack([tries, -tries], axis=1).ravel()])
    result = np.zeros(len(heel))
    under = ground_under(heel, ball, tip, alone, footing)
    rough = np.flatnonzero(under.off + under.near > 0.0)
    if len(rough):
        moved = shifts[:, None, None] * normalise(project_horizontal(tip - heel))[rough]
        off, near, _ = ground_under(
            moved + heel[rough], moved + ball[rough], moved + tip[rough], alone.of(rough), footing
        )
        worse = np.where(off > 0.0, 1.0 + off, 0.0) + _NEAR * near + _FAR * np.abs(shifts)[:, None]
        result[rough] = shifts[worse.argmin(axis=0)]
    return result


def _line(start: Floats, end: Floats, count: int) -> Floats:
    """Points (..., count, 3) on the way between two."""
    return start[..., None, :] + np.linspace(0.0, 1.0, count)[:, None] * (end - start)[..., None, :]
