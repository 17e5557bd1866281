"""Roles are names of joints where no joint has that name."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.model.roles import role_search
from tests.command_line import run
from tests.model.humanoid_figures import CONVENTIONS, figure

pytestmark = pytest.mark.filterwarnings("ignore::poise.PoiseWarning")

RIG = poise.load(samples.path("humanoid.glb"))
REST, S = RIG.rest, RIG.skeleton
POINT = (0.4, 1.2, 0.35)


def both(role, joint):
    return [
        (poise.Position(role, POINT), poise.Position(joint, POINT)),
        (poise.Orientation(role, (1, 0, 0, 0)), poise.Orientation(joint, (1, 0, 0, 0))),
        (poise.Place(role, POINT, (1, 0, 0, 0)), poise.Place(joint, POINT, (1, 0, 0, 0))),
        (poise.Direction(role, (0, 1, 0)), poise.Direction(joint, (0, 1, 0))),
        (poise.Aim(role, POINT), poise.Aim(joint, POINT)),
        (poise.Pin(role), poise.Pin(joint)),
    ]


@pytest.mark.parametrize("number", range(6))
def test_every_goal_takes_a_role(number):
    by_role, by_name = both("leftHand", "LeftHand")[number]
    np.testing.assert_array_equal(poise.solve(REST, by_role).q, poise.solve(REST, by_name).q)


def test_so_do_roots_tips_poles_and_those_that_look():
    pairs = [
        (poise.Position("leftHand", POINT, root="leftUpperArm"), poise.Position("LeftHand", POINT, root="LeftArm")),
        (
            [poise.Pole("leftLowerLeg", (1, 1, 1), tip="leftFoot"), poise.Pin("leftFoot")],
            [poise.Pole("LeftLeg", (1, 1, 1), tip="LeftFoot"), poise.Pin("LeftFoot")],
        ),
        (poise.LookAt("head", POINT, over=("neck", "head")), poise.LookAt("Head", POINT, over=("Neck", "Head"))),
        (
            [poise.Position("leftHand", POINT), poise.Near(REST, joints=["leftUpperArm"])],
            [poise.Position("LeftHand", POINT), poise.Near(REST, joints=["LeftArm"])],
        ),
    ]
    for by_role, by_name in pairs:
        np.testing.assert_array_equal(poise.solve(REST, by_role).q, poise.solve(REST, by_name).q)


def test_skeletons_poses_and_chains_know_roles():
    assert S.index("leftHand") == S.index("LeftHand")
    assert S["leftHand"].name == "LeftHand"
    assert S.chain("leftUpperLeg", "leftFoot") == ("LeftUpLeg", "LeftLeg")
    np.testing.assert_array_equal(REST.world_of("leftHand").positions, REST.world["LeftHand"].positions)
    assert "leftHand" not in S  # it is no joint's name


def test_sentences_and_prepared_problems_and_trackers():
    assert "out of reach" in poise.solve(REST, poise.Position("leftHand", (9, 9, 9))).message()
    assert poise.prepare(REST, poise.Position("leftHand", POINT))(POINT).reached
    assert poise.Tracker(REST, poise.Position("leftHand", POINT))(POINT).pose.skeleton is S


def test_a_joint_s_own_name_comes_first():
    made = figure(CONVENTIONS["mixamo without prefix"])
    made.names[made.names.index("Spine2")] = "leftHand"
    skeleton = made.skeleton()
    assert skeleton.names[skeleton.index("leftHand")] == "leftHand"
    assert skeleton["leftFoot"].name == "LeftFoot"


def test_a_role_that_is_not_sure_is_no_name():
    made = figure(CONVENTIONS["vrm"])
    names = [f"q{row}" for row in range(len(made.names))]
    plain = dataclasses.replace(made, names=names).skeleton()
    assert poise.find_roles(plain).confidence["leftFoot"] < role_search.MIN_CONFIDENCE
    with pytest.raises(poise.UnknownNameError, match="no joint 'leftFoot'"):
        plain.index("leftFoot")


def test_the_file_s_map_and_the_sidecar_count(data, tmp_path):
    assert poise.load(data / "glb/cryptovoxels.vrm").skeleton["leftHand"].name == "Left wrist"
    shutil.copy(samples.path("humanoid.glb"), tmp_path / "a.glb")
    (tmp_path / "a.ik.toml").write_text('[humanoid]\nleftToes = "LeftFoot"\nleftFoot = "LeftLeg"')
    skeleton = poise.load(tmp_path / "a.glb").skeleton
    assert skeleton["leftToes"].name == "LeftFoot"
    assert skeleton.with_limits({}).roles == skeleton.roles == {"leftToes": "LeftFoot", "leftFoot": "LeftLeg"}
    assert skeleton == dataclasses.replace(skeleton, roles={}, faces="-z")  # what is said of joints is not compared


def test_errors_offer_roles():
    made = figure(CONVENTIONS["smpl short"]).skeleton()
    with pytest.raises(poise.UnknownNameError, match=r"no joint 'leftUperLeg'; did you mean 'leftUpperLeg' or"):
        made.index("leftUperLeg")
    with pytest.raises(poise.UnknownNameError, match=r"no joint 'LeftHnd'; did you mean 'LeftHand'"):
        S.index("LeftHnd")
    for wrong in (None, 3, ["leftHand"]):
        with pytest.raises(poise.UnknownNameError):
            S.index(wrong)


def test_roles_are_looked_for_once(monkeypatch):
    requested, search = [], role_search.search_skeleton
    monkeypatch.setattr(role_search, "search_skeleton", lambda given: requested.append(given) or search(given))
    skeleton = figure(CONVENTIONS["mixamo without prefix"]).skeleton()
    start = poise.Pose(skeleton, skeleton.rest_q)
    poise.solve(start, poise.Position("LeftHand", POINT), natural=False)
    assert len(requested) == 1  # for roll bones
    for _ in range(3):
        poise.solve(start, poise.Position("leftHand", POINT))
    assert len(requested) == 1


def test_at_the_command_line(tmp_path):
    path = samples.path("humanoid.glb")
    by_role = run("solve", path, "--joint", "leftHand", "--to", "0.4", "1.2", "0.35", "-o", tmp_path / "a.glb")
    by_name = run("solve", path, "--joint", "LeftHand", "--to", "0.4", "1.2", "0.35", "-o", tmp_path / "b.glb")
    assert (by_role.returncode, by_name.returncode) == (0, 0)
    assert (tmp_path / "a.glb").read_bytes() == (tmp_path / "b.glb").read_bytes()
    wrong = run("solve", path, "--joint", "leftUpperLegg", "--to", "0", "0", "0")
    assert wrong.returncode == 2
    assert "did you mean" in wrong.stderr


def test_a_name_that_differs_in_case_only_is_offered_alone():
    made = figure(CONVENTIONS["smpl short"]).skeleton()
    with pytest.raises(poise.UnknownNameError, match=r"no joint 'LeftHand'; did you mean 'leftHand'\? joints"):
        made.index("LeftHand")
