"""Static files of `web/`, read once and served by exact name. No requested path is ever opened."""

from __future__ import annotations

import re
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from typing import NamedTuple

from poise.viewer.offline import hashed

_TYPES = {
    "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml", "png": "image/png",
}  # fmt: skip
_INLINE = re.compile(rb'<script type="importmap">(.*?)</script>', re.DOTALL)


class Page(NamedTuple):
    """Contents and MIME type of a static file."""

    contents: bytes
    mime: str


class Pages:
    """Static files by request path."""

    @cached_property
    def _files(self) -> dict[str, Page]:
        found: dict[str, Page] = {}
        _collect(web(), "", found)
        found["/"] = found["/index.html"]
        return found

    def get(self, path: str) -> Page | None:
        """Return the file of a path, or None."""
        return self._files.get(path)


def web() -> Traversable:
    """Return the folder of the page."""
    return resources.files("poise.viewer") / "web"


def _collect(folder: Traversable, path: str, found: dict[str, Page]) -> None:
    for entry in folder.iterdir():
        name = f"{path}/{entry.name}"
        suffix = entry.name.rpartition(".")[2]
        if entry.is_dir():
            _collect(entry, name, found)
        elif suffix in _TYPES:
            found[name] = Page(entry.read_bytes(), _TYPES[suffix])


def headers(page: Page, host: str) -> dict[str, str]:
    """Build the response headers of a file for a page at `host`.

    The page may load its own files and connect to this server only.
    """
    return {
        "Content-Type": page.mime,
        "Content-Length": str(len(page.contents)),
        "Content-Security-Policy": policy(page, f"ws://{host}"),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-cache",
        "Connection": "close",
    }


def policy(page: Page, socket: str) -> str:
    """Build the content security policy of a page. Of inline scripts only the import map may run, by its hash."""
    scripts = " ".join(["'self'", *map(hashed, _INLINE.findall(page.contents))])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self'; img-src 'self' blob: data:; "
        f"connect-src 'self' blob: data: {socket}; font-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'self' http://localhost:* http://127.0.0.1:* vscode-webview: vscode-file:"
    )
