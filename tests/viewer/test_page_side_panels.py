"""Room on the page: sides made wider or opened over the view, and what stays in sight in a small window."""

from __future__ import annotations

import pytest

import poise
from poise.io import samples
from poise.viewer.document.document import build_document

pytestmark = pytest.mark.long

OBSERVED = """
(name) => {
  const box = document.querySelector(`[data-testid="${name}"]`).getBoundingClientRect();
  return box.height > 0 && document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2) !== null
    && box.top >= 0 && box.bottom <= innerHeight;
}
"""


def test_what_matters_is_in_sight_in_a_small_window(served):
    tab = served("two_methods", width=1000, height=600)
    tab.until("document.querySelector('[data-testid=chart] canvas')")
    for name in ("solver-a", "solver-b", "run-live", "step", "target-position-x", "chart", "new-chain"):
        assert tab.get(OBSERVED, name), name
    tab.click("new-chain")
    assert tab.get(OBSERVED, "chain-add")
    tab.at("solver-options").locator("> summary").click()
    tab.at("option-a-iterations").wait_for()
    assert tab.get(OBSERVED, "chart")
    tab.page.reload()
    tab.until("window.poise && window.poise.ready")
    assert tab.get("document.querySelector('[data-testid=solver-options]').open")


def test_sides_are_made_wider_and_stay_so(served):
    tab = served("ccd")
    for side, way in (("left", 1), ("right", -1)):
        width = tab.get(f"document.getElementById('{side}').offsetWidth")
        box = tab.at(f"edge-{side}").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + 200
        tab.page.mouse.move(x, y)
        tab.page.mouse.down()
        tab.page.mouse.move(x + 60 * way, y, steps=3)
        tab.page.mouse.up()
        now = tab.get(f"document.getElementById('{side}').offsetWidth")
        assert 50 <= now - width <= 70
        tab.page.reload()
        tab.until("window.poise && window.poise.ready")
        assert tab.get(f"document.getElementById('{side}').offsetWidth") == now
        tab.at(f"edge-{side}").dblclick()
        assert tab.get(f"document.getElementById('{side}').offsetWidth") == width


def test_drawers_of_a_narrow_window_close_by_esc_and_by_a_click_beside(served):
    tab = served("ccd", width=600, height=800)
    button = tab.at("panel-left")
    assert button.get_attribute("aria-expanded") == "false"
    for close in (lambda: tab.page.keyboard.press("Escape"), lambda: tab.page.mouse.click(580, 600)):
        button.click()
        tab.until("document.querySelector('[data-testid=panel-left]').ariaExpanded === 'true'")
        tab.at("outliner").wait_for()
        close()
        tab.until("document.querySelector('[data-testid=panel-left]').ariaExpanded === 'false'")
        tab.at("outliner").wait_for(state="hidden")


def test_the_tree_says_what_is_selected_and_has_room(served):
    rig = poise.load(samples.path("humanoid.glb"))
    tab = served(build_document(rig))
    tab.click("joint-Spine")
    assert tab.at("joint-Spine").get_attribute("aria-selected") == "true"
    tab.click("joint-Hips")
    assert tab.at("joint-Spine").get_attribute("aria-selected") == "false"
    panel, tree = (tab.at(name).bounding_box() for name in ("panel-outliner", "outliner"))
    assert tree["height"] > 0.5 * panel["height"]


def test_a_row_at_the_lower_end_stays_in_sight_when_the_panel_of_its_bone_opens(served):
    tab = served(build_document(poise.load(samples.path("humanoid.glb")), scope="limbs"), height=700)
    low = """[...document.querySelectorAll("[data-testid=outliner] .joint:not([hidden])")].reverse()
        .find((row) => row.offsetTop + row.offsetHeight <= row.parentElement.clientHeight).dataset.joint"""
    joint = tab.get(low)
    tall = tab.at("outliner").bounding_box()["height"]
    tab.click(f"joint-{joint}")
    tab.until(f"window.poise.answer?.selected?.joint === '{joint}'")
    tab.pictures()
    tree, row = (tab.at(name).bounding_box() for name in ("outliner", f"joint-{joint}"))
    assert tree["height"] < tall
    assert row["y"] + row["height"] <= tree["y"] + tree["height"] + 1.0


def test_names_are_distinguished(served):
    tab = served("biped")
    chain = tab.state["chains"][0]
    assert tab.at(f"chain-{chain['id']}").locator(".chain-name").inner_text().startswith(chain["id"])
    for names, short in (
        (["mixamorig:Hips", "mixamorig:Spine"], ["Hips", "Spine"]),
        (["Bip01_L_Hand", "Bip01_L_Foot"], ["Hand", "Foot"]),
        (["LeftHand", "LeftFoot"], ["LeftHand", "LeftFoot"]),
        (["rig:", "rig:Hips"], ["rig:", "rig:Hips"]),
        (["Hips"], ["Hips"]),
    ):
        found = tab.get(
            """async (names) => {
              const {makeShortener} = await import("poise/texts/names.js");
              return names.map(makeShortener(names.map((name) => ({name, shown: true}))));
            }""",
            names,
        )
        assert found == short
