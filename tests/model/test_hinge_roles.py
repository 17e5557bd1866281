"""Roles of robots, several of whose hinges are one anatomical joint."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.model.anatomy.rest_geometry import compute_body_frame
from poise.model.joints import Kind
from poise.model.roles.bone_names import parse_joint_name
from poise.model.roles.role_search import MIN_CONFIDENCE

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
# name, axis, place of the left side [m]: x ahead, z up
HIP = [("hip_pitch", Y, (0.0, 0.1, 0.9)), ("hip_roll", X, (0.03, 0.1, 0.9))]
LEG = [*HIP, ("hip_yaw", Z, (0.0, 0.1, 0.8)), ("knee", Y, (0.0, 0.1, 0.5)), ("ankle", Y, (0.0, 0.1, 0.1))]
SHOULDER = [("shoulder_pitch", Y, (0.0, 0.2, 1.4)), ("shoulder_roll", X, (0.03, 0.2, 1.4))]
ARM = [*SHOULDER, ("shoulder_yaw", Z, (0.0, 0.2, 1.3)), ("elbow", Y, (0.0, 0.2, 1.1)), ("hand", Y, (0.0, 0.2, 0.9))]
NUMBERED_ARM = [("zarm_1", Y, (0.0, 0.25, 1.4)), ("zarm_2", X, (0.0, 0.25, 1.4)), ("zarm_3", Z, (0.0, 0.25, 1.4)),
                ("zarm_4", Y, (0.0, 0.25, 1.1)), ("zarm_5", Z, (0.0, 0.25, 1.0)), ("zarm_6", X, (0.0, 0.25, 0.9)),
                ("zarm_7", Y, (0.0, 0.25, 0.88))]  # fmt: skip


def build_robot(leg, arm, *, drive=1.0, neck=()):
    """A robot of hinges with one link as its trunk. Right hinges about x are `drive` times as far ahead."""
    names, parents, points, axes = ["base"], [-1], [(0.0, 0.0, 1.0)], [(0.0, 0.0, 0.0)]
    chains = [[(f"{side[0]}_{name}", axis, (x * (drive if sign < 0.0 and axis == X else 1.0), sign * y, z))
               for name, axis, (x, y, z) in limb]
              for side, sign in (("left", 1.0), ("right", -1.0)) for limb in (leg, arm)]  # fmt: skip
    for chain in (*chains, neck):
        above = 0
        for name, axis, place in chain:
            parents.append(above)
            above = len(names)
            names.append(name)
            points.append(place)
            axes.append(axis)
    offsets = [np.subtract(p, points[above] if above >= 0 else 0.0) for p, above in zip(points, parents, strict=True)]
    kinds = [Kind.HINGE if any(axis) else Kind.FIXED for axis in axes]
    return poise.Skeleton.build(names, parents, kinds, offsets=offsets, axes=axes, up="z")


def rename(limb, **words):
    return [(words.get(name, name), axis, place) for name, axis, place in limb]


def find_left(robot):
    found = poise.find_roles(robot).joints
    for role, name in found.items():
        if role.startswith("left"):
            assert found[f"right{role[4:]}"] == f"r{name[1:]}"
    return {role[4:]: name[2:] for role, name in found.items() if role.startswith("left")}


def test_a_twist_named_as_the_bone_is_no_hip_and_no_shoulder():
    """The hinge about the thigh is called thigh, its hip is above; so is that of the upper arm."""
    robot = build_robot(rename(LEG, hip_yaw="thigh", knee="calf"), rename(ARM, shoulder_yaw="upper_arm"))
    left = find_left(robot)
    assert left["UpperLeg"] == "hip_roll"
    assert left["UpperArm"] == "shoulder_roll"
    assert "Shoulder" not in left


def test_numbered_hinges_are_a_leg():
    numbered = {name: f"leg_{number}" for number, (name, _, _) in enumerate(LEG, 1)}
    left = find_left(build_robot(rename(LEG, **numbered), ARM))
    assert (left["UpperLeg"], left["LowerLeg"], left["Foot"]) == ("leg_2", "leg_4", "leg_5")


def test_arms_without_a_known_name_hang_from_the_link_of_the_legs():
    """No joint is between arms and legs; twists of the forearm are no hand, and joints above the arms no spine."""
    neck = [("zhead_1", Z, (0.0, 0.0, 1.55)), ("zhead_2", Y, (0.0, 0.0, 1.6))]
    robot = build_robot(LEG, NUMBERED_ARM, neck=neck)
    left, found = find_left(robot), poise.find_roles(robot).joints
    assert (left["UpperArm"], left["LowerArm"], left["Hand"]) == ("zarm_3", "zarm_4", "zarm_7")
    assert (found.get("neck"), found.get("head"), "spine" in found) == ("zhead_1", "zhead_2", False)


def test_rods_of_a_waist_are_no_head():
    """They hang from the link of the arms, and nothing else does."""
    rods = [
        ("motor_link", X, (0.0, 0.0, 1.2)),
        ("motor_rod", X, (-0.05, 0.0, 1.2)),
        ("motor_loop", X, (-0.05, 0.0, 1.0)),
    ]
    found = poise.find_roles(build_robot(LEG, ARM, neck=rods)).joints
    assert not {"neck", "head"} & set(found)
    assert {"leftUpperArm", "leftFoot"} < set(found)


def test_a_twist_of_the_forearm_is_no_elbow():
    """Neither of two hinges of an elbow has a hand below; the second is halfway down the forearm."""
    arm = [*ARM[:3], ("elbow_pitch", Y, (0.0, 0.2, 1.1)), ("elbow_yaw", Z, (0.0, 0.2, 0.95))]
    assert find_left(build_robot(LEG, arm))["LowerArm"] == "elbow_pitch"


def test_a_link_below_the_wrist_is_no_upper_arm():
    """Links keep the numbers of the hinges that the file has merged."""
    arm = rename(ARM, shoulder_pitch="arm_shy", shoulder_roll="arm_shx", shoulder_yaw="arm_shz", elbow="arm_ely",
                 hand="arm_wry")  # fmt: skip
    left = find_left(build_robot(LEG, [*arm, ("arm_7", (0.0, 0.0, 0.0), (0.0, 0.2, 0.9))]))
    assert (left["UpperArm"], left["LowerArm"], left["Hand"]) == ("arm_shx", "arm_ely", "arm_wry")


@pytest.mark.parametrize(
    ("name", "part"),
    [("waist_motor_a_ball_joint", "waist"), ("arm_l_wrist_b_ball_joint", "wrist"), ("l_ankle_a_ball_joint", "ankle"),
     ("l_ball_joint", "toe"), ("foot_ball_l", "toe"), ("L_Calf_Ball", "toe")],
)  # fmt: skip
def test_a_ball_joint_of_a_rod_is_no_toe(name, part):
    assert parse_joint_name(name).part == part


def test_a_fixed_frame_with_the_shorter_name_is_the_toe():
    """Frames at the corners of a sole come first in the file, and are called alike."""
    robot = build_robot(LEG, ARM)
    names, parents, offsets = list(robot.names), robot.parents.tolist(), [*robot.A[:, :3]]
    for side in "lr":
        for corner, y in ((f"{side}r_toe", -0.05), (f"{side}_toe", 0.0)):
            parents.append(robot.index(f"{side}_ankle"))
            names.append(corner)
            offsets.append(np.array([0.15, y, -0.05]))
    added = [Kind.FIXED] * (len(names) - len(robot))
    shod = poise.Skeleton.build(
        names, parents, [*robot.kinds, *added], offsets=offsets, axes=[*robot.axes, *np.zeros((len(added), 3))], up="z"
    )
    assert find_left(shod)["Toes"] == "toe"


@pytest.mark.parametrize("drive", [1.0, -1.0, 3.0])
def test_where_a_drive_is_does_not_turn_the_body(drive):
    """The drives of rolls are in front of one leg and behind the other."""
    robot = build_robot(LEG, ARM, drive=drive)
    body = compute_body_frame(robot, poise.find_roles(robot).joints)
    np.testing.assert_allclose(body.left, (0.0, 1.0, 0.0), atol=1e-12)


@pytest.mark.parametrize("splay_deg", [10.0, 30.0])
def test_splayed_axes_of_both_sides_do_not_turn_the_body(splay_deg):
    """Axes of rolls lead outwards on both sides."""
    robot = build_robot(LEG, ARM)
    axes = np.array(robot.axes)
    angle = np.radians(splay_deg)
    for side, sign in (("l", 1.0), ("r", -1.0)):
        for name in ("hip_roll", "shoulder_roll"):
            axes[robot.index(f"{side}_{name}")] = np.cos(angle), sign * np.sin(angle), 0.0
    splayed = poise.Skeleton.build(
        robot.names, robot.parents.tolist(), robot.kinds, offsets=robot.A[:, :3], axes=axes, up="z"
    )
    body = compute_body_frame(splayed, poise.find_roles(robot).joints)
    np.testing.assert_allclose(body.left, (0.0, 1.0, 0.0), atol=1e-12)


def test_a_spine_below_arms_on_the_hips_is_no_neck():
    """A person's arms hang on the joint of the legs; the spine carries the head alone."""
    names, parents, points = ["Hips"], [-1], [(0.0, 0.0, 1.0)]

    def add(name, above, place):
        parents.append(names.index(above))
        names.append(name)
        points.append(place)

    for name, height in (("Spine", 1.1), ("Spine1", 1.2), ("Spine2", 1.3), ("Neck", 1.5), ("Head", 1.6)):
        add(name, names[-1], (0.0, 0.0, height))
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        for chain in ((("Arm", 0.2, 1.45), ("ForeArm", 0.45, 1.45), ("Hand", 0.7, 1.45)),
                      (("UpLeg", 0.1, 0.95), ("Leg", 0.1, 0.5), ("Foot", 0.1, 0.1))):  # fmt: skip
            above = "Hips"
            for name, y, z in chain:
                add(f"{side}{name}", above, (0.0, sign * y, z))
                above = f"{side}{name}"
    offsets = [np.subtract(p, points[above] if above >= 0 else 0.0) for p, above in zip(points, parents, strict=True)]
    person = poise.Skeleton.build(names, parents, [Kind.BALL] * len(names), offsets=offsets, up="z")
    found = poise.find_roles(person).joints
    assert (found["spine"], found["neck"], found["head"]) == ("Spine", "Neck", "Head")


def test_a_leg_named_once_by_leg_has_a_knee():
    named = {"hip_roll": "thigh", "knee": "leg", "ankle": "foot"}
    leg = [part for part in rename(LEG, **named) if part[0] in named.values()]
    robot = build_robot(leg, ARM)
    assert find_left(robot)["LowerLeg"] == "leg"
    assert poise.find_roles(robot).confidence["leftLowerLeg"] >= MIN_CONFIDENCE


def test_three_numbered_hinges_with_a_knee_at_the_end_are_not_split():
    """A roll, a pitch further out and a knee; the foot is a part of the shin."""
    leg = [("leg_1", X, (0.0, 0.1, 0.9)), ("leg_2", Y, (0.0, 0.2, 0.9)), ("leg_3", Y, (0.0, 0.2, 0.5)),
           ("foot", (0.0, 0.0, 0.0), (0.0, 0.2, 0.1))]  # fmt: skip
    assert find_left(build_robot(leg, ARM)).get("LowerLeg") != "leg_2"


def test_a_wrist_that_only_twists_ends_the_forearm():
    arm = [(f"j{number}", axis, place) for number, (_, axis, place) in enumerate(ARM[:4], 1)]
    arm += [("j6", Z, (0.0, 0.2, 0.85)), ("tool", (0.0, 0.0, 0.0), (0.0, 0.2, 0.65))]
    assert find_left(build_robot(LEG, arm))["Hand"] == "j6"


def test_a_head_may_be_ahead_of_the_shoulders():
    neck = [("zpan", Z, (0.15, 0.0, 1.35)), ("ztilt", Y, (0.25, 0.0, 1.38))]
    assert poise.find_roles(build_robot(LEG, NUMBERED_ARM, neck=neck)).joints["head"] == "ztilt"


@pytest.mark.parametrize("sensor", ["fsr_front_left", "foot_bumper_left", "FsrFL_joint"])
def test_sensors_of_a_sole_are_no_toes(sensor):
    """Feet pointed 15 degrees aside to the sensor at a corner."""
    robot = build_robot(LEG, ARM)
    names, parents, offsets = list(robot.names), robot.parents.tolist(), [*robot.A[:, :3]]
    for side in "lr":
        parents.append(robot.index(f"{side}_ankle"))
        names.append(f"{side}_{sensor}")
        offsets.append(np.array([0.13, 0.035, -0.06]))
    robot = poise.Skeleton.build(
        names, parents, [*robot.kinds, Kind.FIXED, Kind.FIXED], offsets=offsets,
        axes=[*robot.axes, *np.zeros((2, 3))], up="z",
    )  # fmt: skip
    assert "Toes" not in find_left(robot)
