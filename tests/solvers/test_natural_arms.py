"""Arms of natural poses around the body: what gives way, and by which side a shoulder comes."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.kernels import posture_bow, posture_trunk
from poise.kernels.vec_quat import Vec
from poise.maths.vectors import normalise

FIGURE = poise.load(samples.path("humanoid.glb"))
LEFT, UP, FORWARD = np.eye(3)
SIDES = {"Left": 1.0, "Right": -1.0}
ARM = 0.5  # of the figure, in its own unit: from shoulder to wrist, roughly


@pytest.mark.parametrize("behind", [-0.1, -0.01, 0.01, 0.1])
@pytest.mark.parametrize("side", SIDES.values())
def test_a_shoulder_turns_to_the_other_side_by_the_front(side, behind):
    """A shoulder a little behind the spine reaches across before the body, as one a little before it does."""
    shoulder, target = np.array([-0.3 * side, 0.5, -behind]), np.array([0.8 * side, 0.2, 0.3 * behind])
    twists, pelvis_twists = np.zeros(1), np.zeros(1)
    posture_trunk.find_twists(
        np.zeros((1, 3)), shoulder[None, None], target[None, None], FORWARD[None], UP, np.array([0.55]), twists,
        pelvis_twists,
    )  # fmt: skip
    assert np.degrees(side * twists[0]) > 20.0  # about the vertical, to the side of the target
    assert np.degrees(side * pelvis_twists[0]) > 20.0


@pytest.fixture(name="standing", scope="module")
def _stand():
    """The figure with hanging arms."""
    world = FIGURE.rest.world
    goals = [
        poise.Position(f"{side}Hand", world[f"{side}Arm"].positions + ARM * (sign * 0.12 * LEFT - 0.97 * UP))
        for side, sign in SIDES.items()
    ]
    return poise.solve(FIGURE.rest, goals).pose


def test_a_trunk_turns_half_way_round_to_what_is_near_behind(standing):
    """The last half of the way brings a shoulder hardly nearer, and turns the face and a knee aside."""
    world = standing.world
    target = world["LeftUpLeg"].positions + ARM * (0.1 * LEFT - 0.55 * FORWARD - 0.3 * UP)
    goals = [poise.Pin("LeftFoot"), poise.Pin("RightFoot"), poise.Position("LeftHand", target)]
    result = poise.solve(standing, goals, free_root=True)
    assert result.reached
    across = result.pose.world["LeftArm"].positions - result.pose.world["RightArm"].positions
    assert 20.0 < np.degrees(np.arctan2(-across @ FORWARD, across @ LEFT)) < 45.0  # 64 where it turns all the way


@pytest.mark.parametrize("aside", [0.0, 0.12, 0.24])
def test_a_hand_behind_the_head_has_its_elbow_beside_the_face(standing, aside):
    world = standing.world
    target = world["Head"].positions + ARM * (aside * LEFT - 0.3 * FORWARD + 0.12 * UP)
    result = poise.solve(standing, poise.Position("LeftHand", target))
    assert result.reached
    elbow = (result.pose.world["LeftForeArm"].positions - world["LeftArm"].positions) / ARM
    assert elbow @ FORWARD > -0.2  # and not behind the head with the hand
    assert elbow @ LEFT > 0.05
    assert elbow @ UP > 0.3


def test_upper_arms_hang_where_hands_are_behind_the_back(standing):
    world = standing.world
    for side, sign in SIDES.items():
        target = world["Hips"].positions + ARM * (sign * 0.1 * LEFT - 0.38 * FORWARD + 0.4 * UP)
        result = poise.solve(standing, poise.Position(f"{side}Hand", target))
        assert result.reached
        upper = normalise(result.pose.world[f"{side}ForeArm"].positions - world[f"{side}Arm"].positions)
        assert np.degrees(np.arccos(-upper @ UP)) < 45.0  # 58 with an elbow that goes outward alone
        assert sign * upper @ LEFT > 0.2


def test_elbows_of_crossed_arms_stay_low(data):
    rig = poise.load(data / "glb" / "mannequiny_gdquest.glb")
    joints, world = rig.roles.joints, rig.rest.world
    left, forward = (
        normalise(world[joints["leftUpperArm"]].positions - world[joints["rightUpperArm"]].positions),
        FORWARD,
    )
    shoulders = {side: world[joints[f"{side}UpperArm"]].positions for side in ("left", "right")}
    arm = sum(
        float(np.linalg.norm(world[joints[f"left{a}"]].positions - world[joints[f"left{b}"]].positions))
        for a, b in (("UpperArm", "LowerArm"), ("LowerArm", "Hand"))
    )
    places = {
        "left": shoulders["right"] + arm * (0.28 * left + 0.48 * forward - 0.45 * UP),
        "right": shoulders["left"] + arm * (-0.28 * left + 0.44 * forward - 0.55 * UP),
    }
    pose = poise.solve(rig.rest, [poise.Position(joints[f"{side}Hand"], place) for side, place in places.items()]).pose
    for side, shoulder in shoulders.items():
        elbow = (pose.world[joints[f"{side}LowerArm"]].positions - shoulder) / arm
        assert elbow @ UP < -0.25  # 0.18 below the shoulder where nothing gives way
        assert elbow @ left * (1.0 if side == "left" else -1.0) > -0.15  # and not before the breast bone


def test_knees_make_way_for_hands_between_the_feet(data):
    rig = poise.load(data / "glb" / "mixamo_human_makehuman.glb")
    joints, world = rig.roles.joints, rig.rest.world
    middle = 0.5 * (world[joints["leftFoot"]].positions + world[joints["rightFoot"]].positions)
    goals = [poise.Pin(joints[f"{side.lower()}Foot"]) for side in SIDES]
    for side, sign in SIDES.items():
        place = middle + sign * 0.1 * LEFT + 0.2 * FORWARD + 0.12 * UP
        goals.append(poise.Position(joints[f"{side.lower()}Hand"], place))
    result = poise.solve(rig.rest, goals, free_root=True)
    assert result.reached
    for side, sign in SIDES.items():
        knee = result.pose.world[joints[f"{side.lower()}LowerLeg"]].positions
        assert sign * knee @ LEFT > 0.18  # 0.16 where they stay


def test_legs_stay_straight_for_hands_at_hip_height():
    """Who leans on a table bows with straight legs."""
    world = FIGURE.rest.world
    hips, arm = world["Hips"].positions, 0.5
    goals = [poise.Pin(f"{side}Foot") for side in SIDES]
    goals += [
        poise.Position(f"{side}Hand", hips + arm * (sign * 0.35 * LEFT + 0.9 * FORWARD)) for side, sign in SIDES.items()
    ]
    result = poise.solve(FIGURE.rest, goals, free_root=True)
    assert result.reached
    for side in SIDES:
        first, middle, tip = (result.pose.world[f"{side}{part}"].positions for part in ("UpLeg", "Leg", "Foot"))
        length = np.linalg.norm(middle - first) + np.linalg.norm(tip - middle)
        assert np.linalg.norm(tip - first) > 0.95 * length


def test_who_crawls_has_a_flat_back(standing):
    """The pelvis bows about placed hips, as far as these bend over their thighs."""
    world = standing.world
    ground = world["LeftToe"].positions[1]
    thigh = np.linalg.norm(world["LeftLeg"].positions - world["LeftUpLeg"].positions)
    trunk = np.linalg.norm(world["LeftArm"].positions - world["LeftUpLeg"].positions)
    hips = np.array([0.0, ground + thigh + 0.1, 0.0])
    goals = [poise.Position("Hips", hips)]
    for side, sign in SIDES.items():
        goals.append(poise.Position(f"{side}Foot", [0.1 * sign, ground + 0.08, -0.42]))
        goals.append(poise.Position(f"{side}Hand", [0.18 * sign, ground + 0.06, 1.0 * trunk]))
    result = poise.solve(standing, goals, free_root=True)
    assert result.reached
    pose = result.pose
    up = normalise(pose.world["Neck"].positions - pose.world["Hips"].positions)
    assert abs(up @ UP) < 0.35  # level within 20 degrees
    bend = poise.rotations.multiply(
        poise.rotations.inverse(pose.world["Hips"].rotations), pose.world["Chest"].rotations
    )
    at_rest = poise.rotations.multiply(
        poise.rotations.inverse(standing.world["Hips"].rotations), standing.world["Chest"].rotations
    )
    assert np.degrees(2 * np.arccos(min(abs(bend @ at_rest), 1.0))) < 10.0  # 93 with the pelvis upright


def test_who_sits_bows_in_the_spine_where_hips_end(standing):
    """From a chair hips go on by 30 degrees; the back does the rest."""
    world = standing.world
    hips = world["LeftLeg"].positions * UP + [0.0, 0.1, 0.0]
    goals = [poise.Position("Hips", hips)]
    for side, sign in SIDES.items():
        foot = [0.1 * sign, world["LeftFoot"].positions[1], 0.42]
        goals.append(poise.Position(f"{side}Foot", foot))
        goals.append(poise.Position(f"{side}Hand", [0.12 * sign, world["LeftFoot"].positions[1] + 0.05, 0.6]))
    result = poise.solve(standing, goals, free_root=True)
    assert result.reached
    turned = [
        poise.rotations.rotate(
            poise.rotations.multiply(
                result.pose.world[joint].rotations, poise.rotations.inverse(standing.world[joint].rotations)
            ),
            UP,
        )
        for joint in ("Hips", "Chest")
    ]
    pelvis, chest = (np.degrees(np.arctan2(way @ FORWARD, way @ UP)) for way in turned)
    assert 10.0 < pelvis < 45.0
    assert chest > pelvis + 15.0


@pytest.mark.parametrize("behind", [0.2, 0.3, 0.5])
@pytest.mark.parametrize("height", [0.05, 0.1, 0.2])
def test_who_sits_and_props_hands_behind_leans_back(standing, behind, height):
    """Low behind the hips is not far ahead."""
    world = standing.world
    ground = world["LeftToe"].positions[1]
    goals = [poise.Position("Hips", [0.0, ground + 0.12, 0.0])]
    for side, sign in SIDES.items():
        goals.append(poise.Position(f"{side}Foot", [0.1 * sign, ground + 0.08, 0.75]))
        goals.append(poise.Position(f"{side}Hand", [0.22 * sign, ground + height, -behind]))
    result = poise.solve(standing, goals, free_root=True)
    assert result.reached
    trunk = result.pose.world["Neck"].positions - result.pose.world["Hips"].positions
    assert -40.0 < np.degrees(np.arctan2(trunk @ FORWARD, trunk @ UP)) < 5.0  # 89 and more


def test_bows_fade_where_hands_are_straight_below_the_hips():
    """From there ahead is as near as behind."""
    angles = np.radians(np.linspace(150.0, 210.0, 61))
    hands = 0.9 * (np.cos(angles)[:, None] * UP + np.sin(angles)[:, None] * FORWARD)
    shoulder, ahead, up = Vec(*(0.5 * UP)), Vec(*FORWARD), Vec(*UP)
    bows = np.array([posture_bow.find_hand_bow(shoulder, Vec(*hand), 0.5, ahead, up) for hand in hands])
    assert abs(bows[30]) < 1e-9
    assert np.abs(np.diff(bows)).max() < np.radians(10.0)
    assert bows[0] > np.radians(60.0) > 0.0 > bows[-1]


@pytest.mark.parametrize("unit", [1.0, 100.0])
def test_shoulders_on_the_line_through_the_hips_are_not_bowed(unit):
    """No bow moves them."""
    shoulder, hand, ahead, up = Vec(*(0.2 * unit * LEFT)), Vec(*(unit * (0.3 * UP + 0.4 * FORWARD))), FORWARD, UP
    assert posture_bow.find_hand_bow(shoulder, hand, 0.5 * unit, Vec(*ahead), Vec(*up)) == 0.0
