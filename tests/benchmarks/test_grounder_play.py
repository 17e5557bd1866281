"""What is seen of live feet as a game plays: walking, running and turning at random, three ways, on three grounds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from poise import Grounder, Pose
from poise.ground.figure.figure import figure_of
from tests.workload import draw

SECONDS = 60.0
BOUNDS = {"flat": 20.0, "slope 15": 20.0, "stairs": 30.0}  # ankle d2 beyond the source's [mm/frame^2]


@pytest.mark.parametrize(("kind", "script"), draw("plays", itertools.product(BOUNDS, range(3)), 3))
@pytest.mark.long
def test_no_foot_jumps_and_few_are_in_a_step(data, kind, script):
    import grounder_play

    clips = [grounder_play._load(data / name) for name in grounder_play.CLIPS]
    loops = [grounder_play.Loop(clip) for clip in clips]
    source = grounder_play.played(loops, figure_of(clips[0]).up, script, SECONDS)
    live = Grounder(clips[0], grounder_play.GROUNDS[kind]())
    shown = [live(Pose(clips[0].skeleton, q), 1.0 / grounder_play.RATE).q for q in source]
    row = grounder_play.observed(source, np.array(shown), live)
    assert row["d2 beyond source, most [mm]"] < BOUNDS[kind]
    assert row["deeper than 30 mm [% of frames]"] <= (1.0 if kind == "stairs" else 0.03)  # one frame of a minute
    assert kind != "flat" or row["hips beyond source, most [mm]"] <= 5.0
