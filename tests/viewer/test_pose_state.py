"""The stage: when a pose is worked out, from where, and what is said of it. No threads here."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.solvers.base.interface import Status
from poise.viewer import scenes
from poise.viewer.document.document import SolverChoice, build_document
from poise.viewer.protocol import FLAG_ITERATING, FLAG_PLAYING, STATUS_NOTHING, STATUS_REFUSED
from poise.viewer.session import pose_state as stages
from poise.viewer.session.pose_state import PoseState
from poise.viewer.view_solver import ViewSolver
from tests.viewer.action_cases import HAND, everything, rig
from tests.viewer.watcher import Frame, shows


@pytest.fixture
def stage():
    return PoseState(everything())


def aim(stage, position, serial=0):
    """Move the target of the arm and show what comes of it."""
    document = stage.document
    stage.target_serial = serial
    stage.set_document(document.with_chain(document.chains[0].replace(position=tuple(position))))
    return stage.compute_frame()


def counted(monkeypatch):
    """How often a solver is asked."""
    calls, solve = [], ViewSolver.__call__
    monkeypatch.setattr(
        ViewSolver, "__call__", lambda self, *args, **options: (calls.append(1), solve(self, *args, **options))[1]
    )
    return calls


class TestWhen:
    def test_only_when_something_has_changed(self, stage):
        assert stage.is_due()
        stage.compute_frame()
        assert not stage.is_due()
        assert stage.compute_pause(can_send=True) is not None  # the answer is still to be said
        stage.build_answer()
        assert stage.compute_pause(can_send=True) is None
        stage.mark_dirty()
        assert stage.is_due()
        assert stage.compute_pause(can_send=True) == 0.0
        assert stage.compute_pause(can_send=False) is None

    def test_iterations_go_on_until_the_target_is_reached(self):
        stage = PoseState(scenes.build_scene("ccd").replace(pace="iterate"))
        flags = [stage.compute_frame().header.flags for _ in range(10)]
        assert flags[0] == FLAG_ITERATING
        assert flags[-1] == 0
        assert stage.compute_pause(can_send=True) is not None
        stage.build_answer()
        assert stage.compute_pause(can_send=True) is None

    def test_a_clip_goes_on_for_ever(self, stage):
        stage.playhead.set_clip(rig().clip("walk"))
        stage.playhead.is_playing = True
        for _ in range(3):
            assert stage.compute_frame().header.flags == FLAG_PLAYING
            assert stage.compute_pause(can_send=True) is not None
            assert stage.compute_pause(can_send=True) <= 1 / 60

    def test_answers_are_not_reported_all_the_time(self, stage, monkeypatch):
        now = [100.0]
        monkeypatch.setattr(stages.time, "perf_counter", lambda: now[0])
        stage.compute_frame()
        assert stage.is_answer_due()
        stage.build_answer()
        message_text = 0
        for _ in range(60):
            now[0] += 1 / 60
            stage.mark_dirty()
            stage.compute_frame()
            if stage.is_answer_due():
                stage.build_answer()
                message_text += 1
        assert 5 <= message_text <= 15

    def test_after_a_solver_has_raised_it_waits_for_a_change(self, stage, monkeypatch):
        stage.playhead.set_clip(rig().clip("walk"))
        stage.playhead.is_playing = True
        stage.pending_steps = 5
        with monkeypatch.context() as patch:
            patch.setattr(ViewSolver, "__call__", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                stage.compute_frame()
        stage.mark_failed()
        assert not stage.is_due()
        assert not stage.playhead.is_playing  # else every frame would raise again
        stage.mark_dirty()
        assert stage.is_due()
        stage.compute_frame()


class TestFromWhere:
    def test_from_the_pose_that_is_shown_or_from_the_start(self):
        def path(origin):
            stage = PoseState(scenes.build_scene("two_methods").replace(solve_start=origin))
            for x in (0.2, 0.4, 0.3):
                position = np.add(stage.document.chains[0].position, (x, 0.0, x))
                aim(stage, position)
            return stage

        last, start = path("last"), path("start")
        fresh = PoseState(start.document)
        fresh.compute_frame()
        assert shows(start.displayed_q) == shows(fresh.displayed_q)  # as if nothing had been before
        assert shows(last.displayed_q) != shows(start.displayed_q)

    def test_a_clip_is_solved_from_its_own_pose(self, stage):
        stage.playhead.set_clip(rig().clip("walk"))
        stage.playhead.seek(0.4)
        aim(stage, HAND)
        first = shows(stage.displayed_q)
        aim(stage, [0.3, 1.5, 0.2])
        aim(stage, HAND)
        assert shows(stage.displayed_q) == first
        np.testing.assert_allclose(stage.build_view_pose(0).world["LeftHand"].positions, HAND, atol=2e-3)
        walking = rig().clip("walk").at(0.4)
        np.testing.assert_allclose(
            stage.build_view_pose(0).world["RightFoot"].positions, walking.world["RightFoot"].positions, atol=1e-9
        )

    def test_reset_and_a_new_start(self, stage):
        aim(stage, HAND)
        stage.reset()
        np.testing.assert_array_equal(stage.displayed_q[0][0], stage.document.solver_start.q)
        raised = rig().pose.replace({"RightArm": [0.9238795, 0.0, 0.0, 0.3826834]})
        stage.set_document(stage.document.replace(start=raised))
        np.testing.assert_array_equal(stage.displayed_q[0][0], raised.q)

    def test_new_limits_move_what_is_shown_inside(self, stage):
        aim(stage, HAND)
        narrow = stage.document.skeleton.with_limits({"LeftArm": poise.Range(-0.1, 0.1, axis=(0, 0, 1))})
        stage.set_document(stage.document.replace(skeleton=narrow))
        for q in stage.displayed_q:
            assert narrow.legal(q)[1] == ()
        stage.compute_frame()
        assert narrow.legal(stage.displayed_q[0][0])[1] == ()

    def test_more_characters_and_fewer(self, stage):
        aim(stage, HAND)
        for count in (3, 1):
            positions = tuple((float(i), 0.0, 0.0) for i in range(count))
            stage.set_document(stage.document.replace(character_positions=positions))
            assert stage.compute_frame().rows.shape[:2] == (1, count)

    def test_the_packed_solver_is_kept_while_only_targets_move(self, stage):
        aim(stage, HAND)
        base = stage._find_base_pose()
        first = stage.find_view_solver(0, base)
        aim(stage, [0.3, 1.5, 0.2])
        assert stage.find_view_solver(0, stage._find_base_pose()) is first
        for change in (
            {"tolerance": 0.01}, {"pace": "iterate"}, {"free_root": True}, {"solvers": (SolverChoice("ccd"),
            SolverChoice())},
            {"chains": (stage.document.chains[0].replace(weight=2.0),)}, {"limit_mode": "plain"},
        ):  # fmt: skip
            before = stage.document
            stage.set_document(before.replace(**change))
            assert stage.find_view_solver(0, stage._find_base_pose()) is not first, change
            stage.set_document(before)
            first = stage.find_view_solver(0, stage._find_base_pose())


class TestSteps:
    def test_each_is_one_iteration(self):
        stage = PoseState(scenes.build_scene("ccd").replace(pace="step"))
        frames = [stage.compute_frame()]
        assert (frames[0].header.view_statuses[0].status, stage.is_due()) == (STATUS_NOTHING, False)
        assert "Step" in stage.build_answer()["views"][0]["sentence"]
        for _ in range(4):
            stage.pending_steps += 1
            assert stage.is_due()
            frames.append(stage.compute_frame())
            assert not stage.is_due()
            assert frames[-1].header.view_statuses[0].iterations == 1
        left = [frame.header.view_statuses[0].position_error for frame in frames[1:]]
        assert left == sorted(left, reverse=True)
        assert len(set(left)) == 4
        assert stage.build_answer()["views"][0]["errors"] == left

    def test_they_end_where_live_ends(self):
        live, stepped = PoseState(scenes.build_scene("ccd")), PoseState(scenes.build_scene("ccd").replace(pace="step"))
        iterations = live.compute_frame().header.view_statuses[0].iterations
        for _ in range(iterations):
            stepped.pending_steps += 1
            frame = stepped.compute_frame()
        assert frame.header.view_statuses[0].status == Status.reached
        assert frame.header.view_statuses[0].position_error == pytest.approx(
            live.compute_frame().header.view_statuses[0].position_error, abs=1e-9
        )


class TestFrames:
    def test_rows_are_the_pose(self, stage):
        frame = aim(stage, HAND, serial=12)
        message = Frame(frame.pack(77))
        assert (message.kind, message.number, message.serial, message.status) == (1, 77, 12, Status.reached)
        world = stage.build_view_pose(0).world
        np.testing.assert_allclose(message.rows[0, 0, :, :3], world.positions, atol=1e-6)
        turns = message.rows[0, 0, :, 3:]
        same = np.abs(np.einsum("ij,ij->i", turns, world.rotations))
        np.testing.assert_allclose(same, 1.0, atol=1e-6)
        assert message.iterations == frame.header.view_statuses[0].iterations > 0
        assert message.left == pytest.approx(frame.header.view_statuses[0].position_error, rel=1e-6)

    def test_two_views_have_two_solvers(self, monkeypatch):
        calls = counted(monkeypatch)
        stage = PoseState(scenes.build_scene("two_methods"))
        frame = stage.compute_frame()
        assert frame.rows.shape[0] == 2
        assert [view["solver"] for view in stage.build_answer()["views"]] == ["ccd", "fabrik"]
        assert len(calls) >= 2
        stage.set_document(stage.document.replace(view_count=1))
        assert stage.compute_frame().rows.shape[0] == 1
        assert len(stage.build_answer()["views"]) == 1

    def test_the_ghost_is_the_start(self, stage):
        aim(stage, HAND)
        ghost = Frame(stage.pack_start_pose())
        assert ghost.kind == 2
        np.testing.assert_allclose(ghost.rows[0, 0, :, :3], everything().solver_start.world.positions, atol=1e-6)

    def test_driven_poses_as_they_are(self, stage):
        stage.set_document(stage.document.replace(is_driven=True))
        raised = rig().rest.replace({"LeftArm": [0.9238795, 0.0, 0.0, 0.3826834]})
        stage.program_pose = raised
        frame = stage.compute_frame()
        np.testing.assert_allclose(frame.rows[0, 0, :, :3], raised.world.positions, atol=1e-6)
        assert stage.build_view_pose(0) is raised
        stage.program_pose = poise.Pose(raised.skeleton, np.repeat(raised.q[None], 4, axis=0))
        assert stage.compute_frame().rows.shape[:2] == (1, 4)
        np.testing.assert_array_equal(stage.build_view_pose(0).q, raised.q)
        assert stage.build_answer()["views"][0]["errors"] is None

    def test_without_a_chain_it_says_how_to_get_one(self):
        stage = PoseState(build_document(rig(), chains=()))
        assert stage.compute_frame().header.view_statuses[0].status == STATUS_NOTHING
        assert "add one" in stage.build_answer()["views"][0]["sentence"]

    def test_a_refusal_leaves_the_pose(self):
        stage = PoseState(everything().replace(solvers=(SolverChoice("two_bone"), SolverChoice())))
        stage.set_document(
            stage.document.with_chain(stage.document.chains[0].replace(root="Spine", position=tuple(HAND)))
        )
        frame = stage.compute_frame()
        assert frame.header.view_statuses[0].status == STATUS_REFUSED
        np.testing.assert_array_equal(stage.displayed_q[0][0], stage.document.solver_start.q)
        assert stage.build_answer()["views"][0]["errors"] is None


class TestAnswers:
    def test_the_selected_joint_and_those_at_their_limits(self, stage):
        aim(stage, np.array([0.2, 1.42, 0.05]))  # the elbow folds as far as it may
        stage.selected_joint = "LeftForeArm"
        answer = stage.build_answer()
        pose = stage.build_view_pose(0)
        assert answer["selected"]["joint"] == "LeftForeArm"
        np.testing.assert_array_equal(answer["selected"]["values"], pose.q[pose.skeleton.q_slice("LeftForeArm")])
        assert answer["views"][0]["at_limit"] == ["LeftForeArm"]
        assert answer["version"] == stage.document_version
        aim(stage, HAND)
        assert stage.build_answer()["views"][0]["at_limit"] == []

    def test_a_joint_that_rests_at_its_limit_is_distinguished_until_a_goal_is_missed(self):
        stage = PoseState(
            scenes.build_scene("biped").replace(solvers=(SolverChoice("levenberg_marquardt"), SolverChoice("ccd")))
        )
        stage.compute_frame()
        (view,) = stage.build_answer()["views"]
        assert view["status"] == "reached"
        assert set(view["at_limit"]) == set(view["resting"]) == {"LeftLeg", "RightLeg"}
        assert view["left_out"] == []
        stage.set_document(
            stage.document.with_chain(stage.document.find_chain("left_hand").replace(position=(9.0, 0.6, 0.5)))
        )
        stage.compute_frame()
        (view,) = stage.build_answer()["views"]
        assert view["status"] != "reached"
        assert view["resting"] == []

    def test_the_curve_is_of_the_chain_that_was_dragged_last(self):
        document = everything()
        leg = document.find_chain("left_leg").replace(enabled=True, position=(0.1, 0.3, 0.3))
        stage = PoseState(document.with_chain(leg).replace(solvers=(SolverChoice("ccd"), SolverChoice())))
        aim(stage, HAND)
        arm = stage.build_answer()["views"][0]["errors"]
        stage.dragged_chain = "left_leg"
        assert stage.build_answer()["views"][0]["errors"][0] != arm[0]
        stage.dragged_chain = "unattended"
        assert stage.build_answer()["views"][0]["errors"] == arm

    def test_another_method_starts_from_the_start_pose_once(self):
        stage = PoseState(scenes.build_scene("two_methods"))
        stage.compute_frame()
        fresh = shows(stage.displayed_q)
        aim(stage, np.add(stage.document.chains[0].position, (0.2, 0.0, 0.1)))
        aim(stage, scenes.build_scene("two_methods").chains[0].position)
        assert shows(stage.displayed_q) != fresh
        stage.start_over()
        stage.compute_frame()
        assert shows(stage.displayed_q) == fresh
        stage.mark_dirty()
        stage.compute_frame()
        assert shows(stage.displayed_q) == fresh  # reached: nothing moves
