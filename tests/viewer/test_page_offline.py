"""The page that is saved to be sent: its keys, what it plays, and what it solves without a server."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.maths import rotations
from poise.viewer import scenes
from poise.viewer.document.document import build_document
from poise.viewer.session.downloads import build_document_page
from tests.shared_kernel_cache import once
from tests.viewer.browser import Tab

pytestmark = pytest.mark.long

HANDLES = "[...window.poise.viewport.actor.handles.all.values()].map(({mark}) => mark)"


def load_sample(name="humanoid.glb"):
    return poise.load(samples.path(name))


#: The documents whose pages are opened.
DOCUMENTS = {
    "body": lambda: build_document(load_sample()),
    "body with a clip": lambda: build_document(load_sample(), clip_name=load_sample().clips[0].name),
    "limbs": lambda: build_document(load_sample(), scope="limbs"),
    "limbs with a clip": lambda: build_document(load_sample(), scope="limbs", clip_name=load_sample().clips[0].name),
    "clip": lambda: build_document(load_sample("humanoid.bvh")),
    "ccd": lambda: scenes.build_scene("ccd"),
    "race": lambda: scenes.build_scene("race"),
}


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """`saved(name)`: the page of a document as a file, made once for all workers. It is not to be changed."""
    return lambda name: once(
        tmp_path_factory, f"{name}.html", lambda path: path.write_bytes(build_document_page(DOCUMENTS[name]()))
    )


@pytest.fixture
def offline(chromium, saved):
    """`offline(name, ready)`: the page of a document, opened as a file, as soon as an expression is true in it."""
    with contextlib.ExitStack() as stack:

        def open_file(name, ready="window.poise && window.poise.shown >= 0", **looks):
            page = Tab(chromium, saved(name).as_uri(), **looks)
            stack.callback(page.close)
            page.page.goto(page.url)
            page.until(ready)
            return page

        yield open_file


def test_a_click_on_skin_selects_and_a_drag_of_a_limb_pulls_its_target(offline):
    page = offline("limbs")
    view = "window.poise.viewport"
    camera = f"JSON.stringify({view}.view.readState())"
    page.until("window.poise.solving")
    for joint, share in (("Chest", 0.5), ("LeftLeg", 0.4), ("RightForeArm", 0.5)):
        point = page.get(
            f"""([joint, share]) => {{
              const {{figure}} = {view}.actor;
              const row = figure.rows.get(joint);
              const [from, to] = [figure.readPosition(row), figure.computeTail(row)];
              return {view}.findPixels(from.map((value, k) => value + share * (to[k] - value)));
            }}""",
            [joint, share],
        )
        page.page.mouse.click(*point)
        page.until(f"document.querySelector('[data-testid=picked]').textContent === {joint!r}")
    target = f"{view}.actor.handles.all.get('target:right_arm').object.position.toArray()"
    before, place = page.get(camera), np.array(page.get(target))
    x, y = point
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x + 40, y, steps=4)
    page.page.mouse.up()
    assert np.linalg.norm(np.array(page.get(target)) - place) > 0.05
    assert page.get("window.poise.solving.poser.answer.left") < 2e-3
    assert page.get(camera) == before


def test_keys_work_after_a_click_on_play(offline):
    page = offline("limbs with a clip")
    page.click("play")
    page.until("!window.poise.playing")
    shown = page.get("window.poise.shown")
    count = page.get("window.poise.times.length")
    for key, frames in (("ArrowRight", 1), ("Shift+ArrowRight", 10), ("ArrowLeft", -1), ("Shift+ArrowLeft", -10)):
        page.page.keyboard.press(key)
        wanted = min(max(shown + frames, 0), count - 1)
        page.until(f"window.poise.shown === {wanted}")
        shown = wanted
    page.page.keyboard.press("Space")
    page.until("window.poise.playing")


def test_pictures_are_requested_only_while_it_plays(offline):
    page = offline("limbs with a clip")
    requested = "window.poise.ticking"
    page.until(f"{requested} !== 0")
    page.page.keyboard.press("Space")
    page.until(f"{requested} === 0")
    page.page.wait_for_timeout(100)
    assert page.get(requested) == 0


def test_a_page_with_one_pose_has_targets_and_keys(offline):
    page = offline("limbs")
    page.until("window.poise.solving")
    assert set(page.get(HANDLES)) == {"position"}
    camera = "JSON.stringify(window.poise.viewport.view.readState())"
    before = page.get(camera)
    page.page.mouse.move(20, 300)
    page.page.mouse.wheel(0, -400)
    page.until(f"{camera} !== {before!r}")
    near = page.get(camera)
    page.page.keyboard.press("Space")  # there is nothing to play
    page.page.keyboard.press("f")
    page.until(f"{camera} !== {near!r}")


def test_methods_are_chosen_in_a_file_and_refused_with_a_reason(offline):
    page = offline("limbs")
    page.until("window.poise.solving")
    page.page.locator("[data-testid=solve-more] summary").click()
    for method in ("ccd", "jacobian_transpose", "levenberg_marquardt"):
        page.page.locator("[data-testid=method]").select_option(method)
        assert page.get("window.poise.solving.poser.method") == method
    assert page.get("window.poise.solving.poser.answer.status") == "reached"
    refused = page.page.locator("[data-testid=method] option[value=fabrik]")
    assert refused.is_disabled()
    assert "FABRIK" in refused.get_attribute("title") or "fabrik" in refused.get_attribute("title")
    assert page.foreign == []


# --- a page that solves ----------------------------------------------------------------------------------------------

LIMIT_MM = 2.0
MIDDLE = """(joint) => {
  const { viewport } = window.poise;
  const { figure } = viewport.actor;
  const row = figure.rows.get(joint);
  const [from, to] = [figure.readPosition(row), figure.computeTail(row)];
  return viewport.findPixels(from.map((value, k) => 0.5 * value + 0.5 * to[k]));
}"""


@pytest.fixture
def body(offline):
    """The page of a whole body."""
    return offline("body", "window.poise?.solving")


def place(page, joint):
    return np.array(page.get("(joint) => window.poise.solving.poser.readPlace(joint).position", joint))


def pull(page, joint, across, down):
    """Press on the middle of a bone and drag; the number of millimetres that are left."""
    x, y = page.get(MIDDLE, joint)
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x + across, y + down, steps=10)
    page.page.mouse.up()
    return 1e3 * page.get("window.poise.solving.poser.answer.left")


def test_a_file_solves_for_the_skin_that_is_pulled(body):
    feet = [place(body, foot) for foot in ("LeftFoot", "RightFoot")]
    camera = "JSON.stringify(window.poise.viewport.view.readState())"
    before = body.get(camera)
    for joint, across, down in (("LeftHand", -60, -30), ("Head", 20, 10), ("Hips", 10, 20), ("RightForeArm", 30, 40)):
        hand = place(body, joint)
        assert pull(body, joint, across, down) < LIMIT_MM, joint
        assert np.linalg.norm(place(body, joint) - hand) > 0.01
        for foot, stood in zip(("LeftFoot", "RightFoot"), feet, strict=True):
            assert np.linalg.norm(place(body, foot) - stood) < 1e-3
    assert body.get(camera) == before
    assert body.foreign == []


def measure_gaze(page, point):
    """The angle [deg] between where the head faces and the way to a point."""
    packed = page.get("window.poise.data.body")
    rest = page.get("window.poise.solving.restHead")
    place_now = page.get("window.poise.solving.poser.readPlace('Head')")
    turn = rotations.multiply(np.array(place_now["rotation"]), rotations.inverse(np.array(rest)))
    face, way = rotations.rotate(turn, np.array(packed["axes"][0])), np.array(point) - place_now["position"]
    return np.degrees(np.arccos(face @ way / np.linalg.norm(way)))


def test_the_head_of_a_file_looks_at_a_pulled_hand(body):
    body.get("window.poise.solving.restHead = window.poise.solving.poser.readPlace('Head').rotation")
    hand = place(body, "LeftHand")
    before = measure_gaze(body, hand)
    assert pull(body, "LeftHand", 30, -60) < LIMIT_MM
    target = body.get("window.poise.solving.poser.pulled.position")
    assert before > 60
    assert measure_gaze(body, target) < 25  # it turns by 70 degrees, and the hand is aside
    turned = body.get("window.poise.solving.poser.readPlace('Head').rotation")
    pull(body, "Hips", 5, 5)  # the head goes along, and does not look at hips
    assert abs(np.dot(body.get("window.poise.solving.poser.readPlace('Head').rotation"), turned)) > 0.98
    assert body.errors == []


def test_what_is_pulled_in_a_file_stays_above_the_floor(body):
    floor = body.get("window.poise.data.body.floor")
    pull(body, "LeftHand", -20, 400)
    assert body.get("window.poise.solving.poser.pulled.position")[1] >= floor - 1e-9
    assert place(body, "LeftHand")[1] > floor - 1e-3
    assert body.errors == []


def test_keys_move_the_selected_part_of_a_file(body):
    body.get("window.poise.store.set('selected', 'LeftHand')")
    before = place(body, "LeftHand")
    body.page.locator("[role=application]").focus()
    for _ in range(5):
        body.page.keyboard.press("ArrowUp")
    body.until("window.poise.solving.poser.pulled?.joint === 'LeftHand'")
    assert np.linalg.norm(place(body, "LeftHand") - before) > 0.005
    assert body.errors == []


def test_a_foot_that_is_pulled_in_a_file_is_pinned_where_it_is_let_go(body):
    other = place(body, "RightFoot")
    pull(body, "LeftFoot", 40, -60)
    lifted = place(body, "LeftFoot")
    assert lifted[1] > 0.15
    pull(body, "LeftHand", -20, -20)
    assert np.linalg.norm(place(body, "LeftFoot") - lifted) < 1e-3
    assert np.linalg.norm(place(body, "RightFoot") - other) < 1e-3


def test_a_click_on_a_foot_in_a_file_lets_it_go_and_pins_it(body):
    pinned = "window.poise.solving.poser.pins.get('LeftFoot').enabled"
    x, y = body.get(MIDDLE, "LeftFoot")
    assert body.get(pinned)
    body.page.mouse.click(x, y)
    body.until(f"!{pinned}")
    body.page.mouse.click(x, y)
    body.until(pinned)


def test_keys_pin_a_hand_in_a_file_and_let_a_foot_go(body):
    body.page.locator("[role=application]").focus()
    pins = "Object.fromEntries([...window.poise.solving.poser.pins].map(([joint, {enabled}]) => [joint, enabled]))"
    for joint, wanted in (("LeftHand", True), ("LeftFoot", False), ("LeftHand", False)):
        for _ in range(40):
            body.page.keyboard.press("c")
            if body.get("window.poise.store.get('selected')") == joint:
                break
        body.page.keyboard.press("p")
        assert body.get(pins)[joint] is wanted
    assert body.get(pins)["RightFoot"]
    held = place(body, "RightFoot")
    for _ in range(3):
        body.page.keyboard.press("ArrowUp")
    assert np.linalg.norm(place(body, "RightFoot") - held) < 1e-3
    assert body.errors == []


def test_a_hand_that_is_pulled_down_in_a_file_bends_the_knees(body):
    heights = {}
    body.page.locator("[data-testid=solve-more] summary").click()
    for preference in ("start", "natural"):
        body.page.locator("[data-testid=preference]").select_option(preference)
        body.page.locator("[data-testid=reset]").click()
        assert pull(body, "LeftHand", -20, 400) < LIMIT_MM
        heights[preference] = place(body, "Hips")[1]
    assert heights["natural"] < heights["start"] - 0.1
    assert body.errors == []


def test_limits_and_the_start_are_chosen_in_a_file(body):
    pull(body, "LeftHand", -60, -30)
    body.page.locator("[data-testid=solve-more] summary").click()
    body.page.locator("[data-testid=limits]").select_option("free")
    assert body.get("window.poise.solving.poser.mode") == "free"
    assert body.get("document.querySelectorAll('.chart canvas').length") == 1
    body.page.locator("[data-testid=reset]").click()
    assert body.get("window.poise.solving.poser.pulled") is None


def test_a_pull_begins_at_the_frame_of_the_clip_that_is_shown(offline):
    page = offline("body with a clip", "window.poise?.solving && window.poise.shown > 3")
    page.page.keyboard.press("Space")
    page.until("!window.poise.playing")
    figure = "window.poise.viewport.actor.figure"
    drawn = f"(joint) => {figure}.readPosition({figure}.rows.get(joint))"
    feet = {foot: np.array(page.get(drawn, foot)) for foot in ("LeftFoot", "RightFoot")}
    shown = page.get("window.poise.shown")
    assert pull(page, "RightHand", 10, -10) < LIMIT_MM
    for foot, stood in feet.items():
        assert np.linalg.norm(place(page, foot) - stood) < 1e-3
    assert page.get("window.poise.shown") == shown
    page.page.keyboard.press("Space")
    page.until(f"window.poise.playing && window.poise.shown !== {shown}")
    assert page.foreign == []


# --- a race of methods -----------------------------------------------------------------------------------------------

RACE = "window.poise.racing.race"
TARGET = """() => {
  const { viewport } = window.poise;
  const target = [...viewport.actor.handles.all.values()].find(({ what }) => what === "target");
  return viewport.findPixels(target.object.position.toArray());
}"""


RACING = "window.poise?.racing"


def drag_target(page, across, down):
    x, y = page.get(TARGET)
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x + across, y + down, steps=8)
    page.page.mouse.up()


def test_methods_race_in_a_file(offline):
    page = offline("race", RACING)
    page.until(f"{RACE} && document.querySelectorAll('.view').length === 6")
    page.until(f"!{RACE}.clock.playing && {RACE}.clock.iteration === {RACE}.clock.last && {RACE}.clock.last > 10")
    assert page.get(f"{RACE}.paths.every(({{isMet}}) => isMet)")
    titles = page.page.locator(".caption-method").all_inner_texts()
    assert titles[:2] == ["CCD", "FABRIK"]
    assert len(set(titles)) == 6
    rows = page.page.locator("[data-testid=race-table] tbody tr")
    told = "[...document.querySelectorAll('[data-testid=race-table] tbody td')].map((cell) => cell.innerText)"
    before = page.get(told)
    drag_target(page, -40, -30)
    page.until(f"(before) => String({told}) !== String(before) && !{told}.includes('-')", before)
    cells = [row.split("\t") for row in rows.all_inner_texts()]
    assert [len(row) for row in cells] == [7] * 7
    assert "-" not in {cell for row in cells for cell in row[1:]}
    assert page.get("document.querySelector('.race-side .chart').getAttribute('aria-label')").count(" to ") == 6
    assert page.get(f"{RACE}.clock.iteration === {RACE}.clock.last")  # a race at its end stays there


def test_a_race_in_a_file_is_stepped_slowed_and_left_by_keys(offline):
    page = offline("ccd", RACING)
    page.page.keyboard.press("m")
    page.until(f"{RACE} && !{RACE}.clock.playing")
    assert page.get(f"{RACE}.raced.length") == 4
    page.page.keyboard.press("r")
    page.until(f"{RACE}.clock.playing && {RACE}.clock.iteration > 0")
    page.page.keyboard.press("Space")
    page.until(f"!{RACE}.clock.playing")
    page.get(f"{RACE}.clock.seek(1)")
    for key, wanted in (("ArrowRight", 2), ("s", 3), ("ArrowLeft", 2), ("Shift+ArrowLeft", 0)):
        page.page.keyboard.press(key)
        page.until(f"{RACE}.clock.iteration === {wanted}")
    assert page.page.locator("[data-testid=race-clock]").inner_text().startswith("iteration 0 /")
    assert page.get("window.poise.store.get('answer').views[0].sentence").startswith("after 0 iterations of")
    page.page.locator("[data-testid=race-speed]").select_option("60")
    assert page.get(f"{RACE}.clock.speed") == 60
    page.page.locator("[data-testid=race-damped_least_squares]").check()
    page.until("document.querySelectorAll('.view').length === 5")
    page.page.locator("[data-testid=race-ccd]").uncheck()
    page.until("document.querySelectorAll('.view').length === 4")
    page.page.keyboard.press("m")
    page.until("document.querySelectorAll('.view').length === 1")
    assert page.page.locator("[data-testid=outcome]").is_visible()
    first = page.get("[...window.poise.racing.made.values().next().value.paths[0].start]")
    held = page.get("[...window.poise.solving.poser.q]")
    drag_target(page, -30, 20)
    assert page.get("window.poise.solving.poser.answer.status") == "reached"
    page.page.keyboard.press("m")
    page.until(RACE)
    assert page.get(f"[...{RACE}.paths[0].start]") == held  # where the target was taken
    page.page.keyboard.press("m")
    page.page.locator("[data-testid=solve-more] summary").click()
    page.page.locator("[data-testid=reset]").click()
    page.page.locator("[data-testid=solve-more] summary").click()
    page.page.keyboard.press("m")
    page.until(RACE)
    assert page.get(f"[...{RACE}.paths[0].start]") == first


def test_the_limb_that_is_pulled_in_a_file_races_to_the_same_target(offline):
    page = offline("body", RACING)
    pull(page, "LeftHand", -40, -30)
    target = page.get("window.poise.solving.poser.pulled.position")
    page.click("race")
    page.until(f"{RACE}?.chain.tip === 'LeftHand'")
    assert page.get(f"{RACE}.chain.position") == target
    assert page.get(f"{RACE}.clock.last") > 0
    page.page.locator("[data-testid=race-chain]").select_option("right_leg")
    page.until(f"{RACE}.chain.id === 'right_leg'")
    drag_target(page, 20, -60)
    assert page.get(f"{RACE}.clock.last") > 0
    page.click("race")
    page.until("document.querySelectorAll('.view').length === 1")
    assert page.get("window.poise.solving.poser.pulled.joint") == "LeftHand"


def test_a_race_in_a_file_begins_where_the_pull_did(offline):
    page = offline("body", RACING)
    pull(page, "Hips", 30, 20)
    page.page.mouse.move(5, 5)
    before = page.get("[...window.poise.solving.poser.q]")
    pull(page, "LeftHand", -40, -30)
    page.click("race")
    page.until(f"{RACE}?.chain.tip === 'LeftHand'")
    assert page.get(f"[...{RACE}.paths[0].start]") == before
    assert page.get(f"{RACE}.clock.last") > 0
    page.page.locator("[data-testid=race-chain]").select_option("right_arm")  # not pulled: as it is shown
    page.until(f"{RACE}.chain.id === 'right_arm'")
    assert page.get(f"[...{RACE}.paths[0].start]") == page.get("[...window.poise.solving.poser.q]")
    assert page.get(f"{RACE}.clock.last") == 0


def test_a_race_in_a_file_of_a_clip_begins_at_the_frame(offline):
    page = offline("clip", RACING)
    page.until("window.poise.solving")
    page.page.keyboard.press("Space")
    page.until("!window.poise.playing")
    shown = page.get("window.poise.shown")
    page.click("race")
    page.until(RACE)
    assert page.get(f"[...{RACE}.paths[0].start]") == page.get(f"[...window.poise.solving.poser.readFrame({shown})]")
    page.click("race")
    page.until("document.querySelectorAll('.view').length === 1")
    assert page.get("window.poise.shown") == shown


def test_a_race_in_a_file_waits_where_motion_is_reduced(chromium, offline):
    context = chromium.new_context(reduced_motion="reduce")
    page = offline("race", RACING, context=context)
    page.until(f"{RACE} && !{RACE}.clock.playing")
    assert page.get(f"{RACE}.clock.iteration") == 0
    page.page.keyboard.press("Space")
    page.until(f"{RACE}.clock.iteration > 0")


def test_a_file_of_a_body_is_small(saved):
    assert saved("body").stat().st_size < 2_500_000
