"""The race of methods on the page: by keys and buttons, live under a drag, and still where motion is reduced."""

from __future__ import annotations

import pytest

import poise
from poise.io import samples
from poise.viewer.document.document import build_document

pytestmark = pytest.mark.long

ITERATION = "window.poise.frame.iteration"
RESTS = "!window.poise.frame.playing"


def test_a_race_is_opened_for_the_active_chain_and_driven_by_keys(served):
    tab = served(build_document(poise.load(samples.path("humanoid.glb")), scope="limbs"))
    chain = tab.state["chains"][1]["id"]
    tab.at(f"chain-{chain}").locator(".chain-name").click()
    tab.key("m")
    tab.until_state("state.run === 'race' && state.views === 4")
    assert [each["id"] for each in tab.state["chains"] if each["enabled"]] == [chain]
    tab.get("(id) => window.poise.send({do: 'target', chain: id, position: [0.4, 1.1, 0.3]})", chain)
    tab.until("window.poise.answer.race?.last > 3")
    tab.key("r")
    tab.until(f"window.poise.frame.playing && {ITERATION} > 0")
    tab.key("Space")
    tab.until(RESTS)
    tab.get("window.poise.send({do: 'race_seek', iteration: 1})")
    for key, wanted in (("ArrowRight", 2), ("s", 3), ("ArrowLeft", 2), ("Shift+ArrowLeft", 0)):
        tab.key(key)
        tab.until(f"{ITERATION} === {wanted}")
    assert tab.at("race-clock").inner_text().startswith("iteration 0 /")
    for _ in ("the target", "the race"):
        tab.click("undo")
    tab.until_state("state.run === 'live' && state.views === 1")


def test_curves_and_figures_follow_a_drag(served):
    tab = served("race")
    tab.until("window.poise.viewports.length === 6 && window.poise.ready")
    tab.until(f"{RESTS} && window.poise.answer.race?.rows.length === 6")
    last = tab.get("window.poise.answer.race.last")
    for _ in range(4):  # of one drag a busy machine may see the last target only, and jumps need some
        tab.drag(*[(-2 * i, -i) for i in range(5)])
        tab.answered()
    table = tab.at("race-table")
    tab.until("window.poise.answer.race.rows.every(({values}) => !values.includes('-'))")
    tab.until(f"{ITERATION} === window.poise.answer.race.last")  # it stays at the end
    assert tab.get("window.poise.answer.race.last") != last or tab.state["chains"][0]["position"] != [0.75, 0.95, 0.35]
    assert table.locator("tbody tr").count() == len(tab.get("window.poise.answer.race.columns"))
    assert "C: " in tab.at("chart").get_attribute("aria-label")


def test_nothing_moves_by_itself_where_motion_is_reduced(served):
    tab = served("ccd")
    tab.page.emulate_media(reduced_motion="reduce")
    tab.get("window.poise.send({do: 'scene', name: 'race'})")
    tab.until_state("state.run === 'race'")
    tab.until(f"{RESTS} && {ITERATION} < window.poise.answer.race?.last")
    tab.key("Space")
    tab.until(f"{ITERATION} === window.poise.answer.race?.last")
    tab.page.emulate_media(reduced_motion="no-preference")
