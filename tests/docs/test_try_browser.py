"""The page that solves without Python in Chromium: opened as a file, dragged by mouse, touch and keys."""

from __future__ import annotations

import json

import numpy as np
import pytest

from poise import solvers
from poise.solvers.base.interface import Request
from tests.docs.test_try import PAGE, find_differences, needs_portable, run, sys
from tests.docs.try_cases import export
from tests.timeouts import PATIENCE

pytestmark = pytest.mark.long

TARGETS = 12  # of each scene and method
FRAME_MS = 1000 / 60

SOLVE_RUNS = """
(runs) => {
  const decode = (text) => new Float64Array(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  const encode = (array) => btoa(String.fromCharCode(...new Uint8Array(Float64Array.from(array).buffer)));
  return runs.map(({ scene: name, method, answers }) => {
    const scene = page.scenes.get(name);
    let start = scene.rest;
    return { scene: name, method, answers: answers.map(({ target }) => {
      const { q, errors, reached, iterations } = scene.solve(method, decode(target), start);
      start = q;
      return { target, q: encode(q), errors: encode(errors), reached, iterations };
    })};
  });
}
"""
TARGET = "[...page.target]"
TARGET_ON_SCREEN = "page.screenOf([...page.target].slice(0, 3))"
TIP = "page.arm.tip"
CAMERA = "[page.camera.yaw, page.camera.pitch, page.camera.distance]"
PICTURE = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"


class Opened:
    """The page in a tab. Errors and requests are collected."""

    def __init__(self, browser, url=None, **options):
        self.context = browser.new_context(**({"viewport": {"width": 1200, "height": 800}} | options))
        self.tab = self.context.new_page()
        self.tab.set_default_timeout(PATIENCE * 500)
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.tab.on("console", self._hear)
        self.tab.on("pageerror", lambda error: self.faults.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.goto(url or PAGE.as_uri())
        if url is None:
            self.tab.wait_for_selector("body[data-ready]")

    def _hear(self, message):
        if message.type in ("error", "warning") and "GL Driver Message" not in message.text:
            self.faults.append(message.text)

    def get(self, expression, argument=None):
        return self.tab.evaluate(expression, argument)

    def draw(self):
        self.get(PICTURE)

    def drag(self, start, motion, steps=5):
        """Drag by the real mouse."""
        self.tab.mouse.move(*start)
        self.tab.mouse.down()
        self.tab.mouse.move(start[0] + motion[0], start[1] + motion[1], steps=steps)
        self.tab.mouse.up()
        self.draw()

    def touch(self, kind, *points):
        """Send a real touch of one or two fingers."""
        if not hasattr(self, "session"):
            self.session = self.context.new_cdp_session(self.tab)
        shown = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": shown})


@pytest.fixture
def opened(chromium):
    """`opened(**options)`: the page in a new context; nothing goes wrong in it, and nothing is fetched."""
    pages = []

    def open_page(**options):
        pages.append(Opened(chromium, **options))
        return pages[-1]

    yield open_page
    for each in pages:
        each.context.close()
        assert each.faults == []
        assert [url for url in each.requests if not url.startswith(("data:", "file:"))] == []


@needs_portable
def test_chromium_answers_like_python_bit_for_bit(opened):
    finished = run(sys.executable, "-m", "tests.docs.try_cases", str(TARGETS))
    assert finished.returncode == 0, finished.stderr
    expected = json.loads(finished.stdout)
    assert find_differences(expected, opened().get(SOLVE_RUNS, expected)) == []


@pytest.mark.parametrize("scene", export.SCENE_NAMES)
def test_a_drag_by_mouse_moves_the_tip_to_the_target(opened, scene):
    page = opened()
    page.get("(name) => page.openScene(name)", scene)
    page.draw()
    before, tip = page.get(TARGET), page.get(TIP)
    page.drag(page.get(TARGET_ON_SCREEN), (-40, -30), steps=12)
    assert page.get("page.answer.reached")
    assert not np.allclose(before[:3], page.get(TARGET)[:3], atol=0.02)
    assert not np.allclose(tip, page.get(TIP), atol=0.02)
    assert np.allclose(page.get(TIP), page.get(TARGET)[:3], atol=1e-3)
    assert page.get("page.frames.length") >= 1  # times from an event to its picture


def test_each_motion_is_answered_before_the_next_picture(opened):
    """The answer is there when the event is over; the picture that follows shows it."""
    page = opened()
    x, y = page.get(TARGET_ON_SCREEN)
    answered = page.get(
        """async ([x, y]) => {
          const canvas = document.getElementById("view");
          const tell = (type, clientX, clientY) => canvas.dispatchEvent(new PointerEvent(type, {
            pointerId: 1, pointerType: "mouse", button: type === "pointermove" ? -1 : 0, buttons: 1, clientX, clientY,
            bubbles: true, cancelable: true, isPrimary: true}));
          canvas.setPointerCapture = () => {};
          tell("pointerdown", x, y);
          const [equal, solves] = [[], []];
          for (let i = 1; i <= 30; i++) {
            tell("pointermove", x + 3 * i, y - 2 * i);
            equal.push(page.answer.target.every((value, k) => value === page.target[k]));
            solves.push(page.answer.milliseconds);
            await new Promise(requestAnimationFrame);
          }
          tell("pointerup", x, y);
          return {equal, solves, frames: page.frames};
        }""",
        [x, y],
    )
    assert answered["equal"] == [True] * 30
    assert len(answered["frames"]) >= 29
    assert min(answered["solves"]) < FRAME_MS


def test_a_drag_by_touch_moves_the_target_and_two_fingers_zoom(opened):
    page = opened(viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True)
    page.draw()
    before, (x, y) = page.get(TARGET), page.get(TARGET_ON_SCREEN)
    page.touch("touchStart", (x, y))
    for i in range(1, 8):
        page.touch("touchMove", (x - 4 * i, y - 5 * i))
    page.touch("touchEnd")
    page.draw()
    assert np.linalg.norm(np.subtract(before, page.get(TARGET))) > 0.05
    assert page.get("page.answer.reached")
    assert page.get("scrollY") == 0
    distance = page.get(CAMERA)[2]
    box = page.tab.locator("#view").bounding_box()
    left, top = box["x"] + 60, box["y"] + box["height"] - 120
    page.touch("touchStart", (left, top), (left + 60, top))
    for i in range(1, 6):
        page.touch("touchMove", (left, top), (left + 60 + 20 * i, top))
    page.touch("touchEnd")
    assert page.get(CAMERA)[2] < distance


def test_empty_space_turns_the_view_and_the_wheel_zooms(opened):
    page = opened()
    target, (yaw, pitch, distance) = page.get(TARGET), page.get(CAMERA)
    box = page.tab.locator("#view").bounding_box()
    corner = box["x"] + 30, box["y"] + box["height"] - 30
    page.drag(corner, (60, -40))
    turned = page.get(CAMERA)
    assert turned[0] != yaw
    assert turned[1] != pitch
    page.tab.mouse.wheel(0, -300)
    page.tab.wait_for_function("(distance) => page.camera.distance < distance", arg=distance)
    assert page.get(TARGET) == target
    page.tab.get_by_role("button", name="Reset the view").click()
    assert page.get(CAMERA) == [yaw, pitch, distance]


def test_the_ball_on_the_arrow_turns_the_tool(opened):
    page = opened()
    page.tab.get_by_role("radio", name="Five axes").check()
    before = page.get(TARGET)
    knob = page.get("page.screenOf([0, 1, 2].map((i) => page.target[i] + 0.26 * page.target[3 + i]))")
    page.drag(knob, (50, -20), steps=10)
    after = page.get(TARGET)
    assert after[:3] == before[:3]
    assert np.dot(after[3:], before[3:]) < 0.99
    assert page.get("page.answer.reached")
    assert np.allclose(page.get("page.arm.findToolDirection(page.q)"), after[3:], atol=1e-3)


def test_keys_move_the_target_and_the_view(opened):
    page = opened()
    page.tab.locator("#view").focus()
    camera = page.get(CAMERA)
    for key in (
        "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowUp", "ArrowDown", "ArrowDown", "PageUp", "PageDown", "PageDown",
    ):  # fmt: skip
        before = page.get(TARGET)
        page.tab.keyboard.press(key)
        assert np.linalg.norm(np.subtract(before, page.get(TARGET))) > 0.01
    assert page.get(CAMERA) == camera
    page.tab.keyboard.press("Shift+ArrowLeft")
    page.tab.keyboard.press("+")
    assert page.get(CAMERA)[0] != camera[0]
    assert page.get(CAMERA)[2] < camera[2]


def test_a_method_that_cannot_solve_says_why_as_python_does(opened):
    scene = export.build_scene("five_axes")
    with pytest.raises(Exception, match="Direction") as refusal:
        solvers.check(solvers.make_solver("fabrik"), scene.problem, Request())
    page = opened()
    page.tab.get_by_label("FABRIK").check()
    page.tab.get_by_role("radio", name="Five axes").check()
    assert page.tab.get_by_label("FABRIK").is_disabled()
    assert page.tab.locator("#method-fabrik-note").inner_text() == str(refusal.value)
    assert page.get("page.method") == "ccd"


def test_a_target_out_of_reach_is_said_and_the_arm_points_at_it(opened):
    page = opened()
    for method in export.METHODS:
        page.get("(method) => { page.chooseMethod(method); page.onTarget(Float64Array.of(0, 3, 0.5), {}); }", method)
        assert "farther away than the arm is long" in page.tab.locator("#outcome").inner_text()
        assert page.tab.locator("#outcome").get_attribute("data-reached") == "false"
        assert page.tab.locator("#distance").inner_text().endswith(" mm")


def test_a_solve_from_rest_does_not_depend_on_the_last_answer(opened):
    page = opened()
    page.tab.get_by_label("Start every time from the first pose").check()
    answers = []
    for first in ([0.3, 0.9, 0.1], [-0.4, 0.3, 0.5]):
        page.get("(point) => page.onTarget(Float64Array.from(point), {})", first)
        page.get("page.onTarget(Float64Array.of(0.5, 0.6, 0.2), {})")
        answers.append(page.get("[...page.q]"))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("width", [400, 800, 1600, 2560])
def test_nothing_is_cut_off_at_any_width(opened, width):
    page = opened(viewport={"width": width, "height": 900})
    for scene in export.SCENE_NAMES:
        page.get("(name) => page.openScene(name)", scene)
        assert page.get("document.documentElement.scrollWidth") <= width
        box = page.tab.locator("#view").bounding_box()
        assert box["width"] > 300
        assert box["height"] > 300
        outside = page.get(
            """() => [...document.querySelectorAll("label, p, dt, dd, button")].filter((each) => {
              const {left, right, width} = each.getBoundingClientRect();
              return width && (left < 0 || right > innerWidth);
            }).map((each) => each.textContent)"""
        )
        assert outside == []


def test_a_page_round_it_scrolls_by_the_wheel_and_chooses_the_theme(chromium, tmp_path):
    outer = tmp_path / "outer.html"
    outer.write_text(f'<iframe src="{PAGE.as_uri()}" width=900 height=600></iframe><p style="height: 2000px">below')
    page = Opened(chromium, outer.as_uri())
    try:
        frame = page.tab.frame_locator("iframe")
        frame.locator("body[data-ready]").wait_for()
        inner = page.tab.frames[1]
        distance = inner.evaluate("page.camera.distance")
        page.tab.mouse.move(300, 300)
        page.tab.mouse.wheel(0, 200)
        page.tab.wait_for_function("scrollY > 0")
        assert inner.evaluate("page.camera.distance") == distance
        page.get("scrollTo(0, 0)")
        frame.locator("#view").click(position={"x": 40, "y": 300})
        page.tab.mouse.wheel(0, 200)
        inner.wait_for_function("(distance) => page.camera.distance > distance", arg=distance)
        background = "getComputedStyle(document.body).backgroundColor"
        light = inner.evaluate(background)
        page.get("document.querySelector('iframe').contentWindow.postMessage({theme: 'dark'}, '*')")
        inner.wait_for_function("(light) => getComputedStyle(document.body).backgroundColor !== light", arg=light)
        assert page.faults == []
    finally:
        page.context.close()


def test_in_a_frame_touches_scroll_beside_the_target_only(chromium, tmp_path):
    outer = tmp_path / "outer.html"
    outer.write_text(
        '<meta name="viewport" content="width=device-width">'
        f'<iframe src="{PAGE.as_uri()}" width=380 height=640></iframe><p style="height: 2000px">below'
    )
    page = Opened(chromium, outer.as_uri(), viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True)
    try:
        page.tab.frame_locator("iframe").locator("body[data-ready]").wait_for()
        inner = page.tab.frames[1]
        left, top = page.get("(({left, top}) => [left, top])(document.querySelector('iframe').getBoundingClientRect())")
        x, y = inner.evaluate(TARGET_ON_SCREEN)
        before = inner.evaluate(TARGET)
        page.touch("touchStart", (left + x, top + y))
        for i in range(1, 9):
            page.touch("touchMove", (left + x, top + y - 10 * i))
        page.touch("touchEnd")
        assert page.get("scrollY") == 0
        assert inner.evaluate(TARGET)[1] > before[1] + 0.1
        page.touch("touchStart", (left + 60, top + 400))
        for i in range(1, 13):
            page.touch("touchMove", (left + 60, top + 400 - 20 * i))
        page.touch("touchEnd")
        inner.wait_for_function("scrollY > 0")  # in the frame first, which is lower than its page
        assert page.faults == []
    finally:
        page.context.close()


def test_a_browser_without_webgl_is_told_so(chromium):
    context = chromium.new_context()
    try:
        tab = context.new_page()
        tab.add_init_script("HTMLCanvasElement.prototype.getContext = () => null;")
        tab.goto(PAGE.as_uri())
        tab.locator("#failure").wait_for()
        assert "no WebGL 2" in tab.locator("#failure").inner_text()
    finally:
        context.close()
