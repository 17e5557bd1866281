"""Robot motion: npz and csv as trainers have them, written and read back, and files that are broken."""

from __future__ import annotations

import io
import json
import warnings
import zipfile

import numpy as np
import pytest

import poise
from poise import Clip, Kind, Pose, Skeleton
from poise.io import samples
from poise.maths import rotations
from poise.model.skeleton import Coupling
from tests.io.fuzzing import mutated, one_of, until_time_is_up
from tests.timeouts import no_hang

ROBOT = Skeleton.build(
    ["base", "turn", "lift", "tool", "follow", "ball"],
    [-1, 0, 1, 2, 2, 1],
    [Kind.FREE, Kind.HINGE, Kind.SLIDE, Kind.FIXED, Kind.HINGE, Kind.BALL],
    axes=np.tile([0, 0, 1.0], (6, 1)),
    couplings=[None] * 4 + [Coupling(1, -2.0, 0.5), None],
)
COLUMNS = ["turn", "lift", "follow", "ball.w", "ball.x", "ball.y", "ball.z"]


def clip_of(skeleton=ROBOT, frames=20, fps=30.0, seed=1):
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(frames, skeleton.nq))
    for i in np.flatnonzero(skeleton.kinds >= Kind.BALL):
        at = int(skeleton.q_start[i]) + (3 if skeleton.kinds[i] == Kind.FREE else 0)
        q[:, at : at + 4] = rotations.normalise(q[:, at : at + 4])
    return Clip.at_rate(Pose(skeleton, q), fps, "walk")


def same(a, b):
    """Bit for bit."""
    return a.times.tobytes() == b.times.tobytes() and a.poses.q.tobytes() == b.poses.q.tobytes() and a.name == b.name


# --- round trips -------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["xyzw", "wxyz"])
@pytest.mark.parametrize("fps", [30.0, 29.97, 50, 1 / 3, 120.0])
def test_npz_comes_back_bit_for_bit(order, fps, tmp_path):
    clip = clip_of(fps=fps)
    poise.save_motion(clip, tmp_path / "walk.npz", quaternion=order)
    assert same(poise.load_motion(tmp_path / "walk.npz", ROBOT), clip)


def test_what_stands_in_an_npz_file(tmp_path):
    clip = clip_of()
    poise.save(clip, tmp_path / "walk.npz")
    with np.load(tmp_path / "walk.npz") as found:
        arrays = dict(found)
    assert list(arrays) == ["fps", "root_pos", "root_rot", "root_rot_order", "dof_pos", "joint_names"]
    assert (arrays["fps"], str(arrays["root_rot_order"])) == (30.0, "xyzw")
    np.testing.assert_array_equal(arrays["root_pos"], clip.poses.q[:, :3])
    np.testing.assert_array_equal(arrays["root_rot"][:, [3, 0, 1, 2]], clip.poses.q[:, 3:7])
    assert arrays["joint_names"].tolist() == COLUMNS
    np.testing.assert_array_equal(arrays["dof_pos"][:, 2], 0.5 - 2.0 * clip.poses.q[:, 7])


@pytest.mark.parametrize("order", ["xyzw", "wxyz"])
def test_csv_comes_back_bit_for_bit(order, tmp_path):
    path, clip = tmp_path / "walk.csv", clip_of()
    poise.save_motion(clip, path, quaternion=order)
    assert same(poise.load_motion(path, ROBOT), clip)
    numbers = np.loadtxt(path, delimiter=",")  # trainers pass over the remark
    np.testing.assert_array_equal(numbers[:, :3], clip.poses.q[:, :3])
    np.testing.assert_array_equal(numbers[:, 3 if order == "wxyz" else 6], clip.poses.q[:, 3])


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_tables_of_poise_are_clips_again(suffix, tmp_path):
    clip = clip_of()
    poise.save(clip, tmp_path / f"walk{suffix}")
    assert same(poise.load_motion(tmp_path / f"walk{suffix}", ROBOT), clip)
    poise.save(clip.poses, tmp_path / f"walk{suffix}")
    with pytest.raises(poise.FileError, match="does not give its frames per second; give fps"):
        poise.load_motion(tmp_path / f"walk{suffix}", ROBOT)
    assert same(poise.load_motion(tmp_path / f"walk{suffix}", ROBOT, fps=30), clip)


def test_times_that_do_not_begin_at_zero(tmp_path):
    clip = clip_of()
    later = Clip(clip.times + 0.5, clip.poses, "walk")
    for name in ("walk.npz", "walk.csv"):
        poise.save_motion(later, tmp_path / name)
        again = poise.load_motion(tmp_path / name, ROBOT)
        np.testing.assert_allclose(again.times, later.times, rtol=1e-14)
    assert same(poise.load_motion(tmp_path / "walk.npz", ROBOT), later)


def test_an_arm_stands_and_a_robot_walks(tmp_path):
    arm = poise.load(samples.path("arm.urdf"))
    clip = clip_of(arm.skeleton)
    poise.save(clip, tmp_path / "walk.npz")
    again = poise.load_motion(tmp_path / "walk.npz", arm)
    assert same(again, clip)
    assert again.skeleton == arm.skeleton
    with np.load(tmp_path / "walk.npz") as found:
        assert not found["root_pos"].any()
        assert (found["root_rot"] == [0, 0, 0, 1]).all()
    walking = clip_of(arm.skeleton.with_free_root())
    poise.save(walking, tmp_path / "walk.npz")
    again = poise.load_motion(tmp_path / "walk.npz", arm)
    assert again.skeleton == arm.skeleton.with_free_root()
    assert same(again, walking)


def test_a_robot_that_moves_along_one_axis_alone_does_not_stand(tmp_path):
    arm = poise.load(samples.path("arm.urdf"))
    free = arm.skeleton.with_free_root()
    q = np.tile(free.rest_q, (3, 1))
    q[:, 0] = [0.0, 1.0, 2.0]
    sliding = Clip.at_rate(Pose(free, q), 30.0, "walk")
    poise.save(sliding, tmp_path / "walk.npz")
    assert same(poise.load_motion(tmp_path / "walk.npz", arm), sliding)


def test_a_root_with_a_frame_of_its_own_is_in_the_world(tmp_path):
    turn = rotations.normalise([1, 2, 3, 4.0])
    skeleton = Skeleton.build(
        "abc", [-1, 0, 1], [0, 4, 1], offsets=np.eye(3), rotations=[turn, turn, turn], axes=np.eye(3)
    )
    clip = clip_of(skeleton)
    poise.save(clip, tmp_path / "walk.npz")
    with np.load(tmp_path / "walk.npz") as found:
        np.testing.assert_allclose(found["root_pos"], clip.poses.world["b"].positions, atol=1e-14)
    np.testing.assert_allclose(poise.load_motion(tmp_path / "walk.npz", skeleton).poses.q, clip.poses.q, atol=1e-14)


def test_a_figure_too(tmp_path):
    rig = poise.load(samples.path("humanoid.bvh"))
    poise.save(rig, tmp_path / "walk.npz")  # its only clip
    again = poise.load_motion(tmp_path / "walk.npz", rig)
    there, here = again.poses.world.positions, rig.clips[0].poses.world.positions
    np.testing.assert_allclose(there, here, atol=1e-12 * np.abs(here).max())


@pytest.mark.parametrize("name", ["h1.xml", "ur5e.xml", "humanoid.xml", "pusher_v5.xml"])
def test_columns_of_robots_from_mjcf_are_those_of_qpos(data, name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", poise.PoiseWarning)
        rig = poise.load(data / "mjcf" / name)
    clip = clip_of(rig.skeleton)
    poise.save(clip, tmp_path / "walk.npz")
    assert same(poise.load_motion(tmp_path / "walk.npz", rig), clip)
    np.savez(tmp_path / "walk.npz", qpos=clip.poses.q, fps=30)
    assert same(poise.load_motion(tmp_path / "walk.npz", rig), clip)
    with np.load(tmp_path / "walk.npz") as found:
        assert found["qpos"].shape[1] == rig.skeleton.nq


# --- files of others -----------------------------------------------------------------------------------


@pytest.fixture
def g1(data):
    return poise.load(data / "urdf" / "g1_29dof.urdf")


@pytest.fixture
def walking(g1):
    return clip_of(g1.skeleton.with_free_root())


def test_gmr(g1, walking, tmp_path):
    """GMR's arrays, as they stand in its pickles: x y z w, no names."""
    q = walking.poses.q
    arrays = {"fps": 30, "root_pos": q[:, :3], "root_rot": q[:, [4, 5, 6, 3]], "dof_pos": q[:, 7:]}
    np.savez(tmp_path / "walk.npz", **arrays)
    with pytest.raises(poise.FileError, match="does not say the order of root_rot; give quaternion='xyzw'"):
        poise.load_motion(tmp_path / "walk.npz", g1)
    assert same(poise.load_motion(tmp_path / "walk.npz", g1, quaternion="xyzw"), walking)


def test_unitree(g1, walking, tmp_path):
    """A csv without a header, 30 frames a second, x y z w."""
    q = walking.poses.q
    np.savetxt(tmp_path / "walk.csv", np.c_[q[:, :3], q[:, [4, 5, 6, 3]], q[:, 7:]], delimiter=",", fmt="%.17g")
    with pytest.raises(poise.FileError, match="frames per second"):
        poise.load_motion(tmp_path / "walk.csv", g1, quaternion="xyzw")
    with pytest.raises(poise.FileError, match="the order of the root's rotation"):
        poise.load_motion(tmp_path / "walk.csv", g1, fps=30)
    assert same(poise.load_motion(tmp_path / "walk.csv", g1, quaternion="xyzw", fps=30), walking)


def test_isaac_lab(g1, walking, tmp_path):
    """Bodies in the world, w x y z, and joints in an order of their own."""
    q = walking.poses.q
    names = [g1.skeleton.names[i] for i in range(len(g1.skeleton)) if g1.skeleton.kinds[i] == Kind.HINGE]
    order = np.random.default_rng(2).permutation(len(names))
    bodies = np.stack([q[:, :3], q[:, :3] + 1], axis=1)
    turns = np.stack([q[:, 3:7]] * 2, axis=1)
    arrays = {"fps": np.array([30]), "joint_pos": q[:, 7:][:, order], "body_pos_w": bodies, "body_quat_w": turns}
    np.savez(tmp_path / "walk.npz", **arrays)
    with pytest.raises(poise.FileError, match=r"an order of their own; give joints=\[...\]"):
        poise.load_motion(tmp_path / "walk.npz", g1)
    again = poise.load_motion(tmp_path / "walk.npz", g1, joints=[names[k] for k in order])
    assert same(again, walking)


def test_single_precision_is_taken_and_made_of_unit_length(g1, walking, tmp_path):
    q = walking.poses.q.astype(np.float32)
    np.savez_compressed(tmp_path / "walk.npz", fps=30, root_pos=q[:, :3], root_quat=q[:, 3:7], dof_pos=q[:, 7:])
    again = poise.load_motion(tmp_path / "walk.npz", g1, quaternion="wxyz").poses.q
    np.testing.assert_allclose(again, walking.poses.q, atol=1e-6)
    np.testing.assert_allclose((again[:, 3:7] ** 2).sum(axis=1), 1.0, atol=1e-15)


def test_followers_may_be_left_out(tmp_path):
    clip = clip_of()
    values = np.delete(clip.poses.q, range(7), axis=1)
    arrays = {"fps": 30, "root_pos": clip.poses.q[:, :3], "root_rot": clip.poses.q[:, 3:7], "dof_pos": values}
    np.savez(tmp_path / "walk.npz", **arrays)
    assert same(poise.load_motion(tmp_path / "walk.npz", ROBOT, quaternion="wxyz"), clip)


# --- what is refused -----------------------------------------------------------------------------------


def test_loading_without_a_robot_says_how(tmp_path):
    poise.save(clip_of(), tmp_path / "walk.npz")
    with pytest.raises(
        poise.FileError, match=r"written, not loaded; their values need a robot: poise.load_motion\(FILE"
    ):
        poise.load(tmp_path / "walk.npz")


def test_what_is_no_motion_is_not_written(tmp_path):
    clip = clip_of()
    uneven = Clip(np.array([0, 0.1, 0.3]), clip.poses[:3], "a")
    arm = poise.load(samples.path("arm.urdf"))
    scaled = Clip.at_rate(Pose(ROBOT, clip.poses.q, scales=np.full((20, 6, 3), 2.0)), 30)
    moving = Skeleton.build("ab", [-1, 0], [1, 4], axes=np.eye(3)[:2])
    for thing, sentence in (
        (uneven, "two frames or more, evenly spaced"),
        (Clip.at_rate(clip.poses[:1], 30), "two frames or more"),
        (clip.poses, r"\.npz: a motion file holds an animation"),
        (arm, r"\.npz: a motion file holds an animation, and there is none here; a .json or .csv file holds a pose"),
        (scaled, "no translation or scale of single joints"),
        (clip_of(moving), "'b' is below 'a', which moves or scales it"),
    ):
        with pytest.raises(poise.UnsupportedError, match=sentence):
            poise.save(thing, tmp_path / "walk.npz")
    for call, sentence in (
        (lambda: poise.save_motion(clip, "walk.txt"), "ends in .npz or .csv, not in '.txt'"),
        (lambda: poise.save_motion(clip.poses, "walk.npz"), "writes a Clip"),
        (lambda: poise.save_motion(clip, "walk.npz", quaternion="zyx"), "quaternion"),
        (lambda: poise.load_motion("walk.npz", "robot.urdf"), "needs the robot, a Rig or a Skeleton, not a str"),
        (lambda: poise.load_motion("walk.npz", ROBOT, quaternion="zyx"), "quaternion"),
        (lambda: poise.load_motion("walk.npz", ROBOT, fps=0), "frames per second"),
    ):
        with pytest.raises(poise.InputError, match=sentence):
            call()
    assert list(tmp_path.iterdir()) == []


def arrays(**changed):
    q = clip_of(frames=3).poses.q
    good = {
        "fps": 30.0, "root_pos": q[:, :3], "root_rot": q[:, 3:7], "root_rot_order": "wxyz",
        "dof_pos": q[:, 7:], "joint_names": np.array([c for c in COLUMNS if c != "follow"]),
    }  # fmt: skip
    file = io.BytesIO()
    np.savez(file, **{name: value for name, value in (good | changed).items() if value is not None})
    return file.getvalue()


def archive(**entries):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as there:
        for name, data in entries.items():
            there.writestr(f"{name}.npy", data)
    return file.getvalue()


def lying(shape):
    """The head of an array that is not there."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return file.getvalue()


NAN = np.array([[0, 0, 0], [0, np.nan, 0], [0, 0, 0.0]])
BROKEN = {
    "empty": (b"", "the file is empty"),
    "not a zip": (b"PK\x03\x04 no", "is not an npz file that can be read"),
    "cut": (arrays()[:-40], "is not an npz file"),
    "another npz": (archive(heights=b""), "holds no motion; its arrays: heights"),
    "no values": (arrays(dof_pos=None), "has none of dof_pos, joint_pos, qpos"),
    "no rotation": (arrays(root_rot=None), "has only one of the root's position and rotation"),
    "a pickle": (arrays(dof_pos=np.array([{}], dtype=object)), "dof_pos: holds Python objects, which are not read"),
    "names that are objects": (
        arrays(joint_names=np.array(["a", 1], dtype=object)),
        "joint_names: holds Python objects",
    ),
    "a lying count": (archive(dof_pos=lying((10**12, 29))), "dof_pos: says that its shape is (1000000000000, 29)"),
    "a bomb": (archive(dof_pos=b"\0" * 2**27), "would unpack to 134,217,728 bytes"),
    "a shape": (arrays(root_pos=np.zeros((3, 4))), "root_pos: must be numbers (frames, 3), not float64 (3, 4)"),
    "flat values": (arrays(dof_pos=np.zeros(3)), "dof_pos: must be numbers (frames, joints), not float64 (3,)"),
    "words": (arrays(root_pos=np.array([["a"] * 3] * 3)), "root_pos: must be numbers"),
    "nan": (arrays(root_pos=NAN), "root_pos[1, 1]: nan is not a value"),
    "too large": (arrays(root_pos=NAN * 0 + 1e200), "root_pos[0, 0]: 1e+200 is not a value"),
    "fewer rows": (arrays(root_pos=np.zeros((2, 3))), "3 rows of joint values and 2 of the root's position"),
    "no rate": (arrays(fps=None), "does not give its frames per second"),
    "frames of centuries": (arrays(fps=1e-300), "fps: 1e-300 frames per second is no plausible rate"),
    "frames of nanoseconds": (arrays(fps=1e9), "fps: 1e+09 frames per second is no plausible rate"),
    "a rate of zero": (arrays(fps=0.0), "fps: frames per second must be above zero"),
    "two rates": (arrays(fps=np.array([1, 2])), "fps: must be one number, not (2,)"),
    "a rate that is nan": (arrays(fps=np.nan), "nan is not a value"),
    "times backwards": (arrays(times=np.array([0, 2, 1.0])), "times: must be 3 times that do not decrease"),
    "another order": (arrays(root_rot_order="zyxw"), "root_rot_order: 'zyxw' is not an order: xyzw or wxyz"),
    "no turn": (arrays(root_rot=np.zeros((3, 4))), "frame 0: a rotation of the root has zero length"),
    "a joint that is not there": (
        arrays(joint_names=np.array(["turn", "lft", "ball.w", "ball.x", "ball.y", "ball.z"])),
        "header: no joint value 'lft'; did you mean 'lift'?",
    ),
    "a joint that is missing": (
        arrays(joint_names=np.array(["turn"]), dof_pos=np.zeros((3, 1))),
        "no value for: lift, ball.w",
    ),
    "a name twice": (
        arrays(joint_names=np.array(["turn", "turn", "ball.w", "ball.x", "ball.y", "ball.z"])),
        "two columns have the same name",
    ),
    "more names": (arrays(joint_names=np.array(COLUMNS)), "7 names of joints and 6 columns of values"),
    "columns without names": (
        arrays(joint_names=None, dof_pos=np.zeros((3, 4))),
        "has 4 values a frame and no names; the rig has 7: give joints=[...]",
    ),
    "a follower elsewhere": (
        arrays(joint_names=np.array(COLUMNS), dof_pos=np.tile([0, 0, 9, 1, 0, 0, 0.0], (3, 1))),
        "frame 0: 'follow' follows 'turn' and its value does not agree",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_one_sentence(case, tmp_path):
    path, (data, sentence) = tmp_path / "walk.npz", BROKEN[case]
    path.write_bytes(data)
    with no_hang(), pytest.raises(poise.FileError) as refusal:
        poise.load_motion(path, ROBOT)
    assert str(refusal.value).startswith(str(path))
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


ROW = "0,0,0,1,0,0,0,0.1,0.2,1,0,0,0"
BROKEN_CSV = {
    "uneven": (f"{ROW}\n{ROW},1\n", "row 2: every row needs x y z"),
    "narrow": ("1,2,3\n", "row 1: every row needs x y z"),
    "words": (f"{ROW}\n{ROW.replace('0.2', 'x')}\n", "row 2: 'x' is not a number"),
    "nan": (ROW.replace("0.2", "nan"), "row 1: 'nan' is not a number"),
    "1e999": (ROW.replace("0.2", "1e999"), "row 1: '1e999' is too large"),
    "another robot": (ROW + ",5,5", "has 8 values a frame and no names; the rig has 7"),
    "not text": (b"0,\xff\xfe", "is not UTF-8 text"),
    "a remark that lies": (f"# {json.dumps({'joints': ['a']})}\n{ROW}", "1 names of joints and 6 columns"),
    "nothing but a remark": ("# x\n", "row 1: every row needs"),
}


@pytest.mark.parametrize("case", BROKEN_CSV)
def test_one_sentence_of_csv(case, tmp_path):
    path, (text, sentence) = tmp_path / "walk.csv", BROKEN_CSV[case]
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(poise.FileError) as refusal:
        poise.load_motion(path, ROBOT, fps=30, quaternion="wxyz")
    assert str(refusal.value).startswith(str(path))
    assert sentence in str(refusal.value)


def test_pickles_are_not_read(tmp_path):
    (tmp_path / "walk.pkl").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(poise.FileError, match=r"save its arrays as .npz: a pickle can run any program"):
        poise.load_motion(tmp_path / "walk.pkl", ROBOT)


@pytest.mark.long
def test_mutations(tmp_path):
    seeds = {"a.npz": [arrays(), arrays(joint_names=None)], "a.csv": [f"{ROW}\n{ROW}\n".encode()]}
    counts = {True: 0, False: 0}

    def check(case):
        path, data = tmp_path / case[0], case[1]
        path.write_bytes(data)
        message = ""
        try:
            with no_hang():
                clip = poise.load_motion(path, ROBOT, fps=30, quaternion="wxyz")
        except poise.FileError as error:
            clip, message = None, str(error)
        counts[clip is not None] += 1
        if clip is None:
            assert message.startswith(str(path))
            assert "\n" not in message
        else:
            assert np.isfinite(clip.poses.q).all()

    makes = {name: mutated(each) for name, each in seeds.items()}
    until_time_is_up(one_of(*(lambda chance, name=name: (name, makes[name](chance)) for name in makes)), check)
    assert min(counts.values()) > 0
