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
    """Axes of N turns of a foot. The squared distance of its point p from one is q' F q, with q = (p, 1).

    frames  (N,) first frame of each turn
    forms   (N, 4, 4)
    """

    frames: Ints
    forms: Floats

    def has(self, points: Floats) -> Bools:
        """Return whether the axes go through points (n, 3): (N, n)."""
        known = _append_ones(points)
        pairs = (known[:, :, None] * known[:, None]).reshape(-1, _FORM)
        return np.asarray(self.forms.reshape(-1, _FORM) @ pairs.T < _EXACT_M**2)

    def take(self, rows: Bools) -> _Axes:
        """Return some of the axes."""
        return _Axes(self.frames[rows], self.forms[rows])


def _append_ones(points: Floats) -> Floats:
    return np.concatenate([points, np.ones((len(points), 1))], axis=1)


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
    sides = (ankles[frames + 1] - ankles[frames]) / angles[frames, None]
    distances = np.concatenate([slopes, sides[..., None]], axis=2)
    return _Axes(frames, np.matmul(distances.swapaxes(1, 2), distances))


def _find_points(axes: _Axes, start: Floats) -> Floats:
    """Find the points (n, 3) on most axes.

    Points of each frame and the next are tried.
    """
    points: list[Floats] = []
    while len(points) < _POINTS:
        first = np.flatnonzero(np.diff(axes.frames) == 1)
        tried = _meet(axes.forms[first] + axes.forms[first + 1], start)
        known, own = _append_ones(tried), axes.forms[first]
        tried = tried[(np.einsum("ni,nij,nj->n", known, own, known) < _EXACT_M**2) & _is_near(tried, start)]
        if len(tried) > _TRIED:
            tried = tried[np.linspace(0, len(tried) - 1, _TRIED).astype(np.int64)]
        through = axes.has(tried)
        best = through[:, through.sum(axis=0).argmax()] if len(tried) else np.zeros(len(axes.frames), dtype=np.bool_)
        if best.sum() < _FEW:
            break
        point = _meet(axes.forms[best].sum(axis=0)[None], start)
        points.append(point[0])
        axes = axes.take(~axes.has(point)[:, 0])
    return np.array(points).reshape(-1, 3)


def _is_near(points: Floats, start: Floats) -> Bools:
    return np.asarray(np.linalg.norm(points - start, axis=-1) < _FARTHEST_M)


def _meet(forms: Floats, start: Floats) -> Floats:
    """Compute the points (n, 3) nearest to axes, then to `start`."""
    squares, sums = forms[:, :3, :3], -forms[:, :3, 3]
    points = np.linalg.solve(squares + _PRIOR * np.eye(3), (sums + _PRIOR * start)[..., None])[..., 0]
    return np.asarray(points, dtype=np.float64)
