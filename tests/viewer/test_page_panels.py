"""The panels at the right and the tools at the top: modes, running, views, what is drawn, theme, help, keys."""

from __future__ import annotations

import threading

import pytest

import poise
from poise.io import samples
from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import build_document
from tests.timeouts import PATIENCE
from tests.viewer.browser import assert_shown_is_solved

pytestmark = pytest.mark.long


def test_modes_are_switched(served):
    tab = served("ccd")
    for mode in ("hinge", "limits", "plain"):
        tab.undone_and_redone(lambda mode=mode: tab.click(f"mode-{mode}"), f"state.mode === {mode!r}")
        assert tab.at(f"mode-{mode}").get_attribute("aria-pressed") == "true"
        assert_shown_is_solved(tab)


def test_anatomical_limits_are_switched(served):
    """Joints without a limit get that of people, others keep theirs; switched off, all is as it was."""
    tab = served(build_document(poise.load(samples.path("humanoid.glb")), scope="limbs"))
    had = set(tab.state["limits"])
    switch = tab.at("anatomical")
    assert not switch.is_checked()
    tab.undone_and_redone(switch.check, "state.anatomical.on")
    assert switch.is_checked()
    tab.click("mode-plain")
    tab.until_state("state.mode === 'plain'")
    assert {"LeftUpLeg", "RightUpLeg", "Spine"} | had <= set(tab.state["limits"])
    tab.click("mode-limits")
    tab.until_state("state.mode === 'limits'")
    assert_shown_is_solved(tab)
    tab.click("joint-RightUpLeg")
    tab.until("document.querySelector('[data-testid=limit-type]').value === 'swing_twist'")
    switch.uncheck()
    tab.until_state("!state.anatomical.on")
    assert set(tab.state["limits"]) == had
    assert_shown_is_solved(tab)


def test_a_state_from_before_a_click_does_not_undo_it(served):
    """It was begun by something else, such as the preparation of drags, while the click was on its way."""
    tab = served(build_document(poise.load(samples.path("humanoid.glb")), scope="limbs"))
    tab.answered()
    studio, clicked, seen = tab.studio, threading.Event(), threading.Event()

    def tell_late():
        clicked.wait(PATIENCE)
        studio._send_state_now()
        studio.show_message("note", "told")
        seen.wait(PATIENCE)

    studio.inbox.put({"do": "after", "work": tell_late})
    switch = tab.at("anatomical")
    switch.click()
    clicked.set()
    tab.until("document.querySelector('[data-testid=message]')?.innerText === 'told'")
    assert switch.is_checked()
    seen.set()
    tab.until_state("state.anatomical.on")
    assert switch.is_checked()


def test_a_refused_change_is_taken_back_on_the_page(served):
    tab = served("ccd")
    tab.answered()
    before = tab.state["revision"]
    tab.get("window.poise.send({ do: 'tolerance', value: -1 })")
    tab.until_state(f"state.revision > {before}")
    tab.until("document.querySelector('[data-testid=message]')")


def test_what_is_no_person_has_no_anatomical_limits_and_a_reason(served):
    tab = served("robot_arm")
    switch = tab.at("anatomical")
    assert switch.is_disabled()
    title = switch.evaluate("(box) => box.closest('label').title")
    assert title.startswith("anatomical limits need known arms and legs")


def test_a_mode_that_makes_no_difference_says_why(served):
    tab = served("two_methods")
    for mode in ("hinge", "limits"):
        assert tab.at(f"mode-{mode}").is_disabled()
        assert "no joint has" in tab.at(f"mode-{mode}").get_attribute("title")


def test_one_iteration_at_a_time(served):
    tab = served("ccd")
    tab.unfold()
    tab.type("option-a-iterations", "")
    tab.click("reset")
    tab.click("step")
    tab.until_state("state.run === 'step'")
    curve = tab.answered()["views"][0]["errors"] or []
    for _ in range(3):
        tab.click("step")
    tab.until(f"(window.poise.answer.views[0].errors ?? []).length >= {len(curve) + 3}")
    errors = tab.answered()["views"][0]["errors"]
    assert errors == sorted(errors, reverse=True)
    assert_shown_is_solved(tab)


def test_iterating_runs_to_the_end_and_live_solves_at_once(served):
    tab = served("two_methods")
    tab.undone_and_redone(lambda: tab.click("run-iterate"), "state.run === 'iterate'")
    tab.click("reset")
    tab.until("window.poise.answer.views.every((view) => view.status === 'reached' && view.errors?.length > 2)")
    tab.click("run-live")
    tab.until_state("state.run === 'live'")
    assert all(view["status"] == "reached" for view in tab.answered()["views"])


def test_reset_comes_back_to_the_start_and_is_undone(served):
    tab = served("ccd")
    tab.click("step")  # from here nothing is solved by itself
    tab.until_state("state.run === 'step'")
    tab.answered()
    solved = tab.studio.pose_state.displayed_q[0].copy()
    tab.click("reset")
    tab.until_state("state.undo === 'reset'")
    tab.answered()
    start = tab.studio.document.solver_start.q
    assert (tab.studio.pose_state.displayed_q[0] == start).all()
    tab.click("undo")
    tab.until_state("state.undo !== 'reset'")
    tab.answered()
    assert (tab.studio.pose_state.displayed_q[0] == solved).all()
    assert_shown_is_solved(tab)


def test_the_pose_shown_becomes_the_start(served):
    tab = served("ccd")
    tab.answered()
    shown = tab.studio.pose_state.displayed_q[0][0].copy()
    tab.click("keep-start")
    tab.until_state("state.undo !== null")
    tab.answered()
    assert (tab.studio.document.start.q == shown).all()
    tab.click("undo")
    tab.until_state("state.undo === null")
    assert not (tab.studio.document.start.q == shown).all()


def test_how_it_solves_is_set(served):
    tab = served("biped")
    tab.unfold()
    tab.undone_and_redone(lambda: tab.type("tolerance", "0.05"), "state.tolerance === 0.05")
    tab.undone_and_redone(lambda: tab.type("tolerance", ""), "state.tolerance === null")
    tab.undone_and_redone(lambda: tab.click("from-start"), "state.from === 'start'")
    tab.undone_and_redone(lambda: tab.click("from-last"), "state.from === 'last'")
    tab.undone_and_redone(lambda: tab.at("free-root").uncheck(), "!state.free_root")
    assert_shown_is_solved(tab)


def test_one_and_two_views(served):
    tab = served("ccd")
    tab.click("views-2")
    tab.until_state("state.views === 2 && state.undo === null")  # a look is no step of undo
    tab.until("window.poise.viewports.length === 2 && window.poise.ready")
    tab.at("solver-b").wait_for()
    tab.at("status-b").wait_for()
    assert_shown_is_solved(tab)
    tab.key("1")
    tab.until_state("state.views === 1")
    tab.until("window.poise.viewports.length === 1")
    tab.at("solver-b").wait_for(state="hidden")
    tab.key("2")
    tab.until_state("state.views === 2")
    assert_shown_is_solved(tab)


def test_six_views_have_a_method_each(served):
    tab = served("ccd")
    tab.key("6")
    tab.until("window.poise.viewports.length === 6 && window.poise.answer.views.length === 6 && window.poise.ready")
    for letter in "abcdef":
        tab.at(f"solver-{letter}").wait_for()
        tab.at(f"status-{letter}").wait_for()
    assert tab.at("views-more").is_disabled()
    assert_shown_is_solved(tab)
    tab.click("views-fewer")
    tab.until_state("state.views === 5")
    tab.until("window.poise.viewports.length === 5")


SHOWN = ("bones", "skin", "through", "axes", "limits", "ghost", "trail", "grid", "shadows")


def test_what_is_drawn_is_switched(served):
    tab = served("ccd_hinge_range", drawn=True, width=700, height=500)
    tab.click("show-menu")
    for what in SHOWN:
        before = tab.at(f"show-{what}").is_checked()
        tab.at(f"show-{what}").click()
        assert tab.get(f"window.poise.viewports[0].show.{what}") != before
        tab.at(f"show-{what}").click()
        assert tab.get(f"window.poise.viewports[0].show.{what}") == before
    tab.at("skin-opacity").fill("0.3")
    assert tab.get("window.poise.viewports[0].show.skinOpacity") == 0.3
    tab.page.keyboard.press("Escape")
    pictures = [picture(tab)]
    for what in ("bones", "grid", "axes", "ghost", "limits"):
        tab.click("show-menu")
        tab.at(f"show-{what}").click()
        tab.page.keyboard.press("Escape")
        pictures.append(picture(tab))
    assert len(set(pictures)) == len(pictures)


def picture(tab):
    """The first view as text."""
    return tab.get(
        """async () => {
          const blob = await window.poise.viewports[0].snapshot();
          return [...new Uint8Array(await blob.arrayBuffer())].reduce((sum, x) => (31 * sum + x) % 2147483647, 7);
        }"""
    )


def test_what_is_chosen_to_be_drawn_is_kept(served):
    tab = served("five_axes")
    tab.key("g")
    ghost = tab.get("window.poise.viewports[0].show.ghost")
    tab.click("gizmo-turn")
    tab.click("theme")
    theme = tab.get("document.documentElement.dataset.theme")
    tab.page.reload()
    tab.until("window.poise && window.poise.ready")
    assert tab.get("window.poise.viewports[0].show.ghost") == ghost
    assert tab.at("gizmo-turn").get_attribute("aria-pressed") == "true"
    assert tab.get("document.documentElement.dataset.theme") == theme


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_the_theme_follows_the_system_until_it_is_chosen(served, scheme):
    tab = served("ccd", scheme=scheme)
    theme = "document.documentElement.dataset.theme"
    assert tab.get(theme) == scheme
    other = {"dark": "light", "light": "dark"}[scheme]
    tab.page.emulate_media(color_scheme=other)
    tab.until(f"{theme} === {other!r}")
    observed = set()
    for _ in range(3):
        tab.click("theme")
        observed.add(tab.get(theme))
    assert observed == {"dark", "light"}


def test_panels_fold_and_sides_hide(served):
    tab = served("ccd", width=1400, height=900)
    for name in ("outliner", "chains", "limits", "solver", "target", "convergence"):
        panel = tab.at(f"panel-{name}")
        panel.locator("> summary").click()
        assert panel.get_attribute("open") is None
        panel.locator("> summary").click()
        assert panel.get_attribute("open") is not None
    wide = tab.get("window.poise.viewports[0].stage.canvas.clientWidth")
    for side in ("left", "right"):
        tab.click(f"panel-{side}")
    tab.until(f"window.poise.viewports[0].stage.canvas.clientWidth > {wide + 400}")
    tab.at("solver-a").wait_for(state="hidden")


def test_help_lists_every_key(served):
    tab = served("ccd")
    tab.click("help")
    sheet = tab.at("help-sheet")
    sheet.wait_for()
    for key in (
        "W",
        "E",
        "P",
        "S",
        "R",
        "1",
        "2",
        "F",
        "B",
        "G",
        "Space",
        "Ctrl+Z",
        "Ctrl+Shift+Z",
        "Ctrl+Y",
        "/",
        "Esc",
        "H",
        "?",
    ):
        sheet.locator("kbd", has_text=key).first.wait_for()
    tab.page.keyboard.press("Escape")
    sheet.wait_for(state="hidden")
    for key in ("h", "?"):
        tab.key(key)
        sheet.wait_for()
        tab.page.keyboard.press(key)
        sheet.wait_for(state="hidden")


def test_every_key_does_what_the_sheet_says(served):
    rig = poise.load(samples.path("humanoid.glb"))
    chain = build_chain(rig.pose, "hand", "LeftArm", "LeftHand", "place")
    tab = served(build_document(rig, chains=(chain,)))
    gizmo = "window.poise.viewports[0].gizmo.mode"
    tab.pick(f"chain-{tab.state['chains'][0]['id']}-kind", "place")
    tab.until_state("state.chains[0].kind === 'place'")
    tab.key("e")
    assert tab.get(gizmo) == "turn"
    tab.key("w")
    assert tab.get(gizmo) == "move"
    tab.key("x")
    assert tab.get("window.poise.viewports[0].gizmo.controls.space") == "local"
    assert tab.at("gizmo-local").get_attribute("aria-pressed") == "true"
    tab.click("joint-LeftFoot")
    tab.key("p")
    tab.until_state("state.chains.some(({kind}) => kind === 'pin')")
    tab.key("Escape")
    assert tab.get("window.poise.selected") is None
    tab.key("s")
    tab.until_state("state.run === 'step'")
    tab.key("r")
    tab.until_state("state.undo === 'reset'")
    tab.key("Control+z")
    tab.until_state("state.redo === 'reset'")
    tab.key("Control+y")
    tab.until_state("state.undo === 'reset'")
    tab.key("Control+z")
    tab.key("Control+Shift+Z")
    tab.until_state("state.undo === 'reset' && state.redo === null")
    ghost = tab.get("window.poise.viewports[0].show.ghost")
    tab.key("g")
    assert tab.get("window.poise.viewports[0].show.ghost") != ghost
    assert not tab.get("window.poise.viewports[0].show.through")
    tab.key("b")
    assert tab.get("window.poise.viewports[0].show.through")
    tab.key("/")
    assert tab.get("document.activeElement.dataset.testid") == "outliner-search"
    tab.page.keyboard.type("gse1")  # words, not commands
    assert tab.at("outliner-search").input_value() == "gse1"
    tab.page.keyboard.press("Escape")
    assert tab.get("document.activeElement.dataset.testid") != "outliner-search"
    assert tab.messages_shown() == []


def test_the_camera_orbits_pans_zooms_and_comes_back(served):
    tab = served("ccd")
    state = "JSON.stringify(window.poise.viewports[0].view.readState())"
    box = tab.at("view-a").bounding_box()
    x, y = box["x"] + 30, box["y"] + box["height"] - 30  # where nothing is drawn
    observed = [tab.get(state)]
    for button in ("left", "right"):
        tab.page.mouse.move(x, y)
        tab.page.mouse.down(button=button)
        tab.page.mouse.move(x + 40, y - 20)
        tab.page.mouse.up(button=button)
        observed.append(tab.get(state))
    tab.page.mouse.wheel(0, -300)
    tab.until(f"{state} !== {observed[-1]!r}")
    observed.append(tab.get(state))
    tab.key("f")
    tab.until(f"{state} !== {observed[-1]!r}")
    tab.click("frame-all")
    assert len(set(observed)) == len(observed)
    assert tab.get("window.poise.selected") is None
    assert tab.state["undo"] is None


def test_fingers_orbit_and_zoom(served):
    tab = served("ccd", new=True)
    client = tab.context.new_cdp_session(tab.page)
    state = "JSON.stringify(window.poise.viewports[0].view.readState())"
    box = tab.at("view-a").bounding_box()
    x, y = box["x"] + 40, box["y"] + box["height"] - 60

    def touch(kind, *points):
        places = [{"x": px, "y": py, "id": i} for i, (px, py) in enumerate(points)]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    before = tab.get(state)
    touch("touchStart", (x, y))
    touch("touchMove", (x + 50, y + 10))
    touch("touchEnd")
    tab.until(f"{state} !== {before!r}")
    before = tab.get(state)
    touch("touchStart", (x, y), (x + 40, y))
    touch("touchMove", (x - 20, y), (x + 120, y))
    touch("touchEnd")
    tab.until(f"{state} !== {before!r}")
