"""What is seen of live hips, knees and ankles as clips are played at speeds that change, on five grounds."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import poise


@pytest.mark.parametrize("speed", ["steady", "changing", "stop and go"])
@pytest.mark.parametrize("kind", ["flat", "slope 15", "stairs down", "noise"])
@pytest.mark.parametrize("name", ["bvh/cmu_12_01_walk.bvh", "fbx/pab_walk.fbx"])
def test_hips_knees_and_ankles_of_a_walk_jerk_little_more_than_as_animated(data, name, kind, speed):
    import grounder_motion

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rig = poise.load(data / name)
    clip = rig.clips[0]
    way = np.array(poise.travel_direction(clip, rig=rig))
    assert grounder_motion.row(clip, rig, way, name, speed, kind)["within"] == "yes"


@pytest.mark.parametrize("kind", ["flat", "slope 15", "stairs up", "stairs down", "noise"])
def test_no_clip_throws_the_hips(data, kind):
    """By up to 31 mm a frame before their push was bounded."""
    import grounder_motion

    for name in ("asf/02_01.amc", "bvh/walk_mass.bvh", "bvh/run_mass.bvh"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rig = poise.load(data / name)
        way = np.array(poise.travel_direction(rig.clips[0], rig=rig))
        row = grounder_motion.row(rig.clips[0], rig, way, name, "changing", kind)
        assert row["hip most"] < 10.0
