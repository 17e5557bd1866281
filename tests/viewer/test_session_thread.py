"""The studio: every action and command through its thread, undo and redo bit for bit, errors that end nothing."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import poise
from poise.solvers.base.interface import Status
from poise.viewer import scenes
from poise.viewer.document.actions import ACTIONS
from poise.viewer.document.document import build_document
from poise.viewer.protocol import STATUS_REFUSED
from poise.viewer.session import commands
from poise.viewer.session import session_thread as studios
from poise.viewer.session.session_thread import SessionThread
from poise.viewer.view_solver import ViewSolver
from tests.viewer.action_cases import COMMANDS, FIRST, GOOD, HAND, everything, rig
from tests.viewer.watcher import Watcher, is_sentence, same, shows, watched

CHAIN = {"chain": "left_arm"}


@pytest.fixture
def studio():
    """A studio that works when it is told to, on this thread."""
    made = SessionThread(everything())
    yield made
    made.close()


@pytest.fixture
def page():
    with watched(everything()) as watcher:
        watcher.until(lambda page: page.frame)
        yield watcher


def do(studio, name, args=None):
    studio._run_action({"do": name, **(args or {})})
    studio.pose_state.compute_frame()


def now(studio):
    """Document and poses, to be compared later."""
    return studio.document, shows(studio.pose_state.displayed_q)


def assert_now(studio, document, poses):
    assert same(studio.document, document)
    assert shows(studio.pose_state.displayed_q) == poses


class TestUndo:
    @pytest.mark.parametrize("name", ACTIONS)
    def test_every_action_goes_back_and_forth_bit_for_bit(self, studio, name):
        studio.pose_state.compute_frame()
        for first, args in FIRST.get(name, ()):
            do(studio, first, args)
        for args in GOOD[name]:
            before = now(studio)
            depth = len(studio.history.past)
            do(studio, name, args)
            after = now(studio)
            assert len(studio.history.past) == depth + ACTIONS[name].is_undoable
            for _ in range(2 if ACTIONS[name].is_undoable else 0):
                studio._run_action({"do": "undo"})
                assert_now(studio, *before)
                studio._run_action({"do": "redo"})
                assert_now(studio, *after)
            if ACTIONS[name].is_undoable:
                studio._run_action({"do": "undo"})

    @pytest.mark.parametrize("name", ["reset", "keep_start", "step"])
    def test_so_do_the_commands_that_change_something(self, studio, name):
        do(studio, "target", {**CHAIN, "position": HAND})
        before = now(studio)
        studio._run_action({"do": name})
        after = now(studio)
        assert after[1] != before[1] or not same(after[0], before[0])
        studio._run_action({"do": "undo"})
        assert_now(studio, *before)
        studio._run_action({"do": "redo"})
        assert_now(studio, *after)

    def test_what_was_reached_stays_when_it_is_shown_again(self, studio):
        """After undo the solver is asked again, from what it had found: nothing moves."""
        do(studio, "target", {**CHAIN, "position": HAND})
        before = now(studio)
        do(studio, "target", {**CHAIN, "position": [0.3, 1.5, 0.2]})
        assert now(studio)[1] != before[1]
        do(studio, "undo")
        assert_now(studio, *before)

    @pytest.mark.parametrize("name", ["fabrik", "damped_least_squares", "levenberg_marquardt", "ccd"])
    def test_so_does_what_was_missed(self, studio, name):
        """A target out of reach: another solve from there might move on."""
        do(studio, "solver", {"view": 0, "name": name})
        do(studio, "target", {**CHAIN, "position": [5, 1, 0]})
        before, sentence = now(studio), studio.pose_state.build_answer()["views"][0]["sentence"]
        do(studio, "target", {**CHAIN, "position": HAND})
        after = now(studio)
        for _ in range(2):
            do(studio, "undo")
            assert_now(studio, *before)
            assert studio.pose_state.build_answer()["views"][0]["sentence"] == sentence
            do(studio, "redo")
            assert_now(studio, *after)
        do(studio, "target", {**CHAIN, "position": [0.3, 1.5, 0.2]})
        assert now(studio)[1] != after[1]  # solved again from now on

    def test_what_was_not_solved_yet_is_solved_after_undo(self, studio):
        studio._run_action({"do": "target", **CHAIN, "position": HAND})  # and before a frame:
        studio._run_action({"do": "tolerance", "value": 1e-6})
        do(studio, "undo")
        assert studio.pose_state.build_answer()["views"][0]["status"] == "reached"
        hand = studio.pose_state.build_view_pose(0).world["LeftHand"].positions
        np.testing.assert_allclose(hand, HAND, atol=2e-3)

    def test_a_drag_is_one_step(self, studio):
        before = studio.document
        for i, phase in enumerate(["start", *["move"] * 5, "end"]):
            do(studio, "target", {**CHAIN, "position": [0.4, 1.2, 0.1 + 0.01 * i], "phase": phase, "serial": i})
        assert studio.pose_state.target_serial == 6
        assert [step.label for step in studio.history.past] == ["move target"]
        do(studio, "undo")
        assert same(studio.document, before)

    def test_two_drags_are_two(self, studio):
        for number, chain in enumerate(("left_arm", "head", "left_arm")):
            for phase in ("start", "move", "end"):
                do(studio, "target", {"chain": chain, "position": [0.4, 1.2, number / 10], "phase": phase})
        assert len(studio.history.past) == 3
        do(studio, "pole", {**CHAIN, "position": [0, 1, -1], "phase": "move"})  # its start was lost
        do(studio, "pole", {**CHAIN, "position": [0, 1, -2], "phase": "end"})
        assert len(studio.history.past) == 4

    def test_what_changes_nothing_is_no_step(self, studio):
        do(studio, "target", {**CHAIN, "position": HAND})
        for phase in ("start", "move", "end"):
            do(studio, "target", {**CHAIN, "position": HAND, "phase": phase})
        do(studio, "mode", {"value": "limits"})
        do(studio, "pin", {"joint": "Head", "on": False})
        do(studio, "views", {"count": 2})  # how one looks at it is none either
        assert [step.label for step in studio.history.past] == ["move target"]

    def test_a_scene_can_be_undone(self, studio):
        do(studio, "target", {**CHAIN, "position": HAND})
        before = now(studio)
        do(studio, "scene", {"name": "two_methods"})
        after = now(studio)
        do(studio, "undo")
        assert_now(studio, *before)
        do(studio, "redo")
        assert_now(studio, *after)
        do(studio, "scene", {"name": None})
        assert same(studio.document, everything().replace(start=studio.document.start))  # what it was opened with

    @pytest.mark.parametrize("between", ["undo", "reset"])
    def test_undo_in_the_middle_of_a_drag_ends_it(self, studio, between):
        do(studio, "tolerance", {"value": 0.01})
        do(studio, "target", {**CHAIN, "position": HAND, "phase": "start"})
        do(studio, between)
        do(studio, "target", {**CHAIN, "position": [0.4, 1.2, 0.2], "phase": "move"})
        do(studio, "target", {**CHAIN, "position": [0.4, 1.3, 0.2], "phase": "end"})
        labels = ["change tolerance", "move target"]
        assert [step.label for step in studio.history.past] == (
            labels if between == "undo" else [*labels, "reset", "move target"]
        )
        assert studio.history.labels[1] is None  # what was undone is on another branch

    def test_a_refused_action_is_no_step(self, studio):
        for name, args in (("mode", {"value": "soft"}), ("target", CHAIN | {"position": [1]}), ("pin", {"joint": "x"})):
            with pytest.raises(poise.PoiseError):
                studio._run_action({"do": name, **args})
        assert studio.history.labels == (None, None)


class TestEverything:
    """Over the studio's own thread, with a page."""

    def test_the_registries_are_driven(self):
        assert GOOD.keys() == ACTIONS.keys()
        assert COMMANDS.keys() == commands.COMMANDS.keys()

    @pytest.mark.parametrize("name", [*ACTIONS, *commands.COMMANDS])
    def test_each_is_done_and_answered(self, name):
        with watched(everything()) as page:
            page.until(lambda page: page.frame)
            for first, args in FIRST.get(name, ()):
                page.send(first, **args)
            for args in {**GOOD, **COMMANDS}[name]:
                page.send(name, **args)
            page.send("target", chain="left_arm" if name not in ("scene", "chain_remove") else "unattended", serial=99)
            if name in ("scene", "chain_remove"):
                page.until(lambda page: page.errors and "unattended" in page.errors[-1])
            elif name == "step":
                page.until(lambda page: page.state["run"] == "step")
            else:
                page.answered(99)
            # The uploaded file is empty; whether the page hears of it before the last answer is a matter of time.
            expected = ("unattended", "nobody.bvh: the file is empty", "nothing is retargeted here")
            assert [text for text in page.errors if not any(each in text for each in expected)] == []

    @pytest.mark.parametrize("name", [*ACTIONS, *commands.COMMANDS])
    def test_nonsense_is_a_sentence_and_nothing_changes(self, page, name):
        before, count = page.studio.document, len(page.errors)
        words = ("chain", "joint", "name", "value", "position", "on", "count", "time", "format")
        nonsense = {word: [[]] for word in words}
        page.send(name, **nonsense, words=[], tip=3, view="x", limit=0)
        page.send("no such action")
        page.until(lambda page: any("no such action" in text for text in page.errors[count:]))
        assert all(is_sentence(text) for text in page.errors)
        if name not in ("step", "reset", "keep_start"):
            assert same(page.studio.document, before)

    @pytest.mark.parametrize("name", [*commands.INTERNAL, "", "Undo", "__init__", "undo ", "x" * 1000])
    def test_what_a_page_may_not_ask_for(self, page, name):
        before, count = page.studio.document, len(page.errors)
        page.send(name, change=None, work=None, pose=None, key="mine", scene="ccd")
        assert is_sentence(page.until(lambda page: page.errors[count:])[0])
        assert page.studio.document is before


class TestAPage:
    def test_it_receives_everything_in_order(self):
        with watched(everything()) as page:
            page.until(lambda page: page.frame and page.newest("answer") and page.newest("state"))
            order = list(
                dict.fromkeys(
                    message_text["kind"]
                    for message_text in page.messages_shown
                    if message_text["kind"] not in ("busy", "message")
                )
            )
            assert order[:4] == ["welcome", "model", "terrain", "marks"]
            assert set(order[4:]) == {"state", "answer"}
            assert page.newest("welcome")["key"] == "key"
            assert [binary[0] for binary in page.binaries] == [3, 2]  # mesh and ghost
            np.testing.assert_allclose(
                page.frame.rows[0, 0, :, :3], everything().solver_start.world.positions, atol=1e-5
            )

    def test_the_ghost_is_sent_again_where_the_start_pose_changes_and_only_there(self):
        def ghosts(page):
            return [binary[0] for binary in page.binaries].count(2)

        with watched(everything()) as page:
            page.until(lambda page: page.frame)
            assert ghosts(page) == 1
            page.send("tolerance", value=0.01)
            page.until(lambda page: page.state["tolerance"] == 0.01)
            assert ghosts(page) == 1
            page.send("free_root", on=True)
            page.until(lambda page: page.state["free_root"])
            assert ghosts(page) == 2

    def test_a_scene_may_be_requested(self):
        with watched(everything(), scene="two_methods") as page:
            page.until(lambda page: page.frame and page.state["scene"] == "two_methods")
            assert page.frame.rows.shape[:2] == (2, 1)

    def test_an_unknown_scene_is_reported_and_what_is_there_is_shown(self):
        with watched(everything(), scene="cdd") as page:
            page.until(lambda page: page.frame)
            assert "did you mean 'ccd'" in page.errors[0]
            assert page.newest("model")["name"] == "humanoid.glb"

    def test_the_next_page_sees_what_the_one_before_did(self):
        with watched(everything()) as first:
            first.send("target", **CHAIN, position=HAND, serial=3)
            shown = first.answered(3)
            first.leave()
            second = Watcher(first.studio)
            second.until(lambda page: page.frame and page.state["undo"] == "move target")
            np.testing.assert_array_equal(second.frame.rows, shown.rows)

    def test_without_a_page_nothing_is_solved(self, monkeypatch):
        with watched(everything()) as page:
            page.until(lambda page: page.frame)
            page.leave()
            monkeypatch.setattr(ViewSolver, "__call__", lambda *_, **__: pytest.fail("solved"))
            done = threading.Event()
            for serial in range(100):
                page.send("target", **CHAIN, position=HAND, serial=serial)
            page.studio.post_change(lambda document: (done.set(), document)[1])
            assert done.wait(30)
            assert page.studio.document.find_chain("left_arm").position == tuple(HAND)


class TestSolving:
    def test_the_pose_shown_is_the_pose_solved(self, page):
        page.send("target", **CHAIN, position=[0.5, 1.3, 0.2], serial=11)
        frame = page.answered(11)
        assert (frame.status, frame.version) == (Status.reached, page.studio.pose_state.document_version)
        hand = rig().skeleton.index("LeftHand")
        np.testing.assert_allclose(frame.rows[0, 0, hand, :3], [0.5, 1.3, 0.2], atol=2e-3)
        pose = page.studio.pose_state.build_view_pose(0)
        np.testing.assert_allclose(frame.rows[0, 0, :, :3], pose.world.positions, atol=1e-5)

    def test_the_newest_target_wins(self):
        """A page that is slow to acknowledge: of a thousand moves it is shown the last, and few between."""
        with watched(everything()) as page:
            page.until(lambda page: page.frame)
            page.acknowledges = False
            count = len(page.frames)
            page.send("target", **CHAIN, position=HAND, phase="start", serial=1)
            for i in range(1, 1000):
                page.send("target", **CHAIN, position=[0.4, 1.2, i / 5000], phase="move", serial=i)
            page.studio.acknowledge_frame(page.frame.number)
            page.acknowledges = True
            frame = page.answered(999)
            hand = rig().skeleton.index("LeftHand")
            np.testing.assert_allclose(frame.rows[0, 0, hand, :3], [0.4, 1.2, 999 / 5000], atol=2e-3)
            assert len(page.frames) - count < 100
            assert len(page.studio.inbox) == 0

    @pytest.mark.parametrize("error", [RuntimeError("broken"), ValueError(), MemoryError(), ZeroDivisionError("x")])
    def test_a_solver_that_raises(self, monkeypatch, error):
        def broken(*_, **__):
            raise error

        with watched(everything()) as page:
            page.until(lambda page: page.frame)
            with monkeypatch.context() as patch:
                patch.setattr(ViewSolver, "_solve_chains", broken)
                page.send("target", **CHAIN, position=HAND, serial=1)
                page.until(lambda page: page.errors)
                assert page.errors[0].startswith(type(error).__name__)
                assert is_sentence(page.errors[0])
            page.send("target", **CHAIN, position=[0.5, 1.3, 0.2], serial=2)
            assert page.answered(2).status == Status.reached
            page.send("undo")
            page.until(lambda page: page.state["redo"] == "move target")

    def test_one_that_refuses_is_a_sentence_in_the_answer(self, page):
        page.send("solver", view=0, name="two_bone")
        page.send("chain_change", **CHAIN, root="Spine")
        page.send("target", **CHAIN, position=HAND, serial=21)
        assert page.answered(21).status == STATUS_REFUSED
        page.until(lambda page: page.newest("answer") and page.newest("answer")["views"][0]["status"] == "refused")
        assert is_sentence(page.newest("answer")["views"][0]["sentence"])
        page.send("solver", view=0, name="ccd")
        page.send("target", **CHAIN, position=HAND, serial=22)
        assert page.answered(22).status == Status.reached

    def test_a_state_that_cannot_be_reported_ends_nothing(self, page, monkeypatch):
        """And is said once, not again and again."""
        page.until(lambda page: page.newest("state"))
        with monkeypatch.context() as patch:
            patch.setattr(studios, "build_state", lambda *_: 1 / 0)
            page.send("tolerance", value=0.01)
            page.until(lambda page: any("ZeroDivisionError" in text for text in page.errors))
            for revision, joint in enumerate(("LeftHand", "Head", "LeftArm", "Spine", "LeftHand"), start=1):
                page.send("select", joint=joint, revision=revision)  # with a revision each of them wants a state
                page.until(lambda page, joint=joint: (page.newest("answer")["selected"] or {}).get("joint") == joint)
            assert len(page.errors) == 1
        page.send("target", **CHAIN, position=HAND, serial=41)
        assert page.answered(41).status == Status.reached

    def test_a_refused_change_tells_what_is(self, page):
        """So that a field goes back to what the document says."""
        count = len(page.all("state"))
        page.send("tolerance", value=-1)
        page.until(lambda page: page.errors and len(page.all("state")) > count)
        assert page.state["tolerance"] is None

    def test_two_views_answer_one_target(self, page):
        page.send("views", count=2)
        page.send("target", **CHAIN, position=[0.5, 1.25, 0.25], serial=31)
        frame = page.answered(31)
        assert frame.rows.shape[0] == 2
        assert frame.statuses == [Status.reached, Status.reached]
        assert not np.array_equal(frame.rows[0], frame.rows[1])  # two methods, two answers


class TestPrograms:
    def test_a_driven_pose_is_shown_and_nothing_is_solved(self):
        with watched(everything().replace(is_driven=True)) as page:
            page.until(lambda page: page.frame)
            raised = rig().rest.replace({"LeftArm": [0.9238795, 0.0, 0.0, 0.3826834]})
            page.studio.post_pose(raised)
            wanted = raised.world.positions
            page.until(lambda page: np.allclose(page.frame.rows[0, 0, :, :3], wanted, atol=1e-5))
            assert page.frame.status == 255
            row = poise.Pose(raised.skeleton, np.repeat(raised.q[None], 3, axis=0))
            page.studio.post_pose(row)
            page.until(lambda page: page.frame.rows.shape[1] == 3)

    def test_a_change_from_a_program(self):
        heard = []
        with watched(everything()) as page:
            page.studio.listeners.append(heard.append)
            page.studio.post_change(lambda document: document.replace(view_count=2))
            page.until(lambda page: page.state is not None and page.state["views"] == 2)
            assert heard[-1].view_count == 2
            page.studio.post_change(lambda _: 1 / 0)
            page.until(lambda page: page.errors)
            assert "ZeroDivisionError" in page.errors[0]
            page.send("views", count=1)
            page.until(lambda page: page.state["views"] == 1)

    def test_it_ends_and_leaves_no_thread(self):
        before = set(threading.enumerate())
        with watched(scenes.build_scene("walk_on_hills")) as page:
            page.send("save", format="toml")
            page.until(lambda page: page.newest("file"))
        for thread in set(threading.enumerate()) - before:
            thread.join(30)
            assert not thread.is_alive()

    def test_one_that_never_began_can_be_closed(self):
        SessionThread(build_document(rig())).close()
