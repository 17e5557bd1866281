"""ASF and AMC: real takes against independent forward kinematics, and every word of a small pair."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import poise
from tests.io.asf_samples import ASF, VALUES, amc

TAKES = ("02_01", "02_03", "02_05")
pytestmark = pytest.mark.filterwarnings("ignore::poise.PoiseWarning")


@pytest.fixture
def put(tmp_path):
    """Write a pair; return what is loaded."""

    def write(skeleton=ASF, motion=None, names=("small.asf", "small_01.amc")):
        (tmp_path / names[0]).write_text(skeleton)
        if motion is None:
            return poise.load(tmp_path / names[0])
        (tmp_path / names[1]).write_text(motion)
        return poise.load(tmp_path / names[1])

    return write


def turned(rig, pose, joint):
    """The rotation that a bone has made since rest, in the world: what readers of ASF call its matrix."""
    zero = poise.Pose(rig.skeleton, rig.skeleton.zero_q())
    row = rig.skeleton.index(joint)
    return pose.world.matrices[..., row, :3, :3] @ zero.world.matrices[row, :3, :3].T


def by_hand(values):
    """World positions of the joints of the small figure and its end, and the bones' matrices, with SciPy alone."""

    def fixed(angles, sequence="xyz"):
        return Rotation.from_euler(sequence, angles, degrees=True)

    root = fixed(values["root"][3:])
    axes = {"thigh": (10, 20, 30), "shin": (0, 0, 20), "foot": (-90, 0, 20)}
    ends = {"thigh": (0, -4, 0), "shin": (0, -1.8, 2.4), "foot": (0, 0, 2)}
    rows = {"thigh": values["thigh"], "shin": (*values["shin"], 0, 0)}
    rows["foot"] = (values["foot"][0], 0, values["foot"][1])
    at = np.array(values["root"][:3]) + root.apply((1.5, 0, 0))
    places, turn, turns = {"hip": np.array(values["root"][:3])}, root, {"root": root.as_matrix()}
    for bone, axis in axes.items():
        c = fixed(axis)
        places[bone], turn = at, turn * c * fixed(rows[bone]) * c.inv()
        at = at + turn.apply(ends[bone])
        turns[bone] = turn.as_matrix()
    return places | {"foot_end": at}, turns


class TestRealTakes:
    @pytest.mark.parametrize("take", TAKES)
    def test_equal_forward_kinematics_of_independent_code(self, data, take):
        golden = np.load(data / "golden" / "fk_asf.npz")
        rig = poise.load(data / "asf" / f"{take}.amc")
        names, frames = golden[f"{take}.amc|names"].tolist(), golden[f"{take}.amc|frames"]
        poses = rig.clips[0].poses[frames]
        size = np.ptp(golden[f"{take}.amc|start"], axis=(0, 1)).max()
        assert len(names) == 31
        for k, name in enumerate(names):
            at = poses.world[name].positions
            assert np.abs(at - golden[f"{take}.amc|start"][:, k]).max() < 1e-12 * size
            assert np.abs(turned(rig, poses, name) - golden[f"{take}.amc|rotation"][:, k]).max() < 1e-12
            end = rig.skeleton[name].children[:1]
            if end and name != "root":
                there = poses.world[end[0]].positions
                assert np.abs(there - golden[f"{take}.amc|end"][:, k]).max() < 1e-12 * size

    @pytest.mark.parametrize(
        ("take", "frames", "outside"), [("02_01", 343, 4.5), ("02_03", 173, 6.4), ("02_05", 1854, 5.7)]
    )
    def test_values_outside_of_the_limits_are_kept_and_reported(self, data, take, frames, outside):
        rig = poise.load(data / "asf" / f"{take}.amc")
        assert len(rig.clips[0]) == frames
        (note,) = (note for note in rig.notes if "outside" in note)
        assert f"({outside} %) lie outside of the limits in 02.asf and were kept" in note
        q = rig.clips[0].poses.q
        assert np.abs(rig.skeleton.legal(q)[0] - q).max() > 0.1
        assert rig.clips[0].fps == pytest.approx(120)
        assert any("no frame rate" in note for note in rig.notes)

    def test_the_skeleton_alone(self, data):
        rig = poise.load(data / "asf" / "02.asf")
        assert rig.clips == ()
        assert rig.notes == ()
        assert rig.skeleton.metres_per_unit == pytest.approx(0.0564444, rel=1e-5)
        moving = np.bincount(rig.skeleton.kinds, minlength=5)
        assert moving.tolist() == [9, 0, 0, 28, 1]
        ranges = [
            one.limit for one in map(rig.skeleton.__getitem__, rig.skeleton.names) if isinstance(one.limit, poise.Range)
        ]
        assert [limit.axis for limit in ranges].count((1.0, 0.0, 0.0)) == 8
        assert [limit.axis for limit in ranges].count((0.0, 1.0, 0.0)) == 2
        knee = rig.skeleton["ltibia"].limit
        assert knee == poise.Range.degrees(-10, 170, axis=(1, 0, 0))
        assert knee.source == "file"
        assert rig.skeleton["lfoot"].limit == poise.EulerBox.degrees("ZYX", x=(-45, 90), y=(0, 0), z=(-70, 20))
        assert (rig.rest.q == rig.skeleton.zero_q()).all()

    def test_its_roles_are_found(self, data):
        rig = poise.load(data / "asf" / "02.asf")
        roles = poise.find_roles(rig)
        assert roles.missing == ()
        assert (roles.joints["leftUpperArm"], roles.joints["rightFoot"]) == ("lhumerus", "rfoot")

    def test_the_long_take_is_read_quickly(self, data):
        path = data / "asf" / "02_05.amc"
        poise.load(path)
        times = []
        for _ in range(5):
            before = time.process_time()
            poise.load(path)
            times.append(time.process_time() - before)
        assert min(times) < 0.15

    @pytest.mark.parametrize("suffix", [".glb", ".bvh"])
    def test_a_hand_is_moved_and_what_was_solved_is_saved(self, data, tmp_path, suffix):
        rig = poise.load(data / "asf" / "02_01.amc")
        start = rig.clips[0].poses[100]
        free = rig.skeleton.with_limits({"*": None})
        target = start.world["lwrist"].positions + np.array([0.5, 1.0, 0.5])
        for skeleton in (rig.skeleton, free):
            result = poise.solve(start.on(skeleton), poise.Position("leftHand", target))
            assert result.reached, result.status
        path = tmp_path / f"moved{suffix}"
        poise.save(result.pose, path)
        again = poise.load(path).pose
        for joint in ("lwrist", "rtoes", "head"):
            near = again.world[joint].positions - result.pose.world[joint].positions
            assert np.abs(near).max() < 1e-6
        assert np.abs(result.pose.world["rtoes"].positions - start.world["rtoes"].positions).max() < 1e-9

    def test_feet_are_planted(self, data):
        rig = poise.load(data / "asf" / "02_01.amc")
        planted = poise.plant_feet(rig.clips[0], poise.Terrain.slope(4, up="y"), rig=rig)
        assert len(planted.clip) == len(rig.clips[0])

    @pytest.mark.parametrize("suffix", [".glb", ".bvh"])
    def test_a_whole_take_in_another_format(self, data, tmp_path, suffix):
        clip = poise.load(data / "asf" / "02_03.amc").clips[0]
        path = tmp_path / f"run{suffix}"
        poise.save(clip, path)
        again = poise.load(path).clips[0]
        for joint in clip.skeleton.names:
            there = again.at(clip.times).world[joint].positions
            assert np.abs(there - clip.poses.world[joint].positions).max() < 1e-4


class TestEveryWord:
    def test_the_convention(self, put):
        rig = put(motion=amc())
        for frame in range(2):
            places, turns = by_hand({bone: rows[frame] for bone, rows in VALUES.items()})
            pose = rig.clips[0].poses[frame]
            for joint, place in places.items():
                np.testing.assert_allclose(pose.world[joint].positions, place, atol=1e-12)
            for bone, turn in turns.items():
                np.testing.assert_allclose(turned(rig, pose, bone), turn, atol=1e-12)

    @pytest.mark.parametrize("newline", ["\r\n", "\r"])
    def test_line_ends(self, put, tmp_path, newline):
        usual = put(motion=amc()).clips[0].poses.q
        (tmp_path / "small.asf").write_bytes(ASF.replace("\n", newline).encode())
        (tmp_path / "small_01.amc").write_bytes(amc(newline=newline).encode())
        assert np.array_equal(poise.load(tmp_path / "small_01.amc").clips[0].poses.q, usual)

    @pytest.mark.parametrize(
        "change",
        [
            lambda text: text.upper().replace("E+", "e+"),
            lambda text: text.replace(" 45.0", "\t4.5e+001"),
            lambda text: text.replace("45.0\n", "45.0 # a comment\n"),
            lambda text: text.replace("1\nroot", "  1  \n\n root"),
            lambda text: "#!OML:ASF C:\\somewhere\\else.asf\n" + text,
            lambda text: "\ufeff" + text,
            lambda text: text.replace("2\nroot", "2 # the second\nroot"),
        ],
    )
    def test_ways_to_write_the_same_motion(self, put, change):
        usual = put(motion=amc()).clips[0].poses.q
        assert amc() != change(amc())
        assert np.array_equal(put(motion=change(amc())).clips[0].poses.q, usual)

    def test_bones_in_another_order_in_each_frame(self, put):
        text = amc()
        second = text.index("2\nroot")
        lines = text[second:].split("\n")[1:5]
        mixed = text[:second] + "2\n" + "\n".join(lines[::-1]) + "\n"
        assert np.array_equal(put(motion=mixed).clips[0].poses.q, put(motion=text).clips[0].poses.q)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("(-160.0 20.0)\n           (-70.0 70.0)\n           (-60.0 70.0)", "-160, 20, -70, 70, -60, 70"),
            ("  angle deg\n", ""),
            (":hierarchy\n", ":HIERARCHY\n"),
            ("    hip thigh\n    thigh shin\n", "    thigh shin\n    hip thigh\n"),
            ("  begin\n    root hip", "    root hip"),
        ],
    )
    def test_ways_to_write_the_same_skeleton(self, put, old, new):
        assert old in ASF
        assert put(ASF.replace(old, new)).skeleton == put().skeleton

    def test_radians(self, put):
        text = ASF.replace("angle deg", "angle rad")
        rig = put(text, amc(head=":FULLY-SPECIFIED\n:RADIANS\n"))
        assert rig.skeleton["shin"].limit == poise.Range(-10.0, 170.0, (1, 0, 0))

        def shin(rig):
            return rig.clips[0].poses.q[:, rig.skeleton.q_slice("shin")]

        def turns(angles):
            half = 0.5 * np.array(angles)
            return np.stack([np.cos(half), np.sin(half), 0 * half, 0 * half], axis=-1)

        np.testing.assert_allclose(shin(rig), turns([45.0, -300.0]), atol=1e-12)
        message = np.radians([45.0, -300.0])
        np.testing.assert_allclose(
            shin(put(text, amc())), turns(message), atol=1e-12, err_msg="the motion's own word counts"
        )
        np.testing.assert_allclose(shin(put(text, amc(head=""))), turns([45.0, -300.0]), atol=1e-12)

    def test_values_turn_in_the_order_of_their_dof_line(self, put):
        usual = put(motion=amc())
        values = VALUES | {"thigh": [row[::-1] for row in VALUES["thigh"]]}
        rig = put(ASF.replace("dof rx ry rz", "dof rz ry rx"), amc(values))
        assert rig.skeleton.euler[2] == "XYZ"
        c = Rotation.from_euler("xyz", (10, 20, 30), degrees=True)
        for frame in range(2):
            m = Rotation.from_euler("zyx", values["thigh"][frame], degrees=True)
            pose = rig.clips[0].poses[frame]
            wanted = turned(rig, pose, "root") @ (c * m * c.inv()).as_matrix()
            np.testing.assert_allclose(turned(rig, pose, "thigh"), wanted, atol=1e-12)
        assert usual.skeleton.euler[2] == "ZYX"

    def test_the_joint_that_is_farthest_outside_of_its_limits_is_reported_first(self, put):
        (note,) = (note for note in put(motion=amc()).notes if "outside" in note)
        assert note.startswith("3 of 12 values (25 %)")
        assert note.endswith("at most [degrees]: shin by 290, foot by 110, thigh by 30")

    def test_the_root_in_another_order(self, put):
        values = VALUES | {"root": [(30.0, 3.0, 10.0, 1.0, 20.0, 2.0)] * 2}
        rig = put(ASF.replace("TX TY TZ RX RY RZ", "RZ TZ RX TX RY TY"), amc(values))
        pose = rig.clips[0].poses[0]
        assert pose.world["root"].positions.tolist() == [1.0, 2.0, 3.0]
        wanted = Rotation.from_euler("zxy", (30, 10, 20), degrees=True).as_matrix()
        np.testing.assert_allclose(turned(rig, pose, "root"), wanted, atol=1e-12)

    def test_a_root_with_a_place_of_its_own(self, put):
        text = ASF.replace("position 0 0 0", "position 1 2 3").replace("orientation 0 0 0", "orientation 0 0 90")
        rig = put(text, amc())
        assert rig.rest.world["root"].positions.tolist() == [1.0, 2.0, 3.0]
        there = rig.clips[0].poses[0].world["root"].positions
        np.testing.assert_allclose(there, [1 - 2, 2 + 1, 3 + 3], atol=1e-12)
        assert any("a position or rotation of its own" in note for note in rig.notes)

    def test_a_root_that_the_file_does_not_describe_is_reported(self, put):
        begin, end = ASF.index(":root"), ASF.index(":bonedata")
        rig = put(ASF[:begin] + ASF[end:], amc())
        usual = "order (tx ty tz rx ry rz), axis (XYZ)"
        assert f"it has no :root section; defaults used: {usual}" in rig.notes
        text = "\n".join(line for line in ASF.split("\n") if not line.strip().startswith("order TX"))
        assert text != ASF
        rig = put(text, amc())
        assert ":root is incomplete; defaults used: order (tx ty tz rx ry rz)" in rig.notes
        assert not any("defaults used" in note for note in put().notes)

    def test_the_frame_rate(self, put):
        rig = put(motion=amc(head=":FULLY-SPECIFIED\n:DEGREES\n:SAMPLES-PER-SECOND 60\n"))
        assert rig.clips[0].times.tolist() == [0.0, 1 / 60]
        assert not any("no frame rate" in note for note in rig.notes)

    def test_a_unit_of_one_says_nothing(self, put):
        assert put(ASF.replace("length 0.45", "length 1.0")).skeleton.metres_per_unit is None
        assert put().skeleton.metres_per_unit == 0.0254 / 0.45

    def test_one_frame_is_the_pose_that_is_shown(self, put):
        one = {bone: rows[:1] for bone, rows in VALUES.items()}
        rig = put(motion=amc(one))
        assert np.array_equal(rig.pose.q, rig.clips[0].poses.q[0])
        assert (put(motion=amc()).pose.q == rig.rest.q).all()

    def test_limits_that_are_none(self, put):
        text = ASF.replace("(-10.0 170.0)", "(-inf INF)").replace("(-70.0 70.0)\n", "(-inf 70.0)\n")
        rig = put(text)
        assert not rig.skeleton["shin"].limit.bounded
        assert rig.skeleton["thigh"].limit.y == (-np.inf, np.radians(70))
        none = put(ASF.replace("limits (-10.0 170.0)\n", "\n"))
        assert none.skeleton["shin"].limit == poise.Range(-np.inf, np.inf, (1, 0, 0)), "it still bends about x only"

    def test_fewer_limits_than_values(self, put):
        rig = put(ASF.replace("(-45.0 90.0) (-70.0 20.0)", "(-45.0 90.0)"))
        assert rig.skeleton["foot"].limit == poise.EulerBox.degrees("ZYX", x=(-45, 90), y=(0, 0))
        assert any("some of their degrees of freedom" in note and "foot" in note for note in rig.notes)

    def test_what_is_not_represented_is_reported(self, put):
        text = ASF.replace("dof rx\n", "dof rx tx l\n")
        values = VALUES | {"shin": [(45.0, 1.0, 2.0), (-300.0, 3.0, 4.0)]}
        rig = put(text, amc(values))
        assert any("slide or stretch" in note and "shin" in note for note in rig.notes)
        assert np.array_equal(rig.clips[0].poses.q, put(motion=amc()).clips[0].poses.q)

    def test_bones_without_values_stay_at_zero(self, put):
        values = {bone: rows for bone, rows in VALUES.items() if bone not in ("foot", "root")}
        rig = put(motion=amc(values))
        assert any("no values" in note and "foot, root" in note for note in rig.notes)
        assert (rig.clips[0].poses.q[:, :7] == [0, 0, 0, 1, 0, 0, 0]).all()

    def test_frames_with_other_numbers(self, put):
        rig = put(motion=amc().replace("2\nroot", "7\nroot"))
        assert len(rig.clips[0]) == 2
        assert any("numbers are missing" in note for note in rig.notes)
        assert not any("numbers are missing" in note for note in put(motion=amc().replace("1\nroot", "1\nroot")).notes)

    def test_a_sidecar_gives_other_limits(self, put, tmp_path):
        (tmp_path / "small.ik.toml").write_text("[joints.shin]\naxis = [1, 0, 0]\nrange_deg = [0, 90]\n")
        assert put().skeleton["shin"].limit == poise.Range.degrees(0, 90, axis=(1, 0, 0))


class TestPairs:
    def test_the_same_name_before_the_subject(self, put, tmp_path):
        (tmp_path / "02.asf").write_text(ASF.replace("name thigh", "name other").replace("thigh", "other"))
        rig = put(motion=amc(), names=("02_01.asf", "02_01.amc"))
        assert "thigh" in rig.skeleton

    def test_the_subject_before_others(self, put, tmp_path):
        (tmp_path / "03.asf").write_text("nonsense")
        assert "thigh" in put(motion=amc(), names=("02.ASF", "02_01_late.amc")).skeleton
        (tmp_path / "02_01.asf").write_text(ASF.replace("thigh", "femur"))
        with pytest.raises(poise.FileError, match=r"02_01_late\.amc: line 6: bone 'thigh' is not in 02_01\.asf"):
            poise.load(tmp_path / "02_01_late.amc")

    def test_the_only_one(self, put):
        assert "thigh" in put(motion=amc(), names=("anything.asf", "take.amc")).skeleton

    def test_none(self, tmp_path):
        (tmp_path / "02_01.amc").write_text(amc())
        with pytest.raises(poise.FileError, match=r"there is no \.asf file beside it; .* as 02_01\.asf or 02\.asf"):
            poise.load(tmp_path / "02_01.amc")

    def test_several(self, tmp_path):
        for name in ("a.asf", "b.asf", "02_01.amc"):
            (tmp_path / name).write_text(ASF if name.endswith("asf") else amc())
        with pytest.raises(poise.FileError, match=r"which \.asf file belongs to it\? .* there are a\.asf, b\.asf"):
            poise.load(tmp_path / "02_01.amc")

    def test_a_link_that_leads_out_of_the_folder(self, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "02.asf").write_text(ASF)
        inner = tmp_path / "takes"
        inner.mkdir()
        (inner / "02.asf").symlink_to(tmp_path / "elsewhere" / "02.asf")
        (inner / "02_01.amc").write_text(amc())
        with pytest.raises(poise.FileError, match=r"there is no \.asf file beside it"):
            poise.load(inner / "02_01.amc")
