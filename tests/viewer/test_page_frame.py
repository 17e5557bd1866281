"""The page in the cell of a notebook: a frame of another page, which is opened again and outlives the viewer.

tests/viewer/test_jupyterlab.py does the same in a real JupyterLab.
"""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

import poise
from poise.io import samples
from tests.timeouts import PATIENCE
from tests.viewer.browser import ONCE_TRUE, UNDRAWN

pytestmark = pytest.mark.long

READY = "window.poise && window.poise.ready"
COVERED = "!document.querySelector('[data-testid=session-over]').hidden"


@pytest.fixture
def view():
    view = poise.view(poise.load(samples.path("humanoid.glb")), open_browser=False)
    yield view
    view.close()


@pytest.fixture
def address(view, tmp_path):
    """The address of a page that has the view in a cell. It is served: of others the browser asks for permission."""
    (tmp_path / "notebook.html").write_text(f"<!doctype html><meta charset=utf-8>{view._repr_html_()}")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=tmp_path))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}/notebook.html"
    server.shutdown()
    server.server_close()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def context(chromium):
    context = chromium.new_context(viewport={"width": 1000, "height": 700})
    context.add_init_script(UNDRAWN)
    yield context
    context.close()


def notebook(context, address):
    """A tab with the notebook, and the frame of its cell."""
    tab = context.new_page()
    tab.goto(address)
    return tab, tab.frames[1]


def until(frame, expression):
    assert frame.evaluate(ONCE_TRUE.replace("EXPRESSION", expression), [None, 1e3 * PATIENCE]), expression
    return frame


def test_panels_are_closed_in_a_cell_and_open_in_a_tab(context, address):
    tab, frame = notebook(context, address)
    until(frame, READY)
    assert frame.evaluate("document.getElementById('left').offsetWidth") == 0
    frame.click("[data-testid=panel-left]")
    assert frame.evaluate("document.getElementById('left').offsetWidth") > 0
    with context.expect_page() as opened:
        tab.get_by_text("Open the viewer in a tab").click()
    until(opened.value, READY)
    assert opened.value.evaluate("document.getElementById('left').offsetWidth") > 0
    opened.value.reload()
    until(opened.value, READY)


def test_a_second_tab_takes_over_and_the_first_goes_on(context, address):
    tab, frame = notebook(context, address)
    until(frame, READY)
    _, second = notebook(context, address)
    until(second, READY)
    until(frame, COVERED)
    frame.click("[data-testid=reconnect]")
    until(frame, f"!({COVERED})")
    until(second, COVERED)
    tab.reload()
    until(tab.frames[1], READY)


def test_another_browser_is_refused_and_told_what_to_do(chromium, context, address):
    _, frame = notebook(context, address)
    until(frame, READY)
    other = chromium.new_context()
    try:
        other.add_init_script(UNDRAWN)
        page = other.new_page()
        page.goto(context.pages[0].locator("object").get_attribute("data"))
        until(page, COVERED)
        assert "Run the cell again" in page.inner_text("[data-testid=session-over]")
        assert not page.is_visible("[data-testid=ask-link]")
    finally:
        other.close()


def test_a_cell_without_its_viewer_shows_a_picture(context, view, address):
    tab, frame = notebook(context, address)
    until(frame, READY)
    assert not tab.is_visible("object svg")
    view.close()
    tab.reload()
    tab.wait_for_selector("object svg", timeout=1e3 * PATIENCE)
    assert len(tab.frames) == 1
