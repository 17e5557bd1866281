"""Tilt four-legged characters with the ground. One goes up in front where its front feet stand higher."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from poise.ground.figure.motion import HIP, Motion
from poise.ground.legs.feet import Feet
from poise.ground.legs.legs import SMOOTH_S
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.smoothing import average_hann
from poise.maths.vectors import UP, cross, dot, length, normalise, project_horizontal


@dataclass(frozen=True, eq=False)
class Lean:
    """A rotation and a displacement of the whole character.

    The rotation (F, 4) is about a centre (F, 3) [m], z up; then it is moved by (F, 3) [m].
    """

    turn: Floats
    centre: Floats
    shift: Floats

    def of(self, points: Floats) -> Floats:
        """Where points (F, ..., 3) go."""
        more = (slice(None), *[None] * (points.ndim - 2))
        centre = self.centre[more]
        return centre + rotations.rotate(self.turn[more], points - centre) + self.shift[more]

    def motion(self, motion: Motion) -> Motion:
        """The motion of the leaning figure."""
        turns = rotations.multiply(self.turn[:, None, None], motion.turns)
        return dataclasses.replace(motion, places=self.of(motion.places), turns=turns)


def lean_of(motion: Motion, feet: Feet) -> Lean | None:
    """Compute the body tilt from the ground under the feet.

    Returns None for a character without front and hind legs. The angle is that of the line from the ground under the
    hind feet to that under the front feet, which are taken to be at least half as far apart as the hips; the centre is
    that of all hips.
    """
    front = np.array([leg.name.startswith("front") for leg in motion.figure.legs])
    hind = np.array([leg.name.startswith("hind") for leg in motion.figure.legs])
    if not (front.any() and hind.any()):
        return None
    hips = motion.places[:, :, HIP]
    forward = project_horizontal(hips[:, front].mean(axis=1) - hips[:, hind].mean(axis=1))
    ahead, apart = normalise(forward), length(forward)
    way = feet.ankles[:, front].mean(axis=1) - feet.ankles[:, hind].mean(axis=1)
    higher = feet.rise[:, front].mean(axis=1) - feet.rise[:, hind].mean(axis=1)
    angle = np.arctan2(higher, np.maximum(dot(way, ahead), 0.5 * apart))
    angle = average_hann(angle, motion.frames(SMOOTH_S))
    centre = hips.mean(axis=1)
    return Lean(rotations.about(cross(ahead, UP), angle), centre, np.zeros_like(centre))
