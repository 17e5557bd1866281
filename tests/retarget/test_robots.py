"""poise.retarget() onto robots: feet stand where the source's stand, joints keep their limits and speeds."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import poise
from poise import InputError, PoiseError, UnsupportedError
from poise.io import samples
from poise.maths import rotations
from poise.model.skeleton import Kind
from tests.retarget.characters import (
    LIMBS,
    build_character,
    build_clip,
    build_lunge,
    build_rig,
    find_directions,
    measure_angles,
)

pytestmark = pytest.mark.long

SIDES = ("left", "right")
WALK, G1 = "bvh/cmu_12_01_walk.bvh", "urdf/g1_29dof.urdf"
# by its meshes: how far the middle of its thighs is ahead of hip and knee, and half the widths of thigh and forearm [m]
G1_THIGH_AHEAD, G1_THIGH_AND_FOREARM = 0.03, 0.048 + 0.033
# the four spheres under a foot of the G1, by its file [m]
G1_HEEL, G1_BALL = ((-0.05, 0.025, -0.03), (-0.05, -0.025, -0.03)), ((0.12, 0.03, -0.03), (0.12, -0.03, -0.03))
G1_RADIUS_M = 0.005


@pytest.fixture(scope="module")
def walking_g1(data):
    walk, robot = poise.load(data / WALK), poise.load(data / G1)
    return walk, robot, poise.retarget(walk, robot)


def place_g1_points(done, side, points):
    """World places (F, k, 3) of points of a foot, by forward kinematics."""
    world = done.poses.world
    row = done.skeleton.index(f"{side}_ankle_roll_joint")
    return world.positions[:, None, row] + rotations.rotate(world.rotations[:, None, row], np.array(points))


def read_joint_values(done):
    """Values (F, k) of hinges and their names."""
    rows = np.flatnonzero(done.skeleton.kinds == Kind.HINGE)
    return done.poses.q[:, done.skeleton.q_start[rows]], [done.skeleton.names[row] for row in rows]


def test_feet_of_a_robot_stand_still_on_the_ground(walking_g1):
    _, _, done = walking_g1
    for column, side in enumerate(done.contacts.legs):
        for stands, points in ((done.contacts.heel, G1_HEEL), (done.contacts.ball, G1_BALL)):
            touching = place_g1_points(done, side, np.array(points) - [0.0, 0.0, G1_RADIUS_M])
            places = place_g1_points(done, side, points)
            on = stands[:, column]
            both = on[1:] & on[:-1]
            speeds = np.linalg.norm(np.diff(touching.mean(axis=1), axis=0), axis=-1) * done.fps
            assert speeds[both].max() < 0.005  # [m/s]
            assert np.abs(places[on][..., 2] - G1_RADIUS_M).max() < 0.002
        corners = place_g1_points(done, side, (*G1_HEEL, *G1_BALL))
        assert corners[..., 2].min() - G1_RADIUS_M > -0.005


# the ends of the soles of the H1, by its file: of capsules along the heel and across the ball [m]
H1_ENDS = [(-0.035, 0.0, -0.056)], [(0.14, -0.03, -0.056), (0.14, 0.03, -0.056)]
H1_RADIUS_M = 0.014


@pytest.mark.parametrize("ground", [None, poise.Terrain.slope(8.0, direction=(1.0, 0.0, 0.0), up="z")])
def test_feet_without_roll_stand_on_their_lower_edge(data, ground):
    """The ankles of the H1 pitch alone: its soles tilt with its legs."""
    walk, robot = poise.load(data / WALK), poise.load(data / "mjcf/h1.xml")
    clip = poise.Clip(walk.clips[0].times[:150], walk.clips[0].poses[:150], "walk")
    done = poise.retarget(clip, robot, source=walk, ground=ground)
    world, rise = done.poses.world, 0.0 if ground is None else np.tan(np.radians(8.0))
    down = np.array([rise, 0.0, -1.0]) / np.hypot(rise, 1.0)
    for column, side in enumerate(done.contacts.legs):
        row = done.skeleton.index(f"{side}_ankle_link")
        on = done.contacts.heel[:, column] & done.contacts.ball[:, column]
        for points in H1_ENDS:
            ends = world.positions[:, None, row] + rotations.rotate(world.rotations[:, None, row], np.array(points))
            heights = -(ends + H1_RADIUS_M * down) @ down
            assert np.abs(heights[on].min(axis=1)).max() < 0.001
            lower = heights.argmin(axis=1)
            both = on[1:] & on[:-1] & (lower[1:] == lower[:-1])
            ends -= rotations.rotate(world.rotations[:, None, row], np.array([0.0, 0.0, H1_RADIUS_M]))  # what touches
            steps = np.linalg.norm(np.diff(ends, axis=0), axis=-1)[np.arange(len(lower) - 1), lower[1:]]
            assert (steps[both] * done.fps).max() < 0.01  # [m/s]
        assert np.ptp(heights[on], axis=1).max() > 0.005  # soles are tilted


def test_wide_feet_stand_on_edges_beyond_the_roll_of_ankles(data):
    """Flat soles drew the hips to one side: thighs were 59 degrees off, soles 10 mm in the ground."""
    person, robot = poise.load(samples.path("humanoid.glb")), poise.load(data / G1)
    done = poise.retarget(build_lunge(person), robot, source=person)
    directions = [find_directions(clip, rig.roles.joints, "leftUpperLeg", "leftLowerLeg")
                  for clip, rig in ((done.source, person), (done, robot))]  # fmt: skip
    to_z_up = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert np.percentile(measure_angles(directions[0] @ to_z_up.T, directions[1]), 95.0) < 30.0
    for side in SIDES:
        heights = place_g1_points(done, side, (*G1_HEEL, *G1_BALL))[..., 2] - G1_RADIUS_M
        assert heights.min() > -0.001
        assert np.ptp(heights, axis=1).max() > 0.01  # they stand on edges


def measure_hand_errors(done):
    """Angles [rad] (F,) between the left hand's axes in the source and in the robot."""
    turns = []
    for clip, body in zip((done.source, done), done.bodies, strict=True):
        segment = body.segments["leftHand"]
        world = rotations.multiply(body.world_turn, clip.poses.world.rotations[:, segment.carrier])
        turns.append(rotations.multiply(world, segment.carrier_frame))
    way = rotations.multiply(turns[1], rotations.inverse(turns[0]))
    return np.linalg.norm(rotations.as_vector(way), axis=1)


def measure_changes(done):
    """Changes of step of all joint values, squared and summed."""
    return np.square(np.diff(read_joint_values(done)[0], n=2, axis=0)).sum()


def test_weights_move_a_robot_towards_what_they_name(data):
    walk = poise.load(data / WALK)
    clip, robot = walk.clips[0], poise.load(data / G1)
    short = poise.Clip(clip.times[60:120] - clip.times[60], clip.poses[60:120])
    plain, same, hands, smooth = (
        poise.retarget(short, robot, source=walk, weights=weights)
        for weights in (None, {"limbs": 1}, {"hands": 20.0}, {"smooth": 20.0})
    )
    assert np.array_equal(plain.poses.q, same.poses.q)
    assert np.median(measure_hand_errors(hands)) < 0.7 * np.median(measure_hand_errors(plain))
    assert measure_changes(smooth) < 0.5 * measure_changes(plain)
    for weights, message in (
        ({"arms": 2.0}, "no weight 'arms'; weights: limbs"),
        ({"hands": -1.0}, "the weight of hands is a factor from 0 to 1000"),
        ({"hands": "much"}, "the weight of hands"), ([1.0], "weights are factors by word"),
    ):  # fmt: skip
        with pytest.raises(PoiseError, match=message):
            poise.retarget(short, robot, source=walk, weights=weights)


def test_characters_have_no_weights():
    rig = build_rig(build_character([1.0] * 12))
    with pytest.raises(UnsupportedError, match="weights are for robots"):
        poise.retarget(build_clip(rig.skeleton, 1), rig, weights={"hands": 2.0})


def test_characters_have_no_largest_speeds():
    rig = build_rig(build_character([1.0] * 12))
    clip = build_clip(rig.skeleton, 1)
    with pytest.raises(UnsupportedError, match="speed is for robots"):
        poise.retarget(clip, rig, speed=5.0)
    for speed in (True, False):  # there is nothing to keep
        poise.retarget(clip, rig, speed=speed)


def test_limbs_of_a_robot_point_as_in_the_source(walking_g1):
    walk, robot, done = walking_g1
    angles = [
        measure_angles(
            find_directions(done.source, walk.roles.joints, role, end)[:, [2, 0, 1]],  # y up, facing z
            find_directions(done, robot.roles.joints, role, end),
        )
        for role, end in LIMBS
    ]
    assert np.percentile(angles, 50.0) < 4.0
    assert np.percentile(angles, 95.0) < 10.0
    assert done.report.ok


def test_a_robot_keeps_limits_and_speeds_of_its_file(walking_g1):
    _, robot, done = walking_g1
    values, names = read_joint_values(done)
    speeds = np.abs(np.diff(values, axis=0)) * done.fps
    for column, name in enumerate(names):
        limit = robot.skeleton[name].limit
        assert limit.low - 1e-12 <= values[:, column].min()
        assert values[:, column].max() <= limit.high + 1e-12
        assert speeds[:, column].max() <= robot.skeleton.motors[name].velocity


def test_the_largest_speed_is_an_option(walking_g1):
    walk, robot, done = walking_g1
    slow = poise.retarget(walk, robot, speed=6.0)
    fastest = [(np.abs(np.diff(read_joint_values(one)[0], axis=0)) * one.fps).max() for one in (done, slow)]
    assert fastest[0] > 8.0
    assert fastest[1] <= 6.0 * 1.001
    for speed in (0.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="speed"):
            poise.retarget(walk, robot, speed=speed)


def test_the_same_call_gives_the_same_bits(walking_g1):
    walk, robot, done = walking_g1
    np.testing.assert_array_equal(poise.retarget(walk, robot).poses.q, done.poses.q)


@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
@pytest.mark.parametrize("name", ["mjcf/h1.xml", "mjcf/humanoid.xml", "mjcf/humanoid_CMU_V2020.xml",
                                  "usd/humanoid_mimickit.usd", "robots/h1_floating.urdf",
                                  "urdf/simple_humanoid/urdf/simple_humanoid.urdf"])  # fmt: skip
def test_other_robots_need_no_configuration(data, name):
    walk, robot = poise.load(data / WALK), poise.load(data / name)
    done = poise.retarget(poise.Clip(walk.clips[0].times[:90], walk.clips[0].poses[:90], "walk"), robot, source=walk)
    angles = [limb.p95 for limb in done.report.limbs]
    assert np.isfinite(done.poses.q).all()
    assert np.median(angles) < 15.0


def test_a_robots_clip_is_saved_and_loaded(walking_g1, tmp_path):
    _, robot, done = walking_g1
    for name in ("walk.csv", "walk.npz"):
        poise.save_motion(done, tmp_path / name)
        again = poise.load_motion(tmp_path / name, robot)
        np.testing.assert_allclose(again.poses.world.positions, done.poses.world.positions, atol=1e-6)


def test_feet_that_are_not_held_follow_the_legs(walking_g1):
    walk, robot, done = walking_g1
    free = poise.retarget(walk, robot, ground=False)
    assert free.report.feet is None
    errors = [sum(limb.p50 for limb in one.report.limbs if limb.role.endswith("Leg")) for one in (done, free)]
    assert errors[1] < 5.0  # degrees, of four bones
    assert errors[1] < errors[0]


def test_feet_turn_to_legs_that_ankles_cannot_roll_under(data, walking_g1):
    jacks = poise.load(data / "bvh/jumping_jacks_cmu1.bvh")
    wide = poise.Clip(jacks.clips[0].times[:12], jacks.clips[0].poses[92:104], "wide")
    done = poise.retarget(wide, walking_g1[1], source=jacks)
    stands = done.contacts.any.all(axis=1)
    assert stands.any()
    errors = [done.report.angles[f"{side}{part}"][stands].max() for side in SIDES for part in ("UpperLeg", "LowerLeg")]
    assert max(errors) < 12.0  # ankles roll by 15 degrees at most: shins were 24 off


def test_a_robot_walks_in_place(walking_g1):
    walk, robot, done = walking_g1
    still = poise.retarget(walk, robot, root="in_place")
    ways = [np.ptp(one.poses.world.positions[:, 0, :2], axis=0).max() for one in (done, still)]
    assert ways[1] < 0.2 * ways[0]
    assert any(note.startswith("skate, depth and floating of feet are not measured in place") for note in still.notes)


@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
def test_a_robot_without_hands_keeps_its_joints_in_place(data):
    walk, robot = poise.load(data / WALK), poise.load(data / "robots/h1_floating.urdf")
    clip = poise.Clip(walk.clips[0].times[:20], walk.clips[0].poses[:20], "walk")
    still = poise.retarget(clip, robot, source=walk, root="in_place")
    assert still.skeleton.names == poise.retarget(clip, robot, source=walk).skeleton.names


def build_statue(fixed, missing=()):
    """A person with hinges for knees, fixed joints and missing ones where a name has one of these parts."""
    person = build_character([1.0] * 12)
    kept = [row for row, name in enumerate(person.names) if not any(part in name for part in missing)]
    names = [person.names[row] for row in kept]
    kinds = [Kind.HINGE if name in ("LeftLeg", "RightLeg") else Kind.BALL for name in names]
    kinds = [Kind.FIXED if any(part in name for part in fixed) else kind
             for name, kind in zip(names, kinds, strict=True)]  # fmt: skip
    parents = [kept.index(int(person.parents[row])) if person.parents[row] >= 0 else -1 for row in kept]
    axes = np.tile([1.0, 0.0, 0.0], (len(names), 1))
    statue = poise.Skeleton.build(names, parents, kinds, offsets=person.A[kept, :3], axes=axes, up="y")
    roles = {role: joint for role, joint in build_rig(person).roles.joints.items() if joint in names}
    return build_rig(statue, humanoid=roles)


def turn_frames(skeleton, part):
    """Turn the frames behind the hinges of some joints, as USD files may have them, and nothing else."""
    turn, A, B = rotations.about(np.array([0.0, 0.0, 1.0]), 0.5 * np.pi), skeleton.A.copy(), skeleton.B.copy()
    matrix = rotations.as_matrix(turn)
    for row in (row for row, name in enumerate(skeleton.names) if part in name):
        B[row, :, :3] = B[row, :, :3] @ matrix
        for child in skeleton.children[row]:
            A[child, :3] = matrix.T @ A[child, :3]
            A[child, 3:] = rotations.multiply(rotations.inverse(turn), A[child, 3:])
    return dataclasses.replace(skeleton, A=A, B=B)


@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
@pytest.mark.parametrize("part", ["ankle", "knee", "elbow"])
def test_hinges_are_found_in_frames_that_are_turned_behind_them(data, part):
    """The pitch of an ankle looked like its roll, a knee like a twist: soles of the H1 were 23 mm in the ground."""
    walk, robot = poise.load(data / WALK), poise.load(data / "mjcf/h1.xml")
    turned = robot.with_skeleton(turn_frames(robot.skeleton, part))
    done, plain = (poise.retarget(take_frames(walk), one, source=walk) for one in (turned, robot))
    assert done.report.feet["depth"] < 1.0
    assert done.report.feet["skate"] < 0.5
    if part != "ankle":  # a foot's axes are those of its joint
        np.testing.assert_allclose(done.poses.q, plain.poses.q, atol=1e-6)


@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
def test_a_turn_of_a_limb_with_few_hinges_is_told(data):
    walk, robot = poise.load(data / WALK), poise.load(data / "mjcf/humanoid.xml")
    match = poise.match(walk, robot).with_joint("leftUpperArm", turn=20.0).with_joint("leftUpperLeg", turn=20.0)
    done, plain = (poise.retarget(take_frames(walk), robot, source=walk, match=one, ground=False, clear=False)
                   for one in (match, match.with_joint("leftUpperArm", turn=0.0)))  # fmt: skip
    assert "the match turns leftUpperArm: of a robot they have no effect" in done.notes
    np.testing.assert_array_equal(done.poses.q, plain.poses.q)


@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
def test_shoulders_of_two_hinges_point(data):
    """MuJoCo's humanoid cannot turn its upper arms about themselves."""
    walk, robot = poise.load(data / WALK), poise.load(data / "mjcf/humanoid.xml")
    clip = poise.Clip(walk.clips[0].times[:100], walk.clips[0].poses[:100], "walk")
    arms = [limb for limb in poise.retarget(clip, robot, source=walk).report.limbs if limb.role.endswith("Arm")]
    assert max(limb.p95 for limb in arms) < 12.0


def test_errors_of_direction_name_joints_at_a_limit(data):
    """The file of simple_humanoid lets its feet point down alone."""
    walk, robot = poise.load(data / WALK), poise.load(data / "urdf/simple_humanoid/urdf/simple_humanoid.urdf")
    clip = poise.Clip(walk.clips[0].times[100:170], walk.clips[0].poses[100:170], "walk")
    losses = poise.retarget(clip, robot, source=walk).report.worse
    assert any(re.search(r"leftLowerLeg is .*; at a limit: .*LLEG_ANKLE_P \(\d+ %\)", loss) for loss in losses), losses


def test_a_robot_slower_than_its_clip_moves_as_fast_as_it_can(data):
    """Jumping jacks take the arms of simple_humanoid five times as fast as they turn. They stood still."""
    jacks, robot = poise.load(data / "bvh/jumping_jacks_cmu1.bvh"), poise.load(
        data / "urdf/simple_humanoid/urdf/simple_humanoid.urdf")  # fmt: skip
    clip = poise.Clip(jacks.clips[0].times[40:70], jacks.clips[0].poses[40:70], "jacks")
    done = poise.retarget(clip, robot, source=jacks, ground=False, clear=False)
    assert np.ptp(read_joint_values(done)[0], axis=0).max() > 1.0
    assert all(use.speed < 1.5 * use.most for use in done.report.robot.joints)


def test_legs_that_do_not_move_are_refused():
    with pytest.raises(UnsupportedError, match="moves: there is nothing to retarget onto"):
        poise.retarget(build_clip(build_character([1.0] * 12), 1), build_statue(("Leg", "Foot")))


@pytest.mark.parametrize(
    ("fixed", "missing", "note", "unmoved"),
    [
        (("Shoulder", "Arm", "Hand"), (), "no joint moves the target's left and right arm against its trunk: they",
         ("leftUpperArm", "rightLowerArm")),
        (("LeftShoulder", "LeftArm"), (), "no joint moves the target's left upper arm against its trunk: it stays",
         ("leftUpperArm",)),
        ((), ("Arm", "Hand", "Shoulder", "Spine", "Head", "Neck"),
         "the target has no known left and right arm: trunk and legs follow", ("leftUpperArm", "rightLowerArm")),
        ((), ("RightForeArm", "RightHand"), "the target has no known right arm: the remaining", ("rightUpperArm",)),
    ],
    ids=["fixed", "one fixed joint", "legs alone", "half an arm"],
)  # fmt: skip
def test_a_robot_needs_legs_alone(fixed, missing, note, unmoved):
    clip, robot = build_clip(build_character([1.0] * 12), 1), build_statue(fixed, missing)
    done = poise.retarget(clip, robot, ground=False)
    assert any(one.startswith(note) for one in done.notes), done.notes
    joints = build_rig(clip.skeleton).roles.joints
    for role, end in LIMBS:
        if "Leg" in role:
            ways = [find_directions(one, joints, role, end) for one in (clip, done)]
            assert np.median(measure_angles(*ways)) < 5.0
    reported = {limb.role for limb in done.report.limbs}
    assert "leftLowerLeg" in reported
    assert not reported & {*unmoved}
    live = poise.Retargeter(build_rig(clip.skeleton, clips=(clip,)), robot)
    assert live(clip.poses[0], 0.01).skeleton.names == done.skeleton.names


def test_a_clip_of_one_frame_goes_onto_a_robot(walking_g1):
    walk, robot, _ = walking_g1
    clip = poise.Clip(np.zeros(1), walk.clips[0].poses[100:101], "one")
    done = poise.retarget(clip, robot, source=walk)
    assert len(done) == 1
    assert max(limb.most for limb in done.report.limbs) < 20.0


@pytest.mark.parametrize(
    "ground",
    [
        poise.Terrain.slope(8.0, direction=(1.0, 0.0, 0.0), up="z"),
        poise.Terrain.stairs(0.08, 0.4, direction=(1.0, 0.0, 0.0), up="z"),
    ],
    ids=["slope", "stairs"],
)
def test_a_robot_climbs_in_the_same_call(walking_g1, ground):
    walk, robot, done = walking_g1
    climbs = poise.retarget(walk, robot, ground=ground)
    feet = climbs.report.feet
    assert feet["skate"] < 0.5
    assert feet["floating"] < 1.0
    assert feet["depth"] < 5.0
    assert not [sentence for sentence in climbs.report.worse if "off the source's direction" in sentence]
    rises = [np.ptp(one.poses.world.positions[:, 0, 2]) for one in (done, climbs)]
    assert rises[1] > rises[0] + 0.3


@pytest.mark.parametrize(("rise", "going"), [(-0.08, 0.4), (-0.1, 0.35), (0.08, 0.4)])
def test_swinging_soles_keep_out_of_steps(walking_g1, rise, going):
    walk, robot, _ = walking_g1
    stairs = poise.Terrain.stairs(rise, going, direction=(1.0, 0.0, 0.0), up="z")
    done = poise.retarget(walk, robot, ground=stairs)
    for side in done.contacts.legs:
        points = place_g1_points(done, side, np.array([*G1_HEEL, *G1_BALL]) - [0.0, 0.0, G1_RADIUS_M])
        ground = done.robot.sample(points[..., :2].reshape(-1, 2))[0].reshape(points.shape[:2])
        assert (points[..., 2] - ground).min() > -0.003
        # up a riser right in front of the toes a foot leapt by 5 to 6 cm between two frames, the pelvis by 3
        assert measure_leap(done, f"{side}_ankle_roll_joint") < 0.01
    assert measure_leap(done, "pelvis") < 0.005


@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
@pytest.mark.parametrize(("name", "rise", "going"), [("robots/h1.urdf", 0.15, 0.3), ("mjcf/h1.xml", 0.17, 0.28)])
def test_swinging_feet_pass_beside_edges(data, name, rise, going):
    """High over the lower tread, a foot left its path beside a riser, and its heel was 5 to 61 mm in the step."""
    walk, robot = poise.load(data / WALK), poise.load(data / name)
    feet = poise.retarget(walk, robot, ground=poise.Terrain.stairs(rise, going)).report.feet
    assert feet["depth"] < 1.0
    assert feet["skate"] < 0.5


def measure_leap(done, joint):
    """The largest change of step of a joint [m]."""
    places = done.poses.world.positions[:, done.skeleton.index(joint)]
    return np.linalg.norm(np.diff(places, n=2, axis=0), axis=-1).max()


def test_hips_do_not_leap_with_a_foot_that_turns_faster_than_the_robots(walking_g1):
    walk, robot, _ = walking_g1
    clip, foot = take_frames(walk, 80), walk.skeleton.q_start[walk.skeleton.index("RightFoot")]
    q = np.array(clip.poses.q)
    q[49, foot : foot + 4] = rotations.multiply(q[49, foot : foot + 4], rotations.about([1.0, 0.0, 0.0], 1.0))
    flicked = poise.Clip(clip.times, poise.Pose(walk.skeleton, q), clip.name)
    done = poise.retarget(flicked, robot, source=walk, speed=6.0)
    assert not done.contacts.any[49, done.contacts.legs.index("right")]
    assert measure_leap(done, "pelvis") < 0.02  # 0.04 where the swing was as firm in the air as near the ground


def test_treads_shorter_than_the_sole_are_told(walking_g1):
    walk, robot, _ = walking_g1
    done = poise.retarget(walk, robot, ground=poise.Terrain.stairs(0.08, 0.2, direction=(1.0, 0.0, 0.0), up="z"))
    told = [note for note in done.notes if "reaches over an edge with its heel, 60 mm above the ground, from" in note]
    assert len(told) == len(find_stances(done.contacts.any))
    assert not [note for note in done.notes if "off the ground" in note]
    assert done.report.feet["floating"] < 0.1  # [mm]


def find_stances(on):
    """Column, first and last frame of each stance."""
    return [
        (column, frames[0], frames[-1])
        for column in range(on.shape[1])
        for frames in np.split(np.arange(len(on)), np.flatnonzero(np.diff(on[:, column])) + 1)
        if on[frames[0], column]
    ]


def test_each_stance_that_is_not_held_is_a_sentence(walking_g1):
    walk, robot, _ = walking_g1
    done = poise.retarget(take_frames(walk), robot, source=walk, speed=0.5)  # too slow for its feet
    sliding = 0
    for column, start, stop in find_stances(done.contacts.any):
        side = done.contacts.legs[column]
        moved = np.diff(place_g1_points(done, side, (*G1_HEEL, *G1_BALL))[start : stop + 1], axis=0)
        slides = np.linalg.norm(moved[..., :2], axis=-1).min(axis=1).max() * done.fps > 0.005  # [m/s], of all points
        when = f"from {done.times[start]:.2f} to {done.times[stop]:.2f} s"
        told = [note for note in done.notes if note.startswith(f"the {side} foot slides by up to") and when in note]
        assert not slides or len(told) == 1
        sliding += slides
    assert sliding


def test_feet_of_skipped_legs_are_not_held(walking_g1):
    walk, robot, _ = walking_g1
    clip, match = poise.Clip(walk.clips[0].times[:40], walk.clips[0].poses[:40], "walk"), poise.match(walk, robot)
    one = match.with_joint("leftLowerLeg", skip=True)
    both, stairs = one.with_joint("rightUpperLeg", skip=True), poise.Terrain.stairs(0.1, 0.3, up="z")
    sentence = "the left foot is not held on the ground: the match skips a row of its leg"
    assert sentence in poise.retarget(clip, robot, source=walk, match=one, ground=stairs).notes
    assert any("skips rows of the legs" in note for note in poise.retarget(clip, robot, source=walk, match=both).notes)
    with pytest.raises(UnsupportedError, match="the match skips rows of the legs that stand in the source"):
        poise.retarget(clip, robot, source=walk, match=both, ground=stairs)


def test_feet_beyond_the_edge_of_a_heightmap_are_told(walking_g1):
    walk, robot, _ = walking_g1
    small = poise.Terrain.heightmap(np.zeros((4, 4)), size=0.6, up="z")
    assert any("beyond the ground's edge" in note for note in poise.retarget(walk, robot, ground=small).notes)


def test_arms_are_kept_apart_from_the_body(data, walking_g1):
    robot = walking_g1[1]
    jacks = poise.load(data / "bvh/jumping_jacks_cmu1.bvh")
    apart = poise.retarget(jacks, robot).report.robot
    assert apart.nearest[2] > -5.0  # [mm]
    assert poise.retarget(jacks, robot, clear=False).report.robot.nearest is None


def test_hands_that_are_deep_in_the_body_come_out_on_one_side(data):
    """The dancer's hand is on the hip, 0.1 m in the robot's. Alone it came out behind the body for two frames."""
    dance, robot = poise.load(data / "bvh/jesse_dance_rokoko.bvh"), poise.load(data / "urdf/g1_29dof.urdf")
    done = poise.retarget(dance, robot)
    assert max(jump.target for jump in done.report.jumps) < 0.1  # 0.29 before
    assert done.report.ok, done.report.worse


def place_g1_limb(done, joint, end, ahead):
    """World places (F, 21, 3) of the line from a joint to the next one, moved ahead at rest."""
    skeleton, world = done.skeleton, done.poses.world
    rest, row = poise.Pose(skeleton, skeleton.rest_q).world, skeleton.index(joint)
    start, stop = (rest.positions[skeleton.index(name)] for name in (joint, end))
    points = start + np.linspace(0.0, 1.0, 21)[:, None] * (stop - start) + [ahead, 0.0, 0.0]
    local = rotations.rotate(rotations.inverse(rest.rotations[row]), points - rest.positions[row])
    return world.positions[:, None, row] + rotations.rotate(world.rotations[:, None, row], local)


def test_a_forearm_keeps_out_of_a_thigh_that_is_lifted_to_the_chest(data):
    dance, robot = poise.load(data / "bvh/jesse_dance_rokoko.bvh"), poise.load(data / G1)
    lifted = slice(830, 890)
    times, poses = dance.clips[0].times[lifted], dance.clips[0].poses[lifted]
    done = poise.retarget(poise.Clip(times - times[0], poses), robot, source=dance)
    thigh = place_g1_limb(done, "right_hip_yaw_joint", "right_knee_joint", G1_THIGH_AHEAD)
    forearm = place_g1_limb(done, "right_elbow_joint", "right_wrist_yaw_joint", 0.0)
    apart = np.linalg.norm(thigh[:, :, None] - forearm[:, None], axis=-1).min()
    assert apart > G1_THIGH_AND_FOREARM - 0.015


def test_a_wrong_joint_of_a_limb_is_named(walking_g1):
    walk, robot, _ = walking_g1
    match = poise.match(walk, robot).with_joint("leftFoot", target="left_shoulder_yaw_joint")
    with pytest.raises(InputError, match="'left_shoulder_yaw_joint' .*is not below"):
        poise.retarget(walk, robot, match=match)


def measure_turns(q):
    """Angles (F,) of rotations [degrees]."""
    return np.degrees(np.linalg.norm(rotations.as_vector(q), axis=-1))


def take_frames(walk, count=40):
    return poise.Clip(walk.clips[0].times[:count], walk.clips[0].poses[100 : 100 + count], "walk")


def write_urdf(path, text, directory):
    """Load a changed robot file."""
    (directory / path).write_text(text)
    return poise.load(directory / path)


def scale_urdf(text, factor):
    def scale(found):
        numbers = " ".join(repr(factor * float(number)) for number in found[2].split())
        return f'{found[1]}="{numbers}"'

    text = text.replace("<axis xyz", "<axis kept")
    return re.sub(r'\b(xyz|length|radius|size)="([^"]*)"', scale, text).replace("<axis kept", "<axis xyz")


def test_the_size_of_a_robot_does_not_change_its_angles(data, walking_g1, tmp_path):
    walk, _, _ = walking_g1
    text = (data / G1).read_text()
    angles = [
        poise.retarget(take_frames(walk), write_urdf("scaled.urdf", scale_urdf(text, factor), tmp_path), source=walk)
        .poses.q[:, 7:]
        for factor in (1.0, 100.0, 0.2)
    ]  # fmt: skip
    for other in angles[1:]:
        np.testing.assert_allclose(other, angles[0], rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("role", ["hips", "spine", "leftUpperArm", "leftLowerArm", "leftHand", "leftFoot"])
def test_joints_of_skipped_rows_stay_as_at_rest(walking_g1, role):
    walk, robot, _ = walking_g1
    done = poise.retarget(
        take_frames(walk), robot, source=walk, match=poise.match(walk, robot).with_joint(role, skip=True)
    )
    skeleton, joint = done.skeleton, robot.roles.joints[role]
    if role == "hips":
        assert measure_turns(done.poses.world.rotations[:, skeleton.index(joint)]).max() < 3.0
        return
    start = skeleton.q_start[skeleton.index(joint)]
    np.testing.assert_array_equal(done.poses.q[:, start], skeleton.rest_q[start])


@pytest.mark.parametrize("role", ["hips", "spine", "leftUpperArm", "leftHand", "leftFoot"])
def test_rows_turn_joints_of_a_robot(walking_g1, role):
    walk, robot, _ = walking_g1
    match, clip = poise.match(walk, robot), take_frames(walk)
    row = robot.skeleton.with_free_root().index(robot.roles.joints[role])
    turns = [
        poise.retarget(clip, robot, source=walk, match=match.with_joint(role, turn=turn), ground=False, clear=False)
        .poses.world.rotations[:, row]
        for turn in (0.0, 20.0)
    ]  # fmt: skip
    angles = measure_turns(rotations.multiply(rotations.inverse(turns[0]), turns[1]))
    assert np.median(angles) > 5.0


def test_a_turn_without_effect_is_told(walking_g1):
    walk, robot, _ = walking_g1
    match = poise.match(walk, robot).with_joint("head", turn=20.0).with_joint("leftLowerLeg", turn=20.0)
    notes = poise.retarget(take_frames(walk), robot, source=walk, match=match).notes
    assert "the match turns head, leftLowerLeg: of a robot they have no effect" in notes


def test_the_speeds_of_followers_are_kept(data, walking_g1, tmp_path):
    walk, _, _ = walking_g1
    text = (data / G1).read_text()
    joint = re.search(r'<joint name="left_elbow_joint".*?</joint>', text, re.DOTALL)[0]
    coupled = joint.replace("</joint>", '<mimic joint="left_shoulder_pitch_joint" multiplier="2"/></joint>')
    coupled = re.sub(r'velocity="[^"]*"', 'velocity="1.0"', coupled)
    robot = write_urdf("coupled.urdf", text.replace(joint, coupled), tmp_path)
    for speed in (True, 1.0):
        done = poise.retarget(take_frames(walk), robot, source=walk, speed=speed)
        start = done.skeleton.q_start[done.skeleton.index("left_shoulder_pitch_joint")]
        assert np.abs(np.diff(done.poses.q[:, start])).max() * done.fps <= 0.5 * 1.001


def test_speeds_are_kept_on_rounded_times(walking_g1):
    walk, robot, _ = walking_g1
    poses = walk.clips[0].poses[::2]
    times = np.round(np.arange(len(poses)) / 60.0, 3)
    done = poise.retarget(poise.Clip(times, poses, "walk"), robot, source=walk, speed=6.0, first="keep")
    np.testing.assert_array_equal(done.times, times)
    speeds = np.abs(np.diff(read_joint_values(done)[0], axis=0)) / np.diff(times)[:, None]
    assert speeds.max() <= 6.0 * 1.001
