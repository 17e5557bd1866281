"""Everything is done by keys alone: every key of the two tables does what it says, and Tab reaches every control."""

from __future__ import annotations

import json

import numpy as np
import pytest

import poise
from poise import samples
from poise.maths import rotations
from poise.viewer.document.document import build_document

pytestmark = pytest.mark.long

VIEW = "window.poise.viewports[0]"
LET_GO = f"{VIEW}.keys.held === null && {VIEW}.actor.handles.dragged === null"  # a drag by keys ends by itself
CAMERA = f"[{VIEW}.camera.position.toArray(), {VIEW}.view.controls.target.toArray()]"
TABLES = """
Promise.all([import("poise/commands/shortcuts.js"), import("poise/commands/stage_keys.js")])
  .then(([{SHORTCUTS}, {STAGE_KEYS}]) => [SHORTCUTS, STAGE_KEYS])
"""
NAMES = {"Ctrl": "Control", "Left": "ArrowLeft", "Right": "ArrowRight", "Up": "ArrowUp", "Down": "ArrowDown",
         "Esc": "Escape"}  # fmt: skip

#: What each command changes in the page, beside the keys that come first. A new command needs an entry.
EFFECTS = {
    "gizmo": (f"{VIEW}.gizmo.mode", {"move": ["e"], "turn": []}),
    "space": (f"{VIEW}.gizmo.space", {}),
    "turnBones": (f"{VIEW}.bone.joint?.name", {}),
    "pin": ("window.poise.state.chains.filter(({kind}) => kind === 'pin').length", {}),
    "focusView": ("document.activeElement.className", {}),
    "step": ("window.poise.state.run", {}),
    "reset": ("window.poise.state.undo", {}),
    "countViews": ("window.poise.state.views", {1: ["2"]}),
    "frameAll": (CAMERA, {None: ["."]}),
    "frameSelected": (CAMERA, {}),
    "lookFrom": (CAMERA, {}),
    "through": (f"{VIEW}.show.through", {}),
    "ghost": (f"{VIEW}.show.ghost", {}),
    "play": ("window.poise.state.playing", {}),
    "key": ("document.querySelector('[data-testid=key]').ariaPressed", {}),
    "scrub": ("window.poise.frame.time", {}),
    "undo": ("window.poise.state.redo", {None: ["s"]}),
    "redo": ("window.poise.state.redo", {None: ["s", "Control+z"]}),
    "search": ("document.activeElement.dataset.testid", {}),
    "unselect": ("window.poise.selected", {}),
    "help": ("document.querySelector('[data-testid=help-sheet]').open", {}),
}

#: Commands that need a race or planted feet.
PRESSED_ELSEWHERE = {"race", "badFrame"}

#: The controls that are to be seen and take input; those of a group of choices count as one.
CONTROLS = """
() => [...document.querySelectorAll("button, input, select, textarea, summary, [tabindex='0']")]
  .filter((each) => each.checkVisibility({visibilityProperty: true}) && !each.disabled && each.tabIndex >= 0)
  .map((each) => each.dataset.testid ?? each.getAttribute("aria-label") ?? each.textContent)
"""
FOCUSED = """
() => {
  const each = document.activeElement;
  const style = getComputedStyle(each);
  const seen = (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1) || each.matches(".edge");
  return [each.dataset.testid ?? each.getAttribute("aria-label") ?? each.textContent, seen, each === document.body];
}
"""


def press(tab, keys):
    """Press keys as the tables write them."""
    parts = ["+"] if keys == "+" else keys.split("+")
    tab.page.keyboard.press("+".join(NAMES.get(part, part.lower() if len(part) == 1 else part) for part in parts))


@pytest.fixture
def body(served):
    """The bundled humanoid as a whole body, its view in focus and its left hand chosen, by keys alone."""
    tab = served(build_document(poise.load(samples.path("humanoid.glb"))))
    tab.answered()
    press(tab, "A")
    choose(tab, "LeftHand")
    return tab


def choose(tab, part):
    for _ in range(40):
        press(tab, "C")
        if tab.until("window.poise.selected") == part:
            return
    raise AssertionError(f"{part} was never chosen")


def read_hand(tab):
    tab.answered()
    return tab.studio.pose_state.build_view_pose(0).world["LeftHand"]


def find_picture_axes(tab):
    """To the right, upwards and towards who looks, in the world."""
    rotation = np.array(tab.get(f"{VIEW}.camera.quaternion.toArray()"))[[3, 0, 1, 2]]
    return rotations.as_matrix(rotation).T


def test_a_part_is_chosen_moved_and_let_go_by_keys(body):
    before, axes, size = read_hand(body).positions, find_picture_axes(body), body.model["size"]
    for keys, axis, sign in (("Right", 0, 1), ("Up", 1, 1), ("PageDown", 2, 1), ("Left", 0, -1), ("Down", 1, -1),
                             ("PageUp", 2, -1)):  # fmt: skip
        press(body, keys)
        body.until_state("state.pulled === 'pull'")
        body.until(LET_GO)
        after = read_hand(body).positions
        np.testing.assert_allclose(after - before, sign * 0.01 * size * axes[axis], atol=2e-3 * size)
        before = after
    body.key("Control+z")
    body.until_state("state.redo !== null")


def test_presses_that_follow_each_other_are_one_step_of_undo(body):
    start = read_hand(body).positions
    for _ in range(6):
        press(body, "Up")
    body.until(LET_GO)
    assert np.linalg.norm(read_hand(body).positions - start) > 0.04 * body.model["size"]
    body.key("Control+z")
    body.until_state("state.undo === null")


def test_a_part_is_turned_and_pinned_by_keys(body):
    for keys in ("Ctrl+Left", "Ctrl+Up", "Ctrl+Right", "Ctrl+Down"):
        before = read_hand(body).rotations
        for _ in range(5):
            press(body, keys)
        body.until(LET_GO)
        turn = rotations.multiply(read_hand(body).rotations, rotations.inverse(before))
        assert abs(np.linalg.norm(rotations.as_vector(turn)) - np.radians(10)) < 0.03, keys
    press(body, "P")
    body.until_state("state.chains.some(({kind, tip}) => kind === 'pin' && tip === 'LeftHand')")


def test_the_camera_is_moved_by_keys(body):
    _, stage_keys = body.get(TABLES)
    for key in stage_keys:
        if key["act"] in ("orbit", "pan", "zoom"):
            before = body.get(CAMERA)
            press(body, key["keys"].partition(" or ")[0])
            assert body.get(CAMERA) != before, key["text"]


def test_a_target_is_chosen_and_moved_by_keys(served):
    tab = served("two_methods")
    tab.answered()
    press(tab, "A")
    press(tab, "C")
    name = tab.until(f"{VIEW}.gizmo.active").partition(":")[2]
    before = tab.chain(name)["position"]
    for _ in range(3):
        press(tab, "Up")
    tab.until(LET_GO)
    tab.answered()
    moved = np.linalg.norm(np.subtract(tab.chain(name)["position"], before))
    assert abs(moved - 0.03 * tab.model["size"]) < 1e-3 * tab.model["size"]
    assert tab.state["undo"] == "move target"


def test_every_shortcut_does_something(served):
    rig = poise.load(samples.path("humanoid.glb"))
    tab = served(build_document(rig, clip_name=rig.clips[0].name, scope="limbs"))
    shortcuts, _ = tab.get(TABLES)
    assert {each["command"] for each in shortcuts} == {*EFFECTS, *PRESSED_ELSEWHERE}
    press(tab, "Space")
    tab.until_state("!state.playing")
    for each in shortcuts:
        if each["command"] in PRESSED_ELSEWHERE:
            continue
        tab.get("document.activeElement.blur()")
        tab.click("joint-LeftHand")
        tab.get("document.activeElement.blur()")
        effect, first = EFFECTS[each["command"]]
        for keys in first.get(each.get("value"), []):
            tab.page.keyboard.press(keys)
            tab.answered()
        before = tab.get(f"JSON.stringify({effect} ?? null)")
        press(tab, each["keys"].partition(" or ")[0])
        assert tab.until(f"JSON.stringify({effect} ?? null) !== {json.dumps(before)}"), each
        tab.page.keyboard.press("Escape")
        tab.answered()


@pytest.mark.parametrize("width", [400, 1200])
def test_tab_reaches_every_control_and_shows_where_it_is(served, width):
    tab = served(build_document(poise.load(samples.path("humanoid.glb"))))
    tab.answered()
    tab.resize(width, 800)
    tab.unfold()
    wanted, reached, unseen = set(tab.get(CONTROLS)), set(), set()
    for _ in range(2 * len(wanted) + 40):
        tab.page.keyboard.press("Tab")
        name, seen, is_body = tab.get(FOCUSED)
        if is_body:
            continue
        reached.add(name)
        if not seen:
            unseen.add(name)
    assert wanted - reached == set()
    assert unseen == set()


def test_what_is_chosen_and_reached_is_said(body):
    body.until("document.querySelector('[data-testid=announcer]').textContent.includes('LeftHand is chosen')")
    press(body, "Up")
    body.until("document.querySelector('[data-testid=announcer]').textContent.includes('eached')")


@pytest.mark.parametrize("width", [400, 560, 760, 1120, 1600, 2560])
def test_nothing_is_cut_or_too_small_to_touch(served, width):
    tab = served(build_document(poise.load(samples.path("humanoid.glb"))))
    tab.answered()
    tab.resize(width, 900)
    assert tab.get("document.documentElement.scrollWidth <= innerWidth")
    small = tab.get("""
      [...document.querySelectorAll("#toolbar button, #timeline button")].filter((each) => each.checkVisibility())
        .map((each) => [each.dataset.testid, each.getBoundingClientRect()])
        .filter(([, {width, height}]) => width < 24 || height < 24).map(([name]) => name)
    """)
    assert small == []
