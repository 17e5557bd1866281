"""poise.Retargeter onto robots: frame by frame, near the batch, within limits and speeds."""

from __future__ import annotations

import copy
import pickle
from itertools import product

import numpy as np
import pytest

import poise
from poise import InputError, Terrain, UnsupportedError
from poise.ground.robot.tree import build_tree, read_configurations
from poise.io import samples
from poise.maths import rotations
from tests.retarget.characters import (
    build_character,
    build_clip,
    build_lunge,
    build_rig,
    find_directions,
    measure_angles,
)

FRAMES = 150
BONES = {"UpperLeg": "LowerLeg", "LowerLeg": "Foot", "UpperArm": "LowerArm", "LowerArm": "Hand"}


@pytest.fixture(scope="module")
def walking_g1(data):
    walk, robot = poise.load(data / "bvh/cmu_12_01_walk.bvh"), poise.load(data / "urdf/g1_29dof.urdf")
    clip = poise.Clip(walk.clips[0].times[2:FRAMES], walk.clips[0].poses[2:FRAMES], "walk")
    return walk, robot, clip, poise.retarget(clip, robot, source=walk, ground=False)


def follow(live, poses, step):
    """The configurations (F, nq) of a live robot."""
    return np.array([live(poses[frame], step).q for frame in range(len(poses))])


def measure_directions(done, clip):
    """Angles (b, F) between bones of the source and of a clip of the robot."""
    angles = []
    for side, (part, end) in product(("left", "right"), BONES.items()):
        ways = [
            rotations.rotate(body.world_turn, find_directions(one, body.joints, f"{side}{part}", f"{side}{end}"))
            for body, one in zip(done.bodies, (done.source, clip), strict=True)
        ]
        angles.append(measure_angles(*ways))
    return np.array(angles)


def measure_speeds(robot, q, step):
    """The largest share of a joint's speed by the file, and the farthest way beyond its range."""
    tree = build_tree(robot.skeleton)
    values = read_configurations(tree, q)[2]
    low, high = tree.ranges.T
    return (np.abs(np.diff(values, axis=0)) / step / tree.speeds).max(), max(
        (low - values).max(), (values - high).max()
    )


def test_limbs_of_a_live_robot_point_as_in_the_batch(walking_g1):
    walk, robot, clip, done = walking_g1
    q = follow(poise.Retargeter(walk, robot), clip.poses, 1.0 / clip.fps)
    live = poise.Clip(clip.times, poise.Pose(done.skeleton, q), "live")
    batch, angles = (measure_directions(done, one) for one in (done, live))
    assert np.median(angles) < np.median(batch) + 0.5
    assert np.percentile(angles, 95.0) < np.percentile(batch, 95.0) + 1.0
    way = live.poses.world.positions - done.poses.world.positions
    assert np.percentile(np.linalg.norm(way, axis=-1), 95.0) < 0.06


def test_arms_of_a_live_robot_come_near_the_body_without_jumps(data, walking_g1):
    """The arms of a crouch touch the thighs; one that finds no way out of them flips from frame to frame."""
    crouch, robot = poise.load(data / "bvh/mocapbank.bvh"), walking_g1[1]
    frames = slice(300, 400)
    clip = poise.Clip(crouch.clips[0].times[frames], crouch.clips[0].poses[frames], "crouch")
    done = poise.retarget(clip, robot, source=crouch, ground=False)
    q = follow(poise.Retargeter(crouch, robot), clip.poses, 1.0 / clip.fps)
    rows = [done.skeleton.index(f"{side}_wrist_yaw_joint") for side in ("left", "right")]
    jumps = [
        np.linalg.norm(np.diff(poses.world.positions[:, rows], 2, axis=0), axis=-1).max()
        for poses in (done.poses, poise.Pose(done.skeleton, q))
    ]
    assert jumps[0] < 0.010  # [m] 0.015 once, as steps of the whole clip went to and fro between touching and not
    assert jumps[1] < 0.012


def test_a_live_robot_keeps_limits_and_speeds(walking_g1):
    walk, robot, clip, _ = walking_g1
    for step, frames in (
        (1.0 / 120.0, slice(0, None, 9)),
        (1.0 / 30.0, slice(0, None, 50)),
    ):  # up to eight times as fast
        q = follow(poise.Retargeter(walk, robot), clip.poses[frames], step)
        speed, beyond = measure_speeds(robot, q, step)
        assert np.isfinite(q).all()
        assert 0.99 < speed <= 1.0 + 1e-6 if step < 1.0 / 100.0 else speed <= 1.0 + 1e-6
        assert beyond <= 1e-12


def test_pauses_and_leaps_do_no_harm(walking_g1):
    walk, robot, clip, _ = walking_g1
    live, first = poise.Retargeter(walk, robot), clip.poses[0]
    away = poise.Pose(first.skeleton, first.q + 900.0 * (np.arange(len(first.q)) == 0))
    shown = [live(pose, dt) for pose, dt in ((first, 0.0), (first, 0.0), (away, 1 / 60), (away, 1 / 60), (first, 10.0))]
    assert np.isfinite([pose.q for pose in shown]).all()
    hips = [pose.world.positions[robot.skeleton.with_free_root().index("pelvis")] for pose in shown]
    np.testing.assert_allclose(hips[1], hips[0], atol=1e-3)
    assert np.linalg.norm(hips[3] - hips[2]) < 0.01 * np.linalg.norm(hips[2] - hips[1])


@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
def test_in_no_time_nothing_moves(data, walking_g1):
    """Joints of the H1 without a speed in its file became NaN for good, and endless times overflowed."""
    walk, _, clip, _ = walking_g1
    live = poise.Retargeter(walk, poise.load(data / "mjcf/h1.xml"), ground=True)
    first, same = live(clip.poses[6]).q, live(clip.poses[7], 0.0).q
    assert np.array_equal(first, same)
    assert np.isfinite([live(clip.poses[8 + frame], dt).q for frame, dt in enumerate((1e-300, 1 / 60, 1e300))]).all()


@pytest.mark.long
@pytest.mark.parametrize("ground", [None, True])
@pytest.mark.parametrize("steps", [(0.0498, 0.0002), (0.044, 0.002, 0.002, 0.052)])
def test_uneven_times_move_a_robot_as_even_ones(walking_g1, ground, steps):
    """The base of a robot has no largest speed: a step in a short time threw it kilometres away."""
    walk, robot, clip, _ = walking_g1
    even, uneven = (poise.Retargeter(walk, robot, ground=ground) for _ in range(2))
    poses = clip.poses[::3]
    off = []
    for frame in range(len(poses)):
        shown = [live(poses[frame], dt) for live, dt in ((even, 1 / 40), (uneven, steps[frame % len(steps)]))]
        off.append(np.linalg.norm(np.subtract(*(pose.world.positions for pose in shown)), axis=-1).max())
    assert max(off) < 0.15
    assert np.median(off) < 0.04


@pytest.mark.long
@pytest.mark.parametrize(("speed", "turning"), [(0.3, 0.0), (0.0, 1.0)])
def test_feet_that_slide_do_not_leave_a_robot_behind(walking_g1, speed, turning):
    """Feet of the source slide [m/s], or turn [rad/s], and never lift."""
    walk, robot, clip, _ = walking_g1
    standing, free = poise.Retargeter(walk, robot, ground=True), poise.Retargeter(walk, robot)
    pose, metre = clip.poses[98], np.ptp(clip.poses[98].world.positions[:, 1]) / 1.6
    off, steps = [], []
    for frame in range(240):
        q, seconds = np.array(pose.q), frame / 60.0
        q[2] += speed * metre * seconds
        q[3:7] = rotations.multiply(rotations.about(np.array([0.0, 1.0, 0.0]), turning * seconds), q[3:7])
        shown = [live(poise.Pose(pose.skeleton, q), 1 / 60).world for live in (standing, free)]
        off.append(np.linalg.norm(shown[0].positions - shown[1].positions, axis=-1).max())
        steps.append(shown[0].positions)
    assert max(off) < 0.2
    assert np.linalg.norm(np.diff(steps, 2, axis=0), axis=-1).max() < 0.02


@pytest.mark.parametrize("ground", [None, True])
def test_live_robots_have_the_same_bits_after_a_reset(walking_g1, ground):
    walk, robot, clip, _ = walking_g1
    live, step = poise.Retargeter(walk, robot, ground=ground), 1.0 / clip.fps
    poses = clip.poses[:12]
    bits = follow(live, poses, step)
    assert not np.array_equal(bits, follow(live, poses, step))
    live.reset()
    assert np.array_equal(bits, follow(live, poses, step))
    for copied in (copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))):  # noqa: S301  (our own)
        other = copied(live)
        goes_on = follow(live, poses, step)
        assert np.array_equal(goes_on, follow(other, poses, step))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
@pytest.mark.parametrize("name", ["mjcf/h1.xml", "mjcf/humanoid.xml", "usd/humanoid_mimickit.usd"])
def test_other_robots_go_live(data, walking_g1, name):
    walk, _, clip, _ = walking_g1
    robot = poise.load(data / name)
    live = poise.Retargeter(walk, robot)
    q = follow(live, clip.poses[::6], 6.0 / clip.fps)
    speed, beyond = measure_speeds(robot, q, 6.0 / clip.fps)
    assert np.isfinite(q).all()
    assert max(speed - 1.0, beyond) <= 1e-6


def test_a_character_with_a_hinge_is_a_robot():
    source = build_rig(build_character([1.0] * 12), clips=(build_clip(build_character([1.0] * 12), 3),))
    skeleton = source.skeleton
    kinds = [poise.Kind.HINGE if name == "LeftLeg" else poise.Kind(int(kind))
             for name, kind in zip(skeleton.names, skeleton.kinds, strict=True)]  # fmt: skip
    axes = np.tile([1.0, 0.0, 0.0], (len(kinds), 1))
    hinged = poise.Skeleton.build(skeleton.names, skeleton.parents, kinds, offsets=skeleton.A[:, :3], axes=axes, up="y")
    rig = poise.Rig(hinged, poise.Pose(hinged, hinged.rest_q))
    live = poise.Retargeter(source, rig, poise.match(source, source))
    clip = source.clips[0]
    shown = [live(clip.poses[frame], 1 / 30) for frame in range(8)]
    assert all(np.isfinite(pose.q).all() for pose in shown)
    joints = live.match.list_joints(of_target=True)
    last = poise.Clip(np.zeros(1), poise.Pose(shown[-1].skeleton, shown[-1].q[None]))
    way = [find_directions(one, joints, "leftUpperArm", "leftLowerArm")[-1]
           for one in (last, poise.Clip(np.zeros(1), clip.poses[7:8]))]  # fmt: skip
    assert float(way[0] @ way[1]) > np.cos(np.radians(5.0))


def place_soles(q, skeleton, side):
    """World places (F, 2, 3) of heel and ball of a foot of the G1, in the middle between its spheres, on the sole."""
    world = poise.Pose(skeleton, q).world
    row = skeleton.index(f"{side}_ankle_roll_joint")
    points = np.array([(-0.05, 0.0, -0.035), (0.12, 0.0, -0.035)])
    return world.positions[:, None, row] + rotations.rotate(world.rotations[:, None, row], points)


def measure_contacts(q, clip, done):
    """Speeds [m/s] of heels and balls that stand in the source, and their places."""
    speeds, places = [], []
    for column, side in enumerate(done.contacts.legs):
        soles = place_soles(q, done.skeleton, side)
        for end, stands in enumerate((done.contacts.heel, done.contacts.ball)):
            on = stands[1:, column] & stands[:-1, column]
            speeds.append((np.linalg.norm(np.diff(soles[:, end], axis=0), axis=-1) * clip.fps)[on])
            places.append(soles[1:, end][on])
    return np.concatenate(speeds), np.concatenate(places)


def test_feet_of_a_live_robot_stand(walking_g1):
    walk, robot, clip, done = walking_g1
    q, free = (
        follow(poise.Retargeter(walk, robot, ground=ground), clip.poses, 1.0 / clip.fps) for ground in (True, None)
    )
    speeds, places = measure_contacts(q, clip, done)
    sliding, _ = measure_contacts(free, clip, done)
    assert np.median(speeds) < 0.005 < 0.1 * np.median(sliding)
    assert np.median(np.abs(places[:, 2])) < 0.001
    assert min(place_soles(q, done.skeleton, side)[..., 2].min() for side in ("left", "right")) > -0.005
    speed, beyond = measure_speeds(robot, q, 1.0 / clip.fps)
    assert max(speed - 1.0, beyond) <= 1e-6


@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
def test_a_live_robot_without_ankle_roll_stands_on_lower_edges(data, walking_g1):
    """The middle of a tilted sole was held, 3.5 mm over its lower edge (median)."""
    walk, _, clip, done = walking_g1
    live = poise.Retargeter(walk, poise.load(data / "mjcf/h1.xml"), ground=True)
    shown = [live(clip.poses[frame], 1.0 / clip.fps) for frame in range(len(clip))]
    world = poise.Pose(shown[0].skeleton, np.array([pose.q for pose in shown])).world
    for column, side in enumerate(done.contacts.legs):
        feet, axes, sole = find_sole(live, side)
        turns = rotations.multiply(world.rotations[:, feet], axes)
        corners = world.positions[:, feet] + rotations.rotate(turns, sole.list_corners()[:, None])
        lowest = corners[..., 2].min(axis=0)[done.contacts.any[:, column]]
        assert np.median(np.abs(lowest)) < 0.0005
        assert lowest.min() > -0.001


def test_hips_of_a_live_robot_follow_over_wide_feet(walking_g1):
    """Ankles roll by 15 degrees: flat soles held the hips, which leapt by 0.1 m where one was let go."""
    clip = build_lunge(poise.load(samples.path("humanoid.glb")))
    live = poise.Retargeter(build_rig(clip.skeleton), walking_g1[1], ground=True)
    hips = np.array([live(clip.poses[frame], 1.0 / clip.fps).q[:3] for frame in range(len(clip))])
    assert np.linalg.norm(np.diff(hips, 2, axis=0), axis=1).max() < 0.06


def find_sole(live, side):
    """The row of a foot, its axes in the row's frame and its sole."""
    robot = live._figure.robot
    segment = robot.body.segments[f"{side}Foot"]
    return segment.row, segment.row_frame, robot.soles[side]


def test_a_live_robot_goes_up_a_slope(walking_g1):
    walk, robot, clip, done = walking_g1
    slope = Terrain.slope(8.0, direction=(1, 0, 0), up="z")
    live = poise.Retargeter(walk, robot, ground=slope)
    assert "feet on the ground" in repr(live)
    q = follow(live, clip.poses, 1.0 / clip.fps)
    _, places = measure_contacts(q, clip, done)
    heights = slope.heights(places)
    assert np.ptp(heights) > 0.05
    assert np.median(np.abs(places[:, 2] - heights)) < 0.002


def test_only_planes_are_ground_of_live_robots(walking_g1):
    walk, robot, clip, _ = walking_g1
    with pytest.raises(UnsupportedError, match="level ground or a slope"):
        poise.Retargeter(walk, robot, ground=Terrain.stairs(0.1, 0.3))
    with pytest.raises(InputError, match="one pose at a time"):
        poise.Retargeter(walk, robot)(clip.poses)


def test_feet_that_cannot_be_held_are_noted(walking_g1):
    walk, robot, clip, done = walking_g1
    match = poise.match(walk, robot).with_joint("leftFoot", skip=True).with_joint("rightLowerArm", turn=20.0)
    live = poise.Retargeter(walk, robot, match, ground=True)
    assert "the left foot is not held on the ground: the match skips a row of its leg" in live.notes
    assert "the match turns rightLowerArm: of a robot they have no effect" in live.notes
    skipped = match.with_joint("rightFoot", skip=True)
    live = poise.Retargeter(walk, robot, skipped, ground=True)
    assert any("the match skips rows of the legs" in note for note in live.notes)
    assert "no ground" in repr(live)
    assert np.isfinite(live(clip.poses[0]).q).all()
    with pytest.raises(UnsupportedError, match="no feet can be put on this ground: the match skips"):
        poise.Retargeter(walk, robot, skipped, ground=Terrain.flat(up="z"))
    moved = poise.Rig(done.skeleton, done.poses[0], clips=(done.clip,))
    with pytest.raises(UnsupportedError, match="the source is a robot"):
        poise.Retargeter(moved, robot, ground=True)


def test_a_robot_that_lies_in_its_file_has_no_ground():
    source = build_rig(build_character([1.0] * 12), clips=(build_clip(build_character([1.0] * 12), 3),))
    skeleton = source.skeleton
    kinds = [poise.Kind.HINGE if name == "LeftLeg" else poise.Kind(int(kind))
             for name, kind in zip(skeleton.names, skeleton.kinds, strict=True)]  # fmt: skip
    offsets = skeleton.A[:, [1, 2, 0]]  # x is up
    axes = np.tile([0.0, 0.0, 1.0], (len(kinds), 1))
    hinged = poise.Skeleton.build(skeleton.names, skeleton.parents, kinds, offsets=offsets, axes=axes)
    rig = poise.Rig(hinged, poise.Pose(hinged, hinged.rest_q))
    live = poise.Retargeter(source, rig, poise.match(source, source), ground=True)
    assert "no feet were held on the ground: neither y nor z is up in the target's file" in live.notes
    assert np.isfinite(live(source.clips[0].poses[0], 1 / 30).q).all()
