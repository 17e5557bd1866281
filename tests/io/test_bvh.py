"""BVH: real files against independent forward kinematics, what the format allows, and writing."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from poise.errors import UnsupportedError
from poise.io.formats import bvh
from poise.maths import euler, rotations
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton
from tests.timeouts import no_hang

FILES = (
    "bvhio_example", "cmu_01_03_climb_ladder", "cmu_12_01_walk", "jesse_dance_rokoko", "jumping_jacks_cmu1",
    "mocapbank", "run_mass", "walk_makehuman_zup", "walk_mass",
)  # fmt: skip
SMALL = """HIERARCHY
ROOT Hips
{
  OFFSET 0 5 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Knee
  {
    OFFSET 0 -2 0
    CHANNELS 3 Yrotation Xrotation Zrotation
    End Site
    {
      OFFSET 0 -3 0
    }
  }
}
MOTION
Frames: 2
Frame Time: .0083333
1 2 3 10 20 30 40 50 60
4 5 6 -10 -20e0 -3e+001 70 80 95
"""


@pytest.fixture
def small(tmp_path):
    def load(text=SMALL, name="small.bvh"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return bvh.read(path)

    return load


def saved(thing, tmp_path, like=None):
    path = tmp_path / "saved.bvh"
    bvh.write(thing, path, like or thing.skeleton)
    return bvh.read(path)


# --- real files ------------------------------------------------------------------------------------


def test_every_file_of_the_data_is_tested(data):
    assert sorted(path.stem for path in (data / "bvh").glob("*.bvh")) == sorted(FILES)


@pytest.mark.parametrize("name", FILES)
def test_world_transforms_agree_with_independent_ones(data, name):
    rig = bvh.read(data / "bvh" / f"{name}.bvh")
    golden = np.load(data / "golden" / "fk_bvh.npz")
    names, frames, world = (golden[f"{name}.bvh|{key}"] for key in ("names", "frames", "world"))
    rows = [rig.skeleton.index(joint) for joint in names]
    parents = [rig.skeleton.parents[row] for row in rows]
    assert [rows.index(parent) if parent >= 0 else -1 for parent in parents] == golden[f"{name}.bvh|parents"].tolist()
    ours = rig.clips[0].poses[frames].world.matrices[:, rows]
    size = np.ptp(world[..., :3, 3], axis=(0, 1)).max()
    np.testing.assert_allclose(ours[..., :3, :3], world[..., :3, :3], atol=1e-9)
    np.testing.assert_allclose(ours[..., 3], world[..., 3], atol=1e-9 * size)


@pytest.mark.parametrize("name", FILES)
def test_an_unchanged_rig_is_written_byte_for_byte(data, name, tmp_path):
    path = data / "bvh" / f"{name}.bvh"
    rig = bvh.read(path)
    for thing in (rig, rig.clips[0]):
        bvh.write(thing, tmp_path / "same.bvh", rig.skeleton)
        assert (tmp_path / "same.bvh").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_writing_the_numbers_again_gives_the_same_q(data, name, tmp_path):
    rig = bvh.read(data / "bvh" / f"{name}.bvh")
    poses = rig.clips[0].poses
    some = poses[: min(len(poses), 300)]
    again = saved(some, tmp_path)
    np.testing.assert_allclose(again.clips[0].poses.q * sign(again.clips[0].poses.q, some.q, rig.skeleton), some.q,
                               rtol=1e-9, atol=1e-11)  # fmt: skip
    assert again.skeleton == rig.skeleton


def sign(a, b, skeleton):
    """+-1 per number of q so that quaternions of the same rotation compare equal."""
    signs = np.ones_like(b)
    for i, kind in enumerate(skeleton.kinds):
        if kind in (Kind.BALL, Kind.FREE):
            start = skeleton.q_start[i] + (3 if kind == Kind.FREE else 0)
            part = slice(start, start + 4)
            signs[..., part] = np.sign((a[..., part] * b[..., part]).sum(axis=-1, keepdims=True))
    return signs


def test_a_root_that_stays_near_zero_far_from_its_offset_is_reported(data):
    rig = bvh.read(data / "bvh" / "walk_makehuman_zup.bvh")
    assert len(rig.notes) == 1
    assert "may be relative" in rig.notes[0]
    for name in FILES:
        if name != "walk_makehuman_zup":
            assert bvh.read(data / "bvh" / f"{name}.bvh").notes == ()


def test_two_rotation_orders_in_one_file_are_kept(data):
    skeleton = bvh.read(data / "bvh" / "jumping_jacks_cmu1.bvh").skeleton
    assert {order for order in skeleton.euler if order} == {"ZYX", "ZXY"}


def test_loading_does_not_import_numba(data):
    code = f"import sys; from poise.io.formats import bvh; from pathlib import Path; bvh.read(Path({str(data / 'bvh' / 'run_mass.bvh')!r})); sys.exit('numba' in sys.modules)"  # noqa: E501
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_two_hundred_thousand_frames_load_without_a_hang(tmp_path):
    joint = "JOINT j{}\n{{\nOFFSET 0 1 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
    head = (
        "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n"
    )
    values = np.random.default_rng(1).uniform(-180, 180, (100, 12))
    rows = "\n".join(" ".join(f"{value:.4f}" for value in row) for row in values) + "\n"
    path = tmp_path / "long.bvh"
    path.write_text(
        f"{head}{joint.format(0)}{joint.format(1)}}}}}}}\nMOTION\nFrames: 200000\nFrame Time: 0.01\n{rows * 2000}"
    )
    with no_hang():
        rig = bvh.read(path)
    assert rig.clips[0].poses.q.shape == (200_000, 7 + 2 * 4)


# --- what the format allows ------------------------------------------------------------------------


def test_the_small_file_by_hand(small):
    rig = small()
    skeleton = rig.skeleton
    assert skeleton.names == ("Hips", "Knee", "Knee_end")
    assert [Kind(kind) for kind in skeleton.kinds] == [Kind.FREE, Kind.BALL, Kind.FIXED]
    assert skeleton.euler == ("ZXY", "YXZ", "")
    assert (skeleton.metres_per_unit, skeleton.up) == (None, None)
    np.testing.assert_array_equal(rig.pose.q, [0, 5, 0, 1, 0, 0, 0, 1, 0, 0, 0])
    clip = rig.clips[0]
    assert clip.name == "small"
    np.testing.assert_allclose(clip.times, [0, 0.0083333])
    np.testing.assert_array_equal(clip.poses.q[:, :3], [[1, 2, 3], [4, 5, 6]])
    world = clip.poses.world["Knee"]
    hips = euler.to_quaternion(np.radians([[10, 20, 30], [-10, -20, -30]]), "ZXY")
    knee = rotations.multiply(hips, euler.to_quaternion(np.radians([[40, 50, 60], [70, 80, 95]]), "YXZ"))
    np.testing.assert_allclose(world.positions, clip.poses.q[:, :3] + rotations.rotate(hips, np.array([[0, -2.0, 0]])))
    np.testing.assert_allclose(rotations.as_matrix(world.rotations), rotations.as_matrix(knee), atol=1e-14)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace("\n", " "),
        lambda text: text.replace("  ", "\t").replace(" ", "\t \t"),
        lambda text: text.replace("\n", "\n\n  \n"),
        lambda text: "\ufeff" + text,
        lambda text: text.lower().replace("hips", "Hips").replace("knee", "Knee"),
        lambda text: text.replace("Hips\n{", "Hips {").replace("Site\n    {", "Site{"),
        lambda text: text.replace("Frames: ", "Frames:").replace("Frame Time: ", "Frame Time:\t"),
        lambda text: text.replace("Frames: 2", "Frames :\t2"),
        lambda text: text.rstrip(),
        lambda text: text.replace("3 10 20", "3\n10 20").replace("6 -10", "6\n-10"),
    ],
    ids=["CRLF", "CR", "one line", "tabs", "blank lines", "BOM", "lower case", "braces", "colons", "blank colon",
         "no last line end", "wrapped rows"],
)  # fmt: skip
def test_other_ways_to_write_the_same_file(small, change):
    expected, rig = small(), small(change(SMALL))
    assert rig.notes == ()
    assert rig.skeleton == expected.skeleton
    np.testing.assert_array_equal(rig.clips[0].poses.q, expected.clips[0].poses.q)


def test_names_with_spaces_and_not_in_utf8(small):
    assert small(SMALL.replace("Knee", "Left  Knee 1")).skeleton.names[1] == "Left  Knee 1"
    assert small(SMALL.replace("Knee", "Gelände").encode("latin-1")).skeleton.names[1] == "Gelände"
    assert small(SMALL.replace("Knee", "膝")).skeleton.names[1:] == ("膝", "膝_end")


def test_duplicate_and_missing_names_are_made_unique_and_reported(small):
    rig = small(SMALL.replace("Knee", "Hips"))
    assert rig.skeleton.names == ("Hips", "Hips_1", "Hips_1_end")
    assert rig.notes == ("a second joint 'Hips' is called 'Hips_1' here",)
    rig = small(SMALL.replace("Knee", ""))
    assert rig.skeleton.names == ("Hips", "joint_1", "joint_1_end")
    assert rig.notes == ("a joint without a name is called 'joint_1' here",)


def test_an_end_site_gives_way_to_a_joint_of_its_name(small):
    text = SMALL.replace("Hips", "Knee_end")
    assert small(text).skeleton.names == ("Knee_end", "Knee", "Knee_end_1")


def test_some_positions_and_some_rotations_only(small):
    text = SMALL.replace(
        "6 Xposition Yposition Zposition Zrotation Xrotation Yrotation", "3 Zposition Xrotation Xposition"
    )
    text = text.replace("3 Yrotation Xrotation Zrotation", "2 Zrotation Yrotation")
    rig = small(text[: text.index(".0083333")] + ".01\n7 30 8 10 20\n-7 -30 -8 0 0\n")
    q = rig.clips[0].poses.q
    np.testing.assert_array_equal(q[:, :3], [[8, 5, 7], [-8, 5, -7]])  # y is the OFFSET's
    np.testing.assert_allclose(q[0, 3:7], euler.to_quaternion(np.radians([30, 0, 0]), "XYZ"))
    np.testing.assert_allclose(q[0, 7:], euler.to_quaternion(np.radians([10, 20, 0]), "ZYX"))
    assert rig.skeleton.euler == ("X", "ZY", "")


def test_a_joint_without_channels_is_fixed_and_positions_alone_are_free(small):
    text = (
        SMALL.replace("CHANNELS 3 Yrotation Xrotation Zrotation", "").replace(" 40 50 60", "").replace(" 70 80 95", "")
    )
    assert [Kind(kind) for kind in small(text).skeleton.kinds] == [Kind.FREE, Kind.FIXED, Kind.FIXED]
    text = SMALL.replace("Yrotation Xrotation Zrotation\n", "Yposition Xposition Zposition\n")
    rig = small(text)
    assert rig.skeleton.kinds[1] == Kind.FREE
    np.testing.assert_array_equal(rig.clips[0].poses.q[0, 7:], [50, 40, 60, 1, 0, 0, 0])
    np.testing.assert_allclose(rig.clips[0].poses.local["Knee"].positions[0], [50, 40, 60])  # replaces the OFFSET


def test_several_roots_are_read(small):
    second = SMALL[SMALL.index("ROOT") : SMALL.index("MOTION")].replace("Hips", "Prop").replace("Knee", "Tip")
    text = SMALL.replace("MOTION", second + "MOTION").replace("50 60\n", "50 60 " + "0 " * 9 + "\n")
    rig = small(text.replace("80 95\n", "80 95 " + "0 " * 9 + "\n"))
    assert rig.skeleton.parents.tolist() == [-1, 0, 1, -1, 3, 4]


def test_counts_that_differ_use_what_fits_and_say_so(small):
    rig = small(SMALL.replace("Frames: 2", "Frames: 5"))
    assert len(rig.clips[0]) == 2
    assert rig.notes == ("the header says 5 frames and the file holds 2; 2 are used",)
    rig = small(SMALL.replace("Frames: 2", "Frames: 1"))
    assert len(rig.clips[0]) == 1
    assert rig.notes == ("the header says 1 frames and the file holds 2; 1 are used",)
    assert len(small(SMALL.replace("Frames: 2", "Frames: 999999999999")).clips[0]) == 2


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("word", ["", "MOTION\n"])
def test_a_file_without_motion_is_a_rig_without_clips(small, tmp_path, newline, word):
    text = (SMALL[: SMALL.index("MOTION")] + word).replace("\n", newline)
    rig = small(text)
    assert (rig.clips, rig.notes) == ((), ("it has no MOTION block, and so no clip: the rest pose alone",))
    assert np.array_equal(rig.pose.q, small().skeleton.rest_q)
    bvh.write(rig, tmp_path / "same.bvh", rig.skeleton)
    assert (tmp_path / "same.bvh").read_bytes() == text.encode()
    for cut in (text.rstrip(), f"{text} \t"):  # how the file ends does not matter
        assert small(cut).skeleton == rig.skeleton
    clip = small().clips[0]
    again = saved(Clip(clip.times, Pose(rig.skeleton, clip.poses.q)), tmp_path)
    np.testing.assert_allclose(again.clips[0].poses.q, clip.poses.q, atol=1e-12)
    assert again.clips[0].fps == pytest.approx(clip.fps)
    again = saved(rig.rest.replace({"Knee": [1, 2, 3, 4]}), tmp_path)
    assert (len(again.clips), len(again.clips[0])) == (1, 1)


def test_zero_frames_and_zero_frame_time(small, tmp_path):
    text = SMALL.replace("Frames: 2", "Frames: 0")
    rig = small(text[: text.index("1 2 3")])
    assert (len(rig.clips[0]), rig.clips[0].poses.q.shape, rig.notes) == (0, (0, 11), ())
    assert len(saved(rig.clips[0].poses, tmp_path).clips[0]) == 0
    rig = small(SMALL.replace(".0083333", "0"))
    assert rig.clips[0].fps == pytest.approx(30.0)
    assert rig.notes == ("the frame time is 0; 30 frames per second are used",)


def test_a_single_frame_is_the_pose_of_the_file(small, tmp_path):
    rig = small()
    assert np.array_equal(rig.pose.q, rig.skeleton.rest_q)
    pose = rig.rest.replace({"Knee": [1, 2, 3, 4]})
    for like in (rig.skeleton, dataclasses.replace(rig.skeleton, source=None)):
        again = saved(pose, tmp_path, like)
        np.testing.assert_allclose(again.pose.local_rotations[1], pose.local_rotations[1], atol=1e-12)
        assert np.array_equal(again.rest.q, rig.rest.q)
        assert np.array_equal(again.clips[0].poses.q, again.pose.q[None])


def test_a_chain_of_three_thousand_joints_loads_and_saves(small, tmp_path):
    n = 3000
    joints = "".join(f"{'JOINT' if i else 'ROOT'} j{i} {{ OFFSET 0 1 0 CHANNELS 1 Zrotation\n" for i in range(n))
    row = " ".join(["0.1"] * n)
    rig = small(f"HIERARCHY\n{joints}{'}' * n}\nMOTION\nFrames: 1\nFrame Time: 0.1\n{row}\n")
    assert len(rig.skeleton) == n
    bare = Skeleton.build(rig.skeleton.names, rig.skeleton.parents, rig.skeleton.kinds, offsets=rig.skeleton.A[:, :3])
    again = saved(Pose(bare, rig.clips[0].poses.q), tmp_path)
    assert again.skeleton.names[:n] == bare.names
    assert (tmp_path / "saved.bvh").stat().st_size < 2_000_000


# --- writing into the document ---------------------------------------------------------------------


def test_a_pose_replaces_the_motion_and_nothing_else(small, tmp_path):
    rig = small(SMALL.replace("\n", "\r\n"))
    bent = rig.pose.replace({"Knee": euler.to_quaternion([0.1, 0.2, 0.3], "YXZ")})
    again = saved(bent, tmp_path)
    written = (tmp_path / "saved.bvh").read_bytes()
    head = SMALL[: SMALL.index("Frames")].replace("\n", "\r\n").encode()
    assert written.startswith(head + b"Frames: 1\r\nFrame Time: .0083333\r\n0.0 5.0 0.0 0.0 0.0 0.0 5.729")
    np.testing.assert_allclose(again.clips[0].poses.q[0], bent.q, atol=1e-12)


def test_only_the_changed_numbers_of_a_clip_change(small, tmp_path):
    rig = small()
    clip = rig.clips[0]
    q = clip.poses.q.copy()
    q[1, 7:] = euler.to_quaternion(np.radians([70, 81, 95]), "YXZ")
    saved(Clip(clip.times, clip.poses.with_q(q), "x"), tmp_path)
    rows = (tmp_path / "saved.bvh").read_text().splitlines()[-2:]
    assert rows[0] == "1.0 2.0 3.0 10.0 20.0 30.0 40.0 50.0 60.0"
    assert rows[1] == "4.0 5.0 6.0 -10.0 -20.0 -30.0 70.0 81.0 95.0"


@pytest.mark.parametrize(("end", "expected"), [("\n", b"\n"), ("\r\n", b"\r\n"), ("\r", b"\r"), (" ", b"\n")])
def test_rows_that_are_written_end_as_the_lines_of_the_file_do(small, tmp_path, end, expected):
    rig, path = small(SMALL.replace("\n", end)), tmp_path / "again.bvh"
    bvh.write(rig.clips[0].poses[0], path, rig.skeleton)
    rows = path.read_bytes().split(b"Frame Time:")[1]
    assert rows.endswith(expected)
    assert set(rows) & set(b"\r\n") == set(expected)


def test_a_step_of_the_head_s_line_ends_does_not_count(small, tmp_path):
    rig, path = small(SMALL.replace("\n", "\r", 1)), tmp_path / "again.bvh"
    bvh.write(rig.clips[0].poses[0], path, rig.skeleton)
    assert path.read_bytes().endswith(b"\n")


def test_angles_beyond_half_a_turn_stay_near_the_old_ones(small, tmp_path):
    text = SMALL.replace("70 80 95", "430 100 -275")
    clip = small(text).clips[0]
    q = clip.poses.q.copy()
    q[1, 7:] = euler.to_quaternion(np.radians([431, 100, -275]), "YXZ")
    saved(Clip(clip.times, clip.poses.with_q(q)), tmp_path)
    last = (tmp_path / "saved.bvh").read_text().splitlines()[-1].split()
    np.testing.assert_allclose([float(word) for word in last[-3:]], [431, 100, -275], atol=1e-9)


def test_a_clip_of_another_length_goes_on_without_jumps(small, tmp_path):
    rig = small()
    turns = np.radians(np.linspace(0, 900, 91))
    q = np.tile(rig.pose.q, (91, 1))
    q[:, 7:] = euler.to_quaternion(np.stack([turns, 0 * turns, 0 * turns], axis=-1), "YXZ")
    again = saved(Clip.at_rate(Pose(rig.skeleton, q), 24.0), tmp_path)
    angles = np.loadtxt((tmp_path / "saved.bvh").read_text().splitlines()[-91:])[:, 6]
    np.testing.assert_allclose(angles, np.linspace(0, 900, 91), atol=1e-9)
    assert again.clips[0].fps == pytest.approx(24.0, rel=1e-12)


def test_a_clip_with_uneven_times_is_resampled(small, tmp_path):
    rig = small()
    times = np.array([0.0, 0.1, 0.2, 0.5])
    again = saved(Clip(times, Pose(rig.skeleton, np.tile(rig.pose.q, (4, 1)))), tmp_path)
    np.testing.assert_allclose(again.clips[0].times, [0, 0.1, 0.2, 0.3, 0.4, 0.5], atol=1e-12)


def test_a_batch_of_any_shape_is_a_row_per_pose(small, tmp_path):
    rig = small()
    assert len(saved(Pose(rig.skeleton, np.tile(rig.pose.q, (2, 3, 1))), tmp_path).clips[0]) == 6


def test_what_the_channels_cannot_hold_is_refused(small, tmp_path):
    text = SMALL.replace("3 Yrotation Xrotation Zrotation", "1 Xrotation").replace(" 50 60", "").replace(" 80 95", "")
    rig = small(text)
    path = tmp_path / "no.bvh"
    with pytest.raises(UnsupportedError, match="'Knee' has Xrotation in the BVH file"):
        bvh.write(rig.pose.replace({"Knee": rotations.about(np.array([0, 1.0, 0]), 0.2)}), path, rig.skeleton)
    moved = Pose(rig.skeleton, rig.pose.q, translations=[[0, 0, 0], [0, -2.5, 0], [0, -3, 0]])
    with pytest.raises(UnsupportedError, match="'Knee' moves along Y"):
        bvh.write(moved, path, rig.skeleton)
    little = Pose(rig.skeleton, rig.pose.q, translations=[[0, 0, 0], [0, -2.0, 1e-5], [0, -3, 0]])
    with pytest.raises(UnsupportedError, match="'Knee' moves along Z"):
        bvh.write(little, path, rig.skeleton)
    with pytest.raises(UnsupportedError, match="cannot scale joints, and these are scaled: Knee"):
        bvh.write(Pose(rig.skeleton, rig.pose.q, scales=[[1, 1, 1], [2, 2, 2], [1, 1, 1]]), path, rig.skeleton)
    other = Skeleton.build(["a"], [-1], [Kind.BALL])
    with pytest.raises(UnsupportedError, match="joints differ"):
        bvh.write(Pose(other, other.rest_q), path, rig.skeleton)
    with pytest.raises(UnsupportedError, match="holds one clip and this rig has 2"):
        bvh.write(Rig(rig.skeleton, rig.pose, rig.clips * 2), path, rig.skeleton)
    assert not path.exists()


@pytest.mark.parametrize("degrees", [170.0, -95.0, 90.0, 0.0])
def test_a_turn_far_beyond_a_quarter_fits_two_channels(small, tmp_path, degrees):
    text = (
        SMALL.replace("3 Yrotation Xrotation Zrotation", "2 Zrotation Xrotation").replace(" 60", "").replace(" 95", "")
    )
    rig = small(text)
    turn = euler.to_quaternion(np.radians([20.0, degrees, 0.0]), "ZXY")
    again = saved(rig.pose.replace({"Knee": turn}), tmp_path)
    assert abs(again.clips[0].poses.q[0, 7:] @ turn) == pytest.approx(1.0, abs=1e-14)
