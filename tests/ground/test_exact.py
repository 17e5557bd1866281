"""Exact: legs whose bones stretch under an uneven scale while they turn."""

from __future__ import annotations

import numpy as np
import pytest

from poise import Terrain, plant_feet
from poise.ground.figure.motion import ANKLE, HIP, KNEE, motion_of
from tests.ground.motions import load

STRETCHED = ("fight_punch_root.001", "idle_to_fight_root.001", "air_jump_anticipation_root.001")


@pytest.mark.parametrize("name", STRETCHED)
@pytest.mark.parametrize("ground", [Terrain.flat(), Terrain.slope(20)], ids=["flat", "slope"])
def test_feet_of_stretched_legs_stand_still(data, name, ground):
    rig = load(data / "glb/mannequiny_gdquest.glb")
    clip = rig.clip(next(clip.name for clip in rig.clips if clip.name == name))
    planted = plant_feet(clip, ground, rig=rig)
    places = motion_of(planted.source, planted.figure).places
    lengths = np.linalg.norm(np.diff(places[:, :, [HIP, KNEE, ANKLE]], axis=2), axis=-1).sum(axis=2)
    assert np.ptp(lengths, axis=0).max() > 0.01  # [m] its bones do stretch
    assert planted.contacts.any.any()
    assert planted.report.after.skate <= 0.1
    assert planted.report.after.lift <= 1.0
