"""The panels at the left: the outliner, chains, the selected bone with its limits and its pin."""

from __future__ import annotations

import math

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.viewer.document.document import build_document
from tests.viewer.browser import assert_shown_is_solved
from tests.workload import draw

pytestmark = pytest.mark.long

JOINTS = "[...document.querySelectorAll('.joint:not([hidden])')].map((row) => row.dataset.joint)"


@pytest.fixture
def tab(served):
    tab = served(build_document(poise.load(samples.path("humanoid.glb")), scope="limbs"), width=1400, height=1000)
    tab.unfold()
    return tab


def test_the_outliner_finds_and_folds(tab):
    names = tab.get(JOINTS)
    assert set(names) == {joint["name"] for joint in tab.model["joints"] if joint["shown"]}
    tab.key("/")
    tab.page.keyboard.type("left fore")
    found = tab.get(JOINTS)
    assert found[-1] == "LeftForeArm"
    assert found == [name for name in names if name in above(tab, "LeftForeArm")]
    tab.at("outliner-search").fill("nothing has this")
    assert tab.get(JOINTS) == []
    tab.page.get_by_text("No joint has this in its name.").wait_for()
    tab.at("outliner-search").fill("")
    tab.at("joint-LeftArm").locator(".fold").click()
    assert set(names) - set(tab.get(JOINTS)) == {"LeftForeArm", "LeftHand"}


def above(tab, name):
    joints = tab.model["joints"]
    row = next(i for i, joint in enumerate(joints) if joint["name"] == name)
    found = set()
    while row >= 0:
        found.add(joints[row]["name"])
        row = joints[row]["parent"]
    return found


def test_a_bone_is_selected_in_the_list_and_in_the_view(tab):
    tab.click("joint-RightLeg")
    tab.until("window.poise.viewports[0].actor.selected >= 0")
    names = [joint["name"] for joint in tab.model["joints"]]
    assert names[tab.get("window.poise.viewports[0].actor.selected")] == "RightLeg"
    tab.until("window.poise.answer.selected?.joint === 'RightLeg'")
    tab.at("joint-LeftUpLeg").locator(".fold").click()  # what is folded opens for what is clicked
    row = names.index("LeftLeg")
    place = tab.get(
        """(row) => { const view = window.poise.viewports[0], figure = view.actor.figure;
          const [head, tail] = [figure.readPosition(row), figure.computeTail(row)];
          return view.findPixels([...head].map((x, i) => 0.5 * x + 0.5 * tail[i])); }""",
        row,
    )
    tab.page.mouse.click(*place)
    tab.until("window.poise.selected === 'LeftLeg'")
    assert tab.at("joint-LeftLeg").get_attribute("class").split()[-1] == "selected"
    tab.at("joint-LeftLeg").wait_for()
    tab.key("Escape")
    tab.until("window.poise.selected === null")


def test_the_tree_is_walked_by_keys(tab):
    tab.click("joint-Hips")
    tab.at("outliner").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "End", "Home", "ArrowRight"):
        before = tab.get("window.poise.selected")
        tab.page.keyboard.press(key)
        assert tab.get("window.poise.selected") != before
    for _ in range(3):  # fold the child, go up, fold the root
        tab.page.keyboard.press("ArrowLeft")
    assert tab.get("window.poise.selected") == "Hips"
    assert tab.at("joint-Hips").get_attribute("aria-expanded") == "false"


def test_a_chain_is_made_by_picking_root_and_tip(tab):
    tab.click("chain-root-pick")
    tab.click("joint-Spine")
    tab.click("chain-tip-pick")
    tab.click("joint-Head")
    assert [tab.at(f"chain-{end}").input_value() for end in ("root", "tip")] == ["Spine", "Head"]
    tab.undone_and_redone(lambda: tab.click("chain-add"), "state.chains.some(({tip}) => tip === 'Head')")
    chain = tab.studio.document.chains[-1]
    assert (chain.root, chain.tip, chain.kind) == ("Spine", "Head", "position")
    tab.at(f"chain-{chain.name}").wait_for()
    tab.click("chain-tip-pick")
    tab.key("Escape")
    tab.click("joint-Hips")
    assert tab.at("chain-tip").input_value() == "Head"


@pytest.mark.parametrize("kind", draw("kinds of chains", ["position", "place", "direction", "look", "pin"], 2))
def test_chains_of_every_kind_are_added_and_changed(tab, kind):
    tab.pick("chain-tip", "Head")
    tab.pick("chain-kind", kind)
    tab.undone_and_redone(lambda: tab.click("chain-add"), "state.chains.some(({tip}) => tip === 'Head')")
    chain = tab.studio.document.chains[-1]
    assert chain.kind == kind
    tab.answered()
    before, other = chain.kind, "place" if kind != "place" else "look"
    tab.undone_and_redone(
        lambda: tab.pick(f"chain-{chain.name}-kind", other), f"state.chains.at(-1).kind === {other!r}"
    )
    tab.undone_and_redone(
        lambda: tab.pick(f"chain-{chain.name}-kind", before), f"state.chains.at(-1).kind === {before!r}"
    )
    tab.undone_and_redone(
        lambda: tab.click(f"chain-{chain.name}-remove"), f"!state.chains.some(({{id}}) => id === {chain.name!r})"
    )
    tab.at(f"chain-{chain.name}").wait_for(state="detached")
    assert_shown_is_solved(tab)
    assert tab.messages_shown() == []


def test_everything_of_a_chain_is_changed(tab):
    name = tab.state["chains"][0]["id"]
    test = f"chain-{name}"
    tab.undone_and_redone(lambda: tab.at(f"{test}-enabled").uncheck(), "!state.chains[0].enabled")
    tab.undone_and_redone(lambda: tab.at(f"{test}-enabled").check(), "state.chains[0].enabled")
    tab.undone_and_redone(lambda: tab.type(f"{test}-weight", "0.3"), "state.chains[0].weight === 0.3")
    tab.undone_and_redone(lambda: tab.at(f"{test}-pole").check(), "state.chains[0].pole !== null")
    tab.undone_and_redone(lambda: tab.type("target-pole-x", "0.75"), "state.chains[0].pole[0] === 0.75")
    tab.undone_and_redone(lambda: tab.at(f"{test}-pole").uncheck(), "state.chains[0].pole === null")
    tab.undone_and_redone(lambda: tab.at(f"{test}-ground").check(), "state.chains[0].ground")
    assert_shown_is_solved(tab)
    assert tab.messages_shown() == []


def test_a_joint_is_pinned_and_let_go(tab):
    tab.click("joint-LeftFoot")
    tab.undone_and_redone(lambda: tab.click("pin"), "state.chains.some(({kind}) => kind === 'pin')")
    assert tab.at("pin").get_attribute("aria-pressed") == "true"
    tab.at("joint-LeftFoot").locator(".pin-mark").wait_for()
    tab.undone_and_redone(lambda: tab.key("p"), "!state.chains.some(({kind}) => kind === 'pin')")
    assert tab.at("pin").get_attribute("aria-pressed") == "false"


HINGE = {"limit-axis-x": "0", "limit-axis-y": "1", "limit-axis-z": "0", "limit-low": "-30", "limit-high": "120"}
SWING = {"limit-swing-1-low": "-20", "limit-swing-1-high": "40", "limit-swing-2-low": "-10", "limit-swing-2-high": "15",
         "limit-twist-low": "-5", "limit-twist-high": "25"}  # fmt: skip
RANGES = poise.EulerBox("XYZ", x=np.radians([-90, 90]), y=np.radians([-45, 45]), z=(-math.inf, math.radians(10)))
EULER = {"limit-1-low": "-90", "limit-1-high": "90", "limit-2-low": "-45", "limit-2-high": "45", "limit-3-high": "10"}


@pytest.mark.parametrize(
    ("kind", "fields", "limit"),
    [
        ("hinge", HINGE, poise.Range.degrees(-30, 120, axis=(0, 1, 0))),
        ("swing_twist", SWING, None),
        ("euler", EULER, RANGES),
    ],
)  # fmt: skip
def test_limits_of_a_ball_are_made_edited_and_removed(tab, kind, fields, limit):
    tab.click("joint-Chest")
    tab.pick("limit-type", kind)
    for field, text in fields.items():
        tab.at(field).fill(text)
    tab.undone_and_redone(lambda: tab.click("limit-apply"), "'Chest' in state.limits")
    made = tab.studio.document.skeleton["Chest"].limit
    if limit is not None:
        assert close(made, limit)
    else:
        np.testing.assert_allclose(np.degrees(made.sides), [[-20, 40], [-10, 15]], atol=1e-9)
        np.testing.assert_allclose(np.degrees(made.twist), [-5, 25], atol=1e-9)
    assert [tab.at(field).input_value() for field in fields] == list(fields.values())
    assert "Chest" in tab.state["outlines"]
    tab.at("joint-Chest").locator(".limit-mark").wait_for()
    first = next(field for field in fields if field.endswith("high"))
    tab.at(first).fill("5")
    version = tab.state["version"]
    tab.undone_and_redone(lambda: tab.at(first).press("Enter"), f"state.version > {version}")
    assert tab.studio.document.skeleton["Chest"].limit != made
    tab.undone_and_redone(lambda: tab.click("limit-remove"), "!('Chest' in state.limits)")
    assert_shown_is_solved(tab)


def close(a, b):
    """Whether two limits are the same but for rounding."""
    numbers = [np.hstack([np.ravel(x) for x in (limit.low, limit.high, limit.axis)]) if isinstance(limit, poise.Range)
               else np.ravel(limit.ranges) for limit in (a, b)]  # fmt: skip
    return np.allclose(*numbers, atol=1e-9)


def test_a_limit_that_cannot_be_is_reported_beside_its_fields(tab):
    tab.click("joint-Chest")
    tab.pick("limit-type", "hinge")
    tab.at("limit-low").fill("40")
    tab.at("limit-high").fill("-40")
    tab.click("limit-apply")
    tab.until("!document.querySelector('[data-testid=limit-error]').hidden")
    assert "above the high end" in tab.at("limit-error").inner_text()
    assert "Chest" not in tab.state["limits"]


def test_the_range_of_a_robots_joint_is_edited(served):
    tab = served("robot_arm", width=1400, height=1000)
    name = next(joint["name"] for joint in tab.model["joints"] if joint["kind"] == "hinge")
    tab.click(f"joint-{name}")
    tab.at("limit-low").fill("-10")
    tab.at("limit-high").fill("10")
    tab.undone_and_redone(lambda: tab.click("limit-apply"), "state.undo !== null")
    limit = tab.studio.document.skeleton[name].limit
    assert np.degrees([limit.low, limit.high]) == pytest.approx([-10, 10])
    assert_shown_is_solved(tab)


def test_a_joint_at_its_limit_is_reported_and_marked(served):
    tab = served("ccd_hinge_range", width=1400, height=1000)
    tab.click("joint-elbow")
    tab.until("window.poise.answer.selected?.joint === 'elbow'")
    assert "at its limit" not in tab.at("bone-value").inner_text()
    for end in ("low", "high"):
        tab.at(f"limit-{end}").fill("40")
    tab.click("limit-apply")
    tab.until("window.poise.answer.views[0].at_limit.includes('elbow')")
    tab.until("document.querySelector('[data-testid=bone-value]').innerText.includes('at its limit')")
    assert "at-limit" in tab.at("joint-elbow").get_attribute("class")
    elbow = [joint["name"] for joint in tab.model["joints"]].index("elbow")
    assert elbow in tab.get("[...window.poise.viewports[0].actor.hit]")


def test_limits_are_those_of_the_view(served):
    """Of two methods one stands at a limit, the other knows none: red in the first view only, and told as A's."""
    tab = served("ccd_hinge_range", width=1400, height=1000)
    tab.click("joint-elbow")
    for end in ("low", "high"):
        tab.at(f"limit-{end}").fill("40")
    tab.click("limit-apply")
    tab.click("views-2")
    tab.until("window.poise.answer.views.length === 2 && window.poise.viewports.length === 2 && window.poise.ready")
    tab.answered()
    answer = tab.get(
        """() => {
          const {answer, viewports, model} = window.poise;
          const row = model.joints.findIndex(({name}) => name === "elbow");
          const views = answer.views.map((view, i) => ({...view, at_limit: i ? [] : ["elbow"]}));
          viewports.forEach((view) => view.setAnswer({...answer, views}));
          return viewports.map((view) => view.actor.hit.has(row));
        }"""
    )
    assert answer == [True, False]
    assert tab.at("bone-value").inner_text().startswith("in view A turned 40.0°")
    assert "view A" in tab.at("joint-elbow").locator(".limit-mark").get_attribute("title")


def test_a_new_chain_has_the_gizmo_and_another_root_and_axis(tab):
    tab.pick("chain-tip", "Head")
    tab.pick("chain-kind", "look")
    tab.click("chain-add")
    tab.until("window.poise.viewports[0].gizmo.active === 'target:Head'")
    assert "active" in tab.at("chain-Head").get_attribute("class").split()
    tab.pick("target-root", "Chest")
    tab.until_state("state.chains.at(-1).root === 'Chest'")
    tab.type("target-axis-x", "1")
    tab.until_state("state.chains.at(-1).axis[0] > 0")
    axis = tab.studio.document.find_chain("Head").axis
    assert np.divide(axis, axis[0]) == pytest.approx([1.0, 0.0, 1.0])
    tab.until("document.querySelector('[data-testid=target-root]').value === 'Chest'")
    assert tab.messages_shown() == []


def test_none_and_apply_removes_a_limit(tab):
    tab.click("joint-Chest")
    assert tab.at("limit-apply").is_disabled()
    tab.pick("limit-type", "hinge")
    tab.click("limit-apply")
    tab.until_state("'Chest' in state.limits")
    tab.pick("limit-type", "none")
    tab.click("limit-apply")
    tab.until_state("!('Chest' in state.limits)")


@pytest.mark.parametrize(
    ("field", "typed", "sentence"),
    [
        ("limit-low", "1e", "Range: both ends are numbers, or empty"),
        ("limit-axis-x", "", "Axis: three numbers, x, y and z"),
        ("limit-low", "90", "the low end, 90 deg, is above the high end, 40 deg"),
    ],
)
def test_what_is_no_limit_is_refused_beside_its_fields(tab, field, typed, sentence):
    tab.click("joint-Chest")
    tab.pick("limit-type", "hinge")
    tab.at("limit-high").fill("40")
    tab.at(field).fill("")
    tab.at(field).press_sequentially(typed)
    tab.click("limit-apply")
    assert sentence in tab.at("limit-error").inner_text()
    tab.answered()
    assert "Chest" not in tab.state["limits"]
    assert tab.messages_shown() == []


@pytest.mark.parametrize("joint", ["LeftForeArm", "LeftLeg", "Chest"])
def test_a_new_hinge_lies_across_its_bone(tab, joint):
    tab.click(f"joint-{joint}")
    if joint in tab.state["limits"]:
        tab.pick("limit-type", "none")
        tab.click("limit-apply")
        tab.until_state(f"!({joint!r} in state.limits)")
    tab.pick("limit-type", "hinge")
    axis = np.array([float(tab.at(f"limit-axis-{name}").input_value()) for name in "xyz"])
    bone = next(each["bone"] for each in tab.model["joints"] if each["name"] == joint)
    assert np.linalg.norm(axis) == pytest.approx(1.0, abs=1e-3)
    assert abs(axis @ bone) < 0.2 * np.linalg.norm(bone)


def test_a_refused_weight_makes_way_for_the_one_that_counts(tab):
    name = f"chain-{tab.state['chains'][0]['id']}-weight"
    for typed in ("-3", ""):
        tab.type(name, typed)
        tab.until(f"document.querySelector('[data-testid={name}]').value === '1'")
    assert "weight" in tab.messages_shown()[0]
