"""What a press, a drag and a click on the figure do: by mouse and by touch, in windows of three sizes."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.viewer.document.document import build_document
from tests.viewer.browser import assert_shown_is_solved
from tests.workload import amount

pytestmark = pytest.mark.long

SIZES = ((1000, 600), (1600, 1000), (400, 800))
VIEW = "window.poise.viewports[0]"
CAMERA = f"JSON.stringify({VIEW}.view.readState())"
LABEL = "!document.querySelector('.viewport-label').hidden"
WAY = [(5 * i, -4 * i) for i in range(1, 7)]  # of a drag [pixels]

#: Places on the page where the skin is seen, as three.js itself finds them, each with the joints that it follows there.
SKIN = """
async (count) => {
  const {Raycaster, Vector2} = await import("three");
  const {stage, actor, view, camera} = window.poise.viewports[0];
  stage.draw();
  const box = stage.canvas.getBoundingClientRect();
  const seen = actor.listPoints().map((point) => view.project(point));
  const span = [0, 1].map((k) => [Math.min(...seen.map((p) => p[k])), Math.max(...seen.map((p) => p[k]))]);
  const meshes = actor.skin.copies.flatMap(({objects}) => objects).filter((object) => object.isMesh);
  for (const mesh of meshes) if (mesh.isSkinnedMesh) mesh.boundingSphere = mesh.boundingBox = null; // of an old pose
  let seed = 7;
  const random = ([low, high]) => low + (high - low) * ((seed = (16807 * seed) % 2147483647) / 2147483647);
  const ray = new Raycaster();
  const found = [];
  for (let tries = 0; found.length < count && tries < 5000; tries++) {
    const [x, y] = span.map(random);
    if (document.elementFromPoint(box.left + x, box.top + y) !== stage.canvas) continue;
    ray.setFromCamera(new Vector2((2 * x) / box.width - 1, 1 - (2 * y) / box.height), camera);
    const [hit] = ray.intersectObjects(meshes, false);
    if (!hit) continue;
    const {skinIndex, skinWeight} = hit.object.geometry.attributes;
    const bones = hit.object.skeleton?.bones ?? [];
    const joints = [hit.face.a, hit.face.b, hit.face.c].flatMap((corner) => [0, 1, 2, 3].flatMap((k) =>
      skinWeight?.getComponent(corner, k) > 0.2 ? [bones[skinIndex.getComponent(corner, k)].name] : []));
    const marks = actor.handles.findNearest((point) => view.project(point), x, y, 30);
    found.push({x: box.left + x, y: box.top + y, joints, marks: marks !== null});
  }
  return found;
}
"""


class Hand:
    """A mouse or a finger."""

    def __init__(self, tab, kind):
        self.tab, self.kind = tab, kind
        self._client = tab.context.new_cdp_session(tab.page) if kind == "touch" else None

    def touch(self, what, *points):
        places = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        self._client.send("Input.dispatchTouchEvent", {"type": what, "touchPoints": places})

    def drag(self, x, y, way=WAY, **mouse):
        """Press at a place, go along a way from there, and let go."""
        if self.kind == "touch":
            self.touch("touchStart", (x, y))
            for dx, dy in way:
                self.touch("touchMove", (x + dx, y + dy))
            self.touch("touchEnd")
            return
        self.tab.page.mouse.move(x, y)
        self.tab.page.mouse.down(**mouse)
        for dx, dy in way:
            self.tab.page.mouse.move(x + dx, y + dy)
        self.tab.page.mouse.up(**mouse)

    def click(self, x, y):
        if self.kind == "touch":
            self.touch("touchStart", (x, y))
            self.touch("touchEnd")
        else:
            self.tab.page.mouse.click(x, y)


@pytest.fixture
def tab(served):
    """The bundled humanoid."""
    return served(build_document(poise.load(samples.path("humanoid.glb")), scope="limbs"))


def on_screen(tab, position):
    return tab.get(f"(point) => {VIEW}.findPixels(point)", list(position))


def joint_on_screen(tab, joint, share=0.5):
    """Where the middle of a bone is drawn."""
    bone = f"(([joint, share]) => {{ const {{figure}} = {VIEW}.actor; const row = figure.rows.get(joint); "
    bone += "const [a, b] = [figure.readPosition(row), figure.computeTail(row)]; "
    bone += "return a.map((v, k) => v + share * (b[k] - v)); })"
    return on_screen(tab, tab.get(bone, [joint, share]))


@pytest.mark.parametrize("kind", ["mouse", "touch"])
def test_a_drag_moves_each_target_that_is_not_active(tab, kind):
    hand = Hand(tab, kind)
    for size in SIZES:
        tab.resize(*size)
        for chain in [chain["id"] for chain in tab.state["chains"]]:
            key = f"target:{chain}"
            if tab.get(f"{VIEW}.gizmo.active") == key:
                continue
            before, camera, steps = tab.chain(chain)["position"], tab.get(CAMERA), len(tab.studio.history.past)
            x, y = on_screen(tab, before)
            hand.drag(x, y)
            tab.until_state(f"JSON.stringify(state.chains.find(({{id}}) => id === {chain!r}).position) !== "
                            f"JSON.stringify({before})")  # fmt: skip
            tab.answered()
            assert tab.get(f"{VIEW}.gizmo.active") == key
            assert tab.get("window.poise.selected") == tab.chain(chain)["tip"]
            np.testing.assert_allclose(on_screen(tab, tab.chain(chain)["position"]), np.add((x, y), WAY[-1]), atol=1.0)
            assert tab.get(CAMERA) == camera
            assert len(tab.studio.history.past) == steps + 1
    assert_shown_is_solved(tab)


@pytest.mark.parametrize("kind", ["mouse", "touch"])
def test_a_click_on_the_skin_selects_the_joint_that_it_follows(tab, kind):
    """Near a target its effector is selected."""
    hand = Hand(tab, kind)
    for size, count in zip(SIZES, amount((7, 7, 6), (17, 17, 16)), strict=True):
        tab.resize(*size)
        for place in tab.get(SKIN, count):
            tab.key("Escape")
            tab.until("window.poise.selected === null")
            hand.click(place["x"], place["y"])
            selected = tab.until("window.poise.selected")
            assert place["marks"] or selected in place["joints"], place
            tab.get(f"{VIEW}.picking.pointer._last = -Infinity")  # the next click is not the second of a double click


def test_a_drag_of_the_skin_moves_the_effector_of_that_limb(tab):
    hand = Hand(tab, "mouse")
    tab.click("reset")
    tab.answered()
    for joint, tip in (("RightForeArm", "RightHand"), ("LeftUpLeg", "LeftFoot")):
        (chain,) = [chain for chain in tab.state["chains"] if chain["tip"] == tip]
        camera = tab.get(CAMERA)
        before = on_screen(tab, chain["position"])
        x, y = joint_on_screen(tab, joint)
        tab.page.mouse.move(x, y)
        tab.until(f"{VIEW}.stage.canvas.style.cursor === 'grab'")
        hand.drag(x, y)
        tab.until_state(f"state.chains.some(({{tip, position}}) => tip === {tip!r} && "
                        f"JSON.stringify(position) !== JSON.stringify({chain['position']}))")  # fmt: skip
        tab.answered()
        assert tab.get("window.poise.selected") == tip
        np.testing.assert_allclose(
            on_screen(tab, tab.chain(chain["id"])["position"]), np.add(before, WAY[-1]), atol=1.0
        )
        assert tab.get(CAMERA) == camera
    assert_shown_is_solved(tab)


def test_each_part_of_a_figure_belongs_to_the_effector_of_its_limb(tab):
    tips = tab.get("""async () => {
      const {findChain} = await import("poise/figure/limbs.js");
      const {figure} = window.poise.viewports[0].actor;
      const looks = {kind: "look", tip: "Head", joints: ["Neck", "Head"]};
      const of = (chains) => figure.joints.map(({name}, row) => [name, findChain(figure, chains, row)?.tip ?? null]);
      const {chains} = window.poise.state;
      const trunk = ["Hips", "Spine", "Chest", "LeftShoulder"];
      const body = {...chains[0], joints: [...trunk, ...chains[0].joints], tip: "LeftHand"};
      return [of([looks, ...chains]), of([looks, body])].map(Object.fromEntries);
    }""")
    limbs, whole = tips
    for side in ("Left", "Right"):
        assert {limbs[f"{side}{part}"] for part in ("Shoulder", "Arm", "ForeArm", "Hand")} == {f"{side}Hand"}
        assert {limbs[f"{side}{part}"] for part in ("UpLeg", "Leg", "Foot", "Toe")} == {f"{side}Foot"}
    assert {limbs[part] for part in ("Neck", "Head")} == {"Head"}
    assert {limbs[part] for part in ("Hips", "Spine", "Chest")} == {None}
    assert {whole[part] for part in ("Hips", "Spine", "Chest", "LeftShoulder")} == {"LeftHand"}
    assert {whole[part] for part in ("RightArm", "RightHand", "RightLeg")} == {None}


def test_what_is_no_press_on_a_limb_is_the_cameras(tab):
    """Empty space, a part without effector, other buttons, keys that are held, rings on a bone, chains that are off."""
    hand = Hand(tab, "mouse")
    chains = tab.state["chains"]
    x, y = joint_on_screen(tab, "Spine")

    def turns(act):
        before = tab.get(CAMERA)
        act()
        tab.until(f"{CAMERA} !== {before!r}")
        assert tab.state["chains"] == chains
        tab.click("frame-all")

    turns(lambda: hand.drag(300, 450))
    turns(lambda: hand.drag(x, y))
    turns(lambda: hand.drag(*joint_on_screen(tab, "RightForeArm"), button="right"))
    for key in ("Shift", "Alt", "Control"):
        tab.page.keyboard.down(key)
        turns(lambda: hand.drag(*joint_on_screen(tab, "RightForeArm")))
        tab.page.keyboard.up(key)
    tab.click("joint-LeftLeg")
    tab.key("t")
    turns(lambda: hand.drag(*joint_on_screen(tab, "RightForeArm")))
    tab.key("t")
    for chain in chains:
        tab.get("(chain) => window.poise.send({do: 'chain_change', chain, enabled: false})", chain["id"])
    tab.until_state("state.chains.every(({enabled}) => !enabled)")
    chains = tab.state["chains"]
    turns(lambda: hand.drag(*joint_on_screen(tab, "RightForeArm")))


def test_two_fingers_on_the_figure_zoom_and_leave_it_alone(tab):
    hand = Hand(tab, "touch")
    chains = tab.state["chains"]
    x, y = joint_on_screen(tab, "RightForeArm")
    away = f"{VIEW}.camera.position.distanceTo({VIEW}.view.controls.target)"
    before = tab.get(away)
    hand.touch("touchStart", (x, y))
    hand.touch("touchStart", (x, y), (x + 40, y))
    for i in range(1, 8):
        hand.touch("touchMove", (x - 5 * i, y), (x + 40 + 5 * i, y))
    hand.touch("touchEnd")
    assert tab.get(away) < 0.8 * before
    assert tab.state["chains"] == chains
    tab.click("frame-all")
    hand.drag(*joint_on_screen(tab, "RightForeArm"))  # and one finger drags again
    tab.until_state(f"JSON.stringify(state.chains.map(({{position}}) => position)) !== "
                    f"JSON.stringify({[chain['position'] for chain in chains]})")  # fmt: skip


def point_at(tab, joint, share=0.5):
    """Move the mouse to a bone as a hand does, in steps, until its name is shown."""
    for step in (3, 2, 1, 0) * 5:  # the page looks once a picture, and may still be laid out at the first
        x, y = joint_on_screen(tab, joint, share)
        tab.page.mouse.move(x + step, y)
        tab.pictures()
        if step == 0 and tab.get(LABEL):
            return
    pytest.fail(f"no name beside the pointer at {joint}: {tab.messages_shown()}")


def test_the_name_beside_the_pointer_goes_at_press(tab):
    tab.answered()
    point_at(tab, "Spine")
    tab.page.mouse.down()
    assert not tab.get(LABEL)
    tab.page.mouse.up()
    point_at(tab, "Spine", 0.6)


def test_a_link_of_a_robot_is_clicked_and_dragged(served):
    tab = served("robot_arm")
    before, camera = tab.state["chains"][0], tab.get(CAMERA)
    place = next(place for place in tab.get(SKIN, 20) if not place["marks"])
    tab.page.mouse.click(place["x"], place["y"])
    tab.until("window.poise.selected")
    tab.key("Escape")
    Hand(tab, "mouse").drag(place["x"], place["y"])
    tab.until_state(f"JSON.stringify(state.chains[0].position) !== JSON.stringify({before['position']})")
    tab.answered()
    assert tab.state["chains"][0]["rotation"] == pytest.approx(before["rotation"])
    assert tab.get(CAMERA) == camera
    assert_shown_is_solved(tab)
