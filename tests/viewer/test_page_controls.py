"""A script's controls in the page, its marks drawn, and what the page says when the script has ended."""

from __future__ import annotations

import time

import numpy as np
import pytest

import poise
from poise.io import samples
from tests.timeouts import PATIENCE
from tests.viewer.browser import Tab

pytestmark = pytest.mark.long


@pytest.fixture
def shown(chromium):
    """A script's view and a page that shows it."""
    with poise.view(poise.load(samples.path("humanoid.glb")), open_browser=False) as view:
        tab = Tab(chromium, view.url, height=800).open()
        yield view, tab
        tab.close()


def eventually(wanted):
    end = time.monotonic() + PATIENCE
    while not wanted():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_controls_are_used_and_marks_drawn(shown):
    view, tab = shown
    assert not tab.at("panel-script").is_visible()
    slider, button, note = view.slider("stiff", 0, 2, 1), view.button("go"), view.text("note", "hello")
    tab.until_state("state.controls.length === 3")
    assert tab.at("panel-script").is_visible()
    box = tab.at("control-stiff").bounding_box()
    y = box["y"] + box["height"] / 2
    tab.page.mouse.move(box["x"] + box["width"] / 2, y)
    tab.page.mouse.down()
    for share in (0.6, 0.75, 0.9):
        tab.page.mouse.move(box["x"] + share * box["width"], y)
    tab.page.mouse.up()
    eventually(lambda: slider.value > 1.6)
    assert slider.moved
    tab.at("control-stiff").focus()
    tab.page.keyboard.press("Home")
    eventually(lambda: slider.value == 0)
    tab.click("control-go")
    eventually(lambda: button.pressed)
    tab.type("control-note", "from the page")
    eventually(lambda: note.value == "from the page")
    note.value = "from the script"
    tab.until("document.querySelector('[data-testid=control-note]').value === 'from the script'")
    view.marks(np.eye(3), name="axes")
    tab.until("window.poise.viewports[0].clouds.all.get('axes')?.geometry.attributes.position.count === 3")
    view.marks(np.zeros((0, 3)), name="axes")
    tab.until("window.poise.viewports[0].clouds.all.size === 0")
    assert tab.state["undo"] is None
    assert tab.messages_shown() == []


def test_the_page_says_that_the_script_has_ended(shown):
    view, tab = shown
    view.close()
    cover = tab.at("session-over")
    cover.wait_for()
    assert cover.locator("h1").inner_text() == "The script has ended"
    assert not tab.at("reconnect").is_visible()
    tab.page.wait_for_timeout(700)
    assert cover.locator("h1").inner_text() == "The script has ended"  # it does not try to come back
