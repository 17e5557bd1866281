"""Rate planted clips with fitted strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.ground.contact.plants import Plants
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import Motion, motion_of
from poise.ground.figure.speeds import shots_of
from poise.ground.report.jumps import jumps_of
from poise.ground.report.verdict import Worse, bounds_on
from poise.ground.strides.footfalls import pairs_of
from poise.ground.strides.search import ALLOWED
from poise.ground.strides.treads import count_treads
from poise.model.clip import Clip

_SAME_MM = 0.1  # [mm per frame^2] tries whose pops differ by less are alike


class PlantedSteps(NamedTuple):
    """The steps of planted strides, and how calm they are.

    steps  past the other foot
    over   those of them that climb two treads or more
    worse  what else of the planted clip is worse than its bound
    pops   by how much changes of step are too large, in all [mm per frame^2]
    """

    steps: int
    over: int
    worse: int
    pops: float

    @property
    def fine(self) -> bool:
        """Whether nothing is left to be made better."""
        return not self.over and not self.worse and self.pops == 0.0

    @property
    def rank(self) -> tuple[int, int, int]:
        """The less, the better; roundings decide nothing."""
        return self.over, self.worse, round(self.pops / _SAME_MM)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is still wrong, in a sentence."""
        note = f"steps that climb two treads or more all the same: {self.over} of {self.steps}"
        return (note,) if self.over else ()


def judge_steps(
    clips: tuple[Clip, Clip, Clip], plants: Plants, worse: Sequence[Worse], footing: Footing
) -> PlantedSteps:
    """Rate the last of three clips, as planted.

    Acceleration spikes relative to the source, and to the clip with new strides, count alike.

    worse  what its report says is worse than its bound
    """
    source, strided, planted = (motion_of(clip, footing.figure) for clip in clips)
    jumps = [jumps_of((before, planted), room=bounds_on(footing.terrain).step) for before in (source, strided)]
    over = np.maximum(jumps[0].after - np.minimum(jumps[0].bound, jumps[1].bound), 0.0)
    others = sum(each.measure != "d2" for each in worse)
    return PlantedSteps(*_steps(plants, strided, footing), others, float(over.max(axis=1).sum()))


def _steps(plants: Plants, motion: Motion, footing: Footing) -> tuple[int, int]:
    """Count the steps past the other foot, and the high ones. A high one climbs two treads or more."""
    order = np.argsort(plants.stances.start, kind="stable")
    shots = shots_of(motion).first[np.clip(plants.stances.start[order], 0, len(motion) - 1)]
    before = pairs_of(plants.stances.leg[order], motion.figure, shots)[:, 0]
    balls, steps = plants.ball[order], np.flatnonzero(before >= 0)
    treads = np.abs(count_treads(footing, balls[before[steps]], balls[steps]))
    return len(steps), int((treads > ALLOWED[0]).sum())
