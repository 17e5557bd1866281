"""poise.find_roles(rig).limits(): knees bend backward as far as people's do, and every rest pose is legal."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise.maths import rotations
from poise.model.anatomy.joint_limits import ARM_ELEVATION, MOTION_RANGES, fit_arm_cone, is_arm_in_range
from poise.model.anatomy.rest_geometry import compute_joint_frame, find_joint_axes
from poise.model.limit_bounds import clamp_rotations, measure_rotation_excess, pack_limit
from poise.model.roles.bone_names import SIDES
from tests.conftest import ROOT
from tests.model.humanoid_figures import CONVENTIONS, figure
from tests.model.test_anatomical_axes import FIGURES, FRONTS, NO_POSE, RESTS, UNSURE
from tests.model.test_humanoid import load
from tests.model.transformed_rigs import in_another_guise

pytestmark = pytest.mark.filterwarnings("ignore::poise.PoiseWarning")


def at_the_end(skeleton, joint, limit, axes, towards):
    """The pose with a joint bent as far as its limit lets it, in the direction of `flexion_axis` or the other."""
    bend = axes.express_in(compute_joint_frame(skeleton, axes.row)).flexion_axis
    ends = rotations.about(towards * bend, np.radians(np.arange(0.0, 179.0, 0.5)))
    legal = ends[measure_rotation_excess(ends, clamp_rotations(pack_limit(limit), ends)) < 1e-6]
    assert len(legal) < len(ends)
    return poise.Pose(skeleton, skeleton.rest_q).replace({joint: legal[-1]})


def angle(a, b):
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))


def bone(pose, start, end):
    way = pose.world[end].positions - pose.world[start].positions
    return way / np.linalg.norm(way)


HINGES = (("UpperLeg", "LowerLeg", "Foot", 135.0), ("UpperArm", "LowerArm", "Hand", 150.0))


@pytest.mark.parametrize("name", FIGURES)
def test_knees_and_elbows_close_as_far_as_those_of_people(data, name):
    """The shin ends up behind the thigh, the forearm before the upper arm, at the published angle to it."""
    rig = load(data, name)
    found = poise.find_roles(rig.skeleton)
    joints, limits, axes = found.joints, found.limits(), find_joint_axes(rig.skeleton)
    for side in SIDES:
        for upper, middle, lower, most in HINGES:
            if f"{side}{lower}" not in joints:
                continue
            start, hinge, end = (joints[f"{side}{part}"] for part in (upper, middle, lower))
            bent = at_the_end(rig.skeleton, hinge, limits[hinge], axes[hinge], 1.0)
            assert angle(bone(bent, start, hinge), bone(bent, hinge, end)) == pytest.approx(most, abs=2.0), hinge
            if middle == "LowerLeg":
                front = np.array(FRONTS.get(name, ((0, 0, 1), (0, 1, 0)))[0], dtype=float)
                assert bone(bent, hinge, end) @ front < -0.3
            straight = at_the_end(rig.skeleton, hinge, limits[hinge], axes[hinge], -1.0)
            assert angle(bone(straight, start, hinge), bone(straight, hinge, end)) == pytest.approx(10.0, abs=3.0)


@pytest.mark.parametrize("name", FIGURES)
def test_thighs_are_lifted_forward_by_120_degrees_from_straight_down(data, name):
    rig = load(data, name)
    found = poise.find_roles(rig.skeleton)
    joints, limits, axes = found.joints, found.limits(), find_joint_axes(rig.skeleton)
    front, up = (np.array(v, dtype=float) for v in FRONTS.get(name, ((0, 0, 1), (0, 1, 0))))
    for side in SIDES:
        hip, knee = joints[f"{side}UpperLeg"], joints[f"{side}LowerLeg"]
        lifted = at_the_end(rig.skeleton, hip, limits[hip], axes[hip], 1.0)
        way = bone(lifted, hip, knee)
        assert np.degrees(np.arctan2(way @ front, -(way @ up))) == pytest.approx(120.0, abs=3.0)
        back = bone(at_the_end(rig.skeleton, hip, limits[hip], axes[hip], -1.0), hip, knee)
        assert np.degrees(np.arctan2(back @ front, -(back @ up))) == pytest.approx(-30.0, abs=3.0)


@pytest.mark.parametrize("name", FIGURES)
def test_rest_poses_are_legal_and_the_limits_hold(data, name):
    rig = load(data, name)
    limits = poise.find_roles(rig).limits()
    limited = rig.skeleton.with_limits(limits)
    np.testing.assert_array_equal(limited.rest_q, rig.skeleton.rest_q)
    assert {one.source for one in limits.values()} == {"anatomy"}
    assert all(one.bounded for one in limits.values())


@pytest.mark.parametrize("name", ["samples/humanoid.glb", "bvh/run_mass.bvh", "glb/mixamo_human_makehuman.glb"])
@pytest.mark.parametrize(("scale", "up"), [(0.01, "y"), (1000.0, "z")])
def test_limits_do_not_depend_on_how_bones_are_rolled_nor_on_units(data, name, scale, up):
    rig = load(data, name)
    other = in_another_guise(rig, scale=scale, up=up)
    same, limits = poise.find_roles(rig.skeleton).limits(), poise.find_roles(other).limits()
    assert limits.keys() == same.keys()
    for joint, limit in limits.items():
        near = np.degrees([*limit.sides, limit.twist]), np.degrees([*same[joint].sides, same[joint].twist])
        np.testing.assert_allclose(*near, atol=0.11, err_msg=joint)  # ends are given to a tenth of a degree
        own, turned = (
            compute_joint_frame(rig.skeleton, other.index(joint)),
            compute_joint_frame(other, other.index(joint)),
        )
        world = turned @ np.array(limit.axis)
        expected = own @ np.array(same[joint].axis)
        if up == "z":
            expected = rotations.rotate(rotations.about(np.eye(3)[0], np.pi / 2), expected)
        np.testing.assert_allclose(world, expected, atol=1e-5)


SPANS = {
    "UpperLeg": (150, 75, 90), "LowerLeg": (145, 10, 70), "Foot": (70, 40, 50), "Toes": (115, 30, 10),
    "Shoulder": (30, 50, 55), "UpperArm": (160,), "LowerArm": (160, 50, 160), "Hand": (150, 50, 160),
}  # fmt: skip


@pytest.mark.parametrize("side", SIDES)
def test_joints_span_what_both_published_motions_are_together(side):
    """Bending, aside and about the bone, wherever the rest is in between; of an arm, whose cone is fitted, the last."""
    limits = poise.find_roles(figure(CONVENTIONS["vrm"]).skeleton()).limits()
    for part, published in SPANS.items():
        limit = limits[f"{side}{part}"]
        spans = np.ptp(np.degrees([*limit.sides, limit.twist]), axis=1)
        assert spans[-len(published) :] == pytest.approx(published, abs=0.2), part


def test_left_and_right_mirror_each_other(data):
    found = poise.find_roles(load(data, "samples/humanoid.glb").skeleton)
    limits = found.limits()
    for role, joint in found.joints.items():
        if not role.startswith("left") or joint not in limits:
            continue
        left, right = limits[joint], limits[found.joints["right" + role[4:]]]
        low, high = left.twist
        assert right.twist == pytest.approx((-high, -low), abs=0.002)
        assert right.sides[0] == pytest.approx(left.sides[0], abs=0.002)
        low, high = left.sides[1]
        assert right.sides[1] == pytest.approx((-high, -low), abs=0.002)


LIMBS = ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg")


@pytest.mark.parametrize(
    "name", ["bvh/cmu_12_01_walk.bvh", "bvh/walk_mass.bvh", "bvh/rest/walk_A.bvh", "bvh/rest/walk_hang.bvh"]
)
def test_people_who_walk_stay_inside(data, name):
    """Arms and legs, by more than 5 degrees, in fewer than one of a hundred frames."""
    rig = poise.load(data / name)
    found = poise.find_roles(rig)
    beyond = []
    for one in found.explain_limits():
        if one.part in LIMBS:
            start = rig.skeleton.q_slice(one.joint).start
            turns = rig.clips[0].poses.q[:, start : start + 4]
            beyond.append(
                np.degrees(measure_rotation_excess(turns, clamp_rotations(pack_limit(one.limit), turns))) > 5.0
            )
    assert np.mean(beyond) < 0.01


def test_clips_show_in_which_plane_an_elbow_bends(data):
    """In these captured clips forearms bend 30 degrees off the plane that a straight arm leads one to expect."""
    rig = poise.load(data / "bvh/cmu_12_01_walk.bvh")
    alone, with_clips = (poise.find_roles(one).limits()["LeftForeArm"] for one in (rig.skeleton, rig))
    assert angle(np.array(alone.across), np.array(with_clips.across)) == pytest.approx(30.0, abs=1.5)
    assert np.degrees(alone.sides[1]) == pytest.approx((-25.0, 25.0), abs=0.1)  # nothing shows the plane
    assert np.degrees(with_clips.sides[1]) == pytest.approx((-5.0, 5.0), abs=0.1)


def test_joints_with_position_channels_have_the_same_limits(data, tmp_path):
    """Some programs write six channels for every joint: each of them is a free joint then."""
    text = (data / "bvh/walk_mass.bvh").read_text()
    channels = "CHANNELS 6 Xposition Yposition Zposition"
    names, frames = text.split("MOTION")[0].count("CHANNELS 3"), text.split("MOTION")[1].split("\n", 3)
    assert names > 30
    head = text.split("MOTION")[0].replace("CHANNELS 3", channels)
    still = [one.split("{")[1].split("OFFSET")[1].split("CHANNELS")[0].split() for one in head.split("JOINT")[1:]]
    rows = [line.split() for line in frames[3].splitlines() if line.strip()]
    wide = []
    for row in rows[:20]:
        parts = [row[:6]] + [[*still[i], *row[6 + 3 * i : 9 + 3 * i]] for i in range(names)]
        wide.append(" ".join(number for part in parts for number in part))
    made = f"{head}MOTION\nFrames: 20\n{frames[2]}\n" + "\n".join(wide) + "\n"
    (tmp_path / "six.bvh").write_text(made)
    six, three = poise.load(tmp_path / "six.bvh"), poise.load(data / "bvh/walk_mass.bvh")
    assert (six.skeleton.kinds == poise.Kind.FREE).sum() == names + 1
    same = poise.find_roles(three.skeleton).limits()
    found = poise.find_roles(six.skeleton).limits()
    assert found.keys() == same.keys()
    np.testing.assert_allclose(found["Character1_LeftLeg"].sides, same["Character1_LeftLeg"].sides, atol=1e-6)
    assert len(poise.find_roles(six).limits()) == len(same)


def test_a_joint_that_the_clips_have_outside_gets_no_limit(data):
    found = {one.joint: one for one in poise.find_roles(poise.load(data / "bvh/rest/walk_rolled.bvh")).explain_limits()}
    assert found["LeftUpLeg"].limit is None
    assert found["LeftUpLeg"].reason.startswith("clips of the file leave it in 100 % of their frames: extension 30")


def made(move):
    """A figure whose joints stand elsewhere: move(name, place) gives the place."""
    body = figure(CONVENTIONS["vrm"])
    body.points = [tuple(move(name, np.array(point))) for name, point in zip(body.names, body.points, strict=True)]
    return body.skeleton()


def test_an_end_is_moved_to_a_rest_that_is_a_little_outside():
    """An elbow that stands 20 degrees beyond straight; people's go to 10."""
    back = 0.25 * np.tan(np.radians(20.0)) + 0.01
    skeleton = made(lambda name, p: p - [0, 0, back] if name == "leftHand" else p)
    one = next(one for one in poise.find_roles(skeleton).explain_limits() if one.role == "leftLowerArm")
    assert "; widened by " in one.reason
    assert min(one.limit.sides[0]) == 0.0
    np.testing.assert_array_equal(skeleton.with_limits({"leftLowerArm": one.limit}).rest_q, skeleton.rest_q)


def test_a_joint_that_rests_far_outside_gets_no_limit():
    def split(name, point):
        side = 1.0 if name.startswith("left") else -1.0
        if name.endswith(("LowerLeg", "Foot", "Toes")):
            return np.array([side * (0.1 + 0.95 - point[1]), 0.9, point[2]])
        return point

    found = {one.role: one for one in poise.find_roles(made(split)).explain_limits()}
    assert found["leftUpperLeg"].limit is None
    assert found["leftUpperLeg"].reason.startswith("rests ")
    assert "leftUpperLeg" not in poise.find_roles(made(split)).limits()
    assert found["leftLowerLeg"].limit is not None


@pytest.mark.parametrize("rest", [rest for rest in RESTS if rest != "walk_rolled"])
def test_the_cone_of_an_arm_is_like_what_is_published(data, rest):
    """Of all directions that the tables allow it has 85 %, and no more than 12.5 % of it lies beyond them."""
    axes = find_joint_axes(poise.load(data / f"bvh/rest/{rest}.bvh").skeleton)["LeftArm"]
    cone = fit_arm_cone(axes)
    chance = np.random.default_rng(1)
    bones = chance.normal(size=(4000, 3))
    bones /= np.linalg.norm(bones, axis=1, keepdims=True)
    bones = np.concatenate([bones, [axes.zero_bone, axes.forward, axes.outward, -axes.zero_bone]])
    turns = rotations.rotation_between(np.broadcast_to(axes.bone, bones.shape), bones)
    limit = poise.SwingTwist(tuple(axes.bone), cone.swing_ranges, across=tuple(cone.swing_axis))
    inside = measure_rotation_excess(turns, clamp_rotations(pack_limit(limit), turns)) < 1e-3
    published = is_arm_in_range(axes, bones)
    assert (inside & published).sum() / published.sum() > 0.85
    assert (inside & ~published).sum() / inside.sum() < 0.125
    assert inside[-4:].all()  # hanging, ahead, level, straight up


def test_spine_and_neck_share_what_is_published(data):
    found = poise.find_roles(poise.load(data / "bvh/cmu_12_01_walk.bvh").skeleton).limits()
    assert np.degrees(found["Neck1"].sides[0]) == pytest.approx((-22.5, 22.5), abs=0.1)  # 45, half of it for each of 3
    assert np.degrees(found["Spine"].twist) == pytest.approx((-22.5, 22.5), abs=0.1)


def test_who_is_no_person_is_refused(data):
    cases = {
        UNSURE: "known with a confidence below 0.8 only; declare them in the sidecar",
        "glb/fox.glb": "leftUpperLeg, leftLowerLeg, .* not found",
        "urdf/panda.urdf": "not found",
        "urdf/g1_29dof.urdf": "hinges, as robots have them, and its file gives their ranges",
        NO_POSE: "the rest pose shows no body directions",
    }
    for name, sentence in cases.items():
        with pytest.raises(poise.InputError, match=sentence):
            poise.find_roles(load(data, name)).limits()


def test_a_sidecar_that_says_the_roles_makes_them_sure(data):
    rig = load(data, UNSURE)
    roles = dict(poise.find_roles(rig).joints)
    skeleton = dataclasses.replace(rig.skeleton, roles=roles)
    assert set(poise.find_roles(skeleton).limits()) >= {roles["leftLowerLeg"], roles["rightUpperArm"]}


def test_solves_keep_them(data):
    """A foot asked to the front above the hip: the knee does not give way forward."""
    rig = load(data, "samples/humanoid.glb")
    limited = rig.with_skeleton(rig.skeleton.with_limits(poise.find_roles(rig).limits()))
    hip = rig.rest.world["LeftUpLeg"].positions
    targets = hip + np.random.default_rng(2).normal(scale=0.4, size=(40, 3))
    result = poise.solve(limited.rest, poise.Position("LeftFoot", targets, root="LeftUpLeg"))
    assert result.violation <= 1e-9
    knee = find_joint_axes(rig.skeleton)["LeftLeg"]
    bend = knee.express_in(compute_joint_frame(rig.skeleton, knee.row)).flexion_axis
    start = rig.skeleton.q_slice("LeftLeg").start
    turns = result.pose.q[..., start : start + 4]
    assert np.degrees(rotations.twist_angle(turns, bend)).min() > -14.0


def test_the_table_of_the_docs_is_the_table_of_the_code():
    text = (ROOT / "docs/concepts/anatomical-limits.md").read_text(encoding="utf-8")
    motions = [motion for ranges in MOTION_RANGES.values() for pair in ranges for motion in pair]
    motions += [motion for _, motion in ARM_ELEVATION]
    for motion in motions:
        assert f"{motion.name} {motion.degrees:g} ({motion.source})" in text, motion
