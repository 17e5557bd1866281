"""The timeline: clips, playing, scrubbing, speed, ground, planted feet and their bars."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.viewer.document.document import build_document
from tests.viewer.browser import assert_shown_is_solved

pytestmark = pytest.mark.long

TIME = "window.poise.frame.time"


@pytest.fixture
def tab(served):
    """The bundled walk, shown and resting, its limbs left alone."""
    rig = poise.load(samples.path("humanoid.glb"))
    return served(build_document(rig, chains=(), clip_name=rig.clips[0].name))


@pytest.fixture
def resting(tab):
    if tab.state["playing"]:
        tab.click("play")
        tab.until_state("!state.playing")
    tab.answered()
    return tab


def test_a_clip_plays_and_rests(resting):
    tab = resting
    assert tab.get(TIME) == pytest.approx(tab.studio.pose_state.playhead.time, abs=1e-3)
    tab.click("play")
    tab.until_state("state.playing")
    observed = {tab.get(TIME) for _ in range(3) if tab.until(f"{TIME} !== {tab.get(TIME)}")}
    assert len(observed) > 1
    tab.key("Space")
    tab.until_state("!state.playing")
    assert_shown_is_solved(tab)
    clip = tab.studio.document.rig.clips[0]
    at = clip.at(tab.studio.pose_state.playhead.time).world.positions
    np.testing.assert_allclose(tab.studio.pose_state.build_view_pose(0).world.positions, at, atol=1e-9)


def test_scrubbing_shows_the_pose_of_that_time(resting):
    tab = resting
    tab.at("seek").evaluate("(e) => { e.value = 0.5; e.dispatchEvent(new Event('input')); }")
    tab.until(f"Math.abs({TIME} - 0.5) < 1e-6")
    assert "0.50 /" in tab.at("clock").inner_text()
    assert_shown_is_solved(tab)
    fps = tab.state["clips"][0]["fps"]
    for key, frames in (("ArrowRight", 1), ("Shift+ArrowRight", 10), ("ArrowLeft", -1), ("Shift+ArrowLeft", -10)):
        time = tab.get(TIME)
        tab.key(key)
        tab.until(f"Math.abs({TIME} - {time + frames / fps}) < 1e-3")
    tab.click("to-start")
    tab.until(f"{TIME} === 0")
    box = tab.at("seek").bounding_box()
    tab.page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + box["height"] / 2)
    tab.until(f"Math.abs({TIME} / window.poise.state.duration - 0.5) < 0.05")


def test_the_speed_is_chosen(resting):
    tab = resting
    for value in ("0.25", "2"):
        tab.pick("speed", value)
        tab.until_state(f"state.speed === {value}")
        assert tab.studio.pose_state.playhead.speed == float(value)


def test_clips_are_chosen_and_left(resting):
    tab = resting
    name = tab.state["clip"]
    tab.undone_and_redone(lambda: tab.pick("clip", ""), "state.clip === null")
    assert tab.at("play").is_disabled()
    tab.undone_and_redone(lambda: tab.pick("clip", name), f"state.clip === {name!r}")
    assert tab.at("play").is_enabled()
    assert_shown_is_solved(tab)


def test_ground_is_chosen_in_the_list_and_in_words(resting):
    tab = resting
    offered = tab.get("[...document.querySelectorAll('[data-testid=terrain] option')].map(({value}) => value)")
    offered = [words for words in offered if words not in ("", "...")]
    assert len(offered) > 2
    for words in offered:
        tab.undone_and_redone(lambda words=words: tab.pick("terrain", words), f"state.terrain === {words!r}")
    tab.undone_and_redone(lambda: tab.pick("terrain", ""), "state.terrain === null")
    tab.pick("terrain", "...")
    tab.undone_and_redone(lambda: tab.type("terrain-words", "slope:12"), "state.terrain === 'slope:12'")
    tab.pick("terrain", "...")
    tab.type("terrain-words", "swamp")
    tab.until("document.querySelector('[data-testid=message][data-level=error]')")
    assert "swamp" in tab.messages_shown()[0]


def test_feet_are_planted(resting):
    tab = resting
    tab.pick("terrain", "...")
    tab.type("terrain-words", "stairs:0.1,0.5")
    tab.until_state("state.terrain === 'stairs:0.1,0.5'")
    tab.at("contacts").wait_for(state="hidden")
    tab.at("plant").check()
    tab.until_state("state.plant && state.contacts.length === 2")
    for foot in ("left", "right"):
        row = tab.at("contacts").locator(".contact-row", has_text=foot)
        bars = [bar.bounding_box() for bar in row.locator(".bar").all()]
        intervals = next(each["intervals"] for each in tab.state["contacts"] if each["foot"] == foot)
        assert len(bars) == len(intervals) > 0
        whole, seconds = row.bounding_box(), tab.state["duration"]
        for bar, (start, end) in zip(bars, intervals, strict=True):
            assert (bar["x"] - whole["x"]) / whole["width"] == pytest.approx(start / seconds, abs=0.01)
            assert bar["width"] / whole["width"] == pytest.approx((end - start) / seconds, abs=0.01)
    assert_shown_is_solved(tab)
    planted = tab.studio.pose_state.build_view_pose(0).world.positions
    tab.at("plant").uncheck()
    tab.until_state("!state.plant")
    tab.answered()
    tab.at("contacts").wait_for(state="hidden")
    assert np.abs(tab.studio.pose_state.build_view_pose(0).world.positions - planted).max() > 1e-3
    tab.click("undo")
    tab.until_state("state.plant && state.contacts.length === 2")


def test_bad_frames_are_marked_and_gone_to(resting):
    tab = resting
    tab.pick("terrain", "...")
    tab.type("terrain-words", "stairs:0.3,0.2")
    tab.until_state("state.terrain === 'stairs:0.3,0.2'")
    tab.at("plant").check()
    tab.until_state("state.bad?.length > 3")
    bad = tab.state["bad"]
    assert tab.at("bad-mark").count() == len(bad)
    tab.click("to-start")
    tab.until(f"{TIME} === 0")
    tab.at("bad-mark").nth(2).click()
    tab.until(f"Math.abs({TIME} - {bad[2]['from']}) < 1e-5")
    assert tab.at("bad-words").inner_text() == f"3 of {len(bad)}: {bad[2]['text']}"
    for key, wanted in (("n", 3), ("Shift+N", 2), ("Shift+N", 1)):
        tab.key(key)
        tab.until(f"Math.abs({TIME} - {bad[wanted]['from']}) < 1e-5")
        assert bad[wanted]["text"] in tab.at("bad-words").inner_text()
    tab.at("plant").uncheck()
    tab.at("bad-frames").wait_for(state="hidden")


def test_uneven_ground_says_its_contour_lines(resting):
    tab = resting
    contours = tab.page.locator(".contours")
    lines = "let found = false; window.poise.viewports[0].ground.terrain.traverse((each) => (found ||= each.isLine));"
    for words, is_uneven, has_edges in (
        ("slope:10", True, False),
        ("stairs:0.15,0.30", True, True),
        ("flat", False, False),
    ):
        tab.pick("terrain", words)
        tab.until_state(f"state.terrain === {words!r}")
        contours.wait_for(state="visible" if is_uneven else "hidden")
        assert not is_uneven or contours.inner_text() == "contour lines every 50 mm, thick ones every 250 mm"
        assert (tab.get(f"(() => {{ {lines} return found === true; }})()") is True) == has_edges


def test_a_rig_without_clips_says_so(served):
    tab = served("ccd")
    assert tab.at("clip").is_disabled()
    assert "no clip in this rig" in tab.at("clip").inner_text()
    for control in ("play", "plant"):
        assert tab.at(control).is_disabled()


def test_chains_are_solved_over_a_clip(resting):
    tab = resting
    tab.unfold()
    tab.pick("chain-root", "LeftArm")
    tab.pick("chain-tip", "LeftHand")
    tab.click("chain-add")
    tab.until_state("state.chains.length === 1")
    position = tab.studio.document.chains[0].position
    for time in (0.2, 0.6):
        tab.at("seek").evaluate(f"(e) => {{ e.value = {time}; e.dispatchEvent(new Event('input')); }}")
        tab.until(f"Math.abs({TIME} - {time}) < 1e-6")
        answer = tab.answered()["views"][0]
        hand = tab.studio.pose_state.build_view_pose(0).world["LeftHand"].positions
        if answer["status"] == "reached":
            np.testing.assert_allclose(hand, position, atol=2e-3)
        assert_shown_is_solved(tab)


def test_quick_steps_lose_no_frame(resting):
    tab = resting
    tab.click("to-start")
    tab.until(f"{TIME} === 0")
    fps = tab.state["clips"][0]["fps"]
    tab.get("document.activeElement.blur()")
    for _ in range(12):
        tab.page.keyboard.press("ArrowRight", delay=0)
    tab.until(f"Math.abs({TIME} - {12 / fps}) < 1e-3")
    assert f"frame {13} /" in tab.at("clock").inner_text()


def test_a_hand_on_the_slider_pauses_and_keeps_its_place(resting):
    tab = resting
    tab.click("play")
    tab.until_state("state.playing")
    box = tab.at("seek").bounding_box()
    x, y = box["x"] + 0.6 * box["width"], box["y"] + box["height"] / 2
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    tab.until_state("!state.playing")
    tab.answered()
    share = float(tab.at("seek").input_value()) / tab.state["duration"]
    assert share == pytest.approx(0.6, abs=0.05)
    tab.page.mouse.up()
    tab.until(f"Math.abs({TIME} / window.poise.state.duration - {share}) < 1e-3")
    tab.key("Space")
    tab.until_state("state.playing")
    tab.key("ArrowLeft")
    tab.until_state("!state.playing")


def test_steps_end_with_the_clip(resting):
    tab = resting
    tab.at("seek").evaluate("(e) => { e.value = e.max; e.dispatchEvent(new Event('input')); }")
    tab.key("Shift+ArrowRight")
    tab.until(f"Math.abs({TIME} - window.poise.state.duration) < 1e-3")
    tab.key("ArrowLeft")
    tab.until(f"{TIME} < window.poise.state.duration - 1e-3")


def test_the_timeline_keeps_its_height_where_a_clip_is_left(resting):
    tab = resting
    height = "document.querySelector('.timeline').offsetHeight"
    before, name = tab.get(height), tab.state["clip"]
    tab.pick("clip", "")
    tab.until_state("state.clip === null")
    assert not tab.at("seek").is_visible()
    assert tab.get(height) == before
    tab.pick("clip", name)
    tab.until_state("state.clip !== null")
    assert tab.get(height) == before


def test_a_figure_that_opens_without_a_clip_has_no_room_for_one(served):
    rig = poise.load(samples.path("humanoid.glb"))
    tab = served(build_document(rig, chains=()))
    assert tab.state["clips"]
    assert tab.state["clip"] is None
    assert tab.get("document.querySelector('.timeline').offsetHeight") < 60
