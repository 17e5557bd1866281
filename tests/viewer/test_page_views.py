"""Views from the front, the side and above by keys and by the cube in the corner, and framing what is selected."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.viewer.document.document import build_document
from tests.viewer.test_page_camera import shown

pytestmark = pytest.mark.long

#: From where it is looked [a direction of length one], and what is upwards in the picture.
BACK = """
(() => {
  const {view} = window.poise.viewports[0];
  view.refresh();
  const e = view.camera.matrixWorld.elements;
  return [e.slice(8, 11), e.slice(4, 7)];
})()
"""

#: The side of the cube that faces the eye: its place on the screen is nearest to the cube's middle, and it is seen.
FACING = """
(() => {
  const faces = [...document.querySelectorAll(".view-cube-face")];
  const box = document.querySelector(".view-cube").getBoundingClientRect();
  const seen = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  return faces.includes(seen) ? seen.dataset.side : null;
})()
"""

#: How much of the picture's height a joint and its bone take.
TALL = """
(name) => {
  const {view, actor, stage} = window.poise.viewports[0];
  view.refresh();
  const row = actor.figure.rows.get(name);
  const [a, b] = [actor.figure.readPosition(row), actor.figure.computeTail(row)].map((point) => view.project(point));
  const [width, height] = stage.measureExtent();
  const inside = [a, b].every(([x, y]) => x > 0 && y > 0 && x < width && y < height);
  return inside ? Math.hypot(a[0] - b[0], a[1] - b[1]) / height : 0;
}
"""


def turned(tab):
    tab.pictures()
    back, up = tab.get(BACK)
    return np.array(back), np.array(up)


def test_keys_and_the_cube_set_the_direction(served):
    tab = served(build_document(poise.load(samples.path("humanoid.glb")), scope="limbs"))
    tab.answered()
    tab.until("window.poise.viewports[0].stage.drawn > 0")
    upwards = {"top": (0, 0, -1), "bottom": (0, 0, 1)}
    for key, side, way in (
        ("5", "front", (0, 0, 1)), ("5", "back", (0, 0, -1)), ("3", "left", (1, 0, 0)), ("3", "right", (-1, 0, 0)),
        ("7", "top", (0, 1, 0)), ("7", "bottom", (0, -1, 0)),
    ):  # fmt: skip
        tab.key(key)
        back, up = turned(tab)
        np.testing.assert_allclose(back, way, atol=1e-3)
        np.testing.assert_allclose(up, upwards.get(side, (0, 1, 0)), atol=1e-3)
        assert tab.get(FACING) == side
    tab.key("5")
    tab.page.locator(".view-cube-face[data-side=front]").dispatch_event("click")  # from the front already: from behind
    np.testing.assert_allclose(turned(tab)[0], (0, 0, -1), atol=1e-3)
    tab.key("3")
    tab.key("f")
    tab.get("window.poise.viewports[0].view.lookFromFront()")
    tab.page.locator(".view-cube-face[data-side=front]").click()
    np.testing.assert_allclose(turned(tab)[0], (0, 0, 1), atol=1e-3)


def test_a_robot_that_stands_upright_along_z_has_its_front_along_x(served):
    tab = served(shown("z", 1.0))
    tab.key("5")
    back, up = turned(tab)
    np.testing.assert_allclose(back, (1, 0, 0), atol=1e-3)
    np.testing.assert_allclose(up, (0, 0, 1), atol=1e-3)


def test_what_is_selected_is_framed_and_stays(served):
    tab = served(build_document(poise.load(samples.path("humanoid.glb")), scope="limbs"))
    tab.answered()
    before = tab.get(TALL, "LeftForeArm")
    tab.get("document.querySelector(\"[data-testid='joint-LeftForeArm']\").click()")
    tab.until("window.poise.selected === 'LeftForeArm'")
    tab.key(".")
    assert tab.get(TALL, "LeftForeArm") > 2 * before > 0
    tab.resize(900, 640)
    assert tab.get(TALL, "LeftForeArm") > 2 * before
    tab.key("f")
    assert tab.get(TALL, "LeftForeArm") == pytest.approx(before, rel=0.35)
    tab.key("Escape")
    tab.until("window.poise.selected === null")
    tab.key(".")  # the chain that the gizmo has
    assert tab.get(TALL, "LeftForeArm") > 1.3 * before


def test_meshes_are_read_once_for_all_views(served):
    tab = served(build_document(poise.load(samples.path("humanoid.glb"))), drawn=True)
    tab.answered()
    tab.get(
        "import('three/addons/loaders/GLTFLoader.js').then(({GLTFLoader}) => {"
        " const read = GLTFLoader.prototype.parseAsync; window.reads = 0;"
        " GLTFLoader.prototype.parseAsync = function (...given) { window.reads += 1; return read.apply(this, given); };"
        "})"
    )
    for count in (4, 1, 2):
        tab.get(f"window.poise.send({{do: 'views', count: {count}}})")
        tab.until(
            f"window.poise.viewports.length === {count} && window.poise.viewports.every((v) => v.actor?.skin.posed)"
        )
        tab.answered()
    assert tab.get("window.poise.viewports.every((v) => v.actor.skin.hasMeshes)")
    assert tab.get("window.reads") == 0
    materials = tab.get("new Set(window.poise.viewports.flatMap((v) => [...v.actor.skin.materials.keys()])).size")
    assert materials == 2 * tab.get("window.poise.viewports[0].actor.skin.materials.size")
