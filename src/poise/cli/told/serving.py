"""Viewer server in a terminal. It prints the address, a new one after the page is closed, and ends with Ctrl-C."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser

from poise.cli.terminal import say
from poise.viewer.document.document import Document

_LOOK = 1.0  # [s] wait interval; on some systems Ctrl-C is handled only between two waits


def serve(document: Document, *, host: str, port: int, open_browser: bool) -> None:
    """Serve a document until Ctrl-C. InputError for an unusable address."""
    from poise.viewer.serve.access import is_loopback  # noqa: PLC0415  (needed for the server only)
    from poise.viewer.serve.server import Server  # noqa: PLC0415  (needs the extra `view`)
    from poise.viewer.session.studio import Studio  # noqa: PLC0415

    if not is_loopback(host):
        say(f"warning: {host} can be reached from other machines; anyone with the link can use this viewer", err=True)
    with Server(Studio(document), host=host, port=port) as server:
        server.on_gone(lambda: say(f"the page was closed; open it again: {server.url}"))
        server.on_asked(lambda: say(f"a new link was asked for: {server.url}"))
        say(f"{document.name}: {server.url}")
        say("Ctrl-C ends it")
        if open_browser:
            webbrowser.open(server.url)
        _wait()
    say("closed")


def can_show() -> bool:
    """Return whether a browser can be opened for the user.

    It needs a terminal for input and output, and a local browser.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    if sys.platform in ("win32", "darwin"):
        return "SSH_CONNECTION" not in os.environ
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False  # a browser without a display is a text browser
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def _wait() -> None:
    """Wait for Ctrl-C."""
    try:
        while True:
            threading.Event().wait(_LOOK)
    except KeyboardInterrupt:
        say()
