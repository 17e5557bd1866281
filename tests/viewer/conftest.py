"""Pages of the viewer in the browser, served, watched and closed."""

from __future__ import annotations

import contextlib
from unittest import mock

import pytest

from poise.errors import InputError
from poise.viewer import scenes
from poise.viewer import server as servers
from poise.viewer.server import Server, build_headers
from poise.viewer.session.session_thread import SessionThread
from tests.viewer.browser import Tab


@pytest.fixture(scope="session")
def idle():
    """Tabs that wait for their next test, by their looks: to open a page in one takes half as long as in a new one."""
    tabs: dict[frozenset, Tab] = {}
    yield tabs
    for tab in tabs.values():
        tab.context.close()


@pytest.fixture(scope="session")
def ports():
    """Ports that no server has just now. One server after the other gets the same: its page finds its files in the
    browser, which has read and compiled them, for here it is told that they stay as they are.
    """

    def kept(page, host):
        fields = build_headers(page, host)
        return fields if page.mime.startswith("text/html") else fields | {"Cache-Control": "max-age=86400"}

    with mock.patch.object(servers, "build_headers", kept):
        yield []


def started(studio, ports):
    """A server at a port that is free, if it still is."""
    while ports:
        with contextlib.suppress(InputError):
            return Server(studio, port=ports.pop()).start()
    return Server(studio).start()


@pytest.fixture
def served(chromium, idle, ports):
    """`served(document or name of a scene)`: a tab that shows it, with its `studio` and `server`.

    With `new=True` in a process that has shown nothing yet, for tests that measure it.
    """
    with contextlib.ExitStack() as stack:

        def serve(shown, *, new=False, **looks):
            studio = SessionThread(scenes.build_scene(shown) if isinstance(shown, str) else shown)
            server = started(studio, [] if new else ports)
            stack.callback(lambda: new or ports.append(server.port))
            stack.callback(server.close)
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
