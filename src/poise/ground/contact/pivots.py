"""Find pivots of standing feet.

A planted foot rolls about a heel or ball that stays where it is to the last digit. No recorded foot does. So these
points of a planted clip are known without its source, its ground or its rest pose.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.ground.figure.motion import ANKLE, FOOT, Motion
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints

_LEAST_TURN_RAD = np.radians(0.05)  # [rad] in a frame: single precision moves its axis by 0.1 mm, that of less farther
_EXACT_M = 3e-4  # [m] from the axis: files that are rounded to 2e-5 m say it to so much
_PRIOR = 1e-6  # weight of a measured point: it decides along the axis, of which turns say nothing
_FEW = 4  # turns about one point, at least
_TRIED = 256  # points tried, evenly over the clip
_POINTS = 2  # heel and ball
_FORM = 16  # numbers of a quadratic form of x, y, z and 1
_FARTHEST_M = 1.0  # [m] from a ball: no foot turns about what is farther


class _Axes(NamedTuple):
    """Axes of N turns of a foot. The distance of its point p from one is |slopes p - sides|.

    frames  (N,) first frame of each turn
    """

    frames: Ints
    slopes: Floats
    sides: Floats

    def has(self, points: Floats) -> Bools:
        """Return whether the axes go through points (n, 3): (N, n)."""
        count, known = len(self.frames), np.concatenate([points, np.ones((len(points), 1))], axis=1)
        forms = np.concatenate([self.slopes, -self.sides[..., None]], axis=2)
        forms = np.einsum("nji,njk->nik", forms, forms).reshape(count, _FORM)  # squared distances are p' F p
        pairs = (known[:, :, None] * known[:, None]).reshape(len(points), _FORM)
        return np.asarray(np.einsum("nf,kf->nk", forms, pairs) < _EXACT_M**2)

    def take(self, rows: Bools) -> _Axes:
        """Return some of the axes."""
        return _Axes(self.frames[rows], self.slopes[rows], self.sides[rows])


def find_pivots(motion: Motion, balls: Floats) -> list[Floats]:
    """Find the pivots (n, 3) of each foot.

    They are two points at most, in the frame of the foot; it turns about each in at least four frames.

    balls  (L, 3) about where the balls are
    """
    return [
        _find_points(_find_axes(motion.turns[:, leg, FOOT], motion.places[:, leg, ANKLE]), ball)
        for leg, ball in enumerate(balls)
    ]


def _find_axes(turns: Floats, ankles: Floats) -> _Axes:
    """Find the axes of a foot's turns.

    turns   (F, 4) its rotations
    ankles  (F, 3)
    """
    angles = np.linalg.norm(rotations.as_vector(rotations.multiply(turns[1:], rotations.inverse(turns[:-1]))), axis=-1)
    frames = np.flatnonzero(angles > _LEAST_TURN_RAD)
    matrices = rotations.as_matrix(turns)
    slopes = (matrices[frames + 1] - matrices[frames]) / angles[frames, None, None]
    return _Axes(frames, slopes, (ankles[frames] - ankles[frames + 1]) / angles[frames, None])


def _find_points(axes: _Axes, start: Floats) -> Floats:
    """Find the points (n, 3) on most axes.

    Points of each frame and the next are tried.
    """
    points: list[Floats] = []
    while len(points) < _POINTS:
        squares = np.einsum("nji,njk->nik", axes.slopes, axes.slopes)
        sums = np.einsum("nji,nj->ni", axes.slopes, axes.sides)
        first = np.flatnonzero(np.diff(axes.frames) == 1)
        tried = _meet(squares[first] + squares[first + 1], sums[first] + sums[first + 1], start)
        tried = tried[
            np.linalg.norm(np.einsum("nij,nj->ni", axes.slopes[first], tried) - axes.sides[first], axis=-1) < _EXACT_M
        ]
        tried = tried[np.linalg.norm(tried - start, axis=-1) < _FARTHEST_M]
        if len(tried) > _TRIED:
            tried = tried[np.linspace(0, len(tried) - 1, _TRIED).astype(np.int64)]
        through = axes.has(tried)
        best = through[:, through.sum(axis=0).argmax()] if len(tried) else np.zeros(len(axes.frames), dtype=np.bool_)
        if best.sum() < _FEW:
            break
        point = _meet(squares[best].sum(axis=0)[None], sums[best].sum(axis=0)[None], start)
        points.append(point[0])
        axes = axes.take(~axes.has(point)[:, 0])
    return np.array(points).reshape(-1, 3)


def _meet(squares: Floats, sums: Floats, start: Floats) -> Floats:
    """Compute the points (n, 3) nearest to axes, then to `start`."""
    points = np.linalg.solve(squares + _PRIOR * np.eye(3), (sums + _PRIOR * start)[..., None])[..., 0]
    return np.asarray(points, dtype=np.float64)
