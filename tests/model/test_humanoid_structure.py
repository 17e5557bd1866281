"""Roles where names say nothing or the wrong thing."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise.io import samples
from poise.maths import rotations
from poise.model.joints import Kind
from poise.model.roles.bone_names import REQUIRED_BONES
from tests.model.humanoid_figures import CONVENTIONS, figure, skeleton_of
from tests.model.humanoid_truth import HUMANOIDS, QUADRUPEDS, truth

pytestmark = pytest.mark.filterwarnings("ignore::poise.PoiseWarning")

# rigs whose every joint is found by structure alone; the others have controls beside the limbs, or too few joints
NAMELESS = (
    "bvh/bvhio_example.bvh", "bvh/cmu_01_03_climb_ladder.bvh", "bvh/cmu_12_01_walk.bvh", "bvh/jesse_dance_rokoko.bvh",
    "bvh/jumping_jacks_cmu1.bvh", "bvh/mocapbank.bvh", "bvh/walk_makehuman_zup.bvh", "glb/cryptovoxels.vrm",
    "glb/human_anim_m2m.glb", "glb/human_female_m2m.glb", "glb/mannequiny_gdquest.glb",
    "glb/mixamo_human_makehuman.glb", "samples/humanoid.bvh", "samples/humanoid.glb",
)  # fmt: skip


def renamed(rig, names):
    """The rig with other names, and without what its file says of them."""
    new = dict(zip(rig.skeleton.names, names, strict=True))
    skeleton = dataclasses.replace(rig.skeleton, names=tuple(names), aliases={}, chains={})
    skins = tuple(dataclasses.replace(skin, joints=tuple(new[joint] for joint in skin.joints)) for skin in rig.skins)
    clips = tuple(_on(skeleton, clip) for clip in rig.clips)
    pose = dataclasses.replace(rig.pose, skeleton=skeleton)
    return dataclasses.replace(rig, skeleton=skeleton, pose=pose, clips=clips, humanoid={}, skins=skins)


def _on(skeleton, clip):
    """The same motion under other names."""
    if isinstance(clip, poise.KeyedClip):
        return poise.KeyedClip(skeleton, clip.tracks, clip.name)
    return poise.Clip(clip.times, dataclasses.replace(clip.poses, skeleton=skeleton), clip.name)


def nameless(rig):
    return renamed(rig, [f"q{row}" for row in range(len(rig.skeleton))])


def back(rig, joints):
    """The old names of the joints of a nameless rig."""
    return {role: rig.skeleton.names[int(joint[1:])] for role, joint in joints.items()}


@pytest.mark.parametrize("name", NAMELESS)
def test_structure_alone_finds_the_required_bones(data, name):
    rig = poise.load(samples.path(name[8:]) if name.startswith("samples") else data / name)
    found = poise.find_roles(nameless(rig))
    known, joints = truth(HUMANOIDS[name]), back(rig, found.joints)
    assert {role: joints.get(role) for role in REQUIRED_BONES} == {role: known[role] for role in REQUIRED_BONES}
    assert max(found.confidence.values()) <= 0.5


@pytest.mark.parametrize("name", QUADRUPEDS)
def test_structure_alone_finds_four_legs(data, name):
    rig = poise.load(data / name)
    found = poise.find_roles(nameless(rig))
    legs = {leg.name: [leg.upper, leg.lower, leg.foot, leg.toes] for leg in found.legs}
    known = {name: [joint for joint in leg if joint] for name, leg in QUADRUPEDS[name].items()}
    assert {name: list(back(rig, {j: j for j in leg if j}).values()) for name, leg in legs.items()} == known


def body(**changes):
    """A nameless body, and its truth by the same nonsense."""
    made = figure(CONVENTIONS["vrm"])
    plain = {name: f"q{row}" for row, name in enumerate(made.names)}
    roles = {role: plain[name] for role, name in made.roles.items()}
    return skeleton_of(list(plain.values()), made.parents, **{"points": made.points} | changes), roles


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 100.0, 1e150])
def test_units_do_not_matter(scale):
    s, roles = body(points=scale * np.array(figure(CONVENTIONS["vrm"]).points))
    assert poise.find_roles(s).joints == roles


def test_z_up_as_blender_has_it():
    points = np.array(figure(CONVENTIONS["vrm"]).points)
    s, roles = body(points=np.stack([points[:, 0], -points[:, 2], points[:, 1]], axis=1), up="z")
    assert poise.find_roles(s).joints == roles


@given(st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4).filter(lambda q: np.linalg.norm(q) > 0.1))
def test_a_file_that_says_no_up_may_stand_any_way(quaternion):
    turn = rotations.normalise(np.array(quaternion))
    points = rotations.rotate(turn, np.array(figure(CONVENTIONS["vrm"]).points))
    s, roles = body(points=points, up=None)
    assert poise.find_roles(s).joints == roles


@given(st.lists(st.floats(-0.002, 0.002), min_size=3 * 22, max_size=3 * 22), st.permutations(range(3)))
def test_no_body_is_quite_symmetric(noise, axes):
    made = figure(CONVENTIONS["vrm"])
    points = np.array(made.points) + np.array(noise).reshape(-1, 3)[: len(made.points)]
    s, roles = body(points=points[:, list(axes)] * ([1, 1, 1] if is_even(axes) else [-1, 1, 1]), up=None)
    assert poise.find_roles(s).joints == roles


def is_even(axes):
    return np.linalg.det(np.eye(3)[list(axes)]) > 0


def test_without_feet_or_bent_knees_the_habit_of_the_format_says_left():
    made = figure(CONVENTIONS["vrm"])
    points = np.array(made.points)
    points[:, 2] = 0.0  # flat as a drawing
    s, roles = body(points=points)
    found = poise.find_roles(s)
    assert found.joints == roles
    assert found.confidence["leftFoot"] == 0.3
    assert "the file's axes" in found.reasons["leftFoot"]


def test_names_that_say_the_other_side_are_kept_and_doubted():
    made = figure(CONVENTIONS["mixamo"])
    mirrored = np.array(made.points) * [-1.0, 1.0, 1.0]
    found = poise.find_roles(skeleton_of(made.names, made.parents, mirrored))
    assert found.joints["leftFoot"] == "mixamorig:LeftFoot"
    assert found.reasons["leftFoot"].endswith("but by the feet this is the other side")
    assert found.confidence["leftFoot"] == pytest.approx(0.63)
    assert found.confidence["hips"] == 0.9


def test_half_the_names_are_enough():
    made = figure(CONVENTIONS["mixamo"])
    names = [name if "Right" not in name and "Spine" not in name else f"q{row}" for row, name in enumerate(made.names)]
    found = poise.find_roles(skeleton_of(names, made.parents, made.points))
    truth = dict(zip(made.names, names, strict=True))
    assert {role: found.joints.get(role) for role in REQUIRED_BONES} == {
        role: truth[made.roles[role]] for role in REQUIRED_BONES
    }
    assert found.confidence["leftFoot"] > found.confidence["rightFoot"]


def test_duplicate_names_take_the_joint_nearer_to_the_trunk():
    made = figure(CONVENTIONS["blender small"])
    names = [*made.names, "thigh_l", "foot_l", "head"]
    rows = [made.names.index(name) for name in ("thigh_l", "foot_l", "head")]
    points = [*made.points, *(made.points[row] for row in rows)]
    found = poise.find_roles(skeleton_of(names, [*made.parents, *rows], points))
    assert {role: found.joints.get(role) for role in made.roles} == made.roles


def test_fixed_nodes_of_a_character_are_no_joints():
    made = figure(CONVENTIONS["kaykit"])
    kinds = [Kind.BALL] * len(made.names) + [Kind.FIXED] * 3
    names = [*made.names, "foot.l_mesh", "Head", "hand.l_1"]
    s = skeleton_of(names, [*made.parents, -1, -1, -1], [*made.points, *[(0.0, 0.0, 0.0)] * 3], kinds=kinds)
    assert poise.find_roles(s).joints["head"] == "head"
    assert poise.find_roles(s).joints["leftFoot"] == "foot.l"


def hinges(names, axes=None):
    """A leg of hinges in line, each at its height [m]."""
    heights = {"left_hip_pitch": 0.9, "left_hip_roll": 0.88, "left_hip_yaw": 0.7, "left_knee": 0.5}
    points = [(0.0, 0.1, heights.get(name, 0.1)) for name in names]
    parents = list(range(-1, len(names) - 1))
    offsets = np.diff(np.array([(0.0, 0.0, 0.0), *points]), axis=0)
    return poise.Skeleton.build(
        names, parents, [Kind.HINGE] * len(names), offsets=offsets, axes=axes or [(0, 1, 0)] * len(names), up="z"
    )


def test_of_three_hinges_the_last_that_stands_at_the_hip_is_the_thigh():
    s = hinges(["left_hip_pitch", "left_hip_roll", "left_hip_yaw", "left_knee", "left_ankle_pitch", "left_ankle_roll"])
    (leg,) = poise.find_roles(s).legs
    assert leg == poise.Leg("left", "left_hip_roll", "left_knee", "left_ankle_roll", None)


def test_a_thigh_begins_where_it_pitches():
    """Of hips that roll and twist higher up, as those of humanoid-gym's XBot, the last one further down counts."""
    names = ["left_hip_pitch", "left_hip_roll", "left_hip_yaw", "left_knee", "left_ankle_pitch", "left_ankle_roll"]
    turned = hinges(names, [(1, 0, 0), (0, 0, 1), *[(0, 1, 0)] * 4])  # the lower one pitches, whatever its name
    assert poise.find_roles(turned).legs[0].upper == "left_hip_yaw"
    twisted = hinges(names, [(1, 0, 0), (0, 1, 0), (0, 0, 1), *[(0, 1, 0)] * 3])
    assert poise.find_roles(twisted).legs[0].upper == "left_hip_roll"


def test_hands_alone_are_hands():
    fingers = [f"{finger}_{segment}_l" for finger in ("thumb", "index", "middle", "ring", "pinky") for segment in "123"]
    names = ["hand_l", *fingers]
    parents = [-1, *(0 if place % 3 == 0 else place for place in range(15))]
    points = [(0.0, 0.0, 0.0), *((0.1 * (place % 3 + 1), 0.0, 0.02 * (place // 3)) for place in range(15))]
    found = poise.find_roles(skeleton_of(names, parents, points))
    assert found.joints["leftHand"] == "hand_l"
    assert found.joints["leftThumbMetacarpal"] == "thumb_1_l"
    assert len(found.joints) == 16
    assert (found.kind, found.legs) == ("other", ())
    plain = poise.find_roles(skeleton_of([f"q{row}" for row in range(16)], parents, points))
    assert (dict(plain.joints), plain.kind) == ({}, "other")


def test_a_joint_has_one_role_where_names_and_structure_disagree():
    parents = [-1, -1, 0, 1, 3, 4, 0, 6, 7, 1, 9, 10, 2, 12]
    heights = [0, 0, 0, -1, 1, 0, 0, 1, 0, 1, -1, 0, 1, 0]
    found = poise.find_roles(skeleton_of(["foot_l"] * 14, parents, [(0.0, 0.0, float(z)) for z in heights]))
    assert len(set(found.joints.values())) == len(found.joints)


NAMES = st.sampled_from(["foot_l", "Hips", "LeftArm", "head", "rThigh", "x", "", "R", "\u00e9:|", "Finger01.L"])
PLACES = st.tuples(*[st.integers(-1, 1)] * 3)


@given(st.lists(st.tuples(st.integers(0, 30), NAMES, PLACES), max_size=30), st.sampled_from(["x", "y", "z", None]))
def test_any_tree_is_answered(rows, up):
    parents = [min(parent, row) - 1 for row, (parent, _, _) in enumerate(rows)]
    points = [place for _, _, place in rows]
    found = poise.find_roles(skeleton_of([name for _, name, _ in rows], parents, points, up=up))
    assert set(found.missing) == set(REQUIRED_BONES) - set(found.joints)
    assert len(set(found.joints.values())) == len(found.joints)
    assert len({leg.name for leg in found.legs}) == len(found.legs)
