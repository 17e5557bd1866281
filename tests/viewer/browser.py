"""The viewer's page in a real headless Chromium: opened, driven as a person drives it, and watched.

Software that draws WebGL is slow, so what is drawn is left out unless a test looks at pictures: `drawn=True`.
Real mouse moves are slow too: a drag is pressed by a real mouse and then moved by events made in the page.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from unittest import mock
from urllib.parse import urljoin, urlsplit

import numpy as np

from poise.maths import rotations
from tests.timeouts import PATIENCE

_SHELL = shutil.which("chromium-headless-shell")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome") or _SHELL
#: What tests take: Chromium without windows, if installed, shows the same with a quarter less of the processor.
HEADLESS = _SHELL or CHROMIUM
MISSING = "no chromium: browser tests are skipped; scripts/test --all installs Debian's (chromium-headless-shell)"
ARGUMENTS = (
    "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--enable-precise-memory-info", "--js-flags=--expose-gc",
)  # fmt: skip

#: Everything but the drawing itself: a frame then costs what the page's own work costs.
UNDRAWN = """
for (const name of ["drawElements", "drawArrays", "drawElementsInstanced", "drawArraysInstanced", "drawRangeElements"])
  WebGL2RenderingContext.prototype[name] = () => {};
"""

#: Sides open, as for somebody who has opened them before.
OPENED = """
if (localStorage.getItem("poise-settings") === null)
  localStorage.setItem("poise-settings", '{"closed": {"left": false, "right": false}}');
"""

#: Whether the page has nothing on its way, and has heard the newest of everything.
REPORTED = """
(sentences) => {
  const {state, frame, answer, viewports, ready} = window.poise;
  const held = viewports.some((view) => view.actor.handles.dragged !== null || view.actor.handles._held.size > 0);
  const newest = answer?.version === state.version && sentences.every((each, i) => each === answer.views[i]?.sentence);
  return ready && !held && state.version === frame.version && newest;
}
"""

#: Whether a mark went out, after everything that the page sends with its next picture.
MARK = """
(frame) => new Promise((done) => {
  const next = (work) => requestAnimationFrame(() => setTimeout(work));
  next(() => next(() => done(window.poise.send({do: "seen", frame}))));
})
"""

#: Two pictures: what was there before is drawn in the first, and what watches the layout has been told by the second.
PICTURES = """
() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))
"""

#: The value of an expression, or of a function of the argument, once it is true, or when so many milliseconds are over.
#: The page looks by itself: to ask it again and again costs more than most of what is waited for.
ONCE_TRUE = """
([argument, patience]) => new Promise((done, failed) => {
  const end = performance.now() + patience;
  const look = async () => {
    const found = (EXPRESSION);
    const value = await (typeof found === "function" ? found(argument) : found);
    if (value || performance.now() > end) done(value);
    else setTimeout(() => look().catch(failed), 10);
  };
  look().catch(failed);
})
"""

#: How far the page is.
WHERE = """
(() => {
  const {state, frame, answer, viewports, ready} = window.poise;
  const held = viewports.map((view) => [view.actor.handles.dragged, view.actor.handles._held.size]);
  return [ready, state.version, frame.version, answer?.version, answer?.views.map((each) => each.sentence), held];
})()
"""

#: A drag as a hand makes it: one move a picture along the points, then the button is let go.
DRAG = """
([points, letGo]) => new Promise((done) => {
  const canvas = document.elementFromPoint(...points[0]);
  const tell = (type, [clientX, clientY], buttons) => canvas.dispatchEvent(new PointerEvent(type, {
    pointerId: 1, pointerType: "mouse", button: type === "pointermove" ? -1 : 0, buttons, clientX, clientY,
    bubbles: true, cancelable: true, isPrimary: true, view: window}));
  let i = 0;
  const move = () => {
    tell("pointermove", points[i], 1);
    i += 1;
    if (i < points.length) requestAnimationFrame(move);
    else requestAnimationFrame(() => {
      if (letGo) tell("pointerup", points[points.length - 1], 0);
      done();
    });
  };
  requestAnimationFrame(move);
})
"""


class Tab:
    """A page: `errors` and `foreign` requests are collected, and asserted empty when it is closed."""

    def __init__(self, browser, url, *, width=1000, height=600, scheme="dark", drawn=False, opened=True, context=None):
        self.size, self.scheme = {"width": width, "height": height}, scheme
        self.context = context or browser.new_context(viewport=self.size, color_scheme=scheme, accept_downloads=True)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE * 500)
        if not drawn:
            self.page.add_init_script(UNDRAWN)
        if opened:
            self.page.add_init_script(OPENED)
        self.url, self.host = url, urlsplit(url).netloc
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.errors.append(f"{error} {error.stack}"))
        self.page.on("request", lambda request: self._requested(request.url))
        self.page.on("websocket", lambda socket: self._requested(socket.url))

    def _console(self, message):
        driver = "GL Driver Message" in message.text  # of reading a picture back
        icon = message.location["url"].endswith("/favicon.ico")  # of a file that is not the page, see leave()
        if message.type in ("error", "warning") and not driver and not icon:
            self.errors.append(f"{message.type}: {message.text}")

    def _requested(self, url):
        parts = urlsplit(url)
        if parts.scheme not in ("blob", "data") and parts.netloc != self.host:
            self.foreign.append(url)

    def open(self):
        """Load the page and wait for its first picture."""
        self.page.goto(self.url)
        self.until("window.poise && window.poise.ready")
        return self

    def close(self):
        """Close the page; nothing may have gone wrong in it."""
        self.context.close()
        self.check()

    def check(self):
        """Nothing may have gone wrong in the page."""
        assert self.errors == []
        assert self.foreign == []

    def leave(self):
        """Leave what is shown, so that the page can open another address as if it were new; whether it can.

        Scripts and sockets of this one are gone, and so is what it has stored, for the next may have the same origin.
        What stays is the process behind the page, warm, and the files that it has read: most of the time that a page
        takes to open.
        """
        if self.page.is_closed() or not self.server._thread.is_alive():
            return False
        self.page.goto(urljoin(self.url, "/style.css"))  # of the same origin, and stores nothing itself
        self.get("(localStorage.clear(), sessionStorage.clear())")
        self.page.mouse.up()
        self.page.mouse.move(-1, -1)
        self.page.set_viewport_size(self.size)
        self.page.emulate_media(color_scheme=self.scheme, reduced_motion="no-preference")
        return True

    def go(self, url):
        """Open an address; what is collected begins anew."""
        self.url, self.host = url, urlsplit(url).netloc
        self.errors, self.foreign = [], []
        return self.open()

    # --- what it shows -------------------------------------------------------------------------------------------

    def get(self, expression, argument=None):
        """The value of an expression, or of a function of the argument, in the page."""
        return self.page.evaluate(expression, argument)

    def until(self, expression, argument=None):
        """Wait until the expression is true in the page; its value."""
        value = self.get(ONCE_TRUE.replace("EXPRESSION", expression), [argument, 1e3 * PATIENCE])
        assert value, f"never came: {expression} ({argument}); {self.messages_shown()}"
        return value

    def until_state(self, expression):
        """Wait until `state`, the newest that was sent, fulfils the expression."""
        return self.until(f"(() => {{ const state = window.poise.state; return {expression}; }})()")

    @property
    def state(self):
        return self.get("window.poise.state")

    @property
    def model(self):
        return self.get("window.poise.model")

    def messages_shown(self):
        """The sentences that stand over the page."""
        return self.page.locator("[data-testid=message]").all_inner_texts()

    def chain(self, name):
        """A chain as the page was told."""
        return next(chain for chain in self.state["chains"] if chain["id"] == name)

    @property
    def shown_document(self):
        """What the page was told of the document, without what changes by itself and what says how it came about."""
        passing = ("version", "undo", "redo", "time", "playing", "kind", "serial", "revision")
        return {name: value for name, value in self.state.items() if name not in passing}

    def undone_and_redone(self, act, done):
        """Do something on the page until `done`, undo it by its button and redo it by its keys; undo it by keys."""
        before = self.shown_document
        act()
        self.until_state(done)
        after = self.shown_document
        assert after != before
        for go, wanted in ((lambda: self.click("undo"), before), (lambda: self.key("Control+Shift+Z"), after)):
            version = self.state["version"]
            go()
            self.until_state(f"state.version > {version}")
            end = time.monotonic() + PATIENCE
            while self.shown_document != wanted and time.monotonic() < end:  # the state may come in several messages
                self.page.wait_for_timeout(15)
            assert self.shown_document == wanted
        self.answered()
        return after

    def answered(self):
        """Wait until all that was asked for is solved, drawn and told; the newest answer."""
        end = time.monotonic() + PATIENCE
        self._heard()
        while not (self._idle() and self.get(REPORTED, self._sentences())):
            assert time.monotonic() < end, (
                f"it never came to rest: {self._idle()}, {self.get(WHERE)}, {self.messages_shown()}"
            )
            self.page.wait_for_timeout(15)
        return self.get("window.poise.answer")

    def pictures(self):
        """Wait until the page has drawn itself as it is now and is laid out."""
        self.get(PICTURES)

    def resize(self, width, height):
        """Give the page another size and wait until it is laid out anew."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.until(f"innerWidth === {width} && innerHeight === {height}")
        self.pictures()

    def _heard(self):
        """Wait until Poise has got all that the page has sent: what goes out in order comes in in order."""
        observed, came, mark = self.studio.acknowledge_frame, threading.Event(), -1  # a number that no frame has

        def look(number):
            observed(number)
            if number == mark:
                came.set()

        with mock.patch.object(
            self.studio, "acknowledge_frame", look
        ):  # a test may have put something in its place already
            if self.get(MARK, mark):  # the connection stands
                assert came.wait(PATIENCE), "what the page sent never came"

    def _idle(self):
        """Whether the studio has nothing to do and the page has drawn all that it made; asked on its own thread."""
        stage, outbox, inbox = self.studio.pose_state, self.studio.outbox, self.studio.inbox
        found = Future()

        def look():
            found.set_result(
                outbox.can_take_frame and not stage.is_due() and not stage._is_answer_pending and not inbox
            )

        inbox.put({"do": "after", "work": look})
        return found.result(PATIENCE)

    def _sentences(self):
        stage = self.studio.pose_state
        return [outcome.sentence for outcome in stage._outcomes[: stage.document.view_count]]

    # --- what is done --------------------------------------------------------------------------------------------

    def at(self, testid):
        """The control with this name."""
        return self.page.locator(f"[data-testid={json.dumps(testid)}]")

    def click(self, testid):
        """Click a control as a person does: it has to be in sight and take clicks."""
        self.at(testid).click()

    def pick(self, testid, value):
        """Choose an entry of a list by its value."""
        self.at(testid).select_option(value)

    def type(self, testid, text):
        """Type into a field and confirm."""
        self.at(testid).fill(str(text))
        self.at(testid).press("Enter")

    def key(self, keys):
        """Press a key with the page itself in focus."""
        self.get("document.activeElement && document.activeElement.blur()")
        self.page.keyboard.press(keys)

    def unfold(self):
        """Open every panel and every part that is folded, so that all controls are there."""
        self.get("document.querySelectorAll('details').forEach((each) => (each.open = true))")

    # --- dragging ------------------------------------------------------------------------------------------------

    def handle(self, view=0):
        """Where on the page the middle of the gizmo is."""
        position = self.get(f"window.poise.viewports[{view}].gizmo.controls.object.position.toArray()")
        return self.get(f"(p) => window.poise.viewports[{view}].findPixels(p)", position)

    def take(self, key, position):
        """Give the gizmo to another handle by a click on it."""
        x, y = self.get("(p) => window.poise.viewports[0].findPixels(p)", list(position))
        self.page.mouse.click(x, y)
        self.until(f"window.poise.viewports[0].gizmo.active === {key!r}")

    def press(self, view=0):
        """Take the gizmo in the middle by a real mouse; where that is."""
        x, y = self.handle(view)
        self.page.mouse.move(x - 1, y)
        self.page.mouse.move(x, y)
        self.until(f"window.poise.viewports[{view}].gizmo.hovered")
        self.page.mouse.down()
        return x, y

    def move(self, points, *, let_go=True):
        """Move what is held through these places on the page, one a picture, and let it go."""
        self.get(DRAG, [[list(map(float, point)) for point in points], let_go])
        if let_go:
            self.page.mouse.up()

    def drag(self, *steps, view=0):
        """Drag the gizmo by these steps in pixels, each from where it was taken."""
        x, y = self.press(view)
        self.move([(x + dx, y + dy) for dx, dy in steps])

    def save(self, testid, folder: Path):
        """Save through the menu; the file that the browser kept."""
        self.click("save-menu")
        with self.page.expect_download() as download:
            self.click(testid)
        path = folder / download.value.suggested_filename
        download.value.save_as(path)
        return path


#: Where every joint of a view is drawn, character after character: x y z, w x y z.
DRAWN = """
(view) => window.poise.model.places.map((_, c) => window.poise.model.joints.map((_, i) => {
  const viewport = window.poise.viewports[view];
  return [...viewport.readPosition(i, c), ...viewport.readRotation(i, c)];
}))
"""


def assert_shown_is_solved(tab):
    """Each joint is drawn where forward kinematics in Python has it, within what 32-bit floats hold."""
    tab.answered()
    stage = tab.studio.pose_state
    for view in range(tab.studio.document.view_count):
        drawn = np.array(tab.get(DRAWN, view))
        for c, place in enumerate(tab.studio.document.character_positions):
            world = stage.build_view_pose(view).with_q(stage.displayed_q[view][c]).world
            wanted = world.positions + place
            size = max(1.0, float(np.abs(wanted).max()))
            np.testing.assert_allclose(drawn[c, :, :3], wanted, rtol=0, atol=1e-5 * size)
            stretched = np.array([joint["linear"] is not None for joint in tab.model["joints"]])
            between = rotations.multiply(rotations.inverse(drawn[c, :, 3:]), world.rotations)
            turned = np.linalg.norm(rotations.as_vector(between), axis=-1)
            assert turned[~stretched].max(initial=0.0) < 2e-3
