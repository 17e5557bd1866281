"""lock_feet() and plant_feet() on robots: what touches stands still, joints keep their limits and speeds."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import poise
from poise import InputError, Kind, UnsupportedError
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import motion_of
from poise.ground.plant import free_base
from poise.ground.robot.foot_path import FootPath, RobotSole, clear_swings, smooth_swing
from poise.ground.robot.planting import measure_robot_feet
from poise.ground.robot.sole_notes import SoleTrack, describe_stances_of
from poise.ground.robot.stance_notes import describe_stances
from poise.maths import rotations
from poise.model.limits import Range
from tests.command_line import run

pytestmark = pytest.mark.long

WALK, JACKS = "bvh/cmu_12_01_walk.bvh", "bvh/jumping_jacks_cmu1.bvh"
G1, H1 = "urdf/g1_29dof.urdf", "robots/h1.urdf"
# the lowest points of the four spheres under a foot of the G1, by its file [m]: heel, then ball
G1_POINTS = ((-0.05, 0.025, -0.035), (-0.05, -0.025, -0.035), (0.12, 0.03, -0.035), (0.12, -0.03, -0.035))
MOVED_M = 0.03
SLOPE = poise.Terrain.slope(8.0, direction=(1, 0, 0), up="z")


def slide(data, clip_name, robot_name, *, clear=True):
    """The robot, and a clip of it whose feet slide: retargeted without planting."""
    source, robot = poise.load(data / clip_name), poise.load(data / robot_name)
    return robot, poise.retarget(source, robot, ground=False, clear=clear)


@pytest.fixture(scope="module")
def walking(data):
    return slide(data, WALK, G1)


@pytest.fixture(scope="module")
def locked(walking):
    robot, clip = walking
    return poise.lock_feet(clip, rig=robot)


@pytest.fixture(scope="module")
def found_standing(data):
    """A locked clip whose stances are found again. Ankles of the other one are slow enough for longer ones."""
    robot, clip = slide(data, WALK, G1, clear=False)
    return poise.lock_feet(clip, rig=robot)


def place_points(clip, side):
    """World places (F, 4, 3) of the points under a foot of the G1, by forward kinematics."""
    world, row = clip.poses.world, clip.skeleton.index(f"{side}_ankle_roll_joint")
    return world.positions[:, None, row] + rotations.rotate(world.rotations[:, None, row], np.array(G1_POINTS))


def measure_feet(planted):
    """Speeds [m/s] and heights over the ground [m] of the points that touch."""
    speeds, heights = [], []
    for column, side in enumerate(planted.contacts.legs):
        points = place_points(planted, side)
        above = points[..., 2] - planted.terrain.heights(points)
        for pair, stands in ((slice(0, 2), planted.contacts.heel), (slice(2, 4), planted.contacts.ball)):
            on, middle = stands[:, column], points[:, pair].mean(axis=1)
            both = on[1:] & on[:-1]
            speeds.extend(np.linalg.norm(np.diff(middle, axis=0), axis=1)[both] * planted.fps)
            heights.extend(above[on][:, pair].ravel())
    return np.array(speeds), np.array(heights)


def measure_joints(clip):
    """Speeds [rad/s] and accelerations of all hinges."""
    hinges = clip.skeleton.q_start[np.flatnonzero(clip.skeleton.kinds == Kind.HINGE)]
    values, step = clip.poses.q[:, hinges], 1.0 / clip.fps
    return np.abs(np.diff(values, axis=0)) / step, np.abs(np.diff(values, 2, axis=0)) / step**2


def check_ranges(clip):
    for row in np.flatnonzero(clip.skeleton.kinds == Kind.HINGE):
        limit, values = clip.skeleton.limits[row], clip.poses.q[:, clip.skeleton.q_start[row]]
        if isinstance(limit, Range):
            assert limit.low - 1e-9 <= values.min()
            assert values.max() <= limit.high + 1e-9


def test_what_touches_stands_on_its_floor(walking, locked):
    robot, clip = walking
    speeds, heights = measure_feet(locked)
    before, _ = measure_feet(locked.report and _with_poses(locked, clip))
    assert before.max() > 0.2  # [m/s]
    assert speeds.max() < 0.005
    assert np.abs(heights).max() < 0.002
    assert locked.report.after.skate < 0.1
    assert locked.skeleton == clip.skeleton
    assert robot.skeleton.names == locked.skeleton.names


def _with_poses(planted, clip):
    """The same contacts and ground with other poses."""
    return poise.Planted(
        planted.times, clip.poses, planted.name,
        **{name: getattr(planted, name) for name in (
            "source", "travelled", "contacts", "soles", "figure", "terrain", "plants", "velocity", "kept",
        )},
    )  # fmt: skip


def test_the_body_stays_near_the_source(walking, locked):
    _, clip = walking
    away = np.abs(locked.poses.q[:, :3] - clip.poses.q[:, :3])
    assert away[:, :2].max() < 0.01
    assert away[:, 2].max() < 0.04  # a stretched leg comes down with its foot
    before, after = measure_joints(clip)[1], measure_joints(locked)[1]
    assert np.percentile(after, 99.0) < 1.3 * np.percentile(before, 99.0)


def test_joints_keep_their_ranges_and_speeds(locked):
    check_ranges(locked)
    motors = locked.skeleton.motors
    names = [locked.skeleton.names[row] for row in np.flatnonzero(locked.skeleton.kinds == Kind.HINGE)]
    for name, speed in zip(names, measure_joints(locked)[0].max(axis=0), strict=True):
        assert speed <= 1.001 * motors[name].velocity


def test_locked_once_is_locked_twice(walking, found_standing):
    again = poise.lock_feet(found_standing, rig=walking[0])
    assert np.array_equal(again.poses.q, found_standing.poses.q)
    assert "it stands on this ground already, and is left as it is" in again.notes


def test_a_clip_left_as_it_is_keeps_the_note_on_soles(found_standing, data, tmp_path):
    bare = tmp_path / "bare.urdf"
    bare.write_text(re.sub("<collision.*?</collision>", "", (data / G1).read_text(), flags=re.DOTALL))
    again = poise.lock_feet(found_standing, rig=poise.load(bare), soles=found_standing.soles)
    assert again.notes[0].startswith("no collision shapes show the soles")
    assert again.notes[1:] == ("it stands on this ground already, and is left as it is",)


def test_feet_that_cannot_be_flat_stand_on_an_edge(data):
    robot, clip = slide(data, JACKS, G1)
    locked = poise.lock_feet(clip, rig=robot)
    check_ranges(locked)
    assert "the left foot stands on an edge in 3 of 7 stances: no joint turns it flat" in locked.notes
    assert np.abs(locked.poses.q[:, :2] - clip.poses.q[:, :2]).max() < 0.01
    lowest = np.min([(place_points(locked, side)[..., 2]).min() for side in ("left", "right")])
    assert lowest - locked.terrain.heights(np.zeros(3)) > -0.002


def test_legs_with_too_few_joints(data):
    robot, clip = slide(data, WALK, H1)
    locked = poise.lock_feet(clip, rig=robot)
    check_ranges(locked)
    assert locked.report.after.skate < 0.5
    assert locked.notes == tuple(
        f"the {side} leg has too few joints to turn its foot flat: it stands as it is turned"
        for side in ("left", "right")
    )


@pytest.mark.parametrize("terrain", ["slope", "stairs", "stairs down"])
def test_other_ground(walking, terrain):
    robot, clip = walking
    grounds = {
        "slope": SLOPE,
        "stairs": poise.Terrain.stairs(0.1, 0.35, direction=(1, 0, 0), up="z"),
        "stairs down": poise.Terrain.stairs(-0.1, 0.35, direction=(1, 0, 0), up="z"),
    }
    planted = poise.plant_feet(clip, grounds[terrain], rig=robot)
    check_ranges(planted)
    assert not [note for note in planted.notes if "swings through" in note]
    for side in ("left", "right"):  # corners of swinging soles went 40 to 80 mm into risers
        points = place_points(planted, side)
        assert (points[..., 2] - planted.terrain.heights(points)).min() > -0.005
    speeds, heights = measure_feet(planted)
    assert speeds.max() < 0.005
    assert np.abs(heights).max() < 0.002
    worse = ["knee"] if terrain == "slope" else []  # its knees bend both ways by 5 degrees
    assert [each.measure for each in planted.report.worse] == worse


@pytest.mark.parametrize(("height", "side"), [(0.05, 0.07), (0.1, 0.07), (0.4, 0.05), (0.4, 0.09)])
def test_an_edge_along_the_way_lifts_feet_by_its_height_at_most(walking, height, side):
    """Cells of an edge are steep: taken for a slope, they threw feet metres up."""
    robot, clip = walking
    posts = np.zeros((400, 800))
    posts[:, np.arange(800) * 0.01 - 4.0 + clip.poses.q[0, 1] > side] = height
    kerb = poise.Terrain.heightmap(posts.T, size=(4.0, 8.0), origin=(clip.poses.q[0, 0] + 1.0, 0.0, 0.0), up="z")
    planted = poise.plant_feet(clip, kerb, rig=robot)
    base = planted.poses.q[:, 2]
    assert base.max() < clip.poses.q[:, 2].max() + height + 0.02
    for foot in ("left", "right"):
        assert (place_points(planted, foot)[..., 2]).max() < height + 0.45


def test_a_swing_through_the_ground_is_named(walking, locked):
    robot, clip = walking
    motion, feet = motion_of(locked, locked.figure), measure_robot_feet(locked.figure, robot)
    raised = Footing(poise.Terrain.flat(0.03, up="z", unit=1.0), locked.figure)
    still = np.zeros(locked.contacts.any.shape, dtype=bool)
    contacts = dataclasses.replace(locked.contacts, heel=still, ball=still)
    notes = describe_stances(motion, contacts, feet, raised, np.zeros(still.shape), still, clip.poses.q)
    assert len(notes) == 2
    for side, note in zip(("left", "right"), notes, strict=True):
        assert re.fullmatch(rf"the {side} foot swings through the ground: 2\d mm at \d\.\d\d s", note), note


def test_ground_is_under_the_feet_and_within_reach(walking):
    robot, clip = walking
    away = poise.Terrain.heightmap(np.zeros((4, 4)), size=(1, 1), origin=(100, 100, 0), up="z")
    with pytest.raises(InputError, match=r"none of the \d places where feet stand is on this terrain"):
        poise.plant_feet(clip, away, rig=robot)
    posts = 20.0 * np.random.default_rng(0).random((60, 60))
    rough = poise.Terrain.heightmap(posts, size=(12, 12), origin=(0, 0, 0), up="z")
    with pytest.raises(InputError, match="beyond the end of its leg, which is 0.8\\d m long"):
        poise.plant_feet(clip, rough, rig=robot)


def test_a_single_frame_stands(walking):
    robot, clip = walking
    planted = poise.plant_feet(poise.Clip(clip.times[:1], clip.poses[:1]), SLOPE, rig=robot)
    _, heights = measure_feet(planted)
    assert len(heights)
    assert np.abs(heights).max() < 0.002


def test_a_reference_pose_in_front_is_kept(walking, locked):
    robot, clip = walking
    q = np.concatenate([clip.skeleton.rest_q[None], clip.poses.q])
    q[0, :3] = [2.0, 1.0, 1.0]
    led = poise.Clip(np.arange(len(q)) / clip.fps, poise.Pose(clip.skeleton, q))
    again = poise.lock_feet(led, rig=robot)
    assert np.array_equal(again.poses.q[0], q[0])
    assert np.abs(again.poses.q[1:] - locked.poses.q).max() < 1e-6
    assert again.kept[0].all()
    assert not again.kept[1:].any()


def test_notes_name_joints_of_their_own_leg(walking):
    robot, clip = walking
    planted = poise.plant_feet(clip, poise.Terrain.slope(35.0, direction=(1, 0, 0), up="z"), rig=robot)
    limited = [note for note in planted.notes if "at a limit" in note]
    assert limited
    for note in limited:
        side, other = ("left", "right") if note.startswith("the left") else ("right", "left")
        assert f"{side}_" in note
        assert f"{other}_" not in note


def test_a_robot_on_a_fixed_base_gets_a_free_one(data):
    robot = poise.load(data / G1)
    skeleton = robot.skeleton
    still = poise.Clip(np.arange(30) / 30.0, poise.Pose(skeleton, np.tile(skeleton.rest_q, (30, 1))))
    locked = poise.lock_feet(still, rig=robot)
    assert locked.skeleton.nq == skeleton.nq + 7


def test_slides_on_a_fixed_base_get_a_free_one():
    skeleton = poise.Skeleton.build(["base", "lift"], [-1, 0], [Kind.FIXED, Kind.SLIDE], axes=[(0.0, 0.0, 1.0)] * 2)
    still = poise.Clip(np.arange(2) / 30.0, poise.Pose(skeleton, np.tile(skeleton.rest_q, (2, 1))))
    assert free_base(still).skeleton.nq == skeleton.nq + 7


def test_one_leg_moves_alone(walking, locked):
    robot, clip = walking
    left = poise.lock_feet(clip, rig=robot, legs=["left"])
    assert left.contacts.legs == ("left",)
    assert np.array_equal(left.contacts.heel[:, 0], locked.contacts.heel[:, 0])


def test_what_robots_do_not_have_is_refused(walking):
    robot, clip = walking
    with pytest.raises(UnsupportedError, match="legs of a robot are rigid"):
        poise.lock_feet(clip, rig=robot, stretch=0.02)
    stairs = poise.Terrain.stairs(0.1, 0.35, direction=(1, 0, 0), up="z")
    with pytest.raises(UnsupportedError, match="strides of a robot are not fitted"):
        poise.plant_feet(clip, stairs, rig=robot, stride="fit")
    for options in ({"steepest": 0.2}, {"farthest": 0.0}):
        with pytest.raises(UnsupportedError, match="leave out steepest and farthest"):
            poise.plant_feet(clip, stairs, rig=robot, **options)
    with pytest.raises(UnsupportedError, match="single poses are planted for legs that turn freely"):
        poise.Grounder(clip, poise.Terrain.flat(), rig=robot)


def test_given_soles_count(walking, locked):
    robot, clip = walking
    soles = locked.soles
    lower = poise.Soles(soles.heel - [0.0, 0.0, MOVED_M], soles.ball - [0.0, 0.0, MOVED_M], soles.tip)
    higher = poise.lock_feet(clip, rig=robot, soles=lower, contacts=locked.contacts)
    assert higher.soles is lower
    assert higher.report.after.skate < 0.1


def test_the_command_line_takes_joint_values(walking, data, tmp_path):
    _, clip = walking
    poise.save_motion(clip, tmp_path / "walk.npz")
    done = run("lock", tmp_path / "walk.npz", "--robot", data / G1, "-o", tmp_path / "locked.csv")
    assert "left leg: left_hip" in done.stdout
    saved = poise.load_motion(tmp_path / "locked.csv", poise.load(data / G1))
    assert len(saved) == len(clip)


def test_joint_values_need_a_robot(tmp_path, walking):
    poise.save_motion(walking[1], tmp_path / "walk.npz")
    done = run("lock", tmp_path / "walk.npz", "-o", tmp_path / "locked.csv")
    assert done.returncode == 2
    assert "walk.npz: holds joint values: name their robot, --robot RIG" in done.stderr


def test_a_robot_with_its_own_rig_is_a_source(walking):
    robot, clip = walking
    done = poise.retarget(clip, poise.load(poise.sample("humanoid.bvh")), source=robot)
    assert done.contacts is not None
    assert done.report.feet["skate"] < 0.1


def test_wrong_files_beside_a_robot_are_named(data, tmp_path, walking):
    poise.save_motion(walking[1], tmp_path / "walk.npz")
    robot = tmp_path / "h1.urdf"
    robot.write_bytes((data / H1).read_bytes())
    for arguments, message in (
        ((data / WALK, "--robot", robot, "-o", tmp_path / "locked.npz"), "holds no joint values: leave out --robot"),
        ((tmp_path / "run.npz", "-o", tmp_path / "locked.npz"), "run.npz: there is no such file"),
        ((tmp_path / "walk.npz", "--robot", robot, "-o", tmp_path / "locked.npz"), "the robot is that of"),
        ((tmp_path / "walk.npz", "--robot", robot, "-o", robot), "h1.urdf"),
    ):
        done = run("lock", *arguments)
        assert done.returncode == 2
        assert message in done.stderr
    assert robot.read_bytes() == (data / H1).read_bytes()


def test_the_command_line_frees_a_base_and_takes_folders(data, tmp_path):
    robot = poise.load(data / G1)
    skeleton, contacts = robot.skeleton, tmp_path / "still.json"
    still = poise.Clip(np.arange(30) / 30.0, poise.Pose(skeleton, np.tile(skeleton.rest_q, (30, 1))))
    (tmp_path / "motions").mkdir()
    poise.save(still, tmp_path / "motions" / "still.csv")
    options = ("--robot", data / G1)
    run("lock", tmp_path / "motions", *options, "-o", tmp_path / "many")
    assert (tmp_path / "many" / "still.csv").is_file()
    first = ("lock", tmp_path / "motions" / "still.csv", *options, "-o", tmp_path / "first.csv")
    assert run(*first, "--save-contacts", contacts).returncode == 0
    slope = ("--terrain", "slope:5", "--terrain-direction", "along")
    done = run(
        "plant", tmp_path / "motions" / "still.csv", *options, *slope, "--contacts", contacts, "-o",
        tmp_path / "planted.csv",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def track(heights, slope, times, step=0.0):
    """A level sole 0.2 m long whose ball stands on ground that falls back to its heel, evenly or by a step."""
    corners = np.array([[-0.1, 0.03, 0.0], [-0.1, -0.03, 0.0], [0.1, 0.03, 0.0], [0.1, -0.03, 0.0]])
    corners = np.tile(corners, (len(times), 1, 1))
    corners[..., 0] += np.asarray(heights)[:, None]
    ground = np.where(corners[..., 0] < corners[..., 0].mean(axis=1, keepdims=True), -0.2 * slope - step, 0.0)
    middle, stands = np.full(len(times), -0.1 * slope), np.ones(len(times), dtype=bool)
    return SoleTrack("left", np.asarray(times), corners, corners[..., 2] - ground, ground, middle, stands, stands)


def test_a_slope_under_a_level_sole_is_no_edge():
    times = np.arange(5) / 30.0
    (note,) = describe_stances_of(track(np.zeros(5), 0.15, times), {})
    assert "is up to 30 mm off the ground" in note
    (note,) = describe_stances_of(track(np.zeros(5), 0.0, times, step=0.03), {})
    assert "reaches over an edge with its heel, 30 mm above the ground" in note


def test_times_that_repeat_have_no_speed():
    times = [0.0, 0.1, 0.1, 0.2]
    assert describe_stances_of(track([0.0, 0.0, 0.01, 0.01], 0.0, times), {}) == []
    (note,) = describe_stances_of(track([0.0, 0.0, 0.0, 0.01], 0.0, times), {})
    assert "slides by up to 10 cm/s" in note


@pytest.mark.parametrize("edge", [False, True])
def test_soles_are_wider_beside_edges_alone(edge):
    """A foot in the air that is turned down: the corner of a wider sole would be in level ground."""
    frames, sole = 31, RobotSole(-0.1, 0.1, 0.0, 0.05, 0.05)
    times, pitch = np.arange(frames) / 30.0, -0.3
    turn = np.array([[np.cos(pitch), -np.sin(pitch), 0.0], [0.0, 0.0, 1.0], [np.sin(pitch), np.cos(pitch), 0.0]])
    places = np.tile([0.0, 0.0, -0.1 * np.sin(pitch)], (frames, 1))  # its corner is on the ground
    path = FootPath(places, np.tile(turn, (frames, 1, 1)), np.zeros((frames, 3)))
    on = np.zeros((frames, 1), dtype=bool)
    on[[0, -1]] = True

    def sample(points):
        heights = np.where(edge & (np.arange(len(points)) == 0), -0.01, 0.0)  # one place is lower
        return heights, np.tile([0.0, 0.0, 1.0], (len(points), 1))

    moved = clear_swings([path], [sole], on, times, np.arange(frames), sample)[0]
    assert (np.abs(moved.places - places).max() > 1e-6) == edge


def test_turns_are_smooth_where_a_foot_swings_alone():
    """A foot that snaps up in one frame in the air turns over three; what stands stays bit for bit."""
    pitch = np.where(np.arange(20) < 10, -0.6, 0.3)
    turns = rotations.as_matrix(rotations.from_vector(pitch[:, None] * np.array([0.0, -1.0, 0.0])))
    path, on = FootPath(np.zeros((20, 3)), turns, np.zeros((20, 3))), np.zeros(20, dtype=bool)
    on[[0, 1, 18, 19]] = True
    smooth = smooth_swing(path, on, 1.0 / 30.0)
    assert np.array_equal(smooth.turns[on], turns[on])
    np.testing.assert_allclose(smooth.turns[2:9], turns[2:9], atol=1e-15)
    steps = np.diff(np.arcsin(smooth.turns[:, 2, 0]))
    assert np.abs(steps).max() < 0.5
    for all_or_none in (np.zeros(20, dtype=bool), np.ones(20, dtype=bool)):
        kept = smooth_swing(path, all_or_none, 1.0 / 30.0)
        np.testing.assert_allclose(np.linalg.det(kept.turns), 1.0)
        assert np.array_equal(kept.turns, turns) == all_or_none.all()
    assert np.array_equal(smooth_swing(path, on, 0.2).turns[on], turns[on])


@pytest.mark.filterwarnings("ignore:.*with another scale")
def test_feet_that_snap_in_a_leap_turn_evenly(data):
    """Both feet of a recorded leap turn by 45 degrees between two frames. A robot's ankles turned by 0.8 rad more."""
    leap, robot = poise.load(data / "fbx/cmu_91_49_m2m.fbx"), poise.load(data / G1)
    done = poise.retarget(leap, robot)
    hinges = [done.skeleton.q_slice(name).start for name in done.skeleton.names if "ankle_pitch" in name]
    assert np.abs(np.diff(done.poses.q[:, hinges], 2, axis=0)).max() < 0.5
    assert done.report.ok
