"""What locking does to the sample clips."""

from __future__ import annotations

import pytest

import poise
from poise.io import samples


@pytest.mark.parametrize("name", ["humanoid.glb", "humanoid.bvh"])
def test_no_joint_of_the_sample_pops_where_its_feet_are_locked(name):
    rig = poise.load(samples.path(name))
    report = poise.lock_feet(rig.clips[0], rig=rig).report
    assert report.ok
    assert (report.jumps.after <= report.jumps.bound).all()
