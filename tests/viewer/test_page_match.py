"""The page of a retargeted clip: colours of limbs, contacts, and the table of the match."""

from __future__ import annotations

import pytest

import poise
from poise.io import samples
from poise.viewer.document.side_by_side import SOURCE_MARK, Retargeting, build_side_by_side

pytestmark = pytest.mark.long

COLOURS = """() => { const { actor } = window.poise.viewports[0]; const { rows } = actor.figure;
  return ["LeftForeArm", "RightForeArm", "Spine"].map((name) =>
    [name, name + " (source)"].map((joint) => actor.limbs.get(rows.get(joint)) ?? null)); }"""


@pytest.fixture
def tab(served):
    """The walk of the samples, beside the figure that it moves."""
    source = poise.load(samples.path("humanoid.bvh"))
    return served(build_side_by_side(Retargeting(source, poise.load(samples.path("humanoid.glb")), "humanoid")))


def test_limbs_have_the_same_colours_and_a_changed_row_retargets(tab):
    assert SOURCE_MARK == " (source)"
    assert tab.page.evaluate(COLOURS) == [["leftArm", "leftArm"], ["rightArm", "rightArm"], [None, None]]
    assert tab.page.evaluate("() => window.poise.viewports[0].actor.bones.group.parent === "
                             "window.poise.viewports[0].stage.front")  # fmt: skip
    assert len(tab.state["contacts"]) == 2
    assert tab.state["bad"] == []
    row = tab.page.locator('[data-testid="match-table"] tr[data-role="leftHand"]')
    row.locator("input[type=number]").evaluate("(e) => { e.value = 30; e.dispatchEvent(new Event('change')); }")
    tab.until_state('state.retargeting.rows.find(({ role }) => role === "leftHand").turn === 30')
