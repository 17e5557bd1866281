"""What the page is told: all of it is JSON, says what the document says, and comes from the registries."""

from __future__ import annotations

import json

import numpy as np
import pytest

import poise
from poise import Range, SwingTwist, solvers
from poise.io import samples
from poise.plot.limit_outlines import find_joints_at_limit
from poise.solvers.base.option_parsing import list_parameters
from poise.viewer import scenes
from poise.viewer.document.actions import ACTIONS, read_limit
from poise.viewer.document.chains import TargetedChain
from poise.viewer.document.document import build_document
from poise.viewer.document.playhead import Playhead
from poise.viewer.document.terrain import TERRAIN_CHOICES
from poise.viewer.session.answers import describe_joint
from poise.viewer.session.pose_state import PoseState
from poise.viewer.session.race import RaceClock
from poise.viewer.session.state_messages import build_state, build_welcome
from poise.viewer.session.undo_history import History
from tests.viewer.action_cases import FIRST, GOOD, everything, rig
from tests.viewer.watcher import is_sentence, refusal


def reported(document, playhead=None, history=None):
    """The state as a page reads it."""
    state = build_state(document, playhead or Playhead(), RaceClock(), history or History(), 7)
    return json.loads(json.dumps(state, allow_nan=False))


@pytest.fixture(scope="module")
def greeting():
    return json.loads(json.dumps(build_welcome("secret", "1.2.3"), allow_nan=False))


class TestWelcome:
    def test_key_and_version(self, greeting):
        assert (greeting["kind"], greeting["key"], greeting["poise"]) == ("welcome", "secret", "1.2.3")

    def test_every_scene_solver_and_ground(self, greeting):
        assert [scene["name"] for scene in greeting["scenes"]] == list(scenes.names())
        assert [solver["name"] for solver in greeting["solvers"]] == ["auto", *solvers.names()]
        assert [ground["words"] for ground in greeting["terrains"]] == [words for words, _ in TERRAIN_CHOICES]
        for one in (*greeting["scenes"], *greeting["terrains"], *greeting["solvers"]):
            assert one["title"]
        assert all(solver["text"] for solver in greeting["solvers"])

    @pytest.mark.parametrize("name", solvers.names())
    def test_options_are_the_solvers_own_parameters(self, greeting, name):
        (solver,) = (solver for solver in greeting["solvers"] if solver["name"] == name)
        own = list_parameters(type(solvers.make_solver(name)))
        assert [option["name"] for option in solver["options"]] == [parameter.name for parameter in own]
        for option, parameter in zip(solver["options"], own, strict=True):
            assert option["type"] in ("integer", "number", "truth", "choice", "text")
            assert option["text"]
            assert option["takes"]
            if option["type"] == "choice":
                assert option["default"] in option["choices"]
            if parameter.default is None:
                assert option["nullable"]

    @pytest.mark.parametrize("name", solvers.names())
    def test_every_option_takes_its_default_and_its_choices(self, greeting, name):
        """What the page is offered it may send back."""
        (solver,) = (solver for solver in greeting["solvers"] if solver["name"] == name)
        document = ACTIONS["solver"].apply(everything(), {"view": 0, "name": name})
        for option in solver["options"]:
            for value in [option["default"], *(option["choices"] or [])]:
                args = {"view": 0, "name": option["name"], "value": value}
                changed = ACTIONS["option"].apply(document, args)
                assert changed.solvers[0].build_solver().__class__ is type(solvers.make_solver(name))
                reported(changed)

    def test_a_solver_whose_extra_is_missing_says_so(self, monkeypatch):
        def named(name, **_):
            raise poise.UnsupportedError(f"{name} needs the package jax")

        monkeypatch.setattr(solvers, "make_solver", named)
        (jax,) = (solver for solver in build_welcome("", "")["solvers"] if solver["name"] == "autodiff")
        assert jax["missing"]
        assert "needs the package jax" in jax["text"]


class TestState:
    @pytest.mark.parametrize("scene", scenes.names())
    def test_every_scene_is_json_and_says_what_it_is(self, scene):
        document = scenes.build_scene(scene)
        state = reported(document)
        assert (state["scene"], state["name"], state["version"]) == (scene, document.name, 7)
        assert [chain["id"] for chain in state["chains"]] == [chain.name for chain in document.chains]
        assert [solver["name"] for solver in state["solvers"]] == [choice.name for choice in document.solvers]
        assert (state["mode"], state["run"], state["from"]) == (
            document.limit_mode,
            document.pace,
            document.solve_start,
        )
        assert set(state["modes"]) == {"plain", "hinge", "limits"}

    def test_a_handle_is_not_turned_until_somebody_turns_it(self):
        (ball,) = reported(everything())["handles"]
        assert (ball["position"], ball["rotation"]) == ([0.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0])

    def test_chains_say_every_field(self):
        chain = everything().chains[0]
        (first, *_) = reported(everything())["chains"]
        fields = set(TargetedChain.__dataclass_fields__) - {"name", "stays_on_ground", "within"}
        # the page's keys of name, stays_on_ground and within, and the joints of both sides
        assert set(first) == fields | {"id", "ground", "range", "joints", "others"}
        assert first["joints"] == ["LeftArm", "LeftForeArm", "LeftHand"]
        assert first["position"] == list(chain.position)

    @pytest.mark.parametrize("name", ACTIONS)
    def test_what_an_action_changes_the_page_sees(self, name):
        """No action whose outcome would not be drawn. (The place of a handle and of a target included.)"""
        document = everything()
        if name == "plant":
            document = document.replace(clip_name="walk")
        for first, args in FIRST["unkey"] if name == "unkey" else ():
            document = ACTIONS[first].apply(document, args)
        before = reported(document)
        for args in GOOD[name]:
            after = reported(ACTIONS[name].apply(document, args))
            assert after != before

    def test_limits_can_be_read_back(self):
        for args in GOOD["limit"][1:]:
            document = ACTIONS["limit"].apply(everything(), args)
            state = reported(document)
            for joint, limit in zip(rig().skeleton.names, document.skeleton.limits, strict=True):
                assert (joint in state["limits"]) == (limit is not None)
                if limit is not None:
                    read = read_limit(state["limits"][joint])
                    assert type(read) is type(limit)
                    again = document.replace(skeleton=document.skeleton.with_limits({joint: read}))
                    assert reported(again)["limits"] == state["limits"]

    def test_outlines_are_those_of_the_limits_that_count(self):
        document = everything()
        limited = {name for name, limit in zip(rig().skeleton.names, rig().skeleton.limits, strict=True) if limit}
        assert set(reported(document)["outlines"]) == limited
        assert reported(document.replace(limit_mode="plain"))["outlines"] == {}
        for lines in reported(document)["outlines"].values():
            for line in lines:
                assert np.isfinite(np.array(line)).all()
                assert np.array(line).shape[1] == 3

    def test_clips_and_the_playhead(self):
        head = Playhead(rig().clip("walk"), time=0.25, is_playing=True, speed=2.0)
        state = reported(everything().replace(clip_name="walk"), head)
        (clip,) = state["clips"]
        assert (clip["name"], clip["seconds"], clip["frames"]) == ("walk", 1.0, 31)
        assert clip["fps"] == pytest.approx(30.0, rel=1e-4)
        assert (state["clip"], state["duration"], state["time"]) == ("walk", 1.0, 0.25)
        assert (state["playing"], state["speed"]) == (True, 2.0)
        assert reported(everything())["duration"] == 0.0

    def test_undo_and_redo_by_name(self):
        history = History()
        history.add("pin", None)
        state = reported(everything(), history=history)
        assert (state["undo"], state["redo"]) == ("pin", None)

    @pytest.mark.parametrize(
        ("solver", "name", "value"),
        [
            ("ccd", "max_turn", "inf"),
            ("ccd", "stiffness", "LeftArm=0.5,LeftForeArm=0.1"),
            ("ccd", "stiffness", 0.25),
            ("ccd", "direction_joints", "LeftArm,LeftHand"),
            ("two_bone", "mid", "LeftForeArm"),
        ],
    )
    def test_options_are_reported_as_they_are_typed(self, solver, name, value):
        document = ACTIONS["solver"].apply(everything(), {"view": 0, "name": solver})
        changed = ACTIONS["option"].apply(document, {"view": 0, "name": name, "value": value})
        shown = reported(changed)["solvers"][0]["options"][name]
        assert shown == value
        again = ACTIONS["option"].apply(document, {"view": 0, "name": name, "value": shown})
        assert again.solvers == changed.solvers

    @pytest.mark.parametrize("name", solvers.names())
    def test_every_option_takes_nonsense_or_says_why_not(self, name):
        document = ACTIONS["solver"].apply(everything(), {"view": 0, "name": name})
        nonsense = ("", "abc", "a,b,c", "a=1", "a=b", "1e400", "nan", -1, 0.5, 10**30, True, [1], {"a": 1}, "x" * 400)
        for option in list_parameters(type(solvers.make_solver(name))):
            for value in nonsense:
                args = {"view": 0, "name": option.name, "value": value}
                sentence = refusal(lambda args=args: reported(ACTIONS["option"].apply(document, args)))
                assert sentence is None or is_sentence(sentence)


class TestAnswer:
    @pytest.mark.parametrize("scene", scenes.names())
    def test_it_is_json(self, scene):
        stage = PoseState(scenes.build_scene(scene))
        stage.compute_frame()
        stage.selected_joint = stage.document.skeleton.names[-1]
        answer = json.loads(json.dumps(stage.build_answer(), allow_nan=False))
        assert len(answer["views"]) == stage.document.view_count
        for view in answer["views"]:
            assert view["sentence"]
            assert view["status"] in ("reached", "nothing", "on_the_way")  # on the way: a race has just begun

    def test_joints_at_their_limits(self):
        pose = rig().pose
        bent = pose.replace({"LeftForeArm": [np.cos(1.3089969), 0.0, -np.sin(1.3089969), 0.0]})
        legal = bent.with_q(bent.skeleton.legal(bent.q)[0])
        assert find_joints_at_limit(legal, ["LeftForeArm", "LeftArm", "RightForeArm"])[0] == "LeftForeArm"
        assert "LeftArm" not in find_joints_at_limit(legal, ["LeftForeArm", "LeftArm"])

    def test_the_selected_joint_of_each_kind(self):
        arm = poise.load(samples.path("arm.urdf"))
        for name in arm.skeleton.names:
            message = describe_joint(arm.pose, name)
            assert message["joint"] == name
            assert len(message["values"]) == (0 if arm.skeleton[name].kind == 0 else 1)
            np.testing.assert_array_equal(message["position"], arm.pose.world[name].positions)

    def test_wide_limits_are_json_too(self):
        skeleton = poise.Skeleton.build(
            ["a", "b", "c"], [-1, 0, 1], [3, 3, 2], axes=[(0, 0, 1)] * 3,
            limits=[SwingTwist((0, 0, 1), np.pi, (-np.inf, np.inf)), Range(-np.inf, np.inf, axis=(1, 0, 0)), None],
        )  # fmt: skip
        document = build_document(poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q)), chains=())
        state = reported(document)
        assert state["limits"]["b"] == {"type": "range", "low": None, "high": None, "axis": [1.0, 0.0, 0.0]}
