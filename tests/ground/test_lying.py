"""A body that lies leans in the same way wherever it lies."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Clip, Terrain
from tests.ground.quadrupeds import on_all_fours


@pytest.mark.parametrize("away", [-1000.0, 1000.0])
def test_a_crawl_far_from_the_origin_is_the_crawl_near_it_moved(away):
    clip, ground = on_all_fours(), Terrain.slope(20.0, direction=(0.0, 1.0, 0.0), up="z")
    q = clip.poses.q.copy()
    q[:, 1] += away
    near, far = (
        poise.plant_feet(each, ground, up="z", metre=1.0) for each in (clip, Clip(clip.times, clip.poses.with_q(q)))
    )
    moved = np.array([0.0, away, away * np.tan(np.radians(20.0))])
    expected = near.poses.world["hips"].positions + moved
    np.testing.assert_allclose(far.poses.world["hips"].positions, expected, atol=1e-6)
