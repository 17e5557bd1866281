"""Answers are computed on the solver's thread from a value; the session's thread alone writes state."""

from __future__ import annotations

import threading

import pytest

from poise.comparison.live import LiveComparison
from poise.viewer import scenes
from poise.viewer.session import answers
from poise.viewer.session.pose_state import PoseState
from poise.viewer.session.race import LiveRecord
from poise.viewer.session.session_thread import CancellableTask
from tests.timeouts import PATIENCE
from tests.viewer.action_cases import everything
from tests.viewer.watcher import watched


@pytest.fixture
def late(monkeypatch):
    """Answers wait for `late.release` while `late.on`; `late.began` is set when one waits."""

    class Late:
        on = False
        began, release = threading.Event(), threading.Event()

    find_open_loops = answers.find_open_loops

    def wait(pose):
        if Late.on:
            Late.began.set()
            Late.release.wait(PATIENCE)
        return find_open_loops(pose)

    monkeypatch.setattr(answers, "find_open_loops", wait)
    yield Late
    Late.release.set()


def test_a_cancelled_task_that_ends_late_has_no_result():
    task = CancellableTask(lambda: 1)
    task.cancel()
    task.run()
    assert not task.has_result
    done = CancellableTask(lambda: 1)
    done.run()
    done.cancel()
    assert done.has_result


@pytest.mark.parametrize("scene", ["ccd", "race"])
def test_only_the_session_writes_state(scene, monkeypatch):
    writers, set_attribute = set(), PoseState.__setattr__

    def write(state, name, value):
        writers.add(threading.current_thread().name)
        set_attribute(state, name, value)

    monkeypatch.setattr(PoseState, "__setattr__", write)
    with watched(scenes.build_scene(scene)) as page:
        page.until(lambda page: page.newest("answer"))
        page.send("target", chain=page.state["chains"][0]["id"], position=[0.2, 0.3, 0.1], phase="start", serial=4)
        page.answered(4)
        count = len(page.all("answer"))
        page.until(lambda page: len(page.all("answer")) > count)
    assert writers == {threading.current_thread().name, "poise-session"}


def test_an_answer_that_was_cancelled_changes_nothing_when_it_ends(late):
    with watched(scenes.build_scene("ccd")) as page:
        page.until(lambda page: page.newest("answer"))
        late.on = True
        page.send("select", joint=page.studio.document.skeleton.names[2])
        assert late.began.wait(PATIENCE)
        late.on = False
        page.send("cancel")
        page.until(lambda page: (page.newest("answer") or {"selected": None})["selected"])
        state, count = dict(vars(page.studio.pose_state)), len(page.all("answer"))
        late.release.set()
        page.send("watch", curve=False)  # an answer is next that the late one could be taken for
        page.until(lambda page: len(page.all("answer")) > count)
        now = vars(page.studio.pose_state)
        changed = {name for name, value in state.items() if now[name] is not value}
        assert changed <= {"_answer_time", "_answer_request", "is_curve_watched"}
        assert [answer["version"] for answer in page.all("answer")[count:]] == [page.studio.pose_state.document_version]


def test_an_answer_that_was_overtaken_is_dropped():
    stage = PoseState(everything())
    stage.compute_frame()
    request = stage.begin_answer()
    stage.mark_dirty()
    assert stage.finish_answer(request, request.compute()) is None
    stage.compute_frame()
    first, second = stage.begin_answer(), stage.begin_answer()
    assert stage.finish_answer(first, first.compute()) is None
    assert stage.finish_answer(second, second.compute())["kind"] == "answer"


def test_the_figures_of_a_race_are_solved_by_the_solvers_thread(monkeypatch):
    threads, follow, measure = set(), LiveComparison.follow, LiveRecord.measure

    def note(work):
        def run(*args):
            threads.add(threading.current_thread().name)
            return work(*args)

        return run

    monkeypatch.setattr(LiveComparison, "follow", note(follow))
    monkeypatch.setattr(LiveRecord, "measure", note(measure))
    with watched(scenes.build_scene("race")) as page:
        answer = page.until(lambda page: page.newest("answer"))
        assert len(answer["race"]["rows"]) == 6
    assert threads == {"poise-solver"}
