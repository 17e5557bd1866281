"""Limits dragged at what is drawn of them: sectors, tracks, cones; by mouse and finger; one step of undo each."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.viewer.document.document import build_document

pytestmark = pytest.mark.long

HANDLES = "window.poise.viewports[0].limitHandles"
WHERE = f"""
(name) => {{
  const box = window.poise.viewports[0].stage.canvas.getBoundingClientRect();
  window.poise.viewports[0].view.refresh();
  const end = {HANDLES}.ends.find((each) => each.name === name);
  const [x, y] = {HANDLES}.projectEnd(end, end.value);
  return [box.left + x, box.top + y, end.value];
}}
"""
LABEL = "window.poise.viewports[0].label.element.hidden ? '' : window.poise.viewports[0].label.element.textContent"


def limited(joint, limit, name="humanoid.glb"):
    rig = poise.load(samples.path(name))
    document = build_document(rig, chains=())
    return document.replace(skeleton=document.skeleton.with_limits({joint: limit}))


def shown(served, document, joint):
    tab = served(document, height=800)
    tab.at("outliner-search").fill(joint)
    tab.click(f"joint-{joint}")
    tab.until(f"{HANDLES}.ends.length > 0")
    tab.answered()
    return tab


def pull(tab, name, dx, dy):
    """Drag an end; the label that stood there last."""
    x, y, _ = tab.get(WHERE, name)
    tab.page.mouse.move(x - 2, y)
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    tab.move([(x + dx * i / 20, y + dy * i / 20) for i in range(1, 21)], let_go=False)
    message_text = tab.get(LABEL)
    tab.page.mouse.move(x + dx, y + dy)
    tab.page.mouse.up()
    tab.answered()
    return message_text


def test_the_ends_of_a_sector_are_dragged(served):
    before = poise.Range(-0.4, 0.9, axis=(0, 0, 1))
    tab = shown(served, limited("LeftForeArm", before), "LeftForeArm")
    camera = tab.get("JSON.stringify(window.poise.viewports[0].view.readState())")
    message_text = pull(tab, "high", 25, 30)
    after = tab.studio.document.skeleton["LeftForeArm"].limit
    assert after.low == before.low
    assert after.axis == before.axis
    assert abs(after.high - before.high) > 0.05
    assert message_text == f"high {np.degrees(after.high):.1f} deg"
    assert tab.get(LABEL) == ""
    assert float(tab.at("limit-high").input_value()) == pytest.approx(np.degrees(after.high), abs=0.01)
    assert tab.get("JSON.stringify(window.poise.viewports[0].view.readState())") == camera
    assert tab.get("window.poise.selected") == "LeftForeArm"
    assert tab.state["undo"] == "change limit"
    tab.key("Control+z")
    tab.until_state("state.undo === null")
    assert tab.studio.document.skeleton["LeftForeArm"].limit == before
    tab.key("Control+Shift+Z")
    tab.until_state("state.undo === 'change limit'")
    assert tab.studio.document.skeleton["LeftForeArm"].limit == after
    assert tab.messages_shown() == []


def test_an_end_does_not_go_past_the_other(served):
    tab = shown(served, limited("LeftForeArm", poise.Range(-0.2, 0.3, axis=(0, 0, 1))), "LeftForeArm")
    for dy in (-90, 90):
        pull(tab, "low", 0, dy)
    after = tab.studio.document.skeleton["LeftForeArm"].limit
    assert after.low <= after.high == pytest.approx(0.3)
    assert tab.messages_shown() == []


def test_the_sides_of_a_cone_are_dragged(served):
    before = poise.SwingTwist((1, 0, 0), ((-0.5, 0.6), (-0.7, 0.4)), (-0.3, 0.3))
    tab = shown(served, limited("LeftArm", before), "LeftArm")
    assert tab.get(f"{HANDLES}.ends.length") == 4
    drawn = tab.get(f"{HANDLES}.ends.map((end) => end.at(end.value).toArray())")
    rim = np.array(tab.state["outlines"]["LeftArm"][0])
    np.testing.assert_allclose(drawn, rim[[0, 12, 24, 36]], atol=1e-4)
    for name, which, k in (("swing 1 high", 0, 1), ("swing 2 low", 1, 0)):
        old = tab.studio.document.skeleton["LeftArm"].limit
        value = tab.get(WHERE, name)[2]
        wanted = value + (0.3 if k else -0.3)
        to = tab.get(f"([i, v]) => {HANDLES}.projectEnd({HANDLES}.ends[i], v)", [(0 if which == 0 else 3), wanted])
        at = tab.get(f"(i) => {HANDLES}.projectEnd({HANDLES}.ends[i], {HANDLES}.ends[i].value)", 0 if which == 0 else 3)
        pull(tab, name, to[0] - at[0], to[1] - at[1])
        new = tab.studio.document.skeleton["LeftArm"].limit
        changed = [(i, j) for i in (0, 1) for j in (0, 1) if new.sides[i][j] != pytest.approx(old.sides[i][j])]
        assert changed == [(which, k)]
        assert new.sides[which][k] == pytest.approx(wanted, abs=0.1)
        assert new.twist == old.twist
    for _ in range(2):
        tab.key("Control+z")
    tab.until_state("state.undo === null")
    assert tab.studio.document.skeleton["LeftArm"].limit.sides == before.sides


def test_a_finger_drags_an_end(served):
    tab = shown(served, limited("LeftForeArm", poise.Range(-0.4, 0.9, axis=(0, 0, 1))), "LeftForeArm")
    client = tab.context.new_cdp_session(tab.page)
    x, y, _ = tab.get(WHERE, "high")
    x += 12  # beside it: a finger is broad
    points = [
        ("touchStart", [(x, y)]),
        *(("touchMove", [(x + 2 * i, y + 2 * i)]) for i in range(1, 15)),
        ("touchEnd", []),
    ]
    for kind, places in points:
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": a, "y": b} for a, b in places]})
    tab.until_state("state.undo === 'change limit'")
    assert abs(tab.studio.document.skeleton["LeftForeArm"].limit.high - 0.9) > 0.03


def test_the_hinge_of_a_robot_has_handles_and_an_unlimited_joint_none(served):
    tab = served("robot_arm", height=800)
    joint = next(each["name"] for each in tab.model["joints"] if each["kind"] == "hinge")
    tab.click(f"joint-{joint}")
    tab.until(f"{HANDLES}.ends.length === 2")
    tab.click("limit-remove")
    tab.until(f"{HANDLES}.ends.length === 0")
