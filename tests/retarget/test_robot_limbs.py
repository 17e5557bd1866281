"""poise.retarget() onto robots: what their limbs can do, and what keeps them from it."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.errors import FileError
from poise.ground.robot.foot_path import FootPath, RobotSole, lean_foot
from poise.ground.robot.tree import build_tree
from poise.io.collision_shapes import CollisionShapes
from poise.maths import rotations
from poise.model.anatomy.rest_geometry import compute_rest_rotations, find_bend_hinge
from poise.model.joints import Coupling
from poise.model.limits import Range
from poise.model.skeleton import Kind
from poise.retargeting.robot_body import count_freedoms, measure_robot_body, turn_to_body
from poise.retargeting.robot_clearance import find_pairs, list_mesh_corners
from tests.retarget.characters import build_character, build_clip, build_rig

ALONG_ARM, ACROSS_ARM = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)  # of the T pose


def build_hinged(axes, *, leaders=(), locked=()):
    """A person whose left arm has hinges, by joint, and fixed joints else.

    `leaders` are pairs of a follower and its leader, `locked` those without a range.
    """
    person = build_character([1.0] * 12)
    names, followed = person.names, dict(leaders)
    arm = ("LeftShoulder", "LeftArm", "LeftForeArm", "LeftHand")
    kinds = [Kind.HINGE if name in axes else Kind.FIXED if name in arm else Kind.BALL for name in names]
    limits = [Range(-0.05, 0.05) if name in axes and name not in followed else None for name in names]
    statue = poise.Skeleton.build(
        names, person.parents, kinds, offsets=person.A[:, :3], up="y",
        axes=[axes.get(name, (0.0, 0.0, 0.0)) for name in names],
        limits=[Range(0.0, 0.0) if name in locked else limit for name, limit in zip(names, limits, strict=True)],
        couplings=[Coupling(names.index(followed[name]), 1.0, 0.0) if name in followed else None for name in names],
    )  # fmt: skip
    return build_rig(statue, humanoid=build_rig(person).roles.joints)


def retarget_hinged(*arm, **options):
    robot = build_hinged(*arm, **options)
    return poise.retarget(build_clip(build_character([1.0] * 12), 1), robot, ground=False)


@pytest.mark.parametrize(
    ("axes", "options", "stiff"),
    [
        ({"LeftForeArm": ALONG_ARM, "LeftHand": ACROSS_ARM}, {}, "left arm"),
        ({"LeftForeArm": ACROSS_ARM, "LeftHand": ACROSS_ARM}, {}, "left upper arm"),
        ({"LeftArm": ACROSS_ARM, "LeftForeArm": ACROSS_ARM},
         {"leaders": [("LeftForeArm", "LeftArm")], "locked": ["LeftArm"]}, "left arm"),
        ({"LeftShoulder": ALONG_ARM, "LeftForeArm": ACROSS_ARM}, {"locked": ["LeftForeArm"]}, "left arm"),
    ],
    ids=["twist", "elbow", "locked leader", "locked elbow"],
)  # fmt: skip
def test_bones_without_a_hinge_across_them_stay(axes, options, stiff):
    """They turned the trunk, which alone could serve them."""
    done = retarget_hinged(axes, **options)
    assert f"no joint moves the target's {stiff} against its trunk: it stays as at rest" in done.notes
    reported = {limb.role for limb in done.report.limbs}
    assert "leftUpperArm" not in reported
    assert ("leftLowerArm" in reported) == (stiff == "left upper arm")


def test_coupled_hinges_are_one_freedom():
    """An upper arm of three hinges that turn together cannot turn in any way: it points."""
    hinges = {"LeftShoulder": ACROSS_ARM, "LeftArm": ALONG_ARM, "LeftForeArm": ACROSS_ARM}
    robot = build_hinged(hinges, leaders=[("LeftArm", "LeftShoulder"), ("LeftForeArm", "LeftShoulder")])
    body = measure_robot_body(robot, robot.roles.joints)
    freedoms = count_freedoms(body, build_tree(robot.skeleton))
    assert (freedoms["leftUpperArm"], freedoms["leftLowerArm"]) == (1, 1)


def test_joints_of_the_trunk_are_no_reason_for_an_arm():
    """Nor are those behind a bone, and locked ones are at no limit."""
    hinges = {"LeftShoulder": ACROSS_ARM, "LeftArm": ALONG_ARM, "LeftForeArm": ACROSS_ARM, "LeftHand": ACROSS_ARM}
    done = retarget_hinged(hinges, locked=["LeftArm"])
    limits = {use.joint: use.at_limit for use in done.report.robot.joints}
    assert limits["LeftShoulder"] > 0.2
    assert limits["LeftForeArm"] > 0.2
    assert limits["LeftArm"] == 0.0
    assert "LeftArm " not in str(done.report.robot)
    named = {loss.split()[0]: loss.partition("at a limit: ")[2] for loss in done.report.worse if "Arm is" in loss}
    assert named["leftUpperArm"].startswith("LeftShoulder (")
    assert "," not in named["leftUpperArm"]
    assert "LeftForeArm" in named["leftLowerArm"]
    assert "LeftHand" not in named["leftLowerArm"]


@pytest.mark.parametrize("aside", [0.0, 0.2])
def test_a_sole_of_no_length_tilts_about_its_heading(aside):
    turns = np.array([[[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]])  # heading, up, right as columns
    path = FootPath(np.zeros((1, 3)), turns, np.zeros((1, 3)))
    hips, sole = np.array([[0.1, aside, 0.8]]), RobotSole(0.0, 0.0, 0.03, 0.05, 0.05)
    leaned = lean_foot(path, hips, sole)
    assert abs(leaned.turns[0, :, 2] @ (hips[0] - path.places[0])) < 1e-9
    np.testing.assert_allclose(leaned.find_corners(sole)[:, 0, 2].min(), -0.03, atol=1e-12)
    np.testing.assert_allclose(leaned.turns[0, :, 0], [1.0, 0.0, 0.0], atol=1e-12)


def build_offset_legs(offset):
    """A person with hinges as knees, beside the lines of the legs, and frames on the outside of the feet."""
    person = build_character([1.0] * 12, has_toes=False)
    names, parents, offsets = [*person.names], [*person.parents], np.array(person.A[:, :3])
    for side, way in (("Left", 1.0), ("Right", -1.0)):
        offsets[names.index(f"{side}Leg")] += way * np.array(offset)
        offsets[names.index(f"{side}Foot")] -= way * np.array(offset)
        parents.append(names.index(f"{side}Foot"))
        offsets = np.concatenate([offsets, [[0.02 * way, -0.01, 0.02]]])
    names += ["left_motor", "right_motor"]
    kinds = {"LeftLeg": Kind.HINGE, "RightLeg": Kind.HINGE, "left_motor": Kind.FIXED, "right_motor": Kind.FIXED}
    return poise.Skeleton.build(
        names, parents, [kinds.get(name, Kind.BALL) for name in names], offsets=offsets, up="y",
        axes=[(1.0, 0.0, 0.0) if name in ("LeftLeg", "RightLeg") else (0.0, 0.0, 0.0) for name in names],
    )  # fmt: skip


@pytest.mark.parametrize("offset", [(0.03, 0.0, -0.04), (-0.02, 0.0, 0.03), (0.0, 0.0, 0.0)])
def test_hinges_show_how_legs_bend(offset):
    """Joints beside the lines of legs showed other planes, and frames on feet other headings."""
    robot = build_rig(build_offset_legs(offset))
    body = measure_robot_body(robot, robot.roles.joints)
    to_body, rest = turn_to_body(body.reference.body), compute_rest_rotations(body.reference.skeleton)
    for side in ("left", "right"):
        axes = {}
        for part in ("UpperLeg", "LowerLeg", "Foot"):
            segment = body.segments[f"{side}{part}"]
            turn = rotations.multiply(rotations.from_matrix(rest[segment.row]), segment.row_frame)
            axes[part] = rotations.as_matrix(rotations.multiply(to_body, turn))
        for part in ("UpperLeg", "LowerLeg"):  # their bones are square to it, wherever along it the joint is
            np.testing.assert_allclose(axes[part][:, 1], [0.0, 1.0, 0.0], atol=1e-12)
        np.testing.assert_allclose(axes["Foot"][:, 0], [1.0, 0.0, 0.0], atol=1e-12)


class BoxMesh:
    """A mesh of the corners of a box, or one that cannot be read."""

    def __init__(self, low, high):
        self._sides = np.array([low, high])

    def read_corners(self):
        if np.isnan(self._sides).any():
            raise FileError("thigh.stl", "is not there")
        return np.array([self._sides[list(pick), range(3)] for pick in np.ndindex(2, 2, 2)])


def list_reaches(robot, meshes):
    body = measure_robot_body(robot, robot.roles.joints)
    shapes = CollisionShapes((), tuple((robot.skeleton.index(name), mesh) for name, mesh in meshes.items()))
    pairs, names = find_pairs(body, build_tree(robot.skeleton), shapes, list_mesh_corners(body, shapes)[0])
    return body.leg_length, dict(zip(names, zip(pairs.reaches, pairs.ends, strict=True), strict=True))


def test_meshes_show_how_thick_limbs_are():
    robot = build_rig(build_offset_legs((0.0, 0.0, 0.0)))
    missing = BoxMesh([np.nan] * 3, [np.nan] * 3)
    leg, usual = list_reaches(robot, {"LeftUpLeg": missing})
    # in the frame of the thigh, whose bone points down: 0.14 m wide, 0.1 m deep, from 0.02 to 0.4 m below the hip
    _, found = list_reaches(robot, {"LeftUpLeg": BoxMesh([-0.04, -0.4, -0.05], [0.1, -0.02, 0.05])})
    thigh, other = ("leftHand", "leftUpperLeg"), ("leftHand", "rightUpperLeg")
    assert found[other][0] == usual[other][0]
    width = np.hypot(0.14, 0.1)  # where it is widest
    assert found[thigh][0] - usual[thigh][0] == pytest.approx(0.5 * width - 0.12 * leg, abs=4e-3)
    first, last = found[thigh][1][2:]
    assert np.linalg.norm(last - first) == pytest.approx(0.38 - width, abs=0.01)
    np.testing.assert_allclose(0.5 * (first + last), [0.03, -0.21, 0.0], atol=0.01)


@pytest.mark.parametrize(("low", "high", "sign"), [(-2.0, 0.1, -1.0), (-0.1, 2.0, 1.0), (-2.0, 0.7, 0.0)])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_ranges_show_to_which_side_hinges_bend(low, high, sign, share):
    """The range counts from the straight limb, whatever the bend at rest; a range to both sides shows nothing."""
    rest = low + share * (high - low)
    arm = poise.Skeleton.build(
        ["upper", "lower", "hand"], [-1, 0, 1], [Kind.BALL, Kind.HINGE, Kind.FIXED],
        offsets=[(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (np.cos(rest), 0.0, -np.sin(rest))],
        axes=[(0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0)], limits=[None, Range(low - rest, high - rest), None],
    )  # fmt: skip
    hinge = find_bend_hinge(arm, 1, np.array([1.0, 0.0, 0.0]), np.array([np.cos(rest), 0.0, -np.sin(rest)]))
    assert hinge.is_bend_side == (sign != 0.0)
    for other in (1.0, -1.0):
        np.testing.assert_allclose(hinge.point_like(np.array([0.0, other, 0.0])), [0.0, sign or other, 0.0], atol=1e-12)


def write_handless_robot(path):
    """Write a robot whose forearms are light links, with a heavy one fixed below each."""
    axes = {"hip": "0 1 0", "knee": "0 1 0", "ankle": "0 1 0", "shoulder": "0 1 0", "elbow": "0 1 0"}
    joints = {"hip": ("base", 0.1, -0.1), "knee": ("hip", 0.0, -0.4), "ankle": ("knee", 0.0, -0.4),
              "shoulder": ("base", 0.2, 0.5), "elbow": ("shoulder", 0.0, -0.3),
              "rest": ("elbow", 0.0, -0.1)}  # fmt: skip
    masses = {"elbow": 0.1, "rest": 0.9}
    lines = ['<robot name="handless"><link name="base"/>']
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for name, (above, y, z) in joints.items():
            parent = above if above == "base" else f"{side}_{above}"
            kind, axis = ("revolute", f'<axis xyz="{axes[name]}"/>') if name in axes else ("fixed", "")
            mass = f'<inertial><mass value="{masses[name]}"/></inertial>' if name in masses else ""
            lines.append(f'<link name="{side}_{name}">{mass}</link><joint name="{side}_{name}_joint" type="{kind}">'
                         f'<parent link="{parent}"/><child link="{side}_{name}"/><origin xyz="0 {sign * y} {z}"/>{axis}'
                         '<limit lower="-2" upper="2" effort="1" velocity="9"/></joint>')  # fmt: skip
    path.write_text("\n".join([*lines, "</robot>"]))


def test_a_forearm_ends_at_twice_the_way_to_the_centre_of_all_below(tmp_path):
    write_handless_robot(tmp_path / "handless.urdf")
    robot = poise.load(tmp_path / "handless.urdf")
    named = {role: joint for role, joint in robot.roles.joints.items() if not role.endswith("Hand")}
    body = measure_robot_body(robot, named)
    for side in ("left", "right"):
        forearm = body.reference.body.points[[body.rows[f"{side}LowerArm"], body.rows[f"{side}Hand"]]]
        np.testing.assert_allclose(forearm[1] - forearm[0], (0.0, 0.0, -2.0 * 0.9 * 0.1), atol=1e-12)
