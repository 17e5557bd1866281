"""Risers: ground that rises like a step in front of a foot."""

from __future__ import annotations

import numpy as np

from poise.ground.figure.footing import Footing
from poise.maths.arrays import Bools, Floats
from poise.maths.vectors import UP

_RISER = 0.1  # [m] ground that rises by more within 0.2 m in front of a foot is a riser


def before_risers(balls: Floats, across: Floats, footing: Footing) -> Bools:
    """(...) whether the ground rises like a step in front of a ball."""
    ahead = np.cross(across, UP)
    probes = balls[..., None, :] + np.linspace(0.0, 0.2, 5)[:, None] * ahead[..., None, :]
    heights = footing.heights(probes)
    return heights.max(axis=-1) - heights[..., 0] > _RISER
