"""The engine at the command line: rotations, preferences, and tables of many places."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from io import StringIO

import numpy as np
import pytest

import poise
from poise.maths import rotations
from poise.solvers import make_solver
from tests.command_line import ARM, HUMANOID, run

TOOL = ("solve", ARM, "--joint", "tool")
HAND = ("solve", HUMANOID, "--joint", "LeftHand")
REACH = ("--to", "0.45", "1.75", "0.25")


def arm_places(count, seed=0):
    """Reachable places (count, 7) of the arm's tool."""
    skeleton = poise.load(ARM).skeleton
    low, high = skeleton.value_ranges.T
    q = np.random.default_rng(seed).uniform(low, high, (count, len(low)))
    tool = poise.Pose(skeleton, q).world["tool"]
    return np.concatenate([tool.positions, tool.rotations], axis=-1)


def words(numbers):
    return [repr(float(number)) for number in numbers]


def angle(a, b):
    """The angle between two rotations w x y z [rad]."""
    left = rotations.multiply(a, rotations.inverse(b))
    return 2 * np.arcsin(np.minimum(np.linalg.norm(left[..., 1:], axis=-1), 1))


@pytest.fixture(scope="module")
def place():
    return arm_places(1)[0]


class TestGoals:
    def test_a_place_with_its_angle_error(self, place):
        done = run(*TOOL, "--to", *words(place[:3]), "--rotation", *words(place[3:]), "--json")
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert (answer["goal"], answer["prefer"], answer["solver"]) == ("place", "first", "levenberg_marquardt")
        assert 0 <= answer["position_error"] <= answer["tolerance"] == 1e-6
        assert 0 <= answer["angle_error"] <= answer["angle_tolerance"] == 1e-6
        assert answer["solutions"] == []
        tool = poise.load(ARM).rest.replace(answer["joints"]).world["tool"]
        np.testing.assert_allclose(tool.positions, place[:3], atol=1e-6)
        left = [np.linalg.norm(tool.positions - place[:3]), angle(tool.rotations, place[3:])]
        np.testing.assert_allclose([answer["position_error"], answer["angle_error"]], left, atol=1e-12)
        np.testing.assert_allclose(answer["target"], place[:3])
        np.testing.assert_allclose(answer["target_rotation"], place[3:])
        np.testing.assert_allclose(answer["rotation"], tool.rotations, atol=1e-12)

    def test_a_rotation_alone(self, place):
        done = run(*TOOL, "--rotation", *words(place[3:]), "--json")
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["goal"] == "orientation"
        assert answer["target"] is answer["position_error"] is None
        tool = poise.load(ARM).rest.replace(answer["joints"]).world["tool"]
        assert angle(tool.rotations, place[3:]) < 1e-6

    def test_the_text_is_the_results_own(self, place):
        done = run(*TOOL, "--to", *words(place[:3]), "--rotation", *words(place[3:]))
        assert done.stdout.startswith("reached: ")
        assert re.search(r", [0-9.]+ (us|ms) \(levenberg_marquardt\)\n$", done.stdout)
        assert len(done.stdout.splitlines()) == 1

    def test_the_angle_tolerance(self, place):
        done = run(*TOOL, "--rotation", *words(place[3:]), "--angle-tolerance", "4", "--json")
        answer = json.loads(done.stdout)
        assert answer["angle_tolerance"] == 4
        assert answer["joints"] == dict.fromkeys(answer["joints"], 0.0)  # the start is near enough

    def test_a_picture_of_a_rotation(self, place, tmp_path):
        pytest.importorskip("matplotlib")
        assert run(*TOOL, "--rotation", *words(place[3:]), "--plot", tmp_path / "x.png").returncode == 0
        assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


class TestPrefer:
    def test_all_lists_distinct_solutions(self, place):
        at = ("--to", *words(place[:3]), "--rotation", *words(place[3:]))
        answer = json.loads(run(*TOOL, *at, "--prefer", "all", "--json").stdout)
        assert answer["prefer"] == "all"
        assert len(answer["solutions"]) > 1
        assert answer["solutions"][0] == answer["joints"]
        rest = poise.load(ARM).rest
        for joints in answer["solutions"]:
            tool = rest.replace(joints).world["tool"]
            np.testing.assert_allclose(tool.positions, place[:3], atol=1e-6)
        found = np.array([list(joints.values()) for joints in answer["solutions"]])
        gaps = np.abs(found[:, None] - found[None]).max(axis=-1)
        assert gaps[~np.eye(len(found), dtype=bool)].min() > 1e-3
        text = run(*TOOL, *at, "--prefer", "all").stdout
        assert f"{len(found)} distinct solutions; this is the one nearest to the start" in text

    def test_closest_is_not_farther_than_first(self, place):
        at = ("--to", *words(place[:3]), "--rotation", *words(place[3:]), "--json")
        away = {}
        for prefer in ("first", "closest"):
            answer = json.loads(run(*TOOL, *at, "--prefer", prefer).stdout)
            assert answer["reached"]
            away[prefer] = sum(value**2 for value in answer["joints"].values())
        assert away["closest"] <= away["first"]

    def test_a_character_too(self):
        """A preference is for the engine, which is what auto takes then."""
        answer = json.loads(run(*HAND, *REACH, "--prefer", "closest", "--seeds", "4", "--json").stdout)
        assert answer["reached"]
        assert answer["solver"] == "levenberg_marquardt"


class TestSolver:
    @pytest.mark.parametrize(
        ("arguments", "solver"),
        [
            ((*HAND, *REACH), "levenberg_marquardt"),
            ((*HAND, *REACH, "--root", "LeftArm"), "two_bone"),
            ((*HAND, *REACH, "--root", "LeftArm", "--iterations", "50"), "levenberg_marquardt"),
            ((*HAND, *REACH, "--iterations", "50", "--restarts", "3"), "levenberg_marquardt"),
            ((*HAND, *REACH, "--damping", "0.1"), "levenberg_marquardt"),
            ((*HAND, *REACH, "--rotation", "1", "0", "0", "0"), "levenberg_marquardt"),
            ((*TOOL, "--to", "0.3", "0.2", "0.4"), "levenberg_marquardt"),
            ((*TOOL, "--to", "0.3", "0.2", "0.4", "--iterations", "20"), "levenberg_marquardt"),
            ((*TOOL, "--to", "0.3", "0.2", "0.4", "--hinge", "exact"), "ccd"),
            ((*TOOL, "--to", "0.3", "0.2", "0.4", "--solver", "ccd"), "ccd"),
        ],
    )
    def test_auto_is_the_librarys_choice_unless_an_option_says_otherwise(self, arguments, solver):
        done = run(*arguments, "--json")
        assert done.returncode in (0, 1), done.stderr
        assert json.loads(done.stdout)["solver"] == solver

    def test_options_arrive(self, place):
        at = ("--to", *words(place[:3]), "--rotation", *words(place[3:]), "--json")
        none = json.loads(run(*TOOL, *at, "--iterations", "0", "--restarts", "0").stdout)
        assert (none["reached"], none["iterations"]) == (False, 0)
        goal = poise.Place("tool", place[:3], place[3:])
        counts = {}
        for damping in (0.04, 5.0):
            solver = make_solver("levenberg_marquardt", damping=damping)
            counts[damping] = int(poise.solve(poise.load(ARM).pose, goal, solver=solver).iterations)
            answer = json.loads(run(*TOOL, *at, "--damping", damping).stdout)
            assert answer["iterations"] == counts[damping]
        assert counts[0.04] != counts[5.0]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--to", "0", "0", "0", "--solver", "ccd", "--damping", "1"), "the solver ccd has no --damping"),
            (("--to", "0", "0", "0", "--hinge", "exact", "--damping", "1"), "no solver has all of --damping, --hinge"),
            (("--to", "0", "0", "0", "--solver", "ccd", "--prefer", "closest"), "levenberg_marquardt"),
            (("--to", "0", "0", "0", "--prefer", "last"), "last"),
            (("--to", "0", "0", "0", "--seeds", "3"), "seeds is how many starts"),
            (("--to", "0", "0", "0", "--threads", "0"), "threads"),
            (("--rotation", "0", "0", "0", "0"), "zero length"),
            (("--rotation", "1", "0", "0"), "rotation"),
            (("--rotation", "1", "0", "0", "0", "--solver", "fabrik"), "fabrik solves Position and Pin goals"),
            (("--rotation", "1", "0", "0", "0", "--angle-tolerance", "-1"), "angle_tolerance must be"),
            (("--targets", "t.csv", "--prefer", "all"), "--prefer all lists the solutions of one target"),
            (("--targets", "t.csv", "--rotation", "1", "0", "0", "0"), "not both"),
        ],
    )
    def test_misuse_is_2(self, arguments, words):
        done = run(*TOOL, *arguments)
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout == ""


def matrices(places):
    turned = rotations.as_matrix(places[:, 3:])
    return np.concatenate([turned, places[:, :3, None]], axis=-1)


def square(places):
    bottom = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (len(places), 1, 4))
    return np.concatenate([matrices(places), bottom], axis=1)


class TestTables:
    PLACES = arm_places(3, seed=5)

    def check(self, text, skeleton, *, position=True, rotation=True):
        """The columns say what the joint values give."""
        rows = list(csv.DictReader(StringIO(text)))
        assert len(rows) == len(self.PLACES)
        assert {row["status"] for row in rows} == {"reached"}
        names = [name for name in skeleton.names if skeleton[name].kind == poise.Kind.HINGE]
        q = np.array([[float(row[name]) for name in names] for row in rows])
        tool = poise.Pose(skeleton, q).world["tool"]
        left = [np.linalg.norm(tool.positions - self.PLACES[:, :3], axis=1), angle(tool.rotations, self.PLACES[:, 3:])]
        for is_requested, column, errors in zip((position, rotation), ("error", "angle_error"), left, strict=True):
            assert (column in rows[0]) == is_requested
            if is_requested:
                np.testing.assert_allclose([float(row[column]) for row in rows], errors, atol=1e-9)
                assert errors.max() < 1e-6
        requested = [*"xyz"] * position + ["qw", "qx", "qy", "qz"] * rotation
        given = np.array([[float(row[column]) for column in requested] for row in rows])
        wanted = np.concatenate([self.PLACES[:, :3]] * position + [self.PLACES[:, 3:]] * rotation, axis=1)
        np.testing.assert_allclose(given, wanted, atol=1e-15)

    @pytest.mark.parametrize(
        ("rows", "requested"),
        [
            (PLACES[:, :3], {"rotation": False}),
            (PLACES[:, 3:], {"position": False}),
            (PLACES, {}),
            (np.asfortranarray(PLACES), {}),
            (matrices(PLACES), {}),
            (square(PLACES), {}),
            (rotations.as_matrix(PLACES[:, 3:]), {"position": False}),
        ],
        ids=["points", "quaternions", "both", "columns first", "3 x 4", "4 x 4", "3 x 3"],
    )
    def test_npy(self, tmp_path, rows, requested):
        np.save(tmp_path / "t.npy", rows)
        done = run(*TOOL, "--targets", tmp_path / "t.npy")
        assert done.returncode == 0, done.stderr
        rows = list(csv.reader(StringIO(done.stdout)))
        if rows[0][0] == "qw" or "qw" in rows[0]:
            first = rows[0].index("qw")
            for row, place in zip(rows[1:], self.PLACES, strict=True):  # matrices give w >= 0
                if np.dot([float(cell) for cell in row[first : first + 4]], place[3:]) < 0:
                    row[first : first + 4] = [repr(-float(cell)) for cell in row[first : first + 4]]
        self.check("\n".join(",".join(row) for row in rows), poise.load(ARM).skeleton, **requested)

    @pytest.mark.parametrize("header", [True, False])
    @pytest.mark.parametrize(
        ("columns", "requested"),
        [(range(3), {"rotation": False}), (range(3, 7), {"position": False}), (range(7), {})],
    )
    def test_csv(self, tmp_path, header, columns, requested):
        names = np.array(["x", "y", "z", "qw", "qx", "qy", "qz"])
        lines = [",".join(words(row[list(columns)])) for row in self.PLACES]
        if header:  # in another order, with another column
            lines = [",".join(words(row[list(columns)][::-1])) + ",a" for row in self.PLACES]
            lines.insert(0, ",".join([*names[list(columns)][::-1], "name"]))
        (tmp_path / "t.csv").write_text("\n".join(lines))
        done = run(*TOOL, "--targets", tmp_path / "t.csv")
        assert done.returncode == 0, done.stderr
        self.check(done.stdout, poise.load(ARM).skeleton, **requested)

    def test_the_table_is_read_back_as_poses(self, tmp_path):
        np.save(tmp_path / "t.npy", self.PLACES)
        assert run(*TOOL, "--targets", tmp_path / "t.npy", "-o", tmp_path / "out.csv").returncode == 0
        poses = poise.load_values(tmp_path / "out.csv", poise.load(ARM).skeleton)
        np.testing.assert_allclose(poses.world["tool"].positions, self.PLACES[:, :3], atol=1e-6)
        header = (tmp_path / "out.csv").read_text().splitlines()[0]
        assert header.startswith("x,y,z,qw,qx,qy,qz,status,error,angle_error,iterations,base_turn,")

    def test_json_and_closest(self, tmp_path):
        np.save(tmp_path / "t.npy", self.PLACES)
        away = {}
        for prefer in ("first", "closest"):
            done = run(*TOOL, "--targets", tmp_path / "t.npy", "--json", "--prefer", prefer)
            assert done.returncode == 0, done.stderr
            table = json.loads(done.stdout)
            assert table["columns"][:4] == ["x", "y", "z", "qw"]
            away[prefer] = (np.array([row[-6:] for row in table["rows"]]) ** 2).sum(axis=1)
        assert (away["closest"] <= away["first"] + 1e-9).all()
        assert (away["closest"] < away["first"]).any()

    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            ("t.csv", "x,y,z,qw,qx,qy\n1,2,3,1,0,0\n", "no column qz"),
            ("t.csv", "x,y\n1,2\n", "no column z"),
            ("t.csv", "1,2,3,4,5\n", "target 0: three numbers (x y z), four"),
            ("t.csv", "1,2,3,1,0,0,0\n1,2,3\n", "target 1: 3 values under 7 columns"),
            ("t.csv", "qw,qx,qy,qz\n1,0,0,0\n0,0,0,0\n", "target 1: the rotation of 'tool' has zero length"),
            ("t.npy", np.zeros((2, 5)), "not (2, 5)"),
            ("t.npy", np.array(3.0), "not ()"),
            ("t.npy", np.stack([np.eye(4), 2 * np.eye(4)]), "target 1: "),
            ("t.npy", np.stack([np.eye(3), -np.eye(3)]), "mirrored"),
            ("t.npy", np.array([[1.0, 2, 3], [1, np.nan, 3]]), "target 1: the target of 'tool' must be finite"),
        ],
    )
    def test_bad_tables_are_2(self, tmp_path, name, content, words):
        if name.endswith(".npy"):
            np.save(tmp_path / name, content)
        else:
            (tmp_path / name).write_text(content)
        done = run(*TOOL, "--targets", tmp_path / name, "-o", tmp_path / "out.csv")
        assert done.returncode == 2
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert {path.name for path in tmp_path.iterdir()} == {name}

    def test_rows_beyond_a_chunk(self, tmp_path):
        """Chunk borders leave no mark: the q of a table are those of one call, in order; bad rows keep their number."""
        places = arm_places(40_000, seed=6)
        np.save(tmp_path / "t.npy", places)
        done = run(*TOOL, "--targets", tmp_path / "t.npy", "-o", tmp_path / "q.npy", "--json")
        goal = poise.Place("tool", places[:, :3], places[:, 3:])
        result = poise.solve(poise.load(ARM).pose, goal)
        assert json.loads(done.stdout)["reached"] == int(result.reached.sum())
        np.testing.assert_array_equal(np.load(tmp_path / "q.npy"), result.q)
        places[33_333, 3:] = 0
        np.save(tmp_path / "t.npy", places)
        assert "target 33333: " in run(*TOOL, "--targets", tmp_path / "t.npy").stderr

    @pytest.mark.long
    def test_memory_stays_flat(self, tmp_path):
        """Sixty-four times the rows take hardly more memory, in and out: less than half of what the file has more."""
        peaks = []
        for count in (16_384, 64 * 16_384):
            np.save(tmp_path / "t.npy", np.tile(self.PLACES[0], (count, 1)))
            peaks.append(peak_kilobytes(*TOOL, "--targets", tmp_path / "t.npy", "-o", tmp_path / "q.npy"))
        assert np.load(tmp_path / "q.npy", mmap_mode="r").shape == (64 * 16_384, 6)
        grown = (tmp_path / "t.npy").stat().st_size / 1024
        assert peaks[1] - peaks[0] < 0.5 * grown


def peak_kilobytes(*arguments):
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'poise', *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, check=True)
    return int(done.stdout)
