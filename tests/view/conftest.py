"""A Chromium for all browser tests of a process, and pages in it that are served, watched and closed."""

from __future__ import annotations

import contextlib

import pytest

from poise.view import scenes
from poise.view.server import Server
from poise.view.studio import Studio
from tests.view.browser import ARGUMENTS, CHROMIUM, MISSING, Tab


@pytest.fixture(scope="session")
def chromium():
    """The browser; tests that need one say so where there is none."""
    if CHROMIUM is None:
        pytest.skip(MISSING)
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def served(chromium):
    """`served(document or name of a scene)`: a tab that shows it, with its `studio` and `server`."""
    with contextlib.ExitStack() as stack:

        def serve(shown, **looks):
            studio = Studio(scenes.scene(shown) if isinstance(shown, str) else shown)
            server = stack.enter_context(Server(studio))
            tab = Tab(chromium, server.url, **looks)
            tab.studio, tab.server = studio, server
            stack.callback(tab.close)
            return tab.open()

        yield serve
