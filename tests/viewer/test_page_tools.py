"""The tools at the top say what is so: one is pressed at a time, words follow, two rows in a narrow window."""

from __future__ import annotations

import pytest

import poise
from poise.io import samples
from poise.viewer.document.document import build_document

pytestmark = pytest.mark.long

#: Where the middles of all that is seen of the toolbar are, in rows from the top.
ROWS = """
[...document.querySelectorAll(".toolbar > *, .toolbar .tools > *")].filter((one) => one.offsetWidth > 1)
  .map((one) => one.getBoundingClientRect()).map((box) => Math.round((box.top + box.height / 2) / 12))
"""
FACES = """
[...document.querySelectorAll(".view-cube-face")].map((face) => {
  const { color, opacity } = getComputedStyle(face);
  return color === getComputedStyle(document.body).color && opacity === "1";
})
"""


@pytest.fixture
def tab(served):
    return served(build_document(poise.load(samples.path("humanoid.glb")), scope="limbs"))


def pressed(tab):
    """Which of the tools of the gizmo are pressed."""
    names = ("move", "turn", "bone")
    return {name for name in names if tab.at(f"gizmo-{name}").get_attribute("aria-pressed") == "true"}


def test_moving_turning_and_bones_take_turns(tab):
    assert pressed(tab) == {"move"}
    tab.click("joint-LeftArm")
    tab.click("gizmo-bone")
    tab.until("window.poise.viewports[0].gizmo.active === 'bone'")
    assert pressed(tab) == {"bone"}
    tab.click("gizmo-move")
    tab.until("window.poise.viewports[0].gizmo.active !== 'bone'")
    assert pressed(tab) == {"move"}
    tab.key("t")
    assert pressed(tab) == {"bone"}
    tab.key("w")
    assert pressed(tab) == {"move"}


def test_a_free_root_is_moved_or_turned(served):
    rig = poise.load(samples.path("humanoid.glb"))
    free = rig.skeleton.with_free_root()
    tab = served(build_document(rig.with_skeleton(free)))
    root = free.names[[int(kind) for kind in free.kinds].index(int(poise.Kind.FREE))]
    tab.click(f"joint-{root}")
    tab.key("t")
    tab.until("window.poise.viewports[0].gizmo.active === 'bone'")
    for name, mode in (("move", "translate"), ("turn", "rotate")):
        tab.click(f"gizmo-{name}")
        tab.until(f"window.poise.viewports[0].gizmo.controls.mode === '{mode}'")
        assert pressed(tab) == {name, "bone"}


def test_words_for_screen_readers_follow(tab):
    words = lambda name: [tab.at(name).get_attribute(which) for which in ("title", "aria-label")]  # noqa: E731
    assert words("undo") == ["Nothing to undo"] * 2
    assert "no rotation" in words("gizmo-turn")[1]
    tab.pick("solver-a", "ccd")
    tab.until_state("state.undo !== null")
    title, label = words("undo")
    assert title == label
    assert title.startswith("Undo: ")


@pytest.mark.parametrize("keys", ["Control+z", "Control+Shift+z"])
def test_a_key_with_nothing_left_is_answered_quietly(tab, keys):
    tab.key(keys)
    tab.until("document.querySelector('[data-testid=message]') !== null")
    assert tab.at("message").get_attribute("data-level") == "note"
    assert tab.messages_shown() == [f"there is nothing to {'redo' if 'Shift' in keys else 'undo'}"]


def test_options_of_two_methods_are_distinguished(served):
    tab = served("two_methods")
    tab.unfold()
    titles = [tab.at(f"options-of-{letter}").inner_text() for letter in "ab"]
    chosen = [tab.at(f"solver-{letter}").evaluate("(list) => list.selectedOptions[0].text") for letter in "ab"]
    assert titles == chosen
    assert titles[0] != titles[1]


@pytest.mark.parametrize("name", ["biped", "walk_on_hills", "two_methods"])
def test_a_narrow_window_has_two_rows_of_tools_and_the_name(served, name):
    tab = served(name, width=400, height=800)
    assert len(set(tab.get(ROWS))) == 2
    box = tab.at("rig-name").bounding_box()
    assert box["width"] >= 40
    assert tab.at("rig-name").inner_text()
    assert tab.at("gizmo-bone").bounding_box()["height"] >= 32  # for fingers


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_the_sides_of_the_cube_are_as_clear_as_other_text(served, scheme):
    tab = served("biped", scheme=scheme)
    assert tab.get(FACES) == [True] * 6
