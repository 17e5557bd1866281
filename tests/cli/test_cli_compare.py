"""`poise compare`: tables, JSON, reports; what is refused in one line."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from poise.comparison import compare as comparing
from tests.command_line import ARM, HUMANOID, run

pytestmark = pytest.mark.long

QUICK = ("--effort", "quick", "--solvers", "ccd,levenberg_marquardt")


def test_without_a_file_it_is_the_bundled_character():
    done = run("compare", *QUICK)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("humanoid.glb: LeftArm to LeftHand, Position\n")
    assert "rank" in done.stdout
    assert " of 20 targets solved" in done.stdout


def test_json_of_an_arm_asks_for_places_by_itself(tmp_path):
    report = tmp_path / "report.json"
    done = run("compare", ARM, *QUICK, "-o", report, "--json")
    document = json.loads(done.stdout)
    assert json.loads(report.read_text()) == document
    assert document["task"]["goal"] == "Place"
    assert {row["method"] for row in document["methods"]} == {"ccd", "levenberg_marquardt"}
    units = document["units"]
    assert (units["metres_per_unit"], units["angle"]) == (1.0, "rad")
    assert {column["unit"] for column in document["columns"].values()} - {"", "%", "rad"} <= units.keys()


def test_a_chain_a_goal_and_options_of_solvers():
    words = "ccd,ccd:order=tip-first:bend=0,fabrik"
    limb = ("--root", "Spine", "--joint", "RightHand", "--goal", "place")
    done = run("compare", HUMANOID, "--effort", "quick", *limb, "--solvers", words, "--json")
    document = json.loads(done.stdout)
    assert document["task"]["joints"][0] == "Spine"
    assert document["task"]["joint"] == "RightHand"
    names = [row["method"] for row in document["methods"]]
    assert sorted(names) == ["ccd", "ccd(order=tip-first, bend=0.0)", "fabrik"]
    assert names[-1] == "fabrik"
    assert document["methods"][-1]["refused"].startswith("fabrik solves Position")


def test_targets_from_a_table(tmp_path):
    table = tmp_path / "targets.csv"
    table.write_text("x,y,z\n0.3,0.2,0.5\n0.2,-0.3,0.6\n9,9,9\n")
    done = run("compare", ARM, *QUICK, "--targets", table, "--json")
    document = json.loads(done.stdout)
    assert document["task"]["goal"] == "Position"
    assert document["task"]["sets"]["given"]["targets"] == 3
    assert document["methods"][0]["solved_1"] == pytest.approx(200 / 3)


@pytest.mark.parametrize("suffix", [".json", ".html", ".png"])
def test_a_report_is_written(tmp_path, suffix):
    out = tmp_path / f"report{suffix}"
    done = run("compare", ARM, *QUICK, "-o", out)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith(f"written: {out}")
    assert out.stat().st_size > 1000
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.glb"], "nowhere.glb: "),
        ([HUMANOID, "--root", "LeftArm", "--joint", "LeftHnd"], "no joint 'LeftHnd'; did you mean 'LeftHand' or"),
        ([HUMANOID, "--root", "RightArm", "--joint", "LeftHand"], "RightArm"),
        ([HUMANOID, "--solvers", "cdd"], "no solver 'cdd'; did you mean 'ccd'?"),
        ([HUMANOID, "--solvers", "ccd:ordr=tip-first"], "no option of ccd 'ordr'; did you mean 'order'?"),
        ([HUMANOID, "--clip", "run"], "no clip 'run'"),
        ([HUMANOID, "--targets", "nowhere.csv"], "nowhere.csv"),
        ([HUMANOID, "--goal", "plce"], "plce"),
        ([HUMANOID, "--tolerance", "-1"], "tolerance must be a finite length of 0 or more"),
        ([HUMANOID, "-o", "report.docx"], "cannot write a report to 'report.docx': its name ends with .html, .json"),
        ([HUMANOID, "-o", "nowhere/report.html"], "there is no folder 'nowhere'"),
        ([HUMANOID, "--full", "--quick"], "give --full or --quick, not both"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(tmp_path, arguments, words):
    done = run("compare", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_chain_that_is_named_has_the_goal_of_one_that_is_guessed():
    named = json.loads(run("compare", ARM, *QUICK, "--root", "base_turn", "--joint", "tool", "--json").stdout)
    assert named["task"]["goal"] == "Place"


def test_a_picture_without_matplotlib_is_refused_before_anything_is_measured(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(comparing, "compare", None)
    done = run("compare", ARM, *QUICK, "-o", tmp_path / "report.png")
    assert done.returncode == 2
    assert "pip install 'poise[plot]'" in done.stderr


def test_targets_of_another_kind_than_the_goal(tmp_path):
    np.save(tmp_path / "points.npy", np.zeros((2, 3)))
    done = run("compare", ARM, "--targets", tmp_path / "points.npy", "--goal", "place")
    assert done.returncode == 2
    assert "its rows are targets of position goals, --goal says place" in done.stderr


def test_an_empty_table(tmp_path):
    np.save(tmp_path / "none.npy", np.zeros((0, 3)))
    done = run("compare", ARM, "--targets", tmp_path / "none.npy")
    assert done.returncode == 2
    assert "1 to 10,000 targets, this table has 0" in done.stderr
