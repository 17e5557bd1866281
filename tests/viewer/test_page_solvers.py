"""Every solver and every option of every solver, chosen and typed on the page."""

from __future__ import annotations

import pytest

from poise import solvers
from poise.errors import UnsupportedError
from poise.io import samples
from poise.io.registry import load
from poise.solvers.base.option_parsing import list_parameters
from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import SolverChoice, build_document
from poise.viewer.session.state_messages import _describe_option
from tests.workload import draw

pytestmark = pytest.mark.long

#: What is typed into options that hold names or lists: on the humanoid's left arm.
TYPED = {
    "solver": "levenberg_marquardt", "stiffness": "LeftArm=0.3,LeftForeArm=0.1", "direction_joints": "LeftForeArm",
    "mid": "LeftForeArm", "pole": "0,0,1",
}  # fmt: skip
SLOW = ("autodiff",)  # JAX compiles for seconds


def arm(**more):
    """The bundled humanoid with its left arm reaching."""
    rig = load(samples.path("humanoid.glb"))
    chain = build_chain(rig.pose, "arm", "LeftArm", "LeftHand").replace(position=(0.4, 1.2, 0.35))
    return build_document(rig, chains=(chain,), **more)


def known(solver):
    """Whether the solver's extra is installed."""
    try:
        solvers.make_solver(solver)
    except UnsupportedError:
        return False
    return True


@pytest.mark.parametrize("view", [0, 1])
def test_every_solver_answers(served, view):
    tab = served(arm(view_count=2, solvers=(SolverChoice("ccd"), SolverChoice("ccd"))))
    letter = "ab"[view]
    offered = tab.at(f"solver-{letter}").locator("option").all_inner_texts()
    assert offered == ["auto", *solvers.names()]
    for name in solvers.names():
        if name in SLOW and view == 1:
            continue
        option = tab.at(f"solver-{letter}").locator(f"option[value={name}]")
        assert option.is_disabled() != known(name)
        if not known(name):
            continue
        tab.pick(f"solver-{letter}", name)
        tab.until_state(f"state.solvers[{view}].name === {name!r}")
        answer = tab.answered()["views"][view]
        assert answer["status"] == "reached", (name, answer["sentence"])
        tab.until(f"document.querySelector('[data-testid=status-{letter}]').title.startsWith({answer['sentence']!r})")
        tab.until(f"document.querySelector('[data-testid=time-{letter}]').innerText.endsWith('a solve')")
        assert tab.studio.document.solvers[view] == SolverChoice(name)
    tab.pick(f"solver-{letter}", "auto")
    tab.until_state(f"state.solvers[{view}].name === 'auto'")
    assert tab.answered()["views"][view]["status"] == "reached"
    assert tab.messages_shown() == []


@pytest.mark.parametrize("name", draw("options of solvers", solvers.names(), 4))
def test_every_option_is_set_and_undone(served, name):
    if not known(name):
        pytest.skip(f"{name} needs an extra")
    tab = served(arm(solvers=(SolverChoice("ccd"), SolverChoice(name)), view_count=2))
    tab.unfold()
    tab.unfold()
    tab.key("s")  # nothing is solved while options are set: that they count is shown at the end
    tab.until_state("state.run === 'step'")
    for parameter in list_parameters(type(solvers.make_solver(name))):
        for typed in values(parameter):
            choose(tab, parameter, typed)
            assert dict(tab.studio.document.solvers[1].options)[parameter.name] == parameter.read(typed)
    if name not in SLOW:
        tab.click("run-live")
        tab.until_state("state.run === 'live'")
        answer = tab.answered()["views"][1]
        assert answer["solver"] == name
    while tab.state["undo"]:
        before = tab.state["version"]
        tab.click("undo")
        tab.until_state(f"state.version > {before}")
    assert tab.studio.document.solvers[1] == SolverChoice(name)
    assert tab.messages_shown() == []


def values(parameter):
    """What is chosen one after the other; each differs from the one before."""
    option = _describe_option(parameter)
    if option["type"] == "truth":
        return [str(not parameter.default).lower()]
    if option["type"] == "choice":
        return [choice for choice in option["choices"] if choice != parameter.default]
    if option["type"] == "text":
        return [TYPED[parameter.name]]
    if option["type"] == "integer":
        return ["7", "3"]
    return ["0.25"]


def choose(tab, parameter, typed):
    """Set an option as a person does, by whatever field it has."""
    before = tab.state["version"]
    field = tab.at(f"option-b-{parameter.name}")
    kind = field.evaluate("(e) => e.tagName === 'SELECT' ? 'select' : e.type")
    if kind == "select":
        field.select_option(typed)
    elif kind == "checkbox":
        field.set_checked(typed == "true")
    else:
        field.fill(typed)
        field.press("Enter")
    tab.until_state(f"state.version > {before}")


def test_an_option_left_empty_is_the_default(served):
    tab = served(arm(solvers=(SolverChoice("ccd"), SolverChoice())))
    tab.unfold()
    tab.type("option-a-iterations", 5)
    tab.until_state("state.solvers[0].options.iterations === 5")
    tab.type("option-a-iterations", "")
    tab.until_state("!('iterations' in state.solvers[0].options)")
    assert tab.studio.document.solvers[0] == SolverChoice("ccd")
    assert tab.at("option-a-iterations").input_value() in ("", "100")


def test_an_option_that_cannot_be_is_reported_and_shown_as_it_was(served):
    tab = served(arm(solvers=(SolverChoice("ccd"), SolverChoice())))
    tab.unfold()
    tab.type("option-a-iterations", -5)
    tab.until("document.querySelector('[data-testid=message][data-level=error]')")
    assert "iterations" in tab.messages_shown()[0]
    assert tab.studio.document.solvers[0] == SolverChoice("ccd")
    tab.until("document.querySelector('[data-testid=option-a-iterations]').value === '100'")


def test_the_curve_and_the_time_follow_the_method(served):
    tab = served(arm(solvers=(SolverChoice("ccd"), SolverChoice("fabrik")), view_count=2))
    tab.answered()
    tab.until("document.querySelector('[data-testid=chart] canvas')")
    label = tab.at("chart").get_attribute("aria-label")
    assert "A: " in label
    assert "B: " in label
    assert "no curve" not in label
    errors = [view["errors"] for view in tab.answered()["views"]]
    assert all(each[-1] < each[0] for each in errors)
    tab.click("views-1")
    tab.until_state("state.views === 1")
    tab.answered()
    tab.until("!document.querySelector('[data-testid=chart]').getAttribute('aria-label').includes('B: ')")
