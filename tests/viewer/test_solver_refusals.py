"""The methods that the page greys are those that refuse, each with the sentence that it would refuse with."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import solvers
from poise.errors import UnsupportedError
from poise.io import samples
from poise.viewer import scenes
from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import SolverChoice, build_document
from poise.viewer.protocol import STATUS_REFUSED
from poise.viewer.view_solver import ViewSolver, find_solver_refusals

SLOW = ("autodiff",)  # JAX compiles for seconds


def arm(kind):
    rig = poise.load(samples.path("humanoid.glb"))
    return build_document(rig, chains=(build_chain(rig.pose, "arm", "LeftArm", "LeftHand", kind),))


DOCUMENTS = {
    "ccd": lambda: scenes.build_scene("ccd"),
    "biped": lambda: scenes.build_scene("biped"),
    "urdf": lambda: build_document(poise.load(samples.path("arm.urdf"))),
    "place": lambda: arm("place"),
    "direction": lambda: arm("direction"),
    "free root": lambda: arm("position").replace(free_root=True),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_who_is_greyed_refuses_and_no_other(name):
    document = DOCUMENTS[name]()
    reported = find_solver_refusals(document)
    q = document.solver_start.q[None]
    for solver in solvers.names():
        try:
            solvers.make_solver(solver)
        except UnsupportedError:
            assert solver not in reported
            continue
        if solver in SLOW:
            continue
        outcome = ViewSolver(document, document.solver_start, SolverChoice(solver))(document.active_chains, np.array(q))
        assert (outcome.status == STATUS_REFUSED) == (solver in reported), (solver, outcome.sentence)
        assert solver not in reported or reported[solver] == outcome.sentence


def test_without_chains_no_method_refuses():
    document = scenes.build_scene("biped")
    assert find_solver_refusals(document) != {}
    assert find_solver_refusals(document.replace(is_driven=True)) == {}
    assert (
        find_solver_refusals(document.replace(chains=tuple(chain.replace(enabled=False) for chain in document.chains)))
        == {}
    )


@pytest.mark.long
def test_the_list_greys_them_with_their_reasons(served):
    tab = served("biped")
    reported = find_solver_refusals(tab.studio.document)
    assert "fabrik" in reported
    assert "ccd" not in reported
    for name in solvers.names():
        option = tab.at("solver-a").locator(f"option[value={name}]")
        if name in reported:
            assert option.is_disabled()
            assert option.get_attribute("title") == reported[name]
    assert not tab.at("solver-a").locator("option[value=levenberg_marquardt]").is_disabled()
    tab.at("refused-methods").locator("summary").click()
    for sentence in reported.values():
        assert sentence in tab.at("refused-methods").inner_text()
    assert tab.at("without-a").is_hidden()
    tab.pick("solver-a", "ccd")
    tab.until("window.poise.answer?.views[0].left_out.length === 1")
    assert tab.at("without-a").inner_text() == "left out: head"
    assert "not LookAt" in tab.at("without-a").get_attribute("title")
    tab.studio.post_action({"do": "scene", "name": "two_methods"})
    tab.until_state("state.scene === 'two_methods'")
    tab.until('!document.querySelector("[data-testid=solver-a] option[value=fabrik]").disabled')
