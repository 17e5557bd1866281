"""What is given to GMR, and which checkout of it is used."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import poise
from poise.maths import rotations
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import retarget_peers

LARGEST_OFF_DEG = {"Hips": 4.0, "Spine2": 4.0, "LeftUpLeg": 12.0, "RightForeArm": 12.0}


def test_links_are_turned_as_those_of_the_retargeted_robot(data):
    source, robot = poise.load(data / "bvh/cmu_12_01_walk.bvh"), poise.load(data / retarget_peers.G1)
    done = poise.retarget(source, robot, ground=False)
    assert done.contacts is not None
    job = retarget_peers.build_gmr_job(done, 0.07)
    assert {name[:-2] for name in job if name.endswith("_p")} == set(retarget_peers.BODIES)
    turned = rotations.multiply(done.bodies[1].world_turn, done.poses.world.rotations)
    for name, most in LARGEST_OFF_DEG.items():
        link = done.skeleton.index(retarget_peers.BODIES[name][1])
        asked = rotations.multiply(job[f"{name}_r"], job[f"{name}_offset"])
        off = rotations.as_vector(rotations.multiply(rotations.inverse(asked), turned[:, link]))
        assert np.degrees(np.median(np.linalg.norm(off, axis=-1))) < most, name
    stands = done.contacts.heel & done.contacts.ball
    ankles = np.stack([job["LeftFootMod_p"], job["RightFootMod_p"]], axis=1)[..., 2][stands]
    assert np.median(ankles) * job["Hips_scale"] == pytest.approx(0.07)


def test_a_checkout_that_cannot_be_used_is_told(monkeypatch, tmp_path):
    monkeypatch.delenv("POISE_GMR", raising=False)
    assert "set POISE_GMR" in retarget_peers.find_gmr()[1]
    monkeypatch.setenv("POISE_GMR", str(tmp_path))
    assert "motion_retarget.py is missing" in retarget_peers.find_gmr()[1]
    path = tmp_path / "general_motion_retargeting/motion_retarget.py"
    path.parent.mkdir()
    path.write_text("class GeneralMotionRetargeting: ...\n")
    folder, reason = retarget_peers.find_gmr()
    assert folder is None
    assert "is not that of" in reason
