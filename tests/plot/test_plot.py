"""Pictures: written whole, in every format, with what they must show; and the refusals."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import poise
from poise import plot
from poise.io import samples
from poise.plot import error_curve as curve
from poise.plot import limit_outlines, scene_drawing, scene_layout
from poise.plot.scene_drawing import find_chain_bones
from poise.solvers.base.interface import Trace
from tests.strategies import random_q, rng_of

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def figure() -> poise.Rig:
    return poise.load(samples.path("humanoid.glb"))


@pytest.fixture(scope="module")
def missed() -> poise.Result:
    arm = poise.load(samples.path("arm.urdf"))
    return poise.solve(arm.rest, poise.Position("tool", [3, 0, 0.9]), trace=True)


def arm_of(rig: poise.Rig) -> tuple[str, ...]:
    return (*rig.skeleton.chain("LeftArm", "LeftHand"), "LeftHand")


@pytest.mark.long
@pytest.mark.parametrize(("suffix", "head"), [(".png", PNG), (".svg", b"<?xml"), (".pdf", b"%PDF"), (".PNG", PNG)])
def test_every_format_is_written_and_the_same_every_time(figure, tmp_path, suffix, head):
    pair = [("before", figure.rest), ("after", figure.clips[0].at(0.3))]
    files = [tmp_path / f"{name}{suffix}" for name in ("one", "two")]
    for file in files:
        plot.draw_poses(pair, file, target=[0.4, 1.2, 0.3], chain=arm_of(figure), title="An arm")
    assert files[0].read_bytes().startswith(head)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert sorted(tmp_path.iterdir()) == files  # no temporary file is left


def test_words_say_how_far_the_tip_is_off(figure, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("matplotlib").rcParams, "svg.fonttype", "none")  # words as words
    hand = figure.rest.world["LeftHand"].positions
    plot.draw_poses(
        [("start", figure.rest)],
        tmp_path / "a.svg",
        target=hand + np.array([0, 0.25, 0]),
        chain=arm_of(figure),
        title="T-pose",
    )
    text = (tmp_path / "a.svg").read_text()
    for words in ("start", "T-pose", "0.25 m from the target", "grid 0.2 m"):
        assert f">{words}</text>" in text
    assert text.count(scene_drawing._CHAIN_COLOUR.lower()) > 0
    assert text.count(scene_drawing._TARGET_COLOUR.lower()) > 0


@pytest.mark.parametrize("metres", [1.0, None])
@pytest.mark.parametrize(
    ("off", "words"), [(0.0, "at the target"), (1e-8, "at the target"), (1e-4, "{} from the target")]
)
def test_a_tip_that_has_arrived_is_at_the_target(figure, tmp_path, monkeypatch, off, words, metres):
    monkeypatch.setitem(__import__("matplotlib").rcParams, "svg.fonttype", "none")
    hand = figure.rest.world["LeftHand"].positions
    rest = poise.Pose(dataclasses.replace(figure.skeleton, metres_per_unit=metres), figure.rest.q)
    plot.draw_poses([("start", rest)], tmp_path / "a.svg", target=hand + np.array([0, off, 0]), chain=arm_of(figure))
    reported = words.format("0.1 mm" if metres else "0.0001 units")
    assert f">{reported}</text>" in (tmp_path / "a.svg").read_text()


def test_the_projection_keeps_left_and_up_and_lengths():
    up = np.array([0.0, 0.0, 1.0])
    assert scene_layout.project_points(up)[1] > 0.9
    assert scene_layout.project_points(up)[0] == pytest.approx(0, abs=1e-12)
    axes = np.stack([*scene_layout.project_points(np.eye(3)).T, scene_layout.compute_depth(np.eye(3))])
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)  # right, up, towards the viewer: nothing is mirrored


@pytest.mark.parametrize("up", ["x", "y", "z"])
def test_up_is_vertical_and_no_axis_is_mirrored(up):
    order = scene_layout._Z_UP_ORDERS[up]
    assert np.eye(3)["xyz".index(up)][order].tolist() == [0, 0, 1]
    assert np.linalg.det(np.eye(3)[:, order]) == pytest.approx(1.0)


@pytest.mark.parametrize(("tall", "expected"), [((1, 0), "y"), ((0, 1), "z")])
def test_an_unknown_up_is_guessed_from_the_taller_extent(tall, expected):
    skeleton = poise.Skeleton.build(["a", "b"], [-1, 0], [poise.Kind.BALL] * 2, offsets=[[0, 0, 0], [9, *tall]])
    assert scene_layout.find_z_up_order(poise.Pose(skeleton, skeleton.rest_q)) == scene_layout._Z_UP_ORDERS[expected]


def test_rows_above_the_first_joint_are_left_out_but_not_a_robots_base():
    kinds = [poise.Kind.FIXED, poise.Kind.BALL, poise.Kind.BALL, poise.Kind.FIXED]
    rig = poise.Skeleton.build(["scene", "hips", "spine", "end"], [-1, 0, 1, 2], kinds)
    assert scene_layout._find_drawn_joints(rig).tolist() == [False, True, True, True]
    arm = poise.load(samples.path("arm.urdf")).skeleton
    assert scene_layout._find_drawn_joints(arm).all()


def test_control_bones_are_faint_and_limbs_are_not(data):
    rig = poise.load(data / "glb" / "knight_kaykit.glb")
    skeleton = rig.skeleton
    faint = scene_layout._find_control_bones(
        skeleton, rig.rest.world.positions, scene_layout._find_drawn_joints(skeleton)
    )
    names = {name for name, pale in zip(skeleton.names, faint, strict=True) if pale}
    assert names
    assert all("ik" in name.lower() or "control" in name.lower() for name in names), names


def test_a_hand_of_unconnected_joints_is_drawn_as_dots(data, tmp_path):
    rig = poise.load(data / "glb" / "hand_left_webxr.glb")
    panel = scene_layout._build_panel("hand", rig.rest, (), [2, 0, 1])
    assert len(panel.joint_rows) >= 25
    plot.draw_poses([("hand", rig.rest)], tmp_path / "hand.png")


@pytest.mark.filterwarnings("ignore::poise.PoiseWarning")
@pytest.mark.parametrize("name", ["glb/fox.glb", "bvh/mocapbank.bvh", "urdf/g1_29dof.urdf", "glb/cesium_man.gltf"])
def test_real_rigs_are_drawn_inside_the_picture(data, tmp_path, name):
    rig = poise.load(data / name)
    panels, shared = scene_layout.prepare_scene([("rest", rig.rest)], None, ())
    flat = scene_layout.project_points(panels[0].points[panels[0].joint_rows])
    assert (flat >= shared.lower_corner).all()
    assert (flat <= shared.upper_corner).all()
    plot.draw_poses([("rest", rig.rest)], tmp_path / "rest.png")
    assert (tmp_path / "rest.png").read_bytes().startswith(PNG)


def test_a_single_point_can_be_drawn(tmp_path):
    skeleton = poise.Skeleton.build(["only"], [-1], [poise.Kind.BALL])
    plot.draw_poses([("point", poise.Pose(skeleton, skeleton.rest_q))], tmp_path / "point.png")
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
        plot.draw_poses(given.pop("poses"), tmp_path / given.pop("path", "a.png"), **given)
    assert list(tmp_path.iterdir()) == []


def test_a_batch_is_refused(figure, tmp_path):
    with pytest.raises(poise.InputError, match=r"'walk' is a batch.*pose\[0\]"):
        plot.draw_poses([("walk", figure.clips[0].poses)], tmp_path / "a.png")


def test_without_matplotlib_the_sentence_says_what_to_install(figure, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(poise.UnsupportedError, match=r"pip install 'poise\[plot\]'"):
        plot.draw_poses([("rest", figure.rest)], tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_importing_the_module_does_not_import_matplotlib():
    code = "import sys, poise.plot; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class TestSolve:
    """The picture of a solve: limits, the way of the tip, the error."""

    @pytest.fixture
    def words(self, monkeypatch):
        monkeypatch.setitem(__import__("matplotlib").rcParams, "svg.fonttype", "none")

    @pytest.fixture
    def limited(self, figure):
        elbow = poise.Range.degrees(0, 150, axis=(0, 1, 0))
        shoulder = poise.SwingTwist.degrees((1, 0, 0), swing=(60, (-30, 45)), twist=(-20, 20))
        neck = poise.EulerBox.degrees("XYZ", x=(-30, 30), y=(-60, 60), z=(-20, 20))
        skeleton = figure.skeleton.with_limits({"LeftForeArm": elbow, "LeftArm": shoulder, "Neck": neck})
        return poise.Pose(skeleton, figure.rest.q)

    def test_the_error_falls_on_a_logarithmic_axis(self, figure, tmp_path, words):
        goal = poise.Position("LeftHand", [0.35, 1.45, 0.35])
        result = poise.solve(figure.rest, goal, solver="ccd", trace=True)
        plot.draw_solve(figure.rest, result, tmp_path / "a.svg", target=goal.target)
        text = (tmp_path / "a.svg").read_text()
        for message_text in ("iterations", "distance left [m]", "tolerance", "start", "reached"):
            assert f">{message_text}</text>" in text

    def test_without_a_trace_there_is_no_curve(self, figure, tmp_path, words):
        result = poise.solve(figure.rest, poise.Position("LeftHand", [0.35, 1.45, 0.35]))
        plot.draw_solve(figure.rest, result, tmp_path / "a.svg")
        assert ">iterations</text>" not in (tmp_path / "a.svg").read_text()

    def test_the_way_of_the_tip_goes_from_start_to_target(self, figure):
        goal = poise.Position("LeftHand", [0.35, 1.45, 0.35])
        result = poise.solve(figure.rest, goal, solver="ccd", trace=True)
        trail = curve.find_tip_path(result, "LeftHand")
        np.testing.assert_allclose(trail[0], figure.rest.world["LeftHand"].positions, atol=1e-12)
        np.testing.assert_allclose(trail[-1], goal.target, atol=result.tolerance)

    def test_the_curve_ends_at_the_count_of_iterations_that_is_printed(self, missed):
        drawn = curve.build_error_curve(missed)
        assert len(drawn.errors) > missed.iterations + 1  # each attempt has a row for its start
        assert drawn.iterations[[0, -1]].tolist() == [0, missed.iterations]
        assert set(np.diff(drawn.iterations)) == {0, 1}

    def test_of_many_attempts_only_the_way_that_led_to_the_answer_is_drawn(self, missed):
        trail = curve.find_tip_path(missed, "tool")
        tip = missed.pose.world["tool"].positions
        assert 2 <= len(trail) < len(missed.trace.errors) / 2
        assert (np.diff(np.linalg.norm(trail - [3, 0, 0.9], axis=-1)) <= 0).all()  # no step that was given up
        np.testing.assert_allclose(trail[-1], tip, atol=0.02)

    def test_the_curve_of_many_attempts_says_that_its_line_is_the_best_so_far(self, missed, tmp_path, words):
        plot.draw_solve(missed.pose, missed, tmp_path / "a.svg")
        text = (tmp_path / "a.svg").read_text()
        attempts = int(curve.build_error_curve(missed).is_restart_start.sum())
        for message_text in ("best so far", "each iteration", f"iterations, in {attempts} restarts"):
            assert f">{message_text}</text>" in text

    def test_a_tolerance_far_below_leaves_the_room_to_the_curve(self, missed, tmp_path, words):
        plot.draw_solve(missed.pose, missed, tmp_path / "a.svg")
        assert ">tolerance: 1e-06, far below</text>" in (tmp_path / "a.svg").read_text()

    def test_an_answer_that_is_refined_at_the_end_keeps_the_way_that_led_to_it(self):
        places = np.array([0.0, 5, 4, 3.001, 9, 8, 3, 2.999])[:, None]  # the last two: back at the best attempt
        trace = Trace(np.array([9.0, 3, 2, 0.1, 7, 6, 0.09, 0.08]), places)
        begins = np.isin(np.arange(8), [0, 1, 4, 6])
        assert curve._find_restarts(trace, 4).tolist() == begins.tolist()
        assert curve._find_best_restart(trace, begins) == slice(1, 4)

    def test_a_rise_of_the_error_is_another_attempt_where_no_row_is_one(self):
        trace = Trace(np.array([1.0, 0.1, 0.9, 0.05]), np.zeros((4, 1)))
        assert curve._find_restarts(trace, 3).tolist() == [True, False, True, False]

    def test_every_kind_of_limit_has_its_outline(self, limited):
        found = limit_outlines.build_outlines(limited, ["LeftForeArm", "LeftArm", "Neck", "RightArm"], 1.7)
        assert [len(outline.lines) for outline in found] == [1, 5, 12]
        assert [outline.is_at_limit for outline in found] == [True, False, False]  # the elbow is straight at rest

    def test_the_rim_of_a_cone_is_where_the_swing_ends(self, limited):
        (outline,) = limit_outlines.build_outlines(limited, ["LeftArm"], 1.7)
        centre = limited.world["LeftArm"].positions
        bone = limited.world["LeftForeArm"].positions - centre
        way = outline.lines[0] - centre
        away = np.degrees(np.arccos(way @ bone / np.linalg.norm(way, axis=-1) / np.linalg.norm(bone)))
        assert away.min() == pytest.approx(30, abs=0.5)
        assert away.max() == pytest.approx(60, abs=0.5)

    def test_a_joint_at_the_end_of_its_cone_is_detected(self, limited):
        turned = limited.replace({"LeftArm": poise.rotation_between([1, 0, 0], [0.2, 0, -1])})
        legal = turned.with_q(limited.skeleton.legal(turned.q)[0])
        assert limit_outlines.build_outlines(legal, ["LeftArm"], 1.7)[0].is_at_limit

    def test_joints_at_limit_are_found_without_their_outlines(self, limited, monkeypatch):
        names = limited.skeleton.names
        legal = limited.with_q(limited.skeleton.legal(random_q(rng_of(5), limited.skeleton, 1)[0])[0])
        outlines = {name: limit_outlines.build_local_outline(legal, name) for name in names}
        touching = [name for name, outline in outlines.items() if outline is not None and outline.is_at_limit]
        assert touching
        for builder in ("_build_box_edges", "_build_rim", "_build_sector"):
            monkeypatch.setattr(limit_outlines, builder, lambda *_: 1 / 0)
        assert limit_outlines.find_joints_at_limit(legal, names) == touching

    def test_the_limits_are_inside_the_picture(self):
        arm = poise.load(samples.path("arm.urdf"))
        names = arm.skeleton.chain(None, "tool")
        panels, shared = scene_layout.prepare_scene(
            [("rest", arm.rest)], None, [*names, "tool"], joints_with_limits=names
        )
        assert panels[0].limits
        for outline in panels[0].limits:
            for line in outline.lines:
                assert (scene_layout.project_points(line) >= shared.lower_corner).all()
                assert (scene_layout.project_points(line) <= shared.upper_corner).all()

    def test_a_legend_names_the_lines_that_are_there(self, limited, tmp_path, words):
        goals = [poise.Position("LeftHand", [0.35, 1.45, 0.35]), poise.Pole("LeftForeArm", [0.5, 0.5, -1.0])]
        result = poise.solve(limited, goals, trace=True)
        plot.draw_solve(limited, result, tmp_path / "a.svg", target=goals[0].target)
        text = (tmp_path / "a.svg").read_text()
        named = {
            "target",
            "remaining distance",
            "height of the target",
            "path of the tip",
            "pole",
            "limit: directions of the bone",
        }
        assert all(f">{message_text}</text>" in text for message_text in named)
        alone = poise.solve(limited.with_q(limited.q), poise.Position("Head", limited.world["Head"].positions))
        plot.draw_solve(limited, alone, tmp_path / "b.svg")
        text = (tmp_path / "b.svg").read_text()
        assert all(f">{message_text}</text>" not in text for message_text in named - {"limit: directions of the bone"})

    def test_the_pole_is_inside_the_picture_and_starts_at_the_joint_that_bends(self, figure):
        point = np.array([0.5, 0.5, -9.0])
        panels, shared = scene_layout.prepare_scene([("", figure.rest)], None, [], poles=[("LeftForeArm", point)])
        ((joint, end),) = panels[0].pole_lines
        np.testing.assert_allclose(joint, panels[0].points[figure.skeleton.index("LeftForeArm")])
        assert np.linalg.norm(end - joint) == pytest.approx(
            np.linalg.norm(point - figure.rest.world["LeftForeArm"].positions)
        )
        assert (scene_layout.project_points(end) >= shared.lower_corner).all()
        assert (scene_layout.project_points(end) <= shared.upper_corner).all()

    def test_a_batch_is_refused(self, figure, tmp_path):
        result = poise.solve(figure.rest, poise.Position("LeftHand", [[0.35, 1.45, 0.35]] * 2))
        with pytest.raises(poise.InputError, match=r"not a batch of shape \(2,\)"):
            plot.draw_solve(figure.rest, result, tmp_path / "a.svg")


def test_the_limbs_of_several_goals_fork():
    """Each joint that moves is joined to the nearest one above it, none to one of another limb."""
    rig = poise.load(samples.path("humanoid.glb"))
    names = rig.skeleton.names
    rows = [names.index(name) for name in ("Hips", "LeftUpLeg", "LeftLeg", "Spine", "RightUpLeg", "LeftFoot", "Hips")]
    lines = {(names[above], names[row]) for above, row in find_chain_bones(rig.skeleton, rows)}
    assert lines == {
        ("Hips", "LeftUpLeg"), ("LeftUpLeg", "LeftLeg"), ("LeftLeg", "LeftFoot"), ("Hips", "Spine"),
        ("Hips", "RightUpLeg"),
    }  # fmt: skip
