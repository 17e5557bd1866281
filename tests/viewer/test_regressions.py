"""Faults that a fresh reading of the viewer found, each kept away by a test."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import poise
from poise.errors import InputError
from poise.io import samples
from poise.viewer import scenes
from poise.viewer.document.actions import ACTIONS
from poise.viewer.document.document import build_document
from poise.viewer.session.downloads import build_document_page, build_download
from poise.viewer.session.message_queues import Outbox
from poise.viewer.session.pose_state import PoseState
from poise.viewer.session.session_thread import JobQueue, SessionThread
from tests.timeouts import PATIENCE
from tests.viewer.action_cases import everything, rig
from tests.viewer.watcher import watched


def limited(**limits):
    skeleton = rig().skeleton.with_limits(limits)
    return everything().replace(skeleton=skeleton)


def acted(document, name, shown=None, /, **args):
    return ACTIONS[name].apply(document, args, shown)


# --- ground ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["noise:1e300,1", "slope:1e5", "hills:/etc/x.npz", "hills:x.npz", "hills:", "a.png"])
def test_ground_that_is_no_shape_or_too_large_is_refused(words):
    with pytest.raises(InputError):
        acted(everything(), "terrain", words=words)


def test_a_page_that_is_loaded_again_receives_everything_whatever_was_requested_before():
    with watched(everything()) as page:
        page.send("terrain", words="noise:1e300,1")
        page.until(lambda page: page.errors)
        page.studio.greet("key", None)
        page.until(lambda page: len(page.all("welcome")) == 2 and len(page.all("model")) == 2 and page.state)


# --- a program that drives ---------------------------------------------------------------------------------------


def test_steps_of_a_driven_viewer_are_refused_and_none_is_left():
    with watched(everything().replace(is_driven=True)) as page:
        page.send("step")
        page.until(lambda page: page.errors)
        assert "program" in page.errors[0]
    stage = PoseState(everything().replace(is_driven=True))
    stage.pending_steps = 3
    stage.compute_frame()
    assert not stage.is_due()


def test_undo_leaves_what_a_program_shows():
    studio = SessionThread(everything())
    studio._run_action({"do": "tolerance", "value": 0.5})
    studio.set_document(studio.document.replace(is_driven=True, character_positions=((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))))
    studio._run_action({"do": "undo"})
    assert studio.document.tolerance is None
    assert studio.document.is_driven
    assert len(studio.document.character_positions) == 2
    studio.close()


# --- jobs ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_job_never_keeps_a_program_from_ending():
    program = (
        "import threading, time; from poise.viewer.session.session_thread import JobQueue\n"
        "jobs, begun = JobQueue(), threading.Event()\n"
        "jobs.add(lambda: begun.set() or time.sleep(3600), print); begun.wait(); jobs.close()"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=PATIENCE, check=True, capture_output=True)
    assert done.stderr == b""


def test_jobs_end_in_order_and_errors_are_handed_on():
    jobs, ended = JobQueue(), []
    for work in (lambda: 1, lambda: 1 / 0, lambda: 3):
        jobs.add(work, lambda made, error: ended.append((made, type(error))))
    end = time.monotonic() + PATIENCE
    while len(ended) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    assert ended == [(1, type(None)), (None, ZeroDivisionError), (3, type(None))]
    jobs.close()


def test_too_many_jobs_are_refused():
    jobs = JobQueue()

    def add_many():
        for _ in range(50):
            jobs.add(lambda: time.sleep(3600), print)

    with pytest.raises(InputError, match="waiting"):
        add_many()
    jobs.close()


def test_planting_that_fails_for_old_ground_leaves_new_ground_planted(monkeypatch):
    studio = SessionThread(
        build_document(rig(), scope="limbs", clip_name="walk", plants_feet=True, terrain_spec="slope:10")
    )
    ended = {}
    monkeypatch.setattr(studio._jobs, "add", lambda _, end: ended.setdefault(len(ended), end))
    studio._start_clip()
    studio._run_action({"do": "terrain", "words": "stairs:0.15,0.30"})
    ended[0](None, InputError("no"))
    for action in studio.inbox.take(0):
        with pytest.raises(InputError):
            studio._run_action(action)
    assert studio.document.plants_feet
    ended[1](None, InputError("no"))
    for action in studio.inbox.take(0):
        with pytest.raises(InputError):
            studio._run_action(action)
    assert not studio.document.plants_feet
    studio.close()


def test_the_end_of_one_thing_leaves_the_word_of_another():
    studio = SessionThread(everything())
    message_text = []
    studio.outbox.send = lambda message, *_: message_text.append(message["text"])
    studio.set_busy(1, "saving")
    studio.set_busy(2, "planting")
    studio.set_busy(2, None)
    studio.set_busy(1, None)
    assert message_text == ["saving", "planting", "saving", None]
    studio.close()


def test_a_solver_that_raises_at_its_first_solve_leaves_no_word(monkeypatch):
    studio = SessionThread(everything())
    message_text, busy = [], threading.Event()

    def say(message, *_):
        message_text.append(message)
        if message["kind"] == "busy":
            busy.set()

    monkeypatch.setattr(studio.outbox, "send", say)
    monkeypatch.setattr(PoseState, "_build_solve", lambda *_: lambda: 1 / (not busy.wait(PATIENCE)))
    studio._run_guarded(studio._send_frame)
    assert [m["text"] for m in message_text if m["kind"] == "busy"][-1] is None
    assert "stage" not in message_text[-1].get("text", "") or "line" in message_text[-1]["text"]
    studio.close()


# --- saving --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["plain", "hinge", "limits"])
def test_limits_are_saved_whatever_counts_just_now(mode, tmp_path):
    document = scenes.build_scene("robot_arm").replace(limit_mode=mode)
    made = build_download(document, document.solver_start, None, "urdf")
    (tmp_path / "a.urdf").write_bytes(made.data)
    assert poise.load(tmp_path / "a.urdf").skeleton.limits == document.skeleton.limits


def test_a_page_to_send_has_every_character():
    assert b'"characters": 10' in build_document_page(scenes.build_scene("crowd"))


# --- limits, clips, chains -----------------------------------------------------------------------------------------


def test_an_edited_limit_stays_soft():
    document = limited(Neck=poise.EulerBox.degrees("YXZ", y=(-60, 60), soft=0.5))
    edited = acted(
        document,
        "limit",
        joint="Neck",
        limit={"type": "swing_twist", "axis": [0, 1, 0], "swing": 1.0, "twist": [-1, 1]},
    )
    assert edited.skeleton["Neck"].limit.soft == 0.5


def test_a_tip_at_its_limit_is_shown():
    document = limited(LeftHand=poise.Range(0.0, 1.0, axis=(1, 0, 0)))  # it rests at the low end
    stage = PoseState(document.replace(chains=(document.chains[0].replace(kind="place"),)))
    stage.compute_frame()
    assert "LeftHand" in stage.build_answer()["views"][0]["at_limit"]


def test_a_clip_plays_as_it_is_and_leaves_the_start_pose_behind():
    document = everything()
    played = acted(document, "clip", name="walk")
    assert not played.active_chains
    stage = PoseState(document)
    stage.set_document(played)
    stage.playhead.set_clip(played.rig.clip("walk"))
    stage.playhead.seek(0.4)
    stage.compute_frame()
    stage.playhead.set_clip(None)
    stage.set_document(played.replace(clip_name=None))
    stage.compute_frame()
    assert np.array_equal(stage.displayed_q[0][0], document.solver_start.q)


def test_a_paused_clip_is_packed_once():
    stage = PoseState(build_document(rig(), scope="limbs", clip_name="walk"))
    stage.playhead.set_clip(rig().clip("walk"))
    stage.playhead.seek(0.4)
    assert stage._find_base_pose() is stage._find_base_pose()
    stage.playhead.seek(0.5)
    assert np.array_equal(stage._find_base_pose().q, rig().clip("walk").at(0.5).q)


def test_pins_and_chains_begin_where_the_figure_is():
    document = everything()
    shown = document.solver_start.replace({"RightArm": [0.8, 0.6, 0.0, 0.0]})
    for name, args in (("pin", {"joint": "RightHand", "on": True}), ("chain_add", {"tip": "RightHand"})):
        made = acted(document, name, shown, **args).chains[-1]
        assert np.allclose(made.position, shown.world["RightHand"].positions)


def test_what_changes_nothing_is_no_step_of_undo():
    studio = SessionThread(everything())
    for action in (
        {"do": "mode", "value": "limits"},
        {"do": "run", "value": "live"},
        {"do": "pin", "joint": "Head", "on": False},
    ):
        studio._run_action(action)
    assert studio.history.labels == (None, None)
    studio._run_action({"do": "views", "count": 2})
    assert studio.history.labels == (None, None)
    assert studio.document.view_count == 2
    studio.close()


def test_a_method_is_visible_from_the_start_pose():
    studio = SessionThread(everything())
    chain = studio.document.chains[0]
    studio.set_document(studio.document.with_chain(chain.replace(position=(0.45, 1.25, 0.3))))
    studio.pose_state.compute_frame()
    studio.pose_state.compute_frame()
    studio._run_action({"do": "solver", "view": 0, "name": "ccd"})
    studio.pose_state.compute_frame()
    assert studio.pose_state.outcomes[0].iterations > 0
    assert len(studio.pose_state.build_answer()["views"][0]["errors"]) > 1
    studio.close()


def test_reset_takes_live_targets_along_and_can_be_undone():
    studio = SessionThread(everything())
    chain = studio.document.chains[0]
    studio.set_document(studio.document.with_chain(chain.replace(position=(0.45, 1.25, 0.3))))
    studio.pose_state.compute_frame()
    studio._run_action({"do": "reset"})
    studio.pose_state.compute_frame()
    assert np.array_equal(studio.pose_state.displayed_q[0][0], studio.document.solver_start.q)
    assert np.allclose(studio.document.chains[0].position, chain.position)
    studio._run_action({"do": "undo"})
    assert studio.document.chains[0].position == (0.45, 1.25, 0.3)
    studio._run_action({"do": "run", "value": "step"})
    studio._run_action({"do": "reset"})
    assert studio.document.chains[0].position == (0.45, 1.25, 0.3)  # to be stepped towards again
    studio.close()


def test_scenes_lead_back_to_what_was_opened():
    studio = SessionThread(everything())
    studio._run_action({"do": "scene", "name": "ccd"})
    assert studio.document.scene_name == "ccd"
    studio._run_action({"do": "undo"})
    assert studio.document.rig is rig()
    studio._run_action({"do": "redo"})
    studio._run_action({"do": "scene", "name": None})
    assert studio.document.rig is rig()
    studio.close()


def test_pins_of_a_crowd_are_each_ones_own():
    crowd = scenes.build_scene("crowd")
    foot = acted(crowd, "pin", joint="LeftFoot", on=True).chains[-1]
    stage = PoseState(crowd.replace(chains=(foot,)))
    stage.compute_frame()
    assert stage.outcomes[0].status == poise.Status.reached
    assert np.allclose(stage.displayed_q[0], crowd.solver_start.q)


# --- a page that does not read ---------------------------------------------------------------------------------------


def test_a_page_that_does_not_read_is_let_go_with_bounded_memory():
    outbox = Outbox()
    outbox.attach(lambda: None)
    outbox.send({"kind": "welcome"})
    for i in range(5000):
        outbox.send({"kind": "message", "text": f"{i}"})
    assert outbox.has_overflowed
    assert len(outbox._messages) < 2500
    outbox.attach(lambda: None)
    assert not outbox.has_overflowed


def test_a_handle_has_a_name():
    with poise.view(poise.load(samples.path("arm.urdf")), open_browser=False) as view:
        for name in (5, None, "", "x" * 500, ["a"]):
            with pytest.raises(InputError, match="name of a handle"):
                view.handle(name)
