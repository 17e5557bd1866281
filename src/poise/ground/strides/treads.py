"""Detect risers along straight paths and under soles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.ground.figure.footing import Footing
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.vectors import normalise, project_horizontal

_STEEP = 1.0  # 45 degrees: steeper ground is a riser, or what a map makes of one
_EDGE = 0.05  # [m] lower risers are no treads
_SAMPLES = 41  # along a step, which may be 2 m long
_AROUND = 0.1  # [m] before the heel and beyond the tip are risers felt; so far behind the tip they count most
_ON_SOLE = 25  # samples along a sole
_MARGIN = 0.02  # [m] a heel stands no nearer to an edge
_WORST = 3.0  # how much a riser counts at most; 1 at the tip


class Risers(NamedTuple):
    """Risers of the ground, up or down, along n ways.

    way   (E,) which way each is on
    share (E,) how far along it, from 0 to 1
    rise  (E,) [m] how much higher the ground is behind it
    """

    way: Ints
    share: Floats
    rise: Floats


def count_treads(footing: Footing, starts: Floats, ends: Floats) -> Ints:
    """Count the treads (...) climbed on straight paths.

    They go from starts to ends (..., 3) [m]; down counts below 0.
    """
    shape = starts.shape[:-1]
    risers = _risers_on(footing, starts.reshape(-1, 3), ends.reshape(-1, 3), _SAMPLES)
    count = np.bincount(risers.way, weights=np.sign(risers.rise), minlength=starts.size // 3)
    return np.rint(count).astype(np.int64).reshape(shape)


def any_on(footing: Footing, starts: Floats, ends: Floats) -> Bools:
    """Return whether (n,) straight paths cross a riser. They go from starts to ends (n, 3) [m]."""
    return np.isin(np.arange(len(starts)), _risers_on(footing, starts, ends, _SAMPLES).way)


def overhang(footing: Footing, heel: Floats, tip: Floats, ahead: Floats) -> Floats:
    """Rate how badly (...) soles lie over risers.

    They go from heel to tip (..., 3), and point to `ahead` (..., 3), level units. A riser under the heel counts 3,
    under the toes 1 at their tip and up to 3 behind it. One that stands in front of the toes, or behind the heel, is in
    the way of the swing: it counts less and less up to 0.1 m away. A drop there does not.
    """
    shape = heel.shape[:-1]
    reach = _AROUND * ahead
    start, end = (heel - reach).reshape(-1, 3), (tip + reach).reshape(-1, 3)
    risers = _risers_on(footing, start, end, _ON_SOLE)
    length = np.linalg.norm(project_horizontal(end - start), axis=1)[risers.way]
    behind = risers.share * length - _AROUND + _MARGIN  # the heel
    before = (1.0 - risers.share) * length - _AROUND  # the tip
    wall = (behind > before) == (risers.rise > 0.0)
    near = np.clip(1.0 + np.minimum(behind, before) / _AROUND, 0.0, 1.0) ** 2 * wall
    toes = np.minimum(1.0 + (_WORST - 1.0) * before / _AROUND, _WORST)
    counts = np.where((behind < 0.0) | (before < 0.0), near, np.where(behind < before, _WORST, toes))
    total: Floats = np.asarray(np.bincount(risers.way, weights=counts, minlength=len(start)), dtype=np.float64)
    return total.reshape(shape)


def _risers_on(footing: Footing, starts: Floats, ends: Floats, count: int) -> Risers:
    """Find the risers on paths from starts to ends (n, 3). They are runs of samples with steep ground between them."""
    line = starts[:, None] + np.linspace(0.0, 1.0, count)[:, None] * (ends - starts)[:, None]
    heights = footing.heights(line)
    steps = np.diff(heights, axis=1)
    spacing = np.linalg.norm(project_horizontal(ends - starts), axis=1, keepdims=True) / (count - 1)
    signs = np.where(np.abs(steps) > _STEEP * spacing, np.sign(steps), 0.0)
    padded = np.pad(signs, ((0, 0), (1, 1)))
    way, first = np.nonzero((signs != 0.0) & (signs != padded[:, :-2]))
    last = np.nonzero((signs != 0.0) & (signs != padded[:, 2:]))[1] + 1
    rise = heights[way, last] - heights[way, first]
    high = np.abs(rise) > _EDGE
    return Risers(way[high], (0.5 * (first + last) / (count - 1))[high], rise[high])


def pointing(heel: Floats, ball: Floats, otherwise: Floats) -> Floats:
    """Return level unit vectors along soles (..., 3).

    It is `otherwise` for a hock, whose heel and ball are one point.
    """
    along = project_horizontal(ball - heel)
    short = np.linalg.norm(along, axis=-1, keepdims=True) < 1e-6  # noqa: PLR2004
    return np.where(short, otherwise, normalise(along))
