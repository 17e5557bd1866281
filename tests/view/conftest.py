"""Pages of the viewer in the browser, served, watched and closed."""

from __future__ import annotations

import contextlib

import pytest

from poise.viewer import scenes
from poise.viewer.serve.server import Server
from poise.viewer.session.studio import Studio
from tests.view.browser import Tab


@pytest.fixture(scope="session")
def idle():
    """Tabs that wait for their next test, by their looks: to open a page in one takes half as long as in a new one."""
    tabs: dict[frozenset, Tab] = {}
    yield tabs
    for tab in tabs.values():
        tab.context.close()


@pytest.fixture
def served(chromium, idle):
    """`served(document or name of a scene)`: a tab that shows it, with its `studio` and `server`.

    With `new=True` in a process that has shown nothing yet, for tests that measure it.
    """
    with contextlib.ExitStack() as stack:

        def serve(shown, *, new=False, **looks):
            studio = Studio(scenes.scene(shown) if isinstance(shown, str) else shown)
            server = stack.enter_context(Server(studio))
            key = frozenset(looks.items())
            tab = Tab(chromium, server.url, **looks) if new or key not in idle else idle.pop(key)
            tab.studio, tab.server = studio, server
            stack.callback(leave, tab, None if new else key)
            return tab.go(server.url)

        def leave(tab, key):
            if key is None or key in idle or not tab.leave():
                tab.context.close()
            else:
                idle[key] = tab
            tab.check()

        yield serve
