from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import poise
from poise.model.roles.bone_names import tokenize_name
from tests.model.humanoid_figures import CONVENTIONS, figure, skeleton_of


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_convention(name):
    made = figure(CONVENTIONS[name])
    found = poise.find_roles(made.skeleton())
    for role, joint in made.roles.items():
        assert (role, found.joints.get(role)) == (role, joint)
    assert found.missing == ()
    assert found.kind == "humanoid"


def rooted_in_the_chest():
    """As physics engines have it: the pelvis hangs at the torso."""
    names = ["torso", "head", "waist_lower", "pelvis"]
    parents, points = [-1, 0, 0, 2], [(0.0, 0.0, 1.4), (0.0, 0.0, 1.7), (0.0, 0.0, 1.1), (0.0, 0.0, 1.0)]
    for side, y in (("left", 0.1), ("right", -0.1)):
        for limb, above in ((("thigh", "shin", "foot"), 3), (("upper_arm", "lower_arm", "hand"), 0)):
            for place, part in enumerate(limb):
                parents.append(above if place == 0 else len(names) - 1)
                names.append(f"{side}_{part}")
                points.append((0.0, y, points[above][2] - 0.1 - 0.4 * place))
    return skeleton_of(names, parents, points, up="z")


def test_a_tree_that_begins_at_the_chest():
    found = poise.find_roles(rooted_in_the_chest())
    assert [found.joints[role] for role in ("hips", "spine", "chest", "head")] == [
        "pelvis", "waist_lower", "torso", "head",
    ]  # fmt: skip
    assert found.confidence["hips"] < 0.8
    assert found.missing == ()


def test_a_root_on_the_ground_is_not_the_hips():
    made = figure(CONVENTIONS["vrm"])
    parents = [-1, *(0 if name == "spine" else row + 1 for name, row in zip(made.names, made.parents, strict=True))]
    found = poise.find_roles(skeleton_of(["Root", *made.names], parents, [(0.0, 0.0, 0.0), *made.points]))
    assert found.joints["hips"] == "hips"  # though the spine hangs at the root, beside them
    assert "'Root' carries legs and spine" in found.reasons["hips"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lhand", ("l", "hand")), ("rfoot", ("r", "foot")), ("LHAND", ("l", "hand")), ("leg", ("leg",)),
        ("rupperarm", ("r", "upperarm")), ("lantern", ("lantern",)),
        ("lfemurrz", ("l", "femur")), ("thoraxrx", ("thorax",)), ("larmty", ("l", "arm")), ("liberty", ("liberty",)),
        ("Armature|mixamorig:LeftHand", ("left", "hand")),
    ],
)  # fmt: skip
def test_a_name_is_cut_into_words(name, words):
    assert tokenize_name(name) == words


@pytest.mark.parametrize(
    ("count", "roles"), [(3, ["UpperArm", "LowerArm", "Hand"]), (4, ["Shoulder", "UpperArm", "LowerArm", "Hand"])]
)
def test_the_bones_of_an_arm_may_be_counted(count, roles):
    """Of four the first is the clavicle."""
    made = figure(CONVENTIONS["vrm"])
    names = list(made.names)
    for side in ("left", "right"):
        for number, role in enumerate(roles, 1):
            names[made.names.index(made.roles[f"{side}{role}"])] = f"{side} arm {number}"
    found = poise.find_roles(skeleton_of(names, made.parents, made.points))
    for side in ("left", "right"):
        assert [found.joints[f"{side}{role}"] for role in roles] == [f"{side} arm {i}" for i in range(1, count + 1)]


@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
def test_sensors_beside_hinges_that_are_named_with_their_axis(data):
    """The sites `lhand_touch` and `lhumerus_ft` hang beside the hinges `lhandrx` and `lhumerusrx`."""
    found = poise.find_roles(poise.load(data / "mjcf" / "humanoid_CMU_V2020.xml"))
    assert found.kind == "humanoid"
    assert found.missing == ()
    assert not any(joint.endswith(("_touch", "_ft", "_site")) for joint in found.joints.values())
    limbs = {"leftUpperArm": "lhumerusrx", "leftLowerArm": "lradiusrx", "leftHand": "lwristry", "leftFoot": "lfootrx"}
    assert {role: found.joints[role] for role in limbs} == limbs


def test_seven_numbered_hinges_of_a_robot_are_no_four_bones():
    """Several of them are one shoulder and one wrist: the fourth of them is the elbow, the last one the hand."""
    names, parents, points = ["torso", "head"], [-1, 0], [(0.0, 0.0, 1.0), (0.0, 0.0, 1.6)]
    for side, y in (("left", 0.2), ("right", -0.2)):
        for place in range(1, 8):
            parents.append(0 if place == 1 else len(names) - 1)
            names.append(f"arm_{side}_{place}_joint")
            points.append((0.0, y, 1.5 - 0.1 * place))
    offsets = [
        np.subtract(point, points[above] if above >= 0 else 0.0) for point, above in zip(points, parents, strict=True)
    ]
    kinds = [poise.Kind.HINGE if name.startswith("arm") else poise.Kind.FIXED for name in names]
    robot = poise.Skeleton.build(names, parents, kinds, offsets=offsets, axes=[(0, 1, 0)] * len(names), up="z")
    found = poise.find_roles(robot).joints
    for side in ("left", "right"):
        arm = {part: found[f"{side}{part}"] for part in ("UpperArm", "LowerArm", "Hand")}
        numbers = {"UpperArm": 1, "LowerArm": 4, "Hand": 7}
        assert arm == {part: f"arm_{side}_{number}_joint" for part, number in numbers.items()}


def test_locked_hinges_among_numbered_ones_keep_their_arm():
    """Only the second, fourth and fifth of seven joints move: the others count for where the elbow is."""
    kinds = [poise.Kind.HINGE if place in (2, 4, 5) else poise.Kind.FIXED for place in range(1, 8)]
    names = [f"arm_{side}_{place}_joint" for side in ("left", "right") for place in range(1, 8)]
    parents = [-1, *(0 if place in (0, 7) else place for place in range(14))]
    steps = [(0.0, y, -0.1) if place else (0.0, 2.0 * y, 0.5) for y in (0.1, -0.1) for place in range(7)]
    robot = poise.Skeleton.build(
        ["torso", *names], parents, [poise.Kind.FIXED, *kinds, *kinds], offsets=[(0.0, 0.0, 1.0), *steps],
        axes=[(1, 0, 0)] * 15, up="z",
    )  # fmt: skip
    found = poise.find_roles(robot).joints
    for side in ("left", "right"):
        assert found[f"{side}LowerArm"] == f"arm_{side}_4_joint"
        assert found[f"{side}Hand"] == f"arm_{side}_7_joint"


def test_limbs_of_numbered_hinges_are_those_of_named_ones(data, tmp_path):
    """The G1 with the names leg_l1 to leg_l6 and arm_l1 to arm_l7."""
    text, hinges = (data / "urdf/g1_29dof.urdf").read_text(), {}
    leg = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
    arm = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch", "wrist_yaw")
    for side, (part, names) in product(("left", "right"), (("leg", leg), ("arm", arm))):
        hinges |= {f"{side}_{name}": f"{part}_{side[0]}{number}" for number, name in enumerate(names, 1)}
    for name, number in hinges.items():
        text = text.replace(f"{name}_joint", f"{number}_joint").replace(f"{name}_link", f"{number}_link")
    (tmp_path / "numbered.urdf").write_text(text)
    found = poise.load(tmp_path / "numbered.urdf").roles
    numbers = {"UpperArm": 2, "LowerArm": 4, "UpperLeg": 2, "LowerLeg": 4, "Foot": 6}
    for (part, number), side in product(numbers.items(), ("left", "right")):
        assert found.joints[f"{side}{part}"] == f"{'arm' if part.endswith('Arm') else 'leg'}_{side[0]}{number}_joint"
    assert found.missing == ()


def test_frames_of_motors_beside_an_ankle_are_no_foot():
    """Parallel ankles have fixed frames in the shin, above the hinges and named like them."""
    names, parents, offsets, kinds = ["pelvis"], [-1], [(0.0, 0.0, 1.0)], [poise.Kind.FIXED]
    for side, y in (("left", 0.1), ("right", -0.1)):
        leg = [("hip_pitch", (0, y, 0)), ("hip_roll", (0, 0, 0)), ("knee", (0, 0, -0.4)), ("ankle_A", (0, 0, -0.1)),
               ("ankle_A_rod", (0, 0, -0.1)), ("ankle_pitch", (0, 0, -0.4)), ("ankle_roll", (0, 0, 0))]  # fmt: skip
        row_of = {"": 0}
        for name, offset in leg:
            above = {"ankle_A": "knee", "ankle_pitch": "knee", "hip_pitch": ""}.get(name, [*row_of][-1])
            parents.append(row_of[above])
            row_of[name] = len(names)
            names.append(f"{side}_{name}_joint")
            offsets.append(offset)
            kinds.append(poise.Kind.FIXED if "_A" in name else poise.Kind.HINGE)
    axes = [(1, 0, 0) if "roll" in name else (0, 1, 0) for name in names]
    robot = poise.Skeleton.build(names, parents, kinds, offsets=offsets, axes=axes, up="z")
    found = poise.find_roles(robot).joints
    assert [found[f"{side}Foot"] for side in ("left", "right")] == ["left_ankle_roll_joint", "right_ankle_roll_joint"]


def test_legs_of_numbered_hinges_with_a_sole_in_line_are_sure_to_bend():
    """Straight legs like those of TALOS, with soles below: a bone in line was taken for a twist bone, or the knee."""
    names, parents, offsets = ["base", "torso_joint"], [-1, 0], [(0.0, 0.0, 1.0), (0.0, 0.0, 0.1)]
    kinds = [poise.Kind.FIXED, poise.Kind.HINGE]
    for limb, y, start in (("leg", 0.1, -0.1), ("arm", 0.2, 0.4)):
        for side, way in (("left", 1.0), ("right", -1.0)):
            lengths = [(0.0, way * y, start), (0, 0, 0), (0, 0, 0), (0, 0, -0.38), (0, 0, -0.325), (0, 0, 0)]
            for number, offset in enumerate(lengths, start=1):
                parents.append(("leg", "arm").index(limb) if number == 1 else len(names) - 1)
                names.append(f"{limb}_{side}_{number}_joint")
                offsets.append(offset)
                kinds.append(poise.Kind.HINGE)
            parents.append(len(names) - 1)
            names.append(f"{limb}_{side}_sole_fix_joint")
            offsets.append((0, 0, -0.107))
            kinds.append(poise.Kind.FIXED)
    axes = {1: (0, 0, 1), 2: (1, 0, 0), 3: (0, 1, 0), 4: (0, 1, 0), 5: (0, 1, 0), 6: (1, 0, 0)}
    turns = [next((axis for number, axis in axes.items() if f"_{number}_" in name), (0, 1, 0)) for name in names]
    robot = poise.Skeleton.build(names, parents, kinds, offsets=offsets, axes=turns, up="z")
    found = poise.find_roles(robot).joints
    for side in ("left", "right"):
        assert found[f"{side}LowerLeg"] == f"leg_{side}_4_joint"
        assert found[f"{side}Foot"] == f"leg_{side}_6_joint"
