"""Judged: what came of a clip with new strides once it was planted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.ground.contact.plants import Plants
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import Motion, motion_of
from poise.ground.figure.speeds import shots_of
from poise.ground.legs.calm import LESS
from poise.ground.report.jumps import ROOM, ROOM_ON_STEPS, jumps_of
from poise.ground.strides.footfalls import pairs_of
from poise.ground.strides.search import ALLOWED
from poise.ground.strides.treads import climbed
from poise.ground.terrain.shapes import Plane
from poise.maths.in_words import counted
from poise.model.clip import Clip


class Judged(NamedTuple):
    """The steps of planted strides, and how calm they are.

    steps  past the other foot
    over   those of them that climb two treads or more
    pops   by how much changes of step are too large, in all [mm per frame^2]
    """

    steps: int
    over: int
    pops: float

    @property
    def fine(self) -> bool:
        """Whether nothing is left to be made better."""
        return self.over == 0 and self.pops == 0.0

    @property
    def rank(self) -> tuple[int, int]:
        """The less, the better; roundings decide nothing."""
        return self.over, round(self.pops / LESS)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is still wrong, in a sentence."""
        return (f"{self.over} of {counted(self.steps, 'step')} climb two treads or more all the same",) * bool(
            self.over
        )


def judged(clips: tuple[Clip, Clip, Clip], plants: Plants, footing: Footing) -> Judged:
    """Judge a clip as planted, after the source and the source with new strides: the calmer of these is what counts."""
    source, strided, planted = (motion_of(clip, footing.figure) for clip in clips)
    room = ROOM if isinstance(footing.terrain.surface, Plane) else ROOM_ON_STEPS
    jumps = [jumps_of((before, planted), room=room) for before in (source, strided)]
    over = np.maximum(jumps[0].after - np.minimum(jumps[0].bound, jumps[1].bound), 0.0)
    return Judged(*_steps(plants, strided, footing), float(over.max(axis=1).sum()))


def _steps(plants: Plants, motion: Motion, footing: Footing) -> tuple[int, int]:
    """How many steps go past the other foot, and how many of these climb two treads or more."""
    order = np.argsort(plants.stances.start, kind="stable")
    shots = shots_of(motion).first[np.clip(plants.stances.start[order], 0, len(motion) - 1)]
    before = pairs_of(plants.stances.leg[order], motion.figure, shots)[:, 0]
    balls, steps = plants.ball[order], np.flatnonzero(before >= 0)
    treads = np.abs(climbed(footing, balls[before[steps]], balls[steps]))
    return len(steps), int((treads > ALLOWED[0]).sum())
