"""Tasks for whole figures, and a judge that sees what is wrong with a pose."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import poise
from poise.maths import rotations
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import natural_costs
import natural_paths
import natural_proofs
import natural_rigs
import pose_judge
import pose_tasks
from character_rigs import body_of


@pytest.fixture(scope="module")
def figure() -> pose_tasks.Figure:
    body = body_of("sample", poise.load(poise.samples.path("humanoid.glb")))
    assert body is not None
    return pose_tasks.stand_figure(body)


def find_task(name: str) -> pose_tasks.Task:
    return next(task for task in pose_tasks.TASKS if task.name == name)


def turned(figure: pose_tasks.Figure, role: str, axis: np.ndarray, degrees: float) -> poise.Pose:
    """The standing pose with one joint turned about an axis of the world, by the engine alone."""
    joint = figure.body.joints[role]
    turn = rotations.multiply(rotations.about(axis, np.radians(degrees)), figure.body.rest.world[joint].rotations)
    return poise.solve(figure.body.rest, poise.Orientation(joint, turn, root=joint), natural=False).pose


def test_there_are_forty_tasks_and_each_is_asked_of_both_sides_alike(figure):
    assert len(pose_tasks.TASKS) == len({task.name for task in pose_tasks.TASKS}) == 40
    for task in pose_tasks.TASKS:
        for target in task.targets:
            place, other = (pose_tasks.find_place(figure, each) for each in (target, pose_tasks.mirror_target(target)))
            if "seat left hip" not in target.landmark:
                mirrored = place - 2 * (place @ figure.body.left) * figure.body.left
                np.testing.assert_allclose(other, mirrored, atol=1e-3 * figure.height)


def test_a_standing_figure_has_no_faults(figure):
    nothing = find_task("hand to the floor ahead")._replace(targets=())
    row = pose_judge.judge_pose(figure, nothing, figure.body.rest)
    assert all(not row[name] > bound for name, bound in (pose_judge.BOUNDS | pose_judge.SEEN).items())


def test_the_judge_sees_a_body_that_sinks(figure):
    lowered = poise.Position(figure.body.joints["hips"], figure.body.at("hips") - 0.1 * figure.metre * figure.body.up)
    sunk = poise.solve(figure.body.rest, lowered, free_root=True, natural=False).pose
    row = pose_judge.judge_pose(figure, find_task("reach high"), sunk)
    assert row["below the floor [mm]"] == pytest.approx(100.0, abs=1.0)
    assert row["error [mm]"] > 99.0


def test_the_judge_sees_a_trunk_that_bows_with_an_arm_like_a_wing(figure):
    role = next(role for role in ("spine", "chest") if role in figure.body.joints)
    bowed = turned(figure, role, figure.body.left, 80.0)
    row = pose_judge.judge_pose(figure, find_task("hand to the floor ahead"), bowed)
    assert row["free arm from hanging [deg]"] == pytest.approx(80.0, abs=15.0)
    assert row["head from upright [deg]"] == pytest.approx(80.0, abs=0.1)


def test_the_judge_sees_a_weight_beside_the_foot_that_stands(figure):
    raised = turned(figure, "leftUpperLeg", figure.body.forward, 60.0)
    row = pose_judge.judge_pose(figure, find_task("kick to the side"), raised)
    assert 50.0 < row["mass beside the support [mm]"] < 200.0
    assert row["parts"]["mass beside the support [mm]"] == "left"
    both_feet = pose_judge.judge_pose(figure, find_task("reach high"), figure.body.rest)
    assert both_feet["mass beside the support [mm]"] == 0.0


def test_the_judge_sees_a_bend_to_a_side_and_a_twist(figure):
    task, role = find_task("reach behind at chest height"), "chest"
    bent = pose_judge.judge_pose(figure, task, turned(figure, role, figure.body.forward, 30.0))
    assert (bent["side bend [deg]"], bent["twist [deg]"]) == (30, 0)
    assert bent["side bend beyond twist [deg]"] == pytest.approx(30.0, abs=0.1)
    twisted = pose_judge.judge_pose(figure, task, turned(figure, role, figure.body.up, 40.0))
    assert (twisted["side bend [deg]"], twisted["twist [deg]"]) == (0, 40)
    assert twisted["side bend beyond twist [deg]"] < 0.0


def test_the_judge_sees_a_forearm_in_the_head_and_a_hand_that_rolls(figure):
    body = figure.body
    inside = poise.Position(body.joints["leftHand"], body.at("head"), root=body.joints["leftUpperArm"])
    pose = poise.solve(body.rest, inside, natural=False).pose
    row = pose_judge.judge_pose(figure, find_task("hand to the face"), pose)
    assert row["forearm in head or trunk [mm]"] > 100.0
    bone = body.at("leftHand") - body.at("leftLowerArm")
    rolled = turned(figure, "leftHand", bone / np.linalg.norm(bone), -70.0)
    row = pose_judge.judge_pose(figure, find_task("hand to the face"), rolled)
    assert row["wrist roll [deg]"] == pytest.approx(70.0, abs=0.1)
    assert row["wrist bend [deg]"] == pytest.approx(0.0, abs=0.1)


def test_forty_paths_are_closed_and_go_out_of_reach(figure):
    paths = natural_paths.list_paths()
    assert len(paths) == len({path.name for path in paths}) == 40
    for path in paths:
        np.testing.assert_allclose(path.steps[0], path.steps[-1], atol=1e-9)
        assert np.linalg.norm(np.diff(path.steps, axis=0), axis=-1).max() < 0.05
    place = natural_paths.place_path(figure, paths[0])[0] - figure.body.at("leftUpperArm")
    assert np.linalg.norm(place) == pytest.approx(0.7 * figure.sizes["arm"])


def test_a_pop_of_the_elbow_is_seen(figure):
    elbow = figure.body.joints["leftUpperArm"]
    swings = [turned(figure, "leftUpperArm", figure.body.left, angle).q for angle in (0, 1, 2, 12, 13, 14)]
    steps = natural_paths.measure_steps(figure, poise.Pose(figure.body.rest.skeleton, np.array(swings)), "leftLowerArm")
    upper = (
        1000.0 / figure.metre * np.linalg.norm(figure.body.at("leftLowerArm") - figure.body.rest.world[elbow].positions)
    )
    assert steps[1] == pytest.approx(np.radians(9.0) * upper, rel=0.02)
    assert steps[0] < 0.02 * steps[1]


def test_a_root_bone_leaves_a_clip_what_it_was(data):
    source = data / "bvh" / "cmu_12_01_walk.bvh"
    plain = poise.load(source)
    for every in (False, True):
        for channels in natural_rigs.ROOT_CHANNELS.values():
            rig = natural_rigs.load_rooted(source, channels, every=every)
            assert rig.skeleton.names[:2] == ("RootBone", plain.skeleton.names[0])
            poses, own = rig.clips[0].poses[10].world, plain.clips[0].poses[10].world
            for joint in plain.skeleton.names:
                np.testing.assert_allclose(poses[joint].positions, own[joint].positions, atol=1e-6)


def test_roll_bones_are_added_where_they_belong():
    rig = poise.load(poise.samples.path("humanoid.glb"))
    made = natural_rigs.add_roll_bones(rig)
    assert len(made) == len(rig.skeleton) + 4
    rest, world = poise.Pose(made, made.rest_q).world, rig.rest.world
    for joint in rig.skeleton.names:
        np.testing.assert_allclose(rest[joint].positions, world[joint].positions, atol=1e-9)
    assert made.names[made.parents[made.index("LeftForeArm")]] == "LeftArmRoll"
    middle = (world["LeftForeArm"].positions + world["LeftHand"].positions) / 2
    np.testing.assert_allclose(rest["LeftForeArmRoll"].positions, middle, atol=1e-9)


def test_costs_are_compared_by_the_least_of_all_runs():
    own = [natural_costs.make_cost("prepared hand", "one", "ahead", value) for value in (30.0, 12.0)]
    other = [natural_costs.make_cost("prepared hand", "one", "ahead", value) for value in (10.0, 40.0)]
    (found,) = natural_costs.compare_costs(own, other)
    assert found.value == pytest.approx(1.2)
    assert found.bound == 1.3


@pytest.mark.usefixtures("data")
@pytest.mark.long
def test_the_command_judges_some_tasks_and_draws_them(tmp_path, capsys):
    chosen = ["--figures", "mixamo", "--tasks", "hands on hips,both hands to the floor", "--quick"]
    values, sheet = tmp_path / "values.jsonl", tmp_path / "sheet.png"
    assert natural_proofs.main([*chosen, "--json", str(values)]) == 0
    told = capsys.readouterr().out
    assert "| hands on hips | 1 of 1 |" in told
    found = [json.loads(line) for line in values.read_text().splitlines()]
    assert {each["case"] for each in found} >= {"hands on hips", "both hands to the floor"}
    assert {each["proof"] for each in found} == set(natural_proofs.PROOFS)
    assert natural_proofs.main([*chosen, "--proofs", "3", "--sheet", str(sheet)]) == 0
    assert sheet.read_bytes()[:4] == b"\x89PNG"
    for wrong in (["--proofs", "9"], ["--figures", "unicorn"]):
        with pytest.raises(SystemExit):
            natural_proofs.main(wrong)
