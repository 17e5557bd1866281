"""Robots and creatures that no table of names was made for: right, or left out with a reason; never wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

import poise
from poise.maths import rotations
from poise.model.joints import Kind
from tests.model import limbless_creatures
from tests.model.creatures import Creature

# --- robots -----------------------------------------------------------------------------------------------------------

LEG = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch", "wrist_yaw")
TRUE = {"UpperLeg": "hip", "LowerLeg": "knee", "Foot": "ankle", "UpperArm": "shoulder", "Shoulder": "shoulder",
        "LowerArm": "elbow", "Hand": "wrist"}  # fmt: skip

Namer = Callable[[str, int], str]


def listed(pattern: str, words: str) -> Namer:
    """Names by a pattern: s is left, l is l, L is L, w the word of the joint, j its number from 0 and k from 1."""
    return lambda side, k: pattern.format(
        s=side, l=side[0], L=side[0].upper(), w=words.split()[k] if words else "", k=k + 1, j=k
    )


# how the hinges of legs (hip three times, knee, ankle twice) and arms (shoulder three times, elbow, wrist) are named
ROBOTS = {
    "TALOS": (listed("leg_{s}_{k}_joint", ""), listed("arm_{s}_{k}_joint", "")),
    "HRP": (listed("{L}LEG_JOINT{j}", ""), listed("{L}ARM_JOINT{j}", "")),
    "Robonaut": (listed("{s}_leg_joint_{j}", ""), listed("{s}_arm_joint_{j}", "")),
    "Atlas": (
        listed("{l}_leg_{w}", "hpy hpx hpz kny aky akx"),
        listed("{l}_arm_{w}", "shy shx shz ely uwy mwx lwy"),
    ),
    "Armar": (
        listed("Leg{L}_{w}_joint", "Hip1 Hip2 Hip3 Knee Ank1 Ank2"),
        listed("Arm{L}_{w}_joint", "Sho1 Sho2 Sho3 Elb1 Elb2 Wri1 Wri2"),
    ),
    "RL is the right leg": (
        listed("{L}L_{w}", "HFE HR HAA KFE FFE FAA"),
        listed("{L}A_{w}", "SFE SR SAA EFE W1 W2 W3"),
    ),
    "THORMANG": (
        listed("{l}_leg_{w}", "hip_p hip_r hip_y kn_p an_p an_r"),
        listed("{l}_arm_{w}", "sh_p1 sh_r sh_p2 el_y wr_r wr_y wr_p"),
    ),
    "OP2": (
        listed("{l}_{w}", "hip_pitch hip_roll hip_yaw knee ank_pitch ank_roll"),
        listed("{l}_{w}", "sho_pitch sho_roll sho_yaw el wr_a wr_b wr_c"),
    ),
    "letters": (listed("{L}{w}", "HP HR HY KN AP AR"), listed("{L}{w}", "SP SR SY EB WR WP WY")),
}  # fmt: skip


@pytest.fixture(scope="module")
def g1(data):
    """A humanoid robot with three hinges at each hip, shoulder and wrist, 2 to 10 cm apart."""
    return poise.load(data / "urdf" / "g1_29dof.urdf").skeleton


def called(robot: poise.Skeleton, leg: Namer, arm: Namer) -> tuple[poise.Skeleton, dict[str, str]]:
    """The robot with other names of its limbs and none elsewhere; and what each joint was called."""
    new = {f"frame_{row}": name for row, name in enumerate(robot.names)}
    old = {name: other for other, name in new.items()}
    for side in ("left", "right"):
        for words, namer in ((LEG, leg), (ARM, arm)):
            for k, word in enumerate(words):
                old[f"{side}_{word}_joint"] = namer(side, k)
    names = tuple(old[name] for name in robot.names)
    return dataclasses.replace(robot, names=names, aliases={}, source=None), dict(zip(names, robot.names, strict=True))


@pytest.mark.parametrize("robot", ROBOTS)
def test_no_limb_of_a_robot_gets_a_wrong_joint(g1, robot):
    skeleton, true = called(g1, *ROBOTS[robot])
    found = poise.find_roles(skeleton)
    wrong = {}
    for role, joint in found.joints.items():
        side = next((side for side in ("left", "right") if role.startswith(side)), None)
        if side is not None and not true[joint].startswith(f"{side}_{TRUE.get(role.removeprefix(side), 'nothing')}"):
            wrong[role] = joint
    assert wrong == {}
    assert {leg.name for leg in found.legs} == {"left", "right"}
    assert found.kind == "humanoid"


def test_drakes_atlas_has_its_feet_and_its_head(data):
    found = poise.find_roles(poise.load(data / "field" / "atlas_drake.urdf"))
    for side in "lr":
        word = {"l": "left", "r": "right"}[side]
        assert found.joints[f"{word}LowerLeg"] == f"{side}_leg_kny"
        assert found.joints[f"{word}Foot"] == f"{side}_leg_akx"
        assert found.joints[f"{word}LowerArm"] == f"{side}_arm_elx"  # ely twists the upper arm above the elbow
    assert found.joints["head"] == "neck_ay"
    assert found.joints["spine"] == "back_bkx"


def turned(skeleton: poise.Skeleton, degrees: float) -> poise.Skeleton:
    """The robot turned about the vertical."""
    turn = rotations.about((0.0, 0.0, 1.0), np.radians(degrees))
    A = skeleton.A.copy()
    A[0, :3], A[0, 3:] = rotations.rotate(turn, A[0, :3]), rotations.multiply(turn, A[0, 3:])
    return dataclasses.replace(skeleton, A=A)


def numbered(side: str, k: int, start: int) -> str:
    return f"joint_{start + 10 * (side == 'left') + k}"


def test_sides_are_left_out_where_the_habit_of_the_format_says_nothing(g1):
    skeleton, true = called(g1, lambda side, k: numbered(side, k, 0), lambda side, k: numbered(side, k, 40))
    ahead = poise.find_roles(skeleton)
    assert true[ahead.joints["leftFoot"]].startswith("left_ankle")
    aside = poise.find_roles(turned(skeleton, 90.0))
    assert not {role for role in aside.joints if role.startswith(("left", "right"))}
    assert aside.legs == ()
    why = "left and right are ambiguous: by the file's axes the legs are not side by side"
    assert aside.left_out["leftFoot"] == why
    assert aside.left_out["leftHand"] == why.replace("legs", "arms")


@pytest.mark.parametrize("degrees", [0, 90, 180])
def test_names_of_arms_tell_the_sides_of_legs(g1, degrees):
    skeleton, true = called(g1, lambda side, k: numbered(side, k, 0), ROBOTS["TALOS"][1])
    found = poise.find_roles(turned(skeleton, degrees))
    assert true[found.joints["leftFoot"]].startswith("left_ankle")
    assert true[found.joints["rightUpperLeg"]].startswith("right_hip")
    assert found.reasons["leftFoot"].endswith("side by the names of the other limbs")


# --- creatures --------------------------------------------------------------------------------------------------------

SEAS = {
    "shark": limbless_creatures.shark(),
    "shark with plain names": limbless_creatures.shark("b_{L}_{k}"),
    "shark with longer fins": limbless_creatures.shark("b_{L}_{k}", bones=4),
    "shark with hanging fins": limbless_creatures.shark("b_{L}_{k}", droop=1.5),
    "whale": limbless_creatures.whale(),
    "whale with plain names": limbless_creatures.whale("a_{L}_{k}", "b_{L}_{k}"),
    "whale with the names of an arm": limbless_creatures.whale("{s}_arm_{k}"),
    "lizard": limbless_creatures.lizard(),
}


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("nameless", [True, False])
@pytest.mark.parametrize("creature", SEAS)
def test_fins_and_sprawling_legs_are_no_legs_to_stand_on(creature, nameless, up):
    skeleton = SEAS[creature].skeleton(nameless=nameless, up=up)
    found = poise.find_roles(skeleton)
    assert found.kind == "other"
    assert found.legs == ()
    assert "leftFoot" not in found.joints
    pose = poise.Pose(skeleton, skeleton.rest_q)
    with pytest.raises(poise.UnsupportedError, match="no legs that can be told"):
        poise.plant_pose(pose, poise.Terrain.flat())


def test_why_limbs_are_no_legs_is_reported():
    found = poise.find_roles(SEAS["shark"].skeleton(nameless=True))
    assert found.left_out["legs"].endswith("do not hang down like legs")
    found = poise.find_roles(SEAS["whale"].skeleton(nameless=True))
    assert found.left_out["legs"].endswith("short compared to the trunk: they may be fins")
    found = poise.find_roles(SEAS["lizard"].skeleton(nameless=True, up=False))
    assert found.left_out["legs"].endswith("point apart, unlike legs")
    pose = poise.Pose(SEAS["whale"].skeleton(nameless=True), SEAS["whale"].skeleton(nameless=True).rest_q)
    with pytest.raises(
        poise.UnsupportedError, match=r"can be told \(the limbs starting at .* may be fins\): name them in"
    ):
        poise.plant_pose(pose, poise.Terrain.flat())


PEOPLE = {"leg": ("thigh", "shin", "foot", "toe"), "arm": ("shoulder", "upper_arm", "forearm", "hand")}


def crab_like_a_person(*, flat: bool, spine: bool) -> Creature:
    """A crab whose limbs are named as copies of a person's: thigh.L.1, thigh.L.2, ..."""
    made = limbless_creatures.crab("leg{k}.{L}.{p}", "arm{k}.{L}", flat=flat, spine=spine)
    for limb, words in PEOPLE.items():
        for k, word in enumerate(words, start=1):
            made.names = [name.replace(f"{limb}{k}.", f"{word}.") for name in made.names]
    return made


CRABS = {
    "crab": limbless_creatures.crab(),
    "flat crab": limbless_creatures.crab(flat=True),
    "crab with plain names": limbless_creatures.crab("x{p}{L}{k}", "y{L}{k}"),
    "crab with a body of several parts": limbless_creatures.crab("x{p}{L}{k}", "y{L}{k}", spine=True),
    "crab with legs and arms": limbless_creatures.crab("leg_{L}_{k}.{p}", "arm_{L}_{k}"),
} | {
    f"crab like a person, {'flat' if flat else 'standing'}, {'parts' if spine else 'one part'}": crab_like_a_person(
        flat=flat, spine=spine
    )
    for flat in (True, False)
    for spine in (True, False)
}


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("crab", CRABS)
def test_ten_legged_crabs_are_no_humanoids(crab, up):
    found = poise.find_roles(CRABS[crab].skeleton(up=up))
    if "flat" in crab:  # nothing shows what stands
        assert (found.kind, found.legs) == ("other", ())
    else:
        assert (found.kind, len(found.legs)) == ("multi-legged", 8)
    assert not {role for role in found.joints if role.startswith(("left", "right"))}


def test_sensors_are_no_heads():
    names = ["base", "neck_pitch", "head_camera_frame", "head_hokuyo_frame"]
    kinds = [Kind.FIXED, Kind.HINGE, Kind.FIXED, Kind.FIXED]
    skeleton = poise.Skeleton.build(names, [-1, 0, 1, 1], kinds, axes=[(0, 1, 0)] * 4, offsets=np.eye(4, 3), up="z")
    assert "head" not in poise.find_roles(skeleton).joints
