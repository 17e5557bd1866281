"""Pictures: written whole, in every format, with what they must show; and the refusals."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import poise
from poise import plot, samples

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def figure() -> poise.Rig:
    return poise.load(samples.path("humanoid.glb"))


def arm_of(rig: poise.Rig) -> tuple[str, ...]:
    return (*rig.skeleton.chain("LeftArm", "LeftHand"), "LeftHand")


@pytest.mark.parametrize(("suffix", "head"), [(".png", PNG), (".svg", b"<?xml"), (".pdf", b"%PDF"), (".PNG", PNG)])
def test_every_format_is_written_and_the_same_every_time(figure, tmp_path, suffix, head):
    pair = [("before", figure.rest), ("after", figure.clips[0].at(0.3))]
    files = [tmp_path / f"{name}{suffix}" for name in ("one", "two")]
    for file in files:
        plot.draw_poses(file, pair, target=[0.4, 1.2, 0.3], chain=arm_of(figure), title="An arm")
    assert files[0].read_bytes().startswith(head)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert sorted(tmp_path.iterdir()) == files  # no temporary file is left


def test_words_say_how_far_the_tip_is_off(figure, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("matplotlib").rcParams, "svg.fonttype", "none")  # words as words
    hand = figure.rest.world["LeftHand"].positions
    plot.draw_poses(
        tmp_path / "a.svg",
        [("start", figure.rest)],
        target=hand + np.array([0, 0.25, 0]),
        chain=arm_of(figure),
        title="T-pose",
    )
    text = (tmp_path / "a.svg").read_text()
    for words in ("start", "T-pose", "0.25 m from the target", "grid 0.2 m"):
        assert f">{words}</text>" in text
    assert text.count(plot._CHAIN.lower()) > 0
    assert text.count(plot._TARGET.lower()) > 0


def test_the_projection_keeps_left_and_up_and_lengths():
    up = np.array([0.0, 0.0, 1.0])
    assert plot._projected(up)[1] > 0.9
    assert plot._projected(up)[0] == pytest.approx(0, abs=1e-12)
    axes = np.stack([*plot._projected(np.eye(3)).T, plot._nearness(np.eye(3))])
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)  # right, up, towards the viewer: nothing is mirrored


@pytest.mark.parametrize("up", ["x", "y", "z"])
def test_up_is_vertical_and_no_axis_is_mirrored(up):
    order = plot._TO_Z_UP[up]
    assert np.eye(3)["xyz".index(up)][order].tolist() == [0, 0, 1]
    assert np.linalg.det(np.eye(3)[:, order]) == pytest.approx(1.0)


@pytest.mark.parametrize(("tall", "expected"), [((1, 0), "y"), ((0, 1), "z")])
def test_an_unknown_up_is_guessed_from_the_taller_extent(tall, expected):
    skeleton = poise.Skeleton.build(["a", "b"], [-1, 0], [poise.Kind.BALL] * 2, offsets=[[0, 0, 0], [9, *tall]])
    assert plot._up(poise.Pose(skeleton, skeleton.rest_q)) == expected


def test_rows_above_the_first_joint_are_left_out_but_not_a_robots_base():
    kinds = [poise.Kind.FIXED, poise.Kind.BALL, poise.Kind.BALL, poise.Kind.FIXED]
    rig = poise.Skeleton.build(["scene", "hips", "spine", "end"], [-1, 0, 1, 2], kinds)
    assert plot._drawn(rig).tolist() == [False, True, True, True]
    arm = poise.load(samples.path("arm.urdf")).skeleton
    assert plot._drawn(arm).all()


def test_control_bones_are_faint_and_limbs_are_not(data):
    rig = poise.load(data / "glb" / "knight_kaykit.glb")
    skeleton = rig.skeleton
    faint = plot._helpers(skeleton, rig.rest.world.positions, plot._drawn(skeleton))
    names = {name for name, pale in zip(skeleton.names, faint, strict=True) if pale}
    assert names
    assert all("ik" in name.lower() or "control" in name.lower() for name in names), names


def test_a_hand_of_unconnected_joints_is_drawn_as_dots(data, tmp_path):
    rig = poise.load(data / "glb" / "hand_left_webxr.glb")
    panel = plot._panel("hand", rig.rest, (), [2, 0, 1])
    assert len(panel.joints) >= 25
    plot.draw_poses(tmp_path / "hand.png", [("hand", rig.rest)])


@pytest.mark.filterwarnings("ignore::poise.PoiseWarning")
@pytest.mark.parametrize("name", ["glb/fox.glb", "bvh/mocapbank.bvh", "urdf/g1_29dof.urdf", "glb/cesium_man.gltf"])
def test_real_rigs_are_drawn_inside_the_picture(data, tmp_path, name):
    rig = poise.load(data / name)
    panels, scene = plot._prepared([("rest", rig.rest)], None, ())
    flat = plot._projected(panels[0].points[panels[0].joints])
    assert (flat >= scene.low).all()
    assert (flat <= scene.high).all()
    plot.draw_poses(tmp_path / "rest.png", [("rest", rig.rest)])
    assert (tmp_path / "rest.png").read_bytes().startswith(PNG)


def test_a_single_point_can_be_drawn(tmp_path):
    skeleton = poise.Skeleton.build(["only"], [-1], [poise.Kind.BALL])
    plot.draw_poses(tmp_path / "point.png", [("point", poise.Pose(skeleton, skeleton.rest_q))])
    assert (tmp_path / "point.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "a.bmp"}, r"a\.bmp.*\.png, \.svg, \.pdf"),
        ({"poses": []}, "at least one"),
        ({"target": [1, 2]}, "target"),
        ({"target": [[1, 2, 3]]}, r"shape \(1, 3\)"),
        ({"target": [1, 2, float("nan")]}, "finite"),
        ({"chain": ["LeftArm", "LeftHnad"]}, "LeftHand"),
    ],
)
def test_misuse_is_refused_and_nothing_is_written(figure, tmp_path, arguments, message):
    given = {"poses": [("rest", figure.rest)]} | arguments
    with pytest.raises(poise.PoiseError, match=message):
        plot.draw_poses(tmp_path / given.pop("path", "a.png"), given.pop("poses"), **given)
    assert list(tmp_path.iterdir()) == []


def test_a_batch_is_refused(figure, tmp_path):
    with pytest.raises(poise.InputError, match=r"'walk' is a batch.*pose\[0\]"):
        plot.draw_poses(tmp_path / "a.png", [("walk", figure.clips[0].poses)])


def test_without_matplotlib_the_sentence_says_what_to_install(figure, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(poise.UnsupportedError, match=r"pip install 'poise\[plot\]'"):
        plot.draw_poses(tmp_path / "a.png", [("rest", figure.rest)])
    assert list(tmp_path.iterdir()) == []


def test_importing_the_module_does_not_import_matplotlib():
    code = "import sys, poise.plot; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
