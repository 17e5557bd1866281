"""What a first visitor sees: a figure that lives, one line that says what to do, nothing else."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tests.timeouts import PATIENCE
from tests.viewer.test_page_pointers import Hand, joint_on_screen

pytestmark = pytest.mark.long

LEFT_ALONE_MS = 300  # long enough for some frames of a figure that moves
CLOSED = "['left', 'right'].every((side) => document.getElementById(side).offsetParent === null)"


@pytest.fixture
def tab(served):
    """The page of somebody who has not been here before."""
    return served("figure", opened=False)


def is_idling(tab):
    return tab.studio.pose_state.is_idling


def wait_until_idling(tab, *, idles):
    """Wait until the session moves the figure, or does no more."""
    end = time.monotonic() + PATIENCE
    while is_idling(tab) is not idles:
        assert time.monotonic() < end, "it never moved" if idles else "it went on"
        tab.page.wait_for_timeout(30)


def wait_for_motion(tab):
    """Wait until the figure moves by itself."""
    wait_until_idling(tab, idles=True)
    frames = tab.get("window.poise.frames")
    tab.until(f"window.poise.frames > {frames + 5}")


def test_the_figure_moves_and_one_line_says_what_to_do(tab):
    wait_for_motion(tab)
    assert tab.at("hint").inner_text() == "Pull a hand"
    assert tab.at("hint").is_visible()
    assert tab.get(CLOSED)
    for silent in ("status-a", "panel-target", "panel-chains", "clip", "message"):
        assert not tab.at(silent).is_visible()
    ring = tab.page.locator(".hint-ring").bounding_box()
    assert ring is not None
    middle = [ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2]
    assert np.linalg.norm(np.subtract(middle, joint_on_screen(tab, "LeftHand", 0.5))) < 12
    assert not tab.get("window.poise.viewports[0].actor.limits.group.visible")


def test_a_pull_is_followed_and_the_hint_goes(tab):
    wait_for_motion(tab)
    feet = [tab.studio.pose_state.build_view_pose(0).world[foot].positions for foot in ("LeftFoot", "RightFoot")]
    hand = Hand(tab, "mouse")
    hand.drag(*joint_on_screen(tab, "LeftHand", 0.5), [(5 * i, -8 * i) for i in range(1, 9)])
    tab.until("window.poise.state.pulled !== null")
    tab.answered()
    tab.at("hint").wait_for(state="hidden")
    tab.page.locator(".hint-ring").wait_for(state="hidden")
    tab.at("status-a").wait_for(state="visible")
    pose = tab.studio.pose_state.build_view_pose(0)
    np.testing.assert_allclose([pose.world[foot].positions for foot in ("LeftFoot", "RightFoot")], feet, atol=1e-3)
    wait_for_motion(tab)  # it goes on after some seconds, the hand where it was let go
    held = tab.studio.document.find_chain("pull").position
    tip = tab.studio.pose_state.build_view_pose(0).world["LeftHand"]
    offset = tab.studio.document.find_chain("pull").offset
    np.testing.assert_allclose(tip.affine[:, :3] @ offset + tip.affine[:, 3], held, atol=3e-3)


def test_a_press_stops_it_at_once(tab):
    wait_for_motion(tab)
    tab.page.mouse.move(20, 300)
    tab.page.mouse.down()
    wait_until_idling(tab, idles=False)
    tab._heard()
    frames = tab.get("window.poise.frames")
    tab.page.wait_for_timeout(LEFT_ALONE_MS)
    assert tab.get("window.poise.frames") <= frames + 1
    tab.page.mouse.up()


def test_it_stands_still_for_those_who_want_less_motion(tab):
    wait_for_motion(tab)
    tab.page.emulate_media(reduced_motion="reduce")
    tab.pictures()
    tab._heard()
    assert not is_idling(tab)
    tab.page.emulate_media(reduced_motion="no-preference")
    wait_for_motion(tab)


def test_sides_stay_as_they_were_left(tab):
    tab.click("panel-right")
    tab.pictures()
    assert tab.at("panel-target").is_visible()
    assert "Nothing is pulled." in tab.at("panel-target").inner_text()
    tab.page.goto(tab.server.url)
    tab.until("window.poise && window.poise.ready")
    assert tab.at("panel-target").is_visible()
    assert not tab.at("panel-chains").is_visible()


def test_each_scene_says_what_to_try_until_it_was_tried(tab):
    tab.get('window.poise.send({do: "scene", name: "walk_on_hills"})')
    tab.until_state("state.scene === 'walk_on_hills'")
    tab.until("document.querySelector('[data-testid=hint]').textContent.startsWith('Choose another ground')")
    assert tab.at("clip").is_visible()
    tab.pick("terrain", "flat")
    tab.until("document.querySelector('[data-testid=hint]').hidden")
