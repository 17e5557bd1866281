"""Closed loops in the viewer: solved targets and rotated bones keep them closed, an open one is named."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import poise
from poise.model.loop_gaps import compute_pose_gaps
from poise.viewer import scenes
from poise.viewer.document.actions import ACTIONS
from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import build_document
from poise.viewer.rig_message import build_rig_message
from poise.viewer.session.answers import find_open_loops
from poise.viewer.session.downloads import solve_document, solve_document_pose
from poise.viewer.session.state_messages import describe_chain
from tests.loop_models import FOUR_BAR_REST, four_bar, four_bar_joints, four_bar_q, stewart


def linkage(tmp_path, text=None):
    path = tmp_path / "linkage.xml"
    path.write_text(four_bar() if text is None else text)
    return poise.load(path)


def gap_of(pose):
    return float(compute_pose_gaps(pose).distances.max())


def test_the_scene_is_closed_at_the_start():
    assert gap_of(scenes.build_scene("four_bar").start) < 1e-12


def test_a_target_moves_the_passive_joints(tmp_path):
    rig = linkage(tmp_path)
    wanted = poise.Pose(rig.skeleton, four_bar_q(FOUR_BAR_REST + 0.7))
    chain = build_chain(rig.rest, "tip", None, "coupler")
    document = build_document(rig, pose=rig.rest, chains=(chain.with_target_at(wanted),))
    pose = solve_document_pose(document)
    assert gap_of(pose) < 1e-9
    assert find_open_loops(pose) == []
    np.testing.assert_allclose(pose.q, wanted.q, atol=1e-5)


def test_a_target_out_of_reach_leaves_the_loops_closed(tmp_path):
    rig = linkage(tmp_path)
    chain = build_chain(rig.rest, "tip", None, "coupler").replace(position=(0.0, 0.0, 5.0))
    pose = solve_document_pose(build_document(rig, pose=rig.rest, chains=(chain,)))
    assert gap_of(pose) < 1e-9


def test_an_open_loop_is_named(tmp_path):
    """The rocker is held by its limit, so that the loop cannot be closed."""
    rig = linkage(tmp_path)
    skeleton = rig.skeleton.with_limits({"rocker": poise.Range(0.5, 0.6)})
    chain = build_chain(rig.rest, "tip", None, "crank")
    document = build_document(rig, pose=rig.rest, chains=(chain,)).replace(skeleton=skeleton)
    document = ACTIONS["limit"].apply(document, {"joint": "coupler", "limit": {"type": "range", "low": 0, "high": 0}})
    outcome = solve_document(document)
    assert poise.Status(outcome.status).name == "loops_open"
    assert "rod" in outcome.sentence
    assert find_open_loops(document.solver_start.with_q(outcome.q[0])) == ["rod"]


@pytest.mark.parametrize("angle", [-0.6, 0.3, 1.1])
def test_a_rotated_bone_takes_the_loop_along(tmp_path, angle):
    rig = linkage(tmp_path)
    document = build_document(rig, pose=rig.rest, chains=())
    pose = ACTIONS["turn"].apply(document, {"joint": "crank", "value": angle}).start
    np.testing.assert_allclose(pose.q, four_bar_q(FOUR_BAR_REST + angle), atol=1e-5)
    assert gap_of(pose) < 1e-9


def test_a_bone_rotates_only_as_far_as_its_loop_allows(tmp_path):
    rig = linkage(tmp_path)
    document = build_document(rig, pose=rig.rest, chains=())
    start, end = four_bar_joints(FOUR_BAR_REST)[2:]
    wanted = math.pi - math.atan2(start[2] - end[2], start[0] - end[0])  # the rocker would point at the crank
    pose = ACTIONS["turn"].apply(document, {"joint": "rocker", "value": wanted}).start
    assert gap_of(pose) < 1e-9
    assert 0.3 < pose.q[rig.skeleton.q_slice("rocker")][0] < wanted - 0.1


def test_the_page_is_told_of_both_ends(tmp_path):
    rig = linkage(tmp_path)
    message = build_rig_message(rig).message
    (told,) = message["loops"]
    assert (told["name"], told["rows"]) == ("rod", [rig.skeleton.index(joint) for joint in ("coupler", "rocker")])
    affine = rig.rest.world.affine[told["rows"]]
    ends = (affine[:, :, :3] * np.array(told["points"])[:, None]).sum(axis=-1) + affine[:, :, 3]
    np.testing.assert_allclose(*ends, atol=1e-9)
    rocker = message["joints"][told["rows"][1]]
    np.testing.assert_allclose(rocker["bone"], told["points"][1])


def test_a_stewart_platform_has_six(tmp_path):
    rig = linkage(tmp_path, stewart())
    assert len(build_rig_message(rig).message["loops"]) == 6


def test_passive_joints_are_told_as_moving(tmp_path):
    rig = linkage(tmp_path)
    chain = build_chain(rig.rest, "tip", None, "coupler")
    document = build_document(rig, pose=rig.rest, chains=(chain,))
    rocker = rig.skeleton.names[rig.skeleton.index("rocker")]
    assert describe_chain(document, chain)["others"] == [rocker]
    plain = dataclasses.replace(rig.skeleton, loops=())
    assert chain.list_other_joints(plain) == ()
