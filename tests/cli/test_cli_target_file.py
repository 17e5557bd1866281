"""`poise solve --targets` as a person runs it: tables in, tables out, and what survives when it is stopped."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.io import samples
from tests.command_line import ARM, HUMANOID, run
from tests.timeouts import PROCESS

HAND = ("solve", HUMANOID, "--joint", "LeftHand")
TOOL = ("solve", ARM, "--joint", "tool")


class TestTargets:
    @pytest.fixture
    def targets(self, tmp_path):
        path = tmp_path / "targets.csv"
        path.write_text("name,x,y,z\na,0.45,1.75,0.25\nb,0.5,1.2,0.3\nc,9,9,9\n")
        return path

    def test_a_table_on_standard_output(self, targets):
        done = run("solve", HUMANOID, "--joint", "LeftHand", "--targets", targets)
        assert done.returncode == 1
        rows = list(csv.DictReader(StringIO(done.stdout)))
        assert [row["status"] for row in rows] == ["reached", "reached", "out_of_reach"]
        assert "LeftArm.w" in rows[0]

    def test_a_table_in_a_file(self, targets, tmp_path):
        done = run("solve", HUMANOID, "--joint", "LeftHand", "--targets", targets, "-o", tmp_path / "out.csv", "--json")
        assert json.loads(done.stdout) == {"targets": 3, "reached": 2, "out": str(tmp_path / "out.csv")}
        assert len((tmp_path / "out.csv").read_text().splitlines()) == 4
        assert not list(tmp_path.glob("*.part"))

    def test_npy_in_and_out(self, tmp_path):
        np.save(tmp_path / "t.npy", [[0.45, 1.75, 0.25], [0.5, 1.2, 0.3]])
        done = run("solve", HUMANOID, "--joint", "LeftHand", "--targets", tmp_path / "t.npy", "-o", tmp_path / "q.npy")
        assert done.returncode == 0, done.stderr
        rig = poise.load(HUMANOID)
        reached = poise.Pose(rig.skeleton, np.load(tmp_path / "q.npy")).world["LeftHand"].positions
        np.testing.assert_allclose(reached, np.load(tmp_path / "t.npy"), atol=1e-3)

    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            ("t.csv", b"1,2\n", "target 0: three numbers"),
            ("t.csv", b"1,2,3\n1,x,3\n", "target 1"),
            ("t.csv", b"1,2,inf\n", "three numbers expected"),
            ("t.csv", b"\xff\xfe", "not a CSV"),
            ("t.csv", b"", "empty"),
            (
                "t.csv",
                b"1,2,3\n1,-1e200,3\n",
                "target 1: three numbers expected, not ['1', '-1e200', '3']: '-1e200' is too large",
            ),
            (
                "t.csv",
                b"tx,ty,tz\n1,2,3\n",
                "t.csv: no column x y z or qw qx qy qz; columns: tx, ty, tz (named in the first row, commas between)",
            ),
            ("t.csv", b"X;Y;Z\n1;2;3\n", "columns: x;y;z (named in the first row, commas between)"),
            ("t.csv", b"frame,pos_x,pos_y,pos_z\n0,1,2,3\n", "columns: frame, pos_x, pos_y, pos_z ("),
            (
                "t.csv",
                b"X,Y,w\n1,2,3\n",
                "t.csv: no column z: targets have x y z, qw qx qy qz or both; columns: x, y, w",
            ),
            ("t.csv", b"nan, nan, nan\n", "target 0: three numbers expected"),
            ("t.npy", b"junk", "not a numeric .npy"),
            ("t.txt", b"1,2,3", ".csv or .npy"),
        ],
    )
    def test_bad_tables_are_2(self, tmp_path, name, content, words):
        (tmp_path / name).write_bytes(content)
        done = run("solve", HUMANOID, "--joint", "LeftHand", "--targets", tmp_path / name)
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr

    def test_complex_numbers_are_refused(self, tmp_path):
        np.save(tmp_path / "t.npy", np.zeros((2, 3), dtype=complex))
        done = run(*HAND, "--targets", tmp_path / "t.npy")
        assert done.returncode == 2
        assert "t.npy: not a numeric .npy file: it holds complex128" in done.stderr
        assert len(done.stderr.splitlines()) == 1

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--plot", "x.png"), "--plot draws one pose"),
            (("--to", "0", "0", "0"), "not both"),
            (("--time", "1"), "--time needs --clip"),
            (("-o", "x.glb"), "a table is written as"),
            (("-o", "nowhere/x.csv"), "nowhere"),
            (("-o", "folder.csv"), "folder.csv: cannot write here: it is a directory"),
            (("-o", "folder.npy"), "folder.npy: cannot write here: it is a directory"),
            (("--root", "RightArm"), "not above"),
        ],
    )
    def test_misuse_is_2_before_any_row(self, targets, tmp_path, arguments, words):
        for name in ("folder.csv", "folder.npy"):
            (tmp_path / name).mkdir()
        before = set(tmp_path.iterdir())
        done = run(*HAND, "--targets", targets, *arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1 or "Usage" in done.stderr
        assert done.stdout == ""
        assert set(tmp_path.iterdir()) == before


class TestEmptyTable:
    @pytest.fixture(params=["t.csv", "t.npy"])
    def none(self, request, tmp_path):
        path = tmp_path / request.param
        if path.suffix == ".csv":
            path.write_text("x,y,z\n")
        else:
            np.save(path, np.zeros((0, 3)))
        return path

    def test_a_header_only(self, none, tmp_path):
        done = run(*TOOL, "--targets", none)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == 1
        assert run(*TOOL, "--targets", none, "-o", tmp_path / "out.csv").returncode == 0
        assert (tmp_path / "out.csv").read_text() == done.stdout
        rows = json.loads(run(*TOOL, "--targets", none, "--json").stdout)
        assert (rows["columns"], rows["rows"]) == (done.stdout.strip().split(","), [])

    def test_npy(self, none, tmp_path):
        assert run(*TOOL, "--targets", none, "-o", tmp_path / "q.npy").returncode == 0
        assert np.load(tmp_path / "q.npy").shape == (0, poise.load(ARM).skeleton.nq)

    def test_misuse_is_still_found(self, none):
        assert run("solve", ARM, "--joint", "hand", "--targets", none).returncode == 2


COUPLED = """<robot name="r"><link name="base"/><link name="a"/><link name="b"/>
<joint name="base_x" type="floating"><parent link="base"/><child link="a"/></joint>
<joint name="turn" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
<link name="c"/><link name="d"/>
<joint name="follower" type="continuous"><parent link="a"/><child link="c"/><axis xyz="0 0 1"/>
<mimic joint="turn" multiplier="2" offset="0.5"/></joint>
<joint name="tip" type="fixed"><parent link="b"/><child link="d"/><origin xyz="1 0 0"/></joint></robot>"""


class TestColumns:
    def test_a_table_is_read_back_as_poses(self, tmp_path):
        """Coupled and free joints too: the columns are those of joint values."""
        (tmp_path / "r.urdf").write_text(COUPLED)
        (tmp_path / "t.csv").write_text("1,0,0\n0,1,0\n0,3,0\n")
        out = tmp_path / "out.csv"
        done = run(
            "solve", tmp_path / "r.urdf", "--joint", "tip", "--targets", tmp_path / "t.csv", "-o", out, "--tolerance",
            "1e-3",
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        skeleton = poise.load(tmp_path / "r.urdf").skeleton
        header = out.read_text().splitlines()[0].split(",")
        assert header[:6] == ["x", "y", "z", "status", "error", "iterations"]
        assert {"base_x.px", "follower", "turn"} <= set(header)
        poses = poise.load_values(out, skeleton)
        tips = poses.world["tip"].positions
        np.testing.assert_allclose(tips, [[1, 0, 0], [0, 1, 0], [0, 1, 0]], atol=2e-3)

    def test_only_these_columns_are_passed_over(self, tmp_path):
        skeleton = poise.load(samples.path("arm.urdf")).skeleton
        (tmp_path / "v.csv").write_text("x,y,z,status,error,iterations,seconds\n")
        with pytest.raises(poise.FileError, match="no joint value 'seconds'"):
            poise.load_values(tmp_path / "v.csv", skeleton)

    def test_a_joint_with_the_name_of_a_column(self, tmp_path):
        (tmp_path / "r.urdf").write_text(COUPLED.replace('"turn"', '"error"'))
        (tmp_path / "t.csv").write_text("1,0,0\n")
        done = run("solve", tmp_path / "r.urdf", "--joint", "tip", "--targets", tmp_path / "t.csv")
        assert done.returncode == 2
        assert "two columns would have the same name: error" in done.stderr
        assert done.stdout == ""


class TestStopped:
    """Small chunks, in the process, so that it can be stopped between two of them."""

    CODE = (
        "import sys, numpy as np, poise\n"
        "from poise import cli\n"
        "from poise.cli import target_file as targets\n"
        "targets.CHUNK_ROWS = 2\n"
        "stream = poise.Prepared.stream\n"
        "def stopping(*arguments, **options):\n"
        "    for i, result in enumerate(stream(*arguments, **options)):\n"
        "        if i == 2:\n"
        "            raise {error}\n"
        "        yield result\n"
        "poise.Prepared.stream = stopping\n"
        "cli.main()\n"
    )

    def stopped(self, tmp_path, *arguments, error="KeyboardInterrupt"):
        (tmp_path / "t.csv").write_text("0.3,0.2,0.4\n" * 9)
        command = [sys.executable, "-c", self.CODE.format(error=error), *TOOL, "--targets", "t.csv", *arguments]
        return subprocess.run(
            list(map(str, command)), capture_output=True, text=True, check=False, cwd=tmp_path, timeout=PROCESS
        )

    @pytest.mark.long
    def test_rows_are_on_standard_output_already(self, tmp_path):
        done = self.stopped(tmp_path)
        assert done.returncode == 130
        assert len(done.stdout.splitlines()) == 1 + 2 * 2
        done = self.stopped(tmp_path, "--json")
        assert len(json.loads(done.stdout.rstrip().rstrip(",") + "]}")["rows"]) == 2 * 2

    @pytest.mark.long
    def test_rows_are_in_the_part_file(self, tmp_path):
        done = self.stopped(tmp_path, "-o", "out.csv")
        assert done.returncode == 130
        assert "finished rows are in out.csv.part" in done.stderr
        assert len((tmp_path / "out.csv.part").read_text().splitlines()) == 1 + 2 * 2
        assert not (tmp_path / "out.csv").exists()

    @pytest.mark.long
    def test_any_other_failure_leaves_nothing(self, tmp_path):
        done = self.stopped(tmp_path, "-o", "out.csv", error="OSError(28, 'No space left on device')")
        assert done.returncode == 2
        assert "out.csv: cannot write: No space left" in done.stderr
        assert {path.name for path in tmp_path.iterdir()} == {"t.csv"}

    @pytest.mark.long
    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
    @pytest.mark.parametrize("arguments", [(), ("--json",)])
    def test_standard_output_that_takes_nothing(self, tmp_path, arguments):
        (tmp_path / "t.csv").write_text("0.3,0.2,0.4\n")
        command = [sys.executable, "-m", "poise", *TOOL, "--targets", tmp_path / "t.csv", *arguments]
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=PROCESS)
        assert done.returncode == 2
        assert done.stderr.splitlines() == ["error: cannot write the output: No space left on device"]

    @pytest.mark.long
    def test_q_is_in_the_part_file(self, tmp_path):
        done = self.stopped(tmp_path, "-o", "q.npy")
        assert done.returncode == 130
        assert "finished rows are in q.npy.part" in done.stderr
        assert {path.name for path in tmp_path.iterdir()} == {"t.csv", "q.npy.part"}
        q = np.load(tmp_path / "q.npy.part")
        assert q.shape == (4, 6)
        tips = poise.Pose(poise.load(ARM).skeleton, q).world["tool"].positions
        np.testing.assert_allclose(tips, [[0.3, 0.2, 0.4]] * 4, atol=1e-6)
