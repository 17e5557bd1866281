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
import robot_judge

MAX_OFF_DEG = 5.0
MAX_FEET_OFF_DEG = 8.0  # ankles of the robot roll by 15 degrees at most
MAX_OFF_M = 0.045  # of hands, whose arms have other proportions


@pytest.mark.parametrize("clip", ["bvh/cmu_12_01_walk.bvh", "bvh/jesse_dance_rokoko.bvh"])
def test_links_are_asked_where_those_of_the_retargeted_robot_are(data, clip):
    source, robot = poise.load(data / clip), poise.load(data / retarget_peers.G1)
    done = poise.retarget(source, robot, ground=False, clear=False)
    assert done.contacts is not None
    job = retarget_peers.build_gmr_job(done, 0.07)
    assert {name[:-2] for name in job if name.endswith("_p")} == set(retarget_peers.BODIES)
    world, turn = done.poses.world, done.bodies[1].world_turn
    places, turned = rotations.rotate(turn, world.positions), rotations.multiply(turn, world.rotations)
    hips = job["Hips_p"]
    for name, (_, joint) in retarget_peers.BODIES.items():
        link = done.skeleton.index(joint)
        asked = rotations.multiply(job[f"{name}_r"], job[f"{name}_offset"])
        off = rotations.as_vector(rotations.multiply(rotations.inverse(asked), turned[:, link]))
        most = MAX_FEET_OFF_DEG if "Foot" in name else MAX_OFF_DEG
        assert np.degrees(np.median(np.linalg.norm(off, axis=-1))) < most, name
        scaled = hips * job["Hips_scale"] + (job[f"{name}_p"] - hips) * job[f"{name}_scale"]
        wanted = scaled + rotations.rotate(asked, job[f"{name}_place"])
        assert np.median(np.linalg.norm(wanted - places[:, link], axis=-1)) < MAX_OFF_M, name
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


def test_a_robot_that_cannot_be_judged_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(robot_judge, "mujoco", robot_judge.mujoco or object())
    monkeypatch.setenv("POISE_G1", str(tmp_path))
    model, reason = robot_judge.load_judge()
    assert model is None
    assert "lacks g1_29dof_rev_1_0.urdf or meshes" in reason


def test_a_robot_that_mujoco_cannot_load_is_told(monkeypatch, tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "meshes").mkdir()
    (tmp_path / robot_judge.G1_FILE).write_text('<robot name="g1"><link name="a"/><mujoco><compiler/></mujoco></robot>')
    monkeypatch.setenv("POISE_G1", str(tmp_path))
    model, reason = robot_judge.load_judge()
    assert model is None
    assert reason.startswith("MuJoCo cannot load")
    assert "\n" not in reason


def test_limbs_of_robot_and_source_are_alike():
    assert len(robot_judge.LIMBS) == len(robot_judge.LIMB_ROLES) == 8
    assert robot_judge.LIMBS[:2] == (("left_hip_roll_joint", "left_knee_joint"),
                                     ("left_knee_joint", "left_ankle_roll_joint"))  # fmt: skip
