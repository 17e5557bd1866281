"""A solve that takes long says so, greys the answer before, and can be given up."""

from __future__ import annotations

import threading

import pytest

from poise.viewer.view_solver import ViewSolver
from tests.timeouts import PATIENCE

pytestmark = pytest.mark.long


@pytest.fixture
def slow(monkeypatch):
    """While `slow.on`, solves wait until `slow.release` is set."""

    class Slow:
        on = False
        release = threading.Event()

    solved = ViewSolver._solve_chains

    def late(self, chains, start, **options):
        if Slow.on:
            Slow.release.wait(PATIENCE)
        return solved(self, chains, start, **options)

    monkeypatch.setattr(ViewSolver, "_solve_chains", late)
    yield Slow
    Slow.on = False
    Slow.release.set()


WAITS = "document.querySelector('[data-testid=busy-sign]').checkVisibility()"
GREY = "getComputedStyle(document.querySelector('.view-canvas')).filter !== 'none'"


def test_a_fast_solve_shows_no_sign(served):
    tab = served("ccd")
    tab.answered()
    assert not tab.get(WAITS)
    assert not tab.get(GREY)


def test_cancel_leaves_the_answer_before_and_the_page_goes_on(served, slow):
    tab = served("ccd")
    before = tab.answered()["views"][0]
    shown = tab.studio.pose_state.displayed_q[0].tolist()
    slow.on = True
    tab.type("target-position-x", 0.4)
    tab.until(WAITS)
    assert tab.get(GREY)
    assert "ccd" in tab.at("busy-sign").inner_text()
    tab.click("cancel")
    tab.until(f"!({WAITS})")
    assert not tab.get(GREY)
    assert tab.answered()["views"][0]["sentence"] == before["sentence"]
    assert tab.studio.pose_state.displayed_q[0].tolist() == shown
    assert tab.messages_shown() == ["cancelled: the previous answer is shown"]
    slow.on = False
    tab.type("target-position-x", 0.3)
    tab.until("!document.querySelector('.waiting')")
    answer = tab.answered()["views"][0]
    assert answer["status"] == "reached"
    assert tab.studio.pose_state.displayed_q[0].tolist() != shown
    slow.release.set()  # what was given up ends now: nobody hears of it
    now = tab.studio.pose_state.displayed_q[0].tolist()
    tab.page.wait_for_timeout(300)
    assert tab.studio.pose_state.displayed_q[0].tolist() == now


def test_a_slow_solve_that_is_waited_for_is_shown(served, slow):
    tab = served("ccd")
    tab.answered()
    slow.on = True
    tab.type("target-position-x", 0.4)
    tab.until(WAITS)
    slow.release.set()
    tab.until(f"!({WAITS})")
    assert tab.answered()["views"][0]["status"] == "reached"
    assert tab.messages_shown() == []


def test_the_pose_is_shown_before_its_first_solve(served, slow):
    slow.on = True
    tab = served("ccd")  # opened: it has a picture
    tab.until(WAITS)
    assert "compiled" in tab.at("busy-sign").inner_text()
    assert tab.get("window.poise.frame.status[0]") == "nothing"
    slow.release.set()
    tab.until(f"!({WAITS})")
    assert tab.answered()["views"][0]["status"] == "reached"
