"""LookAt without an axis: the face looks at the target, wherever the head's own axes point."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest

import poise
from poise import InputError, LookAt
from poise.io import samples
from poise.maths import rotations
from poise.model.joints import Kind
from tests.command_line import run
from tests.model.creatures import horse, insect
from tests.model.humanoid_figures import CONVENTIONS, figure, skeleton_of
from tests.model.humanoid_truth import HUMANOIDS, QUADRUPEDS
from tests.model.test_humanoid import load

pytestmark = pytest.mark.filterwarnings("ignore::poise.PoiseWarning")

# where the figures of the data look at rest, seen in a viewer: +z but for these
LOOKS = {"glb/cesium_man.gltf": (1, 0, 0), "glb/cryptovoxels.vrm": (0, 0, -1), "bvh/walk_makehuman_zup.bvh": (0, -1, 0)}
NO_POSE = {"bvh/jesse_dance_rokoko.bvh"}  # at rest all bones lie along one axis
FIGURES = [name for name in (*HUMANOIDS, *QUADRUPEDS) if not name.startswith("urdf") and name not in NO_POSE]


def face_angles(start, looks, head, ways):
    """How far the face is from each target where it was reached [rad]; the face is `looks`, carried with the head."""
    rest = poise.Pose(start.skeleton, start.skeleton.rest_q).world[head]
    face = rotations.rotate(rotations.inverse(np.array(rest.rotations)), np.array(looks, dtype=np.float64))
    size = float(np.ptp(start.world.positions, axis=0).max())
    targets = rest.positions + 2.0 * size * ways
    result = poise.solve(start, LookAt(head, targets))
    assert result.reached.all()
    world = result.pose.world[head]
    to = targets - world.positions
    observed = rotations.rotate(np.array(world.rotations), face)
    return np.arctan2(np.linalg.norm(np.cross(observed, to), axis=-1), (observed * to).sum(axis=-1))


def around(looks, up, count=20):
    """Ways up to 60 degrees to the sides of where a figure looks, 25 up and down."""
    chance = np.random.default_rng(5)
    aside, above = np.radians(chance.uniform(-60, 60, count)), np.radians(chance.uniform(-25, 25, count))
    left = np.cross(up, looks)
    level = np.outer(np.cos(aside), looks) + np.outer(np.sin(aside), left)
    return np.cos(above)[:, None] * level + np.outer(np.sin(above), up)


@pytest.mark.parametrize("name", FIGURES)
def test_the_face_of_every_figure_looks_at_the_target(data, name):
    rig = load(data, name)
    looks = np.array(LOOKS.get(name, (0, 0, 1)), dtype=np.float64)
    up = np.array((0.0, 0.0, 1.0) if "zup" in name else (0.0, 1.0, 0.0))
    head = poise.find_roles(rig).joints["head"]
    assert np.degrees(face_angles(rig.rest, looks, head, around(looks, up)).max()) < 2.0


@pytest.mark.parametrize("kind", ["walk_T", "walk_A", "walk_hang", "walk_up", "walk_rolled"])
def test_other_rest_poses_and_rolled_bones(data, kind):
    rest = poise.load(data / f"bvh/rest/{kind}.bvh").rest
    looks, up = np.array((0.0, 0.0, 1.0)), np.array((0.0, 1.0, 0.0))
    assert np.degrees(face_angles(rest, looks, "Head", around(looks, up)).max()) < 2.0


@pytest.mark.parametrize("name", NO_POSE)
def test_a_rest_pose_that_is_no_pose_shows_no_face(data, name):
    observed = LookAt("Head", (1, 1, 1)).sight(poise.load(data / name).skeleton)
    assert (observed.axis, observed.reason) == ((0.0, 0.0, 1.0), "+z of the joint: the up direction is unknown")


@pytest.mark.parametrize("made", [horse(), insect()], ids=["horse", "insect"])
def test_animals_look_where_their_front_legs_are(made):
    skeleton = made.skeleton(z_up=True)
    observed = LookAt("head", (1, 1, 1)).sight(skeleton)
    np.testing.assert_allclose(observed.axis, (0, -1, 0), atol=1e-12)
    assert observed.reason == "the front legs"


def rolled(seed, flat=False):
    """A body whose frames point anywhere, and its rest."""
    made = figure(CONVENTIONS["vrm"])
    points = np.array(made.points)
    if flat:
        points[:, 2] = 0.0
    chance = np.random.default_rng(seed)
    frames = chance.normal(size=(len(points), 4))
    frames /= np.linalg.norm(frames, axis=1, keepdims=True)
    back = [rotations.inverse(frames[parent]) if parent >= 0 else np.eye(4)[0] for parent in made.parents]
    own = [rotations.multiply(turn, frame) for turn, frame in zip(back, frames, strict=True)]
    ways = [point - (points[p] if p >= 0 else 0.0) for point, p in zip(points, made.parents, strict=True)]
    offsets = [rotations.rotate(turn, way) for turn, way in zip(back, ways, strict=True)]
    kinds = [Kind.BALL] * len(points)
    return poise.Skeleton.build(
        made.names, made.parents, kinds, offsets=np.array(offsets), rotations=np.array(own), up="y"
    )


@pytest.mark.parametrize("joint", ["head", "neck", "spine", "hips"])
@pytest.mark.parametrize("flat", [False, True])
def test_what_carries_the_head_looks_where_the_face_does(joint, flat):
    """Also where neither feet nor knees show it: left and right do."""
    skeleton = rolled(4, flat)
    rest = poise.Pose(skeleton, skeleton.rest_q)
    observed = LookAt(joint, (1, 1, 1)).sight(skeleton)
    np.testing.assert_allclose(
        rotations.rotate(rest.world[joint].rotations, np.array(observed.axis)), (0, 0, 1), atol=1e-12
    )
    assert observed.reason == ("left and right" if flat else "the feet")


def test_a_hand_and_an_axis_that_is_given_look_as_before():
    skeleton = rolled(4)
    hand = LookAt("leftHand", (1, 1, 1)).sight(skeleton)
    assert hand.axis == (0.0, 0.0, 1.0)
    assert hand.reason == "+z of the joint: 'leftHand' is neither above nor below the head"
    assert LookAt("head", (1, 1, 1), axis=(0, 0, 1)).sight(skeleton) == ((0.0, 0.0, 1.0), "given", True)
    chain = skeleton_of(["a", "b"], [-1, 0], [(0, 0, 0), (0, 1, 0)])
    assert LookAt("b", (1, 1, 1)).sight(chain).reason == "+z of the joint: no head is known"


ROBOT = """<robot name="r">{links}
{joints}</robot>"""
_JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{name}_link"/>
<origin xyz="{at}" rpy="{turn}"/><axis xyz="{axis}"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>"""


def robot(tmp_path, *, head=True, sides=1.0):
    """A robot of hinges that looks along +x where its left is +y, its head turned about z in its own frame."""
    rows = [("waist_yaw", "pelvis", "0 0 0.1", "0 0 1", "0 0 0")]
    rows += [("head_yaw", "waist_yaw_link", "0 0 0.5", "0 0 1", "0 0 1.2")] if head else []
    for side, sign in (("left", sides), ("right", -sides)):
        for name, parent, at, axis in (
            ("hip_pitch", "pelvis", f"0 {0.1 * sign} 0", "0 1 0"),
            ("knee", f"{side}_hip_pitch_link", "0 0 -0.4", "0 1 0"),
            ("ankle_pitch", f"{side}_knee_link", "0 0 -0.4", "0 1 0"),
            ("shoulder_pitch", "waist_yaw_link", f"0 {0.2 * sign} 0.4", "0 1 0"),
            ("elbow", f"{side}_shoulder_pitch_link", f"0 {0.2 * sign} 0", "0 0 1"),
            ("wrist_roll", f"{side}_elbow_link", f"0 {0.2 * sign} 0", "0 1 0"),
        ):
            rows.append((f"{side}_{name}", parent, at, axis, "0 0 0"))
    joints = "\n".join(
        _JOINT.format(name=name, kind="revolute", parent=parent, at=at, axis=axis, turn=turn)
        for name, parent, at, axis, turn in rows
    )
    links = "".join(f'<link name="{name}"/>' for name in ("pelvis", *(f"{row[0]}_link" for row in rows)))
    path = tmp_path / "robot.urdf"
    path.write_text(ROBOT.format(links=links, joints=joints))
    return poise.load(path)


class TestRobots:
    @pytest.mark.parametrize("sides", [1.0, -1.0])
    @pytest.mark.parametrize("joint", ["head_yaw", "waist_yaw"])
    def test_left_and_right_say_where_the_face_is(self, tmp_path, joint, sides):
        rest = robot(tmp_path, sides=sides).rest
        observed = LookAt(joint, (1, 1, 1)).sight(rest.skeleton)
        assert (observed.reason, observed.is_known) == ("left and right", True)
        ahead = rotations.rotate(rest.world[joint].rotations, np.array(observed.axis))
        np.testing.assert_allclose(ahead, (sides, 0, 0), atol=1e-12)

    def test_the_face_turns_to_the_target(self, tmp_path):
        rest = robot(tmp_path).rest
        head = rest.world["head_yaw"].positions
        result = poise.solve(rest, LookAt("head_yaw", head + np.array([1.0, 0.7, 0.0])))
        assert result.reached
        face = rotations.rotate(result.pose.world["head_yaw"].rotations, np.array((np.cos(1.2), -np.sin(1.2), 0)))
        np.testing.assert_allclose(face, np.array([1.0, 0.7, 0.0]) / np.hypot(1.0, 0.7), atol=1e-5)

    def test_the_g1_of_the_test_data_looks_along_x(self, data):
        observed = LookAt("head_joint", (1, 1, 1)).sight(poise.load(data / "urdf/g1_29dof.urdf").skeleton)
        assert observed == ((1.0, 0.0, 0.0), "left and right", True)


class TestNothingSaysWhereTheFaceIs:
    def test_a_warning_once_for_a_joint_names_the_way_out(self, tmp_path):
        rest = robot(tmp_path, head=False).rest
        goal, hand = LookAt("waist_yaw", (3, 1, 0.4)), poise.Position("left_wrist_roll", (0.3, 0.4, 0.3))
        with pytest.warns(poise.PoiseWarning, match=r"\+z of 'waist_yaw': no head is known; name .* axis=") as warned:
            _ = [poise.solve(rest, goal), poise.solve(rest, [goal, hand]), poise.Tracker(rest, goal)([1, 1, 1])]
        assert len(warned) == 1

    def test_a_hand_is_warned_of_and_an_axis_silences(self):
        start = poise.Pose(rolled(4), rolled(4).rest_q)
        poise.solve(start, LookAt("leftHand", (1, 1, 1), axis=(0, 0, 1)))
        with pytest.warns(poise.PoiseWarning, match="'leftHand' is neither above nor below the head"):
            poise.solve(start, LookAt("leftHand", (1, 1, 1)))

    def test_a_face_that_is_visible_is_no_matter_for_a_warning(self):
        poise.solve(START, LookAt("head", TARGET))  # warnings are errors here


@pytest.mark.parametrize(("version", "faces"), [("VRM", -1.0), ("VRMC_vrm", 1.0)])
def test_vrm_says_where_its_figures_look(tmp_path, version, faces):
    bones = ["hips", "head"]
    humanoid = {"humanBones": [{"bone": bone, "node": node} for node, bone in enumerate(bones)]}
    if version == "VRMC_vrm":
        humanoid = {"humanBones": {bone: {"node": node} for node, bone in enumerate(bones)}}
    nodes = [{"name": "a", "children": [1]}, {"name": "b", "translation": [0, 1, 0], "rotation": [0, 1, 0, 0]}]
    skin = [{"joints": [0, 1]}]
    path = tmp_path / "a.vrm"
    extensions = {version: {"humanoid": humanoid}}
    path.write_text(json.dumps({"asset": {"version": "2.0"}, "nodes": nodes, "skins": skin, "extensions": extensions}))
    observed = LookAt("head", (1, 1, 1)).sight(poise.load(path).skeleton)
    np.testing.assert_allclose(observed.axis, (0, 0, -faces), atol=1e-12)  # the head is turned by half a turn
    assert observed.reason == "the file's VRM version"


START = poise.Pose(rolled(4), rolled(4).rest_q)
TARGET = START.world["head"].positions + np.array([1.0, 0.3, 1.5])


def face(pose):
    axis = LookAt("head", TARGET).sight(pose.skeleton).axis
    world = pose.world["head"]
    to, observed = TARGET - world.positions, rotations.rotate(np.array(world.rotations), np.array(axis))
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(observed, to), axis=-1), (observed * to).sum(axis=-1)))


def test_prepared_tracked_and_baked():
    goal = LookAt("head", TARGET)
    known = poise.solve(START, goal)
    assert known.reached
    assert face(known.pose) < 0.01
    assert np.array_equal(poise.prepare(START, goal)(TARGET).q, known.q)
    assert face(poise.Tracker(START, goal)(TARGET).pose) < 0.01
    clip = poise.Clip(np.arange(3) / 30.0, poise.Pose(START.skeleton, np.tile(START.q, (3, 1))), "still")
    assert face(poise.bake(clip, goal).poses).max() < 0.01


def test_the_face_stays_the_face_in_copies():
    goal = LookAt("head", TARGET, over=("neck", "head"))
    given = LookAt("head", TARGET, axis=(0, 0, 1), over=("neck", "head"))
    again = pickle.loads(pickle.dumps(goal))  # noqa: S301
    for other in (goal.with_target(TARGET), copy.deepcopy(goal), again):
        assert other.sight(START.skeleton) == goal.sight(START.skeleton)
    assert dataclasses.replace(goal, weight=2.0).sight(START.skeleton) == goal.sight(START.skeleton)
    assert given.with_target(TARGET).sight(START.skeleton).reason == "given"
    assert not np.array_equal(poise.solve(START, goal).q, poise.solve(START, given).q)


def test_an_axis_without_a_length_is_still_refused():
    with pytest.raises(InputError):
        LookAt("head", TARGET, axis=(0, 0, 0))


def test_it_is_found_once(monkeypatch):
    from poise.model.roles import role_search

    skeleton = rolled(9)
    requested, search = [], role_search.search_skeleton
    monkeypatch.setattr(role_search, "search_skeleton", lambda given: requested.append(given) or search(given))
    start = poise.Pose(skeleton, skeleton.rest_q)
    poise.solve(start, poise.Position("leftHand", (0.4, 1.2, 0.3)), natural=False)  # asks for roll bones
    for target in ((1, 1, 1), (1, 2, 1)):
        poise.solve(start, LookAt("head", target))
    assert len(requested) == 1


def test_the_face_at_the_command_line(data):
    path = data / "glb/human_anim_m2m.glb"
    known = json.loads(run("solve", path, "--joint", "head", "--look-at", "1", "1.8", "2", "--json").stdout)
    assert known["reached"]
    text = run("info", path).stdout
    assert "face: head looks along (0, 0.087, 0.996) of its own frame, judged by the feet" in text
    assert json.loads(run("info", path, "--json").stdout)["face"]["reason"] == "the feet"


def test_a_look_in_the_viewer_is_the_face():
    from poise.viewer.document.chains import build_chain

    chain = build_chain(START, "look", None, "head", "look").replace(position=tuple(TARGET.tolist()))
    result = poise.solve(START, chain.build_goals(START.skeleton))
    assert face(result.pose) < 0.01
    given = poise.solve(START, chain.replace(axis=(1.0, 0.0, 0.0)).build_goals(START.skeleton))
    assert face(given.pose) > 10.0


def test_the_samples_look_along_z_as_ever():
    for name in ("humanoid.glb", "humanoid.bvh"):
        assert LookAt("Head", (1, 1, 1)).sight(poise.load(samples.path(name)).skeleton).axis == (0.0, 0.0, 1.0)
