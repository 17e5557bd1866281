"""Part measures: how well hands, elbows and knees that bear stay where they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.ground.bearing.parts import Bearing, part_places
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import Motion
from poise.ground.figure.steps import spans
from poise.maths.arrays import Bools, Floats
from poise.model.clip import Clip

_MM, _CM = 1000.0, 100.0


@dataclass(frozen=True, eq=False)
class PartPaths:
    """Where P hands, elbows and knees go in F frames.

    parts   their names
    times   (F,) [s]
    points  (F, P, 3) [m], z up
    depths  (F, P) how much nearer to the ground than in the clip, or in it [m]; below 0 where they are not
    on      (F, P) when they bear
    """

    parts: tuple[str, ...]
    times: Floats
    points: Floats
    depths: Floats
    on: Bools

    @property
    def skate(self) -> float:
        """Way of all parts while they bear over their time of bearing [cm/s]; 0 without any."""
        both, time = self.on[1:] & self.on[:-1], spans(self.times)[:, None]
        whole = (both * time).sum()
        return _CM * float((self.ways * both).sum() / whole) if whole > 0.0 else 0.0

    @property
    def ways(self) -> Floats:
        """(F - 1, P) from frame to frame [m]."""
        return np.linalg.norm(np.diff(self.points, axis=0), axis=-1) * (spans(self.times) > 0.0)[:, None]

    @property
    def deepest(self) -> float:
        """How deep a part is, at most [mm]."""
        return _MM * float(self.depths.max(initial=0.0))


def part_paths(bearing: Bearing, clip: Clip, motion: Motion, footing: Footing) -> PartPaths:
    """Follow the parts of a clip, whose legs are in `motion`, over the ground."""
    parts, points = part_places(clip, motion, bearing.arms)
    depths = footing.heights(points) + bearing.least - points[..., 2]
    limbs = parts.index("hips")  # the last of all
    return PartPaths(parts[:limbs], bearing.times, points[:, :limbs], depths[:, :limbs], bearing.on[:, :limbs])
