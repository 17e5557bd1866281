"""The files of `web/`, read once and served by their exact names: no path that somebody asks for is ever opened."""

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
    """A file: its bytes, and what kind of file it is."""

    contents: bytes
    mime: str


class Pages:
    """Every file that may be served, by the path under which it is asked for."""

    @cached_property
    def _files(self) -> dict[str, Page]:
        found: dict[str, Page] = {}
        _collect(web(), "", found)
        found["/"] = found["/index.html"]
        return found

    def get(self, path: str) -> Page | None:
        """The file of a path; None where there is none."""
        return self._files.get(path)


def web() -> Traversable:
    """The folder of the page."""
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
    """The headers of a file for a page at `host`: it may load its own files and talk to this server, nothing else."""
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
    """The content security policy; of scripts written into the page only the import map runs, by its hash."""
    scripts = " ".join(["'self'", *map(hashed, _INLINE.findall(page.contents))])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self'; img-src 'self' blob: data:; "
        f"connect-src 'self' blob: data: {socket}; font-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'self' http://localhost:* http://127.0.0.1:* vscode-webview: vscode-file:"
    )
