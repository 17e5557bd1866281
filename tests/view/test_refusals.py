"""The methods that the page greys are those that refuse, each with the sentence that it would refuse with."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import solvers
from poise.errors import UnsupportedError
from poise.io import samples
from poise.viewer import scenes
from poise.viewer.document.chains import chain_of
from poise.viewer.document.document import Choice, document_of
from poise.viewer.protocol import REFUSED
from poise.viewer.refusals import refusals
from poise.viewer.solving import Solving

SLOW = ("autodiff",)  # JAX compiles for seconds


def arm(kind):
    rig = poise.load(samples.path("humanoid.glb"))
    return document_of(rig, chains=(chain_of(rig.pose, "arm", "LeftArm", "LeftHand", kind),))


DOCUMENTS = {
    "ccd": lambda: scenes.scene("ccd"),
    "biped": lambda: scenes.scene("biped"),
    "urdf": lambda: document_of(poise.load(samples.path("arm.urdf"))),
    "place": lambda: arm("place"),
    "direction": lambda: arm("direction"),
    "free root": lambda: arm("position").but(free_root=True),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_who_is_greyed_refuses_and_nobody_else(name):
    document = DOCUMENTS[name]()
    told = refusals(document)
    q = document.started.q[None]
    for solver in solvers.names():
        try:
            solvers.named(solver)
        except UnsupportedError:
            assert solver not in told
            continue
        if solver in SLOW:
            continue
        outcome = Solving(document, document.started, Choice(solver))(document.active, np.array(q))
        assert (outcome.status == REFUSED) == (solver in told), (solver, outcome.sentence)
        assert solver not in told or told[solver] == outcome.sentence


def test_without_chains_nobody_refuses():
    document = scenes.scene("biped")
    assert refusals(document) != {}
    assert refusals(document.but(driven=True)) == {}
    assert refusals(document.but(chains=tuple(chain.but(enabled=False) for chain in document.chains))) == {}


@pytest.mark.long
def test_the_list_greys_them_with_their_reasons(served):
    tab = served("biped")
    told = refusals(tab.studio.document)
    assert "fabrik" in told
    assert "ccd" not in told
    for name in solvers.names():
        option = tab.at("solver-a").locator(f"option[value={name}]")
        if name in told:
            assert option.is_disabled()
            assert option.get_attribute("title") == told[name]
    assert not tab.at("solver-a").locator("option[value=levenberg_marquardt]").is_disabled()
    tab.at("refused-methods").locator("summary").click()
    for sentence in told.values():
        assert sentence in tab.at("refused-methods").inner_text()
    assert tab.at("without-a").is_hidden()
    tab.pick("solver-a", "ccd")
    tab.until("window.poise.answer?.views[0].left_out.length === 1")
    assert tab.at("without-a").inner_text() == "left out: head"
    assert "not LookAt" in tab.at("without-a").get_attribute("title")
    tab.studio.post({"do": "scene", "name": "two_methods"})
    tab.until_state("state.scene === 'two_methods'")
    tab.until('!document.querySelector("[data-testid=solver-a] option[value=fabrik]").disabled')
