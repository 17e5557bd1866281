"""axe-core finds no serious or critical fault on drawn scenes, with every panel open, in both themes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import poise
from poise import samples
from poise.viewer import scenes
from poise.viewer.document.document import build_document
from poise.viewer.document.side_by_side import Retargeting, build_side_by_side
from tests.workload import draw

pytestmark = pytest.mark.long

AXE = Path(os.environ.get("POISE_VALIDATOR", "")) / "axe-core" / "axe.min.js"
FAULTS = """
axe.run(document, {resultTypes: ["violations"]}).then(({violations}) => violations
  .filter(({impact}) => impact === "serious" || impact === "critical")
  .map(({id, help, nodes}) => `${id}: ${help} (${nodes.map(({html}) => html.slice(0, 120)).join("; ")})`))
"""


@pytest.fixture(scope="session")
def axe():
    """The script of axe-core, which scripts/test installs by npm."""
    if not AXE.is_file():
        pytest.skip("POISE_VALIDATOR names no node_modules folder with axe-core")
    return AXE.read_text(encoding="utf-8")


def list_faults(tab, axe):
    tab.get(f"{axe}\n;undefined")
    return tab.get(FAULTS)


@pytest.mark.parametrize("name", ["humanoid", *draw("scenes without faults", scenes.names(), 4)])
def test_there_is_no_serious_fault(served, axe, name):
    shown = build_document(poise.load(samples.path("humanoid.glb"))) if name == "humanoid" else name
    tab = served(shown)
    tab.answered()
    tab.unfold()
    for scheme in ("dark", "light"):
        tab.page.emulate_media(color_scheme=scheme)
        tab.pictures()
        assert list_faults(tab, axe) == []


def test_nor_with_menus_open_and_a_joint_chosen(served, axe):
    tab = served(build_document(poise.load(samples.path("humanoid.glb"))))
    tab.answered()
    tab.unfold()
    tab.click("joint-LeftHand")
    for menu in ("scene-menu", "save-menu", "show-menu"):
        tab.click(menu)
        assert list_faults(tab, axe) == [], menu
        tab.page.keyboard.press("Escape")
    tab.key("h")
    assert list_faults(tab, axe) == []


def test_nor_with_a_match_of_two_rigs(served, axe):
    clip, target = poise.load(samples.path("humanoid.bvh")), poise.load(samples.path("humanoid.glb"))
    tab = served(build_side_by_side(Retargeting(clip, target, "humanoid")))
    tab.answered()
    tab.unfold()
    assert tab.at("match-table").is_visible()
    for scheme in ("dark", "light"):
        tab.page.emulate_media(color_scheme=scheme)
        tab.pictures()
        assert list_faults(tab, axe) == []


def test_a_fault_is_found(served, axe):
    tab = served("ccd")
    tab.get("document.body.append(document.createElement('input'))")
    assert any(fault.startswith("label") for fault in list_faults(tab, axe))
