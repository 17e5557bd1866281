"""Figures whose limbs all point one way at rest, as motion-capture suites write them."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.maths import rotations
from poise.maths.vectors import normalise
from poise.model.anatomy.rest_geometry import compute_rest_transforms, find_body_frame
from poise.model.anatomy.standing_pose import compute_standing_transforms, find_standing_frame, find_standing_q

pytestmark = pytest.mark.filterwarnings("ignore::poise.PoiseWarning")
FIGURE = poise.load(samples.path("humanoid.glb"))
RIGHT, UP, FORWARD = np.eye(3)
GIVEN = ("Head", "LeftHand", "RightHand", "LeftFoot", "RightFoot")
FOUND = ("LeftForeArm", "RightForeArm", "LeftLeg", "RightLeg")


def in_line(way=RIGHT, up="y"):
    """The sample, but bones of spine, limbs and head point one way at rest; hips and their children stay."""
    s, points = FIGURE.skeleton, FIGURE.rest.world.positions
    offsets = np.array([points[i] - (points[parent] if parent >= 0 else 0.0) for i, parent in enumerate(s.parents)])
    chest = s.parents[s.index("LeftShoulder")]
    # the chest lies as the bone to the neck does; its own children go along with it
    lying = rotations.rotation_between(UP, way)
    for row, parent in enumerate(s.parents.tolist()):
        if parent < 0 or parent == s.index("Hips"):
            continue
        length = np.linalg.norm(offsets[row])
        offsets[row] = rotations.rotate(lying, offsets[row]) if parent == chest else length * np.asarray(way)
    kinds = [poise.Kind.FIXED if kind == poise.Kind.FIXED else poise.Kind.BALL for kind in s.kinds]
    skeleton = poise.Skeleton.build(s.names, s.parents, kinds, offsets=offsets, up=up)
    return poise.Pose(skeleton, skeleton.rest_q)


def goals_of(pose):
    world = pose.world
    hips = world["Hips"]
    return [
        poise.Place("Hips", hips.positions, hips.rotations),
        *(poise.Position(name, world[name].positions, root="Hips") for name in GIVEN),
    ]


@pytest.mark.parametrize("way", [RIGHT, -RIGHT, FORWARD, -UP], ids=["right", "left", "forward", "down"])
def test_hips_and_chest_show_the_body(way):
    skeleton = in_line(way).skeleton
    with pytest.raises(poise.InputError, match="shows no body directions"):
        find_body_frame(skeleton)
    body = find_standing_frame(skeleton)
    np.testing.assert_allclose([body.left, body.up, body.forward], np.eye(3), atol=0.05)
    world = poise.Pose(skeleton, find_standing_q(skeleton)).world
    for side, out in (("Left", 1.0), ("Right", -1.0)):
        arm = normalise(world[f"{side}Hand"].positions - world[f"{side}Arm"].positions)
        leg = normalise(world[f"{side}Foot"].positions - world[f"{side}UpLeg"].positions)
        assert out * arm[0] > 0.999
        assert leg[1] < -0.999
        assert (world[f"{side}Toe"].positions - world[f"{side}Foot"].positions)[2] > 0.0


def test_figures_with_a_rest_pose_stand_as_they_rest():
    skeleton = FIGURE.skeleton
    assert compute_standing_transforms(skeleton) is compute_rest_transforms(skeleton)
    assert find_standing_frame(skeleton) is find_body_frame(skeleton)
    assert find_standing_q(skeleton) is skeleton.rest_q


@pytest.mark.parametrize("way", [RIGHT, FORWARD], ids=["right", "forward"])
def test_limbs_bend_as_those_of_the_figure(way):
    poses = FIGURE.clips[0].poses[::8]
    skeleton = in_line(way).skeleton
    line = poise.Pose(skeleton, find_standing_q(skeleton))
    result = poise.solve(line, goals_of(poses), free_root=True)
    assert result.reached.all()
    assert result.natural
    plain = poise.solve(FIGURE.rest, goals_of(poses), free_root=True)
    for name in FOUND:
        apart = np.linalg.norm(result.pose.world[name].positions - plain.pose.world[name].positions, axis=-1)
        assert apart.max() < 0.02, name  # [m]


def test_a_floor_is_below_such_a_figure():
    line = in_line()
    standing = poise.Pose(line.skeleton, find_standing_q(line.skeleton))
    ground = float(standing.world["LeftToe"].positions[1])
    kneels = [poise.Position("Hips", [0.0, ground + 0.5, 0.0])]
    kneels += [poise.Position(f"{side}Foot", [x, ground + 0.1, -0.4]) for side, x in (("Left", 0.1), ("Right", -0.1))]
    result = poise.solve(standing, kneels, free_root=True, floor=ground)
    assert result.reached
    low = [result.pose.world[side + part].positions[1] for side in ("Left", "Right") for part in ("Toe", "Leg")]
    assert min(low) > ground - 1e-6


def test_a_recorded_dance_is_found_again(data):
    rig = poise.load(data / "bvh/jesse_dance_rokoko.bvh")
    poses, joints = rig.clips[0].poses[::40], rig.roles.joints
    world = poses.world
    hips = world["Hips"]
    goals = [poise.Place("Hips", hips.positions, hips.rotations)]
    goals += [
        poise.Position(joints[role], world[joints[role]].positions, root="Hips")
        for role in ("head", "leftHand", "rightHand", "leftFoot", "rightFoot")
    ]
    result = poise.solve(rig.rest, goals, free_root=True)
    alone = poise.solve(rig.rest, goals, free_root=True, natural=False)
    assert result.reached.all()
    assert result.natural
    for part, most in (("LowerLeg", 0.5), ("LowerArm", 0.7)):  # of what the engine alone misses by
        rows = [joints[side + part] for side in ("left", "right")]
        ours, theirs = (
            np.mean([np.linalg.norm(world[row].positions - found.pose.world[row].positions, axis=-1) for row in rows])
            for found in (result, alone)
        )
        assert ours < most * theirs


def test_joints_in_one_point_show_nothing(data):
    rest = poise.load(data / "bvh/rest/walk_line.bvh").rest
    goal = poise.Position("LeftHand", rest.world["LeftHand"].positions)
    with pytest.raises(poise.UnsupportedError, match="neither its rest pose nor the frames of its hips and chest show"):
        poise.solve(rest, goal, natural=True)
