"""How the page looks in windows of three sizes and both themes: nothing overlaps, is cut off or hard to read.

Checked by geometry and by computed colours in the page; scripts/make_viewer_pictures.py makes the pictures to look at.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.long

SIZES = ((1000, 600), (1600, 1000), (400, 800))

HERE = Path(__file__).parent
FAULTS = (HERE / "layout_faults.js").read_text()  # what is cut off without a way to scroll there, and what covers what
PALE = (HERE / "contrast.js").read_text()  # texts whose contrast against what is behind them is too small


@pytest.mark.parametrize("name", ["ccd_hinge_range", "biped", "walk_on_hills", "two_methods", "robot_arm"])
def test_nothing_overlaps_or_is_cut_off(served, name):
    tab = served(name, width=1600, height=1000)
    tab.until("window.poise.answer !== null")
    if name == "walk_on_hills":
        tab.until_state("state.contacts.length === 2")
    faults = {}
    for folded in (True, False):
        if not folded:
            tab.unfold()
            joint = next(joint["name"] for joint in tab.model["joints"] if joint["kind"] in ("ball", "hinge"))
            tab.get("(name) => document.querySelector(`[data-testid='joint-${name}']`).click()", joint)
        for width, height in SIZES:
            tab.resize(width, height)
            faults[width, height, folded] = tab.get(FAULTS, None)
    assert not any(faults.values()), faults


def test_the_tools_fit_in_every_window(served):
    """Also while something goes on, which is said among them, and with a long name."""
    tab = served("biped", width=1300, height=600)
    tab.get("""() => {
      document.querySelector("[data-testid=rig-name]").textContent = "a_name_that_is_as_long_as_those_of_files.glb";
    }""")
    tools = "document.getElementById('toolbar')"
    for busy in (False, True):
        if busy:
            tab.get("""() => {
              const sign = document.querySelector(".busy");
              sign.hidden = false;
              sign.querySelector(".busy-text").textContent = "sending a_name_that_is_as_long_as_those_of_files.glb ...";
            }""")
        for width in (1280, 1000, 960, 959, 845, 800, 760, 759, 600, 400):
            tab.page.set_viewport_size({"width": width, "height": 600})
            tab.until(f"innerWidth === {width}")
            boxes = (
                f"[...{tools}.children].map((each) => each.getBoundingClientRect()).filter(({{width}}) => width > 0)"
            )
            assert tab.get(f"{tools}.scrollWidth") <= width, (width, busy)
            assert tab.get(f"Math.max(...{boxes}.map(({{right}}) => right))") <= width, (width, busy)
            assert tab.get(f"{tools}.offsetHeight") <= (38 if width >= 960 else 80), (width, busy)


def test_drawers_of_a_narrow_window_hold_everything(served):
    tab = served("biped", width=400, height=800)
    tab.at("outliner").wait_for(state="hidden")
    for side, control in (("left", "outliner"), ("right", "solver-a")):
        tab.click(f"panel-{side}")
        tab.at(control).wait_for()
        tab.pictures()
        assert tab.get(FAULTS, f".side.{side}") == []
        tab.at(f"panel-{'chains' if side == 'left' else 'target'}").scroll_into_view_if_needed()
        tab.click(f"panel-{side}")
        tab.at(control).wait_for(state="hidden")


@pytest.mark.parametrize("size", SIZES)
def test_menus_and_the_help_sheet_fit(served, size):
    tab = served("ccd", width=size[0], height=size[1])
    for menu in ("scene-menu", "save-menu", "show-menu"):
        tab.click(menu)
        box = tab.page.locator("[popover]:popover-open").bounding_box()
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= size[0] + 1
        assert box["y"] + box["height"] <= size[1] + 1
        assert tab.get(FAULTS, "[popover]:popover-open") == []
        tab.page.keyboard.press("Escape")
    tab.click("help")
    box = tab.at("help-sheet").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= size[0]
    assert box["y"] + box["height"] <= size[1]


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_every_text_can_be_read(served, scheme):
    tab = served("walk_on_hills", width=1600, height=1000, scheme=scheme)
    tab.until_state("state.contacts.length === 2")
    tab.get("window.poise.send({do: 'no such thing'})")
    tab.until("document.querySelector('[data-testid=message]') && document.getAnimations().length === 0")
    pale = tab.get(PALE, 4.5)
    for name in ("biped", "ccd_hinge_range", "two_methods"):
        tab.studio.post_action({"do": "scene", "name": name})
        tab.until_state(f"state.scene === {name!r} && window.poise.ready")
        tab.answered()
        tab.unfold()
        tab.page.locator(".joint:not([hidden])").nth(2).click()
        for menu in ("scene-menu", "save-menu", "show-menu"):
            tab.click(menu)
            pale += tab.get(PALE, 4.5)
            tab.page.keyboard.press("Escape")
    tab.click("help")
    pale += tab.get(PALE, 4.5)
    assert {tuple(each) for each in pale} == set()
