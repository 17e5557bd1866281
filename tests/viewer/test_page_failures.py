"""What goes wrong in the life of a page: tabs closed mid-drag, reloads, breaks, second tabs, solvers that raise."""

from __future__ import annotations

import time

import numpy as np
import pytest

import poise
from poise.viewer.document.document import build_document
from poise.viewer.view_solver import ViewSolver
from tests.conftest import WANT
from tests.timeouts import PATIENCE
from tests.viewer.browser import Tab, assert_shown_is_solved
from tests.workload import amount

pytestmark = pytest.mark.long

OVER = "document.querySelector('[data-testid=session-over]')"


def another(tab, chromium, **looks):
    """A second tab on the same server, by a fresh link."""
    made = Tab(chromium, tab.server.url, **looks)
    made.studio, made.server = tab.studio, tab.server
    return made


def test_a_tab_closed_mid_drag_and_a_fresh_one(served, chromium):
    tab = served("ccd")
    x, y = tab.press()
    tab.move([(x + i, y - i) for i in range(20)], let_go=False)
    position = tab.studio.document.chains[0].position
    tab.page.close()
    other = another(tab, chromium).open()
    other.answered()
    np.testing.assert_allclose(other.chain("arm")["position"], tab.studio.document.chains[0].position)
    assert tab.studio.document.chains[0].position == pytest.approx(position, abs=0.2)
    other.drag(*[(-i, i) for i in range(20)])
    assert_shown_is_solved(other)
    other.click("undo")
    other.until_state("state.redo !== null")
    other.close()


def test_a_reload_goes_on_where_it_was(served):
    tab = served("ccd")
    tab.drag(*[(i, -i) for i in range(20)])
    tab.click("mode-limits")
    tab.until_state("state.mode === 'limits'")
    tab.answered()
    before, drawn = tab.shown_document, tab.get("window.poise.viewports[0].readPosition(6)")
    tab.page.reload()
    tab.until("window.poise && window.poise.ready")
    tab.answered()
    assert tab.shown_document == before
    np.testing.assert_allclose(tab.get("window.poise.viewports[0].readPosition(6)"), drawn, atol=2e-3)
    assert tab.state["undo"] is not None
    tab.drag(*[(-i, i) for i in range(20)])  # the serials go on
    assert_shown_is_solved(tab)


def test_breaks_of_the_connection(served):
    tab = served("ccd")
    for i in range(amount(6, 20)):
        frames = tab.get("window.poise.frames")
        tab.server._loop.call_soon_threadsafe(lambda: tab.server._loop.create_task(tab.server._page.close(1011)))
        tab.until(f"window.poise.frames > {frames} && window.poise.ready")
        assert tab.server.is_connected, i
    tab.drag(*[(i, -i) for i in range(20)])
    assert_shown_is_solved(tab)
    assert not tab.get(f"!{OVER}.hidden")
    tab.errors[:] = [error for error in tab.errors if "WebSocket" not in error]


def test_reloads_one_after_the_other(served):
    tab = served("biped")
    for _ in range(4):
        tab.page.reload()
        tab.until("window.poise")  # without waiting for more
    tab.until("window.poise.ready")
    assert_shown_is_solved(tab)


def test_a_second_tab_takes_over_and_the_first_says_so(served, chromium):
    tab = served("ccd")
    other = another(tab, chromium).open()
    tab.until(f"!{OVER}.hidden")
    assert "another window" in tab.at("session-over").inner_text()
    assert "ask for a new link" in tab.at("session-over").inner_text()
    assert not tab.at("reconnect").is_visible()
    assert tab.get("[...document.body.children].every((each) => each.inert || each.dataset.testid === 'session-over' "
                   "|| !(each instanceof HTMLElement))")  # fmt: skip
    tab.page.wait_for_timeout(700)  # longer than the first tries to come back would take
    assert other.get(f"{OVER}.hidden")
    other.drag(*[(i, -i) for i in range(10)])
    assert_shown_is_solved(other)
    other.close()


def test_a_used_link_says_so(served, chromium):
    tab = served("ccd")
    url = tab.url
    other = Tab(chromium, url)
    other.page.goto(url)
    other.until(f"window.poise && !{OVER}.hidden")
    assert "used already" in other.at("session-over").inner_text()
    assert not other.at("reconnect").is_visible()
    other.page.wait_for_timeout(700)
    assert other.get("window.poise.frames") == 0
    requested = []
    tab.server.on_link_request(lambda: requested.append(tab.server.url))
    other.click("ask-link")
    other.until(f"{OVER}.innerText.includes('printed where poise runs')")
    other.click("ask-link")  # not told again so soon
    other.until("!document.querySelector('[data-testid=ask-link]').disabled")
    assert len(requested) == 1
    assert "token=" in requested[0]
    assert requested[0] != url
    assert requested[0].partition("token=")[2] not in other.get("document.documentElement.outerHTML")
    other.close()
    assert tab.get("window.poise.frames") > 0
    assert tab.server.is_connected


def test_a_page_that_is_reloaded_before_it_is_welcomed_comes_back(served, chromium, monkeypatch):
    """Each load says hello with the link and is gone before the key comes."""
    tab = served("ccd")
    hello, greeted = tab.studio.greet, []
    monkeypatch.setattr(tab.studio, "greet", lambda key, _scene: greeted.append(key))
    other = another(tab, chromium)
    other.page.goto(other.url, wait_until="commit")
    for visits in (1, 2, 3):
        end = time.monotonic() + PATIENCE
        while len(greeted) < visits:
            assert time.monotonic() < end, f"visit {visits} was not let in"
            other.page.wait_for_timeout(10)
        other.page.reload(wait_until="commit")
    monkeypatch.setattr(tab.studio, "greet", hello)
    other.page.reload()
    other.until("window.poise && window.poise.ready")
    assert "token" not in other.page.url
    other.page.reload()
    other.until("window.poise && window.poise.ready")
    other.context.close()


def test_a_link_that_is_opened_twice_in_one_browser_works(served, chromium):
    tab = served("ccd")
    first = another(tab, chromium).open()
    second = Tab(chromium, first.url, context=first.context)
    second.studio, second.server = tab.studio, tab.server
    second.open()
    first.until(f"!{OVER}.hidden")
    assert "another window" in first.at("session-over").inner_text()
    second.drag(*[(i, -i) for i in range(10)])
    assert_shown_is_solved(second)
    second.close()


def test_a_new_link_that_was_requested_opens_the_page(served, chromium):
    tab = served("ccd")
    requested = []
    tab.server.on_link_request(lambda: requested.append(tab.server.url))
    another(tab, chromium).open().close()
    tab.until(f"!{OVER}.hidden")
    tab.click("ask-link")
    tab.until(f"{OVER}.innerText.includes('printed where poise runs')")
    tab.page.goto(requested[0])
    tab.until("window.poise && window.poise.ready")
    assert tab.get(f"{OVER}.hidden")


def test_the_page_says_that_the_server_has_ended(served):
    tab = served("ccd")
    tab.answered()
    tab.server.farewell = "The script has ended"
    tab.server.close()
    tab.until(f"!{OVER}.hidden")
    assert "The script has ended" in tab.at("session-over").inner_text()
    tab.errors.clear()


def test_a_connection_that_breaks_is_no_end(served):
    tab = served("ccd")
    tab.answered()
    tab.get("(() => { window.WebSocket = class { addEventListener() {} }; })()")  # nobody can be reached any more
    tab.server._loop.call_soon_threadsafe(tab.server._page.transport.abort)
    tab.until(f"!{OVER}.hidden")
    words = tab.at("session-over").inner_text()
    assert "Connection lost" in words
    assert "has ended" not in words
    assert tab.at("reconnect").is_visible()
    assert not tab.at("ask-link").is_visible()


def test_a_solver_that_raises_is_reported_and_dragging_goes_on(served, monkeypatch):
    tab = served("ccd")
    call = ViewSolver.__call__

    def broken(*_, **__):
        raise ZeroDivisionError("the solver is broken")

    monkeypatch.setattr(ViewSolver, "__call__", broken)
    tab.drag(*[(i, -i) for i in range(20)])
    tab.until("document.querySelector('[data-testid=message][data-level=error]')")
    assert "ZeroDivisionError: the solver is broken" in tab.messages_shown()[0]
    monkeypatch.setattr(ViewSolver, "__call__", call)
    tab.drag(*[(-i, i) for i in range(20)])
    assert tab.answered()["views"][0]["status"] == "reached"
    assert_shown_is_solved(tab)


def test_a_solver_that_refuses_says_why_and_another_goes_on(served):
    tab = served("biped")
    tab.get("window.poise.send({do: 'solver', view: 0, name: 'fabrik'})")  # it knows no look-at: the list greys it
    tab.until("window.poise.answer.views[0].status === 'refused'")
    assert "fabrik" in tab.at("status-a").inner_text().lower()
    tab.pick("solver-a", "levenberg_marquardt")
    tab.until("window.poise.answer.views[0].status === 'reached'")
    assert_shown_is_solved(tab)


def test_a_clip_of_4500_frames(served, data):
    file = data / "bvh" / "cmu_01_03_climb_ladder.bvh"
    if not file.exists():
        pytest.skip(f"{WANT}: no {file.name}")
    rig = poise.load(file)
    assert len(rig.clips[0]) > 4000
    tab = served(build_document(rig, clip_name=rig.clips[0].name, chains=()))
    if not tab.state["playing"]:
        tab.click("play")
    frames = tab.get("window.poise.frames")
    tab.until(f"window.poise.frames > {frames + 20}")
    tab.click("play")
    tab.until_state("!state.playing")
    for share in (0.99, 0.5):
        time = share * tab.state["duration"]
        tab.at("seek").evaluate(f"(e) => {{ e.value = {time}; e.dispatchEvent(new Event('input')); }}")
        tab.until(f"Math.abs(window.poise.frame.time - {time}) < 1e-2")
        assert_shown_is_solved(tab)


def test_ten_characters_follow_one_target(served):
    tab = served("crowd")
    frames = tab.get("window.poise.frames")
    tab.drag(*[(i, -i) for i in range(40)])
    answer = tab.answered()["views"][0]
    assert tab.get("window.poise.frames") > frames
    assert "characters" in answer["sentence"]
    assert tab.get("window.poise.frame.characters") == 10
    assert_shown_is_solved(tab)


def test_the_graphics_driver_may_take_the_picture_away(served):
    tab = served("ccd")
    tab.get("window.lost = window.poise.viewports[0].stage.renderer.getContext().getExtension('WEBGL_lose_context')")
    tab.get("window.lost.loseContext()")
    tab.until("document.querySelector('.viewport-sentence')?.checkVisibility()")
    tab.get("window.poise.send({do: 'views', count: 1})")
    tab.get("window.lost.restoreContext()")
    tab.until("!document.querySelector('.viewport-sentence').checkVisibility()")
    tab.drag(*[(i, -i) for i in range(10)])
    assert_shown_is_solved(tab)
    tab.errors[:] = [error for error in tab.errors if "Context" not in error]
