"""Bones turned in the page: rings by mouse and touch, sliders, limits kept, keys in a clip, undo."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.maths import rotations
from poise.viewer.document.document import build_document
from tests.timeouts import PATIENCE
from tests.viewer.browser import assert_shown_is_solved

pytestmark = pytest.mark.long

RINGS = "window.poise.viewports[0].gizmo.active === 'bone'"


@pytest.fixture
def tab(served):
    """The bundled humanoid, all panels open."""
    return served(build_document(poise.load(samples.path("humanoid.glb")), scope="limbs"), height=900)


def take_ring(tab, joint):
    """Select a joint and turn it: the middle of its rings."""
    tab.click(f"joint-{joint}")
    if not tab.get(RINGS):
        tab.key("t")
    tab.until(RINGS)
    tab.answered()


def ring(tab):
    """Where on the page a ring is that faces the camera: beside the middle of the gizmo."""
    x, y = tab.handle()
    for reach in range(20, 160, 3):
        tab.page.mouse.move(x + reach, y)
        tab.page.mouse.move(x + reach + 1, y)
        axis = tab.get("window.poise.viewports[0].gizmo.controls.axis")
        if axis is not None and axis.startswith(("X", "Y", "Z")) and len(axis) == 1:
            return x + reach + 1, y
    raise AssertionError("no ring was found")


def turn(tab, steps=20):
    x, y = ring(tab)
    tab.page.mouse.down()
    tab.move([(x + i / 2, y + 3 * i) for i in range(steps)])


def own(tab, joint):
    pose = tab.studio.pose_state.build_view_pose(0)
    return pose.q[pose.skeleton.q_slice(joint)].copy()


def test_rings_turn_a_bone_and_it_is_one_step_of_undo(tab):
    take_ring(tab, "RightArm")
    assert tab.at("gizmo-bone").get_attribute("aria-pressed") == "true"
    assert tab.get("window.poise.viewports[0].gizmo.controls.mode") == "rotate"
    before = own(tab, "RightArm")
    others = tab.studio.pose_state.build_view_pose(0).q.copy()
    turn(tab)
    tab.answered()
    after = own(tab, "RightArm")
    assert np.abs(after - before).max() > 0.05
    shown = tab.studio.pose_state.build_view_pose(0)
    others[shown.skeleton.q_slice("RightArm")] = after
    np.testing.assert_allclose(shown.q, others, atol=1e-6)
    assert_shown_is_solved(tab)
    assert tab.state["undo"] == "turn bone"
    tab.key("Control+z")
    tab.until_state("state.undo === null")
    tab.answered()
    np.testing.assert_allclose(own(tab, "RightArm"), before, atol=1e-9)
    tab.key("Control+Shift+Z")
    tab.until_state("state.undo === 'turn bone'")
    tab.answered()
    np.testing.assert_allclose(own(tab, "RightArm"), after, atol=1e-9)
    drawn = tab.get("(() => { const {x, y, z, w} = window.poise.viewports[0].gizmo.controls.object.quaternion; "
                    "return [w, x, y, z]; })()")  # fmt: skip
    wanted = tab.studio.pose_state.build_view_pose(0).world["RightArm"].rotations
    assert abs(np.dot(drawn, wanted)) == pytest.approx(1.0, abs=1e-4)
    tab.click("gizmo-bone")
    tab.until("window.poise.viewports[0].gizmo.active?.startsWith('target:')")
    assert tab.messages_shown() == []


def test_a_limit_holds_against_the_rings(tab):
    tab.click("joint-LeftForeArm")
    tab.pick("limit-type", "hinge")
    tab.at("limit-low").fill("-10")
    tab.at("limit-high").fill("20")
    tab.click("limit-apply")
    tab.until_state("'LeftForeArm' in state.limits")
    take_ring(tab, "LeftForeArm")
    turn(tab, 60)
    tab.answered()
    pose = tab.studio.pose_state.build_view_pose(0)
    assert tab.studio.document.solver_skeleton.legal(pose.q)[1] == ()
    assert_shown_is_solved(tab)
    slider = tab.at("bone-slider")
    slider.wait_for()
    slider.focus()
    tab.page.keyboard.press("End")
    tab.answered()
    axis = np.array(tab.studio.document.skeleton["LeftForeArm"].limit.axis)
    assert np.degrees(rotations.twist_angle(own(tab, "LeftForeArm"), axis)) == pytest.approx(20, abs=1e-3)


def test_a_hinge_has_one_ring_and_a_slider(served):
    tab = served("robot_arm", height=900)
    joint = next(each["name"] for each in tab.model["joints"] if each["kind"] == "hinge")
    take_ring(tab, joint)
    controls = "window.poise.viewports[0].gizmo.controls"
    assert tab.get(f"[{controls}.showX, {controls}.showY, {controls}.showZ]") == [False, False, True]
    before = own(tab, joint)[0]
    slider = tab.at("bone-slider")
    box = slider.bounding_box()
    y = box["y"] + box["height"] / 2
    tab.page.mouse.move(box["x"] + box["width"] / 2, y)
    tab.page.mouse.down()
    for share in (0.6, 0.7, 0.8):
        tab.page.mouse.move(box["x"] + share * box["width"], y)
    tab.page.mouse.up()
    tab.answered()
    after = own(tab, joint)[0]
    assert abs(after - before) > 0.1
    assert tab.state["undo"] == "turn bone"
    tab.key("Control+z")
    tab.until_state("state.undo === null")
    tab.answered()
    assert own(tab, joint)[0] == pytest.approx(before)
    assert_shown_is_solved(tab)


def test_a_finger_turns_a_bone(tab):
    take_ring(tab, "RightArm")
    x, y = ring(tab)
    client = tab.context.new_cdp_session(tab.page)
    before = own(tab, "RightArm")
    for kind, points in (
        ("touchStart", [(x, y)]),
        *(("touchMove", [(x - 6 * i, y + 6 * i)]) for i in range(1, 15)),
        ("touchEnd", []),
    ):
        client.send(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": px, "y": py} for px, py in points]}
        )
    tab.answered()
    assert np.abs(own(tab, "RightArm") - before).max() > 0.05


def test_a_bone_is_keyed_into_the_clip_only_if_it_is_wanted(served):
    rig = poise.load(samples.path("humanoid.glb"))
    tab = served(build_document(rig, clip_name=rig.clips[0].name, chains=()), height=900)
    tab.click("play")
    tab.until_state("!state.playing")
    tab.get("window.poise.send({do: 'seek', time: 0.5})")
    tab.until("Math.abs(window.poise.frame.time - 0.5) < 1e-3")
    take_ring(tab, "Spine")
    before = own(tab, "Spine")
    turn(tab)
    tab.until("document.querySelector('[data-testid=message]')")
    assert "switch Key on" in tab.messages_shown()[0]
    tab.answered()
    np.testing.assert_allclose(own(tab, "Spine"), before, atol=1e-6)
    tab.key("k")
    assert tab.at("key").get_attribute("aria-pressed") == "true"
    turn(tab)
    tab.until_state("state.keys.length === 1")
    tab.answered()
    after = own(tab, "Spine")
    assert np.abs(after - before).max() > 0.03
    assert_shown_is_solved(tab)
    (key,) = tab.state["keys"]
    assert key["joint"] == "Spine"
    assert key["time"] == pytest.approx(0.5, abs=0.02)
    assert tab.at("key-marks").get_by_role("button").count() == 1
    tab.get("window.poise.send({do: 'seek', time: 0.9})")
    tab.until("Math.abs(window.poise.frame.time - 0.9) < 1e-3")
    tab.answered()
    clip = tab.studio.document.rig.clips[0]
    np.testing.assert_allclose(own(tab, "Spine"), clip.at(0.9).q[clip.skeleton.q_slice("Spine")], atol=1e-3)
    tab.at("key-marks").get_by_role("button").click()
    tab.answered()
    np.testing.assert_allclose(own(tab, "Spine"), after, atol=1e-6)
    tab.click("unkey")
    tab.until_state("state.keys.length === 0")
    tab.key("Control+z")
    tab.until_state("state.keys.length === 1")
    tab.key("Control+z")
    tab.until_state("state.keys.length === 0 && state.redo === 'turn bone'")


def test_an_answer_from_before_a_key_does_not_put_the_slider_back(served):
    tab = served("four_bar")
    tab.click("joint-crank")
    tab.until("!document.querySelector('[data-testid=bone-slider]').disabled")
    tab.answered()
    studio, pressed, seen = tab.studio, threading.Event(), threading.Event()

    def tell_late():
        pressed.wait(PATIENCE)
        studio.outbox.send(studio.pose_state.build_answer())
        studio.show_message("note", "told")
        seen.wait(PATIENCE)

    studio.inbox.put({"do": "after", "work": tell_late})
    slider = tab.at("bone-slider")
    slider.focus()
    before = slider.input_value()
    tab.page.keyboard.press("ArrowRight")
    value = slider.input_value()
    assert value != before
    pressed.set()
    tab.until("document.querySelector('[data-testid=message]')?.innerText === 'told'")
    assert slider.input_value() == value
    seen.set()
    tab.until_state("state.undo === 'turn bone'")
    tab.answered()
    assert float(slider.input_value()) == pytest.approx(tab.studio.document.start.q[0])


def test_the_slider_waits_until_the_joint_is_known(served):
    tab = served("four_bar")
    tab.answered()
    asked = threading.Event()
    tab.studio.inbox.put({"do": "after", "work": lambda: asked.wait(PATIENCE)})
    tab.click("joint-crank")
    assert tab.at("bone-slider").is_disabled()
    asked.set()
    tab.until("!document.querySelector('[data-testid=bone-slider]').disabled")
