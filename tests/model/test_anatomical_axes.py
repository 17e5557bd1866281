"""Axes of joints: knees bend backward and elbows forward, however a rig is made."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.extend import Kind
from poise.maths import rotations
from poise.model.anatomy.rest_geometry import compute_joint_frame, compute_parent_frame, find_joint_axes
from poise.model.roles.bone_names import SIDES
from tests.model.humanoid_truth import HUMANOIDS
from tests.model.test_humanoid import load
from tests.model.transformed_rigs import UPS, in_another_guise, nonsense

pytestmark = pytest.mark.filterwarnings("ignore::poise.PoiseWarning")

# what these figures look at and where their up is; the others look along +z with y up
FRONTS = {"glb/cryptovoxels.vrm": ((0, 0, -1), (0, 1, 0)), "bvh/walk_makehuman_zup.bvh": ((0, -1, 0), (0, 0, 1))}
NO_POSE = "bvh/jesse_dance_rokoko.bvh"  # at rest all bones lie along one axis
UNSURE = "glb/cesium_man.gltf"  # its joints have no names
FIGURES = [name for name in HUMANOIDS if not name.startswith("urdf") and name not in (NO_POSE, UNSURE)]
RESTS = ["walk_T", "walk_A", "walk_hang", "walk_up", "walk_rolled"]


def flexed(axes):
    """Where the end of the bone goes when the joint is bent."""
    return np.cross(axes.flexion_axis, axes.bone)


def checked_limbs(skeleton, roles, front, up):
    """Every limb bends as a limb does; the cosines are those of 30 degrees."""
    axes = find_joint_axes(skeleton)
    left = np.cross(up, front)
    for side, out in zip(SIDES, (left, -left), strict=True):
        of = {
            role[len(side) :]: axes[joint] for role, joint in roles.items() if role.startswith(side) and joint in axes
        }
        assert flexed(of["UpperLeg"]) @ front > 0.85
        assert flexed(of["LowerLeg"]) @ front < -0.85
        assert np.cross(of["UpperLeg"].abduction_axis, of["UpperLeg"].bone) @ out > 0.85
        if "Foot" in of:
            assert flexed(of["Foot"]) @ up > 0.4  # ankles slope
            assert of["Foot"].bone @ front > 0.4
        for part in ("UpperArm", "LowerArm"):
            hinge = flexed(of[part])
            assert hinge @ front > 0.6 or (hinge @ up > 0.5 and of["LowerArm"].flexion > 0.5)
        assert of["UpperArm"].flexion == pytest.approx(0.0, abs=0.35)
        assert [one.outward @ out for one in of.values()] == pytest.approx([1.0] * len(of), abs=0.1)
    return axes


@pytest.mark.parametrize("name", FIGURES)
def test_limbs_of_every_figure_bend_as_limbs_do(data, name):
    rig = load(data, name)
    front, up = (np.array(v, dtype=float) for v in FRONTS.get(name, ((0, 0, 1), (0, 1, 0))))
    checked_limbs(rig.skeleton, poise.find_roles(rig).joints, front, up)


@pytest.mark.parametrize("rest", RESTS)
def test_other_rest_poses(data, rest):
    rig = poise.load(data / f"bvh/rest/{rest}.bvh")
    axes = checked_limbs(rig.skeleton, poise.find_roles(rig).joints, np.eye(3)[2], np.eye(3)[1])
    lifted = {"walk_T": 90, "walk_rolled": 90, "walk_A": 45, "walk_hang": 5, "walk_up": 170}[rest]
    assert np.degrees(axes["LeftArm"].abduction) == pytest.approx(lifted, abs=0.5)
    assert np.degrees(axes["RightArm"].abduction) == pytest.approx(lifted, abs=0.5)


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize(("scale", "up", "says"), [(0.01, "y", True), (1000.0, "z", True), (1.0, "z", False)])
def test_axes_are_the_same_in_another_guise(data, name, scale, up, says):
    rig = load(data, name)
    if "zup" in name:
        up, says = "y", False  # it stands along z as it is
    other = in_another_guise(rig, scale=scale, up=up, says_up=says)
    axes, same = find_joint_axes(other), find_joint_axes(rig.skeleton)
    assert axes.keys() == same.keys()
    for joint, one in same.items():
        for field in ("bone", "zero_bone", "flexion_axis", "abduction_axis", "forward", "up", "outward"):
            np.testing.assert_allclose(
                getattr(axes[joint], field), rotations.rotate(UPS[up], getattr(one, field)), atol=1e-5, err_msg=joint
            )
        angles = [(each.flexion, each.abduction, each.rotation) for each in (axes[joint], one)]
        np.testing.assert_allclose(*angles, atol=1e-5)


def test_names_may_be_nonsense_where_roles_are_given(data):
    rig = load(data, "samples/humanoid.glb")
    other = in_another_guise(rig, names=nonsense(len(rig.skeleton)))
    joints = {one.role: one for one in find_joint_axes(other).values()}
    for joint, one in find_joint_axes(rig.skeleton).items():
        np.testing.assert_allclose(joints[one.role].flexion_axis, one.flexion_axis, atol=1e-9, err_msg=joint)


def test_frames_are_those_in_which_joints_turn(data):
    """A knee that q turns about its bend axis, as seen from its own frame, goes backward; so does the parent's."""
    rig = load(data, "samples/humanoid.glb")
    skeleton = in_another_guise(rig)
    knee = find_joint_axes(skeleton)["LeftLeg"]
    own = knee.express_in(compute_joint_frame(skeleton, knee.row))
    rest = poise.Pose(skeleton, skeleton.rest_q)
    bent = rest.replace({"LeftLeg": rotations.about(own.flexion_axis, np.radians(90.0))})
    step = bent.world["LeftFoot"].positions - rest.world["LeftFoot"].positions
    assert step[2] < 0.0
    thigh = rotations.as_matrix(rest.world["LeftUpLeg"].rotations)
    np.testing.assert_allclose(
        thigh @ knee.express_in(compute_parent_frame(skeleton, knee.row)).flexion_axis, knee.flexion_axis, atol=1e-9
    )


def test_the_trunk_has_axes_for_joints_without_roles(data):
    axes = find_joint_axes(poise.load(data / "bvh/cmu_12_01_walk.bvh").skeleton)
    parts = {joint: (one.part, one.role) for joint, one in axes.items() if one.part in ("spine", "neck")}
    assert list(parts) == ["LowerBack", "Spine", "Spine1", "Neck", "Neck1", "Head"]
    assert parts["Neck1"] == ("neck", "")
    for joint in parts:
        assert flexed(axes[joint])[2] > 0.9


@pytest.mark.parametrize("name", [NO_POSE, "bvh/rest/walk_line.bvh"])
def test_a_rest_pose_that_is_none_is_refused(data, name):
    with pytest.raises(poise.InputError, match="the rest pose shows no body directions"):
        find_joint_axes(poise.load(data / name).skeleton)


def test_joints_that_are_not_surely_known_are_named(data):
    with pytest.raises(poise.InputError, match="leftUpperLeg, rightUpperLeg, leftUpperArm, rightUpperArm missing"):
        find_joint_axes(poise.load(data / UNSURE).skeleton)
    some = {"leftUpperLeg": "LeftUpLeg", "rightUpperLeg": "RightUpLeg", "leftUpperArm": "LeftArm"}
    with pytest.raises(poise.InputError, match="rightUpperArm missing"):
        find_joint_axes(load(data, "samples/humanoid.glb").skeleton, some)


def test_limits_that_move_the_rest_do_not_move_the_axes(data):
    rig = load(data, "samples/humanoid.glb")
    limit = poise.Range.degrees(40, 60, axis=(1, 0, 0))
    assert not np.array_equal(rig.skeleton.with_limits({"LeftUpLeg": limit}).rest_q, rig.skeleton.rest_q)
    moved = find_joint_axes(rig.skeleton.with_limits({"LeftUpLeg": limit}))["LeftLeg"]
    np.testing.assert_array_equal(moved.bone, find_joint_axes(rig.skeleton)["LeftLeg"].bone)


@pytest.mark.parametrize("shin", ["knee", "shank"])
def test_the_frame_of_a_sole_does_not_show_where_a_robot_looks(shin):
    """It lies below the ankle and a little to the outside; knees bent outward for it."""
    names, parents, offsets = ["trunk", "head"], [-1, 0], [(0, 0, 1), (0, 0, 0.4)]
    for side, aside in (("left", 1.0), ("right", -1.0)):
        leg = {"thigh": (0, 0.1 * aside, 0), shin: (0, 0, -0.4), "ankle": (0, 0, -0.4),
               "foot_plane": (0.001, 0.011 * aside, -0.04)}  # fmt: skip
        arm = {"shoulder": (0, 0.2 * aside, 0.3), "elbow": (0, 0, -0.25), "hand": (0, 0, -0.25)}
        for limb in (leg, arm):
            for i, (part, offset) in enumerate(limb.items()):
                parents.append(len(names) - 1 if i else 0)
                names.append(f"{side}_{part}")
                offsets.append(offset)
    kinds = [Kind.FIXED if name.endswith(("trunk", "plane", "hand")) else Kind.HINGE for name in names]
    axes = [(0.0, 1.0, 0.0) if kind == Kind.HINGE else (0.0, 0.0, 0.0) for kind in kinds]
    found = find_joint_axes(poise.Skeleton.build(names, parents, kinds, offsets=offsets, axes=axes, up="z"))
    for side in SIDES:
        assert flexed(found[f"{side}_{shin}"]) @ (1, 0, 0) < -0.999
        assert found[f"{side}_ankle"].bone @ (1, 0, 0) > 0.999
