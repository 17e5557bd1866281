"""Which of several joints has a role, and what a figure that stands oddly is."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import poise
from poise.model.roles.bone_names import REQUIRED_BONES
from tests.model.humanoid_figures import CONVENTIONS, figure, skeleton_of
from tests.model.test_humanoid_structure import back, nameless

pytestmark = pytest.mark.filterwarnings("ignore::poise.PoiseWarning")


def second_leg(made, names):
    """The figure with a leg more, of these names, at the root."""
    rows = len(made.names)
    parents = [*made.parents, *(-1 if place == 0 else rows + place - 1 for place in range(len(names)))]
    points = [*made.points, *((0.1, 0.9 - 0.4 * place, 0.0) for place in range(len(names)))]
    return skeleton_of([*made.names, *names], parents, points)


def test_a_bone_that_deforms_before_its_original():
    made = figure(CONVENTIONS["rigify"])
    found = poise.find_roles(second_leg(made, ["ORG-thigh.L", "ORG-shin.L", "ORG-foot.L"]))
    assert found.legs[0] == poise.Leg("left", "DEF-thigh.L", "DEF-shin.L", "DEF-foot.L", "DEF-toe.L")


def test_a_joint_of_the_skin_before_others():
    made = figure(CONVENTIONS["blender small"])
    s = second_leg(made, ["thigh_l", "shin_l", "foot_l"])
    skin = poise.Skin("", tuple(made.names), np.tile(np.eye(4), (len(made.names), 1, 1)))
    found = poise.find_roles(poise.Rig(s, poise.Pose(s, s.rest_q), skins=(skin,)))
    assert found.legs[0] == poise.Leg("left", "thigh_l", "shin_l", "foot_l", "toe_l")


def test_a_hand_of_the_arm_before_one_at_the_root():
    s = second_leg(figure(CONVENTIONS["blender small"]), ["hand_l"])
    assert poise.find_roles(s).joints["leftHand"] == "hand_l"


def test_a_plain_name_before_one_with_other_words():
    s = second_leg(figure(CONVENTIONS["blender small"]), ["trouser_thigh_l", "trouser_shin_l", "trouser_foot_l"])
    assert poise.find_roles(s).joints["leftLowerLeg"] == "shin_l"


def test_a_name_with_other_words_is_worth_less_unless_all_names_have_them():
    made = figure(CONVENTIONS["vrm"])
    plain = [f"Bob_{name}" for name in made.names]
    odd = [name if name != "Bob_leftFoot" else "Bob_leftFoot_trouser" for name in plain]
    both = [poise.find_roles(skeleton_of(names, made.parents, made.points)) for names in (plain, odd)]
    assert both[0].confidence["leftFoot"] == both[0].confidence["rightFoot"] >= 0.8
    assert both[1].confidence["leftFoot"] == 0.6


def test_a_joint_has_one_role():
    made = figure(CONVENTIONS["vrm"])
    names = [{"leftHand": "q", "chest": "leftHand"}.get(name, name) for name in made.names]
    joints = poise.find_roles(skeleton_of(names, made.parents, made.points)).joints
    assert len(set(joints.values())) == len(joints)


@pytest.mark.parametrize("palm", ["{s}_index_metacarpal", "{S}InHandIndex"])
def test_a_bone_in_the_palm_is_no_finger(palm):
    made = figure(CONVENTIONS["vrm"])
    names = [palm.format(s="left", S="Left"), "left_index_1", "left_index_2"]
    hand = made.names.index("leftHand")
    parents = [*made.parents, hand, len(made.names), len(made.names) + 1]
    points = [*made.points, (0.75, 1.45, 0.0), (0.8, 1.45, 0.0), (0.83, 1.45, 0.0)]
    joints = poise.find_roles(skeleton_of([*made.names, *names], parents, points)).joints
    assert joints["leftIndexProximal"] == "left_index_1"
    alone = poise.find_roles(skeleton_of([*made.names, names[0]], [*made.parents, hand], points[:-2])).joints
    assert "leftIndexProximal" not in alone


def test_thumbs_of_vrm_0_have_the_names_of_vrm_1(tmp_path):
    old = ["leftThumbProximal", "leftThumbIntermediate", "leftThumbDistal", "leftIndexProximal"]
    bones = [{"bone": bone, "node": node} for node, bone in enumerate(old)]
    nodes = [{"name": name} for name in "abcd"]
    extensions = {"VRM": {"humanoid": {"humanBones": bones}}}
    path = tmp_path / "thumb.vrm"
    path.write_text(json.dumps({"asset": {"version": "2.0"}, "nodes": nodes, "extensions": extensions}))
    assert poise.load(path).humanoid == {
        "leftThumbMetacarpal": "a", "leftThumbProximal": "b", "leftThumbDistal": "c", "leftIndexProximal": "d",
    }  # fmt: skip


def plain_body():
    made = figure(CONVENTIONS["vrm"])
    return made, [f"q{row}" for row in range(len(made.names))], np.array(made.points)


def required(made, names):
    plain = dict(zip(made.names, names, strict=True))
    return {role: plain[made.roles[role]] for role in REQUIRED_BONES}


def found_required(found):
    return {role: found.joints.get(role) for role in REQUIRED_BONES}


def test_arms_that_are_longer_than_legs():
    made, names, points = plain_body()
    arms = [row for row, name in enumerate(made.names) if "Arm" in name or "Hand" in name]
    points[arms, 0] *= 3.0
    found = poise.find_roles(skeleton_of(names, made.parents, points, up=None))
    assert found_required(found) == required(made, names)


def test_ears_are_no_limbs():
    made, names, points = plain_body()
    head = made.names.index("head")
    parents, ears = list(made.parents), []
    for side in (-1.0, 1.0):
        for place in range(3):
            parents.append(head if place == 0 else len(parents) - 1)
            ears.append((0.1 * side, 1.7 + 0.05 * place, 0.0))
    all_names = names + [f"q{len(names) + place}" for place in range(6)]
    found = poise.find_roles(skeleton_of(all_names, parents, [*points, *ears]))
    assert found_required(found) == required(made, names)


def bowing(points, names, hands):
    """A figure whose trunk lies level, and whose arms hang from it, the hands so far below."""
    points = np.array(points)
    for row, name in enumerate(names):
        side = 1.0 if name.startswith("left") else -1.0
        if points[row, 1] > 1.0:
            points[row] = (0.0, 1.05, points[row, 1] - 1.0)
        for part, place in (("Shoulder", 0.0), ("UpperArm", 0.0), ("LowerArm", 0.5), ("Hand", 1.0)):
            if name.endswith(part):
                points[row] = (0.15 * side, 1.05 - place * hands, 0.45)
    return points


def test_a_bowing_figure_whose_arms_hang_is_no_quadruped():
    made, names, points = plain_body()
    found = poise.find_roles(skeleton_of(names, made.parents, bowing(points, made.names, hands=0.5)))
    assert found.kind == "humanoid"


@pytest.mark.parametrize("fingers", [(), ("Thumb1", "Index1")])
def test_hands_that_stand_on_the_floor_are_paws_unless_they_have_fingers(fingers):
    made, _, points = plain_body()
    names, parents, places = list(made.names), list(made.parents), list(bowing(points, made.names, hands=1.0))
    for side in ("left", "right"):
        hand = made.names.index(side + "Hand")
        for place, finger in enumerate(fingers):
            names, parents = [*names, f"{side}Hand{finger}"], [*parents, hand]
            places.append(places[hand] + (0.02 * place, 0.0, 0.05))
    found = poise.find_roles(skeleton_of(names, parents, places))
    assert found.kind == ("humanoid" if fingers else "quadruped")
    if fingers:
        assert not found.missing
        assert found.joints["leftHand"] == "leftHand"


def test_sides_in_names_that_say_nothing_else_are_kept():
    made, names, points = plain_body()
    letters = {"l": ".L", "r": ".R"}
    sided = [
        name + (letters[old[0]] if old.startswith(("left", "right")) else "")
        for name, old in zip(names, made.names, strict=True)
    ]
    found = poise.find_roles(skeleton_of(sided, made.parents, points * [-1.0, 1.0, 1.0]))
    assert found_required(found) == required(made, sided)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_units_at_the_end_of_the_numbers(scale):
    made, names, points = plain_body()
    found = poise.find_roles(skeleton_of(names, made.parents, points * scale))
    assert found_required(found) == required(made, names)


def test_places_beyond_the_numbers_are_answered():
    s = poise.Skeleton.build(["a", "b", "c"], [-1, 0, 1], [3, 3, 3], offsets=[(0.0, 1e308, 0.0)] * 3)
    assert poise.find_roles(s).kind == "other"


@pytest.mark.parametrize(
    ("name", "thigh"),
    [
        ("urdf/simple_humanoid/urdf/simple_humanoid.urdf", "LLEG_HIP_P"),
        ("urdf/g1_29dof.urdf", "left_hip_yaw_joint"),  # structure alone knows no hinges of one joint that stand apart
    ],
)
def test_robots_without_names_look_along_x(data, name, thigh):
    rig = poise.load(data / name)
    found = poise.find_roles(nameless(rig))
    assert back(rig, found.joints)["leftUpperLeg"] == thigh
    assert found.confidence["leftUpperLeg"] == 0.3


def table(front, left, pattern="{end}{side}_{part}"):
    """Four legs at one body, z up; which end of x and of y the names call front and left."""
    names, parents, points = ["body"], [-1], [(0.0, 0.0, 1.0)]
    for end, x in (("F", front), ("H", -front)):
        for side, y in (("L", left), ("R", -left)):
            for place, part in enumerate(("hip", "knee", "paw")):
                parents.append(0 if place == 0 else len(names) - 1)
                names.append(pattern.format(end=end, side=side, part=part))
                points.append((0.5 * x, 0.2 * y, 1.0 - 0.5 * place))
    return skeleton_of(names, parents, points, up="z")


@pytest.mark.parametrize("pattern", ["{end}{side}_{part}", "{side}{end}_{part}", "{part}_{end}.{side}"])
@pytest.mark.parametrize("front", [-1.0, 1.0])
@pytest.mark.parametrize("left", [-1.0, 1.0])
def test_front_and_left_by_name(front, left, pattern):
    legs = {leg.name: leg.foot for leg in poise.find_roles(table(front, left, pattern)).legs}
    assert legs == {
        f"{end} {side}": pattern.format(end=letter, side=side[0].upper(), part="paw")
        for end, letter in (("front", "F"), ("hind", "H"))
        for side in ("left", "right")
    }


@pytest.mark.parametrize("left", [-1.0, 1.0])
def test_left_by_name_says_where_the_front_is(left):
    legs = {leg.name: leg.foot for leg in poise.find_roles(table(1.0, left, "{side}_{part}_{end}x")).legs}
    assert legs["front left"] == ("L_paw_Fx" if left > 0.0 else "L_paw_Hx")
    assert len(legs) == 4


def test_four_legs_that_are_all_called_left_are_reported_by_where_they_are():
    s = table(1.0, 1.0, "left_{end}{side}_{part}".replace("{side}", "{part}"))
    assert [leg.name for leg in poise.find_roles(s).legs] == ["front left", "front right", "hind left", "hind right"]


def test_legs_given_in_the_sidecar_stand_for_themselves(data):
    rig = poise.load(data / "glb/fox.glb")
    given = {"leftUpperLeg": "b_LeftLeg01_015", "leftLowerLeg": "b_LeftLeg02_016", "leftFoot": "b_LeftFoot02_018"}
    found = poise.find_roles(dataclasses.replace(rig, humanoid=given, sidecar_roles=frozenset(given)))
    assert found.legs[0] == poise.Leg("left", "b_LeftLeg01_015", "b_LeftLeg02_016", "b_LeftFoot02_018", None)
    assert found.reasons["leftFoot"] == "the sidecar"


def test_roles_that_a_caller_changes_stay_for_others():
    skeleton = poise.load(poise.sample("humanoid")).skeleton
    found = poise.find_roles(skeleton)
    hand = found.joints["leftHand"]
    found.joints.clear()
    found.confidence["rightHand"] = 0.0
    again = poise.find_roles(skeleton)
    assert again.joints["leftHand"] == hand
    assert again.confidence["rightHand"] > 0.0
