"""Keys are for what has them: menus, dialogs, lists and buttons keep none that are not theirs."""

from __future__ import annotations

import pytest

import poise
from poise.io import samples
from poise.viewer.document.document import build_document

pytestmark = pytest.mark.long

SELECTED = "window.poise.selected"


@pytest.fixture
def tab(served):
    rig = poise.load(samples.path("humanoid.glb"))
    tab = served(build_document(rig, clip_name=rig.clips[0].name, scope="limbs"))
    tab.click("joint-Hips")
    return tab


@pytest.mark.parametrize("menu", ["scene-menu", "save-menu", "show-menu"])
def test_esc_closes_a_menu_and_no_key_goes_through_it(tab, menu):
    playing, ghost = tab.state["playing"], tab.get("window.poise.viewports[0].show.ghost")
    tab.click(menu)
    assert tab.get("document.querySelector(':popover-open') !== null")
    for key in ("r", "g", "2"):
        tab.page.keyboard.press(key)
    tab.page.keyboard.press("Escape")
    assert tab.get("document.querySelector(':popover-open') === null")
    tab.page.wait_for_timeout(200)  # what a key had asked for would have come back
    assert tab.get(SELECTED) == "Hips"
    assert tab.state["undo"] is None
    assert tab.state["views"] == 1
    assert tab.state["playing"] == playing
    assert tab.get("window.poise.viewports[0].show.ghost") == ghost
    tab.key("Escape")
    assert tab.get(SELECTED) is None


def test_keys_go_on_after_a_list_was_used(tab):
    tab.at("solver-a").click()
    tab.page.keyboard.press("Escape")
    tab.pick("solver-a", "ccd")
    tab.until_state("state.solvers[0].name === 'ccd'")
    tab.page.keyboard.press("s")
    tab.until_state("state.run === 'step'")
    assert tab.state["solvers"][0]["name"] == "ccd"
    tab.page.keyboard.press("Control+z")
    tab.until_state("state.run === 'live'")


def test_a_list_that_was_reached_by_keys_keeps_them_but_undo_goes_through(tab):
    tab.at("solver-a").focus()
    tab.page.keyboard.press("Tab")
    tab.page.keyboard.press("Shift+Tab")
    tab.pick("solver-a", "ccd")
    tab.until_state("state.solvers[0].name === 'ccd'")
    assert tab.get("document.activeElement.dataset.testid") == "solver-a"
    tab.page.keyboard.press("Control+z")
    tab.until_state("state.solvers[0].name !== 'ccd'")


@pytest.mark.parametrize("button", ["show-menu", "frame-all", "to-start", "run-live"])
def test_space_plays_after_a_click_on_a_button(tab, button):
    playing = tab.state["playing"]
    tab.click(button)
    if button == "show-menu":
        tab.click(button)
    tab.page.keyboard.press("Space")
    tab.until_state(f"state.playing === {str(not playing).lower()}")
    assert tab.get("document.querySelector(':popover-open') === null")


def test_numbers_keep_their_own_undo(tab):
    tab.at("target-position-x").click()
    tab.page.keyboard.type("7")
    tab.page.keyboard.press("Control+z")
    tab.page.keyboard.press("Escape")
    tab.page.wait_for_timeout(200)  # what a key had asked for would have come back
    assert tab.state["redo"] is None


def test_the_scene_menu_leads_back_to_what_was_opened(tab):
    tab.click("scene-menu")
    tab.click("scene-ccd")
    tab.until_state("state.scene === 'ccd'")
    tab.click("scene-menu")
    assert "humanoid" in tab.at("scene-opened").inner_text()
    tab.click("scene-opened")
    tab.until_state("state.scene === null")
    tab.until("window.poise.model.joints.some(({name}) => name === 'LeftForeArm') && window.poise.ready")
