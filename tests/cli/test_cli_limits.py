"""`poise limits`: limits of people in the sidecar, and nothing else in it changed."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import poise
from poise.cli.info import describe_limit
from poise.io import samples
from tests.command_line import run

pytestmark = pytest.mark.filterwarnings("ignore::poise.PoiseWarning")

MINE = """# mine
[joints.LeftLeg] # keep me
axis = [1, 0, 0]
range_deg = [0, 150]

[chains]
arm = { root = "LeftArm", tip = "LeftHand" }  # and me"""


@pytest.fixture
def file(tmp_path):
    return shutil.copy(samples.path("humanoid.glb"), tmp_path / "figure.glb")


def test_limits_go_into_a_new_sidecar_and_are_those_of_python(file):
    done = run("limits", file, "--anatomical")
    sidecar = file.with_name("figure.ik.toml")
    assert (done.returncode, done.stdout) == (0, f"{sidecar}: limits for 20 joints added\n")
    found = poise.load(file).skeleton
    for joint, limit in poise.find_roles(poise.load(samples.path("humanoid.glb"))).limits().items():
        read = found[joint].limit
        assert read.source == "sidecar"
        np.testing.assert_allclose([*read.sides, read.twist], [*limit.sides, limit.twist], atol=1e-5)
        np.testing.assert_allclose([read.axis, *read.swing_axes], [limit.axis, *limit.swing_axes], atol=1e-5)
    np.testing.assert_array_equal(found.rest_q, poise.load(samples.path("humanoid.glb")).skeleton.rest_q)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_stands_there_stays_and_joints_that_have_a_limit_keep_it(file, end):
    sidecar = file.with_name("figure.ik.toml")
    mine = MINE.replace("\n", end).encode()
    sidecar.write_bytes(mine)
    done = run("limits", file, "--anatomical")
    assert done.stdout.endswith("limits for 19 joints added\nkept: LeftLeg\n")
    new = sidecar.read_bytes()
    assert new.startswith(mine)
    assert (b"\r\n" in new) == (end == "\r\n")
    assert new.count(b"\n") == new.count(end.encode())
    s = poise.load(file).skeleton
    assert s["LeftLeg"].limit == poise.Range.degrees(0, 150, axis=(1, 0, 0))
    assert isinstance(s["RightLeg"].limit, poise.SwingTwist)
    assert s.chains == {"arm": ("LeftArm", "LeftHand")}
    again = run("limits", file, "--anatomical")
    assert again.stdout.startswith(f"{sidecar}: nothing to add\n")
    assert sidecar.read_bytes() == new


def test_a_dry_run_shows_the_change_and_writes_nothing(file):
    sidecar = file.with_name("figure.ik.toml")
    sidecar.write_text(MINE)
    done = run("limits", file, "--anatomical", "--dry-run")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[:2] == ["--- figure.ik.toml", "+++ figure.ik.toml"]
    assert "+[joints.RightLeg]" in lines
    assert [line for line in lines[2:] if line.startswith("-")] == []
    assert sidecar.read_text() == MINE
    sidecar.unlink()
    assert "+[joints.LeftLeg]" in run("limits", file, "--anatomical", "--dry-run").stdout
    assert not sidecar.exists()


def test_json(file):
    reported = json.loads(run("limits", file, "--anatomical", "--dry-run", "--json").stdout)
    assert (reported["written"], reported["kept"], reported["without"]) == (False, [], {})
    knee = reported["added"]["LeftLeg"]
    assert knee["role"] == "leftLowerLeg"
    assert knee["reason"].startswith("hyperextension 10, flexion 135 (AAOS)")
    assert json.loads(run("limits", file, "--anatomical", "--json").stdout)["written"] is True
    listed = json.loads(run("limits", file, "--json").stdout)
    assert listed["joints"] == 22
    assert listed["limits"]["LeftLeg"]["source"] == "sidecar"


def test_limits_are_listed(file):
    assert run("limits", file).stdout == (
        f"{file}: none of 22 joints has a limit; --anatomical adds anatomical ones to a character\n"
    )
    file.with_name("figure.ik.toml").write_text(MINE)
    lines = run("limits", file).stdout.splitlines()
    assert lines == [f"{file}: 1 of 22 joints have limits", "  LeftLeg  hinge about x 0..150 deg  (sidecar)"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "joints = { LeftLeg = { axis = [1, 0, 0], range_deg = [0, 150] } }\n",
            "joints: limits cannot be added: write",
        ),
        ("joints = [\n", "not a TOML file"),
    ],
)
def test_a_sidecar_to_which_nothing_can_be_added_is_left_alone(file, text, sentence):
    sidecar = file.with_name("figure.ik.toml")
    sidecar.write_text(text)
    done = run("limits", file, "--anatomical")
    assert done.returncode == 2
    assert sentence in done.stderr
    assert sidecar.read_text() == text


def test_misuse_is_reported_in_a_sentence(file):
    assert run("limits", samples.path("arm.urdf"), "--anatomical").stderr.startswith(
        "error: anatomical limits need known arms and legs: "
    )
    message = run("limits", file, "--dry-run").stderr
    assert message == "error: --dry-run shows what --anatomical would write: give both\n"


def test_names_that_need_quotes_and_joints_without_a_limit(data, tmp_path):
    file = shutil.copy(data / "glb/cryptovoxels.vrm", tmp_path)
    assert run("limits", file, "--anatomical").returncode == 0
    assert isinstance(poise.load(file).skeleton["Left knee"].limit, poise.SwingTwist)
    file = shutil.copy(data / "bvh/rest/walk_rolled.bvh", tmp_path)
    message = run("limits", file, "--anatomical").stdout
    assert "no limit for LeftUpLeg: clips of the file leave it in 100 % of" in message


@pytest.mark.parametrize(
    ("limit", "kind", "words"),
    [
        (poise.Range(-np.inf, np.inf, axis=(0, 0, 1)), poise.Kind.BALL, "hinge about z free"),
        (poise.Range(-np.inf, 0.5), poise.Kind.SLIDE, "up to 0.5"),
        (poise.Range(np.radians(-20), np.inf), poise.Kind.HINGE, "from -20 deg"),
        (poise.Range(0.0, 0.0), poise.Kind.HINGE, "0 deg"),
        (poise.Range(-0.5, 0.5), poise.Kind.SLIDE, "-0.5..0.5"),
        (
            poise.EulerBox("ZYX", x=np.radians([-10, 10]), y=(0.0, 0.0), z=(-np.inf, np.inf)),
            poise.Kind.BALL,
            "ZYX Z free Y 0 deg X +-10 deg",
        ),
    ],
)
def test_a_limit_without_an_end_or_without_extent_is_written_in_words(limit, kind, words):
    assert describe_limit(limit, kind) == words
