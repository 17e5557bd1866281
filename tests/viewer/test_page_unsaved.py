"""Unsaved changes are marked until they are saved or undone, and the browser asks before they are left."""

from __future__ import annotations

import pytest

import poise
from poise.io import samples
from poise.viewer.document.document import build_document

pytestmark = pytest.mark.long

DOT = "\u2022"


def marked(tab):
    """Whether changes are marked, by the tab's title and the name in the toolbar."""
    dots = [
        tab.page.title().startswith(DOT),
        DOT in tab.get("getComputedStyle(document.querySelector('.rig-name'), '::before').content"),
    ]
    assert dots[0] == dots[1] == tab.state["unsaved"]
    return dots[0]


def test_changes_are_marked_until_they_are_saved_or_undone(served, tmp_path):
    tab = served(build_document(poise.load(samples.path("humanoid.glb")), scope="limbs"))
    assert not marked(tab)
    tab.click("views-2")  # looking is no change
    tab.until_state("state.views === 2")
    tab.click("views-1")
    tab.until_state("state.views === 1")
    assert not marked(tab)
    tab.drag(*[(i, -i) for i in range(10)])
    tab.until_state("state.unsaved")
    assert marked(tab)
    tab.key("Control+z")
    tab.until_state("!state.unsaved")
    assert not marked(tab)
    tab.key("Control+Shift+Z")
    tab.until_state("state.unsaved")
    tab.save("save-png", tmp_path)
    assert marked(tab)
    tab.save("save-json", tmp_path)
    tab.until_state("!state.unsaved")
    tab.key("Control+z")
    tab.until_state("state.undo === null")
    assert not marked(tab)  # as it was opened
    tab.click("scene-menu")
    tab.click("scene-ccd")
    tab.until_state("state.scene === 'ccd'")
    assert not marked(tab)


@pytest.mark.parametrize("changed", [True, False])
def test_the_browser_asks_before_changes_are_left(served, changed):
    tab = served("ccd", new=True)
    requested = []

    def stay(dialog):
        requested.append(dialog.type)
        dialog.dismiss()

    tab.page.on("dialog", stay)
    if changed:
        tab.drag(*[(i, -i) for i in range(10)])
        tab.until_state("state.unsaved")
    else:
        tab.page.mouse.click(500, 300)
    tab.page.close(run_before_unload=True)
    if changed:
        tab.until("window.poise.ready")
        assert requested == ["beforeunload"]
        tab.page.remove_listener("dialog", stay)
    else:
        assert tab.page.is_closed() or tab.page.wait_for_event("close")
        assert requested == []
