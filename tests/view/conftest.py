"""Pages of the viewer in the browser, served, watched and closed."""

from __future__ import annotations

import contextlib

import pytest

from poise.viewer import scenes
from poise.viewer.serve.server import Server
from poise.viewer.session.studio import Studio
from tests.view.browser import Tab


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
