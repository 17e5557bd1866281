"""Soles: the points of a foot that touch the ground, in the frames of its joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise import rotations
from poise.arrays import Floats
from poise.ground.motion import ANKLE, BALL, FOOT, TOES, Motion

HEEL_POINT, BALL_POINT, TIP_POINT = range(3)


@dataclass(frozen=True, eq=False)
class Soles:
    """Points on the sole of each of L feet [m].

    heel, ball  (L, 3) in the foot's frame, from the ankle
    tip         (L, 3) in the toes' frame, from the ball's joint (of a foot without toes: in the foot's, from the ankle)
    """

    heel: Floats
    ball: Floats
    tip: Floats

    def points(self, motion: Motion) -> Floats:
        """(F, L, 3, 3) heel, ball and tip of each foot in every frame [m], z up."""
        foot, toes = motion.turns[:, :, FOOT], motion.turns[:, :, TOES]
        ankle, joint = motion.places[:, :, ANKLE], motion.places[:, :, BALL]
        return np.stack(
            [
                ankle + rotations.rotate(foot, np.broadcast_to(self.heel, ankle.shape)),
                ankle + rotations.rotate(foot, np.broadcast_to(self.ball, ankle.shape)),
                joint + rotations.rotate(toes, np.broadcast_to(self.tip, joint.shape)),
            ],
            axis=2,
        )
