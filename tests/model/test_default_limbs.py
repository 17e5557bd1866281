"""The limbs that people are likely to mean."""

from __future__ import annotations

import poise
from poise.model.rig_roles import find_default_limbs
from tests.model.humanoid_figures import CONVENTIONS, figure, skeleton_of


def find_limbs(skeleton):
    return {
        limb.name: (limb.root, limb.tip)
        for limb in find_default_limbs(poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q)))
    }


def test_arms_and_legs_end_at_hands_and_feet():
    made = figure(CONVENTIONS["vrm"])
    roles = made.roles
    assert find_limbs(made.skeleton()) == {
        f"{side} {end}": (roles[f"{side}Upper{limb}"], roles[f"{side}{end.capitalize()}"])
        for end, limb in (("hand", "Arm"), ("foot", "Leg"))
        for side in ("left", "right")
    }


def test_an_arm_whose_hand_hangs_elsewhere_ends_at_its_elbow():
    made = figure(CONVENTIONS["vrm"])
    hand = made.names.index(made.roles["leftHand"])
    made.parents[hand] = 0
    skeleton = skeleton_of(made.names, made.parents, made.points)
    limbs = find_limbs(skeleton)
    assert limbs["left hand"] == (made.roles["leftUpperArm"], made.roles["leftLowerArm"])


def test_joints_that_correct_the_skin_of_a_limb_do_not_end_its_chain():
    """As in Unreal's figures: a joint beside the forearm carries others, which bend with the elbow."""
    made = figure(CONVENTIONS["vrm"])
    plain = made.skeleton()
    parts = [made.roles[f"left{part}"] for part in ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot")]
    for bone in (parts[0], parts[1], parts[4]):
        at = made.names.index(bone)
        made.names += [f"{bone}_correct", f"{bone}_correct_out", f"{bone}_correct_end"]
        made.parents += [at, len(made.parents), len(made.parents) + 1]
        place = made.points[at]
        made.points = [
            *made.points,
            place,
            [place[0], place[1], place[2] + 0.02],
            [place[0], place[1], place[2] + 0.04],
        ]
    skeleton = skeleton_of(made.names, made.parents, made.points)
    for tip in (parts[1], parts[2], parts[4], parts[5]):
        assert skeleton.chain(None, tip) == plain.chain(None, tip) != ()
