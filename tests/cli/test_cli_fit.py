"""`poise fit`: clips from markers and joint positions, what it converts, what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

import poise
from poise.io import samples
from tests.command_line import run

FIGURE = samples.path("humanoid.glb")
JOINTS = ("LeftHand", "RightHand", "Head", "Hips")


@pytest.fixture(scope="module")
def walk():
    return poise.load(FIGURE).clips[0]


@pytest.fixture
def positions(walk, tmp_path):
    """The positions of all joints in a walk, as a file."""
    np.save(tmp_path / "walk.npy", walk.poses.world.positions)
    return tmp_path / "walk.npy"


def write_trc(path, walk, names, *, unit="mm", turn=lambda p: p):
    """Write joints of a walk as markers."""
    factor = {"mm": 1000.0, "furlong": 1.0}[unit]
    rows = [walk.poses.skeleton.index(name) for name in JOINTS]
    points = factor * turn(walk.poses.world.positions[:, rows] * walk.poses.skeleton.metres_per_unit)
    lines = [
        f"PathFileType\t4\t(X/Y/Z)\t{path.name}",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits",
        f"25\t25\t{len(points)}\t{len(names)}\t{unit}",
        "Frame#\tTime\t" + "\t\t\t".join(names) + "\t\t",
        "\t\t" + "\t".join(f"{axis}{i + 1}" for i in range(len(names)) for axis in "XYZ"),
    ]
    for i, frame in enumerate(points):
        lines.append(f"{i + 1}\t{i / 25:.3f}\t" + "\t".join(repr(float(value)) for value in frame.ravel()))
    path.write_text("\n".join(lines) + "\n")
    return path


def height(path):
    """The height of the head above the hips in the first frame."""
    at = poise.load(path).clips[-1].poses[0].world
    return float(at["Head"].positions[1] - at["Hips"].positions[1])


def test_joint_positions_give_the_clip_of_python(positions, walk, tmp_path):
    out = tmp_path / "out.glb"
    code, text, errors = run("fit", positions, "--on", FIGURE, "--fps", "24", "-o", out, "--json")
    message = json.loads(text)
    assert (code, errors) == (0, "")
    fitted = poise.fit(poise.load(FIGURE).rest, walk.poses.world.positions, fps=24)
    assert message["max_residual"] == pytest.approx(fitted.residuals.max(), abs=1e-12)
    assert message["max_residual"] < 1e-3
    assert (message["frames"], message["fps"], len(message["joints"])) == (31, pytest.approx(24), 22)
    written = poise.load(out).clip(message["clip"])
    np.testing.assert_allclose(written.poses.world.positions, fitted.poses.world.positions, atol=1e-4)


def test_options_of_the_fit_are_passed_on(walk, tmp_path):
    stretched = tmp_path / "stretched.npy"
    np.save(stretched, 1.1 * walk.poses.world.positions)
    options = ("--no-refine", "--twist-half-life", "0.1", "--name", "jog")
    code, text, _ = run("fit", stretched, "--on", FIGURE, "-o", tmp_path / "a.bvh", *options, "--json")
    message = json.loads(text)
    fitted = poise.fit(
        poise.load(FIGURE).rest, 1.1 * walk.poses.world.positions, fps=30, refine=False, twist_half_life=0.1
    )
    assert (code, message["clip"]) == (0, "jog")
    assert message["max_residual"] == pytest.approx(fitted.residuals.max(), rel=1e-9)
    refined = json.loads(run("fit", stretched, "--on", FIGURE, "-o", tmp_path / "b.bvh", "--json").stdout)
    assert refined["mean_residual"] < message["mean_residual"]


def test_markers_named_like_joints_are_found_and_converted(walk, tmp_path):
    file = write_trc(tmp_path / "take.trc", walk, [f"Anna:{name}" for name in JOINTS])
    code, text, _ = run("fit", file, "--on", FIGURE, "-o", tmp_path / "a.glb", "--json")
    message = json.loads(text)
    assert code == 0
    assert set(message["joints"]) == set(JOINTS)
    assert (message["clip"], message["fps"], message["notes"]) == ("take", pytest.approx(25), [])
    assert message["max_residual"] < 0.05


def test_markers_of_other_names_another_unit_and_axis(walk, tmp_path):
    names = ["LFIN", "RFIN", "TOP", "PELV"]
    file = write_trc(
        tmp_path / "take.trc",
        walk,
        names,
        unit="furlong",
        turn=lambda p: np.stack([p[..., 0], -p[..., 2], p[..., 1]], -1),
    )
    joints = ",".join(f"{joint}={name}" for joint, name in zip(JOINTS, names, strict=True))
    words = ("fit", file, "--on", FIGURE, "--joints", joints, "-o", tmp_path / "a.glb", "--json")
    message = json.loads(run(*words, "--up", "z").stdout)
    assert message["max_residual"] < 0.05
    assert "the unit of the positions is unknown" in message["notes"][-1]
    standing, lying = height(tmp_path / "a.glb"), run(*words) and height(tmp_path / "a.glb")
    assert standing > 0.4 > abs(lying)
    full = json.loads(run(*words, "--up", "z").stdout)
    hips = poise.load(tmp_path / "a.glb").clips[-1].poses[0].world["Hips"].positions
    half = json.loads(run(*words, "--up", "z", "--scale", "0.5").stdout)
    half_hips = poise.load(tmp_path / "a.glb").clips[-1].poses[0].world["Hips"].positions
    np.testing.assert_allclose(half_hips, 0.5 * hips, atol=1e-3)
    assert len(full["notes"]) == 1 + len(half["notes"])  # the note on the unit goes with --scale


def test_text_names_the_clip_and_the_distance(positions, tmp_path):
    out = tmp_path / "a.bvh"
    code, text, _ = run("fit", positions, "--on", FIGURE, "-o", out)
    assert code == 0
    assert f"clip 'walk' in {out}" in text.splitlines()
    assert text.startswith("31 frames; ")


@pytest.mark.parametrize("name", ["c3d/cmu_02_05.c3d", "markers/walk41_int16.c3d"])
def test_real_markers(data, name, tmp_path):
    markers = poise.load_markers(data / name)
    options = ("--joints", "Hips=RBWT,LeftHand=LFIN,Head=LFHD", "--json")
    code, text, errors = run("fit", data / name, "--on", FIGURE, "-o", tmp_path / "a.glb", *options)
    message = json.loads(text)
    assert (code, errors) == (0, "")
    assert (message["frames"], message["joints"]) == (len(markers), ["Hips", "LeftHand", "Head"])
    head, hips = (poise.load(tmp_path / "a.glb").clip(message["clip"]).poses.world[joint] for joint in ("Head", "Hips"))
    # the files have z up and millimetres, the rig y up and metres
    assert 0.2 < np.median((head.positions - hips.positions)[:, 1]) < 1.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.trc", "--on", FIGURE), "none.trc: No such file"),
        (("take.txt", "--on", FIGURE), "take.txt: positions are read from .c3d, .trc, .npy files"),
        (
            ("take.trc", "--on", FIGURE),
            "take.trc: no marker has the name of a joint; markers: A, B, C, D. Give --joints",
        ),
        (("take.trc", "--on", FIGURE, "--joints", "Hips=Q"), "no marker 'Q'"),
        (("take.trc", "--on", FIGURE, "--joints", "Hip=A"), "no joint 'Hip'"),
        (("take.trc", "--on", FIGURE, "--joints", "Hips=A,Hips=B"), "take.trc: a joint has one column of positions"),
        (("flat.npy", "--on", FIGURE), "flat.npy: positions of 22 joints have the shape (frames, 22, 3), not (4, 3)"),
        (("nan.npy", "--on", FIGURE, "--joints", "Hips"), "nan.npy: no joint has a position in any frame"),
        (("flat.npy", "--on", "none.glb"), "none.glb: No such file"),
        (("flat.npy", "--on", FIGURE, "--fps", "0"), "--fps is a finite number above 0, not 0"),
        (("flat.npy", "--on", FIGURE, "--twist-half-life", "inf"), "--twist-half-life is a finite number above 0"),
    ],
)
def test_misuse_is_one_line_and_writes_nothing(words, message, walk, tmp_path):
    write_trc(tmp_path / "take.trc", walk, list("ABCD"))
    np.save(tmp_path / "flat.npy", np.zeros((4, 3)))
    np.save(tmp_path / "nan.npy", np.full((4, 1, 3), np.nan))
    (tmp_path / "take.txt").write_text("")
    code, text, errors = run("fit", *words, "-o", "a.glb", cwd=tmp_path)
    assert (code, text) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1
    assert not (tmp_path / "a.glb").exists()
