"""poise.retarget(): the feet of the target stand where those of the source stand; the hips go as far."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Terrain
from poise.errors import WriteWarning
from poise.io import samples
from poise.maths import rotations
from poise.model.roles.bone_names import SIDES
from poise.model.skeleton import Kind
from poise.retargeting.root_path import KEPT_HIPS_NOTE
from tests.retarget.characters import (
    LIMBS,
    build_character,
    build_clip,
    build_rig,
    find_directions,
    measure_angles,
    measure_turns,
)

TARGETS = ("mixamo_human_makehuman.glb", "cryptovoxels.vrm", "knight_kaykit.glb")


def measure_slide(done, rig):
    """The largest way [of the leg's length] of an ankle while heel and ball stand, by forward kinematics."""
    positions, slides = done.poses.world.positions, []
    for column, leg in enumerate(done.contacts.legs):
        row = rig.skeleton.index(rig.roles.joints[f"{leg}Foot"])
        flat = done.contacts.ball[:, column] & done.contacts.heel[:, column]
        edges = np.flatnonzero(np.diff(np.concatenate([[False], flat, [False]]).astype(int)))
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            slides.append(np.linalg.norm(positions[start:end, row] - positions[start, row], axis=-1).max())
    return max(slides) / done.bodies[1].leg_length


@pytest.mark.long
@pytest.mark.parametrize("name", TARGETS)
def test_feet_stand_still_on_the_ground(data, name):
    walk, target = poise.load(data / "bvh/cmu_12_01_walk.bvh"), poise.load(data / "glb" / name)
    done = poise.retarget(walk, target)
    free = poise.retarget(walk, target, ground=False)
    feet = done.report.feet
    assert feet["skate"] <= 0.1
    assert feet["depth"] <= 1.0
    assert feet["floating"] <= 1.0
    assert measure_slide(done, target) < 0.2 * measure_slide(free, target)


def test_arms_point_as_in_the_source_while_feet_are_planted(data):
    walk, target = poise.load(data / "bvh/cmu_12_01_walk.bvh"), poise.load(data / "glb/cryptovoxels.vrm")
    done = poise.retarget(walk, target)
    assert done.report.ok
    angles = {
        role: measure_angles(
            find_directions(done.source, walk.roles.joints, role, end),
            find_directions(done, target.roles.joints, role, end) * [-1.0, 1.0, -1.0],  # a VRM 0 character faces -z
        )
        for role, end in LIMBS
    }
    for role, errors in angles.items():
        assert np.percentile(errors, 95) < (0.01 if role.endswith("Arm") else 8.0), role
    reported = {limb.role: limb.p95 for limb in done.report.limbs}
    assert all(np.percentile(errors, 95) == pytest.approx(reported[role], abs=1e-5) for role, errors in angles.items())


def test_a_reference_pose_in_front_is_left_out(data):
    walk, target = poise.load(data / "bvh/cmu_12_01_walk.bvh"), poise.load(data / "glb/cryptovoxels.vrm")
    done, kept = (poise.retarget(walk, target, first=first, ground=False) for first in ("auto", "keep"))
    assert len(done) == len(kept) - 1 == len(walk.clips[0]) - 1
    assert "1 frame in front of the clip, a reference pose, left out" in done.notes
    assert np.array_equal(done.poses.q, kept.poses.q[1:])


@pytest.mark.parametrize("name", TARGETS[:2])
def test_a_leg_that_kneels_does_not_leap(data, name):
    """The foot of a crouch stands on its tip: pulled down to its ball, it had to leap up where the knee came down."""
    done = poise.retarget(poise.load(data / "bvh/mocapbank.bvh"), poise.load(data / "glb" / name))
    assert done.report.ok, done.report.worse
    kneels = done.planted.bearing.on[:, done.planted.bearing.columns("right knee")].any(axis=1)
    assert kneels.sum() > 100
    ankle = done.poses.world.positions[:, done.skeleton.index(done.match["rightFoot"].target)]
    leaps = np.linalg.norm(np.diff(ankle, 2, axis=0), axis=-1) / done.bodies[1].leg_length
    assert leaps.max() < 0.013  # 0.02 before


def test_the_hips_go_as_far_as_the_legs_are_long():
    source, target = build_character([1.0] * 12), build_rig(build_character([1.0] * 8 + [1.5, 1.5, 1.0, 1.0]))
    done = poise.retarget(build_clip(source, 1), target, ground=False)
    body, other = done.bodies
    ways = [np.ptp(clip.poses.world["Hips"].positions[:, 2]) for clip in (done.source, done)]
    assert ways[1] / ways[0] == pytest.approx(other.leg_length / body.leg_length, rel=0.1)
    kept, still = (poise.retarget(done.source, target, ground=False, root=root) for root in ("keep", "in_place"))
    assert np.ptp(still.poses.world["Hips"].positions[:, 2]) < 0.6 * ways[1]
    assert np.allclose(kept.poses.world["Hips"].positions[:, [0, 2]], done.poses.world["Hips"].positions[:, [0, 2]])


def test_a_walk_climbs_stairs_in_one_call(data):
    walk, target = poise.load(data / "bvh/cmu_12_01_walk.bvh"), poise.load(data / "glb/cryptovoxels.vrm")
    done = poise.retarget(walk, target, ground=Terrain.stairs(0.12, 0.35))
    assert done.report.ok, done.report.worse
    assert max(limb.p95 for limb in done.report.standing) > 20.0  # the bound on level ground
    assert done.report.feet["skate"] <= 0.1
    assert np.ptp(done.poses.world["Hips"].positions[:, 1]) > 0.3


def test_ground_that_cannot_be_used_is_refused():
    rig = build_rig(build_character([1.0] * 12))
    clip = poise.Clip.at_rate(poise.Pose(rig.skeleton, rig.skeleton.rest_q[None].repeat(3, 0)), 30.0)
    flying = poise.Clip(clip.times, poise.Pose(rig.skeleton, clip.poses.q), "flies")
    assert len(poise.retarget(flying, rig)) == 3
    with pytest.raises(poise.InputError, match="the ground must be"):
        poise.retarget(flying, rig, ground="stairs")


def test_kept_hips_keep_their_numbers():
    rig = poise.load(samples.path("humanoid.glb"))
    clip = poise.load(samples.path("humanoid.bvh")).clips[0]
    done = poise.retarget(clip, rig, root="keep")
    assert done.planted is None
    assert KEPT_HIPS_NOTE in done.notes
    middles = [
        0.5 * (each.poses.world[body.joints["leftUpperLeg"]].positions
               + each.poses.world[body.joints["rightUpperLeg"]].positions)
        for each, body in zip((done.source, done), done.bodies, strict=True)
    ]  # fmt: skip
    ratio = done.bodies[1].leg_length / done.bodies[0].leg_length
    assert np.allclose(middles[1], ratio * middles[0], atol=1e-9 * done.bodies[1].leg_length)
    with pytest.raises(poise.InputError, match='root="keep" holds the hips'):
        poise.retarget(clip, rig, root="keep", ground=Terrain.slope(5.0))


@pytest.mark.parametrize("root", ["travel", "in_place", "keep"])
def test_bits_do_not_depend_on_the_length_of_the_clip(root):
    rig = poise.load(samples.path("humanoid.glb"))
    clip = poise.load(samples.path("humanoid.bvh")).clips[0]
    done, again = (poise.retarget(clip, rig, root=root) for _ in range(2))
    assert np.array_equal(done.poses.q, again.poses.q)
    assert np.array_equal(done.poses.translations, again.poses.translations)


def lift_clip(clip, height):
    """The clip, with its free root higher along y."""
    assert clip.skeleton.kinds[0] == Kind.FREE
    q = clip.poses.q.copy()
    q[:, 1] += height
    return poise.Clip(clip.times, poise.Pose(clip.skeleton, q), clip.name)


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_a_clip_on_a_high_floor_stays_there_in_any_unit(data, tmp_path, scale):
    poise.convert(data / "bvh/cmu_12_01_walk.bvh", tmp_path / "walk.bvh", scale=scale)
    rig = poise.load(tmp_path / "walk.bvh")
    leg = poise.retarget(rig, rig, ground=False).bodies[0].leg_length
    clip = lift_clip(rig.clips[0], 1.5 * leg)
    done = poise.retarget(clip, rig, source=rig)
    assert done.planted is not None
    rise = (done.poses.world.positions - done.source.poses.world.positions)[..., 1]
    assert abs(np.median(rise)) < 0.1 * leg


@pytest.mark.filterwarnings("ignore::poise.PoiseWarning")
def test_a_character_in_centimetres_onto_itself_stays_at_its_floor(data):
    walk = poise.load(data / "fbx/pab_walk.fbx")
    done = poise.retarget(walk, walk)
    rise = (done.poses.world.positions - done.source.poses.world.positions)[..., 1]
    assert done.planted is not None
    assert abs(np.median(rise)) < 0.1 * done.bodies[0].leg_length


def test_feet_that_go_in_place_are_not_measured_on_still_ground(data):
    walk, target = poise.load(data / "bvh/cmu_12_01_walk.bvh"), poise.load(data / "glb/cryptovoxels.vrm")
    done = poise.retarget(walk, target, root="in_place")
    assert done.planted is not None
    assert done.report.feet is None
    assert any("not measured in place" in note for note in done.report.notes)
    assert poise.retarget(walk, target).report.feet is not None


def read_local_rotations(clip, joint):
    start = int(clip.skeleton.q_start[clip.skeleton.index(joint)])
    return clip.poses.q[:, start : start + 4], clip.skeleton.rest_q[start : start + 4]


def test_a_leg_with_a_skipped_row_is_not_planted(data):
    walk, target = poise.load(data / "bvh/cmu_12_01_walk.bvh"), poise.load(data / "glb/cryptovoxels.vrm")
    match = poise.match(walk, target).with_joint("leftFoot", skip=True)
    done = poise.retarget(walk, target, match=match)
    turns, rest = read_local_rotations(done, match["leftFoot"].target)
    assert measure_turns(turns, rest).max() < 1e-5
    assert "the left foot is not planted: the match skips a row of its leg" in done.notes
    assert done.planted.contacts.legs == ("right",)
    assert done.report.feet["skate"] <= 0.1
    both = poise.retarget(walk, target, match=match.with_joint("rightLowerLeg", skip=True))
    assert both.planted is None
    assert any("skips rows of the legs" in note for note in both.notes)


def test_feet_are_planted_by_the_joints_of_the_match(data):
    walk, target = poise.load(data / "bvh/cmu_12_01_walk.bvh"), poise.load(data / "glb/cryptovoxels.vrm")
    sides = {"left": "right", "right": "left"}
    swapped = {
        next((sides[side] + role[len(side) :] for side in sides if role.startswith(side)), role): joint
        for role, joint in target.roles.joints.items()
    }
    other = poise.Rig(target.skeleton, target.pose, humanoid=swapped)
    match = poise.match(walk, other)
    assert match["leftFoot"].target == target.roles.joints["rightFoot"]
    done, expected = (poise.retarget(walk, rig, match=match) for rig in (target, other))
    assert expected.planted is not None
    assert np.array_equal(done.poses.q, expected.poses.q)


@pytest.mark.filterwarnings("ignore::poise.PoiseWarning")
@pytest.mark.parametrize("source", ["fbx/pab_walk.fbx", "bvh/cmu_12_01_walk.bvh"])
def test_soles_of_a_rest_pose_in_stride_are_those_of_a_clip(data, source):
    walk, target = poise.load(data / source), poise.load(data / "fbx/pab_walk.fbx")
    done = poise.retarget(walk, target)
    heels = done.planted.soles.heel
    assert np.abs(heels[0, 1:] - heels[1, 1:]).max() < 0.03  # 0.1 in the rest pose
    assert done.report.ok, done.report.worse


def turn_file(path, folder):
    """Write a BVH file with z up: a joint above the hips turns it, in the clip alone."""
    tree, motion = path.read_text().split("MOTION")
    tree = (
        tree.replace("HIERARCHY\nROOT", "HIERARCHY\nROOT Armature\n{\nOFFSET 0 0 0\nCHANNELS 3 X Y Z\nJOINT", 1) + "}\n"
    )
    tree = tree.replace("CHANNELS 3 X Y Z", "CHANNELS 3 Xrotation Yrotation Zrotation", 1)
    head, rows = motion.split("Frame Time:")
    time, *frames = rows.strip().splitlines()
    turned = folder / "turned.bvh"
    frames = "\n".join(f"90 0 0 {frame}" for frame in frames)
    turned.write_text(f"{tree}MOTION{head}Frame Time: {time}\n{frames}\n")
    return turned


def test_a_joint_above_the_hips_that_turns_the_clip_turns_its_axes(tmp_path):
    path = samples.path("humanoid.bvh")
    target = poise.load(samples.path("humanoid.glb"))
    done = [poise.retarget(poise.load(file), target) for file in (path, turn_file(path, tmp_path))]
    places = [result.poses.world.positions for result in done]
    np.testing.assert_allclose(places[1], places[0], atol=1e-3)


def test_a_vrm_animation_of_a_clip_in_other_axes_stands(tmp_path):
    path = samples.path("humanoid.bvh")
    places = []
    for file in (path, turn_file(path, tmp_path)):
        with pytest.warns(WriteWarning, match="the unit of this character is unknown"):
            poise.save(poise.load(file), tmp_path / "written.vrma")
        rig = poise.load(tmp_path / "written.vrma")
        hips = rig.skeleton.index(rig.humanoid["hips"])
        places.append(rig.clips[0].poses.world.positions[:, hips:])
    np.testing.assert_allclose(places[1], places[0], atol=1e-3)  # it lay on its back


@pytest.mark.parametrize("name", ["glb/mixamo_human_makehuman.glb", "urdf/g1_29dof.urdf"])
def test_a_climb_stays_as_high(data, name):
    """Feet on rungs were put on the floor: hips that climb by 0.9 leg lengths stayed where they began."""
    ladder = poise.load(data / "bvh/cmu_01_03_climb_ladder.bvh")
    start = slice(300, 1300, 4)
    climb = poise.Clip(ladder.clips[0].times[start], ladder.clips[0].poses[start], "climb")
    done = poise.retarget(climb, poise.load(data / name), source=ladder)
    heights = []
    for clip, body in zip((done.source, done), done.bodies, strict=True):
        world = rotations.rotate(body.world_turn, clip.poses.world.positions)
        heights.append(world[:, [body.rows[f"{side}UpperLeg"] for side in SIDES], 2].mean(axis=1) / body.leg_length)
    assert np.ptp(heights[0]) > 0.8
    assert np.abs(heights[1] - heights[0]).max() < 0.12  # ankles are lower over these soles
    assert done.report.feet["floating"] < 1.0
    assert done.report.feet["skate"] < 0.1
    flat = poise.retarget(climb, poise.load(data / name), source=ladder, ground=Terrain.flat())
    assert flat.report.feet["floating"] < 1.0  # on ground that is given feet stand on it
    assert float(np.ptp(flat.poses.world.positions[:, flat.bodies[1].rows["leftUpperLeg"]] @ find_up(flat))) < 0.3


def find_up(done):
    """Up (3,) in the target's file, over its leg length."""
    body = done.bodies[1]
    return rotations.rotate(rotations.inverse(body.world_turn), np.array([0.0, 0.0, 1.0])) / body.leg_length
