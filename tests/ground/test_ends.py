"""How straight legs may be on slopes, and what locking does to the sample clips."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.ground.legs.pelvis import kept_share
from poise.io import samples


@pytest.mark.parametrize(
    ("tilt", "uneven", "kept"), [(0, 0, 1), (2.5, 0, 0.5), (0, 0.025, 0.5), (5, 0, 0), (0, 0.1, 0)]
)
def test_straight_legs_stay_as_straight_on_level_ground_only(tilt, uneven, kept):
    assert kept_share(np.radians(tilt), uneven) == pytest.approx(kept, abs=1e-12)


@pytest.mark.parametrize("name", ["humanoid.glb", "humanoid.bvh"])
def test_no_joint_of_the_sample_pops_where_its_feet_are_locked(name):
    rig = poise.load(samples.path(name))
    report = poise.lock_feet(rig.clips[0], rig=rig).report
    assert report.ok
    assert (report.jumps.after <= report.jumps.bound).all()
