"""The page loads: a first picture, nothing from elsewhere, no complaint; every scene, and from an installed wheel."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

import poise
from poise.io import samples
from poise.viewer import scenes
from poise.viewer.document.document import build_document
from tests.conftest import WANT
from tests.timeouts import PROCESS
from tests.viewer.browser import Tab, assert_shown_is_solved
from tests.wheel import install, wheel
from tests.workload import draw

pytestmark = pytest.mark.long

QUIET = ("walk_on_hills",)  # scenes that open with all chains switched off
BY_ADDRESS = draw("scenes by address", scenes.names(), len(scenes.names()) // 2)  # and the others by the menu
BY_MENU = [name for name in scenes.names() if name not in BY_ADDRESS] or scenes.names()


def test_the_first_picture_comes_and_the_token_goes(served):
    tab = served("ccd", drawn=True, new=True)  # a tab without a history
    assert tab.page.title() == "CCD - Poise"
    assert "token" not in tab.page.url
    assert tab.get("history.length") <= 2  # about:blank and the page: the address with the token is in no history
    assert tab.get("window.poise.viewports[0].stage.drawn") > 0
    assert len(colours(tab)) > 20  # a picture, not one colour
    assert tab.get("document.querySelectorAll('[data-testid=message]').length") == 0


def colours(tab):
    """The colours in the middle of the first view."""
    return tab.get(
        """async () => {
          const bitmap = await createImageBitmap(await window.poise.viewports[0].snapshot());
          const sheet = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
          sheet.drawImage(bitmap, 0, 0);
          return [...new Set(new Uint32Array(sheet.getImageData(0, 0, bitmap.width, bitmap.height).data.buffer))];
        }"""
    )


def test_scenes_open_by_their_addresses(served):
    tab = served("ccd_hinge")
    for name in BY_ADDRESS:
        hold_still(tab, name)
        tab.page.goto(f"{tab.server.url}&scene={name}")
        tab.until(f"window.poise && window.poise.ready && window.poise.state.scene === {name!r}")
        assert_scene(tab, name)
    assert tab.messages_shown() == []


def test_the_menu_opens_scenes(served):
    tab = served("ccd")
    opened = sorted(BY_MENU, key="ccd".__eq__)  # at last, where it is there: the page begins with it
    for name in opened:
        tab.click("scene-menu")
        entry = tab.at(f"scene-{name}")
        assert scenes.describe_scene(name).text in entry.inner_text()
        hold_still(tab, name)
        entry.click()
        tab.until_state(f"state.scene === {name!r} && window.poise.ready")
        assert_scene(tab, name)
    assert tab.messages_shown() == []
    hold_still(tab, opened[-2])
    tab.click("undo")  # back in the scene before
    tab.until_state(f"state.scene === {opened[-2]!r} && window.poise.ready")
    assert_scene(tab, opened[-2])


def hold_still(tab, name):
    """Ask for less motion where a figure would breathe; elsewhere not, since races would not run by themselves."""
    tab.page.emulate_media(reduced_motion="reduce" if name == "figure" else "no-preference")


def assert_scene(tab, name):
    """The scene is there, solved, and says so over each view."""
    if tab.state["playing"]:
        tab.click("play")
        tab.until_state("!state.playing")
    answer = tab.answered()
    wanted = "nothing" if name in QUIET else "reached"
    assert [view["status"] for view in answer["views"]] == [wanted] * tab.state["views"]
    for letter, view in zip("ab", answer["views"], strict=False):
        tab.until(f"document.querySelector('[data-testid=status-{letter}]').title.startsWith({view['sentence']!r})")
    title = json.dumps(scenes.describe_scene(name).title)
    tab.until(f"document.querySelector('[data-testid=rig-name]').innerText === {title}")
    tab.until(f"window.poise.ready && window.poise.model.joints.length === {len(tab.studio.document.skeleton)}")
    assert_shown_is_solved(tab)


@pytest.mark.parametrize("file", ["humanoid.glb", "arm.urdf"])
def test_files_of_every_kind_open(served, file):
    tab = served(build_document(poise.load(samples.path(file))))
    assert tab.state["chains"]
    assert tab.answered()["views"][0]["status"] == "reached"
    assert_shown_is_solved(tab)
    skins = tab.get("window.poise.viewports[0].actor.skin.root !== null")
    assert skins == tab.model["asset"]


@pytest.mark.parametrize("file", ["glb/knight_kaykit.glb", "bvh/cmu_12_01_walk.bvh"])
def test_real_rigs_open(served, data, file):
    if not (data / file).exists():
        pytest.skip(f"{WANT}: no {file}")
    tab = served(build_document(poise.load(data / file)))
    assert tab.state["chains"]
    assert tab.state["playing"] == file.endswith(".bvh")
    if tab.state["playing"]:
        tab.click("play")
        tab.until_state("!state.playing")
    assert_shown_is_solved(tab)


signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background hands down that it is ignored


# --- from a wheel ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The program `poise`, installed from a wheel into an environment of its own beside the dependencies."""
    folder = install(wheel(tmp_path_factory), tmp_path_factory.mktemp("from_a_wheel") / "venv")
    return folder / "bin" / "poise"


@pytest.mark.skipif(os.name == "nt", reason="an environment has other folders there")
def test_it_works_from_a_wheel(chromium, installed, tmp_path):
    running = subprocess.Popen(
        [installed, "view", "--scene", "ccd", "--no-browser"], stdout=subprocess.PIPE, text=True, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": "", "POISE_KERNELS": "plain", "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    with running, contextlib.ExitStack() as stack:
        stack.callback(running.kill)
        url = re.search(r"http://\S+", running.stdout.readline())[0]
        tab = Tab(chromium, url)
        tab.open()
        tab.until("window.poise.answer?.views[0].status === 'reached'")
        where = Path(f"/proc/{running.pid}/cmdline")
        assert not where.exists() or str(installed) in where.read_text()
        tab.close()
        running.send_signal(signal.SIGINT)
        assert running.wait(PROCESS) == 0
