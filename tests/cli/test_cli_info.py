"""What `poise info` shows first: the limbs that one would move, chains without twins, and how tall the figure is."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import poise
from poise.cli.info import compute_extent, compute_height, find_chains, find_limbs
from poise.model.rig import Skin
from tests.command_line import ARM, HUMANOID, run
from tests.io.mjcf_samples import ARM as ARM_FOR_MUJOCO

BVH = HUMANOID.with_suffix(".bvh")


def test_limbs_come_first():
    text = run("info", HUMANOID).stdout
    lines = text.splitlines()
    assert lines[3].startswith("limbs (root -> tip; --joint takes the tip or its role)")
    assert [line.split()[0] for line in lines[4:9]] == ["leftHand", "rightHand", "leftFoot", "rightFoot", "head"]
    assert text.index("limbs") < text.index("chains") < text.index("└─") < text.index("roles")


def test_every_limb_can_be_named_as_it_stands_there():
    known = json.loads(run("info", HUMANOID, "--json").stdout)["limbs"]
    rig = poise.load(HUMANOID)
    for role, limb in known.items():
        np.testing.assert_allclose(limb["position"], rig.rest.world[limb["tip"]].positions, atol=1e-12)
        assert poise.solve(rig.rest, poise.Position(role, limb["position"], root=limb["root"])).reached


def test_people_read_where_a_limb_ends():
    line = next(line for line in run("info", HUMANOID).stdout.splitlines() if line.startswith("  rightHand"))
    way, _, place = line.partition("  at ")
    assert way.split() == ["rightHand", "RightArm", "->", "RightHand"]
    tip = poise.load(HUMANOID).rest.world["RightHand"].positions
    np.testing.assert_allclose([float(number) for number in place.split()], tip, atol=1e-3)
    assert "e-" not in place


def test_a_rounding_error_is_shown_as_zero(tmp_path):
    # A turn of a quarter in text, as most URDFs have it: the tip is 2e-16 beside the axis of the base.
    file = tmp_path / "quarter.urdf"
    file.write_text(
        '<robot name="a"><link name="l0"/><link name="l1"/><link name="l2"/>'
        '<joint name="j1" type="revolute"><parent link="l0"/><child link="l1"/><axis xyz="0 0 1"/>'
        '<limit lower="-1e-17" upper="1" effort="1" velocity="1"/><origin rpy="1.5707963267948966 0 0"/></joint>'
        '<joint name="j2" type="fixed"><parent link="l1"/><child link="l2"/><origin xyz="0.5 1 0"/></joint></robot>'
    )
    head, *tree = run("info", file).stdout.splitlines()[1:]
    assert "joints span 0.5 x 0 x 1 (height 1)" in head
    (line,) = [line for line in tree if "hinge" in line and "about" in line]
    assert "0..57.3 deg" in line


def test_a_robot_has_chains_only():
    text = run("info", ARM).stdout
    assert "limbs" not in text
    assert "chains (root -> tip):" in text


def test_ends_have_no_chain_of_their_own():
    rig = poise.load(BVH)
    ends = [name for name in rig.skeleton.names if name.endswith("_end")]
    found = set(find_chains(rig.skeleton))
    assert set(ends) & found == {"Head_end"}  # the only joint above the head is the neck: no chain of several
    assert {"LeftToe", "RightToe"} <= found


def test_another_fixed_tip_keeps_its_chain():
    skeleton = poise.Skeleton.build(["a", "b", "b_tool"], [-1, 0, 1], [1, 1, 0], offsets=np.eye(3), axes=np.eye(3))
    assert find_chains(skeleton) == {"b_tool": ("a", "b_tool")}


def test_the_height_is_the_figures_where_the_file_has_no_up(data):
    """The arms are wider than the figure is tall."""
    rig = poise.load(data / "bvh/cmu_12_01_walk.bvh")
    assert compute_height(rig, poise.find_roles(rig)) == pytest.approx(24.18, abs=0.01)
    assert np.ptp(rig.rest.world.positions, axis=0).max() > 25


def test_legs_of_a_fox(data):
    known = find_limbs(poise.find_roles(poise.load(data / "glb/fox.glb")))
    assert [name for name in known if "foot" in name] == [
        "front left foot",
        "front right foot",
        "hind left foot",
        "hind right foot",
    ]
    assert known["hind left foot"] == ("b_LeftLeg01_015", "b_LeftFoot01_017")


def test_named_poses_are_shown_and_are_starts(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(ARM_FOR_MUJOCO)
    assert "poses (1): home\n" in run("info", path).stdout
    reported = json.loads(run("info", path, "--json").stdout)
    assert reported["poses"] == {"home": [0.1, 0.8, 0.2, -0.1, 0.05]}
    assert reported["disabled_pairs"] == [["base", "upper"]]
    tip = poise.load(path).named_pose("home").world["tip"].positions.tolist()
    done = run("solve", path, "--joint", "tip", "--to", *tip, "--from-pose", "home", "--json")
    assert json.loads(done.stdout)["iterations"] == 0  # it is there already
    assert "poses" not in run("info", ARM).stdout


class TestTheBox:
    """What stands beside the figure is no part of its size."""

    def test_a_camera_far_away(self):
        s = poise.load(BVH).skeleton
        names, parents = [*s.names, "Sky", "Sky.Target"], [*s.parents.tolist(), -1, len(s)]
        offsets = [*s.A[:, :3].tolist(), [0, 900, 0], [0, 90, 0]]
        kinds = [poise.Kind.BALL] * len(names)
        wide = poise.Skeleton.build(names, parents, kinds, offsets=offsets, up="y")
        rig = poise.Rig(wide, poise.Pose(wide, wide.rest_q))
        plain = poise.Skeleton.build(s.names, s.parents, kinds[: len(s)], offsets=offsets[: len(s)], up="y")
        alone = poise.Rig(plain, poise.Pose(plain, plain.rest_q))
        roles = poise.find_roles(rig)
        np.testing.assert_allclose(compute_extent(rig, roles), compute_extent(alone, roles))
        assert compute_height(rig, roles) == pytest.approx(compute_height(alone, roles))
        skinned = dataclasses.replace(rig, skins=(Skin("sky", ("Sky",), np.eye(4)[None]),))
        np.testing.assert_allclose(compute_extent(skinned, roles), [0, 90, 0])  # a mesh says what is the figure

    def test_what_has_neither_roles_nor_skin_counts_as_a_whole(self):
        s = poise.Skeleton.build(["a", "b"], [-1, -1], [3, 3], offsets=[[0, 0, 0], [3, 4, 5]])
        rig = poise.Rig(s, poise.Pose(s, s.rest_q))
        np.testing.assert_allclose(compute_extent(rig, poise.find_roles(rig)), [3, 4, 5])

    def test_a_real_one(self, data):
        pytest.importorskip("ufbx")
        reported = json.loads(run("info", data / "fbx" / "pab_walk.fbx", "--json").stdout)
        np.testing.assert_allclose(reported["size"], [62.85, 179.8, 38.43], rtol=1e-3)
        assert reported["height"] == pytest.approx(179.8, rel=1e-3)


class TestMarkers:
    """Files of points are no rigs, and are shown all the same."""

    @pytest.fixture
    def file(self, tmp_path):
        rows = "".join(f"{i + 1}\t{i / 60:.4f}\t{i}\t2\t3\t{gap}\t\t\t\n" for i, gap in enumerate(GAPPY))
        head = "PathFileType\t4\t(X/Y/Z)\ta.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\n60\t60\t8\t3\tmm\n"
        names = "Frame#\tTime\tWRIST\t\t\tHEAD\t\t\tLOST\t\t\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\tX3\tY3\tZ3\n"
        (tmp_path / "a.TRC").write_text(head + names + rows)
        return tmp_path / "a.TRC"

    def test_for_people(self, file):
        lines = run("info", file).stdout.splitlines()
        assert lines[0] == f"{file}: 3 markers, no skeleton"
        assert lines[1] == "0.1333 s, 8 frames at 60 frames/s, the first is number 1"
        assert lines[2] == "1 unit = 0.001 m, up axis unknown, points span 7 x 2 x 3"
        assert lines[3] == "not seen: 11 of 24 points (45.8 %)"
        assert lines[6:] == ["  WRIST", "  HEAD  2 gaps, 3 frames in all, the longest 2", "  LOST  never seen"]

    def test_for_programs(self, file):
        reported = json.loads(run("info", file, "--json").stdout)
        assert (reported["fps"], reported["frames"], reported["metres_per_unit"], reported["up"]) == (
            60,
            8,
            0.001,
            None,
        )
        assert reported["seconds"] == pytest.approx(8 / 60)
        assert reported["markers"][1] == {"name": "HEAD", "gaps": 2, "unseen": 3, "longest_gap": 2}

    def test_real_files(self, data):
        lines = run("info", data / "c3d" / "cmu_02_05.c3d").stdout.splitlines()
        assert lines[1] == "15.45 s, 1,854 frames at 120 frames/s, the first is number 1"
        assert lines[2].startswith("1 unit = 0.001 m, +Z up, points span ")
        assert "  TakeoMonday:RBWT" in lines

    def test_nothing_in_it(self, file):
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:5]))
        assert "0 frames at 60 frames/s" in run("info", file).stdout
        assert run("info", file, "--json").returncode == 0

    def test_a_broken_one_is_one_sentence(self, tmp_path):
        (tmp_path / "a.c3d").write_bytes(b"\x02\x50")
        done = run("info", tmp_path / "a.c3d")
        assert done.returncode == 2
        assert "is cut off" in done.stderr
        assert done.stderr.count("\n") == 1


GAPPY = ["0\t0\t0"] * 2 + ["\t\t"] * 2 + ["0\t0\t0"] + ["\t\t"] + ["0\t0\t0"] * 2
