"""What the page saves: files that are read again, a picture, and a page that plays without Poise."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

import poise
from poise.io import samples
from poise.viewer.document.document import build_document
from tests.timeouts import PATIENCE

pytestmark = pytest.mark.long


def shown(tab):
    """World positions of the pose that is shown."""
    tab.answered()
    return tab.studio.pose_state.build_view_pose(0)


@pytest.fixture
def tab(served):
    """The bundled humanoid with a hand elsewhere."""
    tab = served(build_document(poise.load(samples.path("humanoid.glb")), scope="limbs"))
    tab.drag(*[(i, -2 * i) for i in range(30)])
    tab.answered()
    return tab


def test_joint_values_are_saved(tab, tmp_path):
    pose = shown(tab)
    values = json.loads(tab.save("save-json", tmp_path).read_text())["joints"]
    assert list(values) == [name for name in pose.skeleton.names if pose.skeleton[name].kind]
    np.testing.assert_allclose(np.hstack(list(values.values())), pose.q, atol=1e-9)
    header, row = tab.save("save-csv", tmp_path).read_text().splitlines()
    assert header.startswith("Hips.w,Hips.x")
    np.testing.assert_allclose([float(cell) for cell in row.split(",")], pose.q, atol=1e-9)


def test_a_robot_is_saved_as_urdf(served, tmp_path):
    tab = served("robot_arm")
    path = tab.save("save-urdf", tmp_path)
    assert poise.load(path).skeleton.names == tab.studio.document.skeleton.names


def test_chains_and_limits_are_saved_beside_the_rig(tab, tmp_path):
    tab.click("joint-Chest")
    tab.pick("limit-type", "hinge")
    tab.at("limit-low").fill("-20")
    tab.at("limit-high").fill("30")
    tab.click("limit-apply")
    tab.until_state("'Chest' in state.limits")
    sidecar = tab.save("save-toml", tmp_path)
    rig = tmp_path / "humanoid.glb"
    rig.write_bytes(samples.path("humanoid.glb").read_bytes())
    assert sidecar.name == "humanoid.ik.toml"
    loaded = poise.load(rig)
    assert np.degrees([loaded.skeleton["Chest"].limit.low, loaded.skeleton["Chest"].limit.high]) == pytest.approx(
        [-20, 30]
    )
    assert {tip for _, tip in loaded.skeleton.chains.values()} == {chain.tip for chain in tab.studio.document.chains}


def test_what_a_rig_cannot_be_saved_as_is_not_offered_or_reported(served):
    tab = served("ccd")
    offered = tab.get("[...document.querySelectorAll('[data-testid^=save-]')].map((e) => e.dataset.testid)")
    for name in (name for name in offered if name not in ("save-menu", "save-png")):
        tab.click("save-menu")
        if not tab.at(name).is_enabled():
            tab.page.keyboard.press("Escape")
            continue
        tab.click(name)
        tab.until("document.querySelector('[data-testid=message]')")
        sentence = tab.messages_shown()[-1]
        assert sentence.lower().startswith("saved") or "format" in sentence or "cannot" in sentence, (name, sentence)
        tab.at("message").first.click()
        for other in tab.at("message").all():
            other.click()


def test_a_picture_is_saved(served, tmp_path):
    tab = served("two_methods", drawn=True)
    tab.answered()
    path = tab.save("save-png", tmp_path)
    with Image.open(path) as picture:
        assert_as_on_the_page(tab, picture)
        assert len(picture.getcolors(1 << 24)) > 50


def assert_as_on_the_page(tab, picture):
    """The picture has the views where the page has them."""
    boxes = tab.get(
        "window.poise.viewports.map(({stage}) => { const {x, y, width, height} = stage.canvas.getBoundingClientRect();"
        " return [x, y, x + width, y + height, stage.canvas.width / width]; })"
    )
    left, top, right, bottom, scales = zip(*boxes, strict=True)
    size = max(right) - min(left), max(bottom) - min(top)
    assert picture.size == pytest.approx([scales[0] * length for length in size], abs=2)


def test_six_views_are_saved_in_the_grid_of_the_page(served, tmp_path):
    tab = served("race", drawn=True)
    tab.answered()
    rows = tab.get("new Set(window.poise.viewports.map((v) => v.stage.canvas.getBoundingClientRect().y)).size")
    assert rows > 1
    with Image.open(tab.save("save-png", tmp_path)) as picture:
        assert_as_on_the_page(tab, picture)


@pytest.mark.parametrize("what", ["pose", "clip"])
def test_a_saved_page_plays_without_poise(served, chromium, tmp_path, what):
    rig = poise.load(samples.path("humanoid.glb"))
    tab = served(build_document(rig, clip_name=rig.clips[0].name, chains=()) if what == "clip" else build_document(rig))
    if tab.state["playing"]:
        tab.click("play")
    tab.answered()
    path = tab.save("save-html", tmp_path)
    requested, wrong = [], []
    context = chromium.new_context(viewport={"width": 800, "height": 500}, offline=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 500)
    page.on("request", lambda request: requested.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.goto(path.as_uri())
    other = type(tab).__new__(type(tab))
    other.page = page
    other.until("window.poise && window.poise.viewport && window.poise.shown >= 0")
    drawn = page.evaluate("window.poise.model.joints.map((_, i) => window.poise.viewport.readPosition(i))")
    if what == "clip":
        other.until("window.poise.time > 0")
        page.locator("[data-testid=play]").click()
        time = page.evaluate("window.poise.times[window.poise.shown]")
        drawn = page.evaluate("window.poise.model.joints.map((_, i) => window.poise.viewport.readPosition(i))")
        wanted = rig.clips[0].at(time).world.positions
    else:
        wanted = shown(tab).world.positions
    np.testing.assert_allclose(drawn, wanted, atol=1e-4)
    context.close()
    assert wrong == []
    assert {url.partition(":")[0] for url in requested} <= {"file", "data", "blob"}
    assert len([url for url in requested if url.startswith("file")]) == 1
